//! Puts words to errors that the user can do something about, and keeps two kinds of "not found" apart: a missing
//! bucket is not a missing object, though stores answer 404 to both.

use std::fmt;

use async_trait::async_trait;
use http::{Method, StatusCode};
use object_store::client::{HttpClient, HttpError, HttpErrorKind, HttpRequest, HttpResponse, HttpService};

use crate::store::{BucketUrl, Scheme};

/// The bucket itself does not exist.
#[derive(Debug, thiserror::Error)]
#[error("there is no {kind} {name}; create it, or correct the URL")]
struct BucketMissing {
    kind: &'static str,
    name: String,
}

#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct Words(String);

/// A service with words for its errors.
#[derive(Debug)]
pub(in crate::store) struct Explained {
    next: HttpClient,
    scheme: Scheme,
    bucket: String,
}

impl Explained {
    /// For the requests of a bucket, and for those that fetch its credentials.
    pub(in crate::store) fn new(next: HttpClient, url: &BucketUrl) -> Self {
        Self {
            next,
            scheme: url.scheme(),
            bucket: url.bucket().to_owned(),
        }
    }

    fn bucket_missing(&self) -> HttpError {
        let kind = match self.scheme {
            Scheme::Az => "container",
            _ => "bucket",
        };
        let name = self.bucket.clone();
        HttpError::new(HttpErrorKind::Unknown, BucketMissing { kind, name })
    }

    async fn explain(&self, method: &Method, answer: HttpResponse) -> Result<HttpResponse, HttpError> {
        let (mut parts, body) = answer.into_parts();
        let body = String::from_utf8_lossy(&body.bytes().await?).into_owned();
        let header = |name: &str| Some(parts.headers.get(name)?.to_str().ok()?.to_owned());
        let code = header("x-ms-error-code").or_else(|| element(&body, "Code"));
        let region = header("x-amz-bucket-region").or_else(|| element(&body, "Region"));
        let is_elsewhere = [301, 307, 308].contains(&parts.status.as_u16());
        match code.as_deref().unwrap_or_default() {
            "NoSuchBucket" | "ContainerNotFound" | "ContainerBeingDeleted" => {
                return Err(self.bucket_missing());
            }
            "AuthorizationHeaderMalformed" | "PermanentRedirect" => return Err(wrong_region(region)),
            _ if is_elsewhere && self.scheme == Scheme::S3 => return Err(wrong_region(region)),
            // Azure says "conflict", which is no word for a read.
            "BlobArchived" if method == Method::GET => parts.status = StatusCode::FORBIDDEN,
            _ => {}
        }
        let body = match code.as_deref().and_then(|code| hint(self.scheme, code)) {
            Some(hint) => format!("{hint} ({body})"),
            None => body,
        };
        Ok(HttpResponse::from_parts(parts, body.into()))
    }

    fn explain_failure(&self, host: &str, error: HttpError) -> HttpError {
        match METADATA_HOSTS.contains(&host) {
            true => words(
                error.kind(),
                format!("no credentials found; {} ({error})", self.how_to_log_in()),
            ),
            false if error.kind() == HttpErrorKind::Connect => words(
                error.kind(),
                format!("cannot connect to {host} ({})", innermost(&error)),
            ),
            false => error,
        }
    }

    fn how_to_log_in(&self) -> &'static str {
        match self.scheme {
            Scheme::S3 => {
                "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE; on Amazon's machines, give the \
                 instance a role; for a public bucket, set AWS_SKIP_SIGNATURE=true"
            }
            Scheme::Gs => {
                "set GOOGLE_APPLICATION_CREDENTIALS, or run `gcloud auth application-default login`"
            }
            Scheme::Az => {
                "set AZURE_STORAGE_ACCOUNT_KEY, AZURE_STORAGE_SAS_TOKEN, or AZURE_CLIENT_ID, AZURE_CLIENT_SECRET and \
                 AZURE_TENANT_ID; after `az login`, set AZURE_USE_AZURE_CLI=true"
            }
            Scheme::Own => "the program that brought this store logs in",
        }
    }
}

/// Where machines in a cloud ask for their credentials.
const METADATA_HOSTS: [&str; 4] = [
    "169.254.169.254",
    "169.254.170.2",
    "metadata.google.internal",
    "metadata",
];

#[async_trait]
impl HttpService for Explained {
    async fn call(&self, request: HttpRequest) -> Result<HttpResponse, HttpError> {
        let host = request.uri().host().unwrap_or_default().to_owned();
        let method = request.method().clone();
        match self.next.execute(request).await {
            Ok(answer) if answer.status().is_success() => Ok(answer),
            Ok(answer) => self.explain(&method, answer).await,
            Err(error) => Err(self.explain_failure(&host, error)),
        }
    }
}

fn words(kind: HttpErrorKind, text: String) -> HttpError {
    HttpError::new(kind, Words(text))
}

fn wrong_region(region: Option<String>) -> HttpError {
    let text = match region {
        Some(region) => format!("the bucket is in another region; set AWS_REGION={region}"),
        None => {
            "the bucket is in another region, or the endpoint is wrong; set AWS_REGION and AWS_ENDPOINT_URL"
                .to_owned()
        }
    };
    words(HttpErrorKind::Unknown, text)
}

fn hint(scheme: Scheme, code: &str) -> Option<&'static str> {
    Some(match code {
        "InvalidAccessKeyId" => {
            "the store does not know the access key; check AWS_ACCESS_KEY_ID or AWS_PROFILE"
        }
        "SignatureDoesNotMatch" => "the secret key is wrong; check AWS_SECRET_ACCESS_KEY or AWS_PROFILE",
        "ExpiredToken" | "TokenRefreshRequired" => "the session has expired; log in again",
        "RequestTimeTooSkewed" => "this machine's clock is wrong; set it",
        "InvalidObjectState" | "BlobArchived" => "the object is archived; restore it first",
        "AuthenticationFailed" | "InvalidAuthenticationInfo" => {
            "the account, key or token is wrong; check the AZURE_STORAGE_* variables"
        }
        "AccessDenied" if scheme == Scheme::S3 => {
            "the policy of this user, role or bucket does not allow it; see \"least privilege\" in docs/operating.md"
        }
        _ => return None,
    })
}

/// The text of the first such element. Error bodies are flat, and a wrong guess costs a hint only.
fn element(xml: &str, name: &str) -> Option<String> {
    let (_, rest) = xml.split_once(&format!("<{name}>"))?;
    let (text, _) = rest.split_once("</")?;
    Some(text.trim().to_owned())
}

fn innermost(error: &HttpError) -> impl fmt::Display {
    let mut cause: &dyn std::error::Error = error;
    while let Some(source) = cause.source() {
        cause = source;
    }
    cause.to_string()
}

#[cfg(test)]
mod tests {
    use super::super::script::{Scripted, request};
    use super::*;
    use crate::store::Location;

    fn explained(url: &str, wire: &Scripted) -> Explained {
        match url.parse() {
            Ok(Location::Bucket(url)) => Explained::new(wire.client(), &url),
            other => panic!("{other:?}"),
        }
    }

    async fn failure(url: &str, wire: Scripted, host: &str) -> String {
        let call = request(Method::GET, &format!("http://{host}/b/k"));
        let error = explained(url, &wire).call(call).await.expect_err("a failure");
        error.to_string()
    }

    #[tokio::test]
    async fn a_missing_bucket_is_not_a_missing_object() {
        let missing = Scripted::new([(404, "<Error><Code>NoSuchBucket</Code></Error>")]);
        let words = failure("s3://photos/x", missing, "h").await;
        assert!(words.contains("there is no bucket photos"), "{words}");

        let missing = Scripted::new([(404, "")])
            .with_header("x-ms-error-code".parse().expect("a name"), "ContainerNotFound");
        let words = failure("az://photos/x", missing, "h").await;
        assert!(words.contains("there is no container photos"), "{words}");

        let unchanged = Scripted::new([(304, "")]);
        let call = request(Method::GET, "http://h/b/k");
        let answer = explained("s3://photos", &unchanged).call(call).await;
        assert_eq!(answer.expect("an answer").status(), 304);

        let wire = Scripted::new([(404, "<Error><Code>NoSuchKey</Code></Error>")]);
        let answer = explained("s3://photos", &wire)
            .call(request(Method::GET, "http://h/b/k"))
            .await;
        assert_eq!(answer.expect("an answer").status(), 404);
    }

    #[tokio::test]
    async fn errors_say_what_to_set() {
        let region = Scripted::new([(301, "")])
            .with_header("x-amz-bucket-region".parse().expect("a name"), "eu-west-1");
        assert!(
            failure("s3://b", region, "h")
                .await
                .contains("AWS_REGION=eu-west-1")
        );

        let malformed = "<Error><Code>AuthorizationHeaderMalformed</Code><Region>eu-north-1</Region></Error>";
        let words = failure("s3://b", Scripted::new([(400, malformed)]), "h").await;
        assert!(words.contains("AWS_REGION=eu-north-1"), "{words}");

        let alone = Scripted::failing(Err(HttpErrorKind::Connect));
        let words = failure("s3://b", alone.clone(), "169.254.169.254").await;
        assert!(
            words.contains("AWS_ACCESS_KEY_ID") && words.contains("AWS_PROFILE"),
            "{words}"
        );
        assert!(
            failure("gs://b", alone.clone(), "metadata")
                .await
                .contains("GOOGLE_APPLICATION_CREDENTIALS")
        );
        assert!(
            failure("s3://b", alone, "minio.local")
                .await
                .contains("cannot connect to minio.local")
        );
    }

    #[tokio::test]
    async fn refusals_keep_their_status_and_gain_words() {
        let wire = Scripted::new([(403, "<Error><Code>InvalidAccessKeyId</Code></Error>")]);
        let answer = explained("s3://b", &wire)
            .call(request(Method::GET, "http://h/b/k"))
            .await;
        let answer = answer.expect("an answer");
        assert_eq!(answer.status(), 403);
        let body = answer.into_body().bytes().await.expect("a body");
        assert!(String::from_utf8_lossy(&body).contains("AWS_PROFILE"));
    }
}
