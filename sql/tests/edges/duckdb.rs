//! The same statements in DuckDB, over an export of the same rows.

use std::path::Path;
use std::process::Command;

use datafusion::prelude::SessionContext;
use stationdb::prelude::*;
use stationdb::tables::{ExportFormat, ExportTableDataRequest};
use stationdb::{Control, Session};
use stationdb_sql::datafusion;

use crate::common::ask;

const SCRIPT: &str = r#"
import sys, duckdb
path, statements = sys.argv[1:]
db = duckdb.connect()
db.execute("set timezone = 'UTC'")
db.execute("create table e as select n, i, l, f, d from read_parquet('%s')" % path)
def cell(v):
    return "null" if v is None else str(v).lower()
for line in open(statements, encoding="utf-8"):
    try:
        rows = db.execute(line).fetchall()
        print(";".join(" | ".join(cell(v) for v in row) for row in rows))
    except duckdb.Error:
        print("error")
"#;

/// Statements whose answers are whole numbers and truth values in both.
fn statements() -> Vec<String> {
    let mut out = Vec::new();
    for name in ["i", "l", "f", "d"] {
        for operator in ["=", "<>", "<", "<=", ">", ">="] {
            for literal in ["0", "1", "-1", "9223372036854775807", "-9223372036854775807"] {
                out.push(format!("select n, {name} {operator} {literal} from e order by n"));
                out.push(format!("select n from e where {name} {operator} {literal} order by n"));
            }
        }
        out.push(format!("select n from e order by {name} nulls last, n"));
        out.push(format!("select n from e order by {name} desc nulls first, n"));
        out.push(format!("select n from e where -{name} > 0 and n > 0 order by n"));
        out.push(format!("select n from e where {name} * 0 = 0 order by n"));
        out.push(format!("select count(distinct {name}), count({name}) from e"));
        out.push(format!(
            "select n, {name} in (0, null), {name} not in (1, null) from e order by n"
        ));
        out.push(format!("select n, {name} between -1 and 1 from e order by n"));
    }
    for (left, right) in [("i", "l"), ("l", "l"), ("i", "i")] {
        for operator in ["+", "-", "*", "%"] {
            for (a, b) in [(0, 0), (1, 8), (2, 5), (5, 6), (6, 6), (8, 8), (7, 5), (4, 1)] {
                out.push(format!(
                    "select a.{left} {operator} b.{right} from e a, e b where a.n = {a} and \
                     b.n = {b}"
                ));
            }
        }
    }
    for filter in ["n < 2", "n > 5", "n between 2 and 6", "n = 4", "n in (0, 8)"] {
        out.push(format!("select sum(i), min(l), max(l), count(l) from e where {filter}"));
    }
    out
}

pub async fn compare(sql: &SessionContext, session: &Session, directory: &Path) {
    let python = std::env::var("STATIONDB_PYTHON").unwrap_or_else(|_| "python3".to_owned());
    let has = Command::new(&python).args(["-c", "import duckdb"]).output();
    if !has.is_ok_and(|output| output.status.success()) {
        println!("skipped: {python} has no duckdb");
        return;
    }
    let table = session.list_tables(Default::default()).unwrap().tables.remove(0);
    let path = directory.join("e.parquet");
    let mut file = std::fs::File::create(&path).unwrap();
    let format = ExportTableDataRequest::new(ExportFormat::Parquet);
    let control = Control::default();
    session.export_table_data(&table.id.unwrap(), format, &mut file, &control).unwrap();
    let (statements, list) = (statements(), directory.join("statements.sql"));
    std::fs::write(&list, statements.join("\n")).unwrap();
    let output = Command::new(&python).args(["-c", SCRIPT]).args([&path, &list]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let theirs = String::from_utf8(output.stdout).unwrap();
    assert_eq!(theirs.lines().count(), statements.len());
    let mut wrong = Vec::new();
    for (statement, theirs) in statements.iter().zip(theirs.lines()) {
        let own = ask(sql, statement).await.map_or("error".to_owned(), |rows| rows.join(";"));
        // A sum is wider in DuckDB, and a product of INT32 is not.
        if own != theirs && own != "error" {
            wrong.push(format!("{statement}\n  here: {own}\n  DuckDB: {theirs}"));
        }
    }
    assert!(wrong.is_empty(), "{} differ:\n{}", wrong.len(), wrong.join("\n"));
    println!("DuckDB answers {} statements alike", statements.len());
}
