//! SQL over everything in a `stationdb` store, by DataFusion.
//!
//! ```
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let dir = tempfile::tempdir()?;
//! use stationdb::prelude::*;
//! use stationdb::products::CreateProductRequest;
//! use stationdb::{Identity, Store};
//!
//! let store = Store::open(dir.path())?;
//! let session = store.session(Identity::user("ada"));
//! session.create_products(vec![CreateProductRequest::new("P-1").family("Amplifier")])?;
//!
//! let sql = stationdb_sql::context(&session)?;
//! let answer = sql.sql("select family, count(*) from products group by family").await?;
//! assert_eq!(answer.collect().await?[0].num_rows(), 1);
//! # Ok(())
//! # }
//! ```
//!
//! The schema `public` has a table for each kind of record: `products`, `work_items`, …, and the
//! table `quotas`. The schema `rows` has the measured rows of each table, under its id and, where no
//! other table has the same name, under its name; `public` finds them too. Names with capitals need
//! quotes, as in `rows."Loop 1"`. `information_schema` lists what the caller may see.
//!
//! A context reads one snapshot, which it takes when it is made, and the access policy is asked as
//! it is in every other read. Nothing can be written, and no other files can be read.
//!
//! A program that answers statements of others asks them by [`query`], which bounds what one may ask
//! for. The methods of a context have no bounds.
//!
//! Functions: `decimate('table', 'y1, y2', intervals)` thins out the rows of a table;
//! `search('words')` returns what full-text search finds; `check_spec(record, value)` says whether
//! a value is `INSIDE` or `OUTSIDE` the limits of a specification's column `record`.
#![deny(missing_docs)]
#![cfg_attr(not(test), warn(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

mod catalog;
mod check_spec;
mod decimate;
mod door;
mod exact;
mod extremes;
mod filters;
#[cfg(feature = "lake")]
mod lake;
mod language;
mod nowhere;
mod pages;
mod quotas;
mod records;
mod rows;
mod rules;
mod scan;
mod search;

use std::path::PathBuf;
use std::sync::Arc;

pub use datafusion;
use datafusion::error::DataFusionError;
use datafusion::execution::disk_manager::{DiskManagerBuilder, DiskManagerMode};
use datafusion::execution::memory_pool::FairSpillPool;
use datafusion::execution::object_store::ObjectStoreRegistry;
use datafusion::execution::runtime_env::RuntimeEnvBuilder;
use datafusion::execution::session_state::SessionStateBuilder;
use datafusion::prelude::{SessionConfig, SessionContext};
use stationdb::{Result, Session};

use catalog::Catalog;
pub use door::{Limits, query, reads};
#[cfg(feature = "lake")]
pub use lake::{lake, lake_aggregates, lake_at, lake_functions, lake_with};

const CATALOG: &str = "stationdb";
const PUBLIC: &str = "public";
/// Bytes for the sorts, joins and groups of a context.
const MEMORY_BYTES: usize = 512 * 1024 * 1024;

/// What a context may use.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Bytes for sorts, joins and groups; 512 MiB when absent. The store's own reads have bounds of
    /// their own.
    pub memory_bytes: Option<usize>,
    /// An existing directory for what exceeds the memory. When absent such a query fails.
    pub spill_directory: Option<PathBuf>,
    /// Bytes in that directory at most; DataFusion's own bound when absent.
    pub spill_bytes: Option<u64>,
    /// Number of threads that a query is divided among; that of the processors when absent.
    pub partitions: Option<usize>,
}

/// [`context_with`] default options.
///
/// # Errors
/// As [`context_with`].
pub fn context(session: &Session) -> Result<SessionContext> {
    context_with(session, &Options::default())
}

/// A context over what `session` sees now.
///
/// Takes a snapshot and reads the names of the tables, so it blocks: an async program calls it on a
/// thread for blocking work. The scans of its queries run on such threads by themselves. A query
/// that is dropped stops its scans, and so does the session's
/// [`Control`](stationdb::Control).
///
/// # Errors
/// The errors of a read, and `Io` for a spill directory that cannot be used.
pub fn context_with(session: &Session, options: &Options) -> Result<SessionContext> {
    let session = session.pinned();
    let catalog = Arc::new(Catalog::new(&session)?);
    let context = prepared(options, Arc::new(nowhere::Nowhere))?;
    context.register_catalog(CATALOG, catalog.clone());
    context.register_udtf("search", Arc::new(search::Search::new(session)));
    context.register_udtf("decimate", Arc::new(decimate::Decimate::new(catalog)));
    for function in extremes::functions() {
        context.register_udaf(function);
    }
    context.register_udf(check_spec::function());
    Ok(context)
}

/// A context without tables, which finds objects by a registry.
fn prepared(options: &Options, registry: Arc<dyn ObjectStoreRegistry>) -> Result<SessionContext> {
    let mut config = SessionConfig::new()
        .with_information_schema(true)
        .with_create_default_catalog_and_schema(false)
        .with_default_catalog_and_schema(CATALOG, PUBLIC);
    if let Some(partitions) = options.partitions {
        config = config.with_target_partitions(partitions.max(1));
    }
    let mode = match &options.spill_directory {
        Some(directory) => DiskManagerMode::Directories(vec![directory.clone()]),
        None => DiskManagerMode::Disabled,
    };
    let mut disk = DiskManagerBuilder::default().with_mode(mode);
    if let Some(bytes) = options.spill_bytes {
        disk = disk.with_max_temp_directory_size(bytes);
    }
    let pool = FairSpillPool::new(options.memory_bytes.unwrap_or(MEMORY_BYTES));
    let runtime = RuntimeEnvBuilder::new()
        .with_memory_pool(Arc::new(pool))
        .with_disk_manager_builder(disk)
        .with_object_store_registry(registry)
        .build_arc()
        .map_err(|error| {
            stationdb::Error::io("preparing SQL", std::io::Error::other(error.to_string()))
        })?;
    let state = SessionStateBuilder::new()
        .with_config(config)
        .with_runtime_env(runtime)
        .with_default_features()
        .with_analyzer_rules(exact::analyzers())
        .with_optimizer_rules(exact::optimizers())
        .with_physical_optimizer_rules(rules::all())
        .build();
    let context = SessionContext::new_with_state(state);
    for function in exact::functions() {
        context.register_udf(function);
    }
    for function in exact::aggregates() {
        context.register_udaf(function);
    }
    Ok(context)
}

/// An error of the store as one of DataFusion; its source is the store's.
fn external(error: stationdb::Error) -> DataFusionError {
    DataFusionError::External(Box::new(error))
}
