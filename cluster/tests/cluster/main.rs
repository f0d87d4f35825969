//! Clusters of processes on loopback.

#[path = "../../../sql/tests/common/mod.rs"]
mod common;
mod fleet;
mod lake;
mod lost;
mod process;
mod processes;
#[cfg(feature = "s3")]
mod s3;
#[path = "../../../tests/common/sizes.rs"]
mod sizes;
mod statements;
mod tables;
