//! Stores that an older build left in a directory, under a build with an added member, enum value
//! or kind. (For an added index, see `tests/fixtures/main.rs`.) And power cuts while an index is
//! filled.

use std::collections::BTreeMap;
use std::io::Read;
use std::path::Path;
use std::sync::Arc;

use chrono::{DateTime, Utc};

use super::growth::{Device, ada, age, change, in_order, table};
use crate::disk::sim::{SimDisk, Survival};
use crate::disk::{Disk, MemoryDisk, SharedDisk, parent, read_file, walk, write_new_file};
use crate::error::{ErrorKind, Result};
use crate::model::resource::Resource;
use crate::model::{Condition, Specification, SpecificationId, SpecificationLimit};
use crate::records::{Source, Space, envelope};
use crate::session::{Access, Fillings, Session, What, growth};
use crate::store::{Store, StoreOptions, VerifyLevel};
use crate::value::stored::Format;
use crate::value::wire::wire_enum;
use crate::value::{Control, RecordKey};

/// The format of the additions here: that of this build, so that every older store lacks them.
const SINCE: u8 = 10;

wire_enum! {
    /// A type of specification, with a value that was added later.
    pub enum GrownType {
        /// As it was.
        Parametric = "PARAMETRIC",
        /// As it was.
        Functional = "FUNCTIONAL",
        /// Added later.
        Workmanship = "WORKMANSHIP" since 10,
    }
}

/// A specification, with a later member among those that formats 1 to 3 stored.
#[derive(Clone, Debug, Default, PartialEq, Resource)]
#[resource(kind = 2, name = "Specification", service(SPECIFICATIONS), id(Guid))]
#[fields(note)]
pub(crate) struct GrownSpecification {
    /// As it was.
    pub id: Option<SpecificationId>,
    /// As it was.
    pub product_id: Option<String>,
    /// As it was.
    pub spec_id: Option<String>,
    /// Added later.
    #[since(10)]
    pub note: Option<String>,
    /// As it was, with one more value.
    pub r#type: Option<GrownType>,
    /// As it was.
    pub workspace: Option<String>,
    /// As it was.
    pub version: Option<i64>,
    /// As it was.
    pub name: Option<String>,
    /// As it was.
    pub category: Option<String>,
    /// As it was.
    pub symbol: Option<String>,
    /// As it was.
    pub block: Option<String>,
    /// As it was.
    pub unit: Option<String>,
    /// As it was.
    pub limit: Option<SpecificationLimit>,
    /// As it was.
    pub conditions: Option<Vec<Condition>>,
    /// As it was.
    pub keywords: Option<Vec<String>>,
    /// As it was.
    pub properties: Option<BTreeMap<String, String>>,
    /// As it was.
    pub created_at: Option<DateTime<Utc>>,
    /// As it was.
    pub created_by: Option<String>,
    /// As it was.
    pub updated_at: Option<DateTime<Utc>>,
    /// As it was.
    pub updated_by: Option<String>,
}

/// The store of a fixture: the directory as a build of that format left it.
fn stored(format: u8) -> Arc<MemoryDisk> {
    let path = format!("tests/fixtures/v{format}/clean.tar.zst");
    let packed = std::fs::File::open(Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).unwrap();
    let mut archive = tar::Archive::new(zstd::Decoder::new(packed).unwrap());
    let disk = MemoryDisk::new();
    for entry in archive.entries().unwrap() {
        let mut entry = entry.unwrap();
        let name = entry.path().unwrap().to_str().unwrap().to_owned();
        let mut bytes = Vec::new();
        entry.read_to_end(&mut bytes).unwrap();
        disk.create_dir_all(parent(&name)).unwrap();
        write_new_file(&disk, &name, &bytes).unwrap();
    }
    Arc::new(disk)
}

fn open(disk: &Arc<MemoryDisk>) -> Store {
    StoreOptions::default().maintenance_thread(false).open_on(disk.clone()).unwrap()
}

/// The older formats, whose stores lack the additions.
fn formats_before() -> std::ops::Range<u8> {
    assert_eq!(
        SINCE,
        Format::CURRENT.number(),
        "raise `since` in this file together with the format"
    );
    Format::FIRST.number()..SINCE
}

/// The format of each specification's envelope, by its key.
fn formats(session: &Session) -> Vec<u8> {
    let rows =
        session.read(|view| view.raw_prefix(Space::Records, &[Specification::KIND.code])).unwrap();
    let format =
        |(key, row): &(Vec<u8>, Vec<u8>)| envelope::open(key, key[0], row).unwrap().format.number();
    rows.iter().map(format).collect()
}

fn all<R: Resource>(session: &Session) -> Vec<R> {
    let rows = session.read(|view| view.raw_prefix(Space::Records, &[R::KIND.code])).unwrap();
    let id = |key: &[u8]| RecordKey::from_bytes(R::KIND.id, &key[1..]).unwrap().to_id(R::KIND.id);
    rows.iter()
        .map(|(key, _)| session.read(|view| view.get::<R>(&id(key))).unwrap().unwrap())
        .collect()
}

#[test]
fn a_store_from_before_a_member_and_a_value_is_read_and_written_with_them() {
    for format in formats_before() {
        let disk = stored(format);
        let store = open(&disk);
        let session = ada(&store);
        let before: Vec<Specification> = all(&session);
        assert_eq!(before.len(), 2);
        assert_eq!(formats(&session), [format; 2]);
        let grown: Vec<GrownSpecification> = all(&session);
        for (grown, before) in grown.iter().zip(&before) {
            assert_eq!(grown.note, None);
            // All other members are unchanged, on both sides of the added member.
            let (grown, before) =
                (serde_json::to_value(grown).unwrap(), serde_json::to_value(before).unwrap());
            assert!(
                before.as_object().unwrap().values().filter(|value| !value.is_null()).count() > 7,
                "{before}"
            );
            for (member, value) in before.as_object().unwrap() {
                assert_eq!(grown.get(member), Some(value), "format {format}: {member}");
            }
        }
        // One record is written again, with both additions; the other keeps its stored form.
        let mut changed = grown[0].clone();
        changed.note = Some("came later".into());
        changed.r#type = Some(GrownType::Workmanship);
        let (now, untouched) = (changed.clone(), grown[1].clone());
        change(&session, move |draft| draft.put(&changed, What::Updated));
        drop((session, store));
        let store = open(&disk);
        let session = ada(&store);
        assert_eq!(all::<GrownSpecification>(&session), [now, untouched]);
        assert_eq!(formats(&session), [SINCE, format]);
        // A build without the additions must refuse their bytes instead of misreading them.
        let id = before[0].id().to_owned();
        let refused = session.read(|view| view.get::<Specification>(&id)).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::Corrupt);
    }
}

#[test]
fn a_store_from_before_a_kind_has_none_of_it_and_takes_some() {
    for format in formats_before() {
        let disk = stored(format);
        let store = open(&disk);
        let session = ada(&store);
        assert_eq!(all::<Device>(&session), []);
        let device = Device { id: "1000".into(), workspace: "default".into(), ..Device::default() };
        let put = device.clone();
        change(&session, move |draft| draft.put(&put, What::Created));
        drop((session, store));
        let store = open(&disk);
        let session = ada(&store);
        assert_eq!(all::<Device>(&session), [device]);
        assert_eq!(all::<Specification>(&session).len(), 2);
        change(&session, |draft| draft.delete::<Device>("1000").map(drop));
        drop((session, store));
        let store = open(&disk);
        assert_eq!(all::<Device>(&ada(&store)), []);
        let report = store.verify(VerifyLevel::Checksums, &Control::default()).unwrap();
        assert!(report.is_sound(), "{:?}", report.findings);
    }
}

/// An index is filled seven records at a time, with a write after each step, and the power is cut
/// after every change of the disk.
#[test]
fn a_filling_that_the_power_cuts_goes_on_where_it_was_and_completes() {
    const MADE: usize = 30;
    const STEP: usize = 7;
    let memory = Arc::new(MemoryDisk::new());
    let store = open(&memory);
    change(&ada(&store), |draft| {
        (0..MADE).try_for_each(|number| draft.put(&table(number), What::Created))
    });
    drop(store);
    age(&memory);
    let disk = SimDisk::new(1);
    for (path, _) in walk(&*memory, "").unwrap() {
        disk.create_dir_all(parent(&path)).unwrap();
        write_new_file(&disk, &path, &read_file(&*memory, &path, u64::MAX).unwrap()).unwrap();
    }
    let disk = disk.survivors(0, Survival::All);
    let opened = |disk: SimDisk| -> Result<Store> {
        let disk: SharedDisk = Arc::new(disk);
        StoreOptions::default().maintenance_thread(false).open_on(disk)
    };
    let store = opened(disk.clone()).unwrap();
    let session = ada(&store);
    // The answers after each write, and the number of disk changes up to then.
    let mut answers = vec![(0, in_order(&session))];
    loop {
        let number = MADE + answers.len();
        change(&session, move |draft| draft.put(&table(number), What::Created));
        answers.push((disk.changes(), in_order(&session)));
        if growth::step(&session, STEP).unwrap() {
            break;
        }
    }
    // Two indexes over 30 records and those that were added meanwhile.
    assert!(answers.len() > 10, "{}", answers.len());
    drop((session, store));

    let (mut replay, mut changes, mut images, mut halfway) = (disk.replay(), 0, 0, 0);
    while replay.advance().is_some() {
        changes += 1;
        for survival in [Survival::None, Survival::Random] {
            let place = format!("after change {changes}, {survival:?}");
            let store = opened(replay.survivors(changes, survival))
                .unwrap_or_else(|error| panic!("{place}: {error}"));
            let session = ada(&store);
            let assert_sound = || {
                let report = store.verify(VerifyLevel::Checksums, &Control::default()).unwrap();
                assert!(report.is_sound(), "{place}: {:?}", report.findings);
                report.incomplete_indexes
            };
            let incomplete = assert_sound();
            let snapshot = session.context().engine.snapshot();
            let fillings = Fillings::of(Source::Snapshot(&snapshot)).unwrap();
            drop(snapshot);
            assert_eq!(fillings.names(), incomplete, "{place}");
            halfway +=
                usize::from(fillings.indexes.iter().any(|filling| !filling.after.is_empty()));
            let found = in_order(&session);
            let is_acknowledged = |(at, _): &&(usize, Vec<String>)| *at <= changes as usize;
            let least = answers.iter().filter(is_acknowledged).count() - 1;
            // Acknowledged writes are there, and of a write in progress all or nothing.
            let is_known = answers[least..].iter().take(2).any(|(_, names)| *names == found);
            assert!(is_known, "{place}: {found:?}, not {:?}", answers[least]);
            while !growth::step(&session, STEP).unwrap() {}
            assert_eq!(assert_sound(), Vec::<String>::new(), "{place}");
            assert_eq!(in_order(&session), found, "{place}");
            images += 1;
        }
    }
    println!("{images} images, {halfway} in the middle of an index");
    assert!(images > 100 && halfway > 20);
}
