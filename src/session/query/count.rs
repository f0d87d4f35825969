//! Ways of counting matches without reading records.

use super::scan::Scan;
use crate::text::Ask;

/// How matches are counted.
#[derive(Debug)]
pub(super) enum Count {
    /// By index entries: the intersection of these sets is exactly the set of matches.
    Entries(Vec<Vec<Scan>>),
    /// By columns of the text index.
    Columns(Vec<Ask>),
}
