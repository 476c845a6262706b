//! What a request is, told from its method, query and headers: how it is counted, and whether it may be sent again.

use http::Method;
use object_store::client::HttpRequest;

use crate::store::Kind;

/// Whether a request may be sent again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Again {
    /// Done twice it does no more than done once.
    Always,
    /// Only if the store said that it had not done it.
    IfRefused,
    /// A second try would meet the first one's effect and be told that somebody else was there.
    Never,
}

const COPY_SOURCES: [&str; 3] = ["x-amz-copy-source", "x-goog-copy-source", "x-ms-copy-source"];
const CONDITIONS: [&str; 4] = [
    "if-match",
    "if-none-match",
    "x-goog-if-generation-match",
    "cf-copy-destination-if-none-match",
];

/// How a request is counted.
pub(super) fn kind(request: &HttpRequest) -> Kind {
    match *request.method() {
        Method::HEAD => Kind::Head,
        Method::GET if is_listing(request) => Kind::List,
        Method::GET => Kind::Get,
        Method::POST if has_query(request, "delete") || query_is(request, "comp", "batch") => Kind::Delete,
        _ if is_multipart(request) => Kind::Multipart,
        Method::DELETE => Kind::Delete,
        _ if has_header(request, &COPY_SOURCES) => Kind::Copy,
        _ => Kind::Put,
    }
}

/// Whether a request may be sent again.
pub(super) fn again(request: &HttpRequest) -> Again {
    match (request.method(), kind(request)) {
        (&Method::PUT | &Method::POST, _) if has_header(request, &CONDITIONS) => Again::Never,
        // Beginning an upload twice leaves one behind; ending it twice finds it gone.
        (&Method::POST, Kind::Multipart) => Again::IfRefused,
        _ => Again::Always,
    }
}

fn is_listing(request: &HttpRequest) -> bool {
    has_query(request, "list-type") || has_query(request, "uploads") || query_is(request, "comp", "list")
}

fn is_multipart(request: &HttpRequest) -> bool {
    let parts = ["uploads", "uploadId", "partNumber"];
    parts.iter().any(|name| has_query(request, name))
        || query_is(request, "comp", "block")
        || query_is(request, "comp", "blocklist")
}

fn has_header(request: &HttpRequest, names: &[&str]) -> bool {
    names.iter().any(|name| request.headers().contains_key(*name))
}

fn has_query(request: &HttpRequest, name: &str) -> bool {
    pairs(request).any(|(key, _)| key == name)
}

fn query_is(request: &HttpRequest, name: &str, value: &str) -> bool {
    pairs(request).any(|pair| pair == (name, value))
}

fn pairs(request: &HttpRequest) -> impl Iterator<Item = (&str, &str)> {
    let query = request.uri().query().unwrap_or_default();
    query
        .split('&')
        .map(|pair| pair.split_once('=').unwrap_or((pair, "")))
}

#[cfg(test)]
mod tests {
    use object_store::client::HttpRequestBody;

    use super::*;

    fn request(method: Method, uri: &str, header: &str) -> HttpRequest {
        let mut builder = http::Request::builder().method(method).uri(uri);
        if !header.is_empty() {
            builder = builder.header(header, "*");
        }
        builder.body(HttpRequestBody::empty()).expect("a request")
    }

    #[test]
    fn requests_are_told_apart() {
        let cases = [
            (Method::GET, "http://h/b/k", "", Kind::Get, Again::Always),
            (
                Method::GET,
                "http://h/b?list-type=2&prefix=x",
                "",
                Kind::List,
                Again::Always,
            ),
            (
                Method::GET,
                "http://h/c?restype=container&comp=list",
                "",
                Kind::List,
                Again::Always,
            ),
            (Method::HEAD, "http://h/b/k", "", Kind::Head, Again::Always),
            (Method::PUT, "http://h/b/k", "", Kind::Put, Again::Always),
            (
                Method::PUT,
                "http://h/b/k",
                "if-none-match",
                Kind::Put,
                Again::Never,
            ),
            (Method::PUT, "http://h/b/k", "if-match", Kind::Put, Again::Never),
            (
                Method::PUT,
                "http://h/b/k",
                "x-goog-if-generation-match",
                Kind::Put,
                Again::Never,
            ),
            (
                Method::PUT,
                "http://h/b/k",
                "x-amz-copy-source",
                Kind::Copy,
                Again::Always,
            ),
            (
                Method::PUT,
                "http://h/b/k?partNumber=1&uploadId=u",
                "",
                Kind::Multipart,
                Again::Always,
            ),
            (
                Method::PUT,
                "http://h/c/k?comp=block&blockid=1",
                "",
                Kind::Multipart,
                Again::Always,
            ),
            (
                Method::POST,
                "http://h/b/k?uploads",
                "",
                Kind::Multipart,
                Again::IfRefused,
            ),
            (
                Method::POST,
                "http://h/b/k?uploadId=u",
                "",
                Kind::Multipart,
                Again::IfRefused,
            ),
            (Method::POST, "http://h/b?delete", "", Kind::Delete, Again::Always),
            (
                Method::POST,
                "http://h/c?restype=container&comp=batch",
                "",
                Kind::Delete,
                Again::Always,
            ),
            (
                Method::DELETE,
                "http://h/b/k",
                "if-match",
                Kind::Delete,
                Again::Always,
            ),
            (
                Method::DELETE,
                "http://h/b/k?uploadId=u",
                "",
                Kind::Multipart,
                Again::Always,
            ),
        ];
        for (method, uri, header, expected_kind, expected_again) in cases {
            let request = request(method.clone(), uri, header);
            let told = (kind(&request), again(&request));
            assert_eq!(told, (expected_kind, expected_again), "{method} {uri} {header}");
        }
    }
}
