//! Test results that are stored together with their steps and tables. They are native to this crate
//! and have no form on the wire.

use crate::arrow::array::RecordBatch;
use crate::model::results::result::CreateResultRequest;
use crate::model::results::step::CreateStepRequest;
use crate::model::tables::table::CreateTableRequest;

/// A test result to create with its steps and tables.
///
/// ```
/// use stationdb::results::{CreateResultRequest, CreateStepRequest, ResultWithSteps, StatusType};
///
/// let result = CreateResultRequest::new().program_name("Gain").status(StatusType::Passed);
/// let step = CreateStepRequest::new().name("Power").status(StatusType::Passed);
/// assert_eq!(ResultWithSteps::new(result).step(step).steps.len(), 1);
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct ResultWithSteps {
    /// The result; ids of files that exist are among its members.
    pub result: CreateResultRequest,
    /// Its steps, with their children. They have no `resultId`.
    pub steps: Vec<CreateStepRequest>,
    /// Tables that are created with it.
    pub tables: Vec<ResultTable>,
}

impl ResultWithSteps {
    /// A result without steps.
    #[must_use]
    pub fn new(result: CreateResultRequest) -> Self {
        Self { result, ..Self::default() }
    }

    /// Adds a step.
    #[must_use]
    pub fn step(mut self, step: CreateStepRequest) -> Self {
        self.steps.push(step);
        self
    }

    /// Adds steps.
    #[must_use]
    pub fn steps(mut self, steps: impl IntoIterator<Item = CreateStepRequest>) -> Self {
        self.steps.extend(steps);
        self
    }

    /// Adds a table.
    #[must_use]
    pub fn table(mut self, table: ResultTable) -> Self {
        self.tables.push(table);
        self
    }
}

impl From<CreateResultRequest> for ResultWithSteps {
    fn from(result: CreateResultRequest) -> Self {
        Self::new(result)
    }
}

/// A table that is created with a test result. Its `testResultId` is the result, and the result
/// names it among its `dataTableIds`; it is in the workspace of the result unless the request names
/// one.
///
/// ```
/// use stationdb::results::ResultTable;
/// use stationdb::tables::{Column, ColumnType, CreateTableRequest, DataType};
///
/// let columns = [Column::new("t", DataType::Int64).column_type(ColumnType::Index)];
/// let table = ResultTable::new(CreateTableRequest::new(columns)).end_of_data(true);
/// assert!(table.batches.is_empty());
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ResultTable {
    /// The table.
    pub table: CreateTableRequest,
    /// Its rows, in memory. Rows of more bytes than one commit may write are appended to the table
    /// afterwards.
    pub batches: Vec<RecordBatch>,
    /// Whether the table is closed with these rows.
    pub end_of_data: bool,
}

impl ResultTable {
    /// A table without rows.
    #[must_use]
    pub fn new(table: CreateTableRequest) -> Self {
        Self { table, batches: Vec::new(), end_of_data: false }
    }

    /// Adds rows.
    #[must_use]
    pub fn batch(mut self, rows: RecordBatch) -> Self {
        self.batches.push(rows);
        self
    }

    /// Sets whether the table is closed with its rows.
    #[must_use]
    pub fn end_of_data(mut self, end_of_data: bool) -> Self {
        self.end_of_data = end_of_data;
        self
    }
}
