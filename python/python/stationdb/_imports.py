"""Imports of files with test results, and of directories."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from . import _stationdb
from ._progress import Progress, reporting
from .errors import InvalidArgumentError

if TYPE_CHECKING:
    from ._session import Services
    from ._tables import Table
    from .records import ImportTableResponse

__all__ = ["ImportedFile"]


@dataclass(slots=True, kw_only=True, frozen=True)
class ImportedFile:
    """What became of a file: tables, test results, or an error."""

    #: The path of the file; in a directory, that below it.
    path: str
    #: The name of its format, if that was found.
    format: str | None = None
    #: The answer of each table of a file with tables.
    tables: list[ImportTableResponse] = field(default_factory=list)
    #: Ids of the test results.
    results: list[str] = field(default_factory=list)
    #: How many steps the results have, on all levels.
    steps: int = 0
    #: How many measurements the steps have.
    measurements: int = 0
    #: Ids of the tables of the results.
    table_ids: list[str] = field(default_factory=list)
    #: Ids of the files of the results, such as their attachments and the imported file itself.
    file_ids: list[str] = field(default_factory=list)
    #: What may not be what the file means.
    warnings: list[str] = field(default_factory=list)
    #: Why the file was refused; None if it was imported.
    error: Exception | None = None


def how(
    table: dict[str, Any],
    format: str | None = None,
    part_number: str | None = None,
    workspace: str | None = None,
    again: bool = False,
    time_zone: str | None = None,
    columns: Mapping[str, str] | None = None,
    measurements: Iterable[str] | None = None,
    program_name: str | None = None,
    raw: bool = False,
    ports: int | None = None,
) -> dict[str, Any]:
    """How files are imported."""
    for name, value in (
        ("time_zone", time_zone),
        ("format", format),
        ("part_number", part_number),
        ("program_name", program_name),
    ):
        if value is not None and not isinstance(value, str):
            raise InvalidArgumentError(f"{name} is {value!r}; give a text")
    return {
        "table": table,
        "format": format,
        "part_number": part_number,
        "workspace": workspace,
        "again": again,
        "time_zone": time_zone,
        "columns": _members(columns),
        "measurements": None if measurements is None else _texts(measurements),
        "program_name": program_name,
        "raw": raw,
        "ports": ports,
    }


def _texts(names: Iterable[str]) -> list[str]:
    """The names of a list, of which a single text is none."""
    found = [] if isinstance(names, str) else list(names)
    if isinstance(names, str) or not all(isinstance(name, str) for name in found):
        raise InvalidArgumentError(
            f"measurements is {names!r}; give a list of names, as in ['vout', 'iout']"
        )
    return found


def _members(columns: Mapping[str, str] | None) -> dict[str, str]:
    """The columns by the members' names on the wire, as `serialNumber` of `serial_number`."""
    if columns is None:
        return {}
    if not isinstance(columns, Mapping):
        raise InvalidArgumentError(
            f"columns is {columns!r}; give a dict of members and names of columns, as in "
            '{"serial_number": "Barcode"}'
        )
    out: dict[str, str] = {}
    for member, column in columns.items():
        if not isinstance(member, str) or not isinstance(column, str):
            raise InvalidArgumentError(f"columns has {member!r}: {column!r}; give two texts")
        first, *rest = member.split("_")
        out[first + "".join(part[:1].upper() + part[1:] for part in rest)] = column
    return out


def target(name: str | None, table: Table | str | None, options: dict[str, Any]) -> dict[str, Any]:
    """The target of tables, and how they are read."""
    found: dict[str, Any] = dict(options)
    if table is not None:
        found["id"] = table if isinstance(table, str) else table.id
    elif name is not None:
        found["table"] = {"name": name, "columns": []}
    return found


def _told(path: str, told: dict[str, Any]) -> ImportedFile:
    # Hundreds of classes, which a program that only appends rows does not wait for.
    from .records import ImportTableResponse

    tables = [ImportTableResponse.from_dict(one) for one in told.get("tables", ())]
    return ImportedFile(
        path=path,
        format=told.get("format"),
        tables=tables,
        results=told.get("results", []),
        steps=told.get("steps", 0),
        measurements=told.get("measurements", 0),
        table_ids=told.get("ids", []),
        file_ids=told.get("files", []),
        warnings=told.get("warnings", [text for one in tables for text in one.warnings]),
        error=told.get("error"),
    )


def results_of(
    services: Services,
    path: str | os.PathLike[str],
    asked: dict[str, Any],
    progress: Progress,
) -> ImportedFile:
    """Imports a file with test results."""
    with reporting(progress, "import") as report:
        told = _stationdb.import_results(services._core, os.fspath(path), asked, report)
    return _told(os.fspath(path), told)


def directory_of(
    services: Services,
    path: str | os.PathLike[str],
    asked: dict[str, Any],
    recursive: bool,
    all_or_nothing: bool,
    progress: Progress,
) -> list[ImportedFile]:
    """Imports the files of a directory."""
    with reporting(progress, "import") as report:
        found = _stationdb.import_directory(
            services._core, os.fspath(path), asked, recursive, all_or_nothing, report
        )
    return [_told(os.fspath(one["path"]), one) for one in found]
