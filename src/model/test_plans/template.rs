//! Templates for legacy test plans.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};

use crate::model::lab::dashboard::Dashboard;
use crate::model::lab::execution::ExecutionDefinition;
use crate::model::resource::Resource;
use crate::value::IdForm;
use crate::value::id::id_type;

id_type!(
    /// Id of a test plan template: a decimal number as text.
    TestPlanTemplateId,
    IdForm::Decimal
);

/// A test plan template as it is stored and returned; members that a projection omits are `None`.
#[derive(Clone, Debug, Default, PartialEq, Resource)]
#[resource(kind = 8, name = "test plan template", service(TEST_PLANS), id(Decimal), title(name))]
#[fields(
    id(equality),
    name,
    summary,
    description,
    template_group,
    test_program,
    system_filter,
    dut_filter
)]
#[fields(workspace, workflow_id, product_families, part_numbers, file_ids, properties)]
#[fields(created_by, updated_by, created_at, updated_at)]
#[index(1, name)]
#[index(2, template_group)]
#[index(3, created_at)]
#[index(4, updated_at)]
#[index(5, workspace)]
#[index(6, part_numbers)]
#[text(name = 2.0, summary = 1.0, description = 1.0)]
#[order(TestPlanTemplateOrderBy(id, name, template_group, created_at, updated_at))]
#[projection(TestPlanTemplateField(
    id,
    name,
    template_group,
    product_families,
    part_numbers,
    summary,
    description
))]
#[projection(TestPlanTemplateField(
    test_program,
    estimated_duration_in_seconds,
    system_filter,
    dut_filter
))]
#[projection(TestPlanTemplateField(execution_actions, file_ids, workspace, properties, dashboard))]
#[projection(TestPlanTemplateField(created_by, updated_by, created_at, updated_at))]
#[request(CreateTestPlanTemplateRequest = "A test plan template to create.")]
#[request(CreateTestPlanTemplateRequest(name = "Display name of the template; required."))]
#[request(CreateTestPlanTemplateRequest(
    template_group = "Group that users sort templates into; required."
))]
#[request(CreateTestPlanTemplateRequest(
    product_families,
    part_numbers,
    summary,
    description,
    test_program
))]
#[request(CreateTestPlanTemplateRequest(estimated_duration_in_seconds, system_filter, dut_filter))]
#[request(CreateTestPlanTemplateRequest(
    execution_actions(#[serde(serialize_with = "crate::model::lab::execution::as_sent::opt")])
))]
#[request(CreateTestPlanTemplateRequest(file_ids))]
#[request(CreateTestPlanTemplateRequest(
    workspace = "The workspace of the template; the session's default when absent."
))]
#[request(CreateTestPlanTemplateRequest(
    properties,
    dashboard = "Dashboard of the plans created from it.",
    workflow_id
))]
#[non_exhaustive]
pub struct TestPlanTemplate {
    /// Assigned by the store.
    pub id: Option<TestPlanTemplateId>,
    /// Display name of the template.
    pub name: Option<String>,
    /// Group that users sort templates into.
    pub template_group: Option<String>,
    /// Product families that it is linked to.
    pub product_families: Option<Vec<String>>,
    /// Products that it is linked to.
    pub part_numbers: Option<Vec<String>>,
    /// What the template is for.
    pub summary: Option<String>,
    /// Description of the plans created from it.
    pub description: Option<String>,
    /// Test program of the plans created from it.
    pub test_program: Option<String>,
    /// Estimate for the plans created from it.
    pub estimated_duration_in_seconds: Option<i64>,
    /// Filter for systems that qualify: opaque text.
    pub system_filter: Option<String>,
    /// Filter for devices under test that qualify: opaque text.
    pub dut_filter: Option<String>,
    /// Actions of the plans created from it.
    pub execution_actions: Option<Vec<ExecutionDefinition>>,
    /// Files of the plans created from it.
    pub file_ids: Option<Vec<String>>,
    /// The workspace of the template.
    pub workspace: Option<String>,
    /// Properties of the plans created from it.
    pub properties: Option<BTreeMap<String, String>>,
    /// Dashboard of the plans created from it; without URL.
    pub dashboard: Option<Dashboard>,
    /// Workflow of the plans created from it.
    pub workflow_id: Option<String>,
    /// The user who created it.
    pub created_by: Option<String>,
    /// The user who changed it last.
    pub updated_by: Option<String>,
    /// When it was created.
    pub created_at: Option<DateTime<Utc>>,
    /// When it was changed last.
    pub updated_at: Option<DateTime<Utc>>,
}
