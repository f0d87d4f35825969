//! Work items: a unit of test work with its state, reservations, timeline, schedule and actions.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};

use crate::model::lab::dashboard::{Dashboard, DashboardPatch};
use crate::model::lab::execution::ExecutionDefinition;
use crate::model::lab::execution_event::ExecutionEvent;
use crate::model::lab::resources::{
    ResourcesDefinition, ResourcesPatch, ScheduleResourcesDefinition,
};
use crate::model::lab::state::State;
use crate::model::lab::timeline::{
    ScheduleDefinition, SchedulePatch, TimelineDefinition, TimelinePatch,
};
use crate::model::resource::Resource;
use crate::value::id::id_type;
use crate::value::part::Words as _;
use crate::value::{IdForm, Patch};

id_type!(
    /// Id of a work item: a decimal number as text.
    WorkItemId,
    IdForm::Decimal
);

/// A work item as it is stored and returned; members that a projection omits are `None`.
#[derive(Clone, Debug, Default, PartialEq, Resource)]
#[resource(kind = 5, name = "work item", service(WORK_ITEMS), id(Decimal), title(name))]
#[fields(id(equality), name, r#type, state, substate, description, parent_id(of(Reference)))]
#[fields(
    template_id(of(Reference)),
    assigned_to,
    requested_by,
    test_program,
    part_number,
    product_family,
    workspace,
    workflow_id
)]
#[fields(timeline(of(Object)), schedule(of(Object)), resources(of(Object)), dashboard(of(Object)))]
#[fields(timeline(earliest_start_date_time, due_date_time, estimated_duration_in_seconds))]
#[fields(schedule(planned_start_date_time, planned_end_date_time, planned_duration_in_seconds))]
#[fields(resources(systems(filter), assets(filter), duts(filter), fixtures(filter)))]
#[fields(resources(systems(selections(or_empty)), assets(selections(or_empty))))]
#[fields(resources(duts(selections(or_empty)), fixtures(selections(or_empty))))]
#[fields(
    file_ids_from_template,
    properties,
    dashboard(id),
    created_by,
    updated_by,
    created_at,
    updated_at
)]
#[index(1, state)]
#[index(2, part_number, updated_at, include(state))]
#[index(3, updated_at)]
#[index(4, created_at)]
#[index(5, assigned_to)]
#[index(6, workspace)]
#[index(7, template_id)]
#[index(8, parent_id)]
#[index(9, properties, updated_at, include(state))]
#[text(
    name = 2.0,
    description = 1.0,
    part_number = 1.5,
    test_program = 1.0,
    properties(0.5, get(add_property_values))
)]
#[order(WorkItemOrderBy(id, updated_at))]
#[projection(WorkItemField(
    id,
    name,
    r#type,
    state,
    substate,
    description,
    parent_id,
    template_id,
    assigned_to
))]
#[projection(WorkItemField(requested_by, test_program, part_number, product_family))]
#[projection(WorkItemField(
    timeline,
    timeline(earliest_start_date_time, due_date_time, estimated_duration_in_seconds)
))]
#[projection(WorkItemField(
    schedule,
    schedule(planned_start_date_time, planned_end_date_time, planned_duration_in_seconds)
))]
#[projection(WorkItemField(resources, resources(systems, assets, duts, fixtures)))]
#[projection(WorkItemField(resources(systems(selections, selections(id, target_location_id)))))]
#[projection(WorkItemField(resources(assets(
    selections,
    selections(id, target_location_id, target_system_id, target_parent_id)
))))]
#[projection(WorkItemField(resources(duts(
    selections,
    selections(id, target_location_id, target_parent_id, target_system_id)
))))]
#[projection(WorkItemField(resources(fixtures(
    selections,
    selections(id, target_location_id, target_parent_id, target_system_id)
))))]
#[projection(WorkItemField(resources(
    assets(filter),
    duts(filter),
    fixtures(filter),
    systems(filter)
)))]
#[projection(WorkItemField(
    file_ids_from_template,
    properties,
    dashboard,
    created_by,
    created_at,
    updated_by
))]
#[projection(WorkItemField(resources(filter_type)))]
#[projection(WorkItemField(updated_at, workspace, workflow_id))]
#[request(CreateWorkItemRequest = "A work item to create. Nothing is required.")]
#[request(CreateWorkItemRequest(name, r#type = "Free type text; from the template when absent."))]
#[request(CreateWorkItemRequest(
    state(Option<String>, "State in any spelling; `NEW` when absent."),
    description
))]
#[request(CreateWorkItemRequest(parent_id = "The work item that it belongs to; stored as given."))]
#[request(CreateWorkItemRequest(
    template_id = "The template to copy from; must exist.",
    assigned_to
))]
#[request(CreateWorkItemRequest(
    requested_by = "The user who requests the work.",
    test_program,
    part_number,
    product_family
))]
#[request(CreateWorkItemRequest(
    workspace = "The workspace; the session's default when absent.",
    timeline,
    resources
))]
#[request(CreateWorkItemRequest(
    execution_actions(#[serde(serialize_with = "crate::model::lab::execution::as_sent::opt")])
))]
#[request(CreateWorkItemRequest(file_ids_from_template = "Files."))]
#[request(CreateWorkItemRequest(
    properties = "Free properties; merged over those of the template."
))]
#[request(CreateWorkItemRequest(dashboard = "The dashboard.", workflow_id))]
#[patch(
    UpdateWorkItemRequest = "An update of a work item: absent members keep their values, null \
                             clears them."
)]
#[patch(UpdateWorkItemRequest(id(Option<String>, "The work item; required."), name))]
#[patch(UpdateWorkItemRequest(
    state(Patch<String>, "State in any spelling, from any state; null is `NEW`.")
))]
#[patch(UpdateWorkItemRequest(
    description,
    parent_id = "The work item that it belongs to.",
    assigned_to,
    requested_by
))]
#[patch(UpdateWorkItemRequest(test_program, part_number, product_family))]
#[patch(UpdateWorkItemRequest(workspace(Option<String>, "The workspace; null keeps it.")))]
#[patch(UpdateWorkItemRequest(
    timeline(Patch<TimelinePatch>, "When the work may and should happen, merged member by member."),
))]
#[patch(UpdateWorkItemRequest(
    resources(
        Patch<ResourcesPatch>,
        "The resources that it needs and reserves, merged member by member."
    )
))]
#[patch(UpdateWorkItemRequest(execution_actions(
    own,
    "Its actions, appended or replaced.",
    #[serde(serialize_with = "crate::model::lab::execution::as_sent::patch")]
)))]
#[patch(UpdateWorkItemRequest(file_ids_from_template(own, "Files, appended or replaced.")))]
#[patch(UpdateWorkItemRequest(properties(own, "Free properties, merged or replaced.")))]
#[patch(UpdateWorkItemRequest(
    dashboard(Patch<DashboardPatch>, "The dashboard, merged member by member.")
))]
#[patch(ScheduleWorkItemRequest = "A request to schedule one work item.")]
#[patch(ScheduleWorkItemRequest(id(Option<String>, "The work item; required."), assigned_to))]
#[patch(ScheduleWorkItemRequest(
    schedule(Patch<SchedulePatch>, "The plan, merged member by member.")
))]
#[patch(ScheduleWorkItemRequest(
    resources(Patch<ScheduleResourcesDefinition>, "The reservations.")
))]
#[non_exhaustive]
pub struct WorkItem {
    /// Assigned by the store.
    pub id: Option<WorkItemId>,
    /// Display name.
    pub name: Option<String>,
    /// Free type text, such as `testplan`.
    pub r#type: Option<String>,
    /// State.
    pub state: Option<State>,
    /// Substate; the text of the state unless an action sets another one.
    pub substate: Option<String>,
    /// Description of the work.
    pub description: Option<String>,
    /// The parent work item; need not exist.
    pub parent_id: Option<String>,
    /// The template that it was created from.
    pub template_id: Option<String>,
    /// The user who the work is assigned to.
    pub assigned_to: Option<String>,
    /// The user who requested the work.
    pub requested_by: Option<String>,
    /// The test program.
    pub test_program: Option<String>,
    /// The product.
    pub part_number: Option<String>,
    /// The workspace.
    pub workspace: Option<String>,
    /// The workflow; need not exist.
    pub workflow_id: Option<String>,
    /// When the work may and should happen.
    pub timeline: Option<TimelineDefinition>,
    /// When it is scheduled; set only by scheduling.
    pub schedule: Option<ScheduleDefinition>,
    /// The resources that it needs and reserves.
    pub resources: Option<ResourcesDefinition>,
    /// Its actions.
    pub execution_actions: Option<Vec<ExecutionDefinition>>,
    /// Files that came from the template.
    pub file_ids_from_template: Option<Vec<String>>,
    /// Free properties.
    pub properties: Option<BTreeMap<String, String>>,
    /// The dashboard, with its computed URL.
    pub dashboard: Option<Dashboard>,
    /// The user who created it.
    pub created_by: Option<String>,
    /// When it was created.
    pub created_at: Option<DateTime<Utc>>,
    /// The user who changed it last.
    pub updated_by: Option<String>,
    /// When it was changed last.
    pub updated_at: Option<DateTime<Utc>>,
    /// Actions that were triggered, oldest first, the last 1000.
    pub execution_history: Option<Vec<ExecutionEvent>>,
    /// The family of the product; null unless it was given.
    pub product_family: Option<String>,
}

impl WorkItem {
    fn add_property_values(&self, out: &mut String) {
        self.properties.iter().flatten().for_each(|(_, value)| value.add(out));
    }
}
