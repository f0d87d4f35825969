"""The plugin for pytest and the output of OpenHTF, with the real packages."""

from __future__ import annotations

import importlib
import math
import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest

import stationdb
from stationdb import openhtf as output

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"


def pytest_run(*arguments: object, cwd: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider"]
    if not _is_installed():
        command += ["-p", "stationdb.pytest_plugin"]
    command += [*map(str, arguments)]
    return subprocess.run(
        command,
        capture_output=True,
        encoding="utf-8",
        errors="backslashreplace",
        timeout=120,
        cwd=cwd,
        check=False,
    )


def _is_installed() -> bool:
    from importlib.metadata import entry_points

    return any(one.name == "stationdb" for one in entry_points(group="pytest11"))


def test_a_run_is_a_result(tmp_path: Path) -> None:
    store = tmp_path / "station"
    done = pytest_run(
        EXAMPLES / "bench_test.py",
        "--stationdb",
        store,
        "--stationdb-part",
        "156502A-11L",
        "--stationdb-serial",
        "SN-1",
        "--rootdir",
        EXAMPLES,
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    with stationdb.open(store, create=False) as db:
        result = db.results.query().one()
        assert result.serial_number == "SN-1" and result.part_number == "156502A-11L"
        assert result.status is not None and result.status.status_type == "PASSED"
        steps = db.steps.query("resultId == @0", result.id).all()
        assert sorted((one.name or "").rpartition("::")[2] for one in steps) == [
            "test_output",
            "test_ripple",
        ]
        parameters = [
            one
            for step in steps
            if step.data
            for one in step.data.parameters or []
        ]
        vout = next(one for one in parameters if one["name"] == "VOUT")
        assert (vout["lowLimit"], vout["highLimit"], vout["status"]) == ("4.95", "5.05", "Passed")
        assert len(db.tables.get("ripple")) == 100_000
        files = [db.files.read(one) for one in result.file_ids or []]
        assert any(one.startswith(b"<svg") for one in files)
        yields = db.results.yields(group_by=["PART_NUMBER"])
        assert yields.groups[0].first_pass_yield == 1.0
        product = db.products.query().one()
        assert len(db.specs.query(product_ids=[product.id]).all()) == 1


TESTS = """
    import os
    import pytest

    def test_good(measure):
        measure("a", 1.0, unit="V", low=0.5, high=1.5)

    def test_outside(measure):
        measure("a", 2.0, low=0.5, high=1.5)

    def test_fails():
        assert False, "mine"

    @pytest.fixture
    def broken():
        raise RuntimeError("setup")

    def test_errored(broken):
        pass

    def test_skipped():
        pytest.skip("not today")

    def test_without_store(station, result):
        assert (station is None) == (result is None)
"""
EXPECTED = {
    "test_good": "PASSED",
    "test_outside": "FAILED",
    "test_fails": "FAILED",
    "test_errored": "ERRORED",
    "test_skipped": "SKIPPED",
    "test_without_store": "PASSED",
}


@pytest.mark.parametrize("workers", [[], ["-n", "2"]], ids=["alone", "xdist"])
def test_outcomes_are_stored(tmp_path: Path, workers: list[str]) -> None:
    (tmp_path / "test_it.py").write_text(textwrap.dedent(TESTS))
    done = pytest_run("test_it.py", "--stationdb", "station", *workers, cwd=tmp_path)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "is not within 0.5 and 1.5" in done.stdout
    with stationdb.open(tmp_path / "station", create=False) as db:
        result = db.results.query().one()
        assert result.status is not None and result.status.status_type == "FAILED"
        steps = db.steps.query().all()
        found = {
            (one.name or "").rpartition("::")[2]: one.status.status_type if one.status else None
            for one in steps
        }
        assert found == EXPECTED
        failed = next(one for one in steps if (one.name or "").endswith("test_fails"))
        assert failed.data is not None and "mine" in (failed.data.text or "")


def test_a_worker_that_dies_leaves_its_test_errored(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(
        "import os\ndef test_dies():\n    os._exit(3)\ndef test_lives(measure):\n    measure('a', 1)\n"
    )
    done = pytest_run("test_it.py", "--stationdb", "station", "-n", "2", cwd=tmp_path)
    assert done.returncode != 0
    with stationdb.open(tmp_path / "station", create=False) as db:
        found = sorted(
            ((one.name or "").rpartition("::")[2], one.status.status_type if one.status else None)
            for one in db.steps.query()
        )
        assert found == [("test_dies", "ERRORED"), ("test_lives", "PASSED")]


def test_without_the_option_nothing_is_stored(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(
        "def test_it(measure, station, work_item, result):\n"
        "    measure('a', 1)\n"
        "    assert (station, work_item, result) == (None, None, None)\n"
    )
    done = pytest_run("test_it.py", cwd=tmp_path)
    assert done.returncode == 0, done.stdout
    assert sorted(os.listdir(tmp_path)) == ["test_it.py"] or "__pycache__" in os.listdir(tmp_path)


def record_of(
    store: stationdb.Store | None, path: Path, **options: Any
) -> tuple[output.Output | None, Path]:
    """Runs a test of OpenHTF into a store, and into a JSON file."""
    htf: Any = importlib.import_module("openhtf")
    json_factory: Any = importlib.import_module("openhtf.output.callbacks.json_factory")
    units: Any = importlib.import_module("openhtf.util.units")

    @htf.measures(htf.Measurement("vout").in_range(4.9, 5.1).with_units(units.VOLT))  # type: ignore[untyped-decorator,unused-ignore]
    @htf.measures(htf.Measurement("nan"))  # type: ignore[untyped-decorator,unused-ignore]
    def power(test: Any) -> None:
        test.measurements.vout = 5.02
        test.measurements.nan = float("nan")

    @htf.measures(htf.Measurement("curve").with_dimensions(units.HERTZ))  # type: ignore[untyped-decorator,unused-ignore]
    def curve(test: Any) -> None:
        for at in range(5):
            test.measurements.curve[at] = at * 2.5
        test.attach("bytes", bytes(range(256)))

    test = htf.Test(power, curve, test_name="Gain", operator_name="eve")
    file = path / "record.json"
    test.add_output_callbacks(json_factory.OutputToJSON(str(file)))
    out = None
    if store is not None:
        out = output.Output(store, **options)
        test.add_output_callbacks(out)
    test.execute(test_start=lambda: "SN-7")
    return out, file


def shape(db: stationdb.Store) -> Any:
    """What a store has of a record, without what differs between two stores."""
    volatile = {"id", "resultId", "workspace", "fileIds", "dataTableIds", "updatedAt", "createdAt"}

    def plain(value: Any) -> Any:
        if isinstance(value, dict):
            return {
                key: plain(one)
                for key, one in value.items()
                if key not in volatile
                and not key.endswith("Id")
                and not (key == "value" and "attachment." in str(value.get("name")))
            }
        if isinstance(value, list):
            return [plain(one) for one in value]
        return value

    tables = db.tables.get(db.call("query_tables", {})["tables"][0]["id"])
    files = sorted(db.files.read(one.id or "") for one in db.files.query())
    return (
        plain([one.to_dict() for one in db.results.query()]),
        plain([one.to_dict() for one in db.steps.query()]),
        tables.rows().to_pylist(),
        tables.columns,
        files,
    )


def test_callback_and_file_give_the_same(tmp_path: Path) -> None:
    with stationdb.open(tmp_path / "a", user="ada") as db:
        out, file = record_of(db, tmp_path)
        assert out is not None and out.last is not None
        assert (out.last.steps, len(out.last.tables), len(out.last.files)) == (3, 1, 2)
        called = shape(db)
        with pytest.raises(stationdb.errors.ConflictError):
            output.import_record(db, file)
    with stationdb.open(tmp_path / "b", user="ada") as db:
        imported = output.import_record(db, file)
        assert imported.measurements == 3
        assert shape(db) == called


def test_a_record_that_cannot_be_stored_waits(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    db = stationdb.open(tmp_path / "a")
    out, _ = record_of(None, tmp_path)
    closed = stationdb.open(tmp_path / "other")
    closed.close()
    out, _ = record_of(closed, tmp_path, spool=tmp_path / "spool")
    assert out is not None and out.last is None and len(out.waiting()) == 1
    assert "was not stored and waits in" in capsys.readouterr().err
    later = output.Output(db, spool=tmp_path / "spool")
    assert len(later.take_spool()) == 1 and later.waiting() == []
    assert db.results.query().one().serial_number == "SN-7"
    db.close()


def executed(store: stationdb.Store, spool: Path, serial: str, value: Any, **options: Any) -> Any:
    """Runs a test of OpenHTF with one measurement."""
    htf: Any = importlib.import_module("openhtf")

    @htf.measures(htf.Measurement("value"))  # type: ignore[untyped-decorator,unused-ignore]
    def phase(test: Any) -> None:
        test.measurements.value = value

    test = htf.Test(phase, test_name="Gain")
    out = output.Output(store, spool=spool, **options)
    test.add_output_callbacks(out)
    test.execute(test_start=lambda: serial)
    return out


def test_records_of_stations_that_share_a_spool_stay_apart(tmp_path: Path) -> None:
    spool = tmp_path / "spool"
    closed = stationdb.open(tmp_path / "other")
    session = closed.session("eve", workspace="line-2")
    made = output.Output(session, spool=spool)
    closed.close()
    executed(closed, spool, "SN-1", 1, part_number="P-1", workspace="line-1")
    executed(closed, spool, "SN-2", 2, part_number="P-2")
    assert made._workspace == "line-2"
    (spool / "0.json").write_text("[]")
    with stationdb.open(tmp_path / "a") as db:
        later = output.Output(db, part_number="P-3", workspace="line-3", spool=spool)
        assert len(later.waiting()) == 3 and len(later.take_spool()) == 2
        # What is no record of a spool waits on.
        assert [one.name for one in later.waiting()] == ["0.json"]
        found = {(one.serial_number, one.part_number, one.workspace) for one in db.results.query()}
        default = db.workspace
        assert found == {("SN-1", "P-1", "line-1"), ("SN-2", "P-2", default)}


class Odd:
    """A value that is none of JSON, nor of a text."""

    def __repr__(self) -> str:
        return "Odd \udc80"


def test_what_json_does_not_have_is_text(tmp_path: Path) -> None:
    values: list[Any] = [b"\x01\xff", {(1, 2): b"k"}, Odd(), "a\udc80", {"nan": float("nan")}]
    with stationdb.open(tmp_path / "a") as db:
        for at, value in enumerate(values):
            out = executed(db, tmp_path / "spool", f"SN-{at}", value)
            assert out.last is not None and out.waiting() == [], value
        assert db.results.query().count() == len(values)
        rows = db.results.measurements("value", columns=["text"]).to_pylist()
        assert "\x01\\xff" in {row["text"] for row in rows}


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit])
def test_an_interrupted_record_waits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: type[BaseException]
) -> None:
    with stationdb.open(tmp_path / "a") as db:
        out = output.Output(db, spool=tmp_path / "spool")

        def interrupt(*_: object, **__: object) -> None:
            raise error

        monkeypatch.setattr(output, "import_record", interrupt)
        record = importlib.import_module("openhtf.core.test_record").TestRecord
        with pytest.raises(error):
            out(record(dut_id="SN-1", station_id="line", start_time_millis=1))
        monkeypatch.undo()
        assert len(out.waiting()) == 1 and len(out.take_spool()) == 1
        assert db.results.query().one().serial_number == "SN-1"


def test_the_example_of_openhtf_runs(tmp_path: Path) -> None:
    command = [sys.executable, str(EXAMPLES / "openhtf_station.py"), str(tmp_path / "station")]
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=120, cwd=tmp_path, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "Gain SN-1" in done.stdout and "phase-1" in done.stdout or "power" in done.stdout


HARD = """
    import pytest

    @pytest.mark.xfail
    def test_expected(measure):
        measure("x", 3, high=2)

    @pytest.fixture
    def late(measure):
        yield
        measure("quiescent", 9, high=2)

    def test_late(late):
        pass

    def test_nan(measure):
        measure("n", float("nan"))

    def test_none(measure):
        measure("n", None, low=1, high=2)

    def test_text(measure):
        assert measure("serial", "SN-1").passed
        measure("reading", "OVLD", low=1)

    def test_swapped(measure):
        measure("n", 1, low=5, high=2)

    def test_first_of_two(measure):
        assert not measure("n", -1, low=0).passed

    def test_after_it(measure, attach):
        attach(b"data", name="trace.bin")
        measure("n", 1, low=0)
"""


def test_no_failed_measurement_passes(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(textwrap.dedent(HARD))
    done = pytest_run("test_it.py", "--stationdb", "station", cwd=tmp_path)
    assert done.returncode == 1 and "INTERNALERROR" not in done.stdout, done.stdout
    assert "n = -1 is below 0" in done.stdout and "the lower one is low" in done.stdout
    with stationdb.open(tmp_path / "station", create=False) as db:
        found = {
            (one.name or "").rpartition("::")[2]: one.status.status_type if one.status else None
            for one in db.steps.query()
        }
        assert found == {
            "test_expected": "SKIPPED",
            "test_late": "ERRORED",
            "test_nan": "FAILED",
            "test_none": "FAILED",
            "test_text": "FAILED",
            "test_swapped": "FAILED",
            "test_first_of_two": "FAILED",
            "test_after_it": "PASSED",
        }
        result = db.results.query().one()
        assert result.status is not None and result.status.status_type == "FAILED"
        assert [db.files.read(one) for one in result.file_ids or []] == [b"data"]


def test_one_bad_measurement_of_a_fixture_fails_the_result(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(
        "import pytest\n@pytest.mark.xfail(strict=False)\ndef test_it(measure):\n"
        "    measure('a', 1, low=2)\n"
    )
    done = pytest_run("test_it.py", "--stationdb", "station", cwd=tmp_path)
    assert done.returncode == 0 and "1 xfailed" in done.stdout, done.stdout
    with stationdb.open(tmp_path / "station", create=False) as db:
        step = db.steps.query().one()
        assert step.status is not None and step.status.status_type == "SKIPPED"
        parameters = step.data.parameters if step.data else []
        assert parameters is not None and parameters[0]["status"] == "Failed"


BAD = """
    import decimal
    import io

    def test_text_for_bytes(attach):
        attach(io.StringIO("text"), name="t.txt")

    def test_number_for_bytes(attach):
        attach(5)

    def test_long_number(measure):
        measure("i", 10**400)

    def test_serial_number(measure):
        measure("uid", 9007199254740993)

    def test_limit(measure):
        measure("i", 1.0, low=2**53 + 1)

    def test_decimal(measure, attach):
        assert measure("d", decimal.Decimal("5.01"), low=5, high=decimal.Decimal("5.1")).passed
        measure("n", 2**60)
        attach(bytearray(b"ab"), name="a.bin")
        attach(io.BytesIO(b"cd"), name="c.bin")
"""


@pytest.mark.parametrize("workers", [[], ["-n", "2"]], ids=["alone", "xdist"])
def test_what_cannot_be_stored_fails_its_test_alone(tmp_path: Path, workers: list[str]) -> None:
    (tmp_path / "test_it.py").write_text(textwrap.dedent(BAD))
    done = pytest_run("test_it.py", "--stationdb", "station", *workers, cwd=tmp_path)
    assert done.returncode == 1 and "INTERNALERROR" not in done.stdout, done.stdout
    assert "5 failed, 1 passed" in done.stdout and "give it as text" in done.stdout
    with stationdb.open(tmp_path / "station", create=False) as db:
        result = db.results.query().one()
        assert result.status is not None and result.status.status_type == "FAILED"
        found = {(one.name or "").rpartition("::")[2]: one for one in db.steps.query()}
        good = found.pop("test_decimal")
        assert all(one.status and one.status.status_type == "FAILED" for one in found.values())
        assert len(found) == 5 and good.data is not None
        told = [one["measurement"] for one in good.data.parameters or []]
        assert told == ["5.01", str(2**60)]
        assert sorted(db.files.read(one) for one in result.file_ids or []) == [b"ab", b"cd"]


def test_a_measurement_of_any_number_has_a_status() -> None:
    from stationdb.pytest_plugin import Measurement

    assert Measurement(name="i", value=10**400, high=1.0).status == "Failed"
    assert Measurement(name="i", value=-(10**400), high=1.0).status == "Passed"


#: What pytest-rerunfailures does: a failed attempt is reported as "rerun", without its teardown.
RERUN = """
    from _pytest.runner import runtestprotocol

    def pytest_runtest_protocol(item, nextitem):
        hooks, where = item.ihook, {"nodeid": item.nodeid, "location": item.location}
        hooks.pytest_runtest_logstart(**where)
        for attempt in range(3):
            for report in runtestprotocol(item, nextitem=nextitem, log=False):
                if report.failed and attempt < 2:
                    report.outcome = "rerun"
                hooks.pytest_runtest_logreport(report=report)
                if report.outcome == "rerun":
                    break
            else:
                break
            item._initrequest()
        hooks.pytest_runtest_logfinish(**where)
        return True
"""
FLAKY = """
    attempts = []

    def test_flaky(measure):
        attempts.append(1)
        measure("V", len(attempts), low=2)

    def test_never(measure):
        measure("V", 0, low=1)

    def test_other(measure):
        measure("V", 3, low=2)
"""


def test_an_attempt_that_is_repeated_is_no_step(tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text(textwrap.dedent(RERUN))
    (tmp_path / "test_it.py").write_text(textwrap.dedent(FLAKY))
    done = pytest_run("test_it.py", "--stationdb", "station", cwd=tmp_path)
    assert "INTERNALERROR" not in done.stdout and "1 failed, 2 passed" in done.stdout, done.stdout
    with stationdb.open(tmp_path / "station", create=False) as db:
        steps = {(one.name or "").rpartition("::")[2]: one for one in db.steps.query()}
        assert len(steps) == 3
        seen = {}
        for name, step in steps.items():
            assert step.status is not None and step.data is not None
            values = [one["measurement"] for one in step.data.parameters or []]
            seen[name] = (step.status.status_type, values)
        assert seen == {
            "test_flaky": ("PASSED", ["2"]),
            "test_never": ("FAILED", ["0"]),
            "test_other": ("PASSED", ["3"]),
        }
        flaky = steps["test_flaky"].data
        assert flaky is not None and "ended as rerun: V = 1 is below 2" in (flaky.text or "")


#: A plugin whose outcome of a report ends the run with an internal error.
BROKEN = """
    import pytest

    @pytest.hookimpl(trylast=True)
    def pytest_runtest_logreport(report):
        if report.when == "call" and "second" in report.nodeid:
            raise RuntimeError("broken plugin")

    def pytest_sessionfinish(session):
        run = session.config.pluginmanager.get_plugin("stationdb-run")
        # As a full disk would.
        run._store = lambda nodeid: (_ for _ in ()).throw(OSError("no space"))
"""


def test_a_result_ends_whatever_fails(tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text(textwrap.dedent(BROKEN))
    (tmp_path / "test_it.py").write_text("def test_first(): pass\ndef test_second(): pass\n")
    done = pytest_run("test_it.py", "--stationdb", "station", cwd=tmp_path)
    assert done.returncode != 0 and "broken plugin" in done.stdout, done.stdout
    with stationdb.open(tmp_path / "station", create=False) as db:
        result = db.results.query().one()
        assert result.status is not None and result.status.status_type == "ERRORED"


def test_where_nothing_runs_nothing_is_stored(tmp_path: Path) -> None:
    done = pytest_run("test_mistyped.py", "--stationdb", "station", cwd=tmp_path)
    assert done.returncode == 4 and not (tmp_path / "station").exists(), done.stdout


def states_of(store: Path) -> list[str]:
    """The statuses of the results and of the steps of a store."""
    with stationdb.open(store, create=False) as db:
        found = [*db.results.query(), *db.steps.query()]
        return [one.status.status_type for one in found if one.status]


ASKING = ["--setup-plan", "--setup-only", "--collect-only", "--fixtures", "--help", "--markers"]


@pytest.mark.parametrize("option", [*ASKING, "--cache-show"])
def test_a_command_that_runs_no_test_leaves_no_result(tmp_path: Path, option: str) -> None:
    (tmp_path / "test_it.py").write_text("def test_it(measure):\n    measure('a', 1)\n")
    arguments = ["test_it.py", "--stationdb", "station", option]
    if option == "--cache-show":
        arguments += ["-p", "cacheprovider"]
    done = pytest_run(*arguments, cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    # Not even a store, which another process may have open.
    assert not (tmp_path / "station").exists()


@pytest.mark.parametrize("workers", [[], ["-n", "2"]], ids=["alone", "xdist"])
def test_a_run_of_skipped_tests_is_skipped(tmp_path: Path, workers: list[str]) -> None:
    (tmp_path / "test_it.py").write_text(
        "import pytest\n@pytest.mark.skip\ndef test_a(): pass\ndef test_b(): pytest.skip('no')\n"
    )
    assert pytest_run("test_it.py", "--stationdb", "station", *workers, cwd=tmp_path).returncode == 0
    assert states_of(tmp_path / "station") == ["SKIPPED"] * 3
    (tmp_path / "test_it.py").write_text(
        "import pytest\n@pytest.mark.skip\ndef test_a(): pass\ndef test_b(): pass\n"
    )
    assert pytest_run("test_it.py", "--stationdb", "other", *workers, cwd=tmp_path).returncode == 0
    assert sorted(states_of(tmp_path / "other")) == ["PASSED", "PASSED", "SKIPPED"]


STRICT = """
    import pytest

    @pytest.mark.xfail(strict=True)
    def test_strict(measure):
        measure("V", 3, high=2)

    @pytest.mark.xfail(strict=True)
    def test_passes(measure):
        measure("V", 1, high=2)

    @pytest.mark.xfail(raises=ZeroDivisionError)
    def test_other_reason(measure):
        measure("V", 3, high=2)
"""


def test_a_failed_measurement_is_a_failure_as_any_other(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(textwrap.dedent(STRICT))
    done = pytest_run("test_it.py", "--stationdb", "station", cwd=tmp_path)
    assert "2 failed, 1 xfailed" in done.stdout, done.stdout
    with stationdb.open(tmp_path / "station", create=False) as db:
        found = {
            (one.name or "").rpartition("::")[2]: one.status.status_type if one.status else None
            for one in db.steps.query()
        }
    expected = {"test_strict": "SKIPPED", "test_passes": "FAILED", "test_other_reason": "FAILED"}
    assert found == expected


UNFIT = r"""
    import decimal

    class Unit:
        def __repr__(self):
            return "<Unit('volt')>"

    def test_unit(measure):
        measure("V", 1, unit=Unit())

    def test_name(measure):
        measure(7, 1)

    def test_surrogate(measure):
        measure("V", "\udc80")

    def test_file(attach):
        attach(b"x", name="\udc80.bin")

    def test_error():
        raise ValueError("read b\udc80")

    def test_too_many(measure):
        for at in range(3_000):
            measure(f"a measurement with a name that is rather long {at:2000}", at)

    def test_good(measure):
        measure("V", 1, unit="V")
"""


@pytest.mark.parametrize("workers", [[], ["-n", "2"]], ids=["alone", "xdist"])
def test_no_report_ends_the_session(tmp_path: Path, workers: list[str]) -> None:
    (tmp_path / "test_it.py").write_text(textwrap.dedent(UNFIT))
    # pytest-xdist itself ends at a report with a lone surrogate.
    chosen = ["-k", "not test_error"] if workers else []
    failed = 4 if workers else 5
    arguments = ["test_it.py", "--stationdb", "station", *workers, *chosen]
    done = pytest_run(*arguments, cwd=tmp_path)
    assert done.returncode == 1 and "INTERNALERROR" not in done.stdout, done.stdout
    assert f"{failed} failed, 2 passed" in done.stdout, done.stdout
    assert "<Unit('volt')>; give a text" in done.stdout
    with stationdb.open(tmp_path / "station", create=False) as db:
        steps = {(one.name or "").rpartition("::")[2]: one for one in db.steps.query()}
        found = {name: one.status.status_type if one.status else "" for name, one in steps.items()}
        # What the store refuses is told by the step itself.
        assert found.pop("test_too_many") == "ERRORED" and found.pop("test_good") == "PASSED"
        assert set(found.values()) == {"FAILED"} and len(found) == failed
        if not workers:
            data = steps["test_error"].data
            assert data is not None and "read b\\udc80" in (data.text or "")
        data = steps["test_too_many"].data
        assert data is not None and "was not stored as it was" in (data.text or "")


@pytest.mark.parametrize("workers", [[], ["-n", "2"]], ids=["alone", "xdist"])
@pytest.mark.parametrize("store", [[], ["--stationdb", "station"]], ids=["bare", "stored"])
def test_attachments_stay_out_of_reports(
    tmp_path: Path, workers: list[str], store: list[str]
) -> None:
    (tmp_path / "conftest.py").write_text(
        "import pytest\n"
        "@pytest.hookimpl(trylast=True)\n"
        "def pytest_sessionfinish(session):\n"
        "    terminal = session.config.pluginmanager.get_plugin('terminalreporter')\n"
        "    if terminal is not None and not hasattr(session.config, 'workerinput'):\n"
        "        reports = [one for all in terminal.stats.values() for one in all]\n"
        "        print('kept', [one.user_properties for one in reports if hasattr(one, 'user_properties')])\n"
        "        print('held', [str(item.stash._storage) for item in getattr(session, 'items', ())\n"
        "                       if '_Step' in str(item.stash._storage)])\n"
    )
    (tmp_path / "test_it.py").write_text(
        "def test_it(attach, measure, record_property):\n"
        "    attach(b'x' * 100_000, name='a.bin')\n    measure('V', 1)\n"
        "    record_property('mine', 5)\n"
    )
    arguments = [*store, *workers, "--junitxml=out.xml", "-s"]
    done = pytest_run("test_it.py", *arguments, cwd=tmp_path)
    assert done.returncode == 0, done.stdout
    text = (tmp_path / "out.xml").read_text()
    assert len(text) < 2_000 and 'name="mine" value="5"' in text
    (kept,) = (line for line in done.stdout.splitlines() if "kept [" in line)
    assert "mine" in kept and "stationdb" not in kept
    assert "held []" in done.stdout, done.stdout
    if store:
        with stationdb.open(tmp_path / "station", create=False) as db:
            assert [one.size for one in db.files.query()] == [100_000]
            assert [one["name"] for one in db.results.measurements().to_pylist()] == ["V"]


def test_a_file_that_is_no_test_is_no_failed_device(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text("import nothing_of_this_name\n")
    done = pytest_run("test_it.py", "--stationdb", "station", cwd=tmp_path)
    assert done.returncode == 2 and "nothing ran" in done.stdout, done.stdout
    with stationdb.open(tmp_path / "station", create=False) as db:
        assert db.results.query().all() == []


def test_limits_of_numpy_are_numbers(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(
        "import numpy as np\ndef test_it(measure):\n"
        "    measure('v', np.float32(1.5), low=np.float64(1), high=np.int64(2))\n"
        "def test_several(measure):\n    measure('v', np.arange(2))\n"
        "def test_text(measure):\n    measure('v', 1, low='1')\n"
        "def test_none(measure):\n    measure('v', 1, low=np.nan)\n"
        "def test_far(measure):\n    measure('far', -np.inf, high=np.inf)\n"
        "    measure('on', np.bool_(True)); measure('away', None)\n"
    )
    done = pytest_run("test_it.py", "--stationdb", "station", cwd=tmp_path)
    assert "give one number" in done.stdout and "is '1'; give a number" in done.stdout
    assert "a limit of v is nan; give a number" in done.stdout, done.stdout
    with stationdb.open(tmp_path / "station", create=False) as db:
        columns = ["value", "low_limit", "high_limit"]
        (row,) = db.results.measurements("v", columns=columns).to_pylist()
        assert row == {"value": 1.5, "low_limit": 1.0, "high_limit": 2.0}
        (row,) = db.results.measurements("far", columns=columns).to_pylist()
        assert row == {"value": -math.inf, "low_limit": None, "high_limit": math.inf}
        texts = db.results.measurements(columns=["name", "text"]).to_pylist()
        assert {one["name"]: one["text"] for one in texts} == {
            "v": "1.5",
            "far": "-Infinity",
            "on": "true",
            "away": "NaN",
        }
        assert (db.results.capability(name="v").high_limit, done.returncode) == (2.0, 1)


@pytest.mark.skipif(os.name == "nt", reason="it sends signals")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_a_run_that_is_ended_from_outside(tmp_path: Path, number: int) -> None:
    (tmp_path / "test_it.py").write_text(
        textwrap.dedent(
            f"""
            import os, signal
            def test_first(measure, attach):
                attach(b"data", name="a.bin")
                measure("a", 1)
            def test_ends(measure):
                measure("b", 2)
                signal.signal(signal.SIGINT, signal.default_int_handler)
                os.kill(os.getpid(), {int(number)})
                import time; time.sleep(30)
            """
        )
    )
    done = pytest_run("test_it.py", "--stationdb", "station", cwd=tmp_path)
    assert done.returncode != 0
    killed = number == signal.SIGKILL
    with stationdb.open(tmp_path / "station", create=False) as db:
        result = db.results.query().one()
        assert result.status is not None and len(result.file_ids or []) == 1
        assert result.status.status_type == ("RUNNING" if killed else "TERMINATED")
        found = {
            (one.name or "").rpartition("::")[2]: one.status.status_type if one.status else None
            for one in db.steps.query()
        }
        assert found == (
            {"test_first": "PASSED"}
            if killed
            else {"test_first": "PASSED", "test_ends": "TERMINATED"}
        )
        measured = [one["name"] for one in db.results.measurements().to_pylist()]
        assert sorted(measured) == (["a"] if killed else ["a", "b"])
    if killed:
        (tmp_path / "test_it.py").write_text("def test_good(): pass\n")
        assert pytest_run("test_it.py", "--stationdb", "station", cwd=tmp_path).returncode == 0
        with stationdb.open(tmp_path / "station", create=False) as db:
            states = [one.status.status_type for one in db.results.query() if one.status]
            assert sorted(states) == ["PASSED", "TERMINATED"]
