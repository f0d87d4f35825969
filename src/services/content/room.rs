//! The room that a quota leaves for content whose bytes are still to come.

use crate::error::Result;
use crate::model::Usage;
use crate::session::Access;

/// The room of a workspace for one upload. The commit of the record checks the quota again, with
/// what it then finds: this only spares the bytes that would be refused.
pub(in crate::services) struct Room<'a> {
    /// Bytes that still have room; `None` without a bound.
    left: Option<u64>,
    /// Bytes that came.
    taken: u64,
    /// Asks the quota for the room after so many bytes.
    ask: Box<dyn Fn(u64) -> Result<Option<u64>> + 'a>,
}

impl<'a> Room<'a> {
    /// The room in a workspace for something that counts `more` besides the bytes to come.
    ///
    /// # Errors
    /// `LimitExceeded` when there is none even without them.
    pub(in crate::services) fn new<A: Access>(
        access: &'a A,
        workspace: &str,
        more: Usage,
    ) -> Result<Self> {
        let workspace = workspace.to_owned();
        let ask = move |bytes| {
            let bytes = Usage { content_bytes: bytes, ..Usage::default() };
            access.read(|view| view.room(&workspace, &more.plus(&bytes)))
        };
        Ok(Self { left: ask(0)?, taken: 0, ask: Box::new(ask) })
    }

    /// Room without a bound.
    pub(in crate::services) fn unbounded() -> Self {
        Self { left: None, taken: 0, ask: Box::new(|_| Ok(None)) }
    }

    /// Refuses content of a known length.
    ///
    /// # Errors
    /// `LimitExceeded` when the quota has no room for it.
    pub(in crate::services) fn declared(self, bytes: u64) -> Result<Self> {
        if self.left.is_some_and(|left| left < bytes) {
            (self.ask)(bytes)?;
        }
        Ok(self)
    }

    /// Takes bytes that came.
    ///
    /// # Errors
    /// `LimitExceeded` when there is no room for them.
    pub(super) fn take(&mut self, count: u64) -> Result<()> {
        self.taken = self.taken.saturating_add(count);
        if let Some(left) = self.left {
            self.left = match left.checked_sub(count) {
                Some(left) => Some(left),
                // Others may have made room meanwhile.
                None => (self.ask)(self.taken)?,
            };
        }
        Ok(())
    }
}
