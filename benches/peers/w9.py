"""W9 from Python: the samples, the plot and the kills of benches/workloads/w9.rs.

Run it while nothing else runs, with BENCH_DATA on the disk to measure and the package stationdb as it
is released: `python benches/peers/w9.py`. It prints one JSON line for each figure, in the form of
the other peers. It starts itself as `w9.py write|plot|survivors DIRECTORY` for what needs a process
of its own.
"""

import json
import os
import random
import shutil
import statistics
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import stationdb

DATA = Path(os.environ["BENCH_DATA"])
SAMPLES = int(os.environ.get("BENCH_SAMPLES", "100000"))
KILLS = int(os.environ.get("BENCH_KILLS", "10"))
REPS = int(os.environ.get("BENCH_REPS", "3"))
ROWS, INTERVALS, TS0 = 100, 1000, 1_700_000_000_000
APPENDS = SAMPLES // ROWS
CURVES = ("v1", "v2", "v3")
NAME = "stationdb (Python)"


def hash_of(column, row):
    """The generator of benches/workloads/common.rs, for many rows at once."""
    seed = (42 + column * 0xBF58476D1CE4E5B9) & 0xFFFFFFFFFFFFFFFF
    z = (row + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(seed)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


def uniform(column, row):
    return (hash_of(column, row) >> np.uint64(11)) / 2.0**53


def samples():
    row = np.arange(SAMPLES, dtype=np.uint64)
    at = row.astype(float)
    times = TS0 + 10 * row.astype(np.int64) + (hash_of(0, row) % np.uint64(10)).astype(np.int64)
    v1 = 10.0 * np.sin(2.0 * np.pi * at / 1e6) + (uniform(1, row) + uniform(6, row) - 1.0)
    v2 = 25.0 + 5.0 * np.sin(2.0 * np.pi * at / 2.5e6) + 0.2 * (uniform(2, row) - 0.5)
    return {"ts": times.view("datetime64[ms]"), "v1": v1, "v2": np.round(1000.0 * v2) / 1000.0, "v3": 1000.0 * uniform(3, row)}


COLUMNS = samples()


def emit(metric, values, unit, note):
    load = os.getloadavg()[0]
    print(json.dumps({
        "workload": "W9", "peer": NAME, "metric": metric, "value": round(statistics.median(values), 6),
        "unit": unit, "note": note, "n": len(values), "min": round(min(values), 6),
        "max": round(max(values), 6), "load1": load,
    }), flush=True)


def append_all(directory, told):
    db = stationdb.open(directory, user="bench")
    table = db.tables.create("measurements", {"ts": "TIMESTAMP", "v1": float, "v2": float, "v3": float}, index="ts")
    for at in range(APPENDS):
        batch = {name: column[at * ROWS : (at + 1) * ROWS] for name, column in COLUMNS.items()}
        began = time.perf_counter()
        table.append(batch)
        told(at + 1, time.perf_counter() - began)
    return db


def write(directory):
    append_all(directory, lambda count, _: print(count, flush=True))


def plot(directory):
    began = time.perf_counter()
    with stationdb.open(directory, create=False, user="bench") as db:
        table = db.tables.get("measurements")
        curves = [table.decimate(name, points=INTERVALS).to_numpy() for name in CURVES]
        taken = time.perf_counter() - began
        size = SAMPLES // INTERVALS
        for name, curve in zip(CURVES, curves):
            cut = COLUMNS[name][: size * INTERVALS].reshape(INTERVALS, size)
            assert {*cut.min(1), *cut.max(1)} <= set(curve[name]), name
            assert len(curve[name]) <= 2 * INTERVALS, name
    print(taken * 1e3)


def survivors(directory):
    with stationdb.open(directory, create=False, user="bench") as db:
        found = db.tables.get("measurements").rows().to_numpy()
        count = len(found["ts"])
        for name, column in COLUMNS.items():
            assert np.array_equal(found[name].astype(column.dtype), column[:count]), name
    print(count)


def start(role, directory):
    return subprocess.Popen([sys.executable, __file__, role, str(directory)], stdout=subprocess.PIPE, text=True)


def answer(role, directory):
    child = start(role, directory)
    text = child.communicate()[0]
    return float(text) if child.returncode == 0 else None


def scratch(name):
    directory = DATA / "scratch" / name
    shutil.rmtree(directory, ignore_errors=True)
    directory.parent.mkdir(parents=True, exist_ok=True)
    return directory


def killed(draw, append_s):
    directory = scratch("w9-python-killed")
    child = start("write", directory)
    at, acked = draw.randrange(APPENDS * 3 // 10, APPENDS * 7 // 10), 0
    while acked < at:
        acked = int(child.stdout.readline())
    time.sleep(draw.random() * 2 * append_s)
    child.kill()
    for line in child.communicate()[0].split():
        acked = int(line)
    assert acked < APPENDS, "the kill came too late"
    return acked * ROWS, answer("survivors", directory)


def main():
    rate, middle, late, plots = [], [], [], []
    for _ in range(max(REPS, 1)):
        directory, taken = scratch("w9-python"), []
        append_all(directory, lambda _, seconds: taken.append(seconds)).close()
        taken_sorted = sorted(taken)
        rate.append(APPENDS / sum(taken))
        middle.append(taken_sorted[round((APPENDS - 1) * 0.5)] * 1e3)
        late.append(taken_sorted[round((APPENDS - 1) * 0.99)] * 1e3)
        disk = sum(path.stat().st_blocks * 512 for path in directory.rglob("*") if path.is_file())
        plots.append(answer("plot", directory))
    note = "100 rows x 4 columns of numpy an append, durable on return"
    emit("appends_per_s", rate, "appends/s", note)
    emit("p50", middle, "ms", note)
    emit("p99", late, "ms", note)
    emit("disk", [disk / 1e6], "MB", "closed")
    emit("reopen_and_plot", plots, "ms", "3 curves of 2,000 points, in a new process, libraries loaded, warm page cache")
    draw = random.Random(42)
    kills = [killed(draw, 1 / rate[-1]) for _ in range(KILLS)]
    if kills:
        note = f"killed at a random moment of the middle, {KILLS} times, a new store each"
        emit("kill_acked", [acked for acked, _ in kills], "rows", note)
        emit("kill_survived", [read or 0 for _, read in kills], "rows", note)
        emit("kill_lost_most", [max(max(0, acked - (read or 0)) for acked, read in kills)], "rows", note)
        emit("kill_unreadable", [sum(read is None for _, read in kills)], f"of {KILLS}", note)


if len(sys.argv) > 1:
    {"write": write, "plot": plot, "survivors": survivors}[sys.argv[1]](Path(sys.argv[2]))
else:
    main()
