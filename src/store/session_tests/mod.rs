//! Tests of sessions over a store that is open: they know the inside of `session`, and need what
//! opens a store.

mod access;
mod checkpoints;
mod damaged_pages;
mod growth;
#[cfg(feature = "packages")]
mod large_transactions;
mod query;
#[cfg(feature = "search")]
mod search;
mod table_maintenance;
