"""Curves as SVG."""

from __future__ import annotations

import html
import math
import os
from collections.abc import Callable
from typing import Any

from .errors import InvalidArgumentError

_WIDTH, _HEIGHT = 900, 340
_LEFT, _RIGHT, _TOP, _BOTTOM = 84, 16, 30, 44
_COLOURS = ("#1f5fa8", "#c0392b", "#1e8449", "#8e44ad", "#b9770e", "#148f9c")


#: Characters of a page inside a notebook, and those that it has beside its numbers.
_INSIDE_MAX = 1_000_000
_BESIDE = 300_000
#: Makes the page of a table, with so many bytes of each column.
Page = Callable[[int | None], str]


class Plot:
    """A picture of curves. Notebooks show it; `save` writes it into a file.

    The plot of a table is a page that zooms, in notebooks and as an HTML file.
    """

    __slots__ = ("_columns", "_page", "svg")

    def __init__(self, svg: str, page: Page | None = None, columns: int = 1) -> None:
        #: The picture as the text of an SVG file.
        self.svg = svg
        self._page = page
        self._columns = columns

    def _repr_svg_(self) -> str:
        return self.svg

    def _repr_html_(self) -> str | None:
        """The page in a frame, of at most 1 MB. It is made of the rows as they are now."""
        if self._page is None:
            return None
        room = (_INSIDE_MAX - _BESIDE) // max(1, self._columns)
        source = html.escape(self._page(room), quote=True)
        if len(source) > _INSIDE_MAX:
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
            with open(path, "w", encoding="utf-8", newline="\n") as file:
                file.write(self._page(None))
            return
        if ending in ("png", "jpg", "jpeg", "gif", "pdf", "webp", "bmp", "tif", "tiff"):
            raise InvalidArgumentError(
                f"the picture is SVG, and {os.fspath(path)!r} ends as {ending.upper()}; save it as .svg"
            )
        with open(path, "w", encoding="utf-8") as file:
            file.write(self.svg)

    def __repr__(self) -> str:
        return f"<Plot of {len(self.svg):,} bytes of SVG>"


def _steps(low: float, high: float, count: int) -> list[float]:
    span = high - low
    if not span > 0:
        return [low]
    raw = span / count
    power = 10.0 ** math.floor(math.log10(raw))
    step = next(power * factor for factor in (1, 2, 5, 10) if power * factor >= raw)
    first = math.ceil(low / step) * step
    return [first + step * at for at in range(int((high - first) / step + 1e-9) + 1)]


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
    numbers = places.astype("datetime64[ns]").astype("int64") if is_time else places
    xs = numbers.astype(float)
    curves = {name: columns[name].astype(float) for name in names}
    values = [curve[numpy.isfinite(curve)] for curve in curves.values()]
    known = numpy.concatenate([*values, [one for one in (low, high) if one is not None]])
    bottom, top = (float(known.min()), float(known.max())) if len(known) else (0.0, 1.0)
    if bottom == top:
        bottom, top = bottom - 1, top + 1
    pad = (top - bottom) * 0.05
    bottom, top = bottom - pad, top + pad
    left, right = (float(xs.min()), float(xs.max())) if len(xs) else (0.0, 1.0)
    if left == right:
        left, right = left - 1, right + 1
    wide, high_ = _WIDTH - _LEFT - _RIGHT, _HEIGHT - _TOP - _BOTTOM

    def at_x(value: Any) -> Any:
        return _LEFT + (value - left) / (right - left) * wide

    def at_y(value: Any) -> Any:
        return _TOP + (top - value) / (top - bottom) * high_

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" '
        f'width="{_WIDTH}" font-family="sans-serif" font-size="12">',
        f'<rect width="{_WIDTH}" height="{_HEIGHT}" fill="white"/>',
        f'<text x="{_LEFT}" y="18" font-weight="bold">{html.escape(title)}</text>',
    ]
    for value in _steps(bottom, top, 5):
        y = at_y(value)
        parts.append(f'<path d="M{_LEFT} {y:.1f}H{_WIDTH - _RIGHT}" stroke="#ddd"/>')
        text = f"{value:.6g}" if abs(value) > 1e-12 * (top - bottom) else "0"
        parts.append(f'<text x="{_LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{text}</text>')
    for value in _steps(left, right, 6):
        place = at_x(value)
        text = str(numpy.datetime64(int(value), "ns"))[:23] if is_time else f"{value:.6g}"
        parts.append(
            f'<text x="{place:.1f}" y="{_HEIGHT - _BOTTOM + 18}" text-anchor="middle">{text}</text>'
        )
    unit = f" / {units[x]}" if units.get(x) else ""
    parts.append(
        f'<text x="{_LEFT + wide / 2:.0f}" y="{_HEIGHT - 8}" text-anchor="middle">'
        f"{html.escape(x + unit)}</text>"
    )
    for limit in (low, high):
        if limit is not None:
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
