//! Fresh prefixes on the servers that the environment names: `BALER_TEST_S3`, the endpoint of an S3 server with the
//! keys test and testtest, and `BALER_TEST_AZURE`, the endpoint of Azurite.

use std::time::Duration;

use baler::store::{Bucket, Location, OutputSettings, Variables};
use object_store::ClientOptions;
use object_store::aws::AmazonS3Builder;
use object_store::azure::{AzureAuthorizer, MicrosoftAzureBuilder};
use object_store::client::{HttpConnector, HttpRequest, HttpRequestBody, ReqwestConnector};
use object_store::path::Path;
use object_store::signer::{Method, Signer};

const BUCKET: &str = "baler-buckets";

/// A server of one kind, and a new prefix on it. There is one bucket for all stories: some servers set a lot aside for
/// each.
pub(super) struct Place {
    pub(super) url: String,
    variables: Variables,
}

impl Place {
    /// A new prefix on each server there is.
    pub(super) async fn all() -> Vec<Self> {
        let _chosen_before = rustls::crypto::ring::default_provider().install_default();
        let places = [Self::s3().await, Self::azure().await];
        places.into_iter().flatten().collect()
    }

    /// Opens a prefix of that prefix.
    pub(super) fn open(&self, prefix: &str) -> Bucket {
        self.open_marked(prefix, OutputSettings::default())
    }

    pub(super) fn open_marked(&self, prefix: &str, settings: OutputSettings) -> Bucket {
        open(&format!("{}/{prefix}", self.url), &self.variables, settings)
    }

    /// Opens a bucket that does not exist.
    pub(super) fn open_missing(&self) -> Bucket {
        let (scheme, _) = self.url.split_once("://").unwrap();
        open(
            &format!("{scheme}://{BUCKET}-not"),
            &self.variables,
            OutputSettings::default(),
        )
    }

    async fn s3() -> Option<Self> {
        let endpoint = endpoint("BALER_TEST_S3")?;
        let client = AmazonS3Builder::new()
            .with_endpoint(&endpoint)
            .with_allow_http(true)
            .with_access_key_id("test")
            .with_secret_access_key("testtest")
            .with_bucket_name(BUCKET);
        let (top, minute) = (Path::default(), Duration::from_secs(60));
        let url = client
            .build()
            .unwrap()
            .signed_url(Method::PUT, &top, minute)
            .await;
        send(request(Method::PUT, url.unwrap().as_str())).await;
        let variables = [
            ("AWS_ENDPOINT_URL", endpoint.as_str()),
            ("AWS_ACCESS_KEY_ID", "test"),
            ("AWS_SECRET_ACCESS_KEY", "testtest"),
        ];
        Some(Self {
            url: new_prefix("s3"),
            variables: owned(&variables),
        })
    }

    async fn azure() -> Option<Self> {
        let endpoint = endpoint("BALER_TEST_AZURE")?;
        let account = "devstoreaccount1";
        let client = MicrosoftAzureBuilder::new()
            .with_use_emulator(true)
            .with_container_name(BUCKET);
        let credential = client
            .build()
            .unwrap()
            .credentials()
            .get_credential()
            .await
            .unwrap();
        let url = format!("{endpoint}/{account}/{BUCKET}?restype=container");
        let mut create = request(Method::PUT, &url);
        let authorizer = AzureAuthorizer::new(&credential, account);
        authorizer.try_authorize(&mut create).unwrap();
        send(create).await;
        let variables = [
            ("AZURE_STORAGE_USE_EMULATOR", "true"),
            ("AZURITE_BLOB_STORAGE_URL", endpoint.as_str()),
        ];
        Some(Self {
            url: new_prefix("az"),
            variables: owned(&variables),
        })
    }
}

fn endpoint(variable: &str) -> Option<String> {
    let endpoint = std::env::var(variable)
        .ok()
        .filter(|endpoint| !endpoint.is_empty());
    if endpoint.is_none() {
        println!("skipped: {variable} names no server");
    }
    endpoint
}

fn open(url: &str, variables: &Variables, settings: OutputSettings) -> Bucket {
    let Ok(Location::Bucket(url)) = url.parse() else {
        panic!("{url} is no bucket");
    };
    Bucket::open_with(&url, variables, settings).unwrap()
}

fn new_prefix(scheme: &str) -> String {
    format!("{scheme}://{BUCKET}/{:016x}", rand::random::<u64>())
}

fn owned(variables: &[(&str, &str)]) -> Variables {
    let pairs = variables.iter();
    pairs
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
        .collect()
}

fn request(method: Method, url: &str) -> HttpRequest {
    let builder = http::Request::builder().method(method).uri(url);
    builder.body(HttpRequestBody::empty()).unwrap()
}

async fn send(request: HttpRequest) {
    let options = ClientOptions::new().with_allow_http(true);
    let http = ReqwestConnector::default().connect(&options).unwrap();
    let answer = http.execute(request).await.unwrap();
    let exists_already = answer.status() == http::StatusCode::CONFLICT;
    assert!(
        answer.status().is_success() || exists_already,
        "{}",
        answer.status()
    );
}
