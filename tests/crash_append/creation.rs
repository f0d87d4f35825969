//! One process begins a creation, another one completes it, and the power is cut at any moment of
//! either.

use crate::prelude::*;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// The first process ends before the operation with this number.
struct CutShort(u64);

impl Scenario for CutShort {
    fn open(&self, disk: SimDisk) -> Result<Store, Error> {
        Records.open(disk)
    }

    fn run(&self, history: &History) -> Result<(), Error> {
        history.disk.inject(Pick::op(self.0).once(), Fault::Io);
        // Best-effort operations may fail without an error; then the store may be complete.
        drop(self.open(history.disk.clone()));
        history.disk.heal();
        let store = self.open(history.disk.clone())?;
        history.step("1", || crate::scenarios::ada(&store).register_subscriber("1")).map(|_| ())
    }

    fn found(&self, store: &Store, disk: &SimDisk) -> Result<BTreeSet<String>, Problem> {
        Records.found(store, disk)
    }

    fn go_on(&self, store: &Store) -> Result<(), Error> {
        Records.go_on(store)
    }
}

#[test]
fn a_creation_that_was_cut_short_is_finished_by_the_next_process() {
    let disk = SimDisk::new(first_seed());
    drop(Records.open(disk.clone()).unwrap());
    let ops = disk.ops();
    assert!(ops > 20, "{ops} operations");
    // The first operations distinguish an empty directory from somebody else's; by day only some of
    // the later ones are cut.
    let one_in = one_in_operations(5) as u64;
    let (mut images, mut runs) = (0, 0);
    for op in (0..ops).filter(|op| *op < 12 || op % one_in == 0) {
        let scenario = CutShort(op);
        let history = History::new(SimDisk::new(first_seed() + op));
        scenario
            .run(&history)
            .unwrap_or_else(|error| panic!("cut short before operation {op}: {error:?}"));
        let explored = explore(
            &scenario,
            &history,
            Extent { draws: 4, recovery_one_in: 0, images_max: 1_000, one_in: 1 },
        );
        assert_eq!(explored.failure, None, "cut short before operation {op}");
        images += explored.images;
        runs += 1;
    }
    counted(images, "images");
    println!("creation: cut short before {runs} of {ops} operations, {images} images");
}

/// The next creation removes what an interrupted one left. Each operation of it may fail; a third
/// one completes it.
#[test]
fn finishing_a_creation_may_fail_anywhere() {
    let disk = SimDisk::new(first_seed());
    drop(Records.open(disk.clone()).unwrap());
    for name in ["records.redb.new", "FORMAT.new"] {
        let trace = disk.trace();
        let written =
            trace.iter().find(|entry| entry.kind == OpKind::Write && &*entry.path == name).unwrap();
        let cut = SimDisk::new(first_seed());
        cut.crash_after(written.op);
        assert!(Records.open(cut.clone()).is_err());
        let left = || cut.survivors(0, Survival::All);
        assert!(left().exists(name).unwrap(), "{name}");
        let whole = left();
        drop(Records.open(whole.clone()).unwrap());
        for op in 0..whole.ops() {
            let image = left();
            image.inject(Pick::op(op), Fault::Io);
            let opened = catch_unwind(AssertUnwindSafe(|| Records.open(image.clone()).map(drop)));
            drop(
                opened
                    .unwrap_or_else(|_| panic!("{name}, operation {op}: a panic left the library")),
            );
            image.heal();
            let opened = Records.open(image).and_then(|store| Records.go_on(&store));
            opened.unwrap_or_else(|error| panic!("{name}, operation {op} failed once: {error:?}"));
        }
        counted(whole.ops(), "faults");
    }
}
