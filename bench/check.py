#!/usr/bin/env python3
"""Says whether a compacted directory holds what it should, by two readers that share no code: DuckDB and pyarrow.

check.py rows SRC RESULT --shape overlap|disjoint|mixed|upsert

SRC is a copy of the input, made before it was compacted. Both readers must find that RESULT has exactly the rows of
SRC (upsert: the newest of each key), each in its own folder; that every file is sorted; and that the key ranges of the
files in a folder do not overlap. Names that begin with `_` or `.` are not data. Prints one JSON object; exit code 1
when something differs.
"""
import argparse
import itertools
import json
import os
import sys
import tempfile

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

ORDER = {"overlap": ["series_id", "ts"], "disjoint": ["ts"], "mixed": ["ts"], "upsert": ["key"]}
NEWEST = {"upsert": "seq"}
EXAMPLES = 5


class Folder:
    """The Parquet files under a root, by the folder they lie in."""

    def __init__(self, root):
        self.root = os.path.abspath(root)
        self.files = {}
        for at, dirs, names in os.walk(self.root):
            dirs[:] = sorted(d for d in dirs if d[0] not in "_.")
            paths = [os.path.join(at, n) for n in sorted(names) if n[0] not in "_." and n.endswith(".parquet")]
            if paths:
                self.files[os.path.relpath(at, self.root)] = paths

    def paths(self):
        return list(itertools.chain.from_iterable(self.files.values()))

    def columns(self):
        """The columns of all files and their types, however those are laid out in memory."""
        columns = {}
        for path in self.paths():
            for field in pq.read_schema(path):
                columns.setdefault(field.name, plain(field.type))
        return columns


def plain(kind):
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    return pa.string() if pa.types.is_large_string(kind) or pa.types.is_string_view(kind) else kind


def nulls_first(path):
    """Where a file says that it keeps nulls; last when it says nothing."""
    meta = pq.read_metadata(path)
    sorting = meta.row_group(0).sorting_columns if meta.num_row_groups else ()
    return bool(sorting) and sorting[0].nulls_first


def misplaced(reader, result, ranges):
    """What is wrong with the order of the result, given `ranges(path) -> (rows out of order, first key, last key)`."""
    problems = []
    for folder, paths in result.files.items():
        spans = []
        for path in paths:
            unsorted, first, last = ranges(path)
            if unsorted:
                problems.append(f"{reader}: {path}: {unsorted} rows are smaller than the row before them")
            if first is not None:
                spans.append((first, last, path))
        spans.sort(key=lambda span: span[:2])
        for (_, last, path), (first, _, after) in itertools.pairwise(spans):
            if last > first:
                problems.append(f"{reader}: {path} and {after} overlap: one ends at {last}, the other begins at {first}")
    return problems


# DuckDB: an exact difference of the two multisets.

def quoted(text):
    return "'" + text.replace("'", "''") + "'"


def duckdb_rows(folder):
    files = ", ".join(map(quoted, folder.paths()))
    place = f"substr(parse_dirpath(_file), {len(folder.root) + 2}) as _folder"
    return (f"select * exclude (_file), {place} from read_parquet([{files}], "
            "filename='_file', hive_partitioning=false, union_by_name=true)")


def duckdb_ranges(con, path, order):
    is_null = "is not null" if nulls_first(path) else "is null"
    key = "row(" + ", ".join(f'"{c}" {is_null}, "{c}"' for c in order) + ")"
    return con.execute(f"""
        with keys as (select {key} as k, file_row_number as n from read_parquet({quoted(path)}, file_row_number=true))
        select count(*) filter (before > k), min(k), max(k)
        from (select k, lag(k) over (order by n) as before from keys)""").fetchone()


def with_duckdb(source, result, order, newest):
    with tempfile.TemporaryDirectory() as spill:
        con = duckdb.connect(config={"temp_directory": spill, "memory_limit": "4GB", "preserve_insertion_order": False})
        expected = duckdb_rows(source)
        if newest:
            expected += f' qualify row_number() over (partition by _folder, "{order[0]}" order by "{newest}" desc) = 1'
        con.execute(f"create view expected as {expected}")
        con.execute(f"create view found as {duckdb_rows(result)}")
        counts = [con.execute(f"select count(*) from {t}").fetchone()[0] for t in ("expected", "found")]
        different = con.execute(f"""
            select * exclude (_copies), sum(_copies)::bigint as _missing
            from (select *, 1 as _copies from expected union all by name select *, -1 as _copies from found)
            group by all having sum(_copies) <> 0 limit {EXAMPLES}""")
        names = [column[0] for column in different.description]
        problems = [say_missing("duckdb", row[-1], dict(zip(names[:-1], row))) for row in different.fetchall()]
        problems += misplaced("duckdb", result, lambda path: duckdb_ranges(con, path, order))
        return counts, problems


def say_missing(reader, copies, row):
    what = f"{copies} missing" if copies > 0 else f"{-copies} too many"
    return f"{reader}: {what}: {row}"


# pyarrow: equal multisets of row hashes.

def batches(folder, columns=None):
    for place, paths in folder.files.items():
        for path in paths:
            with pq.ParquetFile(path) as file:
                for batch in file.iter_batches(columns=columns):
                    yield place, batch


def row_texts(place, batch, columns):
    """Each row as one text that no other row has; a column that a file lacks counts as null."""
    fields = [pa.scalar(place)]
    for name in columns:
        if name not in batch.schema.names:
            fields.append(pa.scalar(None, pa.string()))
            continue
        text = pc.cast(batch.column(name), pa.string())
        length = pc.cast(pc.binary_length(text), pa.string())
        fields.append(pc.binary_join_element_wise(length, text, ":"))
    return pc.binary_join_element_wise(*fields, "|", null_handling="replace", null_replacement="~").to_pylist()


def hashes(texts):
    return np.fromiter(map(hash, texts), dtype="int64", count=len(texts))


def all_hashes(folder, columns):
    parts = [hashes(row_texts(place, batch, columns)) for place, batch in batches(folder)]
    return np.concatenate(parts or [np.empty(0, "int64")])


def newest_hashes(folder, columns, key, newest):
    """The hashes of the newest row of each key, and how many keys have two rows that are equally new."""
    keys, seqs = [], []
    for place, batch in batches(folder, [key, newest]):
        keys.append(hashes(row_texts(place, batch, [key])))
        seqs.append(batch.column(newest).to_numpy(zero_copy_only=False))
    keys, seqs, rows = np.concatenate(keys), np.concatenate(seqs), all_hashes(folder, columns)
    by_age = np.lexsort((seqs, keys))
    keys, seqs, rows = keys[by_age], seqs[by_age], rows[by_age]
    last = np.append(keys[1:] != keys[:-1], True)
    tied = last[1:] & (keys[1:] == keys[:-1]) & (seqs[1:] == seqs[:-1])
    return rows[last], int(tied.sum())


def different_rows(expected, found, source, result, columns):
    """Up to a few rows whose number differs, as (copies missing, text)."""
    values, copies = np.unique(np.concatenate([expected, found]), return_inverse=True)
    missing = np.bincount(copies[:len(expected)], minlength=len(values))
    missing -= np.bincount(copies[len(expected):], minlength=len(values))
    wanted = {int(values[i]): int(missing[i]) for i in np.flatnonzero(missing)[:EXAMPLES]}
    for folder in (source, result):
        for place, batch in batches(folder):
            for text in row_texts(place, batch, columns):
                if hash(text) in wanted:
                    yield wanted.pop(hash(text)), text


def sortable(column, first):
    values = column.cast(pa.int64()) if pa.types.is_timestamp(column.type) else column
    values = values.to_pylist()
    return [(value is None) != first for value in values], values


def pyarrow_ranges(path, order):
    unsorted, begin, last = 0, None, None
    first = nulls_first(path)
    with pq.ParquetFile(path) as file:
        for batch in file.iter_batches(columns=order):
            keys = zip(*itertools.chain.from_iterable(sortable(batch.column(name), first) for name in order))
            for key in keys:
                if last is None:
                    begin = key
                elif key < last:
                    unsorted += 1
                last = key
    return unsorted, begin, last


def with_pyarrow(source, result, order, newest):
    columns = list(source.columns())
    problems = []
    if newest:
        expected, tied = newest_hashes(source, columns, order[0], newest)
        if tied:
            problems.append(f"pyarrow: {tied} keys have two rows that are equally new: this check cannot judge them")
    else:
        expected = all_hashes(source, columns)
    found = all_hashes(result, columns)
    if not np.array_equal(np.sort(expected), np.sort(found)):
        rows = different_rows(expected, found, source, result, columns)
        problems += [say_missing("pyarrow", copies, text) for copies, text in rows]
    problems += misplaced("pyarrow", result, lambda path: pyarrow_ranges(path, order))
    return [len(expected), len(found)], problems


def check(src, result, shape):
    source, result = Folder(src), Folder(result)
    report = {"shape": shape, "files_source": len(source.paths()), "files_result": len(result.paths())}
    problems = [f"{folder.root}: no Parquet files" for folder in (source, result) if not folder.files]
    if not problems:
        was, now = source.columns(), result.columns()
        problems += [f"column {name} was {was.get(name)} and is now {now.get(name)}"
                     for name in was | now if was.get(name) != now.get(name)]
    if not problems:
        for name, reader in (("duckdb", with_duckdb), ("pyarrow", with_pyarrow)):
            (expected, found), wrong = reader(source, result, ORDER[shape], NEWEST.get(shape))
            report[name] = {"rows_expected": expected, "rows_found": found}
            problems += wrong
    return report | {"problems": problems}


def main():
    args = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    args.add_argument("what", choices=["rows"])
    args.add_argument("src")
    args.add_argument("result")
    args.add_argument("--shape", choices=sorted(ORDER), required=True)
    a = args.parse_args()
    report = check(a.src, a.result, a.shape)
    for problem in report["problems"]:
        print(problem, file=sys.stderr)
    print(json.dumps(report, ensure_ascii=False))
    sys.exit(1 if report["problems"] else 0)


if __name__ == "__main__":
    main()
