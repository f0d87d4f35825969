//! Templates for work items.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};

use crate::model::lab::dashboard::{Dashboard, DashboardPatch};
use crate::model::lab::execution::ExecutionDefinition;
use crate::model::lab::resources::{TemplateResourcesDefinition, TemplateResourcesPatch};
use crate::model::lab::timeline::{TemplateTimelineDefinition, TemplateTimelinePatch};
use crate::model::resource::Resource;
use crate::value::id::id_type;
use crate::value::{IdForm, Patch};

id_type!(
    /// Id of a work item template: a decimal number as text.
    WorkItemTemplateId,
    IdForm::Decimal
);

/// A work item template as it is stored and returned; members that a projection omits are `None`.
#[derive(Clone, Debug, Default, PartialEq, Resource)]
#[resource(kind = 6, name = "work item template", service(WORK_ITEMS), id(Decimal), title(name))]
#[fields(
    id(equality),
    name,
    r#type,
    summary,
    description,
    template_group,
    test_program,
    workspace,
    workflow_id
)]
#[fields(product_families, part_numbers, file_ids)]
#[fields(resources(systems(filter), assets(filter), duts(filter), fixtures(filter)))]
#[fields(properties, created_by, updated_by, created_at, updated_at)]
#[index(1, name)]
#[index(2, template_group)]
#[index(3, created_at)]
#[index(4, updated_at)]
#[index(5, workspace)]
#[index(6, part_numbers)]
#[text(name = 2.0, summary = 1.0, description = 1.0, template_group = 1.0)]
#[order(WorkItemTemplateOrderBy(id, name, template_group, created_at, updated_at))]
#[projection(WorkItemTemplateField(
    id,
    product_families,
    part_numbers,
    name,
    summary,
    description,
    template_group
))]
#[projection(WorkItemTemplateField(
    test_program,
    r#type,
    workspace,
    created_by,
    updated_by,
    execution_actions
))]
#[projection(WorkItemTemplateField(
    file_ids,
    created_at,
    updated_at,
    properties,
    dashboard,
    workflow_id
))]
#[projection(WorkItemTemplateField(timeline, timeline(estimated_duration_in_seconds)))]
#[projection(WorkItemTemplateField(resources, resources(systems, assets, duts, fixtures)))]
#[projection(WorkItemTemplateField(resources(
    assets(filter),
    duts(filter),
    fixtures(filter),
    systems(filter)
)))]
#[projection(WorkItemTemplateField(resources(filter_type)))]
#[request(CreateWorkItemTemplateRequest = "A work item template to create.")]
#[request(CreateWorkItemTemplateRequest(name = "Display name of the template; required."))]
#[request(CreateWorkItemTemplateRequest(
    template_group = "Group that users sort templates into; required."
))]
#[request(CreateWorkItemTemplateRequest(
    r#type = "Type of the work items created from it; required."
))]
#[request(CreateWorkItemTemplateRequest(
    product_families,
    part_numbers,
    summary,
    description,
    test_program,
    timeline
))]
#[request(CreateWorkItemTemplateRequest(resources))]
#[request(CreateWorkItemTemplateRequest(
    execution_actions(#[serde(serialize_with = "crate::model::lab::execution::as_sent::opt")])
))]
#[request(CreateWorkItemTemplateRequest(file_ids))]
#[request(CreateWorkItemTemplateRequest(
    workspace = "The workspace of the template; the session's default when absent."
))]
#[request(CreateWorkItemTemplateRequest(
    properties,
    dashboard = "Dashboard of the work items created from it.",
    workflow_id
))]
#[patch(
    UpdateWorkItemTemplateRequest = "An update of a template: absent members keep their values, \
                                     null clears them."
)]
#[patch(UpdateWorkItemTemplateRequest(id(Option<String>, "The template; required.")))]
#[patch(UpdateWorkItemTemplateRequest(name = "Display name; cannot be cleared."))]
#[patch(UpdateWorkItemTemplateRequest(template_group = "Group; cannot be cleared."))]
#[patch(UpdateWorkItemTemplateRequest(product_families(
    own,
    "Product families, appended or replaced."
)))]
#[patch(UpdateWorkItemTemplateRequest(part_numbers(own, "Products, appended or replaced.")))]
#[patch(UpdateWorkItemTemplateRequest(summary, description, test_program))]
#[patch(UpdateWorkItemTemplateRequest(timeline(Patch<TemplateTimelinePatch>)))]
#[patch(UpdateWorkItemTemplateRequest(
    resources(
        Patch<TemplateResourcesPatch>,
        "Resources that its work items need, merged member by member."
    )
))]
#[patch(UpdateWorkItemTemplateRequest(execution_actions(
    own,
    "Actions, appended or replaced.",
    #[serde(serialize_with = "crate::model::lab::execution::as_sent::patch")]
)))]
#[patch(UpdateWorkItemTemplateRequest(file_ids(own, "Files, appended or replaced.")))]
#[patch(UpdateWorkItemTemplateRequest(workspace(Option<String>, "The workspace; null keeps it.")))]
#[patch(UpdateWorkItemTemplateRequest(properties(own, "Properties, merged or replaced.")))]
#[patch(UpdateWorkItemTemplateRequest(
    dashboard(Patch<DashboardPatch>, "Dashboard, merged member by member."),
    workflow_id,
))]
#[non_exhaustive]
pub struct WorkItemTemplate {
    /// Assigned by the store.
    pub id: Option<WorkItemTemplateId>,
    /// Display name of the template.
    pub name: Option<String>,
    /// Group that users sort templates into.
    pub template_group: Option<String>,
    /// Type of the work items created from it.
    pub r#type: Option<String>,
    /// Product families that it is linked to.
    pub product_families: Option<Vec<String>>,
    /// Products that it is linked to.
    pub part_numbers: Option<Vec<String>>,
    /// What the template is for.
    pub summary: Option<String>,
    /// Description of the work items created from it.
    pub description: Option<String>,
    /// Test program of the work items created from it.
    pub test_program: Option<String>,
    /// Estimate for the work items created from it.
    pub timeline: Option<TemplateTimelineDefinition>,
    /// Resources that the work items created from it need.
    pub resources: Option<TemplateResourcesDefinition>,
    /// Actions of the work items created from it.
    pub execution_actions: Option<Vec<ExecutionDefinition>>,
    /// Files of the work items created from it.
    pub file_ids: Option<Vec<String>>,
    /// The workspace of the template.
    pub workspace: Option<String>,
    /// Properties of the work items created from it.
    pub properties: Option<BTreeMap<String, String>>,
    /// Dashboard of the work items created from it; without URL.
    pub dashboard: Option<Dashboard>,
    /// Workflow of the work items created from it.
    pub workflow_id: Option<String>,
    /// The user who created it.
    pub created_by: Option<String>,
    /// When it was created.
    pub created_at: Option<DateTime<Utc>>,
    /// The user who changed it last.
    pub updated_by: Option<String>,
    /// When it was changed last.
    pub updated_at: Option<DateTime<Utc>>,
}
