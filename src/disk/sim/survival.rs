//! What survives a power cut.

/// Which of the changes survive a power cut that no sync covered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Survival {
    /// None of them.
    None,
    /// All of them.
    All,
    /// A random subset: each 512-byte sector of each write survives whole, in part or not at all,
    /// and each name and length independently. Harsher than any journaling file system.
    Random,
    /// A prefix of the changes of names and lengths, as a journal keeps them; data as in
    /// [`Survival::Random`].
    Journal,
}
