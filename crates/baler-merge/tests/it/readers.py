"""Reads in*.parquet and out.parquet of each folder with DuckDB, pyarrow, Polars and DataFusion: rows and types must be equal.

What a reader cannot read of the inputs it need not read of the output; these types are known, and one more or less is a difference.
"""

import pathlib
import sys

import datafusion
import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

wrong, looked_at = [], 0


def plain(kind):
    """Views, large layouts and dictionaries are layouts, no types."""
    text = str(kind)
    for layout in ("large_", "_view"):
        text = text.replace(layout, "")
    if text.startswith("dictionary<"):
        text = text.split("values=")[1].split(",")[0]
    return text


def told(compare, place):
    try:
        difference = compare(place)
    except Exception as why:
        difference = f"{type(why).__name__}: {why}"
    if difference:
        wrong.append(f"{place.name} {compare.__name__}: {difference}")


def exact(column):
    kind = column.type
    if pa.types.is_timestamp(kind) or pa.types.is_time(kind) or pa.types.is_date(kind):
        width = pa.int32() if kind.bit_width == 32 else pa.int64()
        column = pa.chunked_array([chunk.view(width) for chunk in column.chunks], width)
    return column.to_pylist()


def texts(table):
    """Rows as text: every NaN is one, -0.0 is not 0.0."""
    table = table.cast(pa.schema([f.with_type(pa.int64()) if pa.types.is_duration(f.type) else f for f in table.schema]))
    return [repr(row) for row in zip(*(exact(column) for column in table.columns))]


def by_key(rows):
    return sorted(rows, key=lambda row: int(row[1:].split(",")[0]))


def by_pyarrow(place):
    inputs = [pq.read_table(path) for path in sorted(place.glob("in*.parquet"))]
    output = pq.read_table(place / "out.parquet")
    before, after = [plain(kind) for kind in inputs[0].schema.types], [plain(kind) for kind in output.schema.types]
    if before != after:
        return f"{before} became {after}"
    expected = by_key(row for table in inputs for row in texts(table))
    return None if texts(output) == expected else "rows differ"


def by_duckdb(place):
    inputs, output = f"'{place}/in*.parquet'", f"'{place}/out.parquet'"
    types = [duckdb.sql(f"DESCRIBE SELECT * FROM read_parquet({files})").fetchall() for files in (inputs, output)]
    if types[0] != types[1]:
        return f"{types[0]} became {types[1]}"
    column = types[0][1][0]
    # As text: times with a zone need no module, -0.0 is not 0.0.
    rows = f"SELECT k, \"{column}\"::VARCHAR FROM read_parquet({{}}) ORDER BY k"
    rows = [duckdb.sql(rows.format(files)).fetchall() for files in (inputs, output)]
    if rows[0] != rows[1]:
        return "rows differ"
    # A filter goes by statistics and page index.
    count = f"SELECT count(*) FROM read_parquet({{}}) WHERE k >= 100 AND k < 200 AND \"{column}\" IS NOT NULL"
    counts = [duckdb.sql(count.format(files)).fetchall() for files in (inputs, output)]
    return None if counts[0] == counts[1] else f"{counts[0]} became {counts[1]}"


def unlike(before, after):
    """What differs between the inputs' rows and the output's, given as Arrow tables of one reader."""
    kinds = [[plain(kind) for kind in table.schema.types] for table in (before, after)]
    if kinds[0] != kinds[1]:
        return f"{kinds[0]} became {kinds[1]}"
    return None if by_key(texts(before)) == texts(after) else "rows differ"


def by_polars(place):
    inputs, output = sorted(place.glob("in*.parquet")), place / "out.parquet"
    try:
        # Whether texts are categories is for a writer to choose, as it is for pyarrow's dictionaries.
        before = pl.concat([pl.read_parquet(path) for path in inputs]).cast({pl.Categorical: pl.String})
    # Its panics are no ordinary exceptions.
    except (Exception, pl.exceptions.PanicException) as why:
        return cannot("polars", place, why)
    after = pl.read_parquet(output)
    if before.schema != after.schema:
        return f"{before.schema} became {after.schema}"
    if not before.sort("k").equals(after):
        return "rows differ"
    # A filter goes by statistics and page index.
    some = (pl.col("k") >= 100) & (pl.col("k") < 200) & pl.col(before.columns[1]).is_not_null()
    counts = [before.filter(some).height, pl.scan_parquet(output).filter(some).collect().height]
    return None if counts[0] == counts[1] else f"{counts[0]} became {counts[1]}"


def by_datafusion(place):
    inputs, output = sorted(place.glob("in*.parquet")), place / "out.parquet"
    reader = datafusion.SessionContext()
    try:
        before = pa.concat_tables([reader.read_parquet(path).to_arrow_table() for path in inputs])
    except Exception as why:
        return cannot("datafusion", place, why)
    after = reader.read_parquet(output).to_arrow_table()
    if difference := unlike(before, after):
        return difference
    column, k = datafusion.col(f'"{before.column_names[1]}"'), datafusion.col("k")
    some = (k >= datafusion.lit(100)) & (k < datafusion.lit(200)) & column.is_not_null()
    counted = [reader.read_parquet(path).filter(some).count() for path in (*inputs, output)]
    counts = [sum(counted[:-1]), counted[-1]]
    return None if counts[0] == counts[1] else f"{counts[0]} became {counts[1]}"


# Types that a reader does not know, whoever wrote them.
UNKNOWN = {"polars": {"decimal256", "offset_ns"}, "datafusion": set()}
not_read = {reader: set() for reader in UNKNOWN}


def cannot(reader, place, why):
    kind = place.name.rsplit(".", 1)[0]
    not_read[reader].add(kind)
    return None if kind in UNKNOWN[reader] else f"cannot read the inputs: {why}"


for place in sorted(pathlib.Path(sys.argv[1]).iterdir()):
    looked_at += 1
    for reader in (by_pyarrow, by_duckdb, by_polars, by_datafusion):
        told(reader, place)
for reader, kinds in UNKNOWN.items():
    wrong += [f"{reader} reads {kind} by now: take it off the list" for kind in kinds - not_read[reader]]

print(f"{looked_at} folders, {len(wrong)} differences")
print("\n".join(wrong))
sys.exit(bool(wrong) or not looked_at)
