"""Tables: creation, waveforms, reads, changes, files."""

from __future__ import annotations

import io
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.ipc
import pyarrow.parquet
import pytest

import stationdb
from stationdb import errors


def test_the_first_append_gives_the_columns(db: stationdb.Store) -> None:
    table = db.tables.create("lazy", index="t", properties={"probe": "TPP1000"})
    assert len(table) == 0 and "without columns" in repr(table)
    with pytest.raises(errors.NotFoundError):
        db.tables.get("lazy")
    for wrong in ({"t": [1, 2], "volts": [0.5, object()]}, {"t": [1, None], "volts": [0.5, 1.0]}):
        with pytest.raises(errors.InvalidArgumentError):
            table.append(wrong)
        with pytest.raises(errors.NotFoundError):
            db.tables.get("lazy")
    table.append({"t": [1], "volts": [0.5], "ok": [True], "note": ["x"]})
    assert table.columns == {"t": "INT64", "volts": "FLOAT64", "ok": "BOOL", "note": "STRING"}
    assert table.metadata()["properties"] == {"probe": "TPP1000"}
    assert db.tables.get("lazy").id == table.id


def test_waveforms_make_their_columns(db: stationdb.Store) -> None:
    table = db.tables.create("noise", index="t")
    samples = np.sin(np.arange(100_000))
    table.append_waveform({"volts": samples}, dt=1e-8, unit="V")
    found = table.waveforms()[0]
    assert found.dt == 1e-8 and found.t0 == 0.0 and found.units == {"volts": "V"}
    np.testing.assert_array_equal(found.y["volts"], samples)
    np.testing.assert_allclose(found.x[:3], [0, 1e-8, 2e-8])
    table.append_waveform(samples, dt=1e-8, t0=1.0)
    assert len(table) == 200_000
    with pytest.raises(errors.InvalidArgumentError, match="nanoseconds"):
        db.tables.create("odd").append_waveform({"volts": samples}, dt=1.3e-9)


def test_waveforms_continue(db: stationdb.Store) -> None:
    samples = np.arange(1_000.0)
    table = db.tables.create("stream", index="t")
    for _ in range(3):
        table.append_waveform({"volts": samples}, dt=1e-8)
    found = table.waveforms()[0]
    assert len(found) == 3_000 and found.dt == 1e-8
    np.testing.assert_array_equal(found.y["volts"], np.tile(samples, 3))
    assert table.rows("t").to_numpy()["t"][-1] == 2_999 * 10
    # Between its rows, over its end, around all of it.
    for t0, dt in ((0.0, 1e-8), (5e-6, 1e-7), (29.99e-6, 1e-8)):
        with pytest.raises(errors.ConflictError, match="create_waveforms"):
            table.append_waveform({"volts": samples}, dt=dt, t0=t0)
    assert len(table) == 3_000
    table.append_waveform({"volts": samples}, dt=1e-8, t0=1.0)
    # In the gap.
    table.append_waveform({"volts": samples[:5]}, dt=1e-3, t0=0.5)
    table.append_waveform({"volts": samples[:1]}, dt=1e-8)
    assert table.rows("t").to_numpy()["t"][-1] == 10**9 + 1_000 * 10

    start = datetime(2024, 1, 1, tzinfo=UTC)
    timed = db.tables.create("timed")
    timed.append_waveform({"v": samples[:3]}, dt=1e-8, t0=start)
    timed.append_waveform({"v": samples[:3]}, dt=1e-8)
    nanos = timed.rows("t").to_numpy()["t"] - np.datetime64("2024-01-01")
    assert nanos.astype(int).tolist() == [0, 10, 20, 30, 40, 50]
    with pytest.raises(errors.ConflictError, match="mix"):
        timed.append_waveform({"v": samples[:3]}, dt=1e-8, t0=start)

    counts = db.tables.create("counts", {"n": int, "v": float}, index="n")
    counts.append_waveform({"v": samples[:2]}, dt=5)
    counts.append_waveform({"v": samples[:2]}, dt=5)
    assert counts.rows("n").to_numpy()["n"].tolist() == [0, 5, 10, 15]
    with pytest.raises(errors.ConflictError, match="at 10"):
        counts.append_waveform({"v": samples[:2]}, dt=4, t0=7)


def test_names_of_tables(db: stationdb.Store) -> None:
    first = db.tables.create("one", {"t": int}, index="t")
    db.tables.create("two", {"t": int}, index="t")
    db.tables.create("two", {"t": int}, index="t")
    with pytest.raises(errors.ConflictError, match=first.id):
        db.tables.create("one", {"t": int}, index="t", exist_ok=False)
    assert db.tables.create("one", {"t": int}, index="t", exist_ok=True).id == first.id
    assert db.tables.create("one", exist_ok=True).id == first.id
    with pytest.raises(errors.ConflictError, match="several"):
        db.tables.create("two", {"t": int}, index="t", exist_ok=True)
    with pytest.raises(errors.InvalidArgumentError, match="name"):
        db.tables.create(columns={"t": int}, index="t", exist_ok=True)
    # Another workspace has its own names.
    other = db.session(workspace="lab")
    assert (db.workspace, other.workspace) == ("default", "lab")
    there = other.tables.create("one", {"t": int}, index="t", exist_ok=False)
    assert other.tables.create("one", exist_ok=True).id == there.id != first.id
    assert db.tables.create("one", workspace="lab", exist_ok=True).id == there.id
    # The name is looked at again when the first append makes the table.
    # Two handles of a table that has no columns yet are handles of one table.
    handles = [db.tables.create("lazy", index="t", exist_ok=True) for _ in range(3)]
    handles[0].append({"t": [1], "v": [0.5]})
    handles[1].append({"t": [2], "v": [0.7]})
    handles[2].append_waveform({"v": np.ones(2)}, dt=1)
    assert {one.id for one in handles} == {db.tables.get("lazy").id}
    assert handles[0].rows().to_numpy()["t"].tolist() == [1, 2, 3, 4]
    late = db.tables.create("late", index="t", exist_ok=False)
    db.tables.create("late", {"t": int}, index="t")
    with pytest.raises(errors.ConflictError, match="late"):
        late.append({"t": [1]})
    assert len(list(db.tables.query("name == @0", "late"))) == 1
    with db.transaction() as tx:
        made = tx.tables.create("inside", {"t": int}, index="t", exist_ok=False)
        assert tx.tables.create("inside", exist_ok=True).id == made.id


def test_a_csv_comes_back_with_its_index(
    db: stationdb.Store, loop: stationdb.Table, tmp_path: Path
) -> None:
    loop.export(tmp_path / "loop.csv")
    plain = db.tables.import_file(tmp_path / "loop.csv")
    assert list(plain.columns) == ["row", "t", "volts"]
    same = db.tables.import_file(tmp_path / "loop.csv", index_column="t")
    assert same.rows().to_pylist() == loop.rows().to_pylist()


def test_a_look_does_not_read_rows(loop: stationdb.Table) -> None:
    for where, count in (("volts > 9", 0), ("volts > 0.6", 2)):
        reads: list[Callable[[stationdb.Rows], int]] = [
            lambda rows: len(rows.to_pylist()),
            lambda rows: len(rows.to_numpy()["t"]),
            lambda rows: int(rows.to_arrow().num_rows),
        ]
        for read in reads:
            rows = loop.rows(where=where)
            rows._repr_html_()
            assert read(rows) == count
            for again in (rows.to_pylist, rows.to_numpy, rows.to_arrow):
                with pytest.raises(errors.ConflictError, match="read already"):
                    again()
    empty = loop.rows(where="volts > 9")
    assert "read" not in repr(empty).rpartition(")")[2]
    assert {name: str(values.dtype) for name, values in empty.to_numpy().items()} == {
        "t": "int64",
        "volts": "float64",
    }


def test_waveforms_over_time_and_counts(db: stationdb.Store) -> None:
    table = db.tables.create("timed")
    start = datetime(2024, 1, 1, tzinfo=UTC)
    table.append_waveform({"v": np.arange(3, dtype="f4")}, dt=0.001, t0=start)
    assert table.columns == {"t": "TIMESTAMP_NS", "v": "FLOAT32"}
    assert table.waveforms()[0].t0 == start
    with pytest.raises(errors.InvalidArgumentError, match="datetime"):
        table.append_waveform({"v": np.arange(3.0)}, dt=0.001, t0=5.0)
    counts = db.tables.create("counts", {"n": int, "v": "INT32"}, index="n")
    counts.append_waveform({"v": np.arange(3, dtype="i2")}, dt=10, t0=5)
    assert [row["n"] for row in counts.rows().to_pylist()] == [5, 15, 25]


def test_numbered_waveforms(db: stationdb.Store) -> None:
    table = db.tables.create_waveforms("shots", {"ch1": float, "ch2": "FLOAT32"})
    for number in (3, 7):
        y = {"ch1": np.full(5, number, float), "ch2": np.zeros(5, "f4")}
        table.append_waveform(y, dt=1.3e-9, t0=0.5, number=number)
    found = table.waveforms(start=7, stop=7)
    assert len(found) == 1 and found[0].number == 7 and found[0].dt == 1.3e-9
    assert found[0].y["ch1"].tolist() == [7.0] * 5


def test_decimation_keeps_spikes(db: stationdb.Store) -> None:
    table = db.tables.create("long", index="t")
    volts = np.zeros(100_000)
    volts[77_777] = 9.0
    table.append_waveform({"volts": volts}, dt=1)
    few = table.decimate("volts", points=50).to_numpy()
    assert few["volts"].max() == 9.0 and len(few["t"]) <= 100
    zoomed = table.decimate(points=10, start=77_000, stop=78_000, method="entryexit").to_numpy()
    assert zoomed["t"].min() == 77_000 and zoomed["volts"].max() == 9.0
    plot = table.plot(points=100, low=-1.0, high=10.0)
    assert plot.svg.startswith("<svg") and "volts" in plot._repr_svg_()


def test_a_plot_is_saved(loop: stationdb.Table, tmp_path: Path) -> None:
    loop.plot("volts").save(tmp_path / "plot.svg")
    assert (tmp_path / "plot.svg").read_text(encoding="utf-8").endswith("</svg>")


def test_a_plot_is_a_page(db: stationdb.Store, tmp_path: Path) -> None:
    table = db.tables.create("</iframe>", index="t")
    volts = np.sin(np.arange(100_000) * 1e-3)
    volts[77_777] = 9.0
    table.append_waveform({"volts": volts}, dt=1)
    plot = table.plot(low=-1.0, high=3.0)
    frame = plot._repr_html_()
    assert frame is not None and frame.startswith("<iframe srcdoc=") and len(frame) < 1_001_000
    assert frame.count("</iframe>") == 1 and "sandbox=" in frame
    plot.save(tmp_path / "plot.html")
    page = (tmp_path / "plot.html").read_text(encoding="utf-8")
    assert page.startswith("<!DOCTYPE html>") and "77777" in page and len(page) < 2_300_000
    part = table.plot(start=0, stop=10)
    part.save(tmp_path / "part.html")
    assert "10 samples" in (tmp_path / "part.html").read_text(encoding="utf-8")
    shots = db.tables.create_waveforms("shots", {"ch1": float})
    shots.append_waveform({"ch1": np.zeros(5)}, dt=1.0, number=1)
    assert shots.plot(number=1)._repr_html_() is None
    with pytest.raises(stationdb.InvalidArgumentError, match="save the picture as .svg"):
        shots.plot(number=1).save(tmp_path / "shot.html")


def test_a_file_stays_until_the_page_is_written(tmp_path: Path) -> None:
    kept = tmp_path / "keep.html"
    with stationdb.open(tmp_path / "station") as db:
        table = db.tables.create("T", index="t")
        table.append({"t": [1, 2], "v": [1.0, 2.0]})
        plot = table.plot()
        plot.save(kept)
        before = kept.read_bytes()
        plot.save(kept)
        assert kept.read_bytes() == before and len(before) > 100_000
    with pytest.raises(stationdb.Error):
        plot.save(kept)
    assert plot._repr_html_() is None
    assert kept.read_bytes() == before
    with pytest.raises(FileNotFoundError):
        plot.save(tmp_path / "none" / "a.svg")
    kept.unlink()
    kept.mkdir()
    with pytest.raises(OSError):
        plot.save(kept.rename(tmp_path / "directory.svg"))
    assert sorted(one.name for one in tmp_path.iterdir()) == ["directory.svg", "station"]


def test_a_plot_has_the_columns_of_its_page(db: stationdb.Store, tmp_path: Path) -> None:
    table = db.tables.create("wide", index="t")
    table.append({"t": range(3)} | {f"column {at}": [0.5, 1.0, at / 2] for at in range(70)})
    plot = table.plot()
    assert "column 7" in plot.svg and "column 8" not in plot.svg
    frame = plot._repr_html_()
    assert frame is not None and "column 7" in frame and "column 8" not in frame
    plot.save(tmp_path / "wide.html")
    assert "column 7" in (tmp_path / "wide.html").read_text(encoding="utf-8")
    # More than a page shows: the notebook has the picture, and the file is refused.
    all_of_them = table.plot([f"column {at}" for at in range(70)])
    assert all_of_them._repr_html_() is None and "column 69" in all_of_them._repr_svg_()
    with pytest.raises(stationdb.LimitExceededError):
        all_of_them.save(tmp_path / "all.html")
    assert not (tmp_path / "all.html").exists()


def test_the_page_in_a_notebook_has_another_size(db: stationdb.Store) -> None:
    table = db.tables.create("noise", index="t")
    noise = np.random.default_rng(1).normal(size=200_000)
    table.append_waveform({"volts": noise}, dt=1)
    plot = table.plot()
    frames = []
    for size in (600_000, 1_000_000, 2_000_000):
        plot.inside_max = size
        frame = plot._repr_html_()
        assert frame is not None and size / 2 < len(frame) < size + 1_000
        frames.append(len(frame))
    assert frames == sorted(frames)
    plot.inside_max = 1_000
    assert plot._repr_html_() is None


def test_any_numbers_are_drawn(db: stationdb.Store) -> None:
    largest, least = 1.7976931348623157e308, 5e-324
    for number, values in enumerate(
        [
            [largest, -largest, 0.0],
            [largest, largest],
            [-largest, -largest],
            [1e300, 1e300],
            [0.0, least],
            [least, -least],
            [0.0, 3e-308],
            [np.inf, -np.inf, np.nan],
            [np.nan],
            [7.5, 7.5],
        ]
    ):
        table = db.tables.create(f"any {number}", index="t")
        table.append({"t": range(len(values)), "v": values})
        for low, high in [(None, None), (-np.inf, np.inf), (np.nan, 1.0), (-largest, largest)]:
            with np.errstate(over="raise", divide="raise", invalid="raise"):
                plot = table.plot(low=low, high=high)
            assert "nan" not in plot.svg and "inf" not in plot.svg, (values, low, high)
            assert plot.svg.count("stroke-dasharray") == sum(
                one is not None and bool(np.isfinite(one)) for one in (low, high)
            )
            assert plot._repr_html_() is not None


def test_aggregates(db: stationdb.Store) -> None:
    table = db.tables.create("a", index="t")
    table.append({"t": range(6), "v": [1.0, 2.0, 3.0, None, 5.0, 6.0], "k": list("aabbcc")})
    assert table.aggregate({"v": ["count", "sum", "mean"]}) == [
        {"rows": 6, "v_count": 5, "v_sum": 17.0, "v_mean": 3.4}
    ]
    groups = table.aggregate({"v": "max", "t": "first"}, by="k", where="t < 4")
    assert groups == [
        {"k": "a", "rows": 2, "v_max": 2.0, "t_first": 0},
        {"k": "b", "rows": 2, "v_max": 3.0, "t_first": 2},
    ]
    assert [one["t"] for one in table.aggregate(by={"t": 3})] == [0, 3]


def test_rows_are_deleted_and_columns_added(loop: stationdb.Table) -> None:
    assert loop.delete_rows(start=1, stop=3) == 2
    assert loop.delete_rows("volts == 1.5") == 1
    loop.add_columns({"ok": bool})
    loop.append({"t": [9], "volts": [1.0], "ok": [True]})
    assert [row["ok"] for row in loop.rows().to_pylist()] == [None, True]
    loop.end()
    with pytest.raises(errors.ConflictError):
        loop.append({"t": [10], "volts": [1.0]})
    assert len(loop) == 2


def test_a_writer_of_single_rows(db: stationdb.Store) -> None:
    with db.tables.create("w", index="t").writer(batch_rows=10) as writer:
        for at in range(25):
            if at == 12:
                assert len(writer.table) == 10
            writer.row(t=at, volts=at / 2) if at % 2 else writer.row(t=at)
    assert len(writer.table) == 25
    with pytest.raises(errors.ClosedError):
        writer.row(t=26)
    with pytest.raises(ZeroDivisionError), db.tables.create("x", index="t").writer() as writer:
        writer.row(t=1, v=1.0)
        raise ZeroDivisionError
    assert len(db.tables.get("x")) == 1


@pytest.mark.parametrize("format", ["csv", "parquet", "arrow"])
def test_exports_come_back(loop: stationdb.Table, tmp_path: Path, format: str) -> None:
    path = tmp_path / f"loop.{format}"
    assert loop.export(path) == 4
    out = io.BytesIO()
    assert loop.export(out, format, where="volts > 0.25") == 3
    db = loop._services
    if format == "arrow":
        with pyarrow.ipc.open_stream(path.open("rb")) as reader:
            assert reader.read_all().num_rows == 4
        return
    assert isinstance(db, stationdb.Store)
    again = db.tables.import_file(path, name="again", index_column="t")
    assert again.rows().to_pylist() == loop.rows().to_pylist()
    out.seek(0)
    more = db.tables.import_file(out, format=format, table=again)
    assert more.id == again.id and len(again) == 7


def test_files_of_a_table(loop: stationdb.Table, tmp_path: Path) -> None:
    manifest = loop.export_files(tmp_path / "files")
    assert manifest["rowCount"] == 4
    assert pyarrow.parquet.read_table(tmp_path / "files" / manifest["files"][0]["name"]).num_rows == 4


def test_an_export_that_fails_leaves_no_file(loop: stationdb.Table, tmp_path: Path) -> None:
    with pytest.raises(errors.InvalidArgumentError):
        loop.export(tmp_path / "x.csv", columns="nowhere")
    assert not (tmp_path / "x.csv").exists()

    class Full(io.RawIOBase):
        def write(self, _: object) -> int:
            raise OSError(28, "mine")

    with pytest.raises(OSError, match="mine"):
        loop.export(Full(), "csv")


def test_tables_by_id_and_name(db: stationdb.Store, loop: stationdb.Table) -> None:
    assert db.tables.get(loop.id).name == "loop"
    db.tables.create("loop", {"t": int}, index="t")
    with pytest.raises(errors.ConflictError, match="several"):
        db.tables.get("loop")
    loop.delete()
    with pytest.raises(errors.NotFoundError):
        loop.metadata()


def test_a_writer_keeps_rows_that_come_slowly(db: stationdb.Store) -> None:
    table = db.tables.create("slow", {"t": int, "v": float}, index="t")
    with table.writer(seconds=0) as writer:
        for at in range(3):
            writer.row(t=at, v=at)
            assert len(table) == at + 1
    with table.writer(seconds=3600) as writer:
        # The first one does not wait.
        writer.row(t=3, v=3)
        assert len(table) == 4
        writer.row(t=4, v=4)
        assert len(table) == 4
    assert len(table) == 5


def test_a_row_that_does_not_fit_loses_no_other(db: stationdb.Store) -> None:
    table = db.tables.create("rows", {"t": int, "v": float}, index="t")
    with table.writer(seconds=3600) as writer:
        for at in range(10):
            writer.row(t=at, v=at / 2)
            for bad, told in (({"t": 1, "v": "OVLD"}, "OVLD"), ({"t": 1, "w": 2}, "'w'"), ({"v": 1}, "'t'")):
                with pytest.raises(errors.InvalidArgumentError, match=told):
                    writer.row(**bad)
    assert table.rows("t").to_numpy()["t"].tolist() == list(range(10))
    with pytest.raises(errors.ClosedError):
        writer.row(t=11)


def test_writers_end_with_what_they_are_in(tmp_path: Path) -> None:
    db = stationdb.open(tmp_path / "store", user="ada")
    table = db.tables.create("rows", {"t": int}, index="t")
    with db.transaction() as tx:
        kept = tx.tables.get("rows").writer(seconds=3600)
        for at in range(3):
            kept.row(t=at)
    assert len(table) == 3
    with pytest.raises(ZeroDivisionError), db.transaction() as tx:
        dropped = tx.tables.get("rows").writer(seconds=3600)
        for at in range(3):
            dropped.row(t=at + 10)
        raise ZeroDivisionError
    assert len(table) == 3
    forgotten = table.writer(seconds=3600)
    forgotten.row(t=20)
    forgotten.row(t=21)
    with pytest.warns(ResourceWarning, match="appended now"):
        del forgotten
    assert len(table) == 5
    left = db.session("eve").tables.get("rows").writer(seconds=3600)
    left.row(t=30)
    left.row(t=31)
    assert left.discard() == 1
    left.row(t=32)
    db.close()
    with stationdb.open(tmp_path / "store") as db:
        assert db.tables.get("rows").rows().to_numpy()["t"].tolist()[3:] == [20, 21, 30, 32]


def test_tables_are_found(db: stationdb.Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("stationdb._collection._PAGE", 2)
    for at in range(5):
        db.tables.create(f"n{at}", {"t": int, "v": float}, index="t", properties={"at": str(at)})
    assert len(list(db.tables)) == 5
    found = db.tables.query('properties["at"] == @0', "3")
    assert [(one.name, one.properties) for one in found] == [("n3", {"at": "3"})]
    assert [one.name for one in db.tables.query(order="name", desc=True, take=2)] == ["n4", "n3"]
    # As other queries: asked when it is used, and again each time.
    assert found.count() == 1 and found.one().name == "n3" and found.all()[0].id == found.one().id
    assert db.tables.query().count() == 5 and db.tables.query(take=3).count() == 3
    assert len(db.tables.query(take=3).all()) == 3
    assert db.tables.query(order="createdAt").first() is not None
    assert db.tables.query("name == @0", "n9").first() is None
    assert db.tables.query("name == @0", "n9").count() == 0
    assert sorted(db.tables.query().to_pandas()["name"]) == ["n0", "n1", "n2", "n3", "n4"]
    later = db.tables.query("rowCount > 0")
    assert later.count() == 0
    db.tables.get("n2").append({"t": [1], "v": [0.5]})
    assert [one.name for one in later] == ["n2"] and later.count() == 1
    assert "n1" in db.tables and "n9" not in db.tables and 5 not in db.tables
    with pytest.raises(errors.InvalidArgumentError):
        list(db.tables.query("colour == 1"))


def test_numbered_waveforms_are_drawn(db: stationdb.Store, tmp_path: Path) -> None:
    table = db.tables.create_waveforms("scope", [("volts", "FLOAT64", "V")])
    for number in range(2):
        spike = np.zeros(50_000)
        spike[777] = 9.0
        table.append_waveform({"volts": spike}, dt=1e-6, number=number)
    whole = table.plot(number=1)
    part = table.plot(number=1, start=0.01, stop=0.02)
    assert whole.svg != part.svg and "volts / V" in whole.svg
    assert table.plot(number=1, start=0.01).svg != part.svg
    assert ">8<" in whole.svg and ">8<" not in part.svg
    with pytest.raises(errors.InvalidArgumentError, match="number=1"):
        table.plot()
    with pytest.raises(errors.NotFoundError):
        table.plot(number=7)
    with pytest.raises(errors.InvalidArgumentError, match="SVG"):
        whole.save(tmp_path / "x.png")
    with pytest.raises(errors.InvalidArgumentError, match="leave"):
        db.tables.create("t", {"t": int}, index="t").plot(number=1)


def test_arrays_of_no_rows_have_their_types(db: stationdb.Store) -> None:
    kinds = {"t": int, "v": float, "b": bool, "s": str, "at": "TIMESTAMP_US"}
    table = db.tables.create("kinds", kinds, index="t")
    empty = table.rows().to_numpy()
    assert [str(one.dtype) for one in empty.values()] == [
        "int64",
        "float64",
        "bool",
        "object",
        "datetime64[us]",
    ]
    table.append({"t": [0, 1], "v": [1.0, 2.0], "b": [True, False]})
    rows = table.rows(["v", "b"])
    arrays = rows.to_numpy()
    assert arrays["v"][arrays["b"]].tolist() == [1.0]
    with pytest.raises(errors.ConflictError):
        rows.to_pylist()
    table.append([])
    table.append(())
    assert len(table) == 2


def test_bounds_and_orders_of_rows(loop: stationdb.Table) -> None:
    def found(**asked: Any) -> list[int]:
        return [row["t"] for row in loop.rows("t", **asked).to_pylist()]

    assert found(start=1, stop=3) == [1, 2] and found(stop=3) == [0, 1, 2] and found(start=3) == [3]
    assert found(desc=True) == [3, 2, 1, 0] and found(desc=True, start=1, stop=3) == [2, 1]
    assert found(order="volts", desc=True, limit=2) == [3, 2]
    assert found(order=["volts", "t"]) == [0, 1, 2, 3] and found(limit=0) == []
    assert found(where=("volts > @0", 0.4), stop=3) == [1, 2]


def test_a_waveform_that_meets_a_row_with_its_last_sample(db: stationdb.Store) -> None:
    table = db.tables.create("scope", index="t")
    table.append({"t": [10], "volts": [0.5]})
    with pytest.raises(errors.ConflictError, match="a row at 10"):
        table.append_waveform({"volts": np.zeros(3)}, dt=5, t0=0)
    table.append_waveform({"volts": np.zeros(2)}, dt=5, t0=0)
    assert [row["t"] for row in table.rows().to_pylist()] == [0, 5, 10]
