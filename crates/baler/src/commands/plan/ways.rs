//! How the files of a job would get into its output: as pages, or row by row. Told from the bounds of their keys alone, so it is
//! an estimate, for jobs that are not looked into; what reads their footers is `looking`.

use std::collections::BTreeMap;
use std::fmt;

use baler_core::file::{File, FilePath};
use baler_core::table::MergeSpec;
use serde::Serialize;

/// How a file gets into an output.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Way {
    /// It overlaps nothing in its job: its pages are copied.
    Pages,
    /// It overlaps something, or a rule looks at every row: rows are merged.
    Rows,
    /// Some of its row groups go one way, some the other.
    Both,
}

impl fmt::Display for Way {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Pages => "pages copied",
            Self::Rows => "rows merged",
            Self::Both => "some pages copied, other rows merged",
        })
    }
}

/// The way of each input of a job.
pub(super) fn of_inputs<'a>(mut inputs: Vec<&'a File>, spec: &MergeSpec) -> BTreeMap<&'a FilePath, Way> {
    let all = |way| inputs.iter().map(|file| (&file.path, way)).collect();
    if spec.deleted.is_some() || spec.expire.is_some() {
        return all(Way::Rows);
    }
    if spec.sort.is_empty() && !spec.is_keyed() {
        return all(Way::Pages);
    }
    if inputs.iter().any(|file| file.keys.is_none()) {
        return all(Way::Rows);
    }
    inputs.sort_by(|a, b| lower(a).cmp(&lower(b)));
    let mut ways = BTreeMap::new();
    let mut reach = None;
    for (at, file) in inputs.iter().enumerate() {
        let before = reach.is_some_and(|reach| lower(file) <= Some(reach));
        let after = inputs.get(at + 1).is_some_and(|next| lower(next) <= upper(file));
        let way = if before || after { Way::Rows } else { Way::Pages };
        ways.insert(&file.path, way);
        reach = reach.max(upper(file));
    }
    ways
}

fn lower(file: &File) -> Option<&[u8]> {
    file.keys.as_ref().map(|keys| &*keys.min)
}

fn upper(file: &File) -> Option<&[u8]> {
    file.keys.as_ref().map(|keys| &*keys.max)
}

#[cfg(test)]
mod tests {
    use baler_core::file::{Identity, KeyRange};

    use baler_core::table::{Rule, SortColumn};

    use super::*;
    use crate::root::machine_now;

    fn file(name: &str, keys: Option<(u8, u8)>) -> File {
        let identity = Identity {
            tag: "1".into(),
            bytes: 4,
            modified: machine_now(),
        };
        File {
            keys: keys.map(|(min, max)| KeyRange {
                min: [min].into(),
                max: [max].into(),
            }),
            ..File::found(FilePath::in_root(name), identity, 1)
        }
    }

    fn sorted() -> MergeSpec {
        MergeSpec {
            sort: vec![SortColumn {
                name: "k".into(),
                descending: false,
                nulls_first: true,
            }],
            ..MergeSpec::default()
        }
    }

    /// The names of the files that are copied.
    fn copied(files: &[File], spec: &MergeSpec) -> Vec<String> {
        let ways = of_inputs(files.iter().collect(), spec);
        assert_eq!(ways.len(), files.len());
        let copied = ways.into_iter().filter(|(_, way)| *way == Way::Pages);
        copied.map(|(path, _)| path.to_string()).collect()
    }

    #[test]
    fn what_overlaps_nothing_is_copied_and_the_rest_is_merged() {
        let files = [
            file("wide", Some((10, 40))),
            file("inside", Some((15, 20))),
            file("before", Some((1, 9))),
            file("touching", Some((40, 41))),
            file("after", Some((42, 50))),
        ];
        assert_eq!(copied(&files, &sorted()), ["after", "before"]);
    }

    #[test]
    fn unknown_keys_may_overlap_everything_and_without_an_order_nothing_does() {
        let files = [file("a", Some((1, 2))), file("b", None)];
        assert!(copied(&files, &sorted()).is_empty());
        assert_eq!(copied(&files, &MergeSpec::default()), ["a", "b"]);
    }

    #[test]
    fn a_rule_that_looks_at_rows_leaves_nothing_to_copy() {
        let files = [file("a", Some((1, 2))), file("b", Some((3, 4)))];
        let keyed = MergeSpec {
            rule: Rule::LastWriteWins {
                key: vec!["k".into()],
                version: "v".into(),
            },
            deleted: Some("gone".into()),
            ..sorted()
        };
        assert!(copied(&files, &keyed).is_empty());
    }
}
