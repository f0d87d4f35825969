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
import json
import logging
import math
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import _stationdb
from ._record import printable
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
    run, or `take_spool`, stores it, with the part number and the workspace that were meant for it.
    Without `spool` the folder lies beside the store.

    What JSON does not have is a text in the record: bytes as text with escapes, other objects as
    their `repr`.

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
        if workspace is None:
            # Who takes the record from the spool may have another one.
            with suppress(Error):
                self._workspace = store.workspace
        directory = f"{store._core.path.rstrip(os.sep)}.spool" if spool is None else spool
        #: The folder of the records that could not be stored.
        self.spool = Path(directory)
        #: What became of the last record; None if it waits in the spool.
        self.last: Imported | None = None

    def __call__(self, record: Any) -> None:
        """Stores the record of a test, and what waits in the spool."""
        self.last = None
        data: str | None = None
        try:
            data = _serialized(record)
            self.last = self._import(_Waiting(data, self._part_number, self._workspace))
        except BaseException as error:
            self._keep(_serialized(record) if data is None else data, error)
            if not isinstance(error, Exception):
                # Such as Ctrl-C.
                raise
            return
        self.take_spool()

    def _import(self, given: _Waiting) -> Imported:
        return import_record(
            self._store,
            given.record.encode(),
            part_number=given.part_number,
            workspace=given.workspace,
        )

    def waiting(self) -> list[Path]:
        """The files of the records that wait in the spool, in the order of their names."""
        return sorted(self.spool.glob("*.json")) if self.spool.is_dir() else []

    def take_spool(self) -> list[Imported]:
        """Stores the records that wait, and removes their files. What is refused waits on."""
        taken = []
        for path in self.waiting():
            try:
                taken.append(self._import(_Waiting.read(path)))
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

    def _keep(self, data: str, error: BaseException) -> None:
        path = self._write(_Waiting(data, self._part_number, self._workspace).written())
        told = f"stationdb: the record was not stored and waits in {path}: {error or repr(error)}"
        print(told, file=sys.stderr, flush=True)
        _LOG.error(told)

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


@dataclass(slots=True, frozen=True)
class _Waiting:
    """A record and how it is stored, as a file of the spool has both. Stations may share the folder."""

    #: The JSON of the record.
    record: str
    part_number: str | None
    workspace: str | None

    def written(self) -> bytes:
        members = {
            "partNumber": self.part_number,
            "workspace": self.workspace,
            "record": self.record,
        }
        return json.dumps(members).encode()

    @classmethod
    def read(cls, path: Path) -> _Waiting:
        """The record of a file. Raises `InvalidArgumentError` for a file that is none of a spool."""
        try:
            members = json.loads(path.read_bytes())
            texts = [members[name] for name in ("record", "partNumber", "workspace")]
        except (ValueError, LookupError, TypeError) as error:
            raise InvalidArgumentError(f"{path} is no file of a spool: {error!r}") from None
        if not isinstance(texts[0], str) or not all(isinstance(one, str | None) for one in texts):
            raise InvalidArgumentError(f"{path} is no file of a spool: its members are no texts")
        return cls(*texts)


def _serialized(record: Any) -> str:
    """The JSON that OpenHTF's own output writes of a record, and JSON also where it can write none."""
    from openhtf.output.callbacks import json_factory  # type: ignore[import-untyped,unused-ignore]

    try:
        parts: Iterator[Any] = json_factory.OutputToJSON("").serialize_test_record(record)
        text = "".join(parts)
        if "\\ud" in text:
            # Half of a pair is no text of JSON.
            json.dumps(json.loads(text), ensure_ascii=False).encode()
        return text
    except (TypeError, ValueError, RecursionError):
        encoded = json_factory.convert_test_record_to_json(record)
        return json.dumps(_plain(encoded), cls=json_factory.TestRecordEncoder)


def _plain(value: Any) -> Any:
    """A value of a record as JSON has it. Attachments stay, because OpenHTF writes them."""
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if value is None or isinstance(value, bool | int | float):
        return value
    if isinstance(value, str):
        return printable(value)
    if isinstance(value, bytes | bytearray):
        return value.decode(errors="backslashreplace")
    if isinstance(value, Mapping):
        return {_key(key): _plain(one) for key, one in value.items()}
    if hasattr(value, "_asdict"):
        return value
    if isinstance(value, list | tuple | set | frozenset):
        return [_plain(one) for one in value]
    return printable(repr(value))


def _key(key: Any) -> str:
    plain = _plain(key)
    return plain if isinstance(plain, str) else json.dumps(plain)
