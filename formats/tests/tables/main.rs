//! Files become tables: CSV and Parquet in the forms that programs write, directories of files, and
//! what a source of rows may do.

mod bounds;
mod clocks;
mod depth;
mod dialects;
mod directories;
mod exports;
mod import;
mod instruments;
mod interop;
#[path = "../../../tests/common/limited_memory.rs"]
mod limited_memory;
mod long_texts;
mod loud;
#[path = "../../../tests/common/mistakes.rs"]
mod mistake_lists;
mod mistakes;
#[path = "../../../tests/common/nesting.rs"]
mod nesting;
mod opened;
mod parquet_files;
mod prelude;
mod program_files;
#[path = "../../../tests/common/python.rs"]
mod python;
mod sources;
mod spreadsheets;
mod unchanged;

use chrono::{DateTime, SecondsFormat, Utc};

use crate::prelude::*;
use stationdb::arrow::array::{Int64Array, RecordBatch};

fn column(name: &str, data_type: DataType, column_type: ColumnType) -> Column {
    Column::new(name, data_type).column_type(column_type)
}

/// The values of an INT64 column without nulls.
fn int64_values(batch: &RecordBatch, column: usize) -> &[i64] {
    let array: &Int64Array = batch.column(column).as_any().downcast_ref().unwrap();
    array.values()
}

/// The wire form of a time.
fn wire_time(time: DateTime<Utc>) -> String {
    time.to_rfc3339_opts(SecondsFormat::Millis, true)
}
