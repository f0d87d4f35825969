//! Tests of sessions over an engine alone: without services, and without what opens a store.

mod access;
#[path = "../../../tests/common/policy.rs"]
pub(crate) mod policy;
mod query;
mod tables;

use std::sync::Arc;

use super::maintain::growth;
use super::{Engine, Holder, Identity, Session, Settings};
use crate::disk::{MemoryDisk, Mode, SharedDisk};
use crate::records::{Change, RecordFile, RecordFileOptions, Space};

/// An engine that works without threads, and sessions over it.
struct TestEngine(Arc<Engine>);

impl TestEngine {
    /// Opens the record file of a disk, and creates it if it is missing.
    fn open_with(disk: SharedDisk, settings: Settings) -> Self {
        let options =
            RecordFileOptions { cache_bytes: settings.record_cache_bytes, quick_repair: true };
        if !disk.exists("records.redb").unwrap() {
            let (key, value) = growth::format_row();
            let format = Change::Put { space: Space::Meta, key, value };
            let first = [Engine::identity_row(1, [7; 32]), format];
            RecordFile::create(&disk, options, &first).unwrap();
        }
        let records = RecordFile::open(&disk, options).unwrap();
        let lock = disk.open("LOCK", Mode::OpenOrCreate).unwrap();
        let settings = Settings { maintenance_thread: false, ..settings };
        Self(Arc::new(Engine::start(settings, disk, records, lock).unwrap()))
    }

    fn open(disk: &Arc<MemoryDisk>) -> Self {
        Self::open_with(disk.clone(), Settings::default())
    }

    /// An engine on a new disk.
    fn new() -> Self {
        Self::open(&Arc::default())
    }

    fn session(&self, user: &str) -> Session {
        Session::held_by(self.0.clone(), Identity::user(user), Holder::Session)
    }
}
