//! No panic of an engine leaves a public call, wherever the panic occurs.
//!
//! The public calls are read from the sources: the operations of the service traits, and the
//! methods of all other types that hold a store. A call without a probe fails the test. Each probe
//! runs on a disk whose n-th read panics, so the engine that made the read panics at that place. A
//! second test damages pages of the record file.

#[path = "../common/calls.rs"]
mod calls;
mod disk;
mod handles;
#[path = "../common/operations.rs"]
#[allow(dead_code, reason = "its ways to move records are tried by the suite of the policy")]
mod operations;
mod pages;
mod public;
#[path = "../common/rows.rs"]
mod rows;
#[path = "../common/sizes.rs"]
mod sizes;
#[path = "../common/sources.rs"]
mod sources;
mod transaction;
#[path = "../common/world.rs"]
#[allow(dead_code, reason = "the suite of the policy looks at more of it")]
mod world;

use sizes::seed;
use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};

use disk::{Image, PanickingDisk};
use operations::{Effect, probes};
use stationdb::faults::Random;
use stationdb::{Control, Error, ErrorKind, Store, StoreOptions, VerifyLevel};
use world::World;

/// Rows in segments and contents in files, so that there are reads; no caches, and no background
/// threads that read.
fn options() -> StoreOptions {
    world::options()
        .maintenance_thread(false)
        .record_cache_bytes(0)
        .seal_rows(1)
        .small_blob_bytes(0)
        .seed(Some(7))
}

/// A filled and closed store, copies of which are opened.
struct Filled {
    image: Image,
    ids: [world::Ids; 2],
}

impl Filled {
    fn new() -> Self {
        let disk = PanickingDisk::over(&Image::default());
        let world =
            World::fill(options().open_disk(disk.shared()).unwrap(), tempfile::tempdir().unwrap());
        let ids = [world.open.clone(), world.secret.clone()];
        drop(world);
        Self { image: disk.image(), ids }
    }

    /// Opens a copy. Returns it with its disk.
    fn open(&self) -> (World, PanickingDisk) {
        self.open_with(options())
    }

    fn open_with(&self, options: StoreOptions) -> (World, PanickingDisk) {
        let disk = PanickingDisk::over(&self.image);
        let store = options.open_disk(disk.shared()).unwrap();
        let [open, secret] = self.ids.clone();
        (World { store, open, secret, dir: tempfile::tempdir().unwrap().into() }, disk)
    }
}

/// Chooses which of `reads` reads panic: each of few, and three of many.
fn places(reads: u64, random: &mut Random) -> BTreeSet<u64> {
    if reads <= sizes::size("panic_reads") {
        return (1..=reads).collect();
    }
    [1, reads, 1 + random.below(reads)].into()
}

/// Checks that the error is allowed after a panic of an engine.
fn check_error(error: &Error, place: &str) {
    let is_damage =
        |error: &Error| matches!(error.kind(), ErrorKind::Corrupt | ErrorKind::OutcomeUnknown);
    assert!(is_damage(error), "{place}: {:?}: {error}", error.kind());
}

/// Checks that the files are a sound store.
fn check_sound(image: &Image, place: &str) {
    let store = options()
        .open_disk(PanickingDisk::over(image).shared())
        .unwrap_or_else(|e| panic!("{place}: {e}"));
    let report = store.verify(VerifyLevel::Checksums, &Control::default()).unwrap();
    assert!(report.is_sound(), "{place}: {:?}", report.findings);
}

/// Runs `f`, which must not panic.
fn without_panic<T>(place: &str, f: impl FnOnce() -> T) -> T {
    catch_unwind(AssertUnwindSafe(f))
        .unwrap_or_else(|_| panic!("{place}: a panic left the library"))
}

#[test]
fn no_operation_lets_a_panic_out() {
    disk::quiet();
    let filled = Filled::new();
    let mut random = Random::new(seed());
    let (mut panics, mut unread) = (0, Vec::new());
    for probe in probes() {
        let name = probe.operation;
        let measure = |options| {
            let (world, disk) = filled.open_with(options);
            let before = world.picture();
            disk.begin();
            let expected =
                probe.run(&world.session("ada"), &world).unwrap_or_else(|e| panic!("{name}: {e}"));
            let reads = disk.disarm();
            (before, expected, reads, world.picture())
        };
        let mut options: fn() -> StoreOptions = options;
        let mut measured = measure(options());
        if measured.2 == 0 {
            // It finds all its rows in memory, so its commit has to read them.
            options = || self::options().memory_table_bytes(0);
            measured = measure(options());
        }
        let (before, expected, reads, after) = measured;
        if reads == 0 {
            unread.push(name);
            continue;
        }
        let mut refused = false;
        for at in places(reads, &mut random) {
            let place = format!("{name}, read {at} of {reads}");
            let (world, disk) = filled.open_with(options());
            disk.arm(at);
            disk.begin();
            let answer = without_panic(&place, || probe.run(&world.session("ada"), &world));
            disk.disarm();
            panics += u64::from(disk.has_panicked());
            match &answer {
                // The read was for derived data, which is built again, or for work that can wait.
                Ok(answer) => assert_eq!(*answer, expected, "{place}"),
                Err(error) => check_error(error, &place),
            }
            refused |= answer.is_err();
            without_panic(&place, || drop(world));
            if let Effect::Changes = probe.effect {
                let image = disk.image();
                check_sound(&image, &place);
                let (world, _disk) = Filled { image, ids: filled.ids.clone() }.open();
                let found = world.picture();
                match &answer {
                    Ok(_) => assert_eq!(found, after, "{place}"),
                    Err(error) if error.kind() == ErrorKind::OutcomeUnknown => {
                        assert!(found == before || found == after, "{place}");
                    }
                    Err(_) => assert_eq!(found, before, "{place}"),
                }
            }
        }
        assert!(refused, "{name} met no panic in {reads} reads");
    }
    println!("counted: {panics} panics");
    assert!(panics > 200, "only {panics} panics");
    assert_eq!(unread, public::OPERATIONS_THAT_READ_NOTHING);
}

#[test]
fn no_method_lets_a_panic_out() {
    disk::quiet();
    let filled = Filled::new();
    let mut random = Random::new(seed());
    let mut panics = 0;
    for (name, run) in handles::probes() {
        let (world, disk) = filled.open();
        run(world, &disk).unwrap_or_else(|e| panic!("{name}: {e}"));
        let reads = disk.disarm();
        if reads == 0 {
            assert!(handles::reads_nothing(name), "{name} reads nothing");
            continue;
        }
        assert!(!handles::reads_nothing(name), "{name} reads");
        for at in places(reads, &mut random) {
            let place = format!("{name}, read {at} of {reads}");
            let (world, disk) = filled.open();
            disk.arm(at);
            if let Err(error) = without_panic(&place, || run(world, &disk)) {
                check_error(&error, &place);
            }
            disk.disarm();
            panics += u64::from(disk.has_panicked());
            check_sound(&disk.image(), &place);
        }
    }
    println!("counted: {panics} panics");
    assert!(panics > 20, "only {panics} panics");
}

#[test]
fn every_public_method_has_a_probe() {
    let declared = public::methods();
    assert!(declared.len() > 30, "only {} methods were found: {declared:?}", declared.len());
    let mut probed: BTreeSet<String> =
        handles::probes().into_iter().map(|(name, _)| name.to_owned()).collect();
    probed.extend(handles::OTHERS.iter().map(|(name, _)| (*name).to_owned()));
    assert_eq!(
        declared.difference(&probed).collect::<Vec<_>>(),
        Vec::<&String>::new(),
        "methods without a probe"
    );
    assert_eq!(
        probed.difference(&declared).collect::<Vec<_>>(),
        Vec::<&String>::new(),
        "probes without a method"
    );
    let operations: BTreeSet<String> =
        probes().iter().map(|probe| probe.operation.to_owned()).collect();
    assert_eq!(
        public::operations(),
        operations,
        "operations without a probe, or probes without an operation"
    );
}

fn open_on(image: &Image) -> stationdb::Result<Store> {
    options().open_disk(PanickingDisk::over(image).shared())
}
