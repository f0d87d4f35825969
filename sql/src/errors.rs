//! Errors of the store as those of DataFusion, and the other way round.

use datafusion::error::DataFusionError;

/// An error of the store as one of DataFusion; its source is the store's.
pub(crate) fn external(error: stationdb::Error) -> DataFusionError {
    DataFusionError::External(Box::new(error))
}

/// An error of planning or reading as one of the store.
#[cfg(feature = "lake")]
pub(crate) fn failed(error: DataFusionError) -> stationdb::Error {
    let what = format!("reading a lake as SQL: {error}");
    stationdb::Error::new(stationdb::ErrorKind::Io, what).with_source(error)
}
