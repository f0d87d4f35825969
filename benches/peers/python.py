"""W2 to W5 from Python: the package beside sqlite3 and duckdb, each as its users write it.

Run it while nothing else runs, with BENCH_DATA on the disk to measure and the package as it is
released: `python benches/peers/python.py [W2] [W3] [W4] [W5]`. Rows are those of
benches/workloads/measurements.rs, BENCH_ROWS of them (2,000,000 when absent, for sqlite3 too), and
BENCH_RECORDS records of six members. It prints one JSON line for each figure. Every answer is compared
with numpy's.
"""

import os
import shutil
import sqlite3
import sys

import duckdb
import numpy as np
import pyarrow as pa
import stationdb
from common import DATA, REPS, emit, hash_of, quantile, repeat, samples, timed

ROWS = int(os.environ.get("BENCH_ROWS", "2000000"))
APPENDS = int(os.environ.get("BENCH_APPENDS", "500"))
RECORDS = int(os.environ.get("BENCH_RECORDS", "100000"))
PER, INTERVALS = 100, 1000
KINDS = {"ts": "TIMESTAMP", "v1": float, "v2": float, "v3": float, "k": "INT32", "s": str}
OURS, SQLITE, DUCK = "stationdb (Python)", "sqlite3 (Python)", "duckdb (Python)"
TIMES = max(REPS, 7)


def scratch(name):
    directory = DATA / "scratch" / f"python-{name}"
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir(parents=True)
    return directory


def opened(name):
    """A new store, and new databases of SQLite and DuckDB that sync as it does."""
    directory = scratch(name)
    lite = sqlite3.connect(directory / "lite.db", isolation_level=None)
    lite.execute("PRAGMA journal_mode=WAL")
    lite.execute("PRAGMA synchronous=FULL")
    duck = duckdb.connect(str(directory / "duck.db"), config={"threads": 2})
    return stationdb.open(directory / "store", user="bench"), lite, duck


def arrow(columns):
    return pa.table({name: pa.array(values) for name, values in columns.items()})


def plain(columns):
    """The columns as SQLite takes them."""
    cells = {**columns, "ts": columns["ts"].astype(np.int64)}
    return zip(*(cells[name].tolist() for name in KINDS))


LITE = "CREATE TABLE m(ts INTEGER PRIMARY KEY, v1 REAL, v2 REAL, v3 REAL, k INTEGER, s TEXT)"
TYPES = "CREATE TABLE m(ts TIMESTAMP_MS, v1 DOUBLE, v2 DOUBLE, v3 DOUBLE, k INTEGER, s TEXT)"
INSERT = "INSERT INTO m VALUES(?,?,?,?,?,?)"


def w2():
    """Appends of 100 rows, each durable."""
    rows = samples(APPENDS * PER, whole=True)
    parts = [{name: column[at * PER : (at + 1) * PER] for name, column in rows.items()} for at in range(APPENDS)]
    db, lite, duck = opened("w2")
    table = db.tables.create("m", KINDS, index="ts")
    lite.execute(LITE)
    duck.execute(TYPES)

    def in_lite(part):
        lite.execute("BEGIN")
        lite.executemany(INSERT, plain(part))
        lite.execute("COMMIT")

    def in_duck(part):
        given = arrow(part)  # noqa: F841
        duck.execute("INSERT INTO m SELECT * FROM given")

    for peer, append in ((OURS, table.append), (SQLITE, in_lite), (DUCK, in_duck)):
        taken = [timed(lambda: append(part))[0] for part in parts]
        note = "100 rows x 6 columns an append, durable on return"
        emit("W2", peer, "appends_per_s", [APPENDS / sum(taken)], "appends/s", note)
        emit("W2", peer, "p50", [quantile(taken, 0.5) * 1e3], "ms", note)
        emit("W2", peer, "p99", [quantile(taken, 0.99) * 1e3], "ms", note)
    count = APPENDS * PER
    assert len(table) == count
    for other in (lite, duck):
        assert other.execute("SELECT count(*) FROM m").fetchone()[0] == count
    db.close()


def w3_and_w4(chosen):
    """Filtered reads as arrays, and decimation."""
    rows = samples(ROWS, whole=True)
    db, lite, duck = opened("w3")
    table = db.tables.create("m", KINDS, index="ts")
    table.append(rows, end=True)
    lite.execute(LITE)
    lite.execute("BEGIN")
    lite.executemany(INSERT, plain(rows))
    lite.execute("COMMIT")
    lite.execute("CREATE INDEX by_v3 ON m(v3)")
    lite.execute("CREATE INDEX by_s ON m(s)")
    given = arrow(rows)  # noqa: F841
    duck.execute(TYPES)
    duck.execute("INSERT INTO m SELECT * FROM given")
    times = rows["ts"].astype(np.int64)
    low, high = times[ROWS * 6 // 10], times[ROWS * 6 // 10 + ROWS // 1000]
    at = [f"make_timestamp({value * 1000})" for value in (low, high)]
    masks = {
        "i_range_1pct": (rows["v3"] >= 500) & (rows["v3"] < 510),
        "ii_ts_range_0.1pct": (times >= low) & (times < high),
        "iii_string_eq": rows["s"] == "SN-0437",
    }
    ours = {
        "i_range_1pct": lambda: table.rows(["v1"], "v3 >= 500 && v3 < 510"),
        "ii_ts_range_0.1pct": lambda: table.rows(["v1"], start=rows["ts"][ROWS * 6 // 10], stop=rows["ts"][ROWS * 6 // 10 + ROWS // 1000]),
        "iii_string_eq": lambda: table.rows(["v1"], 's == "SN-0437"'),
    }
    where = {
        "i_range_1pct": ("v3 >= 500 AND v3 < 510",) * 2,
        "ii_ts_range_0.1pct": (f"ts >= {low} AND ts < {high}", f"ts >= {at[0]} AND ts < {at[1]}"),
        "iii_string_eq": ("s = 'SN-0437'",) * 2,
    }
    if "W3" in chosen:
        for metric, mask in masks.items():
            count, total = int(mask.sum()), float(rows["v1"][mask].sum())

            def checked(values, count=count, total=total):
                values = np.asarray(values)
                assert len(values) == count and abs(values.sum() - total) < 1e-6 * max(count, 1)

            statements = [f"SELECT v1 FROM m WHERE {text} ORDER BY ts" for text in where[metric]]
            works = (
                (OURS, lambda: checked(ours[metric]().to_numpy()["v1"])),
                (SQLITE, lambda: checked([row[0] for row in lite.execute(statements[0])])),
                (DUCK, lambda: checked(duck.sql(statements[1]).fetchnumpy()["v1"])),
            )
            for peer, work in works:
                emit("W3", peer, metric, repeat(TIMES, work), "ms", f"{ROWS} rows; one column as an array, in order of time")
    if "W4" in chosen:
        size = ROWS // INTERVALS
        cut = rows["v1"][: size * INTERVALS].reshape(INTERVALS, size)
        least, greatest = cut.min(1), cut.max(1)

        def in_order(values):
            # Ours gives both extremes of an interval in order of time.
            pairs = np.sort(values["v1"].reshape(INTERVALS, 2), axis=1)
            assert np.array_equal(pairs[:, 0], least) and np.array_equal(pairs[:, 1], greatest)

        def grouped(found):
            assert np.array_equal(np.array([row[1] for row in found]), least)

        works = (
            (OURS, lambda: in_order(table.decimate("v1", points=INTERVALS).to_numpy())),
            (DUCK, lambda: grouped(duck.execute(
                f"SELECT rowid // {size} AS b, min(v1), arg_min(ts, v1), max(v1), arg_max(ts, v1) FROM m "
                f"WHERE rowid < {size * INTERVALS} GROUP BY b ORDER BY b").fetchall())),
            (SQLITE, lambda: grouped(lite.execute(
                "SELECT b, min(v1), max(v1) FROM (SELECT v1, (row_number() OVER (ORDER BY ts) - 1) / "
                f"{size} AS b FROM m) WHERE b < {INTERVALS} GROUP BY b ORDER BY b").fetchall())),
        )
        for peer, work in works:
            emit("W4", peer, "MAX_MIN 1y", repeat(TIMES, work), "ms", f"{ROWS} rows to {INTERVALS} intervals")
    db.close()


def w5():
    """Records: inserts in batches of 1000, and one by its id."""
    db, lite, duck = opened("w5")
    create = "CREATE TABLE r(id TEXT PRIMARY KEY, name TEXT, type TEXT, state TEXT, part_number TEXT, properties TEXT)"
    lite.execute(create)
    duck.execute(create)
    lite.execute("CREATE INDEX by_state ON r(state, part_number)")

    def item(at):
        number = int(hash_of(97, at))
        return (f"item {at}", "testplan", "NEW", f"PN-{number % 1000:05}", f"STN-{number % 97:03}")

    items = [item(at) for at in range(RECORDS)]
    ids = []

    def in_ours(part):
        done = db.work_items.create_many(
            {"name": name, "type": kind, "state": state, "partNumber": part_number, "properties": {"station": station}}
            for name, kind, state, part_number, station in part
        )
        ids.extend(one.id for one in done.require_all())

    def in_sql(other, part, first):
        rows = [(str(first + at), *one[:4], f'{{"station": "{one[4]}"}}') for at, one in enumerate(part)]
        other.execute("BEGIN")
        other.executemany("INSERT INTO r VALUES(?,?,?,?,?,?)", rows)
        other.execute("COMMIT")

    works = (
        (OURS, lambda part, first: in_ours(part)),
        (SQLITE, lambda part, first: in_sql(lite, part, first)),
    )
    for peer, insert in works:
        taken = [timed(lambda: insert(items[first : first + 1000], first))[0] for first in range(0, RECORDS, 1000)]
        emit("W5", peer, "insert", [RECORDS / sum(taken)], "records/s", "durable batches of 1000; dataclasses or tuples")
    given = pa.table({"id": [str(at) for at in range(RECORDS)], **{name: [one[column] for one in items] for column, name in enumerate(("name", "type", "state", "part_number", "properties"))}})  # noqa: F841
    duck.execute("INSERT INTO r SELECT * FROM given")
    picks = [int(hash_of(98, at)) % RECORDS for at in range(2000)]

    def checked(name, at):
        assert name == f"item {at}"

    gets = (
        (OURS, "get", lambda at: checked(db.work_items.get(ids[at]).name, at)),
        (OURS, "get view", lambda at: checked(db.work_items.view(ids[at])["name"], at)),
        (SQLITE, "get", lambda at: checked(lite.execute("SELECT * FROM r WHERE id = ?", (str(at),)).fetchone()[1], at)),
        (DUCK, "get", lambda at: checked(duck.execute("SELECT * FROM r WHERE id = ?", (str(at),)).fetchone()[1], at)),
    )
    for peer, metric, get in gets:
        taken = [timed(lambda: get(at))[0] * 1e6 for at in picks]
        emit("W5", peer, metric, taken, "us", f"one of {RECORDS} records by its id, whole")
    db.close()


asked = sys.argv[1:] or ["W2", "W3", "W4", "W5"]
if "W2" in asked:
    w2()
if {"W3", "W4"} & set(asked):
    w3_and_w4(asked)
if "W5" in asked:
    w5()
