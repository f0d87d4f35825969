"""What closes at the end of its `with` block."""

from __future__ import annotations

from abc import abstractmethod
from types import TracebackType
from typing import Self


class Closing:
    """A context manager that calls its `close`, after an error too."""

    __slots__ = ()

    @abstractmethod
    def close(self) -> None:
        """Ends it. Does nothing the second time."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
