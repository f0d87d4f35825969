//! The words of a field of a segment in one buffer, so that a search inside words is one pass over
//! memory.
//!
//! The engine's dictionary returns words one by one in order, at a hundred times the cost of a byte
//! search. Segments do not change, so each list is built once; lists of segments that no longer
//! exist are dropped.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use tantivy::index::SegmentId;
use tantivy::schema::Field;
use tantivy::{Searcher, SegmentReader};

use crate::text::words::is_long;

/// Separates words; occurs in no word.
const BETWEEN: u8 = b'\n';
/// Most bytes of one list. A larger dictionary is read each time.
const LIST_BYTES: usize = 8 * 1024 * 1024;
/// Most bytes of all lists.
const LISTS_BYTES: usize = 24 * 1024 * 1024;

/// The words of one field of one segment.
#[derive(Debug)]
pub(crate) struct WordList {
    text: Vec<u8>,
    /// Whether some word may be a part of a longer run.
    has_long: bool,
}

/// The lists built so far.
#[derive(Debug, Default)]
pub(crate) struct WordLists(Mutex<HashMap<(SegmentId, Field), Arc<WordList>>>);

impl WordList {
    fn read(reader: &SegmentReader, field: Field, most: usize) -> tantivy::Result<Option<Self>> {
        let inverted = reader.inverted_index(field)?;
        let mut stream = inverted.terms().stream()?;
        let mut list = Self { text: vec![BETWEEN], has_long: false };
        while let Some((word, _)) = stream.next() {
            if list.text.len() + word.len() >= most {
                return Ok(None);
            }
            list.text.extend_from_slice(word);
            list.text.push(BETWEEN);
            list.has_long |= std::str::from_utf8(word).is_ok_and(is_long);
        }
        Ok(Some(list))
    }

    /// Whether some word may be a part of a longer run, the rest of which is in other words.
    pub(crate) fn has_long(&self) -> bool {
        self.has_long
    }

    /// The words that contain `part` (with `at_end`, at their end), each once and in order.
    pub(crate) fn with_part(&self, part: &str, at_end: bool) -> Vec<&[u8]> {
        let mut found = Vec::new();
        let mut pattern = part.as_bytes().to_vec();
        if at_end {
            pattern.push(BETWEEN);
        }
        let mut from = 0;
        while let Some(at) =
            memchr::memmem::find(self.text.get(from..).unwrap_or_default(), &pattern)
        {
            let at = from + at;
            let start = self
                .text
                .get(..at)
                .and_then(|text| memchr::memrchr(BETWEEN, text))
                .map_or(0, |at| at + 1);
            let rest = self.text.get(at..).unwrap_or_default();
            let end = at + memchr::memchr(BETWEEN, rest).unwrap_or(rest.len());
            found.extend(self.text.get(start..end));
            from = end;
        }
        found
    }
}

impl WordLists {
    /// The list of a field of a segment; `None` if it would be too large.
    pub(crate) fn of(
        &self,
        reader: &SegmentReader,
        field: Field,
    ) -> tantivy::Result<Option<Arc<WordList>>> {
        let place = (reader.segment_id(), field);
        let held: usize = {
            let lists = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(list) = lists.get(&place) {
                return Ok(Some(Arc::clone(list)));
            }
            lists.values().map(|list| list.text.len()).sum()
        };
        let most = LIST_BYTES.min(LISTS_BYTES.saturating_sub(held));
        let Some(list) = WordList::read(reader, field, most)? else { return Ok(None) };
        let list = Arc::new(list);
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(place, Arc::clone(&list));
        Ok(Some(list))
    }

    /// Drops the lists of segments that are not in `searcher`.
    pub(crate) fn keep_only(&self, searcher: &Searcher) {
        let known: Vec<SegmentId> =
            searcher.segment_readers().iter().map(SegmentReader::segment_id).collect();
        let mut lists = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        lists.retain(|(segment, _), _| known.contains(segment));
    }
}
