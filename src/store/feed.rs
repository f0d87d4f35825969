//! The change feed as the host of a store reads it.

use super::maintain::MAINTENANCE_USER;
use super::open::Store;
use crate::error::Result;
use crate::session::{ChangeStream, Identity, Position, Session};

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
    ///     assert_eq!((event.kind, event.who.as_str()), ("Product", "ada"));
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
    /// As [`Session::register_subscriber`].
    pub fn register(&self, name: &str) -> Result<Position> {
        self.feed().register_subscriber(name)
    }

    /// Moves a registered subscriber forward; durable when this returns.
    ///
    /// # Errors
    /// As [`Session::advance_subscriber`].
    pub fn advance(&self, name: &str, position: Position) -> Result<()> {
        self.feed().advance_subscriber(name, position)
    }

    fn feed(&self) -> Session {
        self.session(Identity::user(MAINTENANCE_USER))
    }
}
