//! What test plans and their templates bring to the shared machinery.

use crate::error::Result;
use crate::model::fill;
use crate::model::lab::dashboard::Dashboard;
use crate::model::lab::state::State;
use crate::model::test_plans::requests::{CreateTestPlanRequest, ScheduleTestPlanRequest, UpdateTestPlanRequest};
use crate::model::test_plans::template::TestPlanTemplate;
use crate::model::test_plans::template_requests::CreateTestPlanTemplateRequest;
use crate::model::test_plans::test_plan::TestPlan;
use crate::services::lab::{
    Amendment, Creation, LabRecord, Stamp, Stateful, batch, checks, fill_parts, merge, placeholders,
};
use crate::session::{Draft, What};
use crate::value::{Patch, RecordKey};

impl LabRecord for TestPlan {
    const NOT_FOUND: &'static str = "Skyline.WorkOrder.TestPlanNotFoundOrNoAccess";

    fn set_key(&mut self, key: RecordKey) {
        self.id = Some(key.into());
    }

    fn workspace_mut(&mut self) -> &mut Option<String> {
        &mut self.workspace
    }

    fn dashboard_mut(&mut self) -> &mut Option<Dashboard> {
        &mut self.dashboard
    }

    fn stamp(&mut self) -> Stamp<'_> {
        Stamp {
            created_by: &mut self.created_by,
            created_at: &mut self.created_at,
            updated_by: &mut self.updated_by,
            updated_at: &mut self.updated_at,
        }
    }

    fn check(&self) -> Result<()> {
        checks::not_negative("estimatedDurationInSeconds", self.estimated_duration_in_seconds)?;
        checks::in_order(
            ("plannedStartDateTime", self.planned_start_date_time),
            ("estimatedEndDateTime", self.estimated_end_date_time),
        )?;
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
        fill(&mut self.fixture_ids);
        fill(&mut self.execution_history);
        fill_parts(self.dashboard.as_mut(), self.execution_actions.as_mut());
    }
}

impl Stateful for TestPlan {
    fn state_mut(&mut self) -> (&mut Option<State>, &mut Option<String>) {
        (&mut self.state, &mut self.substate)
    }
}

impl LabRecord for TestPlanTemplate {
    const NOT_FOUND: &'static str = "Skyline.WorkOrder.TestPlanTemplateNotFoundOrNoAccess";

    fn set_key(&mut self, key: RecordKey) {
        self.id = Some(key.into());
    }

    fn workspace_mut(&mut self) -> &mut Option<String> {
        &mut self.workspace
    }

    fn dashboard_mut(&mut self) -> &mut Option<Dashboard> {
        &mut self.dashboard
    }

    fn stamp(&mut self) -> Stamp<'_> {
        Stamp {
            created_by: &mut self.created_by,
            created_at: &mut self.created_at,
            updated_by: &mut self.updated_by,
            updated_at: &mut self.updated_at,
        }
    }

    fn check(&self) -> Result<()> {
        checks::required("name", self.name.as_ref())?;
        checks::required("templateGroup", self.template_group.as_ref())?;
        checks::not_negative("estimatedDurationInSeconds", self.estimated_duration_in_seconds)?;
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

impl Creation for CreateTestPlanRequest {
    type Record = TestPlan;

    fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    fn build(self, draft: &Draft<'_>) -> Result<TestPlan> {
        let state = self.state.as_deref().map(checks::state).transpose()?.unwrap_or_default();
        let template = batch::template::<TestPlanTemplate>(draft, self.template_id.as_ref())?.unwrap_or_default();
        Ok(TestPlan {
            name: self.name,
            state: Some(state),
            substate: Some(state.as_str().to_owned()),
            template_id: self.template_id,
            description: merge::inherited(self.description, template.description.as_ref()),
            assigned_to: self.assigned_to,
            part_number: self.part_number,
            dut_id: self.dut_id,
            dut_serial_number: self.dut_serial_number,
            test_program: merge::inherited(self.test_program, template.test_program.as_ref()),
            work_order_id: self.work_order_id,
            estimated_duration_in_seconds: self
                .estimated_duration_in_seconds
                .or(template.estimated_duration_in_seconds),
            system_filter: merge::inherited(self.system_filter, template.system_filter.as_ref()),
            dut_filter: merge::inherited(self.dut_filter, template.dut_filter.as_ref()),
            execution_actions: merge::inherited(self.execution_actions, template.execution_actions.as_ref()),
            file_ids_from_template: merge::inherited(self.file_ids_from_template, template.file_ids.as_ref()),
            workspace: self.workspace,
            properties: merge::inherited_map(self.properties, template.properties.as_ref()),
            dashboard: merge::inherited(self.dashboard, template.dashboard.as_ref()),
            workflow_id: merge::inherited(self.workflow_id, template.workflow_id.as_ref()),
            fixture_ids: Some(Vec::new()),
            execution_history: Some(Vec::new()),
            ..TestPlan::default()
        })
    }
}

impl Creation for CreateTestPlanTemplateRequest {
    type Record = TestPlanTemplate;

    fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    fn build(self, _draft: &Draft<'_>) -> Result<TestPlanTemplate> {
        Ok(TestPlanTemplate {
            name: self.name,
            template_group: self.template_group,
            product_families: self.product_families,
            part_numbers: self.part_numbers,
            summary: self.summary,
            description: self.description,
            test_program: self.test_program,
            estimated_duration_in_seconds: self.estimated_duration_in_seconds,
            system_filter: self.system_filter,
            dut_filter: self.dut_filter,
            execution_actions: self.execution_actions,
            file_ids: self.file_ids,
            workspace: self.workspace,
            properties: self.properties,
            dashboard: self.dashboard,
            workflow_id: self.workflow_id,
            ..TestPlanTemplate::default()
        })
    }
}

impl Amendment for UpdateTestPlanRequest {
    type Record = TestPlan;
    const WHAT: What = What::Updated;

    fn id(&self) -> Option<&str> {
        self.id.as_deref()
    }

    fn amend(self, plan: &mut TestPlan, replace: bool) -> Result<()> {
        match self.state {
            Patch::Absent => {}
            Patch::Null => plan.set_state(State::New),
            Patch::Value(text) => plan.set_state(checks::state(&text)?),
        }
        self.name.apply(&mut plan.name);
        self.description.apply(&mut plan.description);
        self.assigned_to.apply(&mut plan.assigned_to);
        self.part_number.apply(&mut plan.part_number);
        self.dut_id.apply(&mut plan.dut_id);
        self.dut_serial_number.apply(&mut plan.dut_serial_number);
        self.test_program.apply(&mut plan.test_program);
        self.work_order_id.apply(&mut plan.work_order_id);
        self.estimated_duration_in_seconds.apply(&mut plan.estimated_duration_in_seconds);
        self.system_filter.apply(&mut plan.system_filter);
        self.dut_filter.apply(&mut plan.dut_filter);
        if self.workspace.is_some() {
            plan.workspace = self.workspace;
        }
        merge::actions(&mut plan.execution_actions, self.execution_actions, replace)?;
        merge::strings(&mut plan.file_ids_from_template, self.file_ids_from_template, replace);
        merge::map(&mut plan.properties, self.properties, replace);
        merge::dashboard(&mut plan.dashboard, self.dashboard, replace);
        Ok(())
    }
}

impl Amendment for ScheduleTestPlanRequest {
    type Record = TestPlan;
    const WHAT: What = What::Scheduled;

    fn id(&self) -> Option<&str> {
        self.id.as_deref()
    }

    fn amend(self, plan: &mut TestPlan, replace: bool) -> Result<()> {
        let reserves = self.fixture_ids.value().is_some_and(|ids| !ids.is_empty());
        self.assigned_to.apply(&mut plan.assigned_to);
        self.dut_id.apply(&mut plan.dut_id);
        self.dut_serial_number.apply(&mut plan.dut_serial_number);
        self.system_id.apply(&mut plan.system_id);
        if reserves && plan.system_id.is_none() {
            return Err(checks::invalid("fixtureIds", "need a systemId, in the request or on the test plan"));
        }
        merge::strings(&mut plan.fixture_ids, self.fixture_ids, replace);
        self.planned_start_date_time.apply(&mut plan.planned_start_date_time);
        self.estimated_end_date_time.apply(&mut plan.estimated_end_date_time);
        self.estimated_duration_in_seconds.apply(&mut plan.estimated_duration_in_seconds);
        plan.follow_schedule(plan.planned_start_date_time)
    }
}
