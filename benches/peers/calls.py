"""CALLS from Python: the calls of benches/workloads/calls.rs, of the store that it left.

Run `benches/project CALLS` first, with the same BENCH_DATA, and this program after it while nothing
else runs: `python benches/peers/calls.py`, with the package stationdb as it is released. It prints
one JSON line for each figure.
"""

import os
import sys

import numpy as np
import stationdb
from common import DATA, REPS, emit, hash_of, timed

ROWS = int(os.environ.get("BENCH_CALL_ROWS", "1000000"))
PRODUCTS = 1_000
GETS = 2_000


def calls(metric, times, call, note=""):
    call(0)
    taken = [timed(lambda: call(at))[0] * 1e6 for at in range(times)]
    told = f"median of {times} calls" + (f"; {note}" if note else "")
    emit("CALLS", "stationdb (Python)", metric, taken, "us", told)


db = stationdb.open(DATA / "calls", create=False, user="bench")
ids = [product.id for product in db.products.query()]
assert len(ids) == PRODUCTS
table = db.tables.get("rows")
values = table.rows("volts").to_numpy()["volts"]
assert len(values) == ROWS
times = np.arange(ROWS)


def append(_):
    made = db.tables.create("appended", {"t": int, "volts": float}, index="t")
    made.append({"t": times, "volts": values})


# What is asked for is drawn before: the hash of numpy takes longer than a call.
picked = [ids[int(hash_of(95, at)) % PRODUCTS] for at in range(GETS)]


def view(at):
    assert db.products.view(picked[at])["id"] == picked[at]


def get(at):
    assert db.products.get(picked[at]).id == picked[at]


def rows(count, read):
    lows = [int(hash_of(96, at)) % (ROWS - count) for at in range(REPS * 50)]

    def call(at):
        low = lows[at]
        assert read(table.rows(start=low, stop=low + count)) == count

    return call


def decimate(_):
    assert sum(len(batch) for batch in table.decimate("volts", points=1_000)) >= 1_000


def records(_):
    assert len(list(db.products.query(take=PRODUCTS))) == PRODUCTS


def scanned(_):
    assert db.products.query().to_arrow().num_rows == PRODUCTS


only = sys.argv[1:]
for metric, count, call, note in [
    ("append_1m", REPS, append, "two arrays of numpy"),
    ("get_record", GETS, view, "a view, of which one member is read"),
    ("get_record dataclass", GETS, get, ""),
    ("rows_1k", REPS * 50, rows(min(1_000, ROWS // 2), lambda rows: sum(len(batch) for batch in rows)), "batches"),
    ("rows_1k numpy", REPS * 50, rows(min(1_000, ROWS // 2), lambda rows: len(rows.to_numpy()["t"])), ""),
    ("rows_100k", REPS * 50, rows(min(100_000, ROWS // 2), lambda rows: sum(len(batch) for batch in rows)), "batches"),
    ("rows_100k numpy", REPS * 50, rows(min(100_000, ROWS // 2), lambda rows: len(rows.to_numpy()["t"])), ""),
    ("decimate_1m", REPS * 50, decimate, ""),
    ("query_1k_records", REPS * 10, records, "dataclasses"),
    ("scan_1k_records", REPS * 50, scanned, "a table of pyarrow"),
]:
    if not only or metric in only:
        calls(metric, count, call, note)
db.close()
