//! Clients of Google Cloud Storage.

use object_store::gcp::GoogleCloudStorageBuilder;

use super::{Clients, Plan, Shared, Signer, credential_retries, each_purpose, no_retries, options, words};

const ENDPOINTS: [&str; 2] = ["GOOGLE_BASE_URL", "STORAGE_EMULATOR_HOST"];
const GOOGLE: &str = "https://storage.googleapis.com";

pub(super) fn build(plan: &Plan<'_>, shared: &Shared) -> Result<Clients, String> {
    let endpoint = plan.first_of(&ENDPOINTS);
    let options = options::allow_http(
        options::from_variables(plan, "GOOGLE_"),
        endpoint,
        ("GOOGLE_ALLOW_HTTP", plan.is_true("GOOGLE_ALLOW_HTTP")),
    )?;
    let base_url = endpoint.map_or(GOOGLE, |(_, url)| url).trim_end_matches('/');
    let builder = builder(plan, base_url);
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
        .with_signing_credentials(source.signing_credentials().clone())
        .with_retry(no_retries());
    let http = plan.stacks(&options, shared)?;
    let stores = each_purpose(&http, |_, ready| {
        client.clone().with_http_connector(ready).build()
    })?;
    Ok(Clients {
        endpoint: options::shown(base_url),
        stores,
        signer: Some(Signer::Gs {
            credentials: is_signed(plan).then(|| source.credentials().clone()),
            bucket_url: format!("{base_url}/{}", plan.url.bucket()),
        }),
        http,
    })
}

fn builder(plan: &Plan<'_>, base_url: &str) -> GoogleCloudStorageBuilder {
    let mut builder = GoogleCloudStorageBuilder::new();
    if let Some(file) = plan.variable("SERVICE_ACCOUNT") {
        builder = builder.with_service_account_path(file);
    }
    for (name, value) in plan.variables {
        let is_set = name.starts_with("GOOGLE_") && !value.is_empty();
        if let (true, Ok(key)) = (is_set, name.to_ascii_lowercase().parse()) {
            builder = builder.with_config(key, value);
        }
    }
    builder
        .with_skip_signature(!is_signed(plan))
        .with_base_url(base_url)
        .with_bucket_name(plan.url.bucket())
}

/// Emulators know no accounts.
fn is_signed(plan: &Plan<'_>) -> bool {
    !plan.is_true("GOOGLE_SKIP_SIGNATURE") && plan.variable("STORAGE_EMULATOR_HOST").is_none()
}
