//! Folders to compact, the binary to do it with, and an independent look at the result.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use arrow::array::{Array, ArrayRef, Int64Array, RecordBatch, StringArray};
use arrow::datatypes::{DataType, Field, Schema};
use arrow::util::display::array_value_to_string;
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::file::reader::ChunkReader;
use serde_json::Value;
use tempfile::TempDir;

/// A folder of its own for each story.
pub(crate) struct Scene {
    dir: TempDir,
}

/// How a command ended.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Ended {
    /// The last line of its standard output, as JSON.
    pub(crate) fn json(&self) -> Value {
        let last = self.stdout.lines().last().unwrap_or_default();
        serde_json::from_str(last).unwrap_or_else(|error| panic!("{error} in {self:?}"))
    }

    /// One number of the JSON result.
    pub(crate) fn number(&self, name: &str) -> u64 {
        self.json()[name]
            .as_u64()
            .unwrap_or_else(|| panic!("no {name} in {self:?}"))
    }
}

impl Scene {
    pub(crate) fn new() -> Self {
        Self {
            dir: TempDir::new().unwrap(),
        }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// Writes a file of rows `(key, seq, text)`; folders are made as needed.
    pub(crate) fn write(&self, name: &str, rows: &[(i64, i64, &str)]) -> PathBuf {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        write_rows(&path, rows);
        path
    }

    /// Many small files with overlapping keys, in `data`; answers their number of rows.
    pub(crate) fn write_many(&self, files: i64, rows: i64) -> u64 {
        for file in 0..files {
            let rows: Vec<(i64, i64, &str)> = (0..rows)
                .map(|row| (row * files + file, file, "some text"))
                .collect();
            self.write(&format!("data/part-{file:04}.parquet"), &rows);
        }
        u64::try_from(files * rows).unwrap()
    }

    /// Runs the binary here, with what is young taken as settled.
    pub(crate) fn baler(&self, args: &[&str]) -> Ended {
        ended(self.command(args).output().unwrap())
    }

    /// `compact data --settle 0s --json …`
    pub(crate) fn compact(&self, args: &[&str]) -> Ended {
        let all: Vec<&str> = ["compact", "data", "--settle", "0s", "--json"]
            .iter()
            .chain(args)
            .copied()
            .collect();
        self.baler(&all)
    }

    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_baler"));
        command
            .args(args)
            .current_dir(self.dir.path())
            .stdin(Stdio::null());
        command
    }

    /// Returns once a run that was started has begun to merge.
    pub(crate) fn wait_for_merge(&self, root: &str) {
        let staging = self.path(root).join("_baler/staging");
        let began = Instant::now();
        while !staging.is_dir() && began.elapsed() < Duration::from_secs(20) {
            thread::sleep(Duration::from_millis(1));
        }
    }

    /// All rows of all data files below a folder, each with how often it is there.
    pub(crate) fn rows(&self, name: &str) -> BTreeMap<String, u64> {
        self.rows_if_still(name).expect("nobody removes files meanwhile")
    }

    /// The same while others are at work: nothing where a file went away before it was read.
    pub(crate) fn rows_if_still(&self, name: &str) -> Option<BTreeMap<String, u64>> {
        let mut counted = BTreeMap::new();
        for path in data_files(&self.path(name)) {
            let file = match File::open(&path) {
                Ok(file) => file,
                Err(gone) if gone.kind() == ErrorKind::NotFound => return None,
                Err(other) => panic!("{}: {other}", path.display()),
            };
            for row in rows_in(file) {
                *counted.entry(row).or_default() += 1;
            }
        }
        Some(counted)
    }

    /// The data files below a folder.
    pub(crate) fn data_files(&self, name: &str) -> Vec<PathBuf> {
        data_files(&self.path(name))
    }

    /// Every file below a folder with its length and content.
    pub(crate) fn everything(&self, name: &str) -> BTreeMap<PathBuf, Vec<u8>> {
        let mut found = BTreeMap::new();
        visit(&self.path(name), &mut |path| {
            found.insert(path.to_owned(), fs::read(path).unwrap());
        });
        found
    }
}

pub(crate) fn ended(output: Output) -> Ended {
    Ended {
        code: output.status.code().unwrap_or(-1),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

pub(crate) fn write_rows(path: &Path, rows: &[(i64, i64, &str)]) {
    write_columns(path, columns_of(rows));
}

/// The same file, in memory.
pub(crate) fn parquet_of(rows: &[(i64, i64, &str)]) -> Vec<u8> {
    let mut bytes = Vec::new();
    write_parquet(&mut bytes, columns_of(rows));
    bytes
}

fn columns_of(rows: &[(i64, i64, &str)]) -> Vec<(&'static str, ArrayRef)> {
    let key: Int64Array = rows.iter().map(|row| Some(row.0)).collect();
    let seq: Int64Array = rows.iter().map(|row| Some(row.1)).collect();
    let text: StringArray = rows.iter().map(|row| Some(row.2)).collect();
    vec![
        ("key", Arc::new(key)),
        ("seq", Arc::new(seq)),
        ("text", Arc::new(text)),
    ]
}

/// Under another name first: somebody may be looking, and a file must never be seen half.
pub(crate) fn write_columns(path: &Path, columns: Vec<(&str, ArrayRef)>) {
    let name = path.file_name().unwrap().to_str().unwrap();
    let unfinished = path.with_file_name(format!(".{name}"));
    write_parquet(File::create(&unfinished).unwrap(), columns);
    fs::rename(unfinished, path).unwrap();
}

fn write_parquet(to: impl Write + Send, columns: Vec<(&str, ArrayRef)>) {
    let field = |(name, array): &(&str, ArrayRef)| Field::new(*name, array.data_type().clone(), true);
    let schema = Arc::new(Schema::new(columns.iter().map(field).collect::<Vec<_>>()));
    let arrays = columns.into_iter().map(|(_, array)| array).collect();
    let batch = RecordBatch::try_new(schema.clone(), arrays).unwrap();
    let mut writer = ArrowWriter::try_new(to, schema, None).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
}

/// A row as text, columns by name, without those that are null.
pub(crate) fn rows_of(path: &Path) -> Vec<String> {
    rows_in(File::open(path).unwrap())
}

pub(crate) fn rows_in(file: impl ChunkReader + 'static) -> Vec<String> {
    let reader = ParquetRecordBatchReaderBuilder::try_new(file)
        .unwrap()
        .build()
        .unwrap();
    let mut rows = Vec::new();
    for batch in reader {
        let batch = batch.unwrap();
        let mut columns: Vec<(String, ArrayRef)> = batch
            .schema()
            .fields()
            .iter()
            .zip(batch.columns())
            .map(|(field, column)| (field.name().clone(), column.clone()))
            .collect();
        columns.sort_by(|a, b| a.0.cmp(&b.0));
        for row in 0..batch.num_rows() {
            let cells = columns.iter().filter(|(_, column)| !column.is_null(row));
            let cells =
                cells.map(|(name, column)| format!("{name}={}", array_value_to_string(column, row).unwrap()));
            rows.push(cells.collect::<Vec<_>>().join(" "));
        }
    }
    rows
}

/// The values of an integer column, in file order.
pub(crate) fn column(path: &Path, name: &str) -> Vec<i64> {
    let reader = ParquetRecordBatchReaderBuilder::try_new(File::open(path).unwrap())
        .unwrap()
        .build()
        .unwrap();
    let mut values = Vec::new();
    for batch in reader {
        let batch = batch.unwrap();
        let column = batch.column_by_name(name).unwrap();
        assert_eq!(column.data_type(), &DataType::Int64);
        let column = column.as_any().downcast_ref::<Int64Array>().unwrap();
        values.extend(column.values());
    }
    values
}

fn data_files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    visit(folder, &mut |path| {
        let inside = path.strip_prefix(folder).unwrap();
        let hidden = inside
            .iter()
            .any(|part| part.to_string_lossy().starts_with(['_', '.']));
        if !hidden && path.extension().is_some_and(|extension| extension == "parquet") {
            found.push(path.to_owned());
        }
    });
    found.sort();
    found
}

fn visit(folder: &Path, each: &mut dyn FnMut(&Path)) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => visit(&path, each),
            false => each(&path),
        }
    }
}

/// A tenth of a long test in CI, all of it in a soak.
pub(crate) fn tenth_unless_soaking(whole: u32) -> u32 {
    match soaking() {
        true => whole,
        false => whole.div_ceil(10),
    }
}

/// Whether tests shall run at their whole length.
pub(crate) fn soaking() -> bool {
    std::env::var_os("BALER_SOAK").is_some()
}
