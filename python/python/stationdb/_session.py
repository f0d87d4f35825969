"""Sessions and transactions: a user, and what it can do."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from weakref import WeakSet

from . import _stationdb
from ._changes import Changes, Subscriber
from ._closing import Block
from ._rows import Rows
from ._record import encoded
from ._stationdb import ChangesCore, SessionCore
from ._tables import Tables, TableWriter
from .errors import ConflictError, InvalidArgumentError, UnsupportedError

if TYPE_CHECKING:
    from ._files import Feeds, Files
    from ._runs import Results
    from ._steps import Steps
    from .records import SearchResponse
    from .services import (
        Assets,
        Products,
        Specs,
        Templates,
        TestPlans,
        TestPlanTemplates,
        WorkItems,
        Workspaces,
    )

__all__ = ["Services", "Session", "Transaction"]


class Services:
    """What a store, a session and a transaction have in common: the services."""

    __slots__ = ("_core", "_is_look", "_writers")

    _core: SessionCore
    #: Writers of rows that are not closed.
    _writers: WeakSet[TableWriter]
    #: Whether it only sees the state of one moment.
    _is_look: bool

    @property
    def user(self) -> str:
        """The user who acts."""
        return self._core.user

    @property
    def tables(self) -> Tables:
        """Tables of measured rows."""
        return Tables(self)

    @property
    def products(self) -> Products:
        """Products: part numbers and what they are."""
        from .services import Products

        return Products(self)

    @property
    def specs(self) -> Specs:
        """Specifications of products: limits and conditions."""
        from .services import Specs

        return Specs(self)

    @property
    def assets(self) -> Assets:
        """Instruments, fixtures, devices: where they are, and their calibration."""
        from .services import Assets

        return Assets(self)

    @property
    def work_items(self) -> WorkItems:
        """Work items."""
        from .services import WorkItems

        return WorkItems(self)

    @property
    def templates(self) -> Templates:
        """Templates of work items."""
        from .services import Templates

        return Templates(self)

    @property
    def test_plans(self) -> TestPlans:
        """Test plans."""
        from .services import TestPlans

        return TestPlans(self)

    @property
    def test_plan_templates(self) -> TestPlanTemplates:
        """Templates of test plans."""
        from .services import TestPlanTemplates

        return TestPlanTemplates(self)

    @property
    def results(self) -> Results:
        """Results of tests, their runs, and their figures: yields, capability, histograms."""
        from ._runs import Results

        return Results(self)

    @property
    def steps(self) -> Steps:
        """Steps of results."""
        from ._steps import Steps

        return Steps(self)

    @property
    def workspaces(self) -> Workspaces:
        """Registered workspaces and their quotas."""
        from .services import Workspaces

        return Workspaces(self)

    @property
    def files(self) -> Files:
        """Files: any bytes, with a name and properties."""
        from ._files import Files

        return Files(self)

    @property
    def feeds(self) -> Feeds:
        """Package feeds and their packages."""
        from ._files import Feeds

        return Feeds(self)

    def call(self, operation: str, arguments: dict[str, Any] | None = None) -> Any:
        """Calls an operation of the library by its name.

        An argument of the operation is the member of its name in `arguments`, and the members of
        its request stand beside it. Arguments and answer have the wire form: dicts, lists, texts,
        numbers. All services and records of this package stand on it; it is here for what they
        leave out.

        Raises `NotFoundError` for an operation that there is not, with the nearest one;
        `UnsupportedError` for one with bytes or Arrow, which has a method of its own; the errors of
        the operation.

        >>> db.call("query_products", {"filter": 'family == "Amplifier"', "take": 1})["products"][0]["name"]
        'Amplifier one'
        """
        answer = self._core.call(operation, encoded(operation, arguments or {}))
        return json.loads(answer) if answer else None

    def sql(self, statement: str, /, **values: Any) -> Rows:
        """The rows of a statement of SQL that only reads.

        `products`, `results`, `steps` and the other kinds of records are tables, and each measured
        table is one under its name, as `rows."Loop 1"`. `$name` in the statement stands for the
        value given as name=….

        Raises `InvalidArgumentError` for a statement that is wrong, and in a transaction
        `UnsupportedError`.

        >>> db.sql('select count(*) as n from loop where volts > $low', low=0.4).to_pylist()
        [{'n': 3}]
        """
        if not _stationdb.HAS_SQL:
            raise UnsupportedError("this package was built without SQL")
        for name in values:
            if not re.search(rf"\${re.escape(name)}\b", str(statement)):
                raise InvalidArgumentError(
                    f"the statement has no ${name}, for which a value is given; write ${name} where "
                    "the value belongs"
                )
        return Rows(_stationdb.sql(self._core, statement, values))

    def search(
        self, text: str | None = None, *, kinds: Iterable[str] | None = None, take: int | None = None
    ) -> SearchResponse:
        """What full-text search finds, best first: words, "phrases", prefix*es, with AND, OR, NOT.

        `kinds` are the kinds of records to search, as "product" or "work item". It sees every write
        that was acknowledged.

        Raises `InvalidArgumentError` with the place in a text that is wrong.

        >>> [hit.name for hit in db.search("amplifier", kinds=["product"]).hits]
        ['Amplifier one', 'Amplifier two']
        """
        from .records import SearchRequest, SearchResponse

        asked = SearchRequest(text=text, kinds=list(kinds or []), take=take, highlight=True)
        return SearchResponse.from_dict(self.call("search", asked.to_dict()))

    def changes(self, since: int | None = None, *, follow: bool = False) -> Changes:
        """Changes after the position `since`; 0 is the first, and from now on without it.

        With `follow` the iterator waits for changes, and never ends.

        Raises `ConflictError` when the log does not reach back to `since`, and `UnsupportedError`
        for `follow` of a store that `look` has opened: it stays as it was then.
        """
        if follow and self._is_look:
            raise UnsupportedError(
                "a store that look() has opened shows one moment, in which nothing changes; look "
                "again, and ask for changes(since=position)"
            )
        return Changes(ChangesCore(self._core, since), follow)

    def position(self) -> int:
        """The position of the last change: `changes(since=…)` goes on after it."""
        return _stationdb.position(self._core)

    def subscriber(self, name: str) -> Subscriber:
        """A reader of changes whose position the store keeps, made if there is none."""
        return Subscriber(self, name)

    @contextmanager
    def _nested(self) -> Iterator[Services]:
        """A transaction for several writes: this one, or a new one."""
        with self.transaction() as tx:
            yield tx

    def transaction(self) -> Transaction:
        """A transaction: what happens in its `with` block happens as a whole, or not at all.

        >>> with db.transaction() as tx:
        ...     table = tx.tables.create("in one", index="t")
        ...     table.append({"t": [1], "volts": [0.5]})
        >>> len(db.tables.get("in one"))
        1
        """
        return Transaction(self._core)

    def _flush_writers(self) -> None:
        for writer in list(self._writers):
            writer.close()


class Session(Services):
    """A user of a store. Cheap to make; safe to use from many threads at once."""

    __slots__ = ()

    def __init__(self, core: SessionCore, parent: Services) -> None:
        self._core = core
        self._writers = parent._writers
        self._is_look = parent._is_look

    def session(
        self,
        user: str | None = None,
        *,
        workspace: str | None = None,
        all_or_nothing: bool = False,
        timeout: float | None = None,
    ) -> Session:
        """Another session: see `Store.session`."""
        core = self._core.session(user, workspace, all_or_nothing, timeout)
        return Session(core, self)

    def __repr__(self) -> str:
        return f"<Session of {self.user!r} on {self._core.path!r}>"


class Transaction(Services, Block):
    """Several writes as one: see `Services.transaction`.

    It commits when its block ends, and rolls back when the block raises. It reads its own writes;
    others see them after the commit. While it is open the writes of others wait, and a write
    through another handle of the same thread is a `ConflictError`. After 30 seconds it is rolled
    back, and its next call is a `DeadlineExceededError`.
    """

    __slots__ = ("_parent",)

    def __init__(self, parent: SessionCore) -> None:
        self._parent = parent
        self._writers = WeakSet()
        self._is_look = False

    def __getattr__(self, name: str) -> Any:
        if name == "_core":
            raise ConflictError(
                "the transaction has not begun; use it as `with db.transaction() as tx:`"
            )
        raise AttributeError(f"{type(self).__name__!r} has no attribute {name!r}")

    def __enter__(self) -> Transaction:
        self._core = self._parent.begin()
        return self

    def _end(self, kind: type[BaseException] | None, error: BaseException | None) -> None:
        try:
            if kind is None:
                self._flush_writers()
        except BaseException:
            self._core.rollback()
            raise
        finally:
            for writer in list(self._writers):
                writer._abandon()
        if kind is None:
            self._core.commit()
        else:
            self._core.rollback()

    @contextmanager
    def _nested(self) -> Iterator[Services]:
        yield self

    def transaction(self) -> Transaction:
        """Refused: a transaction has no transactions inside."""
        raise UnsupportedError("a transaction is open already; use it")

    def __repr__(self) -> str:
        return f"<Transaction on {self._parent.path!r}>"
