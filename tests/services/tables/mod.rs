//! Measurement tables: appends, reads, exports, and imports through a source of rows.

mod aggregates;
mod append;
mod basics;
mod causes;
mod columns;
mod deletion;
mod export;
mod model;
mod ordinals;
mod retention;
mod row_filters;
mod rules;
mod sources;
mod summed;
mod syncs;
mod times;
mod value_indexes;
mod walk;
mod waveforms;

use crate::prelude::*;
use stationdb::arrow::array::{Int64Array, RecordBatch};
use stationdb::arrow::datatypes::Schema;
use stationdb::arrow::ipc::writer::StreamWriter;

fn column(name: &str, data_type: DataType, column_type: ColumnType) -> Column {
    Column::new(name, data_type).column_type(column_type)
}

/// The values of an INT64 column without nulls.
fn int64_values(batch: &RecordBatch, column: usize) -> &[i64] {
    let array: &Int64Array = batch.column(column).as_any().downcast_ref().unwrap();
    array.values()
}

/// Batches as an Arrow IPC stream.
fn ipc_stream(schema: &Schema, batches: impl IntoIterator<Item = RecordBatch>) -> Vec<u8> {
    let mut writer = StreamWriter::try_new(Vec::new(), schema).unwrap();
    for batch in batches {
        writer.write(&batch).unwrap();
    }
    writer.into_inner().unwrap()
}
