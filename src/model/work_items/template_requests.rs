//! Requests and answers about work item templates, and the parts that a query can ask for.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::error::ApiError;
use crate::model::lab::dashboard::{Dashboard, DashboardPatch};
use crate::model::lab::execution::ExecutionDefinition;
use crate::model::lab::resources::{TemplateResourcesDefinition, TemplateResourcesPatch};
use crate::model::lab::timeline::{TemplateTimelineDefinition, TemplateTimelinePatch};
use crate::model::work_items::template::WorkItemTemplate;
use crate::value::Patch;
use crate::value::wire::{record, wire_enum};

record! {
    /// A work item template to make.
    wire pub struct CreateWorkItemTemplateRequest {
        /// Display name of the template; required.
        pub name: Option<String>,
        /// Group that users sort templates into; required.
        pub template_group: Option<String>,
        /// Type of the work items made from it; required.
        pub r#type: Option<String>,
        /// Product families that it is linked to.
        pub product_families: Option<Vec<String>>,
        /// Products that it is linked to.
        pub part_numbers: Option<Vec<String>>,
        /// What the template is for.
        pub summary: Option<String>,
        /// Description of the work items made from it.
        pub description: Option<String>,
        /// Test program of the work items made from it.
        pub test_program: Option<String>,
        /// Estimate for the work items made from it.
        pub timeline: Option<TemplateTimelineDefinition>,
        /// Which resources the work items made from it need.
        pub resources: Option<TemplateResourcesDefinition>,
        /// Actions of the work items made from it.
        #[serde(serialize_with = "crate::model::lab::execution::as_sent::opt")]
        pub execution_actions: Option<Vec<ExecutionDefinition>>,
        /// Files of the work items made from it.
        pub file_ids: Option<Vec<String>>,
        /// The workspace of the template; the session's default when absent.
        pub workspace: Option<String>,
        /// Properties of the work items made from it.
        pub properties: Option<BTreeMap<String, String>>,
        /// Dashboard of the work items made from it.
        pub dashboard: Option<Dashboard>,
        /// Workflow of the work items made from it.
        pub workflow_id: Option<String>,
    }

    /// The body of a create call on the wire.
    wire pub struct CreateWorkItemTemplatesRequest {
        /// The templates to make.
        pub work_item_templates: Vec<CreateWorkItemTemplateRequest>,
    }

    /// What an update changes in one template: absent members keep, null members clear.
    patch pub struct UpdateWorkItemTemplateRequest {
        /// The template; required.
        pub id: Option<String>,
        /// Display name; cannot be cleared.
        pub name: Patch<String>,
        /// Group; cannot be cleared.
        pub template_group: Patch<String>,
        /// Product families, appended or replaced.
        pub product_families: Patch<Vec<String>>,
        /// Products, appended or replaced.
        pub part_numbers: Patch<Vec<String>>,
        /// What the template is for.
        pub summary: Patch<String>,
        /// Description of the work items made from it.
        pub description: Patch<String>,
        /// Test program of the work items made from it.
        pub test_program: Patch<String>,
        /// Estimate for the work items made from it.
        pub timeline: Patch<TemplateTimelinePatch>,
        /// Which resources the work items made from it need, merged member by member.
        pub resources: Patch<TemplateResourcesPatch>,
        /// Actions, appended or replaced.
        #[serde(serialize_with = "crate::model::lab::execution::as_sent::patch")]
        pub execution_actions: Patch<Vec<ExecutionDefinition>>,
        /// Files, appended or replaced.
        pub file_ids: Patch<Vec<String>>,
        /// The workspace; null keeps it.
        pub workspace: Option<String>,
        /// Properties, merged or replaced.
        pub properties: Patch<BTreeMap<String, String>>,
        /// Dashboard, merged member by member.
        pub dashboard: Patch<DashboardPatch>,
        /// Workflow of the work items made from it.
        pub workflow_id: Patch<String>,
    }

    /// An update of templates.
    wire pub struct UpdateWorkItemTemplatesRequest requires(work_item_templates) {
        /// The changes, applied in order.
        pub work_item_templates: Vec<UpdateWorkItemTemplateRequest>,
        /// Whether arrays and maps are replaced (`true`) or appended to and merged (absent, `false`).
        pub replace: Option<bool>,
    }

    /// The body of a delete call on the wire.
    wire pub struct DeleteWorkItemTemplatesRequest requires(ids) {
        /// The templates to delete.
        pub ids: Vec<String>,
    }

    /// The answer to a create call.
    wire pub struct CreateWorkItemTemplatesPartialSuccessResponse {
        /// What was made, in request order.
        pub created_work_item_templates: Vec<WorkItemTemplate>,
        /// The requests that failed, as they came, in request order.
        pub failed_work_item_templates: Option<Vec<CreateWorkItemTemplateRequest>>,
        /// One inner error for each failed request.
        pub error: Option<ApiError>,
    }

    /// The answer to an update call.
    wire pub struct UpdateWorkItemTemplatesPartialSuccessResponse {
        /// What was changed, in request order.
        pub updated_work_item_templates: Vec<WorkItemTemplate>,
        /// The requests that failed, as they came, in request order.
        pub failed_work_item_templates: Option<Vec<UpdateWorkItemTemplateRequest>>,
        /// One inner error for each failed request.
        pub error: Option<ApiError>,
    }

    /// The answer to a delete call in which some ids failed.
    wire pub struct DeleteWorkItemTemplatesPartialSuccessResponse
    also("deletedWorkItemTemplateIds" = "deletedIds", "failedWorkItemTemplateIds" = "failedIds") {
        /// What was deleted.
        pub deleted_ids: Option<Vec<String>>,
        /// What was not.
        pub failed_ids: Option<Vec<String>>,
        /// One inner error for each failed id.
        pub error: Option<ApiError>,
    }

    /// A query of work item templates.
    wire pub struct QueryWorkItemTemplatesRequest {
        /// Filter expression; everything when absent or blank.
        pub filter: Option<String>,
        /// Values for `@0`, `@1` and so on: Boolean, integer, string or null.
        pub substitutions: Option<Vec<Value>>,
        /// Most templates in the page; 1000 when absent, and at most.
        pub take: Option<i64>,
        /// Order; by id when absent.
        pub order_by: Option<WorkItemTemplateOrderBy>,
        /// Whether the order is descending.
        pub descending: Option<bool>,
        /// Where the previous page ended.
        pub continuation_token: Option<String>,
        /// The parts to return; everything when absent or empty.
        pub projection: Option<Vec<WorkItemTemplateField>>,
    }

    /// A page of work item templates.
    wire pub struct PagedWorkItemTemplates {
        /// The page.
        pub work_item_templates: Vec<WorkItemTemplate>,
        /// Where the next page begins; none on the last page.
        pub continuation_token: Option<String>,
        /// Never filled: templates are not counted.
        pub total_count: Option<u64>,
    }
}

wire_enum! {
    /// The orders of a query of work item templates; ties by id.
    pub enum WorkItemTemplateOrderBy {
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
    /// The part of a work item template that a query returns.
    pub enum WorkItemTemplateField {
        /// `id`.
        Id = "ID",
        /// `productFamilies`.
        ProductFamilies = "PRODUCT_FAMILIES",
        /// `partNumbers`.
        PartNumbers = "PART_NUMBERS",
        /// `name`.
        Name = "NAME",
        /// `summary`.
        Summary = "SUMMARY",
        /// `description`.
        Description = "DESCRIPTION",
        /// `templateGroup`.
        TemplateGroup = "TEMPLATE_GROUP",
        /// `testProgram`.
        TestProgram = "TEST_PROGRAM",
        /// `type`.
        Type = "TYPE",
        /// `workspace`.
        Workspace = "WORKSPACE",
        /// `createdBy`.
        CreatedBy = "CREATED_BY",
        /// `updatedBy`.
        UpdatedBy = "UPDATED_BY",
        /// `executionActions`.
        ExecutionActions = "EXECUTION_ACTIONS",
        /// `fileIds`.
        FileIds = "FILE_IDS",
        /// `createdAt`.
        CreatedAt = "CREATED_AT",
        /// `updatedAt`.
        UpdatedAt = "UPDATED_AT",
        /// `properties`.
        Properties = "PROPERTIES",
        /// `dashboard`.
        Dashboard = "DASHBOARD",
        /// `workflowId`.
        WorkflowId = "WORKFLOW_ID",
        /// The whole `timeline`.
        Timeline = "TIMELINE",
        /// `timeline` with only `estimatedDurationInSeconds`.
        TimelineEstimatedDurationInSeconds = "TIMELINE_ESTIMATED_DURATION_IN_SECONDS",
        /// All of `resources`.
        Resources = "RESOURCES",
        /// `resources` with only the group `systems`.
        ResourcesSystems = "RESOURCES_SYSTEMS",
        /// `resources` with only the group `assets`.
        ResourcesAssets = "RESOURCES_ASSETS",
        /// `resources` with only the group `duts`.
        ResourcesDuts = "RESOURCES_DUTS",
        /// `resources` with only the group `fixtures`.
        ResourcesFixtures = "RESOURCES_FIXTURES",
        /// The group `assets` with only its filter.
        ResourcesAssetsFilter = "RESOURCES_ASSETS_FILTER",
        /// The group `duts` with only its filter.
        ResourcesDutsFilter = "RESOURCES_DUTS_FILTER",
        /// The group `fixtures` with only its filter.
        ResourcesFixturesFilter = "RESOURCES_FIXTURES_FILTER",
        /// The group `systems` with only its filter.
        ResourcesSystemsFilter = "RESOURCES_SYSTEMS_FILTER",
    }
}
use WorkItemTemplateField as F;

/// Exactly the listed parts of `item` and nothing else; all of it when `fields` is empty.
#[must_use]
pub fn project_template(item: &WorkItemTemplate, fields: &[WorkItemTemplateField]) -> WorkItemTemplate {
    if fields.is_empty() {
        return item.clone();
    }
    let mut out = WorkItemTemplate::default();
    for &field in fields {
        match field {
            F::Id => out.id.clone_from(&item.id),
            F::ProductFamilies => out.product_families.clone_from(&item.product_families),
            F::PartNumbers => out.part_numbers.clone_from(&item.part_numbers),
            F::Name => out.name.clone_from(&item.name),
            F::Summary => out.summary.clone_from(&item.summary),
            F::Description => out.description.clone_from(&item.description),
            F::TemplateGroup => out.template_group.clone_from(&item.template_group),
            F::TestProgram => out.test_program.clone_from(&item.test_program),
            F::Type => out.r#type.clone_from(&item.r#type),
            F::Workspace => out.workspace.clone_from(&item.workspace),
            F::CreatedBy => out.created_by.clone_from(&item.created_by),
            F::UpdatedBy => out.updated_by.clone_from(&item.updated_by),
            F::ExecutionActions => out.execution_actions.clone_from(&item.execution_actions),
            F::FileIds => out.file_ids.clone_from(&item.file_ids),
            F::CreatedAt => out.created_at = item.created_at,
            F::UpdatedAt => out.updated_at = item.updated_at,
            F::Properties => out.properties.clone_from(&item.properties),
            F::Dashboard => out.dashboard.clone_from(&item.dashboard),
            F::WorkflowId => out.workflow_id.clone_from(&item.workflow_id),
            F::Timeline | F::TimelineEstimatedDurationInSeconds => out.timeline.clone_from(&item.timeline),
            F::Resources => out.resources.clone_from(&item.resources),
            F::ResourcesSystems | F::ResourcesSystemsFilter => {
                group(item, &mut out, |from, to| to.systems.clone_from(&from.systems));
            }
            F::ResourcesAssets | F::ResourcesAssetsFilter => {
                group(item, &mut out, |from, to| to.assets.clone_from(&from.assets));
            }
            F::ResourcesDuts | F::ResourcesDutsFilter => {
                group(item, &mut out, |from, to| to.duts.clone_from(&from.duts));
            }
            F::ResourcesFixtures | F::ResourcesFixturesFilter => {
                group(item, &mut out, |from, to| to.fixtures.clone_from(&from.fixtures));
            }
        }
    }
    out
}

fn group(
    item: &WorkItemTemplate,
    out: &mut WorkItemTemplate,
    copy: fn(&TemplateResourcesDefinition, &mut TemplateResourcesDefinition),
) {
    if let Some(from) = &item.resources {
        copy(from, out.resources.get_or_insert_default());
    }
}
