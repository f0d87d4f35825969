"""The examples of all docstrings."""

from __future__ import annotations

import doctest
import importlib
import pkgutil
from pathlib import Path

import pytest

import stationdb

MODULES = sorted(one.name for one in pkgutil.iter_modules(stationdb.__path__, "stationdb."))
#: Modules whose examples are in other tests, with the packages that they stand on.
APART = {"stationdb.openhtf", "stationdb.pytest_plugin", "stationdb._stationdb"}


@pytest.mark.parametrize("name", ["stationdb", *(one for one in MODULES if one not in APART)])
def test_examples(name: str, tmp_path: Path) -> None:
    module = importlib.import_module(name)
    finder = doctest.DocTestFinder(exclude_empty=True)
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    tests = [one for one in finder.find(module, name) if one.examples]
    for number, one in enumerate(tests):
        with stationdb.open(tmp_path / str(number), user="ada") as db:
            db.tables.create("loop", index="t").append(
                {"t": [0, 1, 2, 3], "volts": [0.0, 0.5, 1.0, 1.5]}
            )
            for part, title in (("A-1", "Amplifier one"), ("A-2", "Amplifier two")):
                db.products.create(part_number=part, name=title, family="Amplifier")
            one.globs["db"] = db
            runner.run(one, clear_globs=True)
    assert runner.failures == 0


def test_every_public_name_has_a_docstring() -> None:
    missing = []
    for name in ["stationdb", *(one for one in MODULES if "._" not in one)]:
        module = importlib.import_module(name)
        for public in getattr(module, "__all__", ()):
            found = getattr(module, public)
            if isinstance(found, type):
                missing += [
                    f"{name}.{public}.{member}"
                    for member, value in vars(found).items()
                    if not member.startswith("_")
                    and (callable(value) or isinstance(value, property))
                    and not (getattr(value, "__doc__", None) or "").strip()
                ]
                if not (found.__doc__ or "").strip():
                    missing.append(f"{name}.{public}")
    assert missing == []
