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
//! tables `steps`, `measurements` and `quotas`. The schema `rows` has the measured rows of each table, under its id and, where no
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
//! `yields('filter', 'group')`, `rolled_throughput('filter')`, `failure_pareto('filter')`,
//! `capability('filter', 'path', 'name')`, `histogram` and `control_chart` return the figures of test
//! results as tables, and `pp`, `ppk`, `cp` and `cpk` of (value, low, high) are aggregates.
#![deny(missing_docs)]
#![cfg_attr(not(test), warn(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

mod batches;
#[cfg(feature = "blocking")]
mod blocking;
mod capability;
mod catalog;
mod check_spec;
mod decimate;
mod door;
mod errors;
mod exact;
mod extremes;
mod figures;
mod filters;
#[cfg(feature = "lake")]
mod lake;
mod language;
mod nowhere;
mod options;
mod pages;
mod prepared;
mod pruning;
mod quotas;
mod record_read;
mod records;
mod rows;
mod rules;
mod scan;
mod search;
mod spec_limits;

use std::sync::Arc;

pub use datafusion;
use datafusion::prelude::SessionContext;
use stationdb::{Result, Session};

#[cfg(feature = "blocking")]
pub use blocking::{Asked, Statement};
use catalog::Catalog;
pub use door::{Limits, query, query_with, reads};
#[cfg(feature = "lake")]
pub use lake::{
    LakeYieldKey, LakeYieldScope, LakeYields, lake, lake_aggregates, lake_at, lake_functions,
    lake_with,
};
use options::CATALOG;
pub use options::Options;
pub use prepared::{Prepared, Sql};

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
    over(session, catalog, options)
}

/// A context over the tables of this snapshot.
fn over(session: Session, catalog: Arc<Catalog>, options: &Options) -> Result<SessionContext> {
    let context = options::prepared(options, Arc::new(nowhere::NoObjectStores))?;
    context.register_catalog(CATALOG, catalog.clone());
    for function in figures::Function::ALL {
        let table = figures::FigureFunction { function, session: session.clone() };
        context.register_udtf(function.name(), Arc::new(table));
    }
    context.register_udtf("search", Arc::new(search::Search::new(session)));
    context.register_udtf("decimate", Arc::new(decimate::Decimate::new(catalog)));
    for function in extremes::functions() {
        context.register_udaf(function);
    }
    for function in capability::functions() {
        context.register_udaf(function);
    }
    context.register_udf(check_spec::function());
    Ok(context)
}
