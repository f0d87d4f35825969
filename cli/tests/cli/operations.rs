//! `status`, and the commands of docs/operations.md, in the order in which they stand there.

use std::path::Path;

use stationdb::serde_json::json;

use crate::bench::{Bench, Run, program, run};

const PAGE: &str = include_str!("../../../docs/operations.md");

/// The commands of a part of the page.
fn commands_of(part: &str) -> Vec<&'static str> {
    let parts = || PAGE.split("\n## ");
    let text =
        if part.is_empty() { parts().next() } else { parts().find(|text| text.starts_with(part)) };
    let text = text.unwrap_or_else(|| panic!("the page has no part {part:?}"));
    text.lines().filter(|line| line.starts_with("stationdb ")).collect()
}

/// A store in trouble, and the commands of a part of the page that are left to follow.
struct Trouble {
    bench: Bench,
    left: std::collections::VecDeque<&'static str>,
}

impl Trouble {
    fn new(part: &str) -> Self {
        Self { bench: Bench::new(), left: commands_of(part).into() }
    }

    /// Follows the next command of the page, which is this one.
    fn follow(&mut self, command: &str) -> Run {
        assert_eq!(self.left.pop_front(), Some(command), "the page has another command here");
        let mut words: Vec<String> = Vec::new();
        // A quoted word is every second part.
        for (at, part) in command.split('\'').enumerate() {
            match at % 2 {
                0 => words.extend(part.split_whitespace().map(str::to_owned)),
                _ => words.push(part.to_owned()),
            }
        }
        let name = |word: &String| match word.as_str() {
            "STORE" => "store".to_owned(),
            // Not `backup`, which is a command.
            "BACKUP" => "copy".to_owned(),
            "NEW" => "new".to_owned(),
            "SET" => "stick".to_owned(),
            word => word.to_owned(),
        };
        run(program(self.bench.directory.path()).args(words[1..].iter().map(name)))
    }

    fn good(&mut self, command: &str) -> String {
        self.follow(command).good()
    }

    fn ends(self) {
        assert!(self.left.is_empty(), "not followed: {:?}", self.left);
    }

    fn products(&self, store: &str) -> String {
        let directory = self.bench.directory.path();
        run(program(directory).args([store, "ls", "products", "--json"])).good()
    }
}

fn remove(path: &Path) {
    std::fs::remove_dir_all(path).unwrap();
}

/// A file of rows, of which bits are then wrong.
fn flip_rows(bench: &Bench) {
    let rows: String = (0..100_000).map(|t| format!("{t},{}\n", t % 7)).collect();
    std::fs::write(bench.path("a.csv"), format!("t,v\n{rows}")).unwrap();
    bench.good(&["import", "a.csv", "--name", "A"]);
    let tables = std::fs::read_dir(bench.store().join("tables")).unwrap();
    let mut files = tables.flat_map(|table| std::fs::read_dir(table.unwrap().path()).unwrap());
    let is_rows = |path: &Path| path.extension().is_some_and(|end| end == "parquet");
    let path = files.find_map(|file| Some(file.unwrap().path()).filter(|path| is_rows(path)));
    let path = path.unwrap();
    let mut bytes = std::fs::read(&path).unwrap();
    for byte in bytes.iter_mut().step_by(1_000) {
        *byte ^= 1;
    }
    std::fs::write(path, bytes).unwrap();
}

#[test]
fn the_page_begins_with_the_status() {
    let mut trouble = Trouble::new("");
    let said = trouble.good("stationdb STORE status");
    for line in ["nothing needs you", "writes ", "diskFree ", "backup ", "never"] {
        assert!(said.contains(line), "{line}: {said}");
    }
    let status = trouble.bench.json(&["status"]);
    assert_eq!(status["attention"], json!([]));
    assert_eq!(status["writes"]["areTaken"], json!(true));
    trouble.ends();
}

/// What a test cannot do to the disk of its machine is done to the simulated one, in
/// `store::status_tests` and `tests/crash_append`.
#[test]
fn the_disk_is_full() {
    let mut trouble = Trouble::new("The disk is full");
    trouble.good("stationdb STORE compact");
    assert!(trouble.good("stationdb STORE status").contains("nothing needs you"));
    trouble.ends();
}

#[test]
fn the_disk_is_dying() {
    let mut trouble = Trouble::new("The disk is dying");
    let products = trouble.products("store");
    flip_rows(&trouble.bench);
    // Too late to have what is damaged.
    let _ = trouble.bench.run(&["backup", "stick", "--set"]);
    trouble.good("stationdb STORE backup BACKUP");
    let found = trouble.follow("stationdb STORE verify");
    assert_eq!(found.code, Some(6), "{found:?}");
    assert!(found.out.contains("tables/"), "{found:?}");
    let said = trouble.bench.good(&["status"]);
    assert!(said.contains("DAMAGE: ") && said.contains("tables/"), "{said}");
    let repaired = trouble.follow("stationdb STORE repair SET");
    assert_eq!(repaired.code, Some(6), "{repaired:?}");
    assert!(repaired.err.contains("tables/"), "{repaired:?}");
    // The backup has the wrong bit too, and says so.
    assert_eq!(trouble.follow("stationdb NEW restore BACKUP").code, Some(6));
    assert_eq!(trouble.follow("stationdb NEW verify").code, Some(6));
    remove(&trouble.bench.path("new"));
    let salvaged = trouble.follow("stationdb NEW salvage STORE");
    assert_eq!(salvaged.code, Some(6), "{salvaged:?}");
    assert_eq!(trouble.products("new"), products);
    trouble.ends();
}

#[test]
fn the_store_does_not_open() {
    let mut trouble = Trouble::new("The store does not open");
    let products = trouble.products("store");
    trouble.bench.good(&["backup", "copy"]);
    std::fs::remove_file(trouble.bench.store().join("journal.0")).unwrap();
    let said = trouble.bench.run(&["ls", "products"]).bad(6);
    assert!(said.contains("restore"), "{said}");
    trouble.good("stationdb NEW restore BACKUP");
    assert!(trouble.good("stationdb NEW status").contains("nothing needs you"));
    assert_eq!(trouble.products("new"), products);
    remove(&trouble.bench.path("new"));
    trouble.follow("stationdb NEW salvage STORE");
    assert_eq!(trouble.products("new"), products);
    trouble.ends();
}

#[test]
fn the_backup_stick_is_lost() {
    let mut trouble = Trouble::new("The backup stick is lost");
    trouble.bench.good(&["backup", "lost"]);
    remove(&trouble.bench.path("lost"));
    trouble.good("stationdb STORE backup BACKUP");
    let said = trouble.good("stationdb STORE status");
    assert!(said.contains("SUCCEEDED at "), "{said}");
    assert!(trouble.good("stationdb BACKUP verify").starts_with("no damage found"));
    trouble.ends();
}

#[test]
fn the_clock_was_wrong() {
    let mut trouble = Trouble::new("The clock was wrong");
    let clock = stationdb::ManualClock::new("2099-01-01T00:00:00Z".parse().unwrap());
    let store = stationdb::Store::options().clock(clock).open(trouble.bench.store()).unwrap();
    {
        use stationdb::prelude::*;
        let session = store.session(stationdb::Identity::user("ada"));
        let request = stationdb::products::CreateProductRequest::new("late");
        session.create_products(vec![request]).unwrap().require_all().unwrap();
    }
    store.close().unwrap();
    assert!(trouble.bench.good(&["status"]).contains("CLOCK_AHEAD: "));
    trouble.good("stationdb STORE compact --present-clock");
    assert!(trouble.good("stationdb STORE status").contains("nothing needs you"));
    trouble.ends();
}

#[test]
fn wrong_rows_were_imported() {
    let mut trouble = Trouble::new("Wrong rows were imported");
    trouble.bench.good(&["backup", "copy"]);
    assert!(trouble.good("stationdb STORE ls tables").contains("Loop"));
    assert!(trouble.good("stationdb STORE changes").contains("CREATED"));
    let good = trouble.good("stationdb STORE export Loop --where 'volts < 9' -o good.csv");
    assert!(good.starts_with("exported 4999 rows to good.csv"), "{good}");
    let bad = trouble.good("stationdb STORE export Loop --where 'volts >= 9' -o bad.csv");
    assert!(bad.starts_with("exported 1 rows to bad.csv"), "{bad}");
    trouble.good("stationdb STORE import good.csv --name Good");
    let listed = trouble.good("stationdb STORE ls tables");
    assert!(listed.contains("Good") && listed.contains("4999"), "{listed}");
    trouble.good("stationdb NEW restore BACKUP");
    assert!(!trouble.good("stationdb NEW ls tables").contains("Good"));
    trouble.ends();
}

/// What the page warns of: no comparison takes rows with null or NaN.
#[test]
fn rows_with_null_and_nan_are_in_neither_part() {
    let bench = Bench::empty();
    std::fs::write(bench.path("a.csv"), "t,volts\n1,1\n2,\n3,NaN\n4,99\n").unwrap();
    bench.good(&["--create", "import", "a.csv", "--name", "Loop", "--index", "t"]);
    let rows = |condition: &str| bench.good(&["export", "Loop", "--where", condition]);
    assert_eq!(rows("volts < 9"), "t,volts\n1,1\n");
    assert_eq!(rows("volts >= 9"), "t,volts\n4,99\n");
    assert_eq!(rows("volts = null"), "t,volts\n2,\n");
    let page = PAGE.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(page.contains("Rows whose `volts` is null or NaN are in neither file"));
}

#[test]
fn a_store_moves_to_a_new_machine() {
    let mut trouble = Trouble::new("Moving to a new machine");
    let products = trouble.products("store");
    trouble.good("stationdb STORE backup BACKUP");
    trouble.good("stationdb NEW restore BACKUP");
    assert!(trouble.good("stationdb NEW verify").starts_with("no damage found"));
    assert!(trouble.good("stationdb NEW status").contains("nothing needs you"));
    assert_eq!(trouble.products("new"), products);
    trouble.ends();
}

/// Each part of the page has a test above.
#[test]
fn no_part_of_the_page_is_left_out() {
    let parts: Vec<&str> =
        PAGE.split("\n## ").skip(1).filter_map(|text| text.lines().next()).collect();
    let source = include_str!("operations.rs");
    assert!(parts.len() >= 7, "{parts:?}");
    for part in parts {
        assert!(source.contains(&format!("Trouble::new(\"{part}\")")), "{part}");
    }
}
