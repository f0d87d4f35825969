"""Stores: opening, looking, copies and upkeep."""

from __future__ import annotations

import getpass
from datetime import datetime
from typing import TYPE_CHECKING, Any, cast
from weakref import WeakSet

from . import _stationdb
from ._closing import Closing
from ._paths import PathLike, path_of
from ._progress import Progress, reporting
from ._session import Opener, checked_user
from ._sets import count
from ._stationdb import StoreCore

if TYPE_CHECKING:
    from .records import (
        ArchiveReport,
        BackupReport,
        CompactReport,
        MaintenanceReport,
        RepairReport,
        SalvageReport,
        SetBackupReport,
        StoreStatus,
        VerifyReport,
    )

__all__ = ["Store", "look", "open", "restore", "salvage"]

def _user(user: str | None) -> str:
    if user is not None:
        return checked_user(user)
    try:
        return getpass.getuser()
    except (ImportError, KeyError, OSError):
        return "python"


class Store(Opener, Closing):
    """An open store: a directory with everything that a station keeps.

    A store is a context manager, and has all services of a session of its user. One process at a
    time has a store open; threads share it. `close` ends its sessions and streams.
    """

    __slots__ = ("_store",)

    def __init__(self, store: StoreCore, user: str, is_look: bool = False) -> None:
        self._store = store
        self._core = store.session(user)
        self._writers = WeakSet()
        self._is_look = is_look

    @property
    def path(self) -> str:
        """The directory of the store."""
        return self._store.path

    @property
    def is_open(self) -> bool:
        """Whether it was not closed, and belongs to this process."""
        return self._store.is_open

    def info(self) -> dict[str, Any]:
        """The id and the path of the store."""
        return cast("dict[str, Any]", self._store.info())

    def status(self) -> StoreStatus:
        """How the store is: writes, journal, disk, maintenance, backups, verifications and scrubs.

        `attention` lists what needs a person, each with a `code`, the `problem` and the `action`.

        >>> status = db.status()
        >>> for one in status.attention:
        ...     print(one.problem, one.action)
        >>> status.writes.are_taken
        True
        """
        from .records import StoreStatus

        return StoreStatus.from_dict(self._store.status())

    def backup(self, path: PathLike, *, progress: Progress = None) -> BackupReport:
        """Copies the last commit into a directory, while others read and write.

        A backup into an earlier backup of the same store copies only what is new, and replaces it:
        `backup_to_set` keeps the earlier ones. `restore` makes a store of it. Returns how many keys
        and files were copied, and `findings`: damage that was found on the way.

        Raises `NotAStoreError` for a directory that has something else.

        >>> import os, tempfile
        >>> db.backup(os.path.join(tempfile.mkdtemp(), "copy")).findings
        []
        """
        from .records import BackupReport

        with reporting(progress, "backup") as report:
            return BackupReport.from_dict(self._store.backup(path_of(path), report))

    def backup_to_set(
        self,
        path: PathLike,
        *,
        bytes_per_second: int | None = None,
        must_exist: bool = False,
        progress: Progress = None,
    ) -> SetBackupReport:
        """Adds a backup of the last commit to the set in a directory, while others read and write.

        The directory is missing, empty, or a set of this store. Only what is new is written, with
        at most `bytes_per_second`. `list_backups`, `verify_set`, `prune_set` and
        `restore_from_set` work on the set without the store. Damage is no error, but in `findings`
        of the answer: all else is in the backup, and earlier backups keep what they have.

        With must_exist=True a directory that is missing or has no set is refused. A backup that
        nobody watches should have it, after a first one without it: while a stick is not there, its
        directory may be an empty one of the disk of the system.

        Raises `NotAStoreError` for a directory that has something else, or backups of another
        store; `LockedError` while another call works on the set.

        >>> import tempfile
        >>> stick = tempfile.mkdtemp()
        >>> db.backup_to_set(stick).backup, db.backup_to_set(stick).backup
        (1, 2)
        """
        from .records import SetBackupReport

        if bytes_per_second is not None:
            count("bytes_per_second", bytes_per_second, 2**64 - 1)
        with reporting(progress, "backup") as report:
            answer = _stationdb.backup_to_set(
                self._store, path_of(path), bytes_per_second, must_exist, report
            )
        return SetBackupReport.from_dict(answer)

    def archive_to_set(
        self,
        path: PathLike,
        *,
        bytes_per_second: int | None = None,
        progress: Progress = None,
    ) -> ArchiveReport:
        """Sends the commits that the archive of this store has to the set in a directory.

        `restore_from_set` can then end at each of them that follows a backup of the set without a
        gap. A store archives while `archive_bytes` of `open` is not 0. `backup_to_set` does this,
        too.

        Raises `UnsupportedError` for a store that archives nothing, or that was opened by `look`;
        `FileNotFoundError` if there is no directory; `NotAStoreError` if it has no set, or one of
        another store; `LockedError` while another call works on the set.

        >>> import os, stationdb, tempfile
        >>> stick, path = tempfile.mkdtemp(), os.path.join(tempfile.mkdtemp(), "bench-7")
        >>> with stationdb.open(path, archive_bytes=2**30) as bench:
        ...     backup = bench.backup_to_set(stick)
        ...     _ = bench.products.create(part_number="P-1")
        ...     bench.archive_to_set(stick).last > backup.sequence
        True
        """
        from .records import ArchiveReport

        if bytes_per_second is not None:
            count("bytes_per_second", bytes_per_second, 2**64 - 1)
        with reporting(progress, "archive") as report:
            answer = _stationdb.archive_to_set(
                self._store, path_of(path), bytes_per_second, report
            )
        return ArchiveReport.from_dict(answer)

    def repair(self, set: PathLike, *, progress: Progress = None) -> RepairReport:
        """Takes what is damaged or missing in the store from the set in a directory.

        Every page of the records and every byte of segments and contents is checked, while others
        read and write. Exactly the same file or page is made again, as its checksum proves, or none:
        what the set does not have is in `findings` of the answer. With `needs_reopen` the store has
        to be closed and opened again.

        Raises `FileNotFoundError` if there is no directory; `NotAStoreError` if it has no set, or
        one of another store; `UnsupportedError` for a store that was opened by `look`.

        >>> import tempfile
        >>> stick = tempfile.mkdtemp()
        >>> db.backup_to_set(stick).backup
        1
        >>> db.repair(stick).repaired
        []
        """
        from .records import RepairReport

        with reporting(progress, "repair") as report:
            return RepairReport.from_dict(_stationdb.repair(self._store, path_of(set), report))

    def verify(self, level: str = "checksums", *, progress: Progress = None) -> VerifyReport:
        """Looks for damage: `findings` of the answer is empty if there is none.

        "headers" looks whether all files are there, "checksums" reads every byte, and "pages"
        reads in addition every page of the record file from the disk, alone: open streams of rows
        end.

        >>> db.verify().findings
        []
        """
        from .records import VerifyReport

        with reporting(progress, "verify") as report:
            return VerifyReport.from_dict(self._store.verify(level, report))

    def maintain(self, *, progress: Progress = None) -> MaintenanceReport:
        """Does now what the background does from time to time: merges, deletions by retention."""
        from .records import MaintenanceReport

        with reporting(progress, "maintain") as report:
            return MaintenanceReport.from_dict(self._store.maintain(report))

    def take_present_time(self) -> datetime | None:
        """Makes the present time of the clock that of the store, which otherwise never goes back.

        A clock that was once far ahead stops the store's time: records get that time, and nothing
        ages before the clock is there again; `status` says so. Set the clock right first. Times of
        records that were made meanwhile stay. Returns the time that the store had, if it was ahead.

        Raises `ConflictError` in a transaction of this thread.

        >>> db.take_present_time() is None
        True
        """
        return self._store.take_present_time()

    def compact(self) -> CompactReport:
        """Gives unused space of the record file back. Open streams of rows end."""
        from .records import CompactReport

        return CompactReport.from_dict(self._store.compact())

    def close(self) -> None:
        """Closes the store: waits for calls that work, and ends sessions and streams.

        Everything that was acknowledged is durable before, and the rows of writers that are open are
        appended. Does nothing the second time.

        Raises `ConflictError` inside of a callback of a call of this store.
        """
        try:
            if self.is_open:
                self._flush_writers()
        finally:
            self._store.close()

    def __repr__(self) -> str:
        return f"<Store {self.path!r}{'' if self.is_open else ', closed'}>"


def open(
    path: PathLike, *, create: bool = True, user: str | None = None, **options: Any
) -> Store:
    """Opens the store in a directory, and makes it if the directory is missing or empty.

    With create=False a mistyped path is refused. `user` is who acts; who is logged in when absent.
    The options are those of the library by their names, such as `reserve_bytes`,
    `results_create_products`, `memory_budget_bytes` (1 TiB), `query_memory_bytes`,
    `default_workspace`, `scrub_days` (the period in which maintenance reads everything once, 0 for
    never), `scrub_bytes_per_s` (how fast) and `archive_bytes` (most bytes of the archive of
    commits, which the store keeps).

    Raises `LockedError`, with the owner, if another process has it open: `look` reads it then;
    `NotAStoreError` if the directory has something else; `PathNotFoundError` if it is missing and
    was not to be made; `InvalidArgumentError` for an option that there is not.

    >>> import stationdb, tempfile
    >>> with stationdb.open(tempfile.mkdtemp(), user="ada") as store:
    ...     store.user
    'ada'
    """
    return Store(StoreCore.open(path_of(path), bool(create), False, options), _user(user))


def look(path: PathLike, *, user: str | None = None, **options: Any) -> Store:
    """Opens the last commit of a store for reading, while its owner writes on.

    It sees the state of this call; call it again for a newer one. Writes are refused with
    `UnsupportedError`.

    Raises the errors of `open`, and `ConflictError` if the owner writes too fast for a copy.
    """
    return Store(StoreCore.open(path_of(path), False, True, options), _user(user), is_look=True)


def restore(backup: PathLike, path: PathLike, *, progress: Progress = None) -> BackupReport:
    """Makes a store in `path` of the backup in `backup`, which `Store.backup` made.

    `path` is missing or empty. Damage is no error, but in `findings` of the answer.
    `restore_from_set` does so from a backup set.

    Raises `FileNotFoundError` if there is no directory `backup`, and `NotAStoreError` if it is no
    complete backup, or `path` has something.
    """
    from .records import BackupReport

    with reporting(progress, "restore") as report:
        answer = _stationdb.restore(path_of(backup), path_of(path), report)
    return BackupReport.from_dict(answer)


def salvage(damaged: PathLike, path: PathLike, *, progress: Progress = None) -> SalvageReport:
    """Makes a new store in `path` of what is whole in the damaged store `damaged`.

    The answer lists in `lost` what is not. The damaged store stays as it is.
    """
    from .records import SalvageReport

    with reporting(progress, "salvage") as report:
        answer = _stationdb.salvage(path_of(damaged), path_of(path), report)
    return SalvageReport.from_dict(answer)
