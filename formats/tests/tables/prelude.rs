//! What the modules of this suite use.

pub(crate) use std::collections::BTreeMap;
pub(crate) use std::sync::Arc;

pub(crate) use stationdb::faults::{MemoryDisk, SharedDisk};
pub(crate) use stationdb::prelude::*;
pub(crate) use stationdb::tables::*;
pub(crate) use stationdb::{
    Control, Error, ErrorKind, Identity, Place, Position, Result, Session, Store, StoreOptions,
    What,
};
pub(crate) use stationdb_formats::{ImportFiles, ImportResults};

pub(crate) fn disk() -> SharedDisk {
    Arc::new(MemoryDisk::default())
}

/// A store on this disk, and a session of ada.
pub(crate) fn opened(options: StoreOptions, disk: SharedDisk) -> (Store, Session) {
    let store = options.open_disk(disk).unwrap();
    let session = store.session(Identity::user("ada"));
    (store, session)
}
