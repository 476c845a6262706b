//! Clients of Azure Blob Storage.

use std::borrow::Cow;

use object_store::azure::{AzureConfigKey as Key, MicrosoftAzureBuilder};
use object_store::signer::Url;

use super::{Clients, Plan, Shared, Signer, credential_retries, each_purpose, no_retries, options, words};

/// The account and key of every emulator, as Microsoft publishes them.
const EMULATOR_ACCOUNT: &str = "devstoreaccount1";
const EMULATOR_KEY: &str =
    "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==";
const EMULATOR_URL: &str = "http://127.0.0.1:10000";

pub(super) fn build(plan: &Plan<'_>, shared: &Shared) -> Result<Clients, String> {
    let settings = settings(plan)?;
    let find = |key| {
        settings
            .iter()
            .rev()
            .find(|(k, _)| *k == key)
            .map(|(_, value)| value.as_ref())
    };
    let account = find(Key::AccountName)
        .ok_or("the storage account is missing; set AZURE_STORAGE_ACCOUNT_NAME")?
        .to_owned();
    let endpoint = find(Key::Endpoint);
    let options = options::allow_http(
        options::from_variables(plan, "AZURE_"),
        endpoint.map(|endpoint| ("AZURE_STORAGE_ENDPOINT", endpoint)),
        ("AZURE_ALLOW_HTTP", plan.is_true("AZURE_ALLOW_HTTP")),
    )?;
    let service = endpoint.map_or_else(
        || format!("https://{account}.blob.core.windows.net"),
        str::to_owned,
    );

    let mut builder = MicrosoftAzureBuilder::new();
    for (key, value) in &settings {
        builder = builder.with_config(*key, value.as_ref());
    }
    let builder = builder
        .with_endpoint(service.clone())
        .with_container_name(plan.url.bucket());
    let source = builder
        .clone()
        .with_client_options(options.clone())
        .with_retry(credential_retries())
        .with_http_connector(plan.for_credentials())
        .build()
        .map_err(words)?;
    let client = builder
        .with_client_options(options.clone())
        .with_credentials(source.credentials().clone())
        .with_retry(no_retries());
    let http = plan.stacks(&options, shared)?;
    let stores = each_purpose(&http, |_, ready| {
        client.clone().with_http_connector(ready).build()
    })?;
    Ok(Clients {
        endpoint: options::shown(&service),
        stores,
        signer: Some(Signer::Az {
            credentials: source.credentials().clone(),
            account,
            service: Url::parse(&service).map_err(|error| error.to_string())?,
            container: plan.url.bucket().to_owned(),
        }),
        http,
    })
}

/// The settings in order of rank, the last one wins: connection string, the names of Azure's own tools, the rest.
fn settings<'a>(plan: &'a Plan<'_>) -> Result<Vec<(Key, Cow<'a, str>)>, String> {
    if plan.is_true("AZURE_STORAGE_USE_EMULATOR") {
        return Ok(emulator(plan));
    }
    let mut settings = Vec::new();
    if let Some(text) = plan.variable("AZURE_STORAGE_CONNECTION_STRING") {
        settings.extend(connection_string(text)?);
    }
    let tools = [
        ("AZURE_STORAGE_ACCOUNT", Key::AccountName),
        ("AZURE_STORAGE_KEY", Key::AccessKey),
        ("IDENTITY_ENDPOINT", Key::MsiEndpoint),
    ];
    for (name, key) in tools {
        settings.extend(plan.variable(name).map(|value| (key, Cow::from(value))));
    }
    for (name, value) in plan.variables {
        let is_set = name.starts_with("AZURE_") && !value.is_empty();
        if let (true, Ok(key)) = (is_set, name.to_ascii_lowercase().parse()) {
            settings.push((key, Cow::from(value)));
        }
    }
    Ok(settings)
}

fn emulator<'a>(plan: &'a Plan<'_>) -> Vec<(Key, Cow<'a, str>)> {
    let given = |names: &[&'static str], default| plan.first_of(names).map_or(default, |(_, value)| value);
    let url = given(&["AZURITE_BLOB_STORAGE_URL"], EMULATOR_URL).trim_end_matches('/');
    let account = given(
        &["AZURE_STORAGE_ACCOUNT_NAME", "AZURE_STORAGE_ACCOUNT"],
        EMULATOR_ACCOUNT,
    );
    let key = given(&["AZURE_STORAGE_ACCOUNT_KEY", "AZURE_STORAGE_KEY"], EMULATOR_KEY);
    vec![
        (Key::Endpoint, Cow::from(format!("{url}/{account}"))),
        (Key::AccountName, Cow::from(account)),
        (Key::AccessKey, Cow::from(key)),
    ]
}

fn connection_string(text: &str) -> Result<Vec<(Key, Cow<'_, str>)>, String> {
    let mut settings = Vec::new();
    let mut has_endpoint = false;
    let (mut account, mut suffix) = ("", "core.windows.net");
    for part in text.split(';').filter(|part| !part.is_empty()) {
        let (name, value) = part
            .split_once('=')
            .ok_or("AZURE_STORAGE_CONNECTION_STRING holds a part without \"=\"")?;
        match name {
            "AccountName" => account = value,
            "AccountKey" => settings.push((Key::AccessKey, Cow::from(value))),
            "SharedAccessSignature" => settings.push((Key::SasKey, Cow::from(value))),
            "EndpointSuffix" => suffix = value,
            "BlobEndpoint" => {
                has_endpoint = true;
                settings.push((Key::Endpoint, Cow::from(value.trim_end_matches('/'))));
            }
            _ => {}
        }
    }
    if !has_endpoint {
        let endpoint = format!("https://{account}.blob.{suffix}");
        settings.push((Key::Endpoint, Cow::from(endpoint)));
    }
    settings.push((Key::AccountName, Cow::from(account)));
    Ok(settings)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_connection_string_names_account_key_and_endpoint() {
        let text = "DefaultEndpointsProtocol=https;AccountName=acme;AccountKey=a2V5==;EndpointSuffix=core.windows.net";
        let settings = connection_string(text).expect("settings");
        assert!(settings.contains(&(Key::AccessKey, Cow::from("a2V5=="))));
        assert!(settings.contains(&(Key::Endpoint, Cow::from("https://acme.blob.core.windows.net"))));
        assert!(connection_string("what").is_err());
    }
}
