"""The examples of docs/python.md, as a new user types them: in their order, in one directory."""

from __future__ import annotations

import re
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import asammdf
import h5py  # type: ignore[import-untyped]
import numpy as np
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


def test_the_statement_of_the_page(db: stationdb.Store) -> None:
    code = blocks("What is where")[1]
    db.results.create(
        program_name="Final",
        part_number="156502A-11L",
        serial_number="SN-1",
        total_time_in_seconds=61,
        status={"statusType": "PASSED"},
    )
    assert code.rstrip().endswith(".to_pylist()")
    found: dict[str, Any] = {"db": db}
    exec(compile(code.replace("db.sql(slow", "rows = db.sql(slow"), str(PAGE), "exec"), found)
    assert found["rows"] == [{"serial_number": "SN-1"}]


def test_the_figures_of_the_page(
    db: stationdb.Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    code = "\n".join(blocks("Figures"))
    found = {"db": db}
    exec(compile(code, str(PAGE), "exec"), found)
    assert [point.value for point in found["chart"].points] == [12.01]  # type: ignore[attr-defined]
    assert (tmp_path / "copy").is_dir()


def test_the_backups_of_the_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    with stationdb.open("station") as db:
        db.products.create(part_number="P-1")
    (code,) = blocks("Backups")
    exec(compile(code, str(PAGE), "exec"), {})
    printed = capsys.readouterr().out.split("\n")
    assert printed[0].startswith("1 ") and printed[0].endswith(" []")
    assert printed[1].startswith("1 20") and printed[2:] == [""]
    with stationdb.open("station-again", create=False) as db:
        assert db.products.query().count() == 1


def test_files_of_hdf5(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    rows = 300_000
    volts = np.sin(np.arange(rows) / 1000)
    with h5py.File("run.h5", "w") as file:
        file.attrs["operator"] = "ada"
        group = file.create_group("scope")
        group.create_dataset("volts", data=volts, compression="gzip").attrs["unit"] = "V"
        group.create_dataset("t", data=np.arange(rows) * 10).attrs["unit"] = "ns"
    code, _ = blocks("HDF5 and MDF4")
    exec(compile(code, str(PAGE), "exec"), {})
    with stationdb.open("station") as db:
        table = db.tables.get("scope")
        found = table.rows().to_numpy()
        assert (found["t"] == np.arange(rows) * 10).all() and (found["volts"] == volts).all()
        assert table.properties["operator"] == "ada"
        assert table.units == {"t": "ns", "volts": "V"}


def test_files_of_mdf4(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    rows = 300_000
    seconds = np.arange(rows) / 1e6
    gear = (np.arange(rows) % 7).astype("u1")
    with asammdf.MDF(version="4.10") as file:
        file.start_time = datetime(2024, 1, 31, 14, 5, 10, tzinfo=UTC)
        volts = asammdf.Signal(np.sin(seconds), seconds, name="volts", unit="V")
        file.append([volts, asammdf.Signal(gear, seconds, name="gear")])
        slow = asammdf.Signal(np.arange(5) / 2, np.arange(5) / 10, name="celsius", unit="degC")
        file.append([slow])
        file.save("run.mf4")
    _, code = blocks("HDF5 and MDF4")
    exec(compile(code, str(PAGE), "exec"), {})
    with stationdb.open("station") as db:
        found = db.tables.get("run 0").rows().to_numpy()
        assert (found["volts"] == np.sin(seconds)).all() and (found["gear"] == gear).all()
        start = np.datetime64("2024-01-31T14:05:10", "ns")
        assert (found["t"] == start + np.arange(rows).astype("timedelta64[us]")).all()
        assert db.tables.get("run 0").units["volts"] == "V"
        assert len(db.tables.get("run 1")) == 5


@pytest.mark.parametrize("name", ["writer", "decimate", "subscriber", "look", "transaction"])
def test_names_of_the_page_are_there(name: str) -> None:
    assert name in PAGE.read_text(encoding="utf-8")
    assert any(
        hasattr(one, name)
        for one in (stationdb, stationdb.Store, stationdb.Table, stationdb.Tables)
    )
