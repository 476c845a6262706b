use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};

use baler_core::ids::Partition;

use super::*;
use crate::folder::tests::{attempt, put, ran_as_ordinary_user, root};

fn list(folder: &Folder) -> (Vec<String>, PassedOver) {
    let mut walk = walk(folder, Some(JournalId(7)));
    let lines = walk.by_ref().map(|item| line(item.unwrap())).collect();
    (lines, walk.passed_over())
}

fn line(found: Found) -> String {
    match found {
        Found::Data(DataFile { path, namer, .. }) => match namer {
            Namer::Other => path.to_string(),
            Namer::ThisJournal(_) => format!("ours {path}"),
            Namer::AnotherJournal(_) => format!("foreign {path}"),
        },
        Found::Skipped { path, reason } => format!("skipped {path}: {reason:?}"),
    }
}

#[test]
fn data_is_listed_in_order_and_the_rest_is_counted() {
    let (_dir, folder) = root();
    for path in [
        "b.parquet",
        "a.parquet",
        "day=2/x.parquet",
        "day=10/x.parquet",
        "notes.txt",
        "day=2/readme.md",
    ] {
        put(&folder, path, "rows");
    }
    let (lines, passed_over) = list(&folder);
    assert_eq!(
        lines,
        ["a.parquet", "b.parquet", "day=10/x.parquet", "day=2/x.parquet"]
    );
    assert_eq!(
        passed_over,
        PassedOver {
            other_files: 2,
            hidden: 0
        }
    );
}

#[test]
fn names_with_underscore_are_never_inputs() {
    let (_dir, folder) = root();
    for path in [
        "_a.parquet",
        ".a.parquet",
        "_baler/staging/1-0-1.0/0.parquet",
        "day=1/_temporary/a.parquet",
        "day=1/.tmp/a.parquet",
        "day=1/a.parquet",
    ] {
        put(&folder, path, "rows");
    }
    let (lines, passed_over) = list(&folder);
    assert_eq!(lines, ["day=1/a.parquet"]);
    assert_eq!(passed_over.hidden, 5);
}

#[test]
fn what_looks_like_data_but_cannot_be_taken_is_reported() {
    let (_dir, folder) = root();
    put(&folder, "real/a.parquet", "rows");
    put(&folder, "B.PARQUET", "rows");
    let at = |name: &str| folder.path().join(name);
    symlink(at("real"), at("linked")).unwrap();
    symlink(at("real/a.parquet"), at("link.parquet")).unwrap();
    symlink(folder.path(), at("real/loop")).unwrap();
    symlink(at("nowhere"), at("dangling.txt")).unwrap();
    let odd = OsStr::from_bytes(b"odd-\xff.parquet");
    fs::write(folder.path().join(odd), "rows").unwrap();
    fs::create_dir(folder.path().join(OsStr::from_bytes(b"odd-\xfe"))).unwrap();
    rustix::fs::mkfifoat(rustix::fs::CWD, at("pipe.parquet"), 0o600.into()).unwrap();

    let (lines, passed_over) = list(&folder);
    assert_eq!(
        lines,
        [
            "skipped B.PARQUET: Spelling",
            "skipped link.parquet: Link",
            "skipped linked: Link",
            "skipped odd-\u{fffd}: NotUtf8",
            "skipped odd-\u{fffd}.parquet: NotUtf8",
            "skipped pipe.parquet: NotAFile",
            "real/a.parquet",
            "skipped real/loop: Link",
        ]
    );
    assert_eq!(passed_over.other_files, 1, "the dangling link is no data");
}

#[test]
fn outputs_of_this_journal_are_told_apart_from_those_of_others() {
    let (_dir, folder) = root();
    for journal in [7, 8] {
        let path = attempt().output(JournalId(journal), &Partition::from(""), 0);
        put(&folder, &path.path, "rows");
    }
    let (lines, _) = list(&folder);
    assert!(lines[0].starts_with("ours baler-00000000000000000000000000000007-"));
    assert!(lines[1].starts_with("foreign baler-00000000000000000000000000000008-"));
}

#[test]
fn what_vanishes_in_mid_walk_is_no_error() {
    let (_dir, folder) = root();
    for path in ["a.parquet", "b.parquet", "day=1/c.parquet", "z.parquet"] {
        put(&folder, path, "rows");
    }
    let mut walk = walk(&folder, None);
    assert_eq!(line(walk.next().unwrap().unwrap()), "a.parquet");
    fs::remove_file(folder.path().join("b.parquet")).unwrap();
    fs::remove_dir_all(folder.path().join("day=1")).unwrap();
    let rest: Vec<_> = walk.map(|item| line(item.unwrap())).collect();
    assert_eq!(rest, ["z.parquet"]);
}

#[test]
fn a_root_that_vanishes_is_an_error_and_not_an_empty_listing() {
    let (_dir, folder) = root();
    put(&folder, "a.parquet", "rows");
    fs::remove_dir_all(folder.path()).unwrap();
    assert!(walk(&folder, None).next().unwrap().is_err());
}

#[test]
fn a_folder_without_permission_is_an_error_that_names_it() {
    if ran_as_ordinary_user("folder::walk::tests::a_folder_without_permission_is_an_error_that_names_it") {
        return;
    }
    let (_dir, folder) = root();
    put(&folder, "closed/a.parquet", "rows");
    put(&folder, "open/b.parquet", "rows");
    let closed = folder.path().join("closed");
    fs::set_permissions(&closed, fs::Permissions::from_mode(0o000)).unwrap();
    let items: Vec<_> = walk(&folder, None).collect();
    fs::set_permissions(&closed, fs::Permissions::from_mode(0o700)).unwrap();

    let error = items[0].as_ref().unwrap_err();
    assert!(
        error.is_forbidden() && error.to_string().contains("closed"),
        "{error}"
    );
    assert!(matches!(&items[1], Ok(Found::Data(file)) if &*file.path.path == "open/b.parquet"));
}

#[test]
fn a_folder_mounted_from_elsewhere_is_reported_in_a_root_and_read_in_a_source() {
    let (_dir, mut folder) = root();
    put(&folder, "mounted/a.parquet", "rows");
    folder.device += 1;
    assert_eq!(list(&folder).0, ["skipped mounted: OtherFileSystem"]);
    let mut source = Folder::open_source(folder.path()).unwrap();
    source.device += 1;
    assert_eq!(list(&source).0, ["mounted/a.parquet"]);
}
