"""W8 in DuckDB: the aggregates of benches/workloads/w8.rs and the imports of
formats/benches/imports.rs, over the files that it left; and the import of CSV in pyarrow, into Parquet.

Run `benches/project W8` first, with the same BENCH_DATA and BENCH_ROWS, and this program after it
while nothing else runs: `python benches/peers/w8.py`. It prints one JSON line for each figure.
"""

import json
import os
import shutil
import statistics
import time
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

DATA = Path(os.environ["BENCH_DATA"])
ROWS = int(os.environ.get("BENCH_ROWS", "20000000"))
REPS = int(os.environ.get("BENCH_REPS", "3"))
THREADS = int(os.environ.get("BENCH_THREADS", "2"))
TS0 = 1_700_000_000_000
LOW, HIGH = TS0 + ROWS, TS0 + 10 * (ROWS * 6 // 10)
PARQUET, CSV = DATA / f"w8-{ROWS}.parquet", DATA / f"w8-{ROWS}.csv"
SCRATCH = DATA / "scratch" / "w8-duckdb"

ALL = "count(v1), sum(v1), avg(v1), min(v1), max(v1), stddev_samp(v2)"
EXACT = "count(v1), fsum(v1), favg(v1), min(v1), max(v1), stddev_samp(v2)"
QUERIES = {
    "i_whole": "SELECT {all} FROM m",
    "ii_time_range": "SELECT {all} FROM m "
    f"WHERE ts >= make_timestamptz({LOW * 1000}) AND ts < make_timestamptz({HIGH * 1000})",
    "iii_by_minute": "SELECT epoch_ms(ts) // 60000 AS b, {all} FROM m GROUP BY b ORDER BY b",
    "iv_by_64": "SELECT k, {all} FROM m GROUP BY k ORDER BY k",
    "v_filter_1pct": "SELECT {all} FROM m WHERE v3 >= 500 AND v3 < 510",
    "vi_median": "SELECT quantile_disc(v1, 0.5) FROM m",
}


def emit(peer, metric, values, unit, note):
    load = float(open("/proc/loadavg").read().split()[0])
    print(json.dumps({
        "workload": "W8", "peer": peer, "metric": metric, "value": round(statistics.median(values), 6),
        "unit": unit, "note": note, "n": len(values), "min": round(min(values), 6),
        "max": round(max(values), 6), "load1": load,
    }), flush=True)


def opened(name):
    shutil.rmtree(SCRATCH, ignore_errors=True)
    SCRATCH.mkdir(parents=True)
    return duckdb.connect(str(SCRATCH / name), config={"threads": THREADS})


def repeat(work):
    work()
    taken = []
    while len(taken) < max(REPS, 7) and sum(taken) < 5000:
        began = time.perf_counter()
        work()
        taken.append((time.perf_counter() - began) * 1e3)
    return taken


def imports():
    for metric, source, rows in (
        ("import_csv", f"read_csv('{CSV}')", ROWS // 10),
        ("import_parquet", f"read_parquet('{PARQUET}')", ROWS),
    ):
        rates = []
        for _ in range(REPS):
            db = opened("import.db")
            began = time.perf_counter()
            db.execute(f"CREATE TABLE m AS SELECT * FROM {source}")
            db.execute("CHECKPOINT")
            rates.append(rows / (time.perf_counter() - began) / 1e6)
            assert db.execute("SELECT count(*) FROM m").fetchone() == (rows,)
            db.close()
        emit("duckdb", metric, rates, "Mrows/s", f"{THREADS} threads, its own format, with a checkpoint")


def import_to_parquet():
    """The CSV file as Parquet in zstd 1, which is what pyarrow has as a store."""
    pa.set_cpu_count(THREADS)
    rates = []
    for _ in range(REPS):
        shutil.rmtree(SCRATCH, ignore_errors=True)
        SCRATCH.mkdir(parents=True)
        path = SCRATCH / "m.parquet"
        began = time.perf_counter()
        table = pa.csv.read_csv(CSV)
        pa.parquet.write_table(table, path, compression="zstd", compression_level=1)
        for name in (path, SCRATCH):
            handle = os.open(name, os.O_RDONLY)
            os.fsync(handle)
            os.close(handle)
        rates.append(ROWS // 10 / (time.perf_counter() - began) / 1e6)
        assert table.num_rows == ROWS // 10
        assert pa.types.is_timestamp(table.schema.field("ts").type)
    emit("pyarrow", "import_csv", rates, "Mrows/s", f"{THREADS} threads, Parquet with zstd 1, synced")


def aggregates():
    db = opened("m.db")
    db.execute(f"CREATE TABLE m AS SELECT * FROM read_parquet('{PARQUET}')")
    db.execute("CHECKPOINT")
    for peer, terms in (("duckdb", ALL), ("duckdb, sums by fsum", EXACT)):
        for metric, query in QUERIES.items():
            if metric == "vi_median" and terms is EXACT:
                continue
            text = query.format(all=terms)
            taken = repeat(lambda: db.execute(text).fetchall())
            emit(peer, metric, taken, "ms", f"{THREADS} threads, its own format, sorted by time")
    db.close()


imports()
import_to_parquet()
aggregates()
shutil.rmtree(SCRATCH, ignore_errors=True)
