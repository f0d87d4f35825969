"""Likely mistakes of users: each is told by its kind, with what to do, and never as a panic."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow
import pytest

import stationdb
from stationdb import errors

#: Its stubs know fewer values than it takes.
pa: Any = pyarrow
Invalid = errors.InvalidArgumentError
T = np.arange(3)


class Place:
    """What a mistake is made with: an open store, its table of four rows, a directory."""

    def __init__(self, db: stationdb.Store, loop: stationdb.Table, tmp: Path) -> None:
        self.db, self.loop, self.tmp = db, loop, tmp
        self.product = db.products.create(part_number="P-1")

    def closed(self) -> stationdb.Store:
        store = stationdb.open(self.tmp / "other")
        store.close()
        return store

    def after_transaction(self) -> stationdb.Transaction:
        with self.db.transaction() as tx:
            pass
        return tx

    def typed(self, kind: str) -> stationdb.Table:
        return self.db.tables.create(None, {"t": int, "v": kind}, index="t")

    def two_writes(self) -> None:
        with self.db.transaction() as tx:
            tx.products.create(part_number="P-2")
            self.db.products.create(part_number="P-3")

    def import_inside(self) -> None:
        with self.db.transaction():
            self.db.tables.import_file(io.BytesIO(b"t\n1\n"), format="csv")

    def upload_inside(self) -> None:
        with self.db.transaction():
            self.db.files.upload(b"x", name="x")

    def maintain_inside(self) -> None:
        with self.db.transaction():
            self.db.maintain()

    def close_inside(self) -> None:
        def report(*_: object) -> None:
            self.db.close()

        self.db.backup(self.tmp / "b", progress=report)

    def follow_a_look(self) -> None:
        with stationdb.look(self.db.path) as seen:
            seen.changes(follow=True)

    def read_twice(self) -> None:
        rows = self.loop.rows()
        rows.to_arrow()
        rows.to_arrow()

    def ended(self) -> None:
        self.loop.end()
        self.loop.append({"t": [9], "volts": [1.0]})


Mistake = tuple[str, Callable[[Place], object], type[Exception], str]
MISTAKES: list[Mistake] = [
    # The store.
    ("path None", lambda p: stationdb.open(None), Invalid, "pathlib.Path"),  # type: ignore[arg-type]
    ("path bytes", lambda p: stationdb.open(b"x"), Invalid, "pathlib.Path"),  # type: ignore[arg-type]
    ("path int", lambda p: stationdb.look(3), Invalid, "pathlib.Path"),  # type: ignore[arg-type]
    ("mistyped path", lambda p: stationdb.open(p.tmp / "no", create=False), FileNotFoundError, "no"),
    ("look at nothing", lambda p: stationdb.look(p.tmp / "no"), FileNotFoundError, "no"),
    ("a file as a store", lambda p: stationdb.open(__file__), OSError, "test_mistakes"),
    ("opened twice", lambda p: stationdb.open(p.db.path), errors.LockedError, "open"),
    ("unknown option", lambda p: stationdb.open(p.tmp / "o", cache=3), Invalid, "query_memory_bytes"),
    ("option of another type", lambda p: stationdb.open(p.tmp / "o", seal_rows="x"), Invalid, "u64"),
    ("user None in session", lambda p: p.db.session(""), Invalid, "give a name"),
    ("user int", lambda p: p.db.session(5), Invalid, "give a name"),  # type: ignore[arg-type]
    ("negative timeout", lambda p: p.db.session(timeout=-1), Invalid, "seconds"),
    ("timeout NaN", lambda p: p.db.session(timeout=float("nan")), Invalid, "seconds"),
    ("closed store", lambda p: p.closed().products.query().all(), errors.ClosedError, "open it again"),
    ("closed store, rows", lambda p: p.closed().tables.get("x"), errors.ClosedError, "open it again"),
    ("verify level", lambda p: p.db.verify("all"), Invalid, "checksums"),
    ("backup into itself", lambda p: p.db.backup(p.db.path), Invalid, "inside"),
    ("backup over files", lambda p: p.db.backup(Path(__file__).parent), errors.NotAStoreError, ""),
    ("restore of nothing", lambda p: stationdb.restore(p.tmp / "no", p.tmp / "x"), FileNotFoundError, ""),
    ("progress of a number", lambda p: p.db.backup(p.tmp / "b", progress=3), Invalid, "function"),  # type: ignore[arg-type]
    ("restore of a set as a backup", lambda p: (p.db.backup_to_set(p.tmp / "s"), stationdb.restore(p.tmp / "s", p.tmp / "x")), errors.NotAStoreError, "restore_from_set"),
    ("restore of a backup as a set", lambda p: (p.db.backup(p.tmp / "b"), stationdb.restore_from_set(p.tmp / "b", p.tmp / "x")), errors.NotAStoreError, "no backup set"),
    ("a set in the store", lambda p: p.db.backup_to_set(Path(p.db.path) / "s"), Invalid, "inside"),
    ("a point as a text", lambda p: stationdb.restore_from_set(p.tmp, p.tmp / "x", at="last week"), Invalid, "2026-11-29T22:40:00Z"),
    ("close in a callback", Place.close_inside, errors.ConflictError, "inside of a call"),
    # Transactions.
    ("used after its transaction", lambda p: p.after_transaction().products.create(part_number="x"), errors.ClosedError, "transaction"),
    ("write beside a transaction", Place.two_writes, errors.ConflictError, "transaction"),
    ("import beside a transaction", Place.import_inside, errors.ConflictError, "transaction"),
    ("upload beside a transaction", Place.upload_inside, errors.ConflictError, "transaction"),
    ("maintenance in a transaction", Place.maintain_inside, errors.ConflictError, "transaction"),
    ("transaction in a transaction", lambda p: p.db.transaction().__enter__().transaction(), errors.UnsupportedError, "open already"),
    # Creating tables.
    ("members of records in a query", lambda p: p.db.products.query(part_number="A-1"), Invalid, "partNumber == @0"),  # type: ignore[call-arg]
    ("a negative span", lambda p: p.db.products.query("updatedWithin <= @0", timedelta(-1)), Invalid, "negative"),
    ("samples without a name", lambda p: p.db.tables.create("x").append_waveform(np.zeros(3), dt=1e-6), Invalid, "no columns yet"),
    ("a day as a bound", lambda p: p.db.tables.create("x", {"t": "TIMESTAMP"}, index="t").rows(start="yesterday").to_pylist(), Invalid, "2024-01-31T12:00:00Z"),
    ("no index", lambda p: p.db.tables.create("x", {"v": float}), Invalid, "index="),
    ("index elsewhere", lambda p: p.db.tables.create("x", {"v": float}, index="t"), Invalid, "add it"),
    ("unknown type", lambda p: p.db.tables.create("x", {"t": complex}, index="t"), Invalid, "FLOAT64"),
    ("float index", lambda p: p.db.tables.create("x", {"t": float}, index="t"), Invalid, ""),
    ("columns as texts", lambda p: p.db.tables.create("x", ["t", "v"], index="t"), Invalid, "dict"),
    ("first column no index", lambda p: p.db.tables.create("x").append({"v": [0.5]}), Invalid, "index="),
    ("only nulls", lambda p: p.db.tables.create("x").append({"t": [1], "v": [None]}), Invalid, "columns="),
    ("missing table", lambda p: p.db.tables.get("nowhere"), errors.NotFoundError, "nowhere"),
    ("table None", lambda p: p.db.tables.get(None), Invalid, "name"),  # type: ignore[arg-type]
    ("rows before columns", lambda p: p.db.tables.create("x").rows(), errors.ConflictError, "columns="),
    # Appending.
    ("append None", lambda p: p.loop.append(None), Invalid, "NoneType"),
    ("append text", lambda p: p.loop.append("1,2"), Invalid, "dict"),
    ("append an array", lambda p: p.loop.append(np.zeros((3, 2))), Invalid, "shape"),
    ("append a list of numbers", lambda p: p.loop.append([1, 2]), Invalid, "dict"),
    ("a series", lambda p: p.loop.append(pd.Series([1.0], name="volts")), Invalid, "one column"),
    ("a polars series", lambda p: p.loop.append(pl.Series("volts", [1.0])), Invalid, "dict"),
    ("a scalar column", lambda p: p.loop.append({"t": 1, "volts": 2.0}), Invalid, "dict in a list"),
    ("a text as a column", lambda p: p.loop.append({"t": [1], "volts": "12"}), Invalid, "list"),
    ("unequal lengths", lambda p: p.loop.append({"t": [1, 2], "volts": [1.0]}), Invalid, "same number"),
    ("unknown column", lambda p: p.loop.append({"t": [1], "amps": [1.0]}), Invalid, "amps"),
    ("index left out", lambda p: p.loop.append({"volts": [1.0]}), Invalid, '"t"'),
    ("null index", lambda p: p.loop.append({"t": [None], "volts": [1.0]}), Invalid, "null"),
    ("text in a number", lambda p: p.loop.append({"t": [1], "volts": ["1.0"]}), Invalid, "float(value)"),
    ("bool in a number", lambda p: p.loop.append({"t": [True], "volts": [1.0]}), Invalid, "whole numbers"),
    ("number in a text", lambda p: p.typed("STRING").append({"t": [1], "v": [5]}), Invalid, "str(value)"),
    ("a number of 65 bits", lambda p: p.loop.append({"t": [2**64], "volts": [1.0]}), Invalid, "row 0"),
    ("two dimensions", lambda p: p.loop.append({"t": T, "volts": np.zeros((3, 2))}), Invalid, "ravel"),
    ("complex numbers", lambda p: p.loop.append({"t": T, "volts": T * 1j}), Invalid, "values.real"),
    ("timedelta", lambda p: p.loop.append({"t": T, "volts": T.astype("m8[s]")}), Invalid, "timedelta64"),
    ("long double", lambda p: p.loop.append({"t": T, "volts": T.astype("g")}), Invalid, "astype(float)"),
    ("time without a zone", lambda p: p.typed("TIMESTAMP").append({"t": [1], "v": [datetime(2024, 1, 1)]}), Invalid, "timezone.utc"),
    ("periods of pandas", lambda p: p.loop.append(pd.DataFrame({"t": pd.period_range("2024-01", periods=2, freq="M"), "volts": [1.0, 2.0]})), Invalid, "to_timestamp"),
    ("an index of periods", lambda p: p.loop.append(pd.DataFrame({"volts": [1.0]}, index=pd.period_range("2024", periods=1, freq="D", name="t"))), Invalid, "to_timestamp"),
    ("a column of periods", lambda p: p.loop.append({"t": pd.Series(pd.period_range("2024", periods=1, freq="D")), "volts": [1.0]}), Invalid, "to_timestamp"),
    ("a list of periods", lambda p: p.loop.append([{"t": pd.Period("2024-01"), "volts": 1.0}]), Invalid, "to_timestamp"),
    ("periods as objects", lambda p: p.loop.append({"t": pd.period_range("2024", periods=1, freq="D").to_numpy(), "volts": [1.0]}), Invalid, "to_timestamp"),
    ("periods in Arrow", lambda p: p.loop.append(pyarrow.Table.from_pandas(pd.DataFrame({"t": pd.period_range("2024", periods=1, freq="D"), "volts": [1.0]}))), Invalid, "to_timestamp"),
    ("unnamed pandas index", lambda p: p.loop.append(pd.DataFrame({"volts": [1.0]}, index=[5])), Invalid, "rename_axis"),
    ("pandas column of numbers", lambda p: p.loop.append(pd.DataFrame([[1, 2.0]])), Invalid, "frame.columns"),
    ("float index of an append", lambda p: p.loop.append({"t": T + 0.5, "volts": T * 1.0}), Invalid, "INT64"),
    ("a lone surrogate", lambda p: p.typed("STRING").append({"t": [1], "v": ["\ud800"]}), Invalid, "row 0"),
    ("closed table", Place.ended, errors.ConflictError, "closed"),
    ("column with a key of a number", lambda p: p.loop.append({1: [1]}), Invalid, "texts"),
    # Waveforms.
    ("waveform without a name", lambda p: p.db.tables.create("x").append_waveform(T, dt=1), Invalid, "dict"),
    ("waveform of two dimensions", lambda p: p.loop.append_waveform({"volts": np.zeros((2, 2))}, dt=1), Invalid, "dimension"),
    ("waveform of texts", lambda p: p.loop.append_waveform({"volts": ["a"]}, dt=1), Invalid, "numbers"),
    ("waveform of unsigned", lambda p: p.db.tables.create("x").append_waveform({"volts": T.astype("u4")}, dt=1), Invalid, "astype"),
    ("waveform of a scalar", lambda p: p.loop.append_waveform({"volts": 3.0}, dt=1), Invalid, "shape"),
    ("dt NaN", lambda p: p.loop.append_waveform({"volts": T * 1.0}, dt=float("nan")), Invalid, "finite"),
    ("empty waveform", lambda p: p.loop.append_waveform({"volts": np.array([])}, dt=1), Invalid, "empty"),
    ("dt 0", lambda p: p.loop.append_waveform({"volts": T * 1.0}, dt=0), Invalid, "dt"),
    ("fraction without a unit", lambda p: p.loop.append_waveform({"volts": T * 1.0}, dt=0.5), Invalid, "unit"),
    ("dt None", lambda p: p.loop.append_waveform({"volts": T * 1.0}, dt=None), Invalid, "number"),  # type: ignore[arg-type]
    ("a number without its table", lambda p: p.loop.append_waveform({"volts": T * 1.0}, dt=1, number=3), Invalid, ""),
    # Reading.
    ("unknown column of rows", lambda p: p.loop.rows("amps").to_arrow(), Invalid, "amps"),
    ("wrong filter", lambda p: p.loop.rows(where="volts >"), Invalid, ""),
    ("filter of a lambda", lambda p: p.loop.rows(where=lambda v: v), Invalid, "text"),  # type: ignore[arg-type]
    ("filter of the wrong type", lambda p: p.loop.rows(where="volts == 'a'"), Invalid, ""),
    ("bound without a zone", lambda p: p.loop.rows(start=datetime(2024, 1, 1)), Invalid, "timezone.utc"),
    ("columns of numbers", lambda p: p.loop.rows([1]), Invalid, "names"),  # type: ignore[list-item]
    ("limit as a text", lambda p: p.loop.rows(limit="5"), Invalid, "whole number"),  # type: ignore[arg-type]
    ("negative limit", lambda p: p.loop.rows(limit=-1), Invalid, "limit is -1"),
    ("infinity in a filter", lambda p: p.loop.rows(where=("volts < @0", float("inf"))), Invalid, "@0 is inf"),
    ("NaN in a filter", lambda p: p.loop.decimate(where=("volts == @0", float("nan"))), Invalid, "@0 is nan"),
    ("NaN in a deletion", lambda p: p.loop.delete_rows(("volts == @0", float("nan"))), Invalid, "@0 is nan"),
    ("NaN in a query", lambda p: p.db.results.query("totalTimeInSeconds < @0", float("nan")), Invalid, "@0 is nan"),
    ("NaN in a filter of measurements", lambda p: p.db.results.measurements(filter=("name == @0", float("nan"))), Invalid, "@0 is nan"),
    ("NaT in a filter", lambda p: p.loop.rows(where=("t == @0", np.datetime64("NaT"))), Invalid, "no time"),
    ("points of a float", lambda p: p.loop.decimate(points=10.0), Invalid, "points is 10.0"),  # type: ignore[arg-type]
    ("changes before the first", lambda p: p.db.changes(since=-1), Invalid, "since is -1"),
    ("changes since a fraction", lambda p: p.db.changes(since=1.5), Invalid, "since is 1.5"),  # type: ignore[arg-type]
    ("changes of the future", lambda p: p.db.changes(since=10**12), Invalid, "another store"),
    ("rows read twice", Place.read_twice, errors.ConflictError, "read once"),
    ("unknown method", lambda p: p.loop.decimate(method="mean"), Invalid, "maxmin"),
    ("decimating a text", lambda p: p.typed("STRING").decimate(), Invalid, "numbers"),
    ("unknown function", lambda p: p.loop.aggregate({"volts": "median"}), Invalid, ""),
    ("export without a format", lambda p: p.loop.export(io.BytesIO()), Invalid, "format="),
    ("export into a text file", lambda p: p.loop.export(io.StringIO(), "csv"), TypeError, ""),
    ("import of a missing file", lambda p: p.db.tables.import_file(p.tmp / "x.csv"), FileNotFoundError, "x.csv"),
    ("import of a directory", lambda p: p.db.tables.import_file(p.tmp, format="csv"), OSError, ""),
    ("import of text mode", lambda p: p.db.tables.import_file(io.StringIO("t\n1"), format="csv"), Invalid, '"rb"'),
    ("import with an unknown option", lambda p: p.db.tables.import_file(io.BytesIO(b"t\n1"), sep=","), Invalid, ""),
    # Records.
    ("unknown member", lambda p: p.db.products.create(part_no="x"), Invalid, "part_number"),  # type: ignore[call-arg]
    ("missing member", lambda p: p.db.products.create(name="x"), Invalid, "partNumber"),
    ("taken number", lambda p: p.db.products.create(part_number="P-1"), errors.ConflictError, "P-1"),
    ("a record of a text", lambda p: p.db.products.create("P-9"), Invalid, "no record"),  # type: ignore[arg-type]
    ("a set of objects", lambda p: p.db.products.create(part_number="x", properties={"k": object()}), Invalid, "text"),  # type: ignore[dict-item]
    ("a time without a zone in a record", lambda p: p.db.results.create(program_name="x", started_at=datetime(2024, 1, 1)), Invalid, "timezone.utc"),
    ("key of a number", lambda p: p.db.products.create(part_number="x", properties={1: "a"}), Invalid, "texts"),  # type: ignore[dict-item]
    ("NaN in a record", lambda p: p.db.products.create(part_number="x", properties={"k": float("nan")}), Invalid, "NaN"),  # type: ignore[dict-item]
    ("a lone surrogate in a record", lambda p: p.db.products.create(part_number="A\udc80"), Invalid, "decode the bytes"),
    ("a status of a record", lambda p: p.db.results.create(program_name="x", status="PASST"), Invalid, "PASST"),  # type: ignore[arg-type]
    ("a member of a view", lambda p: p.db.products.view(p.product.id or "").part_numbr, AttributeError, "part_number"),
    ("a file of a number", lambda p: p.db.files.writer("x").write(5), TypeError, "bytes"),
    ("missing id", lambda p: p.db.products.get("018f6d2a-0000-8000-8000-000000000001"), errors.NotFoundError, ""),
    ("malformed id", lambda p: p.db.products.get("x"), errors.Error, ""),
    ("record as an id", lambda p: p.db.products.delete(p.product), Invalid, "record.id"),  # type: ignore[arg-type]
    ("query of a dict", lambda p: p.db.products.query({"family": "x"}), Invalid, "@0"),  # type: ignore[arg-type]
    ("unknown field", lambda p: p.db.products.query("colour == 'red'").all(), Invalid, "colour"),
    ("negative take", lambda p: p.db.products.query(take=-1), Invalid, "take"),
    ("unknown order", lambda p: p.db.products.query(order="colour").all(), Invalid, "colour"),
    ("unknown operation", lambda p: p.db.call("create_product"), errors.NotFoundError, "create_products"),
    ("an operation of bytes", lambda p: p.db.call("upload_file"), errors.UnsupportedError, "upload_file"),
    ("missing file", lambda p: p.db.files.open("0123456789abcdef01234567"), errors.NotFoundError, ""),
    ("upload of a number", lambda p: p.db.files.upload(5), Invalid, "open(path"),
    ("upload of a missing path", lambda p: p.db.files.upload(p.tmp / "no.bin"), FileNotFoundError, "no.bin"),
    # SQL, search, changes.
    ("wrong statement", lambda p: p.db.sql("selec 1"), Invalid, ""),
    ("unknown table of SQL", lambda p: p.db.sql("select * from nowhere"), Invalid, "information_schema"),
    ("a writing statement", lambda p: p.db.sql("drop table products"), Invalid, ""),
    ("missing parameter", lambda p: p.db.sql("select $x"), Invalid, "give x=…"),
    ("missing values", lambda p: p.db.sql("select ?"), Invalid, "db.sql(statement, (value,))"),
    ("a text for a tuple of one", lambda p: p.db.sql("select ?", "ab"), Invalid, "('ab',)"),
    ("a number for a tuple of one", lambda p: p.db.sql("select ?", 5), Invalid, "(5,)"),  # type: ignore[arg-type]
    ("values by place for names", lambda p: p.db.sql("select $x", (1,)), Invalid, "x=…"),
    ("statement None", lambda p: p.db.sql(None), Invalid, "text"),  # type: ignore[arg-type]
    ("a group as a text", lambda p: p.db.results.yields(group_by="PART_NUMBER"), Invalid, "group_by=['PART_NUMBER']"),
    ("keywords as a text", lambda p: p.db.products.create(part_number="x", keywords="a"), Invalid, "keywords=['a']"),
    ("parameter of a list", lambda p: p.db.sql("select $x", x=[1]), Invalid, "float"),
    ("a value that no statement asks for", lambda p: p.db.sql("select 1", t=1), Invalid, "$t"),
    ("a change of nothing", lambda p: p.db.products.update("00000000-0000-4000-8000-000000000000", name="x"), LookupError, "no Product"),
    ("a step of no result", lambda p: p.db.steps.create(result_id="00000000-0000-4000-8000-000000000000", name="x"), LookupError, ""),
    ("a step of nowhere", lambda p: p.db.steps.get("power"), LookupError, "result_id="),
    ("following a look", Place.follow_a_look, errors.UnsupportedError, "look again"),
    ("a transaction without with", lambda p: p.db.transaction().products.create(part_number="x"), errors.ConflictError, "with db.transaction()"),
    ("SQL in a transaction", lambda p: p.db.transaction().__enter__().sql("select 1"), errors.UnsupportedError, "transaction"),
    ("wrong search", lambda p: p.db.search('"open'), Invalid, ""),
]


@pytest.fixture
def place(db: stationdb.Store, loop: stationdb.Table, tmp_path: Path) -> Place:
    return Place(db, loop, tmp_path)


@pytest.mark.parametrize(("name", "act", "kind", "told"), MISTAKES, ids=[one[0] for one in MISTAKES])
def test_mistakes(
    place: Place, name: str, act: Callable[[Place], object], kind: type[Exception], told: str
) -> None:
    with pytest.raises(kind) as caught:
        act(place)
    assert type(caught.value).__name__ != "PanicException"
    assert told in str(caught.value), str(caught.value)
    # Nothing is broken by it.
    if place.db.is_open:
        assert place.db.session().products.query().count() >= 1


def test_there_are_enough_of_them() -> None:
    assert len(MISTAKES) >= 60 and len({one[0] for one in MISTAKES}) == len(MISTAKES)


def unfinished() -> Iterator[Any]:
    yield pa.record_batch({"t": [1], "volts": [0.5]})
    raise RuntimeError("not finished")


def test_a_generator_that_does_not_finish(place: Place) -> None:
    schema = pa.schema([("t", pa.int64()), ("volts", pa.float64())])
    reader = pa.RecordBatchReader.from_batches(schema, unfinished())
    with pytest.raises(RuntimeError, match="not finished"):
        place.loop.append(reader)
    assert len(place.loop) == 4
