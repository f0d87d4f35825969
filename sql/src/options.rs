//! What a context may use, and a context with that and without tables.

use std::path::PathBuf;
use std::sync::Arc;

use datafusion::execution::disk_manager::{DiskManagerBuilder, DiskManagerMode};
use datafusion::execution::memory_pool::FairSpillPool;
use datafusion::execution::object_store::ObjectStoreRegistry;
use datafusion::execution::runtime_env::{RuntimeEnv, RuntimeEnvBuilder};
use datafusion::execution::session_state::SessionStateBuilder;
use datafusion::prelude::{SessionConfig, SessionContext};
use stationdb::Result;

use crate::{exact, rules};

/// The catalog of a context.
pub(crate) const CATALOG: &str = "stationdb";

/// The schema with the tables of records.
pub(crate) const PUBLIC: &str = "public";

/// Bytes for the sorts, joins and groups of a context.
const MEMORY_BYTES: usize = 512 * 1024 * 1024;

/// Values at most that one partition of a join passes on to the reads of its other side.
const JOINED_MAX: usize = 512;

/// What a context may use.
///
/// ```
/// let options = stationdb_sql::Options::default().memory_bytes(64 << 20).partitions(1);
/// ```
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
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

impl Options {
    /// With bytes for sorts, joins and groups.
    #[must_use]
    pub fn memory_bytes(mut self, bytes: impl Into<Option<usize>>) -> Self {
        self.memory_bytes = bytes.into();
        self
    }

    /// With a directory for what exceeds the memory.
    #[must_use]
    pub fn spill_directory(mut self, directory: impl Into<PathBuf>) -> Self {
        self.spill_directory = Some(directory.into());
        self
    }

    /// With a bound of the bytes in that directory.
    #[must_use]
    pub fn spill_bytes(mut self, bytes: impl Into<Option<u64>>) -> Self {
        self.spill_bytes = bytes.into();
        self
    }

    /// With a number of threads that a query is divided among.
    #[must_use]
    pub fn partitions(mut self, count: impl Into<Option<usize>>) -> Self {
        self.partitions = count.into();
        self
    }
}

/// A context without tables, which finds objects by a registry.
pub(crate) fn prepared(
    options: &Options,
    registry: Arc<dyn ObjectStoreRegistry>,
) -> Result<SessionContext> {
    let mut config = SessionConfig::new()
        .with_information_schema(true)
        .with_create_default_catalog_and_schema(false)
        .with_default_catalog_and_schema(CATALOG, PUBLIC);
    // The ids of results that a join passes on to the read of their steps.
    config.options_mut().optimizer.hash_join_inlist_pushdown_max_distinct_values = JOINED_MAX;
    if let Some(partitions) = options.partitions {
        config = config.with_target_partitions(partitions.max(1));
    }
    let runtime = runtime(options, registry)?;
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

/// The memory and the files of one context, or of one call of a plan that is kept.
pub(crate) fn runtime(
    options: &Options,
    registry: Arc<dyn ObjectStoreRegistry>,
) -> Result<Arc<RuntimeEnv>> {
    let mode = match &options.spill_directory {
        Some(directory) => DiskManagerMode::Directories(vec![directory.clone()]),
        None => DiskManagerMode::Disabled,
    };
    let mut disk = DiskManagerBuilder::default().with_mode(mode);
    if let Some(bytes) = options.spill_bytes {
        disk = disk.with_max_temp_directory_size(bytes);
    }
    let pool = FairSpillPool::new(options.memory_bytes.unwrap_or(MEMORY_BYTES));
    RuntimeEnvBuilder::new()
        .with_memory_pool(Arc::new(pool))
        .with_disk_manager_builder(disk)
        .with_object_store_registry(registry)
        .build_arc()
        .map_err(|error| {
            stationdb::Error::io("preparing SQL", std::io::Error::other(error.to_string()))
        })
}
