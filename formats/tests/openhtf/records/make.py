"""Writes the records beside it with the package openhtf 1.6.3 from PyPI: `python make.py`."""

import os
import time

import openhtf as htf
from openhtf.output.callbacks import json_factory
from openhtf.util import configuration, units
from openhtf.core import phase_branches

HERE = os.path.dirname(os.path.abspath(__file__))
CONF = configuration.CONF
CONF.load(station_id="bench-1", capture_source=False)


@htf.measures(
    htf.Measurement("vout").in_range(4.9, 5.1).with_units(units.VOLT).doc("Output of the rail."),
    htf.Measurement("ripple").in_range(maximum=0.02, marginal_maximum=0.015).with_units(units.VOLT),
    htf.Measurement("turns").equals(12),
    htf.Measurement("least").in_range(minimum=-1.5),
    htf.Measurement("gain").within_percent(-20.0, 10).with_units("dB"),
    htf.Measurement("offset").within_percent(100, 5, 2),
    htf.Measurement("version").equals("1.0"),
    htf.Measurement("enabled").equals(True),
    htf.Measurement("serial").matches_regex(r"^SN\d+$"),
    htf.Measurement("free"),
    htf.Measurement("list"),
    htf.Measurement("both").in_range(0, 10).in_range(5, 20),
    htf.Measurement("two_sided").in_range(1, 9, marginal_minimum=2, marginal_maximum=8),
    htf.Measurement("tiny").in_range(1e-07, 2.5e-07),
    htf.Measurement("never").in_range(0, 1),
)
def limits(test):
    values = test.measurements
    values.vout = 5.0
    values.ripple = 0.016
    values.turns = 12
    values.least = float("inf")
    values.gain = -21.5
    values.offset = 101
    values.version = "1.0"
    values.enabled = True
    values.serial = "SN7"
    values.free = None
    values.list = [1, 2.5, "three"]
    values.both = 7
    values.two_sided = 5
    values.tiny = 1.5e-07


@htf.measures(
    htf.Measurement("iv").with_dimensions(units.VOLT, "step").with_units(units.AMPERE),
    htf.Measurement("flags").with_dimensions(htf.Dimension(description="channel")),
    htf.Measurement("labels").with_dimensions("row"),
    htf.Measurement("spectrum").with_dimensions(units.HERTZ).with_validator(lambda rows: len(rows) == 3),
)
def curves(test):
    for at in range(4):
        test.measurements.iv[at * 0.5, at] = at * 0.001 if at != 2 else float("nan")
    test.measurements.flags[1] = True
    test.measurements.flags[2] = False
    test.measurements.labels["a"] = "low"
    test.measurements.labels["b"] = 3
    for at in range(3):
        test.measurements.spectrum[10 ** at] = at


def attached(test):
    test.attach("notes.txt", "all is well\n", "text/plain")
    test.attach("raw", bytes(range(256)), "application/octet-stream")


@htf.PhaseOptions(name="attached")
def attached_again(test):
    test.attach("notes.txt", "once more", "text/plain")


def skipped(test):
    return htf.PhaseResult.SKIP


@htf.PhaseOptions(repeat_limit=3)
def repeated(test):
    return htf.PhaseResult.REPEAT if test.state.setdefault("runs", 0) == 0 and not test.state.update(runs=1) else None


@htf.measures(htf.Measurement("current").in_range(0, 1).with_units(units.AMPERE))
def failing(test):
    test.measurements.current = 1.5


@htf.measures(htf.Measurement("unset").in_range(0, 1), htf.Measurement("part").with_dimensions("x"))
def raising(test):
    raise ValueError("the relay is stuck")


@htf.PhaseOptions(timeout_s=0.2)
def sleeping(test):
    for _ in range(300):
        time.sleep(0.01)


@htf.measures(
    htf.Measurement("ripple").in_range(maximum=0.02, marginal_maximum=0.015).with_units(units.VOLT),
)
def marginal(test):
    test.measurements.ripple = 0.016


@htf.measures(htf.Measurement("inner").in_range(0, 1))
def inside(test):
    test.measurements.inner = 0.5


@htf.measures(htf.Measurement("inner").in_range(0, 1))
def inside_failing(test):
    test.measurements.inner = 2
    return htf.PhaseResult.FAIL_SUBTEST


def stopping(test):
    return htf.PhaseResult.STOP


def run(name, *phases, **options):
    dut = options.pop("dut", "SN-1")
    options.setdefault("test_name", name)
    metadata = {"part_number": "PN-7", "operator_name": "ada", "lot": 42, "scale": 1.50, "wet": True}
    metadata.update(options.pop("metadata", {}))
    test = htf.Test(*phases, **{**options, **metadata})
    path = os.path.join(HERE, name + ".json")
    test.configure(**({"name": options["test_name"]} if "test_name" in options else {}))
    inline = not name.endswith("_bare")
    test.add_output_callbacks(json_factory.OutputToJSON(path, inline_attachments=inline, indent=1))
    try:
        test.execute(test_start=lambda: dut)
    except KeyboardInterrupt:
        pass


run("limits", limits)
run("curves", curves)
run("attachments", attached, attached_again)
run("attachments_bare", attached)
run("outcomes", skipped, repeated, failing, inside)
run("exception", raising)
run("timeout", sleeping)
run("stopped", inside, stopping)
run("marginal", htf.Subtest("supply", marginal))
run("subtests", inside,
    htf.Subtest("power", inside, inside_failing, inside),
    htf.Subtest("radio", inside),
    inside)
run("checkpoint", failing, phase_branches.PhaseFailureCheckpoint.all_previous("gate"), inside)
run("no_phases", metadata={"part_number": "PN-8"}, dut="größe/1")
