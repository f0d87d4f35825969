//! Cache of the columns with document keys, by segment.
//!
//! Opening a column looks up its name and reads its header, which costs more than a whole short
//! query. Segments do not change, so their columns are opened at the first query. Those of segments
//! that no longer exist are dropped.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use tantivy::index::SegmentId;
use tantivy::{Searcher, SegmentReader};

use super::schema::Keys;

/// The columns that are open.
#[derive(Default)]
pub(crate) struct KeyColumns(Mutex<HashMap<SegmentId, Arc<Keys>>>);

impl KeyColumns {
    /// The columns of a segment of a searcher.
    pub(crate) fn of(
        &self,
        searcher: &Searcher,
        reader: &SegmentReader,
    ) -> tantivy::Result<Arc<Keys>> {
        let opened = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(keys) = opened().get(&reader.segment_id()) {
            return Ok(Arc::clone(keys));
        }
        let keys = Arc::new(Keys::of(reader)?);
        let mut opened = opened();
        opened.retain(|segment, _| {
            searcher.segment_readers().iter().any(|reader| reader.segment_id() == *segment)
        });
        opened.insert(reader.segment_id(), Arc::clone(&keys));
        Ok(keys)
    }
}
