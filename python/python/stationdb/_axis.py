"""Axes of waveforms: where the samples lie.

A time is a count of nanoseconds since 1970 or a datetime, and a place in seconds a whole number of
ticks of its column wherever there is one: a float of seconds since 1970 has steps of 256 ns.
"""

from __future__ import annotations

import math
import sys
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from typing import Any, NamedTuple

from .errors import InvalidArgumentError

#: An axis as the extension has it: its kind, the first place, the step.
Axis = tuple[str, Any, Any]

#: Ticks of a second in each unit.
PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "µs": 10**6, "ns": 10**9}
#: The unit of each type of times.
TIME_UNITS = {"TIMESTAMP": "ms", "TIMESTAMP_US": "us", "TIMESTAMP_NS": "ns"}
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
#: The last bits of a decimal fraction, as of 0.003, do not count.
_FRACTION = Fraction(4 * sys.float_info.epsilon)


class Instant(NamedTuple):
    """A time that a datetime cannot keep: nanoseconds since 1970."""

    nanos: int


def nanoseconds(moment: datetime) -> int:
    """Nanoseconds since 1970 of a datetime with a zone, those of pandas included."""
    utc = moment.astimezone(UTC)
    plain = datetime(*utc.timetuple()[:6], utc.microsecond, tzinfo=UTC)
    return (plain - _EPOCH) // _MICROSECOND * 1000 + int(getattr(moment, "nanosecond", 0))


def moment(value: Any, what: str) -> int | None:
    """Nanoseconds since 1970 of a time; None for another value. `what` names it in errors.

    Times of pandas and numpy without a zone are UTC. Raises `InvalidArgumentError` for a datetime
    without one, and for NaT.
    """
    if getattr(getattr(value, "dtype", None), "kind", "") == "M" and getattr(value, "ndim", 0) == 0:
        nanos = time64(value, what)
        if nanos is None:
            raise InvalidArgumentError(f"{what} is NaT, which is no time; give a datetime or None")
        return nanos
    if not isinstance(value, datetime):
        return None
    if type(value).__name__ == "NaTType":
        raise InvalidArgumentError(f"{what} is NaT, which is no time; give a datetime or None")
    localize = getattr(value, "tz_localize", None)
    if value.tzinfo is None and localize is not None:
        value = localize("UTC")
    if value.tzinfo is None:
        raise InvalidArgumentError(
            f"{what} has no time zone; give datetime.now(timezone.utc), or value.astimezone()"
        )
    try:
        return nanoseconds(value)
    except (OverflowError, ValueError):
        raise InvalidArgumentError(f"{what} is {value}, a time that is too far away") from None


def time64(value: Any, what: str) -> int | None:
    """Nanoseconds since 1970 of a `numpy.datetime64`; None for NaT."""
    import numpy

    if numpy.isnat(value):
        return None
    unit, count = numpy.datetime_data(value.dtype)
    if unit in ("Y", "M"):
        value, unit, count = value.astype("datetime64[D]"), "D", 1
    days = {"W": 7 * 86_400, "D": 86_400, "h": 3_600, "m": 60}
    per_tick = days[unit] * 10**9 if unit in days else 10**9 // PER_SECOND.get(unit, 10**10)
    if per_tick == 0:
        raise InvalidArgumentError(
            f"{what} is {value!r}, and times in {unit} are finer than nanoseconds; give "
            'value.astype("datetime64[ns]")'
        )
    return int(value.astype("int64")) * count * per_tick


def start_of(t0: Any) -> Any:
    """The first place as a number, a datetime with a zone, or an instant; None without one.

    Raises `InvalidArgumentError` for what is none of these, and for a time without a zone.
    """
    kind = getattr(getattr(t0, "dtype", None), "kind", "")
    if kind == "M" and getattr(t0, "ndim", 0) == 0:
        nanos = time64(t0, "t0")
        if nanos is None:
            raise InvalidArgumentError("t0 is NaT, which is no time")
        return Instant(nanos)
    if isinstance(t0, datetime):
        if t0.tzinfo is None:
            raise InvalidArgumentError(
                "t0 has no time zone; give datetime.now(timezone.utc), or t0.astimezone()"
            )
        return Instant(nanoseconds(t0)) if getattr(t0, "nanosecond", 0) else t0.astimezone(UTC)
    return t0 if t0 is None else _number("t0", t0)


def step_of(dt: Any) -> int | float:
    """The step as a number of Python."""
    return _number("dt", dt)


def _number(name: str, value: Any) -> int | float:
    plain = value
    if hasattr(value, "item"):
        try:
            plain = value.item()
        except (TypeError, ValueError):
            plain = None
    if isinstance(plain, bool) or not isinstance(plain, int | float):
        raise InvalidArgumentError(f"{name} is {value!r}; give a number, of seconds for times")
    if isinstance(plain, float) and not math.isfinite(plain):
        raise InvalidArgumentError(f"{name} is {plain}; give a finite number")
    return plain


def is_time(t0: Any) -> bool:
    """Whether a first place is a time."""
    return isinstance(t0, datetime | Instant)


def tick(dt: float, t0: float) -> str:
    """The coarsest unit in which the axis has whole numbers."""
    for unit in ("s", "ms", "us", "ns"):
        per_second = PER_SECOND[unit]
        if all(abs(value * per_second - round(value * per_second)) < 1e-6 for value in (dt, t0)):
            if round(dt * per_second) >= 1:
                return unit
    raise InvalidArgumentError(
        f"steps of {dt} s from {t0} s on are no whole numbers of nanoseconds, which an index keeps; "
        "use tables.create_waveforms, whose t0 and dt are floats"
    )


def _per_second(column: dict[str, Any]) -> int | None:
    return PER_SECOND.get((column.get("properties") or {}).get("unit") or "")


def _whole(seconds: float, per_second: int) -> int | None:
    """Seconds in ticks; None for what is no whole number of them."""
    exact = Fraction(seconds) * per_second
    nearest = round(exact)
    return nearest if abs(exact - nearest) <= _FRACTION * abs(exact) else None


def axis_of(column: dict[str, Any], dt: int | float, t0: Any) -> Axis:
    """The axis from `t0` on, as the column keeps it."""
    kind, name = column["dataType"], column["name"]
    if isinstance(t0, datetime | Instant):
        ticks = _per_second(column) if kind.startswith("INT") else None
        if ticks is not None:
            nanos = t0.nanos if isinstance(t0, Instant) else nanoseconds(t0)
            start, rest = divmod(nanos, 10**9 // ticks)
            step = _whole(dt, ticks)
            if rest == 0 and step is not None and step > 0:
                return _counted(name, start, step)
        return ("nanos", t0.nanos, float(dt)) if isinstance(t0, Instant) else ("time", t0, float(dt))
    if kind.startswith("TIMESTAMP"):
        raise InvalidArgumentError(
            f"the index {name!r} is a time, so t0 is a datetime with a zone; give "
            "t0=datetime.now(timezone.utc)"
        )
    if kind.startswith("FLOAT"):
        return ("seconds", float(t0), float(dt))
    if "unit" in (column.get("properties") or {}):
        per_second = _per_second(column)
        if per_second is not None:
            first, step = _whole(t0, per_second), _whole(dt, per_second)
            if first is not None and step is not None and step > 0:
                return _counted(name, first, step)
        # The library refuses them with the unit of the column.
        return ("seconds", float(t0), float(dt))
    if isinstance(dt, float) or isinstance(t0, float):
        if not (float(dt).is_integer() and float(t0).is_integer()):
            raise InvalidArgumentError(
                f"the index {name!r} counts without a unit of time, so t0 and dt are whole numbers, "
                f"and not {t0} and {dt}; give the column the unit s, ms, us or ns"
            )
    return _counted(name, int(t0), int(dt))


def _counted(name: str, start: int, step: int) -> Axis:
    for what, count in (("t0", start), ("dt", step)):
        if not -(2**63) <= count < 2**63:
            raise InvalidArgumentError(
                f"{what} is {count} ticks of the index {name!r}, more than it keeps"
            )
    return ("count", start, step)


def next_axis(column: dict[str, Any], dt: int | float, last: Any) -> Axis:
    """The axis that goes on one step behind the index value `last`."""
    unit = TIME_UNITS.get(column["dataType"])
    if unit is not None:
        ticks = int(last.astype(f"datetime64[{unit}]").astype("int64"))
        nanos = ticks * (10**9 // PER_SECOND[unit]) + round(Fraction(dt) * 10**9)
        if abs(nanos) < 2**63:
            return ("nanos", nanos, float(dt))
        return ("time", _EPOCH + timedelta(microseconds=nanos // 1000), float(dt))
    kind, _, step = axis_of(column, dt, 0)
    if kind == "count":
        return _counted(column["name"], int(last) + step, step)
    return (kind, int(last) / (_per_second(column) or 1), step)


def place_of(column: dict[str, Any], axis: Axis, at: int) -> Any:
    """The index value of a sample; None on an axis that the library refuses."""
    kind, t0, dt = axis
    if kind == "seconds" or kind != "count" and not column["dataType"].startswith("TIMESTAMP"):
        return None
    if kind in ("time", "nanos"):
        import numpy

        unit = TIME_UNITS[column["dataType"]]
        nanos = (nanoseconds(t0) if kind == "time" else t0) + round(Fraction(dt) * at * 10**9)
        ticks = nanos // (10**9 // PER_SECOND[unit])
        if abs(ticks) >= 2**63:
            raise InvalidArgumentError(
                f"sample {at} lies beyond the times that column {column['name']!r} keeps"
            )
        place: Any = numpy.array(ticks, dtype="int64").astype(f"datetime64[{unit}]")
        return place[()]
    return t0 + at * dt
