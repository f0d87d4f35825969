//! The text index of the store: feeding, reading, checkpoints and verification.

mod ask;
mod feed;
mod save;
mod state;
mod text_search;
pub(crate) mod verify;

pub(crate) use state::SearchOutbox;
pub(crate) use text_search::search;

/// The directory of the index in the store directory.
const DIRECTORY: &str = "search";
/// The row of [`crate::records::Space::Positions`] that contains the checkpoint.
pub(crate) const CHECKPOINT: &[u8] = b"text index";
