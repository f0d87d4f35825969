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
        /// Instant in UTC with microsecond precision. A type of this crate, unknown to the wire.
        TimestampMicros = "TIMESTAMP_US",
        /// Instant in UTC with nanosecond precision, in the years 1677 to 2262. A type of this
        /// crate, unknown to the wire.
        TimestampNanos = "TIMESTAMP_NS",
    }
}

impl DataType {
    /// Whether a decimation can use the type for x and y.
    #[must_use]
    pub fn is_numeric(self) -> bool {
        !matches!(self, Self::Bool | Self::String)
    }

    /// Whether the values are floating point numbers.
    #[must_use]
    pub fn is_float(self) -> bool {
        matches!(self, Self::Float32 | Self::Float64)
    }

    /// Whether the values are times.
    #[must_use]
    pub const fn is_time(self) -> bool {
        matches!(self, Self::Timestamp | Self::TimestampMicros | Self::TimestampNanos)
    }

    /// Whether a column of this type can be the index of a table.
    #[must_use]
    pub fn can_be_index(self) -> bool {
        matches!(self, Self::Int32 | Self::Int64) || self.is_time()
    }
}

wire_enum! {
    /// The role of a column in its table.
    pub enum ColumnType {
        /// Has a value in every row.
        Normal = "NORMAL",
        /// The one column that orders the rows.
        Index = "INDEX",
        /// May be null, and may be omitted in appends.
        Nullable = "NULLABLE",
    }
}

/// A column for tests.
#[cfg(test)]
pub(crate) fn column(name: &str, data_type: DataType, column_type: ColumnType) -> Column {
    Column { name: name.to_owned(), data_type, column_type, ..Column::default() }
}

impl Column {
    /// Whether the column has value indexes.
    pub(crate) fn is_indexed(&self) -> bool {
        self.indexed == Some(true)
    }
}

record! {
    /// A column of a table.
    #[fields(name)]
    pub struct Column new(name: String, data_type: DataType) requires(name, data_type) {
        /// Name, unique in the table; compared exactly.
        pub name: String,
        /// Type of the values.
        pub data_type: DataType,
        /// Role of the column in its table.
        pub column_type: ColumnType,
        /// Metadata of the column.
        pub properties: BTreeMap<String, String>,
        /// Whether conditions find rows by an index of the values: for STRING, INT32, INT64 and
        /// times, but not for the index of the table. False when absent. A member of this crate,
        /// unknown to the wire.
        pub indexed: Option<bool>,
    }

    /// The members of a column that a projection includes.
    pub struct ColumnProjection new() {
        /// Name.
        pub name: Option<String>,
        /// Type of the values.
        pub data_type: Option<DataType>,
        /// Role of the column in its table.
        pub column_type: Option<ColumnType>,
        /// Metadata of the column.
        pub properties: Option<BTreeMap<String, String>>,
    }

    /// Rows as text: every cell is a string or null.
    wire pub struct DataFrame requires(data) {
        /// Names of the columns, in the order of the values in each row; when absent, all columns
        /// of the table in order of creation.
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
    wire pub enum FilterOperation {
        /// The cell equals the value. With null: the cell is null.
        Equals = "EQUALS",
        /// The cell differs from the value, or is null. With null: the cell is not null; with
        /// `NaN`: the cell is not NaN.
        NotEquals = "NOT_EQUALS",
        /// The cell is less than the value.
        LessThan = "LESS_THAN",
        /// The cell is less than or equal to the value.
        LessThanEquals = "LESS_THAN_EQUALS",
        /// The cell is greater than the value.
        GreaterThan = "GREATER_THAN",
        /// The cell is greater than or equal to the value.
        GreaterThanEquals = "GREATER_THAN_EQUALS",
        /// The text contains the value.
        Contains = "CONTAINS",
        /// The text does not contain the value, or is null.
        NotContains = "NOT_CONTAINS",
    }
}

record! {
    /// A test of one column.
    wire pub struct ColumnFilter new(column: String, operation: FilterOperation)
    requires(column, operation) {
        /// Column to test; need not be returned.
        pub column: String,
        /// How to compare.
        pub operation: FilterOperation,
        /// The value to compare with, written like a cell of the column.
        pub value: Option<String>,
    }

    /// One column of an order.
    wire pub struct ColumnOrderBy new(column: String) requires(column) {
        /// Column to sort by; need not be returned.
        pub column: String,
        /// Whether the order is descending; nulls come last in both directions.
        pub descending: bool,
    }

    /// The options of `get_table_data`.
    wire pub struct GetTableDataRequest new() {
        /// Columns to return, in this order, each once; all when absent or empty. At most 10,000
        /// entries.
        pub columns: Option<Vec<String>>,
        /// Columns to sort by; later ones break ties, repeated ones have no effect. The order of
        /// the index when absent or empty. At most 10,000 entries.
        pub order_by: Option<Vec<String>>,
        /// Whether the order is descending, for every column of `order_by`.
        pub order_by_descending: bool,
        /// Number of rows on a page; 500 when absent, at most 10,000.
        pub take: Option<i64>,
        /// Token of the previous page.
        pub continuation_token: Option<String>,
    }

    /// The options of `query_table_data`.
    wire pub struct QueryTableDataRequest new() {
        /// Columns to return, in this order, each once; all when absent or empty. At most 10,000
        /// entries.
        pub columns: Option<Vec<String>>,
        /// Filters that a row must all match; at most 10,000.
        pub filters: Option<Vec<ColumnFilter>>,
        /// Filter in the filter language, whose names are columns; a row must match it as well.
        /// Everything when absent or empty.
        pub filter: Option<String>,
        /// Values of `@0`, `@1`, … in `filter`.
        pub substitutions: Option<Vec<serde_json::Value>>,
        /// Columns to sort by; later ones break ties, repeated ones have no effect. The order of
        /// the index when absent or empty. At most 10,000 entries.
        pub order_by: Option<Vec<ColumnOrderBy>>,
        /// Number of rows on a page; 500 when absent, at most 10,000.
        pub take: Option<i64>,
        /// Token of the previous page.
        pub continuation_token: Option<String>,
    }
}

wire_enum! {
    /// The format of an export.
    wire pub enum ExportFormat {
        /// Comma-separated values.
        Csv = "CSV",
        /// Apache Parquet; not available on the wire.
        Parquet = "PARQUET",
        /// Apache Arrow IPC stream; not available on the wire.
        ArrowStream = "ARROW_STREAM",
    }
}

wire_enum! {
    /// The destination of an export; in process always the caller.
    wire pub enum ExportDestination {
        /// The caller.
        Inline = "INLINE",
        /// Accepted and treated as [`ExportDestination::Inline`].
        DownloadLink = "DOWNLOAD_LINK",
    }
}

record! {
    /// The options of `export_table_data`.
    wire pub struct ExportTableDataRequest new(response_format: ExportFormat)
    requires(response_format) {
        /// Columns to write, in this order, each once; all when absent or empty. At most 10,000
        /// entries.
        pub columns: Option<Vec<String>>,
        /// Filters that a row must all match; at most 10,000.
        pub filters: Option<Vec<ColumnFilter>>,
        /// Filter in the filter language, whose names are columns; a row must match it as well.
        /// Everything when absent or empty.
        pub filter: Option<String>,
        /// Values of `@0`, `@1`, … in `filter`.
        pub substitutions: Option<Vec<serde_json::Value>>,
        /// Columns to sort by; later ones break ties, repeated ones have no effect. The order of
        /// the index when absent or empty. At most 10,000 entries.
        pub order_by: Option<Vec<ColumnOrderBy>>,
        /// Maximum number of rows; all when absent.
        pub take: Option<i64>,
        /// Format of the export.
        pub response_format: ExportFormat,
        /// Accepted and ignored.
        pub destination: Option<ExportDestination>,
        /// Whether CSV begins with comment lines that say the table's name and properties and
        /// those of the columns; false when absent. Parquet and Arrow always carry them as
        /// metadata.
        pub csv_metadata: Option<bool>,
    }

    /// The options of `scan`.
    wire pub struct ScanRequest new() {
        /// Columns to return, in this order, each once; all when absent or empty. At most 10,000
        /// entries.
        pub columns: Option<Vec<String>>,
        /// Filters that a row must all match; at most 10,000.
        pub filters: Option<Vec<ColumnFilter>>,
        /// Filter in the filter language, whose names are columns; a row must match it as well.
        /// Everything when absent or empty.
        pub filter: Option<String>,
        /// Values of `@0`, `@1`, … in `filter`.
        pub substitutions: Option<Vec<serde_json::Value>>,
        /// Columns to sort by; later ones break ties, repeated ones have no effect. The order of
        /// the index when absent or empty. At most 10,000 entries.
        pub order_by: Option<Vec<ColumnOrderBy>>,
        /// Maximum number of rows; all when absent.
        pub take: Option<i64>,
    }
}

wire_enum! {
    /// A method of decimation.
    wire pub enum DecimationMethod {
        /// Rows spread evenly over the order of x.
        Lossy = "LOSSY",
        /// The rows of the maximum and of the minimum of every y column in each interval.
        MaxMin = "MAX_MIN",
        /// As [`DecimationMethod::MaxMin`], with the first and the last row of each interval.
        EntryExit = "ENTRY_EXIT",
    }
}

wire_enum! {
    /// How the rows are divided into intervals.
    wire pub enum DecimationDistribution {
        /// Intervals with equal numbers of rows.
        EqualFrequency = "EQUAL_FREQUENCY",
        /// Intervals with equal spans of x.
        EqualWidth = "EQUAL_WIDTH",
    }
}

record! {
    /// The options of a decimation.
    wire pub struct DecimationOptions new(method: DecimationMethod) {
        /// The x column; the index column when absent. Numeric types only.
        pub x_column: Option<String>,
        /// The columns whose extremes are kept; required for all methods except LOSSY. Numeric
        /// types only. Duplicates are ignored; at most 10,000 entries.
        pub y_columns: Option<Vec<String>>,
        /// Number of intervals; 1000 when absent.
        pub intervals: Option<i64>,
        /// The method.
        pub method: DecimationMethod,
        /// How the rows are divided into intervals.
        pub distribution: DecimationDistribution,
    }

    /// The options of `query_decimated_data`.
    wire pub struct QueryDecimatedDataRequest new() {
        /// Columns to return, in this order, each once; all when absent or empty. At most 10,000
        /// entries.
        pub columns: Option<Vec<String>>,
        /// Filters that a row must all match to take part; at most 10,000.
        pub filters: Option<Vec<ColumnFilter>>,
        /// Filter in the filter language, whose names are columns; a row must match it as well.
        /// Everything when absent or empty.
        pub filter: Option<String>,
        /// Values of `@0`, `@1`, … in `filter`.
        pub substitutions: Option<Vec<serde_json::Value>>,
        /// The decimation; when absent, LOSSY with 1000 intervals over the index.
        pub decimation: Option<DecimationOptions>,
    }
}
