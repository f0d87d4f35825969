//! The table service.

mod aggregate;
mod append;
mod columns;
mod deletion;
mod export;
mod import;
mod metadata;
mod read;
mod retention;
mod row_filter;
mod rows;
mod segments;
mod waveform;

use crate::session::{RowsPart, SegmentFile};
pub(in crate::services) use aggregate::{
    different_keys, key as aggregate_key, term as aggregate_term,
};
pub(in crate::services) use metadata::{
    check_new as check_new_table, create as create_table, create_as as create_table_as,
    delete as delete_table,
};
#[cfg(any(test, feature = "fuzzing"))]
pub(crate) use row_filter::compile as compile_row_filter;
pub use rows::{PagedTableRows, Rows, TablePlan, TableRows};

use std::io::{Read, Write};
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use crate::arrow::array::RecordBatch;
use crate::arrow::error::ArrowError;
use crate::columnar::statistics;
use crate::columnar::{
    RowSource, RowStream, TableSource, TableStatistics, frame_to_batch, read_stream,
};
use crate::error::{Error, Result};
use crate::model::{
    AddColumnsRequest, AggregateTableDataRequest, AppendTableDataRequest, CreateTableRequest,
    DeleteRowsRequest, DeleteRowsResponse, DeleteTablesPartialSuccess, DeletedRows,
    DropColumnsRequest, ExportTableDataRequest, GetTableDataRequest, ImportTableRequest,
    ImportTableResponse, ListDeletedRowsRequest, ListTablesRequest, ModifyTableRequest,
    ModifyTablesPartialSuccess, ModifyTablesRequest, Operation, PagedTables,
    QueryDecimatedDataRequest, QueryTableDataRequest, QueryTablesRequest, ReadWaveformsRequest,
    RenameColumnsRequest, Retention, ScanRequest, SegmentManifest, SetRetentionRequest,
    TableAggregates, TableApiInfo, TableId, TableMetadata, TableOperations, Waveform, WaveformData,
};
use crate::services::declare::service;
use crate::services::queries;
use crate::session::tables::OrdinalScan;
use crate::session::{Access, Plan};
use crate::value::{Control, guarded};

service! {
/// Tables of measured rows.
///
/// Outside the crate, implement this trait only for fakes and decorators; methods may be added
/// until 1.0.
///
/// ```
/// # fn main() -> stationdb::Result<()> {
/// # let dir = tempfile::tempdir().map_err(|e| stationdb::Error::io("temp", e))?;
/// use stationdb::{Identity, Store};
/// use stationdb::tables::{
///     AppendTableDataRequest, Column, ColumnType, CreateTableRequest, DataFrame, DataType,
///     GetTableDataRequest, TableService,
/// };
///
/// let store = Store::open(dir.path())?;
/// let session = store.session(Identity::user("ada"));
/// let index = Column::new("t", DataType::Int64).column_type(ColumnType::Index);
/// let volts = Column::new("v", DataType::Float64);
/// let id = session.create_table(CreateTableRequest::new([index, volts]))?;
///
/// let cell = |text: &str| Some(text.to_owned());
/// let rows = [vec![cell("2"), cell("0.5")], vec![cell("1"), cell("0.25")]];
/// let frame = DataFrame::new().data(rows);
/// session.append_table_data(&id, AppendTableDataRequest::new().frame(frame))?;
///
/// let page = session.get_table_data(&id, GetTableDataRequest::default())?;
/// assert_eq!(page.total_row_count, 2);
/// assert_eq!(page.frame.to_data_frame().data[0], [cell("1"), cell("0.25")]);
/// # Ok(())
/// # }
/// ```
pub trait TableService {
    /// The operations of the service, and their versions.
    ///
    /// # Errors
    /// None specific to this call.
    ///
    /// ```
    #[doc = include_str!("example.txt")]
    /// assert!(session.table_api_info()?.operations.read_data.available);
    /// # Ok::<(), stationdb::Error>(())
    /// ```
    fn table_api_info(&self) -> Result<TableApiInfo> {
        let operation = |version| Operation { available: true, version };
        Ok(TableApiInfo {
            operations: TableOperations {
                create_tables: operation(2),
                delete_tables: operation(1),
                modify_metadata: operation(2),
                list_tables: operation(2),
                read_data: operation(4),
                write_data: operation(2),
            },
        })
    }

    /// Returns a page of tables, all or by id and workspace.
    ///
    /// # Errors
    /// `InvalidArgument` for an invalid `take` or token.
    ///
    /// ```
    #[doc = include_str!("example.txt")]
    /// assert_eq!(session.list_tables(ListTablesRequest::new().take(10))?.tables.len(), 1);
    /// # Ok::<(), stationdb::Error>(())
    /// ```
    fn list_tables(&self, request: ListTablesRequest) -> Result<PagedTables> {
        queries::page(self, &request).map(Into::into)
    }

    /// Creates a table.
    ///
    /// # Errors
    /// `InvalidArgument` for columns without exactly one index, or with empty or repeated names;
    /// `LimitExceeded` for too many columns.
    ///
    /// ```
    #[doc = include_str!("example.txt")]
    /// let columns = [Column::new("t", DataType::Int64).column_type(ColumnType::Index)];
    /// let table = session.create_table(CreateTableRequest::new(columns).name("Ramp"))?;
    /// assert_eq!(session.get_table_metadata(&table)?.name.as_deref(), Some("Ramp"));
    /// # Ok::<(), stationdb::Error>(())
    /// ```
    #[writes]
    fn create_table(&self, request: CreateTableRequest) -> Result<TableId> {
        self.write(move |draft| metadata::create(draft, request))
    }

    /// Returns a page of the tables that match a filter.
    ///
    /// # Errors
    /// `InvalidArgument` for an invalid filter, with its position, and for an invalid `take` or
    /// token.
    ///
    /// ```
    #[doc = include_str!("example.txt")]
    /// let page = session.query_tables(QueryTablesRequest::new().filter("name == \"Loop\""))?;
    /// assert_eq!(page.tables.len(), 1);
    /// # Ok::<(), stationdb::Error>(())
    /// ```
    fn query_tables(&self, request: QueryTablesRequest) -> Result<PagedTables> {
        queries::page(self, &request).map(Into::into)
    }

    /// Explains how a query is executed, and how many records it reads.
    ///
    /// # Errors
    /// As [`TableService::query_tables`].
    ///
    /// ```
    #[doc = include_str!("example.txt")]
    /// println!("{}", session.explain_query_tables(QueryTablesRequest::new())?);
    /// # Ok::<(), stationdb::Error>(())
    /// ```
    fn explain_query_tables(&self, request: QueryTablesRequest) -> Result<Plan> {
        queries::explain(self, &request)
    }

    /// Returns the metadata of a table.
    ///
    /// # Errors
    /// `NotFound`; `InvalidArgument` for a malformed id.
    ///
    /// ```
    #[doc = include_str!("example.txt")]
    /// assert_eq!(session.get_table_metadata(&id)?.row_count, Some(1));
    /// # Ok::<(), stationdb::Error>(())
    /// ```
    fn get_table_metadata(&self, id: &TableId) -> Result<TableMetadata> {
        self.read(|view| metadata::found(id, view.get(id)?))
    }

    /// Changes the metadata of a table.
    ///
    /// # Errors
    /// `NotFound`; `Conflict` when the revision is not the current one plus 1; `InvalidArgument`
    /// for an unknown column.
    ///
    /// ```
    #[doc = include_str!("example.txt")]
    /// session.modify_table(&id, ModifyTableRequest::new().name("Loop 1"))?;
    /// assert_eq!(session.get_table_metadata(&id)?.name.as_deref(), Some("Loop 1"));
    /// # Ok::<(), stationdb::Error>(())
    /// ```
    #[writes]
    fn modify_table(&self, id: &TableId, request: ModifyTableRequest) -> Result<()> {
        let id = id.to_owned();
        self.write(move |draft| metadata::modify(draft, &id, request))
    }

    /// Changes the metadata of several tables; returns `None` if all succeeded.
    ///
    /// # Errors
    /// `InvalidArgument` when a table is listed twice.
    ///
    /// ```
    #[doc = include_str!("example.txt")]
    /// let change = TableMetadataModification::new(id).name("Loop 1");
    /// assert_eq!(session.modify_tables(ModifyTablesRequest::new([change]))?, None);
    /// # Ok::<(), stationdb::Error>(())
    /// ```
    #[writes]
    fn modify_tables(
        &self,
        request: ModifyTablesRequest,
    ) -> Result<Option<ModifyTablesPartialSuccess>> {
        self.write(move |draft| metadata::modify_many(draft, request))
    }

    /// Adds columns after those that the table has. The rows that it has are null in them.
    ///
    /// # Errors
    /// `NotFound`; `Conflict` when the revision is not the current one plus 1; `InvalidArgument`
    /// for a column that is not NULLABLE or has an empty or taken name; `LimitExceeded` for too
    /// many columns.
    ///
    /// ```
    #[doc = include_str!("example.txt")]
    /// let amperes =
    /// Column::new("amperes", DataType::Float64).column_type(ColumnType::Nullable);
    /// session.add_columns(&id, AddColumnsRequest::new([amperes]))?;
    /// assert_eq!(session.get_table_metadata(&id)?.columns.map(|all| all.len()), Some(3));
    /// # Ok::<(), stationdb::Error>(())
    /// ```
    #[writes]
    fn add_columns(&self, id: &TableId, request: AddColumnsRequest) -> Result<()> {
        let id = id.to_owned();
        self.write(move |draft| columns::add(draft, &id, request))
    }

    /// Renames columns, all at once.
    ///
    /// Walks by token that name such a column are refused from then on.
    ///
    /// # Errors
    /// `NotFound`; `Conflict` when the revision is not the current one plus 1; `InvalidArgument`
    /// for an unknown column, and for a name that is empty or taken; `LimitExceeded` when the table
    /// had too many columns and names.
    ///
    /// ```
    #[doc = include_str!("example.txt")]
    /// let change = ColumnRename::new("volts", "tension");
    /// session.rename_columns(&id, RenameColumnsRequest::new([change]))?;
    /// let page = session.get_table_data(&id, GetTableDataRequest::new().columns(["tension"]))?;
    /// assert_eq!(page.total_row_count, 1);
    /// # Ok::<(), stationdb::Error>(())
    /// ```
    #[writes]
    fn rename_columns(&self, id: &TableId, request: RenameColumnsRequest) -> Result<()> {
        let id = id.to_owned();
        self.write(move |draft| columns::rename(draft, &id, request))
    }

    /// Drops columns with their values. A column that is added under the same name later has none
    /// of them.
    ///
    /// The space is given back when segments are merged; maintenance rewrites a segment when a
    /// quarter of its columns is dropped. Readers that began before keep their columns.
    ///
    /// # Errors
    /// `NotFound`; `Conflict` when the revision is not the current one plus 1; `InvalidArgument`
    /// for an unknown column and for the index.
    ///
    /// ```
    #[doc = include_str!("example.txt")]
    /// session.drop_columns(&id, DropColumnsRequest::new(["volts".to_owned()]))?;
    /// assert_eq!(session.get_table_metadata(&id)?.columns.map(|all| all.len()), Some(1));
    /// # Ok::<(), stationdb::Error>(())
    /// ```
    #[writes]
    fn drop_columns(&self, id: &TableId, request: DropColumnsRequest) -> Result<()> {
        let id = id.to_owned();
        self.write(move |draft| columns::drop_these(draft, &id, request))
    }

    /// Deletes a table with its rows.
    ///
    /// # Errors
    /// `NotFound`; `InvalidArgument` for a malformed id.
    ///
    /// ```
    #[doc = include_str!("example.txt")]
    /// session.delete_table(&id)?;
    /// assert!(session.get_table_metadata(&id).is_err());
    /// # Ok::<(), stationdb::Error>(())
    /// ```
    #[writes]
    fn delete_table(&self, id: &TableId) -> Result<()> {
        let id = id.to_owned();
        self.write(move |draft| metadata::delete(draft, &id))
    }

    /// Deletes tables; returns `None` if all succeeded.
    ///
    /// # Errors
    /// Only errors that concern the store as a whole.
    ///
    /// ```
    #[doc = include_str!("example.txt")]
    /// assert_eq!(session.delete_tables(vec![id])?, None);
    /// # Ok::<(), stationdb::Error>(())
    /// ```
    #[writes]
    fn delete_tables(&self, ids: Vec<TableId>) -> Result<Option<DeleteTablesPartialSuccess>> {
        self.write(move |draft| metadata::delete_many(draft, ids))
    }

    /// Returns a page of rows.
    ///
    /// # Errors
    /// `NotFound`; `InvalidArgument` for an unknown or repeated column, and for an invalid `take`
    /// or token.
    ///
    /// ```
    #[doc = include_str!("example.txt")]
    /// assert_eq!(session.get_table_data(&id,
    /// GetTableDataRequest::new().take(100))?.total_row_count, 1);
    /// # Ok::<(), stationdb::Error>(())
    /// ```
    fn get_table_data(&self, id: &TableId, request: GetTableDataRequest) -> Result<PagedTableRows> {
        let descending = request.order_by_descending;
        let order_by = request.order_by.map(|columns| read::same_direction(columns, descending));
        let request = QueryTableDataRequest {
            columns: request.columns,
            filters: None,
            filter: None,
            substitutions: None,
            order_by,
            take: request.take,
            continuation_token: request.continuation_token,
        };
        guarded("reading rows", || read::page(self, id, "get_table_data", &request))
    }

    /// Appends rows of text cells, closes the table, or both.
    ///
    /// # Errors
    /// `NotFound`; `Conflict` if the table is closed; `InvalidArgument` with row and column of an
    /// invalid cell; `LimitExceeded` above the number of rows that a table may have.
    ///
    /// ```
    #[doc = include_str!("example.txt")]
    /// // Closes the table: no rows come after these.
    /// session.append_table_data(&id,
    /// AppendTableDataRequest::new().frame(rows).end_of_data(true))?;
    /// assert_eq!(session.get_table_metadata(&id)?.row_count, Some(2));
    /// # Ok::<(), stationdb::Error>(())
    /// ```
    #[writes]
    fn append_table_data(&self, id: &TableId, request: AppendTableDataRequest) -> Result<()> {
        let end_of_data = request.end_of_data.unwrap_or_default();
        if request.frame.is_none() && !end_of_data {
            return Err(Error::invalid("an append needs a frame, unless endOfData is true")
                .at_member("frame"));
        }
        let mut rows = append::begin(self, id)?;
        if let Some(frame) = &request.frame {
            rows.push(frame_to_batch(rows.schema(), frame)?)?;
        }
        append::commit(rows, end_of_data)
    }

    /// Appends the batches of an Arrow IPC stream, all or none.
    ///
    /// # Errors
    /// As [`TableService::append_table_data`]; `InvalidArgument` for a damaged stream, and for one
    /// without batches if `end_of_data` is absent.
    ///
    /// ```
    #[doc = include_str!("example.txt")]
    /// let mut stream = Vec::new();
    /// let format = ExportTableDataRequest::new(ExportFormat::ArrowStream);
    /// session.export_table_data(&id, format, &mut stream, &Control::default())?;
    /// session.append_arrow(&id, &mut stream.as_slice(), None)?;
    /// assert_eq!(session.get_table_metadata(&id)?.row_count, Some(2));
    /// # Ok::<(), stationdb::Error>(())
    /// ```
    #[writes]
    fn append_arrow(
        &self,
        id: &TableId,
        stream: &mut dyn Read,
        end_of_data: Option<bool>,
    ) -> Result<()> {
        let mut rows = append::begin(self, id)?;
        let count = read_stream(stream, |batch| rows.push_foreign(&batch))?;
        append::require_batches(count, end_of_data)?;
        append::commit(rows, end_of_data.unwrap_or_default())
    }

    /// Appends batches, for example of a `RecordBatchReader`, all or none.
    ///
    /// # Errors
    /// As [`TableService::append_arrow`].
    ///
    /// ```
    #[doc = include_str!("example.txt")]
    /// let rows = session.scan(&id, ScanRequest::new(), &Control::default())?;
    /// let batches = rows.collect::<stationdb::Result<Vec<_>>>()?;
    /// session.append_batches(&id, &mut batches.into_iter().map(Ok), None)?;
    /// assert_eq!(session.get_table_metadata(&id)?.row_count, Some(2));
    /// # Ok::<(), stationdb::Error>(())
    /// ```
    #[writes]
    fn append_batches(
        &self,
        id: &TableId,
        batches: &mut dyn Iterator<Item = Result<RecordBatch, ArrowError>>,
        end_of_data: Option<bool>,
    ) -> Result<()> {
        let mut rows = append::begin(self, id)?;
        let mut count = 0;
        for batch in batches {
            let batch = batch.map_err(|error| append::unreadable(count, error))?;
            count += 1;
            rows.push_foreign(&batch)?;
        }
        // Without batches, only the flag can be meant, and it must be true.
        append::require_batches(count, end_of_data.filter(|ends| *ends))?;
        append::commit(rows, end_of_data.unwrap_or_default())
    }

    /// Appends the arrays of a waveform, all or none: one row for each sample.
    ///
    /// In a table of samples the index column is the axis: t0 and dt must be whole numbers of its
    /// unit, which is that of a TIMESTAMP, or the property `unit` (`s`, `ms`, `us`, `ns`) of an
    /// INT column. In a table of [`CreateTableRequest::of_waveforms`] the index is the number of
    /// the waveform, and `t0` and `dt` have the axis. Many waveforms in one transaction are one
    /// commit.
    ///
    /// # Errors
    /// As [`TableService::append_table_data`]; `InvalidArgument` for arrays of different lengths,
    /// and for an axis that the table does not keep exactly.
    ///
    /// ```
    #[doc = include_str!("example.txt")]
    /// let axis = WaveformAxis::Count { t0: 2, dt: 10 };
    /// session.append_waveform(&id, &Waveform::new(axis).y("volts", &[0.5, 0.75, 0.5]))?;
    /// assert_eq!(session.get_table_metadata(&id)?.row_count, Some(4));
    /// # Ok::<(), stationdb::Error>(())
    /// ```
    #[writes]
    fn append_waveform(&self, id: &TableId, waveform: &Waveform<'_>) -> Result<()> {
        waveform::append_one(self, id, waveform)
    }

    /// Reads samples as arrays with their axis, which the caller holds in memory. A table of
    /// samples is one waveform, in the order of its index; of numbered waveforms each is one, in
    /// the order of the numbers. Without rows there is none.
    ///
    /// # Errors
    /// `NotFound`; `InvalidArgument` for a column that has no numbers, an end that is no value of
    /// the index, and a null; `Cancelled` and `DeadlineExceeded` by `control`.
    ///
    /// ```
    #[doc = include_str!("example.txt")]
    /// let y = [Column::new("volts", DataType::Float64).unit("V")];
    /// let id = session.create_table(CreateTableRequest::of_waveforms(DataType::Float64, y))?;
    /// let axis = WaveformAxis::Seconds { t0: 0.0, dt: 1e-6 };
    /// session.append_waveform(&id, &Waveform::new(axis).number(7).y("volts", &[0.5, 0.75]))?;
    ///
    /// let request = ReadWaveformsRequest::new().from("7").to("7");
    /// let found = &session.read_waveforms(&id, request, &Control::default())?[0];
    /// assert_eq!(found.axis, Some(axis));
    /// assert_eq!(found.x, WaveformX::Seconds(vec![0.0, 1e-6]));
    /// assert_eq!(found.y[0].unit.as_deref(), Some("V"));
    /// assert_eq!(found.y[0].samples, SampleValues::Float64(vec![0.5, 0.75]));
    /// # Ok::<(), stationdb::Error>(())
    /// ```
    fn read_waveforms(
        &self,
        id: &TableId,
        request: ReadWaveformsRequest,
        control: &Control,
    ) -> Result<Vec<WaveformData>> {
        waveform::read_all(self, id, request, control)
    }

    /// Appends the rows of a source to an existing or a new table, all or none.
    ///
    /// A source is anything that gives Arrow batches, such as a reader of a file: the crate
    /// `stationdb-formats` has readers of CSV, Parquet and others. The columns of a new table are
    /// those of the request, or else those of the source, with their units and properties. The
    /// answer says what became of each column, and why. Uses the memory of one batch.
    ///
    /// The members of the request that say how a file is read are for its reader.
    ///
    /// # Errors
    /// As [`TableService::append_table_data`] and [`TableService::create_table`]; those of the
    /// source; `InvalidArgument` for a value that does not fit its column, with row and column;
    /// `LimitExceeded` for a batch beyond the limit; `Unsupported` in a transaction; `Cancelled`
    /// and `DeadlineExceeded` by `control`.
    ///
    /// [`RowSource`] has an example.
    #[writes]
    fn import_rows(
        &self,
        request: ImportTableRequest,
        source: &mut dyn RowSource,
        control: &Control,
    ) -> Result<ImportTableResponse> {
        import::rows(self, request, source, control)
    }

    /// Imports tables that one source gives, each as [`TableService::import_rows`], in one commit:
    /// all or none. Returns the answer of each.
    ///
    /// # Errors
    /// As [`TableService::import_rows`]; `LimitExceeded` for more than 10,000 tables.
    ///
    /// ```
    #[doc = include_str!("example.txt")]
    /// /// Sources of rows that become tables, the last one first.
    /// struct Several(Vec<Box<dyn RowSource>>, Option<Box<dyn RowSource>>);
    /// # struct Nothing;
    /// # impl RowSource for Nothing {
    /// #     fn columns(&mut self) -> stationdb::Result<Vec<Column>> {
    /// #         Ok(vec![Column::new("t", DataType::Int64).column_type(ColumnType::Index)])
    /// #     }
    /// #     fn next_batch(
    /// #         &mut self,
    /// #         _: &TableSchema,
    /// #         _: &Control,
    /// #     ) -> stationdb::Result<Option<stationdb::arrow::array::RecordBatch>> {
    /// #         Ok(None)
    /// #     }
    /// # }
    ///
    /// impl TableSource for Several {
    ///     fn advance(&mut self, _: &Control) -> stationdb::Result<bool> {
    ///         self.1 = self.0.pop();
    ///         Ok(self.1.is_some())
    ///     }
    ///
    ///     fn table(&mut self) -> stationdb::Result<SourceTable<'_>> {
    ///         let rows = self.1.as_deref_mut();
    ///         let rows = rows.ok_or_else(|| stationdb::Error::invalid("there is no table"))?;
    ///         Ok(SourceTable::new(ImportTableRequest::new(), rows))
    ///     }
    /// }
    ///
    /// let mut two = Several(vec![Box::new(Nothing), Box::new(Nothing)], None);
    /// assert_eq!(session.import_tables(&mut two, &Control::default())?.len(), 2);
    /// # Ok::<(), stationdb::Error>(())
    /// ```
    #[writes]
    fn import_tables(
        &self,
        source: &mut dyn TableSource,
        control: &Control,
    ) -> Result<Vec<ImportTableResponse>> {
        import::tables(self, source, control)
    }

    /// Deletes the rows that match a range of the index and filters, at the time of the call; in a
    /// closed table too. Their append ordinals are never used again.
    ///
    /// The row count is less at once. The space is given back when the rows are sealed or merged;
    /// maintenance rewrites a segment when a quarter of its rows is deleted. Readers that began
    /// before keep their rows.
    ///
    /// # Errors
    /// `NotFound`; `InvalidArgument` without any condition, and for one that its column does not
    /// support; `LimitExceeded` when the ordinals of the table's deleted rows would be too many
    /// ranges.
    ///
    /// ```
    #[doc = include_str!("example.txt")]
    /// let request = DeleteRowsRequest::new().index_from("0").index_before("1000");
    /// assert_eq!(session.delete_rows(&id, request)?.row_count, 1);
    /// assert_eq!(session.get_table_metadata(&id)?.row_count, Some(0));
    /// # Ok::<(), stationdb::Error>(())
    /// ```
    #[writes]
    fn delete_rows(&self, id: &TableId, request: DeleteRowsRequest) -> Result<DeleteRowsResponse> {
        guarded("deleting rows", || deletion::delete(self, id, &request))
    }

    /// Lists the append ordinals of all rows that were ever deleted, whatever the change log still
    /// holds, and which of them went by the retention of the table.
    ///
    /// # Errors
    /// `NotFound`; `InvalidArgument` for an invalid `from` or `take`.
    ///
    /// ```
    #[doc = include_str!("example.txt")]
    /// session.delete_rows(&id, DeleteRowsRequest::new().index_from("0"))?;
    /// let deleted = session.list_deleted_rows(&id, ListDeletedRowsRequest::new())?;
    /// assert_eq!((deleted.ranges[0].first, deleted.ranges[0].last), (0, 0));
    /// // None of them by a retention.
    /// let retired = ListDeletedRowsRequest::new().retention(true);
    /// assert!(session.list_deleted_rows(&id, retired)?.ranges.is_empty());
    /// # Ok::<(), stationdb::Error>(())
    /// ```
    fn list_deleted_rows(
        &self,
        id: &TableId,
        request: ListDeletedRowsRequest,
    ) -> Result<DeletedRows> {
        self.read(|view| deletion::list(view, id, &request))
    }

    /// Sets how long a table keeps its rows, in place of an earlier retention. Maintenance deletes
    /// what is not kept, as [`TableService::delete_rows`] does.
    ///
    /// # Errors
    /// `NotFound`; `InvalidArgument` without a bound, for an age of 0, and for an age of the index
    /// of a table whose index is no time; `LimitExceeded` for an age of more than a thousand years;
    /// `PermissionDenied` for a caller who may not update the table.
    ///
    /// ```
    #[doc = include_str!("example.txt")]
    /// session.set_retention(&id, SetRetentionRequest::new().rows_max(1_000_000))?;
    /// assert_eq!(session.get_retention(&id)?.rows_max, Some(1_000_000));
    /// # Ok::<(), stationdb::Error>(())
    /// ```
    #[writes]
    fn set_retention(&self, id: &TableId, request: SetRetentionRequest) -> Result<Retention> {
        let id = id.to_owned();
        self.write(move |draft| retention::set(draft, &id, &request))
    }

    /// Returns how long a table keeps its rows.
    ///
    /// # Errors
    /// `NotFound` for the table, and with the name `DataFrame.RetentionNotFound` for a table that
    /// keeps all rows.
    ///
    /// ```
    #[doc = include_str!("example.txt")]
    /// let error = session.get_retention(&id).unwrap_err();
    /// assert_eq!(error.api_error().name.as_deref(), Some("DataFrame.RetentionNotFound"));
    /// # Ok::<(), stationdb::Error>(())
    /// ```
    fn get_retention(&self, id: &TableId) -> Result<Retention> {
        self.read(|view| retention::get(view, id))
    }

    /// Lets a table keep all its rows again.
    ///
    /// # Errors
    /// As [`TableService::get_retention`]; `PermissionDenied` for a caller who may not update the
    /// table.
    ///
    /// ```
    #[doc = include_str!("example.txt")]
    /// session.set_retention(&id, SetRetentionRequest::new().append_age_seconds(86_400))?;
    /// session.delete_retention(&id)?;
    /// # Ok::<(), stationdb::Error>(())
    /// ```
    #[writes]
    fn delete_retention(&self, id: &TableId) -> Result<()> {
        let id = id.to_owned();
        self.write(move |draft| retention::delete(draft, &id))
    }

    /// Returns a page of the rows that match filters.
    ///
    /// # Errors
    /// As [`TableService::get_table_data`]; `InvalidArgument` for a filter that its column does not
    /// support.
    ///
    /// ```
    #[doc = include_str!("example.txt")]
    /// let filter = ColumnFilter::new("volts", FilterOperation::GreaterThan).value("0.25");
    /// let page = session.query_table_data(&id, QueryTableDataRequest::new().filters([filter]))?;
    /// assert_eq!(page.total_row_count, 1);
    /// # Ok::<(), stationdb::Error>(())
    /// ```
    fn query_table_data(
        &self,
        id: &TableId,
        request: QueryTableDataRequest,
    ) -> Result<PagedTableRows> {
        guarded("reading rows", || read::page(self, id, "query_table_data", &request))
    }

    /// Computes aggregates of rows, by groups of the values of columns or of buckets of them.
    ///
    /// Counts and extremes come from the summaries of segments where whole blocks of rows take
    /// part and have one key. The answer does not depend on how the rows lie in segments: sums of
    /// integers are exact, sums of floats are the correctly rounded sums.
    ///
    /// # Errors
    /// `NotFound`; `InvalidArgument` for an unknown column, a function that its type does not have,
    /// and an invalid filter; `LimitExceeded` for more than 100,000 groups or 32 keys, and when the
    /// groups or the values for percentiles need more memory than a query may use.
    ///
    /// ```
    #[doc = include_str!("example.txt")]
    /// use stationdb::tables::{Aggregate, AggregateFunction, AggregateTableDataRequest};
    /// let mean = Aggregate::new(AggregateFunction::Mean).column("volts");
    /// let request = AggregateTableDataRequest::new().aggregates([mean]);
    /// let answer = session.aggregate_table_data(&id, request)?;
    /// assert_eq!(answer.groups[0].rows, 1);
    /// assert_eq!(answer.groups[0].values[0].value.as_deref(), Some("0.5"));
    /// # Ok::<(), stationdb::Error>(())
    /// ```
    fn aggregate_table_data(
        &self,
        id: &TableId,
        request: AggregateTableDataRequest,
    ) -> Result<TableAggregates> {
        guarded("aggregating rows", || aggregate::run(self, id, &request))
    }

    /// Explains how [`TableService::query_table_data`] executes this request, and what it reads.
    ///
    /// # Errors
    /// As [`TableService::query_table_data`].
    ///
    /// ```
    #[doc = include_str!("example.txt")]
    /// println!("{:?}", session.explain_query_table_data(&id, QueryTableDataRequest::new())?);
    /// # Ok::<(), stationdb::Error>(())
    /// ```
    fn explain_query_table_data(
        &self,
        id: &TableId,
        request: QueryTableDataRequest,
    ) -> Result<TablePlan> {
        guarded("planning to read rows", || read::explain(self, id, &request))
    }

    /// Writes rows to `out`. Returns their number.
    ///
    /// # Errors
    /// As [`TableService::query_table_data`]; errors of `out`; `Cancelled` and `DeadlineExceeded`
    /// by `control`.
    ///
    /// ```
    #[doc = include_str!("example.txt")]
    /// let mut csv = Vec::new();
    /// let format = ExportTableDataRequest::new(ExportFormat::Csv);
    /// assert_eq!(session.export_table_data(&id, format, &mut csv, &Control::default())?, 1);
    /// # Ok::<(), stationdb::Error>(())
    /// ```
    fn export_table_data(
        &self,
        id: &TableId,
        request: ExportTableDataRequest,
        out: &mut (dyn Write + Send),
        control: &Control,
    ) -> Result<u64> {
        export::export(self, id, request, out, control)
    }

    /// Passes the stored files of the table to `each`: ordinary Parquet files, each sorted by the
    /// index column. Buffered rows are sealed first. Returns the manifest: the table, its columns
    /// and each file. [`TableService::export_segments_to`] writes both into a directory.
    ///
    /// The directory of a store is not for other readers: it also has files that a merge replaced
    /// or that no commit names yet, and rows in its buffers are in no file.
    ///
    /// # Errors
    /// `NotFound`; `Unsupported` in a transaction; errors of `each`; `Cancelled` and
    /// `DeadlineExceeded` by `control`.
    ///
    /// ```
    #[doc = include_str!("example.txt")]
    /// let mut rows = 0;
    /// session.export_segments(&id, &mut |segment| { rows += segment.row_count; Ok(()) },
    /// &Control::default())?; assert_eq!(rows, 1);
    /// # Ok::<(), stationdb::Error>(())
    /// ```
    #[writes]
    fn export_segments(
        &self,
        id: &TableId,
        each: &mut dyn FnMut(SegmentFile<'_>) -> Result<()>,
        control: &Control,
    ) -> Result<SegmentManifest> {
        segments::export(self, id, each, control)
    }

    /// Copies the stored files of the table into a new or empty directory, and writes the manifest
    /// beside them as `manifest.json` when they are durable. Together the files have each row of
    /// the table once, for readers as DuckDB, Polars and pyarrow (`read_parquet('DIR/*.parquet')`).
    ///
    /// # Errors
    /// As [`TableService::export_segments`]; `Conflict` for a directory that is not empty; `Io` and
    /// `NoSpace` of the directory. After an error the directory has none of the files.
    ///
    /// ```
    #[doc = include_str!("example.txt")]
    /// let target = directory.path().join("loop");
    /// let manifest = session.export_segments_to(&id, &target, &Control::default())?;
    /// assert_eq!(manifest.row_count, 1);
    /// assert!(target.join(&manifest.files[0].name).exists());
    /// assert!(target.join("manifest.json").exists());
    /// # Ok::<(), stationdb::Error>(())
    /// ```
    #[writes]
    fn export_segments_to(
        &self,
        id: &TableId,
        directory: &Path,
        control: &Control,
    ) -> Result<SegmentManifest> {
        segments::export_to(self, id, directory, control)
    }

    /// Passes the rows with these append ordinals to `each`, by ascending ordinal: the first row
    /// ever appended has ordinal 0, and no ordinal is used again. Returns the number of rows.
    ///
    /// A stored file of which all rows are wanted is passed whole, sorted by the index column. All
    /// other rows are passed as batches in order of their ordinals, buffered rows among them.
    /// Nothing is sealed, so a session over one snapshot can be asked again and again.
    ///
    /// # Errors
    /// `NotFound`; errors of `each`; `Cancelled` and `DeadlineExceeded` by `control`.
    ///
    /// ```
    #[doc = include_str!("example.txt")]
    /// let mut firsts = Vec::new();
    /// let rows = session.export_rows(&id, 0..u64::MAX, &mut |part| {
    ///     firsts.push(part.first_ordinal);
    ///     Ok(())
    /// }, &Control::default())?;
    /// assert_eq!((rows, firsts), (1, vec![0]));
    /// # Ok::<(), stationdb::Error>(())
    /// ```
    fn export_rows(
        &self,
        id: &TableId,
        ordinals: Range<u64>,
        each: &mut dyn FnMut(RowsPart<'_>) -> Result<()>,
        control: &Control,
    ) -> Result<u64> {
        let rows = self.read(|view| OrdinalScan::open(view, &metadata::found(id, view.get(id)?)?))?;
        rows.pass(&ordinals, each, &self.context().control(control))
    }

    /// Returns what is known of the rows without reading sealed ones: how many there are, and for
    /// each column the nulls, the NaNs and the range of its values.
    ///
    /// # Errors
    /// `NotFound`; `InvalidArgument` for a malformed id.
    ///
    /// ```
    #[doc = include_str!("example.txt")]
    /// let known = session.table_statistics(&id)?;
    /// assert_eq!((known.row_count, known.index.as_str()), (1, "t"));
    /// assert_eq!(known.columns[1].nan_count, Some(0));
    /// # Ok::<(), stationdb::Error>(())
    /// ```
    fn table_statistics(&self, id: &TableId) -> Result<TableStatistics> {
        guarded("reading statistics", || statistics(&*read::open(self, id)?))
    }

    /// Returns the numbers of the table's columns, in their order: the place of each among all that
    /// the table ever had, in order of creation, from 0. A column keeps its number when it is
    /// renamed, and no other one gets it, so numbers tell whether a name still means the same
    /// column.
    ///
    /// # Errors
    /// `NotFound`; `Corrupt` for a damaged history of the columns.
    ///
    /// ```
    #[doc = include_str!("example.txt")]
    /// assert_eq!(session.column_numbers(&id)?, [0, 1]);
    /// session.drop_columns(&id, DropColumnsRequest::new(["volts".to_owned()]))?;
    /// assert_eq!(session.column_numbers(&id)?, [0]);
    /// # Ok::<(), stationdb::Error>(())
    /// ```
    fn column_numbers(&self, id: &TableId) -> Result<Vec<u64>> {
        self.read(|view| columns::numbers(view, id))
    }

    /// Returns decimated rows in order of an x column.
    ///
    /// # Errors
    /// As [`TableService::query_table_data`]; `InvalidArgument` for an x or y column that is not
    /// numeric.
    ///
    /// ```
    #[doc = include_str!("example.txt")]
    /// let decimation =
    /// DecimationOptions::new(DecimationMethod::MaxMin).y_columns(["volts"]).intervals(100); let
    /// plot = session.query_decimated_data(&id,
    /// QueryDecimatedDataRequest::new().decimation(decimation))?;
    /// assert_eq!(plot.frame.row_count(), 1);
    /// # Ok::<(), stationdb::Error>(())
    /// ```
    fn query_decimated_data(
        &self,
        id: &TableId,
        request: QueryDecimatedDataRequest,
    ) -> Result<TableRows> {
        guarded("thinning out rows", || read::decimated(self, id, &request))
    }

    /// Returns rows as a stream of batches over one consistent state.
    ///
    /// # Errors
    /// As [`TableService::query_table_data`].
    ///
    /// ```
    #[doc = include_str!("example.txt")]
    /// let mut rows = 0;
    /// for batch in session.scan(&id, ScanRequest::new().columns(["volts"]), &Control::default())?
    /// {
    ///     rows += batch?.num_rows();
    /// }
    /// assert_eq!(rows, 1);
    /// # Ok::<(), stationdb::Error>(())
    /// ```
    fn scan(&self, id: &TableId, request: ScanRequest, control: &Control) -> Result<RowStream> {
        read::scan(self, id, request, control)
    }
}
}

// The trait must be object-safe: servers keep the service as `Arc<dyn TableService>`.
const _: fn(Arc<dyn TableService>) = |_| {};
