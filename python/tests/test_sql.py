"""Statements of SQL: their values, and what they see when a text comes again."""

from __future__ import annotations

import threading
import time
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
Invalid = errors.InvalidArgumentError


def ask(db: Any, statement: str, values: Any = None, /, **named: Any) -> list[list[Any]]:
    """The rows of a statement as lists."""
    return [list(row.values()) for row in db.sql(statement, values, **named).to_pylist()]


def test_values_by_place_and_by_name(db: stationdb.Store, loop: stationdb.Table) -> None:
    between = "select t from loop where volts between {} and {} order by t"
    by_place = between.format("?", "?")
    for low, high, expected in [(0.4, 1.1, [[1], [2]]), (1.5, 1.5, [[3]]), (2.0, 3.0, [])]:
        assert ask(db, by_place, (low, high)) == expected
        assert ask(db, by_place, [low, high]) == expected
        assert ask(db, between.format("$1", "$2"), (low, high)) == expected
        assert ask(db, between.format("$low", "$high"), low=low, high=high) == expected
        assert ask(db, between.format("$low", "$high"), {"low": low, "high": high}) == expected
    # In the order of the text, and one value for many places.
    assert ask(db, "select ?, ?, ?", (1, "a", None)) == [[1, "a", None]]
    assert ask(db, "select $1 as a, $2 as b, $1 as c", (1, "a")) == [[1, "a", 1]]
    assert ask(db, "select t from loop where t = $statement", statement=2) == [[2]]
    # What is no place for a value asks for none.
    assert ask(db, "select '?', '$x', t from loop -- ? $y\nlimit ?", (1,)) == [["?", "$x", 0]]
    assert ask(db, "select 1", ()) == ask(db, "select 1", {}) == [[1]]
    assert ask(db, "select t from loop limit ?", (np.int64(2),)) == [[0], [1]]
    assert ask(db, "select ?", (np.str_("a"),)) == ask(db, "select $v", v=np.str_("a")) == [["a"]]


def test_values_of_each_type(db: stationdb.Store) -> None:
    table = db.tables.create("days", {"t": "TIMESTAMP_US", "v": float}, index="t")
    noon = datetime(2026, 11, 29, 12, tzinfo=UTC)
    table.append({"t": [noon], "v": [0.5]})
    for value in (date(2026, 11, 29), noon, datetime.fromisoformat("2026-11-29T13:00:00+01:00")):
        assert ask(db, "select v from days where t >= ?", (value,)) == [[0.5]]
    assert ask(db, "select v from days where t >= ?", (date(2026, 11, 30),)) == []
    assert ask(db, "select v from days where t > ?", (noon,)) == []
    for number in (np.float32(0.5), np.float64(0.5), 0.5):
        assert ask(db, "select v from days where v = ?", (number,)) == [[0.5]]
    assert ask(db, "select ?, ?, ?", (True, np.bool_(False), -(2**63))) == [[True, False, -(2**63)]]
    assert ask(db, "select v from days where v = ?", (None,)) == []


def test_times_of_pandas_and_numpy_keep_their_digits(db: stationdb.Store) -> None:
    first = pd.Timestamp("2026-11-29T12:00:00.000001234")
    for name, kind, step in (("ns", "TIMESTAMP_NS", 1), ("us", "TIMESTAMP_US", 1000)):
        table = db.tables.create(name, {"t": kind, "v": int}, index="t")
        at = first.value // step * step
        table.append({"t": np.array([at, at + step], dtype="M8[ns]"), "v": [0, 1]})
        for value in (
            pd.Timestamp(at),
            pd.Timestamp(at, tz="UTC"),
            pd.Timestamp(at, tz="UTC").tz_convert("Asia/Tokyo"),
            np.datetime64(at, "ns"),
        ):
            assert ask(db, f"select v from {name} where t = ?", (value,)) == [[0]]
            assert ask(db, f"select v from {name} where t > $at", at=value) == [[1]]
    assert ask(db, "select v from us where t = ?", (first,)) == []
    hour = np.datetime64("2026-11-29T12")
    assert ask(db, "select ? = timestamp '2026-11-29T12:00:00Z'", (hour,)) == [[True]]


REFUSED: list[tuple[str, Any, dict[str, Any], str]] = [
    ("select ?", None, {}, "db.sql(statement, (value,))"),
    ("select ?", (1, 2), {}, "2 are given"),
    ("select ?, ?", (1,), {}, "2 values, and 1 are given"),
    ("select $2", (1,), {}, "2 values"),
    ("select ?", {"x": 1}, {}, "no $x"),
    ("select $x", None, {}, "give x=…"),
    ("select $x, $y", {"x": 1}, {}, "give y=…"),
    ("select $x", (1,), {}, "write ? for $x"),
    ("select $x", None, {"x": 1, "z": 2}, "no $z"),
    ("select '$z'", None, {"z": 2}, "no $z"),
    ("select $x", (1,), {"x": 1}, "name=…"),
    ("select ?, $x", (1,), {}, "? beside $x"),
    ("select ?", "ab", {}, "('ab',)"),
    ("select ?", 5, {}, "(5,)"),
    ("select ?", {1}, {}, "tuple"),
    ("select $x", {1: 2}, {}, "name"),
    ("select ?", ([1],), {}, "float"),
    ("select ?", (np.datetime64("NaT"),), {}, "NaT"),
    ("select ?", (pd.NaT,), {}, "NaT"),
    ("select ?", (np.timedelta64(1, "s"),), {}, "timedelta64"),
    ("select ?", (np.datetime64(1, "ps"),), {}, "finer than nanoseconds"),
    ("select ?", (np.datetime64(2**62, "s"),), {}, "too far away"),
    ("select ?", (datetime(2026, 11, 29),), {}, "timezone.utc"),
    ("select ?", (2**63,), {}, "64 bits"),
    ("select ?", (np.zeros(2),), {}, "ndarray"),
]


@pytest.mark.parametrize(("statement", "values", "named", "told"), REFUSED)
def test_values_that_do_not_fit(
    db: stationdb.Store, statement: str, values: Any, named: dict[str, Any], told: str
) -> None:
    with pytest.raises(Invalid) as caught:
        db.sql(statement, values, **named)
    assert told in str(caught.value), str(caught.value)


def test_a_text_that_comes_again_sees_what_is_there_now(db: stationdb.Store) -> None:
    every, counted = "select * from loop where t >= ?", "select count(*) as n from loop"
    table = db.tables.create("loop", {"t": int, "volts": float}, index="t")
    for at in range(3):
        assert ask(db, counted) == [[at]]
        table.append({"t": [at], "volts": [0.5]})
        assert ask(db, every, (at,)) == [[at, 0.5]]
    table.add_columns([("amps", float)])
    assert ask(db, every, (2,)) == [[2, 0.5, None]]
    # Another table of the name, with other columns.
    table.delete()
    with pytest.raises(Invalid, match="information_schema"):
        ask(db, every, (0,))
    db.tables.create("loop", index="t").append({"t": [7], "state": ["on"]})
    assert ask(db, every, (0,)) == [[7, "on"]]
    # The pages of a store that was written again, and other users.
    db.compact()
    assert ask(db, every, (0,)) == ask(db.session("eve"), every, (0,)) == [[7, "on"]]


def test_many_texts_and_threads(db: stationdb.Store, loop: stationdb.Table) -> None:
    failed: list[BaseException] = []

    def work(number: int) -> None:
        try:
            for at in range(60):
                text = f"select t, {at % 40} as n from loop where t = ?"
                assert ask(db, text, (number,)) == [[number, at % 40]]
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []


def test_a_statement_ends_at_the_timeout_of_its_session(
    db: stationdb.Store, loop: stationdb.Table
) -> None:
    loop.append({"t": np.arange(4, 20_000), "volts": np.zeros(19_996)})
    began = time.perf_counter()
    with pytest.raises(TimeoutError):
        ask(db.session(timeout=0.3), "select count(*) from loop a, loop b where a.t < b.volts - ?", (1,))
    assert time.perf_counter() - began < 10
    # Its threads are free for others.
    assert ask(db, "select count(*) as n from loop") == [[20_000]]
