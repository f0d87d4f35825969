//! Converts frames of cells to record batches, and back.

use crate::arrow::array::{Array, ArrayRef, RecordBatch};
use crate::columnar::cells;
use crate::columnar::column_slice::{CellValue, ColumnSlice, Level};
use crate::columnar::exchange::text_column::TextColumn;
use crate::columnar::schema::TableSchema;
use crate::columnar::ticks;
use crate::error::{Error, Place, Result};
use crate::model::tables::data::{Column, ColumnType, DataFrame, DataType};

/// Reads a frame into one batch with every column of the table.
///
/// # Errors
/// `InvalidArgument` for an unknown or repeated column, an absent column that is not NULLABLE, a
/// row whose length differs from the number of columns, or a cell that is not a value of its
/// column; row and column are named.
pub fn frame_to_batch(schema: &TableSchema, frame: &DataFrame) -> Result<RecordBatch> {
    let positions = match frame.columns.as_deref() {
        None => (0..schema.len()).collect(),
        Some([]) if !frame.data.is_empty() || schema.len() == 0 => Vec::new(),
        Some([]) => (0..schema.len()).collect(),
        Some(names) => schema.projection(Some(names), "frame.columns")?,
    };
    if let Some((row, cells)) =
        frame.data.iter().enumerate().find(|(_, cells)| cells.len() != positions.len())
    {
        return Err(Error::invalid(format!(
            "row {row} has {} values for {} columns",
            cells.len(),
            positions.len()
        ))
        .at_member(format!("frame.data[{row}]")));
    }
    let mut source = vec![None; schema.len()];
    for (place, &position) in positions.iter().enumerate() {
        if let Some(slot) = source.get_mut(position) {
            *slot = Some(place);
        }
    }
    let arrays = schema
        .columns()
        .iter()
        .zip(source)
        .map(|(column, place)| match place {
            Some(place) => column_of_cells(column, frame, place),
            None if column.column_type == ColumnType::Nullable || frame.data.is_empty() => {
                Ok(crate::arrow::array::new_null_array(
                    &crate::columnar::schema::arrow_type(column.data_type),
                    frame.data.len(),
                ))
            }
            None => Err(Error::invalid(format!(
                "column {:?} is not NULLABLE, so every append must contain its values",
                column.name
            ))
            .with_args([column.name.clone()])
            .at_member("frame.columns")),
        })
        .collect::<Result<Vec<_>>>()?;
    RecordBatch::try_new(schema.arrow().clone(), arrays)
        .map_err(|error| Error::invalid("the rows do not fit the table").with_source(error))
}

fn column_of_cells(column: &Column, frame: &DataFrame, place: usize) -> Result<ArrayRef> {
    column_of_texts(
        column,
        frame.data.len(),
        &|row| frame.data.get(row).and_then(|cells| cells.get(place)).and_then(Option::as_deref),
        &|row| Place::Cell { row: row as u64, column: column.name.clone() },
    )
}

/// Builds one column from the text of each row; `None` is null.
pub(in crate::columnar) fn column_of_texts<'t>(
    column: &Column,
    rows: usize,
    text: &dyn Fn(usize) -> Option<&'t str>,
    place: &dyn Fn(usize) -> Place,
) -> Result<ArrayRef> {
    let fault = |row: usize, text: Option<&str>| {
        let what = match text {
            Some(text) => {
                let hint = match text.replacen(',', ".", 1) {
                    dotted if text.contains(',') && dotted.parse::<f64>().is_ok() => {
                        format!("; write the decimal point as a point: {dotted:?}")
                    }
                    _ => String::new(),
                };
                format!("{:?} is not a {} value{hint}", shortened(text), column.data_type)
            }
            None => format!("column {:?} is not NULLABLE, so it cannot contain null", column.name),
        };
        Error::invalid(what).at(place(row))
    };
    let texts = TextColumn { column, rows, text, fault: &fault };
    if column.data_type != DataType::String {
        return texts.words(&|text| cells::parse_word(column.data_type, text));
    }
    let bytes = texts.bytes();
    // A string array counts its bytes in 31 bits.
    if i32::try_from(bytes).is_err() {
        return Err(Error::limit(format!(
            "the texts of column {:?} take {bytes} bytes, more than one append may have in a \
             column; split it",
            column.name
        )));
    }
    texts.texts(bytes)
}

/// The start of a text, for messages.
#[must_use]
pub fn shortened(text: &str) -> String {
    const SHOWN: usize = 64;
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}

/// Appends the canonical text of one cell; returns whether there is a value.
///
/// Values of types that no table column has count as null; batches of `columnar` have none.
pub(crate) fn write_cells(array: &dyn Array, row: usize, out: &mut String) -> bool {
    use crate::arrow::datatypes::DataType as Arrow;
    if row >= array.len() || array.is_null(row) {
        return false;
    }
    match (ColumnSlice::of(array), array.data_type()) {
        (Some(ColumnSlice::F32(values)), _) => match values.get(row) {
            Some(value) => cells::write_f32(*value, out),
            None => return false,
        },
        (Some(ColumnSlice::I64(values)), Arrow::Timestamp(unit, _)) => {
            ticks::write(values.get(row).copied().unwrap_or_default(), *unit, out);
        }
        (Some(slice), _) => match slice.value(row) {
            Some(CellValue::Bool(value)) => cells::write_bool(value, out),
            Some(CellValue::Number(Level::Int(value))) => cells::write_int(value, out),
            Some(CellValue::Number(Level::Float(value))) => cells::write_f64(value, out),
            Some(CellValue::Text(text)) => out.push_str(text),
            None => return false,
        },
        (None, _) => return false,
    }
    true
}

/// The rows of a batch as cells.
#[must_use]
pub fn batch_rows(batch: &RecordBatch) -> Vec<Vec<Option<String>>> {
    (0..batch.num_rows())
        .map(|row| {
            batch
                .columns()
                .iter()
                .map(|array| {
                    let mut text = String::new();
                    write_cells(array, row, &mut text).then_some(text)
                })
                .collect()
        })
        .collect()
}
