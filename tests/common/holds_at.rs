//! The test of a bound.

use stationdb::{ErrorKind, Result};

/// Tries a bound: one less and the bound itself are not refused with an error of this kind, one more is.
pub(crate) fn holds_at<T>(bound: impl TryInto<usize>, refusal: ErrorKind, mut probe: impl FnMut(usize) -> Result<T>) {
    let Ok(bound) = bound.try_into() else { panic!("a bound beyond this machine") };
    for (size, fits) in [(bound - 1, true), (bound, true), (bound + 1, false)] {
        match probe(size) {
            Err(error) if error.kind() == refusal => assert!(!fits, "{size} of {bound}: {error}"),
            Err(error) => assert!(fits, "{size} of {bound}: {error}"),
            Ok(_) => assert!(fits, "{size} of {bound} is accepted"),
        }
    }
}
