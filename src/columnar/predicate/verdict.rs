//! What summaries show about a test of rows.

/// The result of a test over a block of rows, as far as its summary shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::columnar) enum Verdict {
    /// No row passes.
    None,
    /// The rows must be tested.
    Some,
    /// Every row passes.
    All,
}
