//! What a policy hides is in no table, list, count, function or error.

mod common;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use common::{ask, create, filled, request};
use datafusion::arrow::util::display::array_value_to_string;
use datafusion::prelude::SessionContext;
use serde_json::{Value, json};
use stationdb::prelude::*;
use stationdb::{AccessPolicy, Action, Identity, Service, Session, Store, Visibility};
use stationdb_sql::{context, datafusion};

/// The tables of records and that of quotas, and how many of their records a guest does not see.
const KINDS: [(&str, usize); 17] = [
    ("asset_utilizations", 2),
    ("assets", 2),
    ("feeds", 2),
    ("files", 2),
    ("measurements", 4),
    ("packages", 2),
    ("products", 6),
    ("quotas", 1),
    ("results", 3),
    ("specifications", 3),
    ("steps", 4),
    ("tables", 2),
    ("test_plan_templates", 2),
    ("test_plans", 2),
    ("work_item_templates", 2),
    ("work_items", 20),
    ("workspaces", 1),
];
/// Texts that are long enough to be found inside of others.
const LONG: usize = 16;

/// Results of the products, with steps and measurements; one leaves its steps.
fn fill_results(session: &Session) {
    for at in 0..8 {
        let place = if at % 2 == 0 { "open" } else { "closed" };
        let result = json!({ "programName": format!("Program {place}"), "partNumber": format!("P-{at:02}"),
            "serialNumber": format!("serial number {at}"), "status": { "statusType": "FAILED" },
            "workspace": place });
        let parameter = json!({ "name": format!("measurement {place}"), "measurement": "1" });
        let step = json!({ "name": format!("step of the {place} one"),
            "status": { "statusType": "FAILED" }, "data": { "parameters": [parameter] } });
        let id = create(session, result, vec![step]);
        if at == 7 {
            session.delete_result(&id, false).unwrap();
        }
    }
}

/// All cells of an answer, one row after the other, and the number of rows.
async fn cells(sql: &SessionContext, statement: &str) -> Result<(Vec<String>, usize), String> {
    let frame = sql.sql(statement).await.map_err(|error| error.to_string())?;
    let batches = frame.collect().await.map_err(|error| error.to_string())?;
    let (mut cells, mut rows) = (Vec::new(), 0);
    for batch in &batches {
        rows += batch.num_rows();
        for row in 0..batch.num_rows() {
            let texts = batch.columns().iter().map(|array| array_value_to_string(array, row));
            cells.extend(texts.map(Result::unwrap));
        }
    }
    Ok((cells, rows))
}

/// The texts in a record.
fn leaves(value: &Value, out: &mut BTreeSet<String>) {
    match value {
        Value::String(text) => {
            out.insert(text.clone());
        }
        Value::Array(all) => all.iter().for_each(|one| leaves(one, out)),
        Value::Object(all) => all.values().for_each(|one| leaves(one, out)),
        _ => {}
    }
}

async fn texts(sql: &SessionContext, kind: &str, place: &str) -> BTreeSet<String> {
    let column = if kind == "measurements" { "'\"' || name || '\"'" } else { "record" };
    let statement = format!("select {column} from {kind} where workspace = '{place}'");
    let mut found = BTreeSet::new();
    for record in cells(sql, &statement).await.unwrap().0 {
        leaves(&serde_json::from_str(&record).unwrap(), &mut found);
    }
    found
}

/// Fails if one of the cells is a hidden text, or has one in it.
#[track_caller]
fn assert_hidden(secrets: &BTreeSet<String>, cells: &[String], place: &str) {
    for cell in cells {
        let mut inside = BTreeSet::from([cell.clone()]);
        if let Ok(record) = serde_json::from_str(cell) {
            leaves(&record, &mut inside);
        }
        let told: Vec<&String> = secrets.intersection(&inside).collect();
        assert!(told.is_empty(), "{place} tells {told:?}: {cell}");
        let mut long = secrets.iter().filter(|secret| secret.len() >= LONG);
        let told = long.find(|secret| cell.contains(secret.as_str()));
        assert!(told.is_none(), "{place} tells {told:?}: {cell}");
    }
}

/// The tables that a caller finds, by schema.
async fn listed(sql: &SessionContext) -> BTreeMap<String, Vec<String>> {
    let statement = "select table_schema, table_name from information_schema.tables";
    let mut tables: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for pair in cells(sql, statement).await.unwrap().0.chunks(2) {
        tables.entry(pair[0].clone()).or_default().push(pair[1].clone());
    }
    tables.values_mut().for_each(|names| names.sort());
    tables
}

#[tokio::test(flavor = "multi_thread")]
async fn no_table_has_what_is_hidden() {
    let (_directory, store, session) = filled();
    fill_results(&session);
    let owner = context(&session).unwrap();
    let (mut secrets, mut open) = (BTreeSet::new(), BTreeSet::new());
    for (kind, _) in KINDS {
        secrets.append(&mut texts(&owner, kind, "closed").await);
        open.append(&mut texts(&owner, kind, "open").await);
    }
    // Numbers of one or two digits are everywhere.
    let is_small = |text: &str| text.len() < 3 && text.bytes().all(|byte| byte.is_ascii_digit());
    secrets.retain(|text| !open.contains(text) && !is_small(text));
    assert!(secrets.contains("closed") && secrets.contains("Loop 2"), "{secrets:?}");
    assert!(secrets.iter().filter(|text| text.len() >= LONG).count() >= 30, "{secrets:?}");

    for who in ["guest", "stranger"] {
        let sql = context(&store.session(Identity::user(who))).unwrap();
        let tables = listed(&sql).await;
        let schemas: Vec<&String> = tables.keys().collect();
        match who {
            "guest" => assert_eq!(schemas, ["information_schema", "public", "rows"]),
            _ => assert_eq!(schemas, ["information_schema", "public"]),
        }
        assert_eq!(tables["public"], KINDS.map(|(kind, _)| kind), "{who}");
        for (schema, names) in &tables {
            for name in names {
                let place = format!("{schema}.\"{name}\"");
                let (all, rows) = cells(&sql, &format!("select * from {place}")).await.unwrap();
                assert_hidden(&secrets, &all, &place);
                // A limit is passed on, and reads otherwise.
                let limited = format!("select * from {place} limit 1000000");
                let (limited, limited_rows) = cells(&sql, &limited).await.unwrap();
                assert_hidden(&secrets, &limited, &place);
                assert_eq!(limited_rows, rows, "{place}");
                let counted = ask(&sql, &format!("select count(*) from {place}")).await.unwrap();
                assert_eq!(counted, [rows.to_string()], "{place}");
                assert!(who == "guest" || schema != "public" || rows == 0, "{place}: {rows}");
            }
        }
        for (kind, hidden) in KINDS.iter().filter(|_| who == "guest") {
            let count = format!("select count(*) from {kind}");
            let seen: usize = ask(&sql, &count).await.unwrap()[0].parse().unwrap();
            let all: usize = ask(&owner, &count).await.unwrap()[0].parse().unwrap();
            assert_eq!(all - seen, *hidden, "{kind}");
            // Neither a condition nor a limit is told more.
            let asked = format!("{count} where workspace is distinct from 'open'");
            assert_eq!(ask(&sql, &asked).await.unwrap(), ["0"], "{kind}");
            let asked = format!("{count} where workspace = 'closed'");
            assert_eq!(ask(&sql, &asked).await.unwrap(), ["0"], "{kind}");
            let asked = format!("select count(*) from (select * from {kind} limit 1)");
            assert_eq!(ask(&sql, &asked).await.unwrap(), [seen.min(1).to_string()], "{kind}");
        }
    }
    // A name is unique among the tables that the caller sees.
    let guest = context(&store.session(Identity::user("guest"))).unwrap();
    assert_eq!(ask(&guest, "select count(*) from rows.twice").await.unwrap(), ["0"]);
    assert!(ask(&owner, "select count(*) from rows.twice").await.is_err());
}

#[tokio::test(flavor = "multi_thread")]
async fn no_function_and_no_error_has_what_is_hidden() {
    let (_directory, store, session) = filled();
    fill_results(&session);
    let owner = context(&session).unwrap();
    // What the engine has by itself reads no store.
    let plain = SessionContext::new();
    let own = |names: Vec<String>, engine: Vec<String>| -> Vec<String> {
        let mut own: Vec<String> =
            names.into_iter().filter(|name| !engine.contains(name)).collect();
        own.sort();
        own
    };
    let (with, without) = (owner.state(), plain.state());
    assert_eq!(
        own(
            with.table_functions().keys().cloned().collect(),
            without.table_functions().keys().cloned().collect()
        ),
        [
            "capability",
            "control_chart",
            "decimate",
            "failure_pareto",
            "histogram",
            "rolled_throughput",
            "search",
            "yields"
        ]
    );
    assert_eq!(
        own(
            with.scalar_functions().keys().cloned().collect(),
            without.scalar_functions().keys().cloned().collect()
        ),
        [
            "check_spec",
            "checked_add",
            "checked_float",
            "checked_multiply",
            "checked_shift",
            "checked_shift_right",
            "checked_step",
            "checked_subtract",
            "compare_exactly",
            "settle",
            "try_checked_float",
        ]
    );
    let hidden = "select id from tables where name = 'Loop 2'";
    let id = ask(&owner, hidden).await.unwrap().remove(0);
    for who in ["guest", "stranger"] {
        let sql = context(&store.session(Identity::user(who))).unwrap();
        let hits = "select workspace, count(*) from search('Amplifier') group by workspace";
        let seen = ask(&sql, hits).await.unwrap();
        let expected: &[&str] = if who == "guest" { &["open | 6"] } else { &[] };
        assert_eq!(seen, expected, "{who}");
        let bad = "select coalesce(sum(bad), 0) from yields('', 'PROGRAM_NAME')";
        let failed = "select coalesce(sum(count), 0) from failure_pareto('')";
        let measured = "select n from capability('', '', 'measurement closed')";
        let count = if who == "guest" { "4" } else { "0" };
        assert_eq!(ask(&sql, bad).await.unwrap(), [count], "{who}");
        assert_eq!(ask(&sql, failed).await.unwrap(), [count], "{who}");
        let rolled = "select count(*) from rolled_throughput('')";
        assert_eq!(ask(&sql, rolled).await.unwrap(), [count], "{who}");
        // A join of what is seen with what is hidden.
        let joined = "select count(*) from steps s join results r on s.result_id = r.id \
            where r.program_name = 'Program closed'";
        assert_eq!(ask(&sql, joined).await.unwrap(), ["0"], "{who}");
        assert_eq!(ask(&owner, joined).await.unwrap(), ["3"]);
        assert_eq!(ask(&sql, measured).await.unwrap(), ["0"], "{who}");
        assert_eq!(ask(&owner, measured).await.unwrap(), ["3"]);
        // A hidden table and one that is not there are told alike.
        for name in ["Loop 2", id.as_str()] {
            for form in [
                "select * from rows.\"?\"",
                "select count(*) from \"?\"",
                "select * from stationdb.rows.\"?\"",
                "explain select * from rows.\"?\"",
                "describe rows.\"?\"",
                "show columns from rows.\"?\"",
                "select * from decimate('?', 'value', 10)",
                "select * from decimate('?', 'no such column', 10)",
                "select count(*) from information_schema.columns where table_name = '?'",
                "select * from rows.\"Loop 1\" where note = (select max(n) from rows.\"?\")",
            ] {
                let told = |name: &str| {
                    let (sql, statement) = (sql.clone(), form.replace('?', name));
                    let name = name.to_owned();
                    async move {
                        match cells(&sql, &statement).await {
                            Ok((cells, rows)) => format!("{rows} {cells:?}"),
                            Err(error) => error.replace(&name, "?"),
                        }
                    }
                };
                assert_eq!(told(name).await, told("no such table").await, "{who}: {form}");
            }
        }
    }
}

/// A policy may change while a context lives: what it knows of a table then tells nothing.
#[tokio::test(flavor = "multi_thread")]
async fn what_is_hidden_later_is_hidden_in_the_same_context() {
    let directory = tempfile::tempdir().unwrap();
    let gate = Gate::default();
    let options = Store::options().access_policy(gate.clone());
    let store = options.open(directory.path()).unwrap();
    let session = store.session(Identity::user("guest"));
    let columns = json!([{ "name": "n", "dataType": "INT64", "columnType": "INDEX" }]);
    let id = session.create_table(request(json!({ "name": "run", "columns": columns }))).unwrap();
    let rows = json!({ "frame": { "data": [["1"], ["2"], ["3"]] } });
    session.append_table_data(&id, request(rows)).unwrap();
    let sql = context(&session).unwrap();
    let statements = [
        ("select count(*) from rows.run", "3"),
        ("select min(n), max(n) from rows.run", "1 | 3"),
        ("select count(*) from rows.run where n > 1", "2"),
        ("select max(n) from decimate('run', 'n', 1)", "3"),
        ("select count(*) from tables", "1"),
    ];
    for is_shut in [false, true, false] {
        gate.0.store(is_shut, Ordering::SeqCst);
        for (statement, expected) in statements {
            let answer = ask(&sql, statement).await;
            match (is_shut, statement.ends_with("tables")) {
                (false, _) => assert_eq!(answer, Ok(vec![expected.to_owned()]), "{statement}"),
                (true, true) => assert_eq!(answer, Ok(vec!["0".to_owned()]), "{statement}"),
                (true, false) => assert!(answer.is_err(), "{statement}: {answer:?}"),
            }
        }
    }
}

/// Hides everything from everyone while it is shut.
#[derive(Clone, Debug, Default)]
struct Gate(Arc<AtomicBool>);

impl AccessPolicy for Gate {
    fn visible(&self, _who: &Identity, _service: Service, _action: Action) -> Visibility {
        if self.0.load(Ordering::SeqCst) { Visibility::None } else { Visibility::All }
    }
}
