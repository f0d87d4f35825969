"""Rows of Python programs as rows of Arrow: data frames, dicts of arrays, lists of dicts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from ._stationdb import Input
from .errors import InvalidArgumentError

#: The type of each column of a table, by name.
Types = Mapping[str, str]

_FORMS = (
    "a pandas, polars or pyarrow table, a dict of arrays or lists, or a list of dicts, "
    'as in {"t": [0, 1], "volts": [0.5, 0.7]}'
)
_Column = tuple[str, str, str | None, Any]


def rows_of(data: Any, types: Callable[[], Types]) -> Input:
    """The rows of `data`. `types` is asked for the table's columns where lists need them."""
    module = type(data).__module__.partition(".")[0]
    if module == "pandas":
        return _pandas(data, types)
    if isinstance(data, Mapping):
        return _columns(data, types)
    if _is_arrow(data):
        return _arrow(data)
    names = getattr(getattr(data, "dtype", None), "names", None)
    if names:
        return _columns({name: data[name] for name in names}, types)
    if isinstance(data, str | bytes) or hasattr(data, "dtype"):
        raise InvalidArgumentError(f"rows cannot be made of {_named(data)}; give {_FORMS}")
    if isinstance(data, Iterable):
        return _dicts(data, types)
    raise InvalidArgumentError(f"rows cannot be made of {_named(data)}; give {_FORMS}")


def _named(data: object) -> str:
    shape = getattr(data, "shape", None)
    of = "" if shape is None else f" with the shape {shape}"
    return f"{type(data).__name__}{of}"


def _is_arrow(data: object) -> bool:
    return hasattr(data, "__arrow_c_stream__") or hasattr(data, "__arrow_c_array__")


def _arrow(data: Any) -> Input:
    try:
        rows = Input.of_arrow(data)
    except InvalidArgumentError:
        raise
    except Exception as error:
        told = f"rows cannot be made of {_named(data)}: {error}; a single column is given as "
        raise InvalidArgumentError(told + 'a dict, as in {"volts": values}') from None
    for name, arrow in rows.columns:
        if arrow == "pandas.period":
            raise _periods(name)
    if any(name.startswith("__index_level_") for name, _ in rows.columns):
        raise InvalidArgumentError(
            "the index of the data frame has no name, so it is no column; name it, as in "
            'frame.rename_axis("t"), or leave it out with frame.reset_index(drop=True)'
        )
    return rows


def _periods(name: str) -> InvalidArgumentError:
    """The error of spans of time, whose numbers would be kept without what they count."""
    return InvalidArgumentError(
        f"column {name!r} has periods of pandas, which are spans of time; give their beginnings, as "
        "in frame[name].dt.to_timestamp(), or frame.index.to_timestamp() of an index"
    )


def _pandas(data: Any, types: Callable[[], Types]) -> Input:
    if not hasattr(data, "columns"):
        name = getattr(data, "name", None)
        told = f'a pandas {type(data).__name__} is one column; give {{"{name or "volts"}": values}}'
        raise InvalidArgumentError(told)
    odd = [name for name in data.columns if not isinstance(name, str)]
    if odd:
        raise InvalidArgumentError(
            f"the data frame has a column named {odd[0]!r}, which is no text; set frame.columns"
        )
    try:
        import pyarrow  # noqa: F401
    except ImportError:
        if data.index.name is not None:
            data = data.reset_index()
        return _columns({name: data[name] for name in data.columns}, types)
    return _arrow(data)


def _columns(data: Mapping[Any, Any], types: Callable[[], Types]) -> Input:
    columns: list[_Column] = []
    known: Types | None = None
    for name, values in data.items():
        if not isinstance(name, str):
            raise InvalidArgumentError(f"a column is named {name!r}; names are texts")
        form, values = _form(name, values)
        data_type = None
        if form == "values":
            if known is None:
                known = types()
            data_type = known.get(name)
        columns.append((name, form, data_type, values))
    return Input.of_columns(columns)


def _dicts(data: Iterable[Any], types: Callable[[], Types]) -> Input:
    rows = list(data)
    columns: dict[str, list[Any]] = {}
    for at, row in enumerate(rows):
        if not isinstance(row, Mapping):
            raise InvalidArgumentError(f"row {at} is {_named(row)} and not a dict; give {_FORMS}")
        for name in row:
            if name not in columns:
                columns[name] = [None] * len(rows)
    for at, row in enumerate(rows):
        for name, value in row.items():
            columns[name][at] = value
    return _columns(columns, types)


def _form(name: str, values: Any) -> tuple[str, Any]:
    """How the values of a column are given: arrow, numbers, a unit of time, or values."""
    if str(getattr(values, "dtype", "")).startswith("period["):
        raise _periods(name)
    if hasattr(values, "dtype") and hasattr(values, "ndim") and hasattr(values, "flags"):
        return _array(name, values)
    if type(values).__module__.partition(".")[0] == "pandas":
        return _form(name, values.to_numpy())
    if _is_arrow(values):
        return "arrow", values
    if isinstance(values, str | bytes) or isinstance(values, Mapping):
        raise InvalidArgumentError(
            f"column {name!r} is {_named(values)}; give an array or a list of its values"
        )
    if hasattr(values, "typecode") or isinstance(values, memoryview):
        try:
            import numpy
        except ImportError:
            return "values", list(values)
        return _array(name, numpy.asarray(values))
    if not isinstance(values, Iterable):
        raise InvalidArgumentError(
            f"column {name!r} is the single value {values!r}; give a list, as in [{values!r}], or a "
            "row as a dict in a list"
        )
    values = list(values)
    first = next((value for value in values if value is not None), None)
    if type(first).__name__ == "Period":
        raise _periods(name)
    if getattr(getattr(first, "dtype", None), "kind", "") == "M":
        import numpy

        return _array(name, numpy.array(values, dtype="datetime64"))
    return "values", values


def _array(name: str, values: Any) -> tuple[str, Any]:
    if values.ndim != 1:
        raise InvalidArgumentError(
            f"column {name!r} has the shape {values.shape}; give an array of one dimension, as in "
            f"values.ravel(), or one column for each of its rows"
        )
    kind = values.dtype.kind
    if getattr(values, "mask", None) is not None and getattr(values.mask, "any", bool)():
        return "values", values.tolist()
    if kind in "iuf":
        return "numbers", native(values)
    if kind == "b":
        return "bools", native(values).view("uint8")
    if kind == "M":
        import numpy

        unit = numpy.datetime_data(values.dtype)[0]
        if unit in ("Y", "M", "W", "D", "h", "m"):
            values, unit = values.astype("datetime64[s]"), "s"
        elif unit == "generic":
            values, unit = values.astype("datetime64[ns]"), "ns"
        return unit, native(values.view("int64"))
    if kind in "UOT":
        return "values", values.tolist()
    fixes = {
        "c": "store its parts in two columns, values.real and values.imag",
        "m": "store a number with a unit, as in values / numpy.timedelta64(1, 's')",
        "S": "store texts, as in values.astype(str)",
        "V": "give its fields as columns",
    }
    fix = fixes.get(kind, "convert it, as in values.astype(float)")
    raise InvalidArgumentError(f"column {name!r} has the dtype {values.dtype}; {fix}")


def native(values: Any) -> Any:
    """The numbers without gaps, in the order of this machine; the array itself if it is so."""
    import numpy

    if values.dtype.itemsize == 2 and values.dtype.kind == "f":
        values = values.astype("float32")
    elif values.dtype.itemsize > 8:
        raise InvalidArgumentError(
            f"numbers of the dtype {values.dtype} have no type of a table; give "
            "values.astype(float)"
        )
    if not values.dtype.isnative:
        values = values.astype(values.dtype.newbyteorder("="))
    if not (values.flags.c_contiguous and values.flags.aligned):
        values = numpy.ascontiguousarray(values)
        if not values.flags.aligned:
            values = values.copy()
    return values
