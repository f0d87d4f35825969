//! Columns of the store as columns of the lake: types that Delta has, and names that it allows.

use std::sync::Arc;

use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use stationdb::arrow::datatypes::{DataType, Field, FieldRef, Fields, TimeUnit};
use stationdb::scans::RecordKind;
use stationdb::{Error, Result};

/// Key of the metadata of a lake column with the name that it has at the station.
const NAME: &str = "stationdb.name";
/// The column with the number of the sending that brought the steps of a result.
const SENDING: &str = "_sending";
/// What a column of nanoseconds has after its name: a Delta timestamp counts microseconds.
const NANOSECONDS: &str = "\u{0}ns";

/// A time of Delta: microseconds in UTC.
fn timestamp() -> DataType {
    DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into()))
}

/// The type that a lake column has for a type of the store.
pub(crate) fn lake_type(stored: &DataType) -> DataType {
    let inner = |field: &FieldRef| -> FieldRef {
        Arc::new(Field::new(field.name(), lake_type(field.data_type()), field.is_nullable()))
    };
    match stored {
        DataType::Timestamp(..) => timestamp(),
        DataType::Struct(fields) => DataType::Struct(fields.iter().map(inner).collect::<Fields>()),
        DataType::List(field) => DataType::List(inner(field)),
        DataType::Map(field, sorted) => DataType::Map(inner(field), *sorted),
        other => other.clone(),
    }
}

/// A type as the log names it.
///
/// # Errors
/// `Unsupported` for a type that Delta does not have.
fn delta_type(data_type: &DataType) -> Result<Value> {
    let name = match data_type {
        DataType::Boolean => "boolean",
        DataType::Int32 => "integer",
        DataType::Int64 => "long",
        DataType::Float32 => "float",
        DataType::Float64 => "double",
        DataType::Utf8 => "string",
        DataType::Timestamp(..) => "timestamp",
        DataType::List(field) => {
            return Ok(json!({
                "type": "array", "elementType": delta_type(field.data_type())?,
                "containsNull": field.is_nullable(),
            }));
        }
        DataType::Struct(fields) => {
            let members = fields.iter().map(|field| delta_field(field, None));
            let members = members.collect::<Result<Vec<_>>>()?;
            return Ok(json!({ "type": "struct", "fields": members }));
        }
        DataType::Map(entries, _) => {
            let DataType::Struct(fields) = entries.data_type() else {
                return Err(Error::unsupported("a map without entries has no type in a lake"));
            };
            let [key, value] = fields.as_ref() else {
                return Err(Error::unsupported("a map without values has no type in a lake"));
            };
            return Ok(json!({
                "type": "map", "keyType": delta_type(key.data_type())?,
                "valueType": delta_type(value.data_type())?,
                "valueContainsNull": value.is_nullable(),
            }));
        }
        other => return Err(Error::unsupported(format!("{other} has no type in a lake"))),
    };
    Ok(Value::String(name.to_owned()))
}

fn delta_field(field: &Field, stored_name: Option<&str>) -> Result<Value> {
    let metadata = stored_name.map_or_else(|| json!({}), |name| json!({ NAME: name }));
    Ok(json!({
        "name": field.name(), "type": delta_type(field.data_type())?, "nullable": true,
        "metadata": metadata,
    }))
}

/// A column of the store in the lake.
#[derive(Clone, Debug)]
pub(crate) struct LakeColumn {
    /// Position of the column at the station.
    pub from: usize,
    /// Name that identifies it in the lake's schema.
    stored: String,
    /// Name and type in the lake; required columns of the station stay required in files.
    pub field: Field,
}

/// The columns before those of the data.
fn identity(names: &[(&str, DataType)]) -> Vec<Field> {
    names.iter().map(|(name, data_type)| Field::new(*name, data_type.clone(), false)).collect()
}

/// Identity of rows.
pub(crate) fn row_identity() -> Vec<Field> {
    use DataType::{Int64, Utf8};
    identity(&[
        ("_station", Utf8),
        ("_workspace", Utf8),
        ("_table", Utf8),
        ("_batch", Int64),
        ("_row", Int64),
    ])
}

/// Identity of changes of records. Those of results say with which sending their steps came.
pub(crate) fn change_identity(kind: RecordKind) -> Vec<Field> {
    use DataType::{Int64, Utf8};
    let mut fields = identity(&[
        ("_station", Utf8),
        ("_workspace", Utf8),
        ("_batch", Int64),
        ("_sequence", Int64),
        ("_what", Utf8),
        ("_id", Utf8),
    ]);
    if kind == RecordKind::TestResult {
        fields.push(Field::new(SENDING, Int64, true));
    }
    fields
}

/// Identity of the steps and of the measurements of results.
pub(crate) fn step_identity() -> Vec<Field> {
    use DataType::{Int64, Utf8};
    identity(&[("_station", Utf8), ("_workspace", Utf8), ("_batch", Int64), (SENDING, Int64)])
}

/// Deleted rows.
pub(crate) fn deleted_columns() -> Vec<Field> {
    use DataType::{Int64, Utf8};
    identity(&[
        ("_station", Utf8),
        ("_table", Utf8),
        ("_row_from", Int64),
        ("_row_to", Int64),
        ("_batch", Int64),
    ])
}

/// Batches that are complete.
pub(crate) fn batch_columns() -> Vec<Field> {
    use DataType::{Int64, Utf8};
    identity(&[
        ("_station", Utf8),
        ("_batch", Int64),
        ("_rows_from", Int64),
        ("_epoch", Int64),
        ("_sequence", Int64),
        ("_published", timestamp()),
    ])
}

/// The first hexadecimal digits of a hash.
pub(crate) fn short_hash(text: &str) -> String {
    let hash = Sha256::digest(text.as_bytes());
    hash.iter().take(4).map(|byte| format!("{byte:02x}")).collect()
}

/// A name without the characters that Delta forbids; each is `%` and two digits.
fn escaped(name: &str) -> String {
    let mut out = String::with_capacity(name.len());
    for letter in name.chars() {
        let is_forbidden = " ,;{}()\n\t=%".contains(letter) || letter.is_control();
        match letter {
            _ if is_forbidden => out.push_str(&format!("%{:02X}", u32::from(letter))),
            // A point would be a path of names in many engines.
            '.' | '`' | '"' | '/' | '\\' => out.push_str(&format!("%{:02X}", u32::from(letter))),
            letter => out.push(letter),
        }
    }
    out
}

/// The columns of a table in a lake table with these fields, and the fields that it lacks.
///
/// A column is found by its name at the station, which the lake's schema has, so that two names
/// that differ only in case keep apart.
///
/// # Errors
/// `Conflict` when the lake table has a column of the name with another type.
pub(crate) fn placed(
    own: &[Field],
    columns: &[FieldRef],
    lake: &[Value],
) -> Result<(Vec<LakeColumn>, Vec<Value>)> {
    let mut fields: Vec<Value> = lake.to_vec();
    let mut added = Vec::new();
    let is = |field: &Value, key: &str, name: &str| {
        field.get(key).and_then(Value::as_str).is_some_and(|own| own == name)
    };
    for field in own {
        match fields.iter().find(|known| is(known, "name", field.name())) {
            Some(known) if known.get("type") == Some(&delta_type(field.data_type())?) => {}
            Some(known) => return Err(other_type(field.name(), known)),
            None => {
                let field = delta_field(field, None)?;
                fields.push(field.clone());
                added.push(field);
            }
        }
    }
    let mut placed = Vec::with_capacity(columns.len());
    for (from, column) in columns.iter().enumerate() {
        let mut place = |stored: String, shown: String, data_type: DataType, nullable| {
            let wanted = delta_type(&data_type)?;
            let known = fields.iter().find(|field| {
                field.get("metadata").is_some_and(|metadata| is(metadata, NAME, &stored))
            });
            let name = match known {
                Some(known) if known.get("type") == Some(&wanted) => {
                    known.get("name").and_then(Value::as_str).unwrap_or_default().to_owned()
                }
                Some(known) => return Err(other_type(&stored, known)),
                None => {
                    let name = free_name(&shown, &stored, &fields);
                    let field = Field::new(&name, data_type.clone(), true);
                    let field = delta_field(&field, Some(&stored))?;
                    fields.push(field.clone());
                    added.push(field);
                    name
                }
            };
            placed.push(LakeColumn { from, stored, field: Field::new(name, data_type, nullable) });
            Ok(())
        };
        let (name, nullable) = (column.name(), column.is_nullable());
        place(name.clone(), escaped(name), lake_type(column.data_type()), nullable)?;
        if matches!(column.data_type(), DataType::Timestamp(TimeUnit::Nanosecond, _)) {
            let (stored, shown) = (format!("{name}{NANOSECONDS}"), format!("{}_ns", escaped(name)));
            place(stored, shown, DataType::Int64, nullable)?;
        }
    }
    Ok((placed, added))
}

/// The name, or with a suffix if a column has it already but for case.
fn free_name(name: &str, stored: &str, fields: &[Value]) -> String {
    let is_taken = |name: &str| {
        let folded = name.to_lowercase();
        let names = fields.iter().filter_map(|field| field.get("name")).filter_map(Value::as_str);
        let mut names = names.map(str::to_lowercase);
        names.any(|own| own == folded)
    };
    if is_taken(name) { format!("{name}%{}", short_hash(stored)) } else { name.to_owned() }
}

fn other_type(name: &str, known: &Value) -> Error {
    Error::conflict(format!(
        "the lake has the column {name:?} with the type {}",
        known.get("type").unwrap_or(&Value::Null)
    ))
}

/// The name at the station of a field of the lake's schema, and whether it has the nanoseconds of
/// that column; the columns before the data have none.
pub(crate) fn named_at_the_station(field: &Value) -> Option<(String, bool)> {
    let name = field.get("metadata")?.get(NAME)?.as_str()?;
    Some(match name.strip_suffix(NANOSECONDS) {
        Some(name) => (name.to_owned(), true),
        None => (name.to_owned(), false),
    })
}

/// Fields of the lake's schema as Arrow has them.
///
/// # Errors
/// `Corrupt` for a field without a name, `Unsupported` for a type that no store has.
pub(crate) fn read_fields(fields: &[Value]) -> Result<Vec<Field>> {
    let field = |field: &Value| {
        let name = field.get("name").and_then(Value::as_str);
        let name = name.ok_or_else(|| Error::corrupt("a field of a lake table has no name"))?;
        Ok(Field::new(name, read_type(field.get("type").unwrap_or(&Value::Null))?, true))
    };
    fields.iter().map(field).collect()
}

fn read_type(delta: &Value) -> Result<DataType> {
    let inner = |member: &str| read_type(delta.get(member).unwrap_or(&Value::Null));
    let kind = delta.as_str().or_else(|| delta.get("type")?.as_str());
    Ok(match kind {
        Some("boolean") => DataType::Boolean,
        Some("integer") => DataType::Int32,
        Some("long") => DataType::Int64,
        Some("float") => DataType::Float32,
        Some("double") => DataType::Float64,
        Some("string") => DataType::Utf8,
        Some("timestamp") => timestamp(),
        Some("array") => {
            DataType::List(Arc::new(Field::new_list_field(inner("elementType")?, true)))
        }
        Some("struct") => {
            let members = delta.get("fields").and_then(Value::as_array);
            DataType::Struct(read_fields(members.map(Vec::as_slice).unwrap_or_default())?.into())
        }
        Some("map") => {
            let key = Field::new("key", inner("keyType")?, false);
            let pair = vec![key, Field::new("value", inner("valueType")?, true)];
            let entries = Field::new("entries", DataType::Struct(pair.into()), false);
            DataType::Map(Arc::new(entries), false)
        }
        _ => {
            return Err(Error::unsupported(format!(
                "a lake table has a column of the type {delta}, which no station has"
            )));
        }
    })
}

/// The fields that a file of these columns needs in the lake's schema.
pub(crate) fn needed(own: &[Field], columns: &[LakeColumn]) -> Result<Vec<Value>> {
    let columns = columns.iter().map(|column| delta_field(&column.field, Some(&column.stored)));
    own.iter().map(|field| delta_field(field, None)).chain(columns).collect()
}
