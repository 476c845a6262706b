"""Reads in*.parquet and out.parquet of each folder with DuckDB and pyarrow: rows and types must be equal."""

import pathlib
import sys

import duckdb
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


def by_pyarrow(place):
    inputs = [pq.read_table(path) for path in sorted(place.glob("in*.parquet"))]
    output = pq.read_table(place / "out.parquet")
    before, after = [plain(kind) for kind in inputs[0].schema.types], [plain(kind) for kind in output.schema.types]
    if before != after:
        return f"{before} became {after}"
    # Rows as text: every NaN is one, -0.0 is not 0.0.
    def texts(table):
        table = table.cast(pa.schema([f.with_type(pa.int64()) if pa.types.is_duration(f.type) else f for f in table.schema]))
        return [repr(row) for row in zip(*(exact(column) for column in table.columns))]
    def exact(column):
        kind = column.type
        if pa.types.is_timestamp(kind) or pa.types.is_time(kind) or pa.types.is_date(kind):
            width = pa.int32() if kind.bit_width == 32 else pa.int64()
            column = pa.chunked_array([chunk.view(width) for chunk in column.chunks], width)
        return column.to_pylist()
    expected = sorted((row for table in inputs for row in texts(table)), key=lambda row: int(row[1:].split(",")[0]))
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


for place in sorted(pathlib.Path(sys.argv[1]).iterdir()):
    looked_at += 1
    told(by_pyarrow, place)
    told(by_duckdb, place)

print(f"{looked_at} folders, {len(wrong)} differences")
print("\n".join(wrong))
sys.exit(bool(wrong) or not looked_at)
