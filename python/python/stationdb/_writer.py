"""A writer of single rows, which appends them in batches."""

from __future__ import annotations

import atexit
import struct
import threading
import time
import warnings
from array import array
from collections.abc import Callable, Iterable
from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING, Any
from weakref import WeakSet, ref

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
#: Seconds after which the thread of a writer tries again what failed, at least.
_RETRY = 0.1
_Converter = Callable[[Any], Any]
#: A row that was taken: its cells as their columns keep them.
_Row = dict[str, Any]


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


def _unknown(name: str, known: Iterable[str]) -> InvalidArgumentError:
    return InvalidArgumentError(f"the table has no column {name!r}, but {', '.join(known)}")


class _Clock(threading.Thread):
    """The thread that appends the rows of a writer when they are due. It keeps no writer alive."""

    def __init__(self, writer: TableWriter, wait: float) -> None:
        super().__init__(name="stationdb writer", daemon=True)
        self._writer = ref(writer)
        self._wait = wait
        self._ended = threading.Event()

    def run(self) -> None:
        """Sleeps until the writer has rows that are due; ends where it has none."""
        wait: float | None = self._wait
        while wait is not None and not self._ended.wait(min(wait, threading.TIMEOUT_MAX)):
            writer = self._writer()
            wait = None if writer is None else writer._tick()
            del writer

    def end(self) -> None:
        """Wakes it up, to end."""
        self._ended.set()


#: The threads that run. The interpreter may end none of them within a call of the extension.
_CLOCKS: WeakSet[_Clock] = WeakSet()


@atexit.register
def _end_clocks() -> None:
    clocks = list(_CLOCKS)
    for clock in clocks:
        clock.end()
    for clock in clocks:
        # One that waits for a transaction of somebody else is left behind.
        clock.join(timeout=5)


def _started(writer: TableWriter, wait: float) -> _Clock | None:
    clock = _Clock(writer, wait)
    try:
        clock.start()
    except RuntimeError:
        # There are too many threads, or the interpreter ends. The next row tries again.
        return None
    _CLOCKS.add(clock)
    return clock


class TableWriter(Closing):
    """Appends single rows in batches. `Table.writer` returns one. Threads may share it."""

    __slots__ = (
        "__weakref__",
        "_batch_rows",
        "_clock",
        "_converters",
        "_failed",
        "_flushed",
        "_is_asked",
        "_is_closed",
        "_is_timed",
        "_is_working",
        "_kinds",
        "_lock",
        "_needed",
        "_rows",
        "_seconds",
        "_sent",
        "_turn",
        "refused",
        "table",
    )

    def __init__(self, table: Table, batch_rows: int, seconds: float) -> None:
        self._is_closed = True
        self._rows: list[_Row] = []
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
        # A handler of a signal may come again in the middle of a call of its thread. `_lock` is
        # held for the members alone, and `_turn` by who appends: it comes first where both are.
        self._lock = threading.RLock()
        self._turn = threading.RLock()
        self._is_working = self._is_asked = False
        #: Rows of an append whose end is not known, and their number: the first of `_rows`.
        self._sent: tuple[Input, int] | None = None
        # A table without columns gets them from the rows of the first batch; else the first row is
        # durable at once.
        self._flushed = time.monotonic() - (0 if table._core is None else seconds)
        self._kinds: dict[str, str] = {}
        self._converters: dict[str, _Converter] = {}
        self._needed: list[str] = []
        self._clock: _Clock | None = None
        #: The error of the clock, which the next call raises.
        self._failed: Exception | None = None
        # A transaction is of one thread, and its rows are durable with its commit.
        self._is_timed = table._services._is_durable and seconds > 0
        self._is_closed = False
        table._services._writers.add(self)

    def row(self, **values: Any) -> None:
        """Adds a row: a value for each column by its name.

        The rows so far are appended, durably, when they are `batch_rows`, and when the last append
        is `seconds` ago. A row that does not fit the types of the columns is refused, and loses no
        other. Those of a table without columns are given by the first value of each, and a column
        of whole numbers becomes one of floats when a float comes before the first append.

        Raises `InvalidArgumentError` for a row that does not fit, and the errors of `flush`, after
        which the row was taken.
        """
        with self._lock:
            if self._is_closed:
                raise ClosedError("the writer is closed; make another one with table.writer()")
            self._rows.append(self._fitting(values))
            failed, self._failed = self._failed, None
            wait = self._flushed + self._seconds - time.monotonic()
            is_due = len(self._rows) >= self._batch_rows or not wait > 0
            if self._is_timed and self._clock is None and not is_due:
                self._clock = _started(self, wait)
        if failed is not None:
            raise failed
        if is_due:
            self.flush()

    def _tick(self) -> float | None:
        """Appends the rows that are due, for the clock. Returns in how many seconds it looks again."""
        with self._lock:
            if self._is_closed or not self._rows:
                self._clock = None
                return None
            wait = self._flushed + self._seconds - time.monotonic()
        if wait > 0:
            return wait
        with self._turn:
            try:
                self.flush()
            except Exception as error:
                if not isinstance(self._failed, InvalidArgumentError):
                    self._failed = error
                # What cannot be appended now is tried again, and not all the time.
                return max(self._seconds, _RETRY)
        return self._seconds

    def _fitting(self, values: dict[str, Any]) -> _Row:
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
        cells: _Row = {}
        for name, value in values.items():
            convert = self._converters.get(name)
            if convert is None:
                raise _unknown(name, self._converters)
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

    def _pending(self, values: dict[str, Any]) -> _Row:
        """The values for a table whose columns come from the rows of the first batch."""
        kinds, cells = dict(self._kinds), {}
        # The columns of a batch that is being appended are those of the table.
        is_open = self._sent is None
        for name, value in values.items():
            try:
                plain = _plain(value)
                if name not in kinds and not is_open:
                    raise _unknown(name, kinds)
                if name not in kinds:
                    kinds[name] = _kind_of(plain)
                elif kinds[name] == "INT64" and isinstance(plain, float) and is_open:
                    if name not in self._needed:
                        for known in self._rows:
                            if known.get(name) is not None:
                                _float64(known[name])
                        kinds[name] = "FLOAT64"
                cells[name] = None if plain is None else _converter(kinds[name])(plain)
            except (_Misfit, InvalidArgumentError) as misfit:
                raise _refused(name, value, misfit) from None
        if not self._kinds:
            # The index is among the values of the first row, and of a type for it.
            made = self.table._make(self._input([cells], kinds))
            self._needed = [one["name"] for one in made if one["columnType"] == "INDEX"]
        for name in self._needed:
            if cells.get(name) is None:
                raise InvalidArgumentError(f"the row has no value for {name!r}, which is never null")
        self._kinds = kinds
        return cells

    @staticmethod
    def _input(rows: list[_Row], kinds: dict[str, str]) -> Input:
        given: list[tuple[str, str, str | None, Any]] = []
        for name in dict.fromkeys(name for row in rows for name in row):
            kind = kinds[name]
            cells = [row.get(name) for row in rows]
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
        if self._rows:
            # The clock may have the turn, and wait for a transaction of this thread.
            self.table._services._core.check_writable()
        with self._turn:
            self._is_asked = True
            if self._is_working:
                # A handler of a signal calls in the middle of an append, which goes on with its rows.
                return
            self._is_working = True
            try:
                while self._is_asked:
                    self._is_asked = False
                    self._store()
            finally:
                self._is_working = False
            self._flushed = time.monotonic()
            failed, self._failed = self._failed, None
            if isinstance(failed, InvalidArgumentError):
                # It is about rows that are in `refused`. What else failed was made good now.
                raise failed

    def _store(self) -> None:
        """Appends the rows. A batch that is refused is halved down to single rows."""
        self._settle()
        errors: list[Error] = []
        count = len(self._rows)
        # Numbers of rows, the next ones last.
        parts = [count] if count else []
        while parts:
            part = parts.pop()
            error = self._send(part)
            if error is None:
                continue
            if part > 1:
                parts += [part - part // 2, part // 2]
            else:
                errors.append(error)
                self._refuse()
        if errors:
            # Whatever the table has become, the next row is compared with it.
            self._converters = {}
            refused = InvalidArgumentError(
                f"{len(errors)} of {count} rows do not fit the table any more, and are in the "
                f"writer's `refused`; the others were appended. The first: {errors[0]}"
            )
            refused.inner = tuple(errors)
            raise refused

    def _send(self, count: int) -> InvalidArgumentError | None:
        """Appends the first rows. Returns why the table does not take them."""
        with self._lock:
            rows = self._rows[:count]
            if not rows:
                return None
            given = self._input(rows, self._kinds)
            self._sent = (given, len(rows))
        try:
            self.table._append(given, None)
        except InvalidArgumentError as error:
            if given.is_stored:
                # It is of a handler of a signal.
                raise
            return error
        finally:
            self._settle()
        return None

    def _settle(self) -> None:
        """Drops the rows that were sent, if the table has them.

        An exception of a signal may come after an append and before its rows are dropped, so it is
        the extension that knows what is stored.
        """
        with self._lock:
            if self._sent is not None:
                given, count = self._sent
                rest = self._rows[count:] if given.is_stored else self._rows
                # No signal comes between these two.
                self._rows, self._sent = rest, None

    def _refuse(self) -> None:
        """Puts the first row aside."""
        with self._lock:
            if self._rows:
                row = self._rows[0]
                self.refused.append({name: _shown(row[name], self._kinds[name]) for name in row})
                self._rows = self._rows[1:]

    def discard(self) -> int:
        """Drops the rows that were not appended, and returns their number."""
        with self._lock:
            if not self._is_working:
                self._settle()
            # Those of an append that is going on are not dropped.
            first = 0 if self._sent is None else self._sent[1]
            count = len(self._rows) - first
            self._rows = self._rows[:first]
            self._failed = None
            return count

    def close(self) -> None:
        """Appends the last rows. Does nothing the second time."""
        if self._is_closed:
            return
        try:
            self.flush()
        finally:
            with self._lock:
                if not self._rows:
                    self._end_now()

    def _end_now(self) -> None:
        self._is_closed = True
        self.table._services._writers.discard(self)
        if self._clock is not None:
            self._clock.end()

    def _abandon(self) -> None:
        """Ends without its rows: their transaction was rolled back."""
        self.discard()
        self._is_closed = True

    def __del__(self) -> None:
        if self._is_closed or not self._rows:
            return
        count = len(self._rows)
        try:
            self.close()
            told = f"a writer with {count} rows was not closed; they were appended now"
        except Exception as error:
            told = f"a writer was not closed, and {count} rows are lost: {error}"
        warnings.warn(f"{told}; use it as `with table.writer() as w:`", ResourceWarning, stacklevel=2)
