//! The path and the query of a request, decoded.

/// What follows the question mark. Of a listing, an upload, or nothing.
#[derive(Debug, Default)]
pub(super) struct Query {
    pub(super) list: bool,
    pub(super) prefix: String,
    pub(super) delimiter: Option<String>,
    pub(super) start_after: Option<String>,
    pub(super) token: Option<String>,
    pub(super) keys_max: Option<usize>,
    pub(super) uploads: bool,
    pub(super) upload: Option<String>,
    pub(super) part: Option<u32>,
    pub(super) delete: bool,
}

impl Query {
    /// `None` where it makes no sense.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let mut query = Self::default();
        for pair in text.split('&') {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            let value = decode(&value.replace('+', " "))?;
            match name {
                "list-type" => query.list = value == "2",
                "prefix" => query.prefix = value,
                "delimiter" => query.delimiter = Some(value),
                "start-after" => query.start_after = Some(value),
                "continuation-token" => query.token = Some(value),
                "max-keys" => query.keys_max = Some(value.parse().ok()?),
                "uploads" => query.uploads = true,
                "uploadId" => query.upload = Some(value),
                "partNumber" => query.part = Some(value.parse().ok()?),
                "delete" => query.delete = true,
                _ => {}
            }
        }
        Some(query)
    }
}

/// `/bucket/key`; the first slash may be missing.
pub(super) fn split_path(path: &str) -> Option<(String, String)> {
    let path = path.strip_prefix('/').unwrap_or(path);
    let (bucket, key) = path.split_once('/').unwrap_or((path, ""));
    Some((decode(bucket)?, decode(key)?))
}

fn decode(text: &str) -> Option<String> {
    percent_encoding::percent_decode_str(text)
        .decode_utf8()
        .ok()
        .map(Into::into)
}

/// The names in the body of a request to delete many.
pub(super) fn keys_of(body: &[u8]) -> Vec<String> {
    let text = String::from_utf8_lossy(body);
    let parts = text.split("<Key>").skip(1);
    parts
        .filter_map(|part| part.split("</Key>").next().map(unescape))
        .collect()
}

fn unescape(text: &str) -> String {
    text.replace("&lt;", "<")
        .replace("&gt;", ">")
        .replace("&quot;", "\"")
        .replace("&apos;", "'")
        .replace("&amp;", "&")
}
