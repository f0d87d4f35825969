use serde_json::json;

use crate::model::results::*;

#[test]
fn parameters_keep_keys_and_texts_exactly() {
    let data: StepData = serde_json::from_value(json!({
        "text": "free", "parameters": [
            {"name": "Vout", "measurement": "3.10", "low_limit": "3", "lowLimit": "2", "specId": "S",
             "nominalValue": null, "count": 7, "ok": true},
            {},
        ],
    }))
    .unwrap();
    assert_eq!(
        serde_json::to_value(&data).unwrap(),
        json!({
            "text": "free", "parameters": [
                {"name": "Vout", "measurement": "3.10", "low_limit": "3", "lowLimit": "2",
                 "specId": "S", "count": "7", "ok": "true"},
                {},
            ],
        })
    );
    let nested = json!({"parameters": [{"name": ["a"]}]});
    let error = crate::from_json::<StepData>(nested.to_string().as_bytes()).unwrap_err();
    assert!(error.to_string().contains("parameters[0]"), "{error}");
}

#[test]
fn values_keep_their_json_type() {
    let wire = json!([
        {"name": "a", "value": "35"}, {"name": "b", "value": 35}, {"name": "c", "value": null},
        {"name": "d", "value": {"x": [1, null]}}, {"name": "e", "value": true},
    ]);
    let values: Vec<NamedValue> = serde_json::from_value(wire.clone()).unwrap();
    assert_eq!(serde_json::to_value(values).unwrap(), wire);
    assert!(serde_json::from_value::<NamedValue>(json!({"value": 1})).is_err());
}

#[test]
fn a_request_of_a_step_has_its_children() {
    let wire = json!({
        "resultId": "r", "name": "Parent", "stepType": "SequenceCall",
        "children": [{"name": "Child", "children": [{"name": "", "status": {"statusType": "DONE"}}]}],
    });
    let request: CreateStepRequest = serde_json::from_value(wire.clone()).unwrap();
    assert_eq!(serde_json::to_value(&request).unwrap(), wire);
    let built = CreateStepRequest::new().result_id("r").name("Parent").step_type("SequenceCall");
    let last = CreateStepRequest::new().name("").status(StatusType::Done);
    let built = built.children([CreateStepRequest::new().name("Child").children([last])]);
    assert_eq!(request, built);
}

#[test]
fn a_projection_of_a_step_has_exactly_its_members() {
    let step = Step::new().step_id("1").result_id("r").name("n").has_children(false);
    let members = [StepProjection::Name, StepProjection::HasChildren, StepProjection::Name];
    assert_eq!(
        serde_json::to_value(step.clone().project(&members)).unwrap(),
        json!({"name": "n", "hasChildren": false})
    );
    assert_eq!(step.clone().project(&[]), step);
    assert_eq!(StepProjection::ALL.len(), StepOrderBy::ALL.len() + 9);
    assert_eq!(
        StepOrderBy::ALL.iter().map(|order| order.as_str()).collect::<Vec<_>>(),
        StepField::ALL.iter().map(|field| field.as_str()).collect::<Vec<_>>()
    );
}
