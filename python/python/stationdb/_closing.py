"""What ends with its `with` block."""

from __future__ import annotations

from abc import abstractmethod
from types import TracebackType
from typing import Self


class Block:
    """A context manager that learns how its block ended."""

    __slots__ = ()

    @abstractmethod
    def _end(self, kind: type[BaseException] | None, error: BaseException | None) -> None:
        """Ends it; `kind` is the type of the exception that left the block, if one did."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._end(kind, error)


class Closing(Block):
    """A context manager that calls its `close`, after an error too."""

    __slots__ = ()

    @abstractmethod
    def close(self) -> None:
        """Ends it. Does nothing the second time."""

    def _end(self, kind: type[BaseException] | None, error: BaseException | None) -> None:
        self.close()
