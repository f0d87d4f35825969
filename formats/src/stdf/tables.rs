//! The records as they are: a table for each type of records that a file has.
//!
//! What must hold: rows are not kept. The file is read once to see which types it has, and once for
//! each table.

use std::collections::BTreeMap;
use std::sync::Arc;

use stationdb::arrow::array::{
    ArrayRef, Float32Builder, Float64Builder, Int64Builder, RecordBatch, StringBuilder,
};
use stationdb::serde_json::Value as Json;
use stationdb::tables::{
    Column, ColumnType, CreateTableRequest, DataType, ImportTableRequest, RowSource, SourceTable,
    TableSchema, TableSource,
};
use stationdb::{Control, Error, Result};

use super::fields::{Form, Item, RECORD_TYPES, RecordType};
use super::pass::{Pass, Shared, is_of_part};
use super::value::{Bits, Value};
use crate::parquet::ReadSeek;
use crate::results::text::cell;

/// Rows of a batch.
const BATCH_ROWS: usize = 16 * 1024;
/// Bytes of the records of a batch.
const BATCH_BYTES: usize = 8 * 1024 * 1024;
/// The index: the number of a record in the file, from 0.
const NUMBER: &str = "record";
/// The number of the part that a record is of, from 0.
const PART: &str = "part";

/// The records of a file as tables, one a type, named as the types are. For
/// [`import_tables`](stationdb::tables::TableService::import_tables).
///
/// The index `record` is the number of the record in the file, so that tables keep the order in
/// which records came. Records of parts and tests have the number of their part in `part`. A list
/// is a JSON text, bits are a text of 0 and 1. A field that a record does not have is null.
///
/// `request` says where the tables go: its table is the pattern of each, and its name stands before
/// that of the type. The file is read once for each type of records that it has, in bounded memory.
///
/// # Errors
/// `Io`; `InvalidArgument` and `Unsupported` as those of [`Records::new`](super::Records::new);
/// `InvalidArgument` for a table that exists.
///
/// ```
/// # use stationdb::prelude::*;
/// # use stationdb::{Control, Identity, Store};
/// # use stationdb_formats::stdf;
/// use stationdb::tables::ImportTableRequest;
///
/// # let directory = tempfile::tempdir()?;
/// # let store = Store::open(directory.path().join("store"))?;
/// # let session = store.session(Identity::user("ada"));
/// let file = b"\x02\x00\x00\x0a\x02\x04\x02\x00\x05\x0a\x01\x07";
/// let input = Box::new(std::io::Cursor::new(file.to_vec()));
/// let control = Control::default();
/// let mut tables = stdf::tables(input, ImportTableRequest::new(), &control)?;
/// let made = session.import_tables(&mut tables, &control)?;
/// assert_eq!(made.iter().map(|table| table.row_count).collect::<Vec<_>>(), [1, 1]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn tables(
    input: Box<dyn ReadSeek>,
    request: ImportTableRequest,
    control: &Control,
) -> Result<Tables> {
    if request.id.is_some() {
        return Err(Error::invalid(
            "each type of records becomes a new table; name no table that exists",
        )
        .at_member("id"));
    }
    let input = Shared::new(input);
    let mut pass = Pass::new(&input, control)?;
    let mut counts: BTreeMap<&'static str, u64> = BTreeMap::new();
    let mut looks = 0..;
    while let Some((record, ..)) = pass.next()? {
        if looks.next().is_some_and(|count: usize| count.is_multiple_of(BATCH_ROWS)) {
            control.check()?;
        }
        if let Some(known) = record.record_type() {
            *counts.entry(known.name).or_default() += 1;
        }
    }
    let warning =
        pass.cut().map(|cut| format!("the file was cut: {cut}; what is whole was imported"));
    let types = RECORD_TYPES.iter();
    let types = types.filter_map(|known| Some((*known, *counts.get(known.name)?)));
    Ok(Tables { input, types: types.collect(), at: 0, request, table: None, warning })
}

/// The tables of a file; see [`tables`].
#[allow(missing_debug_implementations, reason = "an input has none")]
pub struct Tables {
    input: Shared,
    /// The types that the file has, with the number of records of each.
    types: Vec<(&'static RecordType, u64)>,
    /// The next of them.
    at: usize,
    request: ImportTableRequest,
    table: Option<(ImportTableRequest, Rows)>,
    warning: Option<String>,
}

impl TableSource for Tables {
    fn advance(&mut self, control: &Control) -> Result<bool> {
        let Some((known, count)) = self.types.get(self.at).copied() else {
            self.table = None;
            return Ok(false);
        };
        self.at += 1;
        let mut request = self.request.clone();
        let table = request.table.get_or_insert_with(CreateTableRequest::default);
        let before = table.name.take().filter(|name| !name.is_empty());
        let name = before.into_iter().chain([known.name.to_owned()]).collect::<Vec<_>>();
        table.name = Some(name.join(" "));
        let warnings = self.warning.take().into_iter().collect();
        let pass = Pass::new(&self.input, control)?;
        self.table = Some((request, Rows { known, count, pass, warnings }));
        Ok(true)
    }

    fn table(&mut self) -> Result<SourceTable<'_>> {
        let (request, rows) = self.table.as_mut().ok_or_else(|| {
            Error::invalid("the tables of an STDF file have ended; advance says so")
        })?;
        Ok(SourceTable::new(request.clone(), rows))
    }
}

/// The records of one type.
struct Rows {
    known: &'static RecordType,
    count: u64,
    pass: Pass,
    warnings: Vec<String>,
}

/// The type of the column of a field. A number of eight bytes without a sign is a text, because no
/// column holds all of them.
fn data_type(form: Form) -> DataType {
    match form {
        Form::One(Item::R4) => DataType::Float32,
        Form::One(Item::R8) => DataType::Float64,
        Form::One(Item::U1 | Item::U2 | Item::U4 | Item::I1 | Item::I2 | Item::I4 | Item::B1) => {
            DataType::Int64
        }
        _ => DataType::String,
    }
}

impl RowSource for Rows {
    fn columns(&mut self) -> Result<Vec<Column>> {
        let part = is_of_part(self.known).then_some((PART, DataType::Int64));
        let fields = self.known.fields.iter().map(|field| (field.name, data_type(field.form)));
        let index = Column::new(NUMBER, DataType::Int64).column_type(ColumnType::Index);
        let nullable = part.into_iter().chain(fields);
        let nullable = nullable.map(|(name, data_type)| {
            Column::new(name, data_type).column_type(ColumnType::Nullable)
        });
        Ok(std::iter::once(index).chain(nullable).collect())
    }

    fn next_batch(&mut self, _: &TableSchema, control: &Control) -> Result<Option<RecordBatch>> {
        control.check()?;
        let mut numbers = Int64Builder::new();
        let mut parts = Int64Builder::new();
        let mut cells: Vec<Cells> = self.known.fields.iter().map(Cells::new).collect();
        let (mut rows, mut bytes) = (0, 0);
        while rows < BATCH_ROWS && bytes < BATCH_BYTES {
            let Some((record, number, part)) = self.pass.next()? else { break };
            if record.number() != self.known.number {
                continue;
            }
            numbers.append_value(number);
            parts.append_option(part);
            for (cells, value) in cells.iter_mut().zip(record.values()?) {
                cells.push(value);
            }
            rows += 1;
            bytes += record.body().len();
        }
        if rows == 0 {
            return Ok(None);
        }
        let numbers: ArrayRef = Arc::new(numbers.finish());
        let parts: Option<ArrayRef> =
            is_of_part(self.known).then(|| Arc::new(parts.finish()) as ArrayRef);
        let fields = self.known.fields.iter().zip(cells);
        let fields = fields.map(|(field, cells)| (field.name, cells.finish()));
        let index = std::iter::once((NUMBER, numbers));
        let columns = index.chain(parts.map(|parts| (PART, parts))).chain(fields);
        RecordBatch::try_from_iter(columns).map(Some).map_err(|error| {
            Error::invalid(format!("the records {} are no rows", self.known.name))
                .with_source(error)
        })
    }

    fn row_count(&self) -> Option<u64> {
        Some(self.count)
    }

    fn name(&self) -> Option<String> {
        Some(self.known.name.to_owned())
    }

    fn warnings(&self) -> Vec<String> {
        self.warnings.clone()
    }
}

/// The cells of a column.
enum Cells {
    Integer(Int64Builder),
    Single(Float32Builder),
    Double(Float64Builder),
    Text(StringBuilder),
}

impl Cells {
    fn new(field: &super::fields::Field) -> Self {
        match data_type(field.form) {
            DataType::Int64 => Self::Integer(Int64Builder::new()),
            DataType::Float32 => Self::Single(Float32Builder::new()),
            DataType::Float64 => Self::Double(Float64Builder::new()),
            _ => Self::Text(StringBuilder::new()),
        }
    }

    fn push(&mut self, value: Value<'_>) {
        match self {
            Self::Integer(cells) => cells.append_option(value.integer()),
            Self::Single(cells) => cells.append_option(value.single()),
            Self::Double(cells) => cells.append_option(match value {
                Value::Double(number) => Some(number),
                _ => None,
            }),
            Self::Text(cells) => match value {
                Value::Missing => cells.append_null(),
                Value::Text(_) => cells.append_value(value.text().unwrap_or_default()),
                Value::Bits(bits) => cells.append_value(digits(bits)),
                other => cells.append_value(json(other).to_string()),
            },
        }
    }

    fn finish(self) -> ArrayRef {
        match self {
            Self::Integer(mut cells) => Arc::new(cells.finish()),
            Self::Single(mut cells) => Arc::new(cells.finish()),
            Self::Double(mut cells) => Arc::new(cells.finish()),
            Self::Text(mut cells) => Arc::new(cells.finish()),
        }
    }
}

/// Bits as 0 and 1, the first one first.
fn digits(bits: Bits<'_>) -> String {
    let is_set = |at: usize| bits.bytes.get(at / 8).is_some_and(|byte| byte >> (at % 8) & 1 == 1);
    (0..bits.count).map(|at| if is_set(at) { '1' } else { '0' }).collect()
}

/// A value as JSON. A number that JSON does not have is a text.
fn json(value: Value<'_>) -> Json {
    let number = |number: f64| {
        stationdb::serde_json::Number::from_f64(number)
            .map_or_else(|| Json::from(cell(number)), Json::Number)
    };
    match value {
        Value::Missing => Json::Null,
        Value::Unsigned(number) => number.into(),
        Value::Signed(number) => number.into(),
        Value::Single(single) => number(f64::from(single)),
        Value::Double(double) => number(double),
        Value::Text(_) => value.text().unwrap_or_default().into(),
        Value::Bits(bits) => digits(bits).into(),
        Value::List(_) => Json::Array(value.items().map(json).collect()),
    }
}
