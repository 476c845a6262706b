//! How to reach an S3 server of these tests: endpoint and keys, for clients in this process and for child processes.

use std::sync::{Arc, Once};
use std::time::Duration;

use anyhow::{Result, bail};
use http::{Method, Request, Uri};
use object_store::aws::{AmazonS3, AmazonS3Builder, AwsAuthorizer, AwsCredential};
use object_store::client::{HttpConnector, HttpRequestBody, ReqwestConnector};
use object_store::{ClientOptions, ObjectStoreExt, PutPayload, RetryConfig};

/// The access key of every S3 server here.
pub(crate) const ACCESS_KEY: &str = "test";
/// Its secret.
pub(crate) const SECRET_KEY: &str = "testtest";
/// Its region, which means nothing.
const REGION: &str = "us-east-1";

/// Long enough for a loaded machine.
const TIMEOUT: Duration = Duration::from_secs(30);

/// An S3 endpoint on loopback.
#[derive(Clone, Debug)]
pub struct S3 {
    endpoint: String,
}

impl S3 {
    pub(crate) fn on_port(port: u16) -> Self {
        Self {
            endpoint: format!("http://127.0.0.1:{port}"),
        }
    }

    /// As in `http://127.0.0.1:18433`.
    pub fn endpoint(&self) -> &str {
        &self.endpoint
    }

    /// What a child process needs in its environment to reach it as `s3://bucket`.
    pub fn env(&self) -> [(&'static str, String); 5] {
        [
            ("AWS_ENDPOINT_URL", self.endpoint.clone()),
            ("AWS_ACCESS_KEY_ID", ACCESS_KEY.to_owned()),
            ("AWS_SECRET_ACCESS_KEY", SECRET_KEY.to_owned()),
            ("AWS_REGION", REGION.to_owned()),
            ("AWS_ALLOW_HTTP", "true".to_owned()),
        ]
    }

    /// A client that never tries again by itself, as the journal needs it.
    pub fn client(&self, bucket: &str) -> Arc<AmazonS3> {
        self.client_with_timeout(bucket, TIMEOUT)
    }

    /// The same with another time-out, for answers that come too late.
    pub fn client_with_timeout(&self, bucket: &str, timeout: Duration) -> Arc<AmazonS3> {
        install_crypto();
        let client = AmazonS3Builder::new()
            .with_endpoint(&self.endpoint)
            .with_allow_http(true)
            .with_region(REGION)
            .with_bucket_name(bucket)
            .with_access_key_id(ACCESS_KEY)
            .with_secret_access_key(SECRET_KEY)
            .with_client_options(options(timeout))
            .with_retry(no_retries())
            .build();
        Arc::new(client.expect("the settings are complete"))
    }

    /// Makes a bucket, and sees that it can be written.
    pub async fn create_bucket(&self, bucket: &str) -> Result<()> {
        let uri: Uri = format!("{}/{bucket}", self.endpoint).parse()?;
        let mut request = Request::new(HttpRequestBody::empty());
        *request.method_mut() = Method::PUT;
        *request.uri_mut() = uri;
        let credential = AwsCredential {
            key_id: ACCESS_KEY.to_owned(),
            secret_key: SECRET_KEY.to_owned(),
            token: None,
        };
        AwsAuthorizer::new(&credential, "s3", REGION).try_authorize(&mut request, None)?;
        send(request).await?;
        write_something(self.client(bucket).as_ref()).await
    }
}

/// Sends a signed request that `object_store` has no call for.
pub(crate) async fn send(request: Request<HttpRequestBody>) -> Result<()> {
    install_crypto();
    let client = ReqwestConnector::default().connect(&options(TIMEOUT))?;
    let response = client.execute(request).await?;
    let status = response.status();
    if !status.is_success() {
        let body = response.into_body().bytes().await.unwrap_or_default();
        bail!("{status}: {}", String::from_utf8_lossy(&body));
    }
    Ok(())
}

/// A server may make buckets before it can take objects.
pub(crate) async fn write_something(client: &dyn object_store::ObjectStore) -> Result<()> {
    let path = "ready".into();
    client.put(&path, PutPayload::from_static(b"ready")).await?;
    Ok(client.delete(&path).await?)
}

pub(crate) fn options(timeout: Duration) -> ClientOptions {
    ClientOptions::new().with_allow_http(true).with_timeout(timeout)
}

pub(crate) fn no_retries() -> RetryConfig {
    RetryConfig {
        max_retries: 0,
        ..RetryConfig::default()
    }
}

/// The HTTP client wants it even where nothing is encrypted.
pub(crate) fn install_crypto() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let _another_was_installed = rustls::crypto::ring::default_provider().install_default();
    });
}
