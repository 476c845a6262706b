//! Answers as S3 words them.

use std::ops::Range;

use bytes::Bytes;
use http::header::{ACCEPT_RANGES, CONTENT_LENGTH, CONTENT_RANGE, CONTENT_TYPE, ETAG, LAST_MODIFIED};
use http::{Response, StatusCode};
use http_body_util::Full;

use super::layers::Stored;

pub(super) type Reply = Response<Full<Bytes>>;

pub(super) fn empty(status: StatusCode) -> Reply {
    reply(Response::builder().status(status), Bytes::new())
}

pub(super) fn written(etag: &str) -> Reply {
    reply(Response::builder().header(ETAG, etag), Bytes::new())
}

pub(super) fn xml(text: String) -> Reply {
    reply(
        Response::builder().header(CONTENT_TYPE, "application/xml"),
        text.into(),
    )
}

/// An XML answer that says one thing.
pub(super) fn result(kind: &str, name: &str, value: &str) -> Reply {
    let value = value.replace('"', "&quot;");
    xml(format!(
        "<?xml version=\"1.0\"?><{kind}><{name}>{value}</{name}></{kind}>"
    ))
}

pub(super) fn error(status: StatusCode, code: &str) -> Reply {
    let text = format!("<?xml version=\"1.0\"?><Error><Code>{code}</Code><Message>{code}</Message></Error>");
    let builder = Response::builder().status(status);
    reply(builder.header(CONTENT_TYPE, "application/xml"), text.into())
}

/// The object's head, with the length that a GET would have.
pub(super) fn head(stored: &Stored) -> Reply {
    let builder = object(stored).header(CONTENT_LENGTH, stored.bytes.len());
    reply(builder, Bytes::new())
}

/// The object, or the part of it that was asked for.
pub(super) fn body(stored: &Stored, range: Option<&str>) -> Reply {
    let length = stored.bytes.len();
    let Some(range) = range else {
        return reply(object(stored), stored.bytes.clone());
    };
    let Some(range) = parse_range(range, length) else {
        return error(StatusCode::RANGE_NOT_SATISFIABLE, "InvalidRange");
    };
    let shown = format!("bytes {}-{}/{length}", range.start, range.end - 1);
    let builder = object(stored).status(StatusCode::PARTIAL_CONTENT);
    reply(builder.header(CONTENT_RANGE, shown), stored.bytes.slice(range))
}

fn object(stored: &Stored) -> http::response::Builder {
    Response::builder()
        .header(ETAG, &stored.etag)
        .header(LAST_MODIFIED, httpdate::fmt_http_date(stored.modified))
        .header(ACCEPT_RANGES, "bytes")
}

fn reply(builder: http::response::Builder, body: Bytes) -> Reply {
    builder
        .body(Full::new(body))
        .expect("the head is made of plain text")
}

/// `bytes=5-9`, `bytes=5-` and `bytes=-5`; `None` where nothing of it lies in the object.
fn parse_range(text: &str, length: usize) -> Option<Range<usize>> {
    let (first, last) = text.strip_prefix("bytes=")?.split_once('-')?;
    let range = match (first, last) {
        ("", suffix) => length.saturating_sub(suffix.parse().ok()?)..length,
        (first, "") => first.parse().ok()?..length,
        (first, last) => first.parse().ok()?..length.min(last.parse::<usize>().ok()?.checked_add(1)?),
    };
    (!range.is_empty()).then_some(range)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_clipped_to_the_object_and_refused_beyond_it() {
        assert_eq!(parse_range("bytes=2-4", 10), Some(2..5));
        assert_eq!(parse_range("bytes=2-99", 10), Some(2..10));
        assert_eq!(parse_range("bytes=7-", 10), Some(7..10));
        assert_eq!(parse_range("bytes=-3", 10), Some(7..10));
        assert_eq!(parse_range("bytes=-30", 10), Some(0..10));
        assert_eq!(parse_range("bytes=10-12", 10), None);
        assert_eq!(parse_range("lines=1-2", 10), None);
    }
}
