//! The change feed as the host of a store reads it.

use super::maintain::MAINTENANCE_USER;
use super::open::Store;
use crate::error::Result;
use crate::session::{Caller, ChangeStream, Identity, Position, Session, Subscriber};

impl Store {
    /// The change feed from `from` on, of everything: who holds the store may open a session for anybody, so no policy is
    /// asked. [`Session::changes`] tells what one identity may see.
    ///
    /// ```
    /// # fn main() -> stationdb::Result<()> {
    /// # let dir = tempfile::tempdir().map_err(|e| stationdb::Error::io("temp", e))?;
    /// use stationdb::{CreateProductRequest, Identity, Position, ProductService, Store};
    ///
    /// let store = Store::open(dir.path())?;
    /// let from = store.register("replica")?;
    /// let product = CreateProductRequest { part_number: "156502A-11L".to_owned(), ..CreateProductRequest::default() };
    /// store.session(Identity::user("ada")).create_products(vec![product])?;
    ///
    /// let mut changes = store.changes(from);
    /// while let Some(event) = changes.poll()? {
    ///     assert_eq!((event.kind, event.who.as_str()), ("product", "ada"));
    /// }
    /// store.advance("replica", changes.position())?;
    /// assert_eq!(store.register("replica")?, changes.position());
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn changes(&self, from: Position) -> ChangeStream {
        self.feed().all_changes(from)
    }

    /// Registers a subscriber under `name` at the end of the feed, or finds the position that it has; from then on the log is
    /// kept for it, within [`crate::Settings::log_entries_max`].
    ///
    /// # Errors
    /// As [`Session::register_subscriber`], but that no policy is asked.
    pub fn register(&self, name: &str) -> Result<Position> {
        self.feed().register_as(Caller::Host, name)
    }

    /// Moves a registered subscriber forward; durable when this returns.
    ///
    /// # Errors
    /// As [`Session::advance_subscriber`], but that no policy is asked.
    pub fn advance(&self, name: &str, position: Position) -> Result<()> {
        self.feed().advance_as(Caller::Host, name, position)
    }

    /// All registered subscribers, by name.
    ///
    /// # Errors
    /// What the disk answers; `Corrupt` when a position is damaged.
    pub fn subscribers(&self) -> Result<Vec<Subscriber>> {
        self.feed().all_subscribers()
    }

    /// Removes a subscriber; nothing happens when there is none with this name.
    ///
    /// # Errors
    /// As any write.
    pub fn unregister(&self, name: &str) -> Result<()> {
        self.feed().remove_as(Caller::Host, name)
    }

    fn feed(&self) -> Session {
        self.session(Identity::user(MAINTENANCE_USER))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::ErrorKind;
    use crate::disk::MemoryDisk;
    use crate::records::Space;
    use crate::session::Access;
    use crate::store::StoreOptions;
    use crate::value::limits::{self, SUBSCRIBER_NAME_BYTES, SUBSCRIBERS};

    fn options() -> StoreOptions {
        StoreOptions::default().maintenance_thread(false)
    }

    /// Registers subscribers as builds without bounds did.
    fn put(store: &Store, names: impl IntoIterator<Item = String>) {
        let keys: Vec<Vec<u8>> = names.into_iter().map(|name| format!("subscriber {name}").into_bytes()).collect();
        let put = store.feed().write(move |draft| {
            keys.into_iter().for_each(|key| draft.put_raw(Space::Positions, key, 0u64.to_be_bytes().to_vec()));
            Ok(())
        });
        put.unwrap();
    }

    #[test]
    fn subscribers_are_bounded_in_number_and_in_the_length_of_their_names() {
        let store = options().open_on(Arc::new(MemoryDisk::new())).unwrap();
        limits::holds_at(SUBSCRIBER_NAME_BYTES, ErrorKind::LimitExceeded, |bytes| store.register(&"n".repeat(bytes)));
        limits::holds_at(SUBSCRIBERS, ErrorKind::LimitExceeded, |count| {
            let store = options().open_on(Arc::new(MemoryDisk::new())).unwrap();
            put(&store, (1..count).map(|number| number.to_string()));
            store.register("last")
        });
    }

    #[test]
    fn subscribers_from_before_the_bounds_are_read_moved_and_removed() {
        let disk = Arc::new(MemoryDisk::new());
        let long = "n".repeat(64 * 1024);
        let store = options().open_on(disk.clone()).unwrap();
        put(&store, (0..SUBSCRIBERS + 5).map(|number| format!("{number:05}")).chain([long.clone()]));
        drop(store);
        let store = options().open_on(disk).unwrap();
        let names = || store.subscribers().unwrap().into_iter().map(|subscriber| subscriber.name);
        assert_eq!((names().count(), names().next_back()), (SUBSCRIBERS + 6, Some(long.clone())));
        let session = store.session(Identity::user("ada"));
        assert_eq!(session.register_subscriber(&long).unwrap(), Position::START);
        session.advance_subscriber(&long, session.position()).unwrap();
        // A message does not repeat a name of that length.
        let refused = session.advance_subscriber(&long, Position::START).unwrap_err();
        assert!(refused.message().len() < 200 && refused.message().contains("65536 bytes"), "{refused}");
        store.maintain(&crate::Control::default()).unwrap();
        for number in 0..6 {
            assert_eq!(session.register_subscriber("new").unwrap_err().kind(), ErrorKind::LimitExceeded, "{number}");
            session.remove_subscriber(&format!("{number:05}")).unwrap();
        }
        store.unregister(&long).unwrap();
        session.register_subscriber("new").unwrap();
        assert_eq!(names().count(), SUBSCRIBERS);
    }
}
