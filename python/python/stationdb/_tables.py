"""Tables of measured rows."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, date, datetime
from typing import TYPE_CHECKING, Any, cast

from . import _stationdb
from ._append import Types, rows_of, samples_of, widened
from ._axis import PER_SECOND, axis_of, is_time, next_axis, place_of, start_of, step_of, tick
from ._imports import how, target
from ._plot import DRAWN_COLUMNS, Plot, drawn, kept_rows
from ._progress import Progress, reporting
from ._record import finite, whole
from ._rows import Rows
from ._stationdb import Batch, Input, TableCore
from ._writer import TableWriter
from .errors import ClosedError, ConflictError, Error, InvalidArgumentError, NotFoundError

if TYPE_CHECKING:
    import numpy

    from ._collection import Query
    from ._session import Services
    from .records import ImportTableResponse

__all__ = ["Table", "Tables", "Waveform"]

#: A value of a filter or a bound: numbers as they are, times as datetimes.
Value = str | int | float | bool | datetime | date | None
#: A filter over the columns: a text, or a text and the values of @0, @1, … in it.
Where = str | tuple[Any, ...] | None

_PYTHON_TYPES: dict[Any, str] = {
    bool: "BOOL",
    int: "INT64",
    float: "FLOAT64",
    str: "STRING",
    datetime: "TIMESTAMP_US",
}
_TYPES = (
    "BOOL",
    "FLOAT32",
    "FLOAT64",
    "INT32",
    "INT64",
    "STRING",
    "TIMESTAMP",
    "TIMESTAMP_US",
    "TIMESTAMP_NS",
)
_ARROW_TYPES = {
    "Boolean": "BOOL",
    "Int8": "INT32",
    "Int16": "INT32",
    "Int32": "INT32",
    "Int64": "INT64",
    "UInt8": "INT32",
    "UInt16": "INT32",
    "UInt32": "INT64",
    "UInt64": "INT64",
    "Float16": "FLOAT32",
    "Float32": "FLOAT32",
    "Float64": "FLOAT64",
    "Utf8": "STRING",
    "LargeUtf8": "STRING",
    "Utf8View": "STRING",
    "Date32": "TIMESTAMP",
    "Date64": "TIMESTAMP",
}
_UNITS = {"s": "TIMESTAMP", "ms": "TIMESTAMP", "us": "TIMESTAMP_US", "µs": "TIMESTAMP_US"}
_INDEXES = ("INT32", "INT64", "TIMESTAMP", "TIMESTAMP_US", "TIMESTAMP_NS")
_TABLE_ORDERS = {
    "createdAt": "CREATED_AT",
    "metadataModifiedAt": "METADATA_MODIFIED_AT",
    "name": "NAME",
    "numberOfRows": "NUMBER_OF_ROWS",
    "rowsModifiedAt": "ROWS_MODIFIED_AT",
}
_METHODS = {"maxmin": "MAX_MIN", "lossy": "LOSSY", "entryexit": "ENTRY_EXIT"}


def cell(value: Any) -> str | None:
    """A value as the cells of a filter are written."""
    kind = type(value)
    if kind is int or kind is float:
        return repr(value)
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, datetime):
        if value.tzinfo is None and type(value).__module__.startswith("pandas"):
            # As in the rows of pandas, a time without a zone is in UTC.
            return f"{value.isoformat()}Z"
        if value.tzinfo is None:
            raise InvalidArgumentError(
                f"the time {value} has no time zone; give datetime.now(timezone.utc), or "
                "value.astimezone()"
            )
        return value.astimezone(UTC).isoformat().replace("+00:00", "Z")
    if isinstance(value, date):
        return f"{value.isoformat()}T00:00:00Z"
    if type(value).__module__ == "numpy":
        if type(value).__name__ == "datetime64":
            return _moment(value)
        return cell(value.item())
    if isinstance(value, int | float):
        return repr(value)
    raise InvalidArgumentError(
        f"the value {value!r} is of type {type(value).__name__}; give a number, a text, a bool or "
        "a datetime"
    )


def _moment(value: Any) -> str:
    """A time of numpy, which is in UTC, as a cell."""
    import numpy

    if numpy.isnat(value):
        raise InvalidArgumentError(f"the value {value!r} is no time; give a datetime")
    unit, count = numpy.datetime_data(value.dtype)
    coarse = unit in ("Y", "M", "W", "D", "h", "m")
    exact = value.astype("datetime64[s]" if coarse else f"datetime64[{unit}]")
    return f"{exact}Z"


def column_type(given: Any) -> str:
    """The name of a type: as the library, Python or numpy names it."""
    if isinstance(given, str) and given.upper() in _TYPES:
        return given.upper()
    if given in _PYTHON_TYPES:
        return _PYTHON_TYPES[given]
    if isinstance(given, type) or hasattr(given, "kind"):
        name = getattr(given, "__name__", None) or str(given)
    else:
        name = str(given)
    numpy_types = {
        "bool": "BOOL",
        "float32": "FLOAT32",
        "float64": "FLOAT64",
        "int32": "INT32",
        "int64": "INT64",
        "int16": "INT32",
        "int8": "INT32",
        "uint8": "INT32",
        "uint16": "INT32",
        "uint32": "INT64",
        "str": "STRING",
        "datetime64[ms]": "TIMESTAMP",
        "datetime64[us]": "TIMESTAMP_US",
        "datetime64[ns]": "TIMESTAMP_NS",
    }
    if name in numpy_types:
        return numpy_types[name]
    raise InvalidArgumentError(
        f"there is no type {given!r} of columns; the types are {', '.join(_TYPES)}, and bool, int, "
        "float, str, datetime"
    )


def _of_arrow(name: str, arrow: str) -> str:
    known = _ARROW_TYPES.get(arrow)
    if known is not None:
        return known
    if arrow.startswith("Timestamp("):
        found = re.match(r"Timestamp\((\w+|µs)", arrow)
        unit = found.group(1) if found else "ns"
        long = {"Second": "s", "Millisecond": "ms", "Microsecond": "us", "Nanosecond": "ns"}
        return _UNITS.get(long.get(unit, unit), "TIMESTAMP_NS")
    if arrow.startswith("Dictionary("):
        return _of_arrow(name, arrow.rpartition(", ")[2].rstrip(")"))
    if arrow == "Null":
        raise InvalidArgumentError(
            f"column {name!r} has only nulls, which tell no type; name the columns when the table "
            f"is created, as in columns={{{name!r}: float}}"
        )
    raise InvalidArgumentError(
        f"column {name!r} has the Arrow type {arrow}, which no column of a table keeps; convert it, "
        "for example to float or to text"
    )


def _column(name: str, data_type: str, index: str | None, **properties: str) -> dict[str, Any]:
    role = "INDEX" if name == index else "NULLABLE"
    column: dict[str, Any] = {"name": name, "dataType": data_type, "columnType": role}
    if properties:
        column["properties"] = properties
    return column


def _pairs(columns: Any) -> list[Any]:
    return list(columns.items() if isinstance(columns, Mapping) else columns)


def _declared(columns: Any, index: str | None) -> list[dict[str, Any]]:
    """The columns of a new table, of a dict of types, of pairs, or of `Column` records."""
    out: list[dict[str, Any]] = []
    for one in _pairs(columns):
        if hasattr(one, "to_dict"):
            out.append(one.to_dict())
        elif isinstance(one, Mapping):
            out.append(dict(one))
        elif isinstance(one, tuple) and len(one) in (2, 3) and isinstance(one[0], str):
            column = _column(one[0], column_type(one[1]), index)
            if len(one) == 3 and one[2] is not None:
                column["properties"] = {"unit": one[2]}
            out.append(column)
        else:
            raise InvalidArgumentError(
                f"{one!r} is no column; give a dict as in {{'t': 'INT64', 'volts': float}}, or "
                "tuples of name, type and unit"
            )
    names = [column.get("name") for column in out]
    if index is not None and index not in names:
        raise InvalidArgumentError(
            f"the index {index!r} is not among the columns {names}; add it, as in {index!r}: int"
        )
    if index is not None:
        for column in out:
            if column.get("name") == index:
                column["columnType"] = "INDEX"
    if not any(column.get("columnType") == "INDEX" for column in out):
        raise InvalidArgumentError(
            f"the table needs an index, the column by which its rows are ordered; give index=, the "
            f"name of a column of whole numbers or times among {names}"
        )
    return out


def _filter(where: Where, start: Any, stop: Any, index: str | None) -> dict[str, Any]:
    asked: dict[str, Any] = {}
    condition = _condition(where)
    if condition is not None:
        asked["filter"], values = condition
        if values is not None:
            asked["substitutions"] = values
    bounds = [("GREATER_THAN_EQUALS", start), ("LESS_THAN", stop)]
    filters = [
        {"column": index, "operation": operation, "value": cell(bound)}
        for operation, bound in bounds
        if bound is not None
    ]
    if filters:
        asked["filters"] = filters
    return asked


def _condition(where: Where) -> tuple[str, list[Any] | None] | None:
    """The text of a filter, and the values of its @0, @1, …"""
    if where is None:
        return None
    if isinstance(where, str):
        return where, None
    if isinstance(where, tuple) and where and isinstance(where[0], str):
        values = [value if _is_plain(value) else cell(value) for value in where[1:]]
        return where[0], finite(values)
    raise InvalidArgumentError(
        f"the filter {where!r} is no text; give where=\"volts > 0.5\", or "
        'where=("volts > @0", limit)'
    )


def _is_plain(value: object) -> bool:
    return value is None or type(value) in (bool, int, float, str)


def _names(given: str | Iterable[str] | None, what: str) -> list[str] | None:
    if given is None:
        return None
    names = [given] if isinstance(given, str) else list(given)
    for name in names:
        if not isinstance(name, str):
            raise InvalidArgumentError(f"{what} has {name!r}; give names of columns")
    return names


class Waveform:
    """The samples of one waveform, with their places.

    `x` has the place of each sample: seconds as float64, datetime64[ns] in UTC, or counts as int64
    where the index is a whole number without a unit of time.
    `y` has the samples of each column, and `units` their units, as far as the columns have one.
    `t0` and `dt` tell the axis where the samples lie at equal steps, and are None elsewhere.
    """

    __slots__ = ("dt", "number", "t0", "unit", "units", "x", "y")

    def __init__(self, found: dict[str, Any]) -> None:
        import numpy

        self.number: int | None = found["number"]
        self.t0: datetime | float | int | None = found["t0"]
        self.dt: float | int | None = found["dt"]
        self.unit: str | None = found["unit"]
        buffer, name = found["x"]
        self.x: numpy.ndarray[Any, Any] = numpy.frombuffer(buffer, dtype=name)
        per_second = PER_SECOND.get(self.unit or "")
        if found["axis"] != "seconds" and name == "int64" and per_second is not None:
            self.x = self.x / per_second
            self.t0 = None if self.t0 is None else cast("int", self.t0) / per_second
            self.dt = None if self.dt is None else self.dt / per_second
            self.unit = "s"
        self.y: dict[str, numpy.ndarray[Any, Any]] = {}
        self.units: dict[str, str | None] = {}
        for column, unit, values, dtype in found["y"]:
            self.y[column] = numpy.frombuffer(values, dtype=dtype)
            self.units[column] = unit

    def __len__(self) -> int:
        return len(self.x)

    def __repr__(self) -> str:
        of = "" if self.number is None else f" {self.number}"
        return f"<Waveform{of} of {len(self)} samples, {', '.join(self.y)}>"


class Table:
    """A table of measured rows.

    Rows are ordered by one column of whole numbers or times, the index. `Tables.create` and
    `Tables.get` return tables. A table that was created without columns gets them from its first
    append.
    """

    __slots__ = ("_answers", "_core", "_first", "_index", "_pending", "_services")

    def __init__(
        self, services: Services, id: str | None, pending: dict[str, Any] | None = None
    ) -> None:
        self._answers: list[dict[str, Any]] = []
        self._services = services
        self._core = None if id is None else TableCore(services._core, id)
        self._pending = pending
        #: The transaction of the first append, and the id of the table that it makes.
        self._first: tuple[Services, str] | None = None
        self._index: dict[str, Any] | None = None

    def _made(self) -> TableCore:
        self._look_again()
        if self._core is None:
            raise ConflictError(
                "the table has no columns yet: the first append makes it, or columns= of create"
            )
        return self._core

    @property
    def id(self) -> str:
        """The id of the table: 24 hexadecimal digits."""
        return self._made().id

    def metadata(self) -> dict[str, Any]:
        """Name, columns, number of rows, properties and times of the table, as the wire has them.

        Raises `NotFoundError` when the table was deleted.
        """
        return self._services._core.get("get_table_metadata", self.id)

    @property
    def name(self) -> str:
        """The name of the table; its id if it was given none."""
        return str(self.metadata()["name"])

    @property
    def imported(self) -> list[ImportTableResponse]:
        """What `Tables.import_file` told of the file, one answer for each table of it.

        Each has the id of its table, its columns with the reasons for their types, and warnings.
        The first one is about this table. Empty for a table that `import_file` did not return.
        """
        from .records import ImportTableResponse

        return [ImportTableResponse.from_dict(one) for one in self._answers]

    @property
    def columns(self) -> dict[str, str]:
        """The type of each column, in order of creation."""
        return {column["name"]: column["dataType"] for column in self.metadata()["columns"]}

    @property
    def properties(self) -> dict[str, str]:
        """The properties of the table."""
        return dict(self.metadata().get("properties") or {})

    @property
    def units(self) -> dict[str, str | None]:
        """The unit of each column; None for those without one."""
        return {
            one["name"]: (one.get("properties") or {}).get("unit")
            for one in self.metadata()["columns"]
        }

    def __len__(self) -> int:
        """The number of rows."""
        self._look_again()
        return 0 if self._core is None else int(self.metadata()["rowCount"])

    def __bool__(self) -> bool:
        return True

    def __repr__(self) -> str:
        if self._core is None:
            return "<Table without columns>"
        return f"<Table {self.id}>"

    def _index_column(self) -> dict[str, Any]:
        known = self._index
        if known is None:
            columns: list[dict[str, Any]] = self.metadata()["columns"]
            known = next(one for one in columns if one["columnType"] == "INDEX")
            self._index = known
        return known

    def _bounds(self, where: Where, start: Any, stop: Any) -> dict[str, Any]:
        needs = start is not None or stop is not None
        return _filter(where, start, stop, self._index_column()["name"] if needs else None)

    def _make(self, rows: Input) -> list[dict[str, Any]]:
        index = (self._pending or {}).get("index")
        found = rows.columns
        if index is None and found:
            name, arrow = found[0]
            if _of_arrow(name, arrow) not in _INDEXES:
                raise InvalidArgumentError(
                    f"the first column {name!r} cannot be the index, by which rows are ordered: it "
                    "has no whole numbers or times; name the one that can, as in "
                    'tables.create("loop", index="t")'
                )
            index = name
        if index not in [name for name, _ in found]:
            if not found:
                raise InvalidArgumentError("the rows have no columns; give the index and others")
            names = [name for name, _ in found]
            raise InvalidArgumentError(f"the rows have no column {index!r}, the index, but {names}")
        for name, arrow in found:
            if name == index and _of_arrow(name, arrow) not in _INDEXES:
                raise InvalidArgumentError(
                    f"the index {name!r} has the Arrow type {arrow}, and rows are ordered by whole "
                    f"numbers or times: {', '.join(_INDEXES)}"
                )
        return [_column(name, _of_arrow(name, arrow), index) for name, arrow in found]

    def _create(self, services: Services, columns: list[dict[str, Any]]) -> TableCore:
        request = {**(self._pending or {}), "columns": columns}
        request.pop("index", None)
        exist_ok = request.pop("existOk", None)
        if exist_ok is not None:
            # Somebody may have made it since it was looked for.
            taken = _named(services, request["name"], request.get("workspace"))
            if taken is not None and not exist_ok:
                raise _taken(request["name"], taken)
            if taken is not None:
                return TableCore(services._core, taken)
        created = services.call("create_table", request)
        id = created["id"] if isinstance(created, dict) else created
        return TableCore(services._core, str(id))

    def append(self, data: Any, *, end: bool = False) -> None:
        """Appends rows, all or none; they are durable when this returns.

        `data` is anything with the Arrow C data interface (tables of pyarrow, pandas, polars,
        duckdb, arro3), an iterator of such batches, a dict of arrays or lists, a structured array of
        numpy, or a list of dicts. The levels of an index of pandas are the first columns.
        Columns are found by name; those that are NULLABLE may be left out. Numbers of numpy are
        taken without a copy. A column of floats takes the whole numbers that a float equals. Times
        without a zone in numpy, pandas and Arrow are UTC; a datetime of Python needs a zone. Missing
        values of pandas and masked ones of numpy are null. `end` closes the table: no rows come
        after these.

        Raises `InvalidArgumentError` with the row and the column of a value that does not fit;
        `ConflictError` when the table is closed; `LimitExceededError` for too many rows; and, as it
        is, what an iterator raises.

        >>> table = db.tables.create("volts", index="t")
        >>> table.append({"t": [0, 1], "volts": [0.5, 0.7]})
        >>> table.append([{"t": 2, "volts": None}])
        >>> len(table)
        3
        """
        if isinstance(data, list | tuple) and not data and not end:
            return
        self._look_again()
        rows = rows_of(data, self._types)
        try:
            try:
                self._append(rows, end or None)
            except InvalidArgumentError:
                again = widened(data, self._types)
                if again is None:
                    raise
                self._append(again, end or None)
        except Error as error:
            # Rows of a store know what ended them; their stream has only words.
            raise (data._reraise(error) if isinstance(data, Rows) else error) from None

    def _look_again(self) -> None:
        """Takes the table that a first append has made: an interrupted one, or, after
        `create(name, exist_ok=True)`, that of another handle.
        """
        if self._core is not None:
            return
        first, pending = self._first, self._pending or {}
        if first is not None and first[0]._core.is_committed:
            self._adopt(first[1])
        elif pending.get("existOk"):
            taken = _named(self._services, pending["name"], pending.get("workspace"))
            if taken is not None:
                self._adopt(taken)

    def _append(self, rows: Input, end: bool | None) -> None:
        self._look_again()
        if self._core is not None:
            self._core.append(rows, end)
        else:
            self._append_first(self._make(rows), lambda core: core.append(rows, end))

    def _append_first(
        self, columns: list[dict[str, Any]], append: Callable[[TableCore], None]
    ) -> None:
        """Makes the table and appends its first rows, both in one commit."""
        with self._services._nested() as tx:
            core = self._create(tx, columns)
            append(core)
            # An exception of a signal may come before the table is known, and after the commit.
            self._first = (tx, core.id)
        self._adopt(core.id)

    def _adopt(self, id: str) -> None:
        self._core = TableCore(self._services._core, id)
        self._pending = self._first = None

    def _types(self) -> Types:
        return {} if self._core is None else self.columns

    def append_waveform(
        self,
        y: Any,
        *,
        dt: float | int,
        t0: float | int | datetime | None = None,
        unit: str | None = None,
        number: int | None = None,
    ) -> None:
        """Appends samples at equal steps, one row for each; arrays of numpy without a copy.

        `y` is an array or a list of one dimension, or a dict of such of the same length: float64,
        float32, int64, int32 or int16, none of them masked or null. A column of floats takes the
        whole numbers that a float equals. Sample i is at t0 + i * dt.
        Where the index is a time, or a whole number with a unit of time, dt is in seconds, and t0 in
        seconds or a time: a datetime, with the nanoseconds of pandas, or a datetime64; else both are
        whole numbers. A float since 1970, whose steps are 256 ns, is the nearest tick. Places that
        the index cannot keep exactly are refused. `unit` is the unit of the samples of a table that
        gets its columns now. `number` is the number of the waveform, for a table of
        `Tables.create_waveforms`.

        Without t0 the samples follow the last row of the table at one step, as a stream that is
        written in parts; in a table without rows, and of a numbered waveform, t0 is 0 then. Samples
        between whose places the table has rows are refused, because they would mix with them.

        Raises `InvalidArgumentError` for arrays of other types, orders and lengths; `ConflictError`
        for samples that would mix with the rows of the table.

        >>> import numpy as np
        >>> table = db.tables.create("noise", index="t")
        >>> table.append_waveform({"volts": np.zeros(1000)}, dt=1e-8, unit="V")
        >>> table.waveforms()[0].dt
        1e-08
        """
        dt, t0 = step_of(dt), start_of(t0)
        self._look_again()
        columns = self._samples(y)
        if self._core is not None:
            axis = self._axis(dt, t0, len(columns[0][1]), number is not None)
            self._core.append_waveform(columns, axis, number)
            return
        t0 = 0 if t0 is None else t0
        if number is not None:
            raise InvalidArgumentError(
                "a waveform with a number needs a table of tables.create_waveforms(name, columns)"
            )
        declared = self._waveform_columns(columns, dt, t0, unit)
        axis = axis_of(declared[0], dt, t0)
        self._append_first(declared, lambda core: core.append_waveform(columns, axis, None))

    def _samples(self, y: Any) -> list[tuple[str, Any]]:
        if not isinstance(y, Mapping):
            names = [name for name in self._types() if name not in self._axis_names()]
            if len(names) != 1:
                has = f"the columns {', '.join(names)}" if names else "no columns yet"
                raise InvalidArgumentError(
                    f"the samples have no name, and the table has {has}; give a dict, as in "
                    '{"volts": samples}'
                )
            y = {names[0]: y}
        columns: list[tuple[str, Any]] = []
        for name, values in y.items():
            if not isinstance(name, str):
                raise InvalidArgumentError(f"a column is named {name!r}; names are texts")
            columns.append((name, samples_of(name, values, self._types)))
        return columns

    def _axis_names(self) -> set[str]:
        return {self._index_column()["name"], "t0", "dt"} if self._core is not None else set()

    def _axis(self, dt: Any, t0: Any, count: int, is_numbered: bool) -> tuple[str, Any, Any]:
        index = self._index_column()
        if is_numbered:
            columns = {one["name"]: one for one in self.metadata()["columns"]}
            return axis_of(columns.get("t0", index), dt, 0 if t0 is None else t0)
        if t0 is None:
            last = self._place((None, None, None, False), [(index["name"], True)])
            return axis_of(index, dt, 0) if last is None else next_axis(index, dt, last)
        axis = axis_of(index, dt, t0)
        places = [place_of(index, axis, at) for at in (0, count - 1)]
        if None in places:
            return axis
        low, high = (cell(place) for place in sorted(places))
        met = self._place((index["name"], low, high, True), [])
        if met is not None:
            raise ConflictError(
                f"the samples go from {places[0]} to {places[1]}, and the table has a row at {met}, "
                "which they would mix with; leave t0= out to go on behind the last row, or keep "
                "several captures in a table of tables.create_waveforms"
            )
        return axis

    def _place(
        self,
        bounds: tuple[str | None, str | None, str | None, bool],
        order: list[tuple[str, bool]],
    ) -> Any:
        """The index value of the first row of a read, as numpy has it; None without rows."""
        name = self._index_column()["name"]
        found = Rows(self._made().scan([name], bounds, None, order, 1)).to_numpy()[name]
        return found[0] if len(found) else None

    def _waveform_columns(
        self, columns: list[tuple[str, Any]], dt: Any, t0: Any, unit: str | None
    ) -> list[dict[str, Any]]:
        index = (self._pending or {}).get("index") or "t"
        units = {} if unit is None else {"unit": unit}
        if is_time(t0):
            first = _column(index, "TIMESTAMP_NS", index)
        elif isinstance(dt, int) and isinstance(t0, int):
            first = _column(index, "INT64", index)
        else:
            first = _column(index, "INT64", index, unit=tick(dt, t0))
        kinds = {"f4": "FLOAT32", "f8": "FLOAT64", "i8": "INT64"}
        return [first] + [
            _column(name, kinds.get(values.dtype.str[1:], "INT32"), None, **units)
            for name, values in columns
        ]

    def writer(self, batch_rows: int = 65_536, *, seconds: float = 1.0) -> TableWriter:
        """A writer of single rows, which appends them in batches, as a context manager.

        Each batch is one durable append: of `batch_rows` rows, or of what came in `seconds`. So a
        crash loses at most the rows of the last second, and rows that come more slowly are durable
        one by one; with seconds=0 each row is, when `row` returns. A thread of the writer appends
        rows after which no other one comes, and the next call raises what it failed by. What is left
        is appended when the block ends, also when it ends with an exception. The writer of a
        transaction has no thread: its rows are durable when the transaction commits.

        >>> with db.tables.create("log", index="t").writer() as w:
        ...     for t in range(3):
        ...         w.row(t=t, volts=t / 2)
        >>> len(w.table)
        3
        """
        return TableWriter(self, batch_rows, seconds)

    def rows(
        self,
        columns: str | Iterable[str] | None = None,
        where: Where = None,
        *,
        start: Value = None,
        stop: Value = None,
        order: str | Iterable[str] | None = None,
        desc: bool = False,
        limit: int | None = None,
    ) -> Rows:
        """Rows as a stream, in the order of the index or of the columns `order`.

        `where` is a filter over the columns, such as "volts > 0.5 && probe == \\"A\\"", or a tuple
        of a filter with @0, @1, … and their values. Rows from `start` on and before `stop` are
        returned; both are values of the index. `limit` is the greatest number of rows.

        Raises `InvalidArgumentError` for an unknown column and for a filter that is wrong, with its
        place.

        >>> db.tables.get("loop").rows(where=("volts > @0", 0.4), limit=1).to_pylist()
        [{'t': 1, 'volts': 0.5}]
        """
        names = _names(columns, "columns")
        limit = None if limit is None else whole("limit", limit, "a whole number of rows")
        orders = [(name, desc) for name in _names(order, "order") or ()]
        index: str | None = None
        if start is not None or stop is not None:
            index = self._index_column()["name"]
        if desc and order is None:
            orders = [(self._index_column()["name"], True)]
        bounds = (index, cell(start), cell(stop), False)
        return Rows(self._made().scan(names, bounds, _condition(where), orders, limit))

    def decimate(
        self,
        y: str | Iterable[str] | None = None,
        *,
        points: int = 1000,
        method: str = "maxmin",
        start: Value = None,
        stop: Value = None,
        where: Where = None,
    ) -> Rows:
        """Few rows that show the curve of many: no spike is lost.

        The rows are divided into `points` intervals of equal numbers of rows. With "maxmin" each
        interval gives the rows with the least and the greatest value of each column `y`;
        "entryexit" adds the first and the last row; "lossy" gives one row. `y` is all columns of
        numbers when absent. The index is the x.

        >>> len(db.tables.get("loop").decimate("volts", points=10).to_pylist()) <= 20
        True
        """
        known = _METHODS.get(method)
        if known is None:
            raise InvalidArgumentError(
                f"there is no method {method!r}; the methods are {', '.join(_METHODS)}"
            )
        points = whole("points", points, "a whole number of intervals")
        asked = self._bounds(where, start, stop)
        index = self._index_column()["name"]
        names = _names(y, "y")
        if names is None:
            names = [
                name
                for name, kind in self.columns.items()
                if name != index and kind.startswith(("FLOAT", "INT"))
            ]
        if known != "LOSSY" and not names:
            raise InvalidArgumentError("the table has no columns of numbers to decimate")
        asked["columns"] = [index, *(name for name in names if name != index)]
        asked["decimation"] = {"method": known, "intervals": points, "yColumns": names}
        return Rows(self._made().decimate(asked))

    def aggregate(
        self,
        values: Mapping[str, str | Sequence[str]] | None = None,
        *,
        by: str | Iterable[str] | Mapping[str, float | None] | None = None,
        where: Where = None,
        start: Value = None,
        stop: Value = None,
    ) -> list[dict[str, Any]]:
        """Counts, sums, means and extremes of rows, as a dict for each group.

        `values` names the functions of each column: count, min, max, sum, mean, deviation,
        population_deviation, first, last. `by` names the columns whose values make the groups, or a
        dict of columns and the widths of their buckets. Each dict has the keys, `rows`, and a value
        named `column_function` for each function. Sums are exact, whatever the order of the rows.

        >>> db.tables.get("loop").aggregate({"volts": ["min", "max"]})
        [{'rows': 4, 'volts_min': 0.0, 'volts_max': 1.5}]
        """
        types = self.columns
        asked: dict[str, Any] = self._bounds(where, start, stop)
        wanted: list[tuple[str, str]] = []
        for column, functions in (values or {}).items():
            for function in [functions] if isinstance(functions, str) else functions:
                wanted.append((column, function))
        asked["aggregates"] = [
            {"function": function.upper(), "column": column} for column, function in wanted
        ]
        keys: dict[str, float | None]
        keys = dict(by) if isinstance(by, Mapping) else dict.fromkeys(_names(by, "by") or [])
        asked["groupBy"] = [
            {"column": name} if width is None else {"column": name, "width": width}
            for name, width in keys.items()
        ]
        answer = self._services.call("aggregate_table_data", {"id": self.id, **asked})
        out: list[dict[str, Any]] = []
        for group in answer["groups"]:
            row: dict[str, Any] = {
                name: _typed(value, types.get(name, "STRING"))
                for name, value in zip(keys, group["keys"], strict=True)
            }
            row["rows"] = group["rows"]
            for (column, function), value in zip(wanted, group["values"], strict=True):
                kind = types.get(column, "STRING")
                if function.lower() == "count":
                    kind = "INT64"
                elif function.lower() in ("mean", "deviation", "population_deviation"):
                    kind = "FLOAT64"
                row[f"{column}_{function.lower()}"] = _typed(value.get("value"), kind)
            out.append(row)
        return out

    def waveforms(
        self, columns: str | Iterable[str] | None = None, *, start: Value = None, stop: Value = None
    ) -> list[Waveform]:
        """Samples as arrays with their axis, from the index value `start` to `stop`, both included.

        A table of samples is one waveform; of numbered waveforms each is one.
        """
        asked: dict[str, Any] = {}
        if columns is not None:
            asked["columns"] = _names(columns, "columns")
        if start is not None:
            asked["from"] = cell(start)
        if stop is not None:
            asked["to"] = cell(stop)
        return [Waveform(found) for found in self._made().waveforms(asked)]

    def statistics(self) -> dict[str, Any]:
        """Rows, and nulls, NaNs and the range of each column, as far as they are known unread."""
        answer = self._services.call("table_statistics", {"id": self.id})
        return cast("dict[str, Any]", answer)

    def delete_rows(
        self, where: Where = None, *, start: Value = None, stop: Value = None
    ) -> int:
        """Deletes the rows from the index value `start` on and before `stop` that match `where`.

        Returns their number. Raises `InvalidArgumentError` without any condition.
        """
        asked = _filter(where, None, None, None)
        if start is not None:
            asked["indexFrom"] = cell(start)
        if stop is not None:
            asked["indexBefore"] = cell(stop)
        answer = self._services.call("delete_rows", {"id": self.id, **asked})
        return int(answer["rowCount"])

    def add_columns(self, columns: Mapping[str, Any] | Iterable[Any]) -> None:
        """Adds columns, which are null in the rows that the table has.

        `columns` is a dict of names and types, or tuples of name, type and unit.
        """
        out: list[dict[str, Any]] = []
        for one in _pairs(columns):
            if hasattr(one, "to_dict"):
                out.append(one.to_dict())
                continue
            name, kind, *unit = one
            units = {"unit": unit[0]} if unit else {}
            out.append(_column(name, column_type(kind), None, **units))
        self._services.call("add_columns", {"id": self.id, "columns": out})

    def delete(self) -> None:
        """Deletes the table with its rows."""
        self._services.call("delete_table", {"id": self.id})

    def end(self) -> None:
        """Closes the table: no rows come any more. They can be read as before."""
        request = {"endOfData": True}
        self._services.call("append_table_data", {"id": self.id, **request})

    def export(
        self,
        target: str | os.PathLike[str] | Any,
        format: str | None = None,
        *,
        columns: str | Iterable[str] | None = None,
        where: Where = None,
        start: Value = None,
        stop: Value = None,
        fill: Mapping[str, Any] | None = None,
        progress: Progress = None,
    ) -> int:
        """Writes rows into a file, or into an object with `write`. Returns their number.

        `format` is "csv", "parquet", "arrow" (an IPC stream) or "tdms"; the end of the path tells it
        when it is absent. A file that could not be written to its end is removed. A CSV does not say
        which column is the index: name it when the file is imported again. TDMS has no nulls: those
        of floats are NaN, and `fill` has the values of others by column, as in {"count": 0}.
        """
        formats = {"csv": "CSV", "parquet": "PARQUET", "arrow": "ARROW_STREAM", "tdms": "TDMS"}
        if format is None and isinstance(target, str | os.PathLike):
            format = os.fspath(target).rpartition(".")[2].lower()
        if format not in formats:
            raise InvalidArgumentError(
                f"there is no format {format!r}; give format=\"csv\", \"parquet\", \"arrow\" or "
                '"tdms"'
            )
        if fill and format != "tdms":
            raise InvalidArgumentError("fill is for TDMS; other formats have nulls")
        asked = self._bounds(where, start, stop)
        if columns is not None:
            asked["columns"] = _names(columns, "columns")
        if format == "tdms":
            texts = {
                column: str(value).lower() if isinstance(value, bool) else str(value)
                for column, value in (fill or {}).items()
            }
            with reporting(progress, "export") as report:
                return self._made().export_tdms(target, asked, texts, report)
        asked["responseFormat"] = formats[format]
        with reporting(progress, "export") as report:
            return self._made().export(target, asked, report)

    def export_files(
        self, directory: str | os.PathLike[str], *, progress: Progress = None
    ) -> dict[str, Any]:
        """Copies the stored Parquet files into a new or empty directory, without reading the rows.

        Returns their manifest, which lies beside them as `manifest.json`.
        """
        with reporting(progress, "export") as report:
            found = self._made().export_segments(directory, report)
            return cast("dict[str, Any]", found)

    def plot(
        self,
        y: str | Iterable[str] | None = None,
        *,
        points: int = 1000,
        start: Value = None,
        stop: Value = None,
        low: float | None = None,
        high: float | None = None,
        number: int | None = None,
    ) -> Plot:
        """A picture of curves over the index, which notebooks show as a page that zooms.

        `save` writes it as SVG, or as an HTML file that any browser opens without a network. Without
        `y` it shows the first eight columns of numbers.

        It is drawn from decimated rows, so it shows every spike of a billion samples. `low` and
        `high` are limits, drawn as lines. Of a table of numbered waveforms `number` is the one to
        draw, and `start` and `stop` are places on its axis.
        """
        if self._is_numbered():
            return self._waveform_plot(y, points, start, stop, low, high, number)
        if number is not None:
            raise InvalidArgumentError("the table has no numbered waveforms; leave number= out")
        rows = self.decimate(y, points=points, start=start, stop=stop)
        x, *names = rows.columns
        if y is None:
            names = names[:DRAWN_COLUMNS]
        plot = drawn(self.name, rows.to_numpy(), x, names, self.units, low, high)
        asked = {**self._bounds(None, start, stop), "columns": [x, *names]}
        core, session = self._made(), self._services._core

        def page(column_bytes: int | None) -> str:
            return _stationdb.plot_page(session, core.id, asked, low, high, column_bytes)

        return Plot(plot.svg, page, len(names))

    def _is_numbered(self) -> bool:
        columns = {one["name"]: one["columnType"] for one in self.metadata()["columns"]}
        return columns.get("waveform") == "INDEX" and {"t0", "dt"} <= columns.keys()

    def _waveform_plot(
        self,
        y: str | Iterable[str] | None,
        points: int,
        start: Any,
        stop: Any,
        low: float | None,
        high: float | None,
        number: int | None,
    ) -> Plot:
        import numpy

        if number is None:
            raise InvalidArgumentError(
                "the table has numbered waveforms; give the one to draw, as in plot(number=1)"
            )
        found = self.waveforms(y, start=number, stop=number)
        if not found:
            raise NotFoundError(f"the table has no waveform with the number {number}")
        one = found[0]
        taken = numpy.ones(len(one.x), dtype=bool)
        if start is not None:
            taken &= one.x >= start
        if stop is not None:
            taken &= one.x < stop
        places = numpy.flatnonzero(taken)
        kept = kept_rows([values[places] for values in one.y.values()], points)
        columns = {name: values[places][kept] for name, values in one.y.items()}
        x = "t" if "t" not in columns else "axis"
        columns[x] = one.x[places][kept]
        units = {**one.units, x: one.unit}
        return drawn(f"{self.name} {number}", columns, x, list(one.y), units, low, high)


def _typed(value: str | None, kind: str) -> Any:
    if value is None:
        return None
    if kind.startswith("INT"):
        return int(value)
    if kind.startswith("FLOAT"):
        return float(value)
    if kind == "BOOL":
        return value.lower() == "true"
    if kind in ("TIMESTAMP", "TIMESTAMP_US"):
        return datetime.fromisoformat(value)
    return value


def _named(services: Services, name: str, workspace: str | None) -> str | None:
    """The id of the table of this name in a workspace, that of the session when absent."""
    asked = {
        "filter": "name == @0 && workspace == @1",
        "substitutions": [name, services.workspace if workspace is None else workspace],
        "take": 2,
    }
    found = services.call("query_tables", asked)["tables"]
    if len(found) > 1:
        raise ConflictError(
            f"several tables are named {name!r}, for example {found[0]['id']} and "
            f"{found[1]['id']}; get one by its id"
        )
    return str(found[0]["id"]) if found else None


def _taken(name: str, id: str) -> ConflictError:
    return ConflictError(
        f"the table {id} is named {name!r}; get it with tables.get, or leave exist_ok= out for "
        "another one of the name"
    )


class Tables:
    """The tables of a store."""

    __slots__ = ("_services",)

    def __init__(self, services: Services) -> None:
        self._services = services

    def create(
        self,
        name: str | None = None,
        columns: Mapping[str, Any] | Iterable[Any] | None = None,
        *,
        index: str | None = None,
        properties: Mapping[str, str] | None = None,
        workspace: str | None = None,
        test_result_id: str | None = None,
        exist_ok: bool | None = None,
    ) -> Table:
        """Creates a table.

        `columns` is a dict of names and types ("FLOAT64", float, numpy.float32), or tuples of name,
        type and unit. `index` names the column of whole numbers or times by which the rows are
        ordered; the others may be null. Without columns the first append gives them, and makes the
        table, in one transaction; its first column is then the index, unless `index` names another.

        Names of tables need not be unique: each call makes a table, and `get` asks for an id where
        several have the name. With exist_ok=False a name that a table of the workspace has is
        refused; with exist_ok=True that table is returned, whatever its columns are.

        Raises `InvalidArgumentError` for columns without an index; `ConflictError` for a name that is
        taken with exist_ok=False, or that several tables have with exist_ok=True.

        >>> db.tables.create("ramp", {"t": "INT64", "volts": float}, index="t").columns
        {'t': 'INT64', 'volts': 'FLOAT64'}
        """
        request: dict[str, Any] = {
            "name": name,
            "properties": None if properties is None else dict(properties),
            "workspace": workspace,
            "testResultId": test_result_id,
        }
        request = {key: value for key, value in request.items() if value is not None}
        if exist_ok is not None:
            if name is None:
                raise InvalidArgumentError("exist_ok= is about the name of a table; give one")
            taken = _named(self._services, name, workspace)
            if taken is not None and exist_ok:
                return Table(self._services, taken)
            if taken is not None:
                raise _taken(name, taken)
            request["existOk"] = exist_ok
        if columns is None:
            return Table(self._services, None, {**request, "index": index})
        table = Table(self._services, None, request)
        declared = _declared(columns, index)
        if exist_ok is None:
            return Table(self._services, table._create(self._services, declared).id)
        with self._services._nested() as tx:
            id = table._create(tx, declared).id
        return Table(self._services, id)

    def create_waveforms(
        self,
        name: str | None = None,
        columns: Mapping[str, Any] | Iterable[Any] = (("y", "FLOAT64"),),
        *,
        axis: str = "seconds",
        properties: Mapping[str, str] | None = None,
    ) -> Table:
        """Creates a table of numbered waveforms: `append_waveform(…, number=7)` adds to number 7.

        Each has its own t0 and dt: floats of seconds, or with axis="time" a time and seconds, or
        with axis="count" whole numbers.
        """
        starts = {"seconds": "FLOAT64", "time": "TIMESTAMP_NS", "count": "INT64"}
        if axis not in starts:
            raise InvalidArgumentError(f"there is no axis {axis!r}; give {', '.join(starts)}")
        step = "INT64" if axis == "count" else "FLOAT64"
        seconds = {"unit": "s"}
        declared = [
            _column("waveform", "INT64", "waveform"),
            _column("t0", starts[axis], None, **(seconds if axis == "seconds" else {})),
            _column("dt", step, None, **(seconds if step == "FLOAT64" else {})),
        ]
        for column, kind, *unit in _pairs(columns):
            units = {"unit": unit[0]} if unit else {}
            declared.append(_column(column, column_type(kind), None, **units))
        for column in declared[1:3]:
            column["columnType"] = "NORMAL"
        table = Table(
            self._services,
            None,
            {"name": name, "properties": None if properties is None else dict(properties)},
        )
        return Table(self._services, table._create(self._services, declared).id)

    def get(self, id_or_name: str) -> Table:
        """The table with this id or name.

        Raises `NotFoundError`, and `ConflictError` when several tables have the name.

        >>> db.tables.get("loop")
        <Table ...>
        """
        if not isinstance(id_or_name, str):
            raise InvalidArgumentError(f"{id_or_name!r} is neither an id nor a name of a table")
        asked = {"filter": "id == @0 || name == @0", "substitutions": [id_or_name], "take": 3}
        found = self._services.call("query_tables", asked)["tables"]
        exact = [one for one in found if one["id"] == id_or_name] or found
        if len(exact) > 1:
            raise ConflictError(
                f"several tables are named {id_or_name!r}, for example {exact[0]['id']} and "
                f"{exact[1]['id']}; get one by its id"
            )
        if not exact:
            raise NotFoundError(f"there is no table with the id or name {id_or_name!r}")
        return Table(self._services, exact[0]["id"])

    def query(
        self,
        filter: str | None = None,
        /,
        *substitutions: Any,
        order: str | None = None,
        desc: bool = False,
        take: int | None = None,
    ) -> Query[Table]:
        """Tables that match a filter over their metadata.

        The filter knows id, name, properties, rowCount, createdAt, workspace and the other members
        of `Table.metadata`; @0, @1, … in it stand for the values behind it. `order` is one of
        "createdAt", "metadataModifiedAt", "name", "numberOfRows", "rowsModifiedAt".

        The query is asked when it is used: iterate over it, or ask for `first`, `one`, `all`,
        `count`; `to_pandas` and `to_polars` have the metadata. Raises `InvalidArgumentError` then
        for a filter that is wrong, with its place.

        >>> query = db.tables.query("name == @0", "loop")
        >>> [table.name for table in query], query.count()
        (['loop'], 1)
        """
        # Hundreds of classes, which a program that only appends rows does not wait for.
        from ._collection import Query
        from .services import TableRecords

        if order is not None:
            order = _TABLE_ORDERS.get(order, order)
        records = TableRecords(self._services)
        found = records.query(filter, *substitutions, order=order, desc=desc, take=take)
        tables = self._services
        return Query(records, found._asked, found._take, lambda one: Table(tables, one["id"]))

    def __iter__(self) -> Iterator[Table]:
        """All tables."""
        return iter(self.query())

    def __contains__(self, id_or_name: object) -> bool:
        """Whether there is a table with this id or name."""
        asked = {"filter": "id == @0 || name == @0", "substitutions": [id_or_name], "take": 1}
        return isinstance(id_or_name, str) and bool(
            self._services.call("query_tables", asked)["tables"]
        )

    def import_file(
        self,
        source: str | os.PathLike[str] | Any,
        *,
        format: str | None = None,
        name: str | None = None,
        table: Table | str | None = None,
        raw: bool = False,
        ports: int | None = None,
        progress: Progress = None,
        **options: Any,
    ) -> Table:
        """Imports a file with a table, or an object with `read`, into a new or an existing table.

        The format of a file is found by its first bytes, then by its name, unless `format` says it:
        "csv", "lvm", "parquet", "tdms" or "touchstone"; "stdf-records", which is never found, has the
        records of an STDF file as tables. An object is "csv" or "parquet". Types,
        separator and decimal comma are found in the file; the options
        are those of the library's import by their names, such as index_column="t",
        time_zone="Europe/Berlin", decimal_separator=",", skip_lines=3,
        column_types={"t": "TIMESTAMP"}, preset="INSTRUMENT". A preset is the form of the files of an
        oscilloscope, a logger or a spreadsheet, with lines before and beside the rows; it is found
        by the first lines, unless `preset` says it, and "NONE" is for none. All rows are stored, or none. A new table without a name is
        named by its file. Without index_column= a new table gets the index `row`, the number of
        each row in the file, and all columns of the file beside it: a CSV does not say which one
        was the index of the table that it was exported from. Of a file with several tables, such as
        TDMS, the first one is returned; `Table.imported` lists all of them, and has the warnings.
        With `raw` values are those that the file has: unscaled in TDMS, magnitudes and angles in
        Touchstone. `ports` is for a Touchstone file whose name does not have their number.

        Raises `InvalidArgumentError` with the line and column of a value that does not fit, and
        `UnsupportedError` for a file whose format is unknown, or one with test results, which
        `Results.import_file` imports.
        """
        asked = target(name, table, options)
        if isinstance(source, str | os.PathLike):
            with reporting(progress, "import") as report:
                answers = _stationdb.import_tables(
                    self._services._core,
                    os.fspath(source),
                    how(asked, format, raw=raw, ports=ports),
                    report,
                )
            return self._imported(answers)
        if format is None:
            path = getattr(source, "name", "")
            format = os.fspath(path).rpartition(".")[2].lower() if isinstance(path, str) else ""
            format = {"": "csv", "txt": "csv", "tsv": "csv"}.get(format, format)
        if format not in ("csv", "parquet"):
            raise InvalidArgumentError(f'there is no import of {format!r}; give format="csv"')
        with reporting(progress, "import") as report:
            answer = _stationdb.import_table(
                self._services._core, source, format == "parquet", asked, report
            )
        return self._imported([answer])

    def _imported(self, answers: list[dict[str, Any]]) -> Table:
        table = Table(self._services, answers[0]["id"])
        table._answers = answers
        return table


__all__ += ["Batch", "Rows"]
