//! Other engines read the lake to the same rows, with the statements of `docs/lake.md`.
//!
//! `STATIONDB_PYTHON` names the interpreter; the default is `python3`. Readers that are not
//! installed are skipped with a message.

mod common;

use std::process::Command;
use std::sync::Arc;

use common::*;
use object_store::local::LocalFileSystem;
use serde_json::{Value, json};
use stationdb::prelude::*;
use stationdb::tables::DeleteRowsRequest;
use stationdb_lake::OneRoot;

/// Prints a line for each reader: its name, the live rows as texts, and the names of products.
const SCRIPT: &str = r#"
import json, sys
root, rows, rows_sql, products_sql = sys.argv[1:]
def cell(v):
    if isinstance(v, float):
        return "nan" if v != v else repr(v)
    return v if v is None else str(v)
def show(reader, live, high, products):
    live = sorted([[cell(v) for v in row] for row in live])
    print(json.dumps([reader, live, high, sorted(products)]))
try:
    import deltalake
except ImportError:
    sys.exit(0)
names = [rows, rows + "_deleted", "product_changes", "batches"]
tables = {n: deltalake.DeltaTable(root + "/" + n) for n in names}
def uris(t):
    return [u.replace("file://", "") for u in t.file_uris()]
try:
    import duckdb
    # By the files that the log names, as DuckDB reads Parquet.
    con = duckdb.connect()
    for n, t in tables.items():
        files = "read_parquet(%r, union_by_name=true)" % uris(t)
        con.execute('create view "%s" as select * from %s' % (n, files))
    def ask(con, reader):
        con.execute("create view live as " + rows_sql)
        live = con.execute("select _table, _row, n, value, note from live").fetchall()
        high = con.execute("select count(*) from live where value > 100").fetchone()[0]
        found = con.execute("select part_number from (%s)" % products_sql).fetchall()
        show(reader, live, high, [p for p, in found])
    ask(con, "duckdb")
    # By delta-rs: what it reads, asked through DuckDB.
    con = duckdb.connect()
    for n, t in tables.items():
        con.register(n, t.to_pyarrow_table())
    ask(con, "delta-rs")
except ImportError as missing:
    print(missing, file=sys.stderr)
try:
    import polars as pl
    frames = {n: pl.read_delta(root + "/" + n) for n in names}
    ctx = pl.SQLContext(frames)
    newest = frames["batches"]["_batch"].max()
    oldest = frames["batches"]["_rows_from"].max()
    data = frames[rows].filter(pl.col("_batch").is_between(oldest, newest))
    gone = frames[rows + "_deleted"].filter(pl.col("_batch") <= newest)
    pairs = data.join(gone, on=["_station", "_table"], suffix="_gone").filter(
        pl.col("_row").is_between(pl.col("_row_from"), pl.col("_row_to"))
        & (pl.col("_batch") < pl.col("_batch_gone")))
    live = data.join(pairs.select(["_table", "_row", "_batch"]), on=["_table", "_row", "_batch"], how="anti")
    changes = frames["product_changes"].filter(pl.col("_batch") <= newest)
    since = changes.filter(pl.col("_what") == "PASS")["_batch"].max() or 0
    latest = changes.filter((pl.col("_what") != "PASS") & (pl.col("_batch") >= since))
    latest = latest.sort("_sequence").unique("_id", keep="last").filter(pl.col("_what") != "DELETED")
    high = live.filter((pl.col("value") > 100)).height
    show("polars", live.select(["_table", "_row", "n", "value", "note"]).rows(), high, latest["part_number"].to_list())
except ImportError as missing:
    print(missing, file=sys.stderr)
"#;

/// The statements of the page, about the lake table with this name.
fn statements(name: &str) -> Vec<String> {
    let page = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/lake.md");
    let page = std::fs::read_to_string(page).unwrap();
    let blocks = page.split("```sql\n").skip(1).map(|rest| rest.split("```").next().unwrap());
    blocks.map(|block| block.replace("rows_1f2e3d4c", name)).collect()
}

#[test]
fn other_engines_read_the_same_rows() {
    let directory = tempfile::tempdir().unwrap();
    let objects: Objects = Arc::new(LocalFileSystem::new_with_prefix(directory.path()).unwrap());
    let store = store();
    let session = ada(&store);
    let columns = json!([
        { "name": "n", "dataType": "INT64", "columnType": "INDEX" },
        { "name": "value", "dataType": "FLOAT64", "columnType": "NULLABLE" },
        { "name": "note", "dataType": "STRING", "columnType": "NULLABLE" },
    ]);
    let id = session.create_table(from(json!({ "name": "a", "columns": columns }))).unwrap();
    let append = |rows: std::ops::Range<i64>| {
        let row = |n: i64| {
            let value = (n % 7 != 0).then(|| match n % 25 {
                0 => "NaN".to_owned(),
                1 => "Infinity".to_owned(),
                n => format!("{}", n as f64 * 0.25),
            });
            json!([n.to_string(), value, format!("note {}", n % 3)])
        };
        let data: Vec<Value> = rows.map(row).collect();
        session.append_table_data(&id, from(json!({ "frame": { "data": data } }))).unwrap();
    };
    let first = publisher(&store, &objects, OneRoot::new("lake"), "s1");
    let products = (0..5).map(|at| from(json!({ "partNumber": format!("P-{at}") }))).collect();
    let made = session.create_products(products).unwrap().products;
    append(0..600);
    publish(&first);
    append(600..1_000);
    session.delete_rows(&id, DeleteRowsRequest::new().index_before("50")).unwrap();
    session.delete_products(vec![made[0].id.clone().unwrap()]).unwrap();
    let one = json!({ "partNumber": "P-new" });
    let _ = session.create_products(vec![from(one)]).unwrap();
    publish(&first);
    assert_equal(&session, &objects, "lake", "s1", |_| true);

    let name = names(&objects, "lake").into_iter().find(|name| is_rows(name)).unwrap();
    let [rows, latest] = statements(&name).try_into().expect("the page has two statements");
    let latest: String = latest;
    let named = std::env::var("STATIONDB_PYTHON").ok();
    let python = named.clone().unwrap_or_else(|| "python3".to_owned());
    let root = directory.path().join("lake");
    let asked = Command::new(&python)
        .args(["-c", SCRIPT, root.to_str().unwrap(), &name, &rows, &latest])
        .output();
    let Ok(output) = asked else {
        assert!(named.is_none(), "STATIONDB_PYTHON names {python}, which does not run");
        println!("skipped: there is no Python here; STATIONDB_PYTHON may name one");
        return;
    };
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    let expected = store_rows(&session, |_| true);
    let high = expected
        .values()
        .filter_map(|row| row.get("value")?.parse::<f64>().ok())
        .filter(|value| value.is_nan() || *value > 100.0)
        .count();
    let mut live: Vec<Vec<Option<String>>> = expected
        .iter()
        .map(|((id, at), row)| {
            let float = row.get("value").map(|text| match text.parse::<f64>().unwrap() {
                value if value.is_nan() => "nan".to_owned(),
                value if value.is_infinite() => "inf".to_owned(),
                value => format!("{value:?}"),
            });
            vec![
                Some(id.clone()),
                Some(at.to_string()),
                row.get("n").cloned(),
                float,
                row.get("note").cloned(),
            ]
        })
        .collect();
    live.sort();
    let mut readers = Vec::new();
    for line in String::from_utf8(output.stdout).unwrap().lines() {
        let (reader, found, found_high, products): (
            String,
            Vec<Vec<Option<String>>>,
            usize,
            Vec<String>,
        ) = serde_json::from_str(line).unwrap();
        assert_eq!(found, live, "{reader}");
        // NaN is the greatest value, and statistics do not hide it.
        assert_eq!(found_high, high, "{reader}");
        assert_eq!(products, ["P-1", "P-2", "P-3", "P-4", "P-new"], "{reader}");
        readers.push(reader);
    }
    println!("read by {readers:?} {errors}");
}
