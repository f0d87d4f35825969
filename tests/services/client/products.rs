//! Products and specifications.

use crate::prelude::*;

use super::{Client, assert_has};

fn names(page: &Value, list: &str, member: &str) -> Vec<String> {
    let text = |record: &Value| record[member].as_str().unwrap_or("-").to_owned();
    page[list].as_array().unwrap().iter().map(text).collect()
}

#[test]
fn limits_are_answered_as_the_numbers_that_they_were_given_as() {
    let client = Client::new();
    let limits = json!({"min": 1, "typical": 2.0, "max": 9_007_199_254_740_993_i64});
    let spec = |id: &str, limit: &Value| json!({"productId": "P", "specId": id, "type": "PARAMETRIC", "limit": limit});
    let other = json!({"min": -0.5, "max": 1e20});
    client.get("create_specs", json!({"specs": [spec("a", &limits), spec("b", &other)]}));
    let client = client.reopened();
    let page = client.get("query_specs", json!({"productIds": ["P"], "orderBy": "SPEC_ID"}));
    assert_eq!((&page["specs"][0]["limit"], &page["specs"][1]["limit"]), (&limits, &other));
    assert_eq!(
        page["specs"][0]["limit"].to_string(),
        r#"{"max":9007199254740993,"min":1,"typical":2.0}"#
    );
    // Filters see doubles, whether integers or doubles were sent.
    for filter in [
        "limit.min == 1",
        "limit.min == 1.0 && limit.typical == 2",
        "limit.max > 9007199254740000 && limit.min > 0.5",
    ] {
        let found = client.get("query_specs", json!({"productIds": ["P"], "filter": filter}));
        assert_eq!(found["specs"].as_array().unwrap().len(), 1, "{filter}");
        assert_eq!(found["specs"][0]["specId"], "a", "{filter}");
    }
}

#[test]
fn a_whole_record_that_was_read_can_be_sent_back_as_an_update() {
    let client = Client::new();
    let product = json!([{"part_number": "P", "name": "n", "keywords": ["a", "a", "b"], "file_ids": [], "properties": {}}]);
    let made = client.get("create_products", product)["products"][0].clone();
    assert_has(
        &made,
        &json!({"partNumber": "P", "keywords": ["a", "b"], "fileIds": [], "properties": {}, "family": null,
        "workspace": "default", "updatedAt": "2024-03-01T00:00:00.000Z"}),
    );
    client.store.clock.advance_ms(1);
    let answer = client.get("update_products", json!({"products": [made], "replace": true}));
    assert_has(
        &answer,
        &json!({"failed": null, "error": null,
        "products": [{"partNumber": "P", "keywords": ["a", "b"], "updatedAt": "2024-03-01T00:00:00.001Z"}]}),
    );
}

#[test]
fn a_fault_in_one_item_of_a_list_is_named_with_its_index() {
    let client = Client::new();
    for (operation, body, place) in [
        (
            "create_products",
            json!([{"partNumber": "a"}, {"partNumber": "b", "keywords": ["x", 7]}]),
            "[1].keywords[1]",
        ),
        (
            "create_products",
            json!([{"partNumber": "a", "properties": {"k": 7}}]),
            "[0].properties.k",
        ),
        ("create_products", json!([7]), "[0]"),
        (
            "create_assets",
            json!([{}, {"location": {"slotNumber": "1"}}]),
            "[1].location.slotNumber",
        ),
        ("create_specs", json!({"specs": [{"type": "NONE"}]}), "specs[0].type"),
        ("query_products", json!({"orderBy": "KEYWORDS"}), "orderBy"),
        ("query_products", json!({"take": "10"}), "take"),
        ("query_products", json!({"projection": ["ID", "SIZE"]}), "projection[1]"),
    ] {
        let error = client.refusal(operation, body.clone());
        assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{body}");
        assert_eq!(error.place(), Some(&Place::Member(place.to_owned())), "{body}: {error}");
    }
}

#[test]
fn properties_need_keys_that_are_not_empty() {
    let client = Client::new();
    let answer = client.get(
        "create_products",
        json!([{"partNumber": "a", "properties": {"": "v"}}, {"partNumber": "b", "properties": {" ": "", "ключ": "v"}}]),
    );
    assert_has(
        &answer,
        &json!({"products": [{"partNumber": "b", "properties": {" ": "", "ключ": "v"}}],
        "failed": [{"partNumber": "a", "properties": {"": "v"}}]}),
    );
    let id = answer["products"][0]["id"].clone();
    let answer =
        client.get("update_products", json!({"products": [{"id": id, "properties": {"": "v"}}]}));
    assert_has(&answer, &json!({"products": [], "failed": [{"id": id}]}));
    let spec = json!({"specs": [{"productId": "p", "specId": "s", "type": "FUNCTIONAL", "properties": {"": "v"}}]});
    assert_has(
        &client.get("create_specs", spec),
        &json!({"createdSpecs": [], "failedSpecs": [{"specId": "s"}]}),
    );
}

#[test]
fn products_come_in_every_order_and_filter() {
    let client = Client::new();
    let made = client.get(
        "create_products",
        json!([
            {"partNumber": "B", "name": "beta", "family": "x", "keywords": ["k1", "k2"], "properties": {"color": "red"}},
            {"partNumber": "A", "family": "X", "fileIds": ["f1"], "properties": {"color": "blue", "Color": "red"}},
            {"partNumber": "a", "name": "", "properties": {}},
            {"partNumber": "Ä\"\\\n'", "name": "bet", "keywords": [], "workspace": "w"},
        ]),
    );
    assert_eq!(made["products"].as_array().unwrap().len(), 4);
    for (filter, substitutions, expected) in [
        (r#"partNumber == "A""#, json!([]), &["A"][..]),
        (r#"PARTNUMBER = 'a'"#, json!(null), &["a"]),
        (r#"partNumber > "A" && partNumber <= "a""#, json!([]), &["B", "a"]),
        (r#"name == null"#, json!([]), &["A"]),
        (r#"name = """#, json!([]), &["a"]),
        (r#"name != "beta""#, json!([]), &["A", "a", "Ä\"\\\n'"]),
        (r#"!name.Contains("bet")"#, json!([]), &["A", "a"]),
        (r#"string.IsNullOrEmpty(name)"#, json!([]), &["A", "a"]),
        (r#"family.ToUpper() = @0"#, json!(["X"]), &["B", "A"]),
        (r#"properties.Any(key == "color" && value == "red")"#, json!([]), &["B"]),
        (r#"properties.Any(key == "color" & value.StartsWith(@1))"#, json!([0, "bl"]), &["A"]),
        (r#"properties["Color"] == "red" or properties.color == "red""#, json!([]), &["B", "A"]),
        (
            r#"properties.ContainsKey("Color") and not properties.ContainsKey("size")"#,
            json!([]),
            &["A"],
        ),
        (r#"keywords.Contains("k2") || fileIds.Contains("f1")"#, json!([]), &["B", "A"]),
        (r#"keywords.Any(it == "k1")"#, json!([]), &["B"]),
        (r#"keywords.Count == 0"#, json!([]), &["A", "a", "Ä\"\\\n'"]),
        (r#"keywords.Count() > 1"#, json!([]), &["B"]),
        (r#"partNumber == "Ä\"\\\n\'""#, json!([]), &["Ä\"\\\n'"]),
        ("partNumber == \"\\u00c4\\x22\\\\\n'\"", json!([]), &["Ä\"\\\n'"]),
        (r#"partNumber in (@0, @1, "none")"#, json!(["A", "Ä\"\\\n'"]), &["A", "Ä\"\\\n'"]),
        (r#"partNumber not in ("A", "B")"#, json!([]), &["a", "Ä\"\\\n'"]),
        (r#"new[]{@0,@0}.Contains(partNumber)"#, json!(["B"]), &["B"]),
        (r#"workspace = "default" and not (name.EndsWith("ta"))"#, json!([]), &["A", "a"]),
        (
            r#"updatedAt >= "2024-03-01T02:00:00.0000001+02:00" and updatedAt < "2024-03-01T00:00:00.001""#,
            json!([]),
            &["B", "A", "a", "Ä\"\\\n'"],
        ),
        (
            r#"updatedWithin <= "0:0:0" and updatedWithin <= RelativeTime.CurrentDay"#,
            json!([]),
            &["B", "A", "a", "Ä\"\\\n'"],
        ),
        (r#"name.Length == 0 or partNumber.Length == 5"#, json!([]), &["a", "Ä\"\\\n'"]),
    ] {
        let query = json!({"filter": filter, "substitutions": substitutions, "returnCount": true});
        let page = client.get("query_products", query);
        assert_eq!(names(&page, "products", "partNumber"), expected, "{filter}");
        assert_eq!(page["totalCount"], expected.len(), "{filter}");
    }
    for (order, descending, expected) in [
        ("PART_NUMBER", false, ["A", "B", "a", "Ä\"\\\n'"]),
        ("PART_NUMBER", true, ["Ä\"\\\n'", "a", "B", "A"]),
        ("NAME", false, ["A", "a", "Ä\"\\\n'", "B"]),
        ("NAME", true, ["B", "Ä\"\\\n'", "a", "A"]),
        ("FAMILY", false, ["a", "Ä\"\\\n'", "A", "B"]),
        ("FAMILY", true, ["B", "A", "Ä\"\\\n'", "a"]),
        ("UPDATED_AT", true, ["Ä\"\\\n'", "a", "A", "B"]),
        ("ID", true, ["Ä\"\\\n'", "a", "A", "B"]),
    ] {
        let mut query =
            json!({"orderBy": order, "descending": descending, "take": 1, "returnCount": true});
        let mut walked = Vec::new();
        loop {
            let page = client.get("query_products", query.clone());
            assert_eq!(page["totalCount"], 4);
            walked.extend(names(&page, "products", "partNumber"));
            if page["continuationToken"].is_null() {
                break;
            }
            assert_ne!(query["continuationToken"], page["continuationToken"]);
            query["continuationToken"] = page["continuationToken"].clone();
        }
        assert_eq!(walked, expected, "{order} {descending}");
    }
    assert_has(
        &client.get("query_products", json!({"take": 0, "return_count": true})),
        &json!({"products": [], "continuationToken": null, "totalCount": 4}),
    );
    assert_eq!(
        client.get("query_products", json!({"take": -7}))["products"].as_array().unwrap().len(),
        4
    );
    assert_eq!(client.get("query_product_values", json!({"field": "FAMILY"})), json!(["X", "x"]));
    assert_eq!(
        client.get("query_product_values", json!({"field": "NAME", "startsWith": "b"})),
        json!(["bet", "beta"])
    );
    let values = json!({"field": "part_number", "filter": "family != null", "starts_with": "A"});
    assert_eq!(client.get("query_product_values", values), json!(["A"]));
}

#[test]
fn a_condition_reads_both_spellings_and_camel_case_wins() {
    let client = Client::new();
    let value = json!({"conditionType": "NUMERIC", "condition_type": "STRING", "discrete": [1, 2.5, null], "unit": "V"});
    let spec = json!({"specs": [{"product_id": "p", "productId": "q", "spec_id": "s", "type": "functional",
        "conditions": [{"name": "c", "value": value}]}]});
    let answer = client.get("create_specs", spec);
    assert_has(
        &answer,
        &json!({"failedSpecs": null, "createdSpecs": [{"productId": "q", "specId": "s", "version": 0,
        "workspace": "default", "createdAt": "2024-03-01T00:00:00.000Z", "createdBy": "ada"}]}),
    );
    let found = client.get("get_spec", json!({"id": answer["createdSpecs"][0]["id"]}));
    assert_eq!(
        found["conditions"],
        json!([{"name": "c", "value": {"conditionType": "NUMERIC", "range": [], "discrete": [1, 2.5, null], "unit": "V"}}])
    );
    assert_has(
        &found,
        &json!({"type": "FUNCTIONAL", "updatedBy": "ada", "updatedAt": "2024-03-01T00:00:00.000Z"}),
    );
}

#[test]
fn specifications_are_moved_cleared_and_projected() {
    let client = Client::new();
    let made = client.get(
        "create_specs",
        json!({"specs": [
            {"productId": "p", "specId": "1", "type": "PARAMETRIC", "name": "n", "limit": {"min": -1, "max": 1e3},
                "keywords": ["k", "k"], "properties": {"a": "b"},
                "conditions": [{"name": "T", "value": {"range": [{"min": 0, "max": 10.0, "step": null}], "unit": "C"}},
                    {"name": "M", "value": {"conditionType": "STRING", "discrete": ["x"], "unit": "dropped"}}]},
            {"productId": "p", "specId": "1", "type": "PARAMETRIC"},
            {"productId": "p", "specId": "1", "type": "PARAMETRIC", "workspace": "w"},
            {"productId": "q", "specId": "1", "type": "FUNCTIONAL", "limit": {"min": 8e28}},
            {"productId": "q", "type": "FUNCTIONAL"},
            {"productId": "q", "specId": "1"},
        ]}),
    );
    assert_has(
        &made,
        &json!({"createdSpecs": [{"specId": "1"}, {"workspace": "w"}],
        "error": {"name": "Skyline.OneOrMoreErrorsOccurred", "code": -251_041, "innerErrors": [
            {"resourceType": "Specification", "resourceId": "1"}, {"resourceId": "3"}, {"resourceId": "4"},
            {"resourceId": "5"}]}}),
    );
    assert_eq!(
        made["failedSpecs"][1],
        json!({"productId": "q", "specId": "1", "type": "FUNCTIONAL", "limit": {"min": 8e28}})
    );
    let id = &made["createdSpecs"][0]["id"];
    let mut spec = client.get("get_spec", json!({"id": id}));
    let query = |projection: Value| {
        let page = client.get(
            "query_specs",
            json!({"productIds": ["p", "p"], "filter": "workspace == \"default\"",
            "projection": projection}),
        );
        page["specs"].clone()
    };
    assert_eq!(
        query(json!(["SPEC_ID", "CONDITION_NAME"])),
        json!([{"specId": "1", "conditions": [{"name": "T"}, {"name": "M"}]}])
    );
    assert_eq!(
        query(json!(["CONDITION_VALUES", "CONDITION_UNIT"])),
        json!([{"conditions": [{"value": {"range": [{"min": 0, "max": 10.0}], "discrete": [], "unit": "C"}},
            {"value": {"discrete": ["x"]}}]}])
    );
    assert_eq!(query(json!([])), json!([spec]));
    // The specification is sent back with all members and with changes; null changes nothing.
    spec["specId"] = json!("2");
    spec["name"] = json!(null);
    spec["limit"] = json!({"min": null});
    client.store.clock.advance_ms(10);
    let answer = client.get("update_specs", json!({"specs": [spec, spec]}));
    assert_has(
        &answer,
        &json!({"updatedSpecs": [{"specId": "2", "version": 1, "updatedAt": "2024-03-01T00:00:00.010Z"}],
        "failedSpecs": [{"specId": "2", "version": 0, "limit": {}}]}),
    );
    assert_has(
        &client.get("get_spec", json!({"id": id})),
        &json!({"name": "n", "limit": {}, "keywords": ["k"], "version": 1}),
    );
    assert_eq!(client.get("update_specs", json!({"specs": []})), Value::Null);
    assert_eq!(
        client.refusal("query_specs", json!({"productIds": []})).kind(),
        ErrorKind::InvalidArgument
    );
    for filter in [
        "productId == \"p\"",
        "id.Contains(\"a\")",
        "id > \"a\"",
        "name == @0",
        "type == \"OTHER\"",
    ] {
        let error = client.refusal("query_specs", json!({"productIds": ["p"], "filter": filter}));
        assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{filter}");
    }
}

#[test]
fn specifications_are_projected_and_ordered_by_their_last_change() {
    let client = Client::new();
    let spec = |id: &str| json!({"productId": "P", "specId": id, "type": "FUNCTIONAL"});
    for id in ["a", "b", "c"] {
        client.get("create_specs", json!({"specs": [spec(id)]}));
        client.store.clock.advance_ms(1);
    }
    let all = client.get("query_specs", json!({"productIds": ["P"]}));
    let change = json!({"id": all["specs"][0]["id"], "productId": "P", "specId": "a", "type": "FUNCTIONAL",
        "workspace": "default", "version": 0});
    client.get("update_specs", json!({"specs": [change]}));
    let ask = |descending: bool, token: &Value| {
        client.get(
            "query_specs",
            json!({"productIds": ["P"], "projection": ["SPEC_ID", "UPDATED_AT"], "orderBy": "UPDATED_AT",
                "orderByDescending": descending, "take": 2, "continuationToken": token}),
        )
    };
    let page = ask(false, &Value::Null);
    assert_eq!(
        page["specs"],
        json!([{"specId": "b", "updatedAt": "2024-03-01T00:00:00.001Z"},
            {"specId": "c", "updatedAt": "2024-03-01T00:00:00.002Z"}])
    );
    assert_eq!(names(&ask(false, &page["continuationToken"]), "specs", "specId"), ["a"]);
    assert_eq!(names(&ask(true, &Value::Null), "specs", "specId"), ["a", "c"]);
}
