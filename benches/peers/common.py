"""What the peers share: the generator of benches/workloads/common.rs, and the printed lines."""

import json
import os
import statistics
import time
from pathlib import Path

import numpy as np

DATA = Path(os.environ["BENCH_DATA"])
REPS = max(int(os.environ.get("BENCH_REPS", "3")), 1)
TS0 = 1_700_000_000_000
SEED = 42


def hash_of(column, row):
    """The hash of rows of a column."""
    seed = (SEED + column * 0xBF58476D1CE4E5B9) & 0xFFFFFFFFFFFFFFFF
    with np.errstate(over="ignore"):
        z = (np.uint64(row) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(seed)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


def uniform(column, row):
    """Uniform in [0, 1)."""
    return (hash_of(column, row) >> np.uint64(11)) / 2.0**53


def samples(count, whole=False):
    """The columns of the measurement table; with k and s if `whole`."""
    row = np.arange(count, dtype=np.uint64)
    at = row.astype(float)
    times = TS0 + 10 * row.astype(np.int64) + (hash_of(0, row) % np.uint64(10)).astype(np.int64)
    v1 = 10.0 * np.sin(2.0 * np.pi * at / 1e6) + (uniform(1, row) + uniform(6, row) - 1.0)
    v2 = 25.0 + 5.0 * np.sin(2.0 * np.pi * at / 2.5e6) + 0.2 * (uniform(2, row) - 0.5)
    found = {
        "ts": times.view("datetime64[ms]"),
        "v1": v1,
        "v2": np.round(1000.0 * v2) / 1000.0,
        "v3": 1000.0 * uniform(3, row),
    }
    if whole:
        found["k"] = (hash_of(4, row) % np.uint64(64)).astype(np.int32)
        numbers = (hash_of(5, row) % np.uint64(1000)).astype(int)
        names = np.array([f"SN-{number:04}" for number in range(1000)])
        found["s"] = names[numbers]
    return found


def emit(workload, peer, metric, values, unit, note):
    """Prints one figure: the median of `values`."""
    print(json.dumps({
        "workload": workload, "peer": peer, "metric": metric,
        "value": round(statistics.median(values), 6), "unit": unit, "note": note, "n": len(values),
        "min": round(min(values), 6), "max": round(max(values), 6), "load1": os.getloadavg()[0],
    }), flush=True)


def timed(work):
    """The time of a call in seconds, and its result."""
    began = time.perf_counter()
    found = work()
    return time.perf_counter() - began, found


def repeat(times, work):
    """The times of calls in ms, after one that is not measured; five seconds at most."""
    work()
    taken = []
    while len(taken) < times and sum(taken) < 5_000:
        taken.append(timed(work)[0] * 1e3)
    return taken


def quantile(values, share):
    """The value at a share of the sorted values."""
    return sorted(values)[round((len(values) - 1) * share)]
