//! Implements the traits of [`lab`](crate::services::lab) for test plans and their templates.

use crate::error::Result;
use crate::model::{
    CreateTestPlanRequest, CreateTestPlanTemplateRequest, Dashboard, ScheduleTestPlanRequest,
    State, TestPlan, TestPlanTemplate, UpdateTestPlanRequest, fill,
};
use crate::services::lab::{
    Amendment, Creation, LabRecord, Stateful, Templates, checks, fill_parts, merge, placeholders,
};
use crate::session::{Draft, What};
use crate::value::Patch;

impl LabRecord for TestPlan {
    const NOT_FOUND: &'static str = "Skyline.WorkOrder.TestPlanNotFoundOrNoAccess";

    fn dashboard_mut(&mut self) -> &mut Option<Dashboard> {
        &mut self.dashboard
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

    fn dashboard_mut(&mut self) -> &mut Option<Dashboard> {
        &mut self.dashboard
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
    type Template = TestPlanTemplate;

    fn build(
        self,
        draft: &Draft<'_>,
        templates: &mut Templates<TestPlanTemplate>,
    ) -> Result<TestPlan> {
        let state = self.state.as_deref().map(checks::state).transpose()?.unwrap_or_default();
        let template = templates.get(draft, self.template_id.as_ref())?;
        let mut plan = self.into_record();
        plan.state = Some(state);
        plan.substate = Some(state.as_str().to_owned());
        plan.description = plan.description.or(template.description);
        plan.test_program = plan.test_program.or(template.test_program);
        plan.estimated_duration_in_seconds =
            plan.estimated_duration_in_seconds.or(template.estimated_duration_in_seconds);
        plan.system_filter = plan.system_filter.or(template.system_filter);
        plan.dut_filter = plan.dut_filter.or(template.dut_filter);
        plan.execution_actions = plan.execution_actions.or(template.execution_actions);
        plan.file_ids_from_template = plan.file_ids_from_template.or(template.file_ids);
        plan.properties = merge::inherited_map(plan.properties, template.properties);
        plan.dashboard = plan.dashboard.or(template.dashboard);
        plan.workflow_id = plan.workflow_id.or(template.workflow_id);
        plan.fixture_ids = Some(Vec::new());
        plan.execution_history = Some(Vec::new());
        Ok(plan)
    }
}

impl Creation for CreateTestPlanTemplateRequest {
    type Record = TestPlanTemplate;
    type Template = TestPlanTemplate;

    fn build(
        self,
        _draft: &Draft<'_>,
        _templates: &mut Templates<TestPlanTemplate>,
    ) -> Result<TestPlanTemplate> {
        Ok(self.into_record())
    }
}

impl Amendment for UpdateTestPlanRequest {
    type Record = TestPlan;
    const WHAT: What = What::Updated;

    fn id(&self) -> Option<&str> {
        self.id.as_deref()
    }

    fn amend(mut self, plan: &mut TestPlan, replace: bool) -> Result<()> {
        self.apply_to(plan);
        match self.state {
            Patch::Absent => {}
            Patch::Null => plan.set_state(State::New),
            Patch::Value(text) => plan.set_state(checks::state(&text)?),
        }
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

    fn amend(mut self, plan: &mut TestPlan, replace: bool) -> Result<()> {
        let reserves = self.fixture_ids.value().is_some_and(|ids| !ids.is_empty());
        self.apply_to(plan);
        if reserves && plan.system_id.is_none() {
            return Err(checks::invalid(
                "fixtureIds",
                "need a systemId, in the request or on the test plan",
            ));
        }
        merge::strings(&mut plan.fixture_ids, self.fixture_ids, replace);
        plan.follow_schedule(plan.planned_start_date_time)
    }
}
