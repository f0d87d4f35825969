"""What records and requests have in common: their wire form."""

from __future__ import annotations

import difflib
import enum
import json
import math
import operator
import sys
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, date, datetime, timedelta
from typing import Any, ClassVar, Final, Protocol, Self, TypeVar

from .errors import InvalidArgumentError

__all__ = ["UNSET", "Record", "Unset"]


class Unset:
    """The type of `UNSET`, the value of a member of a change that keeps what is stored."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "UNSET"

    def __bool__(self) -> bool:
        return False

    def __copy__(self) -> Unset:
        return self

    def __deepcopy__(self, memo: object) -> Unset:
        return self

    def __reduce__(self) -> str:
        return "UNSET"


#: A member that is not changed; None clears the member.
UNSET: Final = Unset()



class HasModelDump(Protocol):
    """An object with `model_dump`, as those of pydantic."""

    def model_dump(self) -> dict[str, Any]:
        """Its members."""
        ...


R = TypeVar("R", bound="Record")
_Reader = Callable[[Any], Any]
_READERS: dict[type[Record], tuple[tuple[str, str, _Reader | None], ...]] = {}
_NAMES: dict[type[Record], dict[str, str]] = {}


def _time(value: Any) -> Any:
    return datetime.fromisoformat(value) if isinstance(value, str) else value


def _reader(spec: Any, module: str) -> _Reader | None:
    if spec is None:
        return None
    if isinstance(spec, list):
        one = _reader(spec[0], module)
        return None if one is None else lambda values: [one(value) for value in values]
    if isinstance(spec, dict):
        each = _reader(spec[""], module)
        if each is None:
            return None
        return lambda values: {key: each(value) for key, value in values.items()}
    if spec == "time":
        return _time
    cls: type[Record] = getattr(sys.modules[module], spec)
    return cls.from_dict


def _members(cls: type[Record]) -> tuple[tuple[str, str, _Reader | None], ...]:
    found = _READERS.get(cls)
    if found is None:
        found = tuple(
            (name, wire, _reader(spec, cls.__module__)) for name, wire, spec in cls._MEMBERS
        )
        _READERS[cls] = found
    return found


def wire_names(cls: type[Record]) -> dict[str, str]:
    """The wire spelling of each member."""
    found = _NAMES.get(cls)
    if found is None:
        found = {name: wire for name, wire, _ in cls._MEMBERS}
        _NAMES[cls] = found
    return found


class Record:
    """The base of all records and requests: dataclasses with the members of the library."""

    __slots__ = ()

    _MEMBERS: ClassVar[tuple[tuple[str, str, Any], ...]] = ()

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """The record of a dict in the wire form, as `to_dict` returns it. Other members are left out.

        Raises `InvalidArgumentError` for what is no dict, and `TypeError` without a required member.
        """
        if not isinstance(data, Mapping):
            raise InvalidArgumentError(f"{cls.__name__} cannot be made of {data!r}; give a dict")
        members: dict[str, Any] = {}
        for name, wire, read in _members(cls):
            if wire in data:
                value = data[wire]
                members[name] = value if read is None or value is None else read(value)
        return cls(**members)

    def to_dict(self) -> dict[str, Any]:
        """The wire form: dicts, lists, texts, numbers; without the members that are None or UNSET.

        In a change (whose members may be UNSET) None stays, and clears the member.
        """
        out: dict[str, Any] = {}
        keeps_none = _is_patch(type(self))
        for name, wire_name, _ in _members(type(self)):
            value = getattr(self, name)
            if value is UNSET or value is None and not (keeps_none and name != "id"):
                continue
            out[wire_name] = wire(value)
        return out


def _is_patch(cls: type[Record]) -> bool:
    fields: dict[str, Any] = getattr(cls, "__dataclass_fields__", {})
    return any(one.default is UNSET for one in fields.values())


def wire(value: Any) -> Any:
    """A value of Python in the wire form."""
    kind = type(value)
    if value is None or kind in (str, int, float, bool):
        return value
    if isinstance(value, Record):
        return value.to_dict()
    if isinstance(value, datetime):
        if value.tzinfo is None:
            raise InvalidArgumentError(
                f"the time {value} has no time zone; give datetime.now(timezone.utc), or "
                "value.astimezone()"
            )
        return value.astimezone(UTC).isoformat().replace("+00:00", "Z")
    if isinstance(value, date):
        return f"{value.isoformat()}T00:00:00Z"
    if isinstance(value, timedelta):
        return _span(value)
    if isinstance(value, Mapping):
        return {_key(key): wire(one) for key, one in value.items()}
    if isinstance(value, enum.Enum):
        return wire(value.value)
    if isinstance(value, str):
        return str(value)
    if hasattr(value, "model_dump"):
        return value.model_dump(mode="json", by_alias=True, exclude_none=True)
    if kind.__module__ == "numpy" and hasattr(value, "item") and getattr(value, "ndim", 1) == 0:
        return wire(value.item())
    if kind.__module__ == "uuid":
        return str(value)
    if isinstance(value, int | float):
        return value
    if isinstance(value, list | tuple | set | frozenset) or hasattr(value, "__next__"):
        return [wire(one) for one in value]
    if isinstance(value, Iterable) and hasattr(value, "tolist"):
        return wire(value.tolist())  # type: ignore[attr-defined,unused-ignore]
    raise InvalidArgumentError(
        f"{value!r} of type {kind.__name__} cannot be a member of a record; give a text, a number, "
        "a bool, a datetime, a list or a dict"
    )


def _span(value: timedelta) -> str:
    """A span of time as filters have it: days, hours, minutes and seconds."""
    if value < timedelta(0):
        raise InvalidArgumentError(f"the span {value!r} is negative; give one that is not")
    minutes, seconds = divmod(value.seconds, 60)
    hours, minutes = divmod(minutes, 60)
    parts = f"{value.days}.{hours:02}:{minutes:02}:{seconds:02}"
    return f"{parts}.{value.microseconds:06}" if value.microseconds else parts


def scalar(value: Any, what: str) -> Any:
    """A value that a library of arrays has, as one of Python; any other value as it is.

    Raises `InvalidArgumentError`, which calls the value `what`, for several values.
    """
    if not callable(getattr(value, "item", None)):
        return value
    try:
        return value.item()
    except (TypeError, ValueError, RuntimeError):
        raise InvalidArgumentError(
            f"{what} is {value!r}; give one number, and store several in a table"
        ) from None


def _key(key: object) -> str:
    if isinstance(key, str):
        return key
    raise InvalidArgumentError(f"the key {key!r} is no text; keys of properties are texts")


def encoded(operation: str, arguments: Mapping[str, Any] | list[dict[str, Any]]) -> str:
    """The arguments of an operation as JSON."""
    try:
        return _text_of(operation, arguments)
    except (TypeError, ValueError, RecursionError) as error:
        if isinstance(error, InvalidArgumentError):
            raise
        try:
            return _text_of(operation, wire(arguments))
        except InvalidArgumentError:
            raise
        except (ValueError, RecursionError):
            raise InvalidArgumentError(
                f"the arguments of {operation} are no JSON: {error}; NaN and infinities have no "
                "place in records; a measurement without a value is the text \"NaN\""
            ) from None


def _text_of(operation: str, arguments: Any) -> str:
    text = json.dumps(arguments, allow_nan=False)
    if "\\ud" in text:
        # Half of a pair, as Python reads bytes that are no UTF-8, has no place in JSON.
        try:
            json.dumps(arguments, ensure_ascii=False).encode()
        except UnicodeEncodeError as error:
            near = error.object[max(0, error.start - 20) : error.end + 20]
            raise InvalidArgumentError(
                f"the arguments of {operation} have the lone surrogate "
                f"{error.object[error.start]!r} in {near!r}, which is no text; decode the bytes "
                'with their encoding, or with errors="replace"'
            ) from None
    return text


def printable(text: str) -> str:
    """A text that a record keeps: lone surrogates, as of bytes that are no UTF-8, are written out."""
    return text.encode(errors="backslashreplace").decode()


def told(error: BaseException) -> str:
    """What an exception says, whatever it is."""
    try:
        return printable(str(error))
    except Exception:
        return "it has no text, because its __str__ fails"


def flat(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments with the members of the request, which the wire has beside the others."""
    out: dict[str, Any] = {}
    for name, value in arguments.items():
        if name in ("request", "query"):
            out = {**value, **out}
        else:
            out[name] = value
    return out


def wires(values: Iterable[Any]) -> list[Any]:
    """Values of Python in the wire form."""
    return [wire(value) for value in values]


def finite(values: list[Any]) -> list[Any]:
    """The values of a filter. Raises `InvalidArgumentError` for NaN and infinities."""
    for at, value in enumerate(values):
        if isinstance(value, float) and not math.isfinite(value):
            raise InvalidArgumentError(
                f"the value of @{at} is {value}, with which no number is compared; give a finite one"
            )
    return values


def whole(name: str, value: Any, what: str, least: int = 0) -> int:
    """A whole number of at least `least`, of Python or numpy; `what` says what is to be given."""
    is_whole = hasattr(value, "__index__") and not isinstance(value, bool)
    number = operator.index(value) if is_whole else None
    if number is None or not least <= number < 2**63:
        raise InvalidArgumentError(f"{name} is {value!r}; give {what}")
    return number


def exact(value: Any, what: str) -> Any:
    """A value of a measurement, which is compared as a float.

    Raises `InvalidArgumentError` for a whole number that has no equal float.
    """
    if not isinstance(value, int) or isinstance(value, bool):
        return value
    try:
        if float(value) == value:
            return value
        told = str(value)
    except (OverflowError, ValueError):
        told = f"a whole number of {value.bit_length()} bits"
    raise InvalidArgumentError(
        f"{what} is {told}, and measurements keep numbers as floats, which have no equal one; "
        "give it as text, as in str(value)"
    )


def merged(cls: type[Record], given: Any, fields: Mapping[str, Any]) -> dict[str, Any]:
    """The wire form of a request that is given as a record or a dict, and by its members."""
    if given is None:
        out: dict[str, Any] = {}
    elif isinstance(given, Record | Mapping) or hasattr(given, "model_dump"):
        out = dict(wire(given))
    else:
        raise InvalidArgumentError(
            f"{given!r} is no record; give a {cls.__name__}, a dict, or the members by their names"
        )
    names = wire_names(cls)
    for name, value in fields.items():
        known = names.get(name) or names.get(f"{name}_") or (name if name in names.values() else None)
        if known is None:
            near = difflib.get_close_matches(name, names, 1)
            told = f"; is {near[0]!r} meant?" if near else f"; it has {', '.join(names)}"
            raise InvalidArgumentError(f"{cls.__name__} has no member {name!r}{told}")
        if isinstance(value, str) and _is_list(cls, name):
            raise InvalidArgumentError(
                f"{name} is the text {value!r}; give a list of texts, as {name}=[{value!r}]"
            )
        if value is not UNSET:
            out[known] = wire(value)
    if isinstance(out.get("status"), str) and ("status", "status", "Status") in cls._MEMBERS:
        # The type says all of most statuses.
        out["status"] = {"statusType": out["status"]}
    return out


def _is_list(cls: type[Record], name: str) -> bool:
    """Whether a member is a list, which a text would otherwise be told to be by the wire."""
    fields: dict[str, Any] = getattr(cls, "__dataclass_fields__", {})
    return name in fields and str(fields[name].type).startswith("list[")
