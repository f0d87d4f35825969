//! The index itself: its files, its writer, and the searches and counts over it.

mod blocks;
mod collect;
#[cfg(test)]
mod column_tests;
mod columns;
mod compare;
mod compile;
mod contains;
mod directory;
mod failure;
mod fixed_statistics;
mod index;
mod known_statistics;
mod lengths;
mod merge;
#[cfg(test)]
mod order_tests;
mod place;
mod schema;
mod segment_cache;
mod settled;
mod state;
#[cfg(test)]
mod tests;
mod tokenizer;
mod view;
mod word_list;
mod writer;

pub(crate) use index::{Index, OpenOutcome};
pub(crate) use view::View;
