//! Lakes of stations on a cluster.

use datafusion::datasource::object_store::ObjectStoreUrl;
use datafusion::prelude::SessionContext;
use object_store::path::Path;
use stationdb_sql::Options;
use url::Position;

use crate::{Error, LakeLocation, Result, distributed, engine};

/// A context over the lake at `root` in `place`, whose statements run on the cluster of the
/// scheduler at `scheduler_url`, such as `http://127.0.0.1:50050`.
///
/// It has the tables of [`stationdb_sql::lake`]: live rows and the latest records of complete
/// batches, as they are now. The logs of the lake are read here, its Parquet files by the
/// executors. A newer state needs a new context.
///
/// ```no_run
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// use stationdb_cluster::LakeLocation;
///
/// let place = LakeLocation::open("/mnt/lake")?;
/// let sql = stationdb_cluster::lake("http://10.0.0.1:50050", &place, &"plant".into()).await?;
/// sql.sql("select family, count(*) from products group by family").await?.show().await?;
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// [`Error::Lake`] for a lake that cannot be read, and the errors of [`distributed`].
pub async fn lake(
    scheduler_url: &str,
    place: &LakeLocation,
    root: &Path,
) -> Result<SessionContext> {
    let failed = |problem: String| Error::Lake { place: place.url().to_string(), problem };
    let url = ObjectStoreUrl::parse(&place.url()[..Position::BeforePath])?;
    let root = place.path(root).map_err(|problem| failed(problem.to_string()))?;
    let options = Options::default();
    let here = stationdb_sql::lake_at(place.objects(), &root, &url, &options);
    let here = here.await.map_err(|problem| failed(problem.to_string()))?;
    let there = distributed(&here, scheduler_url)?;
    // The engine of the cluster has put its own in their place.
    engine::register(&there);
    Ok(there)
}
