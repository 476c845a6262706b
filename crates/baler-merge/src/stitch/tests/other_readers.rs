//! Files of other writers go in, and other readers read what comes out. Needs Python with pyarrow and DuckDB: set BALER_PYTHON.

use super::*;
use std::path::Path;
use std::process::Command;

fn python(script: &str, args: &[&Path]) {
    let python = std::env::var("BALER_PYTHON").unwrap_or_else(|_| "python3".to_owned());
    let done = Command::new(python)
        .arg("-c")
        .arg(script)
        .args(args)
        .output()
        .unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
}

const WRITE: &str = r#"
import sys, numpy as np, pyarrow as pa, pyarrow.parquet as pq
out = sys.argv[1]
def table(first, n):
    r = np.arange(first, first + n)
    some = (r % 7 != 0) & (r // 100 % 5 != 2)
    def col(values, t=None):
        return pa.array([v if s else None for v, s in zip(values, some)], t)
    return pa.table({
        "ts": pa.array(r * 10, pa.timestamp("ms")),
        "word": col([["", "a", "ü", "longer"][i % 4] for i in r], pa.string()),
        "id": col([f"id-{i}" for i in r], pa.string()),
        "few": col([int(i * 7 % 50) - 25 for i in r], pa.int64()),
        "double": col([float("nan") if i % 11 == 0 else (-0.0 if i % 11 == 1 else float(i % 13)) for i in r], pa.float64()),
        "value": pa.array(np.round(np.cumsum(np.sin(r)), 3)),
        "bool": col([bool(i % 3 == 0) for i in r], pa.bool_()),
        "fixed": col([bytes([i % 9, 1, 2]) for i in r], pa.binary(3)),
        "nothing": pa.nulls(n, pa.int32()),
        "time96": pa.array(r * 10**9, pa.timestamp("ns")),
    })
ways = [dict(), dict(data_page_version="2.0"), dict(use_dictionary=False), dict(dictionary_pagesize_limit=200),
        dict(compression="snappy"), dict(use_deprecated_int96_timestamps=True), dict(write_page_index=True, data_page_size=4096),
        dict(write_page_checksum=True), dict(column_encoding={"ts": "DELTA_BINARY_PACKED", "id": "DELTA_BYTE_ARRAY", "value": "BYTE_STREAM_SPLIT"}, use_dictionary=["word"])]
for w, way in enumerate(ways):
    for f in range(3):
        pq.write_table(table(f * 5000, 5000), f"{out}/{w}-{f}.parquet", **{"compression": "zstd", **way})
"#;

const READ: &str = r#"
import sys, glob, pyarrow as pa, pyarrow.parquet as pq, duckdb
out = sys.argv[1]
for w in range(9):
    want = pa.concat_tables([pq.read_table(f"{out}/{w}-{f}.parquet") for f in range(3)])
    found = pq.read_table(f"{out}/{w}-stitched.parquet", page_checksum_verification=True)
    assert pq.read_metadata(f"{out}/{w}-stitched.parquet").num_row_groups == 1
    for name in want.column_names:
        a, b = want[name].combine_chunks(), found[name].combine_chunks()
        assert str(a.to_pylist()) == str(b.to_pylist()), (w, name)
    for c in want.column_names:
        one = duckdb.sql(f"select count(*), count({c}), md5(string_agg(coalesce(cast({c} as varchar), '-'), ',' order by ts)) from read_parquet('{out}/{w}-stitched.parquet')").fetchall()
        many = duckdb.sql(f"select count(*), count({c}), md5(string_agg(coalesce(cast({c} as varchar), '-'), ',' order by ts)) from read_parquet(['{out}/{w}-0.parquet','{out}/{w}-1.parquet','{out}/{w}-2.parquet'])").fetchall()
        assert one == many, (w, c, one, many)
    n = duckdb.sql(f"select count(*) from read_parquet('{out}/{w}-stitched.parquet') where ts between epoch_ms(70000) and epoch_ms(80000)").fetchall()[0][0]
    assert n == 1001, n
"#;

#[test]
#[ignore = "needs Python with pyarrow and DuckDB: set BALER_PYTHON"]
fn files_of_pyarrow_are_stitched_and_read_by_pyarrow_and_duckdb() {
    let dir = tempfile::tempdir().unwrap();
    python(WRITE, &[dir.path()]);
    for way in 0..9 {
        let read = |file: usize| {
            let path = dir.path().join(format!("{way}-{file}.parquet"));
            Bytes::from(std::fs::read(path).unwrap())
        };
        let (file, origins) = Files::new(&[read(0), read(1), read(2)]).stitched(Codec::Zstd(1));
        println!(
            "{way}: {:?}",
            origins.iter().map(|pages| pages.first()).collect::<Vec<_>>()
        );
        std::fs::write(dir.path().join(format!("{way}-stitched.parquet")), file).unwrap();
    }
    python(READ, &[dir.path()]);
}
