//! Full-text search: the grammar of text queries, the text index, and the overlay of changes that
//! are not indexed yet.
//!
//! The index is derived from the records and may be deleted at any time. This module knows
//! documents (a kind, a key, a workspace and texts), not resources; its feeder reads the change
//! log. What must hold:
//!
//! - An answer equals that of evaluating the query over every document up to the sequence of the
//!   view. Changes that are not in the index yet are evaluated in memory ([`overlay`]), so nothing
//!   waits for the index.
//! - The write path never syncs the index. Only [`Index::checkpoint`] does, and its files are valid
//!   once the caller has recorded the checkpoint.
//! - Damage is detected by length and checksum at opening; the directory is then moved away and the
//!   index built again.

#![cfg_attr(
    not(feature = "search"),
    allow(dead_code, reason = "without the feature only the index that refuses is used")
)]

mod checkpoint;
mod document;
mod folding;
mod grammar;
#[cfg(test)]
mod grammar_tests;
mod overlay;
mod request;
mod snippet;
mod tree;
mod words;

#[cfg(feature = "search")]
mod engine;
#[cfg(not(feature = "search"))]
#[path = "absent.rs"]
mod engine;

pub(crate) use checkpoint::Checkpoint;
pub(crate) use document::{
    Ask, Cell, Change, ColumnName, Comparison, DocKey, Document, ExpectedContents, Shape,
};
pub(crate) use engine::{Index, OpenOutcome, View};
pub(crate) use folding::Folding;
pub(crate) use grammar::parse;
pub(crate) use request::{After, Hits, Request, Scope};
pub(crate) use snippet::highlight;
