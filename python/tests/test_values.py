"""Values of numpy, pandas and polars as columns: none becomes another value."""

from __future__ import annotations

import sys
from datetime import UTC, date, datetime
from typing import Any

import numpy
import pandas
import polars as pl
import pyarrow
import pytest

import stationdb
from stationdb import errors

#: Their stubs know fewer values than they take.
np: Any = numpy
pd: Any = pandas
pa: Any = pyarrow
Invalid = errors.InvalidArgumentError
DAYS = np.array(["2024-01-01", "2024-01-02"], dtype="M8[ns]")
START = datetime(2024, 1, 1, tzinfo=UTC)
PLAIN = pd.Series(pd.to_datetime(["2024-01-01T01:00:00.123456789", None]))
ZONED = PLAIN.dt.tz_localize("Etc/GMT-1")
NANOS: list[Any] = [1_704_067_200_000_000_000, None]

#: Values of a column, the type that they give, and the values of its rows.
COLUMNS: dict[str, tuple[Any, str, list[Any]]] = {
    "10 ms": (np.array([1, 2], dtype="M8[10ms]"), "TIMESTAMP", [10_000, 20_000]),
    "25 ns": (np.array([1, 2], dtype="M8[25ns]"), "TIMESTAMP_NS", [25, 50]),
    "2 hours": (np.array([1, 2], dtype="M8[2h]"), "TIMESTAMP", [7_200_000_000, 14_400_000_000]),
    "10 ms in a list": ([None, np.datetime64(1, "10ms")], "TIMESTAMP", [None, 10_000]),
    "masked times": (np.ma.array(DAYS, mask=[0, 1]), "TIMESTAMP_NS", NANOS),
    "masked numbers": (np.ma.array([1, 2], mask=[0, 1]), "INT64", [1, None]),
    "all masked": (np.ma.array([1.0, 2.0], mask=[1, 1]), "FLOAT64", [None, None]),
    "objects of times": (np.array([DAYS[0], None], dtype=object), "TIMESTAMP_NS", NANOS),
    "a series of floats": (pd.Series([0.5, 1.5]), "FLOAT64", [0.5, 1.5]),
    "a series with NaN": (pd.Series([0.5, np.nan]), "FLOAT64", [0.5, None]),
    "a series of NaN": (pd.Series([np.nan, np.nan]), "FLOAT64", [None, None]),
    "a series of int32": (pd.Series([1, 2], dtype="int32"), "INT32", [1, 2]),
    "a series of bools": (pd.Series([True, False]), "BOOL", [True, False]),
    "a series of texts": (pd.Series(["a", None]), "STRING", ["a", None]),
    "a series of objects": (pd.Series([1, None], dtype=object), "INT64", [1, None]),
    "a series of Int64": (pd.Series([1, 2], dtype="Int64"), "INT64", [1, 2]),
    "a series of Int64 with NA": (pd.Series([1, None], dtype="Int64"), "INT64", [1, None]),
    "an array of booleans": (pd.array([True, None], dtype="boolean"), "BOOL", [True, None]),
    "a series of times": (pd.Series(DAYS), "TIMESTAMP_NS", [NANOS[0], NANOS[0] + 86_400 * 10**9]),
    "a series with a zone": (ZONED, "TIMESTAMP_NS", [1_704_067_200_123_456_789, None]),
    "a series of categories": (pd.Series(pd.Categorical([5, 7])), "INT64", [5, 7]),
    "categories of texts": (pd.Categorical(["a", None]), "STRING", ["a", None]),
    "an index": (pd.Index([3, 4]), "INT64", [3, 4]),
    "a range": (pd.RangeIndex(2), "INT64", [0, 1]),
    "a dictionary of numbers": (pa.array([7, None]).dictionary_encode(), "INT64", [7, None]),
    "a dictionary of times": (
        pa.array([START, None], pa.timestamp("us", "UTC")).dictionary_encode(),
        "TIMESTAMP_US",
        [START, None],
    ),
    "a dictionary of texts": (pa.array(["a", None]).dictionary_encode(), "STRING", ["a", None]),
}


def shown(value: Any) -> Any:
    """Times as microseconds of 1970, but those of today as they are."""
    if isinstance(value, datetime) and value.year == 1970:
        return int(value.timestamp() * 1e6)
    return value


@pytest.mark.parametrize("name", COLUMNS)
def test_a_column_keeps_its_values(db: stationdb.Store, name: str) -> None:
    values, kind, expected = COLUMNS[name]
    table = db.tables.create("new", index="t")
    table.append({"t": [0, 1], "v": values})
    # Again, into columns that are known.
    table.append({"t": [2, 3], "v": values})
    assert table.columns["v"] == kind
    assert [shown(row["v"]) for row in table.rows("v").to_pylist()] == expected * 2


def test_frames_with_categories_of_numbers(db: stationdb.Store) -> None:
    times = pd.Categorical(pd.to_datetime(["2024-01-01", "2024-01-02"], utc=True))
    frame = pd.DataFrame({"t": [0, 1], "v": pd.Categorical([5, 7]), "at": times})
    table = db.tables.create("categories", index="t")
    table.append(frame)
    assert [row["v"] for row in table.rows().to_pylist()] == [5, 7]
    assert table.columns["at"].startswith("TIMESTAMP")
    encoded = pa.table({"t": [2, 3], "v": pa.array([5, None]).dictionary_encode()})
    table.append(encoded)
    table.append(encoded.slice(1, 0))
    assert [row["v"] for row in table.rows(start=2).to_pylist()] == [5, None]


def test_nulls_of_polars_fill_a_known_column(db: stationdb.Store) -> None:
    table = db.tables.create("nulls", {"t": int, "v": float}, index="t")
    table.append(pl.DataFrame({"t": [1], "v": [None]}))
    table.append({"t": [2], "v": pl.Series([None])})
    assert [row["v"] for row in table.rows().to_pylist()] == [None, None]
    with pytest.raises(Invalid, match="only nulls"):
        db.tables.create("new", index="t").append(pl.DataFrame({"t": [1], "v": [None]}))


@pytest.mark.parametrize(
    ("values", "told"),
    [
        ([None, np.timedelta64(1, "ns")], "timedelta64"),
        (np.array([np.timedelta64(1, "ns"), None], dtype=object), "timedelta64"),
        ([1, np.datetime64(1, "ns")], "datetime64"),
        (np.array([2**62, 1], dtype="M8[W]"), "count"),
        (np.array([2**62, 1], dtype="M8[3us]"), "count"),
    ],
)
def test_times_that_are_none_are_refused(db: stationdb.Store, values: Any, told: str) -> None:
    table = db.tables.create("new", index="t")
    with pytest.raises(Invalid, match=told):
        table.append({"t": [0, 1], "v": values})
    assert "without columns" in repr(table)


def test_whole_numbers_that_a_float_equals(db: stationdb.Store) -> None:
    for kind, most in (("FLOAT64", 2**53), ("FLOAT32", 2**24)):
        table = db.tables.create(None, {"t": int, "v": kind}, index="t")
        table.append({"t": [0, 1], "v": [most, 0.5]})
        for given in ([most, -most], np.array([most, -most]), np.array([most, 2], dtype="u8")):
            table.append({"t": [2, 3], "v": given})
            table.append({"t": [4, 5], "v": pd.Series(given)})
        stored = len(table)
        for wrong in ([1, most + 1], [most + 1, 0.5]):
            with pytest.raises(Invalid, match="rounds it") as caught:
                table.append({"t": [4, 5], "v": wrong})
            assert caught.value.place is not None and caught.value.place["column"] == "v"
        for dtype in ("i8", "u8"):
            with pytest.raises(Invalid, match=f"{most + 1} in row 1"):
                table.append({"t": [4, 5], "v": np.array([1, most + 1], dtype=dtype)})
        assert len(table) == stored
        with pytest.raises(Invalid, match="rounds it"):
            table.append({"t": [4, 5], "v": np.array([1, 2**64 - 1], dtype="u8")})
    # Without columns, too.
    with pytest.raises(Invalid, match="rounds it"):
        db.tables.create("new", index="t").append({"t": [0, 1], "v": [2**60 + 1, 1.5]})


def test_dates_come_again(db: stationdb.Store) -> None:
    table = db.tables.create("days", index="t")
    for day in (1, 2):
        table.append([{"t": date(2024, 1, day), "v": 1}])
    assert [row["t"].day for row in table.rows().to_pylist()] == [1, 2]


def test_a_data_frame_without_pyarrow(
    db: stationdb.Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    frame = pd.DataFrame({"t": [0, 1], "v": [0.5, np.nan], "s": ["a", None]})
    table = db.tables.create("plain", index="t")
    table.append(frame)
    assert table.rows().to_pylist()[1] == {"t": 1, "v": None, "s": None}
    named = pd.DataFrame({"v": [1.0]}, index=pd.date_range("2024-01-01", periods=1, name="t"))
    times = db.tables.create("named")
    times.append(named)
    assert list(times.columns) == ["t", "v"]
    for index in (pd.Index([5]), pd.MultiIndex.from_tuples([(0, 1)], names=["t", None])):
        with pytest.raises(Invalid, match="rename_axis"):
            db.tables.create("unnamed").append(pd.DataFrame({"v": [1.0]}, index=index))
    twice = pd.DataFrame([[0, 1, 2]], columns=["t", "v", "v"])
    with pytest.raises(Invalid, match="several columns of one name"):
        db.tables.create("twice", index="t").append(twice)


def test_months_of_numpy_in_filters(db: stationdb.Store) -> None:
    table = db.tables.create("months", {"t": "TIMESTAMP", "v": int}, index="t")
    table.append({"t": [START], "v": [1]})
    for bound in (np.datetime64("2024-02"), np.datetime64("2025"), np.datetime64("2024-02-01T00")):
        assert len(table.rows(where=("t < @0", bound)).to_pylist()) == 1
        assert len(table.rows(stop=bound).to_pylist()) == 1
    assert len(table.decimate("v", points=np.int64(5)).to_pylist()) == 1
    assert len(table.rows(limit=np.int64(5)).to_pylist()) == 1
