//! A store in memory with a clock that does not advance, for the tests of services.

use std::sync::Arc;

use stationdb::faults::MemoryDisk;
use stationdb::{Control, Identity, ManualClock, Session, Store, StoreOptions, VerifyLevel};

pub(crate) struct TestStore {
    disk: Arc<MemoryDisk>,
    pub(crate) clock: Arc<ManualClock>,
    pub(crate) store: Store,
    options: fn(StoreOptions) -> StoreOptions,
}

impl TestStore {
    pub(crate) fn new() -> Self {
        Self::with(|options| options)
    }

    pub(crate) fn with(options: fn(StoreOptions) -> StoreOptions) -> Self {
        let disk = Arc::new(MemoryDisk::new());
        let clock = Arc::new(ManualClock::new("2024-03-01T00:00:00Z".parse().unwrap()));
        let store = open(&disk, &clock, options);
        Self { disk, clock, store, options }
    }

    pub(crate) fn session(&self) -> Session {
        self.store.session(Identity::user("ada"))
    }

    /// Checks that records, indexes and change log agree.
    pub(crate) fn assert_sound(&self) {
        let report = self.store.verify(VerifyLevel::Checksums, &Control::default()).unwrap();
        assert_eq!(report.findings, []);
    }

    /// Closes the store and opens it again.
    pub(crate) fn reopen(self) -> Self {
        self.assert_sound();
        let Self { disk, clock, store, options } = self;
        store.close().unwrap();
        let store = open(&disk, &clock, options);
        Self { disk, clock, store, options }
    }
}

fn open(
    disk: &Arc<MemoryDisk>,
    clock: &Arc<ManualClock>,
    options: fn(StoreOptions) -> StoreOptions,
) -> Store {
    options(StoreOptions::default().seed(Some(1)).shared_clock(clock.clone()))
        .open_disk(disk.clone())
        .unwrap()
}
