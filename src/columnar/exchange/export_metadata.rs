//! What an export says about its table: metadata of an Arrow schema, and comment lines of CSV.

use std::collections::HashMap;
use std::sync::Arc;

use serde_json::json;

use crate::arrow::datatypes::{Schema, SchemaRef};
use crate::error::{Error, Result};
use crate::model::tables::data::Column;
use crate::model::tables::table::TableMetadata;

/// Keys of the schema's metadata: id and name of the table, and its properties as a JSON object.
const ID: &str = "stationdb.id";
const NAME: &str = "stationdb.name";
const PROPERTIES: &str = "stationdb.properties";
/// Arrow and Parquet readers take fields with keys of these prefixes for types of their own.
const RESERVED: [&str; 2] = ["ARROW:", "PARQUET:"];

/// The columns of `schema` as the table declares them, in the order of `schema`.
fn declared<'a>(
    schema: &'a Schema,
    table: &'a TableMetadata,
) -> impl Iterator<Item = Option<&'a Column>> {
    let columns: HashMap<&str, &Column> =
        table.columns.iter().flatten().map(|column| (column.name.as_str(), column)).collect();
    schema.fields().iter().map(move |field| columns.get(field.name().as_str()).copied())
}

fn json_of(value: &impl serde::Serialize) -> Result<String> {
    serde_json::to_string(value).map_err(|error| {
        Error::corrupt("the properties of a table cannot be written as JSON").with_source(error)
    })
}

/// Adds the table's id, name and properties to the schema, and each column's properties to its
/// field, the unit (`unit`) among them. Properties whose names are reserved for types of Arrow and
/// Parquet are left out.
pub(crate) fn with_metadata(schema: &SchemaRef, table: &TableMetadata) -> Result<SchemaRef> {
    let mut metadata = schema.metadata().clone();
    let id = table.id.as_ref().map(ToString::to_string);
    for (key, value) in [(ID, id), (NAME, table.name.clone())] {
        metadata.extend(value.map(|value| (key.to_owned(), value)));
    }
    if let Some(properties) = table.properties.as_ref().filter(|all| !all.is_empty()) {
        metadata.insert(PROPERTIES.to_owned(), json_of(properties)?);
    }
    let fields = schema.fields().iter().zip(declared(schema, table)).map(|(field, column)| {
        let Some(column) = column else { return field.clone() };
        let mut metadata = field.metadata().clone();
        metadata.extend(
            column
                .properties
                .iter()
                .filter(|(key, _)| !RESERVED.iter().any(|reserved| key.starts_with(reserved)))
                .map(|(key, value)| (key.clone(), value.clone())),
        );
        Arc::new(field.as_ref().clone().with_metadata(metadata))
    });
    Ok(Arc::new(Schema::new_with_metadata(fields.collect::<Vec<_>>(), metadata)))
}

/// The same as comment lines of CSV: one line for the table and one for each column with
/// properties, each `# table ` or `# column ` and a JSON object. JSON has no line ends of its own.
pub(crate) fn comment_lines(schema: &SchemaRef, table: &TableMetadata) -> Result<String> {
    let properties = table.properties.clone().unwrap_or_default();
    let head = json!({ "id": table.id, "name": table.name, "properties": properties });
    let mut lines = format!("# table {}\n", json_of(&head)?);
    for column in declared(schema, table).flatten() {
        if !column.properties.is_empty() {
            let head = json!({ "name": column.name, "properties": column.properties });
            lines.push_str(&format!("# column {}\n", json_of(&head)?));
        }
    }
    Ok(lines)
}
