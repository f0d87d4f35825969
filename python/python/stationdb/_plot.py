"""Curves as SVG."""

from __future__ import annotations

import html
import math
import os
import sys
from collections.abc import Callable
from typing import Any

from .errors import InvalidArgumentError, Error

_WIDTH, _HEIGHT = 900, 340
_LEFT, _RIGHT, _TOP, _BOTTOM = 84, 16, 30, 44
_COLOURS = ("#1f5fa8", "#c0392b", "#1e8449", "#8e44ad", "#b9770e", "#148f9c")


#: Columns that are drawn when none is named, as many as a page has then.
DRAWN_COLUMNS = 8
#: Characters of a page inside a notebook, and those that it has beside its numbers.
_INSIDE_MAX = 1_000_000
_BESIDE = 300_000
#: Makes the page of a table, with so many bytes of each column.
Page = Callable[[int | None], str]


class Plot:
    """A picture of curves. Notebooks show it; `save` writes it into a file.

    The plot of a table is a page that zooms, in notebooks and as an HTML file.
    """

    __slots__ = ("_columns", "_page", "inside_max", "svg")

    def __init__(self, svg: str, page: Page | None = None, columns: int = 1) -> None:
        #: The picture as the text of an SVG file.
        self.svg = svg
        #: The most characters of the page inside a notebook; may be set.
        self.inside_max = _INSIDE_MAX
        self._page = page
        self._columns = columns

    def _repr_svg_(self) -> str:
        return self.svg

    def _repr_html_(self) -> str | None:
        """The page in a frame, of at most `inside_max` characters, of the rows as they are now.

        None, so that a notebook shows the picture, where there is no page or none of that size.
        """
        if self._page is None:
            return None
        room = max(0, self.inside_max - _BESIDE) // max(1, self._columns)
        try:
            source = html.escape(self._page(room), quote=True)
        except Error:
            return None
        if len(source) > self.inside_max:
            return None
        return (
            f'<iframe srcdoc="{source}" sandbox="allow-scripts allow-downloads allow-modals" '
            'title="plot" width="100%" height="640" style="border: 0"></iframe>'
        )

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the picture as an SVG file, or the page of a table as an HTML file.

        Raises `InvalidArgumentError` for a path that ends as that of another kind of picture, and
        for an HTML file of a numbered waveform.
        """
        ending = os.fspath(path).rpartition(".")[2].lower()
        if ending in ("html", "htm"):
            if self._page is None:
                raise InvalidArgumentError("numbered waveforms have no page; save the picture as .svg")
            _replace(path, self._page(None))
            return
        if ending in ("png", "jpg", "jpeg", "gif", "pdf", "webp", "bmp", "tif", "tiff"):
            raise InvalidArgumentError(
                f"the picture is SVG, and {os.fspath(path)!r} ends as {ending.upper()}; save it as .svg"
            )
        _replace(path, self.svg)

    def __repr__(self) -> str:
        return f"<Plot of {len(self.svg):,} bytes of SVG>"


def _replace(path: str | os.PathLike[str], text: str) -> None:
    """Writes a file beside the one at the path, and puts it in its place."""
    target = os.path.realpath(path)
    draft = f"{target}.{os.getpid()}.part"
    try:
        with open(draft, "w", encoding="utf-8", newline="\n") as file:
            file.write(text)
        os.replace(draft, target)
    except BaseException:
        if os.path.exists(draft):
            os.remove(draft)
        raise


def _span(low: float, high: float) -> float:
    """Half of the distance, which is finite for all numbers."""
    return high / 2 - low / 2


def _widened(low: float, high: float, share: float) -> tuple[float, float]:
    """A range with more room on both sides; one of a single number gets some too."""
    most = sys.float_info.max
    if not _span(low, high) > 0:
        room = max(1.0, abs(low) / 100)
        return max(low - room, -most), min(high + room, most)
    room = _span(low, high) * 2 * share if share else 0.0
    return max(low - room, -most), min(high + room, most)


def _steps(low: float, high: float, count: int) -> list[float]:
    span = _span(low, high)
    if not span > 0:
        return [low]
    raw = span / count * 2
    power = max(10.0 ** math.floor(math.log10(raw)), sys.float_info.min)
    step = next(power * factor for factor in (1, 2, 5, 10) if power * factor >= raw)
    first = math.ceil(low / step) * step
    values = [first + step * at for at in range(int(high / step - first / step + 1e-9) + 1)]
    return [value for value in values if math.isfinite(value)]


def kept_rows(columns: list[Any], points: int) -> Any:
    """The rows with the least and the greatest value of each column in `points` intervals."""
    import numpy

    count = len(columns[0]) if columns else 0
    if count <= 2 * points:
        return numpy.arange(count)
    ends = numpy.linspace(0, count, points + 1).astype(int)
    kept: set[int] = set()
    for values in columns:
        for begin, end in zip(ends, ends[1:], strict=False):
            part = values[begin:end].astype(float)
            if numpy.isnan(part).all():
                continue
            kept.add(int(begin + numpy.nanargmin(part)))
            kept.add(int(begin + numpy.nanargmax(part)))
    return numpy.array(sorted(kept), dtype=int)


def _origin(counts: Any) -> int:
    """What is subtracted before whole numbers become floats, which have steps of 256 at 10^18.

    It is a round number, so that the marks of the axis are.
    """
    if counts.dtype.kind not in "iu" or not len(counts):
        return 0
    first, last = int(counts.min()), int(counts.max())
    if max(abs(first), abs(last)) < 2**53:
        return 0
    return first - first % int(10 ** (len(str(last - first)) + 1))


def drawn(
    title: str,
    columns: dict[str, Any],
    x: str,
    names: list[str],
    units: dict[str, str | None],
    low: float | None,
    high: float | None,
) -> Plot:
    """Draws the columns `names` over the column `x`."""
    import numpy

    places = columns[x]
    is_time = places.dtype.kind == "M"
    counts = places.astype("datetime64[ns]").astype("int64") if is_time else places
    origin = _origin(counts)
    xs = (counts - origin if origin else counts).astype(float)
    curves = {name: columns[name].astype(float) for name in names}
    values = [curve[numpy.isfinite(curve)] for curve in curves.values()]
    # A limit that is infinite or NaN is none.
    limits = [one for one in (low, high) if one is not None and math.isfinite(one)]
    known = numpy.concatenate([*values, limits])
    bottom, top = (float(known.min()), float(known.max())) if len(known) else (0.0, 1.0)
    bottom, top = _widened(bottom, top, 0.05)
    left, right = (float(xs.min()), float(xs.max())) if len(xs) else (0.0, 1.0)
    left, right = _widened(left, right, 0.0)
    wide, high_ = _WIDTH - _LEFT - _RIGHT, _HEIGHT - _TOP - _BOTTOM

    def at_x(value: Any) -> Any:
        return _LEFT + (value / 2 - left / 2) / _span(left, right) * wide

    def at_y(value: Any) -> Any:
        return _TOP + (top / 2 - value / 2) / _span(bottom, top) * high_

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" '
        f'width="{_WIDTH}" font-family="sans-serif" font-size="12">',
        f'<rect width="{_WIDTH}" height="{_HEIGHT}" fill="white"/>',
        f'<text x="{_LEFT}" y="18" font-weight="bold">{html.escape(title)}</text>',
    ]
    for value in _steps(bottom, top, 5):
        y = at_y(value)
        parts.append(f'<path d="M{_LEFT} {y:.1f}H{_WIDTH - _RIGHT}" stroke="#ddd"/>')
        text = f"{value:.6g}" if abs(value) > 2e-12 * _span(bottom, top) else "0"
        parts.append(f'<text x="{_LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{text}</text>')
    # Milliseconds, or nanoseconds where the axis is so short.
    digits = 23 if right - left > 1e7 else 29
    for value in _steps(left, right, 6):
        place = at_x(value)
        text = f"{origin + value:.6g}"
        if is_time:
            text = str(numpy.datetime64(origin + int(value), "ns"))[:digits]
        parts.append(
            f'<text x="{place:.1f}" y="{_HEIGHT - _BOTTOM + 18}" text-anchor="middle">{text}</text>'
        )
    unit = f" / {units[x]}" if units.get(x) else ""
    parts.append(
        f'<text x="{_LEFT + wide / 2:.0f}" y="{_HEIGHT - 8}" text-anchor="middle">'
        f"{html.escape(x + unit)}</text>"
    )
    for limit in limits:
        y = at_y(limit)
        parts.append(
            f'<path d="M{_LEFT} {y:.1f}H{_WIDTH - _RIGHT}" stroke="#c0392b" '
            'stroke-dasharray="6 4"/>'
        )
    for number, (name, curve) in enumerate(curves.items()):
        colour = _COLOURS[number % len(_COLOURS)]
        points: list[str] = []
        for place, value in zip(at_x(xs), at_y(curve), strict=True):
            # A gap where there is no number.
            if math.isfinite(value):
                points.append(f"{'L' if points and points[-1] else 'M'}{place:.1f} {value:.1f}")
            else:
                points.append("")
        parts.append(f'<path d="{"".join(points)}" fill="none" stroke="{colour}"/>')
        unit = f" / {units[name]}" if units.get(name) else ""
        label = _WIDTH - _RIGHT - 150 * (len(curves) - number - 1)
        parts.append(
            f'<text x="{label}" y="18" text-anchor="end" fill="{colour}">'
            f"{html.escape(name + unit)}</text>"
        )
    parts.append("</svg>")
    return Plot("".join(parts))
