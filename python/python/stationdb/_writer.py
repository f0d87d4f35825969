"""A writer of single rows, which appends them in batches."""

from __future__ import annotations

import struct
import threading
import time
import warnings
from array import array
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING, Any

from ._axis import PER_SECOND, TIME_UNITS, nanoseconds, time64
from ._closing import Closing
from ._stationdb import Input
from .errors import ClosedError, Error, InvalidArgumentError

if TYPE_CHECKING:
    from ._tables import Table

__all__ = ["TableWriter"]

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
#: What the extension takes for a time that is null.
_NULL = -(2**63)
#: The counts of each unit in the years 0001 to 9999, as far as 64 bits have them.
_YEARS = {
    "ms": (-62_135_596_800_000, 253_402_300_800_000),
    "us": (-62_135_596_800_000_000, 253_402_300_800_000_000),
    "ns": (_NULL + 1, 2**63),
}
_Converter = Callable[[Any], Any]
#: Columns of rows that were taken, all of the same length.
_Rows = dict[str, list[Any]]


class _Misfit(ValueError):
    """A value that its column cannot keep, with what to do."""


def _bool(value: Any) -> bool:
    if isinstance(value, bool):
        return value
    raise _Misfit("give True or False, as in bool(value)")


def _whole(low: int, high: int, kind: str) -> _Converter:
    def convert(value: Any) -> int:
        if isinstance(value, bool) or not isinstance(value, int):
            raise _Misfit(
                "the column has whole numbers, by its type or by the first row; give one, or create "
                "the table with columns=, and float for this one"
            )
        if not low <= value < high:
            raise _Misfit(f"{kind} keeps {low} to {high - 1}; give the column a type that holds it")
        return int(value)

    return convert


def _float64(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise _Misfit("give a number, as in float(value)")
    try:
        number = float(value)
    except OverflowError:
        number = 0.0
    if number != value and number == number:
        raise _Misfit("no float equals the whole number; give float(value), which rounds it")
    return number


def _float32(value: Any) -> float:
    number = _float64(value)
    try:
        short = struct.unpack("<f", struct.pack("<f", number))[0]
    except OverflowError:
        raise _Misfit("FLOAT32 keeps up to 3.4e38; give the column the type FLOAT64") from None
    if isinstance(value, int) and short != value:
        raise _Misfit("no FLOAT32 equals the whole number; give float(value), which is rounded")
    return number


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise _Misfit("give a text, as in str(value)")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise _Misfit("it has a lone surrogate, which is no text") from None
    return str.__str__(value)


def _nanos(value: Any) -> int | None:
    """Nanoseconds since 1970; None for a time that is none."""
    if type(value).__name__ == "NaTType":
        return None
    if getattr(getattr(value, "dtype", None), "kind", "") == "M":
        return time64(value, "the value")
    if isinstance(value, datetime):
        if value.tzinfo is None:
            raise _Misfit(
                "it has no time zone; give datetime.now(timezone.utc), or value.astimezone()"
            )
        return nanoseconds(value)
    if isinstance(value, date):
        return (value - _EPOCH.date()).days * 86_400 * 10**9
    raise _Misfit("give a datetime with a time zone")


def _time(kind: str, is_cut: bool) -> _Converter:
    """Times as counts of the unit of their column."""
    unit = TIME_UNITS[kind]
    per_tick = 10**9 // PER_SECOND[unit]
    first, end = _YEARS[unit]

    def convert(value: Any) -> int | None:
        nanos = _nanos(value)
        if nanos is None:
            return None
        count, rest = divmod(nanos, per_tick)
        if rest and not is_cut:
            raise _Misfit(
                f"it is finer than {kind} keeps; round it, or give the column a finer type"
            )
        if not first <= count < end:
            raise _Misfit(f"{kind} does not keep this year")
        return count

    return convert


def _converter(kind: str, is_cut: bool = False) -> _Converter:
    if kind in TIME_UNITS:
        return _time(kind, is_cut)
    return {
        "BOOL": _bool,
        "INT32": _whole(-(2**31), 2**31, "INT32"),
        "INT64": _whole(-(2**63), 2**63, "INT64"),
        "FLOAT32": _float32,
        "FLOAT64": _float64,
        "STRING": _text,
    }[kind]


def _kind_of(value: Any) -> str:
    """The type of the column that a first value gives."""
    dtype: Any = getattr(value, "dtype", None)
    if getattr(dtype, "kind", "") == "M":
        import numpy

        unit = numpy.datetime_data(dtype)[0]
        return {"us": "TIMESTAMP_US", "ns": "TIMESTAMP_NS"}.get(unit, "TIMESTAMP")
    if isinstance(value, datetime):
        return "TIMESTAMP_NS" if getattr(value, "nanosecond", 0) else "TIMESTAMP_US"
    kinds = ((bool, "BOOL"), (int, "INT64"), (float, "FLOAT64"), (str, "STRING"))
    for kind, name in (*kinds, (date, "TIMESTAMP")):
        if isinstance(value, kind):
            return name
    if value is None:
        raise _Misfit("the first value of a column gives its type; create the table with columns=")
    raise _Misfit("a table keeps bool, int, float, str and datetime; convert it")


def _plain(value: Any) -> Any:
    """The value of a scalar of numpy, whose times are kept."""
    dtype = getattr(value, "dtype", None)
    if dtype is None or getattr(dtype, "kind", "") in ("M", "m") or not hasattr(value, "item"):
        return value
    try:
        return value.item()
    except (TypeError, ValueError):
        raise _Misfit("give one value for each column") from None


def _shown(value: Any, kind: str | None) -> Any:
    """A value that was taken, as `Rows.to_pylist` has it."""
    if value is None or kind not in TIME_UNITS or kind == "TIMESTAMP_NS":
        return value
    return _EPOCH + timedelta(microseconds=value * (1000 if kind == "TIMESTAMP" else 1))


def _refused(name: str, value: Any, misfit: Exception) -> InvalidArgumentError:
    try:
        told = repr(value)
    except ValueError:
        told = "too long to be shown"
    return InvalidArgumentError(
        f"the row has the value {told[:200]} of type {type(value).__name__} for {name!r}: {misfit}"
    )


class TableWriter(Closing):
    """Appends single rows in batches. `Table.writer` returns one. Threads may share it."""

    __slots__ = (
        "__weakref__",
        "_batch_rows",
        "_columns",
        "_converters",
        "_count",
        "_flushed",
        "_is_closed",
        "_kinds",
        "_lock",
        "_needed",
        "_seconds",
        "refused",
        "table",
    )

    def __init__(self, table: Table, batch_rows: int, seconds: float) -> None:
        self._is_closed, self._count = True, 0
        if not isinstance(batch_rows, int) or batch_rows < 1:
            raise InvalidArgumentError(f"batch_rows is {batch_rows!r}; it is at least 1")
        if not isinstance(seconds, int | float) or not seconds >= 0:
            raise InvalidArgumentError(f"seconds is {seconds!r}; give a number that is not negative")
        #: The table that gets the rows.
        self.table = table
        #: Rows that `row` took and the table refused, because it was changed meanwhile.
        self.refused: list[dict[str, Any]] = []
        self._batch_rows = batch_rows
        self._seconds = seconds
        # A handler of a signal may come again in the middle of a call of its thread.
        self._lock = threading.RLock()
        self._columns: _Rows = {}
        # A table without columns gets them from the rows of the first batch; else the first row is
        # durable at once.
        self._flushed = time.monotonic() - (0 if table._core is None else seconds)
        self._kinds: dict[str, str] = {}
        self._converters: dict[str, _Converter] = {}
        self._needed: list[str] = []
        self._is_closed = False
        table._services._writers.add(self)

    def row(self, **values: Any) -> None:
        """Adds a row: a value for each column by its name.

        The rows so far are appended, durably, when they are `batch_rows`, and when the last append
        is `seconds` ago. A row that does not fit the types of the columns is refused, and loses no
        other. Those of a table without columns are given by the first value of each, and a column
        of whole numbers becomes one of floats when a float comes before the first append.

        Raises `InvalidArgumentError` for a row that does not fit, and the errors of `flush`.
        """
        with self._lock:
            if self._is_closed:
                raise ClosedError("the writer is closed; make another one with table.writer()")
            cells = self._fitting(values)
            for name in cells:
                if name not in self._columns:
                    self._columns[name] = [None] * self._count
            for name, column in self._columns.items():
                column.append(cells.get(name))
            self._count += 1
            is_late = time.monotonic() - self._flushed >= self._seconds
            if self._count >= self._batch_rows or is_late:
                self.flush()

    def _fitting(self, values: dict[str, Any]) -> dict[str, Any]:
        """The values as their columns keep them."""
        if not self._kinds:
            self.table._look_again()
        if self.table._core is None:
            return self._pending(values)
        if not self._converters:
            self._learn()
        if any(name not in self._converters for name in values):
            # Another handle may have added columns.
            self._learn()
        cells: dict[str, Any] = {}
        for name, value in values.items():
            convert = self._converters.get(name)
            if convert is None:
                known = ", ".join(self._converters)
                raise InvalidArgumentError(f"the table has no column {name!r}, but {known}")
            cells[name] = None if value is None else self._cell(name, value, convert)
        for name in self._needed:
            if cells.get(name) is None:
                raise InvalidArgumentError(f"the row has no value for {name!r}, which is never null")
        return cells

    def _cell(self, name: str, value: Any, convert: _Converter) -> Any:
        try:
            return convert(_plain(value))
        except (_Misfit, InvalidArgumentError) as misfit:
            raise _refused(name, value, misfit) from None

    def _learn(self) -> None:
        """Asks the table for its columns."""
        columns = self.table.metadata()["columns"]
        # Rows that were taken may have a column that there is no more.
        self._kinds = {**self._kinds, **{one["name"]: one["dataType"] for one in columns}}
        self._converters = {
            one["name"]: _converter(
                one["dataType"], (one.get("properties") or {}).get("finerTimes") == "CUT"
            )
            for one in columns
        }
        self._needed = [one["name"] for one in columns if one["columnType"] != "NULLABLE"]

    def _pending(self, values: dict[str, Any]) -> dict[str, Any]:
        """The values for a table whose columns come from the rows of the first batch."""
        kinds, cells = dict(self._kinds), {}
        widened: _Rows = {}
        for name, value in values.items():
            try:
                plain = _plain(value)
                if name not in kinds:
                    kinds[name] = _kind_of(plain)
                elif kinds[name] == "INT64" and isinstance(plain, float):
                    if name not in self._needed:
                        known = self._columns.get(name, [])
                        widened[name] = [None if one is None else _float64(one) for one in known]
                        kinds[name] = "FLOAT64"
                cells[name] = None if plain is None else _converter(kinds[name])(plain)
            except (_Misfit, InvalidArgumentError) as misfit:
                raise _refused(name, value, misfit) from None
        if not self._kinds:
            # The index is among the values of the first row, and of a type for it.
            one_row = {name: [cell] for name, cell in cells.items()}
            made = self.table._make(self._input(one_row, kinds))
            self._needed = [one["name"] for one in made if one["columnType"] == "INDEX"]
        for name in self._needed:
            if cells.get(name) is None:
                raise InvalidArgumentError(f"the row has no value for {name!r}, which is never null")
        self._kinds = kinds
        self._columns.update(widened)
        return cells

    @staticmethod
    def _input(columns: _Rows, kinds: dict[str, str]) -> Input:
        given: list[tuple[str, str, str | None, Any]] = []
        for name, cells in columns.items():
            kind = kinds[name]
            if kind in TIME_UNITS:
                counts = array("q", [_NULL if cell is None else cell for cell in cells])
                given.append((name, TIME_UNITS[kind], None, memoryview(counts)))
            else:
                given.append((name, "values", kind, cells))
        return Input.of_columns(given)

    def flush(self) -> None:
        """Appends the rows so far, durably.

        After an error they are still there; see `discard`. Rows that do not fit, because the table
        was changed after `row` took them, are put into `refused`, and the others are appended.

        Raises `InvalidArgumentError` for these, and the errors of `Table.append`.
        """
        with self._lock:
            if self._count:
                columns, count = self._columns, self._count
                self._columns, self._count = {}, 0
                self._store(columns, count)
            self._flushed = time.monotonic()

    def _store(self, columns: _Rows, count: int) -> None:
        """Appends rows that are taken out. A batch that is refused is halved down to single rows."""
        errors: list[Error] = []
        kinds = self._kinds
        parts = [(columns, count)]
        try:
            while parts:
                part, rows = parts[-1]
                try:
                    self.table._append(self._input(part, kinds), None)
                    parts.pop()
                except InvalidArgumentError as error:
                    parts.pop()
                    if rows == 1:
                        cells = {name: one[0] for name, one in part.items()}
                        shown = {name: _shown(one, kinds[name]) for name, one in cells.items()}
                        self.refused.append(shown)
                        errors.append(error)
                        continue
                    half = rows // 2
                    parts.append(({name: one[half:] for name, one in part.items()}, rows - half))
                    parts.append(({name: one[:half] for name, one in part.items()}, half))
        except BaseException:
            # What is not stored goes before the rows that came meanwhile.
            parts.reverse()
            self._put_back(parts)
            raise
        if errors:
            # Whatever the table has become, the next row is compared with it.
            self._converters = {}
            refused = InvalidArgumentError(
                f"{len(errors)} of {count} rows do not fit the table any more, and are in the "
                f"writer's `refused`; the others were appended. The first: {errors[0]}"
            )
            refused.inner = tuple(errors)
            raise refused

    def _put_back(self, parts: list[tuple[_Rows, int]]) -> None:
        parts = [*parts, (self._columns, self._count)]
        columns: _Rows = {}
        count = 0
        for part, rows in parts:
            for name in part:
                if name not in columns:
                    columns[name] = [None] * count
            for name, cells in columns.items():
                cells.extend(part.get(name) or [None] * rows)
            count += rows
        self._columns, self._count = columns, count

    def discard(self) -> int:
        """Drops the rows that were not appended, and returns their number."""
        with self._lock:
            count = self._count
            self._columns, self._count = {}, 0
            return count

    def close(self) -> None:
        """Appends the last rows. Does nothing the second time."""
        with self._lock:
            if self._is_closed:
                return
            try:
                self.flush()
            finally:
                if not self._count:
                    self._is_closed = True
                    self.table._services._writers.discard(self)

    def _abandon(self) -> None:
        """Ends without its rows: their transaction was rolled back."""
        self.discard()
        self._is_closed = True

    def __del__(self) -> None:
        if self._is_closed or not self._count:
            return
        count = self._count
        try:
            self.close()
            told = f"a writer with {count} rows was not closed; they were appended now"
        except Exception as error:
            told = f"a writer was not closed, and {count} rows are lost: {error}"
        warnings.warn(f"{told}; use it as `with table.writer() as w:`", ResourceWarning, stacklevel=2)
