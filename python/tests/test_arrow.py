"""Rows in and out, with every package that speaks Arrow, for every type of column."""

from __future__ import annotations

import array
import math
from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime, timedelta, timezone
from typing import Any

import arro3.core
import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow
import pytest

import stationdb
from stationdb import errors

#: Its stubs know fewer values than it takes.
pa: Any = pyarrow

TIMES: list[Any] = [
    datetime(2024, 1, 1, tzinfo=UTC),
    None,
    datetime(1969, 12, 31, 23, 59, 59, 999000, tzinfo=UTC),
    datetime(2024, 2, 29, 12, tzinfo=UTC),
]
#: Values of each type of column, with nulls, in a form that Python has.
COLUMNS: dict[str, tuple[Any, list[Any]]] = {
    "BOOL": (pa.bool_(), [True, None, False, True]),
    "INT32": (pa.int32(), [-(2**31), None, 0, 2**31 - 1]),
    "INT64": (pa.int64(), [-(2**63), None, 0, 2**63 - 1]),
    "FLOAT32": (pa.float32(), [-1.5, None, 0.0, math.inf]),
    "FLOAT64": (pa.float64(), [-1e300, None, 5e-324, -math.inf]),
    "STRING": (pa.string(), ["", None, "Größe 🎛", "x" * 300]),
    "TIMESTAMP": (pa.timestamp("ms", "UTC"), TIMES),
    "TIMESTAMP_US": (pa.timestamp("us", "UTC"), TIMES),
    "TIMESTAMP_NS": (pa.timestamp("ns", "UTC"), TIMES),
}


def made(db: stationdb.Store, kind: str) -> stationdb.Table:
    return db.tables.create(None, {"t": "INT64", "v": kind}, index="t")


def source(kind: str) -> Any:
    arrow, values = COLUMNS[kind]
    return pa.table({"t": pa.array(range(4), pa.int64()), "v": pa.array(values, arrow)})


def values_of(table: stationdb.Table) -> list[Any]:
    found = table.rows().to_arrow().column("v")
    if pa.types.is_timestamp(found.type):
        found = found.cast(pa.timestamp("us", "UTC"))
    return found.to_pylist()


def chunked(table: Any) -> Any:
    return pa.concat_tables([table.slice(0, 1), table.slice(1, 0), table.slice(1)])


def duck(table: Any) -> Any:
    with duckdb.connect() as connection:
        connection.execute("set timezone = 'UTC'")
        return connection.from_arrow(table).to_arrow_table()


FORMS: dict[str, Callable[[Any], Any]] = {
    "pyarrow": lambda table: table,
    "pyarrow batch": lambda table: table.to_batches()[0],
    "pyarrow reader": lambda table: table.to_reader(),
    "pyarrow sliced": lambda table: pa.concat_tables([table, table]).slice(4, 4),
    "pyarrow chunked": chunked,
    "dict of pyarrow": lambda table: dict(zip(table.column_names, table.columns, strict=True)),
    "polars": lambda table: pl.from_arrow(table),
    "dict of polars": lambda table: pl.DataFrame(table).to_dict(as_series=True),
    "arro3": lambda table: arro3.core.Table.from_arrow(table),
    "duckdb": duck,
    "lists": lambda table: table.to_pydict(),
    "dicts": lambda table: table.to_pylist(),
}


@pytest.mark.parametrize("kind", COLUMNS)
@pytest.mark.parametrize("form", FORMS)
def test_every_type_of_every_package(db: stationdb.Store, kind: str, form: str) -> None:
    table = made(db, kind)
    table.append(FORMS[form](source(kind)))
    assert values_of(table) == source(kind).column("v").cast(
        pa.timestamp("us", "UTC") if kind.startswith("TIMESTAMP") else COLUMNS[kind][0]
    ).to_pylist()


@pytest.mark.parametrize("kind", COLUMNS)
def test_every_type_goes_out(db: stationdb.Store, kind: str) -> None:
    table = made(db, kind)
    table.append(source(kind))
    expected = COLUMNS[kind][1]
    assert table.rows("v").to_polars()["v"].to_list() == expected
    with duckdb.connect() as connection:
        connection.execute("set timezone = 'UTC'")
        rows = table.rows("v")
        found = connection.sql("select v from rows").to_arrow_table().column("v")
        assert len(found) == 4 and found.null_count == 1
    assert arro3.core.Table.from_arrow(table.rows()).num_rows == 4
    frame = table.rows("v").to_pandas()["v"]
    assert len(frame) == 4 and frame.isna().sum() == 1
    arrays = table.rows().to_numpy()
    assert arrays["v"].shape == (4,) and arrays["t"].dtype == np.int64
    assert pd.isna(arrays["v"][1]) and not pd.isna(arrays["v"][0])
    if kind == "TIMESTAMP_NS":
        assert table.rows("v").to_pylist()[1:3] == [{"v": None}, {"v": -1_000_000}]
    else:
        assert [row["v"] for row in table.rows("v").to_pylist()] == expected


@pytest.mark.parametrize(
    ("kind", "arrow", "values"),
    [
        ("INT64", pa.uint32(), [0, 2**32 - 1]),
        ("INT64", pa.int8(), [-128, 127]),
        ("INT32", pa.uint16(), [0, 65535]),
        ("FLOAT64", pa.float32(), [0.5, -0.5]),
        ("FLOAT64", pa.float16(), [0.5, -0.5]),
        ("FLOAT64", pa.int32(), [1, 2]),
        ("FLOAT32", pa.float64(), [0.5, -0.5]),
        ("STRING", pa.large_string(), ["a", "ä"]),
        ("STRING", pa.string_view(), ["a", "a long text that is no inline view"]),
        ("STRING", pa.dictionary(pa.int8(), pa.string()), ["a", "b"]),
        ("STRING", pa.dictionary(pa.uint32(), pa.large_string()), ["a", "b"]),
        ("TIMESTAMP", pa.timestamp("s"), [datetime(2024, 1, 1), datetime(2024, 1, 2)]),
        ("TIMESTAMP_US", pa.timestamp("ms", "Europe/Berlin"), TIMES[:1] * 2),
        ("TIMESTAMP_NS", pa.timestamp("us"), [datetime(2024, 1, 1), datetime(2024, 1, 2)]),
        ("TIMESTAMP", pa.date32(), [date(2024, 1, 1), date(1969, 1, 1)]),
        ("TIMESTAMP", pa.date64(), [date(2024, 1, 1), date(1969, 1, 1)]),
        ("BOOL", pa.null(), [None, None]),
    ],
)
def test_types_that_fit_are_converted(
    db: stationdb.Store, kind: str, arrow: Any, values: list[Any]
) -> None:
    table = made(db, kind)
    table.append(pa.table({"t": pa.array([0, 1]), "v": pa.array(values, arrow)}))
    assert len(table) == 2
    if arrow not in (pa.date32(), pa.date64()) and not pa.types.is_timestamp(arrow):
        assert values_of(table) == [None if one is None else one for one in values]


@pytest.mark.parametrize(
    ("kind", "arrow", "values", "told"),
    [
        ("INT32", pa.int64(), [1, 2**40], "row 1"),
        ("FLOAT64", pa.int64(), [1, 2**53 + 1], "row 1"),
        ("INT64", pa.float64(), [1.0, 0.5], "row 1"),
        ("STRING", pa.int64(), [1, 2], "Int64"),
        ("STRING", pa.binary(), [b"a", b"b"], "Binary"),
        ("BOOL", pa.int8(), [0, 1], "Int8"),
        ("FLOAT64", pa.decimal128(5, 2), [None, None], "Decimal128"),
        ("FLOAT64", pa.list_(pa.float64()), [[1.0], []], "List"),
        ("TIMESTAMP", pa.time64("us"), [None, None], "Time64"),
        ("TIMESTAMP", pa.duration("s"), [None, None], "Duration"),
        ("TIMESTAMP", pa.timestamp("us", "UTC"), [TIMES[0] + timedelta(microseconds=1)] * 2, "finer"),
        ("TIMESTAMP", pa.string(), ["2024-01-01", "x"], "Utf8"),
        ("FLOAT64", pa.struct([("a", pa.int8())]), [None, None], "Struct"),
    ],
)
def test_types_that_do_not_fit_are_refused_by_name(
    db: stationdb.Store, kind: str, arrow: Any, values: list[Any], told: str
) -> None:
    table = made(db, kind)
    with pytest.raises(errors.InvalidArgumentError, match=told):
        table.append(pa.table({"t": pa.array([0, 1]), "v": pa.array(values, arrow)}))
    assert len(table) == 0


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_times_of_numpy(db: stationdb.Store, unit: str) -> None:
    table = made(db, "TIMESTAMP_NS")
    times = np.array(["2024-01-01T00:00:01", "NaT"], dtype=f"datetime64[{unit}]")
    table.append({"t": [0, 1], "v": times})
    found = table.rows("v").to_numpy()["v"]
    assert found[0] == np.datetime64("2024-01-01T00:00:01") and np.isnat(found[1])


@pytest.mark.parametrize(
    ("dtype", "kind"),
    [
        ("int8", "INT32"),
        ("int16", "INT32"),
        ("int32", "INT32"),
        ("int64", "INT64"),
        ("uint8", "INT32"),
        ("uint16", "INT32"),
        ("uint32", "INT64"),
        ("float16", "FLOAT32"),
        ("float32", "FLOAT32"),
        ("float64", "FLOAT64"),
        ("bool", "BOOL"),
        (">f8", "FLOAT64"),
        (">i4", "INT32"),
    ],
)
def test_numbers_of_numpy(db: stationdb.Store, dtype: str, kind: str) -> None:
    table = db.tables.create(index="t")
    values = np.array([0, 1, 1, 0]).astype(dtype)
    table.append({"t": np.arange(4), "v": values})
    assert table.columns == {"t": "INT64", "v": kind}
    table.append({"t": np.arange(8)[::2], "v": np.repeat(values, 2)[::2]})
    assert [float(row["v"]) for row in table.rows("v").to_pylist()] == [0, 0, 1, 1, 1, 0, 1, 0] or (
        len(table) == 8
    )


def test_other_arrays(db: stationdb.Store) -> None:
    table = db.tables.create(index="t")
    table.append({"t": array.array("q", [0, 1]), "v": array.array("d", [0.5, 1.5])})
    table.append({"t": range(2, 4), "v": memoryview(array.array("d", [2.5, 3.5]))})
    rows = np.array([(4, 4.5)], dtype=[("t", "i8"), ("v", "f8")])
    table.append(rows)
    table.append({"t": [5], "v": np.ma.masked_array([1.0], [True])})
    found = [row["v"] for row in table.rows().to_pylist()]
    assert found == [0.5, 1.5, 2.5, 3.5, 4.5, None]


def test_pandas(db: stationdb.Store) -> None:
    table = db.tables.create(index="t")
    frame = pd.DataFrame(
        {
            "v": [1.5, float("nan")],
            "s": ["a", None],
            "c": pd.Categorical(["x", "y"]),
            "w": pd.to_datetime(["2024-01-01", "2024-01-02"], utc=True),
        },
        index=pd.Index([10, 20], name="t"),
    )
    table.append(frame)
    back = table.rows().to_pandas()
    assert back["t"].tolist() == [10, 20] and back["c"].tolist() == ["x", "y"]
    assert math.isnan(back["v"][1]) and back["w"].dt.tz is not None


def test_nan_is_no_null(db: stationdb.Store) -> None:
    table = made(db, "FLOAT64")
    table.append({"t": [0, 1, 2], "v": np.array([math.nan, 1.0, math.nan])})
    table.append({"t": [3], "v": [None]})
    arrow = table.rows("v").to_arrow().column("v")
    assert arrow.null_count == 1
    statistics = table.statistics()["columns"][1]
    assert (statistics["nanCount"], statistics["nullCount"]) == (2, 1)


@pytest.mark.parametrize(
    "empty",
    [
        {"t": [], "v": []},
        {"t": np.array([], dtype="i8"), "v": np.array([], dtype="f8")},
        pa.table({"t": pa.array([], pa.int64()), "v": pa.array([], pa.float64())}),
        pl.DataFrame({"t": [], "v": []}, schema={"t": pl.Int64, "v": pl.Float64}),
    ],
)
def test_empty(db: stationdb.Store, empty: Any) -> None:
    table = made(db, "FLOAT64")
    table.append(empty)
    assert len(table) == 0
    assert table.rows().to_arrow().num_rows == 0
    assert table.rows().to_polars().shape == (0, 2)
    assert table.rows().to_pandas().shape == (0, 2)
    assert table.rows().to_numpy()["v"].shape == (0,)
    assert table.rows().to_pylist() == []


def test_a_zone_is_a_moment(db: stationdb.Store) -> None:
    table = made(db, "TIMESTAMP_US")
    moment = datetime(2024, 6, 1, 12, tzinfo=timezone(timedelta(hours=2)))
    table.append({"t": [0], "v": [moment]})
    assert table.rows("v").to_pylist() == [{"v": datetime(2024, 6, 1, 10, tzinfo=UTC)}]


def test_nanoseconds_of_pandas_are_kept(db: stationdb.Store) -> None:
    table = made(db, "TIMESTAMP_NS")
    table.append([{"t": 0, "v": pd.Timestamp("2024-01-01T00:00:00.000000001Z")}])
    assert table.rows("v").to_pylist() == [{"v": 1704067200000000001}]


def test_an_append_takes_numpy_without_a_copy(db: stationdb.Store) -> None:
    # The memory of a numpy array stays alive and is given back.
    table = made(db, "FLOAT64")
    values = np.arange(1000.0)
    values.setflags(write=False)
    table.append({"t": np.arange(1000), "v": values})
    assert table.rows("v").to_numpy()["v"].tolist() == values.tolist()
    with_view = memoryview(values)  # type: ignore[arg-type,unused-ignore]
    table.append({"t": np.arange(1000, 2000), "v": with_view})
    with_view.release()


def generator() -> Iterator[dict[str, float]]:
    for at in range(3):
        yield {"t": at, "v": at / 2}


def test_a_generator_of_dicts(db: stationdb.Store) -> None:
    table = db.tables.create(index="t")
    table.append(generator())
    assert len(table) == 3


def test_a_reader_that_fails_appends_nothing(db: stationdb.Store) -> None:
    table = made(db, "FLOAT64")
    schema = pa.schema([("t", pa.int64()), ("v", pa.float64())])

    def batches() -> Iterator[Any]:
        yield pa.record_batch({"t": [0], "v": [1.0]}, schema=schema)
        raise KeyError("mine")

    for data in (pa.RecordBatchReader.from_batches(schema, batches()), batches()):
        with pytest.raises(KeyError, match="mine"):
            table.append(data)
    assert len(table) == 0


class Stream:
    """A stream of another library, whose errors are words."""

    def __init__(self, reader: Any) -> None:
        self.reader = reader

    def __arrow_c_stream__(self, requested_schema: object = None) -> Any:
        return self.reader.__arrow_c_stream__(requested_schema)


@pytest.mark.parametrize("is_new", [True, False])
@pytest.mark.parametrize("form", ["iterator", "reader", "stream"])
@pytest.mark.parametrize("error", [KeyboardInterrupt, KeyError, errors.ClosedError])
def test_an_exception_of_the_code_that_makes_batches(
    db: stationdb.Store, is_new: bool, form: str, error: type[BaseException]
) -> None:
    table = db.tables.create("new", index="t") if is_new else made(db, "FLOAT64")
    batch = pa.record_batch({"t": [0], "v": [1.0]})

    def batches() -> Iterator[Any]:
        yield batch
        raise error("mine")

    data: Any = batches()
    if form != "iterator":
        data = pa.RecordBatchReader.from_batches(batch.schema, data)
    if form == "stream":
        data = Stream(data)
    is_told = form == "stream" and error is not KeyboardInterrupt
    with pytest.raises(errors.InvalidArgumentError if is_told else error):
        table.append(data)
    assert len(table) == 0
    table.append(iter([batch, batch.slice(1), pa.Table.from_batches([batch, batch])]))
    assert len(table) == 3


def test_batches_that_come_one_by_one(db: stationdb.Store) -> None:
    table = db.tables.create("parts")
    frame = pd.DataFrame({"v": [0.5]}, index=pd.Index([0], name="t"))
    table.append(frame.set_axis([at], axis=0).rename_axis("t") for at in range(3))
    encoded = pa.record_batch({"t": [3], "v": pa.array([1.5]).dictionary_encode()})
    table.append([encoded, pl.DataFrame({"t": [4], "v": [2.5]})])
    table.append(arro3.core.Table.from_arrow(pa.table({"t": [5], "v": [3.5]})).to_reader())
    found = table.rows().to_pylist()
    assert [row["v"] for row in found] == [0.5, 0.5, 0.5, 1.5, 2.5, 3.5]
    assert list(table.columns) == ["t", "v"]
    empty = pa.RecordBatchReader.from_batches(pa.schema([("t", pa.int64())]), [])
    table.append(empty)
    wrong: list[tuple[Any, str]] = [
        ([encoded, pa.record_batch({"t": [9]})], "batch 2 of the rows"),
        ([encoded, {"t": 9}], "object 2 .* dict, which is no batch"),
        ([pl.Series([1.0])], "Series, which is no batch"),
        ([{"t": 9}, encoded], "RecordBatch .*and not a dict"),
    ]
    for data, told in wrong:
        with pytest.raises(errors.InvalidArgumentError, match=told):
            table.append(data)
    assert len(table) == 6


def test_rows_are_read_once_and_say_so(loop: stationdb.Table) -> None:
    rows = loop.rows()
    assert "<table>" in rows._repr_html_() and "0.5" in rows._repr_html_()
    assert "Int64" in repr(rows)
    assert rows.to_arrow().num_rows == 4
    with pytest.raises(errors.ConflictError, match="read already"):
        rows.to_polars()
    assert "read" in rows._repr_html_()


def test_rows_of_a_stream_in_parts(loop: stationdb.Table) -> None:
    with loop.rows(where="volts > 0.25", order="volts", desc=True, limit=2) as rows:
        batch = next(iter(rows))
        assert len(batch) == 2 and batch.column_names == ["t", "volts"]
        assert pa.record_batch(batch).num_rows == 2
        assert batch.to_pylist()[0] == {"t": 3, "volts": 1.5}
    assert loop.rows(start=1, stop=3).to_pylist() == [
        {"t": 1, "volts": 0.5},
        {"t": 2, "volts": 1.0},
    ]
