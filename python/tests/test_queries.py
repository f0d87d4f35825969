"""Queries: each way to use one tells of the same records; pages that are CSV."""

from __future__ import annotations

import csv
import io
from datetime import timedelta
from typing import Any

import numpy as np
import pytest

import stationdb
from stationdb import errors
from stationdb._record import wire

PASSED = {"statusType": "PASSED"}


@pytest.fixture
def line(db: stationdb.Store) -> stationdb.Store:
    """Two products with three specifications each, and three results."""
    for part, family in (("A", "Audio"), ("B", "Radio")):
        product = db.products.create(part_number=part, family=family)
        db.specs.create_many(
            {"productId": product.id, "specId": name, "type": "FUNCTIONAL"} for name in "xyz"
        )
    for part in "AAB":
        result = db.results.create(program_name="Final", part_number=part, status=PASSED)
        db.steps.create(result_id=result.id, name=f"of {part}", outputs=[{"name": "n", "value": 1}])
    return db


def test_what_chooses_records_is_counted(line: stationdb.Store) -> None:
    product = line.products.query('partNumber == "A"').one()
    line.feeds.create(name="windows", platform="WINDOWS")
    line.feeds.create(name="linux", platform="NI_LINUX_RT")
    queries: list[tuple[Any, int]] = [
        (line.results.query(product_filter='family == "Audio"'), 2),
        (line.results.query(product_filter="family == @0", product_substitutions=["None"]), 0),
        (line.results.query('partNumber != "B"', product_filter='family == "Radio"'), 0),
        (line.results.query(product_filter='family == "Audio"', take=1), 1),
        (line.results.query('partNumber == "A"', order="part_number", desc=True), 2),
        (line.results.query(order="properties", order_by_key="lot"), 3),
        (line.specs.query(product_ids=[product.id]), 3),
        (line.specs.query('specId == "x"', product_ids=[product.id]), 1),
        (line.steps.query(result_filter='partNumber == "A"'), 2),
        (line.steps.query('name == "of B"', result_filter='partNumber == "A"'), 0),
        (line.feeds.query(platform="WINDOWS"), 1),
        (line.products.query(), 2),
    ]
    for query, count in queries:
        assert (query.count(), len(query.all())) == (count, count), query


def test_what_is_skipped_is_skipped_once(db: stationdb.Store) -> None:
    here = {"state": {"assetPresence": "PRESENT"}}
    db.assets.create_many(
        {
            "serialNumber": str(at),
            "modelName": "E36312A",
            "vendorName": "Keysight",
            "assetType": "GENERIC",
            "location": here,
        }
        for at in range(1_010)
    ).require_all()
    query = db.assets.query(skip=4, order="ID")  # type: ignore[call-arg]
    found = [one.id for one in query]
    assert len(found) == len(set(found)) == query.count() == 1_006
    assert db.assets.query(skip=2_000).count() == 0  # type: ignore[call-arg]


def test_rows_refuse_what_a_scan_does_not_have(line: stationdb.Store) -> None:
    query = line.results.query(product_filter='family == "Audio"')
    for use in (query.rows, query.to_arrow, query.to_pandas, query.to_polars):
        with pytest.raises(errors.UnsupportedError, match="product_filter=.*db.sql"):
            use()
    product = line.products.query('partNumber == "A"').one()
    with pytest.raises(errors.UnsupportedError, match="product_ids="):
        line.specs.query(product_ids=[product.id]).rows()
    joined = (
        "select s.spec_id from specifications s join products p on p.id = s.product_id "
        "where p.id = $id"
    )
    assert len(line.sql(joined, id=product.id).to_pylist()) == 3
    steps = line.steps.query(result_filter="partNumber == @0", result_substitutions=["B"])
    assert [row["name"] for row in steps.rows().to_pylist()] == ["of B"]


@pytest.mark.parametrize(
    "fields",
    [
        ["partNumber", "programName"],
        ["PART_NUMBER", "PROGRAM_NAME"],
        ["part_number", "programName"],
    ],
)
def test_fields_have_both_spellings(line: stationdb.Store, fields: list[str]) -> None:
    query = line.results.query('partNumber == "B"', fields=fields)
    assert query.rows().to_pylist() == [{"part_number": "B", "program_name": "Final"}]
    found = query.one()
    assert (found.part_number, found.program_name, found.id) == ("B", "Final", None)


def test_a_number_of_records_is_whole(line: stationdb.Store) -> None:
    assert len(line.results.query(take=np.int64(2)).all()) == 2  # type: ignore[arg-type]
    assert line.results.query(take=0).all() == []
    for take in (-1, 1.5, "2", True, np.float64(2)):
        with pytest.raises(errors.InvalidArgumentError, match="give a number of records"):
            line.results.query(take=take)  # type: ignore[arg-type]


def test_a_page_is_csv(line: stationdb.Store) -> None:
    custom = {"statusType": "CUSTOM", "statusName": "Ü"}
    line.results.create(program_name='a "b", c', status=custom, properties={"lot": "7"})
    columns = ["PROGRAM_NAME", "STATUS", "PROPERTIES"]
    text = line.results.query_results_csv(projection=columns, take=4)
    rows = list(csv.DictReader(io.StringIO(text)))
    assert list(rows[3]) == ["status", "programName", "properties.lot"]
    assert (rows[0]["status"], rows[0]["properties.lot"]) == ("PASSED", "")
    assert list(rows[3].values()) == ["Ü", 'a "b", c', "7"]
    asked = {"filter": "name == @0", "substitutions": ["of B"], "projection": ["NAME", "OUTPUTS"]}
    assert line.results.query_steps_csv(asked) == "name,outputs.n\nof B,1\n"
    assert line.call("query_steps_csv", asked) == "name,outputs.n\nof B,1\n"
    with line.transaction() as tx:
        assert tx.results.query_steps_csv(asked) == "name,outputs.n\nof B,1\n"
    with pytest.raises(errors.InvalidArgumentError) as raised:
        line.results.query_results_csv(filter="nope == 1")
    assert raised.value.place == {"offset": 0}


def test_the_index_of_a_feed_is_text(db: stationdb.Store) -> None:
    feed = db.feeds.create(name="tools", platform="WINDOWS")
    assert db.feeds.packages_index(feed.id or "") == ""
    with pytest.raises(errors.NotFoundError):
        db.feeds.packages_index("nope")


def test_every_operation_of_the_package_is_called(db: stationdb.Store) -> None:
    """Whatever the arguments are, none is refused because it has no call by name."""
    names = "products specs assets work_items templates test_plans results feeds files workspaces"
    for name in names.split():
        collection = getattr(db, name)
        for operation in dir(type(collection)):
            if operation.startswith("_") or operation in ("writer", "open"):
                continue
            try:
                db.call(operation, {})
            except errors.UnsupportedError as error:
                own = getattr(type(collection), operation).__module__
                assert own != "stationdb.services", (name, operation, str(error))
            except errors.Error:
                pass


def test_a_span_of_python_is_one_of_filters(db: stationdb.Store) -> None:
    db.products.create(part_number="P-1")
    for span, count in ((timedelta(days=1), 1), (timedelta(hours=2, microseconds=5), 1), (timedelta(0), 0)):
        assert db.products.query("updatedWithin <= @0", span).count() == count
    assert wire(timedelta(days=3, hours=4, minutes=5, seconds=6)) == "3.04:05:06"
    assert wire(timedelta(microseconds=7)) == "0.00:00:00.000007"
