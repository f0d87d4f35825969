//! Requests and answers about test plans, and the parts that a query can ask for.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use crate::error::ApiError;
use crate::model::lab::dashboard::{Dashboard, DashboardPatch};
use crate::model::lab::execution::ExecutionDefinition;
use crate::model::test_plans::test_plan::TestPlan;
use crate::value::Patch;
use crate::value::wire::{fold, record, wire_enum};

record! {
    /// A test plan to make. Nothing is required.
    wire pub struct CreateTestPlanRequest {
        /// Display name.
        pub name: Option<String>,
        /// State in any spelling; `NEW` when absent.
        pub state: Option<String>,
        /// The template to copy from; must exist.
        pub template_id: Option<String>,
        /// What the work is.
        pub description: Option<String>,
        /// The user who does the work.
        pub assigned_to: Option<String>,
        /// The product.
        pub part_number: Option<String>,
        /// The device under test, an asset.
        pub dut_id: Option<String>,
        /// Serial number of the device under test.
        pub dut_serial_number: Option<String>,
        /// The program that tests.
        pub test_program: Option<String>,
        /// The work order that it belongs to; stored as given.
        pub work_order_id: Option<String>,
        /// Estimate.
        pub estimated_duration_in_seconds: Option<i64>,
        /// Which systems qualify: opaque text.
        pub system_filter: Option<String>,
        /// Which devices under test qualify: opaque text.
        pub dut_filter: Option<String>,
        /// Its actions.
        #[serde(serialize_with = "crate::model::lab::execution::as_sent::opt")]
        pub execution_actions: Option<Vec<ExecutionDefinition>>,
        /// Files.
        pub file_ids_from_template: Option<Vec<String>>,
        /// The workspace; the session's default when absent.
        pub workspace: Option<String>,
        /// Free properties; merged over those of the template.
        pub properties: Option<BTreeMap<String, String>>,
        /// The dashboard.
        pub dashboard: Option<Dashboard>,
        /// The workflow, a plain reference.
        pub workflow_id: Option<String>,
    }

    /// The body of a create call on the wire.
    wire pub struct CreateTestPlansRequest {
        /// The test plans to make.
        pub test_plans: Vec<CreateTestPlanRequest>,
    }

    /// What an update changes in one test plan: absent members keep, null members clear.
    patch pub struct UpdateTestPlanRequest {
        /// The test plan; required.
        pub id: Option<String>,
        /// Display name.
        pub name: Patch<String>,
        /// State in any spelling, from any state; null is `NEW`.
        pub state: Patch<String>,
        /// What the work is.
        pub description: Patch<String>,
        /// The user who does the work.
        pub assigned_to: Patch<String>,
        /// The product.
        pub part_number: Patch<String>,
        /// The device under test.
        pub dut_id: Patch<String>,
        /// Serial number of the device under test.
        pub dut_serial_number: Patch<String>,
        /// The program that tests.
        pub test_program: Patch<String>,
        /// The work order that it belongs to.
        pub work_order_id: Patch<String>,
        /// Duration.
        pub estimated_duration_in_seconds: Patch<i64>,
        /// Which systems qualify.
        pub system_filter: Patch<String>,
        /// Which devices under test qualify.
        pub dut_filter: Patch<String>,
        /// Its actions, appended or replaced.
        #[serde(serialize_with = "crate::model::lab::execution::as_sent::patch")]
        pub execution_actions: Patch<Vec<ExecutionDefinition>>,
        /// Files, appended or replaced.
        pub file_ids_from_template: Patch<Vec<String>>,
        /// The workspace; null keeps it.
        pub workspace: Option<String>,
        /// Free properties, merged or replaced.
        pub properties: Patch<BTreeMap<String, String>>,
        /// The dashboard, merged member by member.
        pub dashboard: Patch<DashboardPatch>,
    }

    /// An update of test plans.
    wire pub struct UpdateTestPlansRequest requires(test_plans) {
        /// The changes, applied in order.
        pub test_plans: Vec<UpdateTestPlanRequest>,
        /// Whether arrays and maps are replaced (`true`) or appended to and merged (absent, `false`).
        pub replace: Option<bool>,
    }

    /// What scheduling changes in one test plan.
    patch pub struct ScheduleTestPlanRequest {
        /// The test plan; required.
        pub id: Option<String>,
        /// The user who does the work.
        pub assigned_to: Patch<String>,
        /// The device under test.
        pub dut_id: Patch<String>,
        /// Serial number of the device under test.
        pub dut_serial_number: Patch<String>,
        /// The reserved system.
        pub system_id: Patch<String>,
        /// The reserved fixtures, appended or replaced; they need a system.
        pub fixture_ids: Patch<Vec<String>>,
        /// Planned start.
        #[serde(with = "crate::value::time::patch")]
        pub planned_start_date_time: Patch<DateTime<Utc>>,
        /// Planned end.
        #[serde(with = "crate::value::time::patch")]
        pub estimated_end_date_time: Patch<DateTime<Utc>>,
        /// Planned duration.
        pub estimated_duration_in_seconds: Patch<i64>,
    }

    /// Scheduling of test plans.
    wire pub struct ScheduleTestPlansRequest requires(test_plans) {
        /// The changes, applied in order.
        pub test_plans: Vec<ScheduleTestPlanRequest>,
        /// Whether the fixtures are replaced (`true`) or appended to (absent, `false`).
        pub replace: Option<bool>,
    }

    /// The body of a delete call on the wire.
    wire pub struct DeleteTestPlansRequest {
        /// The test plans to delete.
        pub ids: Vec<String>,
    }

    /// The answer to a create call.
    wire pub struct CreateTestPlansPartialSuccessResponse {
        /// What was made, in request order.
        pub created_test_plans: Vec<TestPlan>,
        /// The requests that failed, as they came, in request order.
        pub failed_test_plans: Option<Vec<CreateTestPlanRequest>>,
        /// One inner error for each failed request.
        pub error: Option<ApiError>,
    }

    /// The answer to an update call.
    wire pub struct UpdateTestPlansResponse {
        /// What was changed, in request order.
        pub updated_test_plans: Option<Vec<TestPlan>>,
        /// The requests that failed, as they came, in request order.
        pub failed_test_plans: Option<Vec<UpdateTestPlanRequest>>,
        /// One inner error for each failed request.
        pub error: Option<ApiError>,
    }

    /// The answer to a schedule call.
    wire pub struct ScheduleTestPlansResponse {
        /// What was scheduled, in request order.
        pub scheduled_test_plans: Option<Vec<TestPlan>>,
        /// The requests that failed, as they came, in request order.
        pub failed_test_plans: Option<Vec<ScheduleTestPlanRequest>>,
        /// One inner error for each failed request.
        pub error: Option<ApiError>,
    }

    /// The answer to a delete call in which some ids failed.
    wire pub struct DeleteTestPlansPartialSuccessResponse {
        /// What was deleted.
        pub deleted_test_plan_ids: Option<Vec<String>>,
        /// What was not.
        pub failed_test_plan_ids: Option<Vec<String>>,
        /// One inner error for each failed id.
        pub error: Option<ApiError>,
    }

    /// A query of test plans.
    wire pub struct QueryTestPlansRequest {
        /// Filter expression; everything when absent or blank.
        pub filter: Option<String>,
        /// Values for `@0`, `@1` and so on: Boolean, integer, string or null.
        pub substitutions: Option<Vec<Value>>,
        /// Most test plans in the page; 1000 when absent, and at most.
        pub take: Option<i64>,
        /// Order; by id when absent.
        #[serde(deserialize_with = "order_by")]
        pub order_by: Option<TestPlanOrderBy>,
        /// Whether the order is descending.
        pub descending: Option<bool>,
        /// Whether all matches are counted.
        pub return_count: Option<bool>,
        /// Where the previous page ended.
        pub continuation_token: Option<String>,
        /// The parts to return; everything when absent or empty.
        pub projection: Option<Vec<TestPlanField>>,
    }

    /// A page of test plans.
    wire pub struct PagedTestPlans {
        /// The page.
        pub test_plans: Vec<TestPlan>,
        /// Where the next page begins; none on the last page.
        pub continuation_token: Option<String>,
        /// All matches, when they were to be counted.
        pub total_count: Option<u64>,
    }
}

wire_enum! {
    /// The orders of a query of test plans; ties by id.
    pub enum TestPlanOrderBy {
        /// By id, as a number.
        Id = "ID",
        /// By the time of the last change. A published client misspells it `UPDATE_AT`, which is read too.
        UpdatedAt = "UPDATED_AT",
    }
}

fn order_by<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<TestPlanOrderBy>, D::Error> {
    let Some(text) = Option::<String>::deserialize(deserializer)? else { return Ok(None) };
    if fold(&text) == "updateat" {
        return Ok(Some(TestPlanOrderBy::UpdatedAt));
    }
    text.parse().map(Some).map_err(|error: crate::error::Error| serde::de::Error::custom(error.message()))
}

wire_enum! {
    /// The part of a test plan that a query returns; `id` is returned always.
    pub enum TestPlanField {
        /// `id`.
        Id = "ID",
        /// `templateId`.
        TemplateId = "TEMPLATE_ID",
        /// `name`.
        Name = "NAME",
        /// `state`.
        State = "STATE",
        /// `substate`.
        Substate = "SUBSTATE",
        /// `description`.
        Description = "DESCRIPTION",
        /// `assignedTo`.
        AssignedTo = "ASSIGNED_TO",
        /// `workOrderId`.
        WorkOrderId = "WORK_ORDER_ID",
        /// `workOrderName`.
        WorkOrderName = "WORK_ORDER_NAME",
        /// `partNumber`.
        PartNumber = "PART_NUMBER",
        /// `dutId`.
        DutId = "DUT_ID",
        /// `dutSerialNumber`.
        DutSerialNumber = "DUT_SERIAL_NUMBER",
        /// `testProgram`.
        TestProgram = "TEST_PROGRAM",
        /// `workspace`.
        Workspace = "WORKSPACE",
        /// `createdBy`.
        CreatedBy = "CREATED_BY",
        /// `updatedBy`.
        UpdatedBy = "UPDATED_BY",
        /// `systemId`.
        SystemId = "SYSTEM_ID",
        /// `fixtureIds`.
        FixtureIds = "FIXTURE_IDS",
        /// `plannedStartDateTime`.
        PlannedStartDateTime = "PLANNED_START_DATE_TIME",
        /// `estimatedEndDateTime`.
        EstimatedEndDateTime = "ESTIMATED_END_DATE_TIME",
        /// `estimatedDurationInSeconds`.
        EstimatedDurationInSeconds = "ESTIMATED_DURATION_IN_SECONDS",
        /// `systemFilter`.
        SystemFilter = "SYSTEM_FILTER",
        /// `dutFilter`.
        DutFilter = "DUT_FILTER",
        /// `createdAt`.
        CreatedAt = "CREATED_AT",
        /// `updatedAt`.
        UpdatedAt = "UPDATED_AT",
        /// `properties`.
        Properties = "PROPERTIES",
        /// `fileIdsFromTemplate`.
        FileIdsFromTemplate = "FILE_IDS_FROM_TEMPLATE",
        /// `dashboard`.
        Dashboard = "DASHBOARD",
        /// `executionActions`.
        ExecutionActions = "EXECUTION_ACTIONS",
        /// `executionHistory`.
        ExecutionHistory = "EXECUTION_HISTORY",
        /// `dashboardUrl`, which is never filled.
        DashboardUrl = "DASHBOARD_URL",
        /// Accepted; returns nothing, because records have no such member.
        Workflow = "WORKFLOW",
    }
}
use TestPlanField as F;

/// Exactly the listed parts of `item`, and its id, which the record requires; all of it when `fields` is empty.
#[must_use]
pub fn project_test_plan(item: &TestPlan, fields: &[TestPlanField]) -> TestPlan {
    if fields.is_empty() {
        return item.clone();
    }
    let mut out = TestPlan { id: item.id.clone(), ..TestPlan::default() };
    for &field in fields {
        match field {
            F::Id => out.id.clone_from(&item.id),
            F::TemplateId => out.template_id.clone_from(&item.template_id),
            F::Name => out.name.clone_from(&item.name),
            F::State => out.state = item.state,
            F::Substate => out.substate.clone_from(&item.substate),
            F::Description => out.description.clone_from(&item.description),
            F::AssignedTo => out.assigned_to.clone_from(&item.assigned_to),
            F::WorkOrderId => out.work_order_id.clone_from(&item.work_order_id),
            F::WorkOrderName => out.work_order_name.clone_from(&item.work_order_name),
            F::PartNumber => out.part_number.clone_from(&item.part_number),
            F::DutId => out.dut_id.clone_from(&item.dut_id),
            F::DutSerialNumber => out.dut_serial_number.clone_from(&item.dut_serial_number),
            F::TestProgram => out.test_program.clone_from(&item.test_program),
            F::Workspace => out.workspace.clone_from(&item.workspace),
            F::CreatedBy => out.created_by.clone_from(&item.created_by),
            F::UpdatedBy => out.updated_by.clone_from(&item.updated_by),
            F::SystemId => out.system_id.clone_from(&item.system_id),
            F::FixtureIds => out.fixture_ids.clone_from(&item.fixture_ids),
            F::PlannedStartDateTime => out.planned_start_date_time = item.planned_start_date_time,
            F::EstimatedEndDateTime => out.estimated_end_date_time = item.estimated_end_date_time,
            F::EstimatedDurationInSeconds => {
                out.estimated_duration_in_seconds = item.estimated_duration_in_seconds;
            }
            F::SystemFilter => out.system_filter.clone_from(&item.system_filter),
            F::DutFilter => out.dut_filter.clone_from(&item.dut_filter),
            F::CreatedAt => out.created_at = item.created_at,
            F::UpdatedAt => out.updated_at = item.updated_at,
            F::Properties => out.properties.clone_from(&item.properties),
            F::FileIdsFromTemplate => out.file_ids_from_template.clone_from(&item.file_ids_from_template),
            F::Dashboard => out.dashboard.clone_from(&item.dashboard),
            F::ExecutionActions => out.execution_actions.clone_from(&item.execution_actions),
            F::ExecutionHistory => out.execution_history.clone_from(&item.execution_history),
            F::DashboardUrl => out.dashboard_url.clone_from(&item.dashboard_url),
            F::Workflow => {}
        }
    }
    out
}
