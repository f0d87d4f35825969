//! What outlives the work of a call.

use std::any::Any;
use std::fmt;
use std::sync::Mutex;

/// Dropped when no work of a call holds the store any longer. What holds the store for a call holds
/// this too, and drops it last.
#[cfg_attr(not(feature = "blocking"), allow(dead_code, reason = "none is made"))]
pub(crate) struct Held(#[allow(dead_code, reason = "it is there to be dropped")] Kept);

type Kept = Mutex<Option<Box<dyn Any + Send>>>;

impl Held {
    #[cfg(feature = "blocking")]
    pub(crate) fn new(kept: Option<Box<dyn Any + Send>>) -> Self {
        Self(Mutex::new(kept))
    }
}

impl fmt::Debug for Held {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Held")
    }
}
