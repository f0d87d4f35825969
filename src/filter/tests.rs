//! Tests of single rules of the language. The corpus of `tests/corpus/filters` runs over plain rows
//! in [`corpus`], and through the services in `store::service_tests::corpus`.

mod bounds;
mod conditions;
pub(crate) mod corpus;
mod properties;
pub(crate) mod schemas;
pub(crate) mod uses;

use std::ops::Bound;

use serde_json::json;

use super::*;
use crate::error::{Error, Place};
use crate::value::time;
use corpus::JsonRow;

fn times() -> Times {
    Times::new(time::parse("2024-05-15T12:00:00Z").unwrap(), None)
}

/// Compiles against work items.
fn work_item(text: &str, values: &[serde_json::Value]) -> Result<Filter> {
    let fields = schemas::fields("workItem");
    compile(Some(text), values, &schemas::schema("workItem", &fields), &times()).map(Option::unwrap)
}

fn conditions_of(text: &str) -> Vec<Condition> {
    work_item(text, &[]).unwrap().conjuncts().to_vec()
}

fn field(path: &str) -> usize {
    field_of("workItem", path)
}

fn field_of(kind: &str, path: &str) -> usize {
    schemas::fields(kind).iter().position(|decl| decl.path == path).unwrap()
}

fn fault(error: &Error) -> (String, usize) {
    let api = error.api_error();
    let Some(Place::Offset(offset)) = error.place() else { panic!("{error:?} has no offset") };
    (api.args[0].clone(), *offset)
}

#[test]
fn absent_and_blank_filters_match_everything() {
    let schema = Schema::default();
    for text in [None, Some(""), Some(" \n\t")] {
        assert!(compile(text, &[], &schema, &times()).unwrap().is_none());
    }
}

#[test]
fn faults_carry_name_kind_offset_and_offending_text() {
    let error = work_item("\"ä\" = name && partNumer = 1", &[]).unwrap_err();
    let api = error.api_error();
    assert_eq!(api.name.as_deref(), Some("StationDb.Filter.UnknownProperty"));
    assert_eq!(api.args, ["unknown_property", "partNumer"]);
    assert_eq!(error.place(), Some(&Place::Offset(14)), "characters, not bytes");
    assert!(
        api.message.unwrap().contains("unknown property `partNumer`; did you mean `partNumber`?")
    );
}

#[test]
fn parentheses_beyond_the_limit_fail_fast_on_a_small_stack() {
    let run = || {
        let open = "(".repeat(256 * 1024);
        // The best of several runs, since other processes may use the processor.
        let bound_ms = if cfg!(debug_assertions) { 200 } else { 10 };
        let took = (0..5).map(|_| {
            let started = std::time::Instant::now();
            let error = work_item(&open, &[]).unwrap_err();
            assert_eq!(fault(&error), ("too_complex".to_owned(), limits::FILTER_DEPTH));
            started.elapsed()
        });
        let best = took.min().unwrap();
        assert!(best.as_millis() < bound_ms, "{best:?}");
        for nested in [
            "!",
            "not ",
            "-",
            "iif(",
            "new[]{",
            "properties[",
            "name in (",
            "fileIdsFromTemplate.any(",
        ] {
            let text = nested.repeat(256 * 1024 / nested.len());
            assert!(work_item(&text, &[]).is_err(), "{nested}");
        }
        for chained in [".a", ".ToLower()", " = name", " ?? name", " ? name", "[0]"] {
            let text = format!("name{}", chained.repeat(200_000 / chained.len()));
            assert!(work_item(&text, &[]).is_err(), "{chained}");
        }
    };
    std::thread::Builder::new().stack_size(512 * 1024).spawn(run).unwrap().join().unwrap();
}

#[test]
fn the_deepest_accepted_filter_runs_on_a_small_stack() {
    let run = || {
        let nested = format!("{}name = \"a\"{}", "not (".repeat(50), ")".repeat(50));
        let filter = work_item(&nested, &[]).unwrap();
        assert!(filter.to_string().starts_with("not "));
        let mut nested = "name = \"a\"".to_owned();
        for level in 0..33 {
            let operator = if level % 2 == 0 { "and" } else { "or" };
            nested = format!("!(({nested}) {operator} type = \"b\")");
        }
        let filter = work_item(&nested, &[]).unwrap();
        assert_eq!(filter.to_string(), work_item(&filter.to_string(), &[]).unwrap().to_string());
        let row = JsonRow::new(
            &schemas::fields("workItem"),
            &schemas::sources("workItem"),
            &json!({"name": "a"}),
        );
        let _ = filter.matches(&row);
    };
    std::thread::Builder::new().stack_size(512 * 1024).spawn(run).unwrap().join().unwrap();
}

#[test]
fn what_a_filter_computes_does_not_double_with_each_level() {
    let run = || {
        let row = JsonRow::new(
            &schemas::fields("workItem"),
            &schemas::sources("workItem"),
            &json!({"name": "a"}),
        );
        let started = std::time::Instant::now();
        for item in ["true, false", "name = \"a\", name = \"b\"", "true, name = \"c\""] {
            for levels in [1, 2, 3, 60, 150] {
                let text = format!("(name = \"a\"){}", format!(" in ({item})").repeat(levels));
                let filter = work_item(&text, &[]).unwrap();
                assert!(filter.matches(&row), "{item} {levels}");
            }
        }
        // Each element is the text of the enclosing level, twice.
        let mut text = "it.Length = 8".to_owned();
        for level in (0..3).rev() {
            let inner = if level == 0 { "name".to_owned() } else { format!("x{level}") };
            text = format!(
                "new[]{{{inner} + {inner}}}.Any(x{} => {})",
                level + 1,
                text.replace("it", "x3")
            );
        }
        assert!(work_item(&text, &[]).unwrap().matches(&row));
        let mut text = "true".to_owned();
        for level in (0..90).rev() {
            let inner = if level == 0 { "name".to_owned() } else { format!("x{level}") };
            text = format!("new[]{{{inner} + {inner}}}.Any(x{} => {text})", level + 1);
        }
        let filter = work_item(&text, &[]).unwrap();
        assert!(filter.matches(&row), "a text that is too long counts as null");
        assert!(started.elapsed().as_secs() < 60, "{:?}", started.elapsed());
    };
    std::thread::Builder::new().stack_size(2 * 1024 * 1024).spawn(run).unwrap().join().unwrap();
}

#[test]
fn flat_chains_are_not_nesting() {
    for operator in [" or ", " && ", " | "] {
        let text = vec!["name = \"a\""; 4000].join(operator);
        assert!(work_item(&text, &[]).is_ok(), "{operator}");
    }
    let sum = format!("timeline.estimatedDurationInSeconds > {}", vec!["1"; 4000].join(" + "));
    assert!(work_item(&sum, &[]).is_ok());
}

#[test]
fn limits_are_errors_with_a_position() {
    let too_long = " ".repeat(limits::FILTER_BYTES - 3) + "true or false";
    assert_eq!(fault(&work_item(&too_long, &[]).unwrap_err()).0, "too_complex");
    let nodes = vec!["!true"; 40_000].join("|");
    assert_eq!(fault(&work_item(&nodes, &[]).unwrap_err()).0, "too_complex");
    let list = format!("name in ({})", vec!["\"a\""; limits::FILTER_LIST + 1].join(","));
    let (kind, offset) = fault(&work_item(&list, &[]).unwrap_err());
    assert_eq!((kind.as_str(), offset), ("too_complex", 9 + 4 * limits::FILTER_LIST));
    let list = format!("name in ({})", vec!["\"a\""; limits::FILTER_LIST].join(","));
    assert!(work_item(&list, &[]).is_ok());
    let values = vec![json!("a"); limits::FILTER_SUBSTITUTIONS + 1];
    let error = work_item("name = @0", &values).unwrap_err();
    assert_eq!(error.place(), Some(&Place::Member("substitutions".to_owned())));
    assert_eq!(error.api_error().args[0], "too_complex");
    assert!(error.message().contains("FILTER_SUBSTITUTIONS allows 10000"), "{error}");
    assert!(
        compile(None, &values, &Schema::default(), &times()).is_err(),
        "also where there is no filter"
    );
}

#[test]
fn conditions_name_fields_and_constants_of_their_type() {
    let name = field("name");
    let text = |text: &str| Constant::Text(text.into());
    assert_eq!(conditions_of("name = \"a\""), [Condition::Field(name, FieldTest::Eq(text("a")))]);
    assert_eq!(conditions_of("\"a\" == name"), [Condition::Field(name, FieldTest::Eq(text("a")))]);
    assert_eq!(
        conditions_of("name.StartsWith(\"a\")"),
        [Condition::Field(name, FieldTest::Prefix("a".into()))]
    );
    assert_eq!(
        conditions_of("name.ToLower().Contains(\"a\")"),
        [Condition::Field(name, FieldTest::Contains("a".into(), Fold::Lower))]
    );
    assert_eq!(
        conditions_of("state = \"pending-approval\" || state == \"New\""),
        [Condition::Field(
            field("state"),
            FieldTest::In(vec![text("NEW"), text("PENDING_APPROVAL")])
        )]
    );
    assert_eq!(
        conditions_of("name in (\"b\", \"a\", \"b\", null)"),
        [Condition::Field(name, FieldTest::In(vec![Constant::Null, text("a"), text("b")]))]
    );
    assert_eq!(conditions_of("name = null"), [Condition::Field(name, FieldTest::IsNull)]);
    assert_eq!(conditions_of("name != null"), [Condition::Field(name, FieldTest::NotNull)]);
    assert_eq!(
        conditions_of("createdAt = \"\""),
        [Condition::Field(field("createdAt"), FieldTest::IsNull)]
    );
    assert_eq!(conditions_of("name != \"a\""), [Condition::Other]);
    assert_eq!(conditions_of("false"), [Condition::Never]);
    assert_eq!(conditions_of("true"), []);
}

#[test]
fn ranges_are_merged_and_exclude_null() {
    let duration = field("timeline.estimatedDurationInSeconds");
    assert_eq!(
        conditions_of(
            "timeline.estimatedDurationInSeconds > \"1\" and timeline.estimatedDurationInSeconds <= 7.5"
        ),
        [Condition::Field(
            duration,
            FieldTest::Range(Bound::Excluded(Constant::Int(1)), Bound::Included(Constant::Int(7)))
        )]
    );
    assert_eq!(
        conditions_of("name < \"b\""),
        [Condition::Field(
            field("name"),
            FieldTest::Range(
                Bound::Included(Constant::Text("".into())),
                Bound::Excluded(Constant::Text("b".into()))
            )
        )]
    );
    assert_eq!(conditions_of("timeline.estimatedDurationInSeconds = 7.5"), [Condition::Never]);
    assert_eq!(
        conditions_of("timeline.estimatedDurationInSeconds > -0.5"),
        [Condition::Field(
            duration,
            FieldTest::Range(
                Bound::Excluded(Constant::Int(-1)),
                Bound::Included(Constant::Int(i64::MAX))
            )
        )]
    );
}

#[test]
fn maps_and_lists_have_conditions() {
    let map = field("properties");
    let eq = Condition::Field(map, FieldTest::MapEq("k".into(), "v".into()));
    for text in [
        "properties[\"k\"] = \"v\"",
        "properties.k == 'v'",
        "\"v\" = properties['k']",
        "properties.Any(key == \"k\" & value == \"v\")",
        "properties.Any(p => p.value == \"v\" && p.key == \"k\")",
    ] {
        assert_eq!(conditions_of(text), std::slice::from_ref(&eq), "{text}");
    }
    assert_eq!(
        conditions_of("properties.ContainsKey(\"k\")"),
        [Condition::Field(map, FieldTest::MapKey("k".into()))]
    );
    assert_eq!(
        conditions_of("properties.k in (\"v\", \"w\")"),
        [Condition::Field(map, FieldTest::MapIn("k".into(), vec!["v".into(), "w".into()]))]
    );
    let list = field("fileIdsFromTemplate");
    for text in [
        "fileIdsFromTemplate.Contains(\"a\")",
        "fileIdsFromTemplate.Any(x => x = \"a\")",
        "\"a\" in fileIdsFromTemplate",
    ] {
        assert_eq!(
            conditions_of(text),
            [Condition::Field(list, FieldTest::ListHas(vec!["a".into()]))],
            "{text}"
        );
    }
    let rows = Condition::Field(
        field("resources.assets.selections"),
        FieldTest::RowsHave(0, vec![Constant::Text("x".into())]),
    );
    for text in [
        "resources.assets.selections.id = \"x\"",
        "resources.assets.selections.Any(s => s.id == \"x\")",
    ] {
        assert_eq!(conditions_of(text), std::slice::from_ref(&rows), "{text}");
    }
}

/// Compiles against the resource with fields of every type.
fn probe(text: &str, values: &[serde_json::Value]) -> Filter {
    let fields = schemas::fields("probe");
    compile(Some(text), values, &schemas::schema("probe", &fields), &times()).unwrap().unwrap()
}

fn probe_row(record: &serde_json::Value) -> JsonRow {
    JsonRow::new(&schemas::fields("probe"), &schemas::sources("probe"), record)
}

#[test]
fn only_evaluation_decides_about_lists_of_maps_and_json_values() {
    for text in [
        "data.parameters.Any(name = \"a\")",
        "data.parameters.Any(it.ContainsKey(\"a\"))",
        "data.parameters.Any(name = \"a\" and status = \"b\")",
        "data.parameters.Any(it.Any(key = \"a\" and value = \"b\"))",
        "data.parameters.Any(name in (\"a\", \"b\"))",
        "data.parameters.name = \"a\"",
        "data.parameters[0].name = \"a\"",
        "data.parameters = null",
        "inputs.Any(name = \"a\" and value = 35)",
        "inputs.Any(value = 35)",
        "inputs.Any(value = \"35\")",
        "inputs.value in (35, \"35\")",
        "json = 35",
        "json = \"35\"",
        "json > 35",
        "json = null",
        "json != null",
        "json.StartsWith(\"a\")",
        "json.Contains(\"a\")",
        "json in (35, 36)",
    ] {
        assert_eq!(probe(text, &[]).conjuncts(), [Condition::Other], "{text}");
    }
    assert!(matches!(
        probe("inputs.Any(name = \"a\")", &[]).conjuncts(),
        [Condition::Field(_, FieldTest::RowsHave(0, _))]
    ));
}

#[test]
fn filters_of_lists_of_maps_print_in_canonical_form() {
    let text = "data.parameters.Any(p=>p['k']==@0&&it.ContainsKey(@1)|p.name<>'x')";
    let filter = probe(text, &[json!("a\n"), json!("b")]);
    let printed = "data.parameters.Any(p => p[\"k\"] = \"a\\n\" and \
                   it.ContainsKey(\"b\") | p.name != \"x\")";
    assert_eq!(filter.to_string(), printed);
    assert_eq!(probe(printed, &[]).to_string(), printed);
    assert_eq!(probe("inputs.Any(value=-35.0)", &[]).to_string(), "inputs.Any(value = -35.0)");
}

#[test]
fn json_numbers_compare_exactly_as_far_as_they_are_64_bit_integers() {
    let is_match = |text: &str, json: serde_json::Value| {
        probe(text, &[json!(u64::MAX)]).matches(&probe_row(&json!({"json": json})))
    };
    assert!(is_match("json = 9007199254740993", json!(9_007_199_254_740_993_i64)));
    assert!(!is_match("json = 9007199254740992", json!(9_007_199_254_740_993_i64)));
    assert!(is_match("json > 9007199254740992", json!(9_007_199_254_740_993_i64)));
    assert!(is_match("json = @0", json!(u64::MAX)));
    assert!(is_match("json > 9223372036854775807", json!(u64::MAX)));
    assert!(is_match("json = -0.0", json!(0)));
    let json = field_of("probe", "json");
    assert!(probe_row(&json!({"json": null})).val(json).is_null());
    assert!(!probe_row(&json!({"json": []})).val(json).is_null());
}

#[test]
fn alternatives_are_usable_only_when_each_is() {
    let groups = conditions_of("name = \"a\" or (type = \"b\" and name != \"c\")");
    let [Condition::AnyOf(groups)] = groups.as_slice() else { panic!("{groups:?}") };
    assert_eq!(groups.len(), 2);
    assert!(!Condition::AnyOf(groups.clone()).is_exact());
    assert_eq!(conditions_of("name = \"a\" or name != \"c\""), [Condition::Other]);
}

#[test]
fn within_becomes_a_range_of_the_timestamp() {
    let fields = schemas::fields("table");
    let created = fields.iter().position(|decl| decl.path == "createdAt").unwrap();
    let filter = compile(
        Some("createdWithin <= \"7.00:00:00\""),
        &[],
        &schemas::schema("table", &fields),
        &times(),
    )
    .unwrap()
    .unwrap();
    let week_ago = time::parse("2024-05-08T12:00:00Z").unwrap().timestamp_millis();
    assert_eq!(
        filter.conjuncts(),
        [Condition::Field(
            created,
            FieldTest::Range(
                Bound::Included(Constant::Time(week_ago)),
                Bound::Included(Constant::Time(time::MAX_MS))
            )
        )]
    );
}

#[test]
fn canonical_text_replaces_substitutions() {
    let filter = work_item("name==@0&&!properties.Any(it.key=='a\"')", &[json!("x\n\\")]).unwrap();
    assert_eq!(filter.to_string(), r#"name = "x\n\\" and not properties.Any(it.key = "a\"")"#);
}

#[test]
fn text_searches_are_answered_by_the_caller() {
    let fields = schemas::fields("workItem");
    let schema = Schema { search: true, ..schemas::schema("workItem", &fields) };
    let filter = compile(Some("name = 'a' and search(\"amplifier\")"), &[], &schema, &times())
        .unwrap()
        .unwrap();
    assert_eq!(filter.searches(), [TextSearch { text: "amplifier".to_owned(), offset: 22 }]);
    let row = JsonRow::new(&fields, &schemas::sources("workItem"), &json!({"name": "a"}));
    let work = crate::value::Work::new(&|| Ok(()));
    assert!(filter.matches_with(&row, &|number| number == 0, &work));
    assert!(!filter.matches(&row));
    assert_eq!(fault(&work_item("search(\"a\")", &[]).unwrap_err()).0, "unknown_function");
}

#[test]
fn a_conversion_that_an_error_names_compiles_in_its_place() {
    for (operand, operator, other) in [
        ("properties[\"lot\"]", ">", "3"),
        ("properties[\"lot\"]", "<=", "9.5"),
        ("name", "==", "true"),
        ("name", "==", "updatedAt"),
        ("name.ToUpper()", "<", "3"),
    ] {
        let error = work_item(&format!("{operand} {operator} {other}"), &[]).unwrap_err();
        assert_eq!(fault(&error).0, "type_mismatch", "{operand}");
        let message = error.api_error().message.unwrap();
        let hint = message.split("convert it: `").nth(1).and_then(|rest| rest.split('`').next());
        let hint = hint.unwrap_or_else(|| panic!("{message}"));
        assert!(hint.contains(operand), "{message}");
        let converted = format!("{hint} {operator} {other}");
        assert!(work_item(&converted, &[]).is_ok(), "{converted}");
        // A number with a fraction stays what it is.
        let is_rounded = ["ToInt16", "ToInt32", "ToInt64"].iter().any(|name| hint.contains(name));
        assert!(!is_rounded, "{converted}");
    }
}
