"""CALLS from Python: the calls of benches/workloads/calls.rs, of the store that it left.

Run `benches/project CALLS` first, with the same BENCH_DATA, and this program after it while nothing
else runs: `python benches/peers/calls.py`, with the package stationdb as it is released. It prints
one JSON line for each figure: those calls, two threads that read at once, how soon Ctrl-C ends a
call, and `import stationdb` in a new process.
"""

import os
import signal
import subprocess
import sys
import threading
import time

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
        low = lows[at % len(lows)]
        assert read(table.rows(start=low, stop=low + count)) == count

    return call


def decimate(_):
    assert sum(len(batch) for batch in table.decimate("volts", points=1_000)) >= 1_000


def records(_):
    assert len(list(db.products.query(take=PRODUCTS))) == PRODUCTS


def scanned(_):
    assert db.products.query().to_arrow().num_rows == PRODUCTS


def on_threads(count, read):
    """Calls a second of threads that read at once."""
    done = []

    def work():
        until = time.perf_counter() + 1.0
        calls = 0
        while time.perf_counter() < until:
            read(calls)
            calls += 1
        done.append(calls)

    threads = [threading.Thread(target=work) for _ in range(count)]
    seconds = timed(lambda: ([one.start() for one in threads], [one.join() for one in threads]))[0]
    return sum(done) / seconds


def at_once():
    """How many times as much two threads read as one."""
    reads = {
        "threads_rows_100k numpy": rows(min(100_000, ROWS // 2), lambda rows: len(rows.to_numpy()["t"])),
        "threads_decimate_1m": decimate,
        "threads_sql": lambda _: db.sql("select max(volts) as m from rows.rows where t > $low", low=ROWS // 2).to_pylist(),
    }
    for metric, read in reads.items():
        read(0)
        alone, both = zip(*((on_threads(1, read), on_threads(2, read)) for _ in range(REPS)))
        emit("CALLS", "stationdb (Python)", metric, [two / one for one, two in zip(alone, both)], "times", "two threads beside one")


def ctrl_c():
    """How soon Ctrl-C ends a call of the main thread."""

    def scan():
        while True:
            table.rows(where="volts > 1e9", order="volts").to_numpy()

    works = {
        "scan": scan,
        "sql": lambda: db.sql("select count(*) from rows.rows a, rows.rows b where a.volts < b.volts - 1e9").to_pylist(),
        "follow": lambda: list(db.changes(follow=True)),
    }
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for name, work in works.items():
        taken = []
        for _ in range(REPS * 2):
            sent = []

            def press():
                time.sleep(0.3)
                sent.append(time.perf_counter())
                signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)

            thread = threading.Thread(target=press)
            thread.start()
            try:
                work()
            except KeyboardInterrupt:
                taken.append((time.perf_counter() - sent[0]) * 1e3)
            thread.join()
        emit("CALLS", "stationdb (Python)", f"ctrl_c {name}", taken, "ms", "from the signal to the exception")


def imported():
    code = "import time; began = time.perf_counter(); import stationdb; print(time.perf_counter() - began)"
    run = lambda: subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout
    emit("CALLS", "stationdb (Python)", "import", [float(run()) * 1e3 for _ in range(20)], "ms", "in a new process")


SELECT = "select part_number, family from products where part_number = $part"


def selected(at):
    assert len(db.sql(SELECT, part=f"PN-{at % PRODUCTS:04}").to_pylist()) == 1


only = sys.argv[1:]
for name, work in (("threads", at_once), ("ctrl_c", ctrl_c), ("import", imported)):
    if not only or name in only:
        work()
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
    ("sql_by_value", REPS * 50, selected, "one of 1,000 records, the same text each time"),
]:
    if not only or metric in only:
        calls(metric, count, call, note)
db.close()
