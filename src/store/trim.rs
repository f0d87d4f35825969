//! Trimming of the change log on request.

use chrono::{DateTime, Utc};

use super::maintenance::{TRIM_BATCH, log_position};
use super::open::Store;
use crate::error::Result;
use crate::session::feed::trim;
use crate::session::{Access, Identity, STORE_USER, guarded};
use crate::value::Control;

impl Store {
    /// Drops the entries of the change log of commits before a time. Returns their number.
    ///
    /// The log has no gaps, so it stops at the first entry that is later, that a registered
    /// subscriber [holds](crate::HoldBounds), or that the text index has not passed. A feed that
    /// continues from before the entries that were dropped is refused with `Conflict`. Maintenance
    /// trims the log to
    /// [`Settings::log_entries_max`](crate::Settings::log_entries_max) by itself; this is for a log
    /// that must not reach back further than some time.
    ///
    /// At most 10,000 entries are dropped in one commit; the control is checked between two.
    ///
    /// # Errors
    /// As any write, and the errors of `control`; `Conflict` inside a transaction of the same
    /// thread, because it would wait for itself.
    ///
    /// ```
    /// # fn main() -> stationdb::Result<()> {
    /// # let dir = tempfile::tempdir().map_err(|e| stationdb::Error::io("temp", e))?;
    /// use stationdb::chrono::{TimeDelta, Utc};
    /// use stationdb::{Control, Store};
    ///
    /// let store = Store::open(dir.path())?;
    /// let month_ago = Utc::now() - TimeDelta::days(30);
    /// assert_eq!(store.trim_changes(month_ago, &Control::default())?, 0);
    /// # Ok(())
    /// # }
    /// ```
    pub fn trim_changes(&self, before: DateTime<Utc>, control: &Control) -> Result<u64> {
        let engine = self.engine();
        engine.refuse_in_transaction()?;
        let session = self.session(Identity::user(STORE_USER));
        // What the text index has not saved, it may have to read again.
        guarded("trimming the change log", || {
            engine.search.maintain(&session)?;
            engine.search.save(&session)
        })?;
        let mut dropped = 0;
        loop {
            control.check()?;
            let position = guarded("trimming the change log", || log_position(engine, &session))?;
            let trimmed = session
                .write(move |draft| trim::trim_before(draft, position, before, TRIM_BATCH))?;
            let count = trimmed.entries;
            dropped += count;
            control.report(dropped, None, "entries");
            if count < TRIM_BATCH as u64 {
                return Ok(dropped);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::disk::MemoryDisk;
    use crate::error::ErrorKind;
    use crate::products::{CreateProductRequest, ProductService as _};
    use crate::session::Position;
    use crate::store::StoreOptions;
    use crate::value::ManualClock;

    fn told(store: &Store, from: Position) -> Result<usize> {
        let mut changes = store.changes(from);
        let mut count = 0;
        while changes.poll()?.is_some() {
            count += 1;
        }
        Ok(count)
    }

    #[test]
    fn the_log_is_trimmed_up_to_a_time_and_not_past_a_subscriber() {
        let start: DateTime<Utc> = "2024-03-01T00:00:00Z".parse().unwrap();
        let clock = Arc::new(ManualClock::new(start));
        let options = StoreOptions::default().maintenance_thread(false).shared_clock(clock.clone());
        let store = options.open_on(Arc::new(MemoryDisk::new())).unwrap();
        let ada = store.session(Identity::user("ada"));
        let commit = |number: i64| {
            clock.set(start + chrono::TimeDelta::minutes(number));
            let product = CreateProductRequest::new(format!("P-{number}"));
            assert_eq!(ada.create_products(vec![product]).unwrap().error, None);
            ada.position()
        };
        let early: Vec<Position> = (0..10).map(commit).collect();
        let trim = |minute: i64| {
            let before = start + chrono::TimeDelta::minutes(minute);
            store.trim_changes(before, &Control::default()).unwrap()
        };
        assert_eq!(trim(0), 0);
        assert_eq!(trim(4), 4);
        assert_eq!(told(&store, early[3]).unwrap(), 6);
        assert_eq!(told(&store, early[2]).unwrap_err().kind(), ErrorKind::Conflict);
        store.register("replica").unwrap();
        let replica = store.register("replica").unwrap();
        for number in 10..20 {
            commit(number);
        }
        assert_eq!(trim(1_000), 6, "up to the subscriber");
        assert_eq!(told(&store, replica).unwrap(), 10);
        store.unregister("replica").unwrap();
        assert_eq!(trim(1_000), 10);
        let cancelled = Control::default();
        cancelled.cancel();
        let error = store.trim_changes(start, &cancelled).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Cancelled);
        let inside = ada.transaction(|_| store.trim_changes(start, &Control::default()));
        assert_eq!(inside.unwrap_err().kind(), ErrorKind::Conflict);
    }
}
