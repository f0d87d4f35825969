//! Requests as the library knows them: each member of each body in `wire/` is read and written
//! again.

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use stationdb::bodies::*;
use stationdb::{
    assets, feeds, files, products, results, search, specifications, tables, test_plans,
    work_items, workspaces,
};

type RoundTrip = fn(&Value) -> Value;

fn again<T: DeserializeOwned + Serialize>(body: &Value) -> Value {
    let request: T = stationdb::from_json(body.to_string().as_bytes())
        .unwrap_or_else(|error| panic!("{error}: {body}"));
    serde_json::to_value(request).unwrap()
}

/// The type of the body of each operation that has one.
const BODIES: &[(&str, RoundTrip)] = &[
    ("add_columns", again::<tables::AddColumnsRequest>),
    ("aggregate_records", again::<stationdb::scans::AggregateRecordsRequest>),
    ("aggregate_table_data", again::<tables::AggregateTableDataRequest>),
    ("append_table_data", again::<tables::AppendTableDataRequest>),
    ("apply_result_retention", again::<ApplyResultRetentionRequest>),
    ("create_assets", again::<CreateAssetsRequest>),
    ("create_feed", again::<feeds::CreateFeedRequest>),
    ("create_products", again::<CreateProductsRequest>),
    ("create_results", again::<CreateResultsRequest>),
    ("create_specs", again::<specifications::CreateSpecificationsRequest>),
    ("create_steps", again::<CreateStepsRequest>),
    ("create_table", again::<tables::CreateTableRequest>),
    ("create_test_plan_templates", again::<CreateTestPlanTemplatesRequest>),
    ("create_test_plans", again::<CreateTestPlansRequest>),
    ("create_work_item_templates", again::<CreateWorkItemTemplatesRequest>),
    ("create_work_items", again::<CreateWorkItemsRequest>),
    ("create_workspace", again::<workspaces::CreateWorkspaceRequest>),
    ("delete_assets", again::<DeleteAssetsRequest>),
    ("delete_files", again::<DeleteFilesRequest>),
    ("delete_packages", again::<DeletePackagesRequest>),
    ("delete_products", again::<DeleteProductsRequest>),
    ("delete_results", again::<DeleteResultsRequest>),
    ("delete_rows", again::<tables::DeleteRowsRequest>),
    ("delete_specs", again::<DeleteSpecificationsRequest>),
    ("delete_steps", again::<DeleteStepsRequest>),
    ("delete_tables", again::<DeleteTablesRequest>),
    ("delete_test_plan_templates", again::<DeleteTestPlanTemplatesRequest>),
    ("delete_test_plans", again::<DeleteTestPlansRequest>),
    ("delete_work_item_templates", again::<DeleteWorkItemTemplatesRequest>),
    ("delete_work_items", again::<DeleteWorkItemsRequest>),
    ("drop_columns", again::<tables::DropColumnsRequest>),
    ("end_utilization", again::<UpdateUtilizationRequest>),
    ("execute_work_item", again::<ExecuteWorkItemRequest>),
    ("export_results", again::<results::QueryResultsRequest>),
    ("export_steps", again::<results::QueryStepsRequest>),
    ("export_table_data", again::<tables::ExportTableDataRequest>),
    ("finish_upload_session", again::<FinishUploadSessionRequest>),
    ("link_files", again::<LinkFilesRequest>),
    ("list_deleted_rows", again::<tables::ListDeletedRowsRequest>),
    ("list_quotas", again::<workspaces::ListQuotasRequest>),
    ("modify_table", again::<tables::ModifyTableRequest>),
    ("modify_tables", again::<tables::ModifyTablesRequest>),
    ("query_asset_utilization_history", again::<assets::QueryAssetUtilizationHistoryRequest>),
    ("query_assets", again::<assets::QueryAssetsRequest>),
    ("query_decimated_data", again::<tables::QueryDecimatedDataRequest>),
    ("query_files", again::<files::QueryFilesRequest>),
    ("query_files_linq", again::<files::FileLinqQueryRequest>),
    ("query_paths", again::<results::QueryPathsRequest>),
    ("query_product_values", again::<products::QueryProductValuesRequest>),
    ("query_products", again::<products::QueryProductsRequest>),
    ("yields", again::<results::YieldsRequest>),
    ("failure_pareto", again::<results::FailureParetoRequest>),
    ("capability", again::<results::CapabilityRequest>),
    ("histogram", again::<results::HistogramRequest>),
    ("control_chart", again::<results::ControlChartRequest>),
    ("gage", again::<results::GageRequest>),
    ("query_result_values", again::<results::QueryResultValuesRequest>),
    ("query_results", again::<results::QueryResultsRequest>),
    ("query_specs", again::<specifications::QuerySpecificationsRequest>),
    ("query_step_values", again::<results::QueryStepValuesRequest>),
    ("query_steps", again::<results::QueryStepsRequest>),
    ("query_table_data", again::<tables::QueryTableDataRequest>),
    ("query_tables", again::<tables::QueryTablesRequest>),
    ("query_test_plan_templates", again::<test_plans::QueryTestPlanTemplatesRequest>),
    ("query_test_plans", again::<test_plans::QueryTestPlansRequest>),
    ("query_work_item_templates", again::<work_items::QueryWorkItemTemplatesRequest>),
    ("query_work_items", again::<work_items::QueryWorkItemsRequest>),
    ("query_workspaces", again::<workspaces::QueryWorkspacesRequest>),
    ("rename_columns", again::<tables::RenameColumnsRequest>),
    ("schedule_test_plans", again::<test_plans::ScheduleTestPlansRequest>),
    ("schedule_work_items", again::<work_items::ScheduleWorkItemsRequest>),
    ("search", again::<search::SearchRequest>),
    ("search_files", again::<files::SearchFilesRequest>),
    ("set_quota", again::<workspaces::SetQuotaRequest>),
    ("set_retention", again::<tables::SetRetentionRequest>),
    ("set_system_connection", again::<SetSystemConnectionRequest>),
    ("start_upload_session", again::<StartUploadSessionRequest>),
    ("start_utilization", again::<assets::StartUtilizationRequest>),
    ("update_assets", again::<UpdateAssetsRequest>),
    ("update_feed", again::<feeds::UpdateFeedRequest>),
    ("update_metadata", again::<files::UpdateMetadataRequest>),
    ("update_products", again::<UpdateProductsRequest>),
    ("update_results", again::<UpdateResultsRequest>),
    ("update_specs", again::<specifications::UpdateSpecificationsRequest>),
    ("update_steps", again::<UpdateStepsRequest>),
    ("update_test_plans", again::<test_plans::UpdateTestPlansRequest>),
    ("update_work_item_templates", again::<work_items::UpdateWorkItemTemplatesRequest>),
    ("update_work_items", again::<work_items::UpdateWorkItemsRequest>),
    ("utilization_heartbeat", again::<UpdateUtilizationRequest>),
];

/// Members that are read in another spelling, or that the reference says are ignored.
const OTHERS: &[&str] =
    &["ids of end_utilization", "timestamp of end_utilization", "force of delete_files"];

/// Members of `given` that `known` has not, or has otherwise.
fn lost(given: &Value, known: &Value, place: &str, lost_members: &mut Vec<String>) {
    match (given, known) {
        (Value::Object(given), Value::Object(known)) => {
            for (name, value) in given {
                let snake = name.contains('_') && !known.contains_key(name);
                if value.is_null()
                    || snake
                    || OTHERS.contains(&format!("{name} of {place}").as_str())
                {
                    continue;
                }
                lost(
                    value,
                    known.get(name).unwrap_or(&Value::Null),
                    &format!("{place}.{name}"),
                    lost_members,
                );
            }
        }
        (Value::Array(given), Value::Array(known)) if given.len() == known.len() => {
            given
                .iter()
                .zip(known)
                .for_each(|(given, known)| lost(given, known, place, lost_members));
        }
        // A time in another spelling.
        (Value::String(given), Value::String(known))
            if given.len() > 18 && given.get(..4) == known.get(..4) => {}
        // A number in another spelling: `21` is `21.0`.
        (Value::Number(given), Value::Number(known)) if given.as_f64() == known.as_f64() => {}
        // The text form of a projection.
        (Value::String(given), Value::Array(_)) if given.starts_with("new(") => {}
        _ if given == known => {}
        _ => lost_members.push(format!("{place}: {given} is {known}")),
    }
}

/// What the library makes of the body of an operation, other than what was sent; for bodies that it
/// accepts.
pub fn problems(operation: &str, body: &Value) -> Vec<String> {
    let mut problems = Vec::new();
    match BODIES.iter().find(|(name, _)| *name == operation) {
        Some((_, again)) => lost(body, &again(body), operation, &mut problems),
        None => problems.push(format!("{operation} has a body without a type")),
    }
    problems
}
