"""The examples of docs/python.md, as a new user types them: in their order, in one directory."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

import stationdb

PAGE = Path(__file__).resolve().parents[2] / "docs" / "python.md"


def blocks(title: str) -> list[str]:
    section = PAGE.read_text(encoding="utf-8").partition(f"\n## {title}\n")[2].partition("\n## ")[0]
    return re.findall(r"```python\n(.*?)```", section, re.S)


def test_ten_minutes(tmp_path: Path) -> None:
    found = blocks("Ten minutes")
    assert len(found) == 4
    printed = []
    for code in found:
        done = subprocess.run(
            [sys.executable, "-c", code],
            capture_output=True,
            text=True,
            timeout=120,
            cwd=tmp_path,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        printed.append(done.stdout.split("\n"))
    assert printed[1][0] == f"{2 / 3} 1.0"
    assert "Gain" in printed[1][1]
    assert printed[2][0] == "9.0" and "peak" in printed[2][1]
    assert printed[3][0] == "1000000 4"
    for name, end in (("all.html", "</html>"), ("spike.svg", "</svg>")):
        assert (tmp_path / name).read_text(encoding="utf-8").rstrip().endswith(end)


def test_the_query_of_the_page(db: stationdb.Store) -> None:
    code = blocks("What is where")[0]
    db.products.create(part_number="P", family="Audio")
    exec(compile(code, str(PAGE), "exec"), {"db": db})


def test_the_figures_of_the_page(
    db: stationdb.Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (code,) = blocks("Figures")
    found = {"db": db}
    exec(compile(code, str(PAGE), "exec"), found)
    assert [point.value for point in found["chart"].points] == [12.01]  # type: ignore[attr-defined]
    assert (tmp_path / "copy").is_dir()


@pytest.mark.parametrize("name", ["writer", "decimate", "subscriber", "look", "transaction"])
def test_names_of_the_page_are_there(name: str) -> None:
    assert name in PAGE.read_text(encoding="utf-8")
    assert any(
        hasattr(one, name)
        for one in (stationdb, stationdb.Store, stationdb.Table, stationdb.Tables)
    )
