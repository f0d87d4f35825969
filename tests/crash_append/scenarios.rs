//! What is done to a store while its disk is watched.

use std::collections::BTreeSet;
use std::sync::Arc;

use stationdb::faults::SimDisk;
use stationdb::{Error, ErrorKind, Identity, Position, Session, Store, StoreOptions};

use crate::harness::{History, Scenario};

pub fn options() -> StoreOptions {
    Store::options().seed(Some(7)).maintenance_thread(false)
}

pub fn ada(store: &Store) -> Session {
    store.session(Identity::user("ada"))
}

/// Creation of a store, and small commits.
pub struct Records;

const SUBSCRIBERS: u32 = 12;

impl Scenario for Records {
    fn open(&self, disk: SimDisk) -> Result<Store, Error> {
        options().open_disk(Arc::new(disk))
    }

    fn run(&self, history: &History) -> Result<(), Error> {
        for round in 0..2 {
            let store = self.open(history.disk.clone())?;
            for number in (round * SUBSCRIBERS..).take(SUBSCRIBERS as usize) {
                history.step(number.to_string(), || ada(&store).register_subscriber(&number.to_string()))?;
            }
        }
        Ok(())
    }

    fn found(&self, store: &Store) -> Result<BTreeSet<String>, String> {
        let mut found = BTreeSet::new();
        for number in 0..2 * SUBSCRIBERS {
            match ada(store).advance_subscriber(&number.to_string(), Position(u64::from(number))) {
                Ok(()) => found.insert(number.to_string()),
                Err(error) if error.kind() == ErrorKind::NotFound => false,
                Err(error) => return Err(format!("{error:?}")),
            };
        }
        Ok(found)
    }

    fn go_on(&self, store: &Store) -> Result<(), Error> {
        ada(store).register_subscriber("later").map(|_| ())
    }
}
