//! A file system in user space that loses what was not synced.
//!
//! [`Mounted`] shows a [`Tree`] in memory at a directory, and a real process works there. A tree
//! keeps what is durable apart from what was written since: bytes, lengths, names and removals.
//! [`Tree::cut`] draws what a power cut leaves, which is mounted in its turn.
//!
//! Nothing is assumed beyond `docs/reliability.md`. A sync of a file makes its bytes and its length
//! durable and not its name. A sync of the data alone leaves a file that became shorter perhaps at
//! its old length. A sync of a directory makes its names durable. Names that change in one
//! directory by one rename change together; in two directories they change one by one. Everything
//! else survives in any part, bytes in sectors of 512.
#![cfg(target_os = "linux")]
#![deny(missing_docs)]

mod content;
mod cut;
mod mount;
mod random;
mod tree;

pub use cut::Survival;
pub use mount::{Fault, Mounted, Operation};
pub use random::Random;
pub use tree::{Ino, Kept, ROOT, SyncKind, Tree};
