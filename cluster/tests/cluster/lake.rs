//! A lake of stations answers on three executors as the store answers in this process.

use std::sync::Arc;

use serde_json::json;
use stationdb::prelude::*;
use stationdb::{Control, Identity, Session, Store};
use stationdb_cluster::LakeLocation;
use stationdb_cluster::datafusion::prelude::SessionContext;
use stationdb_lake::object_store::ObjectStore;
use stationdb_lake::object_store::local::LocalFileSystem;
use stationdb_lake::{OneRoot, Publisher};

use crate::common::{ada, ask, fill, open, request, settle};
use crate::process::Cluster;

const STATEMENTS: &str = include_str!("../../../sql/tests/statements.sql");
/// What only a lake has, and functions that the processes have of us.
const OF_THE_LAKE: [&str; 7] = [
    "select channel, min(volts), max(volts) from rows.\"Loop 1\" group by channel order by channel",
    "select _station, count(*) from lake.product_changes group by _station order by _station",
    "select _station, _rows_from from lake.batches order by _station",
    "select count(*), sum(value) from rows.\"s1/Loop 2\"",
    "select table_schema, count(*) from information_schema.tables group by 1 order by 1",
    "select spec_id, check_spec(record, 1.5) from specifications order by spec_id",
    "select lpad(part_number, 9, '.') || repeat('!', 2), sum(-1 * 2) from products \
     group by 1 order by 1",
];

fn publish(store: &Store, objects: Arc<dyn ObjectStore>, name: &str) {
    let who = Identity::user("ada");
    let publisher = Publisher::new(store, who, objects, OneRoot::new("plant"), name).unwrap();
    let _ = publisher.publish(&Control::default()).unwrap();
}

/// Deletes rows, and creates and deletes products.
fn change(session: &Session) {
    let tables = session.list_tables(Default::default()).unwrap().tables;
    let first = tables.iter().find(|table| table.name.as_deref() == Some("Loop 1")).unwrap();
    let gone = json!({ "indexBefore": "2024-03-01T00:01:00Z" });
    let gone = session.delete_rows(first.id.as_ref().unwrap(), request(gone)).unwrap();
    assert_eq!(gone.row_count, 60);
    let products =
        ["P-98", "P-99"].map(|part| request(json!({ "partNumber": part, "family": "F2" })));
    let made = session.create_products(products.into()).unwrap().products;
    let _ = session.delete_products(vec![made[0].id.clone().unwrap()]).unwrap();
}

async fn answers(sql: &SessionContext, statement: &str) -> Vec<String> {
    ask(sql, statement).await.unwrap_or_else(|error| panic!("{statement}: {error}"))
}

/// Publishes a filled store into the lake `plant` of these objects, twice.
pub fn published(store: &Store, objects: &Arc<dyn ObjectStore>) {
    let session = ada(store);
    fill(&session);
    publish(store, objects.clone(), "s1");
    settle(store);
    change(&session);
    publish(store, objects.clone(), "s1");
}

/// Asserts that statements over the lake `plant` answer on the cluster as over the store, and those
/// that only a lake answers as in this process.
pub async fn equal(
    store: &Store,
    objects: Arc<dyn ObjectStore>,
    place: &LakeLocation,
    scheduler: &str,
) {
    let there = stationdb_cluster::lake(scheduler, place, &"plant".into()).await.unwrap();
    let here = stationdb_sql::context(&ada(store)).unwrap();
    let mut count = 0;
    for statement in STATEMENTS.lines() {
        let expected = answers(&here, statement).await;
        assert_eq!(expected, answers(&there, statement).await, "{statement}");
        count += 1;
    }
    println!("counted: {count} statements over a lake");
    assert!(count >= 40, "{count} statements");
    let of_one_process = stationdb_sql::lake(objects, &"plant".into()).await.unwrap();
    for statement in OF_THE_LAKE {
        let expected = answers(&of_one_process, statement).await;
        assert!(!expected.is_empty(), "{statement}");
        assert_eq!(expected, answers(&there, statement).await, "{statement}");
    }
    // The executors measure what a call would make.
    let large = "select length(lpad(part_number, 2000000000, 'y')) from products";
    let error = ask(&there, large).await.unwrap_err();
    assert!(error.contains("lpad would make"), "{error}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn statements_over_a_lake_answer_as_on_the_store() {
    let directory = tempfile::tempdir().unwrap();
    let lake = directory.path().join("objects");
    std::fs::create_dir(&lake).unwrap();
    let store = open(&directory.path().join("store"));
    let objects: Arc<dyn ObjectStore> = Arc::new(LocalFileSystem::new_with_prefix(&lake).unwrap());
    published(&store, &objects);
    let place = LakeLocation::open(lake.to_str().unwrap()).unwrap();
    let cluster = Cluster::start(&lake);
    equal(&store, objects, &place, &cluster.scheduler.address).await;
}
