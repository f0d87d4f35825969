//! Decoded dictionaries of an open segment, kept within a bound that all segments of the process share.

use std::any::Any;
use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use super::values::Values;
use crate::error::Result;
use crate::value::limits;

/// Bytes that all segments together keep.
static KEPT: AtomicUsize = AtomicUsize::new(0);

type Kept = HashMap<(usize, usize), Arc<dyn Any + Send + Sync>>;

/// What one segment keeps, by row group and column.
#[derive(Debug, Default)]
pub(super) struct Dictionaries {
    kept: Mutex<Kept>,
    bytes: AtomicUsize,
}

impl Dictionaries {
    /// The dictionary of a column of a row group, which `read` reads when it is not here.
    pub(super) fn get<V: Values>(
        &self,
        group: usize,
        column: usize,
        read: impl FnOnce() -> Result<V>,
    ) -> Result<Arc<V>> {
        let known = self.kept.lock().unwrap_or_else(PoisonError::into_inner).get(&(group, column)).cloned();
        if let Some(known) = known.and_then(|known| known.downcast::<V>().ok()) {
            return Ok(known);
        }
        let made = Arc::new(read()?);
        let bytes = made.bytes();
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if KEPT.load(Ordering::Relaxed) + bytes > limits::DICTIONARY_CACHE_BYTES {
            // This segment makes room; what others keep they have a use for.
            kept.clear();
            KEPT.fetch_sub(self.bytes.swap(0, Ordering::Relaxed), Ordering::Relaxed);
        }
        if KEPT.load(Ordering::Relaxed) + bytes <= limits::DICTIONARY_CACHE_BYTES
            && kept.insert((group, column), made.clone()).is_none()
        {
            self.bytes.fetch_add(bytes, Ordering::Relaxed);
            KEPT.fetch_add(bytes, Ordering::Relaxed);
        }
        Ok(made)
    }
}

impl Drop for Dictionaries {
    fn drop(&mut self) {
        KEPT.fetch_sub(*self.bytes.get_mut(), Ordering::Relaxed);
    }
}
