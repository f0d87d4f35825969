"""Values of numpy, pandas and polars as columns: none becomes another value."""

from __future__ import annotations

import array
import math
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


@pytest.mark.parametrize("unit", ["D", "h", "s", "ms", "us", "ns", "10ms"])
def test_times_in_the_other_order_of_bytes(db: stationdb.Store, unit: str) -> None:
    table = db.tables.create("new", index="t")
    days = np.array(["2024-01-02", "NaT", "1969-12-31"], dtype="M8[D]")
    times = days.astype(f">M8[{unit}]")
    assert not times.dtype.isnative
    rows = np.zeros(3, dtype=[("flag", "?"), ("t", ">i4"), ("at", times.dtype)])
    rows["t"], rows["at"] = [3, 4, 5], times
    table.append({"t": [0, 1, 2], "at": times})
    table.append({"t": rows["t"], "at": rows["at"]})
    found = table.rows("at").to_numpy()["at"]
    for part in (found[:3], found[3:]):
        assert part[0] == np.datetime64("2024-01-02") and part[2] == np.datetime64("1969-12-31")
        assert np.isnat(part[1])
    # An index of such times, too.
    other = db.tables.create("index", index="at")
    other.append(rows[["at", "flag"]][[0, 2]])
    assert other.rows("at").to_numpy()["at"].astype("M8[D]").tolist() == [
        date(1969, 12, 31),
        date(2024, 1, 2),
    ]


FRAMES: dict[str, Any] = {
    "a named range": pd.DataFrame({"v": [0.5, 1.5]}, index=pd.RangeIndex(7, 9, name="t")),
    "a named index": pd.DataFrame({"v": [0.5, 1.5]}, index=pd.Index([7, 8], name="t")),
    "levels": pd.DataFrame(
        {"v": [0.5, 1.5]}, index=pd.MultiIndex.from_tuples([(7, "a"), (8, "b")], names=["t", "s"])
    ),
    "no index": pd.DataFrame({"t": [7, 8], "v": [0.5, 1.5]}),
}


@pytest.mark.parametrize("has_pyarrow", [True, False])
@pytest.mark.parametrize("name", FRAMES)
def test_the_index_of_a_frame_is_first(
    db: stationdb.Store, monkeypatch: pytest.MonkeyPatch, name: str, has_pyarrow: bool
) -> None:
    if not has_pyarrow:
        monkeypatch.setitem(sys.modules, "pyarrow", None)
    table = db.tables.create("frame")
    # The first column is the index of the table.
    table.append(FRAMES[name])
    expected = ["t", "s", "v"] if name == "levels" else ["t", "v"]
    assert list(table.columns) == expected
    assert [row["t"] for row in table.rows().to_pylist()] == [7, 8]
    taken = pd.DataFrame({"t": [1]}, index=pd.Index([1], name="t"))
    with pytest.raises(Invalid, match="several columns of one name"):
        table.append(taken)
    with pytest.raises(Invalid, match="is named 0, which is no text"):
        table.append(pd.DataFrame({"v": [1.0]}, index=pd.Index([1], name=0)))


#: Samples, and what a table without columns keeps of them.
SAMPLES: dict[str, tuple[Any, str]] = {
    "floats": ([0.5, 1.5], "FLOAT64"),
    "whole numbers": ([1, 2], "INT64"),
    "long whole numbers": ([2**53 + 1, 2], "INT64"),
    "both": ([1, 0.5], "FLOAT64"),
    "NaN": ([math.nan, 0.5], "FLOAT64"),
    "an iterator": ([0.5, 1.5], "FLOAT64"),
    "an array of the library": (array.array("d", [0.5, 1.5]), "FLOAT64"),
    "pyarrow": (pa.array([0.5, 1.5]), "FLOAT64"),
    "pyarrow, whole": (pa.array([1, 2], pa.int16()), "INT32"),
    "pyarrow, chunked": (pa.chunked_array([[0.5], [1.5]]), "FLOAT64"),
    "polars": (pl.Series([0.5, 1.5]), "FLOAT64"),
    "pandas": (pd.Series([0.5, 1.5]), "FLOAT64"),
    "big-endian": (np.array([0.5, 1.5], dtype=">f8"), "FLOAT64"),
}


@pytest.mark.parametrize("name", SAMPLES)
def test_samples_are_kept_as_they_are(db: stationdb.Store, name: str) -> None:
    values, kind = SAMPLES[name]
    given = iter(values) if name == "an iterator" else values
    table = db.tables.create("wave", index="t")
    table.append_waveform({"v": given}, dt=1)
    assert table.columns["v"] == kind
    found = table.waveforms()[0].y["v"].tolist()
    np.testing.assert_equal(found, [one.as_py() if hasattr(one, "as_py") else one for one in values])


@pytest.mark.parametrize(
    ("values", "told"),
    [
        ([1.0, None], "masked or null"),
        (pa.array([1.0, None]), "masked or null"),
        (pa.array([1, None]), "masked or null"),
        (pa.chunked_array([[1], [None]]), "masked or null"),
        (pl.Series([1.0, None]), "masked or null"),
        ([2**53 + 1, 0.5], "sample 0 of 'v' is the whole number 9007199254740993"),
        (["1.5"], "no numbers"),
        (["1.5", 2.0], "no numbers"),
        ([True, False], "no numbers"),
        ([10**400], "no numbers"),
        ([1j], "no numbers"),
        ({0.5, 1.5}, "shape"),
        (pa.array(["a"]), "dtype"),
        ([[1.0], [1.0, 2.0]], "no numbers"),
    ],
)
def test_samples_that_would_become_others_are_refused(
    db: stationdb.Store, values: Any, told: str
) -> None:
    table = db.tables.create("wave", index="t")
    with pytest.raises(Invalid, match=told):
        table.append_waveform({"v": values}, dt=1)
    assert "without columns" in repr(table)


def test_whole_samples_of_a_column_of_floats(db: stationdb.Store) -> None:
    table = db.tables.create("wave", {"t": int, "v": float}, index="t")
    table.append_waveform({"v": [1, 2]}, dt=1)
    table.append_waveform({"v": np.array([3, 4], dtype="i2")}, dt=1)
    assert table.waveforms()[0].y["v"].tolist() == [1.0, 2.0, 3.0, 4.0]
    with pytest.raises(Invalid, match="rounds it"):
        table.append_waveform({"v": [2**53 + 1]}, dt=1)
    assert len(table) == 4


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
