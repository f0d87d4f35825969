//! A statement over a lake has the answer that it has over the store.

#[path = "lake/changes.rs"]
mod changes;
mod common;
#[path = "lake/faults.rs"]
mod faults;
#[path = "lake/histories.rs"]
mod histories;
#[path = "lake/peers.rs"]
mod peers;
#[path = "lake/pruning.rs"]
mod pruning;
#[path = "lake/results.rs"]
mod results;

use std::sync::Arc;

use common::{ada, ask, fill, open, settle};
use datafusion::object_store::ObjectStore;
use datafusion::object_store::memory::InMemory;
use datafusion::prelude::SessionContext;
use stationdb::prelude::*;
use stationdb::scans::{RecordKind, ScanRecordsRequest};
use stationdb::{Control, Identity, Session, Store};
use stationdb_lake::{Layout, OneRoot, Publisher};
use stationdb_sql::datafusion;

const STATEMENTS: &str = include_str!("statements.sql");
const ROOT: &str = "plant";

type Objects = Arc<dyn ObjectStore>;

fn publisher(store: &Store, objects: &Objects, layout: impl Layout, name: &str) -> Publisher {
    let who = Identity::user("ada");
    Publisher::new(store, who, objects.clone(), layout, name).unwrap()
}

fn publish(store: &Store, objects: &Objects, name: &str) {
    let publisher = publisher(store, objects, OneRoot::new(ROOT), name);
    let _ = publisher.publish(&Control::default()).unwrap();
}

async fn lake(objects: &Objects) -> SessionContext {
    stationdb_sql::lake(objects.clone(), &ROOT.into()).await.unwrap()
}

async fn answers(sql: &SessionContext, statement: &str) -> Vec<String> {
    ask(sql, statement).await.unwrap_or_else(|error| panic!("{statement}: {error}"))
}

async fn sorted(sql: &SessionContext, statement: &str) -> Vec<String> {
    let mut lines = answers(sql, statement).await;
    lines.sort();
    lines
}

/// The ids of the tables of a store.
fn tables(session: &Session) -> Vec<String> {
    use datafusion::arrow::array::AsArray;
    let request = ScanRecordsRequest::new(RecordKind::Table).columns(["id"]);
    let mut ids = Vec::new();
    for batch in session.scan_records(request, &Control::default()).unwrap() {
        let batch = batch.unwrap();
        ids.extend(batch.column(0).as_string::<i32>().iter().flatten().map(str::to_owned));
    }
    ids
}

/// The names of the tables of a context that have records, or what results consist of.
const KINDS: [&str; 16] = [
    "products",
    "specifications",
    "assets",
    "asset_utilizations",
    "work_items",
    "work_item_templates",
    "test_plans",
    "test_plan_templates",
    "tables",
    "files",
    "feeds",
    "packages",
    "workspaces",
    "results",
    "steps",
    "measurements",
];

/// All records and all rows are the same, with the same columns. Returns how many lines.
async fn assert_same(session: &Session, lake: &SessionContext) -> usize {
    let store = stationdb_sql::context(session).unwrap();
    let rows = tables(session).into_iter().map(|id| format!("rows.\"{id}\""));
    let kinds = KINDS.iter().map(|kind| (*kind).to_owned());
    let mut count = 0;
    for table in kinds.chain(rows) {
        let statement = format!("select * from {table}");
        let fields = |schema: &datafusion::common::DFSchema| -> Vec<(String, String)> {
            let field = |field: &Arc<datafusion::arrow::datatypes::Field>| {
                (field.name().clone(), field.data_type().to_string())
            };
            schema.fields().iter().map(field).collect()
        };
        let [own, other] = [&store, lake].map(|sql| sql.sql(&statement));
        let (own, other) = (own.await.unwrap(), other.await.unwrap());
        assert_eq!(fields(own.schema()), fields(other.schema()), "{table}");
        let expected = sorted(&store, &statement).await;
        assert_eq!(expected, sorted(lake, &statement).await, "{table}");
        count += expected.len();
    }
    count
}

#[tokio::test(flavor = "multi_thread")]
async fn statements_answer_as_on_the_store() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(&directory.path().join("store"));
    let session = ada(&store);
    fill(&session);
    let objects: Objects = Arc::new(InMemory::new());
    for _ in 0..2 {
        publish(&store, &objects, "s1");
        let (here, there) = (stationdb_sql::context(&session).unwrap(), lake(&objects).await);
        let mut count = 0;
        for statement in STATEMENTS.lines() {
            let expected = answers(&here, statement).await;
            assert_eq!(expected, answers(&there, statement).await, "{statement}");
            count += 1;
        }
        assert!(count >= 40, "{count} statements");
        assert!(assert_same(&session, &there).await > 5_000);
        // Sealed and merged, and changed again.
        settle(&store);
        let product = serde_json::json!({ "partNumber": "P-99", "family": "F1" });
        let _ = session.create_products(vec![common::request(product)]).unwrap();
    }
}
