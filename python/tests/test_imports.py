"""Imports of files whose format is found, of test results, and of directories."""

from __future__ import annotations

import io
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

import stationdb
from stationdb import errors

RECORD = {
    "dut_id": "SN-1",
    "outcome": "PASS",
    "start_time_millis": 1_700_000_000_000,
    "phases": [
        {
            "name": "power",
            "outcome": "PASS",
            "start_time_millis": 1_700_000_000_000,
            "measurements": {"vout": {"name": "vout", "outcome": "PASS", "measured_value": 5.0}},
        }
    ],
}


def record(path: Path, serial: str = "SN-1") -> Path:
    path.write_text(json.dumps({**RECORD, "dut_id": serial}))
    return path


@pytest.fixture
def day(tmp_path: Path) -> Path:
    """A directory with files of several kinds."""
    day = tmp_path / "day"
    (day / "deep").mkdir(parents=True)
    (day / "1.csv").write_text("t;v\n1;0,5\n2;-\n")
    record(day / "2.txt")
    (day / "3.csv").write_text("t;v\n1;2;3\n")
    (day / "4.png").write_bytes(b"\x89PNG\r\n\x1a\n")
    (day / "deep" / "5.csv").write_text("t;v\n1;7\n")
    return day


def test_the_format_of_a_file_is_found(
    db: stationdb.Store, loop: stationdb.Table, tmp_path: Path
) -> None:
    loop.export(tmp_path / "loop.parquet")
    (tmp_path / "loop.parquet").rename(tmp_path / "same.csv")
    same = db.tables.import_file(tmp_path / "same.csv", index_column="t")
    assert same.rows().to_pylist() == loop.rows().to_pylist()
    assert same.metadata()["name"] == "same"
    loop.export(tmp_path / "loop.csv")
    (tmp_path / "rows.log").write_text("t,v\n1,2\n")
    with pytest.raises(errors.UnsupportedError, match="csv, lvm, parquet"):
        db.tables.import_file(tmp_path / "rows.log")
    assert len(db.tables.import_file(tmp_path / "rows.log", format="csv", name="rows")) == 1
    with pytest.raises(errors.InvalidArgumentError, match="csv, lvm, parquet"):
        db.tables.import_file(tmp_path / "rows.log", format="xlsx")
    with pytest.raises(errors.UnsupportedError, match=r"with results\.import_file"):
        db.tables.import_file(record(tmp_path / "SN-1.json"))
    with pytest.raises(errors.UnsupportedError, match=r"with tables\.import_file.*results-csv"):
        db.results.import_file(tmp_path / "loop.csv")
    with (tmp_path / "rows.log").open("rb") as file:
        with pytest.raises(errors.InvalidArgumentError, match="no import of 'log'"):
            db.tables.import_file(file)


def test_all_tables_of_a_file_and_its_warnings_are_told(
    db: stationdb.Store, tmp_path: Path
) -> None:
    lines = ["LabVIEW Measurement", "Separator,Comma", "X_Columns,Multi", "***End_of_Header***"]
    lines += ["Channels,2", "Samples,2,,3", "***End_of_Header***", "X_Value,A,X_Value,B,Comment"]
    lines += ["0,1.5,0,2.5", "1,1.75,1,2.75"]
    (tmp_path / "rig.lvm").write_text("\n".join(lines) + "\n")
    rig = db.tables.import_file(tmp_path / "rig.lvm")
    assert [db.tables.get(one.id or "").name for one in rig.imported] == ["rig.A", "rig.B"]
    assert rig.imported[0].id == rig.id
    assert any("more rows" in text for one in rig.imported for text in one.warnings), rig.imported
    (answer,) = db.tables.import_file(io.BytesIO(b"t\n1\n")).imported
    assert [column.name for column in answer.columns or ()] == ["row", "t"]
    assert db.tables.get(rig.id).imported == []


def test_results_come_from_files(db: stationdb.Store, tmp_path: Path) -> None:
    path = record(tmp_path / "SN-1.json")
    imported = db.results.import_file(path, part_number="PN-7", workspace="lab")
    assert (imported.format, imported.error, imported.path) == ("openhtf", None, str(path))
    assert (imported.steps, imported.measurements, len(imported.file_ids)) == (1, 1, 1)
    assert (imported.tables, imported.table_ids, imported.warnings) == ([], [], [])
    result = db.results.get(imported.results[0])
    assert (result.part_number, result.serial_number, result.workspace) == ("PN-7", "SN-1", "lab")
    with pytest.raises(errors.ConflictError, match=imported.results[0]):
        db.results.import_file(path)
    assert db.results.import_file(path, again=True).results != imported.results
    assert db.results.query().count() == 2
    (tmp_path / "half.json").write_text('{"dut_id": ')
    with pytest.raises(errors.InvalidArgumentError, match="no JSON"):
        db.results.import_file(tmp_path / "half.json")
    (tmp_path / "rows.csv").write_text("t,v\n1,2\n")
    with pytest.raises(errors.UnsupportedError, match="import_file"):
        db.results.import_file(tmp_path / "rows.csv")
    with pytest.raises(errors.InvalidArgumentError, match="use one of openhtf"):
        db.results.import_file(path, format="csv")
    with pytest.raises(FileNotFoundError, match=r"none\.json"):
        db.results.import_file(tmp_path / "none.json")
    with db.transaction() as tx:
        with pytest.raises(errors.UnsupportedError, match="transaction"):
            tx.results.import_file(path)
        with pytest.raises(errors.ConflictError, match="transaction"):
            db.results.import_file(path, again=True)


def test_each_file_of_a_directory_is_told(db: stationdb.Store, day: Path) -> None:
    told = db.import_directory(
        day, part_number="PN-7", workspace="lab", null_texts=["-"], index_column="t"
    )
    assert [one.path for one in told] == ["1.csv", "2.txt", "3.csv", "4.png"]
    assert [one.format for one in told] == ["csv", "openhtf", "csv", None]
    assert [type(one.error).__name__ for one in told] == [
        "NoneType",
        "NoneType",
        "InvalidArgumentError",
        "UnsupportedError",
    ]
    assert isinstance(told[2].error, errors.Error) and told[2].error.place == {
        "line": 2,
        "column": None,
    }
    answer = told[0].tables[0]
    assert (answer.row_count, answer.separator, answer.columns[1].null_count) == (2, ";", 1)
    table = db.tables.get(answer.id or "")
    assert table.rows().to_pylist() == [{"t": 1, "v": 0.5}, {"t": 2, "v": None}]
    assert table.metadata()["workspace"] == "lab"
    assert db.results.get(told[1].results[0]).part_number == "PN-7"
    again = db.import_directory(day, recursive=True, format="csv")
    assert again[-1].path == str(Path("deep", "5.csv"))
    assert [one.error is None for one in again] == [True, False, False, False, True]


def test_a_directory_goes_into_one_table_or_not_at_all(
    db: stationdb.Store, day: Path
) -> None:
    with pytest.raises(errors.UnsupportedError, match=r"importing 2\.txt"):
        db.import_directory(day, all_or_nothing=True)
    (day / "2.txt").unlink()
    (day / "4.png").unlink()
    with pytest.raises(errors.InvalidArgumentError, match=r"importing 3\.csv"):
        db.import_directory(day, all_or_nothing=True)
    assert list(db.tables) == []
    (day / "3.csv").write_text("t;v\n1;2\n")
    table = db.tables.create("all", {"t": int, "v": float}, index="t")
    with pytest.raises(errors.InvalidArgumentError, match=r"importing 1\.csv.*line 2"):
        db.import_directory(day, all_or_nothing=True, table=table)
    seen: list[int] = []
    told = db.import_directory(
        day,
        all_or_nothing=True,
        table=table,
        null_texts=["-"],
        decimal_separator=",",
        progress=lambda done, total, unit: seen.append(done),
    )
    assert [one.tables[0].row_count for one in told] == [2, 1]
    assert len(table) == 3
    with pytest.raises(FileNotFoundError, match="nowhere"):
        db.import_directory(day / "nowhere")
    with pytest.raises(OSError, match=r"3\.csv"):
        db.import_directory(day / "3.csv")


def test_results_of_a_csv_with_columns_of_any_name(db: stationdb.Store, tmp_path: Path) -> None:
    path = tmp_path / "day.csv"
    path.write_text(
        "Barcode;Begin;Who;VOUT\nSN-1;2024-07-01 12:00:00;ada;5,01\nSN-2;2024-07-01 12:05:00;eve;4,99\n"
    )
    columns = {"serial_number": "Barcode", "startedAt": "Begin", "operator": ""}
    imported = db.results.import_file(
        path,
        format="results-csv",
        part_number="P-1",
        time_zone="+02:00",
        columns=columns,
    )
    first, second = (db.results.get(id) for id in imported.results)
    assert (first.serial_number, second.serial_number) == ("SN-1", "SN-2")
    assert first.started_at is not None and first.started_at.isoformat() == "2024-07-01T10:00:00+00:00"
    assert imported.steps == 2 and first.operator != "ada"
    values = db.results.measurements("VOUT", columns=["value"]).to_pylist()
    assert sorted(one["value"] for one in values) == [4.99, 5.01]
    (found,) = db.import_directory(
        tmp_path,
        format="results-csv",
        part_number="P-1",
        time_zone="+02:00",
        columns=columns,
        again=True,
    )
    assert found.error is None and len(found.results) == 2


def test_times_of_a_directory_have_its_zone(db: stationdb.Store, tmp_path: Path) -> None:
    (tmp_path / "day").mkdir()
    (tmp_path / "day" / "a.csv").write_text("t,v\n2024-07-01 12:00:00,1\n")
    (one,) = db.import_directory(tmp_path / "day", time_zone="+02:00", index_column="t")
    assert one.error is None
    (row,) = db.tables.get(one.tables[0].id or "").rows().to_pylist()
    assert row["t"].isoformat() == "2024-07-01T10:00:00+00:00"


def test_what_cannot_be_a_column_or_a_zone_is_told(db: stationdb.Store, tmp_path: Path) -> None:
    path = tmp_path / "day.csv"
    path.write_text("SN,VOUT\nSN-1,5.01\n")

    def load(**options: object) -> None:
        db.results.import_file(path, format="results-csv", part_number="P-1", **options)  # type: ignore[arg-type]

    with pytest.raises(errors.InvalidArgumentError, match="serialNumber"):
        load(columns={"serial": "SN"})
    with pytest.raises(errors.InvalidArgumentError, match="Barcode"):
        load(columns={"serial_number": "Barcode"})
    with pytest.raises(errors.InvalidArgumentError, match="give a dict"):
        load(columns=["SN"])
    with pytest.raises(errors.InvalidArgumentError, match="two texts"):
        load(columns={"serial_number": 3})
    with pytest.raises(errors.InvalidArgumentError, match="time_zone is 2"):
        load(time_zone=2)
    with pytest.raises(errors.InvalidArgumentError, match="Mars"):
        load(time_zone="Mars/Olympus")
    assert db.results.query().count() == 0


def test_presets_are_named(db: stationdb.Store, tmp_path: Path) -> None:
    path = tmp_path / "scope.csv"
    path.write_text("Some scope\nRate,1e-6\n\nTime,CH1\n(s),(V)\n0,0.5\n0.000001,0.6\n")
    with pytest.raises(errors.InvalidArgumentError) as caught:
        db.tables.import_file(path)
    assert "or set preset to INSTRUMENT" in str(caught.value)
    other = tmp_path / "logger.csv"
    other.write_text("Model,X1\nSerial,5\nTime,CH1,CH2\n0,0.5,1\n1,0.6,2\n")
    with pytest.raises(errors.InvalidArgumentError, match="or preset to INSTRUMENT"):
        db.tables.import_file(other)
    assert db.tables.import_file(other, preset="INSTRUMENT").properties["Model"] == "X1"
    with pytest.raises(errors.InvalidArgumentError, match="TEKTRONIX_TDS"):
        db.tables.import_file(path, preset="TEK")
    table = db.tables.import_file(path, preset="INSTRUMENT")
    assert table.units["CH1"] == "V" and len(table) == 2


def test_results_from_csv_have_the_options_of_a_text(db: stationdb.Store, tmp_path: Path) -> None:
    path = tmp_path / "day.csv"
    path.write_text(
        "a note\nserial;date;status;vout;code\n"
        "SN1;01/02/2024;PASS;1,234;7\nSN2;01/03/2024;PASS;2,345\nend\n"
    )
    lines: dict[str, Any] = {
        "format": "results-csv",
        "separator": ";",
        "skip_lines": 1,
        "footer_lines": 1,
        "short_rows": True,
    }
    with pytest.raises(errors.InvalidArgumentError, match="dateOrder"):
        db.results.import_file(path, **lines)
    imported = db.results.import_file(
        path,
        **lines,
        date_order="MONTH_FIRST",
        decimal_separator=",",
        measurements=["vout"],
        program_name="Final",
    )
    assert (len(imported.results), imported.measurements) == (2, 2)
    found = [db.results.get(one) for one in imported.results]
    assert [one.program_name for one in found] == ["Final", "Final"]
    assert found[0].started_at == datetime(2024, 1, 2, tzinfo=UTC)
    for wrong in ({"separator": "ab"}, {"decimal_separator": ";"}, {"skip_lines": -1}):
        with pytest.raises(errors.InvalidArgumentError):
            db.results.import_file(path, **{**lines, **wrong}, again=True)
    with pytest.raises(errors.InvalidArgumentError, match="give a list of names"):
        db.results.import_file(path, measurements="vout", **lines)


def test_values_as_the_file_has_them(db: stationdb.Store, tmp_path: Path) -> None:
    path = tmp_path / "filter.ts"
    path.write_text("# Hz S DB R 50\n1 -20 45\n2 -10 90\n")
    with pytest.raises(errors.InvalidArgumentError, match="number of ports"):
        db.tables.import_file(path)
    table = db.tables.import_file(path, ports=1, raw=True)
    assert list(table.columns) == ["frequency", "s11_db", "s11_deg"]


def test_tables_become_tdms(db: stationdb.Store, tmp_path: Path) -> None:
    (tmp_path / "n.csv").write_text("t,count\n1,5\n2,\n")
    table = db.tables.import_file(tmp_path / "n.csv", index_column="t")
    with pytest.raises(errors.InvalidArgumentError, match="fill"):
        table.export(tmp_path / "n.tdms")
    assert not (tmp_path / "n.tdms").exists()
    assert table.export(tmp_path / "n.tdms", fill={"count": -1}) == 2
    back = db.tables.import_file(tmp_path / "n.tdms", index_column="t")
    assert back.rows().to_pylist() == [{"t": 1, "count": 5}, {"t": 2, "count": -1}]
    out = io.BytesIO()
    assert table.export(out, "tdms", columns="t") == 2
    assert out.getvalue().startswith(b"TDSm")
    with pytest.raises(errors.InvalidArgumentError, match="fill is for TDMS"):
        table.export(tmp_path / "n.csv", fill={"count": 0})
