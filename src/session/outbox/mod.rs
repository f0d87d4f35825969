//! The text index beside the records: who feeds it, asks it, makes it durable and checks it.

mod ask;
mod feed;
mod save;
mod state;
mod text_search;
pub(crate) mod verify;

pub(crate) use state::SearchOutbox;
pub(crate) use text_search::{TextAnswer, TextSearch, search};

/// Where the index lies in the store directory.
const DIRECTORY: &str = "search";
/// The row of [`crate::records::Space::Positions`] that holds the checkpoint.
const CHECKPOINT: &[u8] = b"text index";
