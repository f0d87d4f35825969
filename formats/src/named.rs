//! Things that are known by names, such as formats.

use stationdb::{Error, Result};

/// The one of `all` that has this name, in any letter case. `what` is what they are, in messages.
///
/// # Errors
/// `InvalidArgument` with the names that there are.
pub(crate) fn named<T>(
    text: &str,
    what: &str,
    all: impl IntoIterator<Item = T>,
    name: impl Fn(&T) -> &'static str,
) -> Result<T> {
    let mut known = Vec::new();
    for one in all {
        if name(&one).eq_ignore_ascii_case(text) {
            return Ok(one);
        }
        known.push(name(&one));
    }
    Err(Error::invalid(format!("{text:?} is no {what}; use one of {}", known.join(", "))))
}
