"""Runs of tests, step by step, and what is left of one whose process was killed."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import numpy as np
import pydantic
import pytest

import stationdb
from stationdb import errors, records


def status(record: Any) -> str:
    return str(record.status.status_type)


def test_a_run_is_a_result(db: stationdb.Store) -> None:
    product = db.products.create(part_number="P-1")
    db.specs.create(
        product_id=product.id, spec_id="VOUT", type="PARAMETRIC", unit="V", limit={"min": 4, "max": 6}
    )
    file = db.files.upload(b"log", name="log.txt")
    with db.results.begin(
        "P-1", "SN-1", "Final", host_name="bench", keywords=["k"], properties={"lot": "7"}
    ) as run:
        assert status(run.result()) == "RUNNING"
        with run.step("Power", "Numeric") as step:
            step.measure("VOUT", 5, "V", spec="VOUT").measure("IOUT", 0.5, "A", high=1)
            step.input("load", 3).output("seen", [1, 2]).text("fine").keyword("a", "b")
            step.property("slot", "2").file("log", file.id or "")
        with run.sequence("RF") as sequence:
            with sequence.step("Gain") as gain:
                gain.measure("gain", 9.0, "dB", low=10)
            with sequence.sequence("Inner") as inner:
                inner.step("Serial").measure("serial", "SN-1", equals="SN-1").finish()
        skipped = run.step("Optional").status("SKIPPED").finish()
    assert step.stored is not None and status(step.stored) == "PASSED"
    assert gain.stored is not None and status(gain.stored) == "FAILED"
    assert status(skipped) == "SKIPPED"
    result = run.result()
    assert status(result) == "FAILED" and result.file_ids == [file.id]
    assert (result.operator, result.host_name, result.properties or {})[:2] == ("ada", "bench")
    assert (result.properties or {})["lot"] == "7"
    steps = {one.name: one for one in db.steps.query("resultId == @0", run.id)}
    assert {name: status(one) for name, one in steps.items()} == {
        "Power": "PASSED",
        "RF": "FAILED",
        "Gain": "FAILED",
        "Inner": "PASSED",
        "Serial": "PASSED",
        "Optional": "SKIPPED",
    }
    assert steps["Gain"].parent_id == steps["RF"].step_id
    power = steps["Power"]
    assert power.data is not None and power.data.parameters is not None
    assert power.data.parameters[0]["specId"] == "VOUT"
    assert power.inputs is not None and power.inputs[0].name == "load"
    assert db.results.unfinished_runs() == []
    with pytest.raises(errors.ClosedError):
        run.step("late").finish()


def test_what_raises_in_a_run(db: stationdb.Store) -> None:
    run = db.results.begin("P-1", "SN-1", "Final")
    with pytest.raises(ZeroDivisionError), run, run.step("Power"):
        raise ZeroDivisionError("no load")
    step = db.steps.query().one()
    assert status(step) == "ERRORED" and step.data is not None
    assert step.data.text == "ZeroDivisionError: no load"
    assert status(run.result()) == "ERRORED"
    run = db.results.begin("P-1", "SN-2", "Final")
    with pytest.raises(KeyboardInterrupt), run:
        raise KeyboardInterrupt
    assert status(run.result()) == "TERMINATED"


@pytest.mark.parametrize("value", [None, float("nan")])
def test_a_measurement_without_a_value(db: stationdb.Store, value: float | None) -> None:
    with db.results.begin("P-1", "SN-1", "Final") as run:
        step = run.step("Power").measure("v", value, "V", low=1).finish()
    assert status(step) == "ERRORED" and status(run.result()) == "ERRORED"


def test_steps_that_are_refused_leave_nothing(db: stationdb.Store) -> None:
    with db.results.begin("P-1", "SN-1", "Final") as run:
        step = run.step("Power").measure("v", 1.0, low=3, high=2)
        with pytest.raises(errors.InvalidArgumentError):
            step.finish()
        with pytest.raises(errors.InvalidArgumentError, match="several"):
            run.step("Power").measure("v", 1.0, low=3, equals=2)
        with pytest.raises(errors.InvalidArgumentError, match="number"):
            run.step("Power").measure("v", 1.0, low="3")  # type: ignore[arg-type]
        with pytest.raises(errors.NotFoundError):
            run.step("Power").measure("v", 1.0, spec="none").finish()
        assert db.steps.query().all() == []
        with db.transaction() as tx:
            with pytest.raises(errors.ConflictError):
                run.step("Power").finish()
            with pytest.raises(errors.UnsupportedError):
                tx.results.begin("P", "S", "T")
        db.compact()
        assert status(run.step("Power").finish()) == "DONE"
    db.close()
    with pytest.raises(errors.ClosedError):
        run.result()


def test_a_killed_run_is_carried_on(tmp_path: Path) -> None:
    code = f"""
        import os, stationdb
        db = stationdb.open({str(tmp_path / "station")!r}, user="ada")
        run = db.results.begin("P-1", "SN-1", "Final")
        run.step("First").measure("a", 1.0, low=0).finish()
        sequence = run.sequence("RF")
        sequence.step("Second").finish()
        os._exit(9)
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], timeout=60, check=False)
    assert done.returncode == 9
    with stationdb.open(tmp_path / "station", user="ada") as db:
        left = db.results.unfinished_runs()
        assert [one.serial_number for one in left] == ["SN-1"]
        run = db.results.resume(left[0].id or "")
        (sequence,) = run.open_sequences()
        sequence.step("Third").measure("a", 1.0, low=0).finish()
        assert status(sequence.finish()) == "PASSED"
        assert status(run.finish()) == "PASSED"
        names = [one.name for one in db.steps.query("resultId == @0", run.id)]
        assert names == ["First", "RF", "Second", "Third"]
        with pytest.raises(errors.ConflictError):
            db.results.resume(run.id)
        with pytest.raises(errors.NotFoundError):
            db.results.resume("00000000-0000-4000-8000-000000000000")


def test_whole_results(db: stationdb.Store) -> None:
    class Step(pydantic.BaseModel):
        name: str
        status: dict[str, str]

    class Whole(pydantic.BaseModel):
        programName: str
        status: dict[str, str]
        steps: list[Step]

    passed = {"statusType": "PASSED"}
    inner = {"name": "Inner", "status": passed, "children": [{"name": "Innermost", "status": passed}]}
    done = db.results.append_many(
        [
            {"programName": "a dict", "status": passed, "steps": [inner]},
            Whole(programName="a model", status=passed, steps=[Step(name="S", status=passed)]),
            (
                records.CreateResultRequest(
                    program_name="a pair", status=records.Status(status_type="FAILED")
                ),
                (
                    records.CreateStepRequest(
                        name=name, status=records.Status(status_type="FAILED")
                    )
                    for name in "AB"
                ),
            ),
            records.CreateResultRequest(
                program_name="alone", status=records.Status(status_type="DONE")
            ),
        ]
    )
    assert [one.program_name for one in done.require_all()] == ["a dict", "a model", "a pair", "alone"]
    counts = [db.steps.query("resultId == @0", one.id).count() for one in done]
    assert counts == [2, 1, 2, 0]

    # What is refused does not stop the others, and comes with none of its steps.
    mixed = db.results.append_many(
        [
            {"programName": "good", "status": passed, "steps": [inner]},
            {"programName": "bad", "status": passed, "steps": [inner, {"status": passed}]},
        ]
    )
    assert [one.program_name for one in mixed] == ["good"]
    assert [one["programName"] for one in mixed.failed] == ["bad"]
    assert "steps[1]" in str(mixed.errors[0])
    assert db.steps.query().count() == 7
    wrongs: list[Any] = [5, {"programName": "P", "steps": "S"}, ("P",), ({}, 5), ({}, [5])]
    for wrong in wrongs:
        with pytest.raises(errors.InvalidArgumentError):
            db.results.append_many([wrong])
    assert db.results.query().count() == 5


def test_whole_results_are_few_commits(
    db: stationdb.Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    passed = {"statusType": "PASSED"}
    whole = {"programName": "P", "status": passed, "steps": [{"name": "S", "status": passed}] * 4}
    before = db.position()
    assert len(db.results.append_many(whole for _ in range(2_500))) == 2_500
    changes = {one.sequence for one in db.changes(since=before)}
    assert len(changes) == 3
    # The steps below others count too.
    children = {"name": "S", "status": passed, "children": [{"name": "T", "status": passed}] * 9}
    deep = {"programName": "deep", "status": passed, "steps": [children]}
    monkeypatch.setattr("stationdb._runs._BATCH_STEPS", 20)
    before = db.position()
    db.results.append_many([deep] * 5).require_all()
    assert len({one.sequence for one in db.changes(since=before)}) == 3
    with db.transaction() as tx:
        tx.results.append_many([whole])
        assert db.results.query().count() == 2_505
    assert db.results.query().count() == 2_506


def test_a_value_that_is_missing_is_errored(db: stationdb.Store) -> None:
    with db.results.begin("P-1", "SN-1", "Final") as run:
        for equals in ("SN-1", True, 5):
            step = run.step("Serial").measure("serial", None, equals=equals).finish()
            assert status(step) == "ERRORED"
            assert step.data is not None and step.data.parameters is not None
            (parameter,) = step.data.parameters
            assert (parameter["status"], parameter["comparisonType"]) == ("Errored", "EQ")
    assert status(run.result()) == "ERRORED"


def test_numbers_of_numpy_are_numbers(db: stationdb.Store) -> None:
    with db.results.begin("P-1", "SN-1", "Final") as run:
        step = run.step("Power")
        low: Any = np.int64(1)
        high: Any = np.float32(2)
        step.measure("volts", np.float32(1.5), low=low, high=high)  # type: ignore[arg-type]
        step.measure("count", np.uint8(7), equals=np.int16(7))  # type: ignore[arg-type]
        for value, limit in ((np.array([1.0, 2.0]), 0), (1.0, np.array([1.0, 2.0]))):
            with pytest.raises(errors.InvalidArgumentError, match="'many'.*give one number"):
                step.measure("many", value, low=limit)  # type: ignore[arg-type]
        stored = step.finish()
    assert stored.data is not None and stored.data.parameters is not None
    volts, count = stored.data.parameters
    assert (volts["measurement"], volts["lowLimit"], volts["highLimit"]) == ("1.5", "1", "2")
    assert (count["measurement"], count["lowLimit"], count["status"]) == ("7", "7", "Passed")


@pytest.mark.parametrize(
    "number",
    [2**53 + 1, -(2**53) - 1, 10**17 + 1, 10**400, 10**5000],
    ids=["2^53", "negative", "10^17", "10^400", "10^5000"],
)
def test_whole_numbers_are_kept_or_refused(db: stationdb.Store, number: int) -> None:
    step = db.results.begin("P-1", "SN-1", "Final").step("ids")
    for wrong in (
        {"value": number},
        {"value": 1, "equals": number},
        {"value": 1, "low": number},
        {"value": 1, "high": number},
    ):
        with pytest.raises(errors.InvalidArgumentError, match="give it as text"):
            step.measure("uid", **wrong)  # type: ignore[arg-type]
    for value in (number, np.int64(2**53 + 1), float("nan"), float("inf")):
        with pytest.raises(errors.InvalidArgumentError, match="'load'"):
            step.condition("load", value)  # type: ignore[arg-type]
    stored = step.measure("near", 2**53, equals=2**53).measure("id", "9007199254740993").finish()
    assert status(stored) == "PASSED" and stored.data is not None
    found = [one["measurement"] for one in stored.data.parameters or []]
    assert len(found) == 2 and float(found[0]) == 2**53 and found[1] == "9007199254740993"


def test_a_status_is_its_type(db: stationdb.Store) -> None:
    result = db.results.create(program_name="x", status="RUNNING")
    assert status(result) == "RUNNING"
    step = db.steps.create(result_id=result.id, step_id="s", name="s", status="FAILED")
    assert status(step) == "FAILED"
    assert status(db.steps.update("s", status="PASSED")) == "PASSED"
    assert status(db.results.update(result.id or "", status="PASSED")) == "PASSED"
    made = db.results.create_many([{"programName": "y", "status": "DONE"}]).require_all()
    assert status(made[0]) == "DONE"
    whole = ({"programName": "z", "status": "PASSED"}, [{"name": "s", "status": "SKIPPED"}])
    done = db.results.append_many([whole]).require_all()
    assert status(db.steps.query("resultId == @0", done[0].id).one()) == "SKIPPED"


def test_a_result_with_steps_is_whole_or_refused(db: stationdb.Store) -> None:
    whole = {"programName": "P", "status": {"statusType": "PASSED"}, "steps": [{"name": "Power"}]}
    with pytest.raises(errors.InvalidArgumentError, match="append_many"):
        db.results.create(whole)
    with pytest.raises(errors.InvalidArgumentError, match="append_many"):
        db.results.create_many([whole])
    assert db.results.create({**whole, "steps": []}).id
    assert len(db.results.append_many([whole])) == 1
    assert (db.results.query().count(), db.steps.query().count()) == (2, 1)


def test_one_column_of_measurements_is_a_name(db: stationdb.Store) -> None:
    with db.results.begin("P-1", "SN-1", "Final") as run:
        run.step("Power").measure("volts", 1.5).finish()
    assert db.results.measurements("volts", columns="value").to_pylist() == [{"value": 1.5}]


def test_what_ended_a_step_is_its_text(db: stationdb.Store) -> None:
    interrupt = KeyboardInterrupt()
    for error, told in ((interrupt, "KeyboardInterrupt"), (OSError("bus"), "OSError: bus")):
        step = db.results.begin("P-1", "SN-1", "Final").step("Power")
        with pytest.raises(type(error)), step:
            raise error
        assert step.stored is not None and step.stored.data is not None
        assert step.stored.data.text == told


def test_steps_nest_in_100_levels(db: stationdb.Store) -> None:
    passed = {"statusType": "PASSED"}

    def nested(levels: int) -> dict[str, Any]:
        step: dict[str, Any] = {"name": "deepest", "status": passed}
        for level in range(levels - 1, 0, -1):
            step = {"name": f"level {level}", "status": passed, "children": [step]}
        return step

    whole = {"programName": "deep", "status": passed, "steps": [nested(100)]}
    (result,) = db.results.append_many([whole]).require_all()
    deepest = [one for one in db.steps.query("resultId == @0", result.id) if one.name == "deepest"]
    assert [len(one.path_ids or []) for one in deepest] == [100]
    answer = db.call("create_steps", {"steps": [{"resultId": result.id, **nested(100)}]})
    assert len(answer["steps"]) == 100
    too_deep = {"steps": [{"resultId": result.id, **nested(103)}]}
    with pytest.raises(errors.LimitExceededError, match="children"):
        db.call("create_steps", too_deep)


class Unsayable(Exception):
    """An exception that has no text."""

    def __str__(self) -> str:
        raise RuntimeError("no text")


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (ValueError("read b\udc80"), "ValueError: read b\\udc80"),
        (Unsayable(), "Unsayable: it has no text, because its __str__ fails"),
    ],
)
def test_any_exception_leaves_its_step(
    db: stationdb.Store, error: Exception, text: str
) -> None:
    run = db.results.begin("P-1", "SN-1", "Final")
    with pytest.raises(type(error)), run.step("Power"):
        raise error
    step = db.steps.query().one()
    assert step.status is not None and step.status.status_type == "ERRORED"
    assert step.data is not None and step.data.text == text
