"""W9 from Python: the samples, the plot and the kills of benches/workloads/w9.rs.

Run it while nothing else runs, with BENCH_DATA on the disk to measure and the package stationdb as it
is released: `python benches/peers/w9.py`. It prints one JSON line for each figure, in the form of
the other peers. It starts itself as `w9.py write|plot|survivors DIRECTORY` for what needs a process
of its own.
"""

import os
import random
import shutil
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import stationdb
from common import DATA, REPS, emit, quantile, samples, timed

SAMPLES = int(os.environ.get("BENCH_SAMPLES", "100000"))
KILLS = int(os.environ.get("BENCH_KILLS", "10"))
ROWS, INTERVALS = 100, 1000
APPENDS = SAMPLES // ROWS
CURVES = ("v1", "v2", "v3")
PEER = "stationdb (Python)"
COLUMNS = samples(SAMPLES)


def append_all(directory, told):
    db = stationdb.open(directory, user="bench")
    table = db.tables.create("measurements", {"ts": "TIMESTAMP", "v1": float, "v2": float, "v3": float}, index="ts")
    for at in range(APPENDS):
        batch = {name: column[at * ROWS : (at + 1) * ROWS] for name, column in COLUMNS.items()}
        told(at + 1, timed(lambda: table.append(batch))[0])
    return db


def write(directory):
    append_all(directory, lambda count, _: print(count, flush=True))


def plot(directory):
    began = time.perf_counter()
    with stationdb.open(directory, create=False, user="bench") as db:
        table = db.tables.get("measurements")
        curves = table.decimate(CURVES, points=INTERVALS).to_numpy()
        taken = time.perf_counter() - began
        size = SAMPLES // INTERVALS
        for name in CURVES:
            cut = COLUMNS[name][: size * INTERVALS].reshape(INTERVALS, size)
            assert {*cut.min(1), *cut.max(1)} <= set(curves[name]), name
            assert len(curves[name]) <= 2 * len(CURVES) * INTERVALS, name
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
    for _ in range(REPS):
        directory, taken = scratch("w9-python"), []
        append_all(directory, lambda _, seconds: taken.append(seconds)).close()
        rate.append(APPENDS / sum(taken))
        middle.append(quantile(taken, 0.5) * 1e3)
        late.append(quantile(taken, 0.99) * 1e3)
        disk = sum(path.stat().st_blocks * 512 for path in directory.rglob("*") if path.is_file())
        plots.append(answer("plot", directory))
    note = "100 rows x 4 columns of numpy an append, durable on return"
    emit("W9", PEER, "appends_per_s", rate, "appends/s", note)
    emit("W9", PEER, "p50", middle, "ms", note)
    emit("W9", PEER, "p99", late, "ms", note)
    emit("W9", PEER, "disk", [disk / 1e6], "MB", "closed")
    emit("W9", PEER, "reopen_and_plot", plots, "ms", "3 curves of 2,000 points, in a new process, libraries loaded, warm page cache")
    draw = random.Random(42)
    kills = [killed(draw, 1 / rate[-1]) for _ in range(KILLS)]
    if kills:
        note = f"killed at a random moment of the middle, {KILLS} times, a new store each"
        emit("W9", PEER, "kill_acked", [acked for acked, _ in kills], "rows", note)
        emit("W9", PEER, "kill_survived", [read or 0 for _, read in kills], "rows", note)
        emit("W9", PEER, "kill_lost_most", [max(max(0, acked - (read or 0)) for acked, read in kills)], "rows", note)
        emit("W9", PEER, "kill_unreadable", [sum(read is None for _, read in kills)], f"of {KILLS}", note)


if len(sys.argv) > 1:
    {"write": write, "plot": plot, "survivors": survivors}[sys.argv[1]](Path(sys.argv[2]))
else:
    main()
