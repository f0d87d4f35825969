//! Full-text search: text query grammar, text index, and the memory of what is not indexed yet.
//!
//! The index is derived from the records and may be deleted at any time. This room knows documents (a kind, a key, a
//! workspace and texts), not resources; who feeds it reads the change log. What must hold:
//!
//! - An answer is that of evaluating the query over every document up to the view's sequence: what is not in the index
//!   yet is evaluated in memory ([`overlay`]), so nothing waits for the index.
//! - The write path never syncs. Only [`Index::checkpoint`] does, and what it wrote counts once its caller has recorded
//!   the checkpoint.
//! - Damage is found by length and checksum at open; the directory is then set aside and the index built anew.

#![cfg_attr(
    not(feature = "search"),
    allow(dead_code, reason = "without the feature only the index that refuses is used")
)]

mod checkpoint;
mod document;
mod grammar;
#[cfg(test)]
mod grammar_tests;
mod overlay;
mod request;
mod snippet;
mod tree;
mod words;

#[cfg(feature = "search")]
mod blocks;
#[cfg(feature = "search")]
mod collect;
#[cfg(feature = "search")]
mod columns;
#[cfg(feature = "search")]
mod compare;
#[cfg(feature = "search")]
mod compile;
#[cfg(feature = "search")]
mod contains;
#[cfg(feature = "search")]
mod directory;
#[cfg(feature = "search")]
mod failure;
#[cfg(feature = "search")]
mod fixed_statistics;
#[cfg(feature = "search")]
mod index;
#[cfg(feature = "search")]
mod key_columns;
#[cfg(feature = "search")]
mod merge;
#[cfg(feature = "search")]
mod place;
#[cfg(feature = "search")]
mod schema;
#[cfg(feature = "search")]
mod settled;
#[cfg(feature = "search")]
mod state;
#[cfg(feature = "search")]
mod tokenizer;
#[cfg(feature = "search")]
mod view;
#[cfg(feature = "search")]
mod word_list;
#[cfg(feature = "search")]
mod writer;

#[cfg(not(feature = "search"))]
#[path = "absent.rs"]
mod index;

#[cfg(all(test, feature = "search"))]
mod order_tests;
#[cfg(all(test, feature = "search"))]
mod tests;

pub use checkpoint::Checkpoint;
pub use document::{Ask, Cell, Change, ColumnName, Comparison, DocKey, Document, Expected, Shape};
pub use grammar::parse;
#[cfg(not(feature = "search"))]
pub use index::View;
pub use index::{Index, Opened};
pub use request::{After, Hits, Request, Scope};
pub use snippet::{Snippet, highlight};
#[cfg(feature = "search")]
pub use view::View;
