"""Stores for the tests."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import stationdb


@pytest.fixture
def db(tmp_path: Path) -> Iterator[stationdb.Store]:
    """An empty store."""
    with stationdb.open(tmp_path / "store", user="ada") as opened:
        yield opened


@pytest.fixture
def loop(db: stationdb.Store) -> stationdb.Table:
    """A table of four rows."""
    table = db.tables.create("loop", index="t")
    table.append({"t": [0, 1, 2, 3], "volts": [0.0, 0.5, 1.0, 1.5]})
    return table
