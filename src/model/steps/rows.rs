//! Steps as rows of columns, and back.
//!
//! A step is one row with its members and its first parameter, and one more row for each further
//! parameter. The rows of a step follow each other. Every row has the members by which measurements
//! are selected, so a filter of measurements reads no other row.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::stored::{
    StepChunk, StoredData, StoredParameter, StoredStep, index_of, rest_of, result_key,
};
use crate::arrow::array::{
    Array, ArrayAccessor, ArrayRef, AsArray, BooleanArray, BooleanBuilder, Float64Array,
    Float64Builder, Int64Array, Int64Builder, RecordBatch, StringArray, StringBuilder,
    TimestampMillisecondArray, TimestampMillisecondBuilder,
};
use crate::arrow::datatypes::Int64Type;
use crate::error::{Error, Result};
use crate::model::tables::data::{Column, ColumnType, DataType};
use crate::value::RecordKey;
use crate::value::stored::{self, Payload};

/// The columns of the table of steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub(crate) enum StepColumn {
    /// First half of the key of the result.
    Result,
    /// Second half of it.
    ResultRest,
    /// Number of the step in its result.
    Seq,
    /// Position among the rows of the step.
    Position,
    /// Number of rows of the step, in its first row.
    Rows,
    StepId,
    ParentId,
    Name,
    StepType,
    StatusType,
    StatusName,
    StartedAt,
    UpdatedAt,
    TotalTime,
    /// Whether the data of the step has a list of parameters; null if it has no data.
    HasParameters,
    Text,
    DataModel,
    Inputs,
    Outputs,
    Keywords,
    Properties,
    Path,
    AncestorIds,
    HasChildren,
    /// Whether the row has a parameter.
    IsParameter,
    Measurement,
    Value,
    ValueText,
    Units,
    LowLimit,
    HighLimit,
    NominalValue,
    Comparison,
    Status,
    SpecId,
    Extra,
}

use StepColumn as Of;

/// Name, type and role of each column, in the order of [`StepColumn`].
const COLUMNS: [(&str, DataType, ColumnType); 36] = {
    use ColumnType::{Index, Normal, Nullable};
    use DataType::{Bool, Float64, Int64, String, Timestamp};
    [
        ("result", Int64, Index),
        ("result_rest", Int64, Normal),
        ("seq", Int64, Normal),
        ("position", Int64, Normal),
        ("rows", Int64, Nullable),
        ("step_id", String, Nullable),
        ("parent_id", String, Nullable),
        ("name", String, Normal),
        ("step_type", String, Nullable),
        ("status_type", String, Nullable),
        ("status_name", String, Nullable),
        ("started_at", Timestamp, Normal),
        ("updated_at", Timestamp, Nullable),
        ("total_time", Float64, Nullable),
        ("has_parameters", Bool, Nullable),
        ("text", String, Nullable),
        ("data_model", String, Nullable),
        ("inputs", String, Nullable),
        ("outputs", String, Nullable),
        ("keywords", String, Nullable),
        ("properties", String, Nullable),
        ("path", String, Normal),
        ("ancestor_ids", String, Nullable),
        ("has_children", Bool, Nullable),
        ("is_parameter", Bool, Normal),
        ("measurement", String, Nullable),
        ("value", Float64, Nullable),
        ("value_text", String, Nullable),
        ("units", String, Nullable),
        ("low_limit", String, Nullable),
        ("high_limit", String, Nullable),
        ("nominal_value", String, Nullable),
        ("comparison", String, Nullable),
        ("status", String, Nullable),
        ("spec_id", String, Nullable),
        ("extra", String, Nullable),
    ]
};

/// The columns of the table of steps.
#[must_use]
pub(crate) fn columns() -> Vec<Column> {
    let column = |(name, data_type, column_type): (&str, DataType, ColumnType)| Column {
        name: name.to_owned(),
        data_type,
        column_type,
        ..Column::default()
    };
    COLUMNS.into_iter().map(column).collect()
}

/// The rows of steps, column by column.
#[derive(Debug, Default)]
pub(crate) struct StepRows {
    columns: Vec<Builder>,
}

#[derive(Debug)]
enum Builder {
    Bool(BooleanBuilder),
    Int(Int64Builder),
    Time(TimestampMillisecondBuilder),
    Number(Float64Builder),
    Text(StringBuilder),
}

/// The JSON text of a list or map; none if it is empty.
fn json<T: Serialize>(value: &T, is_empty: bool) -> Option<String> {
    if is_empty { None } else { serde_json::to_string(value).ok() }
}

fn damaged(column: StepColumn) -> Error {
    damaged_at(column as usize)
}

/// The error about the column at a position.
fn damaged_at(column: usize) -> Error {
    let name = COLUMNS.get(column).map_or("", |(name, ..)| name);
    Error::corrupt(format!(
        "the column {name:?} of the table of steps is damaged; restore the store from a backup"
    ))
}

impl StepRows {
    /// No rows.
    pub(crate) fn new() -> Self {
        let builder = |(_, data_type, _): (&str, DataType, ColumnType)| match data_type {
            DataType::Bool => Builder::Bool(BooleanBuilder::new()),
            DataType::Float64 => Builder::Number(Float64Builder::new()),
            DataType::String => Builder::Text(StringBuilder::new()),
            DataType::Timestamp => {
                Builder::Time(TimestampMillisecondBuilder::new().with_timezone("UTC"))
            }
            _ => Builder::Int(Int64Builder::new()),
        };
        Self { columns: COLUMNS.into_iter().map(builder).collect() }
    }

    fn int(&mut self, column: StepColumn, value: Option<i64>) {
        match self.columns.get_mut(column as usize) {
            Some(Builder::Int(builder)) => builder.append_option(value),
            Some(Builder::Time(builder)) => builder.append_option(value),
            _ => {}
        }
    }

    fn flag(&mut self, column: StepColumn, value: Option<bool>) {
        if let Some(Builder::Bool(builder)) = self.columns.get_mut(column as usize) {
            builder.append_option(value);
        }
    }

    fn number(&mut self, column: StepColumn, value: Option<f64>) {
        if let Some(Builder::Number(builder)) = self.columns.get_mut(column as usize) {
            builder.append_option(value);
        }
    }

    fn text(&mut self, column: StepColumn, value: Option<&str>) {
        if let Some(Builder::Text(builder)) = self.columns.get_mut(column as usize) {
            builder.append_option(value);
        }
    }

    /// Adds the rows of a step.
    pub(crate) fn push(&mut self, result: RecordKey, step: &StoredStep) {
        let parameters = step.parameters();
        let row_count = parameters.len().max(1);
        for position in 0..row_count {
            self.int(Of::Result, Some(index_of(result)));
            self.int(Of::ResultRest, Some(rest_of(result)));
            self.int(Of::Seq, Some(step.seq.cast_signed()));
            self.int(Of::Position, Some(position as i64));
            self.text(Of::StepId, step.step_id.as_deref());
            self.text(Of::Name, Some(&step.name));
            self.text(Of::StepType, step.step_type.as_deref());
            self.text(Of::StatusType, step.status_type.as_deref());
            self.text(Of::StatusName, step.status_name.as_deref());
            self.int(Of::StartedAt, Some(step.started_at_ms));
            self.text(Of::Path, Some(&step.path));
            self.members(Some(step).filter(|_| position == 0), row_count);
            self.parameter(parameters.get(position));
        }
    }

    /// The members that only the first row of a step has.
    fn members(&mut self, step: Option<&StoredStep>, row_count: usize) {
        let text = |member: fn(&StoredStep) -> Option<&str>| step.and_then(member);
        self.int(Of::Rows, step.map(|_| row_count as i64));
        self.text(Of::ParentId, text(|step| step.parent_id.as_deref()));
        self.int(Of::UpdatedAt, step.map(|step| step.updated_at_ms));
        self.number(Of::TotalTime, step.map(|step| step.total_time));
        let data = step.and_then(|step| step.data.as_ref());
        self.flag(Of::HasParameters, data.map(|data| data.parameters.is_some()));
        self.text(Of::Text, text(|step| step.data.as_ref()?.text.as_deref()));
        self.text(Of::DataModel, text(|step| step.data_model.as_deref()));
        self.text(Of::Inputs, text(|step| step.inputs.as_deref()));
        self.text(Of::Outputs, text(|step| step.outputs.as_deref()));
        let keywords = step.and_then(|step| json(&step.keywords, step.keywords.is_empty()));
        self.text(Of::Keywords, keywords.as_deref());
        let properties = step.and_then(|step| json(&step.properties, step.properties.is_empty()));
        self.text(Of::Properties, properties.as_deref());
        let ancestors =
            step.and_then(|step| json(&step.ancestor_ids, step.ancestor_ids.is_empty()));
        self.text(Of::AncestorIds, ancestors.as_deref());
        self.flag(Of::HasChildren, step.map(|step| step.has_children));
    }

    fn parameter(&mut self, parameter: Option<&StoredParameter>) {
        let text = |member: fn(&StoredParameter) -> Option<&str>| parameter.and_then(member);
        self.flag(Of::IsParameter, Some(parameter.is_some()));
        self.text(Of::Measurement, text(|parameter| parameter.name.as_deref()));
        self.number(Of::Value, parameter.and_then(|parameter| parameter.value));
        self.text(Of::ValueText, text(|parameter| parameter.text.as_deref()));
        self.text(Of::Units, text(|parameter| parameter.units.as_deref()));
        self.text(Of::LowLimit, text(|parameter| parameter.low_limit.as_deref()));
        self.text(Of::HighLimit, text(|parameter| parameter.high_limit.as_deref()));
        self.text(Of::NominalValue, text(|parameter| parameter.nominal_value.as_deref()));
        self.text(Of::Comparison, text(|parameter| parameter.comparison.as_deref()));
        self.text(Of::Status, text(|parameter| parameter.status.as_deref()));
        self.text(Of::SpecId, text(|parameter| parameter.spec_id.as_deref()));
        let extra = parameter.and_then(|found| json(&found.extra, found.extra.is_empty()));
        self.text(Of::Extra, extra.as_deref());
    }

    /// The columns, in the order of [`columns`].
    pub(crate) fn finish(self) -> Vec<ArrayRef> {
        let array = |builder| -> ArrayRef {
            match builder {
                Builder::Bool(mut builder) => Arc::new(builder.finish()),
                Builder::Int(mut builder) => Arc::new(builder.finish()),
                Builder::Time(mut builder) => Arc::new(builder.finish()),
                Builder::Number(mut builder) => Arc::new(builder.finish()),
                Builder::Text(mut builder) => Arc::new(builder.finish()),
            }
        };
        self.columns.into_iter().map(array).collect()
    }
}

/// The rows of chunks, column by column.
///
/// # Errors
/// `Corrupt` for a chunk that has no steps.
pub(crate) fn arrays(chunks: &[(RecordKey, Payload<'_>)]) -> Result<Vec<ArrayRef>> {
    let mut rows = StepRows::new();
    for (result, payload) in chunks {
        let chunk: StepChunk = stored::read(*payload)?;
        for step in &chunk.steps {
            rows.push(*result, step);
        }
    }
    Ok(rows.finish())
}

/// The number of rows of a chunk.
///
/// # Errors
/// `Corrupt` for a chunk that has no steps.
pub(crate) fn row_count(payload: Payload<'_>) -> Result<u64> {
    stored::read::<StepChunk>(payload).map(|chunk| chunk.row_count())
}

/// Whether a row belongs to a result, by the second half of its key, which is the only column.
#[must_use]
pub(crate) fn is_of(result: RecordKey, rest: &RecordBatch, row: usize) -> bool {
    let rest = rest.columns().first().and_then(|rest| rest.as_primitive_opt::<Int64Type>());
    rest.is_some_and(|rest| row < rest.len() && rest.value(row) == rest_of(result))
}

/// The columns that [`rows_of_step`] reads.
pub(crate) const TOLD_BY: [usize; 3] =
    [Of::ResultRest as usize, Of::Seq as usize, Of::Rows as usize];

/// The rows of the step of a result with this number. The arrays are the columns [`TOLD_BY`].
///
/// # Errors
/// `Corrupt` for other columns.
pub(crate) fn rows_of_step(
    arrays: &[ArrayRef],
    result: RecordKey,
    number: u64,
) -> Result<Option<Range<usize>>> {
    let ints = |at: usize, column| {
        let array = arrays.get(at);
        array.and_then(|array| array.as_primitive_opt::<Int64Type>()).ok_or_else(|| damaged(column))
    };
    let (rest, seq, rows) = (ints(0, Of::ResultRest)?, ints(1, Of::Seq)?, ints(2, Of::Rows)?);
    let is_wanted = |row: &usize| {
        // Only the first row of a step has the number of its rows.
        let is_first = rest.value(*row) == rest_of(result) && !rows.is_null(*row);
        is_first && seq.value(*row).cast_unsigned() == number
    };
    let Some(first) = (0..rest.len()).find(is_wanted) else { return Ok(None) };
    let count = usize::try_from(rows.value(first)).map_err(|_| damaged(Of::Rows))?;
    Ok(Some(first..first.saturating_add(count)))
}

/// A column of a batch in the type that it has.
enum Cells<'b> {
    /// No row has a value.
    Nulls,
    Bool(&'b BooleanArray),
    Int(&'b Int64Array),
    Time(&'b TimestampMillisecondArray),
    Number(&'b Float64Array),
    Text(&'b StringArray),
}

impl<'b> Cells<'b> {
    /// The column at a position; `None` if it is not there, or has another type.
    fn of(arrays: &'b [ArrayRef], at: usize) -> Option<Self> {
        let array = arrays.get(at)?;
        let (_, data_type, _) = COLUMNS.get(at)?;
        let cells = match data_type {
            DataType::Bool => Self::Bool(array.as_boolean_opt()?),
            DataType::Float64 => Self::Number(array.as_primitive_opt()?),
            DataType::String => Self::Text(array.as_string_opt()?),
            DataType::Timestamp => Self::Time(array.as_primitive_opt()?),
            _ => Self::Int(array.as_primitive_opt()?),
        };
        let is_null = array.null_count() == array.len();
        Some(if is_null { Self::Nulls } else { cells })
    }
}

/// The value of a row; `None` for null.
fn cell<A: ArrayAccessor>(array: A, row: usize) -> Option<A::Item> {
    array.is_valid(row).then(|| array.value(row))
}

/// Reads the rows of a batch with all columns.
struct Reader<'b> {
    columns: Vec<Cells<'b>>,
}

impl<'b> Reader<'b> {
    fn new(arrays: &'b [ArrayRef]) -> Result<Self> {
        let cells = |at| Cells::of(arrays, at).ok_or_else(|| damaged_at(at));
        Ok(Self { columns: (0..COLUMNS.len()).map(cells).collect::<Result<_>>()? })
    }

    fn int(&self, column: StepColumn, row: usize) -> Result<Option<i64>> {
        match self.columns.get(column as usize) {
            Some(Cells::Nulls) => Ok(None),
            Some(Cells::Int(ints)) => Ok(cell(*ints, row)),
            Some(Cells::Time(times)) => Ok(cell(*times, row)),
            _ => Err(damaged(column)),
        }
    }

    fn some_int(&self, column: StepColumn, row: usize) -> Result<i64> {
        self.int(column, row)?.ok_or_else(|| damaged(column))
    }

    fn number(&self, column: StepColumn, row: usize) -> Result<Option<f64>> {
        match self.columns.get(column as usize) {
            Some(Cells::Nulls) => Ok(None),
            Some(Cells::Number(numbers)) => Ok(cell(*numbers, row)),
            _ => Err(damaged(column)),
        }
    }

    fn flag(&self, column: StepColumn, row: usize) -> Result<Option<bool>> {
        match self.columns.get(column as usize) {
            Some(Cells::Nulls) => Ok(None),
            Some(Cells::Bool(flags)) => Ok(cell(*flags, row)),
            _ => Err(damaged(column)),
        }
    }

    fn str(&self, column: StepColumn, row: usize) -> Result<Option<&'b str>> {
        match self.columns.get(column as usize) {
            Some(Cells::Nulls) => Ok(None),
            Some(Cells::Text(texts)) => Ok(cell(*texts, row)),
            _ => Err(damaged(column)),
        }
    }

    fn text(&self, column: StepColumn, row: usize) -> Result<Option<String>> {
        Ok(self.str(column, row)?.map(str::to_owned))
    }

    fn some_text(&self, column: StepColumn, row: usize) -> Result<String> {
        self.text(column, row)?.ok_or_else(|| damaged(column))
    }

    fn json<T: DeserializeOwned + Default>(&self, column: StepColumn, row: usize) -> Result<T> {
        match self.str(column, row)? {
            None => Ok(T::default()),
            Some(text) => {
                serde_json::from_str(text).map_err(|error| damaged(column).with_source(error))
            }
        }
    }

    fn step(&self, row: usize) -> Result<StoredStep> {
        let text = self.text(Of::Text, row)?;
        let has_parameters = self.flag(Of::HasParameters, row)?;
        Ok(StoredStep {
            seq: self.some_int(Of::Seq, row)?.cast_unsigned(),
            step_id: self.text(Of::StepId, row)?,
            parent_id: self.text(Of::ParentId, row)?,
            name: self.some_text(Of::Name, row)?,
            step_type: self.text(Of::StepType, row)?,
            status_type: self.text(Of::StatusType, row)?,
            status_name: self.text(Of::StatusName, row)?,
            started_at_ms: self.some_int(Of::StartedAt, row)?,
            updated_at_ms: self.some_int(Of::UpdatedAt, row)?,
            total_time: self.number(Of::TotalTime, row)?.unwrap_or_default(),
            data: has_parameters
                .map(|is_list| StoredData { text, parameters: is_list.then(Vec::new) }),
            data_model: self.text(Of::DataModel, row)?,
            inputs: self.text(Of::Inputs, row)?,
            outputs: self.text(Of::Outputs, row)?,
            keywords: self.json(Of::Keywords, row)?,
            properties: self.json::<BTreeMap<String, String>>(Of::Properties, row)?,
            path: self.some_text(Of::Path, row)?,
            ancestor_ids: self.json(Of::AncestorIds, row)?,
            has_children: self.flag(Of::HasChildren, row)? == Some(true),
        })
    }

    fn parameter(&self, row: usize) -> Result<StoredParameter> {
        Ok(StoredParameter {
            name: self.text(Of::Measurement, row)?,
            value: self.number(Of::Value, row)?,
            text: self.text(Of::ValueText, row)?,
            units: self.text(Of::Units, row)?,
            low_limit: self.text(Of::LowLimit, row)?,
            high_limit: self.text(Of::HighLimit, row)?,
            nominal_value: self.text(Of::NominalValue, row)?,
            comparison: self.text(Of::Comparison, row)?,
            status: self.text(Of::Status, row)?,
            spec_id: self.text(Of::SpecId, row)?,
            extra: self.json(Of::Extra, row)?,
        })
    }
}

/// The steps of the rows of a batch, each with the key of its result. The batch has all columns,
/// and whole steps.
///
/// # Errors
/// `Corrupt` when the rows are not those of whole steps.
pub(crate) fn steps_of(batch: &RecordBatch) -> Result<Vec<(RecordKey, StoredStep)>> {
    steps_in(batch.columns())
}

/// [`steps_of`] all columns of some rows, which all have the same length.
///
/// # Errors
/// As [`steps_of`].
pub(crate) fn steps_in(arrays: &[ArrayRef]) -> Result<Vec<(RecordKey, StoredStep)>> {
    let reader = Reader::new(arrays)?;
    let mut steps: Vec<(RecordKey, StoredStep)> = Vec::new();
    for row in 0..arrays.first().map_or(0, |array| array.len()) {
        let position = reader.some_int(Of::Position, row)?;
        if position == 0 {
            let index = reader.some_int(Of::Result, row)?;
            let rest = reader.some_int(Of::ResultRest, row)?;
            let key = result_key(index, rest).ok_or_else(|| damaged(Of::Result))?;
            steps.push((key, reader.step(row)?));
        }
        let Some((_, step)) = steps.last_mut() else { return Err(damaged(Of::Position)) };
        if reader.flag(Of::IsParameter, row)? == Some(true) {
            let parameters = step.data.as_mut().and_then(|data| data.parameters.as_mut());
            let parameters = parameters.ok_or_else(|| damaged(Of::HasParameters))?;
            if parameters.len() as i64 != position {
                return Err(damaged(Of::Position));
            }
            parameters.push(reader.parameter(row)?);
        }
    }
    Ok(steps)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arrow::datatypes::{DataType as ArrowType, Field, Schema, TimeUnit};
    use crate::value::IdForm;

    /// A batch of the rows of steps.
    fn batch(steps: &[(RecordKey, StoredStep)]) -> RecordBatch {
        let mut rows = StepRows::new();
        for (result, step) in steps {
            rows.push(*result, step);
        }
        let arrays = rows.finish();
        let field = |(column, array): (Column, &ArrayRef)| {
            let is_nullable = column.column_type == ColumnType::Nullable;
            Field::new(column.name, array.data_type().clone(), is_nullable)
        };
        let fields: Vec<Field> = columns().into_iter().zip(&arrays).map(field).collect();
        RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays).unwrap()
    }

    fn result(number: u8) -> RecordKey {
        RecordKey::from_bytes(IdForm::Guid, &[number; 16]).unwrap()
    }

    fn parameter(name: &str, value: Option<f64>, text: Option<&str>) -> StoredParameter {
        StoredParameter {
            name: Some(name.to_owned()),
            value,
            text: text.map(str::to_owned),
            ..Default::default()
        }
    }

    #[test]
    fn rows_are_read_back_as_the_steps_that_they_are_of() {
        let plain =
            StoredStep { name: "plain".to_owned(), path: "plain".to_owned(), ..Default::default() };
        let full = StoredStep {
            seq: 1,
            step_id: Some("s1".to_owned()),
            parent_id: Some("s0".to_owned()),
            name: String::new(),
            step_type: Some("NumericLimitTest".to_owned()),
            status_type: Some("CUSTOM".to_owned()),
            status_name: Some("Odd".to_owned()),
            started_at_ms: -5,
            updated_at_ms: 1_700_000_000_123,
            total_time: 0.1,
            data: Some(StoredData {
                text: Some("line\nline".to_owned()),
                parameters: Some(vec![
                    StoredParameter {
                        units: Some("V".to_owned()),
                        low_limit: Some("11.80".to_owned()),
                        high_limit: Some("12.2".to_owned()),
                        nominal_value: Some(String::new()),
                        comparison: Some("GELE".to_owned()),
                        status: Some("Passed".to_owned()),
                        spec_id: Some("7".to_owned()),
                        extra: BTreeMap::from([("k".to_owned(), "ä".to_owned())]),
                        ..parameter("VOUT", Some(12.01), None)
                    },
                    parameter("text", None, Some("3.10 x")),
                    StoredParameter::default(),
                    parameter("VOUT", Some(f64::NAN), None),
                ]),
            }),
            data_model: Some("TestStand".to_owned()),
            inputs: Some("[{\"name\":\"a\",\"value\":35}]".to_owned()),
            outputs: Some("[]".to_owned()),
            keywords: vec!["b".to_owned(), "a".to_owned()],
            properties: BTreeMap::from([("p".to_owned(), String::new())]),
            path: "plain\n".to_owned(),
            ancestor_ids: vec!["s0".to_owned()],
            has_children: true,
        };
        let empty = StoredStep { seq: 2, data: Some(StoredData::default()), ..plain.clone() };
        let steps = vec![(result(1), plain), (result(1), full), (result(200), empty)];
        let batch = batch(&steps);
        assert_eq!(batch.num_rows(), 6);
        let back = steps_of(&batch).unwrap();
        // NaN is not equal to itself.
        assert_eq!(format!("{back:?}"), format!("{steps:?}"));
        assert_eq!(
            batch.column(Of::StartedAt as usize).data_type(),
            &ArrowType::Timestamp(TimeUnit::Millisecond, Some("UTC".into()))
        );
    }

    #[test]
    fn rows_of_a_step_are_found_by_its_number_in_its_result() {
        let named = |seq: u64, step_id: Option<&str>, count: usize| StoredStep {
            seq,
            step_id: step_id.map(str::to_owned),
            data: Some(StoredData {
                text: None,
                parameters: Some(vec![StoredParameter::default(); count]),
            }),
            ..Default::default()
        };
        let steps = vec![
            (result(2), named(0, Some("a"), 1)),
            (result(1), named(0, None, 2)),
            (result(1), named(1, Some("a"), 3)),
            (result(1), named(2, None, 0)),
        ];
        let batch = batch(&steps).project(&TOLD_BY).unwrap();
        let found = |of: u8, seq: u64| rows_of_step(batch.columns(), result(of), seq).unwrap();
        assert_eq!(found(1, 1), Some(3..6));
        assert_eq!(found(2, 0), Some(0..1));
        assert_eq!(found(3, 0), None);
        assert_eq!(found(1, 3), None);
        assert_eq!(found(1, 0), Some(1..3));
        assert_eq!(found(1, 2), Some(6..7));
        assert!(rows_of_step(&batch.columns()[..1], result(1), 1).is_err());
    }

    #[test]
    fn rows_that_are_no_steps_are_damage() {
        let step = StoredStep {
            data: Some(StoredData {
                text: None,
                parameters: Some(vec![
                    parameter("a", Some(1.0), None),
                    parameter("b", Some(2.0), None),
                ]),
            }),
            ..Default::default()
        };
        let whole = batch(&[(result(1), step)]);
        assert_eq!(steps_of(&whole).unwrap().len(), 1);
        let error = steps_of(&whole.slice(1, 1)).unwrap_err();
        assert_eq!(error.kind(), crate::error::ErrorKind::Corrupt);
        let fewer: Vec<usize> = (0..COLUMNS.len() - 1).collect();
        assert!(steps_of(&whole.project(&fewer).unwrap()).is_err());
    }
}
