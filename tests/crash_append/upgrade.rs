//! The first opening of a store of an older format: `FORMAT` is raised, indexes are filled, and new
//! writes follow. The power is cut after every change, and the store continues from there.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;
use std::path::Path;
use std::sync::Arc;

use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use stationdb::faults::{Disk, Mode, OpKind, Pick, SimDisk, Survival, parent, read_file};
use stationdb::prelude::*;
use stationdb::{Control, Error, ManualClock, Store, VerifyLevel};

use crate::harness::{
    Extent, History, Problem, Scenario, default_extent, explore, first_seed, must_hold_within,
};
use crate::scenarios::{ada, options};

/// Part of the name of everything that the steps add; no fixture contains it.
const ADDED: &str = "added";

struct Upgrade {
    /// The store as a build of the older format left it.
    files: BTreeMap<String, Vec<u8>>,
    format: u32,
    newest: u32,
    /// Its answers before.
    before: Vec<(&'static str, Value)>,
}

fn request<T: DeserializeOwned>(value: Value) -> T {
    serde_json::from_value(value.clone()).unwrap_or_else(|error| panic!("{error} in {value}"))
}

fn format_of(disk: &SimDisk) -> Result<u32, Error> {
    let text =
        read_file(disk, "FORMAT", 4096).map_err(|error| Error::io("reading FORMAT", error))?;
    let text = String::from_utf8_lossy(&text).into_owned();
    let number = text.lines().find_map(|line| line.strip_prefix("format ")?.parse().ok());
    number.ok_or_else(|| Error::corrupt(format!("FORMAT is {text:?}")))
}

/// Returns a disk with these files, all durable.
fn disk_with(files: &BTreeMap<String, Vec<u8>>) -> SimDisk {
    let disk = SimDisk::new(first_seed());
    for (path, bytes) in files {
        disk.create_dir_all(parent(path)).unwrap();
        disk.open(path, Mode::CreateNew).unwrap().write_all_at(bytes, 0).unwrap();
    }
    disk.survivors(0, Survival::All)
}

/// Returns all answers except those about what the steps add, also in orders of indexes that were
/// added later.
fn answers(store: &Store) -> Result<Vec<(&'static str, Value)>, Error> {
    let session = ada(store);
    let mut told = vec![
        ("products", value(session.query_products(request(json!({ "take": 100 })))?)),
        ("assets", value(session.query_assets(request(json!({ "take": 100 })))?)),
        ("work items", value(session.query_work_items(request(json!({ "take": 100 })))?)),
        (
            "tables",
            value(session.query_tables(request(json!({ "take": 100, "orderBy": "CREATED_AT" })))?),
        ),
        ("files", value(session.query_files(request(json!({ "take": 100 })))?)),
        ("files by size", value(session.query_files_linq(by_size())?)),
    ];
    for table in session.list_tables(request(json!({ "take": 100 })))?.tables {
        let id = table.id.unwrap_or_default();
        told.push(("rows", value(session.get_table_data(&id, request(json!({ "take": 5 })))?)));
    }
    let subscribers = store.subscribers()?.into_iter().filter(|told| told.name != ADDED);
    told.push((
        "subscribers",
        json!(subscribers.map(|told| (told.name, told.owner)).collect::<Vec<_>>()),
    ));
    told.iter_mut().for_each(|(_, answer)| without_added(answer));
    Ok(told)
}

fn value(answer: impl serde::Serialize) -> Value {
    serde_json::to_value(answer).unwrap()
}

/// Removes what the steps add from the lists of an answer, and its tokens and counts.
fn without_added(answer: &mut Value) {
    let Some(members) = answer.as_object_mut() else { return };
    members.retain(|name, value| name != "totalCount" && (value.is_array() || value.is_object()));
    for list in members.values_mut().filter_map(Value::as_array_mut) {
        list.retain(|item| !item.to_string().contains(ADDED));
    }
}

fn by_size<T: DeserializeOwned>() -> T {
    request(json!({ "take": 100, "orderBy": "SIZE", "orderByDescending": false }))
}

impl Upgrade {
    fn from(format: u32) -> Self {
        let path = format!("tests/fixtures/v{format}/clean.tar.zst");
        let packed = std::fs::File::open(Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).unwrap();
        let mut archive = tar::Archive::new(zstd::Decoder::new(packed).unwrap());
        let mut files = BTreeMap::new();
        for entry in archive.entries().unwrap() {
            let mut entry = entry.unwrap();
            let name = entry.path().unwrap().to_str().unwrap().to_owned();
            let mut bytes = Vec::new();
            entry.read_to_end(&mut bytes).unwrap();
            files.insert(name, bytes);
        }
        let new = SimDisk::new(first_seed());
        drop(options().open_disk(Arc::new(new.clone())).unwrap());
        let newest = format_of(&new).unwrap();
        let mut upgrade = Self { files, format, newest, before: Vec::new() };
        let disk = disk_with(&upgrade.files);
        assert!(format_of(&disk).unwrap() == format && format < newest);
        upgrade.before = answers(&upgrade.open(disk).unwrap()).unwrap();
        let size = upgrade.before.iter().map(|(_, answer)| answer.to_string().len()).sum::<usize>();
        assert!(upgrade.before.len() > 10 && size > 10_000, "{:?}", upgrade.before);
        upgrade
    }

    /// Checks that while `FORMAT` allows a build of the older format, the disk contains only what
    /// such a build writes.
    fn is_untouched_or_raised(&self, disk: &SimDisk) -> Result<(), Error> {
        let format = format_of(disk)?;
        if format == self.newest {
            return Ok(());
        }
        for (path, bytes) in self.files.iter().filter(|(path, _)| *path != "LOCK.owner") {
            let now = read_file(disk, path, u64::MAX).map_err(|error| Error::io(path, error))?;
            if now != *bytes {
                return Err(Error::corrupt(format!(
                    "{path} was changed while FORMAT says format {format}"
                )));
            }
        }
        Ok(())
    }

    fn same_answers(&self, store: &Store, when: &str) -> Result<(), Problem> {
        let now = answers(store).map_err(Problem::Refused)?;
        for ((what, was), (_, is)) in self.before.iter().zip(&now) {
            if was != is {
                return Err(Problem::Wrong(format!("{when}, {what}: {is}, and it was {was}")));
            }
        }
        if now.len() == self.before.len() {
            Ok(())
        } else {
            Err(Problem::Wrong(format!("{when}: {now:?}")))
        }
    }
}

impl Scenario for Upgrade {
    fn disk(&self) -> SimDisk {
        disk_with(&self.files)
    }

    fn open(&self, disk: SimDisk) -> Result<Store, Error> {
        self.is_untouched_or_raised(&disk)?;
        // One day after the fixture was written, so that nothing in it has expired.
        let clock = ManualClock::new("2024-03-02T00:00:00Z".parse().unwrap());
        options().clock(clock).open_disk(Arc::new(disk))
    }

    fn run(&self, history: &History) -> Result<(), Error> {
        let store = self.open(history.disk.clone())?;
        let product = json!({ "partNumber": ADDED, "name": ADDED });
        history
            .step("product", || ada(&store).create_products(vec![request(product)]).map(drop))?;
        let filled = store.maintain(&Control::default())?;
        assert_eq!(
            filled.index_entries_added > 0,
            self.format < 5,
            "indexes came with formats 2 and 5"
        );
        let upload = request(json!({ "name": ADDED }));
        let control = Control::default();
        history.step("file", || {
            ada(&store).upload_file(&mut [1; 9_000].as_slice(), upload, &control).map(drop)
        })?;
        history.step("subscriber", || ada(&store).register_subscriber(ADDED).map(drop))
    }

    fn found(&self, store: &Store, _: &SimDisk) -> Result<BTreeSet<String>, Problem> {
        self.same_answers(store, "when opened")?;
        let session = ada(store);
        let mut found = BTreeSet::new();
        let filter = json!({ "filter": format!("partNumber = \"{ADDED}\"") });
        let products =
            session.query_products(request(filter)).map_err(Problem::Refused)?.products.len();
        let files = session.query_files_linq(by_size()).map_err(Problem::Refused)?.available_files;
        let files = files.iter().filter(|file| value(file).to_string().contains(ADDED)).count();
        let subscribers = store.subscribers().map_err(Problem::Refused)?;
        let owned = subscribers
            .iter()
            .filter(|told| told.name == ADDED && told.owner.as_deref() == Some("ada"))
            .count();
        for (step, count) in [("product", products), ("file", files), ("subscriber", owned)] {
            match count {
                0 => false,
                1 => found.insert(step.to_owned()),
                more => return Err(Problem::Wrong(format!("{more} of {step}"))),
            };
        }
        // The filling completes; then the index is used and correct.
        let headers =
            store.verify(VerifyLevel::Headers, &Control::default()).map_err(Problem::Refused)?;
        if headers.incomplete_indexes.is_empty() {
            return Ok(found);
        }
        store.maintain(&Control::default()).map_err(Problem::Refused)?;
        let report =
            store.verify(VerifyLevel::Headers, &Control::default()).map_err(Problem::Refused)?;
        if !report.is_sound() || !report.incomplete_indexes.is_empty() {
            return Err(Problem::Wrong(format!("after maintenance: {report:?}")));
        }
        let plan =
            session.explain_query_files_linq(by_size()).map_err(Problem::Refused)?.to_string();
        if !plan.contains("index size") {
            return Err(Problem::Wrong(format!("a complete index is not used: {plan}")));
        }
        self.same_answers(store, "after maintenance")?;
        Ok(found)
    }

    fn go_on(&self, store: &Store) -> Result<(), Error> {
        ada(store).register_subscriber("later").map(drop)
    }
}

#[test]
fn every_change_of_an_upgrade_can_be_the_last() {
    for format in [1, 2] {
        let upgrade = Upgrade::from(format);
        // By day nothing or all of the unsynced changes survive. Format 2 lacks no index and has
        // few changes.
        let by_day = Extent { draws: 2, recovery_one_in: 150, ..default_extent() };
        must_hold_within(&format!("upgrade from format {format}"), &upgrade, by_day);
    }
}

/// Tests the suite: without its syncs `FORMAT` is lost, or is older than the rows of the record
/// file.
#[test]
fn an_upgrade_without_a_barrier_is_found() {
    let upgrade = Upgrade::from(2);
    for (name, removed) in [
        ("the sync of FORMAT", Pick::kind(OpKind::Sync).on_path("FORMAT")),
        ("every sync of a directory", Pick::kind(OpKind::SyncDir)),
    ] {
        let disk = disk_with(&upgrade.files);
        disk.ignore_sync(removed);
        let history = History::new(disk);
        upgrade.run(&history).unwrap();
        let explored = explore(
            &upgrade,
            &history,
            Extent { draws: 4, recovery_one_in: 0, images_max: 2_000, takes_turns: false },
        );
        let failure = explored
            .failure
            .unwrap_or_else(|| panic!("without {name} {} images were good", explored.images));
        println!(
            "without {name}: red after {} images, {}",
            explored.images,
            failure.lines().next().unwrap_or_default()
        );
    }
}
