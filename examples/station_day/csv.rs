//! Imports a CSV file of your own; its columns become a table.

use std::error::Error;
use std::fs::File;
use std::io::{BufReader, Seek};
use std::path::Path;
use std::sync::Arc;

use arrow::array::{ArrayRef, Int64Array, RecordBatch};
use arrow::compute::cast;
use arrow::csv::ReaderBuilder;
use arrow::csv::reader::Format;
use arrow::datatypes::{DataType as Arrow, Field, Schema, TimeUnit};
use stationdb::tables::{Column, ColumnType, DataType};

/// Name of the index column if the file has none: the row number.
pub const ROW: &str = "row";
const BATCH_ROWS: usize = 65_536;

/// A CSV file and the columns of its table.
pub struct CsvFile {
    /// Columns of the table.
    pub columns: Vec<Column>,
    /// The first column that can be plotted, if there is one.
    pub y: Option<String>,
    reader: arrow::csv::Reader<BufReader<File>>,
    types: Vec<Arrow>,
    row: i64,
}

impl CsvFile {
    /// Reads the file: the first line has the column names, and the values determine the types.
    pub fn open(path: &Path) -> Result<Self, Box<dyn Error>> {
        let mut file = File::open(path).map_err(|error| format!("{}: {error}", path.display()))?;
        let (inferred, _) =
            Format::default().with_header(true).infer_schema(&mut file, Some(100_000))?;
        file.rewind()?;
        let mut columns = vec![Column {
            name: ROW.to_owned(),
            data_type: DataType::Int64,
            column_type: ColumnType::Index,
            ..Default::default()
        }];
        let mut types = Vec::new();
        let mut y = None;
        for field in inferred.fields() {
            let (arrow, data_type) = match field.data_type() {
                Arrow::Boolean => (Arrow::Boolean, DataType::Bool),
                Arrow::Int64 => (Arrow::Int64, DataType::Int64),
                Arrow::Float64 => (Arrow::Float64, DataType::Float64),
                Arrow::Timestamp(..) | Arrow::Date32 | Arrow::Date64 => {
                    (Arrow::Timestamp(TimeUnit::Millisecond, None), DataType::Timestamp)
                }
                _ => (Arrow::Utf8, DataType::String),
            };
            if y.is_none() && matches!(data_type, DataType::Int64 | DataType::Float64) {
                y = Some(field.name().clone());
            }
            types.push(arrow);
            columns.push(Column {
                name: if field.name() == ROW {
                    format!("{ROW} (file)")
                } else {
                    field.name().clone()
                },
                data_type,
                column_type: ColumnType::Nullable,
                ..Default::default()
            });
        }
        let schema = Schema::new(
            inferred
                .fields()
                .iter()
                .map(|f| f.as_ref().clone().with_nullable(true))
                .collect::<Vec<Field>>(),
        );
        let reader = ReaderBuilder::new(Arc::new(schema))
            .with_header(true)
            .with_batch_size(BATCH_ROWS)
            .build(BufReader::new(file))?;
        Ok(Self { columns, y, reader, types, row: 0 })
    }
}

impl Iterator for CsvFile {
    type Item = Result<RecordBatch, arrow::error::ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        let batch = match self.reader.next()? {
            Ok(batch) => batch,
            Err(error) => return Some(Err(error)),
        };
        let rows = batch.num_rows() as i64;
        let mut arrays: Vec<ArrayRef> =
            vec![Arc::new(Int64Array::from_iter_values(self.row..self.row + rows))];
        self.row += rows;
        let cast_all = batch.columns().iter().zip(&self.types).map(|(array, ty)| cast(array, ty));
        for array in cast_all {
            match array {
                Ok(array) => arrays.push(array),
                Err(error) => return Some(Err(error)),
            }
        }
        let names = self.columns.iter().map(|column| column.name.clone());
        Some(RecordBatch::try_from_iter_with_nullable(
            names.zip(arrays).enumerate().map(|(at, (name, array))| (name, array, at > 0)),
        ))
    }
}
