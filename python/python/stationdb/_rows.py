"""Rows: a stream of Arrow batches, and what Python programs make of it."""

from __future__ import annotations

import html
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from ._closing import Closing
from ._stationdb import Batch, RowsCore
from .errors import ConflictError, UnsupportedError

if TYPE_CHECKING:
    import numpy
    import pandas
    import polars
    import pyarrow

__all__ = ["Batch", "Rows"]

_SHOWN = 10


def missing(package: str, method: str) -> UnsupportedError:
    """The error of a method that needs a package which is not there."""
    return UnsupportedError(
        f"{method} needs {package}, which is not installed; pip install {package}, or use another "
        "to_… method"
    )


class Rows(Closing):
    """Rows of a table, of a query or of a statement, as a stream that is read once.

    The stream is over one state of the store: writes that come later are not in it. Rows come in
    batches, so a billion of them need no more memory than a thousand. Iterate over the batches, hand
    the object itself to anything that reads the Arrow C data interface (pyarrow, polars, duckdb,
    pandas, arro3), or call one of the methods, which read all of it.

    >>> rows = db.tables.get("loop").rows(["t", "volts"], limit=2)
    >>> rows.columns
    ['t', 'volts']
    >>> rows.to_pylist()
    [{'t': 0, 'volts': 0.0}, {'t': 1, 'volts': 0.5}]
    """

    __slots__ = ("_core",)

    def __init__(self, core: RowsCore) -> None:
        self._core = core

    @property
    def columns(self) -> list[str]:
        """Names of the columns, in order."""
        return self._core.column_names

    @property
    def types(self) -> dict[str, str]:
        """The Arrow type of each column."""
        return dict(zip(self._core.column_names, self._core.column_types, strict=True))

    def __iter__(self) -> Iterator[Batch]:
        """The batches, each of some ten thousand rows.

        Raises the errors of reading, as `CorruptError`; `ClosedError` when the store is closed.
        """
        while (batch := self._core.next_batch()) is not None:
            yield batch

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """The rows as a stream of the Arrow C data interface."""
        return self._core.__arrow_c_stream__(requested_schema)

    def __arrow_c_schema__(self) -> object:
        """The columns as a schema of the Arrow C data interface."""
        return self._core.__arrow_c_schema__()

    def _reraise(self, error: BaseException) -> BaseException:
        # A reader in C knows only the text of an error.
        return self._core.take_raised() or error

    def to_arrow(self) -> pyarrow.Table:
        """All rows as a `pyarrow.Table`.

        Raises `UnsupportedError` without pyarrow, and the errors of reading.
        """
        try:
            import pyarrow
        except ImportError:
            raise missing("pyarrow", "to_arrow()") from None
        try:
            return pyarrow.RecordBatchReader.from_stream(self).read_all()
        except Exception as error:
            raise self._reraise(error) from None

    def to_pandas(self) -> pandas.DataFrame:
        """All rows as a `pandas.DataFrame`; times are in UTC, nulls of numbers are NaN.

        Raises `UnsupportedError` without pandas, and the errors of reading.
        """
        try:
            import pandas
        except ImportError:
            raise missing("pandas", "to_pandas()") from None
        try:
            import pyarrow  # noqa: F401
        except ImportError:
            frame = pandas.DataFrame(self.to_numpy())
            for name in frame.columns:
                if frame[name].dtype.kind == "M":
                    frame[name] = frame[name].dt.tz_localize("UTC")
            return frame
        return self.to_arrow().to_pandas()

    def to_polars(self) -> polars.DataFrame:
        """All rows as a `polars.DataFrame`.

        Raises `UnsupportedError` without polars, and the errors of reading.
        """
        try:
            import polars
        except ImportError:
            raise missing("polars", "to_polars()") from None
        try:
            return polars.DataFrame(self)
        except Exception as error:
            raise self._reraise(error) from None

    def to_numpy(self) -> dict[str, numpy.ndarray[Any, Any]]:
        """All rows as an array of one dimension for each column.

        Numbers and bools keep their type; whole numbers with nulls become float64, whose nulls are
        NaN. Times are datetime64 in UTC, with NaT for null. Other columns, and bools with nulls, are
        arrays of objects.
        Raises `UnsupportedError` without numpy, and the errors of reading.
        """
        try:
            import numpy
        except ImportError:
            raise missing("numpy", "to_numpy()") from None
        was_read = self._core.is_read
        types = self._core.numpy_types
        parts: dict[str, list[Any]] = {name: [] for name in self.columns}
        for batch in self:
            for index, name in enumerate(parts):
                parts[name].append(_array(numpy, batch, index))
        out: dict[str, Any] = {}
        for (name, arrays), kind in zip(parts.items(), types, strict=True):
            # A batch of only nulls is of objects.
            out[name] = numpy.concatenate(arrays or [numpy.empty(0, dtype=kind)])
        self._check_unread(was_read)
        return out

    def _check_unread(self, was_read: bool) -> None:
        if was_read:
            raise ConflictError(
                "these rows were read already: a stream is read once; ask for the rows again, or "
                "keep what the method returned"
            )

    def to_pylist(self) -> list[dict[str, Any]]:
        """All rows as dicts: bool, int, float, str, None, and datetimes in UTC.

        Times in nanoseconds are int, the nanoseconds since 1970, as a datetime has microseconds.

        Raises `ConflictError` for rows that were read already.
        """
        was_read = self._core.is_read
        rows = [row for batch in self for row in batch.to_pylist()]
        self._check_unread(was_read)
        return rows

    def close(self) -> None:
        """Ends the stream and frees what it holds of the store. Does nothing the second time."""
        self._core.close()

    def __repr__(self) -> str:
        columns = ", ".join(f"{name}: {kind}" for name, kind in self.types.items())
        return f"<Rows of ({columns}){', read' if self._core.is_read else ''}>"

    def _repr_html_(self) -> str:
        """The first ten rows as a table, for notebooks. They are not taken from the stream."""
        if self._core.is_read:
            return f"<p>{html.escape(repr(self))}</p>"
        rows = [row for batch in self._core.peek(_SHOWN + 1) for row in batch.to_pylist()]
        cells = "".join(f"<th>{html.escape(name)}</th>" for name in self.columns)
        lines = [f"<tr>{cells}</tr>"]
        for row in rows[:_SHOWN]:
            cells = "".join(f"<td>{_cell(value)}</td>" for value in row.values())
            lines.append(f"<tr>{cells}</tr>")
        more = "<p>… and more rows</p>" if len(rows) > _SHOWN else ""
        return f"<table>{''.join(lines)}</table>{more}"


def _cell(value: object) -> str:
    if value is None:
        return ""
    return html.escape(f"{value:.6g}" if isinstance(value, float) else str(value))


def _array(numpy: Any, batch: Batch, index: int) -> Any:
    found = batch.numbers(index)
    if found is None:
        cells = batch.values(index)
        if cells and all(isinstance(cell, bool) for cell in cells):
            return numpy.array(cells, dtype=bool)
        values = numpy.empty(len(batch), dtype=object)
        values[:] = cells
        return values
    buffer, name, nulls = found
    values = numpy.frombuffer(buffer, dtype=name)
    if nulls is None:
        return values
    if values.dtype.kind in "iu":
        values = values.astype("float64")
    values = values.copy()
    values[numpy.array(nulls)] = numpy.nan if values.dtype.kind == "f" else numpy.datetime64("NaT")
    return values
