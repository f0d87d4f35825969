"""A plugin for pytest: a run of tests is a result in a store, each test a step.

    pytest --stationdb /data/station

Without the option nothing is stored, and the fixtures work all the same, so that a bench without a
store runs the same tests. Fixtures:

- `measure(name, value, unit=…, low=…, high=…)` records a measurement of the test, and fails the test
  at its end if the value is not within its limits, or there is none (None, NaN).
- `attach(source, name=…)` stores a file with the result: a path, bytes, or an object with `read`.
- `station` is the open store, `work_item` its work item, `result` the id of the result; None without
  the option, and in the workers of pytest-xdist.

With pytest-xdist the measurements travel in the reports of the workers: the controlling process
alone opens the store. A worker that dies leaves its test ERRORED.

The program of a result is the name of the root directory, unless `--stationdb-program` says
otherwise. A run that was killed keeps the steps that had ended; the next run ends its result as
TERMINATED.
"""

from __future__ import annotations

import base64
import datetime
import math
import os
import platform
from collections.abc import Callable, Generator
from dataclasses import dataclass, field
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest

from ._record import exact, scalar
from ._session import Services
from ._store import Store
from ._store import open as open_store
from .errors import Error, InvalidArgumentError

if TYPE_CHECKING:
    from .records import WorkItem

__all__ = ["Attach", "Measure", "Measurement"]

_KEY = "stationdb"
#: What marks the results of this plugin.
_KEYWORD = "pytest"
#: From the mildest to the gravest.
_GRAVITY = ("PASSED", "SKIPPED", "FAILED", "ERRORED", "TERMINATED")
#: How pytest exits after an error of a plugin.
_INTERNAL_ERROR = 3
_STATUS = {"passed": "PASSED", "failed": "FAILED", "skipped": "SKIPPED"}


@dataclass(slots=True, kw_only=True)
class Measurement:
    """A measured value with its limits."""

    #: Name of the measurement.
    name: str
    #: The value; None if there is none.
    value: float | int | str | bool | None
    #: Unit of the value.
    unit: str | None = None
    #: The least value that passes.
    low: float | None = None
    #: The greatest value that passes.
    high: float | None = None

    @property
    def status(self) -> str:
        """"Passed" or "Failed" by the limits; "Errored" without a value: None, or NaN."""
        number = self._number()
        if self.value is None or number is not None and math.isnan(number):
            return "Errored"
        if self.low is None and self.high is None:
            return "Passed"
        if number is None:
            return "Errored"
        is_inside = (self.low is None or number >= self.low) and (
            self.high is None or number <= self.high
        )
        return "Passed" if is_inside else "Failed"

    @property
    def passed(self) -> bool:
        """Whether there is a value, and it is within its limits."""
        return self.status == "Passed"

    def _number(self) -> float | None:
        if not isinstance(self.value, int | float):
            return None
        try:
            return float(self.value)
        except OverflowError:
            return math.inf if self.value > 0 else -math.inf

    def told(self) -> str:
        """What is wrong with it."""
        value = f"{self.name} = {self.value}{f' {self.unit}' if self.unit else ''}"
        number = self._number()
        if self.value is None or number is not None and math.isnan(number):
            return f"{value}: there is no value"
        if number is None:
            return f"{value} is no number, and has limits"
        if self.low is not None and self.high is not None:
            return f"{value} is not within {self.low} and {self.high}"
        if self.low is not None:
            return f"{value} is below {self.low}"
        return f"{value} is above {self.high}"

    def parameter(self) -> dict[str, str]:
        """The measurement as a parameter of a step."""
        kinds = {(True, True): "GELE", (True, False): "GE", (False, True): "LE"}
        found: dict[str, str | None] = {
            "name": self.name,
            "measurement": _text(math.nan if self.value is None else self.value),
            "units": self.unit,
            "lowLimit": None if self.low is None else _text(self.low),
            "highLimit": None if self.high is None else _text(self.high),
            "comparisonType": kinds.get((self.low is not None, self.high is not None), "LOG"),
            "status": self.status,
        }
        return {key: value for key, value in found.items() if value is not None}


def _text(value: float | int | str | bool) -> str:
    """A value in the form that the store reads as a number, where it is one."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    return str(value)


Measure = Callable[..., Measurement]
Attach = Callable[..., None]


@dataclass(slots=True)
class _Step:
    measurements: list[Measurement] = field(default_factory=list)
    #: How many of them the test was failed for, or not.
    judged: int = 0
    files: list[tuple[str, bytes]] = field(default_factory=list)

    def to_dict(self) -> dict[str, Any]:
        """What travels in a report."""
        return {
            "parameters": [one.parameter() for one in self.measurements],
            "files": [(name, base64.b64encode(data).decode()) for name, data in self.files],
        }


def pytest_addoption(parser: pytest.Parser) -> None:
    """Adds the options of the plugin."""
    group = parser.getgroup("stationdb", "results in a stationdb store")
    group.addoption("--stationdb", metavar="DIR", help="the store that gets the run as a result")
    group.addoption("--stationdb-part", metavar="NUMBER", help="part number of the device")
    group.addoption("--stationdb-serial", metavar="NUMBER", help="serial number of the device")
    group.addoption("--stationdb-operator", metavar="NAME", help="who runs the tests")
    group.addoption("--stationdb-program", metavar="NAME", help="name of the test program")


def pytest_configure(config: pytest.Config) -> None:
    """Opens the store, in the controlling process."""
    path = config.getoption("--stationdb")
    is_worker = hasattr(config, "workerinput")
    if path and not is_worker and not config.option.collectonly:
        config.pluginmanager.register(_Run(config, path), "stationdb-run")


def _run_of(config: pytest.Config) -> _Run | None:
    found = config.pluginmanager.get_plugin("stationdb-run")
    return found if isinstance(found, _Run) else None


class _Run:
    """The result of a run, and its steps."""

    def __init__(self, config: pytest.Config, path: str) -> None:
        self._option = config.getoption
        operator = self._option("--stationdb-operator")
        try:
            self.store: Store = open_store(path, user=operator)
        except Error as error:
            raise pytest.UsageError(f"--stationdb {path}: {error}") from error
        program = self._option("--stationdb-program") or os.path.basename(config.rootpath) or "pytest"
        now = datetime.datetime.now(datetime.UTC)
        self._end_killed()
        made = self.store.results.create(
            program_name=program,
            part_number=self._option("--stationdb-part"),
            serial_number=self._option("--stationdb-serial"),
            operator=self.store.user,
            host_name=platform.node(),
            started_at=now,
            keywords=[_KEYWORD],
            status={"statusType": "RUNNING"},
        )
        self.result = made.id or ""
        self._began = now
        self._done: dict[str, dict[str, Any]] = {}
        self._running: dict[str, str] = {}
        self._gravest = "PASSED"
        self._count = 0
        self._test: pytest.Item | None = None
        self._item: WorkItem | None = None

    def _end_killed(self) -> None:
        # A store is open once, so whoever runs in it was killed.
        running = 'status.statusType == "RUNNING" && keywords.Contains(@0)'
        for one in self.store.results.query(running, _KEYWORD).all():
            self.store.results.update(one.id or "", status={"statusType": "TERMINATED"})

    def work_item(self) -> WorkItem:
        """The work item of the run, which is made when a test asks for it."""
        if self._item is None:
            self._item = self.store.work_items.create(
                name=f"pytest {self._began:%Y-%m-%d %H:%M}",
                type="testplan",
                state="NEW",
                part_number=self._option("--stationdb-part"),
            )
        return self._item

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, Any, Any]:
        self._test = item
        done = yield
        self._test = None
        return done

    @pytest.hookimpl
    def pytest_runtest_logstart(self, nodeid: str) -> None:
        self._running[nodeid] = datetime.datetime.now(datetime.UTC).isoformat()

    @pytest.hookimpl
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Collects the phases of a test; its last one makes the step, durably."""
        found = self._done.setdefault(
            report.nodeid, {"status": "PASSED", "seconds": 0.0, "text": "", "parameters": []}
        )
        found["seconds"] += report.duration
        if report.outcome not in _STATUS:
            # Such as "rerun" of pytest-rerunfailures: an attempt that another one follows.
            found["text"] = f"an attempt ended as {report.outcome}: {report.longrepr or ''}"[-16_000:]
            return
        if report.when == "call" or report.outcome != "passed":
            status = _STATUS[report.outcome]
            if report.outcome == "failed" and report.when != "call":
                status = "ERRORED"
            if hasattr(report, "wasxfail"):
                status = "SKIPPED" if report.outcome == "skipped" else "PASSED"
            if found["status"] in ("PASSED", "SKIPPED"):
                found["status"] = status
            if report.longrepr:
                found["text"] = str(report.longrepr)[-16_000:]
        for key, value in report.user_properties:
            if key == _KEY and report.when == "teardown" and isinstance(value, dict):
                self._take(found, value)
        # The report of a worker of pytest-xdist that died is of no phase, and the last one.
        if report.when not in ("setup", "call"):
            self._store(report.nodeid)

    def _take(self, found: dict[str, Any], value: dict[str, Any]) -> None:
        """Takes measurements and files of a test. Each file is one of the result at once."""
        found["parameters"] = value["parameters"]
        for name, data in value["files"]:
            with self.store.transaction() as tx:
                file = tx.files.upload(base64.b64decode(data), name=name)
                tx.results.update(self.result, file_ids=[file.id or ""])

    def _store(self, nodeid: str) -> None:
        found = self._done.pop(nodeid)
        self._count += 1
        self._gravest = max(self._gravest, found["status"], key=_GRAVITY.index)
        step: dict[str, Any] = {
            "resultId": self.result,
            "name": nodeid,
            "stepType": "pytest",
            "status": {"statusType": found["status"]},
            "totalTimeInSeconds": found["seconds"],
            "startedAt": self._running.pop(nodeid, self._began.isoformat()),
            "data": {"text": found["text"], "parameters": found["parameters"]},
        }
        self.store.steps.create(step)

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, exitstatus: int) -> None:
        """Ends the result, and closes the store."""
        code = int(exitstatus)
        try:
            self._store_open()
        except BaseException:
            code = _INTERNAL_ERROR
            raise
        finally:
            try:
                self._end(code)
            finally:
                self.store.close()

    def _store_open(self) -> None:
        """Stores the steps of the tests that did not come to their end."""
        test, self._test = self._test, None
        if test is not None and test.nodeid not in self._done:
            self._done[test.nodeid] = {"seconds": 0.0, "text": "", "parameters": []}
        for nodeid in list(self._done):
            found = self._done[nodeid]
            found["status"] = "ERRORED"
            if test is not None and nodeid == test.nodeid:
                # It was interrupted, and what it has measured is not in a report.
                found["status"] = "TERMINATED"
                step = test.stash.get(_STEP, None)
                if step is not None:
                    self._take(found, step.to_dict())
            self._store(nodeid)

    def _end(self, code: int) -> None:
        """Ends the result, by the code with which pytest exits."""
        if self._count == 0 and not self._running and code in (2, 4, 5):
            # Nothing ran: the files of the command are not there, have no tests, or are no Python.
            self.store.results.delete(self.result)
            self.result = ""
        else:
            status = {0: "PASSED", 1: "FAILED", 2: "TERMINATED"}.get(code, "ERRORED")
            if code == 0 and self._gravest not in ("PASSED", "SKIPPED"):
                status = self._gravest
            seconds = (datetime.datetime.now(datetime.UTC) - self._began).total_seconds()
            self.store.results.update(
                self.result, status={"statusType": status}, total_time_in_seconds=seconds
            )
        if self._item is not None and self._item.id is not None:
            self.store.work_items.update(self._item.id, state="CLOSED")

    @pytest.hookimpl
    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """Says where the result is."""
        told = f"result {self.result} in {self.store.path}" if self.result else "nothing ran"
        terminalreporter.write_line(f"stationdb: {told}")


_STEP = pytest.StashKey[_Step]()


def _step(node: pytest.Item) -> _Step:
    if _STEP not in node.stash:
        node.stash[_STEP] = _Step()
    return node.stash[_STEP]


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Forgets the measurements of an attempt before this one."""
    if _STEP in item.stash:
        del item.stash[_STEP]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, Any, Any]:
    """Fails a test with a measurement outside of its limits, and sends its measurements along."""
    report: Any = yield
    step = item.stash.get(_STEP, None)
    if step is not None and report.when in ("call", "teardown"):
        failed = [one for one in step.measurements[step.judged :] if not one.passed]
        step.judged = len(step.measurements)
        if failed and report.outcome == "passed":
            # Expected of a test that is marked so, as any other failure is.
            report.outcome = "skipped" if hasattr(report, "wasxfail") else "failed"
            report.longrepr = "\n".join(one.told() for one in failed)
    if step is not None and report.when == "teardown":
        report.user_properties.append((_KEY, step.to_dict()))
    return report


def _value(given: Any, what: str) -> Any:
    value = exact(scalar(given, what), what)
    return float(value) if isinstance(value, Decimal) else value


def _limit(name: str, given: Any) -> float | None:
    limit = _value(given, f"a limit of {name}")
    if limit is not None and (not isinstance(limit, int | float) or math.isnan(limit)):
        raise InvalidArgumentError(f"a limit of {name} is {given!r}; give a number")
    return limit


@pytest.fixture
def measure(request: pytest.FixtureRequest) -> Measure:
    """Records a measurement: `measure("VOUT", 5.01, unit="V", low=4.9, high=5.1)`.

    Returns it; `passed` says whether it is within its limits. The test goes on, and fails at its end
    if one of its measurements did not pass, or has no value: None, or NaN. A measurement after the
    test, in the second half of a fixture, fails its teardown. A whole number without an equal float,
    such as an id of 64 bits, is refused: give it as text.
    """
    step = _step(request.node)

    def record(
        name: str,
        value: Any,
        unit: str | None = None,
        low: float | None = None,
        high: float | None = None,
    ) -> Measurement:
        value = _value(value, f"the value of {name}")
        low, high = (_limit(name, limit) for limit in (low, high))
        if low is not None and high is not None and low > high:
            raise InvalidArgumentError(
                f"the limits of {name} are {low} and {high}; the lower one is low"
            )
        if value is not None and not isinstance(value, str | bool | int | float):
            value = str(value)
        found = Measurement(name=name, value=value, unit=unit, low=low, high=high)
        step.measurements.append(found)
        return found

    return record


@pytest.fixture
def attach(request: pytest.FixtureRequest) -> Attach:
    """Stores a file with the result: `attach("screen.png")`, `attach(b"…", name="trace.bin")`.

    A source that has no bytes fails the test.
    """
    step = _step(request.node)

    def store(source: Any, name: str | None = None) -> None:
        if isinstance(source, str | os.PathLike):
            name = name or os.path.basename(os.fspath(source))
            with open(source, "rb") as file:
                source = file.read()
        data = source.read() if hasattr(source, "read") else source
        try:
            data = bytes(memoryview(data))
        except TypeError:
            raise InvalidArgumentError(
                f"a file of {type(data).__name__} cannot be attached; give a path, bytes, or an "
                "object whose read() returns bytes, as a file that is opened with \"rb\""
            ) from None
        step.files.append((name or "attachment", data))

    return store


@pytest.fixture
def station(request: pytest.FixtureRequest) -> Services | None:
    """The open store; None without the option and in workers of pytest-xdist."""
    run = _run_of(request.config)
    return None if run is None else run.store


@pytest.fixture
def result(request: pytest.FixtureRequest) -> str | None:
    """The id of the result of this run; None where there is no store."""
    run = _run_of(request.config)
    return None if run is None else run.result


@pytest.fixture
def work_item(request: pytest.FixtureRequest) -> WorkItem | None:
    """The work item of this run, which is closed at its end; None where there is no store."""
    run = _run_of(request.config)
    return None if run is None else run.work_item()
