"""Runs of tests: results that are stored step by step while the test works."""

from __future__ import annotations

import math
import os
import time
from abc import abstractmethod
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Self

from . import services
from ._closing import Block
from ._collection import BatchResult, Write
from ._imports import ImportedFile, how, results_of
from ._progress import Progress
from ._record import HasModelDump, encoded, exact, finite, merged, scalar, told, wire, wires
from ._rows import Rows
from ._stationdb import RunCore, append_results, begin_run, resume_run, scan_measurements
from .errors import ClosedError, InvalidArgumentError
from .records import CreateResultRequest, CreateStepRequest, Step, TestResult

if TYPE_CHECKING:
    from ._tables import Table

__all__ = ["Results", "Run", "RunSequence", "RunStep"]

_Status = str | Mapping[str, Any] | None
#: A result with its steps: see `Results.append_many`.
Whole = CreateResultRequest | Mapping[str, Any] | tuple[Any, Iterable[Any]] | HasModelDump
_BATCH_RESULTS = 1_000
_BATCH_STEPS = 10_000


def _status(status: _Status) -> dict[str, Any] | None:
    if status is None:
        return None
    return {"statusType": status} if isinstance(status, str) else dict(status)


def _value(given: Any, what: str) -> Any:
    return exact(scalar(given, what), what)


def _of_error(kind: type[BaseException]) -> str:
    return "ERRORED" if issubclass(kind, Exception) else "TERMINATED"


def _whole(given: Any) -> dict[str, Any]:
    """A result and its steps in the wire form."""
    if isinstance(given, tuple):
        if len(given) != 2:
            raise InvalidArgumentError(
                f"a pair of a result and its steps has {len(given)} parts; give (result, steps)"
            )
        return {"result": merged(CreateResultRequest, given[0], {}), "steps": _steps(given[1])}
    result = merged(CreateResultRequest, given, {})
    return {"result": result, "steps": _steps(result.pop("steps", None))}


def _steps(given: Any) -> list[dict[str, Any]]:
    if isinstance(given, str | bytes | Mapping) or not isinstance(given, Iterable | None):
        raise InvalidArgumentError(f"the steps are {given!r}; give a list of steps")
    return [merged(CreateStepRequest, step, {}) for step in given or ()]


def _count(steps: Iterable[Any]) -> int:
    return sum(1 + _count(step.get("children") or ()) for step in steps if isinstance(step, Mapping))


class RunStep(Block):
    """A step of a run, which is stored, durably, when its block ends. `Run.step` returns one.

    Its status is FAILED if a measurement is outside of its limits, ERRORED if one has no value or if
    the block raises, PASSED if all are inside, and DONE if nothing was judged.
    """

    __slots__ = (
        "_asked",
        "_began",
        "_is_done",
        "_measurements",
        "_run",
        "stored",
    )

    def __init__(self, run: Run, parent: str | None, name: str, step_type: str | None) -> None:
        self._run = run
        self._asked: dict[str, Any] = {
            "name": name,
            "parent": parent,
            "stepType": step_type,
            "text": None,
            "status": None,
            "startedAt": wire(datetime.now(UTC)),
            "keywords": [],
            "properties": {},
            "inputs": [],
            "outputs": [],
            "conditions": [],
            "files": [],
            "tables": [],
        }
        self._began = time.monotonic()
        self._measurements: list[Any] = []
        self._is_done = False
        #: The step as it was stored; None before.
        self.stored: Step | None = None

    def measure(
        self,
        name: str,
        value: float | int | str | bool | None,
        unit: str | None = None,
        *,
        low: float | None = None,
        high: float | None = None,
        equals: float | int | str | bool | None = None,
        spec: str | None = None,
    ) -> Self:
        """Adds a measurement. None and NaN say that there is no value.

        Numbers are kept as floats. A whole number that has no equal float, such as an id of 64
        bits, is refused: give it as text.

        It passes from `low` to `high`, both inside; or if it equals `equals`; or within the limits of
        the specification of the product with the `spec_id` `spec`, whose limits are outside.
        """
        value = _value(value, f"the value of {name!r}")
        low, high = (_value(limit, f"a limit of {name!r}") for limit in (low, high))
        equals = _value(equals, f"the expected value of {name!r}")
        rules = (low is not None or high is not None, equals is not None, spec is not None)
        if sum(rules) > 1:
            raise InvalidArgumentError(
                f"the measurement {name!r} has several of limits, equals= and spec=; give one"
            )
        if not isinstance(value, str | bool | int | float | None):
            raise InvalidArgumentError(
                f"the value of {name!r} is {value!r}; give a number, a text, a bool or None"
            )
        for limit in (low, high):
            if limit is not None and not isinstance(limit, int | float):
                raise InvalidArgumentError(f"a limit of {name!r} is {limit!r}; give a number")
        self._measurements.append((name, value, unit, low, high, equals, spec))
        return self

    def condition(self, name: str, value: float | str) -> Self:
        """Sets a condition of the measurements, which specifications ask for.

        Raises `InvalidArgumentError` for NaN, infinities, and a whole number without an equal float.
        """
        value = _value(value, f"the condition {name!r}")
        if isinstance(value, float) and not math.isfinite(value):
            raise InvalidArgumentError(
                f"the condition {name!r} is {value}; give a finite number, or a text"
            )
        self._asked["conditions"].append((name, value))
        return self

    def input(self, name: str, value: Any) -> Self:
        """Adds what the step was given."""
        self._asked["inputs"].append((name, wire(value)))
        return self

    def output(self, name: str, value: Any) -> Self:
        """Adds what the step gave."""
        self._asked["outputs"].append((name, wire(value)))
        return self

    def file(self, name: str, id: str) -> Self:
        """Links a file of the store with the step and the result."""
        self._asked["files"].append((name, id))
        return self

    def table(self, name: str, table: Table | str) -> Self:
        """Links a table with the step and the result."""
        self._asked["tables"].append((name, table if isinstance(table, str) else table.id))
        return self

    def text(self, text: str) -> Self:
        """Sets the text of the step, such as a log."""
        self._asked["text"] = text
        return self

    def keyword(self, *keywords: str) -> Self:
        """Adds keywords."""
        self._asked["keywords"] += keywords
        return self

    def property(self, key: str, value: str) -> Self:
        """Sets a property."""
        self._asked["properties"][key] = value
        return self

    def status(self, status: _Status) -> Self:
        """Sets the status, whatever the measurements say: "SKIPPED", or a dict of the wire."""
        self._asked["status"] = _status(status)
        return self

    def finish(self) -> Step:
        """Judges the measurements, and stores the step, durably. Returns it as stored.

        Raises `InvalidArgumentError` for limits in the wrong order or of a text; `NotFoundError` for
        a specification that the product does not have. Then nothing was stored.
        """
        if self._is_done:
            raise ClosedError("the step was stored already; begin another one")
        self._asked["seconds"] = time.monotonic() - self._began
        self.stored = Step.from_dict(self._run._core.store_step(self._asked, self._measurements))
        self._is_done = True
        return self.stored

    def _end(self, kind: type[BaseException] | None, error: BaseException | None) -> None:
        if self._is_done:
            return
        if kind is not None:
            self.status(_of_error(kind))
            if self._asked["text"] is None:
                text = "" if error is None else told(error)
                self.text(f"{kind.__name__}: {text}" if text else kind.__name__)
        self.finish()


class _Steps(Block):
    """What has steps, and ends with its block: a run, or a sequence of one."""

    __slots__ = ("_is_done", "_parent", "_run")

    _run: Run
    _parent: str | None
    _is_done: bool

    @abstractmethod
    def finish(self, status: _Status = None) -> Any:
        """Ends it, durably: with this status, or that of the worst of its steps."""

    def _end(self, kind: type[BaseException] | None, error: BaseException | None) -> None:
        if not self._is_done:
            self.finish(None if kind is None else _of_error(kind))

    def step(self, name: str, step_type: str | None = None) -> RunStep:
        """A step, which is stored when its block ends.

        >>> with db.results.begin("156502A-11L", "SN-9", "Final test") as run:
        ...     with run.step("Power") as step:
        ...         _ = step.measure("VOUT", 12.01, "V", low=11.8, high=12.2)
        >>> step.stored.status.status_type, run.result().status.status_type
        ('PASSED', 'PASSED')
        """
        return RunStep(self._run, self._parent, name, step_type)

    def sequence(self, name: str) -> RunSequence:
        """A step that has steps within it. It is stored as RUNNING now, and ends with its block."""
        return RunSequence(self._run, self._run._core.begin_sequence(name, self._parent))


class RunSequence(_Steps):
    """A step of a run with steps within it. `Run.sequence` returns one."""

    __slots__ = ()

    def __init__(self, run: Run, id: str) -> None:
        self._run = run
        self._parent = id
        self._is_done = False

    @property
    def id(self) -> str:
        """The id of the step."""
        return str(self._parent)

    def finish(self, status: _Status = None) -> Step:
        """Ends the sequence, durably: with this status, or that of the worst of its steps."""
        found = Step.from_dict(self._run._core.end_sequence(self.id, _status(status)))
        self._is_done = True
        return found


class Run(_Steps):
    """A run of a test: a result that is stored step by step. `Results.begin` returns one.

    Each step is durable when its block has ended, so a crash loses the open step alone. A run whose
    process has died is found by `Results.unfinished_runs`, and carried on by `Results.resume`.

    When the block of the run ends its result gets the status of the worst of its steps; when the
    block raises, ERRORED, or TERMINATED for Ctrl-C.
    """

    __slots__ = ("_core", "_results")

    def __init__(self, results: Results, core: RunCore) -> None:
        self._run = self
        self._parent = None
        self._core = core
        self._results = results
        self._is_done = False

    @property
    def id(self) -> str:
        """The id of the result."""
        return self._core.id

    def result(self) -> TestResult:
        """The result as it is stored now."""
        return self._results.get(self.id)

    def open_sequences(self) -> list[RunSequence]:
        """The sequences that nobody has ended, in the order of their beginning."""
        return [RunSequence(self, one["stepId"]) for one in self._core.open_sequences()]

    def attach_file(self, id: str) -> None:
        """Links a file of the store with the result, durably."""
        self._core.attach_file(id)

    def attach_table(self, table: Table | str) -> None:
        """Links a table with the result, durably."""
        self._core.attach_table(table if isinstance(table, str) else table.id)

    def finish(self, status: _Status = None) -> TestResult:
        """Ends the run, durably: with this status, or that of the worst of its steps.

        Sequences that are open become TERMINATED.
        """
        found = TestResult.from_dict(self._core.finish(_status(status)))
        self._is_done = True
        return found

    def terminate(self) -> TestResult:
        """Ends the run as TERMINATED."""
        return self.finish("TERMINATED")

    def __repr__(self) -> str:
        return f"<Run {self.id}{', ended' if self._is_done else ''}>"


class Results(services.Results):
    """Results of tests, with their runs and figures."""

    __slots__ = ()

    def begin(
        self,
        part_number: str,
        serial_number: str,
        program_name: str,
        *,
        operator: str | None = None,
        system_id: str | None = None,
        host_name: str | None = None,
        workspace: str | None = None,
        keywords: list[str] | None = None,
        properties: Mapping[str, str] | None = None,
    ) -> Run:
        """Begins a run of a test: its result is stored as RUNNING, durably.

        The operator is the user of the session when absent.

        Raises `UnsupportedError` in a transaction, because each step of a run is a commit of its own.

        >>> run = db.results.begin("156502A-11L", "SN-8", "Final test")
        >>> step = run.step("Power").measure("VOUT", 12.5, "V", high=12.2).finish()
        >>> step.status.status_type, run.finish().status.status_type
        ('FAILED', 'FAILED')
        """
        asked: dict[str, Any] = {
            "partNumber": part_number,
            "serialNumber": serial_number,
            "programName": program_name,
            "operator": operator,
            "systemId": system_id,
            "hostName": host_name,
            "workspace": workspace,
            "keywords": list(keywords or []),
            "properties": dict(properties or {}),
        }
        return Run(self, begin_run(self._services._core, asked))

    def _item(self, write: Write, given: Any, fields: dict[str, Any]) -> dict[str, Any]:
        item = super()._item(write, given, fields)
        if item.get("steps"):
            raise InvalidArgumentError(
                "create() stores a result without steps; give a result and its steps to "
                "append_many(), or store them with steps.create()"
            )
        return item

    def append_many(self, results: Iterable[Whole]) -> BatchResult[TestResult]:
        """Stores results together with their steps: whole runs, as from a file or another system.

        Each item is a result as `create` takes it, whose steps are its member `steps` (of a dict, or
        of an object with `model_dump`), or a pair of a result and its steps. Steps are those of
        `steps.create`, without `resultId`, and may have `children`. A thousand results, or some ten
        thousand steps, are one commit. A result comes with all of its steps or not at all; what is
        refused does not stop the others, and `failed` has the results without their steps.

        Raises `InvalidArgumentError` for an item that cannot be read; the commits before it stay.

        >>> passed = {"statusType": "PASSED"}
        >>> whole = {"programName": "Gain", "status": passed, "steps": [{"name": "Power", "status": passed}]}
        >>> done = db.results.append_many([whole])
        >>> db.steps.query("resultId == @0", done.records[0].id).count()
        1
        """
        done: BatchResult[TestResult] = BatchResult()
        batch: list[dict[str, Any]] = []
        steps = 0
        for one in results:
            whole = _whole(one)
            batch.append(whole)
            steps += _count(whole["steps"])
            if len(batch) >= _BATCH_RESULTS or steps >= _BATCH_STEPS:
                self._append(batch, done)
                batch, steps = [], 0
        if batch:
            self._append(batch, done)
        return done

    def _append(self, batch: list[dict[str, Any]], done: BatchResult[TestResult]) -> None:
        answer = append_results(self._services._core, encoded("append_many", batch))
        done._add(TestResult, "results", answer)

    def import_file(
        self,
        path: str | os.PathLike[str],
        *,
        format: str | None = None,
        part_number: str | None = None,
        workspace: str | None = None,
        again: bool = False,
        time_zone: str | None = None,
        columns: Mapping[str, str] | None = None,
        measurements: Iterable[str] | None = None,
        program_name: str | None = None,
        separator: str | None = None,
        decimal_separator: str | None = None,
        date_order: str | None = None,
        skip_lines: int | None = None,
        short_rows: bool | None = None,
        footer_lines: int | None = None,
        progress: Progress = None,
    ) -> ImportedFile:
        """Imports a file with test results, such as a record of OpenHTF, in one commit.

        The format of the file is found by its first bytes, then by its name, unless `format` says
        it, as "results-csv" of a CSV, which is a table otherwise. `part_number` replaces that of
        the file. A file that was imported before is refused, unless `again` is set.

        Times without a zone are UTC, unless `time_zone` says theirs, as "Europe/Berlin" or
        "+02:00"; "REFUSE" refuses them. `columns` names the columns of members in a CSV, as
        {"serial_number": "Barcode"}; the others have the column with one of their usual names, and
        an empty name keeps a member without one. In a CSV whose rows are units `measurements` names
        their columns. `program_name` is for a CSV without one. The other options are those of
        `Tables.import_file` for the text of a CSV, such as date_order="MONTH_FIRST".

        Raises `InvalidArgumentError` with the place of what is wrong in the file; `ConflictError`
        for a file that was imported before; `UnsupportedError` for a file whose format is unknown,
        and for one with tables, which `Tables.import_file` imports.

        >>> import pathlib, tempfile
        >>> path = pathlib.Path(tempfile.mkdtemp(), "SN-1.json")
        >>> _ = path.write_text('{"dut_id": "SN-1", "outcome": "PASS", "phases": []}')
        >>> imported = db.results.import_file(path, part_number="156502A-11L")
        >>> db.results.get(imported.results[0]).serial_number
        'SN-1'
        >>> path = path.with_name("day.csv")
        >>> _ = path.write_text("Barcode,VOUT\\nSN-2,5.01\\n")
        >>> imported = db.results.import_file(
        ...     path, format="results-csv", part_number="P-2", columns={"serial_number": "Barcode"}
        ... )
        >>> db.results.get(imported.results[0]).serial_number
        'SN-2'
        """
        text = {
            "separator": separator,
            "decimal_separator": decimal_separator,
            "date_order": date_order,
            "skip_lines": skip_lines,
            "short_rows": short_rows,
            "footer_lines": footer_lines,
        }
        given = {name: value for name, value in text.items() if value is not None}
        asked = how(
            given,
            format,
            part_number,
            workspace,
            again,
            time_zone,
            columns,
            measurements,
            program_name,
        )
        return results_of(self._services, path, asked, progress)

    def resume(self, id: str) -> Run:
        """Finds a run again that nobody has ended, by the id of its result.

        Raises `NotFoundError`, and `ConflictError` for a result that is no run in progress.

        >>> run = db.results.begin("156502A-11L", "SN-7", "Final test")
        >>> [one.serial_number for one in db.results.unfinished_runs()]
        ['SN-7']
        >>> db.results.resume(run.id).terminate().status.status_type
        'TERMINATED'
        """
        return Run(self, resume_run(self._services._core, id))

    def measurements(
        self,
        name: str | None = None,
        *,
        path: str | None = None,
        filter: str | tuple[Any, ...] | None = None,
        result_filter: str | tuple[Any, ...] | None = None,
        columns: Iterable[str] | None = None,
        take: int | None = None,
    ) -> Rows:
        """Measurements of steps as rows, with members of their steps and results.

        `name` and `path` are those of the measurements and of their steps, `filter` is about steps
        and `result_filter` about results: texts, or tuples of a text with @0, @1, … and their
        values. The order is not defined.

        Raises `InvalidArgumentError` for a filter that is wrong.

        >>> with db.results.begin("156502A-11L", "SN-6", "Final test") as run:
        ...     _ = run.step("Noise").measure("noise", 1.5, "dB", high=2).finish()
        >>> db.results.measurements("noise", columns=["value", "units"]).to_pylist()
        [{'value': 1.5, 'units': 'dB'}]
        """
        asked: dict[str, Any] = {"name": name, "path": path, "take": take}
        if columns is not None:
            asked["columns"] = [columns] if isinstance(columns, str) else list(columns)
        for given, member, values in (
            (filter, "filter", "substitutions"),
            (result_filter, "resultFilter", "resultSubstitutions"),
        ):
            if isinstance(given, tuple):
                asked[member], asked[values] = given[0], finite(wires(given[1:]))
            else:
                asked[member] = given
        asked = {key: value for key, value in asked.items() if value is not None}
        return Rows(scan_measurements(self._services._core, asked))
