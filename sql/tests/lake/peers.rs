//! Other engines answer the statements over the lake, through the views of `Lake::views`.
//!
//! `STATIONDB_PYTHON` names the interpreter. When it is set, an engine that is missing is a failure;
//! otherwise it is skipped with a message.

use std::process::Command;

use datafusion::arrow::datatypes::DataType;
use datafusion::object_store::local::LocalFileSystem;
use serde_json::{Value, json};
use stationdb::prelude::*;
use stationdb::tables::DeleteRowsRequest;
use stationdb_lake::{Lake, LakeRelation};

use super::*;

/// What all engines do: cells as text, and the names and types of the columns of each table.
const BEGIN: &str = r#"
import sys, os, json, datetime, decimal, re
def cell(v):
    if v is None: return "null"
    if isinstance(v, bool): return "true" if v else "false"
    if isinstance(v, int): return str(v)
    if isinstance(v, decimal.Decimal): v = float(v)
    if isinstance(v, float):
        if v != v: return "nan"
        mantissa, exponent = ("%.8e" % (v + 0.0)).split("e")
        return "%se%d" % (mantissa, int(exponent))
    if isinstance(v, datetime.datetime):
        us = (v - datetime.datetime(1970, 1, 1)) // datetime.timedelta(microseconds=1)
        return "%d us" % us if us % 1000 else str(us // 1000)
    return str(v)
spec = json.load(open(sys.argv[1], encoding="utf-8"))
import deltalake
tables = {name: deltalake.DeltaTable(os.path.join(spec["root"], name)) for name in spec["tables"]}
def ask(statements, run):
    for line in statements:
        print("\x1e" + line)
        for row in run(line):
            print(" | ".join(cell(v) for v in row))
"#;

/// The tables of a context over the lake, over `db`, which has the lake tables.
const DUCKDB_VIEWS: &str = r#"
def views(db):
    db.execute("set timezone = 'UTC'")
    db.execute("set enable_progress_bar = false")
    db.execute("create schema rows")
    for view in spec["views"]:
        db.execute('create view "%s" as %s' % (view["name"], view["sql"]))
    for table in spec["shown"]:
        def one(c):
            name = '"%s"' % c["lake"]
            if c["form"] == "ns": name = "make_timestamp_ns(%s)" % name
            if c["form"] == "time": name = "make_timestamp(epoch_us(%s))" % name
            return '%s as "%s"' % (name, c["name"])
        columns = ", ".join(one(c) for c in table["columns"])
        db.execute('create view %s as select %s from "%s" where %s' %
                   (table["name"], columns, table["view"], table["where"]))
def run(db):
    def query(line):
        line = re.sub(r"cast\((\w+) as bigint\)", r"epoch_ns(\1)", line).replace("date_bin(", "time_bucket(")
        return db.execute(line).fetchall()
    return query
"#;

const DUCKDB: &str = r#"
import duckdb
db = duckdb.connect()
for name, table in tables.items():
    files = [uri.replace("file://", "") for uri in table.file_uris()]
    db.execute('create view "%s" as select * from read_parquet(%r, union_by_name=true)' % (name, files))
views(db)
ask(spec["statements"], run(db))
"#;

const DELTALAKE: &str = r#"
import duckdb
db = duckdb.connect()
for name, table in tables.items():
    db.register(name, table.to_pyarrow_table())
views(db)
ask(spec["statements"], run(db))
"#;

/// Polars has no schemas, and compares times without a time zone.
const POLARS: &str = r#"
import polars as pl
import polars.selectors as cs
OTHERS = ["isnan", "channel, max(volts)", "order by v desc", "['", "array_has", "percentile_cont", "date_bin"]
context = pl.SQLContext({name: pl.read_delta(os.path.join(spec["root"], name)) for name in tables})
for view in spec["views"]:
    context.register(view["name"], context.execute(view["sql"], eager=True))
for table in spec["shown"]:
    frame = context.execute('select * from "%s" where %s' % (table["view"], table["where"]), eager=True)
    def one(c):
        found = pl.col(c["lake"])
        if c["form"] == "ns": found = pl.from_epoch(found, time_unit="ns")
        return found.alias(c["name"])
    frame = frame.select([one(c) for c in table["columns"]])
    frame = frame.with_columns(cs.datetime(time_zone="*").dt.replace_time_zone(None))
    context.register(table["name"].replace('rows."', "rows__").replace('"', ""), frame)
def query(line):
    line = re.sub(r'rows\."([^"]*)"', r'"rows__\1"', line).replace("rows.empty", "rows__empty")
    return context.execute(line, eager=True).rows()
ask([line for line in spec["statements"] if not any(part in line for part in OTHERS)], query)
"#;

/// The columns of a lake table as a statement names them.
fn columns(relation: &LakeRelation, names: &[String]) -> Value {
    let one = |name: &String| {
        let mut found: Vec<_> =
            relation.fields.iter().filter(|field| field.stored.as_ref() == Some(name)).collect();
        // Nanoseconds last.
        found.sort_by_key(|field| field.is_nanoseconds);
        let found = found.pop().unwrap_or_else(|| panic!("no {name} in {}", relation.name));
        let form = match found.field.data_type() {
            _ if found.is_nanoseconds => "ns",
            DataType::Timestamp(..) => "time",
            _ => "",
        };
        json!({ "lake": found.field.name(), "name": name, "form": form })
    };
    names.iter().map(one).collect()
}

/// The names of the columns of a table of a context.
async fn names(sql: &SessionContext, table: &str) -> Vec<String> {
    let frame = sql.sql(&format!("select * from {table}")).await.unwrap();
    frame.schema().fields().iter().map(|field| field.name().clone()).collect()
}

async fn spec(root: &std::path::Path, objects: &Objects, session: &Session) -> Value {
    let opening = objects.clone();
    let open = move || Lake::open(opening, &ROOT.into(), &Control::default()).unwrap();
    let read = tokio::task::spawn_blocking(open).await.unwrap();
    let store = stationdb_sql::context(session).unwrap();
    let mut lake_tables = vec!["batches".to_owned()];
    let mut shown = Vec::new();
    for kind in [RecordKind::Product, RecordKind::WorkItem, RecordKind::Specification] {
        let relation = read.changes(kind).unwrap();
        let name = format!("{}s", kind.to_string().to_lowercase());
        let view = relation.name.replace("_changes", "_latest");
        lake_tables.push(relation.name.clone());
        shown.push(json!({ "name": name, "view": view, "where": "1 = 1",
            "columns": columns(relation, &names(&store, &name).await) }));
    }
    for lake in read.rows() {
        lake_tables.push(lake.rows.name.clone());
        lake_tables.extend(lake.deleted.as_ref().map(|deleted| deleted.name.clone()));
    }
    for table in session.list_tables(Default::default()).unwrap().tables {
        let (id, name) = (table.id.unwrap(), table.name.unwrap());
        let own = names(&store, &format!("rows.\"{id}\"")).await;
        let has = |relation: &LakeRelation| {
            let has =
                |name: &String| relation.fields.iter().any(|f| f.stored.as_ref() == Some(name));
            own.iter().all(has)
        };
        let lake = read.rows().iter().find(|lake| has(&lake.rows)).unwrap();
        if name != "twice" {
            shown.push(json!({ "name": format!("rows.\"{name}\""),
                "view": format!("{}_live", lake.rows.name), "columns": columns(&lake.rows, &own),
                "where": format!("_station = 's1' and _table = '{id}'") }));
        }
    }
    let is_read = |view: &stationdb_lake::LakeView| {
        let of = view.name.rsplit_once('_').unwrap().0;
        lake_tables.iter().any(|name| name == of || *name == format!("{of}_changes"))
    };
    let views: Vec<Value> = read
        .views()
        .iter()
        .filter(|view| is_read(view))
        .map(|view| json!({ "name": view.name, "sql": view.sql }))
        .collect();
    json!({ "root": root.join(ROOT), "tables": lake_tables, "views": views, "shown": shown,
        "statements": STATEMENTS.lines().collect::<Vec<_>>() })
}

#[tokio::test(flavor = "multi_thread")]
async fn other_engines_answer_the_statements_through_views() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(&directory.path().join("store"));
    let session = ada(&store);
    fill(&session);
    let root = directory.path().join("objects");
    std::fs::create_dir(&root).unwrap();
    let objects: Objects = Arc::new(LocalFileSystem::new_with_prefix(&root).unwrap());
    publish(&store, &objects, "s1");
    // Rows and records that are in the lake, and do not count any more.
    let tables = session.list_tables(Default::default()).unwrap().tables;
    let first = tables.iter().find(|table| table.name.as_deref() == Some("Loop 1")).unwrap();
    let request = DeleteRowsRequest::new().index_before("2024-03-01T00:01:00Z");
    session.delete_rows(first.id.as_ref().unwrap(), request).unwrap();
    let product = json!({ "partNumber": "P-98", "family": "F2" });
    let made = session.create_products(vec![common::request(product)]).unwrap();
    publish(&store, &objects, "s1");
    let _ = session.delete_products(vec![made.products[0].id.clone().unwrap()]).unwrap();
    publish(&store, &objects, "s1");
    let file = directory.path().join("spec.json");
    let spec = spec(&root, &objects, &session).await;
    std::fs::write(&file, spec.to_string()).unwrap();
    let sql = stationdb_sql::context(&session).unwrap();
    let mut expected = std::collections::BTreeMap::new();
    for statement in STATEMENTS.lines() {
        expected.insert(statement.to_owned(), answers(&sql, statement).await);
    }
    let named = std::env::var("STATIONDB_PYTHON");
    let python = named.clone().unwrap_or_else(|_| "python3".to_owned());
    let (duckdb, deltalake) =
        (format!("{DUCKDB_VIEWS}{DUCKDB}"), format!("{DUCKDB_VIEWS}{DELTALAKE}"));
    let peers: [(&str, &str, &str); 3] = [
        ("DuckDB", "deltalake, duckdb", &duckdb),
        ("deltalake", "deltalake, duckdb, pyarrow", &deltalake),
        ("Polars", "deltalake, polars", POLARS),
    ];
    for (peer, needed, script) in peers {
        let has = Command::new(&python).args(["-c", &format!("import {needed}")]).output();
        if !has.is_ok_and(|output| output.status.success()) {
            assert!(named.is_err(), "{python} cannot import {needed}");
            println!("skipped: {python} cannot import {needed}");
            continue;
        }
        let output = Command::new(&python)
            .args(["-c", &format!("{BEGIN}{script}")])
            .arg(&file)
            .env("PYTHONIOENCODING", "utf-8")
            .output()
            .unwrap();
        assert!(output.status.success(), "{peer}: {}", String::from_utf8_lossy(&output.stderr));
        let text = String::from_utf8(output.stdout).unwrap();
        let mut count = 0;
        for answer in text.split('\u{1e}').skip(1) {
            let mut lines = answer.lines();
            let statement = lines.next().unwrap();
            let found: Vec<&str> = lines.collect();
            assert_eq!(expected[statement], found, "{peer}: {statement}");
            count += 1;
        }
        assert!(count >= 40, "{peer} was asked {count} statements");
        println!("{peer} gives the same {count} answers");
    }
}
