//! Actions of a log in their two forms: lines of JSON in a version, and rows of Parquet in a
//! checkpoint, where each row has one action in the column of its kind.

use std::sync::Arc;

use bytes::Bytes;
use parquet::arrow::arrow_reader::ArrowReaderOptions;
use parquet::arrow::{ArrowWriter, ProjectionMask};
use parquet::basic::{Compression, ZstdLevel};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use serde_json::{Map, Value};
use stationdb::arrow::array::{
    Array, ArrayRef, AsArray, BooleanArray, Int32Array, Int64Array, ListArray, MapArray,
    RecordBatch, StringArray, StructArray,
};
use stationdb::arrow::buffer::{NullBuffer, OffsetBuffer};
use stationdb::arrow::datatypes::{DataType, Field, Int32Type, Int64Type, Schema};
use stationdb::{Error, ErrorKind, Result};

use crate::encoding::ParquetResult;
use crate::footer;

/// Actions that are encoded or decoded at a time.
const BATCH: usize = 4 * 1024;
/// The kinds that a checkpoint of the classic form has.
const KINDS: [&str; 5] = ["txn", "add", "remove", "metaData", "protocol"];

/// Kinds that checkpoints of other engines may have.
const OTHERS: [&str; 3] = ["domainMetadata", "sidecar", "checkpointMetadata"];

/// A kind, and what the action says.
pub(crate) type Action = (String, Value);

/// The actions of a version.
///
/// # Errors
/// `Corrupt` for bytes that are no lines of JSON objects.
pub(crate) fn of_version(version: u64, bytes: &[u8]) -> Result<Vec<Action>> {
    let mut actions = Vec::new();
    for line in bytes.split(|byte| *byte == b'\n').filter(|line| !line.trim_ascii().is_empty()) {
        let action: Map<String, Value> = serde_json::from_slice(line).map_err(|error| {
            let what = format!("version {version} of a log of the lake is not a list of actions");
            Error::corrupt(what).with_source(error)
        })?;
        actions.extend(action);
    }
    Ok(actions)
}

fn texts(names: &[&str]) -> Vec<Field> {
    names.iter().map(|name| Field::new(*name, DataType::Utf8, true)).collect()
}

fn numbers(names: &[&str]) -> Vec<Field> {
    names.iter().map(|name| Field::new(*name, DataType::Int64, true)).collect()
}

fn flags(names: &[&str]) -> Vec<Field> {
    names.iter().map(|name| Field::new(*name, DataType::Boolean, true)).collect()
}

/// Members whose values are texts by texts.
fn maps(names: &[&str]) -> Vec<Field> {
    let key = Field::new("key", DataType::Utf8, false);
    let pair = vec![key, Field::new("value", DataType::Utf8, true)];
    let entries = Arc::new(Field::new("key_value", DataType::Struct(pair.into()), false));
    let map = |name: &&str| Field::new(*name, DataType::Map(entries.clone(), false), true);
    names.iter().map(map).collect()
}

fn lists(names: &[&str]) -> Vec<Field> {
    let list =
        |name: &&str| Field::new_list(*name, Field::new("element", DataType::Utf8, true), true);
    names.iter().map(list).collect()
}

fn object(name: &str, members: &[Vec<Field>]) -> Field {
    Field::new(name, DataType::Struct(members.concat().into()), true)
}

/// The columns of a checkpoint.
fn schema() -> Schema {
    let int = |name: &str| Field::new(name, DataType::Int32, true);
    let format = object("format", &[texts(&["provider"]), maps(&["options"])]);
    Schema::new(vec![
        object("txn", &[texts(&["appId"]), numbers(&["version", "lastUpdated"])]),
        object(
            "add",
            &[
                texts(&["path"]),
                maps(&["partitionValues"]),
                numbers(&["size", "modificationTime"]),
                flags(&["dataChange"]),
                texts(&["stats"]),
                maps(&["tags"]),
            ],
        ),
        object(
            "remove",
            &[
                texts(&["path"]),
                numbers(&["deletionTimestamp"]),
                flags(&["dataChange", "extendedFileMetadata"]),
                maps(&["partitionValues"]),
                numbers(&["size"]),
            ],
        ),
        object(
            "metaData",
            &[
                texts(&["id", "name", "description"]),
                vec![format],
                texts(&["schemaString"]),
                lists(&["partitionColumns"]),
                maps(&["configuration"]),
                numbers(&["createdTime"]),
            ],
        ),
        object(
            "protocol",
            &[
                vec![int("minReaderVersion"), int("minWriterVersion")],
                lists(&["readerFeatures", "writerFeatures"]),
            ],
        ),
    ])
}

/// The bytes of a checkpoint with these actions, all of [`KINDS`].
pub(crate) fn encode(actions: &[Action]) -> Result<Bytes> {
    let failed = |error: ParquetError| {
        Error::new(ErrorKind::Io, format!("writing a checkpoint: {error}")).with_source(error)
    };
    encoded(actions).map_err(failed)
}

fn encoded(actions: &[Action]) -> ParquetResult<Bytes> {
    let schema = Arc::new(schema());
    let properties = WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::default()))
        .set_created_by(concat!("stationdb-lake ", env!("CARGO_PKG_VERSION")).to_owned())
        .build();
    let mut writer = ArrowWriter::try_new(Vec::new(), schema.clone(), Some(properties))?;
    for some in actions.chunks(BATCH) {
        let column = |field: &Arc<Field>| {
            let of_kind = |(kind, action)| (kind == field.name()).then_some(action);
            let values: Vec<Option<&Value>> =
                some.iter().map(|(kind, action)| of_kind((kind, action))).collect();
            array(field.data_type(), &values)
        };
        let columns = schema.fields().iter().map(column).collect::<ParquetResult<Vec<_>>>()?;
        writer.write(&RecordBatch::try_new(schema.clone(), columns)?)?;
    }
    Ok(writer.into_inner()?.into())
}

/// Values as an array; a value of another type is null.
fn array(data_type: &DataType, values: &[Option<&Value>]) -> ParquetResult<ArrayRef> {
    let values = || values.iter().copied();
    Ok(match data_type {
        DataType::Utf8 => {
            let texts = values().map(|value| value.and_then(Value::as_str));
            Arc::new(texts.collect::<StringArray>())
        }
        DataType::Int64 => {
            let numbers = values().map(|value| value.and_then(Value::as_i64));
            Arc::new(numbers.collect::<Int64Array>())
        }
        DataType::Int32 => {
            let number = |value: &Value| i32::try_from(value.as_i64()?).ok();
            Arc::new(values().map(|value| value.and_then(number)).collect::<Int32Array>())
        }
        DataType::Boolean => {
            let flags = values().map(|value| value.and_then(Value::as_bool));
            Arc::new(flags.collect::<BooleanArray>())
        }
        DataType::Struct(fields) => {
            let member = |field: &Arc<Field>| {
                let inner: Vec<Option<&Value>> =
                    values().map(|value| value.and_then(|value| value.get(field.name()))).collect();
                array(field.data_type(), &inner)
            };
            let members = fields.iter().map(member).collect::<ParquetResult<Vec<_>>>()?;
            let there = values().map(|value| value.is_some_and(Value::is_object));
            Arc::new(StructArray::try_new(fields.clone(), members, Some(there.collect()))?)
        }
        DataType::List(field) => {
            let lists: Vec<Option<&Vec<Value>>> =
                values().map(|value| value.and_then(Value::as_array)).collect();
            let inner: Vec<Option<&Value>> =
                lists.iter().flatten().flat_map(|list| list.iter()).map(Some).collect();
            let offsets =
                OffsetBuffer::from_lengths(lists.iter().map(|list| list.map_or(0, Vec::len)));
            let there: NullBuffer = lists.iter().map(Option::is_some).collect();
            let inner = array(field.data_type(), &inner)?;
            Arc::new(ListArray::try_new(field.clone(), offsets, inner, Some(there))?)
        }
        DataType::Map(entries, _) => {
            let maps: Vec<Option<&Map<String, Value>>> =
                values().map(|value| value.and_then(Value::as_object)).collect();
            let pairs = || maps.iter().flatten().flat_map(|map| map.iter());
            let keys: StringArray = pairs().map(|(key, _)| Some(key)).collect();
            let texts: StringArray = pairs().map(|(_, value)| value.as_str()).collect();
            let offsets =
                OffsetBuffer::from_lengths(maps.iter().map(|map| map.map_or(0, Map::len)));
            let there: NullBuffer = maps.iter().map(Option::is_some).collect();
            let DataType::Struct(pair) = entries.data_type() else {
                return Err(ParquetError::General("a map without entries".to_owned()));
            };
            let pairs =
                StructArray::try_new(pair.clone(), vec![Arc::new(keys), Arc::new(texts)], None)?;
            Arc::new(MapArray::try_new(entries.clone(), offsets, pairs, Some(there), false)?)
        }
        other => return Err(ParquetError::NYI(format!("{other} in a checkpoint"))),
    })
}

/// Passes on the actions of a checkpoint, in no order.
///
/// # Errors
/// `Corrupt` for bytes that are no checkpoint, `Unsupported` for one of another form; errors of
/// `each`.
pub(crate) fn decode(bytes: Bytes, each: &mut dyn FnMut(&str, Value) -> Result<()>) -> Result<()> {
    let broken = |error: ParquetError| {
        Error::corrupt(format!("a checkpoint cannot be read: {error}")).with_source(error)
    };
    // The types of the file, and not those that the engine had which wrote it.
    let options = ArrowReaderOptions::new().with_skip_arrow_metadata(true);
    let reader = footer::open(bytes, options).map_err(broken)?;
    let roots = reader.parquet_schema().root_schema().get_fields();
    let is_known = |name: &str| KINDS.contains(&name) || OTHERS.contains(&name);
    let known = roots.iter().enumerate().filter(|(_, root)| is_known(root.name()));
    let known: Vec<usize> = known.map(|(at, _)| at).collect();
    let mask = ProjectionMask::roots(reader.parquet_schema(), known);
    let reader = reader.with_projection(mask).with_batch_size(BATCH).build().map_err(broken)?;
    for batch in reader {
        let batch = batch.map_err(|error| broken(error.into()))?;
        let schema = batch.schema();
        for (field, column) in schema.fields().iter().zip(batch.columns()) {
            for row in (0..column.len()).filter(|row| column.is_valid(*row)) {
                if matches!(field.name().as_str(), "sidecar" | "checkpointMetadata") {
                    let what = "a checkpoint has a form that is not known here";
                    return Err(Error::unsupported(what));
                }
                each(field.name(), json(column, row))?;
            }
        }
    }
    Ok(())
}

/// A value as JSON; members that are null are left out.
fn json(array: &ArrayRef, row: usize) -> Value {
    if array.is_null(row) {
        return Value::Null;
    }
    match array.data_type() {
        DataType::Utf8 => array.as_string::<i32>().value(row).into(),
        DataType::Int64 => array.as_primitive::<Int64Type>().value(row).into(),
        DataType::Int32 => array.as_primitive::<Int32Type>().value(row).into(),
        DataType::Boolean => array.as_boolean().value(row).into(),
        DataType::Struct(fields) => {
            let columns = fields.iter().zip(array.as_struct().columns());
            let members = columns.map(|(field, column)| (field.name().clone(), json(column, row)));
            Value::Object(members.filter(|(_, value)| !value.is_null()).collect())
        }
        DataType::List(_) => {
            let list = array.as_list::<i32>().value(row);
            (0..list.len()).map(|at| json(&list, at)).collect()
        }
        DataType::Map(..) => {
            let pairs = array.as_map().value(row);
            let [keys, values] = pairs.columns() else { return Value::Null };
            let pair = |at| Some((json(keys, at).as_str()?.to_owned(), json(values, at)));
            Value::Object((0..pairs.len()).filter_map(pair).collect())
        }
        // Members that other writers add.
        _ => Value::Null,
    }
}
