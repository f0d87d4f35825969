//! Tests that a limit is where it should be.

use stationdb::{ErrorKind, Result};

/// Tries one below the limit, the limit and one above. The first two must not fail with an error of
/// this kind, the third must.
pub(crate) fn holds_at<T>(
    bound: impl TryInto<usize>,
    refusal: ErrorKind,
    mut probe: impl FnMut(usize) -> Result<T>,
) {
    let Ok(bound) = bound.try_into() else { panic!("a bound beyond this machine") };
    for (size, fits) in [(bound - 1, true), (bound, true), (bound + 1, false)] {
        match probe(size) {
            Err(error) if error.kind() == refusal => assert!(!fits, "{size} of {bound}: {error}"),
            Err(error) => assert!(fits, "{size} of {bound}: {error}"),
            Ok(_) => assert!(fits, "{size} of {bound} is accepted"),
        }
    }
}
