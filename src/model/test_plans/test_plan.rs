//! Legacy test plans: the predecessor of work items, in collections of its own.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};

use crate::model::lab::dashboard::Dashboard;
use crate::model::lab::execution::ExecutionDefinition;
use crate::model::lab::execution_event::ExecutionEvent;
use crate::model::lab::state::{STATE_FIELD, State};
use crate::model::resource::fields::{add_text, field, index};
use crate::model::{Field, Index, Resource, TextField};
use crate::value::id::{Kind, id_type};
use crate::value::wire::record;
use crate::value::{FieldType, IdForm, Ops, Service};

id_type!(
    /// Id of a test plan: a decimal number as text.
    TestPlanId,
    IdForm::Decimal
);

record! {
    /// A test plan as it is stored and returned; members that a projection left out are `None`, except the id.
    pub struct TestPlan {
        /// Assigned by the store.
        pub id: Option<TestPlanId>,
        /// Display name.
        pub name: Option<String>,
        /// Where it stands.
        pub state: Option<State>,
        /// Finer state; the text of the state.
        pub substate: Option<String>,
        /// The template that it was made from.
        pub template_id: Option<String>,
        /// What the work is.
        pub description: Option<String>,
        /// The user who does the work.
        pub assigned_to: Option<String>,
        /// The product.
        pub part_number: Option<String>,
        /// The device under test, an asset.
        pub dut_id: Option<String>,
        /// Serial number of the device under test.
        pub dut_serial_number: Option<String>,
        /// The program that tests.
        pub test_program: Option<String>,
        /// The work order that it belongs to; not looked up.
        pub work_order_id: Option<String>,
        /// Never filled: work orders are not stored here.
        pub work_order_name: Option<String>,
        /// Duration: the estimate until scheduling overwrites it.
        pub estimated_duration_in_seconds: Option<i64>,
        /// Which systems qualify: opaque text.
        pub system_filter: Option<String>,
        /// Which devices under test qualify: opaque text.
        pub dut_filter: Option<String>,
        /// Its actions.
        pub execution_actions: Option<Vec<ExecutionDefinition>>,
        /// Files that came from the template.
        pub file_ids_from_template: Option<Vec<String>>,
        /// The workspace.
        pub workspace: Option<String>,
        /// Free properties.
        pub properties: Option<BTreeMap<String, String>>,
        /// The dashboard, with its computed address.
        pub dashboard: Option<Dashboard>,
        /// The reserved system.
        pub system_id: Option<String>,
        /// The reserved fixtures.
        pub fixture_ids: Option<Vec<String>>,
        /// Planned start; set by scheduling only.
        #[serde(with = "crate::value::time::opt")]
        pub planned_start_date_time: Option<DateTime<Utc>>,
        /// Planned end; set by scheduling only.
        #[serde(with = "crate::value::time::opt")]
        pub estimated_end_date_time: Option<DateTime<Utc>>,
        /// The user who made it.
        pub created_by: Option<String>,
        /// The user who changed it last.
        pub updated_by: Option<String>,
        /// When it was made.
        #[serde(with = "crate::value::time::opt")]
        pub created_at: Option<DateTime<Utc>>,
        /// When it was changed last.
        #[serde(with = "crate::value::time::opt")]
        pub updated_at: Option<DateTime<Utc>>,
        /// Actions that were triggered, oldest first.
        pub execution_history: Option<Vec<ExecutionEvent>>,
        /// Never filled; see the address of the dashboard.
        pub dashboard_url: Option<BTreeMap<String, String>>,
        /// The workflow, a plain reference.
        pub workflow_id: Option<String>,
    }
}

static FIELDS: &[Field<TestPlan>] = &[
    field!("id", FieldType::DecimalId, Ops::Equality, |plan, _| plan.id.as_ref().into()),
    field!("templateId", FieldType::Reference, |plan, _| plan.template_id.as_ref().into()),
    field!("workOrderId", FieldType::Reference, |plan, _| plan.work_order_id.as_ref().into()),
    field!("workOrderName", FieldType::String, |plan, _| plan.work_order_name.as_ref().into()),
    field!("name", FieldType::String, |plan, _| plan.name.as_ref().into()),
    field!("description", FieldType::String, |plan, _| plan.description.as_ref().into()),
    field!("assignedTo", FieldType::String, |plan, _| plan.assigned_to.as_ref().into()),
    field!("partNumber", FieldType::String, |plan, _| plan.part_number.as_ref().into()),
    field!("dutId", FieldType::String, |plan, _| plan.dut_id.as_ref().into()),
    field!("dutSerialNumber", FieldType::String, |plan, _| plan.dut_serial_number.as_ref().into()),
    field!("testProgram", FieldType::String, |plan, _| plan.test_program.as_ref().into()),
    field!("systemFilter", FieldType::String, |plan, _| plan.system_filter.as_ref().into()),
    field!("dutFilter", FieldType::String, |plan, _| plan.dut_filter.as_ref().into()),
    field!("systemId", FieldType::String, |plan, _| plan.system_id.as_ref().into()),
    field!("workspace", FieldType::String, |plan, _| plan.workspace.as_ref().into()),
    field!("workflowId", FieldType::String, |plan, _| plan.workflow_id.as_ref().into()),
    field!("substate", FieldType::String, |plan, _| plan.substate.as_ref().into()),
    field!("state", STATE_FIELD, |plan, _| plan.state.into()),
    field!("fixtureIds", FieldType::Strings, |plan, _| plan.fixture_ids.as_ref().into()),
    field!("fileIdsFromTemplate", FieldType::Strings, |plan, _| plan.file_ids_from_template.as_ref().into()),
    field!("plannedStartDateTime", FieldType::Time, |plan, _| plan.planned_start_date_time.into()),
    field!("estimatedEndDateTime", FieldType::Time, |plan, _| plan.estimated_end_date_time.into()),
    field!("estimatedDurationInSeconds", FieldType::Int, |plan, _| plan.estimated_duration_in_seconds.into()),
    field!("properties", FieldType::Map, |plan, _| plan.properties.as_ref().into()),
    field!("dashboard", FieldType::Object, |plan, _| plan.dashboard.as_ref().map(|_| true).into()),
    field!("dashboard.id", FieldType::String, |plan, _| {
        plan.dashboard.as_ref().and_then(|dashboard| dashboard.id.as_ref()).into()
    }),
    field!("createdBy", FieldType::String, |plan, _| plan.created_by.as_ref().into()),
    field!("updatedBy", FieldType::String, |plan, _| plan.updated_by.as_ref().into()),
    field!("createdAt", FieldType::Time, |plan, _| plan.created_at.into()),
    field!("updatedAt", FieldType::Time, |plan, _| plan.updated_at.into()),
];

static INDEXES: &[Index<TestPlan>] = &[
    index!(1, "state"),
    index!(2, "partNumber", "updatedAt"),
    index!(3, "updatedAt"),
    index!(4, "createdAt"),
    index!(5, "assignedTo"),
    index!(6, "workspace"),
    index!(7, "templateId"),
    index!(8, "workOrderId"),
    index!(9, "properties"),
];

static TEXT: &[TextField<TestPlan>] = &[
    TextField { name: "name", weight: 2.0, get: |plan, out| add_text(out, plan.name.as_ref()) },
    TextField { name: "description", weight: 1.0, get: |plan, out| add_text(out, plan.description.as_ref()) },
    TextField { name: "partNumber", weight: 1.5, get: |plan, out| add_text(out, plan.part_number.as_ref()) },
    TextField { name: "testProgram", weight: 1.0, get: |plan, out| add_text(out, plan.test_program.as_ref()) },
];

impl Resource for TestPlan {
    const KIND: Kind = Kind { code: 7, name: "test plan", service: Service::TEST_PLANS, id: IdForm::Decimal };
    const FIELDS_ARE_MEMBERS: bool = true;

    fn id(&self) -> &str {
        self.id.as_ref().map_or("", TestPlanId::as_str)
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
