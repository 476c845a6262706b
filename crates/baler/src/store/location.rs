//! Where data lies: a directory or a prefix in a bucket, as the user writes it.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::Arc;

use object_store::ObjectStore;

/// A directory, or a prefix in a bucket.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Location {
    /// A directory.
    Local(PathBuf),
    /// A prefix in a bucket.
    Bucket(BucketUrl),
}

/// Which kind of cloud store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Scheme {
    /// Amazon S3, and what speaks its protocol.
    S3,
    /// Google Cloud Storage.
    Gs,
    /// Azure Blob Storage.
    Az,
    /// A store that a program brought with it.
    Own,
}

/// A prefix in a bucket.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct BucketUrl {
    scheme: Scheme,
    bucket: String,
    prefix: String,
    own: Option<OwnStore>,
}

/// Text that names no location.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{text}: {reason}")]
pub struct LocationError {
    text: String,
    reason: String,
}

/// What stands for a bucket's name in the URL of a store that a program brought.
const OWN_NAME: &str = "store";

const KNOWN: &str = "s3://, gs://, az:// (also azure://, abfs://, abfss://), file://, or a plain path";

impl Scheme {
    fn parse(text: &str) -> Option<Self> {
        match text {
            "s3" | "s3a" => Some(Self::S3),
            "gs" => Some(Self::Gs),
            "az" | "azure" | "abfs" | "abfss" => Some(Self::Az),
            _ => None,
        }
    }

    /// The name in front of `://`.
    pub fn name(self) -> &'static str {
        match self {
            Self::S3 => "s3",
            Self::Gs => "gs",
            Self::Az => "az",
            Self::Own => "own",
        }
    }
}

impl Location {
    /// What lies below it under this path.
    pub fn join(&self, below: &str) -> Result<Self, LocationError> {
        match self {
            Self::Local(path) => Ok(Self::Local(path.join(below))),
            Self::Bucket(url) => {
                let prefix = match url.prefix.as_str() {
                    "" => below.to_owned(),
                    prefix => format!("{prefix}/{below}"),
                };
                check_prefix(&prefix).map_err(|reason| LocationError {
                    text: format!("{url}/{below}"),
                    reason,
                })?;
                let url = url.clone();
                Ok(Self::Bucket(BucketUrl { prefix, ..url }))
            }
        }
    }
}

impl BucketUrl {
    /// Which kind of store it is on.
    pub fn scheme(&self) -> Scheme {
        self.scheme
    }

    /// The bucket, or Azure's container.
    pub fn bucket(&self) -> &str {
        &self.bucket
    }

    /// The path in the bucket, without slashes at its ends; empty for the whole bucket.
    pub fn prefix(&self) -> &str {
        &self.prefix
    }

    /// A prefix in a store that this program holds; an empty one for all of it. It may be written as a URL that was shown.
    pub fn in_own(store: Arc<dyn ObjectStore>, prefix: &str) -> Result<Self, LocationError> {
        let shown = format!("{}://{OWN_NAME}", Scheme::Own.name());
        let below = prefix.strip_prefix(&shown).unwrap_or(prefix);
        let rest = format!("{OWN_NAME}/{}", below.trim_start_matches('/'));
        let url = Self::parse(Scheme::Own, &rest).map_err(|reason| LocationError {
            text: prefix.to_owned(),
            reason,
        })?;
        let own = Some(OwnStore(store));
        Ok(Self { own, ..url })
    }

    /// The store, where a program brought it.
    pub fn own(&self) -> Option<&Arc<dyn ObjectStore>> {
        self.own.as_ref().map(|own| &own.0)
    }

    /// Whether both are in one bucket.
    pub(crate) fn is_in_the_store_of(&self, other: &Self) -> bool {
        (self.scheme, &self.bucket, &self.own) == (other.scheme, &other.bucket, &other.own)
    }

    /// The prefixes that this one lies in, the nearest first.
    pub(crate) fn above(&self) -> Vec<Self> {
        let mut above = Vec::new();
        let mut prefix = self.prefix.as_str();
        while !prefix.is_empty() {
            prefix = prefix.rsplit_once('/').map_or("", |(above, _)| above);
            let prefix = prefix.to_owned();
            above.push(Self {
                prefix,
                ..self.clone()
            });
        }
        above
    }

    fn parse(scheme: Scheme, rest: &str) -> Result<Self, String> {
        let (bucket, prefix) = rest.split_once('/').unwrap_or((rest, ""));
        check_bucket(bucket)?;
        let prefix = prefix.strip_suffix('/').unwrap_or(prefix);
        check_prefix(prefix)?;
        Ok(Self {
            scheme,
            bucket: bucket.to_owned(),
            prefix: prefix.to_owned(),
            own: None,
        })
    }
}

/// A store that a program brought with it: equal to itself alone.
#[derive(Clone, Debug)]
struct OwnStore(Arc<dyn ObjectStore>);

impl PartialEq for OwnStore {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for OwnStore {}

impl Hash for OwnStore {
    fn hash<H: Hasher>(&self, state: &mut H) {
        Arc::as_ptr(&self.0).cast::<()>().hash(state);
    }
}

fn check_bucket(bucket: &str) -> Result<(), String> {
    if bucket.is_empty() {
        return Err("the bucket's name is missing".to_owned());
    }
    if bucket.contains('@') {
        return Err("name the container only, and the account in AZURE_STORAGE_ACCOUNT_NAME".to_owned());
    }
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '.' | '_' | '$');
    match bucket.chars().find(|c| !plain(*c)) {
        Some(odd) => Err(format!("no bucket has {odd:?} in its name")),
        None => Ok(()),
    }
}

fn check_prefix(prefix: &str) -> Result<(), String> {
    if prefix.is_empty() {
        return Ok(());
    }
    for part in prefix.split('/') {
        if matches!(part, "" | "." | "..") {
            return Err(format!("{part:?} cannot be a folder of the prefix; leave it out"));
        }
    }
    match prefix.chars().find(|c| c.is_control()) {
        Some(odd) => Err(format!("the prefix holds the control character {odd:?}")),
        None => Ok(()),
    }
}

impl FromStr for Location {
    type Err = LocationError;

    fn from_str(text: &str) -> Result<Self, LocationError> {
        parse(text).map_err(|reason| LocationError {
            text: text.to_owned(),
            reason,
        })
    }
}

fn parse(text: &str) -> Result<Location, String> {
    let Some((scheme, rest)) = text.split_once("://") else {
        return parse_path(text);
    };
    match scheme.to_ascii_lowercase().as_str() {
        "file" => parse_file_url(rest),
        "own" => Err("only the program that brought this store can open it".to_owned()),
        scheme => match Scheme::parse(scheme) {
            Some(scheme) => BucketUrl::parse(scheme, rest).map(Location::Bucket),
            None => Err(format!("{scheme}:// is not known; use {KNOWN}")),
        },
    }
}

fn parse_path(text: &str) -> Result<Location, String> {
    match text {
        "" => Err(format!("an empty path; use {KNOWN}")),
        text => Ok(Location::Local(PathBuf::from(text))),
    }
}

fn parse_file_url(rest: &str) -> Result<Location, String> {
    let path = rest.strip_prefix("localhost").unwrap_or(rest);
    match path.starts_with('/') {
        true => Ok(Location::Local(PathBuf::from(path))),
        false => Err("a file:// URL holds an absolute path, as in file:///data".to_owned()),
    }
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Local(path) => write!(f, "{}", path.display()),
            Self::Bucket(url) => url.fmt(f),
        }
    }
}

impl fmt::Display for BucketUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}://{}", self.scheme.name(), self.bucket)?;
        match self.prefix.as_str() {
            "" => Ok(()),
            prefix => write!(f, "/{prefix}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bucket(text: &str) -> BucketUrl {
        match text.parse() {
            Ok(Location::Bucket(url)) => url,
            other => panic!("{text}: {other:?}"),
        }
    }

    fn refusal(text: &str) -> String {
        text.parse::<Location>().expect_err(text).to_string()
    }

    #[test]
    fn urls_name_store_bucket_and_prefix() {
        let url = bucket("s3://events/year=2026/raw/");
        assert_eq!(
            (url.scheme(), url.bucket(), url.prefix()),
            (Scheme::S3, "events", "year=2026/raw")
        );
        assert_eq!(url.to_string(), "s3://events/year=2026/raw");
        assert_eq!(bucket("gs://b").to_string(), "gs://b");
        assert_eq!(bucket("gs://b/").prefix(), "");
        for text in [
            "az://c/p",
            "azure://c/p",
            "abfs://c/p",
            "abfss://c/p",
            "ABFSS://c/p",
        ] {
            assert_eq!(bucket(text).to_string(), "az://c/p");
        }
    }

    #[test]
    fn paths_and_file_urls_are_directories() {
        for (text, path) in [
            ("data/x", "data/x"),
            ("/a b", "/a b"),
            ("file:///data", "/data"),
            ("a:b", "a:b"),
        ] {
            assert_eq!(
                text.parse::<Location>(),
                Ok(Location::Local(path.into())),
                "{text}"
            );
        }
        assert!(refusal("file://data").contains("file:///data"));
        assert!(refusal("").contains("plain path"));
    }

    #[test]
    fn a_store_of_a_program_is_named_and_cannot_be_opened_by_name() {
        let store: Arc<dyn ObjectStore> = Arc::new(object_store::memory::InMemory::new());
        let url = BucketUrl::in_own(store.clone(), "/dbs/one/").unwrap();
        assert_eq!(url.to_string(), "own://store/dbs/one");
        let above: Vec<String> = url.above().iter().map(ToString::to_string).collect();
        assert_eq!(above, ["own://store/dbs", "own://store"]);
        assert!(url.above().iter().all(|above| above.own().is_some()));
        assert_eq!(url, BucketUrl::in_own(store.clone(), "dbs/one").unwrap());
        assert_eq!(url, BucketUrl::in_own(store, &url.to_string()).unwrap());
        let other = Arc::new(object_store::memory::InMemory::new());
        assert_ne!(url, BucketUrl::in_own(other, "dbs/one").unwrap());
        assert!(refusal("own://store/dbs/one").contains("the program that brought"));
    }

    #[test]
    fn unknown_schemes_are_refused_with_the_known_ones() {
        let words = refusal("hdfs://host/x");
        assert!(
            words.contains("hdfs://") && words.contains("s3://") && words.contains("gs://"),
            "{words}"
        );
    }

    #[test]
    fn prefixes_that_no_listing_could_return_are_refused() {
        for text in [
            "s3://b//a",
            "s3://b/a//c",
            "s3://b/./a",
            "s3://b/a/..",
            "s3://b/a\u{7}",
        ] {
            refusal(text);
        }
        assert!(refusal("s3:///a").contains("missing"));
        assert!(refusal("abfss://c@account.dfs.core.windows.net/x").contains("AZURE_STORAGE_ACCOUNT_NAME"));
        assert!(refusal("s3://a b/c").contains("' '"));
    }
}
