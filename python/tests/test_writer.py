"""Writers of single rows: a row that does not fit loses no other, also between threads."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from datetime import UTC, date, datetime
from typing import Any

import numpy
import pandas
import pytest

import stationdb
from stationdb import errors

#: Their stubs know fewer values than they take.
np: Any = numpy
pd: Any = pandas
START = datetime(2026, 1, 1, tzinfo=UTC)
Invalid = errors.InvalidArgumentError
#: The type of a column, values that it keeps, and values that it does not.
TYPES: list[tuple[str, list[Any], list[Any]]] = [
    ("BOOL", [True, np.True_, None], [1, "yes"]),
    ("INT32", [-(2**31), 2**31 - 1, np.int8(3)], [2**31, -(2**31) - 1, 0.5, True, "1"]),
    ("INT64", [2**63 - 1, -(2**63), np.uint64(7)], [2**63, np.uint64(2**63), 1.0]),
    ("FLOAT32", [0.1, 2**24, float("inf"), float("nan"), None], [1e300, 2**24 + 1, "OVERLOAD"]),
    ("FLOAT64", [1, 2**60, 0.1, np.float32(0.5)], [2**53 + 1, 10**400, True, [1.0]]),
    ("STRING", ["a", ""], ["a\udc80", 5, b"a"]),
    (
        "TIMESTAMP",
        [START, np.datetime64("2026-01"), np.datetime64(3, "10ms"), date(2026, 1, 2), pd.NaT],
        [START.replace(microsecond=1), datetime(2026, 1, 1), 5, np.datetime64("10000-01-01")],
    ),
    (
        "TIMESTAMP_US",
        [START.replace(microsecond=1), datetime.max.replace(tzinfo=UTC)],
        [pd.Timestamp("2026-01-01T00:00:00.000000001Z"), np.datetime64(1, "ns")],
    ),
    (
        "TIMESTAMP_NS",
        [pd.Timestamp("2026-01-01T00:00:00.000000001Z"), np.datetime64(5, "25ns")],
        [datetime.max.replace(tzinfo=UTC), np.datetime64(1, "ps"), np.timedelta64(1, "ns")],
    ),
]


@pytest.mark.parametrize(("kind", "good", "bad"), TYPES, ids=[one[0] for one in TYPES])
def test_a_row_that_does_not_fit_loses_no_other(
    db: stationdb.Store, kind: str, good: list[Any], bad: list[Any]
) -> None:
    table = db.tables.create("rows", {"t": int, "v": kind}, index="t")
    with table.writer(seconds=1000) as writer:
        writer.row(t=-1)
        for at, value in enumerate(good):
            writer.row(t=at, v=value)
            for wrong in bad:
                with pytest.raises(Invalid, match="'v'"):
                    writer.row(t=1000, v=wrong)
    assert table.rows("t").to_numpy()["t"].tolist() == [-1, *range(len(good))]
    # A list of the same values becomes the same rows.
    again = db.tables.create("again", {"t": int, "v": kind}, index="t")
    for at, value in enumerate(good):
        again.append({"t": [at], "v": [None if value is pd.NaT else value]})
    for one, other in zip(table.rows(start=0).to_pylist(), again.rows().to_pylist(), strict=True):
        np.testing.assert_equal(one, other)


def test_rows_before_the_columns(db: stationdb.Store) -> None:
    table = db.tables.create("new", index="t")
    with table.writer(seconds=1000) as writer:
        first: list[dict[str, Any]] = [{"v": 1.0}, {"t": 0.5}]
        first += [{"t": 0, "v": None}, {"t": 0, "v": 1j}]
        for wrong in first:
            with pytest.raises(Invalid):
                writer.row(**wrong)
        for at in range(1000):
            writer.row(t=at, volts=at / 2, count=at)
        later: list[dict[str, Any]] = [{"t": 1, "volts": "OVERLOAD"}, {"volts": 1.0}, {"t": None}]
        for wrong in later:
            with pytest.raises(Invalid):
                writer.row(**wrong)
        # Whole numbers become floats, and a column may come later.
        writer.row(t=1000, count=0.5, note="late")
        with pytest.raises(Invalid, match="'t'"):
            writer.row(t=1000.5)
    assert len(table) == 1001
    expected = {"t": "INT64", "volts": "FLOAT64", "count": "FLOAT64", "note": "STRING"}
    assert table.columns == expected
    assert table.rows(start=999).to_pylist() == [
        {"t": 999, "volts": 499.5, "count": 999.0, "note": None},
        {"t": 1000, "volts": None, "count": 0.5, "note": "late"},
    ]


def test_digits_are_cut_where_the_column_says_so(db: stationdb.Store) -> None:
    column = {"name": "t", "dataType": "TIMESTAMP", "columnType": "INDEX"}
    table = db.tables.create("cut", [{**column, "properties": {"finerTimes": "CUT"}}])
    with table.writer() as writer:
        writer.row(t=START.replace(microsecond=1999))
    assert table.rows().to_pylist() == [{"t": START.replace(microsecond=1000)}]


def test_a_writer_finds_columns_that_come_later(db: stationdb.Store) -> None:
    table = db.tables.create("grown", {"t": int}, index="t")
    with table.writer(seconds=1000) as writer:
        writer.row(t=0)
        table.add_columns({"v": float})
        writer.row(t=1, v=0.5)
        with pytest.raises(Invalid, match="no column 'w', but t, v"):
            writer.row(t=2, w=1)
    assert table.rows().to_pylist() == [{"t": 0, "v": None}, {"t": 1, "v": 0.5}]


def test_rows_that_the_table_refuses_are_put_aside(db: stationdb.Store) -> None:
    # Another handle makes the table with types that some of the rows do not fit.
    writer = db.tables.create("two", index="t", exist_ok=True).writer(seconds=1000)
    for at in range(100):
        writer.row(t=START.replace(microsecond=at), v=1e300 if at in (7, 8, 50) else at / 2)
    made = db.tables.create("two", {"t": "TIMESTAMP_US", "v": "FLOAT32"}, index="t")
    with pytest.raises(Invalid, match="3 of 100 rows") as caught:
        writer.flush()
    assert len(caught.value.inner) == 3
    assert [row["t"].microsecond for row in writer.refused] == [7, 8, 50]
    assert len(made) == 97
    with pytest.raises(Invalid, match="FLOAT32"):
        writer.row(t=START, v=1e300)
    writer.row(t=START.replace(microsecond=100), v=0.5)
    writer.close()
    assert len(made) == 98


def test_rows_wait_for_what_is_no_fault_of_theirs(db: stationdb.Store) -> None:
    table = db.tables.create("later", {"t": int}, index="t")
    busy = db.session(timeout=0.2)
    writer = busy.tables.get(table.id).writer(seconds=1000)
    writer.row(t=0)
    writer.row(t=1)
    begun, done = threading.Event(), threading.Event()

    def hold() -> None:
        with db.transaction():
            begun.set()
            done.wait(20)

    thread = threading.Thread(target=hold)
    thread.start()
    begun.wait(20)
    with pytest.raises(errors.DeadlineExceededError):
        writer.flush()
    done.set()
    thread.join()
    writer.row(t=2)
    writer.close()
    assert table.rows().to_numpy()["t"].tolist() == [0, 1, 2] and writer.refused == []


def test_threads_share_a_writer(db: stationdb.Store) -> None:
    table = db.tables.create("shared", {"t": int, "v": float}, index="t")
    failed: list[BaseException] = []

    def write(writer: stationdb.TableWriter, first: int) -> None:
        try:
            for at in range(first, first + 5_000):
                writer.row(t=at, v=at / 2)
        except BaseException as error:
            failed.append(error)

    with table.writer(batch_rows=100) as writer:
        threads = [threading.Thread(target=write, args=(writer, n * 5_000)) for n in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert failed == []
    assert table.rows("t").to_numpy()["t"].tolist() == list(range(20_000))


class Slow(dict[str, list[Any]]):
    """Columns between which another thread goes on."""

    def items(self) -> Any:
        for pair in list(super().items()):
            time.sleep(0.002)
            yield pair


def test_rows_of_threads_stay_whole(db: stationdb.Store) -> None:
    table = db.tables.create("whole", {"t": int, "v": float}, index="t")
    with table.writer(seconds=1000) as writer:
        writer.row(t=-2, v=-1.0)
        writer.row(t=-1, v=-0.5)
        writer._columns = Slow(writer._columns)

        def write(first: int) -> None:
            for at in range(first, first + 20):
                writer.row(t=at, v=at / 2)

        threads = [threading.Thread(target=write, args=(n * 20,)) for n in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    expected = [{"t": at, "v": at / 2} for at in range(-2, 60)]
    assert table.rows().to_pylist() == expected


def test_a_handler_may_add_a_row_during_a_flush(
    db: stationdb.Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = db.tables.create("inside", {"t": int}, index="t")
    append: Callable[..., None] = stationdb.Table._append
    writer = table.writer(seconds=1000)

    def slowly(self: stationdb.Table, *arguments: Any) -> None:
        # As a handler of a signal does, on the same thread.
        if not any(row["t"] == 5 for row in self.rows().to_pylist()) and writer._count == 0:
            writer.row(t=5)
        append(self, *arguments)

    writer.row(t=0)
    writer.row(t=1)
    monkeypatch.setattr(stationdb.Table, "_append", slowly)
    writer.flush()
    monkeypatch.setattr(stationdb.Table, "_append", append)
    writer.close()
    assert table.rows().to_numpy()["t"].tolist() == [0, 1, 5]


def test_rows_are_durable_after_their_second(db: stationdb.Store) -> None:
    table = db.tables.create("timed", {"t": int}, index="t")
    with table.writer(seconds=0.05) as writer:
        writer.row(t=0)
        writer.row(t=1)
        time.sleep(0.06)
        writer.row(t=2)
        assert len(table) == 3
