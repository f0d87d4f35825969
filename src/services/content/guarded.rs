//! What stops the reading of content that cannot be kept.

use std::io::{self, Read};

use super::Room;
use crate::error::Error;
use crate::session::{Access, Engine};
use crate::value::limits;

/// Content bytes after which an upload checks the free disk space again.
pub(super) const SPACE_CHECK_BYTES: u64 = 4 * 1024 * 1024;

/// A source that fails where reading on would do harm: for long content inside a transaction, which
/// keeps the write turn, for content that would use up the space that the store reserves for its
/// commits, and for content that the quota of its workspace has no room for.
pub(super) struct GuardedSource<'s> {
    inner: &'s mut dyn Read,
    /// Bytes that may still follow inside a transaction.
    left: Option<u64>,
    engine: &'s Engine,
    /// Bytes since the last check of the disk space.
    unchecked: u64,
    /// Bytes that may still follow until the content is too long for the record file; `None` if it
    /// does not go there.
    small_left: Option<u64>,
    room: Room<'s>,
}

impl<'s> GuardedSource<'s> {
    /// Content of at most `small_bytes` goes to the record file.
    pub(super) fn new<A: Access>(
        inner: &'s mut dyn Read,
        access: &'s A,
        small_bytes: Option<u64>,
        room: Room<'s>,
    ) -> Self {
        let left = access.is_transaction().then_some(limits::TRANSACTION_CONTENT_BYTES);
        let engine = &access.context().engine;
        Self { inner, left, engine, unchecked: SPACE_CHECK_BYTES, small_left: small_bytes, room }
    }
}

impl Read for GuardedSource<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        // The space for content in the record file is checked by its commit.
        if self.small_left.is_none() && self.unchecked >= SPACE_CHECK_BYTES {
            self.engine.check_space(buffer.len() as u64).map_err(io::Error::other)?;
            self.unchecked = 0;
        }
        let count = self.inner.read(buffer)?;
        // The readers that wrap this one panic if it reports more bytes than it was asked for.
        if count > buffer.len() {
            return Err(io::Error::other(Error::invalid(
                "the reader of the content reports more bytes than it was asked for",
            )));
        }
        self.room.take(count as u64).map_err(io::Error::other)?;
        self.unchecked += count as u64;
        if let Some(small_left) = self.small_left {
            self.small_left = small_left.checked_sub(count as u64);
            if self.small_left.is_none() {
                // The content is too long for the record file and goes to a blob, so check the
                // space at the next read.
                self.unchecked = SPACE_CHECK_BYTES;
            }
        }
        if let Some(left) = &mut self.left {
            *left = left.checked_sub(count as u64).ok_or_else(|| {
                io::Error::other(Error::unsupported(format!(
                    "content of more than {} bytes cannot be uploaded inside a transaction, which \
                     keeps the write turn meanwhile; upload it on the session",
                    limits::TRANSACTION_CONTENT_BYTES
                )))
            })?;
        }
        Ok(count)
    }
}
