//! Clients of S3.

use http::{HeaderMap, HeaderName, HeaderValue};
use object_store::ClientOptions;
use object_store::aws::{AmazonS3Builder, AmazonS3ConfigKey, S3ConditionalPut, S3CopyIfNotExists};

use super::{
    Clients, Plan, Shared, Signer, credential_retries, each_purpose, no_retries, options, profile, words,
};
use crate::store::Purpose;

const ENDPOINTS: [&str; 3] = ["AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", "AWS_ENDPOINT"];
const STORAGE_CLASS: HeaderName = HeaderName::from_static("x-amz-storage-class");

pub(super) fn build(plan: &Plan<'_>, shared: &Shared) -> Result<Clients, String> {
    let builder = builder(plan)?;
    let value = |key| builder.get_config_value(&key);
    let endpoint = value(AmazonS3ConfigKey::S3Endpoint).or_else(|| value(AmazonS3ConfigKey::Endpoint));
    let named = plan.first_of(&ENDPOINTS).map_or("endpoint_url", |(name, _)| name);
    let options = options::allow_http(
        options::from_variables(plan, "AWS_"),
        endpoint.as_deref().map(|endpoint| (named, endpoint)),
        ("AWS_ALLOW_HTTP", plan.is_true("AWS_ALLOW_HTTP")),
    )?;
    let region = value(AmazonS3ConfigKey::Region).unwrap_or_else(|| "us-east-1".to_owned());

    let source = builder
        .clone()
        .with_client_options(options.clone())
        .with_retry(credential_retries())
        .with_http_connector(plan.for_credentials())
        .build()
        .map_err(words)?;
    let client = builder
        .with_credentials(source.credentials().clone())
        .with_retry(no_retries());
    let http = plan.stacks(&options, shared)?;
    let stores = each_purpose(&http, |purpose, ready| {
        let options = with_class(plan, purpose, options.clone());
        client
            .clone()
            .with_client_options(options)
            .with_http_connector(ready)
            .build()
    })?;
    Ok(Clients {
        endpoint: endpoint.map_or_else(|| format!("s3 {region}"), |endpoint| options::shown(&endpoint)),
        stores,
        signer: Some(Signer::S3(source)),
        http,
    })
}

fn builder(plan: &Plan<'_>) -> Result<AmazonS3Builder, String> {
    let mut builder = AmazonS3Builder::new();
    // S3 itself takes this condition on copies; stores that do not know it may copy over what is there.
    let if_absent = S3CopyIfNotExists::Header("if-none-match".to_owned(), "*".to_owned());
    builder = builder.with_copy_if_not_exists(if_absent);
    for (key, value) in profile::settings(plan)? {
        builder = builder.with_config(key, value);
    }
    if let Some(region) = plan.variable("AWS_DEFAULT_REGION") {
        builder = builder.with_region(region);
    }
    for (name, value) in plan.variables {
        let is_set = name.starts_with("AWS_") && !value.is_empty();
        if let (true, Ok(key)) = (is_set, name.to_ascii_lowercase().parse()) {
            builder = builder.with_config(key, value);
        }
    }
    Ok(builder
        .with_conditional_put(S3ConditionalPut::ETagMatch)
        .with_bucket_name(plan.url.bucket()))
}

/// A server-side copy has no options for the storage class; a header on each of its requests does it.
fn with_class(plan: &Plan<'_>, purpose: Purpose, options: ClientOptions) -> ClientOptions {
    let class = plan
        .settings
        .storage_class
        .as_deref()
        .filter(|_| purpose == Purpose::Publish);
    match class.and_then(|class| HeaderValue::from_str(class).ok()) {
        Some(class) => options.with_default_headers(HeaderMap::from_iter([(STORAGE_CLASS, class)])),
        None => options,
    }
}
