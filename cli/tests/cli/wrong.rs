//! Bad input: one line that says why, and the exit code.

use std::fs;
use std::io::Read as _;
use std::process::Stdio;

use stationdb::Store;
use stationdb::prelude::*;

use crate::bench::{Bench, program, request, rows, run};

#[test]
fn what_is_no_store_is_refused() {
    let bench = Bench::new();
    fs::create_dir(bench.path("docs")).unwrap();
    fs::write(bench.path("docs").join("a.txt"), "a").unwrap();
    let directory = bench.directory.path();
    let text = run(program(directory).args(["docs", "info"])).bad(3);
    assert_eq!(text, "there is no store in docs; give the directory of a store");
    // Creating does not overwrite either.
    let text = run(program(directory).args(["docs", "--create", "info"])).bad(3);
    assert!(text.contains("the directory is not empty and contains no store"), "{text}");
    run(program(directory).args(["docs/a.txt", "info"])).bad(3);
    run(program(directory).args(["docs", "restore", "missing"])).bad(5);
}

#[test]
fn another_stored_form_is_refused() {
    let bench = Bench::new();
    let path = bench.store().join("FORMAT");
    // As a build from before the line `sum` wrote it.
    let text = format!(
        "stationdb store\nformat {}\nfingerprint 0123456789abcdef\nbuild 7.7\nstore {:016x}\n",
        bench.format(),
        7
    );
    fs::write(&path, &text).unwrap();
    let told = bench.run(&["info"]).bad(3);
    assert!(
        told.contains("stored form 0123456789abcdef of format 1, which the build 7.7"),
        "{told}"
    );
    assert!(told.contains("`ls KIND --json`"), "{told}");
    assert_eq!(fs::read_to_string(&path).unwrap(), text);
}

#[test]
fn a_store_without_its_format_file_is_not_created_anew() {
    let bench = Bench::new();
    fs::remove_file(bench.store().join("FORMAT")).unwrap();
    let text = bench.run(&["info"]).bad(6);
    assert!(text.contains("store has records but no file FORMAT"), "{text}");
    bench.run(&["--create", "info"]).bad(6);
    assert!(!bench.store().join("FORMAT").exists());
}

#[test]
fn a_store_that_does_not_open_says_what_helps() {
    const ADVICE: &str = "restore a backup, or salvage the store into another directory";
    let damages: [(&str, fn(&Bench)); 3] = [
        ("FORMAT is damaged", |bench| fs::write(bench.store().join("FORMAT"), "xxxx").unwrap()),
        ("magic number", |bench| {
            let path = bench.store().join("records.redb");
            let mut bytes = fs::read(&path).unwrap();
            bytes[..64].fill(0);
            fs::write(path, bytes).unwrap();
        }),
        ("damaged", |bench| {
            let file = fs::OpenOptions::new().write(true).open(bench.store().join("records.redb"));
            file.unwrap().set_len(8192).unwrap();
        }),
    ];
    for (says, damage) in damages {
        let bench = Bench::new();
        damage(&bench);
        let text = bench.run(&["status"]).bad(6);
        assert!(text.contains(says), "{says}: {text}");
        let ends = [ADVICE, "restore a backup", "or salvage it", "or salvage the store"];
        assert!(ends.iter().any(|end| text.ends_with(end)), "{says}: {text}");
        assert!(!text.contains("choose another directory"), "{text}");
    }
    // What is salvaged of the first has all of it.
    let bench = Bench::new();
    let listed = bench.good(&["ls", "products", "--json"]);
    damages[0].1(&bench);
    let directory = bench.directory.path();
    let said = run(program(directory).args(["new", "salvage", "store"])).good();
    assert!(said.contains("nothing is lost"), "{said}");
    assert_eq!(run(program(directory).args(["new", "ls", "products", "--json"])).good(), listed);
}

#[test]
fn an_interrupted_backup_is_told_as_one() {
    let bench = Bench::new();
    bench.good(&["backup", "copy"]);
    fs::remove_file(bench.path("copy/FORMAT")).unwrap();
    fs::write(bench.path("copy/BACKUP-INCOMPLETE"), "").unwrap();
    let text = run(program(bench.directory.path()).args(["copy", "status"])).bad(3);
    assert_eq!(
        text,
        "copy has a backup that was interrupted, which is no store; back up to it again, or use \
         another backup"
    );
}

#[test]
fn what_needs_the_store_itself_is_refused_with_its_owner() {
    let bench = Bench::new();
    fs::write(bench.path("loop.csv"), "t,volts\n1,2\n").unwrap();
    let store = Store::open(bench.store()).unwrap();
    let commands: [&[&str]; 3] =
        [&["compact"], &["verify", "--pages"], &["import", "loop.csv", "--name", "New"]];
    for command in commands {
        let text = bench.run(command).bad(4);
        let owner = format!("open already, by process {}", std::process::id());
        assert!(text.contains(&owner), "{text}");
    }
    store.close().unwrap();
    commands.iter().for_each(|command| drop(bench.good(command)));
}

#[test]
fn a_wrong_request_is_refused() {
    let bench = Bench::new();
    let refused: [(&[&str], &str); 26] = [
        (
            &["ls", "products", "--columns", "partNumber,colour"],
            "products have no column \"colour\"; there are ",
        ),
        (
            &["ls", "results", "--columns", "status.type", "--csv"],
            "results have no column \"status.type\"; there are status.statusType, ",
        ),
        (&["ls", "products", "--filter", "nam == 1"], "unknown property `nam`"),
        (&["ls", "products", "--filter", "name = ("], "filter: "),
        (&["ls", "products", "--order", "color"], "\"color\" is not one of ID, FAMILY"),
        (&["ls", "gadgets"], "there is no kind \"gadgets\"; the kinds are products, "),
        (&["ls", "feeds", "--filter", "true"], "feeds have neither filter nor order"),
        (&["ls", "tables", "--product", "x"], "--product is for specifications"),
        (&["search", "(("], "at character"),
        (&["export", "Loop", "--where", "ohms > 7"], "\"ohms > 7\" is not COLUMN OPERATION VALUE"),
        (&["export", "Loop", "--where", "t > x"], "\"x\""),
        (&["export", "Loop", "--columns", "ohms"], "ohms"),
        (&["plot", "Loop", "--y", "ohms"], "the table has no column \"ohms\""),
        (
            &["plot", "Loop", "--y", "volts", "-o", "a.gif"],
            "a.gif: plots of tables are written as .html or .png",
        ),
        (&["plot", "Loop", "--y", "volts", "-o", "a.png", "--full"], "--full is for pages"),
        (&["report", "run", "none", "-o", "a.png"], "a.png: pages are written as .html"),
        (&["report", "run", "-o", "a.html"], "name the test result by its id"),
        (
            &["report", "store", "extra", "-o", "a.html"],
            "the page of the store takes no id; leave out \"extra\"",
        ),
        (&["report", "store", "--filter", "true", "-o", "a.html"], "are for products"),
        (&["report", "run", "none", "--measurements", "3", "-o", "a.html"], "are for products"),
        (&["import", "history", "--as", "arrow", "--name", "x"], "--into"),
        (&["import", "history", "--name", "x"], "importing history: neither the first bytes"),
        (&["import", "history", "--as", "csv", "--recursive"], "are for directories"),
        (&["import", "store", "history", "--all-or-nothing"], "for one directory"),
        (&["import", "store", "--name", "x"], "--name is for one file"),
        (&["import", "store", "--as", "arrow"], "not as a directory"),
    ];
    fs::write(bench.path("history"), "no table at all\n").unwrap();
    for (arguments, text) in refused {
        let told = bench.run(arguments).bad(2);
        assert!(told.contains(text), "{arguments:?}: {told}");
    }
    assert_eq!(bench.names(), ["history"]);
}

#[test]
fn what_is_missing_is_told() {
    let bench = Bench::new();
    let missing: [(&[&str], &str); 6] = [
        (&["show", "nothing"], "there is no record with the id \"nothing\""),
        (&["show", "1", "--kind", "asset"], "there is no asset with the id \"1\""),
        (&["export", "Nothing"], "there is no table with the id or name \"Nothing\""),
        (&["plot", "Loop", "--y", "volts", "--spec", "X"], "there is no specification with"),
        (&["import", "none.csv", "--name", "x"], "reading none.csv: "),
        (&["export", "Loop", "-o", "none/a.csv"], "writing none/a.csv: "),
    ];
    for (arguments, text) in missing {
        let told = bench.run(arguments).bad(5);
        assert!(told.contains(text), "{arguments:?}: {told}");
    }
}

#[test]
fn names_that_are_not_unique_are_told() {
    let bench = Bench::new();
    bench.fill(|session| rows(session, "Loop", 1));
    let text = bench.run(&["export", "Loop"]).bad(2);
    assert_eq!(text, "several tables have the name \"Loop\"; give the id");
    bench.fill(|session| {
        let spec = request!({"specs": [
            {"productId": "P-2", "specId": "GAIN", "type": "FUNCTIONAL"}]});
        assert_eq!(session.create_specs(spec).unwrap().failed_specs, None);
    });
    let table = bench.json(&["ls", "tables"])[0]["id"].as_str().unwrap().to_owned();
    let text = bench.run(&["plot", &table, "--y", "volts", "--spec", "GAIN"]).bad(2);
    assert!(text.starts_with("several specifications have the id \"GAIN\""), "{text}");
}

#[test]
fn damage_is_found() {
    let bench = Bench::new();
    bench.fill(|session| {
        let big = vec![7; 3 << 20];
        let file = request!({"name": "big.bin"});
        session.upload_file(&mut big.as_slice(), file, &stationdb::Control::default()).unwrap();
    });
    bench.good(&["verify"]);
    bench.good(&["backup", "copy"]);
    let big = largest(&bench.store().join("files"));
    let mut bytes = fs::read(&big).unwrap();
    bytes[1 << 20] ^= 1;
    fs::write(&big, bytes).unwrap();
    let found = bench.run(&["verify"]);
    assert!(found.out.contains("files/"), "{found:?}");
    let text = found.bad(6);
    assert!(text.starts_with("1 findings, first files/"), "{text}");
    let report = bench.run(&["verify", "--json"]);
    let json: stationdb::serde_json::Value = stationdb::serde_json::from_str(&report.out).unwrap();
    assert_eq!(json["findings"].as_array().unwrap().len(), 1);
    report.bad(6);
    // The headers are as they were.
    bench.good(&["verify", "--quick"]);
}

fn largest(directory: &std::path::Path) -> std::path::PathBuf {
    let mut all = Vec::new();
    let mut open = vec![directory.to_owned()];
    while let Some(directory) = open.pop() {
        for entry in fs::read_dir(directory).unwrap() {
            let entry = entry.unwrap();
            match entry.metadata().unwrap() {
                found if found.is_dir() => open.push(entry.path()),
                found => all.push((found.len(), entry.path())),
            }
        }
    }
    all.into_iter().max().unwrap().1
}

/// `stationdb … | head -1`.
#[test]
fn a_reader_that_goes_away_ends_the_output() {
    let bench = Bench::empty();
    bench.fill(|session| rows(session, "Long", 100_000));
    for arguments in [&["export", "Long"][..], &["export", "Long", "--as", "parquet"]] {
        let mut child =
            bench.command(arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut out = child.stdout.take().unwrap();
        out.read_exact(&mut [0; 10]).unwrap();
        drop(out);
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(141), "{arguments:?} {output:?}");
        let told = String::from_utf8(output.stderr).unwrap();
        assert_eq!(told, "stationdb: the reader of the output went away\n");
    }
}

#[test]
fn wrong_arguments_are_told_with_the_usage() {
    let bench = Bench::new();
    let wrong: [&[&str]; 7] = [
        &["gadget"],
        &["ls"],
        &["ls", "products", "--json", "--csv"],
        &["import"],
        &["import", "a.csv", "--name", "a", "--into", "b"],
        &["import", "a.csv", "--as", "xlsx"],
        &["plot", "Loop"],
    ];
    for arguments in wrong {
        let run = bench.run(arguments);
        assert_eq!((run.code, run.out.as_str()), (Some(2), ""), "{arguments:?}");
        assert!(run.err.starts_with("error: ") && run.err.contains("--help"), "{}", run.err);
    }
}
