//! `import` of records of OpenHTF.

use std::path::Path;

use crate::bench::Bench;

fn record(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../formats/tests/openhtf/records");
    std::fs::read_to_string(path.join(name)).unwrap()
}

/// Records of the package, in a directory without a store.
fn records() -> Bench {
    let bench = Bench::empty();
    for name in ["limits.json", "curves.json"] {
        std::fs::write(bench.path(name), record(name)).unwrap();
    }
    bench
}

#[test]
fn each_record_becomes_a_result() {
    let bench = records();
    let told = bench.good(&["--create", "import", "limits.json", "curves.json", "--openhtf"]);
    let lines: Vec<&str> = told.lines().collect();
    assert_eq!(lines.len(), 2, "{told}");
    assert!(lines[0].starts_with("imported limits.json as the result "), "{told}");
    assert!(lines[0].ends_with(" with 2 steps, 15 measurements, 0 tables and 1 files"), "{told}");
    assert!(lines[1].ends_with(" with 2 steps, 4 measurements, 4 tables and 1 files"), "{told}");
    let tables = bench.json(&["ls", "tables"]);
    assert_eq!(tables.as_array().map(Vec::len), Some(4), "{tables}");
}

#[test]
fn a_record_that_is_refused_keeps_no_other_out() {
    let bench = records();
    bench.good(&["--create", "import", "limits.json", "--openhtf"]);
    let told = bench.run(&["import", "limits.json", "--openhtf"]).bad(1);
    assert!(
        told.contains("importing limits.json: ") && told.contains("was imported before"),
        "{told}"
    );
    std::fs::write(bench.path("half.json"), "{\"dut_id\": ").unwrap();
    let all = ["import", "limits.json", "half.json", "none.json", "curves.json", "--openhtf"];
    let run = bench.run(&[&all[..], &["--json"]].concat());
    assert_eq!(run.code, Some(1), "{run:?}");
    let lines: Vec<&str> = run.err.lines().collect();
    assert_eq!(lines.len(), 4, "{run:?}");
    assert!(lines[1].contains("half.json") && lines[1].contains("no JSON"), "{run:?}");
    assert!(lines[2].contains("none.json"), "{run:?}");
    assert_eq!(lines[3], "stationdb: 3 of 4 files were not imported");
    let answer: stationdb::serde_json::Value = stationdb::serde_json::from_str(&run.out).unwrap();
    assert_eq!(answer["imported"][0]["file"], "curves.json");
    assert_eq!(answer["imported"][0]["tables"], 4);
    let failed: Vec<&str> = answer["refused"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["file"].as_str().unwrap())
        .collect();
    assert_eq!(failed, ["limits.json", "half.json", "none.json"]);
    // Unless it is wanted twice.
    let again = ["import", "limits.json", "--openhtf", "--again", "--part-number", "PN-9"];
    assert!(bench.good(&again).starts_with("imported limits.json"), "{answer}");
}

#[test]
fn options_of_tables_are_not_those_of_records() {
    let bench = records();
    std::fs::write(bench.path("a.csv"), "t,v\n1,2\n").unwrap();
    let made = bench.json(&["--create", "import", "a.csv"]);
    assert_eq!(made["rows"], 1);
    for wrong in [
        &["import", "limits.json", "--openhtf", "--name", "A"][..],
        &["import", "limits.json", "--openhtf", "--into", "A"],
        &["import", "limits.json", "--openhtf", "--index", "t"],
        &["import", "limits.json", "--openhtf", "--as", "csv"],
        &["import", "--openhtf"],
        &["import", "limits.json", "--as", "xml"],
    ] {
        let run = bench.run(wrong);
        assert_eq!((run.code, run.out.as_str()), (Some(2), ""), "{wrong:?} {run:?}");
    }
    for (wrong, part) in [
        (&["import", "limits.json", "--name", "A"][..], "options of tables"),
        (&["import", "limits.json", "--into", "a"], "options of tables"),
        (&["import", "limits.json", "--index", "t"], "options of tables"),
        (&["import", "limits.json", "--close"], "options of tables"),
        (&["import", "limits.json", "--null", "-"], "options of tables"),
        (&["import", "a.csv", "--again"], "options of test results"),
        (&["import", "a.csv", "--part-number", "P"], "options of test results"),
        (&["import", "limits.json", "curves.json", "--name", "A"], "--name is for one file"),
    ] {
        let told = bench.run(wrong).bad(2);
        assert!(told.contains(part), "{wrong:?} {told}");
    }
    let counts = ["results", "tables"].map(|kind| bench.json(&["ls", kind]));
    assert_eq!(counts.map(|all| all.as_array().map(Vec::len)), [Some(0), Some(1)]);
}
