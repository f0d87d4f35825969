//! The filterable properties of every service as the services list them, and their places in the
//! wire form. The declarations are compared with this list; `docs/reference/fields.md` is generated
//! from the declarations.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use crate::filter::Schema;
use crate::value::{FieldDecl, FieldType, Ops};

pub(crate) type Members = &'static [(&'static str, &'static [&'static str])];

pub(crate) const STATES: Members = &[
    ("NEW", &[]),
    ("DEFINED", &[]),
    ("REVIEWED", &[]),
    ("SCHEDULED", &[]),
    ("IN_PROGRESS", &[]),
    ("PENDING_APPROVAL", &[]),
    ("CLOSED", &[]),
    ("CANCELED", &[]),
];
pub(crate) const SPEC_TYPES: Members = &[("PARAMETRIC", &[]), ("FUNCTIONAL", &[])];
pub(crate) const SELECTION: &[FieldDecl] = &[
    FieldDecl::new("id", FieldType::String),
    FieldDecl::new("targetLocationId", FieldType::String),
    FieldDecl::new("targetSystemId", FieldType::String),
    FieldDecl::new("targetParentId", FieldType::String),
];

pub(crate) const INPUTS: &[FieldDecl] =
    &[FieldDecl::new("name", FieldType::String), FieldDecl::new("value", FieldType::Json)];

/// A field, and the path of its value in the wire form.
type Entry = (&'static str, FieldType, &'static str);

/// A heading for each kind, and a line `path = place: type` for each field, where the place is left
/// out if it is the path.
const FIELDS: &str = include_str!("../../../tests/corpus/fields.txt");

fn leaked<T>(items: impl Iterator<Item = T>) -> &'static [T] {
    items.collect::<Vec<T>>().leak()
}

fn type_of(text: &'static str) -> FieldType {
    let (word, rest) = text.split_once(' ').unwrap_or((text, ""));
    match word {
        "text" => FieldType::String,
        "time" => FieldType::Time,
        "integer" => FieldType::Int,
        "double" => FieldType::Double,
        "boolean" => FieldType::Bool,
        "texts" => FieldType::Strings,
        "map" => FieldType::Map,
        "maps" => FieldType::Maps,
        "json" => FieldType::Json,
        "within" => FieldType::Within,
        "reference" => FieldType::Reference,
        "object" => FieldType::Object,
        "decimal" => FieldType::DecimalId,
        "workspace" => FieldType::WorkspaceName,
        "product" => FieldType::ProductName,
        "enum" => FieldType::Enum(leaked(rest.split(' ').map(|names| {
            let mut names = names.split('/');
            (names.next().unwrap_or_default(), leaked(names))
        }))),
        "rows" => FieldType::Rows(leaked(rest.split(", ").map(|member| {
            let (name, text) = member.split_once(' ').unwrap();
            FieldDecl::new(name, type_of(text))
        }))),
        other => panic!("no type {other:?}"),
    }
}

fn entry(line: &'static str) -> Entry {
    let (path, text) = line.split_once(": ").unwrap();
    let (path, place) = path.split_once(" = ").unwrap_or((path, path));
    (path, type_of(text), place)
}

fn entries(kind: &str) -> &'static [Entry] {
    static KINDS: LazyLock<BTreeMap<&str, Vec<Entry>>> = LazyLock::new(|| {
        let kind = |part: &'static str| {
            let (name, fields) = part.split_once("]\n").unwrap();
            let fields = fields.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
            (name, fields.map(entry).collect())
        };
        FIELDS.split('[').skip(1).map(kind).collect()
    });
    KINDS.get(kind).unwrap_or_else(|| panic!("no kind {kind:?}"))
}

/// The fields of a kind; the same for every call.
pub(crate) fn fields(kind: &str) -> Vec<FieldDecl> {
    let equality_only = matches!(
        kind,
        "workItem" | "workItemTemplate" | "testPlan" | "testPlanTemplate" | "specification"
    );
    let declare = |(path, ty, _): &Entry| {
        let decl = FieldDecl::new(path, *ty);
        let decl = match (kind, *path) {
            ("asset", "AssetIdentifier") => decl.alias(&["Id"]),
            ("asset", "AssetName") => decl.alias(&["Name"]),
            ("asset", "isNIAsset") => decl.alias(&["IsVendorAsset"]),
            _ => decl,
        };
        if equality_only && *path == "id" { decl.ops(Ops::Equality) } else { decl }
    };
    entries(kind).iter().map(declare).collect()
}

/// The places of the values of [`fields`] in the wire form.
pub(crate) fn sources(kind: &str) -> Vec<&'static str> {
    entries(kind).iter().map(|(_, _, place)| *place).collect()
}

pub(crate) fn schema<'s>(kind: &str, fields: &'s [FieldDecl]) -> Schema<'s> {
    Schema {
        fields,
        columns: None,
        renames: &[],
        requires: if kind == "table" { &[("columns", "testResultId")] } else { &[] },
        accept_substitutions: !matches!(kind, "utilization" | "file"),
        accept_brackets: matches!(kind, "asset" | "utilization"),
        search: false,
    }
}
