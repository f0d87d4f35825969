//! Templates that work items are made from.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};

use crate::model::lab::dashboard::Dashboard;
use crate::model::lab::execution::ExecutionDefinition;
use crate::model::lab::resources::{TemplateResourceDefinition, TemplateResourcesDefinition};
use crate::model::lab::timeline::TemplateTimelineDefinition;
use crate::model::resource::fields::{add_text, field, index};
use crate::model::{Field, Index, Resource, TextField};
use crate::value::id::{Kind, id_type};
use crate::value::wire::record;
use crate::value::{FieldType, IdForm, Ops, Service};

id_type!(
    /// Id of a work item template: a decimal number as text.
    WorkItemTemplateId,
    IdForm::Decimal
);

record! {
    /// A work item template as it is stored and returned; members that a projection left out are `None`.
    pub struct WorkItemTemplate {
        /// Assigned by the store.
        pub id: Option<WorkItemTemplateId>,
        /// Display name of the template.
        pub name: Option<String>,
        /// Group that users sort templates into.
        pub template_group: Option<String>,
        /// Type of the work items made from it.
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
        pub execution_actions: Option<Vec<ExecutionDefinition>>,
        /// Files of the work items made from it.
        pub file_ids: Option<Vec<String>>,
        /// The workspace of the template.
        pub workspace: Option<String>,
        /// Properties of the work items made from it.
        pub properties: Option<BTreeMap<String, String>>,
        /// Dashboard of the work items made from it; without address.
        pub dashboard: Option<Dashboard>,
        /// Workflow of the work items made from it.
        pub workflow_id: Option<String>,
        /// The user who made it.
        pub created_by: Option<String>,
        /// When it was made.
        pub created_at: Option<DateTime<Utc>>,
        /// The user who changed it last.
        pub updated_by: Option<String>,
        /// When it was changed last.
        pub updated_at: Option<DateTime<Utc>>,
    }
}

fn filter(
    template: &WorkItemTemplate,
    pick: fn(&TemplateResourcesDefinition) -> &Option<TemplateResourceDefinition>,
) -> Option<&String> {
    template.resources.as_ref().and_then(|resources| pick(resources).as_ref()).and_then(|group| group.filter.as_ref())
}

static FIELDS: &[Field<WorkItemTemplate>] = &[
    field!("id", FieldType::DecimalId, Ops::Equality, |template, _| template.id.as_ref().into()),
    field!("name", FieldType::String, |template, _| template.name.as_ref().into()),
    field!("type", FieldType::String, |template, _| template.r#type.as_ref().into()),
    field!("summary", FieldType::String, |template, _| template.summary.as_ref().into()),
    field!("description", FieldType::String, |template, _| template.description.as_ref().into()),
    field!("templateGroup", FieldType::String, |template, _| template.template_group.as_ref().into()),
    field!("testProgram", FieldType::String, |template, _| template.test_program.as_ref().into()),
    field!("workspace", FieldType::String, |template, _| template.workspace.as_ref().into()),
    field!("workflowId", FieldType::String, |template, _| template.workflow_id.as_ref().into()),
    field!("productFamilies", FieldType::Strings, |template, _| template.product_families.as_ref().into()),
    field!("partNumbers", FieldType::Strings, |template, _| template.part_numbers.as_ref().into()),
    field!("fileIds", FieldType::Strings, |template, _| template.file_ids.as_ref().into()),
    field!("resources.systems.filter", FieldType::String, |template, _| {
        filter(template, |resources| &resources.systems).into()
    }),
    field!("resources.assets.filter", FieldType::String, |template, _| {
        filter(template, |resources| &resources.assets).into()
    }),
    field!("resources.duts.filter", FieldType::String, |template, _| {
        filter(template, |resources| &resources.duts).into()
    }),
    field!("resources.fixtures.filter", FieldType::String, |template, _| {
        filter(template, |resources| &resources.fixtures).into()
    }),
    field!("properties", FieldType::Map, |template, _| template.properties.as_ref().into()),
    field!("createdBy", FieldType::String, |template, _| template.created_by.as_ref().into()),
    field!("updatedBy", FieldType::String, |template, _| template.updated_by.as_ref().into()),
    field!("createdAt", FieldType::Time, |template, _| template.created_at.into()),
    field!("updatedAt", FieldType::Time, |template, _| template.updated_at.into()),
];

static INDEXES: &[Index<WorkItemTemplate>] = &[
    index!(1, "name"),
    index!(2, "templateGroup"),
    index!(3, "createdAt"),
    index!(4, "updatedAt"),
    index!(5, "workspace"),
    index!(6, "partNumbers"),
];

static TEXT: &[TextField<WorkItemTemplate>] = &[
    TextField { name: "name", weight: 2.0, get: |template, out| add_text(out, template.name.as_ref()) },
    TextField { name: "summary", weight: 1.0, get: |template, out| add_text(out, template.summary.as_ref()) },
    TextField { name: "description", weight: 1.0, get: |template, out| add_text(out, template.description.as_ref()) },
    TextField {
        name: "templateGroup",
        weight: 1.0,
        get: |template, out| add_text(out, template.template_group.as_ref()),
    },
];

impl Resource for WorkItemTemplate {
    const KIND: Kind = Kind { code: 6, name: "work item template", service: Service::WORK_ITEMS, id: IdForm::Decimal };
    const FIELDS_ARE_MEMBERS: bool = true;

    fn id(&self) -> &str {
        self.id.as_ref().map_or("", WorkItemTemplateId::as_str)
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
