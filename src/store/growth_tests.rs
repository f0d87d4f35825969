//! A store that a build of one format wrote, under a build of the next one: a member, a value, an
//! index and a kind are added.

use crate::store::tests::prelude::*;

use crate::model::resource::registry::grown;
use crate::session::maintain::growth;
use crate::session::{FILLING_KEY, Fillings};
use crate::value::stored::{self, Members, Payload};
use crate::value::wire::{record, wire_enum};

/// The types as a build of format 1 has them.
mod first {
    use crate::model::resource::Resource;
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
    }

    /// A device.
    #[derive(Clone, Debug, Default, PartialEq, Resource)]
    #[resource(kind = 201, name = "device", service = "devices", id(Decimal))]
    #[fields(id, number)]
    pub(crate) struct Device {
        /// Id.
        pub id: String,
        /// Workspace.
        pub workspace: String,
        /// Parts.
        pub parts: Vec<Part>,
        /// Level.
        pub level: Level,
        /// Number.
        pub number: Option<i64>,
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
#[fields(id, number, note)]
#[index(1, number, since = 2)]
#[index(2, note, since = 2)]
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
    /// Number.
    pub number: Option<i64>,
}

/// A kind that was added later.
#[derive(Clone, Debug, Default, PartialEq, Resource)]
#[resource(kind = 202, name = "probe", service = "probes", id(Decimal))]
#[fields(id, tip)]
#[index(1, tip, since = 2)]
pub(crate) struct Probe {
    /// Id.
    #[since(2)]
    pub id: String,
    /// Workspace.
    #[since(2)]
    pub workspace: String,
    /// Tip.
    #[since(2)]
    pub tip: Option<String>,
}

/// What the next format adds.
static ADDED: [KindEntry; 2] = [KindEntry::of::<Device>(), KindEntry::of::<Probe>()];
/// The indexes of devices that it adds.
const INDEXES: [&str; 2] = ["index 1 of device", "index 2 of device"];

fn old_device() -> first::Device {
    first::Device {
        id: "1000".into(),
        workspace: "default".into(),
        parts: vec![first::Part { name: Some("one".into()) }, first::Part { name: None }],
        level: first::Level::High,
        number: Some(7),
    }
}

fn of_first_format(bytes: &[u8]) -> Payload<'_> {
    Payload { format: Format::FIRST, bytes }
}

/// The old device as the next format has it.
fn grown_device() -> Device {
    let part = |name: Option<&str>| Part { name: name.map(str::to_owned), serial: None };
    Device {
        id: "1000".into(),
        note: None,
        workspace: "default".into(),
        parts: vec![part(Some("one")), part(None)],
        level: Level::High,
        number: Some(7),
    }
}

#[test]
fn members_that_came_later_are_absent_at_every_depth() {
    let bytes = stored::to_bytes(&old_device()).unwrap();
    let device: Device = stored::read(of_first_format(&bytes)).unwrap();
    assert_eq!(device, grown_device());
    // Members are skipped in the same way.
    for place in 0..6 {
        let mut some = Device { note: Some("before".into()), ..Device::default() };
        stored::fill(&mut some, of_first_format(&bytes), Members::NONE.with(place)).unwrap();
        assert_eq!(
            some.note.is_none(),
            place == 1,
            "an absent member that is wanted becomes its default"
        );
    }
    // Records of the next format have the new members.
    grown::build(&ADDED, || {
        let now = Device { note: Some("n".into()), level: Level::Top, ..grown_device() };
        assert_eq!(stored::from_bytes::<Device>(&stored::to_bytes(&now).unwrap()).unwrap(), now);
    });
}

#[test]
fn bytes_that_do_not_belong_to_their_format_are_corrupt() {
    let kind = |payload| stored::read::<Device>(payload).unwrap_err().kind();
    let old = stored::to_bytes(&old_device()).unwrap();
    let new = stored::to_bytes(&grown_device()).unwrap();
    assert_eq!(
        kind(of_first_format(&new)),
        ErrorKind::Corrupt,
        "members of a later format in older bytes"
    );
    for len in 0..old.len() {
        assert_eq!(kind(of_first_format(&old[..len])), ErrorKind::Corrupt, "cut to {len} bytes");
    }
    let longer = [old.as_slice(), &[0]].concat();
    assert_eq!(kind(of_first_format(&longer)), ErrorKind::Corrupt, "a byte is left over");
    // A value that was added later is not valid in older bytes.
    let top = stored::to_bytes(&Level::Top).unwrap();
    assert_eq!(
        stored::read::<Level>(of_first_format(&top)).unwrap_err().kind(),
        ErrorKind::Corrupt
    );
    grown::build(&ADDED, || {
        assert_eq!(kind(Payload::current(&old)), ErrorKind::Corrupt, "members are missing");
        assert_eq!(stored::from_bytes::<Level>(&top).unwrap(), Level::Top);
        let next = stored::to_bytes(&3u8).unwrap();
        assert_eq!(stored::from_bytes::<Level>(&next).unwrap_err().kind(), ErrorKind::Corrupt);
    });
}

fn try_open(disk: SharedDisk) -> Result<Store> {
    StoreOptions::default().seed(Some(1)).maintenance_thread(false).open_on(disk)
}

fn open(disk: &Arc<MemoryDisk>) -> Store {
    try_open(disk.clone()).unwrap()
}

fn change(session: &Session, f: impl FnOnce(&mut Draft<'_>) -> Result<()> + Send + 'static) {
    session.write(f).unwrap();
}

fn format(disk: &dyn Disk) -> String {
    let text = String::from_utf8(read_file(disk, "FORMAT", 4096).unwrap()).unwrap();
    text.lines().nth(1).unwrap().to_owned()
}

/// The format of the envelope of each device.
fn formats(session: &Session) -> Vec<u8> {
    let rows = session.read(|view| view.raw_prefix(Space::Records, &[Device::KIND.code])).unwrap();
    let format =
        |(key, row): &(Vec<u8>, Vec<u8>)| envelope::open(key, key[0], row).unwrap().format.number();
    rows.iter().map(format).collect()
}

/// A store of format 1 with this many devices.
fn made(devices: usize) -> Arc<MemoryDisk> {
    let disk = Arc::new(MemoryDisk::new());
    let store = open(&disk);
    change(&ada(&store), move |draft| {
        (0..devices).try_for_each(|at| {
            let device = device(at, devices);
            let device = first::Device {
                id: device.id,
                workspace: device.workspace,
                number: device.number,
                ..old_device()
            };
            draft.put(&device, What::Created)
        })
    });
    store.close().unwrap();
    disk
}

/// Device `at` of a store with `devices` of them. The order of the numbers differs from that of the
/// keys; 7,919 has no divisor in common with a number of devices here.
fn device(at: usize, devices: usize) -> Device {
    let number = Some((at * 7_919 % devices) as i64);
    Device { id: (1_000 + at).to_string(), number, ..grown_device() }
}

fn by_number(take: usize) -> Query<'static> {
    let order = vec![OrderTerm { path: "number", descending: false }];
    Query { order, take, ..Query::default() }
}

fn in_order(session: &Session) -> Vec<String> {
    let query = by_number(10_000);
    let page = session.read(|view| view.query::<Device>(&query)).unwrap();
    page.items.into_iter().map(|device| device.id).collect()
}

fn uses_index(session: &Session) -> bool {
    let access = session.read(|view| view.plan::<Device>(&by_number(1))).unwrap().access;
    access.contains("number")
}

/// Checks the store; returns the incomplete indexes and the number of records in the older form.
fn sound(store: &Store) -> (Vec<String>, u64) {
    let report = store.verify(VerifyLevel::Checksums, &Control::default()).unwrap();
    assert!(report.is_sound(), "{:?}", report.findings);
    assert_eq!(report.format, u32::from(Format::current().number()));
    (report.incomplete_indexes, report.older_records)
}

#[test]
fn a_store_of_the_format_before_is_raised_and_written_on() {
    let disk = made(3);
    assert_eq!(format(&*disk), "format 1");
    grown::build(&ADDED, || {
        let store = open(&disk);
        assert_eq!(format(&*disk), "format 2");
        let session = ada(&store);
        assert_eq!(sound(&store), (INDEXES.map(str::to_owned).to_vec(), 3));
        // The member is absent, and the index is not used before it is complete.
        let get = |session: &Session, id: &str| {
            let id = id.to_owned();
            session.read(|view| view.get::<Device>(&id)).unwrap()
        };
        assert_eq!(get(&session, "1001"), Some(device(1, 3)));
        assert!(!uses_index(&session));
        assert_eq!(in_order(&session).len(), 3);
        // One record is written again, with the member and the value; the others keep their form.
        let changed = Device { note: Some("came later".into()), level: Level::Top, ..device(1, 3) };
        let put = changed.clone();
        change(&session, move |draft| draft.put(&put, What::Updated));
        assert_eq!(formats(&session), [1, 2, 1]);
        // The kind: the store has no record of it, and takes some.
        assert_eq!(session.read(|view| view.get::<Probe>("1000")).unwrap(), None);
        let probe = Probe { id: "1000".into(), workspace: "default".into(), tip: Some("t".into()) };
        let put = probe.clone();
        change(&session, move |draft| draft.put(&put, What::Created));
        drop(session);
        store.close().unwrap();

        let store = open(&disk);
        let session = ada(&store);
        assert_eq!(get(&session, "1001"), Some(changed));
        assert_eq!(session.read(|view| view.get::<Probe>("1000")).unwrap(), Some(probe));
        // Two indexes of three devices.
        assert_eq!(store.maintain(&Control::default()).unwrap().index_entries_added, 6);
        assert!(uses_index(&session));
        assert_eq!(sound(&store), (vec![], 2));
        drop(session);
        store.close().unwrap();
    });
    // A build of the format before refuses it, and changes nothing.
    let before = walk(&*disk, "").unwrap();
    let error = try_open(disk.clone()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NewerFormat, "{error}");
    assert_eq!(walk(&*disk, "").unwrap(), before);
    assert_eq!(format(&*disk), "format 2");
}

#[test]
fn an_index_that_came_later_is_filled_step_by_step_beside_writes() {
    const DEVICES: usize = 2_500;
    let disk = made(DEVICES);
    grown::build(&ADDED, || {
        let mut expected: Vec<Device> = (0..DEVICES).map(|at| device(at, DEVICES)).collect();
        let (mut made, mut steps) = (DEVICES, 0);
        let mut store = open(&disk);
        loop {
            let session = ada(&store);
            let listed =
                session.read(|view| Ok(view.fillings()?.unwrap_or_default())).unwrap().names();
            assert_eq!(sound(&store).0, listed);
            let is_complete = !listed.contains(&INDEXES[0].to_owned());
            assert_eq!(uses_index(&session), is_complete, "{listed:?}");
            expected.sort_by_key(|device| (device.number, device.id.clone()));
            let ids: Vec<String> = expected.iter().map(|device| device.id.clone()).collect();
            assert_eq!(in_order(&session), ids, "after {steps} steps");
            if listed.is_empty() {
                break;
            }
            // A reader that began earlier keeps using the indexes of its snapshot.
            let before = session.context().engine.snapshot();
            let held = Fillings::of(ReadSource::Snapshot(&before)).unwrap();
            // Writes before and after the position of the filling: the first and the last device
            // change, one is deleted, one is created.
            expected.sort_by_key(|device| device.id.clone());
            let last = expected.len() - 1;
            for at in [0, last] {
                expected[at].number = expected[at].number.map(|number| number + 10_000);
            }
            let (one, other) = (expected[0].clone(), expected[last].clone());
            let gone = expected.remove(last / 2);
            let new = Device { number: Some(5), ..device(made, DEVICES) };
            expected.push(new.clone());
            made += 1;
            change(&session, move |draft| {
                draft.put(&one, What::Updated)?;
                draft.put(&other, What::Updated)?;
                draft.put(&new, What::Created)?;
                draft.delete::<Device>(&gone.id).map(drop)
            });
            growth::step(&session, 1_000).unwrap();
            assert_eq!(Fillings::of(ReadSource::Snapshot(&before)).unwrap(), held);
            steps += 1;
            // Every second step runs in a reopened store.
            if steps % 2 == 0 {
                drop((before, session));
                drop(store);
                store = open(&disk);
            }
        }
        // 2,500 devices in steps of 1,000, for each of two indexes.
        assert_eq!(steps, 6);
        drop(store);
        let store = open(&disk);
        assert_eq!(sound(&store).0, Vec::<String>::new());
        assert_eq!(ada(&store).read(|view| view.raw(Space::Meta, FILLING_KEY)).unwrap(), None);
    });
}

#[test]
fn a_backup_has_the_indexes_that_are_not_filled_yet() {
    let disk = made(100);
    grown::build(&ADDED, || {
        let store = open(&disk);
        let target: SharedDisk = Arc::new(MemoryDisk::new());
        store.backup_to(&target, &Control::default()).unwrap();
        let copy = try_open(target).unwrap();
        assert!(uses_index(&ada(&copy)) && !uses_index(&ada(&store)));
        assert_eq!(in_order(&ada(&copy)), in_order(&ada(&store)));
        assert_eq!(sound(&copy), (vec![], 100));
    });
}

/// The store is raised and filled seven records at a time, with a write after each step, and the
/// power is cut after every change of the disk.
#[test]
fn an_upgrade_that_the_power_cuts_goes_on_where_it_was_and_completes() {
    const MADE: usize = 30;
    const STEP: usize = 7;
    let memory = made(MADE);
    let disk = SimDisk::new(1);
    for (path, _) in walk(&*memory, "").unwrap() {
        disk.create_dir_all(parent(&path)).unwrap();
        write_new_file(&disk, &path, &read_file(&*memory, &path, u64::MAX).unwrap()).unwrap();
    }
    let disk = disk.survivors(0, Survival::All);
    let before = disk.clone().survivors(0, Survival::All);
    // While FORMAT lets the build of the format before open the store, it has what that one wrote.
    let is_untouched = |cut: &SimDisk| {
        let files = walk(&before, "").unwrap().into_iter().map(|(path, _)| path);
        files.filter(|path| path != "LOCK.owner" && path != "FORMAT").all(|path| {
            read_file(cut, &path, u64::MAX).unwrap() == read_file(&before, &path, u64::MAX).unwrap()
        })
    };
    grown::build(&ADDED, || {
        let store = try_open(Arc::new(disk.clone())).unwrap();
        let session = ada(&store);
        // The answers after each write, and the number of disk changes up to then.
        let mut answers = vec![(0, in_order(&session))];
        loop {
            let at = MADE + answers.len();
            change(&session, move |draft| draft.put(&device(at, MADE), What::Created));
            answers.push((disk.changes(), in_order(&session)));
            if growth::step(&session, STEP).unwrap() {
                break;
            }
        }
        // Two indexes over 30 records and those that were added meanwhile.
        assert!(answers.len() > 10, "{}", answers.len());
        drop((session, store));

        let (mut replay, mut changes) = (disk.replay(), 0);
        let (mut images, mut older, mut halfway) = (0, 0, 0);
        while replay.advance().is_some() {
            changes += 1;
            for survival in [Survival::None, Survival::Random] {
                let place = format!("after change {changes}, {survival:?}");
                let cut = replay.survivors(changes, survival);
                if format(&cut) == "format 1" {
                    older += 1;
                    assert!(is_untouched(&cut), "{place}");
                }
                let store =
                    try_open(Arc::new(cut)).unwrap_or_else(|error| panic!("{place}: {error}"));
                let session = ada(&store);
                let incomplete = sound(&store).0;
                let snapshot = session.context().engine.snapshot();
                let fillings = Fillings::of(ReadSource::Snapshot(&snapshot)).unwrap();
                drop(snapshot);
                assert_eq!(fillings.names(), incomplete, "{place}");
                halfway +=
                    usize::from(fillings.indexes.iter().any(|filling| !filling.after.is_empty()));
                let found = in_order(&session);
                let is_acknowledged = |(at, _): &&(usize, Vec<String>)| *at <= changes as usize;
                let least = answers.iter().filter(is_acknowledged).count() - 1;
                // Acknowledged writes are there, and of a write in progress all or nothing.
                let is_known = answers[least..].iter().take(2).any(|(_, ids)| *ids == found);
                assert!(is_known, "{place}: {found:?}, not {:?}", answers[least]);
                while !growth::step(&session, STEP).unwrap() {}
                assert_eq!(sound(&store).0, Vec::<String>::new(), "{place}");
                assert_eq!(in_order(&session), found, "{place}");
                images += 1;
            }
        }
        println!(
            "{images} images, {older} before the upgrade, {halfway} in the middle of an index"
        );
        assert!(images > 100 && older > 0 && halfway > 20);
    });
}
