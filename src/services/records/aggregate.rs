//! Aggregates of records: the fields that a request names become the columns of rows, and the rows
//! are aggregated as those of a table.
//!
//! What must hold: the rows are in order of the records' ids, whatever way the query takes, so that
//! the first and the last record of a group are the same ones.

use std::collections::HashMap;
use std::sync::Arc;

use super::columns::leaf;
use super::field::{Path, find};
use super::kinds::{Position, ScannedKind};
use super::time_bucket::start_of;
use crate::arrow::array::{ArrayRef, AsArray, Int64Array, RecordBatch, StringArray};
use crate::arrow::datatypes::TimestampMillisecondType;
use crate::columnar::{
    Aggregation, Bounds, Key, MemoryRun, PartAggregates, Predicates, TableSchema,
};
use crate::error::{Error, Result};
use crate::model::{
    Aggregate, AggregateKey, AggregateRecordsRequest, Column, ColumnType, DataType,
    TableAggregates, TimeBucket,
};
use crate::services::lists;
use crate::services::tables::{aggregate_key, aggregate_term, different_keys};
use crate::session::{Access, View};
use crate::value::{Control, FieldDecl, FieldType, Row, Val, limits};

/// Records that are read, and aggregated, together.
const PART_RECORDS: usize = 1024;
/// The column with the number of the record. No field has this name.
const NUMBER: &str = "#";

/// Where the values of a column come from.
#[derive(Clone, Debug)]
enum From {
    /// A field.
    Field(usize, FieldType),
    /// An entry of the map in a field.
    Entry(usize, String),
    /// The start of the bucket of the time in a field.
    Bucket(usize, TimeBucket),
}

/// The columns of the rows that records become.
#[derive(Debug, Default)]
struct Columns {
    columns: Vec<Column>,
    from: Vec<From>,
    /// Positions by name.
    known: HashMap<String, usize>,
}

impl Columns {
    /// The position of the column of a field; the column with the number of the record is before.
    fn of_field(&mut self, fields: &[FieldDecl], name: &str, member: &str) -> Result<usize> {
        let path: Path = find(fields, name).map_err(|error| error.at_member(member))?;
        let (data_type, from) = match (path.ty, path.key) {
            (FieldType::Map, Some(key)) => (DataType::String, From::Entry(path.field, key)),
            (ty, None) => match data_type(ty) {
                Some(data_type) => (data_type, From::Field(path.field, ty)),
                None => return Err(no_value(name).at_member(member)),
            },
            _ => return Err(no_value(name).at_member(member)),
        };
        Ok(self.push(name.to_owned(), data_type, from))
    }

    fn of_bucket(
        &mut self,
        fields: &[FieldDecl],
        name: &str,
        bucket: TimeBucket,
        at: usize,
    ) -> Result<usize> {
        let member = |name: &str| format!("groupBy[{at}].{name}");
        let path = find(fields, name).map_err(|error| error.at_member(member("field")))?;
        if !matches!(path.ty, FieldType::Time) || path.key.is_some() {
            return Err(Error::invalid(format!(
                "the field {name:?} is no time, so it has no buckets of a {bucket}"
            ))
            .with_args([name])
            .at_member(member("bucket")));
        }
        let title = format!("{bucket} of {name}");
        Ok(self.push(title, DataType::Timestamp, From::Bucket(path.field, bucket)))
    }

    fn push(&mut self, name: String, data_type: DataType, from: From) -> usize {
        let (columns, known) = (&mut self.columns, &mut self.known);
        *known.entry(name).or_insert_with_key(|name| {
            let column = Column::new(name, data_type).column_type(ColumnType::Nullable);
            columns.push(column);
            self.from.push(from);
            columns.len()
        })
    }

    fn schema(&self) -> Result<Arc<TableSchema>> {
        let number = Column::new(NUMBER, DataType::Int64).column_type(ColumnType::Index);
        let columns = std::iter::once(number).chain(self.columns.iter().cloned()).collect();
        TableSchema::new(columns, usize::MAX).map(Arc::new)
    }

    /// The fields that are read.
    fn fields(&self) -> Vec<usize> {
        let field = |from: &From| match from {
            From::Field(at, _) | From::Entry(at, _) | From::Bucket(at, _) => *at,
        };
        self.from.iter().map(field).collect()
    }

    fn batch(&self, schema: &TableSchema, first: i64, rows: &[&dyn Row]) -> Result<RecordBatch> {
        let numbers: ArrayRef = Arc::new((first..).take(rows.len()).collect::<Int64Array>());
        let mut arrays = vec![numbers];
        for from in &self.from {
            arrays.push(array(from, rows)?);
        }
        RecordBatch::try_new(schema.arrow().clone(), arrays).map_err(|error| {
            Error::corrupt("internal error: records do not fit their columns; report it")
                .with_source(error)
        })
    }
}

fn no_value(name: &str) -> Error {
    Error::invalid(format!(
        "the field {name:?} has no single value to count or to group by; name an entry of a map as \
         in properties.lot"
    ))
    .with_args([name])
}

/// The type of the cells of a field that has one value.
fn data_type(ty: FieldType) -> Option<DataType> {
    Some(match ty {
        FieldType::Bool => DataType::Bool,
        FieldType::Int => DataType::Int64,
        FieldType::Double => DataType::Float64,
        FieldType::Time => DataType::Timestamp,
        FieldType::String | FieldType::DecimalId | FieldType::Reference | FieldType::Enum(_) => {
            DataType::String
        }
        FieldType::Within
        | FieldType::WorkspaceName
        | FieldType::ProductName
        | FieldType::Strings
        | FieldType::Map
        | FieldType::Maps
        | FieldType::Json
        | FieldType::Rows(_)
        | FieldType::Object => return None,
    })
}

fn array(from: &From, rows: &[&dyn Row]) -> Result<ArrayRef> {
    Ok(match from {
        From::Field(at, ty) => leaf(*at, *ty, rows)?,
        From::Entry(at, key) => {
            Arc::new(StringArray::from_iter(rows.iter().map(|row| match row.val(*at) {
                Val::Map(pairs) => pairs.get(key).flatten().map(str::to_owned),
                _ => None,
            })))
        }
        From::Bucket(at, bucket) => {
            let times = leaf(*at, FieldType::Time, rows)?;
            let times = times.as_primitive::<TimestampMillisecondType>();
            let starts =
                times.unary_opt::<_, TimestampMillisecondType>(|time| start_of(time, *bucket));
            Arc::new(starts.with_timezone_opt(times.timezone()))
        }
    })
}

/// Computes aggregates of the records that the caller may see and that match a filter.
pub(super) fn run<A: Access>(
    access: &A,
    request: &AggregateRecordsRequest,
) -> Result<TableAggregates> {
    let control = access.context().control(&Control::default());
    access.read(|view| of(view, request, &control))
}

/// The keys of a request, each once, and for each entry of `groupBy` its place among them.
fn keys(
    columns: &mut Columns,
    fields: &[FieldDecl],
    request: &AggregateRecordsRequest,
) -> Result<(Vec<Key>, Vec<usize>)> {
    let each = request.group_by.iter().flatten().enumerate();
    different_keys(each.map(|(at, by)| {
        match (by.bucket, by.width) {
            (Some(_), Some(_)) => Err(Error::invalid("a key has a bucket or a width, not both")
                .at_member(format!("groupBy[{at}].width"))),
            (Some(bucket), None) => {
                Ok(Key { column: columns.of_bucket(fields, &by.field, bucket, at)?, width: None })
            }
            (None, width) => {
                columns.of_field(fields, &by.field, &format!("groupBy[{at}].field"))?;
                let asked = AggregateKey { column: by.field.clone(), width };
                // The width is checked as that of a table, against the type of the column.
                aggregate_key(&*columns.schema()?, at, &asked)
            }
        }
    }))
}

fn of(
    view: &View<'_>,
    request: &AggregateRecordsRequest,
    control: &Control,
) -> Result<TableAggregates> {
    let kind = ScannedKind::new(request.kind);
    let wanted: &[Aggregate] = request.aggregates.as_deref().unwrap_or_default();
    lists::check("aggregates", wanted.len())?;
    lists::check("groupBy", request.group_by.as_ref().map_or(0, Vec::len))?;
    let mut columns = Columns::default();
    let (keys, places) = keys(&mut columns, kind.fields, request)?;
    for (at, aggregate) in wanted.iter().enumerate() {
        if let Some(name) = &aggregate.column {
            columns.of_field(kind.fields, name, &format!("aggregates[{at}].column"))?;
        }
    }
    let schema = columns.schema()?;
    let terms = wanted.iter().enumerate().map(|(at, wanted)| aggregate_term(&schema, at, wanted));
    let predicates = Predicates::default();
    let aggregation = Aggregation {
        keys,
        terms: terms.collect::<Result<_>>()?,
        predicates: &predicates,
        bounds: Bounds {
            groups: limits::AGGREGATE_GROUPS,
            bytes: view.context().settings().query_memory_bytes,
            budget: &view.context().engine.memory,
        },
    };
    let mut parts = PartAggregates::new(schema.clone(), &aggregation)?;
    let mut number = 0;
    let filter = request.filter.as_deref().filter(|filter| !filter.trim().is_empty());
    let members = (kind.members)(&columns.fields());
    let mut position = Position::default();
    while !position.is_done {
        let before = position.clone();
        let query = before.query(filter, request.substitutions.as_ref(), PART_RECORDS);
        kind.part(view, &query, members, &mut position, &mut |_, rows| {
            if rows.is_empty() {
                return Ok(());
            }
            control.check()?;
            let batch = columns.batch(&schema, number, rows)?;
            number = number.saturating_add(rows.len() as i64);
            parts.add(MemoryRun::new(&schema, &[batch], 0)?, control)
        })?;
    }
    let mut groups = parts.finish()?;
    if aggregation.keys.len() < places.len() {
        for group in &mut groups {
            let keys = places.iter().map(|place| group.keys.get(*place).cloned().flatten());
            group.keys = keys.collect();
        }
    }
    Ok(TableAggregates { groups, summarized_rows: None })
}
