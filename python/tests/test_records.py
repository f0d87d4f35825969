"""Collections of every service, queries, records, transactions, files, search, changes, SQL."""

from __future__ import annotations

import copy
import io
import pickle
import uuid
from dataclasses import fields
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pydantic
import pytest

import stationdb
from stationdb import errors, records, services
from stationdb._record import UNSET


def test_products(db: stationdb.Store) -> None:
    made = db.products.create(part_number="P-1", family="A", keywords=["k"], properties={"a": "1"})
    assert isinstance(made, records.Product) and made.updated_at is not None
    assert db.products.get(made.id or "") == made
    changed = db.products.update(made.id or "", family="B", properties={"b": "2"})
    assert changed.family == "B" and changed.properties == {"a": "1", "b": "2"}
    replaced = db.products.update(made.id or "", replace=True, properties={"c": "3"})
    assert replaced.properties == {"c": "3"}
    view = db.products.view(made.id or "")
    assert view["partNumber"] == "P-1" and "family" in view and len(view) == len(view.keys())
    assert view.get("nothing", 5) == 5 and view.to_dict()["family"] == "B"
    with pytest.raises(KeyError, match="partNumber"):
        view["part_number"]
    db.products.delete(made.id or "")
    with pytest.raises(errors.NotFoundError):
        db.products.get(made.id or "")


def test_batches(db: stationdb.Store) -> None:
    done = db.products.create_many({"partNumber": f"P-{at}"} for at in range(2_500))
    assert len(done) == 2_500 and done.errors == []
    assert db.products.query().count() == 2_500
    assert len(db.products.query(order="part_number", desc=True).all()) == 2_500
    found = db.products.query("partNumber.StartsWith(@0)", "P-24", take=5)
    assert len(found.all()) == 5 and found.count() == 5
    first = found.first()
    assert first is not None and first.part_number is not None
    assert db.products.query(fields=["PART_NUMBER"], take=1).all()[0].family is None
    again = db.products.create_many([{"partNumber": "P-1"}, {"partNumber": "new"}])
    assert (len(again.records), len(again.failed), len(again.errors)) == (1, 1, 1)
    with pytest.raises(errors.PartialFailureError) as caught:
        again.require_all()
    assert len(caught.value.inner) == 1


def test_a_refused_write_names_the_transaction(db: stationdb.Store) -> None:
    with db.transaction() as tx:
        with pytest.raises(errors.ConflictError, match="begin"):
            db.products.create(part_number="P")
        tx.products.create(part_number="P")
        with pytest.raises(errors.ConflictError, match="create_products"):
            db.products.create(part_number="Q")


def test_views_of_all_kinds(db: stationdb.Store) -> None:
    feed = db.feeds.create(name="feed", platform="WINDOWS")
    plan = db.test_plans.create(name="plan", state="NEW")
    item = db.work_items.create(name="item")
    result = db.results.create(program_name="P", status={"statusType": "PASSED"})
    asset = db.assets.create(
        model_name="M", serial_number="1", vendor_name="V", bus_type="USB", asset_type="GENERIC",
        location={"state": {"assetPresence": "PRESENT"}},
    )
    product = db.products.create(part_number="P")
    spec = db.specs.create(product_id=product.id, spec_id="S", type="FUNCTIONAL")
    kinds: list[tuple[Any, Any]] = [
        (db.feeds, feed),
        (db.test_plans, plan),
        (db.work_items, item),
        (db.results, result),
        (db.assets, asset),
        (db.products, product),
        (db.specs, spec),
    ]
    for collection, made in kinds:
        view = collection.view(made.id)
        assert view["id"] == made.id and type(made).from_dict(view.to_dict()) == collection.get(made.id)
        # Each member alone is what all of them have.
        assert {name: view[name] for name in view} == view.to_dict()
        assert view.keys() == list(view.to_dict()) and len(view) == len(view.to_dict())
        with pytest.raises(errors.NotFoundError):
            collection.view("00000000-0000-4000-8000-000000000000")
    with pytest.raises(errors.InvalidArgumentError, match="no text"):
        db.products.view(5)  # type: ignore[arg-type]
    assert db.products.get(uuid.UUID(product.id)) == product  # type: ignore[arg-type]


def test_a_view_has_the_attributes_of_its_record(db: stationdb.Store) -> None:
    product = db.products.create(part_number="P-1", properties={"lot": "7"})
    view = db.products.view(product.id or "")
    for name in ("id", "part_number", "keywords", "properties", "workspace"):
        assert getattr(view, name) == getattr(product, name)
    assert view.part_number == view["partNumber"] == "P-1"
    # A member without a value is one.
    assert view.family is None and product.family is None
    with pytest.raises(AttributeError, match="part_number"):
        view.partNumber  # noqa: B018
    assert not hasattr(view, "colour") and hasattr(view, "name")
    result = db.results.create(program_name="x", status="RUNNING", total_time_in_seconds=1.5)
    assert db.results.view(result.id or "").total_time_in_seconds == 1.5
    db.steps.create(result_id=result.id, step_id="s", name="s", step_type="T", status="PASSED")
    assert db.steps.view("s").step_type == "T"


def test_queries_as_frames(db: stationdb.Store) -> None:
    db.products.create_many({"partNumber": f"P-{at}", "family": "AB"[at % 2]} for at in range(10))
    query = db.products.query("family == @0", "A")
    assert query.to_pandas()["part_number"].tolist() == [f"P-{at}" for at in range(0, 10, 2)]
    assert query.to_polars().shape[0] == 5 and query.to_arrow().num_rows == 5
    assert "access" in query.explain()
    assert "family == @0" in repr(query)
    with pytest.raises(errors.UnsupportedError):
        db.products.query(order="name").to_arrow()
    assert [one.part_number for one in db.products][:2] == ["P-0", "P-1"]
    with pytest.raises(errors.NotFoundError, match="several"):
        query.one()


def test_fields_are_the_columns_of_rows(db: stationdb.Store) -> None:
    db.products.create(part_number="P-1", family="A", name="One")
    query = db.products.query(fields=["PART_NUMBER", "FAMILY"])
    assert query.rows().to_pylist() == [{"part_number": "P-1", "family": "A"}]
    assert query.to_arrow().column_names == ["part_number", "family"]
    assert next(iter(query)).name is None
    with pytest.raises(errors.InvalidArgumentError, match="colour"):
        db.products.query(fields=["colour"]).rows()
    with pytest.raises(errors.UnsupportedError, match="sort the data frame"):
        db.products.query(order="part_number").rows()


def test_specs_and_their_product(db: stationdb.Store) -> None:
    product = db.products.create(part_number="P-1")
    spec = db.specs.create(
        product_id=product.id, spec_id="VOUT", type="PARAMETRIC", unit="V", limit={"min": 4, "max": 6}
    )
    assert spec.limit is not None and (spec.limit.min, spec.limit.max) == (4, 6)
    assert db.specs.get(spec.id or "") == spec
    db.specs.delete(spec.id or "")
    assert db.specs.query(product_ids=[product.id]).all() == []


def test_assets(db: stationdb.Store) -> None:
    asset = db.assets.create(
        model_name="DMM",
        vendor_name="V",
        serial_number="1",
        bus_type="ACCESSORY",
        location={"physicalLocation": "shelf", "state": {"assetPresence": "UNKNOWN"}},
    )
    assert db.assets.update(asset.id or "", name="meter").name == "meter"
    assert db.assets.asset_summary().total == 1
    assert db.assets.query("serialNumber == \"1\"").one().id == asset.id
    db.assets.delete(asset.id or "")


def test_work_items_and_templates(db: stationdb.Store) -> None:
    template = db.templates.create(name="T", type="testplan", template_group="G")
    item = db.work_items.create(name="Burn-in", type="testplan", state="NEW", template_id=template.id)
    assert db.work_items.get(item.id or "").name == "Burn-in"
    assert db.work_items.update(item.id or "", assigned_to="eve").assigned_to == "eve"
    assert db.templates.get(template.id or "").name == "T"
    plan = db.test_plans.create(name="n", part_number="p", state="NEW")
    assert db.test_plans.update(plan.id or "", name="m").name == "m"
    assert db.test_plan_templates.create(name="n", template_group="g").name == "n"
    db.work_items.delete(item.id or "")
    assert db.work_items.query().count() == 0


def test_results_and_their_figures(db: stationdb.Store) -> None:
    for serial, value in [("1", 5.0), ("2", 6.5), ("2", 5.1), ("3", 4.9)]:
        status = {"statusType": "PASSED" if value < 6 else "FAILED"}
        result = db.results.create(
            program_name="Final", part_number="P", serial_number=serial, status=status,
            started_at=datetime(2024, 1, 1, tzinfo=UTC),
        )
        parameter = {"name": "VOUT", "measurement": str(value), "lowLimit": "4", "highLimit": "6",
                     "units": "V", "comparisonType": "GELE", "status": "Passed"}
        db.steps.create(
            result_id=result.id, name="Power", status=status, data={"parameters": [parameter]}
        )
    assert db.steps.query("resultId == @0", result.id).one().name == "Power"
    yields = db.results.yields(group_by=["PART_NUMBER"])
    assert yields.groups[0].first_pass_yield == pytest.approx(2 / 3)
    pareto = db.results.failure_pareto(take=1)
    assert isinstance(pareto, records.FailurePareto)
    capability = db.results.capability(name="VOUT")
    assert isinstance(capability, records.Capability)
    assert isinstance(db.results.histogram(name="VOUT"), records.Histogram)
    assert isinstance(db.results.control_chart(name="VOUT"), records.ControlChart)
    assert db.results.query_result_values(field="SERIAL_NUMBER") == ["1", "2", "3"]
    assert db.results.query("serialNumber == @0", "2").count() == 2
    db.results.delete(result.id or "")
    assert db.steps.query().count() == 3


def test_steps_and_measurements_are_rows(db: stationdb.Store) -> None:
    for at in range(4):
        with db.results.begin(f"P-{at % 2}", f"SN-{at}", "Final") as run:
            run.step("Power").measure("v", float(at), "V", low=1).measure("i", 0.5, "A").finish()
    passed = db.steps.query(
        'status.statusType == "PASSED"', result_filter="partNumber == @0", result_substitutions=["P-1"]
    )
    assert passed.to_pandas()["name"].tolist() == ["Power", "Power"]
    assert passed.to_arrow().num_rows == 2 == passed.count()
    values = db.results.measurements("v", columns=["value"], result_filter=("partNumber == @0", "P-0"))
    assert sorted(row["value"] for row in values.to_pylist()) == [0.0, 2.0]
    assert len(db.results.measurements(filter='status.statusType == "FAILED"').to_pylist()) == 2
    with pytest.raises(errors.InvalidArgumentError):
        db.results.measurements(filter="colour == 1")


def test_steps_have_ids_of_their_results(db: stationdb.Store) -> None:
    one, two = (db.results.create(program_name="P", status={"statusType": "DONE"}) for _ in "ab")
    for result in (one, two):
        db.steps.create(result_id=result.id, step_id="power", name="Power", keywords=["a"])
    only = db.steps.create(result_id=one.id, step_id="gain", name="Gain")
    assert db.steps.get("gain") == only and db.steps.view("gain")["name"] == "Gain"
    with pytest.raises(errors.NotFoundError, match="or more steps"):
        db.steps.get("power")
    changed = db.steps.update("power", result_id=two.id, name="Power up", keywords=["b"])
    assert (changed.name, changed.keywords) == ("Power up", ["a", "b"])
    replaced = db.steps.update("power", result_id=two.id, replace=True, keywords=["c"])
    assert replaced.keywords == ["c"] and db.steps.get("power", result_id=one.id).name == "Power"
    with pytest.raises(errors.NotFoundError):
        db.steps.update("nothing", result_id=one.id, name="x")
    db.steps.delete("power", "gain", result_id=one.id)
    assert [step.step_id for step in db.steps.query()] == ["power"]
    with pytest.raises(errors.NotFoundError):
        db.steps.delete("gain", result_id=one.id)
    # With the steps, as on the wire.
    db.results.delete_result(two.id or "")
    assert db.steps.query().all() == []


def test_workspaces_and_feeds(db: stationdb.Store) -> None:
    made = db.workspaces.create(id="lab", name="Lab")
    assert made.id == "lab" and db.workspaces.query().count() >= 1
    db.workspaces.set_quota(workspace="lab", rows_max=10)
    assert db.workspaces.get_quota("lab").rows_max == 10
    feed = db.feeds.create(name="f", platform="WINDOWS")
    assert db.feeds.get(feed.id or "").name == "f"
    assert db.feeds.update(feed.id or "", description="d").description == "d"
    assert [one.id for one in db.feeds] == [feed.id]
    db.feeds.delete(feed.id or "")
    with pytest.raises(errors.UnsupportedError):
        db.feeds.query("name == \"f\"")


def test_files(db: stationdb.Store, tmp_path: Path) -> None:
    data = bytes(range(256)) * 5_000
    (tmp_path / "a.bin").write_bytes(data)
    file = db.files.upload(tmp_path / "a.bin", properties={"k": "v"})
    assert file.size == len(data) and file.properties["Name"] == "a.bin"
    with db.files.open(file.id or "") as content:
        assert content.seekable() and content.read(4) == data[:4]
        content.seek(-3, io.SEEK_END)
        assert content.read() == data[-3:]
        content.seek(1_000_000)
        assert content.read(10) == data[1_000_000:1_000_010]
    again = db.files.upload(io.BytesIO(data), name="b.bin")
    assert db.files.read(again.id or "") == data
    with db.files.writer("c.txt") as writer:
        writer.write(b"one ")
        writer.write(bytearray(b"two"))
    assert writer.id is not None and db.files.read(writer.id) == b"one two"
    with pytest.raises(ZeroDivisionError), db.files.writer("d.txt") as writer:
        writer.write(b"lost")
        raise ZeroDivisionError
    assert db.files.query().count() == 3
    assert db.files.query('name == "c.txt"').one().id is not None
    db.files.delete(file.id or "")
    with pytest.raises(errors.NotFoundError):
        db.files.get(file.id or "")


def test_a_writer_of_files_takes_bytes(db: stationdb.Store) -> None:
    array = np.arange(4, dtype="i2")
    with db.files.writer("x") as file:
        given: list[Any] = [b"a", bytearray(b"b"), memoryview(b"c"), array]
        for data in given:
            assert file.write(data) == memoryview(data).nbytes
        for wrong in (5, "text", [1, 2], None):
            with pytest.raises(TypeError):
                file.write(wrong)
    assert db.files.read(file.id or "") == b"abc" + array.tobytes()


def test_a_position_of_another_store_is_refused(db: stationdb.Store, tmp_path: Path) -> None:
    for at in range(5):
        db.products.create(part_number=f"P-{at}")
        if at == 1:
            db.backup(tmp_path / "copy")
    kept = db.position()
    assert list(db.changes(since=kept)) == []
    assert len(list(db.changes(since=np.int64(kept - 1)))) == 1  # type: ignore[arg-type]
    stationdb.restore(tmp_path / "copy", tmp_path / "again")
    with stationdb.open(tmp_path / "again") as again:
        with pytest.raises(errors.InvalidArgumentError, match="before it was restored"):
            again.changes(since=kept)
        assert len(list(again.changes(since=0))) >= 2


def test_a_file_object_that_fails(db: stationdb.Store) -> None:
    class Broken(io.RawIOBase):
        def read(self, count: int = -1) -> bytes:
            raise ZeroDivisionError("mine")

    with pytest.raises(ZeroDivisionError, match="mine"):
        db.files.upload(Broken(), name="x")
    assert db.files.query().count() == 0


def test_transactions_are_whole(db: stationdb.Store, tmp_path: Path) -> None:
    (tmp_path / "setup.png").write_bytes(b"png")
    with db.transaction() as tx:
        table = tx.tables.create("noise", index="t")
        table.append({"t": [1], "v": [1.0]})
        file = tx.files.upload(tmp_path / "setup.png")
        product = tx.products.create(part_number="P", file_ids=[file.id])
        # Only the transaction sees it.
        assert tx.products.query().count() == 1 and db.products.query().count() == 0
        assert table.rows().to_pylist() == [{"t": 1, "v": 1.0}]
    assert db.products.get(product.id or "").file_ids == [file.id]
    assert len(db.tables.get("noise")) == 1
    with pytest.raises(ZeroDivisionError), db.transaction() as tx:
        tx.products.create(part_number="Q")
        raise ZeroDivisionError
    assert db.products.query().count() == 1
    tx = db.transaction()
    with tx:
        pass
    with pytest.raises(errors.ClosedError):
        tx.products.query().all()


def test_a_transaction_that_takes_too_long(tmp_path: Path) -> None:
    import time

    with stationdb.open(tmp_path / "s", transaction_hold_ms=50) as db:
        with pytest.raises(TimeoutError), db.transaction() as tx:
            tx.products.create(part_number="P")
            time.sleep(0.2)
            tx.products.create(part_number="Q")
        assert db.products.query().count() == 0


def test_a_store_closes_with_an_open_transaction(tmp_path: Path) -> None:
    db = stationdb.open(tmp_path / "s")
    tx = db.transaction().__enter__()
    tx.products.create(part_number="P")
    db.close()
    with pytest.raises(errors.ClosedError):
        tx.products.create(part_number="Q")
    with stationdb.open(tmp_path / "s") as db:
        assert db.products.query().count() == 0


def test_search_changes_and_subscribers(db: stationdb.Store) -> None:
    start = db.position()
    product = db.products.create(part_number="P-1", name="Low noise amplifier")
    found = db.search("amplifier")
    assert [hit.id for hit in found.hits] == [product.id] and found.total == 1
    assert db.search("amplifier", kinds="product").hits[0].id == product.id
    assert db.search("amplifier", kinds=["work item"]).hits == []
    changes = db.changes(since=start)
    change = next(changes)
    assert (change.kind, change.what, change.who) == ("product", "CREATED", "ada")
    assert change.time - datetime.now(UTC) < timedelta(minutes=1)
    with pytest.raises(StopIteration):
        next(changes)
    assert changes.wait(0.01) is None
    db.products.update(product.id or "", family="A")
    later = changes.wait(5)
    assert later is not None and later.what == "UPDATED"
    assert changes.position == db.position()
    changes.close()
    with pytest.raises(errors.ClosedError):
        next(changes)
    subscriber = db.subscriber("replica")
    db.products.delete(product.id or "")
    with subscriber.changes() as feed:
        assert [one.what for one in feed] == ["DELETED"]
        subscriber.advance(feed.position)
        assert db.subscriber("replica").position == subscriber.position == feed.position
    subscriber.remove()


def test_values_of_any_type_of_sql(db: stationdb.Store) -> None:
    statement = """
        select map(['a', 'b'], [1, 2]) as m, [1, null] as l, struct(1 as x, 'y' as y) as s,
          interval '1 day 2 hours' as i, [map(['k'], [true])] as n, null as z,
          arrow_cast('t', 'Dictionary(Int32, Utf8)') as d, date '2024-01-02' as day
    """
    (row,) = db.sql(statement).to_pylist()
    assert row == {
        "m": {"a": 1, "b": 2},
        "l": [1, None],
        "s": {"x": 1, "y": "y"},
        "i": (0, 1, 7_200_000_000_000),
        "n": [{"k": True}],
        "z": None,
        "d": "t",
        "day": date(2024, 1, 2),
    }
    assert db.sql(statement).to_numpy()["m"][0] == {"a": 1, "b": 2}
    db.results.create(program_name="P", part_number="A", status={"statusType": "PASSED"})
    (group,) = db.sql("select * from yields('', 'PART_NUMBER')").to_pylist()
    assert group["not_counted"] == {}


def test_values_in_arguments_of_tables_of_sql(db: stationdb.Store, loop: stationdb.Table) -> None:
    for part, serial, gain in (("it's", "SN-1", 19.0), ("it's", "SN-1", 21.0), ("B", "SN-2", 19.0)):
        with db.results.begin(part, serial, "Final") as run:
            run.step("Gain").measure("gain", gain, "dB", low=20).finish()
    statement = "select part_number, first_pass_yield, final_yield from yields($which, $by)"
    which = 'partNumber == "it\'s"'
    (row,) = db.sql(statement, which=which, by="PART_NUMBER").to_pylist()
    assert row == {"part_number": "it's", "first_pass_yield": 0.0, "final_yield": 1.0}
    ranges = db.sql("select * from histogram($which, '', $name, $bins)", which="", name="gain", bins=4)
    assert len(ranges.to_pylist()) == 4
    # Elsewhere in the same statement, and within another one.
    both = "select $name as n, (select count(*) from histogram('', '', $name, 2)) as bins"
    assert db.sql(both, name="gain").to_pylist() == [{"n": "gain", "bins": 2}]
    few = db.sql("select * from decimate($table, $y, $points)", table=loop.id, y="volts", points=1)
    assert [row["volts"] for row in few.to_pylist()] == [0.0, 1.5]
    with pytest.raises(errors.InvalidArgumentError, match="text"):
        db.sql("select * from search($words)", words=datetime(2024, 1, 1, tzinfo=UTC))
    with pytest.raises(errors.InvalidArgumentError, match="search"):
        db.sql("select * from search($words)", words=-5)
    with pytest.raises(errors.InvalidArgumentError, match="words=…"):
        db.sql("select * from search($words)")
    with pytest.raises(errors.InvalidArgumentError, match="words"):
        db.sql("select $other as o from search($words)", other=1)
    injected = "x') union all select name, name, name, name, 1.0 from products --"
    assert db.sql("select * from search($words)", words=f'"{injected}"').to_pylist() == []


def test_sql(db: stationdb.Store, loop: stationdb.Table) -> None:
    db.products.create(part_number="P-1", family="it's")
    found = db.sql("select family, count(*) as n from products where family = $f group by 1", f="it's")
    assert found.columns == ["family", "n"]
    assert found.to_pylist() == [{"family": "it's", "n": 1}]
    both = db.sql("select a.t, b.t from loop a join loop b using (t) order by 1 limit 1")
    assert both.columns == ["t", "t_2"]
    assert both.to_polars().shape == (1, 2)
    values = {"i": 1, "f": 0.5, "b": True, "n": None, "t": datetime(2024, 1, 1, tzinfo=UTC)}
    row = db.sql("select $i as i, $f as f, $b as b, $n as n, $t as t", **values).to_pylist()[0]
    assert row == values
    assert db.sql("select '$x' as s").to_pylist() == [{"s": "$x"}]
    assert db.sql("select [1, 2] as l, {a: 1} as s").to_pylist()[0]["l"] == [1, 2]


def test_pydantic_models_are_records(db: stationdb.Store) -> None:
    class Model(pydantic.BaseModel):
        part_number: str = pydantic.Field(serialization_alias="partNumber")
        family: str | None = None

    assert db.products.create(Model(part_number="P-1", family="A")).family == "A"


RECORDS: list[Any] = [
    one for one in map(records.__dict__.get, records.__all__) if isinstance(one, type)
]


def required(cls: Any) -> dict[str, Any]:
    """Values of the members without a default."""
    specs = {name: spec for name, _, spec in cls._MEMBERS}
    out: dict[str, Any] = {}
    for one in fields(cls):
        if one.default is one.default_factory:
            spec = specs[one.name]
            inner = getattr(records, spec) if isinstance(spec, str) and spec != "time" else None
            out[one.name] = [] if inner is None else inner(**required(inner))
    return out


@pytest.mark.parametrize("cls", RECORDS, ids=lambda cls: cls.__name__)
def test_every_record_goes_to_the_wire_and_back(cls: Any) -> None:
    filled: dict[str, Any] = {}
    for name, wire, spec in cls._MEMBERS:
        assert wire and not hasattr(cls.__mro__[-1], name)
        if spec == "time":
            filled[name] = datetime(2024, 1, 1, tzinfo=UTC)
        elif spec is None:
            filled[name] = "x"
    made = cls(**{**required(cls), **filled})
    again = cls.from_dict(made.to_dict())
    assert again == made and copy.deepcopy(made) == made
    assert pickle.loads(pickle.dumps(made)) == made
    with pytest.raises(TypeError):
        cls(no_such_member=1)
    with pytest.raises(errors.InvalidArgumentError):
        cls.from_dict(3)


def test_changes_tell_absent_from_none() -> None:
    change = records.UpdateTestPlanRequest(id="1", name=None)
    assert change.to_dict() == {"id": "1", "name": None}
    assert records.UpdateTestPlanRequest(id="1").description is UNSET and not UNSET
    assert repr(UNSET) == "UNSET" and copy.deepcopy(UNSET) is UNSET
    assert pickle.loads(pickle.dumps(UNSET)) is UNSET


def test_every_operation_of_a_service_has_a_method(db: stationdb.Store) -> None:
    """The names that the package calls are those of the library."""
    for name in services.__all__:
        for member in vars(getattr(services, name)).values():
            plan = member if type(member).__name__ == "Operations" else None
            if plan is None:
                continue
            called = [one[0] for one in (plan.query, plan.explain) if one]
            called += [plan.get] if plan.get else []
            called += [one.operation for one in (plan.create, plan.update, plan.delete) if one]
            for operation in called:
                try:
                    db.call(operation, {"id": 7, "ids": 7, "take": "x", "filter": 7})
                except errors.Error as error:
                    assert "there is no operation" not in str(error), operation
