//! Records of any kind as Arrow batches.

mod columns;
mod kinds;
mod scan;

pub use scan::RecordStream;

use arrow::datatypes::SchemaRef;

use crate::error::{Error, Result};
use crate::model::records::{RecordKind, ScanRecordsRequest};
use crate::services::declare::service;
use crate::session::{Access, Handle};
use crate::value::{Control, guarded};

service! {
/// Records of any kind as Arrow batches, for engines that read columns.
///
/// Outside the crate, implement this trait only for fakes and decorators; methods may be added
/// until 1.0.
pub trait RecordService {
    /// The columns of a kind of record: its fields in snake case, then `record` with the whole
    /// record as the JSON of its service.
    ///
    /// `timeline.dueDateTime` is the member `due_date_time` of the struct `timeline`. Enumerations
    /// are text, times are milliseconds in UTC, properties a map of texts, parts a list of structs.
    /// Fields that depend on the time of reading have no column. The metadata `stationdb.field` of
    /// a column has the path of its field in filters.
    ///
    /// # Errors
    /// None specific to this call.
    ///
    /// ```
    #[doc = include_str!("../products/example.txt")]
    /// use stationdb::scans::RecordKind;
    ///
    /// let schema = session.record_schema(RecordKind::Product)?;
    /// assert!(schema.column_with_name("part_number").is_some());
    /// # Ok::<(), stationdb::Error>(())
    /// ```
    fn record_schema(&self, kind: RecordKind) -> Result<SchemaRef>;

    /// Returns the records of a kind that the caller may see, in order of their ids, as a stream of
    /// batches over one consistent state.
    ///
    /// # Errors
    /// `InvalidArgument` for an unknown column, for a negative `take` and for an
    /// invalid filter, with its position; `Unsupported` in a transaction.
    ///
    /// ```
    #[doc = include_str!("../products/example.txt")]
    /// use stationdb::scans::{RecordKind, ScanRecordsRequest};
    ///
    /// let request = ScanRecordsRequest::new(RecordKind::Product).columns(["part_number"]);
    /// for batch in session.scan_records(request, &Control::default())? {
    ///     println!("{} products", batch?.num_rows());
    /// }
    /// # Ok::<(), stationdb::Error>(())
    /// ```
    fn scan_records(&self, request: ScanRecordsRequest, control: &Control) -> Result<RecordStream>;
}
}

impl RecordService for Handle<'_, '_> {
    fn record_schema(&self, kind: RecordKind) -> Result<SchemaRef> {
        guarded("describing records", || scan::schema(kind, self.context()))
    }

    fn scan_records(&self, request: ScanRecordsRequest, control: &Control) -> Result<RecordStream> {
        if self.is_transaction() {
            return Err(Error::unsupported(
                "a stream of records cannot be part of a transaction, because it reads a snapshot \
                 without the transaction's writes; call it on the session",
            ));
        }
        guarded("reading records", || RecordStream::new(self.context(), request, control))
    }
}
