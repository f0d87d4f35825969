"""Contents of files and packages as file objects."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

from ._stationdb import ReaderCore, WriterCore

if TYPE_CHECKING:
    from ._session import Services


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
        return self._core.write(bytes(data))

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


def opened(services: Services, id: str, is_package: bool = False) -> io.BufferedReader:
    """The content of a file or package, buffered."""
    return io.BufferedReader(ContentReader(ReaderCore(services._core, id, is_package)), 1 << 18)
