//! What a store tells of objects and of the bucket beside names and versions.

use std::collections::BTreeMap;

use baler_journal::store::StoreError;
use http::{HeaderMap, Method};
use object_store::path::Path;
use object_store::{Attribute, Error, GetOptions, ObjectStore as _};

use super::bucket::Bucket;
use super::client::Unsigned;
use super::http::AnswerHeaders;
use super::{ObjectFacts, Purpose, Scheme};

const CLASSES: [&str; 3] = ["x-amz-storage-class", "x-goog-storage-class", "x-ms-access-tier"];
/// Classes whose objects cannot be read before somebody restores them.
const ARCHIVES: [&str; 3] = ["GLACIER", "DEEP_ARCHIVE", "ARCHIVE"];
const TAG_COUNTS: [&str; 2] = ["x-amz-tagging-count", "x-ms-tag-count"];

impl Bucket {
    /// What a HEAD tells of an object; nothing if there is none.
    pub async fn describe(&self, path: &str) -> Result<Option<ObjectFacts>, StoreError> {
        let location =
            Path::parse(path).map_err(|error| StoreError::from_object_store(path, &error.into()))?;
        let head = GetOptions {
            head: true,
            ..GetOptions::default()
        };
        let result = match self.objects(Purpose::Head).get_opts(&location, head).await {
            Ok(result) => result,
            Err(Error::NotFound { .. }) => return Ok(None),
            Err(error) => return Err(StoreError::from_object_store(path, &error)),
        };
        let mut metadata = BTreeMap::new();
        for (attribute, value) in &result.attributes {
            if let Attribute::Metadata(key) = attribute {
                metadata.insert(key.to_string(), value.as_ref().to_owned());
            }
        }
        let headers = result.extensions.get::<AnswerHeaders>();
        let headers = headers.map(|kept| kept.0.clone()).unwrap_or_default();
        Ok(Some(facts(self.url().scheme(), &headers, metadata)))
    }

    /// What an operator should know of the bucket before anything is deleted in it. What may not be asked is left out.
    pub async fn warnings(&self) -> Vec<String> {
        let url = self.url();
        let mut warnings = Vec::new();
        if matches!(url.scheme(), Scheme::Az | Scheme::Own) {
            return warnings;
        }
        if self
            .setting("versioning")
            .await
            .contains("<Status>Enabled</Status>")
        {
            warnings.push(format!(
                "{url} keeps old versions: what is deleted stays, and is paid for, until a lifecycle rule expires it"
            ));
        }
        if self
            .setting("object-lock")
            .await
            .contains("<ObjectLockEnabled>Enabled")
        {
            warnings.push(format!(
                "{url} has object lock: locked versions cannot be deleted before their time"
            ));
        }
        warnings
    }

    async fn setting(&self, name: &str) -> String {
        let unsigned = Unsigned {
            method: Method::GET,
            key: "",
            query: &[(name, "")],
            header: None,
        };
        match self.send(Purpose::Probe, name, unsigned).await {
            Ok(answer) if answer.status.is_success() => answer.body,
            _ => String::new(),
        }
    }
}

fn facts(scheme: Scheme, headers: &HeaderMap, metadata: BTreeMap<String, String>) -> ObjectFacts {
    let text = |name: &str| headers.get(name)?.to_str().ok();
    let storage_class = CLASSES.iter().find_map(|name| text(name));
    let restored = text("x-amz-restore").is_some_and(|restore| restore.contains("ongoing-request=\"false\""));
    let is_archive = storage_class.is_some_and(|class| is_archive(scheme, class));
    ObjectFacts {
        archived: (is_archive || text("x-amz-archive-status").is_some()) && !restored,
        storage_class: storage_class.map(str::to_owned),
        metadata,
        tags: TAG_COUNTS
            .iter()
            .find_map(|name| text(name)?.parse().ok())
            .unwrap_or(0),
    }
}

/// Google's class of that name is none: it reads at once.
fn is_archive(scheme: Scheme, class: &str) -> bool {
    scheme != Scheme::Gs && ARCHIVES.contains(&class.to_ascii_uppercase().as_str())
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    fn told(scheme: Scheme, headers: &[(&'static str, &'static str)]) -> ObjectFacts {
        let headers = headers.iter().map(|(name, value)| {
            let name = http::HeaderName::from_static(name);
            (name, HeaderValue::from_static(value))
        });
        facts(scheme, &headers.collect(), BTreeMap::new())
    }

    #[test]
    fn archived_objects_are_known() {
        assert!(told(Scheme::S3, &[("x-amz-storage-class", "GLACIER")]).archived);
        assert!(told(Scheme::S3, &[("x-amz-storage-class", "DEEP_ARCHIVE")]).archived);
        assert!(told(Scheme::S3, &[("x-amz-archive-status", "ARCHIVE_ACCESS")]).archived);
        assert!(told(Scheme::Az, &[("x-ms-access-tier", "Archive")]).archived);
    }

    #[test]
    fn what_reads_at_once_is_not_archived() {
        let restored = [
            ("x-amz-storage-class", "GLACIER"),
            (
                "x-amz-restore",
                "ongoing-request=\"false\", expiry-date=\"Fri, 21 Dec 2029 00:00:00 GMT\"",
            ),
        ];
        assert!(!told(Scheme::S3, &restored).archived);
        assert!(!told(Scheme::S3, &[("x-amz-storage-class", "GLACIER_IR")]).archived);
        assert!(!told(Scheme::Gs, &[("x-goog-storage-class", "ARCHIVE")]).archived);
        assert!(!told(Scheme::S3, &[]).archived);
        assert_eq!(told(Scheme::S3, &[("x-amz-tagging-count", "3")]).tags, 3);
    }
}
