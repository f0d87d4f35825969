//! Statements of SQL.

use std::io::{Read as _, Write as _};
use std::process::Stdio;

use stationdb::serde_json::{Value, from_str, json};

use crate::bench::{Bench, ROWS, rows};

#[test]
fn answers_have_four_forms() {
    let bench = Bench::new();
    let statement = "select part_number, name from products order by part_number";
    let ask = |form: &[&str]| bench.good(&[&["sql", statement], form].concat());
    assert_eq!(
        ask(&[]),
        "part_number  name\nP-1          Low-noise amplifier\nP-2          Relay, \"small\"\n"
    );
    // Numbers are aligned by their last digits.
    let numbers = "select * from (values (5, 'a'), (1000, 'b')) t(number, text)";
    assert_eq!(bench.good(&["sql", numbers]), "number  text\n     5  a\n  1000  b\n");
    assert_eq!(
        ask(&["--csv"]),
        "part_number,name\nP-1,Low-noise amplifier\nP-2,\"Relay, \"\"small\"\"\"\n"
    );
    let records = json!([
        {"part_number": "P-1", "name": "Low-noise amplifier"},
        {"part_number": "P-2", "name": "Relay, \"small\""},
    ]);
    assert_eq!(from_str::<Value>(&ask(&["--json"])).unwrap(), records);
    let lines: Vec<Value> = ask(&["--jsonl"]).lines().map(|line| from_str(line).unwrap()).collect();
    assert_eq!(json!(lines), records);
    assert_eq!(bench.json(&["sql", "select 1 as one where false"]), json!([]));
    assert_eq!(bench.good(&["sql", "select 1 as one where false", "--csv"]), "one\n");
}

#[test]
fn records_and_rows_meet_in_one_statement() {
    let bench = Bench::new();
    let statement = "select check_spec(s.record, l.volts) as verdict, count(*) as rows \
                     from specifications s, rows.\"Loop\" l where s.spec_id = 'GAIN' \
                     group by verdict order by verdict";
    assert_eq!(
        bench.json(&["sql", statement]),
        json!([{"verdict": "INSIDE", "rows": ROWS - 1}, {"verdict": "OUTSIDE", "rows": 1}])
    );
    let found = bench.json(&["sql", "select name from search('amplifier') order by name"]);
    assert_eq!(found, json!([{"name": "Low-noise amplifier"}, {"name": "report.md"}]));
}

/// The README asks the store of the example, as `.ci/readme-shell` does.
#[test]
fn the_statement_of_the_readme_is_answered() {
    let readme = include_str!("../../../README.md");
    let (_, text) = readme.split_once("stationdb $D sql \"select").unwrap();
    let (statement, _) = text.split_once("\"\n```").unwrap();
    let own = [("\\\"", "\""), ("$T", "Loop"), ("loop_ns", "volts"), ("LOOP-P99", "GAIN")];
    let statement = own.iter().fold(format!("select{statement}"), |text, (name, ours)| {
        assert!(text.contains(name), "{name}: {text}");
        text.replace(name, ours)
    });
    let answer = Bench::new().json(&["sql", &statement]);
    assert_eq!(answer, json!([{"family": "Analog", "outside": 1, "worst": 9.5}]));
}

#[test]
fn cells_have_their_json() {
    let bench = Bench::new();
    let one = |statement: &str| bench.json(&["sql", statement])[0].clone();
    assert_eq!(
        one("select cast('NaN' as double) as a, cast('-Infinity' as double) as b, \
             cast(0.1 as real) as c, null as d, true as e, [1, 2] as f, 18446744073709551615 as g"),
        json!({"a": "NaN", "b": "-Infinity", "c": 0.1, "d": null, "e": true, "f": [1, 2],
            "g": 18_446_744_073_709_551_615_u64})
    );
    let spec = one("select \"limit\" as l from specifications where spec_id = 'GAIN'");
    assert_eq!(spec["l"]["max"].as_f64(), Some(9.0), "{spec}");
    let time = one("select updated_at as at from products limit 1");
    let time = time["at"].as_str().unwrap();
    assert!(time.ends_with('Z') && time.len() == "2024-03-01T00:00:00.000Z".len(), "{time}");
    let twice = one("select p.id, q.id from products p, products q where p.id <> q.id");
    assert_ne!(twice["id"], twice["id_2"]);
    let map = one("select properties from files limit 1");
    assert!(map["properties"]["Name"].is_string(), "{map}");
}

#[test]
fn a_bad_statement_is_one_line() {
    let bench = Bench::new();
    let refused = [
        ("selec 1", "Expected: an SQL statement, found: selec"),
        ("select * from nothing", "nothing' not found; information_schema.tables lists all"),
        ("select color from products", "color"),
        ("select * from products; select 1", "single SQL statement"),
        ("delete from products", "not supported"),
        ("copy products to 'x.csv'", "not supported"),
        ("set datafusion.runtime.memory_limit = '64G'", "not supported"),
        ("create database d", "not supported"),
        ("", "No SQL statements were provided"),
    ];
    for (statement, text) in refused {
        let told = bench.run(&["sql", statement]).bad(2);
        assert!(told.contains(text), "{statement}: {told}");
    }
    let told = bench.run(&["sql", "select check_spec('x', 1.0)"]).bad(1);
    assert!(told.contains("no specification"), "{told}");
    let told = bench.run(&["sql", "select 1 / 0"]).bad(1);
    assert!(told.to_lowercase().contains("divide by zero"), "{told}");
    assert_eq!(bench.names(), [""; 0]);
}

/// Damage that a statement meets has the exit code of damage.
#[test]
fn a_damaged_segment_is_told() {
    let bench = Bench::empty();
    bench.fill(|session| rows(session, "Long", 300_000));
    bench.good(&["sql", "select sum(volts) from rows.\"Long\""]);
    let mut damaged = 0;
    for table in std::fs::read_dir(bench.store().join("tables")).unwrap() {
        for file in std::fs::read_dir(table.unwrap().path()).unwrap() {
            let path = file.unwrap().path();
            if path.extension().is_some_and(|extension| extension == "parquet") {
                let mut bytes = std::fs::read(&path).unwrap();
                bytes[100] ^= 1;
                std::fs::write(&path, bytes).unwrap();
                damaged += 1;
            }
        }
    }
    assert!(damaged > 0);
    let told = bench.run(&["sql", "select sum(volts), sum(amps), sum(t) from \"Long\""]).bad(6);
    assert!(told.contains("checksum"), "{told}");
}

#[test]
fn a_script_has_statements_as_they_stand() {
    let bench = Bench::new();
    let lines = "select count(*) as n from rows.\"Loop\"\n\
                 sql --csv select 'it''s' as a, \"name\" from products order by part_number limit 1\n\
                 sql \"select 1 as one\" --jsonl\nselect 2 as two --json\n\
                 import a.csv --name A\nselect count(*) as n from \"A\"\ncompact\nselec 1\n";
    std::fs::write(bench.path("a.csv"), "t,v\n1,2\n").unwrap();
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
    let start = "   n\n5000\na,name\nit's,Low-noise amplifier\n{\"one\":1}\n[\n{\"two\":2}\n]\n";
    assert!(text.starts_with(start), "{text}");
    assert!(text.contains("\nn\n1\nrecords.redb: "), "{text}");
    let told = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{told}");
    assert!(told.starts_with("stationdb: unrecognized subcommand 'selec'"), "{told}");
}

/// `stationdb … sql … | head -1`.
#[test]
fn a_reader_that_goes_away_ends_the_statement() {
    let bench = Bench::empty();
    bench.fill(|session| rows(session, "Long", 100_000));
    let mut command = bench.command(&["sql", "select * from \"Long\"", "--csv"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut out = child.stdout.take().unwrap();
    out.read_exact(&mut [0; 10]).unwrap();
    drop(out);
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(141), "{output:?}");
    let told = String::from_utf8(output.stderr).unwrap();
    assert_eq!(told, "stationdb: the reader of the output went away\n");
}
