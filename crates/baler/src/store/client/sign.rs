//! Signs requests that the `object_store` crate has no call for: conditional deletes, uploads in progress, settings of
//! the bucket.

use std::time::Duration;

use http::{HeaderName, HeaderValue, Method, header::AUTHORIZATION};
use object_store::aws::AmazonS3;
use object_store::azure::{AzureAuthorizer, AzureCredentialProvider};
use object_store::client::{HttpRequest, HttpRequestBody};
use object_store::gcp::GcpCredentialProvider;
use object_store::path::Path;
use object_store::signer::{SignedUrlOptions, Signer as _, Url};

use super::words;

/// How long a signature is good for: the time that a request may wait for its turn.
const VALID: Duration = Duration::from_secs(15 * 60);

/// What requests are signed with.
#[derive(Debug)]
pub(in crate::store) enum Signer {
    /// Keys, in the query.
    S3(AmazonS3),
    /// A bearer token, or nothing on an emulator.
    Gs {
        credentials: Option<GcpCredentialProvider>,
        bucket_url: String,
    },
    /// A shared key, a bearer token or a shared access signature.
    Az {
        credentials: AzureCredentialProvider,
        account: String,
        service: Url,
        container: String,
    },
}

/// A request to be signed. An empty key means the bucket itself.
#[derive(Debug)]
pub(in crate::store) struct Unsigned<'a> {
    pub(in crate::store) method: Method,
    pub(in crate::store) key: &'a str,
    pub(in crate::store) query: &'a [(&'a str, &'a str)],
    pub(in crate::store) header: Option<(HeaderName, &'a str)>,
}

impl Signer {
    /// The request, ready to be sent; or why it cannot be signed.
    pub(in crate::store) async fn sign(&self, unsigned: Unsigned<'_>) -> Result<HttpRequest, String> {
        match self {
            Self::S3(client) => sign_s3(client, unsigned).await,
            Self::Gs {
                credentials,
                bucket_url,
            } => sign_gs(credentials.as_ref(), bucket_url, unsigned).await,
            Self::Az {
                credentials,
                account,
                service,
                container,
            } => {
                let credential = credentials.get_credential().await.map_err(words)?;
                let mut url = service.clone();
                let parts = unsigned.key.split('/').filter(|part| !part.is_empty());
                url.path_segments_mut()
                    .map_err(|()| "the endpoint takes no path")?
                    .pop_if_empty()
                    .push(container)
                    .extend(parts);
                add_query(&mut url, unsigned.query);
                let mut request = request(&unsigned, &url)?;
                let authorizer = AzureAuthorizer::new(&credential, account);
                authorizer.try_authorize(&mut request).map_err(words)?;
                Ok(request)
            }
        }
    }
}

async fn sign_s3(client: &AmazonS3, unsigned: Unsigned<'_>) -> Result<HttpRequest, String> {
    let key = Path::parse(unsigned.key).map_err(|error| error.to_string())?;
    let options = SignedUrlOptions::new().with_query(unsigned.query.iter().copied());
    let url = client
        .signed_url_opts(unsigned.method.clone(), &key, VALID, &options)
        .await
        .map_err(words)?;
    request(&unsigned, &url)
}

async fn sign_gs(
    credentials: Option<&GcpCredentialProvider>,
    bucket_url: &str,
    unsigned: Unsigned<'_>,
) -> Result<HttpRequest, String> {
    let mut url = Url::parse(bucket_url).map_err(|error| error.to_string())?;
    url.path_segments_mut()
        .map_err(|()| "the endpoint takes no path")?
        .pop_if_empty()
        .extend(unsigned.key.split('/').filter(|part| !part.is_empty()));
    add_query(&mut url, unsigned.query);
    let mut request = request(&unsigned, &url)?;
    if let Some(credentials) = credentials {
        let credential = credentials.get_credential().await.map_err(words)?;
        let bearer = HeaderValue::from_str(&format!("Bearer {}", credential.bearer));
        let bearer = bearer.map_err(|_| "the token holds odd characters")?;
        request.headers_mut().insert(AUTHORIZATION, bearer);
    }
    Ok(request)
}

fn add_query(url: &mut Url, query: &[(&str, &str)]) {
    if !query.is_empty() {
        url.query_pairs_mut().extend_pairs(query);
    }
}

fn request(unsigned: &Unsigned<'_>, url: &Url) -> Result<HttpRequest, String> {
    let mut builder = http::Request::builder()
        .method(unsigned.method.clone())
        .uri(url.as_str());
    if let Some((name, value)) = &unsigned.header {
        builder = builder.header(name, *value);
    }
    builder
        .body(HttpRequestBody::empty())
        .map_err(|error| error.to_string())
}
