//! What a strict client makes of the answers to batches: it knows the members of each record, and
//! refuses an answer with another member, without a required one, or with another type.

use crate::prelude::*;

use serde_json::Map;

use super::Client;

/// The records of the client: a member with `!` is required. `s`, `n`, `b` and `m` are text, number,
/// Boolean and map of texts; `[x]` is a list of x; `v` is any value.
const RECORDS: &str = "
ApiError: name s, code n, message s, args [s], resourceType s, resourceId s, innerErrors [ApiError]
CreateProductsPartialSuccess: products! [Product], failed [CreateProductRequest], error ApiError
UpdateProductsPartialSuccess: products! [Product], failed [UpdateProductRequest], error ApiError
Product: id s, partNumber s, name s, family s, updatedAt s, fileIds [s], keywords [s], properties m, workspace s
CreateProductRequest: partNumber! s, name s, family s, fileIds [s], keywords [s], properties v, workspace s
UpdateProductRequest: id! s, partNumber! s, name s, family s, fileIds [s], keywords [s], properties v, workspace s
CreateResultsPartialSuccess: results! [TestResult], failed [CreateResultRequest], error ApiError
UpdateResultsPartialSuccess: results! [TestResult], failed [UpdateResultRequest], error ApiError
TestResult: id! s, programName! s, status! Status, partNumber s, serialNumber s, operator s, systemId s, hostName s, startedAt! s, totalTimeInSeconds! n, keywords! [s], properties! v, fileIds! [s], dataTableIds! [s], workspace! s, updatedAt! s, statusTypeSummary! v
Status: statusType! s, statusName s
CreateResultRequest: programName s, status Status, partNumber s, serialNumber s, operator s, systemId s, hostName s, startedAt s, totalTimeInSeconds n, keywords [s], properties v, fileIds [s], dataTableIds [s], workspace s
UpdateResultRequest: id s, programName s, status Status, partNumber s, totalTimeInSeconds n, keywords [s], properties v, fileIds [s], dataTableIds [s], workspace s
CreateSpecificationsPartialSuccess: createdSpecs [CreatedSpecification], failedSpecs [CreateSpecificationRequest], error ApiError
UpdateSpecificationsPartialSuccess: updatedSpecs [UpdatedSpecification], failedSpecs [UpdateSpecificationRequest], error ApiError
CreatedSpecification: id! s, productId! s, specId! s, workspace! s, version! n, createdAt! s, createdBy! s
UpdatedSpecification: id! s, productId! s, specId! s, workspace! s, version! n, updatedAt! s, updatedBy! s
CreateSpecificationRequest: productId! s, specId! s, type! s, workspace s, name s, category s, symbol s, block s, unit s, limit Limit, conditions [Condition], keywords [s], properties m
UpdateSpecificationRequest: id! s, productId! s, specId! s, type! s, workspace! s, version! n, name s, category s, symbol s, block s, unit s, limit Limit, conditions [Condition], keywords [s], properties m
Limit: min n, typical n, max n
Condition: name s, value ConditionValue
ConditionValue: conditionType v, range v, discrete v, unit s
CreateAssetsPartialSuccess: assets [Asset], failed [CreateAssetRequest], error ApiError
UpdateAssetsPartialSuccess: assets [Asset], failed [UpdateAssetRequest], error ApiError
Asset: id! s, name s, modelName s, modelNumber n, serialNumber s, vendorName s, vendorNumber n, busType s, assetType s, discoveryType s, firmwareVersion s, hardwareVersion s, visaResourceName s, partNumber s, temperatureSensors v, supportsSelfCalibration b, supportsExternalCalibration b, customCalibrationInterval n, selfCalibration v, externalCalibration v, isNIAsset b, isSystemController b, supportsSelfTest b, supportsReset b, location v, calibrationStatus s, outForCalibration b, workspace s, properties m, keywords [s], fileIds [s], lastUpdatedTimestamp s, scanCode s
CreateAssetRequest: modelName s, serialNumber s, vendorName s, busType s, name s, location Location, properties m, keywords [s]
UpdateAssetRequest: id s, name s, properties m, keywords [s], location Location
Location: minionId s, physicalLocation s, parent s, slotNumber n, state Presence
Presence: assetPresence s
StartUtilizationPartialSuccess: assetsWithStartedUtilization [AssetIdentification], failed [AssetIdentification], error ApiError
AssetIdentification: modelName s, modelNumber n, serialNumber s, vendorName s, vendorNumber n, busType s
CreateWorkItemsPartialSuccessResponse: createdWorkItems! [WorkItem], failedWorkItems [CreateWorkItemRequest], error ApiError
UpdateWorkItemsPartialSuccessResponse: updatedWorkItems! [WorkItem], failedWorkItems [UpdateWorkItemRequest], error ApiError
ScheduleWorkItemsPartialSuccessResponse: scheduledWorkItems! [WorkItem], failedWorkItems [ScheduleWorkItemRequest], error ApiError
WorkItem: id! s, name s, type s, state s, substate s, description s, parentId s, templateId s, assignedTo s, requestedBy s, testProgram s, partNumber s, productFamily s, workspace s, workflowId s, timeline v, schedule v, resources v, executionActions [Action], fileIdsFromTemplate [s], properties m, dashboard v, createdBy s, createdAt s, updatedBy s, updatedAt s, executionHistory v
CreateWorkItemRequest: name s, type s, state s, templateId s, partNumber s, executionActions [Action], fileIdsFromTemplate [s], properties m, resources v, dashboard v, timeline v
UpdateWorkItemRequest: id s, name s, executionActions [Action], fileIdsFromTemplate [s], properties m, resources v, dashboard v, timeline v
ScheduleWorkItemRequest: id s, assignedTo s, schedule v, resources v
CreateWorkItemTemplatesPartialSuccessResponse: createdWorkItemTemplates! [Template], failedWorkItemTemplates [CreateTemplateRequest], error ApiError
UpdateWorkItemTemplatesPartialSuccessResponse: updatedWorkItemTemplates! [Template], failedWorkItemTemplates [CreateTemplateRequest], error ApiError
Template: id! s, name s, templateGroup s, type s, productFamilies [s], partNumbers [s], summary s, description s, testProgram s, timeline v, estimatedDurationInSeconds n, systemFilter s, dutFilter s, resources v, executionActions [Action], fileIds [s], workspace s, properties m, dashboard v, workflowId s, createdBy s, createdAt s, updatedBy s, updatedAt s
CreateTemplateRequest: id s, name s, templateGroup s, type s, partNumbers [s], executionActions [Action], fileIds [s], properties m, dashboard v
CreateTestPlansPartialSuccessResponse: createdTestPlans! [TestPlan], failedTestPlans [CreateTestPlanRequest], error ApiError
UpdateTestPlansResponse: updatedTestPlans! [TestPlan], failedTestPlans [CreateTestPlanRequest], error ApiError
ScheduleTestPlansResponse: scheduledTestPlans! [TestPlan], failedTestPlans [ScheduleTestPlanRequest], error ApiError
TestPlan: id! s, name s, templateId s, templateName s, state s, substate s, description s, assignedTo s, workOrderId s, workOrderName s, workflowId s, workspace s, createdAt s, updatedAt s, createdBy s, updatedBy s, properties m, partNumber s, dutId s, dutSerialNumber s, testProgram s, systemId s, systemFilter s, dutFilter s, fixtureIds [s], plannedStartDateTime s, estimatedEndDateTime s, estimatedDurationInSeconds n, fileIdsFromTemplate [s], executionActions [Action], executionHistory v, dashboard v, dashboardUrl v
CreateTestPlanRequest: id s, name s, state s, templateId s, partNumber s, executionActions [Action], fileIdsFromTemplate [s], properties m, dashboard v
ScheduleTestPlanRequest: id s, plannedStartDateTime s, fixtureIds [s], systemId s, dutId s
CreateTestPlanTemplatePartialSuccessResponse: createdTestPlanTemplates! [Template], failedTestPlanTemplates [CreateTemplateRequest], error ApiError
ModifyTablesPartialSuccess: modifiedTableIds! [s], failedModifications! [TableModification], error! ApiError
TableModification: id! s, metadataRevision n, name s, testResultId s, workspace s, properties v
JOB: type! s, action! s, jobs! [Job], systemId s
Job: functions! [s], arguments! [v], metadata! v
MANUAL: type! s, action! s
NONE: type! s, action! s
NOTEBOOK: type! s, action! s, notebookId! s, parameters m
";

type Record = BTreeMap<&'static str, (bool, &'static str)>;

/// The records of the client, by name.
struct Strict(BTreeMap<&'static str, Record>);

impl Strict {
    fn new() -> Self {
        let record = |line: &'static str| {
            let (name, members) = line.split_once(": ").unwrap();
            let member = |text: &'static str| {
                let (name, kind) = text.trim().split_once(' ').unwrap();
                (name.trim_end_matches('!'), (name.ends_with('!'), kind))
            };
            (name, members.split(',').map(member).collect())
        };
        Self(RECORDS.lines().filter(|line| !line.is_empty()).map(record).collect())
    }

    /// Why a value is not of this kind.
    fn fault(&self, kind: &str, value: &Value) -> Option<String> {
        if let Some(kind) = kind.strip_prefix('[').and_then(|kind| kind.strip_suffix(']')) {
            let Some(items) = value.as_array() else { return Some(format!("{value} is no list")) };
            return items.iter().find_map(|item| self.fault(kind, item));
        }
        let fits = match kind {
            "v" => true,
            "s" => value.is_string(),
            "n" => value.is_number(),
            "b" => value.is_boolean(),
            "m" => value.as_object().is_some_and(|map| map.values().all(Value::is_string)),
            "Action" => return self.fault(value["type"].as_str().unwrap_or_default(), value),
            record => return self.other(record, value),
        };
        (!fits).then(|| format!("{value} is not {kind}"))
    }

    fn other(&self, name: &str, value: &Value) -> Option<String> {
        let (Some(record), Some(given)) = (self.0.get(name), value.as_object()) else {
            return Some(format!("{value} is no record {name}"));
        };
        let lost = record.iter().find(|(name, (required, _))| {
            *required && given.get(**name).is_none_or(Value::is_null)
        });
        if let Some((member, _)) = lost {
            return Some(format!("{name} lacks {member}: {value}"));
        }
        given.iter().filter(|(_, value)| !value.is_null()).find_map(|(member, value)| match record
            .get(member.as_str())
        {
            Some((_, kind)) => self.fault(kind, value),
            None => Some(format!("{name} has no {member}")),
        })
    }
}

/// One batch operation.
#[derive(serde::Deserialize)]
struct Batch {
    operation: String,
    /// Its list, the list of the failed entries, and the record of the answer.
    names: [String; 3],
    /// An entry with all its members, as JSON.
    entry: String,
    /// Members that are left out, emptied and spoilt.
    members: Vec<String>,
    /// A member whose value makes the entry fail.
    fault: [String; 2],
}

#[derive(serde::Deserialize)]
struct Corpus {
    batch: Vec<Batch>,
}

impl Batch {
    fn entry(&self, ids: &Map<String, Value>) -> Value {
        let mut text = self.entry.clone();
        for (name, id) in ids {
            text = text.replace(&format!("\"${name}\""), &id.to_string());
        }
        serde_json::from_str(&text).unwrap()
    }
}

/// The entry with this member replaced or, without a value, left out; `None` where the entry has no
/// place for it.
fn with(entry: &Value, path: &str, value: Option<Value>) -> Option<Value> {
    let mut changed = entry.clone();
    let pointer = format!("/{}", path.replace('.', "/"));
    let (above, name) = pointer.rsplit_once('/')?;
    let members = changed.pointer_mut(above)?.as_object_mut()?;
    match value {
        Some(value) => drop(members.insert(name.to_owned(), value)),
        None => drop(members.remove(name)?),
    }
    Some(changed)
}

/// The value without members that are null, which mean the same as absent ones.
fn filled(value: &Value) -> Value {
    match value {
        Value::Array(items) => items.iter().map(filled).collect(),
        Value::Object(members) => {
            let kept = members.iter().filter(|(_, value)| !value.is_null());
            Value::Object(kept.map(|(name, value)| (name.clone(), filled(value))).collect())
        }
        value => value.clone(),
    }
}

fn batches() -> Vec<Batch> {
    toml::from_str::<Corpus>(include_str!("../../corpus/batches.toml")).unwrap().batch
}

/// Makes the records that the entries change.
fn made(client: &Client) -> Map<String, Value> {
    let product = client.get("create_products", json!({"products": [{"partNumber": "P"}]}));
    let result = client.get(
        "create_results",
        json!({"results": [{"programName": "n", "status": {"statusType": "PASSED"}}]}),
    );
    let spec = client.get(
        "create_specs",
        json!({"specs": [{"productId": "P", "specId": "S", "type": "FUNCTIONAL"}]}),
    );
    let asset = client.get("create_assets", json!({"assets": [{"modelName": "model", "vendorName": "v",
        "serialNumber": "s", "busType": "USB", "location": {"physicalLocation": "x", "state": {"assetPresence": "PRESENT"}}}]}));
    client.get("create_work_items", json!({"workItems": [{"name": "a"}]}));
    client.get("create_test_plans", json!({"testPlans": [{"name": "a", "state": "NEW"}]}));
    client.get(
        "create_work_item_templates",
        json!({"workItemTemplates": [{"name": "a", "templateGroup": "g", "type": "t"}]}),
    );
    let table = client.get(
        "create_table",
        json!({"columns": [{"name": "i", "dataType": "INT64", "columnType": "INDEX"}]}),
    );
    let ids = json!({"product": product["products"][0]["id"], "result": result["results"][0]["id"], "spec": spec["createdSpecs"][0]["id"],
        "asset": asset["assets"][0]["id"], "table": table});
    ids.as_object().unwrap().clone()
}

/// What a failed entry is echoed as: the members that were sent and, for products and
/// specifications, the required ones that were not, as they are stored or empty.
fn expected(batch: &Batch, ids: &Map<String, Value>, sent: &Value) -> Value {
    let mut echo = filled(sent);
    let members = echo.as_object_mut().unwrap();
    let is_stored = |kind: &str| sent["id"] == ids[kind];
    let stored = |known: bool, value: Value, empty: Value| if known { value } else { empty };
    let required: Vec<(&str, Value)> = match batch.operation.as_str() {
        "create_products" => vec![("partNumber", json!(""))],
        "update_products" => {
            let known = is_stored("product");
            vec![("id", json!("")), ("partNumber", stored(known, json!("P"), json!("")))]
        }
        "create_specs" => {
            vec![("productId", json!("")), ("specId", json!("")), ("type", json!("PARAMETRIC"))]
        }
        "update_specs" => {
            let known = is_stored("spec");
            vec![
                ("id", json!("")),
                ("productId", stored(known, json!("P"), json!(""))),
                ("specId", stored(known, json!("S"), json!(""))),
                ("type", stored(known, json!("FUNCTIONAL"), json!("PARAMETRIC"))),
                ("workspace", stored(known, json!("default"), json!(""))),
                ("version", json!(0)),
            ]
        }
        _ => vec![],
    };
    for (name, value) in required {
        members.entry(name).or_insert(value);
    }
    echo
}

/// A client of a store with the records that the entries change.
fn prepared() -> (Client, Map<String, Value>) {
    let client = Client::new();
    let ids = made(&client);
    (client, ids)
}

#[test]
fn a_strict_client_reads_every_answer_and_finds_its_failed_entries_in_it() {
    let strict = Strict::new();
    let spoilt = [None, Some(json!("")), Some(json!([])), Some(json!({})), Some(json!(" "))];
    let spoilt: Vec<Option<Value>> = spoilt.into_iter().chain([Some(json!(7))]).collect();
    let (mut echoed, mut refused) = (0, 0);
    let (mut client, mut ids) = prepared();
    for batch in batches() {
        for (path, value, is_faulty) in batch.members.iter().flat_map(|path| {
            spoilt.iter().flat_map(move |value| [(path, value, false), (path, value, true)])
        }) {
            let [list, failed, record] = batch.names.each_ref().map(String::as_str);
            let whole = batch.entry(&ids);
            let Some(sent) = with(&whole, path, value.clone()) else { continue };
            let [place, fault] = &batch.fault;
            let fault = serde_json::from_str(fault).unwrap();
            let faulty = is_faulty.then(|| with(&sent, place, Some(fault))).flatten();
            let sent = faulty.unwrap_or(sent);
            let what = format!("{} {sent}", batch.operation);
            let mut body = json!({ list: [sent] });
            if batch.operation == "start_utilization" {
                body[list].as_array_mut().unwrap().push(whole.clone());
                body["utilizationIdentifier"] = json!(what);
            }
            let answer = match client.ask(&batch.operation, body) {
                Ok(answer) => answer,
                Err(error) => {
                    assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{what}: {error}");
                    let error = serde_json::to_value(error.api_error()).unwrap();
                    assert_eq!(strict.fault("ApiError", &error), None, "{what}");
                    refused += 1;
                    continue;
                }
            };
            let mut read = answer.clone();
            let entries = answer[failed].as_array().cloned().unwrap_or_default();
            for entry in entries.iter().filter(|entry| **entry != whole) {
                assert_eq!(filled(entry), expected(&batch, &ids, &sent), "{what}");
                echoed += 1;
            }
            // What the client itself sent with another type, or left out of work items, test plans
            // and assets, it cannot read back. The others have each required member.
            let echo = expected(&batch, &ids, &sent);
            let is_filled = expected(&batch, &ids, &json!({})) != json!({});
            if let Some(fault) = strict.fault(strict.0[record][failed].1, &json!([echo])) {
                assert!(!is_filled || !fault.contains(" lacks "), "{what}: {fault}");
                read[failed] = json!([]);
            }
            if !answer.is_null() {
                assert_eq!(strict.fault(record, &read), None, "{what}: {answer}");
            }
            if entries.is_empty() && is_filled {
                // What is stored has changed.
                (client, ids) = prepared();
            }
        }
    }
    assert!(echoed > 500 && refused > 200, "{echoed} echoed, {refused} refused");
}
