//! What an entry says of itself, by its own checksum.

/// What an entry says of itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Check {
    /// It carries a checksum over key and value, which holds.
    Whole,
    /// Its checksum does not hold, or it is none of its space.
    Damaged,
    /// It may be one of its space; it carries no checksum.
    Unsummed,
}
