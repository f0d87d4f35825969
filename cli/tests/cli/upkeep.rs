//! `backup`, `restore`, `verify`, `compact` and `--create`.

use stationdb::serde_json::{self, Value};

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
fn backups_of_a_set_are_listed_restored_verified_and_removed() {
    let bench = Bench::new();
    let directory = bench.directory.path();
    let shell = |arguments: &[&str]| run(program(directory).args(arguments));
    // The stick is not there: no set is made in its place.
    let text = bench.run(&["backup", "stick", "--set", "--existing"]).bad(5);
    assert!(text.contains("there is no directory") && !bench.path("stick").exists(), "{text}");
    assert!(bench.good(&["status"]).contains("BACKUP_FAILED: "));
    let said = bench.good(&["backup", "stick", "--set"]);
    assert!(said.starts_with("backed up to stick as backup 1: "), "{said}");
    assert!(!bench.good(&["status"]).contains("BACKUP_FAILED"));
    let before = bench.good(&["ls", "products", "--json"]);
    std::fs::write(bench.path("a.csv"), "t,v\n1,2\n").unwrap();
    bench.good(&["import", "a.csv", "--name", "New"]);
    let fast = ["--existing", "--bytes-per-second", "100000000"];
    let report = bench.json(&[["backup", "stick", "--set"], fast].concat());
    assert_eq!(report["backup"], 2, "{report}");
    assert!(report["writtenBytes"].as_u64() > Some(0), "{report}");
    // Needs no store.
    let listed: Value =
        serde_json::from_str(&shell(&["backups", "stick", "--json"]).good()).unwrap();
    let numbers: Vec<_> = listed.as_array().unwrap().iter().map(|one| &one["backup"]).collect();
    assert_eq!(numbers, [1, 2]);
    let said = shell(&["backups", "stick", "--verify"]).good();
    assert!(said.starts_with("no damage found: 2 backups, "), "{said}");
    let tables = |store: &str| shell(&[store, "ls", "tables", "--json"]).good();
    for (store, at) in [("first", Some("1")), ("last", None), ("named", Some("latest"))] {
        let mut arguments = vec![store, "restore", "stick"];
        arguments.extend(at.iter().flat_map(|at| ["--at", at]));
        let said = shell(&arguments).good();
        assert!(said.starts_with(&format!("restored to {store}: ")), "{said}");
        assert_eq!(shell(&[store, "ls", "products", "--json"]).good(), before);
        assert_eq!(tables(store).contains("\"New\""), store != "first", "{store}");
    }
    let text = shell(&["none", "restore", "stick", "--at", "7"]).bad(5);
    assert!(text.contains('7') && text.contains('2'), "{text}");
    shell(&["none", "restore", "stick", "--at", "yesterday"]).bad(2);
    bench.good(&["backup", "plain"]);
    for arguments in [
        &["backups", "plain"][..],
        &["backups", "plain", "--verify"],
        &["store", "repair", "plain"],
    ] {
        let text = shell(arguments).bad(3);
        assert_eq!(
            text,
            "plain is a plain backup or a store; give a set, which `backup SET --set` makes"
        );
    }
    std::fs::create_dir(bench.path("docs")).unwrap();
    std::fs::write(bench.path("docs/a.txt"), "a").unwrap();
    let text = shell(&["backups", "docs"]).bad(3);
    assert_eq!(text, "docs is no backup set; give a set, which `backup SET --set` makes");
    let text = shell(&["none", "restore", "plain", "--at", "1"]).bad(2);
    assert!(text.contains("no backup set"), "{text}");
    // Both are of one day, but at midnight.
    let report = shell(&["backups", "stick", "--keep", "7,4,12", "--json"]).good();
    let report: Value = serde_json::from_str(&report).unwrap();
    assert_eq!(report["kept"].as_array().unwrap().last(), Some(&Value::from(2)), "{report}");
    shell(&["backups", "stick", "--keep", "7,4"]).bad(2);
    let said = bench.good(&["backup", "stick", "--set", "--keep", "1,1,1"]);
    assert!(said.contains("as backup 3: ") && said.contains(" backups removed, "), "{said}");
    // A wrong bit is found, and says which backup needs the file.
    let path = std::fs::read_dir(bench.path("stick").join("backups")).unwrap().next();
    let path = path.unwrap().unwrap().path();
    let mut bytes = std::fs::read(&path).unwrap();
    bytes[40] ^= 1;
    std::fs::write(&path, bytes).unwrap();
    shell(&["backups", "stick", "--verify"]).bad(6);
    shell(&["backups", "stick"]).bad(6);
}

/// A restore to a commit between two backups, by the shell alone.
#[test]
fn the_archive_of_commits_is_sent_and_restored() {
    let bench = Bench::new();
    let shell = |words: &[&str]| run(program(bench.directory.path()).args(words));
    assert!(bench.good(&["archive"]).contains("archives no commits"));
    bench.run(&["archive", "stick"]).bad(5);
    let said = bench.good(&["archive", "--bytes", "100000000"]);
    assert!(said.contains("of at most 100000000"), "{said}");
    bench.good(&["backup", "stick", "--set"]);
    std::fs::write(bench.path("a.csv"), "t,v\n1,2\n").unwrap();
    bench.good(&["import", "a.csv", "--name", "A"]);
    let sent = bench.json(&["archive", "stick"]);
    assert!(sent["commits"].as_u64().unwrap() > 0, "{sent}");
    std::fs::write(bench.path("b.csv"), "t,v\n1,2\n").unwrap();
    bench.good(&["import", "b.csv", "--name", "B"]);
    let backed_up = bench.json(&["backup", "stick", "--set"]);
    assert!(backed_up["archived"]["commits"].as_u64().unwrap() > 0, "{backed_up}");
    let points = shell(&["backups", "stick", "--points", "--json"]).good();
    assert!(points.contains("\"backup\":1") && points.contains("\"until\""), "{points}");
    let at = format!("sequence:{}", sent["last"]);
    shell(&["again", "restore", "stick", "--at", &at]).good();
    let tables = shell(&["again", "ls", "tables"]).good();
    assert!(tables.contains('A') && !tables.contains("B "), "{tables}");
    let told = shell(&["none", "restore", "stick", "--at", "sequence:999999"]).bad(5);
    assert!(told.contains("the nearest before it"), "{told}");
    let told = bench.json(&["archive"]);
    assert_eq!(told["bytesMax"], 100_000_000);
    bench.good(&["archive", "--bytes", "0"]);
    assert!(bench.good(&["archive"]).contains("archives no commits"));
}

#[test]
fn a_damaged_file_is_repaired_from_a_set() {
    let bench = Bench::new();
    let rows: String = (0..200_000).map(|t| format!("{t},{}\n", t % 7)).collect();
    std::fs::write(bench.path("a.csv"), format!("t,v\n{rows}")).unwrap();
    bench.good(&["import", "a.csv", "--name", "A"]);
    bench.good(&["backup", "stick", "--set"]);
    let said = bench.good(&["repair", "stick"]);
    assert!(said.contains("files checked, 0 repaired"), "{said}");
    let tables = std::fs::read_dir(bench.store().join("tables")).unwrap();
    let files = tables.flat_map(|table| std::fs::read_dir(table.unwrap().path()).unwrap());
    let mut damaged = 0;
    for path in files.map(|file| file.unwrap().path()) {
        if path.extension().is_some_and(|end| end == "parquet") {
            let mut bytes = std::fs::read(&path).unwrap();
            let middle = bytes.len() / 2;
            bytes[middle] ^= 1;
            std::fs::write(&path, bytes).unwrap();
            damaged += 1;
        }
    }
    assert!(damaged > 0);
    bench.run(&["verify"]).bad(6);
    let report = bench.json(&["repair", "stick"]);
    assert_eq!(report["repaired"].as_array().unwrap().len(), damaged, "{report}");
    assert!(bench.good(&["verify"]).starts_with("no damage found"));
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
    // A directory that is nearly called so.
    std::fs::create_dir_all(bench.path("near/station")).unwrap();
    let text = run(program(bench.directory.path()).args(["near/statoin", "status"])).bad(3);
    let near = "there is no store in near/statoin; did you mean `station`?; --create makes one";
    assert_eq!(text, near);
    std::fs::create_dir(bench.store()).unwrap();
    bench.run(&["ls", "products"]).bad(3);
    assert_eq!(std::fs::read_dir(bench.store()).unwrap().count(), 0);
    assert_eq!(bench.json(&["--create", "ls", "products"]), stationdb::serde_json::json!([]));
    bench.good(&["ls", "products"]);
}
