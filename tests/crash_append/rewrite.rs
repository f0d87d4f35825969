//! Maintenance rewrites the record file of an open store. After a power cut at any change, the name
//! leads to a complete file, the old one or the new one.

use crate::prelude::*;

use stationdb::files::FileId;

use crate::station::create;

/// Large enough that maintenance rewrites a record file after they are deleted.
const FILES: usize = 5;
const LARGE: usize = 900_000;
const NEW: &str = "records.redb.new";

struct Rewritten {
    /// A disk with a store of [`FILES`] files and some work items.
    filled: SimDisk,
    /// The bytes of each file.
    content: Vec<u8>,
}

impl Rewritten {
    fn new() -> Self {
        let filled = SimDisk::new(first_seed());
        let store = open(&filled).unwrap();
        for number in 0..FILES {
            upload(&ada(&store), &number.to_string(), LARGE).unwrap();
            create(&ada(&store), &["before"]).unwrap();
        }
        drop(store);
        Self { filled: filled.survivors(0, Survival::All), content: content(LARGE) }
    }
}

fn open(disk: &SimDisk) -> Result<Store, Error> {
    options().small_blob_bytes(LARGE).open_disk(Arc::new(disk.clone()))
}

fn names(store: &Store) -> Result<Vec<String>, Error> {
    let items = ada(store).query_work_items(Default::default())?.work_items;
    Ok(items.into_iter().filter_map(|item| item.name).collect())
}

fn len(disk: &SimDisk) -> u64 {
    disk.open("records.redb", Mode::Read).unwrap().len().unwrap()
}

impl Scenario for Rewritten {
    fn disk(&self) -> SimDisk {
        self.filled.survivors(first_seed(), Survival::All)
    }

    fn open(&self, disk: SimDisk) -> Result<Store, Error> {
        open(&disk)
    }

    fn run(&self, history: &History) -> Result<(), Error> {
        let store = self.open(history.disk.clone())?;
        let files = ada(&store).get_files(GetFilesRequest::default())?.available_files;
        // The newest file is kept, so that redb cannot cut the pages of the others off the end of
        // the file.
        let gone =
            files.into_iter().filter(|file| file.properties["Name"] != (FILES - 1).to_string());
        let gone: Vec<FileId> = gone.map(|file| file.id).collect();
        history.step("deleted", || ada(&store).delete_files(gone).map(|_| ()))?;
        let look = |allowed: [&[&str]; 2]| {
            let found =
                self.found(&store, &history.disk).map_err(|problem| format!("{problem:?}"))?;
            let found: Vec<_> = found.iter().map(String::as_str).collect();
            if allowed.contains(&found.as_slice()) {
                Ok(())
            } else {
                Err(format!("{found:?} is shown"))
            }
        };
        let failed = match store.maintain(&Control::default()) {
            Ok(report) => {
                let has_failed = history.disk.trace().iter().any(|entry| entry.failed);
                assert!(report.record_file_bytes_returned > 2 << 20 || has_failed, "{report:?}");
                None
            }
            Err(error) => {
                history.reads_go_on(|| look([&["deleted"], &["deleted"]]));
                Some(error)
            }
        };
        let after = history.step("after", || create(&ada(&store), &["after"]));
        if after.is_err() {
            history.reads_go_on(|| look([&["deleted"], &["after", "deleted"]]));
        }
        failed.map_or(after, Err)
    }

    fn found(&self, store: &Store, _: &SimDisk) -> Result<BTreeSet<String>, Problem> {
        let mut found = BTreeSet::new();
        let files = ada(store)
            .get_files(GetFilesRequest::default())
            .map_err(Problem::Refused)?
            .available_files;
        match files.len() {
            FILES => {}
            1 => {
                let mut bytes = Vec::new();
                let kept = ada(store).download_file(&files[0].id, &mut bytes, &Control::default());
                kept.map_err(Problem::Refused)?;
                if bytes != self.content {
                    return Err(Problem::Wrong("the file that stays has other bytes".to_owned()));
                }
                found.insert("deleted".to_owned());
            }
            other => return Err(Problem::Wrong(format!("{other} of {FILES} files are there"))),
        }
        let names = names(store).map_err(Problem::Refused)?;
        let before = names.iter().filter(|name| *name == "before").count();
        if before != FILES {
            return Err(Problem::Wrong(format!("{before} of {FILES} work items are there")));
        }
        if names.iter().any(|name| name == "after") {
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
fn every_change_of_a_rewrite_can_be_the_last() {
    must_hold_with("rewrite", &Rewritten::new(), "crash_draws_rewrite");
}

#[test]
fn the_nth_operation_of_a_rewrite_fails() {
    errors::operations_fail("rewrite", &Rewritten::new(), 7);
}

/// Tests the suite: it must fail without a sync that the rewrite needs.
#[test]
fn each_removed_sync_of_a_rewrite_is_found() {
    let scenario = Rewritten::new();
    for (name, pick) in [
        ("every sync of the new file", Pick::kind(OpKind::Sync).on_path(NEW)),
        ("the sync of the directory", Pick::kind(OpKind::SyncDir)),
    ] {
        let disk = scenario.disk();
        disk.ignore_sync(pick);
        let history = History::new(disk);
        scenario.run(&history).unwrap();
        let explored = explore(
            &scenario,
            &history,
            Extent { draws: 4, recovery_one_in: 0, images_max: 5000, one_in: 1 },
        );
        let failure =
            explored.failure.unwrap_or_else(|| panic!("without {name} all images were good"));
        println!("without {name}: red after {} images, {failure}", explored.images);
    }
}

/// The rewrite checks for free space first: on a disk without room it keeps the old file and
/// returns no error.
#[test]
fn a_full_disk_keeps_the_record_file() {
    let scenario = Rewritten::new();
    let disk = scenario.disk();
    let store = open(&disk).unwrap();
    let files = ada(&store).get_files(GetFilesRequest::default()).unwrap().available_files;
    let gone = files.into_iter().filter(|file| file.properties["Name"] != (FILES - 1).to_string());
    ada(&store).delete_files(gone.map(|file| file.id).collect()).unwrap();
    let before = len(&disk);
    disk.set_capacity(Some(errors::bytes_on(&disk, "") + 100_000));
    let report = store.maintain(&Control::default()).unwrap();
    assert_eq!(report.record_file_bytes_returned, 0);
    assert!(len(&disk) + 1_000_000 > before);
    disk.set_capacity(None);
    assert!(store.maintain(&Control::default()).unwrap().record_file_bytes_returned > 2 << 20);
    assert!(store.verify(VerifyLevel::Checksums, &Control::default()).unwrap().is_sound());
}
