//! How the requests about work items make and change them.

use crate::error::Result;
use crate::model::lab::resources::{
    ResourceDefinition, ResourcePatch, ResourcesDefinition, ScheduleResourceDefinition, ScheduleResourcesDefinition,
    ScheduleSystemResourceDefinition, SystemResourceDefinition, SystemResourcePatch, TemplateResourceDefinition,
};
use crate::model::lab::state::State;
use crate::model::work_items::requests::{CreateWorkItemRequest, ScheduleWorkItemRequest, UpdateWorkItemRequest};
use crate::model::work_items::template::WorkItemTemplate;
use crate::model::work_items::work_item::WorkItem;
use crate::services::lab::{Amendment, Creation, Stateful, batch, checks, merge};
use crate::session::{Draft, What};
use crate::value::Patch;

use super::records::planned_start;

impl Creation for CreateWorkItemRequest {
    type Record = WorkItem;

    fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    fn build(self, draft: &Draft<'_>) -> Result<WorkItem> {
        let state = self.state.as_deref().map(checks::state).transpose()?.unwrap_or_default();
        let template = batch::template::<WorkItemTemplate>(draft, self.template_id.as_ref())?.unwrap_or_default();
        let mut timeline = self.timeline;
        if let Some(estimate) = template.timeline.as_ref().and_then(|timeline| timeline.estimated_duration_in_seconds) {
            timeline.get_or_insert_default().estimated_duration_in_seconds.get_or_insert(estimate);
        }
        Ok(WorkItem {
            name: self.name,
            r#type: merge::inherited(self.r#type, template.r#type.as_ref()),
            state: Some(state),
            substate: Some(state.as_str().to_owned()),
            description: merge::inherited(self.description, template.description.as_ref()),
            parent_id: self.parent_id,
            template_id: self.template_id,
            assigned_to: self.assigned_to,
            requested_by: self.requested_by,
            test_program: merge::inherited(self.test_program, template.test_program.as_ref()),
            part_number: self.part_number,
            workspace: self.workspace,
            workflow_id: merge::inherited(self.workflow_id, template.workflow_id.as_ref()),
            timeline,
            resources: inherited_resources(self.resources, &template),
            execution_actions: merge::inherited(self.execution_actions, template.execution_actions.as_ref()),
            file_ids_from_template: merge::inherited(self.file_ids_from_template, template.file_ids.as_ref()),
            properties: merge::inherited_map(self.properties, template.properties.as_ref()),
            dashboard: merge::inherited(self.dashboard, template.dashboard.as_ref()),
            execution_history: Some(Vec::new()),
            ..WorkItem::default()
        })
    }
}

/// The resources of a new item: each filter that the request does not give comes from the template.
fn inherited_resources(
    request: Option<ResourcesDefinition>,
    template: &WorkItemTemplate,
) -> Option<ResourcesDefinition> {
    let Some(template) = &template.resources else { return request };
    let mut resources = request.unwrap_or_default();
    let filter = |group: &Option<TemplateResourceDefinition>| group.as_ref().and_then(|group| group.filter.clone());
    for (group, from) in [
        (&mut resources.assets, &template.assets),
        (&mut resources.duts, &template.duts),
        (&mut resources.fixtures, &template.fixtures),
    ] {
        if let Some(filter) = filter(from) {
            group.get_or_insert_default().filter.get_or_insert(filter);
        }
    }
    if let Some(filter) = filter(&template.systems) {
        resources.systems.get_or_insert_default().filter.get_or_insert(filter);
    }
    Some(resources)
}

impl Amendment for UpdateWorkItemRequest {
    type Record = WorkItem;
    const WHAT: What = What::Updated;

    fn id(&self) -> Option<&str> {
        self.id.as_deref()
    }

    fn amend(self, item: &mut WorkItem, replace: bool) -> Result<()> {
        match self.state {
            Patch::Absent => {}
            Patch::Null => item.set_state(State::New),
            Patch::Value(text) => item.set_state(checks::state(&text)?),
        }
        self.name.apply(&mut item.name);
        self.description.apply(&mut item.description);
        self.parent_id.apply(&mut item.parent_id);
        self.assigned_to.apply(&mut item.assigned_to);
        self.requested_by.apply(&mut item.requested_by);
        self.test_program.apply(&mut item.test_program);
        self.part_number.apply(&mut item.part_number);
        if self.workspace.is_some() {
            item.workspace = self.workspace;
        }
        merge::object(&mut item.timeline, self.timeline, |timeline, patch| {
            patch.earliest_start_date_time.apply(&mut timeline.earliest_start_date_time);
            patch.due_date_time.apply(&mut timeline.due_date_time);
            patch.estimated_duration_in_seconds.apply(&mut timeline.estimated_duration_in_seconds);
        });
        merge::object(&mut item.resources, self.resources, |resources, patch| {
            merge_group(&mut resources.assets, patch.assets, replace);
            merge_group(&mut resources.duts, patch.duts, replace);
            merge_group(&mut resources.fixtures, patch.fixtures, replace);
            merge_systems(&mut resources.systems, patch.systems, replace);
        });
        merge::actions(&mut item.execution_actions, self.execution_actions, replace)?;
        merge::strings(&mut item.file_ids_from_template, self.file_ids_from_template, replace);
        merge::map(&mut item.properties, self.properties, replace);
        merge::dashboard(&mut item.dashboard, self.dashboard, replace);
        Ok(())
    }
}

fn merge_group(group: &mut Option<ResourceDefinition>, patch: Patch<ResourcePatch>, replace: bool) {
    merge::object(group, patch, |group, patch| {
        merge::selections(&mut group.selections, patch.selections, replace);
        patch.filter.apply(&mut group.filter);
    });
}

fn merge_systems(group: &mut Option<SystemResourceDefinition>, patch: Patch<SystemResourcePatch>, replace: bool) {
    merge::object(group, patch, |group, patch| {
        merge::selections(&mut group.selections, patch.selections, replace);
        patch.filter.apply(&mut group.filter);
    });
}

impl Amendment for ScheduleWorkItemRequest {
    type Record = WorkItem;
    const WHAT: What = What::Scheduled;

    fn id(&self) -> Option<&str> {
        self.id.as_deref()
    }

    fn amend(self, item: &mut WorkItem, replace: bool) -> Result<()> {
        self.assigned_to.apply(&mut item.assigned_to);
        merge::object(&mut item.schedule, self.schedule, |schedule, patch| {
            patch.planned_start_date_time.apply(&mut schedule.planned_start_date_time);
            patch.planned_end_date_time.apply(&mut schedule.planned_end_date_time);
            patch.planned_duration_in_seconds.apply(&mut schedule.planned_duration_in_seconds);
        });
        schedule_resources(&mut item.resources, self.resources, replace);
        item.follow_schedule(planned_start(item))
    }
}

/// Scheduling reaches the selections alone: null, at any level, takes the reservations away and leaves the filters.
fn schedule_resources(
    target: &mut Option<ResourcesDefinition>,
    patch: Patch<ScheduleResourcesDefinition>,
    replace: bool,
) {
    let patch = match patch {
        Patch::Absent => return,
        Patch::Null => ScheduleResourcesDefinition {
            assets: Patch::Null,
            duts: Patch::Null,
            fixtures: Patch::Null,
            systems: Patch::Null,
        },
        Patch::Value(patch) => patch,
    };
    if target.is_none() && !has_value(&patch) {
        return;
    }
    let resources = target.get_or_insert_default();
    for (group, patch) in [
        (&mut resources.assets, patch.assets),
        (&mut resources.duts, patch.duts),
        (&mut resources.fixtures, patch.fixtures),
    ] {
        match patch {
            Patch::Absent => {}
            Patch::Null => group.iter_mut().for_each(|group| group.selections = None),
            Patch::Value(ScheduleResourceDefinition { selections }) => {
                merge::selections(&mut group.get_or_insert_default().selections, selections, replace);
            }
        }
    }
    match patch.systems {
        Patch::Absent => {}
        Patch::Null => resources.systems.iter_mut().for_each(|group| group.selections = None),
        Patch::Value(ScheduleSystemResourceDefinition { selections }) => {
            merge::selections(&mut resources.systems.get_or_insert_default().selections, selections, replace);
        }
    }
}

fn has_value(patch: &ScheduleResourcesDefinition) -> bool {
    patch.assets.value().is_some()
        || patch.duts.value().is_some()
        || patch.fixtures.value().is_some()
        || patch.systems.value().is_some()
}
