//! Legacy test plans: the predecessor of work items, stored apart from them.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};

use crate::model::lab::dashboard::{Dashboard, DashboardPatch};
use crate::model::lab::execution::ExecutionDefinition;
use crate::model::lab::execution_event::ExecutionEvent;
use crate::model::lab::state::State;
use crate::model::resource::Resource;
use crate::value::id::id_type;
use crate::value::{IdForm, Patch, PlannedTime};

id_type!(
    /// Id of a test plan: a decimal number as text.
    TestPlanId,
    IdForm::Decimal
);

/// A test plan as it is stored and returned; members that a projection omits are `None`, except the
/// id.
#[derive(Clone, Debug, Default, PartialEq, Resource)]
#[resource(kind = 7, name = "test plan", service(TEST_PLANS), id(Decimal), title(name))]
#[fields(
    id(equality),
    template_id(of(Reference)),
    work_order_id(of(Reference)),
    work_order_name,
    name,
    description,
    assigned_to,
    part_number
)]
#[fields(
    dut_id,
    dut_serial_number,
    test_program,
    system_filter,
    dut_filter,
    system_id,
    workspace,
    workflow_id
)]
#[fields(
    substate,
    state,
    fixture_ids,
    file_ids_from_template,
    planned_start_date_time,
    estimated_end_date_time
)]
#[fields(
    estimated_duration_in_seconds,
    properties,
    dashboard(of(Object)),
    dashboard(id),
    created_by,
    updated_by,
    created_at,
    updated_at
)]
#[index(1, state)]
#[index(2, part_number, updated_at)]
#[index(3, updated_at)]
#[index(4, created_at)]
#[index(5, assigned_to)]
#[index(6, workspace)]
#[index(7, template_id)]
#[index(8, work_order_id)]
#[index(9, properties)]
#[text(name = 2.0, description = 1.0, part_number = 1.5, test_program = 1.0)]
#[order(TestPlanOrderBy(id, updated_at))]
#[projection(TestPlanField(
    id,
    template_id,
    name,
    state,
    substate,
    description,
    assigned_to,
    work_order_id
))]
#[projection(TestPlanField(
    work_order_name,
    part_number,
    dut_id,
    dut_serial_number,
    test_program,
    workspace
))]
#[projection(TestPlanField(
    created_by,
    updated_by,
    system_id,
    fixture_ids,
    planned_start_date_time
))]
#[projection(TestPlanField(
    estimated_end_date_time,
    estimated_duration_in_seconds,
    system_filter,
    dut_filter
))]
#[projection(TestPlanField(
    created_at,
    updated_at,
    properties,
    file_ids_from_template,
    dashboard,
    execution_actions
))]
#[projection(TestPlanField(execution_history, dashboard_url, "WORKFLOW", then(project_id)))]
#[request(CreateTestPlanRequest = "A test plan to create. Nothing is required.")]
#[request(CreateTestPlanRequest(
    name,
    state(Option<String>, "State in any spelling; `NEW` when absent.")
))]
#[request(CreateTestPlanRequest(
    template_id = "The template to copy from; must exist.",
    description,
    assigned_to
))]
#[request(CreateTestPlanRequest(part_number, dut_id, dut_serial_number, test_program))]
#[request(CreateTestPlanRequest(
    work_order_id = "The work order that it belongs to; stored as given."
))]
#[request(CreateTestPlanRequest(
    estimated_duration_in_seconds = "Estimate.",
    system_filter,
    dut_filter
))]
#[request(CreateTestPlanRequest(
    execution_actions(#[serde(serialize_with = "crate::model::lab::execution::as_sent::opt")])
))]
#[request(CreateTestPlanRequest(file_ids_from_template = "Files."))]
#[request(CreateTestPlanRequest(workspace = "The workspace; the session's default when absent."))]
#[request(CreateTestPlanRequest(
    properties = "Free properties; merged over those of the template."
))]
#[request(CreateTestPlanRequest(dashboard = "The dashboard.", workflow_id))]
#[patch(
    UpdateTestPlanRequest = "An update of a test plan: absent members keep their values, null \
                             clears them."
)]
#[patch(UpdateTestPlanRequest(id(Option<String>, "The test plan; required."), name))]
#[patch(UpdateTestPlanRequest(
    state(Patch<String>, "State in any spelling, from any state; null is `NEW`.")
))]
#[patch(UpdateTestPlanRequest(
    description,
    assigned_to,
    part_number,
    dut_id = "The device under test."
))]
#[patch(UpdateTestPlanRequest(
    dut_serial_number,
    test_program,
    work_order_id = "The work order that it belongs to."
))]
#[patch(UpdateTestPlanRequest(
    estimated_duration_in_seconds = "Duration.",
    system_filter,
    dut_filter
))]
#[patch(UpdateTestPlanRequest(execution_actions(
    own,
    "Its actions, appended or replaced.",
    #[serde(serialize_with = "crate::model::lab::execution::as_sent::patch")]
)))]
#[patch(UpdateTestPlanRequest(file_ids_from_template(own, "Files, appended or replaced.")))]
#[patch(UpdateTestPlanRequest(workspace(Option<String>, "The workspace; null keeps it.")))]
#[patch(UpdateTestPlanRequest(properties(own, "Free properties, merged or replaced.")))]
#[patch(UpdateTestPlanRequest(
    dashboard(Patch<DashboardPatch>, "The dashboard, merged member by member.")
))]
#[patch(ScheduleTestPlanRequest = "A request to schedule one test plan.")]
#[patch(ScheduleTestPlanRequest(id(Option<String>, "The test plan; required."), assigned_to))]
#[patch(ScheduleTestPlanRequest(dut_id = "The device under test.", dut_serial_number, system_id))]
#[patch(ScheduleTestPlanRequest(fixture_ids(
    own,
    "The reserved fixtures, appended or replaced; they need a system."
)))]
#[patch(ScheduleTestPlanRequest(
    planned_start_date_time = "Planned start.",
    estimated_end_date_time = "Planned end."
))]
#[patch(ScheduleTestPlanRequest(estimated_duration_in_seconds = "Planned duration."))]
#[non_exhaustive]
pub struct TestPlan {
    /// Assigned by the store.
    pub id: Option<TestPlanId>,
    /// Display name.
    pub name: Option<String>,
    /// State.
    pub state: Option<State>,
    /// Substate; the text of the state.
    pub substate: Option<String>,
    /// The template that it was created from.
    pub template_id: Option<String>,
    /// Description of the work.
    pub description: Option<String>,
    /// The user who the work is assigned to.
    pub assigned_to: Option<String>,
    /// The product.
    pub part_number: Option<String>,
    /// The device under test, an asset.
    pub dut_id: Option<String>,
    /// Serial number of the device under test.
    pub dut_serial_number: Option<String>,
    /// The test program.
    pub test_program: Option<String>,
    /// The work order that the plan belongs to; need not exist.
    pub work_order_id: Option<String>,
    /// Always absent: work orders are not stored.
    pub work_order_name: Option<String>,
    /// Estimated duration, which scheduling overwrites.
    pub estimated_duration_in_seconds: Option<i64>,
    /// Filter for systems that qualify: opaque text.
    pub system_filter: Option<String>,
    /// Filter for devices under test that qualify: opaque text.
    pub dut_filter: Option<String>,
    /// Its actions.
    pub execution_actions: Option<Vec<ExecutionDefinition>>,
    /// Files that came from the template.
    pub file_ids_from_template: Option<Vec<String>>,
    /// The workspace.
    pub workspace: Option<String>,
    /// Free properties.
    pub properties: Option<BTreeMap<String, String>>,
    /// The dashboard, with its computed URL.
    pub dashboard: Option<Dashboard>,
    /// The reserved system.
    pub system_id: Option<String>,
    /// The reserved fixtures.
    pub fixture_ids: Option<Vec<String>>,
    /// Planned start; set by scheduling only.
    pub planned_start_date_time: Option<PlannedTime>,
    /// Planned end; set by scheduling only.
    pub estimated_end_date_time: Option<PlannedTime>,
    /// The user who created it.
    pub created_by: Option<String>,
    /// The user who changed it last.
    pub updated_by: Option<String>,
    /// When it was created.
    pub created_at: Option<DateTime<Utc>>,
    /// When it was changed last.
    pub updated_at: Option<DateTime<Utc>>,
    /// Actions that were triggered, oldest first.
    pub execution_history: Option<Vec<ExecutionEvent>>,
    /// Always absent; see the URL of the dashboard.
    pub dashboard_url: Option<BTreeMap<String, String>>,
    /// The workflow; need not exist.
    pub workflow_id: Option<String>,
}

impl TestPlan {
    /// Adds the id, which every response contains.
    fn project_id(&self, kept: &mut Self, _projection: &[TestPlanField]) {
        kept.id.clone_from(&self.id);
    }
}
