"""Collections: the records of one kind."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar, cast

from . import _stationdb
from ._record import Record, finite, flat, merged, wire, wire_names, wires
from ._rows import Rows
from ._stationdb import RecordView
from .errors import (
    Error,
    InvalidArgumentError,
    NotFoundError,
    PartialFailureError,
    UnsupportedError,
    _class_of,
    _fill,
    _of_api,
)

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow

    from ._session import Services

__all__ = [
    "BatchResult",
    "Collection",
    "Delete",
    "Operations",
    "Query",
    "Write",
    "maybe",
    "merged",
    "record",
    "wire",
    "wires",
]

R = TypeVar("R", bound=Record)
S = TypeVar("S", bound=Record)
#: What a query finds: records, or handles such as tables.
Q = TypeVar("Q")
_PAGE = 1000
#: The members of a query that a scan of records has, and one of steps.
_CONDITIONS = ("filter", "substitutions")
_CONDITIONS_OF_STEPS = (*_CONDITIONS, "resultFilter", "resultSubstitutions")
#: The members of a query that choose no records.
_ARRANGES = (
    "orderBy",
    "orderByKey",
    "orderByComparisonType",
    "orderByDescending",
    "descending",
    "projection",
    "returnCount",
    "responseFormat",
)
#: The kinds of records that are scanned as Arrow.
_KINDS = {
    "Product": "PRODUCT",
    "Specification": "SPECIFICATION",
    "Asset": "ASSET",
    "WorkItem": "WORK_ITEM",
    "WorkItemTemplate": "WORK_ITEM_TEMPLATE",
    "TestPlan": "TEST_PLAN",
    "TestPlanTemplate": "TEST_PLAN_TEMPLATE",
    "TableMetadata": "TABLE",
    "FileLinqMetadata": "FILE",
    "Feed": "FEED",
    "Workspace": "WORKSPACE",
    "TestResult": "TEST_RESULT",
}


@dataclass(frozen=True, slots=True)
class Write:
    """An operation that creates or updates, and where its records are."""

    operation: str
    path: tuple[str, ...]
    item: type[Record]
    made: str | None
    many: bool
    flags: tuple[str, ...] = ()
    id: str | None = None
    replace: bool = False

    def arguments(self, items: list[Any], flags: dict[str, Any], id: str | None) -> dict[str, Any]:
        """The arguments of the operation for these records."""
        inner: Any = items if self.many else items[0]
        nested = {} if self.id is None else {self.id: id}
        if len(self.path) == 2:
            request = {self.path[1]: inner}
            if self.replace and "replace" not in self.flags:
                request["replace"] = flags.get("replace", False)
            return {self.path[0]: request, **nested}
        return {self.path[0]: inner, **{name: flags.get(name, False) for name in self.flags}, **nested}


@dataclass(frozen=True, slots=True)
class Delete:
    """An operation that deletes."""

    operation: str
    ids: str
    many: bool
    flags: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Operations:
    """The operations of a collection."""

    record: type[Record]
    query: tuple[str, str, str] | None = None
    request: type[Record] | None = None
    asks: dict[str, Any] = field(default_factory=dict)
    explain: tuple[str, str] | None = None
    get: str | None = None
    create: Write | None = None
    update: Write | None = None
    delete: Delete | None = None


def record(cls: type[S], answer: Any) -> S:
    """The record of an answer."""
    return cls.from_dict(answer)


def maybe(cls: type[S], answer: Any) -> S | None:
    """The record of an answer, if there is one."""
    return None if answer is None else cls.from_dict(answer)


@dataclass(slots=True)
class BatchResult(Generic[R]):
    """What became of a batch: the records that were stored, and those that were refused.

    >>> done = db.products.create_many([{"partNumber": "B-1"}, {"partNumber": ""}])
    >>> len(done.records), len(done.failed)
    (1, 1)
    >>> print(done.errors[0])
    a product needs a part number that is not blank (at ...partNumber)
    """

    #: The stored records, in the order of the requests.
    records: list[R] = field(default_factory=list)
    #: The refused requests, in the wire form.
    failed: list[dict[str, Any]] = field(default_factory=list)
    #: An error for each refused request.
    errors: list[Error] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.records)

    def __iter__(self) -> Iterator[R]:
        return iter(self.records)

    def _add(self, cls: type[Record], made: str | None, answer: Any) -> None:
        """Adds the answer of a batch, whose records are its member `made`."""
        if not isinstance(answer, dict):
            return
        found = answer.get(made) or [] if made is not None else []
        self.records += [cast("R", cls.from_dict(one)) for one in found if isinstance(one, dict)]
        self.errors += _errors(answer)
        self.failed += answer.get("failed") or []

    def require_all(self) -> list[R]:
        """The records. Raises `PartialFailureError` with the errors if an item was refused."""
        if self.errors:
            told = f"{len(self.errors)} of {len(self.errors) + len(self.records)} items were refused"
            error = PartialFailureError(f"{told}: {self.errors[0]}")
            error.inner = tuple(self.errors)
            raise error
        return self.records


def _errors(answer: Any) -> list[Error]:
    api = answer.get("error") if isinstance(answer, dict) else None
    if not api:
        return []
    inner = api.get("innerErrors") or [api]
    return [_of_api(one, _class_of(one.get("name") or "", InvalidArgumentError)) for one in inner]


class Query(Generic[Q]):
    """Records that match a filter. It is asked when it is used, and again each time.

    >>> query = db.products.query("family == @0", "Amplifier", order="part_number")
    >>> [product.part_number for product in query]
    ['A-1', 'A-2']
    >>> query.count()
    2
    """

    __slots__ = ("_asked", "_collection", "_read", "_take")

    def __init__(
        self,
        collection: Collection[Any],
        asked: dict[str, Any],
        take: int | None,
        read: Callable[[Any], Q],
    ) -> None:
        self._collection = collection
        self._asked = asked
        self._take = take
        self._read = read

    def pages(self) -> Iterator[list[Q]]:
        """The records page by page, up to a thousand on each."""
        for page in self._raw():
            yield [self._read(one) for one in page]

    def _taking(self, take: int) -> Query[Q]:
        """This query, of the first `take` records at most."""
        most = take if self._take is None else min(take, self._take)
        return Query(self._collection, self._asked, most, self._read)

    def _raw(self) -> Iterator[list[Any]]:
        plan = self._collection._plan
        assert plan.query is not None
        operation, name, listed = plan.query
        left, token, skip = self._take, None, self._asked.get("skip") or 0
        while left is None or left > 0:
            asked = {**self._asked, "take": _PAGE if left is None else min(_PAGE, left)}
            if token is not None:
                asked["continuationToken"] = token
            elif skip and plan.asks.get("skip"):
                asked["skip"] = skip
            answer = self._collection._call(operation, {name: asked})
            page = answer.get(listed) or []
            if page:
                yield page
            skip += len(page)
            left = None if left is None else left - len(page)
            token = answer.get("continuationToken")
            if plan.asks.get("token"):
                if not token:
                    return
            elif len(page) < asked["take"] or not plan.asks.get("skip"):
                return

    def __iter__(self) -> Iterator[Q]:
        """The records. Pages are asked for as they are needed.

        Raises `InvalidArgumentError` for a filter that is wrong, with its place.
        """
        for page in self.pages():
            yield from page

    def first(self) -> Q | None:
        """The first record; None if there is none."""
        return next(iter(self._taking(1)), None)

    def one(self) -> Q:
        """The only record. Raises `NotFoundError` if there is none, or if there are several."""
        found = list(islice(self._taking(2), 2))
        if len(found) != 1:
            many = "no record matches" if not found else "several records match"
            raise NotFoundError(f"{many} {self!r}, and one was asked for")
        return found[0]

    def all(self) -> list[Q]:
        """All records as a list."""
        return [one for page in self.pages() for one in page]

    def _kind(self) -> str:
        name = self._collection._plan.record.__name__
        if name not in _KINDS:
            raise UnsupportedError(f"records of the type {name} are not scanned; iterate over them")
        return _KINDS[name]

    def _conditions(self) -> dict[str, Any]:
        keys = _CONDITIONS_OF_STEPS if self._is_of_steps() else _CONDITIONS
        return {key: self._asked[key] for key in keys if key in self._asked}

    def _is_of_steps(self) -> bool:
        return self._collection._plan.record.__name__ == "Step"

    def _others(self) -> list[str]:
        """The members of the request that choose records, and that a scan does not have."""
        known = {*_ARRANGES, *(_CONDITIONS_OF_STEPS if self._is_of_steps() else _CONDITIONS)}
        return [key for key, value in self._asked.items() if key not in known and value is not None]

    def count(self) -> int:
        """The number of records: of the first `take` of them at most.

        They are not read, unless the request chooses records by more than a filter and its service
        does not count.
        """
        plan = self._collection._plan
        is_scanned = plan.record.__name__ in _KINDS
        others = self._others()
        if is_scanned and not others:
            asked = {"kind": self._kind(), **self._conditions()}
            groups = self._collection._call("aggregate_records", {"request": asked})["groups"]
            count = int(groups[0]["rows"]) if groups else 0
        elif plan.query and plan.asks.get("count") and "continuationToken" not in others:
            asked = {**self._asked, "take": 1, "returnCount": True}
            answer = self._collection._call(plan.query[0], {plan.query[1]: asked})
            # The total is of all that match, whatever is skipped.
            count = max(0, int(answer["totalCount"]) - (self._asked.get("skip") or 0))
        else:
            return sum(len(page) for page in self._raw())
        return count if self._take is None else min(count, self._take)

    def rows(self) -> Rows:
        """The records as a stream of Arrow: a column for each member, or for those of `fields=`.

        Raises `UnsupportedError` for a query with an order, which the stream has not, and for one
        that chooses records by more than a filter, as with `product_filter=`.
        """
        if "orderBy" in self._asked:
            raise UnsupportedError(
                "records as Arrow have no order; leave order= out, and sort the data frame"
            )
        if others := self._others():
            names = {wire: name for name, wire in wire_names(self._collection._request()).items()}
            told = ", ".join(f"{names.get(key, key)}=" for key in others)
            raise UnsupportedError(
                f"records as Arrow are chosen by a filter alone, and not by {told}; iterate over "
                "the query, or ask db.sql, which joins tables"
            )
        asked: dict[str, Any] = self._conditions()
        if "projection" in self._asked:
            names = wire_names(self._collection._plan.record)
            columns = {wire.lower(): name for name, wire in names.items()}
            fields = [str(field).lower() for field in self._asked["projection"]]
            asked["columns"] = [columns.get(field, field) for field in fields]
        if self._take is not None:
            asked["take"] = self._take
        core = self._collection._services._core
        if self._collection._plan.record.__name__ == "Step":
            return Rows(_stationdb.scan_steps(core, asked))
        return Rows(_stationdb.scan_records(core, {"kind": self._kind(), **asked}))

    def to_arrow(self) -> pyarrow.Table:
        """All records as a `pyarrow.Table`."""
        return self.rows().to_arrow()

    def to_pandas(self) -> pandas.DataFrame:
        """All records as a `pandas.DataFrame`."""
        return self.rows().to_pandas()

    def to_polars(self) -> polars.DataFrame:
        """All records as a `polars.DataFrame`."""
        return self.rows().to_polars()

    def explain(self) -> dict[str, Any]:
        """How the query is executed, and how many records it reads."""
        plan = self._collection._plan
        if plan.explain is None:
            raise UnsupportedError("queries of this kind have no explanation")
        operation, name = plan.explain
        return cast("dict[str, Any]", self._collection._call(operation, {name: self._asked}))

    def __repr__(self) -> str:
        return f"<Query of {self._collection._plan.record.__name__}: {self._asked.get('filter', 'all')}>"


class Collection(Generic[R]):
    """The records of one kind: creating, finding, changing, deleting."""

    __slots__ = ("_services",)

    _plan: ClassVar[Operations]

    def __init__(self, services: Services) -> None:
        self._services = services

    def _call(self, operation: str, arguments: dict[str, Any]) -> Any:
        return self._services.call(operation, flat(arguments))

    def _name(self) -> str:
        return type(self).__name__

    def _item(self, write: Write, given: Any, fields: dict[str, Any]) -> dict[str, Any]:
        """The wire form of what is created."""
        return merged(write.item, given, fields)

    def _request(self) -> type[Record]:
        return self._plan.request or self._plan.record

    def create(self, record: Any = None, /, **fields: Any) -> R:
        """Creates a record, given as its request, as a dict in the wire form, or by its members.

        Returns what was stored. Raises `InvalidArgumentError` for a member that is wrong, and
        `ConflictError` for a name or number that is taken.

        >>> db.products.create(part_number="C-1", family="Cable").part_number
        'C-1'
        """
        write = self._writes(self._plan.create, "create")
        item = self._item(write, record, fields)
        answer = self._call(write.operation, write.arguments([item], {}, None))
        return self._made(write, answer)

    def create_many(self, records: Iterable[Any]) -> BatchResult[R]:
        """Creates records, a thousand in each commit. What is refused does not stop the others."""
        write = self._writes(self._plan.create, "create_many")
        done: BatchResult[R] = BatchResult()
        items = iter(records)
        while chunk := [self._item(write, one, {}) for one in islice(items, _PAGE)]:
            if not write.many:
                done.records += [self.create(one) for one in chunk]
                continue
            answer = self._call(write.operation, write.arguments(chunk, {}, None))
            done._add(self._plan.record, write.made, answer)
        return done

    def get(self, id: str) -> R:
        """The record with this id. Raises `NotFoundError`."""
        if self._plan.get is None:
            return self.query("id == @0", id).one()
        found = self._services._core.get(self._plan.get, _id(id))
        return cast("R", self._plan.record.from_dict(found))

    def view(self, id: str) -> RecordView:
        """The record with this id, whose members become objects of Python when they are asked for.

        `view.part_number` has the spelling of the record, and is None for a member without a value;
        `view["partNumber"]` has that of the wire, and so have records inside of it, which are dicts,
        and times, which are texts. `to_dict` has all members. Faster than `get`.
        """
        get = self._plan.get
        if get is None:
            raise UnsupportedError(f"{self._name()} are not viewed; use get")
        spelling = wire_names(self._plan.record)
        return self._services._core.view(get, id if type(id) is str else _id(id), spelling)

    def query(
        self,
        filter: str | None = None,
        /,
        *substitutions: Any,
        order: str | None = None,
        desc: bool = False,
        take: int | None = None,
        fields: Iterable[str] | None = None,
        **members: Any,
    ) -> Query[R]:
        """Records that match a filter: @0, @1, … in it stand for the values behind it.

        `order` is the member to sort by, `take` the greatest number of records, `fields` the members
        that are filled. Other members of the request have their own names, as `product_ids` of
        specifications. Nothing is asked before the query is used.
        """
        asks = self._plan.asks
        if self._plan.query is None or self._plan.request is None:
            raise UnsupportedError(f"{self._name()} have no query")
        self._refuse_values(members)
        asked: dict[str, Any] = merged(self._plan.request, None, members)
        if filter is not None:
            if not isinstance(filter, str):
                raise InvalidArgumentError(
                    f"the filter {filter!r} is no text; give one as 'family == @0', and its values"
                )
            if not asks.get("filter"):
                raise UnsupportedError(f"{self._name()} take no filter; iterate over all of them")
            asked["filter"] = filter
        if substitutions:
            asked["substitutions"] = finite(wires(substitutions))
        if order is not None:
            if not asks.get("order"):
                raise UnsupportedError(f"{self._name()} have no order; sort the list")
            asked["orderBy"] = order
        if desc:
            if not asks.get("desc"):
                raise UnsupportedError(f"{self._name()} have no descending order")
            asked[asks["desc"]] = True
        if fields is not None:
            if not asks.get("fields"):
                raise UnsupportedError(f"{self._name()} always have all fields")
            asked["projection"] = [fields] if isinstance(fields, str) else list(fields)
        read = cast("Callable[[Any], R]", self._plan.record.from_dict)
        return Query(self, asked, _number_of_records(take), read)

    def _refuse_values(self, members: dict[str, Any]) -> None:
        """Refuses members of the record, as `part_number="A-1"`, where those of a query belong."""
        known, own = wire_names(self._request()), wire_names(self._plan.record)
        for name in members:
            if name in own and name not in known and self._plan.asks.get("filter"):
                raise InvalidArgumentError(
                    f"records are chosen by a filter and not by {name}=; write "
                    f"query({f'{own[name]} == @0'!r}, …) with its value"
                )

    def __iter__(self) -> Iterator[R]:
        return iter(self.query())

    def update(self, id: str, /, *, replace: bool = False, **fields: Any) -> R:
        """Changes members of a record; the others stay.

        Lists and properties are added to what is stored; with `replace` they take its place.
        Raises `NotFoundError`, and `InvalidArgumentError` for a member that is wrong.

        >>> product = db.products.create(part_number="C-2")
        >>> db.products.update(product.id, family="Cable").family
        'Cable'
        """
        write = self._writes(self._plan.update, "update")
        if replace and not write.replace:
            raise UnsupportedError(f"a change of {self._name()} has no replace=")
        item = merged(write.item, None if write.id else {"id": id}, fields)
        answer = self._call(write.operation, write.arguments([item], {"replace": replace}, id))
        return self._made(write, answer, id)

    def delete(self, *ids: str) -> None:
        """Deletes the records with these ids; results with their steps.

        Raises `PartialFailureError` if some could not be deleted; the others are.
        """
        plan = self._plan.delete
        if plan is None:
            raise UnsupportedError(f"{self._name()} are not deleted by id")
        ids = tuple(_id(id) for id in ids)
        flags = dict.fromkeys(plan.flags, True)
        if not plan.many:
            for id in ids:
                self._call(plan.operation, {plan.ids: id, **flags})
            return
        if not ids:
            return
        self._all_done(self._call(plan.operation, {plan.ids: list(ids), **flags}))

    def _all_done(self, answer: Any) -> None:
        errors = _errors(answer)
        if errors:
            raise self._failed(errors, answer)

    def _writes(self, write: Write | None, method: str) -> Write:
        if write is None:
            raise UnsupportedError(f"{self._name()} have no {method}")
        return write

    def _failed(self, errors: list[Error], answer: Any) -> Error:
        if len(errors) == 1:
            return errors[0]
        error = PartialFailureError(str(errors[0]))
        _fill(error, answer["error"])
        error.inner = tuple(errors)
        return error

    def _records(self, write: Write, answer: Any) -> list[R]:
        if not isinstance(answer, dict) or write.made is None:
            return []
        found = answer.get(write.made) or []
        cls = self._plan.record
        return [cast("R", cls.from_dict(one)) for one in found if isinstance(one, dict)]

    def _made(self, write: Write, answer: Any, id: str | None = None) -> R:
        errors = _errors(answer)
        if errors:
            raise self._failed(errors, answer)
        if write.made is None and isinstance(answer, dict) and write.many is False:
            return cast("R", self._plan.record.from_dict(answer))
        found = self._records(write, answer)
        # Some operations answer with less than the record.
        if found and write.item.__name__ not in _PARTIAL:
            return found[0]
        known = id if id is not None else getattr(found[0], "id", None) if found else None
        if known is None:
            raise NotFoundError("the operation answered without a record")
        return self.get(known)


def _number_of_records(take: Any) -> int | None:
    """A greatest number of records; a whole number of numpy is one."""
    number = wire(take) if take is None or hasattr(take, "__index__") else None
    if take is not None and (not isinstance(number, int) or isinstance(number, bool) or number < 0):
        raise InvalidArgumentError(f"take is {take!r}; give a number of records")
    return number


def _id(id: Any) -> str:
    """An id as a text; a UUID is one."""
    text = wire(id)
    if not isinstance(text, str):
        raise InvalidArgumentError(f"the id {id!r} is no text; give ids, as in record.id")
    return text


#: Requests whose operations answer with a part of the record.
_PARTIAL = {"CreateSpecificationRequest", "UpdateSpecificationRequest"}
