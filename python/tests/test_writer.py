"""Writers of single rows: a row that does not fit loses no other, also between threads."""

from __future__ import annotations

import signal
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, date, datetime
from pathlib import Path
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


def test_rows_of_threads_stay_whole(
    db: stationdb.Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = db.tables.create("whole", {"t": int, "v": float}, index="t")
    convert = stationdb.TableWriter._cell

    def slowly(self: stationdb.TableWriter, *arguments: Any) -> Any:
        # Another thread goes on between two cells.
        time.sleep(0.002)
        return convert(self, *arguments)

    monkeypatch.setattr(stationdb.TableWriter, "_cell", slowly)
    with table.writer(seconds=1000) as writer:
        writer.row(t=-2, v=-1.0)
        writer.row(t=-1, v=-0.5)

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
    handled: list[int] = []

    def slowly(self: stationdb.Table, *arguments: Any) -> None:
        # As a handler of a signal does, on the same thread.
        if not handled:
            handled.append(1)
            writer.row(t=5)
            writer.flush()
        append(self, *arguments)

    writer.row(t=0)
    writer.row(t=1)
    monkeypatch.setattr(stationdb.Table, "_append", slowly)
    writer.flush()
    # The flush goes on with the row of the handler, which has asked for it.
    assert table.rows().to_numpy()["t"].tolist() == [0, 1, 5]
    writer.close()
    assert len(table) == 3


def test_rows_are_durable_after_their_second(db: stationdb.Store) -> None:
    table = db.tables.create("timed", {"t": int}, index="t")
    with table.writer(seconds=0.05) as writer:
        writer.row(t=0)
        writer.row(t=1)
        time.sleep(0.06)
        writer.row(t=2)
        assert waited(lambda: len(table) == 3)


def waited(done: Callable[[], bool]) -> bool:
    """Whether something comes true soon, by itself."""
    end = time.monotonic() + 20
    while not done() and time.monotonic() < end:
        time.sleep(0.01)
    return done()


@pytest.mark.parametrize("is_new", [True, False])
def test_the_last_rows_are_durable_without_another_call(db: stationdb.Store, is_new: bool) -> None:
    columns = None if is_new else {"t": int}
    table = db.tables.create("idle", columns, index="t")
    with table.writer(seconds=0.2) as writer:
        writer.row(t=0)
        writer.row(t=1)
        assert len(table) == (0 if is_new else 1)
        assert waited(lambda: len(table) == 2)
        # And again, with a clock that had ended.
        assert waited(lambda: writer._clock is None)
        writer.row(t=2)
        writer.row(t=3)
        assert waited(lambda: len(table) == 4)
    assert table.rows().to_numpy()["t"].tolist() == [0, 1, 2, 3]


def test_the_error_of_the_clock_is_raised_by_the_next_call(db: stationdb.Store) -> None:
    table = db.tables.create("ended", {"t": int}, index="t")
    writer = table.writer(seconds=1)
    writer.row(t=0)
    writer.row(t=1)
    table.end()
    assert waited(lambda: writer._failed is not None)
    with pytest.raises(errors.ConflictError, match="closed"):
        writer.row(t=2)
    # Nothing was lost, and the call took its row.
    assert writer.discard() == 2 and len(table) == 1
    writer.close()

    two = db.tables.create("two", index="t", exist_ok=True)
    writer = two.writer(seconds=1)
    for at in range(3):
        writer.row(t=at, v=1e300 if at == 1 else 0.5)
    db.tables.create("two", {"t": int, "v": "FLOAT32"}, index="t")
    assert waited(lambda: len(two) == 2)
    with pytest.raises(Invalid, match="1 of 3 rows"):
        writer.close()
    assert [row["t"] for row in writer.refused] == [1] and writer._is_closed


def test_the_clock_waits_for_no_transaction_of_its_caller(db: stationdb.Store) -> None:
    table = db.tables.create("beside", {"t": int}, index="t")
    with table.writer(seconds=0.3) as writer:
        writer.row(t=0)
        with db.transaction() as tx:
            tx.products.create(part_number="P-1")
            with suppress(errors.ConflictError):
                # It is due already where the machine is slow. It is taken all the same.
                writer.row(t=1)
            # The clock waits for the transaction now, and this thread for neither.
            time.sleep(0.8)
            began = time.monotonic()
            with pytest.raises(errors.ConflictError, match="transaction"):
                writer.row(t=2)
            assert time.monotonic() - began < 5
        assert waited(lambda: len(table) == 3)


def test_the_rows_of_a_transaction_have_no_clock(db: stationdb.Store) -> None:
    with db.transaction() as tx:
        writer = tx.tables.create("inside", {"t": int}, index="t").writer(seconds=0.05)
        writer.row(t=0)
        writer.row(t=1)
        assert writer._clock is None
    assert len(db.tables.get("inside")) == 2


def test_a_program_that_ends_with_rows_of_a_writer(tmp_path: Path) -> None:
    code = """
        import sys, stationdb
        db = stationdb.open(sys.argv[1])
        writer = db.tables.create("rows", {"t": int}, index="t").writer(seconds=float(sys.argv[2]))
        for at in range(3):
            writer.row(t=at)
    """
    for seconds in (0.001, 1000):
        command = [sys.executable, "-c", textwrap.dedent(code), str(tmp_path / str(seconds))]
        done = subprocess.run(
            [*command, str(seconds)], capture_output=True, text=True, timeout=60, check=False
        )
        assert done.returncode == 0, (done.returncode, done.stderr)
        with stationdb.open(tmp_path / str(seconds)) as db:
            assert len(db.tables.get("rows")) >= 1


class Interrupt(Exception):
    """What the handler of a signal raises."""


def interrupted_after(
    monkeypatch: pytest.MonkeyPatch, owner: Any, name: str, error: type[BaseException]
) -> None:
    """Has the next call of a method raise, after it has done its work, as a handler of a signal does."""
    method = getattr(owner, name)

    def call(self: Any, *arguments: Any) -> Any:
        monkeypatch.setattr(owner, name, method)
        method(self, *arguments)
        raise error

    monkeypatch.setattr(owner, name, call)


@pytest.mark.parametrize("error", [KeyboardInterrupt, Interrupt, Invalid])
@pytest.mark.parametrize("is_new", [True, False])
def test_rows_that_are_stored_are_not_appended_again(
    db: stationdb.Store, monkeypatch: pytest.MonkeyPatch, is_new: bool, error: type[BaseException]
) -> None:
    table = db.tables.create("rows", None if is_new else {"t": int}, index="t")
    writer = table.writer(seconds=1000)
    if not is_new:
        writer.row(t=-1)
    writer.row(t=0)
    writer.row(t=1)
    owner, name = (stationdb.Transaction, "_end") if is_new else (stationdb.Table, "_append")
    interrupted_after(monkeypatch, owner, name, error)
    with pytest.raises(error):
        writer.flush()
    monkeypatch.undo()
    writer.row(t=2)
    writer.close()
    assert len(db.tables.query().all()) == 1
    expected = [0, 1, 2] if is_new else [-1, 0, 1, 2]
    assert db.tables.get("rows").rows().to_numpy()["t"].tolist() == expected


class Raising:
    """A table whose append is interrupted before the commit."""

    def __init__(self, core: Any) -> None:
        self.core, self.id = core, core.id

    def append(self, *arguments: Any) -> None:
        self.core.append(*arguments)
        raise KeyboardInterrupt


@pytest.mark.parametrize("is_taken", [True, False])
def test_rows_that_were_taken_back_are_appended(
    db: stationdb.Store, monkeypatch: pytest.MonkeyPatch, is_taken: bool
) -> None:
    table = db.tables.create("rows", index="t", exist_ok=True)
    writer = table.writer(seconds=1000)
    writer.row(t=0)
    if is_taken:
        # While the first append works, because it looks before it.
        db.tables.create("rows", {"t": int}, index="t")
        monkeypatch.setattr(stationdb.Table, "_look_again", lambda table: None)
    create = stationdb.Table._create
    monkeypatch.setattr(stationdb.Table, "_create", lambda *given: Raising(create(*given)))
    with pytest.raises(KeyboardInterrupt):
        writer.flush()
    monkeypatch.undo()
    writer.row(t=1)
    writer.close()
    assert db.tables.get("rows").rows().to_numpy()["t"].tolist() == [0, 1]


@pytest.mark.parametrize("kind", ["append", "waveform"])
def test_an_interrupted_first_append_makes_one_table(
    db: stationdb.Store, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    table = db.tables.create("rows", index="t")

    def append(first: int) -> None:
        if kind == "append":
            table.append({"t": [first], "v": [0.5]})
        else:
            table.append_waveform({"v": [0.5]}, dt=1, t0=first)

    interrupted_after(monkeypatch, stationdb.Transaction, "_end", KeyboardInterrupt)
    with pytest.raises(KeyboardInterrupt):
        append(0)
    monkeypatch.undo()
    assert len(table) == 1
    append(1)
    assert len(db.tables.query().all()) == 1 and len(table) == 2


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs signals of Unix")
def test_interrupted_rows_stay_whole_and_come_once(db: stationdb.Store) -> None:
    table = db.tables.create("rows", {"t": int, "v": float, "s": str}, index="t")
    generator = np.random.default_rng(1)

    armed: list[int] = []

    def interrupt(*_: object) -> None:
        if armed:
            armed.clear()
            raise Interrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    at = 0
    try:
        with table.writer(seconds=1000, batch_rows=50) as writer:
            end = time.monotonic() + 2
            while time.monotonic() < end:
                with suppress(Interrupt):
                    armed.append(1)
                    signal.setitimer(signal.ITIMER_REAL, float(generator.uniform(1e-4, 5e-3)))
                    while armed:
                        # A row that was interrupted may have been taken.
                        at += 1
                        writer.row(t=at, v=at / 2, s=str(at))
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert writer.refused == [] and at > 100
    rows = table.rows().to_pylist()
    numbers = [row["t"] for row in rows]
    assert len(numbers) == len(set(numbers)) and len(numbers) > at / 2
    assert all((row["v"], row["s"]) == (row["t"] / 2, str(row["t"])) for row in rows)
