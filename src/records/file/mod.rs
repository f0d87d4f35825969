//! The file of redb and what stands below it: pages that are verified before redb uses them, a
//! medium that lets nothing through after a failed write, transactions, and the replacement of the
//! file.

pub(crate) mod backend;
pub(super) mod bookkeeping;
pub(super) mod file_turn;
pub(super) mod free_space;
pub(super) mod medium;
pub(super) mod mend;
pub(super) mod names;
pub(super) mod page_sums;
pub(super) mod pages;
pub(super) mod parts;
pub(super) mod recent_log;
pub(super) mod record_file;
pub(super) mod rewrite;
#[cfg(test)]
pub(super) mod slot_tests;
pub(super) mod transaction;
pub(super) mod write_tables;
