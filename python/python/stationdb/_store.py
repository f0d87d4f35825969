"""Stores: opening, looking, copies and upkeep."""

from __future__ import annotations

import getpass
import os
from typing import Any, cast
from weakref import WeakSet

from . import _stationdb
from ._closing import Closing
from ._progress import Progress, reporting
from ._session import Opener, checked_user
from ._stationdb import StoreCore
from .errors import InvalidArgumentError

__all__ = ["Store", "look", "open", "restore", "salvage"]

PathLike = str | os.PathLike[str]


def _user(user: str | None) -> str:
    if user is not None:
        return checked_user(user)
    try:
        return getpass.getuser()
    except (ImportError, KeyError, OSError):
        return "python"


def _path(path: object) -> str:
    if isinstance(path, str):
        return path
    if isinstance(path, os.PathLike):
        found = os.fspath(path)
        if isinstance(found, str):
            return found
    raise InvalidArgumentError(f"the path is {path!r}; give a str or a pathlib.Path")


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

    def status(self) -> dict[str, Any]:
        """How the store is: writes, journal, disk, maintenance, backups, verifications and scrubs.

        `attention` lists what needs a person, each with a `problem` and an `action`.
        """
        return cast("dict[str, Any]", self._store.status())

    def backup(self, path: PathLike, *, progress: Progress = None) -> dict[str, Any]:
        """Copies the last commit into a directory, while others read and write.

        A backup into an earlier backup of the same store copies only what is new. `restore` makes a
        store of it. Returns how many keys and files were copied, and `findings`: damage that was
        found on the way.

        Raises `NotAStoreError` for a directory that has something else.
        """
        with reporting(progress, "backup") as report:
            return cast("dict[str, Any]", self._store.backup(_path(path), report))

    def verify(self, level: str = "checksums", *, progress: Progress = None) -> dict[str, Any]:
        """Looks for damage: `findings` of the answer is empty if there is none.

        "headers" looks whether all files are there, "checksums" reads every byte, and "pages"
        reads in addition every page of the record file from the disk, alone: open streams of rows
        end.
        """
        with reporting(progress, "verify") as report:
            return cast("dict[str, Any]", self._store.verify(level, report))

    def maintain(self, *, progress: Progress = None) -> dict[str, Any]:
        """Does now what the background does from time to time: merges, deletions by retention."""
        with reporting(progress, "maintain") as report:
            return cast("dict[str, Any]", self._store.maintain(report))

    def compact(self) -> dict[str, Any]:
        """Gives unused space of the record file back. Open streams of rows end."""
        return cast("dict[str, Any]", self._store.compact())

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
    `results_create_products`, `query_memory_bytes`, `default_workspace`.

    Raises `LockedError`, with the owner, if another process has it open: `look` reads it then;
    `NotAStoreError` if the directory has something else; `PathNotFoundError` if it is missing and
    was not to be made; `InvalidArgumentError` for an option that there is not.

    >>> import stationdb, tempfile
    >>> with stationdb.open(tempfile.mkdtemp(), user="ada") as store:
    ...     store.user
    'ada'
    """
    return Store(StoreCore.open(_path(path), bool(create), False, options), _user(user))


def look(path: PathLike, *, user: str | None = None, **options: Any) -> Store:
    """Opens the last commit of a store for reading, while its owner writes on.

    It sees the state of this call; call it again for a newer one. Writes are refused with
    `UnsupportedError`.

    Raises the errors of `open`, and `ConflictError` if the owner writes too fast for a copy.
    """
    return Store(StoreCore.open(_path(path), False, True, options), _user(user), is_look=True)


def restore(backup: PathLike, path: PathLike, *, progress: Progress = None) -> dict[str, Any]:
    """Makes a store in `path` of the backup in `backup`.

    `path` is missing or empty. Damage is no error, but in `findings` of the answer.
    """
    with reporting(progress, "restore") as report:
        return cast("dict[str, Any]", _stationdb.restore(_path(backup), _path(path), report))


def salvage(damaged: PathLike, path: PathLike, *, progress: Progress = None) -> dict[str, Any]:
    """Makes a new store in `path` of what is whole in the damaged store `damaged`.

    The answer lists in `lost` what is not. The damaged store stays as it is.
    """
    with reporting(progress, "salvage") as report:
        return cast("dict[str, Any]", _stationdb.salvage(_path(damaged), _path(path), report))
