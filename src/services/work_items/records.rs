//! Implements the traits of [`lab`](crate::services::lab) for work items and their templates.

use crate::error::Result;
use crate::model::{Dashboard, State, WorkItem, WorkItemTemplate, fill};
use crate::services::lab::{LabRecord, Stateful, checks, fill_parts, placeholders};
use crate::value::PlannedTime;

impl LabRecord for WorkItem {
    const NOT_FOUND: &'static str = "Skyline.WorkOrder.WorkItemNotFoundOrNoAccess";

    fn dashboard_mut(&mut self) -> &mut Option<Dashboard> {
        &mut self.dashboard
    }

    fn check(&self) -> Result<()> {
        if self.parent_id.is_some() && self.parent_id.as_deref() == self.id.as_deref() {
            return Err(checks::invalid("parentId", "is the item's own id"));
        }
        if let Some(timeline) = &self.timeline {
            checks::not_negative(
                "timeline.estimatedDurationInSeconds",
                timeline.estimated_duration_in_seconds,
            )?;
            checks::in_order(
                ("timeline.earliestStartDateTime", timeline.earliest_start_date_time),
                ("timeline.dueDateTime", timeline.due_date_time),
            )?;
        }
        if let Some(schedule) = &self.schedule {
            checks::not_negative(
                "schedule.plannedDurationInSeconds",
                schedule.planned_duration_in_seconds,
            )?;
            checks::in_order(
                ("schedule.plannedStartDateTime", schedule.planned_start_date_time),
                ("schedule.plannedEndDateTime", schedule.planned_end_date_time),
            )?;
        }
        checks::property_keys(self.properties.as_ref())?;
        checks::actions(self.execution_actions.as_ref())
    }

    fn finish(&mut self) {
        let url = self.dashboard.as_ref().and_then(|dashboard| placeholders::url(dashboard, self));
        if let Some(dashboard) = &mut self.dashboard {
            dashboard.url = url;
        }
        fill(&mut self.execution_actions);
        fill(&mut self.file_ids_from_template);
        fill(&mut self.properties);
        fill(&mut self.execution_history);
        fill_parts(self.dashboard.as_mut(), self.execution_actions.as_mut());
        let Some(resources) = &mut self.resources else { return };
        for group in [&mut resources.assets, &mut resources.duts, &mut resources.fixtures]
            .into_iter()
            .flatten()
        {
            fill(&mut group.selections);
        }
        if let Some(group) = &mut resources.systems {
            fill(&mut group.selections);
        }
    }
}

impl Stateful for WorkItem {
    fn state_mut(&mut self) -> (&mut Option<State>, &mut Option<String>) {
        (&mut self.state, &mut self.substate)
    }
}

/// The planned start of a work item.
pub(super) fn planned_start(item: &WorkItem) -> Option<PlannedTime> {
    item.schedule.as_ref().and_then(|schedule| schedule.planned_start_date_time)
}

impl LabRecord for WorkItemTemplate {
    const NOT_FOUND: &'static str = "Skyline.WorkOrder.WorkItemTemplateNotFoundOrNoAccess";

    fn dashboard_mut(&mut self) -> &mut Option<Dashboard> {
        &mut self.dashboard
    }

    fn check(&self) -> Result<()> {
        checks::required("name", self.name.as_ref())?;
        checks::required("templateGroup", self.template_group.as_ref())?;
        checks::required("type", self.r#type.as_ref())?;
        let estimate =
            self.timeline.as_ref().and_then(|timeline| timeline.estimated_duration_in_seconds);
        checks::not_negative("timeline.estimatedDurationInSeconds", estimate)?;
        checks::property_keys(self.properties.as_ref())?;
        checks::actions(self.execution_actions.as_ref())
    }

    fn finish(&mut self) {
        fill(&mut self.product_families);
        fill(&mut self.part_numbers);
        fill(&mut self.execution_actions);
        fill(&mut self.file_ids);
        fill(&mut self.properties);
        fill_parts(self.dashboard.as_mut(), self.execution_actions.as_mut());
    }
}
