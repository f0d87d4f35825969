"""Contents of files and packages as file objects."""

from __future__ import annotations

import io
import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from . import _stationdb, services
from ._progress import Progress, reporting
from ._record import wire
from ._stationdb import ReaderCore, WriterCore
from .errors import InvalidArgumentError, NotFoundError
from .records import FileLinqMetadata, Package

if TYPE_CHECKING:
    from ._session import Services

__all__ = ["ContentReader", "ContentWriter", "Feeds", "Files"]


class ContentReader(io.RawIOBase):
    """The content of a file: binary, readable, seekable. Every byte that is read is verified."""

    def __init__(self, core: ReaderCore) -> None:
        super().__init__()
        self._core = core
        self._at = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: len(self._core)}[whence]
        if base + offset < 0:
            raise ValueError(f"cannot seek to {base + offset}, before the content")
        self._at = base + offset
        return self._at

    def tell(self) -> int:
        return self._at

    def readinto(self, buffer: Any) -> int:
        view = memoryview(buffer).cast("B")
        data = self._core.read_at(self._at, len(view))
        view[: len(data)] = data
        self._at += len(data)
        return len(data)

    def close(self) -> None:
        if not self.closed:
            self._core.close()
        super().close()


class ContentWriter(io.RawIOBase):
    """A new file: binary and writable. `close` stores it, with its name, durably.

    When its `with` block ends with an exception nothing is stored. Afterwards `id` is the id of the
    file.
    """

    def __init__(self, core: WriterCore, request: dict[str, Any]) -> None:
        super().__init__()
        self._core = core
        self._request = request
        #: The id of the file; None before it is stored.
        self.id: str | None = None

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        return self._core.write(bytes(memoryview(data)))

    def close(self) -> None:
        if not self.closed:
            super().close()
            self.id = self._core.commit(self._request)

    def discard(self) -> None:
        """Gives up what was written."""
        if not self.closed:
            self._core.discard()
            super().close()

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        if kind is None:
            self.close()
        else:
            self.discard()

    def __del__(self) -> None:
        # A file that nobody closed is no whole file.
        self.discard()


def _opened(services: Services, id: str, is_package: bool) -> io.BufferedReader:
    return io.BufferedReader(ContentReader(ReaderCore(services._core, id, is_package)), 1 << 18)


def _named(source: Any, name: str | None) -> tuple[Any, str | None]:
    """What is read, and the name of the file that it becomes."""
    if isinstance(source, bytes | bytearray | memoryview):
        return io.BytesIO(source), name
    if name is None:
        path = source if isinstance(source, str | os.PathLike) else getattr(source, "name", None)
        if isinstance(path, str | os.PathLike):
            name = os.path.basename(os.fspath(path))
    return source, name


def _request(
    name: str | None, properties: Mapping[str, str] | None, workspace: str | None
) -> dict[str, Any]:
    asked = {"name": name, "workspace": workspace}
    out: dict[str, Any] = {key: value for key, value in asked.items() if value is not None}
    out["metadata"] = wire(dict(properties or {}))
    return out


class Files(services.Files):
    """The files of a store: any bytes, with a name, properties and a workspace.

    >>> import io
    >>> file = db.files.upload(b"passed", name="log.txt")
    >>> file.properties["Name"]
    'log.txt'
    >>> with db.files.open(file.id) as content:
    ...     content.read()
    b'passed'
    """

    __slots__ = ()

    def upload(
        self,
        source: Any,
        *,
        name: str | None = None,
        properties: Mapping[str, str] | None = None,
        workspace: str | None = None,
        progress: Progress = None,
    ) -> FileLinqMetadata:
        """Stores a file: of a path, of an object with `read`, or of bytes. It is durable then.

        Raises `PathNotFoundError`; `LimitExceededError` for a file that is too large.
        """
        source, name = _named(source, name)
        with reporting(progress, "upload") as report:
            asked = _request(name, properties, workspace)
            id = _stationdb.upload_file(self._services._core, source, asked, report)
        return self.get(id)

    def writer(
        self,
        name: str,
        *,
        properties: Mapping[str, str] | None = None,
        workspace: str | None = None,
    ) -> ContentWriter:
        """A new file that is written, binary. It is stored when its `with` block ends.

        >>> with db.files.writer("trace.bin") as file:
        ...     _ = file.write(b"01")
        >>> db.files.read(file.id)
        b'01'
        """
        return ContentWriter(
            WriterCore(self._services._core), _request(name, properties, workspace)
        )

    def get(self, id: str) -> FileLinqMetadata:
        """What is stored of a file beside its content. Raises `NotFoundError`."""
        if not isinstance(id, str):
            raise InvalidArgumentError(f"the id {id!r} is no text; give file.id")
        found = self._call("get_files", {"request": {"ids": [id]}})["availableFiles"]
        if not found:
            raise NotFoundError(f"there is no file with the id {id!r}")
        one = dict(found[0])
        one.setdefault("updated", one.get("lastUpdatedTimestamp"))
        return FileLinqMetadata.from_dict(one)

    def open(self, id: str) -> io.BufferedReader:
        """The content of a file as a binary file object, which seeks. Raises `NotFoundError`."""
        return _opened(self._services, id, False)

    def read(self, id: str) -> bytes:
        """The whole content of a file."""
        with self.open(id) as content:
            return content.read()


class Feeds(services.Feeds):
    """The package feeds of a store, and the packages in them."""

    __slots__ = ()

    def upload(
        self,
        feed_id: str,
        source: Any,
        *,
        name: str | None = None,
        overwrite: bool = False,
        progress: Progress = None,
    ) -> Package:
        """Stores a package of a feed: of a path, of an object with `read`, or of bytes."""
        is_path = isinstance(source, str | os.PathLike)
        source, known = _named(source, name)
        with reporting(progress, "upload") as report:
            answer = _stationdb.upload_package(
                self._services._core, feed_id, source, name if is_path else known, overwrite, report
            )
        return Package.from_dict(answer)

    def open(self, package_id: str) -> io.BufferedReader:
        """The content of a package as a binary file object, which seeks."""
        return _opened(self._services, package_id, True)
