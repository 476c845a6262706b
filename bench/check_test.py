#!/usr/bin/env python3
"""Tests of check.py: each plants one fault in a right result, and the check must name it."""
import os
import tempfile
import unittest

import pyarrow as pa
import pyarrow.parquet as pq

import check

ROWS = [(1, "Zoë"), (2, None), (2, None), (3, "日本"), (4, "'; --"), (5, ""), (6, "~")]


def table(rows, kind=None):
    return pa.table({"ts": pa.array([r[0] for r in rows], pa.int64()),
                     "name": pa.array([r[1] for r in rows], kind or pa.string())})


def upserts(rows):
    return pa.table({"key": [r[0] for r in rows], "seq": [r[1] for r in rows]})


class Checked(unittest.TestCase):
    def setUp(self):
        self.place = tempfile.TemporaryDirectory()
        self.addCleanup(self.place.cleanup)

    def put(self, path, rows, **options):
        path = os.path.join(self.place.name, path)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        pq.write_table(rows, path, **options)

    def problems(self, shape="disjoint"):
        src, out = (os.path.join(self.place.name, name) for name in ("src", "out"))
        return check.check(src, out, shape)["problems"]

    def found_by_both(self, words, shape="disjoint"):
        problems = self.problems(shape)
        for reader in ("duckdb", "pyarrow"):
            self.assertTrue(any(p.startswith(reader) and words in p for p in problems), (reader, words, problems))


class Plain(Checked):
    def setUp(self):
        super().setUp()
        self.put("src/b.parquet", table(ROWS[3:]))
        self.put("src/a.parquet", table(ROWS[:3]))

    def test_the_same_rows_pass(self):
        self.put("out/o.parquet", table(ROWS))
        self.assertEqual(self.problems(), [])

    def test_files_that_touch_at_a_key_pass(self):
        self.put("out/1.parquet", table(ROWS[:2]))
        self.put("out/2.parquet", table(ROWS[2:]))
        self.assertEqual(self.problems(), [])

    def test_state_and_hidden_files_are_not_data(self):
        self.put("out/o.parquet", table(ROWS))
        self.put("out/_baler/aside/x.parquet", table(ROWS))
        self.put("out/.x.parquet", table(ROWS))
        self.assertEqual(self.problems(), [])

    def test_columns_in_another_order_pass(self):
        self.put("out/o.parquet", table(ROWS).select(["name", "ts"]))
        self.assertEqual(self.problems(), [])

    def test_a_lost_row(self):
        self.put("out/o.parquet", table(ROWS[1:]))
        self.found_by_both("1 missing")

    def test_a_lost_duplicate(self):
        self.put("out/o.parquet", table(ROWS[:1] + ROWS[2:]))
        self.found_by_both("1 missing")

    def test_a_doubled_row(self):
        self.put("out/o.parquet", table(ROWS[:1] + ROWS))
        self.found_by_both("1 too many")

    def test_null_turned_into_an_empty_text(self):
        self.put("out/o.parquet", table([(t, n or "") for t, n in ROWS]))
        self.found_by_both("2 missing")

    def test_null_is_not_the_text_that_stands_for_it(self):
        self.put("out/o.parquet", table([(t, "~" if n is None else n) for t, n in ROWS]))
        self.found_by_both("2 missing")

    def test_rows_out_of_order(self):
        self.put("out/o.parquet", table(ROWS[::-1]))
        self.found_by_both("smaller than the row before")

    def test_overlapping_files(self):
        self.put("out/1.parquet", table(ROWS[::2]))
        self.put("out/2.parquet", table(ROWS[1::2]))
        self.found_by_both("overlap")

    def test_a_changed_type(self):
        self.put("out/o.parquet", table(ROWS, pa.binary()))
        self.assertEqual(self.problems(), ["column name was string and is now binary"])

    def test_an_empty_result(self):
        os.makedirs(os.path.join(self.place.name, "out"))
        self.assertIn("no Parquet files", self.problems()[0])


class Partitions(Checked):
    def setUp(self):
        super().setUp()
        self.put("src/day=1/a.parquet", table(ROWS))
        self.put("src/day=2/a.parquet", table(ROWS[:2]))
        self.put("out/day=1/o.parquet", table(ROWS))

    def test_each_row_stays_in_its_folder(self):
        self.put("out/day=2/o.parquet", table(ROWS[:2]))
        self.assertEqual(self.problems(), [])

    def test_a_row_in_another_folder(self):
        self.put("out/day=3/o.parquet", table(ROWS[:2]))
        self.found_by_both("1 missing")


class Nulls(Checked):
    ROWS = [(1, "a"), (2, "b"), (None, "c"), (None, "d")]

    def setUp(self):
        super().setUp()
        self.put("src/a.parquet", table(self.ROWS))

    def test_null_keys_come_last(self):
        self.put("out/o.parquet", table(self.ROWS))
        self.assertEqual(self.problems(), [])

    def test_null_keys_come_first_where_the_file_says_so(self):
        rows = table(self.ROWS[2:] + self.ROWS[:2])
        self.put("out/o.parquet", rows, sorting_columns=[pq.SortingColumn(0, nulls_first=True)])
        self.assertEqual(self.problems(), [])

    def test_null_keys_first_without_a_word(self):
        self.put("out/o.parquet", table(self.ROWS[2:] + self.ROWS[:2]))
        self.found_by_both("smaller than the row before")


class Upsert(Checked):
    def setUp(self):
        super().setUp()
        self.put("src/a.parquet", upserts([("a", 1), ("b", 1), ("ü", 1)]))
        self.put("src/b.parquet", upserts([("a", 2), ("ü", 3)]))

    def test_the_newest_of_each_key_passes(self):
        self.put("out/o.parquet", upserts([("a", 2), ("b", 1), ("ü", 3)]))
        self.assertEqual(self.problems("upsert"), [])

    def test_an_older_version(self):
        self.put("out/o.parquet", upserts([("a", 1), ("b", 1), ("ü", 3)]))
        self.found_by_both("1 too many", "upsert")

    def test_a_version_too_many(self):
        self.put("out/o.parquet", upserts([("a", 1), ("a", 2), ("b", 1), ("ü", 3)]))
        self.found_by_both("1 too many", "upsert")

    def test_ties_are_named(self):
        self.put("src/c.parquet", upserts([("a", 2)]))
        self.put("out/o.parquet", upserts([("a", 2), ("b", 1), ("ü", 3)]))
        self.assertIn("1 keys have two rows that are equally new", self.problems("upsert")[0])


if __name__ == "__main__":
    unittest.main()
