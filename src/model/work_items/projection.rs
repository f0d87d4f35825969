//! The parts of a work item that a query can ask for.

use crate::model::lab::resources::{
    ResourceDefinition, ResourceSelectionDefinition, ResourcesDefinition, SystemResourceDefinition,
    SystemResourceSelectionDefinition,
};
use crate::model::lab::timeline::{ScheduleDefinition, TimelineDefinition};
use crate::model::work_items::work_item::WorkItem;
use crate::value::wire::wire_enum;

wire_enum! {
    /// The part of a work item that a query returns; several names under one parent add up to one object.
    pub enum WorkItemField {
        /// `id`.
        Id = "ID",
        /// `name`.
        Name = "NAME",
        /// `type`.
        Type = "TYPE",
        /// `state`.
        State = "STATE",
        /// `substate`.
        Substate = "SUBSTATE",
        /// `description`.
        Description = "DESCRIPTION",
        /// `parentId`.
        ParentId = "PARENT_ID",
        /// `templateId`.
        TemplateId = "TEMPLATE_ID",
        /// `assignedTo`.
        AssignedTo = "ASSIGNED_TO",
        /// `requestedBy`.
        RequestedBy = "REQUESTED_BY",
        /// `testProgram`.
        TestProgram = "TEST_PROGRAM",
        /// `partNumber`.
        PartNumber = "PART_NUMBER",
        /// The whole `timeline`.
        Timeline = "TIMELINE",
        /// `timeline` with only `earliestStartDateTime`.
        TimelineEarliestStartDateTime = "TIMELINE_EARLIEST_START_DATE_TIME",
        /// `timeline` with only `dueDateTime`.
        TimelineDueDateTime = "TIMELINE_DUE_DATE_TIME",
        /// `timeline` with only `estimatedDurationInSeconds`.
        TimelineEstimatedDurationInSeconds = "TIMELINE_ESTIMATED_DURATION_IN_SECONDS",
        /// The whole `schedule`.
        Schedule = "SCHEDULE",
        /// `schedule` with only `plannedStartDateTime`.
        SchedulePlannedStartDateTime = "SCHEDULE_PLANNED_START_DATE_TIME",
        /// `schedule` with only `plannedEndDateTime`.
        SchedulePlannedEndDateTime = "SCHEDULE_PLANNED_END_DATE_TIME",
        /// `schedule` with only `plannedDurationInSeconds`.
        SchedulePlannedDurationInSeconds = "SCHEDULE_PLANNED_DURATION_IN_SECONDS",
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
        /// The group `systems` with only its selections.
        ResourcesSystemsSelections = "RESOURCES_SYSTEMS_SELECTIONS",
        /// The selections of `systems` with only `id`.
        ResourcesSystemsSelectionsId = "RESOURCES_SYSTEMS_SELECTIONS_ID",
        /// The selections of `systems` with only `targetLocationId`.
        ResourcesSystemsSelectionsTargetLocationId = "RESOURCES_SYSTEMS_SELECTIONS_TARGET_LOCATION_ID",
        /// The group `assets` with only its selections.
        ResourcesAssetsSelections = "RESOURCES_ASSETS_SELECTIONS",
        /// The selections of `assets` with only `id`.
        ResourcesAssetsSelectionsId = "RESOURCES_ASSETS_SELECTIONS_ID",
        /// The selections of `assets` with only `targetLocationId`.
        ResourcesAssetsSelectionsTargetLocationId = "RESOURCES_ASSETS_SELECTIONS_TARGET_LOCATION_ID",
        /// The selections of `assets` with only `targetSystemId`.
        ResourcesAssetsSelectionsTargetSystemId = "RESOURCES_ASSETS_SELECTIONS_TARGET_SYSTEM_ID",
        /// The selections of `assets` with only `targetParentId`.
        ResourcesAssetsSelectionsTargetParentId = "RESOURCES_ASSETS_SELECTIONS_TARGET_PARENT_ID",
        /// The group `duts` with only its selections.
        ResourcesDutsSelections = "RESOURCES_DUTS_SELECTIONS",
        /// The selections of `duts` with only `id`.
        ResourcesDutsSelectionsId = "RESOURCES_DUTS_SELECTIONS_ID",
        /// The selections of `duts` with only `targetLocationId`.
        ResourcesDutsSelectionsTargetLocationId = "RESOURCES_DUTS_SELECTIONS_TARGET_LOCATION_ID",
        /// The selections of `duts` with only `targetParentId`.
        ResourcesDutsSelectionsTargetParentId = "RESOURCES_DUTS_SELECTIONS_TARGET_PARENT_ID",
        /// The selections of `duts` with only `targetSystemId`.
        ResourcesDutsSelectionsTargetSystemId = "RESOURCES_DUTS_SELECTIONS_TARGET_SYSTEM_ID",
        /// The group `fixtures` with only its selections.
        ResourcesFixturesSelections = "RESOURCES_FIXTURES_SELECTIONS",
        /// The selections of `fixtures` with only `id`.
        ResourcesFixturesSelectionsId = "RESOURCES_FIXTURES_SELECTIONS_ID",
        /// The selections of `fixtures` with only `targetLocationId`.
        ResourcesFixturesSelectionsTargetLocationId = "RESOURCES_FIXTURES_SELECTIONS_TARGET_LOCATION_ID",
        /// The selections of `fixtures` with only `targetParentId`.
        ResourcesFixturesSelectionsTargetParentId = "RESOURCES_FIXTURES_SELECTIONS_TARGET_PARENT_ID",
        /// The selections of `fixtures` with only `targetSystemId`.
        ResourcesFixturesSelectionsTargetSystemId = "RESOURCES_FIXTURES_SELECTIONS_TARGET_SYSTEM_ID",
        /// The group `assets` with only its filter.
        ResourcesAssetsFilter = "RESOURCES_ASSETS_FILTER",
        /// The group `duts` with only its filter.
        ResourcesDutsFilter = "RESOURCES_DUTS_FILTER",
        /// The group `fixtures` with only its filter.
        ResourcesFixturesFilter = "RESOURCES_FIXTURES_FILTER",
        /// The group `systems` with only its filter.
        ResourcesSystemsFilter = "RESOURCES_SYSTEMS_FILTER",
        /// `fileIdsFromTemplate`.
        FileIdsFromTemplate = "FILE_IDS_FROM_TEMPLATE",
        /// `properties`.
        Properties = "PROPERTIES",
        /// `dashboard`.
        Dashboard = "DASHBOARD",
        /// `createdBy`.
        CreatedBy = "CREATED_BY",
        /// `createdAt`.
        CreatedAt = "CREATED_AT",
        /// `updatedBy`.
        UpdatedBy = "UPDATED_BY",
        /// `updatedAt`.
        UpdatedAt = "UPDATED_AT",
        /// `workspace`.
        Workspace = "WORKSPACE",
        /// `workflowId`.
        WorkflowId = "WORKFLOW_ID",
    }
}
use WorkItemField as F;

/// Exactly the listed parts of `item` and nothing else; all of it when `fields` is empty.
#[must_use]
pub fn project_work_item(item: &WorkItem, fields: &[WorkItemField]) -> WorkItem {
    if fields.is_empty() {
        return item.clone();
    }
    let mut out = WorkItem::default();
    for &field in fields {
        match field {
            F::Id => out.id.clone_from(&item.id),
            F::Name => out.name.clone_from(&item.name),
            F::Type => out.r#type.clone_from(&item.r#type),
            F::State => out.state = item.state,
            F::Substate => out.substate.clone_from(&item.substate),
            F::Description => out.description.clone_from(&item.description),
            F::ParentId => out.parent_id.clone_from(&item.parent_id),
            F::TemplateId => out.template_id.clone_from(&item.template_id),
            F::AssignedTo => out.assigned_to.clone_from(&item.assigned_to),
            F::RequestedBy => out.requested_by.clone_from(&item.requested_by),
            F::TestProgram => out.test_program.clone_from(&item.test_program),
            F::PartNumber => out.part_number.clone_from(&item.part_number),
            F::Timeline => out.timeline.clone_from(&item.timeline),
            F::Schedule => out.schedule.clone_from(&item.schedule),
            F::FileIdsFromTemplate => out.file_ids_from_template.clone_from(&item.file_ids_from_template),
            F::Properties => out.properties.clone_from(&item.properties),
            F::Dashboard => out.dashboard.clone_from(&item.dashboard),
            F::CreatedBy => out.created_by.clone_from(&item.created_by),
            F::CreatedAt => out.created_at = item.created_at,
            F::UpdatedBy => out.updated_by.clone_from(&item.updated_by),
            F::UpdatedAt => out.updated_at = item.updated_at,
            F::Workspace => out.workspace.clone_from(&item.workspace),
            F::WorkflowId => out.workflow_id.clone_from(&item.workflow_id),
            F::Resources => out.resources.clone_from(&item.resources),
            F::TimelineEarliestStartDateTime => timeline(item, &mut out, |from, to| {
                to.earliest_start_date_time = from.earliest_start_date_time;
            }),
            F::TimelineDueDateTime => timeline(item, &mut out, |from, to| to.due_date_time = from.due_date_time),
            F::TimelineEstimatedDurationInSeconds => timeline(item, &mut out, |from, to| {
                to.estimated_duration_in_seconds = from.estimated_duration_in_seconds;
            }),
            F::SchedulePlannedStartDateTime => schedule(item, &mut out, |from, to| {
                to.planned_start_date_time = from.planned_start_date_time;
            }),
            F::SchedulePlannedEndDateTime => schedule(item, &mut out, |from, to| {
                to.planned_end_date_time = from.planned_end_date_time;
            }),
            F::SchedulePlannedDurationInSeconds => schedule(item, &mut out, |from, to| {
                to.planned_duration_in_seconds = from.planned_duration_in_seconds;
            }),
            nested => {
                if let (Some((group, part)), Some(from)) = (resource_part(nested), &item.resources) {
                    add_group(from, out.resources.get_or_insert_default(), group, part);
                }
            }
        }
    }
    out
}

fn timeline(item: &WorkItem, out: &mut WorkItem, copy: fn(&TimelineDefinition, &mut TimelineDefinition)) {
    if let Some(from) = &item.timeline {
        copy(from, out.timeline.get_or_insert_default());
    }
}

fn schedule(item: &WorkItem, out: &mut WorkItem, copy: fn(&ScheduleDefinition, &mut ScheduleDefinition)) {
    if let Some(from) = &item.schedule {
        copy(from, out.schedule.get_or_insert_default());
    }
}

#[derive(Clone, Copy)]
enum Group {
    Systems,
    Assets,
    Duts,
    Fixtures,
}

#[derive(Clone, Copy, PartialEq)]
enum Part {
    Whole,
    Filter,
    Selections,
    Id,
    TargetLocationId,
    TargetSystemId,
    TargetParentId,
}

fn resource_part(field: WorkItemField) -> Option<(Group, Part)> {
    Some(match field {
        F::ResourcesSystems => (Group::Systems, Part::Whole),
        F::ResourcesAssets => (Group::Assets, Part::Whole),
        F::ResourcesDuts => (Group::Duts, Part::Whole),
        F::ResourcesFixtures => (Group::Fixtures, Part::Whole),
        F::ResourcesSystemsSelections => (Group::Systems, Part::Selections),
        F::ResourcesSystemsSelectionsId => (Group::Systems, Part::Id),
        F::ResourcesSystemsSelectionsTargetLocationId => (Group::Systems, Part::TargetLocationId),
        F::ResourcesAssetsSelections => (Group::Assets, Part::Selections),
        F::ResourcesAssetsSelectionsId => (Group::Assets, Part::Id),
        F::ResourcesAssetsSelectionsTargetLocationId => (Group::Assets, Part::TargetLocationId),
        F::ResourcesAssetsSelectionsTargetSystemId => (Group::Assets, Part::TargetSystemId),
        F::ResourcesAssetsSelectionsTargetParentId => (Group::Assets, Part::TargetParentId),
        F::ResourcesDutsSelections => (Group::Duts, Part::Selections),
        F::ResourcesDutsSelectionsId => (Group::Duts, Part::Id),
        F::ResourcesDutsSelectionsTargetLocationId => (Group::Duts, Part::TargetLocationId),
        F::ResourcesDutsSelectionsTargetParentId => (Group::Duts, Part::TargetParentId),
        F::ResourcesDutsSelectionsTargetSystemId => (Group::Duts, Part::TargetSystemId),
        F::ResourcesFixturesSelections => (Group::Fixtures, Part::Selections),
        F::ResourcesFixturesSelectionsId => (Group::Fixtures, Part::Id),
        F::ResourcesFixturesSelectionsTargetLocationId => (Group::Fixtures, Part::TargetLocationId),
        F::ResourcesFixturesSelectionsTargetParentId => (Group::Fixtures, Part::TargetParentId),
        F::ResourcesFixturesSelectionsTargetSystemId => (Group::Fixtures, Part::TargetSystemId),
        F::ResourcesAssetsFilter => (Group::Assets, Part::Filter),
        F::ResourcesDutsFilter => (Group::Duts, Part::Filter),
        F::ResourcesFixturesFilter => (Group::Fixtures, Part::Filter),
        F::ResourcesSystemsFilter => (Group::Systems, Part::Filter),
        _ => return None,
    })
}

fn add_group(from: &ResourcesDefinition, to: &mut ResourcesDefinition, group: Group, part: Part) {
    match group {
        Group::Systems => add_part(from.systems.as_ref(), &mut to.systems, part),
        Group::Assets => add_part(from.assets.as_ref(), &mut to.assets, part),
        Group::Duts => add_part(from.duts.as_ref(), &mut to.duts, part),
        Group::Fixtures => add_part(from.fixtures.as_ref(), &mut to.fixtures, part),
    }
}

fn add_part<G: ResourceGroup>(from: Option<&G>, to: &mut Option<G>, part: Part) {
    let Some(from) = from else { return };
    let to = to.get_or_insert_with(G::default);
    let (selections, filter) = from.parts();
    let (to_selections, to_filter) = to.parts_mut();
    if matches!(part, Part::Whole | Part::Filter) {
        to_filter.clone_from(filter);
    }
    if part == Part::Filter {
        return;
    }
    if let Some(selections) = selections {
        let to_selections = to_selections.get_or_insert_with(|| vec![G::Selection::default(); selections.len()]);
        for (from, to) in selections.iter().zip(to_selections) {
            from.add(to, part);
        }
    }
}

trait ResourceGroup: Default {
    type Selection: SelectionParts;
    fn parts(&self) -> (&Option<Vec<Self::Selection>>, &Option<String>);
    fn parts_mut(&mut self) -> (&mut Option<Vec<Self::Selection>>, &mut Option<String>);
}

trait SelectionParts: Clone + Default {
    fn add(&self, to: &mut Self, part: Part);
}

impl ResourceGroup for ResourceDefinition {
    type Selection = ResourceSelectionDefinition;
    fn parts(&self) -> (&Option<Vec<Self::Selection>>, &Option<String>) {
        (&self.selections, &self.filter)
    }
    fn parts_mut(&mut self) -> (&mut Option<Vec<Self::Selection>>, &mut Option<String>) {
        (&mut self.selections, &mut self.filter)
    }
}

impl ResourceGroup for SystemResourceDefinition {
    type Selection = SystemResourceSelectionDefinition;
    fn parts(&self) -> (&Option<Vec<Self::Selection>>, &Option<String>) {
        (&self.selections, &self.filter)
    }
    fn parts_mut(&mut self) -> (&mut Option<Vec<Self::Selection>>, &mut Option<String>) {
        (&mut self.selections, &mut self.filter)
    }
}

impl SelectionParts for ResourceSelectionDefinition {
    fn add(&self, to: &mut Self, part: Part) {
        match part {
            Part::Id => to.id.clone_from(&self.id),
            Part::TargetLocationId => to.target_location_id.clone_from(&self.target_location_id),
            Part::TargetSystemId => to.target_system_id.clone_from(&self.target_system_id),
            Part::TargetParentId => to.target_parent_id.clone_from(&self.target_parent_id),
            Part::Whole | Part::Selections | Part::Filter => to.clone_from(self),
        }
    }
}

impl SelectionParts for SystemResourceSelectionDefinition {
    fn add(&self, to: &mut Self, part: Part) {
        match part {
            Part::Id => to.id.clone_from(&self.id),
            Part::TargetLocationId => to.target_location_id.clone_from(&self.target_location_id),
            _ => to.clone_from(self),
        }
    }
}

#[cfg(test)]
#[path = "projection_tests.rs"]
mod tests;
