//! Requests and answers as S3 speaks: HTTP and XML, as much of it as Baler's client uses.

use std::fmt::Write;
use std::time::{Duration, UNIX_EPOCH};

use bytes::Bytes;
use http::{HeaderMap, Method, Response, StatusCode};
use object_store::client::{HttpRequest, HttpResponse};
use percent_encoding::percent_decode_str;

use super::BUCKET;
use super::objects::{Done, Op};

/// What a request asks for.
pub(super) fn understand(request: &HttpRequest) -> Op {
    let (method, headers) = (request.method(), request.headers());
    let path = request.uri().path();
    let key = decoded(path.trim_start_matches('/').strip_prefix(BUCKET).unwrap_or(path));
    let key = key.trim_start_matches('/').to_owned();
    let query = query(request.uri().query().unwrap_or_default());
    let asked = |name: &str| {
        query
            .iter()
            .find(|(key, _)| key == name)
            .map(|(_, value)| value.clone())
    };
    let upload = asked("uploadId");
    match (method, upload) {
        (&Method::PUT, Some(upload)) => Op::PutPart {
            upload,
            number: asked("partNumber")
                .and_then(|text| text.parse().ok())
                .unwrap_or(0),
            body: body_of(request),
        },
        (&Method::POST, Some(upload)) => Op::Complete { upload },
        (&Method::DELETE, Some(upload)) => Op::Abort { upload },
        (&Method::GET, None) if asked("list-type").is_some() => Op::List {
            prefix: asked("prefix").unwrap_or_default(),
            after: asked("start-after").unwrap_or_default(),
        },
        (&Method::GET, None) if asked("uploads").is_some() => Op::ListUploads {
            prefix: asked("prefix").unwrap_or_default(),
        },
        (&Method::GET, None) if key.is_empty() => Op::Setting,
        (&Method::POST, None) if asked("uploads").is_some() => Op::BeginUpload { key },
        (&Method::POST, None) => Op::DeleteMany(keys_in(&body_of(request))),
        (&Method::GET | &Method::HEAD, _) => Op::Get {
            key,
            range: header(headers, "range").and_then(|text| range_in(&text)),
            if_match: header(headers, "if-match"),
            head: method == Method::HEAD,
        },
        (&Method::DELETE, None) => Op::Delete {
            key,
            if_match: header(headers, "if-match"),
        },
        _ => match header(headers, "x-amz-copy-source") {
            Some(from) => {
                let from = decoded(&from);
                let from = from.trim_start_matches('/').trim_start_matches(BUCKET);
                Op::Copy {
                    from: from.trim_start_matches('/').to_owned(),
                    to: key,
                }
            }
            None => Op::Put {
                key,
                body: body_of(request),
                if_absent: headers.contains_key("if-none-match"),
            },
        },
    }
}

fn header(headers: &HeaderMap, name: &str) -> Option<String> {
    Some(headers.get(name)?.to_str().ok()?.to_owned())
}

fn decoded(text: &str) -> String {
    percent_decode_str(text).decode_utf8_lossy().into_owned()
}

fn query(text: &str) -> Vec<(String, String)> {
    let pairs = text.split('&').filter(|pair| !pair.is_empty());
    let pairs = pairs.map(|pair| pair.split_once('=').unwrap_or((pair, "")));
    pairs
        .map(|(key, value)| (decoded(key), decoded(&value.replace('+', " "))))
        .collect()
}

fn range_in(text: &str) -> Option<(u64, u64)> {
    let (from, until) = text.strip_prefix("bytes=")?.split_once('-')?;
    let until: u64 = until.parse().ok()?;
    Some((from.parse().ok()?, until + 1))
}

fn keys_in(body: &Bytes) -> Vec<String> {
    let text = String::from_utf8_lossy(body).into_owned();
    let parts = text.split("<Key>").skip(1);
    parts
        .filter_map(|part| Some(part.split_once("</Key>")?.0.to_owned()))
        .collect()
}

/// Bodies are in memory already.
fn body_of(request: &HttpRequest) -> Bytes {
    use futures::FutureExt;
    use http_body_util::BodyExt;
    let body = request.body().clone().collect().now_or_never();
    body.and_then(Result::ok)
        .map(http_body_util::Collected::to_bytes)
        .unwrap_or_default()
}

/// An answer, before anything happens to it on its way.
pub(super) struct Answer {
    pub(super) status: StatusCode,
    pub(super) headers: Vec<(&'static str, String)>,
    pub(super) body: Bytes,
}

impl Answer {
    fn new(status: StatusCode, body: impl Into<Bytes>) -> Self {
        let body = body.into();
        Self {
            status,
            headers: vec![("content-length", body.len().to_string())],
            body,
        }
    }

    fn with(mut self, name: &'static str, value: String) -> Self {
        self.headers.push((name, value));
        self
    }

    /// An error in S3's words.
    pub(super) fn error(status: StatusCode, code: &str) -> Self {
        Self::new(
            status,
            format!("<Error><Code>{code}</Code><Message>simulated</Message></Error>"),
        )
    }

    /// As if this stretch of an object were in it.
    pub(super) fn said_to_be(mut self, range: (u64, u64), total: u64) -> Self {
        let mut headers = self.headers.iter_mut();
        if let Some((_, said)) = headers.find(|(name, _)| *name == CONTENT_RANGE) {
            *said = content_range(range, total);
        }
        self
    }

    /// With this body, which may not be what the headers promise.
    pub(super) fn into_http(self, body: object_store::client::HttpResponseBody) -> HttpResponse {
        let mut response = Response::builder().status(self.status);
        for (name, value) in self.headers {
            response = response.header(name, value);
        }
        response.body(body).expect("simulated headers are plain text")
    }
}

const CONTENT_RANGE: &str = "content-range";

fn content_range(range: (u64, u64), total: u64) -> String {
    format!("bytes {}-{}/{total}", range.0, range.1.saturating_sub(1))
}

/// What S3 would answer.
pub(super) fn answer(done: Done) -> Answer {
    let ok = |body: String| Answer::new(StatusCode::OK, body);
    match done {
        Done::Object { version, range, head } => {
            let total = version.bytes.len() as u64;
            let whole = range == (0, total);
            let status = if whole {
                StatusCode::OK
            } else {
                StatusCode::PARTIAL_CONTENT
            };
            let bytes = version.bytes.slice(range.0 as usize..range.1 as usize);
            let mut answer = Answer::new(status, if head { Bytes::new() } else { bytes })
                .with("etag", version.tag)
                .with("last-modified", http_date(version.modified_ms));
            answer.headers[0].1 = (range.1 - range.0).to_string();
            match whole {
                true => answer,
                false => answer.with(CONTENT_RANGE, content_range(range, total)),
            }
        }
        Done::Written { tag } => ok(String::new()).with("etag", tag),
        Done::Copied { tag } => ok(format!(
            "<CopyObjectResult><ETag>{}</ETag></CopyObjectResult>",
            quoted(&tag)
        )),
        Done::Listed(found) => ok(listing(&found)),
        Done::Uploads(found) => {
            let mut text = "<ListMultipartUploadsResult><IsTruncated>false</IsTruncated>".to_owned();
            for (key, id) in found {
                let _ = write!(text, "<Upload><Key>{key}</Key><UploadId>{id}</UploadId></Upload>");
            }
            ok(text + "</ListMultipartUploadsResult>")
        }
        Done::Begun { upload, key } => ok(format!(
            "<InitiateMultipartUploadResult><Bucket>{BUCKET}</Bucket><Key>{key}</Key><UploadId>{upload}</UploadId>\
             </InitiateMultipartUploadResult>"
        )),
        Done::Completed { key, tag } => ok(format!(
            "<CompleteMultipartUploadResult><Bucket>{BUCKET}</Bucket><Key>{key}</Key><ETag>{}</ETag>\
             </CompleteMultipartUploadResult>",
            quoted(&tag)
        )),
        Done::Deleted => Answer::new(StatusCode::NO_CONTENT, ""),
        Done::DeletedMany(keys) => {
            let mut text = "<DeleteResult>".to_owned();
            for key in keys {
                let _ = write!(text, "<Deleted><Key>{key}</Key></Deleted>");
            }
            ok(text + "</DeleteResult>")
        }
        Done::Missing => Answer::error(StatusCode::NOT_FOUND, "NoSuchKey"),
        Done::Changed => Answer::error(StatusCode::PRECONDITION_FAILED, "PreconditionFailed"),
        Done::NoSuchUpload => Answer::error(StatusCode::NOT_FOUND, "NoSuchUpload"),
        Done::Nothing => ok("<Nothing/>".to_owned()),
    }
}

fn listing(found: &[(String, super::Version)]) -> String {
    let mut text = "<ListBucketResult><IsTruncated>false</IsTruncated>".to_owned();
    for (key, version) in found {
        let _ = write!(
            text,
            "<Contents><Key>{key}</Key><LastModified>{}</LastModified><ETag>{}</ETag><Size>{}</Size></Contents>",
            humantime::format_rfc3339_millis(UNIX_EPOCH + Duration::from_millis(version.modified_ms)),
            quoted(&version.tag),
            version.bytes.len(),
        );
    }
    text + "</ListBucketResult>"
}

fn quoted(tag: &str) -> String {
    tag.replace('"', "&quot;")
}

/// Whole seconds, as HTTP has them.
fn http_date(unix_ms: u64) -> String {
    httpdate::fmt_http_date(UNIX_EPOCH + Duration::from_millis(unix_ms))
}
