"""The files of formats/benches/tdms.rs in npTDMS, into Arrow tables.

Run `cargo bench -p stationdb-formats --bench tdms` first, with the same BENCH_DATA and BENCH_ROWS, and
this program after it while nothing else runs: `python benches/peers/tdms.py`. It prints one JSON line
for each figure.
"""

import os
import time

import pyarrow as pa
import pyarrow.compute as pc
from common import DATA, REPS, emit
from nptdms import TdmsFile

ROWS = int(os.environ.get("BENCH_ROWS", "20000000"))
WHOLE = sum(row for row in range(1000)) * (ROWS // 1000)
SQUARES = sum(row**2 for row in range(1000)) * (ROWS // 1000)
SUMS = {
    "contiguous": 5 * WHOLE + ROWS * (0 + 1 + 2 + 3) / 8,
    "daqmx": 4 * (8 * ROWS + WHOLE / 4 + SQUARES / 1024),
}


def read(path):
    file = TdmsFile.read(path)
    channels = file["run"].channels()
    return pa.table({channel.name: channel[:] for channel in channels})


for form in ("contiguous", "interleaved", "small", "daqmx"):
    path = DATA / f"tdms-{form}-{ROWS}.tdms"
    length = path.stat().st_size
    table = read(path)
    assert table.num_rows == ROWS
    found = sum(pc.sum(column).as_py() for column in table.columns)
    assert found == SUMS.get(form, SUMS["contiguous"]), (form, found)
    del table
    rates = []
    for _ in range(REPS):
        began = time.perf_counter()
        read(path)
        rates.append(length / (time.perf_counter() - began) / 1e6)
    emit("TDMS", "npTDMS", f"batches_{form}", rates, "MB/s", "into one Arrow table")
