//! `backup`, `restore`, `verify`, `compact` and `--create`.

use crate::bench::{Bench, program, run};

#[test]
fn a_backup_is_restored() {
    let bench = Bench::new();
    let said = bench.good(&["backup", "copy"]);
    assert!(said.starts_with("backed up to copy: "), "{said}");
    let again = bench.json(&["backup", "copy"]);
    assert_eq!(again["findings"].as_array().unwrap().len(), 0);
    let directory = bench.directory.path();
    let said = run(program(directory).args(["made", "restore", "copy"])).good();
    assert!(said.starts_with("restored to made: "), "{said}");
    let listed = run(program(directory).args(["made", "ls", "products", "--json"])).good();
    assert_eq!(listed, bench.good(&["ls", "products", "--json"]));
}

#[test]
fn what_is_whole_of_a_damaged_store_is_salvaged() {
    let bench = Bench::new();
    let directory = bench.directory.path();
    let listed = bench.good(&["ls", "products", "--json"]);
    let said = run(program(directory).args(["whole", "salvage", "store"])).good();
    assert!(said.starts_with("salvaged to whole: ") && said.contains("nothing is lost"), "{said}");
    assert_eq!(run(program(directory).args(["whole", "ls", "products", "--json"])).good(), listed);
    // Half of a file of rows is lost.
    let rows: String = (0..200_000).map(|t| format!("{t},{}\n", t % 7)).collect();
    std::fs::write(bench.path("a.csv"), format!("t,v\n{rows}")).unwrap();
    bench.good(&["import", "a.csv", "--name", "A"]);
    let tables = std::fs::read_dir(bench.store().join("tables")).unwrap();
    let files = tables.flat_map(|table| std::fs::read_dir(table.unwrap().path()).unwrap());
    for path in files.map(|file| file.unwrap().path()) {
        if path.extension().is_some_and(|end| end == "parquet") {
            let bytes = std::fs::read(&path).unwrap();
            std::fs::write(&path, &bytes[..bytes.len() / 2]).unwrap();
        }
    }
    let text = run(program(directory).args(["part", "salvage", "store"])).bad(6);
    assert!(text.contains("part has ") && text.contains("are lost: 1"), "{text}");
    assert_eq!(run(program(directory).args(["part", "ls", "products", "--json"])).good(), listed);
    run(program(directory).args(["other", "salvage", "missing"])).bad(5);
}

#[test]
fn a_sound_store_is_verified_and_compacted() {
    let bench = Bench::new();
    for arguments in [&["verify"][..], &["verify", "--quick"], &["verify", "--pages"]] {
        let said = bench.good(arguments);
        let start = format!("no damage found: format {}, ", bench.format());
        assert!(said.starts_with(&start), "{said}");
    }
    let report = bench.json(&["verify"]);
    assert!(report["records"].as_u64().unwrap() > 10, "{report}");
    let report = bench.json(&["compact"]);
    assert!(report["bytesAfter"].as_u64() <= report["bytesBefore"].as_u64(), "{report}");
    assert!(report["deletedRowsRemoved"].is_u64(), "{report}");
}

#[test]
fn a_store_is_created_only_when_told() {
    let bench = Bench::empty();
    let text = bench.run(&["info"]).bad(3);
    assert_eq!(text, "there is no store in store; --create makes one");
    assert!(!bench.store().exists());
    std::fs::create_dir(bench.store()).unwrap();
    bench.run(&["ls", "products"]).bad(3);
    assert_eq!(std::fs::read_dir(bench.store()).unwrap().count(), 0);
    assert_eq!(bench.json(&["--create", "ls", "products"]), stationdb::serde_json::json!([]));
    bench.good(&["ls", "products"]);
}
