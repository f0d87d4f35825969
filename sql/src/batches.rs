//! Batches of rows as reads of the store return them.

use std::sync::Arc;

use datafusion::arrow::array::{RecordBatch, RecordBatchOptions};
use datafusion::arrow::datatypes::Schema;
use datafusion::arrow::error::ArrowError;
use datafusion::execution::memory_pool::MemoryReservation;
use stationdb::Control;

/// Rows of a batch without columns. Each batch wakes another thread, and a statement may put a
/// constant beside each row.
const BATCH_ROWS: u64 = 1024 * 1024;

pub(crate) type Batches = Box<dyn Iterator<Item = stationdb::Result<RecordBatch>>>;
/// The memory that a read takes of the engine's.
pub(crate) type Memory = Arc<MemoryReservation>;
/// Begins a read; it is called and its batches are read on a thread for blocking work.
pub(crate) type BatchesOpener =
    Arc<dyn Fn(&Control, &Memory) -> stationdb::Result<Batches> + Send + Sync>;

/// As many rows, without columns.
pub(crate) fn without_columns(rows: u64) -> impl Iterator<Item = stationdb::Result<RecordBatch>> {
    let mut left = rows;
    std::iter::from_fn(move || {
        let count = left.min(BATCH_ROWS);
        left -= count;
        let options = RecordBatchOptions::new().with_row_count(usize::try_from(count).ok());
        let batch = || {
            RecordBatch::try_new_with_options(Arc::new(Schema::empty()), Vec::new(), &options)
                .map_err(misfit)
        };
        (count > 0).then(batch)
    })
}

/// An array that does not fit its schema.
pub(crate) fn misfit(error: ArrowError) -> stationdb::Error {
    stationdb::Error::io("preparing rows for SQL", std::io::Error::other(error))
}
