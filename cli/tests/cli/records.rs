//! `info`, `ls`, `show`, `search` and `changes`.

use stationdb::serde_json::{Value, from_str, json};

use crate::bench::{Bench, ROWS};

/// The kinds, and how many records the filled store has.
const COUNTS: [(&str, u64); 15] = [
    ("products", 2),
    ("results", 1),
    ("steps", 1),
    ("specifications", 2),
    ("assets", 1),
    ("utilizations", 1),
    ("work-items", 3),
    ("work-item-templates", 1),
    ("test-plans", 1),
    ("test-plan-templates", 1),
    ("tables", 1),
    ("files", 1),
    ("feeds", 1),
    ("packages", 1),
    ("workspaces", 1),
];

#[test]
fn info_counts_everything() {
    let bench = Bench::new();
    let info = bench.json(&["info"]);
    for (kind, count) in COUNTS {
        assert_eq!(info["counts"][kind], count, "{kind}");
    }
    assert_eq!(info["counts"]["rows"], ROWS);
    assert_eq!(info["isSound"], true);
    assert_eq!(info["format"], bench.format());
    assert!(info["bytes"]["records"].as_u64().unwrap() > 10_000, "{info}");
    // Nothing of size is without a name.
    let mut parts = info["bytes"].as_object().unwrap().clone();
    let all = parts.remove("all").and_then(|bytes| bytes.as_u64()).unwrap();
    let named: u64 = parts.values().map(|bytes| bytes.as_u64().unwrap()).sum();
    assert!(parts["journal"].as_u64().unwrap() > 0, "{info}");
    assert!(named <= all && all - named < 4096, "{info}");
    let text = bench.good(&["info"]);
    assert!(
        text.lines().any(|line| line.split_whitespace().eq(["counts.work-items", "3"])),
        "{text}"
    );
    // People get the sizes in units.
    let records = text.lines().find(|line| line.starts_with("bytes.records ")).unwrap();
    assert!(records.ends_with("KiB") || records.ends_with("MiB"), "{text}");
}

#[test]
fn each_kind_is_listed_and_each_record_is_shown() {
    let bench = Bench::new();
    for (kind, count) in COUNTS {
        let records = bench.json(&["ls", kind]);
        let records = records.as_array().unwrap();
        assert_eq!(records.len() as u64, count, "{kind}");
        // Every column of the table is a member: none is empty in all records.
        let csv = bench.good(&["ls", kind, "--csv"]);
        let header = csv.lines().next().unwrap();
        for column in header.split(',').filter(|column| *column != "assignedTo") {
            let pointer = format!("/{}", column.replace('.', "/"));
            let has = |record: &Value| record.pointer(&pointer).is_some_and(|v| !v.is_null());
            assert!(records.iter().any(has), "{kind} has no {column}: {records:?}");
        }
        if ["utilizations", "steps"].contains(&kind) {
            continue;
        }
        let id = records[0]["id"].as_str().unwrap();
        assert_eq!(bench.json(&["show", id, "--kind", kind])["id"], id, "{kind}");
    }
    let product = bench.json(&["ls", "products"])[0].clone();
    assert_eq!(bench.json(&["show", product["id"].as_str().unwrap()]), product);
    assert_eq!(bench.json(&["show", "Loop"])["rowCount"], ROWS);
}

#[test]
fn lists_are_filtered_ordered_and_cut() {
    let bench = Bench::new();
    let names = |arguments: &[&str]| {
        let fixed = ["ls", "work-items", "--columns", "name", "--csv"];
        bench.good(&[&fixed, arguments].concat()).replace('\n', " ")
    };
    assert_eq!(names(&["--filter", "state == \"NEW\""]), "name Burn-in 1 Burn-in 2 ");
    assert_eq!(names(&["--order", "id", "--desc"]), "name Burn-in 3 Burn-in 2 Burn-in 1 ");
    assert_eq!(names(&["--order", "id", "--desc", "--take", "1"]), "name Burn-in 3 ");
    assert_eq!(names(&["--filter", "name == \"none\""]), "name ");
    // The order of tables by their rows has a name of its own.
    assert_eq!(bench.json(&["ls", "tables", "--order", "rowCount"])[0]["name"], "Loop");
    let specs = |arguments: &[&str]| {
        bench.json(&[&["ls", "specs", "--columns", "specId,limit.max"], arguments].concat())
    };
    assert_eq!(
        specs(&["--order", "SPEC_ID"]),
        json!([{"specId": "CLICK", "limit.max": null}, {"specId": "GAIN", "limit.max": 9}])
    );
    assert_eq!(specs(&["--product", "P-2"]), json!([{"specId": "CLICK", "limit.max": null}]));
}

#[test]
fn output_has_four_forms() {
    let bench = Bench::new();
    let list = |form: &[&str]| {
        let fixed = ["ls", "products", "--columns", "partNumber,name", "--order", "partNumber"];
        bench.good(&[&fixed, form].concat())
    };
    assert_eq!(
        list(&[]),
        "partNumber  name\nP-1         Low-noise amplifier\nP-2         Relay, \"small\"\n"
    );
    assert_eq!(
        list(&["--csv"]),
        "partNumber,name\nP-1,Low-noise amplifier\nP-2,\"Relay, \"\"small\"\"\"\n"
    );
    let lines = list(&["--jsonl"]);
    let records: Vec<Value> = lines.lines().map(|line| from_str(line).unwrap()).collect();
    assert_eq!(records[1], json!({"partNumber": "P-2", "name": "Relay, \"small\""}));
    assert_eq!(from_str::<Value>(&list(&["--json"])).unwrap(), json!(records));
    let bold = list(&["--color", "always"]);
    assert!(bold.starts_with("\u{1b}[1mpartNumber\u{1b}[0m"), "{bold:?}");
}

#[test]
fn search_finds_by_text() {
    let bench = Bench::new();
    let kinds = |arguments: &[&str]| -> Vec<String> {
        let hits = bench.json(&[&["search"], arguments].concat());
        let hits = hits.as_array().unwrap().iter();
        let mut kinds: Vec<_> = hits.map(|hit| hit["kind"].as_str().unwrap().to_owned()).collect();
        kinds.sort();
        kinds
    };
    assert_eq!(kinds(&["amplifier"]), ["file", "product"]);
    assert_eq!(kinds(&["amplifier", "--kind", "products"]), ["product"]);
    assert_eq!(kinds(&["burn", "in", "--take", "2"]), ["work item", "work item"]);
    assert_eq!(kinds(&["nowhere"]), [""; 0]);
}

#[test]
fn changes_tell_who_did_what() {
    let bench = Bench::new();
    std::fs::write(bench.path("more.csv"), "t,volts\n1,2\n").unwrap();
    bench.good(&["import", "more.csv", "--name", "More"]);
    bench.good(&["import", "more.csv", "--name", "Again", "--user", "mallory"]);
    let changes = bench.json(&["changes"]);
    let changes = changes.as_array().unwrap();
    let by = |name: &str| -> Vec<&Value> {
        changes
            .iter()
            .filter(|change| change["name"] == name)
            .map(|change| &change["who"])
            .collect()
    };
    assert_eq!(by("Loop"), ["ada", "ada"]);
    assert_eq!(by("More"), ["grace", "grace"]);
    assert_eq!(by("Again"), ["mallory", "mallory"]);
    let first = changes[0]["sequence"].as_u64().unwrap();
    let since = bench.json(&["changes", "--since", &first.to_string(), "--take", "3"]);
    assert_eq!(since.as_array().unwrap()[..], changes[1..4]);
    let followed = bench.good(&["changes", "--follow", "--take", "2", "--jsonl"]);
    let followed: Vec<Value> = followed.lines().map(|line| from_str(line).unwrap()).collect();
    assert_eq!(followed[..], changes[..2]);
}

/// A store keeps as many changes as it was opened for; the oldest may be gone.
#[test]
fn changes_begin_where_the_log_begins() {
    let bench = Bench::new();
    let all = bench.json(&["changes"]).as_array().unwrap().len();
    let store = stationdb::Store::options().log_entries_max(5).open(bench.store()).unwrap();
    store.maintain(&stationdb::Control::default()).unwrap();
    store.close().unwrap();
    let left = bench.json(&["changes"]);
    let left = left.as_array().unwrap();
    assert!((1..all).contains(&left.len()), "{} of {all}", left.len());
    assert_eq!(left.last().unwrap()["name"], "Loop");
    let gone = bench.run(&["changes", "--since", "0"]).bad(1);
    assert!(gone.contains("the change log no longer contains"), "{gone}");
}
