"""Rows of Python programs as rows of Arrow: data frames, dicts of arrays, lists of dicts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Set
from itertools import chain, islice
from typing import Any

from ._stationdb import Input
from .errors import InvalidArgumentError

#: The type of each column of a table, by name.
Types = Mapping[str, str]

_FORMS = (
    "a pandas, polars or pyarrow table, batches of Arrow, a dict of arrays or lists, or a list of "
    'dicts, as in {"t": [0, 1], "volts": [0.5, 0.7]}'
)
_Column = tuple[str, str, str | None, Any]


def rows_of(data: Any, types: Callable[[], Types]) -> Input:
    """The rows of `data`. `types` is asked for the table's columns where lists need them."""
    module = _module(data)
    if module == "pandas":
        return _pandas(data, types)
    if isinstance(data, Mapping):
        return _columns(data, types)
    if _is_arrow(data):
        if module == "polars" and "Null" in map(str, getattr(data, "dtypes", ())):
            # Its nulls without a type are no valid Arrow.
            return _columns({one.name: one for one in data.iter_columns()}, types)
        if module == "pyarrow" and hasattr(data, "read_next_batch"):
            # Read in Python it raises the exception of the code that makes its batches.
            return _batches(data, data.schema)
        return _arrow(data)
    names = getattr(getattr(data, "dtype", None), "names", None)
    if names:
        return _columns({name: data[name] for name in names}, types)
    if isinstance(data, str | bytes) or hasattr(data, "dtype"):
        raise InvalidArgumentError(f"rows cannot be made of {_named(data)}; give {_FORMS}")
    if isinstance(data, Iterable):
        items = iter(data)
        first = list(islice(items, 1))
        rest = chain(first, items)
        if first and _is_arrow(first[0]):
            return _batches(rest, None)
        return _dicts(rest, types)
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
    return _checked(rows)


def _batches(data: Iterable[Any], schema: Any) -> Input:
    """The rows of batches that come one after the other. Exceptions of `data` are raised as they are.

    `schema` is that of all of them; without it the first one tells.
    """
    parts = (_frame(one) if _module(one) == "pandas" else one for one in data)
    return _checked(Input.of_batches(parts, schema))


def _module(data: object) -> str:
    """The package that the type of an object is from."""
    return type(data).__module__.partition(".")[0]


def _checked(rows: Input) -> Input:
    for name, arrow in rows.columns:
        if arrow == "pandas.period":
            raise _periods(name)
    if any(name.startswith("__index_level_") for name, _ in rows.columns):
        raise _unnamed_index()
    return rows


def _unnamed_index() -> InvalidArgumentError:
    return InvalidArgumentError(
        "the index of the data frame has no name, so it is no column; name it, as in "
        'frame.rename_axis("t"), or leave it out with frame.reset_index(drop=True)'
    )


def _periods(name: str) -> InvalidArgumentError:
    """The error of spans of time, whose numbers would be kept without what they count."""
    return InvalidArgumentError(
        f"column {name!r} has periods of pandas, which are spans of time; give their beginnings, as "
        "in frame[name].dt.to_timestamp(), or frame.index.to_timestamp() of an index"
    )


def _pandas(data: Any, types: Callable[[], Types]) -> Input:
    data = _frame(data)
    try:
        import pyarrow  # noqa: F401
    except ImportError:
        return _columns({name: data[name] for name in data.columns}, types)
    return _arrow(data)


def _frame(data: Any) -> Any:
    """A data frame of pandas whose columns are those of the rows, the levels of its index first.

    pyarrow puts them last, and leaves a range out, also one with a name.
    """
    if not hasattr(data, "columns"):
        name = getattr(data, "name", None)
        told = f'a pandas {type(data).__name__} is one column; give {{"{name or "volts"}": values}}'
        raise InvalidArgumentError(told)
    odd = [name for name in data.columns if not isinstance(name, str)]
    if odd:
        raise InvalidArgumentError(
            f"the data frame has a column named {odd[0]!r}, which is no text; set frame.columns"
        )
    levels = list(data.index.names)
    is_plain = type(data.index).__name__ == "RangeIndex" and levels == [None]
    if not is_plain:
        if None in levels:
            raise _unnamed_index()
        odd = [name for name in levels if not isinstance(name, str)]
        if odd:
            raise InvalidArgumentError(
                f"the index of the data frame is named {odd[0]!r}, which is no text; name it, as in "
                'frame.rename_axis("t")'
            )
    names = [*(() if is_plain else levels), *data.columns]
    if len(set(names)) < len(names):
        raise InvalidArgumentError(
            f"the data frame has several columns of one name, among {names}; set frame.columns, or "
            "frame.index.names"
        )
    return data if is_plain else data.reset_index()


def _columns(data: Mapping[Any, Any], types: Callable[[], Types]) -> Input:
    columns: list[_Column] = []
    known: Types | None = None
    for name, values in data.items():
        form, values, data_type = formed(name, values)
        if form == "values":
            if known is None:
                known = types()
            data_type = known.get(name, data_type)
        columns.append((name, form, data_type, values))
    return Input.of_columns(columns)


def widened(data: Any, types: Callable[[], Types]) -> Input | None:
    """The rows of arrays again, with whole numbers as floats where the columns have floats.

    None where there are none. Raises `InvalidArgumentError` for a whole number without an equal
    float.
    """
    names = getattr(getattr(data, "dtype", None), "names", None)
    if names:
        data = {name: data[name] for name in names}
    if not isinstance(data, Mapping):
        return None
    known = types()
    again: dict[Any, Any] = {}
    is_other = False
    for name, values in data.items():
        kind = known.get(name, "")
        dtype = getattr(values, "dtype", None)
        if kind.startswith("FLOAT") and getattr(dtype, "kind", "") in ("i", "u"):
            form, found, _ = formed(name, values)
            if form == "numbers":
                values, is_other = _floats(name, found, kind), True
        elif not hasattr(values, "__len__"):
            # It was read once, and is empty now.
            return None
        again[name] = values
    return _columns(again, types) if is_other else None


def _floats(name: str, values: Any, kind: str) -> Any:
    import numpy

    floats = values.astype("float32" if kind == "FLOAT32" else "float64")
    # A float beyond the type has no whole number of it.
    is_beyond = floats >= 2.0 ** (8 * values.dtype.itemsize - (values.dtype.kind == "i"))
    with numpy.errstate(invalid="ignore"):
        inexact = is_beyond | (floats.astype(values.dtype) != values)
    if inexact.any():
        row = int(inexact.argmax())
        raise InvalidArgumentError(
            f"the whole number {values[row]} in row {row} of column {name!r} has no equal {kind}; "
            "give values.astype(float), which rounds it"
        )
    return floats


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


def formed(name: Any, values: Any) -> tuple[str, Any, str | None]:
    """How the values of a column are given: arrow, numbers, a unit of time, or values.

    The type is that of values that may all be null.
    """
    if not isinstance(name, str):
        raise InvalidArgumentError(f"a column is named {name!r}; names are texts")
    if str(getattr(values, "dtype", "")).startswith("period["):
        raise _periods(name)
    if _module(values) == "pandas":
        return _series(name, values)
    if _is_arrow(values):
        if str(getattr(values, "dtype", "")) == "Null":
            return "values", [None] * len(values), None
        return "arrow", values, None
    if hasattr(values, "dtype") and hasattr(values, "ndim") and hasattr(values, "flags"):
        return _array(name, values)
    if isinstance(values, str | bytes) or isinstance(values, Mapping):
        raise InvalidArgumentError(
            f"column {name!r} is {_named(values)}; give an array or a list of its values"
        )
    if _is_buffer(values):
        try:
            import numpy
        except ImportError:
            return "values", list(values), None
        return _array(name, numpy.asarray(values))
    if not isinstance(values, Iterable):
        raise InvalidArgumentError(
            f"column {name!r} is the single value {values!r}; give a list, as in [{values!r}], or a "
            "row as a dict in a list"
        )
    return _listed(name, list(values))


def _listed(name: str, values: list[Any]) -> tuple[str, Any, str | None]:
    first = next((value for value in values if value is not None), None)
    if type(first).__name__ == "Period":
        raise _periods(name)
    kind = getattr(getattr(first, "dtype", None), "kind", "")
    if kind == "M":
        import numpy

        return _array(name, numpy.array(values, dtype="datetime64"))
    if kind == "m":
        raise _unfit(name, getattr(first, "dtype", None))
    return "values", values, None


def _series(name: str, given: Any) -> tuple[str, Any, str | None]:
    """A column of pandas, whose missing values are null, as in a data frame."""
    import numpy
    import pandas

    series = given if isinstance(given, pandas.Series) else pandas.Series(given)
    dtype: Any = series.dtype
    if isinstance(dtype, pandas.DatetimeTZDtype):
        series = series.dt.tz_convert("UTC").dt.tz_localize(None)
        dtype = series.dtype
    if isinstance(dtype, numpy.dtype) and (dtype.kind == "M" or not series.hasnans):
        return _array(name, series.to_numpy())
    gone = series.isna().to_numpy()
    base = getattr(dtype, "numpy_dtype", dtype)
    hint = _HINTS.get(getattr(base, "kind", ""))
    if isinstance(base, numpy.dtype) and hint is not None and not gone.any():
        return _array(name, series.to_numpy(dtype=base))
    cells = series.astype(object).tolist()
    values = [None if is_gone else cell for cell, is_gone in zip(cells, gone.tolist(), strict=True)]
    form, values, _ = _listed(name, values)
    return form, values, hint


def _array(name: str, values: Any) -> tuple[str, Any, str | None]:
    if values.ndim != 1:
        raise InvalidArgumentError(
            f"column {name!r} has the shape {values.shape}; give an array of one dimension, as in "
            f"values.ravel(), or one column for each of its rows"
        )
    kind = values.dtype.kind
    if getattr(values, "mask", None) is not None and getattr(values.mask, "any", bool)():
        if kind != "M":
            if kind not in "iufbUO":
                raise _unfit(name, values.dtype)
            return "values", values.tolist(), _HINTS.get(kind)
        values = values.filled(values.dtype.type("NaT"))
    if kind in "iuf":
        return "numbers", native(values), None
    if kind == "b":
        return "bools", native(values).view("uint8"), None
    if kind == "M":
        values, unit = _times(name, values)
        return unit, native(values).view("int64"), None
    if kind == "O":
        return _listed(name, values.tolist())
    if kind in "UT":
        return "values", values.tolist(), None
    raise _unfit(name, values.dtype)


def _times(name: str, values: Any) -> tuple[Any, str]:
    """Times of numpy in a unit that Arrow has, and the unit."""
    import numpy

    unit, count = numpy.datetime_data(values.dtype)
    if unit in ("Y", "M", "W", "D", "h", "m"):
        unit = "s"
    elif unit == "generic":
        unit = "ns"
    elif count == 1:
        return values, unit
    exact = values.astype(f"datetime64[{unit}]")
    # Beyond the counts of the unit numpy wraps around.
    if ((exact.astype(values.dtype) != values) & ~numpy.isnat(values)).any():
        raise InvalidArgumentError(
            f"column {name!r} has times of the dtype {values.dtype} that datetime64[{unit}] cannot "
            "count"
        )
    return exact, unit


#: The types of columns for the values of numpy that may all be null.
_HINTS = {"i": "INT64", "u": "INT64", "f": "FLOAT64", "b": "BOOL"}


def _unfit(name: str, dtype: Any) -> InvalidArgumentError:
    fixes = {
        "c": "store its parts in two columns, values.real and values.imag",
        "m": "store a number with a unit, as in values / numpy.timedelta64(1, 's')",
        "S": "store texts, as in values.astype(str)",
        "V": "give its fields as columns",
    }
    fix = fixes.get(dtype.kind, "convert it, as in values.astype(float)")
    return InvalidArgumentError(f"column {name!r} has the dtype {dtype}; {fix}")


def samples_of(name: str, values: Any, types: Callable[[], Types]) -> Any:
    """The samples of a waveform as an array of one dimension, without a copy where it is one.

    `types` is asked where whole numbers may belong into a column of floats.
    """
    try:
        import numpy
    except ImportError:
        raise InvalidArgumentError(
            f"the samples of {name!r} are {type(values).__name__}; give an array of numpy"
        ) from None
    if not isinstance(values, numpy.ndarray):
        values = _sampled(name, values)
    if values.ndim != 1:
        raise InvalidArgumentError(
            f"the samples of {name!r} have the shape {values.shape}; give an array of one "
            "dimension, as in numpy.ravel(values)"
        )
    if numpy.ma.is_masked(values):
        raise _without_value(name)
    if values.dtype.kind not in "iuf":
        raise InvalidArgumentError(
            f"the samples of {name!r} have the dtype {values.dtype}; give numbers, as in "
            "values.astype(float)"
        )
    if len(values) == 0:
        raise InvalidArgumentError(f"the samples of {name!r} are empty; a waveform has some")
    kind = types().get(name, "") if values.dtype.kind in "iu" else ""
    return native(_floats(name, values, kind) if kind.startswith("FLOAT") else values)


def _sampled(name: str, values: Any) -> Any:
    """Samples that are no array of numpy as one, each equal to what was given."""
    import numpy

    # A number of Arrow, a method of polars.
    nulls = getattr(values, "null_count", 0)
    if nulls() if callable(nulls) else nulls:
        raise _without_value(name)
    dtype = getattr(values, "dtype", None)
    if dtype is not None and hasattr(values, "to_numpy"):
        # An extension type of pandas; NaN in one of numpy is a number.
        is_extended = not isinstance(dtype, numpy.dtype) and hasattr(values, "isna")
        if is_extended and values.isna().any():
            raise _without_value(name)
        return values.to_numpy()
    is_array = hasattr(values, "__array__") or _is_buffer(values)
    is_list = isinstance(values, Iterable) and not isinstance(values, str | bytes | Mapping | Set)
    given = list(values) if is_list and not is_array else values
    try:
        samples = numpy.asarray(given)
    except (TypeError, ValueError) as error:
        raise InvalidArgumentError(f"the samples of {name!r} are no numbers: {error}") from None
    if is_array or not is_list or samples.ndim != 1:
        return samples
    if any(value is None for value in given):
        raise _without_value(name)
    if samples.dtype.kind not in "iuf":
        raise InvalidArgumentError(
            f"the samples of {name!r} are no numbers, but become an array of the dtype "
            f"{samples.dtype}; give numbers, as in [float(value) for value in values]"
        )
    for at, (value, sample) in enumerate(zip(given, samples.tolist(), strict=True)):
        # NaN equals nothing.
        if value != sample and sample == sample:
            raise InvalidArgumentError(
                f"sample {at} of {name!r} is the whole number {value}, which no float equals; give "
                "float(value), which rounds it"
            )
    return samples


def _is_buffer(values: Any) -> bool:
    return hasattr(values, "typecode") or isinstance(values, memoryview)


def _without_value(name: str) -> InvalidArgumentError:
    return InvalidArgumentError(
        f"the samples of {name!r} have masked or null ones, and a waveform has a number at each "
        "step; give values.filled(numpy.nan), or append the rows that there are with append"
    )


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
