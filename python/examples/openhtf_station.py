"""A station of OpenHTF whose records go into a store.

    python examples/openhtf_station.py station

Needs the package `openhtf`. Runs one test of one device, and prints what is stored of it.
"""

from __future__ import annotations

import sys
from typing import Any

import openhtf as htf  # type: ignore[import-untyped,unused-ignore]
from openhtf.util import units  # type: ignore[import-untyped,unused-ignore]

import stationdb
from stationdb.openhtf import Output


@htf.measures(htf.Measurement("vout").in_range(4.9, 5.1).with_units(units.VOLT))  # type: ignore[untyped-decorator,unused-ignore]
def power(test: Any) -> None:
    """The output voltage."""
    test.measurements.vout = 5.02


@htf.measures(htf.Measurement("response").with_dimensions(units.HERTZ).with_units(units.DECIBEL))  # type: ignore[untyped-decorator,unused-ignore]
def response(test: Any) -> None:
    """The gain over the frequency: a measurement with a dimension."""
    for frequency in range(100, 1100, 100):
        test.measurements.response[frequency] = 20 - frequency / 500
    test.attach("notes", b"warm", mimetype="text/plain")


def main(directory: str) -> None:
    """Runs the test, and prints its result."""
    with stationdb.open(directory) as store:
        output = Output(store, part_number="156502A-11L")
        test = htf.Test(power, response, test_name="Gain")
        test.add_output_callbacks(output)
        test.execute(test_start=lambda: "SN-1")
        if output.last is None:
            raise SystemExit(f"the record waits in {output.spool}")
        result = store.results.get(output.last.result_id)
        print(result.program_name, result.serial_number, result.status)
        for step in store.steps.query("resultId == @0", result.id):
            print(step.name, step.status)
        table = store.tables.get(output.last.tables[0])
        print(table.rows().to_pylist()[:2])


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "station")
