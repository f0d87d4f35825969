//! Bounds of an append and of the shape of a table: one below, at, and one above.

use std::sync::Arc;

use super::schema::TableSchema;
use super::write::buffer::encode_batch;
use crate::arrow::array::{ArrayRef, Int64Array, RecordBatch, StringArray};
use crate::error::ErrorKind;
use crate::model::tables::data::{ColumnType, DataType, column};
use crate::value::limits::{self, holds_at};

#[test]
fn an_append_holds_at_the_limit_and_not_above() {
    let schema = TableSchema::with_default_limit(vec![
        column("i", DataType::Int64, ColumnType::Index),
        column("s", DataType::String, ColumnType::Normal),
    ])
    .unwrap();
    let encoded = |text_bytes: usize| {
        let index: ArrayRef = Arc::new(Int64Array::from(vec![1]));
        let text: ArrayRef = Arc::new(StringArray::from(vec!["x".repeat(text_bytes)]));
        let batch = RecordBatch::try_from_iter([("i", index), ("s", text)]).unwrap();
        encode_batch(&schema, &batch)
    };
    let frame = encoded(0).unwrap().len();
    holds_at(limits::BATCH_BYTES, ErrorKind::LimitExceeded, |bytes| encoded(bytes - frame));
}

#[test]
fn columns_of_a_table_hold_at_the_limit_and_not_above() {
    holds_at(limits::TABLE_COLUMNS, ErrorKind::LimitExceeded, |count| {
        let index = column("i", DataType::Int64, ColumnType::Index);
        let others =
            (1..count).map(|at| column(&at.to_string(), DataType::Bool, ColumnType::Normal));
        TableSchema::with_default_limit([index].into_iter().chain(others).collect())
    });
}
