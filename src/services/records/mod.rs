//! Records of any kind as Arrow batches.

mod aggregate;
mod columns;
mod delete;
mod field;
mod import;
mod kinds;
mod scan;
mod stream;
mod time_bucket;

pub(super) use columns::{FIELD, Node, array, fields_of, map_builder, nodes};
pub use stream::RecordStream;
pub(super) use stream::{Batches, chosen, count_of};
pub(super) use time_bucket::start_of;

use crate::arrow::datatypes::SchemaRef;
use crate::error::{Error, Result};
use crate::model::{
    AggregateRecordsRequest, DeleteRecordsRequest, DeleteRecordsResponse, ImportRecordsRequest,
    ImportRecordsResponse, RecordKind, ScanRecordsRequest, TableAggregates,
};
use crate::services::declare::service;
use crate::session::Access;
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
    fn record_schema(&self, kind: RecordKind) -> Result<SchemaRef> {
        guarded("describing records", || scan::schema(kind, self.context()))
    }

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
    fn scan_records(&self, request: ScanRecordsRequest, control: &Control) -> Result<RecordStream> {
        if self.is_transaction() {
            return Err(Error::unsupported(
                "a stream of records cannot be part of a transaction, because it reads a snapshot \
                 without the transaction's writes; call it on the session",
            ));
        }
        guarded("reading records", || RecordStream::new(self.context(), request, control))
    }

    /// Computes aggregates of the records of a kind that the caller may see, for all of them or by
    /// groups of fields and of stretches of the calendar.
    ///
    /// The first and the last record of a group are those with the least and the greatest id.
    ///
    /// # Errors
    /// `InvalidArgument` for an unknown field, a field without a single value, a function that the
    /// type does not have, and an invalid filter, with its position; `LimitExceeded` for too many
    /// groups, and for groups that need more memory than a query may use.
    ///
    /// ```
    #[doc = include_str!("../products/example.txt")]
    /// use stationdb::scans::{AggregateRecordsKey, AggregateRecordsRequest, RecordKind, TimeBucket};
    ///
    /// let keys = [
    ///     AggregateRecordsKey::new("family"),
    ///     AggregateRecordsKey::new("updatedAt").bucket(TimeBucket::Week),
    /// ];
    /// let request = AggregateRecordsRequest::new(RecordKind::Product).group_by(keys);
    /// for group in session.aggregate_records(request)?.groups {
    ///     println!("{:?}: {} products", group.keys, group.rows);
    /// }
    /// # Ok::<(), stationdb::Error>(())
    /// ```
    fn aggregate_records(&self, request: AggregateRecordsRequest) -> Result<TableAggregates> {
        guarded("aggregating records", || aggregate::run(self, &request))
    }

    /// Deletes the records of a kind that match a filter, with all that belongs to them, in order
    /// of their ids.
    ///
    /// Outside of a transaction, each step of at most 1,000 records is a commit of its own. A
    /// record that does not match any more when its step is written stays. After an error, the
    /// records of earlier steps are deleted, and the same call goes on.
    ///
    /// # Errors
    /// `InvalidArgument` without a filter, for a negative `take` and for an invalid filter, with
    /// its position; `Unsupported` for feeds and utilizations; `PermissionDenied` for a record that
    /// the caller may see but not delete; `DeadlineExceeded` and `Cancelled` from the control.
    ///
    /// ```
    #[doc = include_str!("../products/example.txt")]
    /// use stationdb::scans::{DeleteRecordsRequest, RecordKind};
    ///
    /// let request = DeleteRecordsRequest::new(RecordKind::Product).filter("family == \"none\"");
    /// assert_eq!(session.delete_records(request, &Control::default())?.deleted_count, 0);
    /// # Ok::<(), stationdb::Error>(())
    /// ```
    #[writes]
    fn delete_records(
        &self,
        request: DeleteRecordsRequest,
        control: &Control,
    ) -> Result<DeleteRecordsResponse> {
        guarded("deleting records", || delete::run(self, &request, control))
    }

    /// Imports products, specifications and templates that another store has, with their ids, as
    /// one commit with the position of the source.
    ///
    /// A record that was changed, created or deleted here since it was imported is a conflict: it
    /// stays as it is, and the conflict is told by each import until a choice of a request settles
    /// it. An import that was made already is recognised by its position.
    ///
    /// # Errors
    /// `Conflict` when the changes do not begin at the position that the source has here;
    /// `InvalidArgument` for a record that its service would refuse, and for one that is there
    /// twice; `Unsupported` for other kinds; `PermissionDenied` without `Update` of
    /// [`Service::CHANGES`](crate::Service::CHANGES) in all workspaces, and for a record that the
    /// caller may not write; `LimitExceeded` for too many records, sources or conflicts, and above
    /// a quota. After an error nothing was imported.
    ///
    /// ```
    #[doc = include_str!("../products/example.txt")]
    /// use stationdb::scans::{ImportRecord, ImportRecordsRequest, RecordKind};
    ///
    /// let product = [
    ///     ("id", "018f6d2a-0000-8000-8000-000000000001"),
    ///     ("partNumber", "4711"),
    ///     ("workspace", "default"),
    /// ];
    /// let product = product.map(|(name, value)| (name, serde_json::Value::from(value)));
    /// let record = ImportRecord::new(RecordKind::Product, "018f6d2a-0000-8000-8000-000000000001")
    ///     .record(product);
    /// let request = ImportRecordsRequest::new("centre").position("7").records([record]);
    /// let answer = session.import_records(request.clone())?;
    /// assert_eq!((answer.created_count, answer.conflicts.len()), (1, 0));
    /// assert!(!session.import_records(request)?.applied);
    /// # Ok::<(), stationdb::Error>(())
    /// ```
    #[writes]
    fn import_records(&self, request: ImportRecordsRequest) -> Result<ImportRecordsResponse> {
        guarded("importing records", || import::run(self, request))
    }
}
}
