//! Memory of the parts of uploads.

use std::sync::{Mutex, MutexGuard, PoisonError};

use bytes::{Bytes, BytesMut};

/// Bytes up to which an object is written by one request, and of a part of a larger one.
pub(crate) const PART_BYTES: usize = 8 * 1024 * 1024;
/// The fewest bytes of a part.
const PART_BYTES_MIN: usize = 64 * 1024;
/// Bytes of a piece of a part, which is read and, into a directory, written at once: few enough to
/// stay in the caches of a processor, and for a file system to take memory that was just freed.
pub(crate) const CHUNK_BYTES: usize = 512 * 1024;

/// How uploads are cut, and buffers of parts that were sent, for the next ones: new memory costs more
/// than reading into it.
///
/// A buffer that an object store still has, to send it again or to keep it, does not come here. So
/// there are no more than those of the parts that are on their way.
#[derive(Debug)]
pub(crate) struct Buffers {
    pub part_bytes: usize,
    spare: Mutex<Vec<BytesMut>>,
}

impl Default for Buffers {
    fn default() -> Self {
        Self::new(PART_BYTES)
    }
}

impl Buffers {
    /// Buffers of parts of this many bytes, at least [`PART_BYTES_MIN`].
    pub(crate) fn new(part_bytes: usize) -> Self {
        Self { part_bytes: part_bytes.max(PART_BYTES_MIN), spare: Mutex::default() }
    }

    pub(crate) fn spare(&self) -> MutexGuard<'_, Vec<BytesMut>> {
        self.spare.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Bytes of a piece of a part.
    pub(crate) fn chunk_bytes(&self) -> usize {
        CHUNK_BYTES.min(self.part_bytes)
    }

    /// A buffer of this many bytes, at most those of a piece: the last one that came, because it may
    /// be in the caches of the processor.
    pub(crate) fn take(&self, byte_count: usize) -> BytesMut {
        let Some(mut buffer) = self.spare().pop() else { return BytesMut::zeroed(byte_count) };
        buffer.resize(byte_count, 0);
        buffer
    }

    /// Keeps the buffers of a part that was sent.
    pub(crate) fn give(&self, part: Vec<Bytes>) {
        let free = part.into_iter().filter_map(|bytes| bytes.try_into_mut().ok());
        self.spare().extend(free.filter(|buffer| buffer.capacity() >= self.chunk_bytes()));
    }

    /// Gives the memory back.
    pub(crate) fn clear(&self) {
        *self.spare() = Vec::new();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_buffer_is_used_again_when_the_object_store_has_let_it_go() {
        let buffers = Buffers::default();
        let sent = buffers.take(CHUNK_BYTES).freeze();
        let (place, kept) = (sent.as_ptr(), sent.clone());
        buffers.give(vec![sent]);
        assert!(buffers.spare().is_empty(), "the object store still has it");
        buffers.give(vec![kept]);
        let short = buffers.take(100);
        assert_eq!((short.as_ptr(), short.len()), (place, 100));
        buffers.give(vec![short.freeze(), BytesMut::zeroed(100).freeze()]);
        let whole = buffers.take(CHUNK_BYTES);
        assert_eq!((whole.as_ptr(), whole.len()), (place, CHUNK_BYTES));
        assert!(buffers.spare().is_empty(), "a buffer of a small object is not kept");
        buffers.give(vec![whole.freeze()]);
        buffers.clear();
        assert!(buffers.spare().is_empty());
    }
}
