//! How to reach an Azure server of these tests: the emulator's well-known account, at an endpoint of its own.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use http::header::CONTENT_LENGTH;
use http::{HeaderValue, Method, Request, Uri};
use object_store::azure::{
    AzureAccessKey, AzureAuthorizer, AzureCredential, MicrosoftAzure, MicrosoftAzureBuilder,
};
use object_store::client::HttpRequestBody;

use crate::s3::{install_crypto, no_retries, options, send, write_something};

/// The account and key that every emulator has; published by its maker.
const ACCOUNT: &str = "devstoreaccount1";
const KEY: &str = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==";

const TIMEOUT: Duration = Duration::from_secs(30);

/// An Azure blob endpoint on loopback.
#[derive(Clone, Debug)]
pub struct Azure {
    host: String,
}

impl Azure {
    pub(crate) fn on_port(port: u16) -> Self {
        Self {
            host: format!("http://127.0.0.1:{port}"),
        }
    }

    /// As in `http://127.0.0.1:10000/devstoreaccount1`.
    pub fn endpoint(&self) -> String {
        format!("{}/{ACCOUNT}", self.host)
    }

    /// What a child process needs in its environment to reach it as `az://container`.
    pub fn env(&self) -> [(&'static str, String); 2] {
        [
            ("AZURE_STORAGE_USE_EMULATOR", "true".to_owned()),
            ("AZURITE_BLOB_STORAGE_URL", self.host.clone()),
        ]
    }

    /// A client that never tries again by itself, as the journal needs it.
    pub fn client(&self, container: &str) -> Arc<MicrosoftAzure> {
        install_crypto();
        let client = MicrosoftAzureBuilder::new()
            .with_endpoint(self.endpoint())
            .with_account(ACCOUNT)
            .with_access_key(KEY)
            .with_container_name(container)
            .with_client_options(options(TIMEOUT))
            .with_retry(no_retries())
            .build();
        Arc::new(client.expect("the settings are complete"))
    }

    /// Makes a container, and sees that it can be written.
    pub async fn create_container(&self, container: &str) -> Result<()> {
        let uri: Uri = format!("{}/{container}?restype=container", self.endpoint()).parse()?;
        let mut request = Request::new(HttpRequestBody::empty());
        *request.method_mut() = Method::PUT;
        *request.uri_mut() = uri;
        request
            .headers_mut()
            .insert(CONTENT_LENGTH, HeaderValue::from_static("0"));
        let credential = AzureCredential::AccessKey(AzureAccessKey::try_new(KEY)?);
        AzureAuthorizer::new(&credential, ACCOUNT).try_authorize(&mut request)?;
        send(request).await?;
        write_something(self.client(container).as_ref()).await
    }
}
