//! Every query operation of every service, as data for tests that iterate over all of them.
//!
//! Requests and responses are JSON, so one test works for all operations and also covers the wire
//! names.

use crate::store::tests::prelude::*;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::probe::Probe;
use crate::model::{
    Asset, AssetField, AssetOrderBy, FileLinqQueryOrderBy, FileQueryOrderBy, Product,
    ProductOrderBy, ProductProjection, Resource, ResultOrderBy, ResultProjection, Specification,
    SpecificationOrderBy, SpecificationProjection, TableOrderBy, TableProjection, TestPlan,
    TestPlanField, TestPlanOrderBy, TestPlanTemplate, TestPlanTemplateField,
    TestPlanTemplateOrderBy, TestResult, UtilizationOrderBy, WorkItem, WorkItemField,
    WorkItemOrderBy, WorkItemTemplate, WorkItemTemplateField, WorkItemTemplateOrderBy,
};
use crate::session::Access as _;

/// A kind of the corpus: its declaration, how a record of the corpus is stored, and how it is
/// queried without a service.
pub(super) struct CorpusKind {
    pub(super) name: &'static str,
    pub(super) fields: fn() -> Vec<FieldDecl>,
    /// Paths of the fields that have an index.
    pub(super) indexed: fn() -> Vec<&'static str>,
    pub(super) put: fn(&mut Draft<'_>, &Value) -> Result<()>,
    pub(super) raw: fn(&Session, &Query<'_>) -> Result<Raw>,
    /// Whether its records have text that search finds.
    pub(super) has_text: bool,
}

/// The answer of a query without a service.
pub(super) struct Raw {
    pub(super) ids: Vec<String>,
    pub(super) token: Option<String>,
    pub(super) count: Option<u64>,
    pub(super) plan: Plan,
}

/// What an operation does with a `take` above its maximum.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Beyond {
    Refuses,
    Clamps,
    Serves,
}

/// One query operation.
pub(super) struct Operation {
    pub(super) name: &'static str,
    pub(super) kind: &'static str,
    pub(super) run: fn(&Session, Value) -> Result<Value>,
    /// Member of the response that contains the items, and the member that identifies an item.
    pub(super) items: &'static str,
    pub(super) id: &'static str,
    /// Members that every request of the tests contains.
    pub(super) base: fn() -> Value,
    /// Member of the request for the filter.
    pub(super) filter: Option<&'static str>,
    pub(super) takes_substitutions: bool,
    /// Members of the request for sort key and direction.
    pub(super) order: (&'static str, &'static str),
    /// Sort keys on the wire, and the member of an item with their value.
    pub(super) keys: &'static [(&'static str, &'static str)],
    pub(super) known_keys: fn() -> Vec<&'static str>,
    /// The member of an item by which it is ordered if the request has no sort key, and whether the
    /// order is descending.
    pub(super) default_order: (&'static str, bool),
    pub(super) ties_follow_direction: bool,
    pub(super) projections: fn() -> Vec<&'static str>,
    /// The maximum of one page, and what happens above it.
    pub(super) max_take: (u64, Beyond),
    /// Whether a negative take means the default; otherwise it is rejected.
    pub(super) negative_is_default: bool,
    /// Whether take 0 means the default.
    pub(super) zero_is_default: bool,
    pub(super) has_token: bool,
    pub(super) has_skip: bool,
    /// Member of a response with the count of all matches, and whether it is always present or only
    /// on request.
    pub(super) count: Option<(&'static str, bool)>,
}

macro_rules! operation {
    ($method:ident) => {
        |session, request| {
            let request = serde_json::from_value(request).unwrap();
            Ok(serde_json::to_value(session.$method(request)?).unwrap())
        }
    };
}

macro_rules! texts {
    ($name:ty) => {
        || <$name>::ALL.iter().map(|value| value.as_str()).collect()
    };
}

fn nothing() -> Vec<&'static str> {
    Vec::new()
}

fn empty() -> Value {
    json!({})
}

fn fields<R: Resource>() -> Vec<FieldDecl> {
    R::fields().to_vec()
}

fn indexed<R: Resource>() -> Vec<&'static str> {
    R::indexes().iter().flat_map(|index| index.fields.iter().copied()).collect()
}

fn raw<R: Resource>(session: &Session, query: &Query<'_>) -> Result<Raw> {
    let (page, plan) = session.read(|view| view.query_with_plan::<R>(query))?;
    let ids = page.items.iter().map(|record| record.id().to_owned()).collect();
    Ok(Raw { ids, token: page.continuation_token, count: page.total_count, plan })
}

fn put<R: Resource + DeserializeOwned + Serialize>(
    draft: &mut Draft<'_>,
    record: &Value,
) -> Result<()> {
    let record: R =
        serde_json::from_value(record.clone()).unwrap_or_else(|error| panic!("{record}: {error}"));
    draft.put(&record, What::Created)
}

/// A table of the corpus lists its columns by name only.
fn put_table(draft: &mut Draft<'_>, record: &Value) -> Result<()> {
    let mut record = record.clone();
    for column in record.get_mut("columns").and_then(Value::as_array_mut).into_iter().flatten() {
        *column = with_defaults(column, json!({"dataType": "FLOAT64"}));
    }
    put::<TableMetadata>(draft, &record)
}

/// Adds the members that every stored record of the kind has and the corpus omits.
fn with_defaults(record: &Value, defaults: Value) -> Value {
    let mut record = record.clone();
    for (member, value) in defaults.as_object().unwrap() {
        record.as_object_mut().unwrap().entry(member).or_insert(value.clone());
    }
    record
}

fn put_specification(draft: &mut Draft<'_>, record: &Value) -> Result<()> {
    put::<Specification>(draft, &with_defaults(record, json!({"productId": "P1"})))
}

fn put_utilization(draft: &mut Draft<'_>, record: &Value) -> Result<()> {
    let defaults = json!({
        "utilizationIdentifier": record["id"], "assetIdentifier": "A1", "workspace": "w",
        "startTimestamp": "2022-01-01T00:00:00.000Z",
    });
    put::<Utilization>(draft, &with_defaults(record, defaults))
}

fn put_file(draft: &mut Draft<'_>, record: &Value) -> Result<()> {
    let defaults = json!({
        "created": "2022-01-01T00:00:00.000Z", "lastUpdated": "2022-01-01T00:00:00.000Z", "properties": {},
        "workspace": "default", "metadataRevision": 1,
        "content": {
            "parts": [{"blob": 1, "size": record["size64"].as_u64().unwrap_or_default(), "hashHigh": 0, "hashLow": 0}],
            "small": true,
        },
    });
    put::<FileRecord>(draft, &with_defaults(record, defaults))
}

fn put_probe(draft: &mut Draft<'_>, record: &Value) -> Result<()> {
    draft.put(&Probe::new(&record.to_string()), What::Created)
}

macro_rules! kind {
    ($name:literal, $resource:ty, $put:expr, $has_text:literal) => {
        CorpusKind {
            name: $name,
            fields: fields::<$resource>,
            indexed: indexed::<$resource>,
            put: $put,
            raw: raw::<$resource>,
            has_text: $has_text,
        }
    };
}

pub(super) static KINDS: [CorpusKind; 12] = [
    kind!("product", Product, put::<Product>, true),
    kind!("result", TestResult, put::<TestResult>, true),
    kind!("specification", Specification, put_specification, true),
    kind!("asset", Asset, put::<Asset>, true),
    kind!("utilization", Utilization, put_utilization, false),
    kind!("table", TableMetadata, put_table, true),
    kind!("file", FileRecord, put_file, true),
    kind!("workItem", WorkItem, put::<WorkItem>, true),
    kind!("workItemTemplate", WorkItemTemplate, put::<WorkItemTemplate>, true),
    kind!("testPlan", TestPlan, put::<TestPlan>, true),
    kind!("testPlanTemplate", TestPlanTemplate, put::<TestPlanTemplate>, true),
    kind!("probe", Probe, put_probe, false),
];

pub(super) fn kind(name: &str) -> &'static CorpusKind {
    KINDS.iter().find(|kind| kind.name == name).unwrap_or_else(|| panic!("no kind {name:?}"))
}

/// The values that most operations share.
const PLAIN: Operation = Operation {
    name: "",
    kind: "",
    run: |_, _| Ok(Value::Null),
    items: "",
    id: "id",
    base: empty,
    filter: Some("filter"),
    takes_substitutions: true,
    order: ("orderBy", "descending"),
    keys: &[],
    known_keys: nothing,
    default_order: ("id", false),
    ties_follow_direction: false,
    projections: nothing,
    max_take: (1000, Beyond::Clamps),
    negative_is_default: false,
    zero_is_default: false,
    has_token: true,
    has_skip: false,
    count: None,
};

const TEMPLATE_KEYS: &[(&str, &str)] = &[
    ("ID", "id"),
    ("NAME", "name"),
    ("TEMPLATE_GROUP", "templateGroup"),
    ("CREATED_AT", "createdAt"),
    ("UPDATED_AT", "updatedAt"),
];

const TABLE_KEYS: &[(&str, &str)] = &[
    ("CREATED_AT", "createdAt"),
    ("METADATA_MODIFIED_AT", "metadataModifiedAt"),
    ("NAME", "name"),
    ("NUMBER_OF_ROWS", "rowCount"),
    ("ROWS_MODIFIED_AT", "rowsModifiedAt"),
];

const LINQ_KEYS: &[(&str, &str)] = &[
    ("name", "properties.Name"),
    ("created", "created"),
    ("updated", "updated"),
    ("extension", "extension"),
    ("size", "size64"),
    ("workspace", "workspace"),
];

pub(super) static OPERATIONS: [Operation; 17] = [
    Operation {
        name: "query_products",
        kind: "product",
        run: operation!(query_products),
        items: "products",
        keys: &[
            ("ID", "id"),
            ("FAMILY", "family"),
            ("PART_NUMBER", "partNumber"),
            ("NAME", "name"),
            ("UPDATED_AT", "updatedAt"),
        ],
        known_keys: texts!(ProductOrderBy),
        ties_follow_direction: true,
        projections: texts!(ProductProjection),
        max_take: (1000, Beyond::Serves),
        negative_is_default: true,
        count: Some(("totalCount", false)),
        ..PLAIN
    },
    Operation {
        name: "get_products",
        kind: "product",
        run: |session, request| {
            let page = session.get_products(
                request["continuationToken"].as_str().map(str::to_owned),
                request["take"].as_i64(),
                request["returnCount"].as_bool().unwrap_or_default(),
            )?;
            Ok(serde_json::to_value(page).unwrap())
        },
        items: "products",
        filter: None,
        max_take: (1000, Beyond::Serves),
        negative_is_default: true,
        count: Some(("totalCount", false)),
        ..PLAIN
    },
    Operation {
        name: "query_results",
        kind: "result",
        run: operation!(query_results),
        items: "results",
        keys: &[
            ("ID", "id"),
            ("STARTED_AT", "startedAt"),
            ("UPDATED_AT", "updatedAt"),
            ("PROGRAM_NAME", "programName"),
            ("SYSTEM_ID", "systemId"),
            ("HOST_NAME", "hostName"),
            ("OPERATOR", "operator"),
            ("SERIAL_NUMBER", "serialNumber"),
            ("TOTAL_TIME_IN_SECONDS", "totalTimeInSeconds"),
            // No product has the part numbers of the corpus.
            ("PRODUCT", "productName"),
            ("PART_NUMBER", "partNumber"),
        ],
        // The order by a property needs its key.
        known_keys: || {
            let orders = ResultOrderBy::ALL.iter().filter(|by| **by != ResultOrderBy::Properties);
            orders.map(|by| by.as_str()).collect()
        },
        ties_follow_direction: true,
        projections: texts!(ResultProjection),
        max_take: (100_000, Beyond::Refuses),
        negative_is_default: true,
        count: Some(("totalCount", false)),
        ..PLAIN
    },
    Operation {
        name: "get_results",
        kind: "result",
        run: |session, request| {
            let page = session.get_results(
                request["continuationToken"].as_str().map(str::to_owned),
                request["take"].as_i64(),
                request["returnCount"].as_bool().unwrap_or_default(),
            )?;
            Ok(serde_json::to_value(page).unwrap())
        },
        items: "results",
        filter: None,
        max_take: (100_000, Beyond::Refuses),
        negative_is_default: true,
        count: Some(("totalCount", false)),
        ..PLAIN
    },
    Operation {
        name: "query_specs",
        kind: "specification",
        run: operation!(query_specs),
        items: "specs",
        base: || json!({"productIds": ["P1", "P2"]}),
        order: ("orderBy", "orderByDescending"),
        keys: &[("ID", "id"), ("SPEC_ID", "specId"), ("UPDATED_AT", "updatedAt")],
        known_keys: texts!(SpecificationOrderBy),
        projections: texts!(SpecificationProjection),
        max_take: (1000, Beyond::Serves),
        negative_is_default: true,
        ..PLAIN
    },
    Operation {
        name: "query_assets",
        kind: "asset",
        run: operation!(query_assets),
        items: "assets",
        keys: &[("LAST_UPDATED_TIMESTAMP", "lastUpdatedTimestamp"), ("ID", "id")],
        known_keys: texts!(AssetOrderBy),
        projections: texts!(AssetField),
        max_take: (1000, Beyond::Refuses),
        has_token: false,
        has_skip: true,
        count: Some(("totalCount", false)),
        ..PLAIN
    },
    Operation {
        name: "query_asset_utilization_history",
        kind: "utilization",
        run: operation!(query_asset_utilization_history),
        items: "assetUtilizations",
        id: "utilizationIdentifier",
        base: || json!({"startTime": "0001-01-01T00:00:00.000Z", "endTime": "9999-12-31T23:59:59.999Z"}),
        filter: Some("utilizationFilter"),
        takes_substitutions: false,
        order: ("orderBy", "orderByDescending"),
        keys: &[("START_TIMESTAMP", "startTimestamp")],
        known_keys: texts!(UtilizationOrderBy),
        default_order: ("startTimestamp", false),
        max_take: (1000, Beyond::Serves),
        ..PLAIN
    },
    Operation {
        name: "query_tables",
        kind: "table",
        run: operation!(query_tables),
        items: "tables",
        order: ("orderBy", "orderByDescending"),
        keys: TABLE_KEYS,
        known_keys: texts!(TableOrderBy),
        projections: texts!(TableProjection),
        max_take: (1000, Beyond::Refuses),
        ..PLAIN
    },
    Operation {
        name: "list_tables",
        kind: "table",
        run: operation!(list_tables),
        items: "tables",
        filter: None,
        order: ("orderBy", "orderByDescending"),
        keys: TABLE_KEYS,
        known_keys: texts!(TableOrderBy),
        max_take: (1000, Beyond::Refuses),
        ..PLAIN
    },
    Operation {
        name: "query_files_linq",
        kind: "file",
        run: operation!(query_files_linq),
        items: "availableFiles",
        takes_substitutions: false,
        order: ("orderBy", "orderByDescending"),
        keys: LINQ_KEYS,
        known_keys: texts!(FileLinqQueryOrderBy),
        default_order: ("updated", true),
        max_take: (u64::MAX, Beyond::Serves),
        has_token: false,
        has_skip: true,
        count: Some(("totalCount.value", true)),
        ..PLAIN
    },
    Operation {
        name: "get_files",
        kind: "file",
        run: operation!(get_files),
        items: "availableFiles",
        filter: None,
        order: ("orderBy", "orderByDescending"),
        keys: &[
            ("created", "created"),
            ("id", "id"),
            ("size", "size64"),
            ("lastUpdatedTimestamp", "lastUpdatedTimestamp"),
        ],
        known_keys: texts!(FileQueryOrderBy),
        default_order: ("created", false),
        max_take: (10_000, Beyond::Refuses),
        zero_is_default: true,
        has_token: false,
        has_skip: true,
        count: Some(("totalCount", true)),
        ..PLAIN
    },
    Operation {
        name: "query_files",
        kind: "file",
        run: operation!(query_files),
        items: "availableFiles",
        filter: None,
        default_order: ("created", false),
        max_take: (1000, Beyond::Refuses),
        zero_is_default: true,
        has_token: false,
        has_skip: true,
        count: Some(("totalCount", true)),
        ..PLAIN
    },
    Operation {
        name: "search_files",
        kind: "file",
        run: operation!(search_files),
        items: "availableFiles",
        // Its filter has another language.
        filter: None,
        order: ("orderBy", "orderByDescending"),
        keys: LINQ_KEYS,
        known_keys: texts!(FileLinqQueryOrderBy),
        default_order: ("updated", true),
        max_take: (u64::MAX, Beyond::Serves),
        has_token: false,
        has_skip: true,
        count: Some(("totalCount.value", true)),
        ..PLAIN
    },
    Operation {
        name: "query_work_items",
        kind: "workItem",
        run: operation!(query_work_items),
        items: "workItems",
        keys: &[("ID", "id"), ("UPDATED_AT", "updatedAt")],
        known_keys: texts!(WorkItemOrderBy),
        projections: texts!(WorkItemField),
        count: Some(("totalCount", false)),
        ..PLAIN
    },
    Operation {
        name: "query_work_item_templates",
        kind: "workItemTemplate",
        run: operation!(query_work_item_templates),
        items: "workItemTemplates",
        keys: TEMPLATE_KEYS,
        known_keys: texts!(WorkItemTemplateOrderBy),
        projections: texts!(WorkItemTemplateField),
        ..PLAIN
    },
    Operation {
        name: "query_test_plans",
        kind: "testPlan",
        run: operation!(query_test_plans),
        items: "testPlans",
        keys: &[("ID", "id"), ("UPDATED_AT", "updatedAt")],
        known_keys: texts!(TestPlanOrderBy),
        projections: texts!(TestPlanField),
        count: Some(("totalCount", false)),
        ..PLAIN
    },
    Operation {
        name: "query_test_plan_templates",
        kind: "testPlanTemplate",
        run: operation!(query_test_plan_templates),
        items: "testPlanTemplates",
        keys: TEMPLATE_KEYS,
        known_keys: texts!(TestPlanTemplateOrderBy),
        projections: texts!(TestPlanTemplateField),
        ..PLAIN
    },
];

/// The operation that filters records of a kind.
pub(super) fn filtering(kind: &str) -> Option<&'static Operation> {
    OPERATIONS.iter().find(|operation| operation.kind == kind && operation.filter.is_some())
}

/// A member of an item by its dotted path. The extension of a file is taken from its name.
pub(super) fn member<'v>(item: &'v Value, path: &str) -> std::borrow::Cow<'v, Value> {
    use std::borrow::Cow;
    if path == "extension" {
        let name = item["properties"]["Name"].as_str().unwrap_or_default();
        let extension = name
            .rsplit_once('.')
            .map_or("", |(stem, extension)| if stem.is_empty() { "" } else { extension });
        return Cow::Owned(extension.into());
    }
    Cow::Borrowed(path.split('.').fold(item, |value, name| &value[name]))
}

impl Operation {
    /// Executes the operation with the base members and `members`.
    pub(super) fn ask(&self, session: &Session, members: Value) -> Result<Value> {
        (self.run)(session, self.with_base(&members))
    }

    /// The base members together with `members`.
    pub(super) fn with_base(&self, members: &Value) -> Value {
        with_defaults(members, (self.base)())
    }

    /// The items of a response.
    pub(super) fn items_of<'v>(&self, answer: &'v Value) -> &'v [Value] {
        answer[self.items].as_array().unwrap_or_else(|| panic!("{}: {answer}", self.name))
    }

    /// The ids of the items of a response, in order.
    pub(super) fn ids_of(&self, answer: &Value) -> Vec<String> {
        self.items_of(answer)
            .iter()
            .map(|item| item[self.id].as_str().unwrap().to_owned())
            .collect()
    }
}
