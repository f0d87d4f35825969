"""Changes of a store: what was written, by whom and when."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from . import _stationdb
from ._closing import Closing
from ._stationdb import ChangesCore

if TYPE_CHECKING:
    from ._session import Services

__all__ = ["Change", "Changes", "Subscriber"]


@dataclass(slots=True, kw_only=True, frozen=True)
class Change:
    """What happened to one record."""

    #: The number of the commit, which all changes of a transaction have.
    sequence: int
    #: When it was committed, in UTC.
    time: datetime
    #: The user who did it.
    who: str
    #: The kind of the record: "product", "table".
    kind: str
    #: The id of the record.
    id: str
    #: Its display name; empty if it has none.
    name: str
    #: Its workspace after the change.
    workspace: str
    #: Its workspace before the change, if that was another one.
    moved_from: str | None
    #: What happened: CREATED, UPDATED, DELETED, ROWS_APPENDED, …
    what: str
    #: Details, such as the number of rows.
    detail: Any


class Changes(Closing):
    """Changes after a position, as an iterator. `Services.changes` returns one.

    >>> changes = db.changes(since=0)
    >>> next(changes).what
    'CREATED'
    >>> later = db.changes(since=changes.position)
    """

    __slots__ = ("_core", "_follow")

    def __init__(self, core: ChangesCore, follow: bool) -> None:
        self._core = core
        self._follow = follow

    @property
    def position(self) -> int:
        """Where to go on later: after the changes that were returned. It never changes its meaning,
        so it can be kept in a file."""
        return self._core.position

    def __iter__(self) -> Iterator[Change]:
        return self

    def __next__(self) -> Change:
        """The next change. Waits for it if the changes are followed; else the iterator ends."""
        found = self._core.next(None if self._follow else 0.0)
        if found is None:
            raise StopIteration
        return Change(**found)

    def wait(self, timeout: float) -> Change | None:
        """The next change, or None if there is none within `timeout` seconds."""
        found = self._core.next(timeout)
        return None if found is None else Change(**found)

    def close(self) -> None:
        """Ends the changes. Does nothing the second time."""
        self._core.close()


class Subscriber:
    """A reader of changes whose position the store keeps, and for whom it keeps the changes.

    >>> replica = db.subscriber("replica")
    >>> _ = db.tables.create("made later", {"t": int}, index="t")
    >>> with replica.changes() as changes:
    ...     for change in changes:
    ...         print(change.what, change.name)
    ...     replica.advance(changes.position)
    CREATED made later
    """

    __slots__ = ("_services", "name")

    def __init__(self, services: Services, name: str) -> None:
        self._services = services
        #: The name of the subscriber.
        self.name = name
        _stationdb.register_subscriber(services._core, name)

    @property
    def position(self) -> int:
        """Where the subscriber is: everything up to it was read."""
        return _stationdb.register_subscriber(self._services._core, self.name)

    def changes(self, *, follow: bool = False) -> Changes:
        """The changes after the position of the subscriber."""
        return self._services.changes(self.position, follow=follow)

    def advance(self, position: int) -> None:
        """Moves the subscriber forward, durably: everything up to `position` was read."""
        _stationdb.advance_subscriber(self._services._core, self.name, position)

    def remove(self) -> None:
        """Removes the subscriber. The store keeps nothing for it any more."""
        _stationdb.remove_subscriber(self._services._core, self.name)
