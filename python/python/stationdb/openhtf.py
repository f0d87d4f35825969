"""An output callback for OpenHTF, which stores each record as a result.

    test = openhtf.Test(power_phase, gain_phase)
    test.add_output_callbacks(stationdb.openhtf.Output(store, part_number="156502A-11L"))

A record becomes a result with its steps, measurements and limits; measurements with dimensions
become tables, attachments become files, and the record itself is one of the files: all in one
commit. It is what `import_record` makes of the JSON file that OpenHTF's own `OutputToJSON` writes of
the same run, because both read the same JSON.
"""

from __future__ import annotations

import hashlib
import logging
import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import _stationdb
from .errors import ConflictError, Error, InvalidArgumentError

if TYPE_CHECKING:
    from ._session import Services

__all__ = ["Imported", "Output", "import_record"]

_LOG = logging.getLogger("stationdb.openhtf")


@dataclass(slots=True, kw_only=True, frozen=True)
class Imported:
    """What a record became."""

    #: The id of the result.
    result_id: str
    #: How many steps it has, on all levels.
    steps: int
    #: How many measurements the steps have.
    measurements: int
    #: Ids of the tables of measurements with dimensions.
    tables: list[str]
    #: Ids of the files: the attachments, and last the record.
    files: list[str]


def import_record(
    store: Services,
    record: bytes | str | os.PathLike[str],
    *,
    part_number: str | None = None,
    workspace: str | None = None,
    again: bool = False,
) -> Imported:
    """Stores a record that `OutputToJSON` wrote: its bytes, or the path of its file.

    `part_number` replaces that of the record. A record that was stored before is refused, unless
    `again` is set.

    Raises `InvalidArgumentError` with the place of what is wrong in the record; `ConflictError` for
    a record that was stored before, with the id of its result.
    """
    if isinstance(record, str | os.PathLike):
        record = Path(record).read_bytes()
    if not isinstance(record, bytes):
        raise InvalidArgumentError(f"a record is given as bytes or a path, not as {record!r}")
    answer = _stationdb.import_openhtf(store._core, record, part_number, workspace, again)
    return Imported(**answer)


class Output:
    """An output callback of OpenHTF, for `Test.add_output_callbacks`.

    OpenHTF logs what a callback raises, and goes on: the run would be lost. So a record that cannot
    be stored is written into the folder `spool`, durably, and said on the error output. The next
    run, or `take_spool`, stores it. Without `spool` the folder lies beside the store.

    `last` is what became of the last record.
    """

    def __init__(
        self,
        store: Services,
        *,
        part_number: str | None = None,
        workspace: str | None = None,
        spool: str | os.PathLike[str] | None = None,
    ) -> None:
        self._store = store
        self._part_number = part_number
        self._workspace = workspace
        directory = f"{store._core.path.rstrip(os.sep)}.spool" if spool is None else spool
        #: The folder of the records that could not be stored.
        self.spool = Path(directory)
        #: What became of the last record; None if it waits in the spool.
        self.last: Imported | None = None

    def __call__(self, record: Any) -> None:
        """Stores the record of a test, and what waits in the spool."""
        data = _serialized(record)
        self.last = None
        try:
            self.last = self._import(data)
        except Exception as error:
            path = self._write(data)
            told = f"stationdb: the record was not stored and waits in {path}: {error}"
            print(told, file=sys.stderr, flush=True)
            _LOG.error(told)
            return
        self.take_spool()

    def _import(self, data: bytes) -> Imported:
        return import_record(
            self._store, data, part_number=self._part_number, workspace=self._workspace
        )

    def waiting(self) -> list[Path]:
        """The records that wait in the spool, in the order of their names."""
        return sorted(self.spool.glob("*.json")) if self.spool.is_dir() else []

    def take_spool(self) -> list[Imported]:
        """Stores the records that wait, and removes their files. What is refused waits on."""
        taken = []
        for path in self.waiting():
            try:
                taken.append(self._import(path.read_bytes()))
            except ConflictError as error:
                # It was stored, and the program ended before the file was removed.
                if error.resource is None or "openhtf" not in str(error).lower():
                    _LOG.warning("the record %s waits on: %s", path, error)
                    continue
            except (Error, OSError) as error:
                _LOG.warning("the record %s waits on: %s", path, error)
                continue
            path.unlink(missing_ok=True)
        return taken

    def _write(self, data: bytes) -> Path:
        self.spool.mkdir(parents=True, exist_ok=True)
        path = self.spool / f"{hashlib.sha256(data).hexdigest()[:32]}.json"
        part = path.with_suffix(".part")
        with open(part, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(part, path)
        if hasattr(os, "O_DIRECTORY"):
            directory = os.open(self.spool, os.O_DIRECTORY)
            try:
                os.fsync(directory)
            finally:
                os.close(directory)
        return path


def _serialized(record: Any) -> bytes:
    """The bytes that OpenHTF's own output writes of a record."""
    from openhtf.output.callbacks import json_factory  # type: ignore[import-untyped,unused-ignore]

    parts: Iterator[Any] = json_factory.OutputToJSON("").serialize_test_record(record)
    return "".join(parts).encode()
