//! Statements over a lake on several machines, by Ballista.
//!
//! A [`Scheduler`] divides statements into tasks, and [`run_executor`] runs them; both are
//! processes of their own, which `stationdb-cluster scheduler` and `stationdb-cluster executor`
//! start.
//! [`lake()`] makes a context over a lake of stations that sends its statements to them, and
//! [`distributed`] one over any Parquet files:
//!
//! ```no_run
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! use stationdb_cluster::datafusion::prelude::{ParquetReadOptions, SessionContext};
//!
//! let context = SessionContext::new();
//! context.register_parquet("gain", "/lake/gain", ParquetReadOptions::default()).await?;
//! let cluster = stationdb_cluster::distributed(&context, "http://127.0.0.1:50050")?;
//! let answer = cluster.sql("select count(*) from gain").await?.collect().await?;
//! # Ok(())
//! # }
//! ```
//!
//! # Lost executors
//!
//! Ballista runs the tasks of a lost executor again while other tasks have used their output, and
//! then an answer can hold rows twice or not at all. So here no task of a statement runs twice: a
//! statement ends when an executor is lost or cannot be read, and the context sends it again as a
//! whole, at most [`SENDS_MAX`] times.
#![deny(missing_docs)]
#![cfg_attr(not(test), warn(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

mod client;
mod engine;
mod error;
mod executor;
mod lake;
mod location;
mod lost;
mod scheduler;
mod send;
mod sendable;

pub use client::distributed;
/// The engine of queries that the contexts belong to.
pub use datafusion;
pub use error::{Error, Result};
pub use executor::{ExecutorOptions, end_is_asked_for, run_executor};
pub use lake::lake;
pub use location::LakeLocation;
pub use scheduler::Scheduler;
pub use send::SENDS_MAX;

use std::time::Duration;

/// An executor that has not asked for work for this long is lost. A busy one asks every 5 s.
pub(crate) const SILENCE_MAX: Duration = Duration::from_secs(10);
/// Time between two looks whether executors are there.
pub(crate) const LOOK_INTERVAL: Duration = Duration::from_secs(1);
