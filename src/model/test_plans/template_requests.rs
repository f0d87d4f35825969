//! Requests and answers about test plan templates, and the parts that a query can ask for.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::error::ApiError;
use crate::model::lab::dashboard::Dashboard;
use crate::model::lab::execution::ExecutionDefinition;
use crate::model::test_plans::template::TestPlanTemplate;
use crate::value::wire::{record, wire_enum};

record! {
    /// A test plan template to make.
    wire pub struct CreateTestPlanTemplateRequest {
        /// Display name of the template; required.
        pub name: Option<String>,
        /// Group that users sort templates into; required.
        pub template_group: Option<String>,
        /// Product families that it is linked to.
        pub product_families: Option<Vec<String>>,
        /// Products that it is linked to.
        pub part_numbers: Option<Vec<String>>,
        /// What the template is for.
        pub summary: Option<String>,
        /// Description of the plans made from it.
        pub description: Option<String>,
        /// Test program of the plans made from it.
        pub test_program: Option<String>,
        /// Estimate for the plans made from it.
        pub estimated_duration_in_seconds: Option<i64>,
        /// Which systems qualify: opaque text.
        pub system_filter: Option<String>,
        /// Which devices under test qualify: opaque text.
        pub dut_filter: Option<String>,
        /// Actions of the plans made from it.
        #[serde(serialize_with = "crate::model::lab::execution::as_sent::opt")]
        pub execution_actions: Option<Vec<ExecutionDefinition>>,
        /// Files of the plans made from it.
        pub file_ids: Option<Vec<String>>,
        /// The workspace of the template; the session's default when absent.
        pub workspace: Option<String>,
        /// Properties of the plans made from it.
        pub properties: Option<BTreeMap<String, String>>,
        /// Dashboard of the plans made from it.
        pub dashboard: Option<Dashboard>,
        /// Workflow of the plans made from it.
        pub workflow_id: Option<String>,
    }

    /// The body of a create call on the wire.
    wire pub struct CreateTestPlanTemplatesRequest {
        /// The templates to make.
        pub test_plan_templates: Vec<CreateTestPlanTemplateRequest>,
    }

    /// The body of a delete call on the wire.
    wire pub struct DeleteTestPlanTemplatesRequest {
        /// The templates to delete.
        pub ids: Vec<String>,
    }

    /// The answer to a create call.
    wire pub struct CreateTestPlanTemplatePartialSuccessResponse {
        /// What was made, in request order.
        pub created_test_plan_templates: Vec<TestPlanTemplate>,
        /// The requests that failed, as they came, in request order.
        pub failed_test_plan_templates: Option<Vec<CreateTestPlanTemplateRequest>>,
        /// One inner error for each failed request.
        pub error: Option<ApiError>,
    }

    /// The answer to a delete call in which some ids failed.
    wire pub struct DeleteTestPlanTemplatesPartialSuccessResponse {
        /// What was deleted.
        pub deleted_test_plan_template_ids: Vec<String>,
        /// What was not.
        pub failed_test_plan_template_ids: Option<Vec<String>>,
        /// One inner error for each failed id.
        pub error: Option<ApiError>,
    }

    /// A query of test plan templates.
    wire pub struct QueryTestPlanTemplatesRequest {
        /// Filter expression; everything when absent or blank.
        pub filter: Option<String>,
        /// Values for `@0`, `@1` and so on: Boolean, integer, string or null.
        pub substitutions: Option<Vec<Value>>,
        /// Most templates in the page; 1000 when absent, and at most.
        pub take: Option<i64>,
        /// Order; by id when absent.
        pub order_by: Option<TestPlanTemplateOrderBy>,
        /// Whether the order is descending.
        pub descending: Option<bool>,
        /// Where the previous page ended.
        pub continuation_token: Option<String>,
        /// The parts to return; everything when absent or empty.
        pub projection: Option<Vec<TestPlanTemplateField>>,
    }

    /// A page of test plan templates.
    wire pub struct PagedTestPlanTemplates {
        /// The page.
        pub test_plan_templates: Vec<TestPlanTemplate>,
        /// Where the next page begins; none on the last page.
        pub continuation_token: Option<String>,
        /// Never filled: templates are not counted.
        pub total_count: Option<u64>,
    }
}

wire_enum! {
    /// The orders of a query of test plan templates; ties by id.
    pub enum TestPlanTemplateOrderBy {
        /// By id, as a number.
        Id = "ID",
        /// By name.
        Name = "NAME",
        /// By group.
        TemplateGroup = "TEMPLATE_GROUP",
        /// By the time of creation.
        CreatedAt = "CREATED_AT",
        /// By the time of the last change.
        UpdatedAt = "UPDATED_AT",
    }
}

wire_enum! {
    /// The part of a test plan template that a query returns.
    pub enum TestPlanTemplateField {
        /// `id`.
        Id = "ID",
        /// `name`.
        Name = "NAME",
        /// `templateGroup`.
        TemplateGroup = "TEMPLATE_GROUP",
        /// `productFamilies`.
        ProductFamilies = "PRODUCT_FAMILIES",
        /// `partNumbers`.
        PartNumbers = "PART_NUMBERS",
        /// `summary`.
        Summary = "SUMMARY",
        /// `description`.
        Description = "DESCRIPTION",
        /// `testProgram`.
        TestProgram = "TEST_PROGRAM",
        /// `estimatedDurationInSeconds`.
        EstimatedDurationInSeconds = "ESTIMATED_DURATION_IN_SECONDS",
        /// `systemFilter`.
        SystemFilter = "SYSTEM_FILTER",
        /// `dutFilter`.
        DutFilter = "DUT_FILTER",
        /// `executionActions`.
        ExecutionActions = "EXECUTION_ACTIONS",
        /// `fileIds`.
        FileIds = "FILE_IDS",
        /// `workspace`.
        Workspace = "WORKSPACE",
        /// `properties`.
        Properties = "PROPERTIES",
        /// `dashboard`.
        Dashboard = "DASHBOARD",
        /// `createdBy`.
        CreatedBy = "CREATED_BY",
        /// `updatedBy`.
        UpdatedBy = "UPDATED_BY",
        /// `createdAt`.
        CreatedAt = "CREATED_AT",
        /// `updatedAt`.
        UpdatedAt = "UPDATED_AT",
    }
}
use TestPlanTemplateField as F;

/// Exactly the listed parts of `item` and nothing else; all of it when `fields` is empty.
#[must_use]
pub fn project_test_plan_template(item: &TestPlanTemplate, fields: &[TestPlanTemplateField]) -> TestPlanTemplate {
    if fields.is_empty() {
        return item.clone();
    }
    let mut out = TestPlanTemplate::default();
    for &field in fields {
        match field {
            F::Id => out.id.clone_from(&item.id),
            F::Name => out.name.clone_from(&item.name),
            F::TemplateGroup => out.template_group.clone_from(&item.template_group),
            F::ProductFamilies => out.product_families.clone_from(&item.product_families),
            F::PartNumbers => out.part_numbers.clone_from(&item.part_numbers),
            F::Summary => out.summary.clone_from(&item.summary),
            F::Description => out.description.clone_from(&item.description),
            F::TestProgram => out.test_program.clone_from(&item.test_program),
            F::EstimatedDurationInSeconds => {
                out.estimated_duration_in_seconds = item.estimated_duration_in_seconds;
            }
            F::SystemFilter => out.system_filter.clone_from(&item.system_filter),
            F::DutFilter => out.dut_filter.clone_from(&item.dut_filter),
            F::ExecutionActions => out.execution_actions.clone_from(&item.execution_actions),
            F::FileIds => out.file_ids.clone_from(&item.file_ids),
            F::Workspace => out.workspace.clone_from(&item.workspace),
            F::Properties => out.properties.clone_from(&item.properties),
            F::Dashboard => out.dashboard.clone_from(&item.dashboard),
            F::CreatedBy => out.created_by.clone_from(&item.created_by),
            F::UpdatedBy => out.updated_by.clone_from(&item.updated_by),
            F::CreatedAt => out.created_at = item.created_at,
            F::UpdatedAt => out.updated_at = item.updated_at,
        }
    }
    out
}
