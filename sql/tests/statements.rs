//! Each statement has a committed answer, and the same one in DuckDB over an export of the same
//! data.
//!
//! `STATIONDB_SQL_ANSWERS=1` writes the answers of this build. `STATIONDB_PYTHON` names the
//! interpreter; where it has no DuckDB, the comparison is skipped with a message.

mod common;

use std::path::{Path, PathBuf};
use std::process::Command;

use common::{ada, ask, fill, open, settle};
use stationdb::prelude::*;
use stationdb::scans::{RecordKind, ScanRecordsRequest};
use stationdb::tables::{ExportFormat, ExportTableDataRequest};
use stationdb::{Control, Session};

const STATEMENTS: &str = include_str!("statements.sql");

/// Prints the answer of each statement, as the test writes them.
const SCRIPT: &str = r#"
import sys, datetime, decimal
import duckdb
directory, statements = sys.argv[1:]
db = duckdb.connect()
db.execute("create schema rows")
import os
for name in sorted(os.listdir(directory)):
    stem = name[:-len(".parquet")]
    schema, table = stem.split("__")
    path = os.path.join(directory, name)
    times = [c[0] for c in db.execute("describe select * from read_parquet(?)", [path]).fetchall() if c[1].startswith("TIMESTAMP")]
    replace = ", ".join('make_timestamp(epoch_ms("%s") * 1000) as "%s"' % (c, c) for c in times)
    replace = " replace (%s)" % replace if replace else ""
    db.execute("""create view %s."%s" as select *%s from read_parquet('%s')""" % (schema, table, replace, path))
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
        return str(round((v - datetime.datetime(1970, 1, 1)).total_seconds() * 1000))
    return str(v)
for line in open(statements, encoding="utf-8"):
    print("> " + line.strip())
    for row in db.execute(line).fetchall():
        print(" | ".join(cell(v) for v in row))
"#;

/// Writes each table and each kind of record into a Parquet file.
fn export(session: &Session, directory: &Path) {
    let control = Control::default();
    for table in session.list_tables(Default::default()).unwrap().tables {
        let name = table.name.unwrap();
        let path = directory.join(format!("rows__{name}.parquet"));
        let mut file = std::fs::File::create(path).unwrap();
        let format = ExportTableDataRequest::new(ExportFormat::Parquet);
        session.export_table_data(&table.id.unwrap(), format, &mut file, &control).unwrap();
    }
    let kinds = [
        (RecordKind::Product, "products"),
        (RecordKind::WorkItem, "work_items"),
        (RecordKind::Specification, "specifications"),
    ];
    for (kind, name) in kinds {
        let file = std::fs::File::create(directory.join(format!("main__{name}.parquet"))).unwrap();
        let stream = session.scan_records(ScanRecordsRequest::new(kind), &control).unwrap();
        let mut writer = parquet::arrow::ArrowWriter::try_new(file, stream.schema(), None).unwrap();
        for batch in stream {
            writer.write(&batch.unwrap()).unwrap();
        }
        writer.close().unwrap();
    }
}

fn compare(expected: &str, found: &str, who: &str) {
    let mut wrong = Vec::new();
    let parts = |text: &str| text.split("> ").map(str::to_owned).collect::<Vec<_>>();
    let (expected, found) = (parts(expected), parts(found));
    assert_eq!(expected.len(), found.len(), "{who}");
    for (expected, found) in expected.iter().zip(&found) {
        if expected != found {
            wrong.push(format!("committed:\n{expected}{who}:\n{found}"));
        }
    }
    assert!(wrong.is_empty(), "{} answers differ:\n{}", wrong.len(), wrong.join("\n"));
}

#[tokio::test(flavor = "multi_thread")]
async fn statements_have_their_answers() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(&directory.path().join("store"));
    let session = ada(&store);
    fill(&session);
    let committed = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/answers.txt");
    for pass in 0..2 {
        let sql = stationdb_sql::context(&session).unwrap();
        let mut text = String::new();
        for statement in STATEMENTS.lines() {
            let lines = ask(&sql, statement).await.unwrap_or_else(|e| panic!("{statement}: {e}"));
            text.push_str(&format!("> {statement}\n"));
            lines.iter().for_each(|line| text.push_str(&format!("{line}\n")));
        }
        if std::env::var_os("STATIONDB_SQL_ANSWERS").is_some() {
            std::fs::write(&committed, &text).unwrap();
        }
        let expected = std::fs::read_to_string(&committed).unwrap();
        compare(&expected, &text, &format!("this build, pass {pass}"));
        // Sealed and merged.
        settle(&store);
    }
    let exported = directory.path().join("export");
    std::fs::create_dir(&exported).unwrap();
    export(&session, &exported);
    let python = std::env::var("STATIONDB_PYTHON").unwrap_or_else(|_| "python3".to_owned());
    let has = Command::new(&python).args(["-c", "import duckdb"]).output();
    if !has.is_ok_and(|output| output.status.success()) {
        println!("skipped: {python} has no duckdb");
        return;
    }
    let statements = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/statements.sql");
    let output = Command::new(&python)
        .args(["-c", SCRIPT])
        .args([&exported, &statements])
        .env("PYTHONIOENCODING", "utf-8")
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let expected = std::fs::read_to_string(&committed).unwrap();
    compare(&expected, &String::from_utf8(output.stdout).unwrap(), "DuckDB");
}
