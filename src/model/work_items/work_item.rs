//! Work items: a unit of test work with its state, reservations, timeline, schedule and actions.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};

use crate::model::lab::dashboard::Dashboard;
use crate::model::lab::execution::ExecutionDefinition;
use crate::model::lab::execution_event::ExecutionEvent;
use crate::model::lab::resources::{self, ResourceDefinition, ResourcesDefinition, SystemResourceDefinition};
use crate::model::lab::state::{STATE_FIELD, State};
use crate::model::lab::timeline::{ScheduleDefinition, TimelineDefinition};
use crate::model::resource::fields::{add_text, field, index};
use crate::model::{Field, Index, Resource, TextField};
use crate::value::id::{Kind, id_type};
use crate::value::wire::record;
use crate::value::{FieldType, IdForm, Ops, Service};

id_type!(
    /// Id of a work item: a decimal number as text.
    WorkItemId,
    IdForm::Decimal
);

record! {
    /// A work item as it is stored and returned; members that a projection left out are `None`.
    pub struct WorkItem {
        /// Assigned by the store.
        pub id: Option<WorkItemId>,
        /// Display name.
        pub name: Option<String>,
        /// Free type text, such as `testplan`.
        pub r#type: Option<String>,
        /// Where it stands.
        pub state: Option<State>,
        /// Finer state; the text of the state unless an action says otherwise.
        pub substate: Option<String>,
        /// What the work is.
        pub description: Option<String>,
        /// The work item that it belongs to; not looked up.
        pub parent_id: Option<String>,
        /// The template that it was made from.
        pub template_id: Option<String>,
        /// The user who does the work.
        pub assigned_to: Option<String>,
        /// The user who asked for it.
        pub requested_by: Option<String>,
        /// The program that tests.
        pub test_program: Option<String>,
        /// The product.
        pub part_number: Option<String>,
        /// The workspace.
        pub workspace: Option<String>,
        /// The workflow, a plain reference.
        pub workflow_id: Option<String>,
        /// When the work may and should happen.
        pub timeline: Option<TimelineDefinition>,
        /// When it is planned; set by scheduling only.
        pub schedule: Option<ScheduleDefinition>,
        /// What it needs and reserves.
        pub resources: Option<ResourcesDefinition>,
        /// Its actions.
        pub execution_actions: Option<Vec<ExecutionDefinition>>,
        /// Files that came from the template.
        pub file_ids_from_template: Option<Vec<String>>,
        /// Free properties.
        pub properties: Option<BTreeMap<String, String>>,
        /// The dashboard, with its computed address.
        pub dashboard: Option<Dashboard>,
        /// The user who made it.
        pub created_by: Option<String>,
        /// When it was made.
        #[serde(with = "crate::value::time::opt")]
        pub created_at: Option<DateTime<Utc>>,
        /// The user who changed it last.
        pub updated_by: Option<String>,
        /// When it was changed last.
        #[serde(with = "crate::value::time::opt")]
        pub updated_at: Option<DateTime<Utc>>,
        /// Actions that were triggered, oldest first, the last 1000.
        pub execution_history: Option<Vec<ExecutionEvent>>,
    }
}

fn group(
    item: &WorkItem,
    pick: fn(&ResourcesDefinition) -> &Option<ResourceDefinition>,
) -> Option<&ResourceDefinition> {
    item.resources.as_ref().and_then(|resources| pick(resources).as_ref())
}

fn systems(item: &WorkItem) -> Option<&SystemResourceDefinition> {
    item.resources.as_ref().and_then(|resources| resources.systems.as_ref())
}

fn timeline<T>(item: &WorkItem, pick: fn(&TimelineDefinition) -> Option<T>) -> Option<T> {
    item.timeline.as_ref().and_then(pick)
}

fn schedule<T>(item: &WorkItem, pick: fn(&ScheduleDefinition) -> Option<T>) -> Option<T> {
    item.schedule.as_ref().and_then(pick)
}

static FIELDS: &[Field<WorkItem>] = &[
    field!("id", FieldType::DecimalId, Ops::Equality, |item, _| item.id.as_ref().into()),
    field!("name", FieldType::String, |item, _| item.name.as_ref().into()),
    field!("type", FieldType::String, |item, _| item.r#type.as_ref().into()),
    field!("state", STATE_FIELD, |item, _| item.state.into()),
    field!("substate", FieldType::String, |item, _| item.substate.as_ref().into()),
    field!("description", FieldType::String, |item, _| item.description.as_ref().into()),
    field!("parentId", FieldType::Reference, |item, _| item.parent_id.as_ref().into()),
    field!("templateId", FieldType::Reference, |item, _| item.template_id.as_ref().into()),
    field!("assignedTo", FieldType::String, |item, _| item.assigned_to.as_ref().into()),
    field!("requestedBy", FieldType::String, |item, _| item.requested_by.as_ref().into()),
    field!("testProgram", FieldType::String, |item, _| item.test_program.as_ref().into()),
    field!("partNumber", FieldType::String, |item, _| item.part_number.as_ref().into()),
    field!("workspace", FieldType::String, |item, _| item.workspace.as_ref().into()),
    field!("workflowId", FieldType::String, |item, _| item.workflow_id.as_ref().into()),
    field!("timeline", FieldType::Object, |item, _| item.timeline.as_ref().map(|_| true).into()),
    field!("schedule", FieldType::Object, |item, _| item.schedule.as_ref().map(|_| true).into()),
    field!("resources", FieldType::Object, |item, _| item.resources.as_ref().map(|_| true).into()),
    field!("dashboard", FieldType::Object, |item, _| item.dashboard.as_ref().map(|_| true).into()),
    field!("timeline.earliestStartDateTime", FieldType::Time, |item, _| {
        timeline(item, |timeline| timeline.earliest_start_date_time).into()
    }),
    field!("timeline.dueDateTime", FieldType::Time, |item, _| {
        timeline(item, |timeline| timeline.due_date_time).into()
    }),
    field!("timeline.estimatedDurationInSeconds", FieldType::Int, |item, _| {
        timeline(item, |timeline| timeline.estimated_duration_in_seconds).into()
    }),
    field!("schedule.plannedStartDateTime", FieldType::Time, |item, _| {
        schedule(item, |schedule| schedule.planned_start_date_time).into()
    }),
    field!("schedule.plannedEndDateTime", FieldType::Time, |item, _| {
        schedule(item, |schedule| schedule.planned_end_date_time).into()
    }),
    field!("schedule.plannedDurationInSeconds", FieldType::Int, |item, _| {
        schedule(item, |schedule| schedule.planned_duration_in_seconds).into()
    }),
    field!("resources.systems.filter", FieldType::String, |item, _| {
        systems(item).and_then(|group| group.filter.as_ref()).into()
    }),
    field!("resources.assets.filter", FieldType::String, |item, _| {
        group(item, |resources| &resources.assets).and_then(|group| group.filter.as_ref()).into()
    }),
    field!("resources.duts.filter", FieldType::String, |item, _| {
        group(item, |resources| &resources.duts).and_then(|group| group.filter.as_ref()).into()
    }),
    field!("resources.fixtures.filter", FieldType::String, |item, _| {
        group(item, |resources| &resources.fixtures).and_then(|group| group.filter.as_ref()).into()
    }),
    field!("resources.systems.selections", resources::SYSTEM_SELECTION_FIELDS, |item, _| {
        resources::rows(systems(item).and_then(|group| group.selections.as_ref()))
    }),
    field!("resources.assets.selections", resources::SELECTION_FIELDS, |item, _| {
        resources::rows(group(item, |resources| &resources.assets).and_then(|group| group.selections.as_ref()))
    }),
    field!("resources.duts.selections", resources::SELECTION_FIELDS, |item, _| {
        resources::rows(group(item, |resources| &resources.duts).and_then(|group| group.selections.as_ref()))
    }),
    field!("resources.fixtures.selections", resources::SELECTION_FIELDS, |item, _| {
        resources::rows(group(item, |resources| &resources.fixtures).and_then(|group| group.selections.as_ref()))
    }),
    field!("fileIdsFromTemplate", FieldType::Strings, |item, _| item.file_ids_from_template.as_ref().into()),
    field!("properties", FieldType::Map, |item, _| item.properties.as_ref().into()),
    field!("dashboard.id", FieldType::String, |item, _| {
        item.dashboard.as_ref().and_then(|dashboard| dashboard.id.as_ref()).into()
    }),
    field!("createdBy", FieldType::String, |item, _| item.created_by.as_ref().into()),
    field!("updatedBy", FieldType::String, |item, _| item.updated_by.as_ref().into()),
    field!("createdAt", FieldType::Time, |item, _| item.created_at.into()),
    field!("updatedAt", FieldType::Time, |item, _| item.updated_at.into()),
];

static INDEXES: &[Index<WorkItem>] = &[
    index!(1, "state"),
    index!(2, "partNumber", "updatedAt"; include "state"),
    index!(3, "updatedAt"),
    index!(4, "createdAt"),
    index!(5, "assignedTo"),
    index!(6, "workspace"),
    index!(7, "templateId"),
    index!(8, "parentId"),
    index!(9, "properties", "updatedAt"; include "state"),
];

static TEXT: &[TextField<WorkItem>] = &[
    TextField { name: "name", weight: 2.0, get: |item, out| add_text(out, item.name.as_ref()) },
    TextField { name: "description", weight: 1.0, get: |item, out| add_text(out, item.description.as_ref()) },
    TextField { name: "partNumber", weight: 1.5, get: |item, out| add_text(out, item.part_number.as_ref()) },
    TextField { name: "testProgram", weight: 1.0, get: |item, out| add_text(out, item.test_program.as_ref()) },
    TextField {
        name: "properties",
        weight: 0.5,
        get: |item, out| item.properties.iter().flatten().for_each(|(_, value)| add_text(out, Some(value))),
    },
];

impl Resource for WorkItem {
    const KIND: Kind = Kind { code: 5, name: "work item", service: Service::WORK_ITEMS, id: IdForm::Decimal };
    const FIELDS_ARE_MEMBERS: bool = true;

    fn id(&self) -> &str {
        self.id.as_ref().map_or("", WorkItemId::as_str)
    }

    fn workspace(&self) -> &str {
        self.workspace.as_deref().unwrap_or_default()
    }

    fn name(&self) -> &str {
        self.name.as_deref().unwrap_or_default()
    }

    fn fields() -> &'static [Field<Self>] {
        FIELDS
    }

    fn indexes() -> &'static [Index<Self>] {
        INDEXES
    }

    fn text() -> &'static [TextField<Self>] {
        TEXT
    }
}
