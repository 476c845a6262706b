use std::os::unix::fs::symlink;

use baler_core::ids::{JournalId, Partition};

use super::*;
use crate::folder::tests::{attempt, put, root};

fn below(folder: &Folder, path: &str) -> Folder {
    let full = folder.path().join(path);
    fs::create_dir_all(&full).unwrap();
    Folder::open_root(&full).unwrap()
}

fn refused_format(result: Result<(), Refusal>) -> (TableFormat, PathBuf) {
    match result.unwrap_err() {
        Refusal::OtherFormat { format, found, .. } => (format, found),
        other => panic!("{other}"),
    }
}

/// The sign is found in the folder itself, below it and above it.
fn is_refused_everywhere(sign: &str, format: TableFormat) {
    let (_dir, folder) = root();
    let table = below(&folder, "lake/table");
    put(&table, sign, "{}");
    put(&table, "data/day=1/a.parquet", "rows");
    let found = (format, table.path().join(sign.split('/').next().unwrap()));
    for asked in [
        &table,
        &folder,
        &below(&folder, "lake"),
        &below(&table, "data/day=1"),
    ] {
        assert_eq!(refused_format(check_root(asked)), found);
        let source = Folder::open_source(asked.path()).unwrap();
        assert_eq!(refused_format(check_source(&source)), found);
    }
    check_root(&below(&folder, "lake/beside")).unwrap();
    let text = check_root(&table).unwrap_err().to_string();
    assert!(text.contains(&*table.path().to_string_lossy()), "{text}");
}

#[test]
fn a_delta_folder_is_refused() {
    is_refused_everywhere("_delta_log/00000000000000000000.json", TableFormat::Delta);
}

#[test]
fn an_iceberg_folder_is_refused() {
    is_refused_everywhere("metadata/00001-x.metadata.json", TableFormat::Iceberg);
    is_refused_everywhere("metadata/v3.gz.metadata.json", TableFormat::Iceberg);
    is_refused_everywhere("metadata/v3.metadata.json.gz", TableFormat::Iceberg);
}

#[test]
fn a_hudi_folder_is_refused() {
    is_refused_everywhere(".hoodie/hoodie.properties", TableFormat::Hudi);
}

#[test]
fn a_table_whose_log_is_behind_a_link_is_refused() {
    let (dir, folder) = root();
    fs::create_dir(dir.path().join("log")).unwrap();
    symlink(dir.path().join("log"), folder.path().join("_delta_log")).unwrap();
    assert_eq!(refused_format(check_root(&folder)).0, TableFormat::Delta);
}

#[test]
fn an_ordinary_folder_named_metadata_is_fine() {
    let (_dir, folder) = root();
    put(&folder, "metadata/a.parquet", "rows");
    put(
        &folder,
        ".snapshot/nightly/_baler/journal/1",
        "a copy of ourselves",
    );
    put(&folder, "notes/.hoodie_partition_metadata", "a file");
    check_root(&folder).unwrap();
}

#[test]
fn a_root_inside_a_root_is_refused() {
    let (_dir, folder) = root();
    let inner = below(&folder, "a/b/inner");
    put(&inner, "_baler/journal/00000000000000000001", "{}");
    let other = |folder: &Folder| match check_root(folder).unwrap_err() {
        Refusal::RootsOverlap { other, .. } => other,
        error => panic!("{error}"),
    };
    check_root(&inner).unwrap();
    assert_eq!(other(&folder), inner.path());
    assert_eq!(other(&below(&inner, "day=1")), inner.path());
    assert_eq!(other(&below(&inner, "_baler/aside")), inner.path());
    check_root(&below(&folder, "a/beside")).unwrap();
}

#[test]
fn a_root_is_no_source() {
    let (_dir, folder) = root();
    let inner = below(&folder, "inner");
    put(&inner, "_baler/journal/00000000000000000001", "{}");
    for asked in [&folder, &inner, &below(&inner, "day=1")] {
        let source = Folder::open_source(asked.path()).unwrap();
        let error = check_source(&source).unwrap_err();
        assert!(matches!(error, Refusal::SourceIsARoot { .. }), "{error}");
    }
}

#[test]
fn source_and_output_may_not_overlap() {
    let (dir, folder) = root();
    let source_path = below(&folder, "src").path().to_owned();
    let source = Folder::open_source(&source_path).unwrap();
    below(&folder, "src/deep");
    symlink(source.path().join("deep"), dir.path().join("link")).unwrap();
    let at = |path: &str| folder.path().join(path);
    for output in [
        at("src"),
        at("src/out"),
        at("src/out/deeper"),
        at("other/../src"),
        at(""),
        dir.path().to_owned(),
        dir.path().join("link"),
        dir.path().join("link/new"),
    ] {
        fs::create_dir_all(at("other")).unwrap();
        let error = check_overlap(&source, &output).unwrap_err();
        assert!(
            matches!(error, Refusal::SourceAndOutputOverlap { .. }),
            "{}: {error}",
            output.display()
        );
    }
    for output in [at("other"), at("new"), at("new/deeper"), at("src2")] {
        check_overlap(&source, &output).unwrap();
    }
    assert!(check_overlap(&source, &at("new/../src")).is_err(), "nowhere yet");
}

#[test]
fn an_output_that_holds_somebodys_data_is_refused() {
    let (_dir, folder) = root();
    check_output(&folder).unwrap();
    put(&folder, "notes.txt", "no data");
    fs::create_dir_all(folder.path().join(JOURNAL)).unwrap();
    check_output(&folder).unwrap();

    let own = attempt().output(JournalId(7), &Partition::from(""), 0);
    put(&folder, &own.path, "rows");
    let error = check_output(&folder).unwrap_err();
    assert!(matches!(error, Refusal::OutputLostItsJournal { .. }), "{error}");

    put(&folder, "day=1/a.parquet", "rows");
    let error = check_output(&folder).unwrap_err();
    assert!(error.to_string().contains("day=1/a.parquet"), "{error}");

    put(&folder, "_baler/journal/00000000000000000001", "{}");
    check_output(&folder).unwrap();
}
