//! Columns, frames of cells, and the requests that read and write rows.

use std::collections::BTreeMap;

use crate::value::wire::{record, wire_enum};

wire_enum! {
    /// The type of a column's values.
    pub enum DataType {
        /// Two values, false before true.
        Bool = "BOOL",
        /// 32-bit IEEE 754 number.
        Float32 = "FLOAT32",
        /// 64-bit IEEE 754 number.
        Float64 = "FLOAT64",
        /// 32-bit signed integer.
        Int32 = "INT32",
        /// 64-bit signed integer.
        Int64 = "INT64",
        /// UTF-8 text.
        String = "STRING",
        /// Instant in UTC with millisecond precision.
        Timestamp = "TIMESTAMP",
    }
}

impl DataType {
    /// Whether the type can be an axis of a decimation.
    #[must_use]
    pub fn is_numeric(self) -> bool {
        !matches!(self, Self::Bool | Self::String)
    }

    /// Whether the values are floating point numbers.
    #[must_use]
    pub fn is_float(self) -> bool {
        matches!(self, Self::Float32 | Self::Float64)
    }

    /// Whether a column of this type can be the index of a table.
    #[must_use]
    pub fn can_be_index(self) -> bool {
        matches!(self, Self::Int32 | Self::Int64 | Self::Timestamp)
    }
}

wire_enum! {
    /// What a column is in its table.
    pub enum ColumnType {
        /// Holds a value in every row.
        Normal = "NORMAL",
        /// The one column that rows are kept in order of.
        Index = "INDEX",
        /// May hold null, and may be left out of appends.
        Nullable = "NULLABLE",
    }
}

/// A column for tests.
#[cfg(test)]
pub(crate) fn column(name: &str, data_type: DataType, column_type: ColumnType) -> Column {
    Column { name: name.to_owned(), data_type, column_type, ..Column::default() }
}

record! {
    /// A column of a table.
    #[fields(name)]
    pub struct Column new(name: String, data_type: DataType) requires(name, data_type) {
        /// Name, unique in the table; compared exactly.
        pub name: String,
        /// Type of the values.
        pub data_type: DataType,
        /// What the column is in its table.
        pub column_type: ColumnType,
        /// Metadata of the column.
        pub properties: BTreeMap<String, String>,
    }

    /// The members of a column that a projection asked for.
    pub struct ColumnProjection {
        /// Name.
        pub name: Option<String>,
        /// Type of the values.
        pub data_type: Option<DataType>,
        /// What the column is in its table.
        pub column_type: Option<ColumnType>,
        /// Metadata of the column.
        pub properties: Option<BTreeMap<String, String>>,
    }

    /// Rows as text: every cell is a string or null.
    wire pub struct DataFrame requires(data) {
        /// Names and order of the values in each row; every column of the table in order of creation when absent.
        pub columns: Option<Vec<String>>,
        /// The rows.
        pub data: Vec<Vec<Option<String>>>,
    }

    /// Rows to append, and whether they are the last.
    wire pub struct AppendTableDataRequest new() {
        /// The rows; may be absent when `end_of_data` is true.
        pub frame: Option<DataFrame>,
        /// Whether no further appends will be accepted.
        pub end_of_data: Option<bool>,
    }
}

wire_enum! {
    /// How a cell is compared with the value of a [`ColumnFilter`].
    pub enum FilterOperation {
        /// The cell is the value; with null: the cell is null.
        Equals = "EQUALS",
        /// The cell is not the value, or is null; with null: the cell is not null; with `NaN`: the cell is not NaN.
        NotEquals = "NOT_EQUALS",
        /// The cell is less than the value.
        LessThan = "LESS_THAN",
        /// The cell is the value or less.
        LessThanEquals = "LESS_THAN_EQUALS",
        /// The cell is greater than the value.
        GreaterThan = "GREATER_THAN",
        /// The cell is the value or greater.
        GreaterThanEquals = "GREATER_THAN_EQUALS",
        /// The text has the value in it.
        Contains = "CONTAINS",
        /// The text does not have the value in it, or is null.
        NotContains = "NOT_CONTAINS",
    }
}

record! {
    /// A test of one column.
    wire pub struct ColumnFilter new(column: String, operation: FilterOperation) requires(column, operation) {
        /// Column to test; need not be returned.
        pub column: String,
        /// How to compare.
        pub operation: FilterOperation,
        /// What to compare with, written like a cell of the column.
        pub value: Option<String>,
    }

    /// One column of an order.
    wire pub struct ColumnOrderBy new(column: String) requires(column) {
        /// Column to sort by; need not be returned.
        pub column: String,
        /// Largest first; nulls come last either way.
        pub descending: bool,
    }

    /// What `get_table_data` returns of a table.
    wire pub struct GetTableDataRequest new() {
        /// Columns to return, in this order, each once; all when absent or empty. At most 10,000 entries.
        pub columns: Option<Vec<String>>,
        /// Columns to sort by; later ones break ties, and one that is there again decides nothing. The order of the index
        /// when absent or empty. At most 10,000 entries.
        pub order_by: Option<Vec<String>>,
        /// Largest first, for every column of `order_by`.
        pub order_by_descending: bool,
        /// Rows of a page; 500 when absent, at most 10,000.
        pub take: Option<i64>,
        /// Token of the page before.
        pub continuation_token: Option<String>,
    }

    /// What `query_table_data` returns of a table.
    wire pub struct QueryTableDataRequest new() {
        /// Columns to return, in this order, each once; all when absent or empty. At most 10,000 entries.
        pub columns: Option<Vec<String>>,
        /// Tests that a row must pass, all of them; at most 10,000.
        pub filters: Option<Vec<ColumnFilter>>,
        /// Columns to sort by; later ones break ties, and one that is there again decides nothing. The order of the index
        /// when absent or empty. At most 10,000 entries.
        pub order_by: Option<Vec<ColumnOrderBy>>,
        /// Rows of a page; 500 when absent, at most 10,000.
        pub take: Option<i64>,
        /// Token of the page before.
        pub continuation_token: Option<String>,
    }
}

wire_enum! {
    /// The form of an export.
    pub enum ExportFormat {
        /// Comma-separated values.
        Csv = "CSV",
        /// Apache Parquet; not part of the wire surface.
        Parquet = "PARQUET",
        /// Apache Arrow IPC stream; not part of the wire surface.
        ArrowStream = "ARROW_STREAM",
    }
}

wire_enum! {
    /// Where an export goes; in process always to the caller.
    pub enum ExportDestination {
        /// To the caller.
        Inline = "INLINE",
        /// Accepted and treated as [`ExportDestination::Inline`].
        DownloadLink = "DOWNLOAD_LINK",
    }
}

record! {
    /// What `export_table_data` writes of a table.
    wire pub struct ExportTableDataRequest new(response_format: ExportFormat) requires(response_format) {
        /// Columns to write, in this order, each once; all when absent or empty. At most 10,000 entries.
        pub columns: Option<Vec<String>>,
        /// Tests that a row must pass, all of them; at most 10,000.
        pub filters: Option<Vec<ColumnFilter>>,
        /// Columns to sort by; later ones break ties, and one that is there again decides nothing. The order of the index
        /// when absent or empty. At most 10,000 entries.
        pub order_by: Option<Vec<ColumnOrderBy>>,
        /// Largest number of rows; all when absent.
        pub take: Option<i64>,
        /// Form of the export.
        pub response_format: ExportFormat,
        /// Accepted and ignored.
        pub destination: Option<ExportDestination>,
    }

    /// What `scan` streams of a table.
    wire pub struct ScanRequest new() {
        /// Columns to return, in this order, each once; all when absent or empty. At most 10,000 entries.
        pub columns: Option<Vec<String>>,
        /// Tests that a row must pass, all of them; at most 10,000.
        pub filters: Option<Vec<ColumnFilter>>,
        /// Columns to sort by; later ones break ties, and one that is there again decides nothing. The order of the index
        /// when absent or empty. At most 10,000 entries.
        pub order_by: Option<Vec<ColumnOrderBy>>,
        /// Largest number of rows; all when absent.
        pub take: Option<i64>,
    }
}

wire_enum! {
    /// How rows are thinned out.
    pub enum DecimationMethod {
        /// Rows spread evenly over the order of x.
        Lossy = "LOSSY",
        /// From each interval, for every y column, the row of the maximum and the row of the minimum.
        MaxMin = "MAX_MIN",
        /// As [`DecimationMethod::MaxMin`], and the first and last row of each interval.
        EntryExit = "ENTRY_EXIT",
    }
}

wire_enum! {
    /// How the rows are cut into intervals.
    pub enum DecimationDistribution {
        /// Intervals of equal row counts.
        EqualFrequency = "EQUAL_FREQUENCY",
        /// Equal spans of x.
        EqualWidth = "EQUAL_WIDTH",
    }
}

record! {
    /// How a decimated read thins out the rows.
    wire pub struct DecimationOptions new(method: DecimationMethod) {
        /// Column of the axis; the index column when absent. Numeric types only.
        pub x_column: Option<String>,
        /// Columns whose extremes are kept; required for all methods but LOSSY. Numeric types only. One that is there again
        /// changes nothing; at most 10,000 entries.
        pub y_columns: Option<Vec<String>>,
        /// Number of intervals; 1000 when absent.
        pub intervals: Option<i64>,
        /// The method.
        pub method: DecimationMethod,
        /// How intervals are cut.
        pub distribution: DecimationDistribution,
    }

    /// What `query_decimated_data` returns of a table.
    wire pub struct QueryDecimatedDataRequest new() {
        /// Columns to return, in this order, each once; all when absent or empty. At most 10,000 entries.
        pub columns: Option<Vec<String>>,
        /// Tests that a row must pass before it takes part, all of them; at most 10,000.
        pub filters: Option<Vec<ColumnFilter>>,
        /// How rows are thinned out; LOSSY, 1000 intervals over the index when absent.
        pub decimation: Option<DecimationOptions>,
    }
}
