//! Ends uploads in parts that nobody will complete. Their parts are invisible in listings and are paid for.

use baler_journal::store::StoreError;
use http::{Method, StatusCode};
use serde::Deserialize;

use super::bucket::Bucket;
use super::client::Unsigned;
use super::{Purpose, Scheme};

#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Page {
    #[serde(default)]
    is_truncated: bool,
    #[serde(default)]
    next_key_marker: String,
    #[serde(default)]
    next_upload_id_marker: String,
    #[serde(default, rename = "Upload")]
    uploads: Vec<Found>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Found {
    key: String,
    upload_id: String,
}

impl Bucket {
    /// Ends every upload in parts below a folder, and tells how many there were. The folder must be one that nobody
    /// writes to any more. On Azure there is nothing to do: blocks that were not committed vanish after a week; and a store of a
    /// program's own tells of none.
    pub async fn abort_uploads(&self, folder: &str) -> Result<u64, StoreError> {
        if matches!(self.url().scheme(), Scheme::Az | Scheme::Own) {
            return Ok(0);
        }
        let mut aborted = 0;
        let mut page = self.uploads(folder, "", "").await?;
        loop {
            for found in &page.uploads {
                self.abort(found).await?;
                aborted += 1;
            }
            if !page.is_truncated || page.next_key_marker.is_empty() {
                return Ok(aborted);
            }
            page = self
                .uploads(folder, &page.next_key_marker, &page.next_upload_id_marker)
                .await?;
        }
    }

    /// The names of all uploads in parts that were begun and neither completed nor ended, below the prefix; `None` where the
    /// store does not tell.
    pub async fn open_uploads(&self) -> Result<Option<Vec<String>>, StoreError> {
        if matches!(self.url().scheme(), Scheme::Az | Scheme::Own) {
            return Ok(None);
        }
        let whole = self.key("");
        let mut paths = Vec::new();
        let mut page = self.uploads("", "", "").await?;
        loop {
            let below = |found: &Found| found.key.strip_prefix(&whole).map(str::to_owned);
            paths.extend(page.uploads.iter().filter_map(below));
            if !page.is_truncated || page.next_key_marker.is_empty() {
                return Ok(Some(paths));
            }
            page = self
                .uploads("", &page.next_key_marker, &page.next_upload_id_marker)
                .await?;
        }
    }

    async fn uploads(&self, folder: &str, key: &str, id: &str) -> Result<Page, StoreError> {
        let prefix = match folder {
            "" => self.key(""),
            folder => format!("{}/", self.key(folder)),
        };
        let mut query = vec![("uploads", ""), ("prefix", &prefix)];
        let markers = [("key-marker", key), ("upload-id-marker", id)];
        query.extend(markers.into_iter().filter(|(_, value)| !value.is_empty()));
        let unsigned = Unsigned {
            method: Method::GET,
            key: "",
            query: &query,
            header: None,
        };
        let answer = self.send(Purpose::Delete, folder, unsigned).await?;
        if let StatusCode::NOT_IMPLEMENTED | StatusCode::METHOD_NOT_ALLOWED | StatusCode::BAD_REQUEST =
            answer.status
        {
            return Err(StoreError::Unsupported {
                path: folder.to_owned(),
                reason: format!("uploads cannot be listed: {}", answer.status),
            });
        }
        if !answer.status.is_success() {
            return Err(answer.into_error(folder));
        }
        quick_xml::de::from_str(&answer.body).map_err(|error| StoreError::Unknown {
            path: folder.to_owned(),
            reason: format!("the list of uploads cannot be read: {error}"),
        })
    }

    async fn abort(&self, found: &Found) -> Result<(), StoreError> {
        let unsigned = Unsigned {
            method: Method::DELETE,
            key: &found.key,
            query: &[("uploadId", &found.upload_id)],
            header: None,
        };
        let answer = self.send(Purpose::Delete, &found.key, unsigned).await?;
        match answer.status {
            status if status.is_success() || status == StatusCode::NOT_FOUND => Ok(()),
            _ => Err(answer.into_error(&found.key)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_of_uploads_is_read() {
        let text = r#"<?xml version="1.0" encoding="UTF-8"?>
            <ListMultipartUploadsResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/">
            <Bucket>b</Bucket><KeyMarker></KeyMarker><NextKeyMarker>a/2</NextKeyMarker>
            <NextUploadIdMarker>u2</NextUploadIdMarker><IsTruncated>true</IsTruncated>
            <Upload><Key>a/1</Key><UploadId>u1</UploadId><StorageClass>STANDARD</StorageClass></Upload>
            <Upload><Key>a/2</Key><UploadId>u2</UploadId></Upload></ListMultipartUploadsResult>"#;
        let page: Page = quick_xml::de::from_str(text).expect("a page");
        assert!(page.is_truncated);
        assert_eq!(
            (page.next_key_marker.as_str(), page.next_upload_id_marker.as_str()),
            ("a/2", "u2")
        );
        assert_eq!(page.uploads.len(), 2);
        let empty: Page = quick_xml::de::from_str("<ListMultipartUploadsResult/>").expect("a page");
        assert!(empty.uploads.is_empty() && !empty.is_truncated);
    }
}
