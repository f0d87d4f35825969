//! Runs `tests/corpus/filters/*.toml`: records in wire JSON, filters, and for each filter the
//! records that it finds, or its fault.
//!
//! | key | meaning |
//! |---|---|
//! | `kind` | resource of the file's records |
//! | `records` | wire JSON, one text a record; expectations count them from 1 |
//! | `case.filter` | the expression |
//! | `case.substitutions` | JSON list |
//! | `case.reference` | reference time; default 2024-05-15T12:00:00Z |
//! | `case.expect` | numbers of the records found |
//! | `case.error`, `case.at`, `case.text` | kind of the fault, its offset in characters, its text |

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

use super::schemas;
use crate::error::Place;
use crate::filter::{Times, compile};
use crate::value::{FieldDecl, FieldType, Row, Val, time};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct File {
    pub(crate) kind: String,
    pub(crate) records: Vec<String>,
    pub(crate) case: Vec<Case>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Case {
    pub(crate) filter: String,
    pub(crate) substitutions: Option<String>,
    pub(crate) reference: Option<String>,
    pub(crate) expect: Option<Vec<usize>>,
    pub(crate) error: Option<String>,
    pub(crate) at: Option<usize>,
    pub(crate) text: Option<String>,
}

/// The kind of a fault, its offset, and the offending text.
pub(crate) type Told = (String, usize, String);

impl Case {
    pub(crate) fn values(&self) -> Vec<Value> {
        serde_json::from_str(self.substitutions.as_deref().unwrap_or("[]")).unwrap()
    }

    /// Whether an answer is the expected one.
    pub(crate) fn is_right(&self, answer: &Result<Vec<usize>, Told>) -> bool {
        match (answer, &self.expect, &self.error) {
            (Ok(found), Some(expected), None) => found == expected,
            (Err((kind, offset, text)), None, Some(expected)) => {
                kind == expected
                    && self.at.is_none_or(|at| at == *offset)
                    && self.text.as_ref().is_none_or(|expected| expected == text)
            }
            _ => false,
        }
    }

    /// The expectation as text, for messages.
    pub(crate) fn expected(&self) -> String {
        match (&self.expect, &self.error) {
            (Some(found), _) => format!("{found:?}"),
            (None, error) => format!("{error:?} at {:?} {:?}", self.at, self.text),
        }
    }
}

/// Name and content of every file of the corpus.
pub(crate) fn files() -> Vec<(String, File)> {
    let directory = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus/filters");
    let mut paths: Vec<_> =
        std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    let read = |path: std::path::PathBuf| {
        let text = std::fs::read_to_string(&path).unwrap();
        let file =
            toml::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        (path.file_name().unwrap().to_string_lossy().into_owned(), file)
    };
    paths.into_iter().map(read).collect()
}

/// Kind, offset and offending text of a filter's fault.
pub(crate) fn told(error: &crate::Error) -> Told {
    let api = error.api_error();
    let Some(Place::Offset(offset)) = error.place() else { panic!("{error:?} has no offset") };
    assert!(api.name.unwrap().starts_with("StationDb.Filter."));
    (api.args[0].clone(), *offset, api.args[1].clone())
}

/// A record with its values read from wire JSON once.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct JsonRow(Vec<Owned>);

#[derive(Clone, Debug, PartialEq)]
enum Owned {
    Null,
    Bool(bool),
    Int(i64),
    Double(f64),
    Text(String),
    Time(i64),
    Strings(Vec<String>),
    Map(BTreeMap<String, String>),
    Nullable(BTreeMap<String, Option<String>>),
    Maps(Vec<BTreeMap<String, String>>),
    Json(Value),
    Rows(Vec<JsonRow>),
}

impl JsonRow {
    pub(crate) fn new(fields: &[FieldDecl], sources: &[&str], record: &Value) -> Self {
        Self(
            fields
                .iter()
                .zip(sources)
                .map(|(decl, source)| value(decl, find(record, source)))
                .collect(),
        )
    }
}

fn find<'v>(record: &'v Value, path: &str) -> &'v Value {
    let member = |value: &'v Value, name: &str| -> &'v Value {
        let members = value.as_object();
        let exact = members.and_then(|members| members.get(name));
        let folded = || {
            members?.iter().find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value)
        };
        exact.or_else(folded).unwrap_or(&Value::Null)
    };
    path.split('.').fold(record, member)
}

fn value(decl: &FieldDecl, value: &Value) -> Owned {
    let text = || value.as_str().unwrap_or_default().to_owned();
    match (decl.ty, value) {
        (FieldType::Json, _) => Owned::Json(value.clone()),
        (_, Value::Null) => Owned::Null,
        (FieldType::Bool, _) => Owned::Bool(value.as_bool().unwrap()),
        (FieldType::Int, _) => Owned::Int(value.as_i64().unwrap()),
        (FieldType::Double, Value::String(_)) => Owned::Double(text().parse().unwrap()),
        (FieldType::Double, _) => Owned::Double(value.as_f64().unwrap()),
        (FieldType::Time | FieldType::Within, _) => {
            Owned::Time(time::parse(&text()).unwrap().timestamp_millis())
        }
        (FieldType::Strings, _) => Owned::Strings(serde_json::from_value(value.clone()).unwrap()),
        (FieldType::Map, Value::Object(members)) if members.values().any(Value::is_null) => {
            Owned::Nullable(serde_json::from_value(value.clone()).unwrap())
        }
        (FieldType::Map, _) => Owned::Map(serde_json::from_value(value.clone()).unwrap()),
        (FieldType::Maps, _) => Owned::Maps(serde_json::from_value(value.clone()).unwrap()),
        (FieldType::Rows(fields), value) => {
            let sources: Vec<&str> = fields.iter().map(|decl| decl.path).collect();
            let rows = match value {
                Value::Array(rows) => rows.as_slice(),
                row => std::slice::from_ref(row),
            };
            Owned::Rows(rows.iter().map(|row| JsonRow::new(fields, &sources, row)).collect())
        }
        (FieldType::Enum(members), _) => {
            let found = crate::filter::constant::enum_member(members, &text());
            Owned::Text(found.unwrap_or_else(|| panic!("{value} is no member")).to_owned())
        }
        (FieldType::Object, _) => Owned::Bool(true),
        (
            FieldType::String
            | FieldType::WorkspaceName
            | FieldType::ProductName
            | FieldType::DecimalId
            | FieldType::Reference,
            _,
        ) => Owned::Text(text()),
    }
}

impl Row for JsonRow {
    fn val(&self, index: usize) -> Val<'_> {
        match self.0.get(index) {
            None | Some(Owned::Null) => Val::Null,
            Some(Owned::Bool(value)) => Val::Bool(*value),
            Some(Owned::Int(value)) => Val::Int(*value),
            Some(Owned::Double(value)) => Val::Double(*value),
            Some(Owned::Text(value)) => Val::from(value),
            Some(Owned::Time(value)) => Val::Time(*value),
            Some(Owned::Strings(value)) => Val::from(value),
            Some(Owned::Map(value)) => Val::from(value),
            Some(Owned::Nullable(value)) => Val::from(value),
            Some(Owned::Maps(value)) => Val::from(value),
            Some(Owned::Json(value)) => Val::from(value),
            Some(Owned::Rows(rows)) => Val::Rows(rows.iter().map(|row| row as &dyn Row).collect()),
        }
    }
}

/// The result of a case in the terms of the corpus: the records found, or the fault.
fn run(
    file: &File,
    case: &Case,
    rows: &[JsonRow],
    fields: &[FieldDecl],
) -> Result<Vec<usize>, Told> {
    let now = time::parse("2024-05-15T12:00:00Z").unwrap();
    let reference = case.reference.as_deref().map(|text| {
        let (time, offset) = time::parse_with_offset(text).unwrap();
        time.with_timezone(&offset)
    });
    let values = case.values();
    let times = Times::new(now, reference);
    let mut schema = schemas::schema(&file.kind, fields);
    let renames = [("IsAcmeAsset".to_owned(), "isNIAsset")];
    if file.kind == "asset" {
        schema.renames = &renames;
    }
    let filter =
        compile(Some(&case.filter), &values, &schema, &times).map_err(|error| told(&error))?;
    let Some(filter) = filter else { return Ok((1..=rows.len()).collect()) };
    // The canonical text has the same meaning.
    let again = compile(Some(&filter.to_string()), &values, &schema, &times)
        .unwrap_or_else(|error| panic!("{}: {filter}: {error:?}", case.filter))
        .unwrap();
    assert_eq!(again.to_string(), filter.to_string());
    let found = |filter: &crate::filter::Filter| -> Vec<usize> {
        let matching = rows.iter().enumerate().filter(|(_, row)| filter.matches(*row));
        matching.map(|(index, _)| index + 1).collect()
    };
    assert_eq!(found(&again), found(&filter), "{} and its canonical form {filter}", case.filter);
    for row in rows {
        let satisfied =
            filter.conjuncts().iter().all(|condition| super::conditions::satisfies(row, condition));
        assert!(
            satisfied || !filter.matches(row),
            "{}: {:?} excludes a match",
            case.filter,
            filter.conjuncts()
        );
        if filter.conjuncts().iter().all(crate::filter::Condition::is_exact) {
            assert_eq!(
                satisfied,
                filter.matches(row),
                "{}: {:?} is not exact",
                case.filter,
                filter.conjuncts()
            );
        }
    }
    Ok(found(&filter))
}

#[test]
fn every_case_finds_what_it_should() {
    let (mut cases, mut faults) = (0, Vec::new());
    for (name, file) in files() {
        let fields = schemas::fields(&file.kind);
        let sources = schemas::sources(&file.kind);
        let rows: Vec<JsonRow> = file
            .records
            .iter()
            .map(|record| JsonRow::new(&fields, &sources, &serde_json::from_str(record).unwrap()))
            .collect();
        for case in &file.case {
            cases += 1;
            let result = run(&file, case, &rows, &fields);
            if !case.is_right(&result) {
                let expected = case.expected();
                faults.push(format!(
                    "{name}: {} {:?}\n    gave {result:?}, expected {expected}",
                    case.filter, case.substitutions
                ));
            }
        }
    }
    assert!(
        faults.is_empty(),
        "{} of {cases} cases are wrong:\n{}",
        faults.len(),
        faults.join("\n")
    );
    assert!(cases >= 400, "{cases} cases");
}
