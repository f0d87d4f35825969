"""Sessions and transactions: a user, and what it can do."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar
from weakref import WeakSet

from . import _stationdb
from ._changes import Changes, Subscriber
from ._closing import Block
from ._imports import ImportedFile, directory_of, how, target
from ._progress import Progress
from ._rows import Rows
from ._record import encoded, whole
from ._stationdb import ChangesCore, SessionCore
from ._tables import Table, Tables
from ._writer import TableWriter
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

__all__ = ["Opener", "Services", "Session", "Transaction", "checked_user"]


_LOADED: dict[str, Any] = {}


def _loaded(module: str, name: str) -> Any:
    """A class of a module that is loaded at its first use: `import` takes a microsecond each time."""
    found = _LOADED.get(name)
    if found is None:
        found = _LOADED[name] = getattr(import_module(f".{module}", __package__), name)
    return found


class Services:
    """What a store, a session and a transaction have in common: the services."""

    __slots__ = ("_core", "_is_look", "_writers")

    _core: SessionCore
    #: Writers of rows that are not closed.
    _writers: WeakSet[TableWriter]
    #: Whether it only sees the state of one moment.
    _is_look: bool
    #: Whether what a call has written is durable when it returns.
    _is_durable: ClassVar[bool] = True

    @property
    def user(self) -> str:
        """The user who acts."""
        return self._core.user

    @property
    def workspace(self) -> str:
        """The workspace of new records that name none."""
        return self._core.workspace

    @property
    def tables(self) -> Tables:
        """Tables of measured rows."""
        return Tables(self)

    @property
    def products(self) -> Products:
        """Products: part numbers and what they are."""
        made: Products = _loaded("services", "Products")(self)
        return made

    @property
    def specs(self) -> Specs:
        """Specifications of products: limits and conditions."""
        made: Specs = _loaded("services", "Specs")(self)
        return made

    @property
    def assets(self) -> Assets:
        """Instruments, fixtures, devices: where they are, and their calibration."""
        made: Assets = _loaded("services", "Assets")(self)
        return made

    @property
    def work_items(self) -> WorkItems:
        """Work items."""
        made: WorkItems = _loaded("services", "WorkItems")(self)
        return made

    @property
    def templates(self) -> Templates:
        """Templates of work items."""
        made: Templates = _loaded("services", "Templates")(self)
        return made

    @property
    def test_plans(self) -> TestPlans:
        """Test plans."""
        made: TestPlans = _loaded("services", "TestPlans")(self)
        return made

    @property
    def test_plan_templates(self) -> TestPlanTemplates:
        """Templates of test plans."""
        made: TestPlanTemplates = _loaded("services", "TestPlanTemplates")(self)
        return made

    @property
    def results(self) -> Results:
        """Results of tests, their runs, and their figures: yields, capability, histograms."""
        made: Results = _loaded("_runs", "Results")(self)
        return made

    @property
    def steps(self) -> Steps:
        """Steps of results."""
        made: Steps = _loaded("_steps", "Steps")(self)
        return made

    @property
    def workspaces(self) -> Workspaces:
        """Registered workspaces and their quotas."""
        made: Workspaces = _loaded("services", "Workspaces")(self)
        return made

    @property
    def files(self) -> Files:
        """Files: any bytes, with a name and properties."""
        made: Files = _loaded("_files", "Files")(self)
        return made

    @property
    def feeds(self) -> Feeds:
        """Package feeds and their packages."""
        made: Feeds = _loaded("_files", "Feeds")(self)
        return made

    def import_directory(
        self,
        path: str | os.PathLike[str],
        *,
        format: str | None = None,
        recursive: bool = False,
        all_or_nothing: bool = False,
        table: Table | str | None = None,
        part_number: str | None = None,
        workspace: str | None = None,
        again: bool = False,
        time_zone: str | None = None,
        columns: Mapping[str, str] | None = None,
        measurements: Iterable[str] | None = None,
        program_name: str | None = None,
        raw: bool = False,
        progress: Progress = None,
        **options: Any,
    ) -> list[ImportedFile]:
        """Imports the files of a directory: those with tables, and those with test results.

        The format of each file is found, unless `format` names that of all. Each file becomes a
        table of its name, or rows of `table`; or test results, as `Results.import_file` makes
        them, with the same options. `raw` and the options are those of
        `Tables.import_file`. Each file is one commit, and one that
        is refused has an `error` in the list. With `all_or_nothing` all files are one commit; then
        the first refused one is raised, and test results are refused.

        Raises `PathNotFoundError` for a directory that is not there.

        >>> from pathlib import Path
        >>> import tempfile
        >>> day = Path(tempfile.mkdtemp())
        >>> _ = (day / "ramp.csv").write_text("t,volts\\n1,0.5\\n")
        >>> _ = (day / "SN-1.json").write_text('{"dut_id": "SN-1", "phases": []}')
        >>> [(one.path, one.format, one.error) for one in db.import_directory(day)]
        [('SN-1.json', 'openhtf', None), ('ramp.csv', 'csv', None)]
        """
        tables = target(None, table, options)
        asked = how(
            tables,
            format,
            part_number,
            workspace,
            again,
            time_zone,
            columns,
            measurements,
            program_name,
            raw,
        )
        return directory_of(self, path, asked, recursive, all_or_nothing, progress)

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

    def sql(
        self,
        statement: str,
        values: Sequence[Any] | Mapping[str, Any] | None = None,
        /,
        **named: Any,
    ) -> Rows:
        """The rows of a statement of SQL that only reads.

        `products`, `results`, `steps` and the other kinds of records are tables, and each measured
        table is one under its name, as `rows."Loop 1"`. `$name` in the statement stands for the
        value given as name=…, or in a dict; `?`, `$1` and `$2` stand for those of a tuple or list.
        Values are None, bool, int, float, str, date, and datetime with a zone.

        Raises `InvalidArgumentError` for a statement that is wrong, and for values that are not
        those of its places; in a transaction `UnsupportedError`.

        >>> db.sql('select count(*) as n from loop where volts > $low', low=0.4).to_pylist()
        [{'n': 3}]
        >>> db.sql('select t from loop where volts between ? and ?', (0.4, 0.6)).to_pylist()
        [{'t': 1}]
        """
        if not _stationdb.HAS_SQL:
            raise UnsupportedError("this package was built without SQL")
        if not isinstance(statement, str):
            raise InvalidArgumentError(f"the statement is {statement!r}; give a text")
        return Rows(_stationdb.sql(self._core, statement, values, named))

    def search(
        self,
        text: str | None = None,
        *,
        kinds: Iterable[str] | str | None = None,
        take: int | None = None,
    ) -> SearchResponse:
        """What full-text search finds, best first: words, "phrases", prefix*es, with AND, OR, NOT.

        `kinds` are the kinds of records to search, as ["product", "work item"], or one of them. It
        sees every write that was acknowledged.

        Raises `InvalidArgumentError` with the place in a text that is wrong.

        >>> [hit.name for hit in db.search("amplifier", kinds=["product"]).hits]
        ['Amplifier one', 'Amplifier two']
        """
        from .records import SearchRequest, SearchResponse

        chosen = [kinds] if isinstance(kinds, str) else list(kinds or [])
        asked = SearchRequest(text=text, kinds=chosen, take=take, highlight=True)
        return SearchResponse.from_dict(self.call("search", asked.to_dict()))

    def changes(self, since: int | None = None, *, follow: bool = False) -> Changes:
        """Changes after the position `since`; 0 is the first, and from now on without it.

        With `follow` the iterator waits for changes, and never ends.

        Raises `ConflictError` when the log does not reach back to `since`; `InvalidArgumentError`
        for a position after the last change, which is of another store, or of this one before it
        was restored; `UnsupportedError` for `follow` of a store that `look` has opened: it stays as
        it was then.
        """
        if since is not None:
            since = whole("since", since, "a position, as changes.position or 0")
            last = self.position()
            if since > last:
                raise InvalidArgumentError(
                    f"since is {since}, and the last change is {last}: the position is of another "
                    "store, or of this one before it was restored; read all again with since=0"
                )
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
        """Closes all writers, also after an error of one, and raises the first with the others."""
        first: BaseException | None = None
        for writer in list(self._writers):
            try:
                writer.close()
            except BaseException as error:
                if first is None:
                    first = error
                else:
                    first.add_note(f"The writer of {writer.table!r} was not closed either: {error}")
        if first is not None:
            raise first


class Opener(Services):
    """What has sessions: a store, and each of them."""

    __slots__ = ()

    def session(
        self,
        user: str | None = None,
        *,
        workspace: str | None = None,
        all_or_nothing: bool = False,
        timeout: float | None = None,
    ) -> Session:
        """A session of a user, that of this one when absent.

        New records go into `workspace`. With `all_or_nothing` a batch of which an item is refused
        changes nothing. `timeout` is how many seconds each call may take; a stream of rows counts
        until its first row, and a statement of SQL until its last one.
        """
        if user is not None:
            checked_user(user)
        core = self._core.session(user, workspace, all_or_nothing, timeout)
        return Session(core, self)


def checked_user(user: Any) -> str:
    """A name of a user."""
    if not isinstance(user, str) or not user:
        raise InvalidArgumentError(f"the user is {user!r}; give a name")
    return user


class Session(Opener):
    """A user of a store. Cheap to make; safe to use from many threads at once."""

    __slots__ = ()

    def __init__(self, core: SessionCore, parent: Services) -> None:
        self._core = core
        self._writers = parent._writers
        self._is_look = parent._is_look

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

    _is_durable = False

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
