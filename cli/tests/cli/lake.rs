//! Statements over a lake in a directory, without a store.

use std::fs;
use std::io::Write as _;
use std::process::Stdio;
use std::sync::Arc;

use stationdb::serde_json::{from_str, json};
use stationdb::{Control, Identity, Store};
use stationdb_lake::object_store::local::LocalFileSystem;
use stationdb_lake::{OneRoot, Publisher};

use crate::bench::{Bench, ROWS, Run, program, run};

/// Sends what the store has into the lake in `lake`, as a station of this name.
fn publish(bench: &Bench, root: &str, station: &str) {
    let _ = fs::create_dir(bench.path("lake"));
    let objects = Arc::new(LocalFileSystem::new_with_prefix(bench.path("lake")).unwrap());
    let store = Store::open(bench.store()).unwrap();
    let who = Identity::user("publisher");
    let publisher = Publisher::new(&store, who, objects, OneRoot::new(root), station).unwrap();
    let published = publisher.publish(&Control::default()).unwrap();
    assert!(published.commits > 0, "{published:?}");
    drop(publisher);
    store.close().unwrap();
}

/// A store, and what it has in the lake `plant`.
fn lake() -> Bench {
    let bench = Bench::new();
    publish(&bench, "plant", "s1");
    bench
}

fn asked(bench: &Bench, arguments: &[&str]) -> Run {
    run(program(bench.directory.path()).arg("sql").args(arguments))
}

const PLANT: [&str; 4] = ["--lake", "lake", "--root", "plant"];

fn good(bench: &Bench, arguments: &[&str]) -> String {
    asked(bench, &[&PLANT, arguments].concat()).good()
}

#[test]
fn a_lake_answers_as_the_store() {
    let bench = lake();
    let statements = [
        "select part_number, name from products order by part_number",
        "select max(volts), min(amps), count(*) from rows.\"Loop\"",
        "select check_spec(s.record, l.volts) as verdict, count(*) as rows from specifications s, \
         rows.\"Loop\" l where s.spec_id = 'GAIN' group by verdict order by verdict",
        "select name, properties, updated from files order by id",
        "select 1 as one where false",
    ];
    for statement in statements {
        for form in ["--json", "--jsonl", "--csv", "--no-pager"] {
            let expected = bench.good(&["sql", statement, form]);
            assert_eq!(good(&bench, &[statement, form]), expected, "{statement} {form}");
            assert!(expected.len() > 2 || statement.ends_with("false"), "{expected}");
        }
    }
    let station = good(&bench, &["select _station, _rows_from from lake.batches", "--csv"]);
    assert_eq!(station, "_station,_rows_from\ns1,0\n");
    // The same from the directory of the lake itself, and the store is not touched.
    fs::remove_dir_all(bench.store()).unwrap();
    let one = ["--lake", "lake/plant", "select count(*) as n from rows.\"s1/Loop\"", "--csv"];
    assert_eq!(asked(&bench, &one).good(), format!("n\n{ROWS}\n"));
}

#[test]
fn several_stations_are_one_answer() {
    let bench = lake();
    let other = Bench::empty();
    other.fill(|session| crate::bench::rows(session, "Other", 10));
    fs::rename(bench.path("lake"), other.path("lake")).unwrap();
    publish(&other, "plant", "s2");
    let statement = "select _station, count(*) as rows from lake.table_changes group by _station \
                     order by _station";
    let answer = good(&other, &[statement, "--json"]);
    let expected = json!([{ "_station": "s1", "rows": 1 }, { "_station": "s2", "rows": 1 }]);
    assert_eq!(from_str::<stationdb::serde_json::Value>(&answer).unwrap(), expected);
    let statement = "select count(*) as n from rows.\"Loop\" union all \
                     select count(*) from rows.\"Other\" order by n";
    assert_eq!(good(&other, &[statement, "--csv"]), format!("n\n10\n{ROWS}\n"));
}

#[test]
fn what_is_no_lake_is_told() {
    let bench = lake();
    let statement = "select 1";
    let place = |parts: &[&str]| {
        parts.iter().fold(std::path::PathBuf::new(), |at, part| at.join(part)).display().to_string()
    };
    let cases: [(&[&str], i32, String); 5] = [
        (&["--lake", "lake"], 3, "there is no lake in lake; --root names one of plant".into()),
        (
            &["--lake", "lake", "--root", "plan"],
            3,
            format!("there is no lake in {}; --root names one of plant", place(&["lake", "plan"])),
        ),
        (&["--lake", "nothing"], 3, "name the directory that publishers write to".into()),
        (&["--lake", "s3://bucket/lake"], 3, "the shell reads lakes in directories".into()),
        (&["--lake", "lake", "--root", "../store"], 2, "--root ../store: ".into()),
    ];
    for (arguments, code, told) in cases {
        let text = asked(&bench, &[arguments, &[statement]].concat()).bad(code);
        assert!(text.contains(&told), "{arguments:?}: {text}");
    }
    for (statement, code, told) in [
        ("selec 1", 2, "Expected: an SQL statement"),
        ("select * from nothing", 2, "not found; information_schema.tables lists all"),
        ("delete from products", 2, "not supported"),
        ("copy products to 'x.csv'", 2, "not supported"),
        ("select 1 / 0", 1, "ivide by zero"),
    ] {
        let text = asked(&bench, &[&PLANT[..], &[statement]].concat()).bad(code);
        assert!(text.contains(told), "{statement}: {text}");
    }
    assert_eq!(bench.names(), ["lake"]);
    // Without a lake and without a store there is nobody to ask.
    let told = asked(&bench, &[statement]);
    assert_eq!(told.code, Some(2), "{told:?}");
    assert!(told.err.contains("name the directory of a store"), "{told:?}");
    let told = asked(&bench, &["--root", "plant", statement]);
    assert_eq!(told.code, Some(2), "{told:?}");
    assert!(told.err.contains("--lake <DIR>"), "{told:?}");
}

/// Damage that a statement meets has the exit code of damage.
#[test]
fn a_damaged_log_is_told() {
    let bench = lake();
    let log = bench.path("lake").join("plant").join("batches").join("_delta_log");
    let last = fs::read_dir(log).unwrap().map(|entry| entry.unwrap().path());
    let last = last.filter(|path| path.extension().is_some_and(|end| end == "json")).max().unwrap();
    fs::write(&last, "{").unwrap();
    let text = asked(&bench, &[&PLANT[..], &["select 1"]].concat()).bad(6);
    let version: u64 = last.file_stem().unwrap().to_str().unwrap().parse().unwrap();
    assert!(text.contains(&format!("version {version} of a log of the lake")), "{text}");
}

#[test]
fn a_shell_asks_its_store_and_lakes() {
    let bench = lake();
    let lines = "sql --lake lake --root plant --csv 'select _station from lake.batches'\n\
                 select count(*) as n from rows.\"Loop\" --csv\n\
                 select _station from lake.batches --lake lake --root plant --csv\n\
                 sql --lake lake 'select 1'\n";
    let mut child = bench
        .command(&[])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(lines.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(text, format!("_station\ns1\nn\n{ROWS}\n_station\ns1\n"));
    assert_eq!(output.status.code(), Some(3), "{:?}", String::from_utf8(output.stderr));
}

#[test]
fn a_store_that_is_named_too_is_not_opened() {
    let bench = lake();
    let arguments = ["none", "--create", "sql", "--lake", "lake/plant", "select 1 as n", "--csv"];
    let answer = run(program(bench.directory.path()).args(arguments)).good();
    assert_eq!(answer, "n\n1\n");
    assert!(!bench.path("none").exists());
}

#[test]
fn a_root_has_the_name_that_its_layout_gave_it() {
    let bench = Bench::new();
    publish(&bench, "größe", "s1");
    let arguments = ["--lake", "lake", "--root", "größe", "select _station from lake.batches"];
    assert_eq!(asked(&bench, &[&arguments[..], &["--csv"]].concat()).good(), "_station\ns1\n");
}
