//! What is in the bucket, and what each request does to it. Nothing here fails by chance.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Bound;

use bytes::Bytes;
use xxhash_rust::xxh3::xxh3_128;

/// One version of an object.
#[derive(Clone, Debug)]
pub(crate) struct Version {
    /// A hash of its bytes, in quotes: the same bytes written twice have the same tag, as on S3.
    pub(crate) tag: String,
    pub(crate) bytes: Bytes,
    pub(crate) modified_ms: u64,
}

/// An upload in parts that is not completed.
#[derive(Clone, Debug)]
struct Upload {
    key: String,
    parts: BTreeMap<u32, Bytes>,
}

/// What a request asks for. Keys are whole: with the root's prefix.
#[derive(Clone, Debug)]
pub(crate) enum Op {
    Get {
        key: String,
        range: Option<(u64, u64)>,
        if_match: Option<String>,
        head: bool,
    },
    Put {
        key: String,
        body: Bytes,
        if_absent: bool,
    },
    Copy {
        from: String,
        to: String,
    },
    Delete {
        key: String,
        if_match: Option<String>,
    },
    DeleteMany(Vec<String>),
    List {
        prefix: String,
        after: String,
    },
    BeginUpload {
        key: String,
    },
    PutPart {
        upload: String,
        number: u32,
        body: Bytes,
    },
    Complete {
        upload: String,
    },
    Abort {
        upload: String,
    },
    ListUploads {
        prefix: String,
    },
    Setting,
}

impl Op {
    /// Whether it changes anything.
    pub(crate) fn writes(&self) -> bool {
        !matches!(
            self,
            Self::Get { .. } | Self::List { .. } | Self::ListUploads { .. } | Self::Setting
        )
    }

    /// Whether it fills a slot of the journal.
    pub(crate) fn is_entry(&self) -> bool {
        matches!(self, Self::Put { key, if_absent: true, .. } if key.contains("/_baler/journal/"))
    }

    /// Whether it brings a file of the table there or back.
    pub(crate) fn is_data(&self) -> bool {
        match self {
            Self::Get { key, head, .. } => !head && !key.contains("/_baler/"),
            Self::Put { key, .. } => !key.contains("/_baler/"),
            Self::PutPart { .. } => true,
            _ => false,
        }
    }

    /// Whether it is a step of an upload in parts.
    pub(crate) fn is_multipart(&self) -> bool {
        matches!(
            self,
            Self::BeginUpload { .. } | Self::PutPart { .. } | Self::Complete { .. } | Self::Abort { .. }
        )
    }
}

impl fmt::Display for Op {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Get { key, head: true, .. } => write!(f, "HEAD {key}"),
            Self::Get { key, .. } => write!(f, "GET {key}"),
            Self::Put { key, if_absent, .. } => {
                write!(f, "{} {key}", if *if_absent { "CREATE" } else { "PUT" })
            }
            Self::Copy { from, to } => write!(f, "COPY {from} {to}"),
            Self::Delete { key, if_match } => {
                let condition = if if_match.is_some() { " if-match" } else { "" };
                write!(f, "DELETE {key}{condition}")
            }
            Self::DeleteMany(keys) => write!(f, "DELETE {}", keys.join(" ")),
            Self::List { prefix, after } => write!(f, "LIST {prefix} after {after:?}"),
            Self::BeginUpload { key } => write!(f, "BEGIN {key}"),
            Self::PutPart { upload, number, .. } => write!(f, "PART {upload} {number}"),
            Self::Complete { upload } => write!(f, "COMPLETE {upload}"),
            Self::Abort { upload } => write!(f, "ABORT {upload}"),
            Self::ListUploads { prefix } => write!(f, "UPLOADS {prefix}"),
            Self::Setting => f.write_str("SETTING"),
        }
    }
}

/// What it came to.
#[derive(Clone, Debug)]
pub(crate) enum Done {
    Object {
        version: Version,
        range: (u64, u64),
        head: bool,
    },
    Written {
        tag: String,
    },
    Copied {
        tag: String,
    },
    Listed(Vec<(String, Version)>),
    Uploads(Vec<(String, String)>),
    Begun {
        upload: String,
        key: String,
    },
    Completed {
        key: String,
        tag: String,
    },
    Deleted,
    DeletedMany(Vec<String>),
    Missing,
    Changed,
    NoSuchUpload,
    Nothing,
}

/// Something that changed, for those who look on.
#[derive(Clone, Debug)]
pub(crate) enum Change {
    Wrote { key: String, version: Version },
    Removed { key: String, version: Version },
}

/// The bucket.
#[derive(Debug, Default)]
pub(crate) struct Objects {
    live: BTreeMap<String, Version>,
    uploads: BTreeMap<String, Upload>,
    uploads_begun: u64,
    /// What each name that changed lately was before, and when: for listings that lag behind.
    lately: Vec<(u64, String, Option<Version>)>,
}

/// How long a listing may lag behind.
const LAG_MAX_MS: u64 = 30_000;

impl Objects {
    pub(crate) fn get(&self, key: &str) -> Option<&Version> {
        self.live.get(key)
    }

    /// Everything below a prefix.
    pub(crate) fn below<'a>(&'a self, prefix: &'a str) -> impl Iterator<Item = (&'a String, &'a Version)> {
        let from = (Bound::Included(prefix.to_owned()), Bound::Unbounded);
        self.live
            .range::<String, _>(from)
            .take_while(move |(key, _)| key.starts_with(prefix))
    }

    /// Uploads in parts below a prefix that nobody completed.
    pub(crate) fn open_uploads(&self) -> impl Iterator<Item = &str> {
        self.uploads.values().map(|upload| upload.key.as_str())
    }

    /// Carries a request out.
    pub(crate) fn apply(&mut self, now_ms: u64, op: &Op, changes: &mut Vec<Change>) -> Done {
        match op {
            Op::Get {
                key,
                range,
                if_match,
                head,
            } => self.read(key, *range, if_match.as_deref(), *head),
            Op::Put { key, if_absent, .. } if *if_absent && self.live.contains_key(key) => Done::Changed,
            Op::Put { key, body, .. } => Done::Written {
                tag: self.write(now_ms, key, body.clone(), changes),
            },
            Op::Copy { from, to } => match self.live.get(from).map(|version| version.bytes.clone()) {
                None => Done::Missing,
                Some(bytes) => Done::Copied {
                    tag: self.write(now_ms, to, bytes, changes),
                },
            },
            Op::Delete { key, if_match } => match (self.live.get(key), if_match) {
                (None, Some(_)) => Done::Missing,
                (Some(version), Some(tag)) if version.tag != *tag => Done::Changed,
                _ => {
                    self.remove(now_ms, key, changes);
                    Done::Deleted
                }
            },
            Op::DeleteMany(keys) => {
                keys.iter().for_each(|key| self.remove(now_ms, key, changes));
                Done::DeletedMany(keys.clone())
            }
            Op::List { prefix, after } => {
                let found = self.below(prefix).filter(|(key, _)| *key > after);
                Done::Listed(
                    found
                        .map(|(key, version)| (key.clone(), version.clone()))
                        .collect(),
                )
            }
            Op::BeginUpload { key } => {
                self.uploads_begun += 1;
                let upload = format!("upload-{}", self.uploads_begun);
                let parts = BTreeMap::new();
                self.uploads.insert(
                    upload.clone(),
                    Upload {
                        key: key.clone(),
                        parts,
                    },
                );
                Done::Begun {
                    upload,
                    key: key.clone(),
                }
            }
            Op::PutPart { upload, number, body } => match self.uploads.get_mut(upload) {
                None => Done::NoSuchUpload,
                Some(upload) => {
                    upload.parts.insert(*number, body.clone());
                    Done::Written { tag: tag_of(body) }
                }
            },
            Op::Complete { upload } => match self.uploads.remove(upload) {
                None => Done::NoSuchUpload,
                Some(upload) => {
                    let bytes: Vec<u8> = upload.parts.into_values().flatten().collect();
                    let tag = self.write(now_ms, &upload.key, bytes.into(), changes);
                    Done::Completed { key: upload.key, tag }
                }
            },
            Op::Abort { upload } => match self.uploads.remove(upload) {
                None => Done::NoSuchUpload,
                Some(_) => Done::Deleted,
            },
            Op::ListUploads { prefix } => {
                let found = self
                    .uploads
                    .iter()
                    .filter(|(_, upload)| upload.key.starts_with(prefix));
                Done::Uploads(
                    found
                        .map(|(id, upload)| (upload.key.clone(), id.clone()))
                        .collect(),
                )
            }
            Op::Setting => Done::Nothing,
        }
    }

    /// A listing as it may have been a while ago: each name that changed since is as it is, or as it was.
    pub(crate) fn list_stale(
        &self,
        now_ms: u64,
        prefix: &str,
        after: &str,
        mut is_old: impl FnMut() -> bool,
    ) -> Done {
        let found = self
            .below(prefix)
            .map(|(key, version)| (key.clone(), version.clone()));
        let mut found: BTreeMap<String, Version> = found.collect();
        for (at, key, before) in &self.lately {
            if now_ms - at > LAG_MAX_MS || !key.starts_with(prefix) || !is_old() {
                continue;
            }
            match before {
                Some(version) => found.insert(key.clone(), version.clone()),
                None => found.remove(key),
            };
        }
        let found = found.into_iter().filter(|(key, _)| key.as_str() > after);
        Done::Listed(found.collect())
    }

    fn read(&self, key: &str, range: Option<(u64, u64)>, if_match: Option<&str>, head: bool) -> Done {
        let Some(version) = self.live.get(key) else {
            return Done::Missing;
        };
        if if_match.is_some_and(|tag| tag != version.tag) {
            return Done::Changed;
        }
        let end = version.bytes.len() as u64;
        let (from, until) = range.map_or((0, end), |(from, until)| (from.min(end), until.min(end)));
        Done::Object {
            version: version.clone(),
            range: (from, until),
            head,
        }
    }

    fn write(&mut self, now_ms: u64, key: &str, bytes: Bytes, changes: &mut Vec<Change>) -> String {
        let version = Version {
            tag: tag_of(&bytes),
            bytes,
            modified_ms: now_ms,
        };
        let before = self.live.insert(key.to_owned(), version.clone());
        self.remember(now_ms, key, before);
        let tag = version.tag.clone();
        changes.push(Change::Wrote {
            key: key.to_owned(),
            version,
        });
        tag
    }

    fn remove(&mut self, now_ms: u64, key: &str, changes: &mut Vec<Change>) {
        if let Some(version) = self.live.remove(key) {
            self.remember(now_ms, key, Some(version.clone()));
            changes.push(Change::Removed {
                key: key.to_owned(),
                version,
            });
        }
    }

    fn remember(&mut self, now_ms: u64, key: &str, before: Option<Version>) {
        self.lately.retain(|(at, _, _)| now_ms - at <= LAG_MAX_MS);
        self.lately.push((now_ms, key.to_owned(), before));
    }
}

/// What the store calls a version.
pub(crate) fn tag_of(bytes: &[u8]) -> String {
    format!("\"{:032x}\"", xxh3_128(bytes))
}
