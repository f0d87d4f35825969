"""W10 in SQLite and DuckDB: the results of benches/workloads/w10.rs, which leaves its values and answers.

Run `benches/project W10` first, with the same BENCH_DATA, BENCH_RESULTS and BENCH_STEPS, and this
program after it while nothing else runs: `python benches/peers/w10.py [sqlite] [duckdb]`. It prints
one JSON line for each figure. Each answer is compared with the one that the store gave or will give.
"""

import array
import json
import os
import shutil
import sqlite3
import statistics
import sys
import time
from datetime import datetime, timezone
from pathlib import Path

DATA = Path(os.environ["BENCH_DATA"])
RESULTS = int(os.environ.get("BENCH_RESULTS", "100000"))
STEPS = int(os.environ.get("BENCH_STEPS", "50"))
APPENDS = int(os.environ.get("BENCH_APPENDS", "2000"))
REPS = int(os.environ.get("BENCH_REPS", "3"))
THREADS = int(os.environ.get("BENCH_THREADS", "2"))
SCRATCH = DATA / "scratch" / "w10-peer"
NAME = DATA / f"w10-{RESULTS}-{STEPS}"
BATCH = 100
READS = min(2_000, RESULTS)
CHANGES = min(200, RESULTS // 4)

TS0, YEAR, STEP_MS = 1_700_000_000_000, 31_536_000_000, 100
TOLERANCE = 478
BAD = "('FAILED', 'ERRORED', 'TERMINATED', 'TIMED_OUT')"
COUNTED = "('PASSED', 'FAILED', 'ERRORED', 'TERMINATED', 'TIMED_OUT')"
BINS = 50
D2 = 1.1283791670955126

ANSWERS = json.loads(NAME.with_suffix(".json").read_text())
NOISE = array.array("h", NAME.with_suffix(".i16").read_bytes())
WEEK = ANSWERS["week"]

RESULT_COLUMNS = (
    ("id", "BIGINT"), ("program_name", "TEXT"), ("status", "TEXT"), ("part_number", "TEXT"),
    ("serial_number", "TEXT"), ("operator", "TEXT"), ("system_id", "TEXT"), ("host_name", "TEXT"),
    ("started_at", "TIME"), ("total_time", "DOUBLE"), ("lot", "TEXT"), ("updated_at", "TIME"),
)
STEP_COLUMNS = (
    ("result_id", "BIGINT"), ("step", "BIGINT"), ("name", "TEXT"), ("step_type", "TEXT"),
    ("status", "TEXT"), ("started_at", "TIME"), ("total_time", "DOUBLE"), ("updated_at", "TIME"),
)
MEASUREMENT_COLUMNS = (
    ("result_id", "BIGINT"), ("step", "BIGINT"), ("position", "BIGINT"), ("name", "TEXT"),
    ("value", "DOUBLE"), ("units", "TEXT"), ("low_limit", "DOUBLE"), ("high_limit", "DOUBLE"),
    ("comparison_type", "TEXT"), ("status", "TEXT"),
)
TABLES = {"results": RESULT_COLUMNS, "steps": STEP_COLUMNS, "measurements": MEASUREMENT_COLUMNS}

# The figures, the same in both dialects but for the week and the deviation.
YIELD = """
WITH counted AS (
  SELECT started_at, status, row_number() OVER (
    PARTITION BY part_number, serial_number, program_name ORDER BY started_at, id) AS run
  FROM results WHERE status IN {counted})
SELECT {week} AS week, count(*), count(*) FILTER (WHERE status = 'PASSED')
FROM counted WHERE run = 1 GROUP BY week ORDER BY week"""
PARETO = """
WITH failing AS (
  SELECT result_id, {first} AS path FROM steps WHERE status IN {bad} GROUP BY result_id)
SELECT path, count(*) AS count FROM results LEFT JOIN failing ON result_id = id
WHERE results.status IN {bad} GROUP BY path ORDER BY count DESC, path NULLS LAST"""
VALUES = """
WITH v AS (
  SELECT value, started_at, id FROM measurements m JOIN results r ON r.id = m.result_id
  WHERE m.name = '{name}'),
w AS (
  SELECT value, row_number() OVER (ORDER BY started_at, id) AS place,
    abs(value - lag(value) OVER (ORDER BY started_at, id)) AS range FROM v)"""
CAPABILITY = VALUES + """
SELECT count(*), avg(value), avg(range),
  sqrt(sum((value - (SELECT avg(value) FROM v)) * (value - (SELECT avg(value) FROM v))) / (count(*) - 1)) FROM w"""
HISTOGRAM = """
WITH v AS (SELECT value FROM measurements WHERE name = '{name}'),
e AS (SELECT min(value) AS low, max(value) AS high FROM v),
b AS (SELECT value, low, high, floor((value - low) / (high - low) * {bins}) AS k FROM v, e),
c AS (SELECT CASE WHEN value < low + (high - low) * (k / {bins}.0) THEN k - 1
  WHEN value >= low + (high - low) * ((k + 1) / {bins}.0) THEN k + 1 ELSE k END AS k FROM b)
SELECT CAST(min(k, {bins} - 1) AS INTEGER) AS k, count(*) FROM c GROUP BY 1 ORDER BY 1"""
CHART = VALUES + """,
s AS (SELECT avg(value) AS center, 3 * avg(range) / {d2} AS reach FROM w),
p AS (SELECT place, value, center, reach, CASE WHEN value > center THEN 1 WHEN value < center THEN -1 ELSE 0 END AS side FROM w, s),
g AS (SELECT *, place - row_number() OVER (PARTITION BY side ORDER BY place) AS run FROM p),
q AS (SELECT *, row_number() OVER (PARTITION BY side, run ORDER BY place) AS length FROM g)
SELECT place, value, value < center - reach OR value > center + reach AS beyond, side <> 0 AND length >= 9 AS run,
  center, center - reach, center + reach FROM q ORDER BY place"""


def noted(peer, metric, values, unit, note):
    load = float(open("/proc/loadavg").read().split()[0])
    print(json.dumps({
        "workload": "W10", "peer": peer, "metric": metric, "value": round(statistics.median(values), 6),
        "unit": unit, "note": note, "n": len(values), "min": round(min(values), 6),
        "max": round(max(values), 6), "load1": load,
    }), flush=True)


def hashed(column, row):
    mask = (1 << 64) - 1
    z = ((row + 1) * 0x9E3779B97F4A7C15 + 42 + column * 0xBF58476D1CE4E5B9) & mask
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & mask
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & mask
    return z ^ (z >> 31)


def made(results):
    """The rows of results, of their steps and of their measurements, as lists of tuples."""
    whole, steps, measurements = [], [], []
    for result in results:
        unit = result - (result % 10 == 9)
        part, host = hashed(80, unit) % 100, hashed(82, result) % 10
        started = TS0 + YEAR // RESULTS * result
        noise = NOISE[result * STEPS:(result + 1) * STEPS]
        status = "PASSED" if all(abs(value) <= TOLERANCE for value in noise) else "FAILED"
        if hashed(86, result) % 100 == 0:
            status = "TERMINATED"
        whole.append((
            result, f"Program {part % 5}", status, f"PN-{part:03}", f"SN-{unit:07}",
            f"user-{hashed(81, result) % 20:02}", f"system-{host}", f"host-{host}", started,
            STEPS / 10, f"LOT{result // 200:05}", started,
        ))
        for step, value in enumerate(noise):
            passed, nominal = abs(value) <= TOLERANCE, 10_000 + 1_000 * step
            at = started + STEP_MS * (step + 1)
            steps.append((
                result, step, f"Test {step:02}", "NumericLimitTest", "PASSED" if passed else "FAILED",
                at, STEP_MS / 1000, at,
            ))
            measurements.append((
                result, step, 0, f"M{step:02}", (nominal + value) / 10_000, "V",
                (nominal - TOLERANCE) / 10_000, (nominal + TOLERANCE) / 10_000, "GELE",
                "Passed" if passed else "Failed",
            ))
    return whole, steps, measurements


def near(found, expected):
    assert abs(found - expected) <= 1e-9 * max(abs(expected), 1e-3), (found, expected)


def repeat(work, least=7):
    work()
    taken = []
    while not taken or (len(taken) < max(REPS, least) and sum(taken) < 5000):
        began = time.perf_counter()
        work()
        taken.append((time.perf_counter() - began) * 1e3)
    return taken


def seconds_of(work):
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def bytes_below(path):
    return sum(file.stat().st_size for file in path.rglob("*") if file.is_file())


def thirds(peer, seconds, note):
    size = -(-len(seconds) // 3)
    parts = [seconds[at:at + size] for at in range(0, len(seconds), size)]
    noted(peer, "load_per_s", [len(part) * BATCH / sum(part) for part in parts], "results/s", note)
    noted(peer, "load_batch_p50", [statistics.median(part) * 1e3 for part in parts], "ms", note)


def figures(peer, ask, dialect, note):
    """The figures of results; `ask` returns the rows of a statement."""
    def told(metric, statement, check):
        text = statement.format(
            counted=COUNTED, bad=BAD, bins=BINS, d2=D2, name=ANSWERS["measurement_name"], **dialect)
        if "duckdb" in peer:
            text = text.replace(f"min(k, {BINS} - 1)", f"least(k, {BINS} - 1)")
        check(ask(text))
        noted(peer, metric, repeat(lambda: ask(text), 3), "ms", note)

    def is_yield(rows):
        assert [list(row) for row in rows] == ANSWERS["yield_by_week"]

    def is_pareto(rows):
        assert [list(row) for row in rows] == ANSWERS["pareto"]

    def is_capability(rows):
        (count, mean, moving, overall), = rows
        wanted = ANSWERS["capability"]
        assert count == wanted["n"]
        near(mean, wanted["mean"])
        near(overall, wanted["overallDeviation"])
        near(moving / D2, wanted["withinDeviation"])

    def is_histogram(rows):
        counts = [0] * BINS
        for at, count in rows:
            counts[at] = count
        assert counts == ANSWERS["histogram"]["counts"]

    def is_chart(rows):
        wanted = ANSWERS["control_chart"]
        assert len(rows) == RESULTS
        assert sum(bool(row[2]) for row in rows) == wanted["beyond"]
        assert sum(bool(row[3]) for row in rows) == wanted["run"]
        for found, member in zip(rows[0][4:], ("center", "lower", "upper")):
            near(found, wanted[member])

    told("yield_by_week", YIELD, is_yield)
    told("pareto", PARETO, is_pareto)
    told("capability", CAPABILITY, is_capability)
    told("histogram", HISTOGRAM, is_histogram)
    told("control_chart", CHART, is_chart)


def asked(peer, ask, when, note):
    """The queries that both have."""
    newest = ("SELECT * FROM results WHERE status = 'PASSED' AND part_number = ? "
              "ORDER BY started_at DESC LIMIT 100")
    week = ("FROM steps s JOIN measurements m ON m.result_id = s.result_id AND m.step = s.step "
            "WHERE s.name = ? AND s.status = 'PASSED' AND s.started_at >= ? AND s.started_at < ? "
            "ORDER BY s.started_at LIMIT 100")
    count = ("SELECT count(*) FROM steps WHERE name = ? AND status = 'PASSED' "
             "AND started_at >= ? AND started_at < ?")
    of_week = [ANSWERS["step_name"], when(WEEK[0]), when(WEEK[1])]

    def first():
        rows = ask(newest, [ANSWERS["part_number"]])
        assert [row[0] for row in rows] == ANSWERS["newest"]

    def second():
        rows = ask(f"SELECT s.*, m.* {week}", of_week)
        assert [row[0] for row in rows] == ANSWERS["week_first"]

    def third():
        assert ask(count, of_week)[0][0] == ANSWERS["week_count"]

    noted(peer, "newest_100_of_status_and_part", repeat(first), "ms", note)
    noted(peer, "steps_of_week_first_100_by_time", repeat(second), "ms", note)
    noted(peer, "steps_of_week_count", repeat(third), "ms", note)


def fresh():
    shutil.rmtree(SCRATCH, ignore_errors=True)
    SCRATCH.mkdir(parents=True)


def sqlite_opened():
    db = sqlite3.connect(SCRATCH / "w10.db", isolation_level=None, cached_statements=64)
    db.execute("PRAGMA journal_mode = WAL")
    db.execute("PRAGMA synchronous = FULL")
    db.execute("PRAGMA cache_size = -1000000")
    return db


def sqlite_tables(db):
    kinds = {"BIGINT": "INTEGER NOT NULL", "TIME": "INTEGER NOT NULL", "TEXT": "TEXT", "DOUBLE": "REAL"}
    keys = {
        "results": "PRIMARY KEY (id)", "steps": "PRIMARY KEY (result_id, step)",
        "measurements": "PRIMARY KEY (result_id, step, position)",
    }
    for table, columns in TABLES.items():
        text = ", ".join(f"{name} {kinds[kind]}" for name, kind in columns)
        rowid = "" if table == "results" else " WITHOUT ROWID"
        db.execute(f"CREATE TABLE {table}({text}, {keys[table]}){rowid}")
    for index, on in (
        ("results_status", "results(status)"), ("results_unit", "results(part_number, serial_number)"),
        ("results_started", "results(started_at)"), ("steps_name", "steps(name, result_id)"),
        ("measurements_name", "measurements(name, result_id)"),
    ):
        db.execute(f"CREATE INDEX {index} ON {on}")


INSERTS = {
    table: f"INSERT INTO {table} VALUES ({', '.join('?' * len(columns))})" for table, columns in TABLES.items()
}


def sqlite_put(db, rows):
    db.execute("BEGIN IMMEDIATE")
    for table, of in zip(TABLES, rows):
        db.executemany(INSERTS[table], of)
    db.execute("COMMIT")


def sqlite():
    note = f"{RESULTS} results of {STEPS} steps, WAL, synchronous FULL, 1 GB cache, from Python"
    fresh()
    db = sqlite_opened()
    sqlite_tables(db)
    seconds = []
    for start in range(0, RESULTS, BATCH):
        rows = made(range(start, min(start + BATCH, RESULTS)))
        seconds.append(seconds_of(lambda: sqlite_put(db, rows)))
    thirds("sqlite", seconds, f"{note}; commits of {BATCH} results")
    db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    db.execute("VACUUM")
    db.close()
    per_step = bytes_below(SCRATCH) / (RESULTS * STEPS)
    noted("sqlite", "disk_settled", [per_step], "B/measured step", f"{note}; after VACUUM and a close")

    db = sqlite_opened()
    ask = lambda text, values=(): db.execute(text, values).fetchall()
    whole, single = [], []
    for repetition in range(4):
        took = [0.0, 0.0]
        for draw in range(READS):
            result = hashed(100 + repetition, draw) % RESULTS
            step = hashed(110 + repetition, draw) % STEPS
            began = time.perf_counter()
            found = ask("SELECT * FROM results WHERE id = ?", [result])
            steps = ask("SELECT * FROM steps WHERE result_id = ? ORDER BY step", [result])
            of = ask("SELECT * FROM measurements WHERE result_id = ? ORDER BY step, position", [result])
            took[0] += time.perf_counter() - began
            assert len(found) == 1 and len(steps) == STEPS == len(of)
            began = time.perf_counter()
            row, = ask("SELECT * FROM steps WHERE result_id = ? AND step = ?", [result, step])
            value, = ask("SELECT * FROM measurements WHERE result_id = ? AND step = ?", [result, step])
            took[1] += time.perf_counter() - began
            assert row[1] == step and value[4] == (10_000 + 1_000 * step + NOISE[result * STEPS + step]) / 10_000
        if repetition:
            whole.append(took[0] / READS * 1e6)
            single.append(took[1] / READS * 1e6)
    noted("sqlite", "result_with_steps", whole, "us", f"{note}; random ids, warm, mean")
    noted("sqlite", "step_by_id", single, "us", f"{note}; random ids, warm, mean")

    db.execute("CREATE INDEX results_newest ON results(part_number, status, started_at)")
    db.execute("CREATE INDEX steps_week ON steps(name, status, started_at)")
    asked("sqlite", ask, lambda ms: ms, "with an index for the query")
    db.execute("CREATE INDEX measurements_value ON measurements(name, result_id, value)")
    week = "((started_at / 86400000 + 3) / 7 * 7 - 3) * 86400000"
    pareto = {"week": week, "first": "min(printf('%04d', step) || name)"}
    figures("sqlite", lambda text: [
        (row[0][4:] if isinstance(row[0], str) else row[0], *row[1:]) for row in ask(text)
    ], pareto, "with an index of name, result and value")
    for index in ("results_newest", "steps_week", "measurements_value"):
        db.execute(f"DROP INDEX {index}")
    db.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def changed(draw):
        key = (draw * (RESULTS // 2) // CHANGES, hashed(130, draw) % STEPS)
        db.execute("BEGIN IMMEDIATE")
        db.execute("UPDATE steps SET total_time = 0.5, updated_at = updated_at + 1 WHERE result_id = ? AND step = ?", key)
        db.execute("UPDATE measurements SET value = 0.5 WHERE result_id = ? AND step = ?", key)
        db.execute("COMMIT")

    def deleted(draw):
        key = [RESULTS // 2 + draw * (RESULTS // 2) // CHANGES]
        db.execute("BEGIN IMMEDIATE")
        for table, column in (("measurements", "result_id"), ("steps", "result_id"), ("results", "id")):
            db.execute(f"DELETE FROM {table} WHERE {column} = ?", key)
        db.execute("COMMIT")

    for metric, change in (("update_step", changed), ("delete_result", deleted)):
        taken = [seconds_of(lambda: change(draw)) * 1e6 for draw in range(CHANGES)]
        noted("sqlite", f"{metric}_p50", [statistics.median(taken)], "us", note)
        noted("sqlite", f"{metric}_mean", [statistics.fmean(taken)], "us", note)
    assert ask("SELECT count(*) FROM steps") == [((RESULTS - CHANGES) * STEPS,)]
    db.close()

    rates, middles = [], []
    for _ in range(REPS):
        fresh()
        db = sqlite_opened()
        sqlite_tables(db)
        taken = []
        for result in range(min(APPENDS, RESULTS)):
            rows = made([result])
            taken.append(seconds_of(lambda: sqlite_put(db, rows)))
        rates.append(len(taken) / sum(taken))
        middles.append(statistics.median(taken) * 1e3)
        db.close()
    noted("sqlite", "commits_per_s", rates, "results/s", "a result a commit; WAL, synchronous FULL")
    noted("sqlite", "commit_p50", middles, "ms", "a result a commit; WAL, synchronous FULL")


def duck():
    import duckdb
    import pyarrow

    kinds = {
        "BIGINT": pyarrow.int64(), "TIME": pyarrow.timestamp("ms"), "TEXT": pyarrow.string(),
        "DOUBLE": pyarrow.float64(),
    }
    note = f"{RESULTS} results of {STEPS} steps, its own format, {THREADS} threads"
    fresh()
    db = duckdb.connect(str(SCRATCH / "w10.db"), config={"threads": THREADS})
    for table, columns in TABLES.items():
        text = ", ".join(f"{name} {'TIMESTAMP_MS' if kind == 'TIME' else kind}" for name, kind in columns)
        db.execute(f"CREATE TABLE {table}({text})")

    def put(batches):
        db.execute("BEGIN")
        for table, batch in batches.items():
            db.register("batch", batch)
            db.execute(f"INSERT INTO {table} SELECT * FROM batch")
            db.unregister("batch")
        db.execute("COMMIT")

    seconds = []
    for start in range(0, RESULTS, BATCH):
        batches = {}
        for (table, columns), rows in zip(TABLES.items(), made(range(start, min(start + BATCH, RESULTS)))):
            arrays = [pyarrow.array(list(values), kinds[kind]) for values, (_, kind) in zip(zip(*rows), columns)]
            batches[table] = pyarrow.table(arrays, [name for name, _ in columns])
        seconds.append(seconds_of(lambda: put(batches)))
    thirds("duckdb", seconds, f"{note}; commits of {BATCH} results, from Arrow, without an index")
    db.execute("CHECKPOINT")
    db.close()
    per_step = bytes_below(SCRATCH) / (RESULTS * STEPS)
    noted("duckdb", "disk_settled", [per_step], "B/measured step", f"{note}; after a checkpoint and a close")

    db = duckdb.connect(str(SCRATCH / "w10.db"), config={"threads": THREADS})
    ask = lambda text, values=(): db.execute(text, values).fetchall()
    when = lambda ms: datetime.fromtimestamp(ms / 1000, timezone.utc).replace(tzinfo=None)
    asked("duckdb", ask, when, note)
    dialect = {"week": "epoch_ms(date_trunc('week', started_at))", "first": "arg_min(name, step)"}
    figures("duckdb", ask, dialect, note)
    db.close()


chosen = sys.argv[1:] or ["sqlite", "duckdb"]
if "sqlite" in chosen:
    sqlite()
if "duckdb" in chosen:
    duck()
shutil.rmtree(SCRATCH, ignore_errors=True)
