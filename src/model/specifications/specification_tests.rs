use std::collections::BTreeMap;

use chrono::Utc;
use serde_json::{Value, json};

use super::specification::*;
use crate::ErrorKind;
use crate::error::Result;
use crate::model::resource::Resource;
use crate::model::specifications::requests::*;
use crate::value::{RecordKey, Val, stored, time};

/// The gain of an amplifier over temperature and supply.
fn request() -> Value {
    json!({
        "productId": "LM741", "specId": "GAIN", "type": "PARAMETRIC", "workspace": "w", "name": "Gain",
        "category": "AC", "symbol": "Av", "block": "Output", "unit": "dB",
        "limit": {"min": 19.0, "typical": 20.0, "max": 21.5},
        "conditions": [
            {"name": "Temperature", "value": {
                "conditionType": "NUMERIC", "range": [{"min": -25, "max": 85, "step": 20}], "discrete": [125],
                "unit": "C",
            }},
            {"name": "Mode", "value": {"conditionType": "STRING", "discrete": ["fast"]}},
        ],
        "keywords": ["k"], "properties": {"p": "v"},
    })
}

fn created() -> Specification {
    let request: CreateSpecificationRequest = serde_json::from_value(request()).unwrap();
    let now = time::parse("2024-01-01T00:00:00Z").unwrap();
    let mut spec = Specification::create(request, now, "ada", "default").unwrap();
    spec.id = Some(RecordKey::generate(Specification::KIND, 1, 42).into());
    spec
}

fn update(extra: Value) -> UpdateSpecificationRequest {
    let mut value = json!({
        "id": created().id(), "productId": "LM741", "specId": "GAIN", "type": "PARAMETRIC", "workspace": "w",
        "version": 0,
    });
    value.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
    serde_json::from_value(value).unwrap()
}

fn updated(extra: Value) -> Result<Specification> {
    let mut spec = created();
    spec.update(update(extra), time::parse("2024-02-01T00:00:00Z").unwrap(), "bob")?;
    Ok(spec)
}

#[test]
fn the_record_and_its_requests_have_the_published_members_in_both_spellings() {
    let spec = created();
    let mut wire = request();
    wire["id"] = spec.id().into();
    wire["version"] = 0.into();
    for (member, value) in [
        ("createdAt", "2024-01-01T00:00:00.000Z"),
        ("createdBy", "ada"),
        ("updatedAt", "2024-01-01T00:00:00.000Z"),
        ("updatedBy", "ada"),
    ] {
        wire[member] = value.into();
    }
    assert_eq!(serde_json::to_value(&spec).unwrap(), wire);
    assert_eq!(serde_json::from_value::<Specification>(wire).unwrap(), spec);
    assert_eq!(
        stored::from_bytes::<Specification>(&stored::to_bytes(&spec).unwrap()).unwrap(),
        spec
    );
    let snake: CreateSpecificationRequest = serde_json::from_value(json!({
        "product_id": "P", "spec_id": "S", "type": "functional",
        "conditions": [{"name": "c", "value": {"condition_type": "STRING", "discrete": ["a"]}}],
    }))
    .unwrap();
    assert_eq!(
        serde_json::to_value(snake).unwrap(),
        json!({
            "productId": "P", "specId": "S", "type": "FUNCTIONAL",
            "conditions": [{"name": "c", "value": {"conditionType": "STRING", "discrete": ["a"]}}],
        })
    );
    assert_eq!(
        serde_json::to_value(CreatedSpecification::from(&spec)).unwrap(),
        json!({
            "id": spec.id(), "productId": "LM741", "specId": "GAIN", "workspace": "w", "version": 0,
            "createdAt": "2024-01-01T00:00:00.000Z", "createdBy": "ada",
        })
    );
    assert_eq!(
        serde_json::to_value(UpdatedSpecification::from(&updated(json!({})).unwrap())).unwrap(),
        json!({
            "id": spec.id(), "productId": "LM741", "specId": "GAIN", "workspace": "w", "version": 1,
            "updatedAt": "2024-02-01T00:00:00.000Z", "updatedBy": "bob",
        })
    );
    let deleted = DeleteSpecificationsPartialSuccess::default();
    assert_eq!(
        serde_json::to_value(deleted).unwrap(),
        json!({"deletedSpecIds": [], "failedSpecIds": [], "error": {"args": [], "innerErrors": []}})
    );
    let query: QuerySpecificationsRequest = serde_json::from_value(json!({
        "product_ids": ["P"], "filter": "f", "projection": ["condition_name"], "order_by": "SPEC_ID",
        "order_by_descending": true, "take": 5, "continuation_token": "t",
    }))
    .unwrap();
    assert_eq!(
        serde_json::to_value(query).unwrap(),
        json!({
            "productIds": ["P"], "filter": "f", "projection": ["CONDITION_NAME"], "orderBy": "SPEC_ID",
            "orderByDescending": true, "take": 5, "continuationToken": "t",
        })
    );
    let operation = json!({"available": true, "version": 1});
    let operations: V1Operations =
        serde_json::from_value(json!({"query_specifications": operation})).unwrap();
    let written = serde_json::to_value(operations).unwrap();
    assert_eq!(written["querySpecifications"], operation);
    // The operation for a single specification exists, but the service does not list it.
    let names: Vec<&String> = written.as_object().unwrap().keys().collect();
    assert_eq!(
        names,
        [
            "createSpecifications",
            "deleteSpecifications",
            "querySpecifications",
            "updateSpecifications"
        ]
    );
}

#[test]
fn required_members_are_asked_for() {
    for (member, bad) in [
        ("productId", Value::Null),
        ("productId", " ".into()),
        ("specId", Value::Null),
        ("specId", "".into()),
        ("type", Value::Null),
        ("limit", json!({"min": 8e28})),
        (
            "conditions",
            json!([{"name": "c", "value": {"conditionType": "NUMERIC", "discrete": ["1"]}}]),
        ),
    ] {
        let mut value = request();
        value[member] = bad.clone();
        let request: CreateSpecificationRequest = serde_json::from_value(value).unwrap();
        let error = Specification::create(request, Utc::now(), "ada", "default").unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{member}");
        let error = updated(json!({member: bad})).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{member}");
    }
    for member in ["workspace", "version"] {
        assert_eq!(
            updated(json!({member: null})).unwrap_err().kind(),
            ErrorKind::InvalidArgument,
            "{member}"
        );
    }
}

#[test]
fn only_the_stored_version_can_be_updated() {
    for version in [-1, 1, 2] {
        assert_eq!(updated(json!({"version": version})).unwrap_err().kind(), ErrorKind::Conflict);
    }
    let spec = updated(json!({"name": "New"})).unwrap();
    assert_eq!((spec.version, spec.name.as_deref()), (Some(1), Some("New")));
    assert_eq!(spec.created_by.as_deref(), Some("ada"));
    assert_eq!(spec.updated_by.as_deref(), Some("bob"));
}

#[test]
fn updates_replace_whole_members_and_leave_absent_ones() {
    let unchanged = updated(json!({})).unwrap();
    assert_eq!(
        (&unchanged.limit, &unchanged.conditions),
        (&created().limit, &created().conditions)
    );
    let changed = updated(json!({
        "limit": {}, "conditions": [], "keywords": ["a", "a"], "properties": {}, "symbol": "", "type": "FUNCTIONAL",
        "productId": "LM358", "specId": "G", "workspace": "v",
    }))
    .unwrap();
    assert_eq!(changed.limit, Some(SpecificationLimit::default()));
    assert_eq!(changed.conditions, Some(vec![]));
    assert_eq!(changed.keywords, Some(vec!["a".to_owned()]));
    assert_eq!(changed.properties, Some(BTreeMap::new()));
    assert_eq!(changed.symbol.as_deref(), Some(""));
    assert_eq!(changed.product_id.as_deref(), Some("LM358"));
    assert_eq!(changed.unit, created().unit);
}

#[test]
fn projections_of_conditions_are_united_inside_each_condition() {
    use SpecificationProjection as P;
    let conditions = |projection: &[P]| {
        serde_json::to_value(created().project(projection)).unwrap().get("conditions").cloned()
    };
    assert_eq!(conditions(&[P::Id]), None);
    assert_eq!(
        conditions(&[P::ConditionName]),
        Some(json!([{"name": "Temperature"}, {"name": "Mode"}]))
    );
    assert_eq!(
        conditions(&[P::ConditionValues]),
        Some(json!([
            {"value": {"range": [{"min": -25, "max": 85, "step": 20}], "discrete": [125]}},
            {"value": {"discrete": ["fast"]}},
        ]))
    );
    assert_eq!(
        conditions(&[P::ConditionUnit]),
        Some(json!([{"value": {"unit": "C"}}, {"value": {}}]))
    );
    assert_eq!(
        conditions(&[P::ConditionType, P::ConditionName]),
        Some(json!([
            {"name": "Temperature", "value": {"conditionType": "NUMERIC"}},
            {"name": "Mode", "value": {"conditionType": "STRING"}},
        ]))
    );
    assert_eq!(created().project(&[]), created());
    for member in SpecificationProjection::ALL {
        let kept = serde_json::to_value(created().project(&[*member])).unwrap();
        assert_eq!(kept.as_object().unwrap().len(), 1, "{member}");
    }
}

#[test]
fn conditions_are_rows_for_filters() {
    let spec = created();
    let place =
        Specification::fields().iter().position(|field| field.path == "conditions").unwrap();
    let env = crate::value::Env { now_ms: 0, calibration_warning_days: 30 };
    let Val::Rows(rows) = spec.value(place, &env) else { panic!("rows") };
    assert!(matches!(rows[0].val(0), Val::Str(name) if name == "Temperature"));
    assert!(matches!(rows[0].val(1), Val::Str(unit) if unit == "C"));
    assert!(matches!(rows[1].val(2), Val::Str(kind) if kind == "STRING"));
}
