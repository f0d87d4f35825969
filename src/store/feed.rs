//! The change feed for the host of a store.

use super::open::Store;
use crate::error::Result;
use crate::session::{
    Caller, ChangeStream, HoldBounds, Identity, Position, STORE_USER, Session, Subscriber,
    SubscriberRef, SyncPoint, SyncStream,
};

impl Store {
    /// The change feed from `from` on, with all changes. The owner of the store may open a session
    /// for any identity, so no policy is asked. [`Session::changes`] returns what one identity may
    /// see.
    ///
    /// ```
    /// # fn main() -> stationdb::Result<()> {
    /// # let dir = tempfile::tempdir().map_err(|e| stationdb::Error::io("temp", e))?;
    /// use stationdb::{Identity, Position, Store};
    /// use stationdb::prelude::*;
    /// use stationdb::products::CreateProductRequest;
    ///
    /// let store = Store::open(dir.path())?;
    /// let from = store.register("replica")?;
    /// let product = CreateProductRequest::new("156502A-11L");
    /// store.session(Identity::user("ada")).create_products(vec![product])?.require_all()?;
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

    /// The change feed from `from` on, with all changes, that begins with a full pass when the
    /// change log does not reach back: [`Session::synchronise`] without a policy.
    #[must_use]
    pub fn synchronise(&self, from: impl Into<SyncPoint>) -> SyncStream {
        self.feed().synchronise_as(Caller::Host, from.into())
    }

    /// [`Store::synchronise`] from where a subscriber is.
    ///
    /// # Errors
    /// As [`Session::synchronise_subscriber`], except that no policy is asked.
    pub fn synchronise_subscriber<'a>(
        &self,
        subscriber: impl Into<SubscriberRef<'a>>,
    ) -> Result<SyncStream> {
        self.feed().synchronise_subscriber_as(Caller::Host, subscriber.into())
    }

    /// Registers a subscriber without an owner under `name` at the end of the feed, or returns the
    /// position of an existing one. From then on the log is kept for it, until a bound of the
    /// settings is reached. Subscribers that users own under the same name are different ones, see
    /// [`SubscriberRef`].
    ///
    /// # Errors
    /// As [`Session::register_subscriber`], except that no policy is asked.
    pub fn register(&self, name: &str) -> Result<Position> {
        self.feed().register_as(Caller::Host, name, None)?
    }

    /// [`Store::register`] with bounds of its own, which an existing subscriber gets too.
    ///
    /// # Errors
    /// As [`Session::register_subscriber_with`], except that no policy is asked.
    pub fn register_with(&self, name: &str, bounds: HoldBounds) -> Result<Position> {
        self.feed().register_as(Caller::Host, name, Some(bounds))?
    }

    /// Moves a registered subscriber forward. The move is durable on return.
    ///
    /// # Errors
    /// As [`Session::advance_subscriber`], except that no policy is asked.
    pub fn advance<'a>(
        &self,
        subscriber: impl Into<SubscriberRef<'a>>,
        to: impl Into<SyncPoint>,
    ) -> Result<()> {
        self.feed().advance_as(Caller::Host, subscriber.into(), to.into())
    }

    /// All registered subscribers: those without an owner by name, then those of users by owner and
    /// name.
    ///
    /// # Errors
    /// The errors of the disk; `Corrupt` if a position is damaged.
    pub fn subscribers(&self) -> Result<Vec<Subscriber>> {
        self.feed().subscribers_as(Caller::Host)
    }

    /// Removes a subscriber: by name one without an owner, else one that [`Store::subscribers`]
    /// returned. Does nothing if it does not exist.
    ///
    /// # Errors
    /// As any write.
    pub fn unregister<'a>(&self, subscriber: impl Into<SubscriberRef<'a>>) -> Result<()> {
        self.feed().remove_as(Caller::Host, subscriber.into())
    }

    fn feed(&self) -> Session {
        self.session(Identity::user(STORE_USER))
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
    use crate::value::limits::{
        self, SUBSCRIBER_NAME_BYTES, SUBSCRIBER_OWNER_BYTES, SUBSCRIBERS, SUBSCRIBERS_PER_OWNER,
    };

    fn options() -> StoreOptions {
        StoreOptions::default().maintenance_thread(false)
    }

    /// Registers subscribers of the host in one commit.
    fn put(store: &Store, names: impl IntoIterator<Item = String>) {
        let keys: Vec<Vec<u8>> =
            names.into_iter().map(|name| format!("subscriber {name}").into_bytes()).collect();
        let put = store.feed().write(move |draft| {
            keys.into_iter().try_for_each(|key| {
                let row = crate::session::SubscriberRow::at(Position::START).sealed(&key)?;
                draft.put_raw(Space::Positions, key, row);
                Ok(())
            })
        });
        put.unwrap();
    }

    #[test]
    fn subscribers_are_bounded_in_number_and_in_the_length_of_their_names() {
        let store = options().open_on(Arc::new(MemoryDisk::new())).unwrap();
        limits::holds_at(SUBSCRIBER_NAME_BYTES, ErrorKind::LimitExceeded, |bytes| {
            store.register(&"n".repeat(bytes))
        });
        limits::holds_at(SUBSCRIBERS, ErrorKind::LimitExceeded, |count| {
            let store = options().open_on(Arc::new(MemoryDisk::new())).unwrap();
            put(&store, (1..count).map(|number| number.to_string()));
            store.register("last")
        });
        limits::holds_at(SUBSCRIBER_OWNER_BYTES, ErrorKind::LimitExceeded, |bytes| {
            store.session(Identity::user("o".repeat(bytes))).register_subscriber("n")
        });
        limits::holds_at(SUBSCRIBERS_PER_OWNER, ErrorKind::LimitExceeded, |count| {
            let store = options().open_on(Arc::new(MemoryDisk::new())).unwrap();
            // Subscribers of an owner whose id begins with this one, and those of the host, do not
            // count.
            store.session(Identity::user("adam")).register_subscriber("0").unwrap();
            store.register("0").unwrap();
            let ada = store.session(Identity::user("ada"));
            (0..count).try_for_each(|number| {
                // Not the subscriber of the host, which an unrestricted identity would find.
                ada.register_subscriber(&format!("own {number}")).map(drop)
            })
        });
    }

    fn row(store: &Store, key: &[u8]) -> Option<Vec<u8>> {
        store.feed().read(|view| view.raw(Space::Positions, key)).unwrap()
    }

    #[test]
    fn a_subscriber_without_an_owner_belongs_to_nobody_also_when_it_moves() {
        let disk = Arc::new(MemoryDisk::new());
        let store = options().open_on(disk.clone()).unwrap();
        put(&store, ["old".to_owned()]);
        let ada = store.session(Identity::user("ada"));
        ada.register_subscriber("own").unwrap();
        let position = ada.position();
        ada.advance_subscriber("old", position).unwrap();
        assert_eq!(ada.register_subscriber("old").unwrap(), position);
        let listed = |store: &Store| {
            let told = store.subscribers().unwrap().into_iter();
            told.map(|told| (told.name, told.owner, told.position)).collect::<Vec<_>>()
        };
        let own = ada.register_subscriber("own").unwrap();
        assert!(own < position);
        let expected =
            [("old".to_owned(), None, position), ("own".to_owned(), Some("ada".to_owned()), own)];
        assert_eq!(listed(&store), expected);
        drop((ada, store));
        assert_eq!(listed(&options().open_on(disk).unwrap()), expected);
    }

    #[test]
    fn owners_and_names_are_never_taken_for_one_another() {
        let store = options().open_on(Arc::new(MemoryDisk::new())).unwrap();
        let texts = ["", "a", "ab", "b", "\u{ff}", "a\u{ff}b", "a subscriber b", "\0"];
        for owner in texts {
            store.register(&format!("nobody's {owner}")).unwrap();
            for name in texts {
                store.session(Identity::user(owner)).register_subscriber(name).unwrap();
            }
        }
        let all = store.subscribers().unwrap();
        assert_eq!(all.len(), texts.len() * (texts.len() + 1));
        for owner in texts {
            for name in texts {
                let is_it = |told: &&Subscriber| {
                    (told.owner.as_deref(), told.name.as_str()) == (Some(owner), name)
                };
                assert_eq!(all.iter().filter(is_it).count(), 1, "{owner:?} {name:?}");
            }
        }
        // Each is removed separately.
        for (gone, subscriber) in all.iter().enumerate() {
            store.unregister(subscriber).unwrap();
            assert_eq!(store.subscribers().unwrap(), all[gone + 1..]);
        }
    }

    #[test]
    fn a_damaged_row_is_told_and_can_be_removed() {
        let store = options().open_on(Arc::new(MemoryDisk::new())).unwrap();
        store.session(Identity::user("ada")).register_subscriber("a").unwrap();
        let key = b"subscriber \xffada\xffa";
        let whole = row(&store, key).unwrap();
        let damage = |bytes: Vec<u8>| {
            let put = store.feed().write(move |draft| {
                draft.put_raw(Space::Positions, key.to_vec(), bytes);
                Ok(())
            });
            put.unwrap();
        };
        for bit in 0..whole.len() * 8 {
            let mut flipped = whole.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            damage(flipped);
            assert_eq!(store.subscribers().unwrap_err().kind(), ErrorKind::Corrupt, "bit {bit}");
        }
        // A bare sequence number.
        damage(vec![0; 8]);
        assert_eq!(store.subscribers().unwrap_err().kind(), ErrorKind::Corrupt);
        // The row of another subscriber is not valid for this one.
        damage({
            let row = crate::session::SubscriberRow::at(Position::START);
            row.sealed(b"subscriber b").unwrap()
        });
        assert_eq!(store.subscribers().unwrap_err().kind(), ErrorKind::Corrupt);
        store.session(Identity::user("ada")).remove_subscriber("a").unwrap();
        assert_eq!(store.subscribers().unwrap(), []);
    }

    /// Commits that each have an event.
    fn commit(store: &Store, count: usize) {
        use crate::products::{CreateProductRequest, ProductService as _};
        let ada = store.session(Identity::user("ada"));
        for _ in 0..count {
            let part_number = format!("P-{}", ada.position().0);
            let made = ada.create_products(vec![CreateProductRequest::new(part_number)]).unwrap();
            assert_eq!(made.error, None);
        }
    }

    #[test]
    fn a_position_that_the_log_does_not_reach_is_not_handed_out() {
        let options = options().log_entries_max(10).subscriber_hold_ms(0);
        let store = options.open_on(Arc::new(MemoryDisk::new())).unwrap();
        let from = store.register("replica").unwrap();
        commit(&store, 30);
        store.maintain(&crate::Control::default()).unwrap();
        let refused = store.register("replica").unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::Conflict, "{refused}");
        assert_eq!(store.changes(from).poll().unwrap_err().kind(), ErrorKind::Conflict);
        // It is moved to where the resources were read anew.
        let now = store.feed().position();
        store.advance("replica", now).unwrap();
        assert_eq!(store.register("replica").unwrap(), now);
    }

    #[test]
    fn a_subscriber_holds_the_log_within_its_bound() {
        let store = options().log_entries_max(100).open_on(Arc::new(MemoryDisk::new())).unwrap();
        let from = store.register("replica").unwrap();
        commit(&store, 90);
        // Of another subscriber, which has read everything.
        store.register("other").unwrap();
        for _ in 0..3 {
            store.maintain(&crate::Control::default()).unwrap();
        }
        assert_eq!(store.register("replica").unwrap(), from);
        let mut changes = store.changes(from);
        let told = std::iter::from_fn(|| changes.poll().unwrap()).count();
        assert_eq!(told, 90);
    }
}
