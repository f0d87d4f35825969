"""Opening, closing, copies, errors, sessions."""

from __future__ import annotations

import pickle
import re
import threading
from pathlib import Path

import pytest

import stationdb
from stationdb import errors
from stationdb._progress import reporting


def test_a_store_is_made_and_found_again(tmp_path: Path) -> None:
    with stationdb.open(tmp_path / "a", user="ada") as db:
        assert db.is_open and db.user == "ada"
        db.tables.create("kept", index="t").append({"t": [1], "v": [2.0]})
        id = db.info()["id"]
    assert not db.is_open
    with stationdb.open(str(tmp_path / "a"), create=False) as db:
        assert db.info()["id"] == id
        assert db.status().attention == []
        assert db.tables.get("kept").rows().to_pylist() == [{"t": 1, "v": 2.0}]


def test_a_missing_store_is_not_made_unasked(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError) as caught:
        stationdb.open(tmp_path / "statoin", create=False)
    assert isinstance(caught.value, errors.NotFoundError)
    assert not (tmp_path / "statoin").exists()


def test_a_foreign_directory_stays_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(errors.NotAStoreError):
        stationdb.open(tmp_path)
    assert [one.name for one in tmp_path.iterdir()] == ["notes.txt"]


def test_one_process_at_a_time_and_others_look(tmp_path: Path) -> None:
    with stationdb.open(tmp_path / "a") as db:
        table = db.tables.create("t", index="t")
        table.append({"t": [1], "v": [1.0]})
        with pytest.raises(errors.LockedError) as caught:
            stationdb.open(tmp_path / "a")
        assert isinstance(caught.value, BlockingIOError)
        with stationdb.look(tmp_path / "a") as seen:
            assert len(seen.tables.get("t")) == 1
            with pytest.raises(errors.UnsupportedError):
                seen.tables.get("t").append({"t": [2], "v": [1.0]})
        table.append({"t": [2], "v": [1.0]})


def test_backup_restore_verify_maintain_compact(tmp_path: Path) -> None:
    told: list[tuple[int, int | None, str]] = []
    with stationdb.open(tmp_path / "a") as db:
        table = db.tables.create("t", index="t")
        table.append({"t": list(range(1000)), "v": [0.5] * 1000})
        report = db.backup(tmp_path / "b", progress=lambda *one: told.append(one))
        assert report.findings == [] and report.keys > 0
        assert db.verify().findings == []
        assert db.verify("pages").findings == []
        assert db.maintain().results_deleted == 0
        assert db.compact().bytes_after > 0
        # The session of the store works on.
        assert len(table) == 1000
    assert told
    assert stationdb.restore(tmp_path / "b", tmp_path / "c").findings == []
    with stationdb.open(tmp_path / "c") as db:
        assert len(db.tables.get("t")) == 1000
    salvaged = stationdb.salvage(tmp_path / "c", tmp_path / "d")
    assert salvaged.lost == [] and salvaged.rows == 1000


def test_a_callback_that_raises_ends_the_call(db: stationdb.Store, tmp_path: Path) -> None:
    def report(*_: object) -> None:
        raise KeyError("mine")

    db.tables.create("t", index="t").append({"t": [1], "v": [1.0]})
    with pytest.raises(KeyError, match="mine"):
        db.backup(tmp_path / "b", progress=report)


def test_progress_is_shown(
    db: stationdb.Store, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    db.tables.create("t", index="t").append({"t": [1], "v": [1.0]})
    db.backup(tmp_path / "b", progress=True)
    assert "backup" in capsys.readouterr().err


def test_a_bar_has_one_unit(capsys: pytest.CaptureFixture[str]) -> None:
    with reporting(True, "restore") as report:
        assert report is not None
        report(5, None, "keys")
        report(100, 200, "bytes")
        report(200, 200, "bytes")
    lines = (line.strip() for line in re.split(r"restore: ", capsys.readouterr().err))
    first, *_, last = (line for line in lines if line)
    assert "keys" in first and "100%" in last and "keys" not in last and "bytes" in last


def test_closing_ends_sessions_and_streams(tmp_path: Path) -> None:
    db = stationdb.open(tmp_path / "a")
    session = db.session("eve")
    table = session.tables.create("t", index="t")
    table.append({"t": list(range(200_000)), "v": [0.0] * 200_000})
    rows = iter(table.rows())
    next(rows)
    changes = db.changes(since=0)
    next(changes)
    statement = db.sql("select * from t")
    db.close()
    db.close()
    for use in (
        lambda: len(table),
        lambda: next(rows),
        lambda: next(changes),
        lambda: statement.to_pylist(),
        lambda: session.tables.create("u", {"t": int}, index="t"),
        lambda: db.verify(),
    ):
        with pytest.raises(errors.ClosedError):
            use()
    # The directory is free.
    stationdb.open(tmp_path / "a").close()


def test_a_store_that_is_dropped_is_closed(tmp_path: Path) -> None:
    db = stationdb.open(tmp_path / "a")
    db.tables.create("t", index="t").append({"t": [1], "v": [1.0]})
    del db
    with stationdb.open(tmp_path / "a") as db:
        assert len(db.tables.get("t")) == 1


def test_sessions_act_for_users(db: stationdb.Store) -> None:
    eve = db.session("eve", workspace="lab")
    product = eve.products.create(part_number="P-1")
    assert product.workspace == "lab"
    assert next(db.changes(since=0)).who == "eve"
    whole = db.session(all_or_nothing=True)
    with pytest.raises(errors.Error) as caught:
        whole.call("create_products", {"products": [{"partNumber": "P-2"}, {"partNumber": ""}]})
    assert "item 2 of 2" in str(caught.value)
    assert db.products.query("partNumber == @0", "P-2").first() is None


def test_options(tmp_path: Path) -> None:
    with stationdb.open(tmp_path / "a", default_workspace="lab", file_bytes_max=None) as db:
        assert db.products.create(part_number="P").workspace == "lab"


def test_errors_have_their_parts_and_are_pickled(db: stationdb.Store) -> None:
    with pytest.raises(errors.InvalidArgumentError) as caught:
        db.products.query("partNumber ==").all()
    error = caught.value
    assert error.kind == "InvalidArgument" and error.place is not None and "offset" in error.place
    again = pickle.loads(pickle.dumps(error))
    assert (type(again), str(again), again.place) == (type(error), str(error), error.place)
    with pytest.raises(LookupError) as missing:
        db.products.get("018f6d2a-0000-8000-8000-000000000001")
    assert isinstance(missing.value, errors.Error)
    assert missing.value.resource is not None and missing.value.name


def test_a_timeout_is_a_timeout(db: stationdb.Store) -> None:
    table = db.tables.create("t", index="t")
    table.append({"t": list(range(100_000)), "v": [0.0] * 100_000})
    hasty = db.session(timeout=0.0)
    with pytest.raises(TimeoutError):
        hasty.tables.get("t")


def test_threads_share_a_store(db: stationdb.Store) -> None:
    table = db.tables.create("t", index="t")
    table.append({"t": [-1], "v": [0.0]})
    failed: list[BaseException] = []

    def work(number: int) -> None:
        try:
            for at in range(20):
                table.append({"t": [number * 100 + at], "v": [1.0]})
                table.rows(limit=5).to_pylist()
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == [] and len(table) == 161


def test_every_writer_is_closed(db: stationdb.Store) -> None:
    tables = [db.tables.create(f"table {at}", {"t": int}, index="t") for at in range(4)]
    writers = [table.writer(seconds=1000) for table in tables]
    for writer in writers:
        writer.row(t=0)
        writer.row(t=1)
    for at in (1, 2):
        tables[at].end()
    with pytest.raises(errors.ConflictError, match="closed") as caught:
        db.close()
    assert not db.is_open
    (note,) = caught.value.__notes__
    assert "closed" in note and any(table.id in note for table in tables[1:3])
    with stationdb.open(db.path) as again:
        assert [len(again.tables.get(f"table {at}")) for at in range(4)] == [2, 1, 1, 2]
    for writer in writers:
        writer.discard()
