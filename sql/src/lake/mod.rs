//! SQL over a lake that stations publish: the same tables as over a store, of all stations.

use std::sync::Arc;

use datafusion::datasource::object_store::ObjectStoreUrl;
use datafusion::execution::object_store::ObjectStoreRegistry;
use datafusion::logical_expr::{AggregateUDF, ScalarUDF};
use datafusion::object_store::ObjectStore;
use datafusion::object_store::path::Path;
use datafusion::prelude::SessionContext;
use stationdb::{Control, Error, Result};
use stationdb_lake::{Lake, with_checked_footers};
use url::Url;

use crate::errors::failed;
use crate::options::{CATALOG, Options, prepared};
use crate::{check_spec, extremes};

mod catalog;
mod live;
mod names;
mod plans;
mod records;
mod rows;
mod steps;
mod yields;

use catalog::LakeCatalog;
use plans::Plans;
pub use yields::{LakeYieldKey, LakeYieldScope, LakeYields};

/// The address under which a context of this process finds the lake's objects.
const HERE: &str = "lake://objects";

/// [`lake_with`] default options.
///
/// ```no_run
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// use std::sync::Arc;
/// use stationdb_sql::datafusion::object_store::memory::InMemory;
///
/// // Or a directory, S3, Azure, Google.
/// let objects = Arc::new(InMemory::new());
/// let sql = stationdb_sql::lake(objects, &"plant".into()).await?;
/// sql.sql("select family, count(*) from products group by family").await?.show().await?;
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// As [`lake_with`].
pub async fn lake(objects: Arc<dyn ObjectStore>, root: &Path) -> Result<SessionContext> {
    lake_with(objects, root, &Options::default()).await
}

/// A context over the lake at `root` as it is now: live rows and the latest records of the complete
/// batches of all stations.
///
/// The schemas `public` and `rows` have the tables that [`context`](crate::context()) has over a
/// store, with the same columns; the records, their steps and measurements and the table names are
/// those of all stations. Where two stations have the same table id or name,
/// `rows."<station>/<id>"` and `rows."<station>/<name>"` tell them apart. The schema `lake` has the lake tables, with the
/// columns before the data: `_station`, `_workspace`, `_table`, `_batch` and `_row`.
///
/// Reads the logs of the lake and the metadata of its tables. A newer state needs a new context.
///
/// # Errors
/// The errors of [`Lake::open`], `Corrupt` for metadata that cannot be read, and `Io` for a spill
/// directory that cannot be used.
pub async fn lake_with(
    objects: Arc<dyn ObjectStore>,
    root: &Path,
    options: &Options,
) -> Result<SessionContext> {
    lake_at(objects, root, &ObjectStoreUrl::parse(HERE).map_err(failed)?, options).await
}

/// [`lake_with`], whose plans run in processes that find `objects` at `url`, as `file:///` or
/// `s3://bucket`.
///
/// The plans of all tables are scans of Parquet files by their paths, joins, windows and
/// projections, so they travel to other processes without a codec. These need the functions of
/// [`lake_aggregates`] and [`lake_functions`].
///
/// # Errors
/// As [`lake_with`].
pub async fn lake_at(
    objects: Arc<dyn ObjectStore>,
    root: &Path,
    url: &ObjectStoreUrl,
    options: &Options,
) -> Result<SessionContext> {
    let checked = with_checked_footers(objects.clone());
    let only = Arc::new(LakeObjectStore { url: url.clone(), objects: checked });
    // The tables plan with a context of their own: one that has them would hold itself.
    let planner = prepared(options, only.clone())?;
    let context = prepared(options, only)?;
    context.register_catalog(CATALOG, catalog(objects, root, url, planner).await?);
    for function in lake_aggregates() {
        context.register_udaf(function);
    }
    context.register_udf(check_spec::function());
    Ok(context)
}

/// The tables; `planner` makes the plans of their rows.
async fn catalog(
    objects: Arc<dyn ObjectStore>,
    root: &Path,
    url: &ObjectStoreUrl,
    planner: SessionContext,
) -> Result<Arc<LakeCatalog>> {
    let path = root.clone();
    let opened = move || Lake::open(objects, &path, &Control::default());
    let lake = tokio::task::spawn_blocking(opened).await.map_err(|error| {
        Error::io("reading the logs of a lake", std::io::Error::other(error.to_string()))
    })??;
    let plans = Arc::new(Plans::new(lake, url, planner));
    Ok(Arc::new(LakeCatalog::new(plans).await?))
}

/// `min` and `max`, which take NaN for the greatest value, and `percentile_cont`, which cuts no
/// digits: an engine that runs plans of [`lake_at`] registers them.
#[must_use]
pub fn lake_aggregates() -> Vec<AggregateUDF> {
    let mut all: Vec<AggregateUDF> = extremes::functions().into();
    all.extend(crate::exact::aggregates());
    all
}

/// The scalar functions that an engine which runs plans of [`lake_at`] registers: `check_spec`, those
/// that make answers exact, and those of `known` whose results [`query`](crate::query) bounds. The
/// last one of a name counts.
#[must_use]
pub fn lake_functions(known: &[Arc<ScalarUDF>]) -> Vec<Arc<ScalarUDF>> {
    let mut all = crate::door::elsewhere(known);
    all.push(Arc::new(check_spec::function()));
    all.extend(crate::exact::functions().into_iter().map(Arc::new));
    all
}

/// The objects of one lake, and no other.
#[derive(Debug)]
struct LakeObjectStore {
    url: ObjectStoreUrl,
    objects: Arc<dyn ObjectStore>,
}

impl ObjectStoreRegistry for LakeObjectStore {
    fn register_store(
        &self,
        _url: &Url,
        _store: Arc<dyn ObjectStore>,
    ) -> Option<Arc<dyn ObjectStore>> {
        None
    }

    fn get_store(&self, url: &Url) -> datafusion::error::Result<Arc<dyn ObjectStore>> {
        let own: &Url = self.url.as_ref();
        if own.scheme() == url.scheme() && own.authority() == url.authority() {
            Ok(self.objects.clone())
        } else {
            datafusion::common::exec_err!(
                "{url} is outside of the lake, and SQL reads and writes nothing else"
            )
        }
    }
}
