"""Exceptions: one base, `Error`, and a class for each kind of failure.

Each class is also the built-in exception that Python programs catch in such a case, so code that
knows nothing of this package does the right thing:

>>> import stationdb
>>> try:
...     stationdb.open("/nowhere/at/all", create=False)
... except OSError as error:
...     print(type(error).__name__)
PathNotFoundError
"""

from __future__ import annotations

from typing import Any

__all__ = [
    "CancelledError",
    "ClosedError",
    "ConflictError",
    "CorruptError",
    "DeadlineExceededError",
    "Error",
    "InvalidArgumentError",
    "IoError",
    "LatchedError",
    "LimitExceededError",
    "LockedError",
    "NewerFormatError",
    "NoSpaceError",
    "NotAStoreError",
    "NotFoundError",
    "OlderFormatError",
    "OutcomeUnknownError",
    "PartialFailureError",
    "PathNotFoundError",
    "PermissionDeniedError",
    "UnsupportedError",
]


class Error(Exception):
    """The base of all exceptions of this package.

    The text says what was attempted, on what, and what to do. `kind` is the name of the kind, as
    `"NotFound"`. `place` tells where the fault is, if that is known: `{"member": "workItems[3].name"}`
    of a request, `{"offset": 4}` in a filter, `{"row": 7, "column": "volts"}` of an append,
    `{"line": 3, "column": None}` of a text, `{"row_group": 0, "row": 5, "column": "v"}` of a Parquet
    file. `resource` is the kind and the id of the record concerned. `arguments` are the values in
    the text. `inner` has one error for each failed item of a batch.
    """

    kind: str = "Error"
    place: dict[str, Any] | None = None
    resource: tuple[str, str] | None = None
    arguments: tuple[str, ...] = ()
    name: str | None = None
    code: int | None = None
    inner: tuple[Error, ...] = ()

    def __reduce__(self) -> tuple[Any, ...]:
        return (_again, (type(self), str(self), dict(self.__dict__)))


def _again(cls: type[Error], text: str, members: dict[str, Any]) -> Error:
    error = cls(text)
    error.__dict__.update(members)
    return error


class InvalidArgumentError(Error, ValueError):
    """A member, value, filter, token or option is wrong; nothing was done."""

    kind = "InvalidArgument"


class NotFoundError(Error, LookupError):
    """There is no record with this id or name."""

    kind = "NotFound"


class PathNotFoundError(NotFoundError, FileNotFoundError):
    """There is no file or directory at this path."""


class ConflictError(Error, RuntimeError):
    """An id or name is taken, a revision does not match, or the state forbids the call."""

    kind = "Conflict"


class LimitExceededError(Error, ValueError):
    """More columns, rows, items, bytes or nesting than a stated limit allows."""

    kind = "LimitExceeded"


class UnsupportedError(Error, NotImplementedError):
    """The call is not available here, for example inside a transaction."""

    kind = "Unsupported"


class PermissionDeniedError(Error, PermissionError):
    """The user may not do this."""

    kind = "PermissionDenied"


class PartialFailureError(Error, ValueError):
    """Some items of a batch failed; `inner` names them."""

    kind = "PartialFailure"


class DeadlineExceededError(Error, TimeoutError):
    """The timeout of the session passed."""

    kind = "DeadlineExceeded"


class CancelledError(Error, RuntimeError):
    """The call was cancelled."""

    kind = "Cancelled"


class LockedError(Error, BlockingIOError):
    """Another process has the store open. `stationdb.look` reads it meanwhile."""

    kind = "Locked"


class NotAStoreError(Error, OSError):
    """The directory contains something that is not a store."""

    kind = "NotAStore"


class NewerFormatError(Error, OSError):
    """A newer version wrote the store; install that version."""

    kind = "NewerFormat"


class OlderFormatError(Error, OSError):
    """An older version wrote the store, whose form this one does not read."""

    kind = "OlderFormat"


class CorruptError(Error, OSError):
    """Bytes on the disk differ from what was written."""

    kind = "Corrupt"


class NoSpaceError(Error, OSError):
    """The disk is too full for the call."""

    kind = "NoSpace"


class LatchedError(Error, OSError):
    """An earlier write failed; reads go on, writes need the store to be reopened."""

    kind = "Latched"


class OutcomeUnknownError(Error, OSError):
    """The disk failed during the commit: the call may or may not have taken effect."""

    kind = "OutcomeUnknown"


class IoError(Error, OSError):
    """The operating system refused an operation."""

    kind = "Io"


class ClosedError(Error, ValueError):
    """The store, transaction, file or stream was closed before this call."""

    kind = "Closed"


_KINDS: dict[str, type[Error]] = {
    cls.kind: cls for cls in Error.__subclasses__() if cls.kind != Error.kind
}
_NAMES = {f"StationDb.{kind}": cls for kind, cls in _KINDS.items()}


#: The kinds of names that services have of their own, by their ends.
_ENDS = (
    (("NotFound", "NotFoundError", "NotFoundOrNoAccess", ".InvalidId", ".InvalidResultOrStepId"), NotFoundError),
    (("InUse", "Exists", "IdTaken", "Conflict", "Mismatch", "InvalidState", "Closed"), ConflictError),
    (("QuotaExceeded", "TooManyRows", "TooLarge"), LimitExceededError),
    (("UnauthorizedWorkspaceError",), PermissionDeniedError),
)


def _class_of(name: str, cls: type[Error]) -> type[Error]:
    """The class of an error of the wire; `cls` where its name does not tell."""
    known = _NAMES.get(name)
    ends = (one for ends, one in _ENDS if name.endswith(ends))
    return known if known is not None else next(ends, cls)


def _of_api(api: dict[str, Any], cls: type[Error]) -> Error:
    error = cls(api.get("message") or "")
    _fill(error, api)
    return error


def _fill(error: Error, api: dict[str, Any]) -> None:
    error.name = api.get("name")
    error.code = api.get("code")
    error.arguments = tuple(api.get("args") or ())
    kind, id = api.get("resourceType"), api.get("resourceId")
    error.resource = (kind, id) if kind is not None and id is not None else None
    inner = api.get("innerErrors") or ()
    error.inner = tuple(_of_api(one, _class_of(one.get("name") or "", Error)) for one in inner)


#: What the library calls otherwise than this package.
_WORDS = {
    "Store::open": "stationdb.open",
    "import it with import_file": "import it with tables.import_file; a CSV with test results has "
    'format="results-csv"',
    "import it with import_results_file": "import it with results.import_file",
    "`CreateTableRequest::of_waveforms`": "tables.create_waveforms()",
    "CreateTableRequest::of_waveforms": "tables.create_waveforms()",
    "`indexFrom`": "start=",
    "`indexBefore`": "stop=",
}


def _made(kind: str, text: str, place: dict[str, Any] | None, api: dict[str, Any]) -> Error:
    """Makes the exception of an error of the library."""
    cls = PathNotFoundError if kind == "PathNotFound" else _KINDS.get(kind, Error)
    for word, own in _WORDS.items():
        text = text.replace(word, own)
    if cls is LockedError:
        text += "; stationdb.look reads it meanwhile"
    error = cls(text)
    error.place = place
    _fill(error, api)
    return error
