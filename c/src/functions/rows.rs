//! The cursor over rows: batch by batch, as plain arrays.

use arrow_array::Array as _;
use stationdb::Error;
use stationdb::serde_json::json;

use crate::cells::to_text;
use crate::failure::{Failure, Outcome};
use crate::functions::texts;
use crate::memory::Out;
use crate::numbers::{plain_f64, to_f64, to_i64};
use crate::registry;

fn length(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

/// Writes a column, whose length is told whether it fits or not.
fn column<T: Copy>(
    column: &[T],
    mut values: Out<T>,
    capacity: i64,
    count: Out<i64>,
) -> Outcome<()> {
    count.set(length(column.len()));
    let mut buffer = values.buffer("values", capacity)?;
    if buffer.write(0, column) {
        return Ok(());
    }
    Err(Failure::too_small("values", column.len(), buffer.capacity()))
}

export! {
    fn sdb_rows_columns(rows: u64, columns: Out<u64>) {
        columns.begin("columns", 0)?;
        let rows = registry::rows(rows)?;
        let told: Vec<_> = rows
            .schema
            .fields()
            .iter()
            .map(|field| json!({"name": field.name(), "type": field.data_type().to_string()}))
            .collect();
        columns.set(texts::put_json(&told)?);
        Ok(())
    }

    fn sdb_rows_next(rows: u64, count: Out<i64>) {
        count.begin("count", 0)?;
        let batch = registry::rows(rows)?.next()?;
        count.set(batch.map_or(0, |batch| length(batch.num_rows())));
        Ok(())
    }

    fn sdb_rows_f64(rows: u64, index: i32, values: Out<f64>, capacity: i64, count: Out<i64>) {
        count.begin("count", 0)?;
        let rows = registry::rows(rows)?;
        let (name, array) = rows.column(index)?;
        match plain_f64(&array) {
            Some(plain) => column(plain, values, capacity, count),
            None => column(&to_f64(name, &array)?, values, capacity, count),
        }
    }

    fn sdb_rows_i64(rows: u64, index: i32, values: Out<i64>, capacity: i64, count: Out<i64>) {
        count.begin("count", 0)?;
        let rows = registry::rows(rows)?;
        let (name, array) = rows.column(index)?;
        column(&to_i64(name, &array)?, values, capacity, count)
    }

    fn sdb_rows_nulls(rows: u64, index: i32, flags: Out<u8>, capacity: i64, count: Out<i64>) {
        count.begin("count", 0)?;
        let rows = registry::rows(rows)?;
        let (_, array) = rows.column(index)?;
        let nulls = array.logical_nulls();
        let is_null = |row| nulls.as_ref().is_some_and(|nulls| nulls.is_null(row));
        let found: Vec<u8> = (0..array.len()).map(|row| u8::from(is_null(row))).collect();
        column(&found, flags, capacity, count)
    }

    fn sdb_rows_text(rows: u64, index: i32, row: i64, text: Out<u64>) {
        text.begin("text", 0)?;
        let rows = registry::rows(rows)?;
        let (name, array) = rows.column(index)?;
        let row = usize::try_from(row)
            .map_err(|_| Error::invalid(format!("there is no row {row}; rows count from 0")))?;
        // A null has no text, and the handle 0.
        if let Some(found) = to_text(name, &array, row)? {
            text.set(texts::put(found)?);
        }
        Ok(())
    }
}
