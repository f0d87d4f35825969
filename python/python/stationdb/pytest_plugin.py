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
otherwise. The result begins with the first test: where none runs, as with --fixtures, --help and
--setup-plan, the store is not opened, or keeps nothing. It is PASSED if a test has passed and none
has failed, and SKIPPED if all were skipped. A run that was killed keeps the steps that had ended;
the next run ends its result as TERMINATED.
"""

from __future__ import annotations

import base64
import datetime
import math
import os
import platform
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest

from ._record import exact, printable, scalar
from ._record import told as said
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
#: What counts more in a run comes later.
_GRAVITY = ("SKIPPED", "PASSED", "FAILED", "ERRORED", "TERMINATED")
#: The most characters of the text of a step.
_TEXT = 16_000
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

    def parameters(self) -> list[dict[str, str]]:
        """The measurements as parameters of a step."""
        return [one.parameter() for one in self.measurements]

    def to_dict(self) -> dict[str, Any]:
        """What travels in a report."""
        return {
            "parameters": self.parameters(),
            "files": [(name, base64.b64encode(data).decode()) for name, data in self.files],
        }


#: The parameters of a step, and the files of its test.
_Taken = tuple[list[dict[str, str]], list[tuple[str, bytes]]]


def pytest_addoption(parser: pytest.Parser) -> None:
    """Adds the options of the plugin."""
    group = parser.getgroup("stationdb", "results in a stationdb store")
    group.addoption("--stationdb", metavar="DIR", help="the store that gets the run as a result")
    group.addoption("--stationdb-part", metavar="NUMBER", help="part number of the device")
    group.addoption("--stationdb-serial", metavar="NUMBER", help="serial number of the device")
    group.addoption("--stationdb-operator", metavar="NAME", help="who runs the tests")
    group.addoption("--stationdb-program", metavar="NAME", help="name of the test program")


def pytest_configure(config: pytest.Config) -> None:
    """Has the tests stored, by the controlling process."""
    if _is_stored(config) and not hasattr(config, "workerinput"):
        config.pluginmanager.register(_Run(config), "stationdb-run")


def _is_stored(config: pytest.Config) -> bool:
    """Whether the tests of the command run, and a store gets them."""
    asks_only = ("collectonly", "setuponly", "setupplan")
    return bool(config.getoption("--stationdb")) and not any(
        config.getoption(name, False) for name in asks_only
    )


def _run_of(config: pytest.Config) -> _Run | None:
    found = config.pluginmanager.get_plugin("stationdb-run")
    return found if isinstance(found, _Run) else None


class _Run:
    """The result of a run, and its steps."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._option = config.getoption
        #: The open store; None before the first test.
        self.store: Store | None = None
        #: The id of the result; empty before the first test.
        self.result = ""
        self._process = os.getpid()
        self._began = datetime.datetime.now(datetime.UTC)
        self._done: dict[str, dict[str, Any]] = {}
        self._taken: dict[str, _Taken] = {}
        self._running: dict[str, str] = {}
        self._gravest = "SKIPPED"
        self._test: pytest.Item | None = None
        self._item: WorkItem | None = None

    @property
    def is_here(self) -> bool:
        """Whether this process has the store, and not a child of it."""
        return self.store is not None and self._process == os.getpid()

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self) -> None:
        """Opens the store: what was collected runs now."""
        with self._told():
            path = str(self._option("--stationdb"))
            self.store = open_store(path, user=self._option("--stationdb-operator"))
            self._end_killed(self.store)

    def _opened(self) -> Store:
        """The store, with the result of the run, which the first test makes."""
        if self.store is None:
            raise pytest.UsageError("--stationdb: a test runs outside of the loop of pytest")
        if not self.result:
            self._began = datetime.datetime.now(datetime.UTC)
            root = printable(os.path.basename(self._config.rootpath))
            with self._told():
                made = self.store.results.create(
                    program_name=self._option("--stationdb-program") or root or "pytest",
                    part_number=self._option("--stationdb-part"),
                    serial_number=self._option("--stationdb-serial"),
                    operator=self.store.user,
                    host_name=platform.node(),
                    started_at=self._began,
                    keywords=[_KEYWORD],
                    status={"statusType": "RUNNING"},
                )
            self.result = made.id or ""
        return self.store

    @contextmanager
    def _told(self) -> Iterator[None]:
        """Ends pytest as a wrong option does, when the store refuses the run."""
        try:
            yield
        except Error as error:
            raise pytest.UsageError(f"--stationdb {self._option('--stationdb')}: {error}") from error

    @staticmethod
    def _end_killed(store: Store) -> None:
        # A store is open once, so whoever runs in it was killed.
        running = 'status.statusType == "RUNNING" && keywords.Contains(@0)'
        for one in store.results.query(running, _KEYWORD).all():
            store.results.update(one.id or "", status={"statusType": "TERMINATED"})

    def work_item(self) -> WorkItem:
        """The work item of the run, which is made when a test asks for it."""
        if self._item is None:
            self._item = self._opened().work_items.create(
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
        self._opened()
        self._running[nodeid] = datetime.datetime.now(datetime.UTC).isoformat()

    def take(self, nodeid: str, step: _Step) -> None:
        """Takes the measurements and files of a test, or of its last attempt."""
        self._taken[nodeid] = (step.parameters(), step.files)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Collects the phases of a test; its last one makes the step, durably."""
        sent = [value for key, value in report.user_properties if key == _KEY]
        if sent:
            # They came from a worker, and are of no use to others, such as a report of JUnit.
            report.user_properties[:] = [one for one in report.user_properties if one[0] != _KEY]
            if report.when == "teardown" and isinstance(sent[-1], dict):
                files = [(name, base64.b64decode(data)) for name, data in sent[-1]["files"]]
                self._taken[report.nodeid] = (sent[-1]["parameters"], files)
        found = self._found(report.nodeid)
        found["seconds"] += report.duration
        if report.outcome not in _STATUS:
            # Such as "rerun" of pytest-rerunfailures: an attempt that another one follows.
            found["text"] = f"an attempt ended as {report.outcome}: {report.longrepr or ''}"[-_TEXT:]
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
                found["text"] = str(report.longrepr)[-_TEXT:]
        # The report of a worker of pytest-xdist that died is of no phase, and the last one.
        if report.when not in ("setup", "call"):
            self._store(report.nodeid)

    def _found(self, nodeid: str) -> dict[str, Any]:
        """What is known of a test. One that is not called is skipped."""
        return self._done.setdefault(nodeid, {"status": "SKIPPED", "seconds": 0.0, "text": ""})

    def _store(self, nodeid: str) -> None:
        """Stores the step of a test that has ended."""
        store = self._opened()
        found = self._done.pop(nodeid)
        parameters, files = self._taken.pop(nodeid, ([], []))
        step: dict[str, Any] = {
            "resultId": self.result,
            "name": printable(nodeid),
            "stepType": "pytest",
            "status": {"statusType": found["status"]},
            "totalTimeInSeconds": found["seconds"],
            "startedAt": self._running.pop(nodeid, self._began.isoformat()),
            "data": {"text": printable(found["text"])[-_TEXT:], "parameters": parameters},
        }
        try:
            for name, data in files:
                # Each file is one of the result at once.
                with store.transaction() as tx:
                    file = tx.files.upload(data, name=name)
                    tx.results.update(self.result, file_ids=[file.id or ""])
            store.steps.create(step)
        except Error as error:
            # What the store does not take is no reason to end the run, nor to call the test good.
            step["status"] = {"statusType": "ERRORED"}
            text = f"the step was not stored as it was: {said(error)}\n{step['data']['text']}"
            step["data"] = {"text": text[:_TEXT], "parameters": []}
            store.steps.create(step)
        self._gravest = max(self._gravest, step["status"]["statusType"], key=_GRAVITY.index)

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, exitstatus: int) -> None:
        """Ends the result, and closes the store."""
        store = self.store
        if store is None:
            return
        code = int(exitstatus)
        try:
            if self.result:
                self._store_open()
        except BaseException:
            code = _INTERNAL_ERROR
            raise
        finally:
            try:
                if self.result:
                    self._end(store, code)
            finally:
                store.close()

    def _store_open(self) -> None:
        """Stores the steps of the tests that did not come to their end."""
        test, self._test = self._test, None
        if test is not None:
            self._found(test.nodeid)
        for nodeid in list(self._done):
            found = self._done[nodeid]
            found["status"] = "ERRORED"
            if test is not None and nodeid == test.nodeid:
                # It was interrupted, and what it has measured is not in a report.
                found["status"] = "TERMINATED"
                step = test.stash.get(_STEP, None)
                if step is not None:
                    self.take(nodeid, step)
            self._store(nodeid)

    def _end(self, store: Store, code: int) -> None:
        """Ends the result, by the code with which pytest exits."""
        status = {0: self._gravest, 1: "FAILED", 2: "TERMINATED"}.get(code, "ERRORED")
        seconds = (datetime.datetime.now(datetime.UTC) - self._began).total_seconds()
        store.results.update(
            self.result, status={"statusType": status}, total_time_in_seconds=seconds
        )
        if self._item is not None and self._item.id is not None:
            store.work_items.update(self._item.id, state="CLOSED")

    @pytest.hookimpl
    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """Says where the result is."""
        path = self._option("--stationdb") if self.store is None else self.store.path
        where = f"result {self.result} in {path}" if self.result else "nothing ran"
        terminalreporter.write_line(f"stationdb: {where}")


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
def pytest_runtest_call(item: pytest.Item) -> Generator[None, Any, Any]:
    """Fails a test with a measurement outside of its limits, as any other failure of it."""
    return (yield from _judged(item))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Item) -> Generator[None, Any, Any]:
    """Fails the teardown of a test, by the measurements of its fixtures."""
    return (yield from _judged(item))


def _judged(item: pytest.Item) -> Generator[None, Any, Any]:
    failed: list[Measurement] = []
    try:
        done = yield
    finally:
        step = item.stash.get(_STEP, None)
        if step is not None:
            failed = [one for one in step.measurements[step.judged :] if not one.passed]
            step.judged = len(step.measurements)
    if failed:
        pytest.fail("\n".join(one.told() for one in failed), pytrace=False)
    return done


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, Any, Any]:
    """Hands the measurements of a test that has ended to the process with the store."""
    report: Any = yield
    if report.when == "teardown" and _STEP in item.stash:
        step = item.stash[_STEP]
        # pytest keeps its tests and reports to the end.
        del item.stash[_STEP]
        run = _run_of(item.config)
        if run is not None and run.is_here:
            run.take(report.nodeid, step)
        elif _is_stored(item.config):
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


def _text_of(given: Any, what: str) -> str:
    """A text that a record keeps."""
    if not isinstance(given, str):
        raise InvalidArgumentError(f"{what} is {given!r}; give a text, as in str({given!r})")
    if printable(given) != given:
        raise InvalidArgumentError(
            f"{what} is {given!r}, which has a lone surrogate and is no text; decode its bytes with "
            'their encoding, or with errors="replace"'
        )
    return given


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
        name = _text_of(name, "the name of a measurement")
        if unit is not None:
            unit = _text_of(unit, f"the unit of {name}")
        value = _value(value, f"the value of {name}")
        low, high = (_limit(name, limit) for limit in (low, high))
        if low is not None and high is not None and low > high:
            raise InvalidArgumentError(
                f"the limits of {name} are {low} and {high}; the lower one is low"
            )
        if value is not None and not isinstance(value, bool | int | float):
            value = _text_of(str(value), f"the value of {name}")
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
            name = name or printable(os.path.basename(os.fsdecode(source)))
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
        step.files.append((_text_of(name or "attachment", "the name of a file"), data))

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
    return None if run is None else run.result or None


@pytest.fixture
def work_item(request: pytest.FixtureRequest) -> WorkItem | None:
    """The work item of this run, which is closed at its end; None where there is no store."""
    run = _run_of(request.config)
    return None if run is None else run.work_item()
