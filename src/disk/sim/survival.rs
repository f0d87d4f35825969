//! What a power cut leaves.

/// What survives a power cut of the changes that no sync covered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Survival {
    /// Nothing.
    None,
    /// Everything.
    All,
    /// Any subset, drawn from the seed: each 512-byte sector of each write whole, in part or not at
    /// all, and each name and length on its own. Harsher than any journaling file system.
    Random,
    /// Names and lengths as a prefix of their order, as a journal keeps them; data as in
    /// [`Survival::Random`].
    Journal,
}
