//! Creates and updates work items from requests.

use crate::error::Result;
use crate::model::{
    CreateWorkItemRequest, ResourceDefinition, ResourcePatch, ResourcesDefinition,
    ScheduleResourceDefinition, ScheduleResourcesDefinition, ScheduleSystemResourceDefinition,
    ScheduleWorkItemRequest, State, SystemResourceDefinition, SystemResourcePatch,
    TemplateResourceDefinition, TemplateResourcesDefinition, UpdateWorkItemRequest, WorkItem,
    WorkItemTemplate,
};
use crate::services::lab::{Amendment, Creation, Stateful, Templates, checks, merge};
use crate::session::{Draft, What};
use crate::value::Patch;

use super::records::planned_start;

impl Creation for CreateWorkItemRequest {
    type Record = WorkItem;
    type Template = WorkItemTemplate;

    fn build(
        self,
        draft: &Draft<'_>,
        templates: &mut Templates<WorkItemTemplate>,
    ) -> Result<WorkItem> {
        let state = self.state.as_deref().map(checks::state).transpose()?.unwrap_or_default();
        let template = templates.get(draft, self.template_id.as_ref())?;
        let mut item = self.into_record();
        if let Some(estimate) =
            template.timeline.and_then(|timeline| timeline.estimated_duration_in_seconds)
        {
            item.timeline
                .get_or_insert_default()
                .estimated_duration_in_seconds
                .get_or_insert(estimate);
        }
        item.state = Some(state);
        item.substate = Some(state.as_str().to_owned());
        item.r#type = item.r#type.or(template.r#type);
        item.description = item.description.or(template.description);
        item.test_program = item.test_program.or(template.test_program);
        item.workflow_id = item.workflow_id.or(template.workflow_id);
        item.resources = inherited_resources(item.resources, template.resources);
        item.execution_actions = item.execution_actions.or(template.execution_actions);
        item.file_ids_from_template = item.file_ids_from_template.or(template.file_ids);
        item.properties = merge::inherited_map(item.properties, template.properties);
        item.dashboard = item.dashboard.or(template.dashboard);
        item.execution_history = Some(Vec::new());
        Ok(item)
    }
}

/// The resources of a new item: each filter that is absent in the request comes from the template,
/// and so does the language of the filters.
fn inherited_resources(
    request: Option<ResourcesDefinition>,
    template: Option<TemplateResourcesDefinition>,
) -> Option<ResourcesDefinition> {
    let Some(template) = template else { return request };
    let mut resources = request.unwrap_or_default();
    let filter = |group: &Option<TemplateResourceDefinition>| {
        group.as_ref().and_then(|group| group.filter.clone())
    };
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
    resources.filter_type = resources.filter_type.or(template.filter_type);
    Some(resources)
}

impl Amendment for UpdateWorkItemRequest {
    type Record = WorkItem;
    const WHAT: What = What::Updated;

    fn id(&self) -> Option<&str> {
        self.id.as_deref()
    }

    fn amend(mut self, item: &mut WorkItem, replace: bool) -> Result<()> {
        self.apply_to(item);
        match self.state {
            Patch::Absent => {}
            Patch::Null => item.set_state(State::New),
            Patch::Value(text) => item.set_state(checks::state(&text)?),
        }
        if self.workspace.is_some() {
            item.workspace = self.workspace;
        }
        merge::object(&mut item.timeline, self.timeline, |timeline, mut patch| {
            patch.apply_to(timeline);
        });
        merge::object(&mut item.resources, self.resources, |resources, patch| {
            merge_group(&mut resources.assets, patch.assets, replace);
            merge_group(&mut resources.duts, patch.duts, replace);
            merge_group(&mut resources.fixtures, patch.fixtures, replace);
            merge_systems(&mut resources.systems, patch.systems, replace);
            patch.filter_type.apply(&mut resources.filter_type);
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

fn merge_systems(
    group: &mut Option<SystemResourceDefinition>,
    patch: Patch<SystemResourcePatch>,
    replace: bool,
) {
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

    fn amend(mut self, item: &mut WorkItem, replace: bool) -> Result<()> {
        self.apply_to(item);
        merge::object(&mut item.schedule, self.schedule, |schedule, mut patch| {
            patch.apply_to(schedule);
        });
        schedule_resources(&mut item.resources, self.resources, replace);
        item.follow_schedule(planned_start(item))
    }
}

/// Scheduling changes only the selections: null, at any level, removes the reservations and keeps
/// the filters.
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
                merge::selections(
                    &mut group.get_or_insert_default().selections,
                    selections,
                    replace,
                );
            }
        }
    }
    match patch.systems {
        Patch::Absent => {}
        Patch::Null => resources.systems.iter_mut().for_each(|group| group.selections = None),
        Patch::Value(ScheduleSystemResourceDefinition { selections }) => {
            merge::selections(
                &mut resources.systems.get_or_insert_default().selections,
                selections,
                replace,
            );
        }
    }
}

fn has_value(patch: &ScheduleResourcesDefinition) -> bool {
    patch.assets.value().is_some()
        || patch.duts.value().is_some()
        || patch.fixtures.value().is_some()
        || patch.systems.value().is_some()
}
