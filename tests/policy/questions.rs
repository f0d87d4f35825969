//! Requests for every operation that has a request and reads: filters, orders, pages and counts
//! that involve hidden records.

use serde_json::{Value, json};
use stationdb::{Result, Session};

use crate::calls::call;
use crate::world::World;

/// One operation with its requests.
pub struct Question {
    pub operation: &'static str,
    pub requests: fn(&World) -> Vec<Value>,
}

impl Question {
    /// Sends a request, about the table of the hidden workspace if it is about one.
    pub fn ask(&self, session: &Session, world: &World, request: Value) -> Result<Value> {
        let (_, name) = self.operation.split_once("::").unwrap();
        let is_about_rows = matches!(name, "scan" | "read_waveforms" | "list_deleted_rows")
            || name.ends_with("table_data")
            || name == "query_decimated_data";
        let table = is_about_rows.then(|| json!(world.secret.table));
        call(session, name, &table.into_iter().chain([request]).collect::<Vec<_>>())
    }
}

/// Page sizes, some of which are read as walks, around the sizes at which a plan changes.
const TAKES: [i64; 3] = [2, 40, 200];

/// Returns each request of `base` with each filter, order and take.
fn ways(base: &Value, filter: (&str, &[&str]), orders: &[Value]) -> Vec<Value> {
    let mut requests = Vec::new();
    for text in std::iter::once(&"").chain(filter.1) {
        for order in orders {
            for take in TAKES {
                let mut members = base.as_object().cloned().unwrap_or_default();
                members.insert("take".to_owned(), json!(take));
                members.extend(order.as_object().cloned().unwrap_or_default());
                if !text.is_empty() {
                    members.insert(filter.0.to_owned(), json!(text));
                }
                requests.push(Value::Object(members));
            }
        }
    }
    requests
}

fn quotas(_: &World) -> Vec<Value> {
    vec![json!({}), json!({"take": 1})]
}

fn deleted_rows(_: &World) -> Vec<Value> {
    vec![json!({}), json!({"from": 1, "take": 1})]
}

fn workspaces(_: &World) -> Vec<Value> {
    let filters = [
        r#"id == "secret""#,
        r#"id.StartsWith("s")"#,
        r#"name == "Zebra thing""#,
        r#"createdAt > "2020-01-01""#,
    ];
    let orders =
        [json!({"returnCount": true}), json!({"orderBy": "CREATED_AT", "descending": true})];
    ways(&json!({}), ("filter", &filters), &orders)
}

fn products(_: &World) -> Vec<Value> {
    let filters = [
        r#"partNumber.StartsWith("Z")"#,
        r#"partNumber.StartsWith("Zebra-c1")"#,
        r#"partNumber == "Zebra-c7""#,
        r#"partNumber.StartsWith("P")"#,
        r#"name.Contains("thing 1")"#,
        r#"family == "Zebra family 1" or family == "Plain family 1""#,
        r#"family == "Zebra family 1" and partNumber.StartsWith("Zebra")"#,
        r#"updatedAt > "2020-01-01T00:00:00Z""#,
        r#"keywords.Contains("Zebra")"#,
        r#"workspace == "secret""#,
        r#"workspace == "open" and name.Contains("7")"#,
        r#"search("zebra*")"#,
        r#"search("thing")"#,
    ];
    let orders = [
        json!({"returnCount": true}),
        json!({"orderBy": "UPDATED_AT", "descending": true}),
        json!({"orderBy": "NAME", "returnCount": true}),
    ];
    ways(&json!({}), ("filter", &filters), &orders)
}

fn records(_: &World) -> Vec<Value> {
    let kinds = ["PRODUCT", "SPECIFICATION", "ASSET", "WORK_ITEM", "TABLE", "FILE", "FEED"];
    let columns = json!(["id", "name", "workspace"]);
    let all = kinds.into_iter().map(|kind| json!({"kind": kind, "columns": columns}));
    let filter = r#"partNumber.StartsWith("Z") or name.Contains("1")"#;
    let some = [json!({}), json!({"take": 2})].into_iter().map(|take| {
        let mut asked = json!({"kind": "PRODUCT", "filter": filter, "columns": columns});
        asked.as_object_mut().unwrap().extend(take.as_object().unwrap().clone());
        asked
    });
    all.chain(some).collect()
}

fn aggregated_records(_: &World) -> Vec<Value> {
    let kinds = ["PRODUCT", "SPECIFICATION", "ASSET", "WORK_ITEM", "TABLE", "FILE", "FEED"];
    let names = json!([{"function": "COUNT", "column": "name"}, {"function": "MIN", "column": "name"},
        {"function": "LAST", "column": "id"}]);
    let all = kinds.into_iter().map(|kind| json!({"kind": kind, "aggregates": names}));
    let by = |kind: &str, keys: Value| json!({"kind": kind, "groupBy": keys, "aggregates": names});
    let filter = r#"partNumber.StartsWith("Z") or name.Contains("1")"#;
    all.chain([
        by("PRODUCT", json!([{"field": "workspace"}, {"field": "updatedAt", "bucket": "WEEK"}])),
        by("WORK_ITEM", json!([{"field": "workspace"}, {"field": "state"}])),
        json!({"kind": "PRODUCT", "filter": filter, "groupBy": [{"field": "workspace"}]}),
    ])
    .collect()
}

fn product_values(_: &World) -> Vec<Value> {
    let fields = ["PART_NUMBER", "NAME", "FAMILY", "UPDATED_AT", "ID"];
    let field = |field| {
        [
            json!({"field": field}),
            json!({"field": field, "startsWith": "Z"}),
            json!({"field": field, "filter": r#"name.Contains("thing")"#}),
        ]
    };
    fields.into_iter().flat_map(field).collect()
}

fn specs(w: &World) -> Vec<Value> {
    let filters = [
        r#"specId.StartsWith("Z")"#,
        r#"specId == "Zebra-S3""#,
        r#"name.Contains("thing 1")"#,
        r#"workspace = "secret""#,
        r#"search("zebra")"#,
    ];
    let orders = [json!({}), json!({"orderBy": "SPEC_ID", "orderByDescending": true})];
    let base = json!({"productIds": [w.open.product, w.secret.product]});
    ways(&base, ("filter", &filters), &orders)
}

fn assets(_: &World) -> Vec<Value> {
    let filters = [
        r#"name.StartsWith("Z")"#,
        r#"serialNumber.StartsWith("SN-secret")"#,
        r#"location.minionId = "bench""#,
        r#"location.physicalLocation = "Zebra""#,
        r#"name.Contains("thing 1")"#,
        r#"workspace = "secret""#,
        r#"search("zebra* OR thing")"#,
    ];
    let orders = [
        json!({"returnCount": true}),
        json!({"orderBy": "LAST_UPDATED_TIMESTAMP", "descending": true, "returnCount": true}),
        json!({"orderBy": "ID", "descending": true, "skip": 1}),
    ];
    ways(&json!({}), ("filter", &filters), &orders)
}

fn utilizations(_: &World) -> Vec<Value> {
    let mut requests = ways(
        &json!({}),
        ("utilizationFilter", &[r#"taskName.StartsWith("Z")"#, r#"minionId = "bench""#]),
        &[json!({}), json!({"orderBy": "START_TIMESTAMP", "orderByDescending": true})],
    );
    let filters =
        [r#"name.StartsWith("Z")"#, r#"location.minionId = "bench""#, r#"name.Contains("thing")"#];
    requests.extend(ways(&json!({}), ("assetFilter", &filters), &[json!({})]));
    requests
}

fn lab(filters: &[&str], orders: &[Value]) -> Vec<Value> {
    ways(&json!({}), ("filter", filters), orders)
}

fn items(_: &World) -> Vec<Value> {
    let filters = [
        r#"partNumber == "Zebra""#,
        r#"name.StartsWith("Zebra thing 1")"#,
        r#"name.Contains("ebra")"#,
        r#"state == "NEW" and partNumber != "Plain""#,
        r#"workspace == "secret""#,
        r#"search("zebra thing")"#,
    ];
    lab(
        &filters,
        &[json!({"returnCount": true}), json!({"orderBy": "UPDATED_AT", "descending": true})],
    )
}

fn templates(_: &World) -> Vec<Value> {
    let filters = [
        r#"templateGroup == "Zebra""#,
        r#"name.StartsWith("Zebra thing 1")"#,
        r#"name.Contains("ebra")"#,
        r#"workspace == "secret""#,
    ];
    lab(&filters, &[json!({}), json!({"orderBy": "NAME", "descending": true})])
}

fn tables(_: &World) -> Vec<Value> {
    let filters = [
        r#"name.StartsWith("Z")"#,
        r#"name.Contains("thing 1")"#,
        r#"rowCount > 0"#,
        r#"properties["k"] == "Zebra""#,
        r#"workspace == "secret""#,
    ];
    lab(
        &filters,
        &[
            json!({}),
            json!({"orderBy": "NAME"}),
            json!({"orderBy": "NUMBER_OF_ROWS", "orderByDescending": true}),
        ],
    )
}

fn listed_tables(w: &World) -> Vec<Value> {
    vec![
        json!({"take": 2}),
        json!({"take": 2, "orderBy": "NAME", "orderByDescending": true}),
        json!({"take": 2, "workspace": ["secret"]}),
        json!({"take": 2, "workspace": ["secret", "open"]}),
        json!({"id": [w.secret.table, w.open.table]}),
    ]
}

fn rows(_: &World) -> Vec<Value> {
    let filter = |operation: &str, value: &str| json!([{"column": "v", "operation": operation, "value": value}]);
    vec![
        json!({"take": 1}),
        json!({"take": 1, "filters": filter("EQUALS", "Zebra")}),
        json!({"take": 1, "filters": filter("CONTAINS", "ebra"), "orderBy": [{"column": "v", "descending": true}]}),
    ]
}

fn exports(w: &World) -> Vec<Value> {
    let format = |mut rows: Value| {
        let members = rows.as_object_mut().unwrap();
        members.remove("orderBy");
        members.insert("responseFormat".to_owned(), json!("CSV"));
        rows
    };
    rows(w).into_iter().map(format).collect()
}

fn aggregates(_: &World) -> Vec<Value> {
    let term = |function: &str| json!({"function": function, "column": "v"});
    vec![
        json!({}),
        json!({"groupBy": [{"column": "v"}]}),
        json!({"aggregates": [term("MIN"), term("LAST")], "filter": "v.Contains(\"ebra\")"}),
    ]
}

fn decimated(_: &World) -> Vec<Value> {
    let decimation = |method: &str| json!({"decimation": {"intervals": 1, "method": method}});
    let mut filtered = decimation("LOSSY");
    filtered["filters"] = json!([{"column": "t", "operation": "GREATER_THAN", "value": "1"}]);
    vec![decimation("LOSSY"), filtered]
}

fn waveforms(_: &World) -> Vec<Value> {
    vec![json!({"from": "2"}), json!({"to": "1"}), json!({"from": "1", "to": "2"})]
}

fn plain_rows(_: &World) -> Vec<Value> {
    vec![json!({"take": 1}), json!({"orderBy": ["v"], "orderByDescending": true, "take": 1})]
}

fn files(w: &World) -> Vec<Value> {
    vec![
        json!({"take": 2}),
        json!({"take": 2, "skip": 3, "orderBy": "size", "orderByDescending": true}),
        json!({"ids": [w.secret.file, w.open.file]}),
    ]
}

fn structured_files(_: &World) -> Vec<Value> {
    vec![
        json!({"take": 2}),
        json!({"workspace": "secret"}),
        json!({"propertiesQuery": [{"key": "about", "operation": "CONTAINS", "value": "ebra"}]}),
        json!({"sizeMinQuery": {"operation": "GREATER_THAN", "value": 1}, "take": 1, "skip": 1}),
    ]
}

fn linq_files(_: &World) -> Vec<Value> {
    let filters = [
        r#"name.StartsWith("Z")"#,
        r#"name.Contains("1")"#,
        r#"workspace == "secret""#,
        "size > 0",
    ];
    let orders = [
        json!({}),
        json!({"orderBy": "name", "orderByDescending": false}),
        json!({"orderBy": "size", "skip": 1}),
    ];
    ways(&json!({}), ("filter", &filters), &orders)
}

fn searched_files(_: &World) -> Vec<Value> {
    let filters = [r#"name:("Z*")"#, r#"workspaceId:("secret")"#, "size:[1 TO *]"];
    ways(&json!({}), ("filter", &filters), &[json!({}), json!({"orderBy": "name"})])
}

fn feeds(_: &World) -> Vec<Value> {
    vec![
        json!({}),
        json!({"platform": "NI_LINUX_RT"}),
        json!({"workspace": "open"}),
        json!({"platform": "WINDOWS"}),
    ]
}

fn searches(_: &World) -> Vec<Value> {
    let mut requests = Vec::new();
    for text in [
        "thing",
        "plain",
        "plain thing",
        "zebra",
        "zeb*",
        "th*",
        "\"plain thing\"",
        "name:thing -zebra",
        "",
        "feed",
    ] {
        for take in [3, 100] {
            requests.push(json!({"text": text, "take": take, "facets": true, "highlight": true}));
            requests.push(json!({"text": text, "take": take, "returnCount": false}));
        }
        requests.push(json!({"text": text, "workspaces": ["secret", "open"], "facets": true}));
        requests.push(json!({"text": text, "kinds": ["Product"], "facets": true}));
    }
    requests
}

const QUESTIONS: &[(&str, fn(&World) -> Vec<Value>)] = &[
    ("ProductService::query_products", products),
    ("ProductService::explain_query_products", products),
    ("ProductService::query_product_values", product_values),
    ("SpecificationService::query_specs", specs),
    ("SpecificationService::explain_query_specs", specs),
    ("AssetService::query_assets", assets),
    ("AssetService::explain_query_assets", assets),
    ("AssetService::query_asset_utilization_history", utilizations),
    ("AssetService::explain_query_asset_utilization_history", utilizations),
    ("WorkItemService::query_work_items", items),
    ("WorkItemService::explain_query_work_items", items),
    ("WorkItemService::query_work_item_templates", templates),
    ("WorkItemService::explain_query_work_item_templates", templates),
    ("TestPlanService::query_test_plans", items),
    ("TestPlanService::explain_query_test_plans", items),
    ("TestPlanService::query_test_plan_templates", templates),
    ("TestPlanService::explain_query_test_plan_templates", templates),
    ("TableService::list_tables", listed_tables),
    ("TableService::query_tables", tables),
    ("TableService::explain_query_tables", tables),
    ("TableService::get_table_data", plain_rows),
    ("TableService::query_table_data", rows),
    ("TableService::explain_query_table_data", rows),
    ("TableService::export_table_data", exports),
    ("TableService::aggregate_table_data", aggregates),
    ("TableService::query_decimated_data", decimated),
    ("TableService::list_deleted_rows", deleted_rows),
    ("TableService::scan", rows),
    ("TableService::read_waveforms", waveforms),
    ("FileService::get_files", files),
    ("FileService::query_files", structured_files),
    ("FileService::query_files_linq", linq_files),
    ("FileService::explain_query_files_linq", linq_files),
    ("FileService::explain_query_files", structured_files),
    ("FileService::explain_search_files", searched_files),
    ("FileService::search_files", searched_files),
    ("FeedService::query_feeds", feeds),
    ("WorkspaceService::list_quotas", quotas),
    ("WorkspaceService::query_workspaces", workspaces),
    ("WorkspaceService::explain_query_workspaces", workspaces),
    ("RecordService::aggregate_records", aggregated_records),
    ("RecordService::scan_records", records),
    ("SearchService::search", searches),
];

pub fn questions() -> Vec<Question> {
    QUESTIONS.iter().map(|&(operation, requests)| Question { operation, requests }).collect()
}
