"""Progress of long calls: a callback, a bar of tqdm, or lines of text."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

#: Told the units done, their total or None, and their name: "bytes", "rows", "files".
Callback = Callable[[int, int | None, str], object]
Progress = bool | Callback | None

_LINE_SECONDS = 5.0


def _lines(what: str) -> Callback:
    last = time.monotonic()

    def report(done: int, total: int | None, unit: str) -> None:
        nonlocal last
        now = time.monotonic()
        if now - last >= _LINE_SECONDS:
            last = now
            of = "" if total is None else f" of {total:,}"
            print(f"{what}: {done:,}{of} {unit}", file=sys.stderr)

    return report


@contextmanager
def reporting(progress: Progress, what: str) -> Iterator[Callback | None]:
    """The callback of a call: the caller's own, a bar for True, none for False and None."""
    if progress is None or progress is False:
        yield None
        return
    if progress is not True:
        if not callable(progress):
            from .errors import InvalidArgumentError

            raise InvalidArgumentError(
                f"progress is {progress!r}; give True, or a function of (done, total, unit)"
            )
        yield progress
        return
    try:
        from tqdm.auto import tqdm  # type: ignore[import-untyped,unused-ignore]
    except ImportError:
        yield _lines(what)
        return
    bar: Any = None
    shown = ""

    def report(done: int, total: int | None, unit: str) -> None:
        nonlocal bar, shown
        if bar is not None and unit != shown:
            # What comes next is counted otherwise, as the files of a restore after its keys.
            bar.close()
            bar = None
        if bar is None:
            shown = unit
            scale = unit == "bytes"
            bar = tqdm(desc=what, total=total, unit=f" {unit}", unit_scale=scale)
        if total is not None and total != bar.total:
            bar.total = total
        bar.update(max(0, done - bar.n))

    try:
        yield report
    finally:
        if bar is not None:
            bar.close()
