"""A store for test stations in one directory: products, results, tables of measured rows, files.

>>> import stationdb, tempfile
>>> with stationdb.open(tempfile.mkdtemp(), user="line-3") as store:
...     table = store.tables.create("ramp", index="t")
...     table.append({"t": [0, 1, 2], "volts": [0.0, 0.5, 1.0]})
...     store.sql("select max(volts) as peak from ramp").to_pylist()
[{'peak': 1.0}]

Start at `open`, which returns a `Store`. Its attributes are the services; `Store.session` acts for
another user, and `Store.transaction` makes several writes one. All exceptions are of the class
`Error`, and of the built-in class that fits.
"""

from typing import Any

from . import errors
from ._changes import Change, Changes, Subscriber
from ._imports import ImportedFile
from ._plot import Plot
from ._rows import Batch, Rows
from ._session import Services, Session, Transaction
from ._sets import list_backups, prune_set, restore_from_set, verify_set
from ._stationdb import HAS_SQL, __version__
from ._store import Store, look, open, restore, salvage
from ._tables import Table, Tables, Waveform
from ._writer import TableWriter
from .errors import Error


def __getattr__(name: str) -> Any:
    # Hundreds of classes, which a program that only appends rows does not wait for.
    from importlib import import_module

    if name in ("openhtf", "records", "services"):
        return import_module(f"stationdb.{name}")
    if name in ("Run", "RunSequence", "RunStep"):
        return getattr(import_module("stationdb._runs"), name)
    if not name.startswith("_"):
        found = getattr(errors, name, None) if name.endswith("Error") else None
        found = found or getattr(import_module("stationdb.records"), name, None)
        if found is not None:
            return found
    raise AttributeError(f"module 'stationdb' has no attribute {name!r}")


__all__ = [
    "HAS_SQL",
    "Batch",
    "Change",
    "Changes",
    "Error",
    "ImportedFile",
    "Plot",
    "Rows",
    "Services",
    "Session",
    "Store",
    "Subscriber",
    "Table",
    "TableWriter",
    "Tables",
    "Transaction",
    "Waveform",
    "__version__",
    "errors",
    "list_backups",
    "look",
    "open",
    "prune_set",
    "restore",
    "restore_from_set",
    "salvage",
    "verify_set",
]
