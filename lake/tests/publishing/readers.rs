//! Other engines read the lake to the same rows, with the statements of `docs/lake.md`.
//!
//! `STATIONDB_PYTHON` names the interpreter; the default is `python3`. Readers that are not
//! installed are skipped with a message.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use object_store::local::LocalFileSystem;
use serde_json::{Value, json};
use stationdb::prelude::*;
use stationdb::tables::DeleteRowsRequest;
use stationdb_lake::OneRoot;

use crate::common::*;

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
        con.execute(rows_sql)
        con.execute(products_sql)
        live = con.execute('select _table, _row, n, value, note from "%s_live"' % rows).fetchall()
        high = con.execute('select count(*) from "%s_live" where value > 100' % rows).fetchone()[0]
        found = con.execute("select part_number from product_latest").fetchall()
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
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/lake.md");
    let page = std::fs::read_to_string(page).unwrap();
    let blocks = page.split("```sql\n").skip(1).map(|rest| rest.split("```").next().unwrap());
    blocks.map(|block| block.replace("rows_1f2e3d4c", name)).collect()
}

/// What a script prints, and its errors; none where there is no Python.
fn python(script: &str, arguments: &[&str]) -> Option<(String, String)> {
    let named = std::env::var("STATIONDB_PYTHON").ok();
    let python = named.clone().unwrap_or_else(|| "python3".to_owned());
    let Ok(output) = Command::new(&python).args(["-c", script]).args(arguments).output() else {
        assert!(named.is_none(), "STATIONDB_PYTHON names {python}, which does not run");
        println!("skipped: there is no Python here; STATIONDB_PYTHON may name one");
        return None;
    };
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{errors}");
    Some((String::from_utf8(output.stdout).unwrap(), errors))
}

/// Removes the versions up to the last checkpoint of each log, and returns them.
fn clean(root: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut removed = Vec::new();
    for table in std::fs::read_dir(root).unwrap() {
        let log = table.unwrap().path().join("_delta_log");
        let files = std::fs::read_dir(&log).unwrap().map(|file| file.unwrap().path());
        let files: Vec<PathBuf> = files.collect();
        let name = |file: &Path| file.file_name().unwrap().to_str().unwrap().to_owned();
        let checkpoints = files.iter().filter(|file| name(file).ends_with(".checkpoint.parquet"));
        let last = checkpoints.map(|file| name(file)[..20].to_owned()).max();
        let Some(last) = last else { continue };
        for file in files.iter().filter(|file| name(file).ends_with(".json")) {
            if name(file)[..20] <= *last {
                removed.push((file.clone(), std::fs::read(file).unwrap()));
                std::fs::remove_file(file).unwrap();
            }
        }
    }
    removed
}

/// Writes the files of tables together into one, and prints how many were removed.
const COMPACT: &str = r#"
import os, sys
try:
    import deltalake
except ImportError:
    sys.exit(0)
for name in sys.argv[2:]:
    done = deltalake.DeltaTable(os.path.join(sys.argv[1], name)).optimize.compact()
    print(done["numFilesRemoved"])
"#;

/// Writes a checkpoint of each log, and prints how many.
const CHECKPOINTS: &str = r#"
import os, sys
try:
    import deltalake
except ImportError:
    sys.exit(0)
names = sorted(os.listdir(sys.argv[1]))
for name in names:
    deltalake.DeltaTable(os.path.join(sys.argv[1], name)).create_checkpoint()
print(len(names))
"#;

#[test]
fn a_publisher_begins_at_a_checkpoint_of_another_engine() {
    let directory = tempfile::tempdir().unwrap();
    let objects: Objects = Arc::new(LocalFileSystem::new_with_prefix(directory.path()).unwrap());
    let store = store();
    let session = ada(&store);
    let id = small_table(&session, "a", "");
    let kept = publisher(&store, &objects, OneRoot::new("lake"), "s1");
    for at in 0..4 {
        append(&session, &id, at * 10..at * 10 + 10);
        publish(&kept);
    }
    let root = directory.path().join("lake");
    let Some((lines, errors)) = python(CHECKPOINTS, &[root.to_str().unwrap()]) else { return };
    if lines.is_empty() {
        println!("skipped: deltalake is not installed {errors}");
        return;
    }
    let removed = clean(&root);
    assert!(removed.len() > 10);
    append(&session, &id, 40..50);
    assert_eq!(publish(&publisher(&store, &objects, OneRoot::new("lake"), "s1")).rows, 10);
    for (path, bytes) in removed {
        std::fs::write(path, bytes).unwrap();
    }
    assert_equal(&session, &objects, "lake", "s1", |_| true);
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
    let name = names(&objects, "lake").into_iter().find(|name| is_rows(name)).unwrap();
    let root = directory.path().join("lake");
    // Another engine compacts, so the checkpoints have files that were removed.
    let compacted = python(COMPACT, &[root.to_str().unwrap(), &name, "product_changes"]);
    println!("compacted: {compacted:?}");
    let more: Vec<String> = (0..12).map(|at| format!("P-later {at:02}")).collect();
    for (at, product) in more.iter().enumerate() {
        let at = at as i64;
        append(1_000 + at * 10..1_010 + at * 10);
        let before = format!("{}", 51 + at);
        session.delete_rows(&id, DeleteRowsRequest::new().index_before(before)).unwrap();
        let made = session.create_products(vec![from(json!({ "partNumber": product }))]).unwrap();
        assert!(made.error.is_none());
        publish(&first);
    }
    assert_equal(&session, &objects, "lake", "s1", |_| true);
    // Readers begin at the checkpoints.
    assert!(clean(&root).len() >= 40);

    let [rows, latest] = statements(&name).try_into().expect("the page has two statements");
    let latest: String = latest;
    let arguments = [root.to_str().unwrap(), &name, &rows, &latest];
    let Some((lines, errors)) = python(SCRIPT, &arguments) else { return };
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
    for line in lines.lines() {
        let (reader, found, found_high, products): (
            String,
            Vec<Vec<Option<String>>>,
            usize,
            Vec<String>,
        ) = serde_json::from_str(line).unwrap();
        assert_eq!(found, live, "{reader}");
        // NaN is the greatest value, and statistics do not hide it.
        assert_eq!(found_high, high, "{reader}");
        let names = ["P-1", "P-2", "P-3", "P-4"].into_iter().map(str::to_owned);
        let names: Vec<String> = names.chain(more.clone()).chain(["P-new".to_owned()]).collect();
        assert_eq!(products, names, "{reader}");
        readers.push(reader);
    }
    println!("read by {readers:?} {errors}");
}
