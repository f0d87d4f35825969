"""The records of formats/benches/stdf_lot.rs in pystdf, over the file that it left.

Run `cargo bench -p stationdb-formats --bench stdf_lot` first, with the same BENCH_DATA, and this program
after it while nothing else runs: `python benches/peers/stdf.py`. It prints one JSON line.
"""

import json
import os
import statistics
import time
from pathlib import Path

from pystdf.IO import Parser

PATH = Path(os.environ["BENCH_DATA"]) / "lot-5000.stdf"
REPS = int(os.environ.get("BENCH_REPS", "3"))


class Sink:
    def __init__(self):
        self.records = 0

    def before_send(self, source, record):
        self.records += 1

    def before_begin(self, source):
        pass

    def before_complete(self, source):
        pass

    def before_cancel(self, source, exception):
        raise exception


def read():
    sink = Sink()
    with open(PATH, "rb") as data:
        parser = Parser(inp=data, reopen_fn=lambda: open(PATH, "rb"))
        parser.addSink(sink)
        parser.parse()
    return sink.records


rates = []
for _ in range(REPS):
    began = time.perf_counter()
    records = read()
    rates.append(records / (time.perf_counter() - began) / 1e6)
load = float(open("/proc/loadavg").read().split()[0])
print(json.dumps({
    "workload": "STDF", "peer": "pystdf", "metric": "records",
    "value": round(statistics.median(rates), 6), "unit": "Mrecords/s", "note": "nothing stored",
    "n": len(rates), "min": round(min(rates), 6), "max": round(max(rates), 6), "load1": load,
}), flush=True)
