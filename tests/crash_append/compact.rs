//! Compaction copies every row of the record file, and shortens the files of the journal. A power
//! cut after any change loses nothing.

use crate::prelude::*;

use crate::station::create;

const MANY: usize = 60;
const NEW: &str = "records.redb.new";

struct Compacted;

fn names(store: &Store) -> Result<Vec<(String, String)>, Error> {
    let request = serde_json::from_value(json!({ "take": 1000 })).unwrap();
    let items = ada(store).query_work_items(request)?.work_items;
    let named = |item: stationdb::work_items::WorkItem| {
        (item.name.unwrap_or_default(), item.id.map(|id| id.to_string()).unwrap_or_default())
    };
    Ok(items.into_iter().map(named).collect())
}

/// Work items whose text takes most of the record file, and is in no index.
fn create_long(store: &Store) -> Result<(), Error> {
    let item = |number| {
        let text = format!("{number:03}{}", "x".repeat(900));
        json!({ "name": format!("{number:03}"), "type": "test", "description": text })
    };
    let items = (0..MANY).map(|number| serde_json::from_value(item(number)).unwrap());
    let made = ada(store).create_work_items(items.collect())?;
    assert_eq!(made.created_work_items.len(), MANY, "{made:?}");
    Ok(())
}

impl Scenario for Compacted {
    fn open(&self, disk: SimDisk) -> Result<Store, Error> {
        options().open_disk(std::sync::Arc::new(disk))
    }

    fn run(&self, history: &History) -> Result<(), Error> {
        let store = self.open(history.disk.clone())?;
        history.step("made", || create_long(&store))?;
        // Its close moves the commits into the record file, which grows.
        drop(store);
        let mut store = self.open(history.disk.clone())?;
        let made = names(&store)?;
        let most = made.iter().skip(5).map(|(_, id)| id.as_str().into()).collect();
        history.step("deleted", || ada(&store).delete_work_items(most).map(|_| ()))?;
        let report = store.compact()?;
        assert!(report.bytes_after < report.bytes_before, "{report:?}");
        let is_rename = |entry: &&TraceEntry| entry.kind == OpKind::Rename && &*entry.path == NEW;
        let renames = history.disk.trace().iter().filter(is_rename).count();
        assert_eq!(renames, 2, "once for the new store, and once for the copy");
        history.step("after", || create(&ada(&store), &["after"]))
    }

    fn found(&self, store: &Store, _: &SimDisk) -> Result<BTreeSet<String>, Problem> {
        let names = names(store).map_err(Problem::Refused)?;
        let has_after = names.iter().any(|(name, _)| name == "after");
        let long = names.len() - usize::from(has_after);
        let mut found = BTreeSet::new();
        match long {
            0 => {}
            MANY => drop(found.insert("made".to_owned())),
            5 => found.extend(["made".to_owned(), "deleted".to_owned()]),
            other => return Err(Problem::Wrong(format!("{other} of {MANY} work items are there"))),
        }
        if has_after {
            found.insert("after".to_owned());
        }
        Ok(found)
    }

    fn no_orphans(&self, _: &Store, disk: &SimDisk, _: &BTreeSet<String>) -> Result<(), String> {
        if disk.exists(NEW).unwrap() { Err(format!("{NEW} was not removed")) } else { Ok(()) }
    }

    fn go_on(&self, store: &Store) -> Result<(), Error> {
        ada(store).register_subscriber("later").map(|_| ())
    }
}

#[test]
fn every_change_of_a_compaction_can_be_the_last() {
    must_hold("compaction", &Compacted);
}

#[test]
fn the_nth_operation_of_a_compaction_fails() {
    errors::operations_fail("compaction", &Compacted, 3);
}

/// Tests the suite: it must fail without a sync that the copy needs. With a small memory table the
/// commit after the compaction goes into the new file, and not only into the journal.
#[test]
fn each_removed_sync_of_a_compaction_is_found() {
    with_memory(SMALL_MEMORY, || {
        let history = History::new(Compacted.disk());
        Compacted.run(&history).unwrap();
        let trace = history.disk.trace();
        let is_rename = |entry: &&TraceEntry| entry.kind == OpKind::Rename && &*entry.path == NEW;
        // A store is created by a rename too.
        let named = trace.iter().filter(is_rename).map(|entry| entry.op).max().unwrap();
        let is_sync = |entry: &&TraceEntry| entry.op > named && entry.kind == OpKind::SyncDir;
        let synced = trace.iter().find(is_sync).unwrap().op;
        for (name, pick) in [
            ("every sync of the new file", Pick::kind(OpKind::Sync).on_path(NEW)),
            ("the sync of the directory", Pick::op(synced)),
        ] {
            must_fail(name, &Compacted, pick);
        }
    });
}

/// A store whose journal has more than a close leaves of it.
struct Shortened {
    killed: SimDisk,
}

const FILES: usize = 30;
const FILE_BYTES: usize = 50_000;

fn journal_bytes(disk: &SimDisk) -> u64 {
    let len = |name| disk.open(name, Mode::Read).unwrap().len().unwrap();
    len("journal.0") + len("journal.1")
}

impl Shortened {
    fn new() -> Self {
        let disk = SimDisk::new(first_seed());
        let store = Self::open_on(&disk).unwrap();
        for number in 0..FILES {
            upload(&ada(&store), &number.to_string(), FILE_BYTES).unwrap();
        }
        let killed = disk.survivors(0, Survival::All);
        assert!(journal_bytes(&killed) > 1_500_000, "{}", journal_bytes(&killed));
        Self { killed }
    }

    fn open_on(disk: &SimDisk) -> Result<Store, Error> {
        let options = options().memory_table_bytes(32 << 20).small_blob_bytes(FILE_BYTES);
        options.open_disk(std::sync::Arc::new(disk.clone()))
    }
}

impl Scenario for Shortened {
    fn disk(&self) -> SimDisk {
        self.killed.survivors(first_seed(), Survival::All)
    }

    fn open(&self, disk: SimDisk) -> Result<Store, Error> {
        Self::open_on(&disk)
    }

    fn run(&self, history: &History) -> Result<(), Error> {
        let store = self.open(history.disk.clone())?;
        history.step("before", || create(&ada(&store), &["before"]))?;
        store.close()?;
        // A copy of the disk, because faults of the run must not meet this look.
        let left = journal_bytes(&history.disk.survivors(0, Survival::All));
        assert!(left <= 2 << 20, "{left}");
        let store = self.open(history.disk.clone())?;
        history.step("after", || create(&ada(&store), &["after"]))
    }

    fn found(&self, store: &Store, _: &SimDisk) -> Result<BTreeSet<String>, Problem> {
        let files = ada(store).get_files(GetFilesRequest::new().take(1_000));
        let files = files.map_err(Problem::Refused)?.available_files;
        if files.len() != FILES {
            return Err(Problem::Wrong(format!("{} of {FILES} files are there", files.len())));
        }
        if let Some(file) = files.first() {
            let mut bytes = Vec::new();
            let read = ada(store).download_file(&file.id, &mut bytes, &Default::default());
            read.map_err(Problem::Refused)?;
            if bytes != content(FILE_BYTES) {
                return Err(Problem::Wrong("a file has other bytes".to_owned()));
            }
        }
        let names = names(store).map_err(Problem::Refused)?;
        Ok(names.into_iter().map(|(name, _)| name).collect())
    }

    fn go_on(&self, store: &Store) -> Result<(), Error> {
        ada(store).register_subscriber("later").map(|_| ())
    }
}

#[test]
fn every_change_of_a_close_that_shortens_the_journal_can_be_the_last() {
    must_hold_with("a shorter journal", &Shortened::new(), "crash_draws_rewrite");
}

#[test]
fn the_nth_operation_of_a_close_that_shortens_the_journal_fails() {
    errors::operations_fail("a shorter journal", &Shortened::new(), 7);
}

/// Tests the suite: the journal may be shortened only after the checkpoint is durable.
#[test]
fn each_removed_sync_before_the_journal_is_shortened_is_found() {
    for name in ["journal", "records.redb"] {
        must_fail(name, &Shortened::new(), Pick::kind(OpKind::Sync).on_path(name));
    }
}

fn must_fail(name: &str, scenario: &dyn Scenario, removed: Pick) {
    let disk = scenario.disk();
    disk.ignore_sync(removed);
    let history = History::new(disk);
    scenario.run(&history).unwrap();
    let extent = Extent { draws: 6, recovery_one_in: 0, images_max: 5_000, one_in: 1 };
    let explored = explore(scenario, &history, extent);
    let failure = explored.failure.unwrap_or_else(|| panic!("without {name} all images were good"));
    println!("without {name}: red after {} images, {failure}", explored.images);
}
