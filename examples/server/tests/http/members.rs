//! Holds the members of answers against the pages: a member that no page has is a problem, at any
//! depth.

use std::cell::Cell;

use serde_json::Value;

use crate::reference::{Pages, members};

/// What an operation answers, where the page says it in words of its own.
const ANSWERS: &[(&str, &str)] = &[
    ("aggregate_table_data", "TableAggregates"),
    ("create_table", "CreatedTable"),
    ("create_workspace", "Workspace"),
    ("execute_work_item", "ExecuteWorkItemResponse"),
    ("file_api_info", "Operations"),
    ("finish_upload_session", "UploadedFile"),
    ("get_quota", "Quota"),
    ("list_quotas", "PagedQuotas"),
    ("product_api_info", "ProductOperations"),
    ("query_asset_utilization_history", "AssetUtilizationHistoryResponse"),
    ("query_feeds", "Feeds"),
    ("query_packages", "Packages"),
    ("query_test_plan_templates", "PagedTestPlanTemplates"),
    ("query_upload_sessions", "UploadSessionState"),
    ("query_workspaces", "PagedWorkspaces"),
    ("set_quota", "Quota"),
    ("specification_api_info", "V1Operations"),
    ("start_upload_session", "UploadSession"),
    ("table_api_info", "Operations"),
    ("upload_file", "UploadedFile"),
];

/// Records that the pages state in passing: copied from the sentence that is named.
const RECORDS: &[(&str, &str)] = &[
    // tables.md and files.md, operations
    ("CreatedTable", "id"),
    ("UploadedFile", "uri"),
    ("Operations", "operations"),
    ("Operation", "available, version"),
    // tables.md: aggregates
    ("TableAggregates", "groups"),
    // products.md: product_api_info answers
    (
        "ProductOperations",
        "getProducts, queryProducts, createProducts, updateProducts, deleteProducts, deleteManyProducts",
    ),
    // specifications.md: specification_api_info answers
    (
        "V1Operations",
        "createSpecifications, querySpecifications, updateSpecifications, deleteSpecifications",
    ),
    // workspaces.md: query_workspaces
    ("PagedWorkspaces", "workspaces, continuationToken, totalCount"),
    // workspaces.md: list_quotas
    ("PagedQuotas", "quotas, continuationToken"),
    // feeds.md, operations
    ("Feeds", "feeds"),
    ("Packages", "packages"),
    // files.md: upload sessions, expression answers
    ("UploadSession", "id, createdAt"),
    ("UploadSessionState", "id, createdAt, workspace, chunks, expiresAt"),
    ("UploadedChunk", "index, size, close"),
    ("FileLinqMetadata", "created, updated, id, properties, serviceGroup, size, size64, workspace"),
    ("FileTotalCount", "relation, value"),
    ("FileQueryResponse", "_links, availableFiles, totalCount"),
    // work-items.md: execute, definitions, parts
    ("ExecuteWorkItemResponse", "error, result"),
    ("ExecutionResult", "type, error, executionId, jobIds"),
    ("ExecutionDefinition", "type, action, notebookId, parameters, jobs, systemId"),
    ("Job", "functions, arguments, metadata"),
    ("PagedWorkItemTemplates", "workItemTemplates, continuationToken"),
    ("PagedTestPlanTemplates", "testPlanTemplates, continuationToken"),
    // assets.md: state of a location
    ("Presence", "assetPresence, systemConnection"),
    // specifications.md: limit, range of a condition
    ("Limit of Specification", "min, typical, max"),
    ("Range", "min, max, step"),
    // assets.md: utilization
    ("StartUtilizationPartialSuccess", "assetsWithStartedUtilization, failed, error"),
    ("UpdateUtilizationPartialSuccess", "updatedUtilizationIds, failed, error"),
    ("AssetUtilizationHistoryResponse", "assetUtilizations, continuationToken"),
];

/// What the members of a record hold, where the type on the page is no name of a record.
const INSIDE: &[(&str, &str)] = &[
    ("error", "ApiError"),
    ("innerErrors", "ApiError"),
    ("operations", "Operation"),
    ("createdWorkItems", "WorkItem"),
    ("updatedWorkItems", "WorkItem"),
    ("scheduledWorkItems", "WorkItem"),
    ("failedWorkItems", "WorkItem"),
    ("workItems", "WorkItem"),
    ("createdWorkItemTemplates", "WorkItemTemplate"),
    ("updatedWorkItemTemplates", "WorkItemTemplate"),
    ("failedWorkItemTemplates", "WorkItemTemplate"),
    ("workItemTemplates", "WorkItemTemplate"),
    ("createdTestPlans", "TestPlan"),
    ("updatedTestPlans", "TestPlan"),
    ("scheduledTestPlans", "TestPlan"),
    ("failedTestPlans", "TestPlan"),
    ("testPlans", "TestPlan"),
    ("createdTestPlanTemplates", "TestPlanTemplate"),
    ("failedTestPlanTemplates", "TestPlanTemplate"),
    ("testPlanTemplates", "TestPlanTemplate"),
    ("executionActions", "ExecutionDefinition"),
    ("executionHistory", "Events"),
    ("jobs", "Job"),
    ("result", "ExecutionResult"),
    ("timeline", "Timeline"),
    ("schedule", "Schedule"),
    ("dashboard", "Dashboard"),
    ("resources", "Resources"),
    ("assets of Resources", "group"),
    ("duts", "group"),
    ("fixtures", "group"),
    ("systems", "group"),
    ("selections", "selection of assets"),
    ("createdSpecs", "CreatedSpecification"),
    ("updatedSpecs", "UpdatedSpecification"),
    ("failedSpecs", "Specification"),
    ("specs", "Specification"),
    ("limit", "Limit of Specification"),
    ("conditions", "Condition"),
    ("value of Condition", "Member of a condition value"),
    ("range", "Range"),
    ("failed of CreateAssetsPartialSuccess", "Asset"),
    ("failed of UpdateAssetsPartialSuccess", "Asset"),
    ("location", "Location"),
    ("state of Location", "Presence"),
    ("temperatureSensors", "TemperatureSensor"),
    ("assetUtilizations", "Member of an entry"),
    ("availableFiles of FileQueryResponse", "FileMetadata"),
    ("availableFiles of FileLinqQueryResponse", "FileLinqMetadata"),
    ("totalCount of FileLinqQueryResponse", "FileTotalCount"),
    ("chunks", "UploadedChunk"),
    ("groups of TableAggregates", "AggregateGroup"),
    ("values of AggregateGroup", "AggregateValue"),
    ("feeds", "Feed"),
    ("workspaces", "Workspace"),
    ("quotas", "Quota"),
    ("packages", "Package"),
    ("getProducts", "Operation"),
    ("createSpecifications", "Operation"),
];

/// The pages, and how many objects were held against them.
pub struct Checker {
    pages: Pages,
    pub objects: Cell<usize>,
}

impl Checker {
    pub fn new(mut pages: Pages) -> Self {
        for (record, list) in RECORDS {
            pages.records.entry((*record).to_owned()).or_default().extend(members(list, ""));
        }
        Self { pages, objects: Cell::new(0) }
    }

    /// Members that the answer of an operation has and its page has not.
    pub fn problems(&self, operation: &str, status: u16, answer: &Value) -> Vec<String> {
        let mut problems = Vec::new();
        let named = ANSWERS.iter().find(|(of, _)| *of == operation).map(|(_, record)| *record);
        let output = self.pages.operations.get(operation).map_or("", String::as_str);
        let record = match status {
            // The error itself, or a record with it.
            400.. if answer.get("args").is_some() => Some("ApiError"),
            400.. if operation != "execute_work_item" => None,
            _ => named.or_else(|| self.pages.record_in(output)),
        };
        match record {
            Some(record) => self.look(record, answer, operation, &mut problems),
            None => {
                if let Some(error) = answer.get("error") {
                    self.look("ApiError", error, operation, &mut problems);
                }
            }
        }
        problems
    }

    fn look(&self, record: &str, value: &Value, place: &str, problems: &mut Vec<String>) {
        match value {
            Value::Array(items) => {
                items.iter().for_each(|item| self.look(record, item, place, problems));
            }
            Value::Object(given) => {
                let Some(known) = self.pages.records.get(record) else {
                    problems.push(format!("{place}: no page has the record {record:?}"));
                    return;
                };
                self.objects.set(self.objects.get() + 1);
                for (name, value) in given {
                    let Some(kind) = known.get(name) else {
                        problems.push(format!("{place}: {record} has no member {name:?}"));
                        continue;
                    };
                    let of = format!("{name} of {record}");
                    let inside = |key: &str| {
                        INSIDE.iter().find(|(member, _)| *member == key).map(|(_, record)| *record)
                    };
                    if let Some(record) =
                        inside(&of).or_else(|| inside(name)).or_else(|| self.pages.record_in(kind))
                    {
                        // A map to records: its keys are anybody's.
                        if kind.starts_with("map") || name == "operations" {
                            let values = value.as_object().into_iter().flat_map(|map| map.values());
                            values.for_each(|value| {
                                self.look(record, value, &format!("{place}.{name}"), problems);
                            });
                        } else {
                            self.look(record, value, &format!("{place}.{name}"), problems);
                        }
                    }
                }
            }
            _ => {}
        }
    }
}
