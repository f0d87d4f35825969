//! A stream of rows as the reader that other Arrow crates take.

use super::rows::RowStream;
use crate::arrow::array::{RecordBatch, RecordBatchReader};
use crate::arrow::datatypes::SchemaRef;
use crate::arrow::error::ArrowError;

/// The rows of a scan as Arrow's [`RecordBatchReader`], which Arrow writers, the C data interface
/// and query engines take. [`RowStream::into_record_batches`] makes it.
///
/// An error of the store is the source of an [`ArrowError::ExternalError`]; `downcast_ref` finds
/// the [`Error`](crate::Error) with its kind. No batch follows an error.
#[derive(Debug)]
pub struct RecordBatches(RowStream);

impl RowStream {
    /// Turns the stream into a [`RecordBatchReader`] over the same rows.
    ///
    /// ```
    #[doc = include_str!("../../services/tables/example.txt")]
    /// use stationdb::arrow::array::RecordBatchReader;
    ///
    /// let rows = session.scan(&id, Default::default(), &Control::default())?;
    /// let reader: Box<dyn RecordBatchReader + Send> = Box::new(rows.into_record_batches());
    /// assert_eq!(reader.schema().field(1).name(), "volts");
    /// # Ok::<(), stationdb::Error>(())
    /// ```
    #[must_use]
    pub fn into_record_batches(self) -> RecordBatches {
        RecordBatches(self)
    }
}

impl Iterator for RecordBatches {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        let next = self.0.next()?;
        Some(next.map_err(|error| ArrowError::ExternalError(Box::new(error))))
    }
}

impl RecordBatchReader for RecordBatches {
    fn schema(&self) -> SchemaRef {
        self.0.schema()
    }
}
