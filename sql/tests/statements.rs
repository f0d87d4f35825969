//! Each statement has a committed answer, and the same one in DuckDB and Polars over an export of
//! the same data.
//!
//! `STATIONDB_SQL_ANSWERS=1` writes the answers of this build. `STATIONDB_PYTHON` names the
//! interpreter; where it lacks one of them, that comparison is skipped with a message.

mod common;

use std::path::{Path, PathBuf};
use std::process::Command;

use common::{ada, ask, fill, open, settle};
use stationdb::prelude::*;
use stationdb::scans::{RecordKind, ScanRecordsRequest};
use stationdb::tables::{ExportFormat, ExportTableDataRequest};
use stationdb::{Control, Session};

const STATEMENTS: &str = include_str!("statements.sql");

/// How cells are printed, as the test prints them.
const CELL: &str = r#"
import sys, os, datetime, decimal, re
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
directory, statements = sys.argv[1:]
files = [(name[:-len(".parquet")], os.path.join(directory, name)) for name in sorted(os.listdir(directory))]
"#;

const DUCKDB: &str = r#"
import duckdb
db = duckdb.connect()
db.execute("set timezone = 'UTC'")
db.execute("create schema rows")
for stem, path in files:
    schema, table = stem.split("__")
    times = [c[0] for c in db.execute("describe select * from read_parquet(?)", [path]).fetchall() if c[1].startswith("TIMESTAMP")]
    replace = ", ".join('make_timestamp(epoch_us("%s")) as "%s"' % (c, c) for c in times if c != "fine")
    replace = " replace (%s)" % replace if replace else ""
    db.execute("""create view %s."%s" as select *%s from read_parquet('%s')""" % (schema, table, replace, path))
for line in open(statements, encoding="utf-8"):
    print("> " + line.strip())
    query = re.sub(r"cast\((\w+) as bigint\)", r"epoch_ns(\1)", line).replace("date_bin(", "time_bucket(")
    for row in db.execute(query).fetchall():
        print(" | ".join(cell(v) for v in row))
"#;

/// Polars has no schemas, and compares times without a time zone.
const POLARS: &str = r#"
import polars as pl
import polars.selectors as cs
context = pl.SQLContext()
OTHERS = ["isnan", "channel, max(volts)", "order by v desc", "['", "array_has", "percentile_cont", "date_bin"]
for stem, path in files:
    frame = pl.scan_parquet(path).with_columns(cs.datetime(time_zone="*").dt.replace_time_zone(None))
    context.register(stem.removeprefix("main__"), frame)
for line in open(statements, encoding="utf-8"):
    print("> " + line.strip())
    query = re.sub(r'rows\."([^"]*)"', r'"rows__\1"', line.strip()).replace("rows.empty", "rows__empty")
    if any(part in query for part in OTHERS):
        print("other")
        continue
    for row in context.execute(query, eager=True).rows():
        print(" | ".join(cell(v) for v in row))
"#;

/// Statements that Polars cannot answer alike: it has no `isnan`, no members, other words for lists,
/// quantiles and buckets, and its `max` leaves NaN out.
const OTHER: &str = "other\n";

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
    let (mut wrong, mut others) = (Vec::new(), 0);
    let parts = |text: &str| text.split("> ").map(str::to_owned).collect::<Vec<_>>();
    let (expected, found) = (parts(expected), parts(found));
    assert_eq!(expected.len(), found.len(), "{who}");
    for (expected, found) in expected.iter().zip(&found) {
        let is_other = found.ends_with(OTHER);
        others += usize::from(is_other);
        if expected != found && !is_other {
            wrong.push(format!("committed:\n{expected}{who}:\n{found}"));
        }
    }
    assert!(found.len() - others > 40, "{who}: {others} answers cannot be compared");
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
    let statements = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/statements.sql");
    let expected = std::fs::read_to_string(&committed).unwrap();
    for (engine, script) in [("duckdb", DUCKDB), ("polars", POLARS)] {
        let has = Command::new(&python).args(["-c", &format!("import {engine}")]).output();
        if !has.is_ok_and(|output| output.status.success()) {
            println!("skipped: {python} has no {engine}");
            continue;
        }
        let output = Command::new(&python)
            .args(["-c", &format!("{CELL}{script}")])
            .args([&exported, &statements])
            .env("PYTHONIOENCODING", "utf-8")
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        compare(&expected, &String::from_utf8(output.stdout).unwrap(), engine);
        println!("{engine} gives the same answers");
    }
}
