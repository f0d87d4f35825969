//! Stores of an older format under this build: members, enum values, indexes and kinds that were
//! added later.

use std::sync::Arc;

use crate::disk::{Disk, MemoryDisk, Mode, read_file};
use crate::error::{ErrorKind, Result};
use crate::model::REGISTRY;
use crate::model::resource::Resource;
use crate::model::tables::table::TableMetadata;
use crate::records::{Space, envelope};
use crate::session::{
    Access, Draft, FILLING_KEY, Fillings, Identity, OrderTerm, Query, Session, What, growth,
};
use crate::store::{Store, StoreOptions, VerifyLevel};
use crate::value::key::after_prefix;
use crate::value::stored::{self, Format, Members, Payload};
use crate::value::wire::{record, wire_enum};
use crate::value::{Control, IdForm, RecordKey, time};

/// The types as a build of format 1 had them.
mod first {
    use crate::value::wire::{record, wire_enum};

    wire_enum! {
        /// A level.
        pub enum Level {
            /// Low.
            Low = "LOW",
            /// High.
            High = "HIGH",
        }
    }

    record! {
        /// A part of a device.
        pub struct Part {
            /// Name.
            pub name: Option<String>,
        }

        /// A device.
        pub struct Device {
            /// Id.
            pub id: String,
            /// Workspace.
            pub workspace: String,
            /// Parts.
            pub parts: Vec<Part>,
            /// Level.
            pub level: Level,
        }
    }
}

wire_enum! {
    /// A level.
    pub enum Level {
        /// Low.
        Low = "LOW",
        /// High.
        High = "HIGH",
        /// Beyond high.
        Top = "TOP" since 2,
    }
}

record! {
    /// A part of a device.
    pub struct Part {
        /// Name.
        pub name: Option<String>,
        /// Serial number.
        since(2) pub serial: Option<String>,
    }
}

/// A device.
#[derive(Clone, Debug, Default, PartialEq, Resource)]
#[resource(kind = 201, name = "device", service = "devices", id(Decimal))]
#[fields(id, note)]
pub(crate) struct Device {
    /// Id.
    pub id: String,
    /// Note; placed before members that existed earlier.
    #[since(2)]
    pub note: Option<String>,
    /// Workspace.
    pub workspace: String,
    /// Parts.
    pub parts: Vec<Part>,
    /// Level.
    pub level: Level,
}

fn old_device() -> first::Device {
    first::Device {
        id: "1000".into(),
        workspace: "default".into(),
        parts: vec![first::Part { name: Some("one".into()) }, first::Part { name: None }],
        level: first::Level::High,
    }
}

fn of_first_format(bytes: &[u8]) -> Payload<'_> {
    Payload { format: Format::FIRST, bytes }
}

#[test]
fn members_that_came_later_are_absent_at_every_depth() {
    let bytes = stored::to_bytes(&old_device()).unwrap();
    let device: Device = stored::read(of_first_format(&bytes)).unwrap();
    let part = |name: Option<&str>| Part { name: name.map(str::to_owned), serial: None };
    let expected = Device {
        id: "1000".into(),
        note: None,
        workspace: "default".into(),
        parts: vec![part(Some("one")), part(None)],
        level: Level::High,
    };
    assert_eq!(device, expected);
    // Members are skipped in the same way.
    for place in 0..5 {
        let mut some = Device { note: Some("before".into()), ..Device::default() };
        stored::fill(&mut some, of_first_format(&bytes), Members::NONE.with(place)).unwrap();
        assert_eq!(
            some.note.is_none(),
            place == 1,
            "an absent member that is wanted becomes its default"
        );
    }
    // Records that this build writes have the new members.
    let now = Device { note: Some("n".into()), level: Level::Top, ..expected };
    assert_eq!(stored::from_bytes::<Device>(&stored::to_bytes(&now).unwrap()).unwrap(), now);
}

#[test]
fn bytes_that_do_not_belong_to_their_format_are_corrupt() {
    let kind = |payload| stored::read::<Device>(payload).unwrap_err().kind();
    let old = stored::to_bytes(&old_device()).unwrap();
    let now: Device = stored::read(of_first_format(&old)).unwrap();
    let new = stored::to_bytes(&now).unwrap();
    assert_eq!(
        kind(of_first_format(&new)),
        ErrorKind::Corrupt,
        "members of a later format in older bytes"
    );
    assert_eq!(kind(Payload::current(&old)), ErrorKind::Corrupt, "members are missing");
    for len in 0..old.len() {
        assert_eq!(kind(of_first_format(&old[..len])), ErrorKind::Corrupt, "cut to {len} bytes");
    }
    let longer = [old.as_slice(), &[0]].concat();
    assert_eq!(kind(of_first_format(&longer)), ErrorKind::Corrupt, "a byte is left over");
    // A value that was added later is not valid in older bytes.
    let top = stored::to_bytes(&Level::Top).unwrap();
    assert_eq!(stored::from_bytes::<Level>(&top).unwrap(), Level::Top);
    assert_eq!(
        stored::read::<Level>(of_first_format(&top)).unwrap_err().kind(),
        ErrorKind::Corrupt
    );
    let next = stored::to_bytes(&3u8).unwrap();
    assert_eq!(stored::from_bytes::<Level>(&next).unwrap_err().kind(), ErrorKind::Corrupt);
}

fn open(disk: &Arc<MemoryDisk>) -> Store {
    let options = StoreOptions::default().seed(Some(1)).maintenance_thread(false);
    options.open_on(disk.clone()).unwrap()
}

pub(super) fn ada(store: &Store) -> Session {
    store.session(Identity::user("ada"))
}

fn set_format(disk: &MemoryDisk, number: u32) {
    let text = String::from_utf8(read_file(disk, "FORMAT", 4096).unwrap()).unwrap();
    let current = Format::CURRENT.number();
    let text = text.replace(&format!("format {current}\n"), &format!("format {number}\n"));
    disk.remove_file("FORMAT").unwrap();
    disk.open("FORMAT", Mode::CreateNew).unwrap().write_all_at(text.as_bytes(), 0).unwrap();
}

fn format(disk: &MemoryDisk) -> String {
    let text = String::from_utf8(read_file(disk, "FORMAT", 4096).unwrap()).unwrap();
    text.lines().nth(1).unwrap().to_owned()
}

/// Turns the store into one that a build of format 1 would have written: without the indexes that
/// were added later, and with the older format number.
pub(super) fn age(disk: &Arc<MemoryDisk>) {
    let store = open(disk);
    ada(&store)
        .write(|draft| {
            for registered in REGISTRY {
                for index in (registered.indexes)().into_iter().filter(|index| index.since > 1) {
                    let prefix = [registered.kind.code, index.number];
                    let source = draft.view().source();
                    let mut keys = Vec::new();
                    {
                        let mut cursor = source.cursor(
                            Space::Index,
                            &prefix,
                            after_prefix(&prefix).as_deref(),
                        )?;
                        while let Some((key, _)) = cursor.next()? {
                            keys.push(key);
                        }
                    }
                    keys.iter().for_each(|key| draft.remove_entry(key));
                }
            }
            draft.delete_raw(Space::Meta, growth::format_row().0);
            Ok(())
        })
        .unwrap();
    store.close().unwrap();
    set_format(disk, 1);
}

#[test]
fn a_store_of_the_first_format_is_raised_before_anything_else_and_written_on() {
    let disk = Arc::new(MemoryDisk::new());
    drop(open(&disk));
    let full_key =
        [&[Device::KIND.code][..], RecordKey::parse(IdForm::Decimal, "1000").unwrap().as_bytes()]
            .concat();
    {
        let store = open(&disk);
        let bytes = stored::to_bytes(&old_device()).unwrap();
        let row = envelope::seal_in_first_format(&full_key, Device::KIND.code, &bytes);
        let key = full_key.clone();
        change(&ada(&store), move |draft| {
            draft.put_raw(Space::Records, key, row);
            Ok(())
        });
    }
    age(&disk);
    assert_eq!(format(&disk), "format 1");
    let store = open(&disk);
    assert_eq!(format(&disk), format!("format {}", Format::CURRENT.number()));
    let session = ada(&store);
    let device = session.read(|view| view.get::<Device>("1000")).unwrap().unwrap();
    assert_eq!((device.level, &device.note, device.parts.len()), (Level::High, &None, 2));
    let mut changed = device;
    changed.note = Some("since the second format".into());
    changed.level = Level::Top;
    let expected = changed.clone();
    session.write(move |draft| draft.put(&changed, What::Updated)).unwrap();
    drop((session, store));
    // A kind that was added later: the store has no record of it, and accepts some.
    let store = open(&disk);
    assert_eq!(ada(&store).read(|view| view.get::<Device>("1000")).unwrap(), Some(expected));
    assert_eq!(ada(&store).read(|view| view.get::<Device>("1001")).unwrap(), None);
    drop(store);
    set_format(&disk, u32::from(Format::CURRENT.number()) + 1);
    let error = StoreOptions::default().open_on(disk.clone()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NewerFormat);
}

const TABLES: usize = 2_500;

pub(super) fn table(number: usize) -> TableMetadata {
    TableMetadata {
        id: Some(RecordKey::generate(TableMetadata::KIND, number as u64, 1).into()),
        name: Some(format!("table {number}")),
        workspace: Some("default".into()),
        // An order that differs from key order; 2,500 and 7,919 have no common divisor.
        created_at: Some(time::from_millis((number * 7_919 % TABLES) as i64)),
        row_count: Some(0),
        ..TableMetadata::default()
    }
}

pub(super) fn in_order(session: &Session) -> Vec<String> {
    let order = vec![OrderTerm { path: "createdAt", descending: false }];
    let query = Query { order, take: 2 * TABLES, ..Query::default() };
    let page = session.read(|view| view.query::<TableMetadata>(&query)).unwrap();
    page.items.into_iter().map(|table| table.name.unwrap()).collect()
}

fn access(session: &Session) -> String {
    let order = vec![OrderTerm { path: "createdAt", descending: false }];
    let query = Query { order, take: 1, ..Query::default() };
    session.read(|view| view.plan::<TableMetadata>(&query)).unwrap().access
}

pub(super) fn change(
    session: &Session,
    f: impl FnOnce(&mut Draft<'_>) -> Result<()> + Send + 'static,
) {
    session.write(f).unwrap();
}

#[test]
fn an_index_that_came_later_is_filled_step_by_step_beside_writes() {
    let disk = Arc::new(MemoryDisk::new());
    let store = open(&disk);
    change(&ada(&store), |draft| {
        (0..TABLES).try_for_each(|number| draft.put(&table(number), What::Created))
    });
    assert!(access(&ada(&store)).contains("createdAt"), "{}", access(&ada(&store)));
    drop(store);
    age(&disk);

    let assert_sound = |store: &Store, incomplete: &[&str]| {
        let report = store.verify(VerifyLevel::Checksums, &Control::default()).unwrap();
        assert!(report.is_sound(), "{:?}", report.findings);
        assert_eq!(report.incomplete_indexes, incomplete);
    };
    let mut expected: Vec<TableMetadata> = (0..TABLES).map(table).collect();
    let (mut number, mut steps) = (TABLES, 0);
    let mut store = open(&disk);
    loop {
        let session = ada(&store);
        let listed = session.read(|view| Ok(view.fillings()?.unwrap_or_default())).unwrap().names();
        let listed: Vec<&str> = listed.iter().map(String::as_str).collect();
        assert_sound(&store, &listed);
        let is_usable = !listed.contains(&"index 3 of table");
        assert_eq!(
            access(&session).contains("createdAt"),
            is_usable,
            "{}; {listed:?}",
            access(&session)
        );
        expected.sort_by_key(|table| (table.created_at, table.id.clone()));
        let names: Vec<String> = expected.iter().map(|table| table.name.clone().unwrap()).collect();
        assert_eq!(in_order(&session), names, "after {steps} steps");
        if listed.is_empty() {
            break;
        }
        // A reader that began earlier keeps using the indexes of its snapshot.
        let before = session.context().engine.snapshot();
        let held = Fillings::of(crate::records::Source::Snapshot(&before)).unwrap();
        // Writes before and after the position of the filling: the first and the last table change,
        // one is deleted, one is created.
        expected.sort_by_key(|table| table.id.clone());
        let last = expected.len() - 1;
        for at in [0, last] {
            expected[at].created_at =
                expected[at].created_at.map(|time| time + chrono::TimeDelta::milliseconds(10_000));
        }
        let (one, other) = (expected[0].clone(), expected[last].clone());
        let gone = expected.remove(last / 2);
        let new = TableMetadata { created_at: Some(time::from_millis(5)), ..table(number) };
        expected.push(new.clone());
        number += 1;
        change(&session, move |draft| {
            draft.put(&one, What::Updated)?;
            draft.put(&other, What::Updated)?;
            draft.put(&new, What::Created)?;
            draft.delete::<TableMetadata>(gone.id.as_deref().unwrap_or_default()).map(drop)
        });
        growth::step(&session, 1_000).unwrap();
        assert_eq!(Fillings::of(crate::records::Source::Snapshot(&before)).unwrap(), held);
        steps += 1;
        // Every second step runs in a reopened store.
        if steps % 2 == 0 {
            drop((before, session));
            drop(store);
            store = open(&disk);
        }
    }
    // 2,500 tables in steps of 1,000, for each of two indexes.
    assert_eq!(steps, 6);
    drop(store);
    let store = open(&disk);
    assert_sound(&store, &[]);
    assert_eq!(ada(&store).read(|view| view.raw(Space::Meta, FILLING_KEY)).unwrap(), None);
}

#[test]
fn maintenance_fills_what_is_missing_and_a_backup_has_it() {
    let disk = Arc::new(MemoryDisk::new());
    let store = open(&disk);
    change(&ada(&store), |draft| {
        (0..100).try_for_each(|number| draft.put(&table(number), What::Created))
    });
    let names = in_order(&ada(&store));
    drop(store);
    age(&disk);
    let store = open(&disk);
    let target: crate::disk::SharedDisk = Arc::new(MemoryDisk::new());
    store.backup_to(&target, &Control::default()).unwrap();
    let copy = StoreOptions::default().maintenance_thread(false).open_on(target).unwrap();
    assert!(access(&ada(&copy)).contains("createdAt"), "the indexes of a backup are complete");
    assert_eq!(in_order(&ada(&copy)), names);
    assert!(!access(&ada(&store)).contains("createdAt"));
    assert_eq!(store.maintain(&Control::default()).unwrap().index_entries_added, 200);
    assert!(access(&ada(&store)).contains("createdAt"));
    for store in [store, copy] {
        let report = store.verify(VerifyLevel::Checksums, &Control::default()).unwrap();
        assert!(report.is_sound() && report.incomplete_indexes.is_empty(), "{report:?}");
        assert_eq!((report.format, report.older_records), (Format::CURRENT.number().into(), 0));
    }
}
