"""Where the samples of waveforms lie: epochs, nanoseconds, captures that go on."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import numpy
import pandas
import polars as pl
import pytest

import stationdb
from stationdb import errors

#: Their stubs know fewer values than they take.
np: Any = numpy
pd: Any = pandas
Invalid = errors.InvalidArgumentError
SAMPLES = np.arange(1000.0)


@pytest.mark.parametrize(
    ("t0", "dt", "step"),
    [
        (1.7e9, 1e-8, 10),
        (1764512345.1234567, 1e-7, 100),
        (0.0, 1e-9, 1),
        (9.1e6, 1e-9, 1),
        (np.float64(1.7e9), np.float64(1e-3), 1),
    ],
)
def test_captures_go_on_from_any_epoch(db: stationdb.Store, t0: float, dt: float, step: int) -> None:
    table = db.tables.create("stream", index="t")
    for at in range(5):
        table.append_waveform({"v": SAMPLES}, dt=dt, t0=None if at else t0)
    places = table.rows("t").to_numpy()["t"]
    assert np.unique(np.diff(places)).tolist() == [step]
    found = table.waveforms()[0]
    assert found.dt == float(dt) and len(found) == 5_000
    np.testing.assert_array_equal(found.y["v"], np.tile(SAMPLES, 5))
    with pytest.raises(errors.ConflictError, match="mix"):
        table.append_waveform({"v": SAMPLES}, dt=dt, t0=t0)


def test_a_capture_in_the_years_goes_on(db: stationdb.Store) -> None:
    # Beyond what nanoseconds count, and in a column of whole microseconds.
    late = db.tables.create("late", {"t": "TIMESTAMP_US", "v": float}, index="t")
    late.append_waveform({"v": SAMPLES}, dt=1e-6, t0=datetime(2500, 1, 1, tzinfo=UTC))
    late.append_waveform({"v": SAMPLES}, dt=1e-6)
    assert np.unique(np.diff(late.rows("t").to_numpy()["t"])).astype(int).tolist() == [1]
    ticks = db.tables.create("ticks", [("t", int, "us"), ("v", float)], index="t")
    ticks.append_waveform({"v": SAMPLES}, dt=1e-6, t0=datetime(2026, 1, 1, tzinfo=UTC))
    ticks.append_waveform({"v": SAMPLES}, dt=1e-6)
    places = ticks.rows("t").to_numpy()["t"]
    assert places[0] == 1_767_225_600_000_000 and np.unique(np.diff(places)).tolist() == [1]
    with pytest.raises(Invalid, match="us|steps|exactly"):
        ticks.append_waveform({"v": SAMPLES}, dt=1e-7)


@pytest.mark.parametrize(
    "t0",
    [
        pd.Timestamp("2024-01-01T00:00:00.000000123Z"),
        pd.Timestamp("2024-01-01T01:00:00.000000123", tz="Europe/Berlin"),
        np.datetime64("2024-01-01T00:00:00.000000123"),
    ],
)
def test_nanoseconds_of_the_first_sample_are_kept(db: stationdb.Store, t0: Any) -> None:
    table = db.tables.create("fine")
    table.append_waveform({"v": SAMPLES}, dt=1e-9, t0=t0)
    table.append_waveform({"v": SAMPLES}, dt=1e-9)
    assert table.columns["t"] == "TIMESTAMP_NS"
    places = table.rows("t").to_pylist()
    first = 1_704_067_200_000_000_123
    assert (places[0]["t"], places[-1]["t"]) == (first, first + 1999)
    with pytest.raises(errors.ConflictError, match="mix"):
        table.append_waveform({"v": SAMPLES}, dt=1e-9, t0=t0)
    for kind in ("TIMESTAMP", "TIMESTAMP_US"):
        coarse = db.tables.create(None, {"t": kind, "v": float}, index="t")
        with pytest.raises(Invalid, match="exactly"):
            coarse.append_waveform({"v": SAMPLES}, dt=1.0, t0=t0)


@pytest.mark.parametrize(
    "values", [pd.Series([1.5, 2.5]), pl.Series([1.5, 2.5]), pd.Series([1.5, 2.5], dtype="Float64")]
)
def test_samples_of_data_frames(db: stationdb.Store, values: Any) -> None:
    table = db.tables.create("w", index="t")
    table.append_waveform({"v": values}, dt=1e-3)
    assert table.waveforms()[0].y["v"].tolist() == [1.5, 2.5]


MISSING: dict[str, Any] = {
    "masked": np.ma.array([1.0, 2.0], mask=[0, 1]),
    "masked whole numbers": np.ma.array([1, 2], mask=[1, 0]),
    "null of polars": pl.Series([1.5, None]),
    "NA of pandas": pd.Series([1, None], dtype="Int64"),
    "a scalar": 3.0,
    "a scalar of numpy": np.float64(3),
}


@pytest.mark.parametrize("name", MISSING)
def test_samples_without_a_value_are_refused(db: stationdb.Store, name: str) -> None:
    table = db.tables.create("w", index="t")
    with pytest.raises(Invalid, match="'v'"):
        table.append_waveform({"v": MISSING[name]}, dt=1e-3)
    assert "without columns" in repr(table)


def test_an_array_with_an_empty_mask_is_taken(db: stationdb.Store) -> None:
    table = db.tables.create("w", index="t")
    table.append_waveform({"v": np.ma.array([1.0, 2.0], mask=[0, 0])}, dt=1e-3)
    assert table.waveforms()[0].y["v"].tolist() == [1.0, 2.0]


@pytest.mark.parametrize(
    "axis",
    [
        {"dt": float("nan")},
        {"dt": float("inf")},
        {"dt": "1"},
        {"dt": True},
        {"dt": np.arange(2)},
        {"dt": 1e-3, "t0": float("nan")},
        {"dt": 1e-3, "t0": np.datetime64("NaT")},
        {"dt": 1e-3, "t0": datetime(2024, 1, 1)},
        {"dt": 1, "t0": 2**63},
    ],
)
def test_an_axis_that_is_none_is_refused(db: stationdb.Store, axis: dict[str, Any]) -> None:
    known = db.tables.create(None, {"t": int, "v": float}, index="t")
    for table in (db.tables.create("w", index="t"), known):
        with pytest.raises(Invalid, match="dt|t0"):
            table.append_waveform({"v": SAMPLES}, **axis)


def test_plots_of_short_times(db: stationdb.Store) -> None:
    table = db.tables.create("one", index="t")
    table.append({"t": [datetime(2026, 1, 1, tzinfo=UTC)], "v": [1.0]})
    assert "2026-01-01T00:00:00.000" in table.plot().svg
    start = datetime(2026, 1, 1, tzinfo=UTC)
    for name, t0 in (("times", start), ("ticks", 1.7e9)):
        fine = db.tables.create(name, index="t")
        fine.append_waveform({"v": np.arange(100.0)}, dt=1e-9, t0=t0)
        curve = fine.plot("v").svg.rpartition('" fill="none"')[0].rpartition('d="')[2]
        places = [pair.split()[0] for pair in curve.replace("M", "L").split("L")[1:]]
        assert len(set(places)) == 100
    assert "2026-01-01T00:00:00.000000020" in db.tables.get("times").plot().svg
