"""Paths of directories."""

from __future__ import annotations

import os

from .errors import InvalidArgumentError

PathLike = str | os.PathLike[str]


def path_of(path: object) -> str:
    """The path as a text. Raises `InvalidArgumentError` for what is no path."""
    if isinstance(path, os.PathLike):
        path = os.fspath(path)
    if isinstance(path, str):
        return path
    raise InvalidArgumentError(f"the path is {path!r}; give a str or a pathlib.Path")
