//! Creates and updates work item templates from requests.

use crate::error::Result;
use crate::model::{
    CreateWorkItemTemplateRequest, TemplateResourceDefinition, TemplateResourcePatch,
    UpdateWorkItemTemplateRequest, WorkItemTemplate,
};
use crate::services::lab::{Amendment, Creation, Templates, merge};
use crate::session::{Draft, What};
use crate::value::Patch;

impl Creation for CreateWorkItemTemplateRequest {
    type Record = WorkItemTemplate;
    type Template = WorkItemTemplate;

    fn build(
        self,
        _draft: &Draft<'_>,
        _templates: &mut Templates<WorkItemTemplate>,
    ) -> Result<WorkItemTemplate> {
        Ok(self.into_record())
    }
}

impl Amendment for UpdateWorkItemTemplateRequest {
    type Record = WorkItemTemplate;
    const WHAT: What = What::Updated;

    fn id(&self) -> Option<&str> {
        self.id.as_deref()
    }

    fn amend(mut self, template: &mut WorkItemTemplate, replace: bool) -> Result<()> {
        self.apply_to(template);
        if self.workspace.is_some() {
            template.workspace = self.workspace;
        }
        merge::strings(&mut template.product_families, self.product_families, replace);
        merge::strings(&mut template.part_numbers, self.part_numbers, replace);
        merge::strings(&mut template.file_ids, self.file_ids, replace);
        merge::object(&mut template.timeline, self.timeline, |timeline, mut patch| {
            patch.apply_to(timeline);
        });
        merge::object(&mut template.resources, self.resources, |resources, patch| {
            merge_group(&mut resources.assets, patch.assets);
            merge_group(&mut resources.duts, patch.duts);
            merge_group(&mut resources.fixtures, patch.fixtures);
            merge_group(&mut resources.systems, patch.systems);
            patch.filter_type.apply(&mut resources.filter_type);
        });
        merge::actions(&mut template.execution_actions, self.execution_actions, replace)?;
        merge::map(&mut template.properties, self.properties, replace);
        merge::dashboard(&mut template.dashboard, self.dashboard, replace);
        Ok(())
    }
}

fn merge_group(
    group: &mut Option<TemplateResourceDefinition>,
    patch: Patch<TemplateResourcePatch>,
) {
    merge::object(group, patch, |group, patch| patch.filter.apply(&mut group.filter));
}
