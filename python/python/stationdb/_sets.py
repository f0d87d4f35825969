"""Backup sets: directories with many backups of one store."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from . import _stationdb
from ._paths import PathLike, path_of
from ._progress import Progress, reporting
from .errors import InvalidArgumentError

if TYPE_CHECKING:
    from .records import BackupReport, PruneReport, SetBackups, SetReport

__all__ = ["list_backups", "prune_set", "restore_from_set", "verify_set"]


def count(what: str, value: Any, most: int) -> int:
    """A whole number from 0 to `most`.

    Raises `InvalidArgumentError`, which calls the value `what`, for anything else.
    """
    is_whole = isinstance(value, int) and not isinstance(value, bool)
    if not is_whole or not 0 <= value <= most:
        raise InvalidArgumentError(f"{what} is {value!r}; give a whole number from 0 to {most}")
    return int(value)


def _number(what: str, value: Any) -> int | None:
    return None if value is None else count(what, value, 2**64 - 1)


def _time(value: Any) -> datetime | None:
    if value is None:
        return None
    if isinstance(value, str):
        try:
            value = datetime.fromisoformat(value)
        except ValueError:
            raise InvalidArgumentError(
                f"at is {value!r}, which is no time; give a datetime, or a text as "
                "2026-11-29T22:40:00Z"
            ) from None
    if not isinstance(value, datetime):
        raise InvalidArgumentError(
            f"at is {value!r}; give a datetime, and backup= for the number of a backup"
        )
    if value.tzinfo is None:
        raise InvalidArgumentError(
            f"the time {value} has no time zone; give datetime(…, tzinfo=timezone.utc), or "
            "value.astimezone()"
        )
    return value.astimezone(UTC)


def list_backups(path: PathLike) -> SetBackups:
    """The backups of the set in the directory `path`, the oldest first.

    `ranges` of the answer has the commits between them that can be restored.

    Only their lists are read: `verify_set` reads everything. A backup that cannot be restored as a
    whole has a `problem`, as far as that is known.

    Raises `FileNotFoundError` if there is no directory, and `NotAStoreError` if it has no set.

    >>> import stationdb, tempfile
    >>> stick = tempfile.mkdtemp()
    >>> db.backup_to_set(stick).backup
    1
    >>> [(one.backup, one.problem) for one in stationdb.list_backups(stick).backups]
    [(1, None)]
    """
    from .records import SetBackups

    return SetBackups.from_dict(_stationdb.list_backups(path_of(path)))


def verify_set(path: PathLike, *, progress: Progress = None) -> SetReport:
    """Reads everything that the backups of a set need, and compares it with its checksums.

    The store is not needed. Damage is no error, but in `findings` of the answer, each with the
    backups that it is about and what to do.

    Raises the errors of `list_backups`, and `LockedError` while a backup writes to the set.

    >>> import stationdb, tempfile
    >>> stick = tempfile.mkdtemp()
    >>> db.backup_to_set(stick).backup
    1
    >>> stationdb.verify_set(stick).findings
    []
    """
    from .records import SetReport

    with reporting(progress, "verify") as report:
        return SetReport.from_dict(_stationdb.verify_set(path_of(path), report))


def prune_set(
    path: PathLike, *, daily: int, weekly: int, monthly: int, progress: Progress = None
) -> PruneReport:
    """Removes old backups from a set, and then the files that no other backup needs.

    The last backup of each of so many days, weeks and months in which there is one is kept, by the
    time in UTC, and always the last of all. Backups that cannot be read stay, and so does what
    they may need.

    Raises the errors of `list_backups`, and `LockedError` while another call works on the set.

    >>> import stationdb, tempfile
    >>> stick = tempfile.mkdtemp()
    >>> for run in range(3):
    ...     _ = db.backup_to_set(stick)
    >>> report = stationdb.prune_set(stick, daily=7, weekly=4, monthly=12)
    >>> report.kept, report.removed
    ([3], [1, 2])
    """
    from .records import PruneReport

    most = 2**32 - 1
    keep = (
        count("daily", daily, most),
        count("weekly", weekly, most),
        count("monthly", monthly, most),
    )
    with reporting(progress, "prune") as report:
        return PruneReport.from_dict(_stationdb.prune_set(path_of(path), keep, report))


def restore_from_set(
    set: PathLike,
    path: PathLike,
    *,
    backup: int | None = None,
    sequence: int | None = None,
    at: datetime | str | None = None,
    progress: Progress = None,
) -> BackupReport:
    """Makes a store in `path` of a backup in `set`.

    The last backup is taken, or the one with the number `backup`, or the state after the commit
    `sequence`, or that at the time `at`: the last backup until then, and the commits after it that
    the archive of the set has. `path` is missing or empty. Every checksum is checked; damage is no
    error, but in `findings` of the answer.

    Raises `FileNotFoundError` if there is no directory `set` or no such backup, with the nearest
    ones; `NotAStoreError` if it has no set, or `path` has something; `LockedError` while a backup
    writes to the set; `CorruptError` if the backup cannot be read.

    >>> import os, stationdb, tempfile
    >>> stick = tempfile.mkdtemp()
    >>> number = db.backup_to_set(stick).backup
    >>> again = os.path.join(tempfile.mkdtemp(), "station")
    >>> stationdb.restore_from_set(stick, again, backup=number).findings
    []
    >>> with stationdb.open(again) as restored:
    ...     len(restored.tables.get("loop"))
    4
    """
    from .records import BackupReport

    numbers = _number("backup", backup), _number("sequence", sequence)
    with reporting(progress, "restore") as report:
        answer = _stationdb.restore_from_set(
            path_of(set), path_of(path), *numbers, _time(at), report
        )
    return BackupReport.from_dict(answer)
