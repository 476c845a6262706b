//! The files of `baler demo`: what a fleet of devices leaves behind when each upload becomes a file.

use std::fs::{self, File};
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result};
use arrow::array::{ArrayRef, Float64Array, Int64Array, RecordBatch, StringArray, TimestampMillisecondArray};
use arrow::datatypes::{DataType, Field, Schema, SchemaRef, TimeUnit};
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;

/// Rows in each file.
pub const ROWS_PER_FILE: u32 = 500;

const DEVICES: u32 = 100;
const START_MS: i64 = 1_790_000_000_000;

/// Writes `files` small files, each with one upload of all devices.
pub fn write(folder: &Path, files: u32, wrote: impl Fn()) -> Result<()> {
    let schema = Arc::new(Schema::new(vec![
        Field::new("device", DataType::Utf8, false),
        Field::new("ts", DataType::Timestamp(TimeUnit::Millisecond, None), false),
        Field::new("celsius", DataType::Float64, false),
        Field::new("message", DataType::Int64, false),
    ]));
    for index in 0..files {
        let path = folder.join(format!("upload-{index:05}.parquet"));
        write_one(&path, &schema, index).with_context(|| format!("cannot write {}", path.display()))?;
        wrote();
    }
    Ok(())
}

fn write_one(path: &Path, schema: &SchemaRef, index: u32) -> Result<()> {
    let rows = 0..ROWS_PER_FILE;
    let device: StringArray = rows
        .clone()
        .map(|row| Some(format!("device-{:03}", row % DEVICES)))
        .collect();
    let ts: TimestampMillisecondArray = rows
        .clone()
        .map(|row| START_MS + i64::from(index) * 60_000 + i64::from(row) * 100)
        .collect::<Vec<_>>()
        .into();
    let celsius: Float64Array = rows.clone().map(|row| Some(temperature(index, row))).collect();
    let message: Int64Array = rows
        .map(|row| Some(i64::from(index) * i64::from(ROWS_PER_FILE) + i64::from(row)))
        .collect();
    let columns: Vec<ArrayRef> = vec![
        Arc::new(device),
        Arc::new(ts),
        Arc::new(celsius),
        Arc::new(message),
    ];
    let batch = RecordBatch::try_new(schema.clone(), columns)?;
    let mut writer = ArrowWriter::try_new(File::create_new(path)?, schema.clone(), None)?;
    writer.write(&batch)?;
    writer.close()?;
    Ok(())
}

/// A slow wave for each device with a little noise, the same on every run.
fn temperature(index: u32, row: u32) -> f64 {
    let noise = (index.wrapping_mul(2_654_435_761) ^ row.wrapping_mul(40_503)) % 100;
    let wave = (f64::from(index) / 50.0 + f64::from(row % DEVICES)).sin();
    (20.0 + 5.0 * wave + f64::from(noise) / 100.0 * 0.5)
        .mul_add(100.0, 0.0)
        .round()
        / 100.0
}

/// Reads every row of every data file at the top of a folder, as a query would.
pub fn scan(folder: &Path) -> Result<u64> {
    let mut rows = 0;
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "parquet") {
            for batch in ParquetRecordBatchReaderBuilder::try_new(File::open(&path)?)?.build()? {
                rows += batch?.num_rows() as u64;
            }
        }
    }
    Ok(rows)
}
