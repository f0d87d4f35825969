//! Decoded dictionaries of open segments, in a bounded cache that all segments of the process
//! share.

use std::collections::HashSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use super::values::Values;
use crate::error::Result;
use crate::value::cache::{Cache, bounded};
use crate::value::limits;

/// The number of an open segment in this process, the row group and the column.
type Key = (u64, usize, usize);

#[derive(Clone)]
struct CachedDictionary {
    values: Arc<dyn Values>,
    bytes: usize,
}

/// Bytes that an entry takes in addition to its values.
const ENTRY_BYTES: usize = 128;

/// A typical size of a dictionary, by which the cache sizes its index.
const EXPECTED_BYTES: usize = 16 * 1024;

static KEPT: LazyLock<Cache<Key, CachedDictionary>> = LazyLock::new(|| {
    let bytes_max = limits::DICTIONARY_CACHE_BYTES;
    bounded(bytes_max / EXPECTED_BYTES, bytes_max, |_, kept: &CachedDictionary| {
        kept.bytes + ENTRY_BYTES
    })
});

static NEXT: AtomicU64 = AtomicU64::new(0);

/// The dictionaries of one segment, by row group and column.
#[derive(Debug)]
pub(super) struct Dictionaries {
    number: u64,
    /// The entries that were put into the cache, and are removed from it when the segment is
    /// closed.
    put: Mutex<HashSet<(usize, usize)>>,
}

impl Dictionaries {
    pub(super) fn new() -> Self {
        Self { number: NEXT.fetch_add(1, Ordering::Relaxed), put: Mutex::default() }
    }

    /// Returns the dictionary of a column of a row group. Calls `read` if it is not in the cache.
    pub(super) fn get(
        &self,
        group: usize,
        column: usize,
        read: impl FnOnce() -> Result<Box<dyn Values>>,
    ) -> Result<Arc<dyn Values>> {
        let key = (self.number, group, column);
        if let Some(known) = KEPT.get(&key) {
            return Ok(known.values);
        }
        let values: Arc<dyn Values> = read()?.into();
        self.put.lock().unwrap_or_else(PoisonError::into_inner).insert((group, column));
        KEPT.insert(key, CachedDictionary { bytes: values.bytes(), values: values.clone() });
        Ok(values)
    }
}

impl Drop for Dictionaries {
    fn drop(&mut self) {
        for (group, column) in self.put.get_mut().unwrap_or_else(PoisonError::into_inner).drain() {
            KEPT.remove(&(self.number, group, column));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dictionaries_of_all_segments_share_one_bound_and_go_with_their_segment() {
        let third = limits::DICTIONARY_CACHE_BYTES / 3 / size_of::<i64>();
        let segments: Vec<Dictionaries> = (0..3).map(|_| Dictionaries::new()).collect();
        for (at, segment) in segments.iter().enumerate() {
            for group in 0..3 {
                let len = third - at - group;
                let read = || Ok(Box::new(vec![7i64; len]) as Box<dyn Values>);
                assert_eq!(segment.get(group, 7, read).unwrap().len(), len);
                let kept = KEPT.weight();
                assert!(kept <= limits::DICTIONARY_CACHE_BYTES as u64, "{kept} bytes");
                // The newest dictionary is in the cache and not read again.
                let again = segment.get(group, 7, || panic!("read again"));
                assert_eq!(again.unwrap().len(), len);
            }
        }
        let numbers: Vec<u64> = segments.iter().map(|segment| segment.number).collect();
        drop(segments);
        let has = |number: &u64| (0..3).any(|group| KEPT.contains_key(&(*number, group, 7)));
        assert!(!numbers.iter().any(has), "a closed segment keeps none");
    }
}
