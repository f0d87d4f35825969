//! What counts matches without reading records.

use super::scan::Scan;
use crate::text::Ask;

/// What counts matches.
#[derive(Debug)]
pub(super) enum Count {
    /// Ranges whose intersection is exactly the matches, so that counting entries counts matches.
    Entries(Vec<Vec<Scan>>),
    /// Columns of the text index.
    Columns(Vec<Ask>),
}
