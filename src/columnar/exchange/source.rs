//! What an import reads: rows from anything that gives Arrow batches.

use std::collections::BTreeMap;

use crate::arrow::array::RecordBatch;
use crate::columnar::schema::TableSchema;
use crate::error::Result;
use crate::model::tables::data::{Column, ColumnType, DataType};
use crate::model::tables::import::ImportTableRequest;
use crate::value::Control;

/// The property of an index column that imports fill with the numbers of rows.
pub const ROW_NUMBER: &str = "rowNumber";

/// Whether an import fills this column when its source does not have it.
#[must_use]
pub fn is_numbered(column: &Column) -> bool {
    column.column_type == ColumnType::Index
        && column.data_type == DataType::Int64
        && column.properties.get(ROW_NUMBER).is_some_and(|value| value == "true")
}

/// What the report of an import says of a column.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ColumnNote {
    /// Why it has its type; empty for a column that the caller declared.
    pub why: String,
    /// The unit of its numbers.
    pub unit: Option<String>,
    /// The zone that its times had, or were taken to have.
    pub time_zone: Option<String>,
}

impl ColumnNote {
    /// The reason for the type of a column.
    #[must_use]
    pub fn new(why: impl Into<String>) -> Self {
        Self { why: why.into(), ..Self::default() }
    }

    /// The same note with a unit, if there is one.
    #[must_use]
    pub fn unit(self, unit: Option<String>) -> Self {
        Self { unit, ..self }
    }

    /// The same note with a zone, if there is one.
    #[must_use]
    pub fn time_zone(self, time_zone: Option<String>) -> Self {
        Self { time_zone, ..self }
    }
}

/// How a text was read, for the report of an import.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct SourceForm {
    /// What separates its values.
    pub separator: Option<char>,
    /// The line of its header, from 1.
    pub header_line: Option<u64>,
}

impl SourceForm {
    /// The form of a text with this separator, whose header is in this line.
    #[must_use]
    pub fn new(separator: char, header_line: u64) -> Self {
        Self { separator: Some(separator), header_line: Some(header_line) }
    }
}

/// The rows of one table, from a file or anything else.
///
/// The calls come in this order: [`columns`](Self::columns) for a table whose columns the request
/// does not declare, or [`number_from`](Self::number_from) for one that exists; then
/// [`next_batch`](Self::next_batch) until it returns `None` or an error; then what the report says.
/// A source keeps no more than a batch in memory, so that any file is read in bounded memory.
///
/// ```
/// # fn main() -> stationdb::Result<()> {
/// # let directory = tempfile::tempdir()?;
/// use std::sync::Arc;
/// use stationdb::arrow::array::{ArrayRef, Float64Array, Int64Array, RecordBatch};
/// use stationdb::prelude::*;
/// use stationdb::tables::{
///     Column, ColumnType, DataType, ImportTableRequest, RowSource, TableSchema,
/// };
/// use stationdb::{Control, Error, Identity, Result, Store};
///
/// /// The samples of an instrument.
/// struct Samples(std::vec::IntoIter<f64>, i64);
///
/// impl RowSource for Samples {
///     fn columns(&mut self) -> Result<Vec<Column>> {
///         let mut volts = Column::new("volts", DataType::Float64);
///         volts.properties.insert("unit".to_owned(), "V".to_owned());
///         Ok(vec![Column::new("n", DataType::Int64).column_type(ColumnType::Index), volts])
///     }
///
///     fn next_batch(&mut self, _: &TableSchema, _: &Control) -> Result<Option<RecordBatch>> {
///         let volts: Vec<f64> = self.0.by_ref().take(1000).collect();
///         if volts.is_empty() {
///             return Ok(None);
///         }
///         let n = self.1..self.1 + volts.len() as i64;
///         self.1 = n.end;
///         let n: ArrayRef = Arc::new(Int64Array::from_iter_values(n));
///         let volts: ArrayRef = Arc::new(Float64Array::from(volts));
///         RecordBatch::try_from_iter([("n", n), ("volts", volts)])
///             .map(Some)
///             .map_err(|error| Error::invalid("the samples are no rows").with_source(error))
///     }
/// }
///
/// let store = Store::open(directory.path())?;
/// let session = store.session(Identity::user("ada"));
/// let mut samples = Samples(vec![0.5, 0.75, 1.0].into_iter(), 0);
/// let answer =
///     session.import_rows(ImportTableRequest::new(), &mut samples, &Control::default())?;
/// assert_eq!((answer.row_count, answer.columns[1].data_type), (3, DataType::Float64));
/// # Ok(())
/// # }
/// ```
pub trait RowSource {
    /// The columns of a new table, with their units and other properties; one is its index.
    ///
    /// # Errors
    /// Those of the source. The import then fails with them, and nothing of it is stored.
    fn columns(&mut self) -> Result<Vec<Column>>;

    /// The next rows; `None` at the end.
    ///
    /// `schema` has the columns of the table. The batch has some or all of them by name, in any
    /// order, with the types that an Arrow append takes: NULLABLE columns may be left out. What it
    /// does not hold is refused with row and column.
    ///
    /// # Errors
    /// Those of the source, with the place in the file where there is one.
    fn next_batch(
        &mut self,
        schema: &TableSchema,
        control: &Control,
    ) -> Result<Option<RecordBatch>>;

    /// Tells the number of the first row, for a table whose index has the numbers of its rows.
    fn number_from(&mut self, _row: u64) {}

    /// The number of rows, for the progress, if it is known before they are read.
    fn row_count(&self) -> Option<u64> {
        None
    }

    /// The name of a new table, if the request has none.
    fn name(&self) -> Option<String> {
        None
    }

    /// Properties of a new table. Those of the request replace them by key.
    fn properties(&self) -> BTreeMap<String, String> {
        BTreeMap::new()
    }

    /// What the report says of a column of the table.
    fn note(&self, _column: &str) -> ColumnNote {
        ColumnNote::default()
    }

    /// How a text was read.
    fn form(&self) -> SourceForm {
        SourceForm::default()
    }

    /// What the caller should look at, because it may not be what the source means, with the place
    /// that says so.
    fn warnings(&self) -> Vec<String> {
        Vec::new()
    }

    /// Whether, after an error of `next_batch`, the columns have to be inferred again. The source
    /// then begins again.
    fn begin_again(&mut self) -> bool {
        false
    }
}

/// A table of an import: where its rows go, and the source that has them.
#[allow(missing_debug_implementations, reason = "a source has none")]
#[non_exhaustive]
pub struct SourceTable<'s> {
    /// The target.
    pub request: ImportTableRequest,
    /// The rows.
    pub rows: &'s mut dyn RowSource,
}

impl<'s> SourceTable<'s> {
    /// The rows of a source for this target.
    pub fn new(request: ImportTableRequest, rows: &'s mut dyn RowSource) -> Self {
        Self { request, rows }
    }
}

/// Tables that are imported in one commit, such as those of one file.
pub trait TableSource {
    /// Moves to the next table, the first one at first; `false` behind the last one. The rows of
    /// the table before have been read.
    ///
    /// # Errors
    /// Those of the source. The import then fails with them, and nothing of it is stored.
    fn advance(&mut self, control: &Control) -> Result<bool>;

    /// The table that the source has moved to.
    ///
    /// # Errors
    /// As [`advance`](Self::advance).
    fn table(&mut self) -> Result<SourceTable<'_>>;
}
