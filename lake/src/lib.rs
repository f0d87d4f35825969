//! Publishes a store into a lake: Delta tables in an object store, which Spark, Trino, DuckDB,
//! Polars and `DataFusion` read.
//!
//! A [`Publisher`] sends what changed since the position that the lake has: rows by their append
//! ordinals, the state of changed records, deleted rows, and last that the batch is complete. A
//! [`Layout`] says what goes where. An [`Importer`] takes the reference data that one station
//! published over into another store. The format of the lake and the protocol are in `docs/lake.md`.
#![deny(missing_docs)]
#![cfg_attr(not(test), warn(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

mod accepts;
mod actions;
mod body;
mod buffers;
mod checkpoint;
mod checks;
mod chunk;
mod clock;
mod deltas;
mod encoding;
#[cfg(feature = "faults")]
pub mod faults;
mod file;
mod footer;
mod import;
mod layout;
mod ledger;
mod log;
mod names;
mod ordinals;
mod pass;
mod plan;
mod position;
mod publisher;
mod ranges;
mod reader;
mod records;
mod remote;
mod root;
mod rows;
mod schema;
mod segment;
mod sender;
mod source;
mod splice;
mod stations;
mod status;
mod steps;
mod upload;
mod versions;

use std::hash::{BuildHasher, Hasher, RandomState};

pub use footer::with_checked_footers;
pub use import::{ImportReport, Importer};
pub use layout::{LakeTable, Layout, OneRoot};
/// The crate of object stores that a [`Publisher`] and an [`Importer`] take.
pub use object_store;
pub use publisher::{PublishReport, Publisher};
pub use reader::{Lake, LakeField, LakeFile, LakeRelation, LakeRows, LakeStation, LakeView};
pub use remote::{Backoff, Note};
pub use status::{LakeStatus, RootStatus};

/// Bits of a batch number that are the sequence of the store; those above are the epoch.
pub(crate) const EPOCH_BITS: u32 = 40;

/// A number that no other call gets.
pub(crate) fn random() -> u64 {
    RandomState::new().build_hasher().finish()
}

/// A text that no other call gets: 32 hexadecimal digits.
pub(crate) fn nonce() -> String {
    let time = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let mut hasher = RandomState::new().build_hasher();
    hasher.write_u128(time.map_or(0, |time| time.as_nanos()));
    format!("{:016x}{:016x}", random(), hasher.finish())
}
