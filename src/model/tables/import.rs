//! Requests to import rows of files into tables. They are native to this crate and have no wire
//! form.

use std::collections::BTreeMap;

use crate::model::tables::data::{ColumnType, DataType};
use crate::model::tables::table::{CreateTableRequest, TableId};
use crate::value::wire::{record, wire_enum};

wire_enum! {
    /// The order of day and month in dates such as 01/02/2024.
    wire pub enum DateOrder {
        /// The first of February.
        DayFirst = "DAY_FIRST",
        /// The second of January.
        MonthFirst = "MONTH_FIRST",
        /// The second of February 2001: the year first, with two digits.
        YearFirst = "YEAR_FIRST",
    }
}

wire_enum! {
    /// The text that binary values of a Parquet file become.
    wire pub enum BinaryForm {
        /// The bytes as UTF-8; others are refused.
        Utf8 = "UTF8",
        /// Two hexadecimal digits for each byte.
        Hex = "HEX",
        /// Base64 with padding.
        Base64 = "BASE64",
    }
}

wire_enum! {
    /// The unit of numbers that count time since 1970 UTC.
    wire pub enum EpochUnit {
        /// Seconds.
        Seconds = "S",
        /// Milliseconds.
        Millis = "MS",
        /// Microseconds.
        Micros = "US",
        /// Nanoseconds.
        Nanos = "NS",
    }
}

record! {
    /// The target of an import, and how its source is read.
    wire pub struct ImportTableRequest new() {
        /// Table to append to; a new one is created when absent.
        pub id: Option<String>,
        /// The new table. Its columns are inferred if it has none or is absent.
        pub table: Option<CreateTableRequest>,
        /// Name of the index column, if columns are inferred; a new column of row numbers when
        /// absent.
        pub index_column: Option<String>,
        /// Types of columns, by name, if columns are inferred; the others are inferred.
        pub column_types: Option<BTreeMap<String, DataType>>,
        /// The separator of CSV values; found in the text when absent.
        pub separator: Option<String>,
        /// The decimal separator of CSV values, a point or a comma; found in the text when absent.
        pub decimal_separator: Option<String>,
        /// Texts that are null in every column of CSV, beside the empty field; when absent, some
        /// common ones in columns that are not STRING. At most 10,000.
        pub null_texts: Option<Vec<String>>,
        /// What comment lines before the header of CSV begin with; `#` when absent, nothing when
        /// empty.
        pub comment_prefix: Option<String>,
        /// The encoding of CSV without a byte order mark: `UTF-8`, `WINDOWS-1252` or `ISO-8859-1`;
        /// when absent UTF-8, or Windows-1252 if the first bytes that are not ASCII are not UTF-8.
        pub encoding: Option<String>,
        /// Lines of CSV before its header.
        pub skip_lines: Option<i64>,
        /// The form of an instrument or logger that CSV has, such as `TEKTRONIX_MSO`; found in the
        /// text when absent, none with `NONE`.
        pub preset: Option<String>,
        /// Whether a line of CSV names the columns; without one they are `column_1` and so on. They
        /// are named when absent.
        pub header: Option<bool>,
        /// Whether the line behind the names of CSV has the units of the columns; found in the text
        /// when absent.
        pub units_line: Option<bool>,
        /// Whether the last values of a line of CSV may be missing, and are null; refused when
        /// absent.
        pub short_rows: Option<bool>,
        /// Lines at the end of CSV that are no rows.
        pub footer_lines: Option<i64>,
        /// Whether CSV has several blocks of columns beside each other, whose names may repeat;
        /// found in the text when absent.
        pub side_by_side: Option<bool>,
        /// Seconds between two rows of CSV, as a decimal number, for a column of times; found in
        /// the header of an instrument when absent.
        pub sample_interval: Option<String>,
        /// The time of the first row of CSV with a sample interval, a number of seconds or a date
        /// and time; 0 when absent, unless the header of an instrument has it.
        pub start_time: Option<String>,
        /// The order of year, month and day in dates of CSV such as 01/02/2024; where absent and
        /// not clear from the values, such a column is text. With it, years may have two digits.
        pub date_order: Option<DateOrder>,
        /// The zone of times that have none: `UTC` (when absent), an offset such as `+02:00`, a
        /// name such as `Europe/Berlin` (feature `zones`), or `REFUSE`.
        pub time_zone: Option<String>,
        /// What numbers in columns of times count since 1970 UTC; numbers are no times when absent.
        /// Such a column is declared, or named in `column_types`.
        pub epoch_unit: Option<EpochUnit>,
        /// Whether digits of times that are finer than their column are cut off; refused when
        /// absent.
        pub cut_times: Option<bool>,
        /// The text that binary values of Parquet become; refused when absent.
        pub binary: Option<BinaryForm>,
        /// Whether the members of nested columns of Parquet become columns named `a.b`; nested
        /// columns are refused when absent.
        pub flatten: Option<bool>,
        /// Whether no further appends will be accepted.
        pub end_of_data: Option<bool>,
    }

    /// What an import made of a column.
    wire pub struct ImportedColumn {
        /// Name of the column of the table.
        pub name: String,
        /// Its type.
        pub data_type: DataType,
        /// Its role.
        pub column_type: ColumnType,
        /// Why it has this type.
        pub why: String,
        /// The unit of its values in the source, such as `V`, where the source has one.
        pub unit: Option<String>,
        /// The zone that the times had, or were taken to have.
        pub time_zone: Option<String>,
        /// How many of the imported values are null.
        pub null_count: i64,
    }

    /// The result of an import.
    answer pub struct ImportTableResponse {
        /// Id of the table.
        pub id: Option<TableId>,
        /// Rows imported.
        pub row_count: i64,
        /// What became of each column, in the order of the table.
        pub columns: Vec<ImportedColumn>,
        /// The separator of the CSV values.
        pub separator: Option<String>,
        /// The line of the header of the CSV text, from 1.
        pub header_line: Option<i64>,
        /// What may not be what the file means, with the line that says so and the member of the
        /// request that decides.
        pub warnings: Vec<String>,
    }
}
