//! The declared fields of a kind of record as Arrow columns.

use std::sync::Arc;

use crate::arrow::array::{
    ArrayRef, BooleanArray, Float64Array, Int64Array, ListArray, ListBuilder, MapBuilder,
    MapFieldNames, StringArray, StringBuilder, StructArray, TimestampMillisecondArray,
};
use crate::arrow::buffer::{NullBuffer, OffsetBuffer};
use crate::arrow::datatypes::{DataType, Field, Fields};
use crate::arrow::error::ArrowError;
use crate::error::{Error, Result};
use crate::value::{FieldDecl, FieldType, Pairs, Row, Val};

/// A column, or a member of a struct.
#[derive(Clone, Debug)]
pub(in crate::services) struct Node {
    /// Its name.
    pub(in crate::services) name: String,
    form: Form,
    /// The path of its field in filters; `None` for an object.
    path: Option<&'static str>,
}

/// Key of the metadata of a column or member with the path of its field in filters.
pub(in crate::services) const FIELD: &str = "stationdb.field";

impl Node {
    /// The column of a schema for these values.
    pub(in crate::services) fn field(&self, data_type: DataType) -> Field {
        let path = self.path.map(|path| (FIELD.to_owned(), path.to_owned()));
        Field::new(&self.name, data_type, true).with_metadata(path.into_iter().collect())
    }
}

#[derive(Clone, Debug)]
enum Form {
    /// The value of the field at this position.
    Leaf(usize, FieldType),
    /// Fields of one object. If the object is a field itself, its position says whether it is
    /// there.
    Struct { is_there: Option<usize>, members: Vec<Node> },
}

/// The name of a member in snake case: `dueDateTime` becomes `due_date_time`.
fn snake_case(name: &str) -> String {
    let letters: Vec<char> = name.chars().collect();
    let mut out = String::with_capacity(name.len() + 4);
    for (at, letter) in letters.iter().enumerate() {
        let before = at.checked_sub(1).and_then(|at| letters.get(at));
        let after = letters.get(at + 1);
        let begins_word = letter.is_uppercase()
            && before.is_some_and(|before| {
                !before.is_uppercase() || after.is_some_and(|after| after.is_lowercase())
            });
        if begins_word {
            out.push('_');
        }
        out.extend(letter.to_lowercase());
    }
    out
}

fn place<'n>(nodes: &'n mut Vec<Node>, name: &str) -> Option<&'n mut Node> {
    let name = snake_case(name);
    let at = match nodes.iter().position(|node| node.name == name) {
        Some(at) => at,
        None => {
            let form = Form::Struct { is_there: None, members: Vec::new() };
            nodes.push(Node { name, form, path: None });
            nodes.len() - 1
        }
    };
    nodes.get_mut(at)
}

/// The columns of these fields, in order. Fields that are computed when a filter reads them have
/// none.
pub(in crate::services) fn nodes(fields: &[FieldDecl]) -> Vec<Node> {
    let mut nodes = Vec::new();
    for (at, decl) in fields.iter().enumerate() {
        if matches!(decl.ty, FieldType::Within | FieldType::WorkspaceName | FieldType::ProductName)
        {
            continue;
        }
        let mut level = &mut nodes;
        let mut names = decl.path.split('.').peekable();
        while let Some(name) = names.next() {
            let Some(node) = place(level, name) else { break };
            if names.peek().is_none() {
                match (&mut node.form, decl.ty) {
                    (Form::Struct { is_there, .. }, FieldType::Object) => *is_there = Some(at),
                    (form, ty) => {
                        *form = Form::Leaf(at, ty);
                        node.path = Some(decl.path);
                    }
                }
                break;
            }
            level = match &mut node.form {
                Form::Struct { members, .. } => members,
                Form::Leaf(..) => break,
            };
        }
    }
    without_empty(&mut nodes);
    nodes.into_iter().flat_map(without_status).collect()
}

/// The type and the name of a status as columns `status` and `status_name`.
fn without_status(mut node: Node) -> Vec<Node> {
    match &mut node.form {
        Form::Struct { members, .. } if node.name == "status" => {
            for member in members.iter_mut().filter(|member| member.name == "status_type") {
                member.name.clone_from(&node.name);
            }
            // The type comes first.
            members.sort_by_key(|member| member.name != node.name);
            std::mem::take(members)
        }
        _ => vec![node],
    }
}

/// Removes objects of which no member is a field.
fn without_empty(nodes: &mut Vec<Node>) {
    nodes.retain_mut(|node| match &mut node.form {
        Form::Leaf(..) => true,
        Form::Struct { members, .. } => {
            without_empty(members);
            !members.is_empty()
        }
    });
}

/// The positions of the fields that a column reads.
pub(in crate::services) fn fields_of(node: &Node, out: &mut Vec<usize>) {
    match &node.form {
        Form::Leaf(at, _) => out.push(*at),
        Form::Struct { is_there, members } => {
            out.extend(is_there);
            members.iter().for_each(|member| fields_of(member, out));
        }
    }
}

fn misfit(error: ArrowError) -> Error {
    Error::corrupt("internal error: fields do not fit their columns; report it").with_source(error)
}

/// The values of a column for these rows.
pub(in crate::services) fn array(node: &Node, rows: &[&dyn Row]) -> Result<ArrayRef> {
    match &node.form {
        Form::Leaf(at, ty) => leaf(*at, *ty, rows),
        Form::Struct { is_there, members } => {
            let valid = is_there
                .map(|at| NullBuffer::from_iter(rows.iter().map(|row| !row.val(at).is_null())));
            struct_array(members, rows, valid).map(|array| Arc::new(array) as ArrayRef)
        }
    }
}

fn struct_array(
    members: &[Node],
    rows: &[&dyn Row],
    valid: Option<NullBuffer>,
) -> Result<StructArray> {
    let arrays =
        members.iter().map(|member| array(member, rows)).collect::<Result<Vec<ArrayRef>>>()?;
    let fields: Fields = members
        .iter()
        .zip(&arrays)
        .map(|(member, array)| member.field(array.data_type().clone()))
        .collect();
    StructArray::try_new(fields, arrays, valid).map_err(misfit)
}

fn text_of(value: Val<'_>) -> Option<String> {
    match value {
        Val::Str(text) => Some(text.into_owned()),
        Val::Int(value) => Some(value.to_string()),
        Val::Json(value) if !value.is_null() => Some(value.to_string()),
        _ => None,
    }
}

/// A builder of maps from text to text.
pub(in crate::services) fn map_builder() -> MapBuilder<StringBuilder, StringBuilder> {
    let names = MapFieldNames {
        entry: "entries".to_owned(),
        key: "key".to_owned(),
        value: "value".to_owned(),
    };
    MapBuilder::new(Some(names), StringBuilder::new(), StringBuilder::new())
}

fn append_map(
    map: &mut MapBuilder<StringBuilder, StringBuilder>,
    pairs: Option<Pairs<'_>>,
) -> Result<()> {
    for (key, text) in pairs.iter().flat_map(|pairs| pairs.iter()) {
        map.keys().append_value(key);
        map.values().append_option(text);
    }
    map.append(pairs.is_some()).map_err(misfit)
}

/// The values of the field at a position.
pub(super) fn leaf(at: usize, ty: FieldType, rows: &[&dyn Row]) -> Result<ArrayRef> {
    let values = rows.iter().map(|row| row.val(at));
    Ok(match ty {
        FieldType::Bool => Arc::new(BooleanArray::from_iter(values.map(|value| match value {
            Val::Bool(value) => Some(value),
            _ => None,
        }))),
        FieldType::Int | FieldType::Within => {
            Arc::new(Int64Array::from_iter(values.map(|value| match value {
                Val::Int(value) | Val::Span(value) => Some(value),
                _ => None,
            })))
        }
        FieldType::Double => Arc::new(Float64Array::from_iter(values.map(|value| match value {
            Val::Double(value) => Some(value),
            Val::Int(value) => Some(value as f64),
            _ => None,
        }))),
        FieldType::Time => {
            let times = TimestampMillisecondArray::from_iter(values.map(|value| match value {
                Val::Time(value) => Some(value),
                _ => None,
            }));
            Arc::new(times.with_timezone("UTC"))
        }
        FieldType::String
        | FieldType::WorkspaceName
        | FieldType::ProductName
        | FieldType::DecimalId
        | FieldType::Reference
        | FieldType::Enum(_)
        | FieldType::Json
        | FieldType::Object => Arc::new(StringArray::from_iter(values.map(text_of))),
        FieldType::Strings => {
            let mut list = ListBuilder::new(StringBuilder::new());
            for value in values {
                if let Val::Strings(texts) = value {
                    texts.iter().for_each(|text| list.values().append_value(text));
                    list.append(true);
                } else {
                    list.append(false);
                }
            }
            Arc::new(list.finish())
        }
        FieldType::Map => {
            let mut map = map_builder();
            for value in values {
                append_map(&mut map, if let Val::Map(pairs) = value { Some(pairs) } else { None })?;
            }
            Arc::new(map.finish())
        }
        FieldType::Maps => {
            let mut list = ListBuilder::new(map_builder());
            for value in values {
                let maps = if let Val::Maps(maps) = value { Some(maps) } else { None };
                for map in maps.unwrap_or_default() {
                    append_map(list.values(), Some(Pairs::Texts(map)))?;
                }
                list.append(maps.is_some());
            }
            Arc::new(list.finish())
        }
        FieldType::Rows(fields) => {
            let (mut parts, mut lengths, mut valid) = (Vec::new(), Vec::new(), Vec::new());
            for value in values {
                let is_list = matches!(value, Val::Rows(_));
                let list = if let Val::Rows(list) = value { list } else { Vec::new() };
                lengths.push(list.len());
                valid.push(is_list);
                parts.extend(list);
            }
            let items: ArrayRef = Arc::new(struct_array(&nodes(fields), &parts, None)?);
            let item = Arc::new(Field::new_list_field(items.data_type().clone(), true));
            let offsets = OffsetBuffer::from_lengths(lengths);
            Arc::new(
                ListArray::try_new(item, offsets, items, Some(NullBuffer::from(valid)))
                    .map_err(misfit)?,
            )
        }
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::arrow::array::Array;

    #[derive(Debug)]
    struct One(Option<Vec<BTreeMap<String, String>>>, serde_json::Value);

    impl Row for One {
        fn val(&self, index: usize) -> Val<'_> {
            if index == 0 { self.0.as_ref().into() } else { Val::from(&self.1) }
        }
    }

    #[test]
    fn lists_of_maps_and_json_values_are_columns() {
        let map = BTreeMap::from([("k".to_owned(), "v".to_owned())]);
        let rows = [
            One(Some(vec![map, BTreeMap::new()]), serde_json::json!("35")),
            One(Some(Vec::new()), serde_json::json!({"a": [35, null]})),
            One(None, serde_json::Value::Null),
        ];
        let rows: Vec<&dyn Row> = rows.iter().map(|row| row as &dyn Row).collect();
        let maps = leaf(0, FieldType::Maps, &rows).unwrap();
        let list = maps.as_any().downcast_ref::<ListArray>().unwrap();
        let lengths: Vec<i32> = (0..3).map(|at| list.value_length(at)).collect();
        assert_eq!((lengths, list.is_null(1), list.is_null(2)), (vec![2, 0, 0], false, true));
        let json = leaf(1, FieldType::Json, &rows).unwrap();
        let texts: Vec<Option<&str>> =
            json.as_any().downcast_ref::<StringArray>().unwrap().iter().collect();
        assert_eq!(texts, [Some("\"35\""), Some("{\"a\":[35,null]}"), None]);
    }

    #[test]
    fn names_are_in_snake_case() {
        for (name, expected) in [
            ("id", "id"),
            ("partNumber", "part_number"),
            ("dueDateTime", "due_date_time"),
            ("resourceUri", "resource_uri"),
            ("isNIAsset", "is_ni_asset"),
            ("fileIds", "file_ids"),
            ("size64", "size64"),
        ] {
            assert_eq!(snake_case(name), expected);
        }
    }
}
