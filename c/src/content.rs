//! The content of a file or package, for reads of parts.

use std::sync::{Arc, Mutex};

use stationdb::ContentReader;

use crate::failure::{Failure, Outcome};
use crate::lock::lock;
use crate::memory::Buffer;
use crate::open::{Held, Open};

/// An open content.
pub struct Content {
    open: Arc<Open>,
    reader: Mutex<Option<ContentReader>>,
    pub len: u64,
}

impl Held for Content {
    fn end(&self) {
        *lock(&self.reader) = None;
    }
}

impl Content {
    pub fn new(open: &Arc<Open>, reader: ContentReader) -> Arc<Self> {
        let len = reader.len();
        let content = Self { open: open.clone(), reader: Mutex::new(Some(reader)), len };
        let content = Arc::new(content);
        open.hold(&content);
        content
    }

    /// Reads from a place on, as many bytes as the buffer has room for, fewer at the end. Returns
    /// their number.
    pub fn read(&self, offset: u64, buffer: &mut Buffer<'_, u8>) -> Outcome<usize> {
        let _call = self.open.call(None)?;
        let left = usize::try_from(self.len.saturating_sub(offset)).unwrap_or(usize::MAX);
        let bytes = buffer.zeroed(left);
        let mut reader = lock(&self.reader);
        let Some(reader) = reader.as_mut() else {
            return Err(Failure::closed(
                "the store of this content was closed or compacted; open the content again",
            ));
        };
        let mut at = 0;
        while let Some(rest) = bytes.get_mut(at..).filter(|rest| !rest.is_empty()) {
            match reader.read_at(rest, offset.saturating_add(at as u64))? {
                0 => break,
                read => at += read,
            }
        }
        Ok(at)
    }
}
