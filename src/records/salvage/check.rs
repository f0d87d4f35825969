//! The verdict on an entry by its own checksum.

/// The verdict on an entry by its own checksum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Check {
    /// It has a checksum over key and value, which matches.
    Whole,
    /// Its checksum does not match, or it cannot be an entry of its space.
    Damaged,
    /// It may be an entry of its space, but has no checksum.
    Unsummed,
}
