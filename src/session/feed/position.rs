//! A place in the change feed.

use serde::{Deserialize, Serialize};

/// A place in the change feed: everything up to and including a commit.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Position(pub u64);

impl Position {
    /// Before the first commit.
    pub const START: Self = Self(0);
}
