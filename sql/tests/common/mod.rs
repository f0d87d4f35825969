//! A store with records and measured rows, and answers as text.
#![allow(dead_code, reason = "each suite uses a part")]

#[path = "../../../tests/common/package.rs"]
pub mod package;

use std::path::Path;

use datafusion::arrow::array::{Array, AsArray, RecordBatch};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{
    DataType, Float64Type, Int64Type, TimeUnit, TimestampMicrosecondType,
};
use datafusion::arrow::util::display::array_value_to_string;
use datafusion::common::ParamValues;
use datafusion::physical_plan::common::collect;
use datafusion::physical_plan::{ExecutionPlan, displayable, execute_stream};
use datafusion::prelude::SessionContext;
use serde_json::{Value, json};
use stationdb::prelude::*;
use stationdb::results::TestResultId;
use stationdb::{
    AccessPolicy, Action, Control, Identity, ManualClock, Service, Session, Store, Visibility,
};
use stationdb_sql::{Limits, datafusion, query_with};

/// Guests see the workspace `open`, strangers none.
#[derive(Debug)]
pub struct Guests;

impl AccessPolicy for Guests {
    fn visible(&self, who: &Identity, _service: Service, _action: Action) -> Visibility {
        match who.user_id() {
            "guest" => Visibility::workspaces(["open"]),
            "stranger" => Visibility::None,
            _ => Visibility::All,
        }
    }
}

pub fn open(path: &Path) -> Store {
    open_sealing(path, 1000)
}

/// A store that seals buffers of so many rows.
pub fn open_sealing(path: &Path, rows: u64) -> Store {
    let clock = ManualClock::new("2024-03-02T00:00:00Z".parse().unwrap());
    let options = Store::options().maintenance_thread(false).seal_rows(rows).clock(clock);
    options.access_policy(Guests).open(path).unwrap()
}

/// Creates a result with steps.
pub fn create(session: &Session, result: Value, mut steps: Vec<Value>) -> TestResultId {
    let made = session.create_results(vec![request(result)]).unwrap().into_result().unwrap();
    let id = made.results[0].id.clone().unwrap();
    steps.iter_mut().for_each(|step| step["resultId"] = json!(id));
    let steps = steps.into_iter().map(request).collect();
    session.create_steps(steps, false).unwrap().require_all().unwrap();
    id
}

pub fn ada(store: &Store) -> Session {
    store.session(Identity::user("ada"))
}

pub fn request<T: serde::de::DeserializeOwned>(value: Value) -> T {
    serde_json::from_value(value).unwrap()
}

/// Rows of Loop 1: overlapping segments, and some in the buffer.
pub const ROWS: i64 = 5_000;

fn loop_1(from: i64, to: i64) -> Value {
    let row = |at: i64| {
        let volts = match at % 50 {
            0 => Some("NaN".to_owned()),
            7 => None,
            _ => Some(format!("{}", (at % 97) as f64 * 0.25 - 6.0)),
        };
        json!([
            format!("2024-03-01T{:02}:{:02}:{:02}.000Z", at / 3600, at / 60 % 60, at % 60),
            volts,
            format!("{}", (at % 11) as f32 * 0.5),
            (at % 8).to_string(),
            (at % 3 != 0).then(|| (at % 2 == 0).to_string()),
            (at % 5 != 0).then(|| ["ok", "warm", "", "Ä"][at as usize % 4]),
        ])
    };
    json!({ "frame": { "data": (from..to).map(row).collect::<Vec<_>>() } })
}

pub fn fill(session: &Session) {
    for place in ["open", "closed"] {
        let workspace = json!({ "id": place, "name": format!("Laboratory, {place} to guests") });
        session.create_workspace(request(workspace)).unwrap();
    }
    let product = |at: i64| {
        let mut product = json!({
            "partNumber": format!("P-{at:02}"), "family": format!("F{}", at % 3),
            "workspace": if at % 2 == 0 { "open" } else { "closed" },
            "keywords": ["k", format!("k{}", at % 2)], "properties": { "line": (at % 4).to_string() },
        });
        if at % 4 != 1 {
            product["name"] = json!(format!("Amplifier {at}"));
        }
        product
    };
    let products = (0..12).map(product).map(request).collect();
    let made = session.create_products(products).unwrap();
    let item = |at: i64| {
        let mut item = json!({
            "name": format!("Item {at}"), "type": "test", "partNumber": format!("P-{:02}", at % 13),
            "state": (["NEW", "DEFINED", "CLOSED"][at as usize % 3]),
            "workspace": if at % 2 == 0 { "open" } else { "closed" },
            "properties": { "slot": at.to_string() },
        });
        if at % 4 != 0 {
            item["timeline"] =
                json!({ "dueDateTime": format!("2024-05-{:02}T00:00:00Z", at % 28 + 1) });
        }
        item
    };
    let _ = session.create_work_items((0..40).map(item).map(request).collect()).unwrap();
    let places = |at: i64| if at % 2 == 0 { "open" } else { "closed" };
    for at in 0..4 {
        let asset = json!({ "modelName": "M", "vendorName": "V", "serialNumber": at.to_string(),
            "workspace": places(at), "location": { "state": { "assetPresence": "PRESENT" } } });
        let made = session.create_assets(vec![request(asset)]).unwrap();
        let asset = &made.assets.unwrap()[0];
        let used = json!({ "utilizationIdentifier": format!("00000000-0000-4000-8000-00000000000{at}"),
            "minionId": "m", "assetIdentifications": [asset], "utilizationCategory": "c",
            "taskName": "t", "userName": "u", "utilizationTimestamp": "2024-03-01T00:00:00Z" });
        let _ = session.start_utilization(request(used)).unwrap();
        let file = json!({ "name": format!("{at}.txt"), "workspace": places(at) });
        session.upload_file(&mut &b"x"[..], request(file), &Control::default()).unwrap();
        let feed = json!({ "name": format!("feed {at}"), "platform": "NI_LINUX_RT", "workspace": places(at) });
        let feed = session.create_feed(request(feed)).unwrap();
        let package = package::package(&format!("probe-{at}"));
        let control = Control::default();
        session
            .upload_package_content(&feed.id, &mut package.as_slice(), None, false, &control)
            .unwrap();
        let template =
            json!({ "name": "t", "templateGroup": "g", "type": "test", "workspace": places(at) });
        let _ = session.create_work_item_templates(vec![request(template.clone())]).unwrap();
        let _ = session.create_test_plan_templates(vec![request(template)]).unwrap();
        let plan =
            json!({ "name": "p", "state": "NEW", "partNumber": "P", "workspace": places(at) });
        let _ = session.create_test_plans(vec![request(plan)]).unwrap();
    }
    let specs: Vec<Value> = (0..6)
        .map(|at: usize| {
            json!({ "productId": made.products[at].id, "specId": format!("S{at}"), "type": "PARAMETRIC",
                "workspace": places(at as i64), "limit": { "min": at as f64 - 3.0, "max": at as f64 + 2.5 } })
        })
        .collect();
    let made = session.create_specs(request(json!({ "specs": specs }))).unwrap();
    assert!(made.failed_specs.is_none(), "{:?}", made.error);

    let columns = json!([
        { "name": "t", "dataType": "TIMESTAMP", "columnType": "INDEX" },
        { "name": "volts", "dataType": "FLOAT64", "columnType": "NULLABLE" },
        { "name": "amps", "dataType": "FLOAT32" },
        { "name": "channel", "dataType": "INT32" },
        { "name": "good", "dataType": "BOOL", "columnType": "NULLABLE" },
        { "name": "note", "dataType": "STRING", "columnType": "NULLABLE" },
    ]);
    let create = |name: &str, workspace: &str, columns: &Value| {
        let table = json!({ "name": name, "workspace": workspace, "columns": columns });
        session.create_table(request(table)).unwrap()
    };
    let first = create("Loop 1", "open", &columns);
    for (from, to) in [(0, 2_000), (3_000, 4_500), (2_000, 3_000), (4_500, ROWS)] {
        session.append_table_data(&first, request(loop_1(from, to))).unwrap();
    }
    let columns = json!([
        { "name": "n", "dataType": "INT64", "columnType": "INDEX" },
        { "name": "channel", "dataType": "INT32" },
        { "name": "value", "dataType": "FLOAT64" },
    ]);
    let second = create("Loop 2", "closed", &columns);
    let rows: Vec<Value> = (0..300)
        .map(|at| json!([(at / 2).to_string(), (at % 8).to_string(), (at % 17).to_string()]))
        .collect();
    session.append_table_data(&second, request(json!({ "frame": { "data": rows } }))).unwrap();
    changed(session);
    for place in ["open", "closed"] {
        let quota = json!({ "workspace": place, "recordsMax": 1000, "rowsMax": 100_000 });
        session.set_quota(request(quota)).unwrap();
    }
    create("empty", "open", &columns);
    create("twice", "open", &columns);
    create("twice", "closed", &columns);
}

/// Loop 3: finer times, deleted rows, and columns that were added, renamed and dropped.
fn changed(session: &Session) {
    let columns = json!([
        { "name": "moment", "dataType": "TIMESTAMP_US", "columnType": "INDEX" },
        { "name": "fine", "dataType": "TIMESTAMP_NS", "columnType": "NULLABLE" },
        { "name": "v", "dataType": "FLOAT64", "columnType": "NULLABLE" },
        { "name": "speed", "dataType": "FLOAT32" },
        { "name": "old", "dataType": "INT32", "columnType": "NULLABLE" },
    ]);
    let table = json!({ "name": "Loop 3", "workspace": "open", "columns": columns });
    let id = session.create_table(request(table)).unwrap();
    let row = |at: i64| {
        let (micros, nanos) = (at * 250, at * 1_000_001);
        let v = match at % 40 {
            39 => "NaN".to_owned(),
            rest => (rest % 20).to_string(),
        };
        vec![
            Some(format!("2024-03-01T00:00:{:02}.{:06}Z", micros / 1_000_000, micros % 1_000_000)),
            (at % 9 != 0).then(|| {
                format!(
                    "2024-03-01T00:00:{:02}.{:09}Z",
                    nanos / 1_000_000_000,
                    nanos % 1_000_000_000
                )
            }),
            (at % 13 != 0).then_some(v),
            Some(format!("{}", (at % 7) as f32 * 0.5)),
            Some((at % 8).to_string()),
        ]
    };
    let append = |rows: Vec<Vec<Option<String>>>, columns: Option<Vec<&str>>| {
        let frame = json!({ "frame": { "columns": columns, "data": rows } });
        session.append_table_data(&id, request(frame)).unwrap();
    };
    let delete = |wanted: Value| {
        let deleted = session.delete_rows(&id, request(wanted)).unwrap();
        assert!(deleted.row_count > 0);
    };
    append((0..1_200).map(row).collect(), None);
    delete(json!({ "filters": [{ "column": "v", "operation": "EQUALS", "value": "3" }] }));
    delete(json!({ "indexFrom": "2024-03-01T00:00:00.100000Z",
        "indexBefore": "2024-03-01T00:00:00.105Z" }));
    let rename = json!({ "columns": [{ "name": "speed", "newName": "rate" }] });
    session.rename_columns(&id, request(rename)).unwrap();
    session.drop_columns(&id, request(json!({ "columns": ["old"] }))).unwrap();
    let extra = json!({ "name": "extra", "dataType": "INT32", "columnType": "NULLABLE" });
    session.add_columns(&id, request(json!({ "columns": [extra] }))).unwrap();
    append((1_200..1_600).map(row).collect(), Some(vec!["moment", "fine", "v", "rate", "extra"]));
    delete(json!({ "filters": [{ "column": "rate", "operation": "EQUALS", "value": "2.5" },
        { "column": "extra", "operation": "EQUALS", "value": "6" }] }));
}

/// A filled store, and ada's session.
pub fn filled() -> (tempfile::TempDir, Store, Session) {
    let directory = tempfile::tempdir().unwrap();
    let store = open(&directory.path().join("store"));
    let session = ada(&store);
    fill(&session);
    (directory, store, session)
}

/// A cell in the form that the script of the comparison prints, too.
pub fn cell(array: &dyn Array, row: usize) -> String {
    if array.is_null(row) {
        return "null".to_owned();
    }
    match array.data_type() {
        DataType::Float16 | DataType::Float32 | DataType::Float64 | DataType::Decimal128(..) => {
            let wide = cast(array, &DataType::Float64).unwrap();
            let value = wide.as_primitive::<Float64Type>().value(row);
            if value.is_nan() { "nan".to_owned() } else { format!("{:.8e}", value + 0.0) }
        }
        DataType::Timestamp(..) => {
            let plain = DataType::Timestamp(TimeUnit::Microsecond, None);
            let us = cast(array, &plain).unwrap();
            let us = us.as_primitive::<TimestampMicrosecondType>().value(row);
            match us % 1000 {
                0 => (us / 1000).to_string(),
                _ => format!("{us} us"),
            }
        }
        kind if kind.is_integer() => {
            let wide = cast(array, &DataType::Int64).unwrap();
            wide.as_primitive::<Int64Type>().value(row).to_string()
        }
        _ => array_value_to_string(array, row).unwrap(),
    }
}

/// The rows of an answer, one text for each.
pub fn lines(batches: &[RecordBatch]) -> Vec<String> {
    let line = |batch: &RecordBatch, row| {
        let cells: Vec<String> =
            batch.columns().iter().map(|array| cell(array.as_ref(), row)).collect();
        cells.join(" | ")
    };
    batches
        .iter()
        .flat_map(|batch| (0..batch.num_rows()).map(move |row| line(batch, row)))
        .collect()
}

/// By the door for statements of others.
pub async fn ask(sql: &SessionContext, statement: &str) -> Result<Vec<String>, String> {
    ask_with(sql, statement, None).await
}

/// [`ask`] with values for the placeholders of the statement.
pub async fn ask_with(
    sql: &SessionContext,
    statement: &str,
    values: Option<ParamValues>,
) -> Result<Vec<String>, String> {
    let limits = Limits::default();
    let rows = query_with(sql, statement, values, &limits).await;
    let batches = collect(rows.map_err(|error| error.to_string())?).await;
    Ok(lines(&batches.map_err(|error| error.to_string())?))
}

/// The physical plan of a statement.
pub async fn plan(sql: &SessionContext, statement: &str) -> String {
    let frame = sql.sql(&format!("explain {statement}")).await.unwrap();
    lines(&frame.collect().await.unwrap()).join("\n")
}

/// The rows of a statement, and what each read of the store for it is called, with its number of rows.
pub async fn read_by(sql: &SessionContext, statement: &str) -> (Vec<String>, Vec<(String, usize)>) {
    let frame = sql.sql(statement).await.unwrap_or_else(|error| panic!("{statement}: {error}"));
    let plan = frame.create_physical_plan().await.unwrap();
    let stream = execute_stream(plan.clone(), sql.task_ctx()).unwrap();
    let rows = collect(stream).await.unwrap_or_else(|error| panic!("{statement}: {error}"));
    let mut reads = Vec::new();
    add_reads(plan.as_ref(), &mut reads);
    (lines(&rows), reads)
}

fn add_reads(plan: &dyn ExecutionPlan, reads: &mut Vec<(String, usize)>) {
    if plan.name() == "StoreScan" {
        let metrics = plan.metrics().unwrap();
        let rows = metrics.sum_by_name("rows_read").map_or(0, |rows| rows.as_usize());
        reads.push((displayable(plan).one_line().to_string().trim().to_owned(), rows));
    }
    plan.children().iter().for_each(|child| add_reads(child.as_ref(), reads));
}

pub fn settle(store: &Store) {
    store.maintain(&Control::default()).unwrap();
}
