//! ListObjectsV2: pages of at most 1,000, prefixes, folders, and a place to go on from.

use std::fmt::Write;

use super::layers::{Layers, Stored};
use super::query::Query;

const PAGE_MAX: usize = 1_000;

/// Comes after every name that goes on from a prefix: no name holds it.
const AFTER_ALL: char = char::MAX;

/// One page, as XML. The token of the next one is the name or folder that this one ended with.
pub(super) fn page(layers: &Layers, query: &Query) -> String {
    let limit = query.keys_max.unwrap_or(PAGE_MAX).min(PAGE_MAX);
    let after = query.token.as_deref().max(query.start_after.as_deref());
    let mut from = match after {
        Some(after) if after >= query.prefix.as_str() => beyond(after, query),
        _ => query.prefix.clone(),
    };
    let (mut items, mut count, mut last) = (String::new(), 0, String::new());
    let mut truncated = false;
    while let Some((key, stored)) = layers.next(&from) {
        if !key.starts_with(&query.prefix) {
            break;
        }
        if count == limit {
            truncated = true;
            break;
        }
        last = match folder(&key, query) {
            Some(folder) => {
                items += &format!(
                    "<CommonPrefixes><Prefix>{}</Prefix></CommonPrefixes>",
                    escape(folder)
                );
                folder.to_owned()
            }
            None => {
                write_object(&mut items, &key, &stored);
                key
            }
        };
        from = beyond(&last, query);
        count += 1;
    }
    let token = match truncated {
        true => format!("<NextContinuationToken>{}</NextContinuationToken>", escape(&last)),
        false => String::new(),
    };
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?><ListBucketResult><IsTruncated>{truncated}</IsTruncated>\
         <KeyCount>{count}</KeyCount>{token}{items}</ListBucketResult>"
    )
}

/// Where to go on after a name, or after everything in a folder.
fn beyond(last: &str, query: &Query) -> String {
    let mut from = last.to_owned();
    match &query.delimiter {
        Some(delimiter) if last.ends_with(delimiter.as_str()) => from.push(AFTER_ALL),
        _ => from.push('\0'),
    }
    from
}

fn folder<'a>(key: &'a str, query: &Query) -> Option<&'a str> {
    let delimiter = query.delimiter.as_deref()?;
    let at = key[query.prefix.len()..].find(delimiter)?;
    Some(&key[..query.prefix.len() + at + delimiter.len()])
}

fn write_object(items: &mut String, key: &str, stored: &Stored) {
    let written = write!(
        items,
        "<Contents><Key>{}</Key><LastModified>{}</LastModified><ETag>{}</ETag><Size>{}</Size>\
         <StorageClass>STANDARD</StorageClass></Contents>",
        escape(key),
        humantime::format_rfc3339_millis(stored.modified),
        escape(&stored.etag),
        stored.bytes.len(),
    );
    written.expect("text takes all that is written to it");
}

pub(super) fn escape(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}
