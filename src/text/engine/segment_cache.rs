//! What is read once of each segment and then kept: segments do not change, except for the
//! documents that are deleted from them. That of segments which no longer exist is dropped.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use tantivy::index::SegmentId;
use tantivy::{Opstamp, Searcher, SegmentReader};

use super::schema::Keys;

/// Something that is read of a segment.
pub(crate) trait OfSegment: Sized {
    /// Reads it.
    fn read(reader: &SegmentReader) -> tantivy::Result<Self>;
    /// Whether it still holds for a later state of the same segment.
    fn holds(&self, reader: &SegmentReader) -> bool;
}

/// One `T` for each segment.
pub(crate) struct SegmentCache<T>(Mutex<HashMap<SegmentId, Arc<T>>>);

impl<T> Default for SegmentCache<T> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<T: OfSegment> SegmentCache<T> {
    /// That of a segment of a searcher.
    pub(crate) fn of(
        &self,
        searcher: &Searcher,
        reader: &SegmentReader,
    ) -> tantivy::Result<Arc<T>> {
        let known = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(one) = known().get(&reader.segment_id()).filter(|one| one.holds(reader)) {
            return Ok(Arc::clone(one));
        }
        let one = Arc::new(T::read(reader)?);
        let mut known = known();
        known.retain(|segment, _| {
            searcher.segment_readers().iter().any(|reader| reader.segment_id() == *segment)
        });
        known.insert(reader.segment_id(), Arc::clone(&one));
        Ok(one)
    }
}

/// Opening a column looks up its name and reads its header, which costs more than a whole short
/// query.
impl OfSegment for Keys {
    fn read(reader: &SegmentReader) -> tantivy::Result<Self> {
        Self::of(reader)
    }

    fn holds(&self, _: &SegmentReader) -> bool {
        true
    }
}

/// The deleted documents of a segment, ascending. The engine has a bit for each document; looking
/// at all of them costs as much as a count.
pub(crate) struct Deleted {
    pub documents: Vec<u32>,
    /// The deletion that the engine did last.
    last: Option<Opstamp>,
}

impl OfSegment for Deleted {
    fn read(reader: &SegmentReader) -> tantivy::Result<Self> {
        let documents = reader.alive_bitset().map_or_else(Vec::new, |alive| {
            (0..reader.max_doc()).filter(|document| alive.is_deleted(*document)).collect()
        });
        Ok(Self { documents, last: reader.delete_opstamp() })
    }

    fn holds(&self, reader: &SegmentReader) -> bool {
        self.last == reader.delete_opstamp()
            && self.documents.len() == reader.num_deleted_docs() as usize
    }
}
