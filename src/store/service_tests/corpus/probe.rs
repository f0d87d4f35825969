//! A resource of the tests with properties that no service has: doubles, spans, and records in
//! lists.
//!
//! It keeps the wire form of the corpus and reads its values from there, so the corpus defines the
//! content of a record.

use crate::filter::tests::corpus::JsonRow;
use crate::filter::tests::schemas;
use crate::store::tests::prelude::*;
use crate::value::id::IdForm;
use crate::value::stored::{DecodeResult, EncodeResult, Input, Output};
use crate::value::{Env, Row, Stored, Val};

/// A record of the kind `probe` of the corpus.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Probe {
    id: String,
    json: String,
    row: JsonRow,
}

impl Probe {
    pub(super) fn new(json: &str) -> Self {
        let record: serde_json::Value = serde_json::from_str(json).unwrap();
        let row = JsonRow::new(&schemas::fields("probe"), &schemas::sources("probe"), &record);
        Self { id: record["id"].as_str().unwrap().to_owned(), json: json.to_owned(), row }
    }
}

impl Stored for Probe {
    fn put(&self, out: &mut Output<'_>) -> EncodeResult {
        self.json.put(out)
    }

    fn take(input: &mut Input<'_>) -> DecodeResult<Self> {
        String::take(input).map(|json| Self::new(&json))
    }
}

macro_rules! fields {
    ($($number:literal $path:literal $ty:expr;)*) => {
        static FIELDS: [FieldDecl; 20] = [$(FieldDecl::new($path, $ty)),*];
    };
}

fields! {
    0 "id" FieldType::String;
    1 "number" FieldType::Double;
    2 "other" FieldType::Double;
    3 "count" FieldType::Int;
    4 "limit" FieldType::Int;
    5 "flag" FieldType::Bool;
    6 "flag2" FieldType::Bool;
    7 "text" FieldType::String;
    8 "text2" FieldType::String;
    9 "at" FieldType::Time;
    10 "until" FieldType::Time;
    11 "list" FieldType::Strings;
    12 "map" FieldType::Map;
    13 "state" FieldType::Enum(schemas::STATES);
    14 "kind" FieldType::Enum(schemas::SPEC_TYPES);
    15 "rows" FieldType::Rows(schemas::SELECTION);
    16 "createdWithin" FieldType::Within;
    17 "data.parameters" FieldType::Maps;
    18 "inputs" FieldType::Rows(schemas::INPUTS);
    19 "json" FieldType::Json;
}

macro_rules! index {
    ($number:literal, $($path:literal),+) => {
        Index { number: $number, since: 1, fields: &[$($path),+], unique: false, include: &[], computed: false }
    };
}

static INDEXES: [Index; 11] = [
    index!(1, "number"),
    index!(2, "count", "at"),
    index!(3, "flag"),
    index!(4, "text"),
    index!(5, "at"),
    index!(6, "list"),
    index!(7, "map"),
    index!(8, "state", "text2"),
    index!(9, "kind"),
    index!(10, "createdWithin"),
    index!(11, "until", "list"),
];

impl Resource for Probe {
    const KIND: Kind =
        Kind { code: 202, name: "probe", service: Service("probes"), id: IdForm::Decimal };

    fn id(&self) -> &str {
        &self.id
    }

    fn workspace(&self) -> &str {
        "default"
    }

    fn fields() -> &'static [FieldDecl] {
        &FIELDS
    }

    fn value<'a>(&'a self, place: usize, _env: &Env) -> Val<'a> {
        self.row.val(place)
    }

    fn indexes() -> &'static [Index] {
        &INDEXES
    }
}
