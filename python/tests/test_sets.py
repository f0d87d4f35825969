"""Backup sets, repair and the status."""

from __future__ import annotations

import signal
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import numpy as np
import pytest

import stationdb
from stationdb import errors, records

#: More than the records keep: contents of this length are files.
CONTENT = bytes(range(256)) * 4_000


def parts(path: Path) -> list[str | None]:
    """The part numbers of the store in `path`."""
    with stationdb.open(path, create=False) as db:
        return [one.part_number for one in db.products.query(order="part_number")]


@pytest.fixture
def stick(db: stationdb.Store, loop: stationdb.Table, tmp_path: Path) -> Path:
    """A set with three backups: with no product, with P-1, and with P-2 besides."""
    stick = tmp_path / "stick"
    # Numbers of commits are not those of backups.
    for at in range(3):
        db.files.upload(b"x", name=f"{at}.txt")
    for number in range(3):
        if number:
            db.products.create(part_number=f"P-{number}")
        assert db.backup_to_set(stick).backup == number + 1
    return stick


def test_a_set_that_must_exist_is_not_made(db: stationdb.Store, tmp_path: Path) -> None:
    stick, missing = tmp_path / "stick", tmp_path / "missing"
    stick.mkdir()
    with pytest.raises(errors.NotAStoreError):
        db.backup_to_set(stick, must_exist=True)
    assert list(stick.iterdir()) == []
    with pytest.raises(FileNotFoundError):
        db.backup_to_set(missing, must_exist=True)
    assert not missing.exists()
    db.backup_to_set(stick)
    assert db.backup_to_set(stick, must_exist=True).backup == 2


def test_a_set_has_each_backup_once(db: stationdb.Store, tmp_path: Path) -> None:
    stick = tmp_path / "stick"
    db.files.upload(CONTENT, name="a.bin")
    told: list[tuple[int, int | None, str]] = []
    first = db.backup_to_set(stick, progress=lambda *one: told.append(one))
    assert isinstance(first, records.SetBackupReport)
    assert (first.backup, first.files, first.files_sent, first.findings) == (1, 1, 1, [])
    assert first.written_bytes > len(CONTENT) and told and told[-1][2] == "bytes"
    second = db.backup_to_set(stick, bytes_per_second=10**9)
    assert (second.backup, second.files, second.files_sent) == (2, 1, 0)
    assert second.written_bytes < 100_000
    found = stationdb.list_backups(stick)
    assert [one.backup for one in found.backups] == [1, 2] and not found.is_unfinished
    assert found.backups[1].sequence == second.sequence
    assert found.backups[0].taken is not None and found.backups[0].taken.tzinfo is not None
    checked = stationdb.verify_set(str(stick))
    assert checked.findings == [] and checked.files == 1 and checked.bytes > len(CONTENT)


def test_a_backup_is_restored_by_its_number_its_commit_and_a_time(
    stick: Path, tmp_path: Path
) -> None:
    backups = stationdb.list_backups(stick).backups
    report = stationdb.restore_from_set(stick, tmp_path / "last")
    assert isinstance(report, records.BackupReport) and report.findings == []
    assert parts(tmp_path / "last") == ["P-1", "P-2"]
    stationdb.restore_from_set(stick, tmp_path / "first", backup=1)
    assert parts(tmp_path / "first") == []
    stationdb.restore_from_set(stick, tmp_path / "commit", sequence=backups[1].sequence)
    assert parts(tmp_path / "commit") == ["P-1"]
    taken = backups[1].taken
    assert taken is not None
    # The same moment as of a clock in another zone.
    there = taken.astimezone(timezone(timedelta(hours=9)))
    stationdb.restore_from_set(stick, tmp_path / "time", at=there)
    assert parts(tmp_path / "time") == ["P-1"]
    stationdb.restore_from_set(stick, tmp_path / "text", at=there.isoformat())
    assert parts(tmp_path / "text") == ["P-1"]


def test_points_that_are_not_there_are_told_with_the_nearest(stick: Path, tmp_path: Path) -> None:
    def restore(**point: object) -> None:
        stationdb.restore_from_set(stick, tmp_path / "new", **point)  # type: ignore[arg-type]

    with pytest.raises(FileNotFoundError, match="nearest before it is the backup 3"):
        restore(backup=4)
    with pytest.raises(FileNotFoundError, match="nearest after it is the backup 1"):
        restore(at=datetime(2001, 1, 1, tzinfo=UTC))
    with pytest.raises(errors.InvalidArgumentError, match="several points"):
        restore(backup=1, sequence=1)
    with pytest.raises(errors.InvalidArgumentError, match="no time zone"):
        restore(at=datetime(2026, 1, 1))
    with pytest.raises(errors.InvalidArgumentError, match="which is no time"):
        restore(at="yesterday")
    with pytest.raises(errors.InvalidArgumentError, match="backup= for the number"):
        restore(at=2)
    for wrong in (-1, 2**64, True, "2", 1.5):
        with pytest.raises(errors.InvalidArgumentError, match="whole number from 0"):
            restore(backup=wrong)
    assert not (tmp_path / "new").exists()


def test_a_set_is_pruned(
    stick: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    report = stationdb.prune_set(stick, daily=1, weekly=0, monthly=0)
    assert (report.kept, report.removed, report.held_back) == ([3], [1, 2], None)
    assert [one.backup for one in stationdb.list_backups(stick).backups] == [3]
    asked: list[tuple[int, int, int]] = []

    def prune(path: str, keep: tuple[int, int, int], progress: object) -> dict[str, object]:
        asked.append(keep)
        return {}

    # All backups are of one day, which tells days, weeks and months from each other by no result.
    with monkeypatch.context() as patched:
        patched.setattr("stationdb._stationdb.prune_set", prune)
        stationdb.prune_set(stick, daily=7, weekly=4, monthly=12)
    assert asked == [(7, 4, 12)]
    with pytest.raises(TypeError, match="weekly"):
        stationdb.prune_set(stick, daily=7)  # type: ignore[call-arg]
    with pytest.raises(errors.InvalidArgumentError, match="monthly is -1"):
        stationdb.prune_set(stick, daily=7, weekly=4, monthly=-1)
    stationdb.restore_from_set(stick, tmp_path / "new")
    assert parts(tmp_path / "new") == ["P-1", "P-2"]


def test_damaged_and_lost_files_are_taken_from_a_set(db: stationdb.Store, tmp_path: Path) -> None:
    stick = tmp_path / "stick"
    ids = [str(db.files.upload(CONTENT + bytes([at]), name=f"{at}.bin").id) for at in range(2)]
    db.backup_to_set(stick)
    later = str(db.files.upload(CONTENT * 2, name="later.bin").id)
    files = sorted(path for path in Path(db.path, "files").rglob("*") if path.is_file())
    assert len(files) == 3
    broken, lost, unknown = sorted(files, key=lambda path: path.stat().st_size)
    broken.write_bytes(b"\xff" + broken.read_bytes()[1:])
    lost.unlink()
    unknown.write_bytes(b"\xff" + unknown.read_bytes()[1:])
    assert len(db.verify().findings) == 3
    report = db.repair(stick)
    assert isinstance(report, records.RepairReport)
    assert len(report.repaired) == 2 and report.files == 3
    (finding,) = report.findings
    assert finding.file.endswith(unknown.name) and "in the set" in finding.problem
    for at, id in enumerate(ids):
        with db.files.open(id) as content:
            assert content.read() == CONTENT + bytes([at])
    db.files.delete(later)
    assert db.verify().findings == []


def test_what_is_no_set_is_told(db: stationdb.Store, stick: Path, tmp_path: Path) -> None:
    nowhere = tmp_path / "nowhere"
    for missing in (
        lambda: stationdb.list_backups(nowhere),
        lambda: stationdb.verify_set(nowhere),
        lambda: stationdb.prune_set(nowhere, daily=1, weekly=1, monthly=1),
        lambda: stationdb.restore_from_set(nowhere, tmp_path / "new"),
        lambda: db.repair(nowhere),
    ):
        with pytest.raises(FileNotFoundError, match="nowhere"):
            missing()
    db.backup(tmp_path / "copy")
    with pytest.raises(errors.NotAStoreError, match="no backup set"):
        stationdb.list_backups(tmp_path / "copy")
    # Each of the calls for the other kind of backup names the right one.
    for call in (
        lambda: stationdb.restore(stick, tmp_path / "new"),
        lambda: stationdb.open(stick),
        lambda: stationdb.look(stick),
        lambda: db.backup(stick),
    ):
        with pytest.raises(errors.NotAStoreError, match="`restore_from_set`"):
            call()
    with stationdb.open(tmp_path / "other") as other:
        with pytest.raises(errors.NotAStoreError, match="another store"):
            other.backup_to_set(stick)
        with pytest.raises(errors.NotAStoreError, match="another store"):
            other.repair(stick)
    with pytest.raises(errors.InvalidArgumentError, match="inside"):
        db.backup_to_set(Path(db.path) / "backup")
    with pytest.raises(errors.InvalidArgumentError, match="bytes_per_second"):
        db.backup_to_set(stick, bytes_per_second=-1)
    with pytest.raises(errors.InvalidArgumentError, match="pathlib"):
        stationdb.list_backups(None)  # type: ignore[arg-type]
    with stationdb.look(db.path) as seen, pytest.raises(errors.UnsupportedError):
        seen.repair(stick)
    # A look by another process may be ahead of what is durable.
    with stationdb.look(db.path) as seen:
        seen.backup_to_set(stick)
    assert [one.backup for one in stationdb.list_backups(stick).backups] == [1, 2, 3, 4]
    db.close()
    for closed in (lambda: db.backup_to_set(stick), lambda: db.repair(stick)):
        with pytest.raises(errors.ClosedError):
            closed()


def test_a_set_is_written_beside_a_transaction(db: stationdb.Store, tmp_path: Path) -> None:
    with db.transaction() as tx:
        tx.products.create(part_number="inside")
        assert db.backup_to_set(tmp_path / "stick").backup == 1
        with pytest.raises(errors.ConflictError, match="open transaction"):
            db.take_present_time()
    stationdb.restore_from_set(tmp_path / "stick", tmp_path / "new")
    assert parts(tmp_path / "new") == []


@pytest.mark.skipif(not hasattr(signal, "pthread_kill"), reason="needs signals of Unix")
def test_ctrl_c_ends_a_backup(
    db: stationdb.Store,
    tmp_path: Path,
    interrupted: Callable[[Callable[[], object]], None],
) -> None:
    stick = tmp_path / "stick"
    db.backup_to_set(stick)
    db.files.upload(np.random.default_rng(1).bytes(4_000_000), name="large.bin")
    # As long as forty seconds, if nothing ends it.
    interrupted(lambda: db.backup_to_set(stick, bytes_per_second=100_000))
    found = stationdb.list_backups(stick)
    assert found.is_unfinished and [one.problem for one in found.backups] == [None]
    report = db.backup_to_set(stick)
    assert (report.backup, report.went_on) == (2, True)
    assert stationdb.verify_set(stick).findings == []


def test_the_status_tells_what_was_done(db: stationdb.Store, tmp_path: Path) -> None:
    status = db.status()
    assert isinstance(status, records.StoreStatus)
    assert status.attention == [] and status.writes.are_taken and not status.is_view
    assert status.backup.last is None and status.disk.free_bytes
    assert status.versions.format == 1 and status.id == db.info()["id"]
    db.backup_to_set(tmp_path / "stick")
    db.verify()
    status = db.status()
    assert status.backup.last is not None and status.verify.last is not None
    assert status.backup.last.result == "SUCCEEDED" and status.verify.last.result == "SUCCEEDED"
    assert "backup 1 of a set" in status.backup.last.message
    assert status.backup.last_success == status.backup.last.ended_at


def test_attention_names_what_to_do(db: stationdb.Store) -> None:
    db.files.upload(CONTENT, name="a.bin")
    (path,) = (path for path in Path(db.path, "files").rglob("*") if path.is_file())
    path.write_bytes(b"\xff" + CONTENT[1:])
    assert db.verify().findings
    (one,) = db.status().attention
    assert one.code == "DAMAGE" and path.name in one.problem and one.action


def test_the_scrub_of_a_store_is_set(tmp_path: Path) -> None:
    with stationdb.open(tmp_path / "a", scrub_days=7, scrub_bytes_per_s=5_000_000) as db:
        scrubbing = db.status().scrubbing
        assert (scrubbing.period_days, scrubbing.bytes_per_s) == (7, 5_000_000)
    with stationdb.open(tmp_path / "a") as db:
        assert db.status().scrubbing.period_days == 30


def test_a_commit_between_two_backups_is_restored(tmp_path: Path) -> None:
    stick = tmp_path / "stick"
    with stationdb.open(tmp_path / "a", archive_bytes=2**30) as db:
        db.backup_to_set(stick)
        db.products.create(part_number="P-1")
        report = db.archive_to_set(stick, bytes_per_second=10**9)
        assert isinstance(report, records.ArchiveReport)
        assert report.commits > 0 and report.findings == []
        db.products.create(part_number="P-2")
        archived = db.backup_to_set(stick).archived
        assert archived is not None and archived.commits > 0
        status = db.status().archive
        assert status is not None and status.bytes_max == 2**30 and status.gaps == []
        with pytest.raises(errors.InvalidArgumentError):
            db.archive_to_set(stick, bytes_per_second=-1)
    (range_,) = stationdb.list_backups(stick).ranges
    assert range_.backup == 1 and range_.last >= report.last and range_.missing is None
    stationdb.restore_from_set(stick, tmp_path / "b", sequence=report.last)
    with stationdb.open(tmp_path / "b") as db:
        assert [one.part_number for one in db.products.query()] == ["P-1"]
        with pytest.raises(errors.UnsupportedError, match="archives no commits"):
            db.archive_to_set(stick)
