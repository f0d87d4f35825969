//! The legacy test plan service: the predecessor of the work item service, on the same machinery.

mod records;

use crate::error::Result;
use crate::model::{
    CreateTestPlanRequest, CreateTestPlanTemplatePartialSuccessResponse,
    CreateTestPlanTemplateRequest, CreateTestPlansPartialSuccessResponse,
    DeleteTestPlanTemplatesPartialSuccessResponse, DeleteTestPlansPartialSuccessResponse, Outcome,
    PagedTestPlanTemplates, PagedTestPlans, QueryTestPlanTemplatesRequest, QueryTestPlansRequest,
    ScheduleTestPlansRequest, ScheduleTestPlansResponse, TestPlan, TestPlanId, TestPlanTemplate,
    TestPlanTemplateId, UpdateTestPlansRequest, UpdateTestPlansResponse,
};
use crate::services::declare::service;
use crate::services::lab::batch;
use crate::services::queries;
use crate::services::service_record::get;
use crate::session::Plan;

service! {
/// Legacy test plans and their templates. The reference services have deprecated them in favour of
/// [`crate::work_items::WorkItemService`]. They remain for existing clients, and share no data with
/// work items.
///
/// Batches, partial failures and errors are as in [`crate::work_items::WorkItemService`].
///
/// ```
/// # fn main() -> stationdb::Result<()> {
/// # let dir = tempfile::tempdir().map_err(|e| stationdb::Error::io("temp", e))?;
/// use stationdb::prelude::*;
/// use stationdb::{Identity, Store};
/// use stationdb::lab::State;
/// use stationdb::test_plans::CreateTestPlanRequest;
///
/// let store = Store::open(dir.path())?;
/// let session = store.session(Identity::user("ada"));
/// let request = CreateTestPlanRequest::new().name("Incoming");
/// let made = session.create_test_plans(vec![request])?.created_test_plans;
/// assert_eq!(made[0].state, Some(State::New));
/// # Ok(())
/// # }
/// ```
pub trait TestPlanService {
    /// Creates test plans. A template is copied into the plans that name it: members of the request
    /// take precedence, properties are merged.
    ///
    /// # Errors
    /// An entry fails for an unknown state or template, a negative duration, and for actions
    /// without a name, with a duplicate name, or with nothing to run.
    ///
    /// ```
    #[doc = include_str!("example.txt")]
    /// let made = session.create_test_plans(vec![CreateTestPlanRequest::new().name("Outgoing")])?;
    /// assert_eq!(made.failed_test_plans, None);
    /// # Ok::<(), stationdb::Error>(())
    /// ```
    #[writes]
    fn create_test_plans(
        &self,
        test_plans: Vec<CreateTestPlanRequest>,
    ) -> Result<CreateTestPlansPartialSuccessResponse> {
        batch::create(self, test_plans, |item| item.name.as_ref()).map(Into::into)
    }

    /// Deletes test plans. Returns `None` if all were deleted.
    ///
    /// # Errors
    /// An id fails if no test plan that the caller may see has it.
    ///
    /// ```
    #[doc = include_str!("example.txt")]
    /// assert_eq!(session.delete_test_plans(vec![id])?, None);
    /// # Ok::<(), stationdb::Error>(())
    /// ```
    #[writes]
    fn delete_test_plans(
        &self,
        ids: Vec<TestPlanId>,
    ) -> Result<Option<DeleteTestPlansPartialSuccessResponse>> {
        batch::delete_all::<TestPlan>(self, ids).map(Outcome::unless_all_succeeded)
    }

    /// Returns a page of the test plans that match a filter.
    ///
    /// # Errors
    /// `InvalidArgument` for an invalid filter, an invalid substitution, a negative take or an
    /// invalid token.
    ///
    /// ```
    #[doc = include_str!("example.txt")]
    /// let query = QueryTestPlansRequest::new().filter("state == \"NEW\"").take(100);
    /// assert_eq!(session.query_test_plans(query)?.test_plans.len(), 1);
    /// # Ok::<(), stationdb::Error>(())
    /// ```
    fn query_test_plans(&self, request: QueryTestPlansRequest) -> Result<PagedTestPlans> {
        queries::page(self, &request).map(Into::into)
    }

    /// Executes the query and explains how, with its cost.
    ///
    /// # Errors
    /// As [`TestPlanService::query_test_plans`].
    ///
    /// ```
    #[doc = include_str!("example.txt")]
    /// println!("{}", session.explain_query_test_plans(QueryTestPlansRequest::new())?);
    /// # Ok::<(), stationdb::Error>(())
    /// ```
    fn explain_query_test_plans(&self, request: QueryTestPlansRequest) -> Result<Plan> {
        queries::explain(self, &request)
    }

    /// Schedules test plans and reserves system and fixtures. A plan that is NEW, DEFINED or
    /// REVIEWED becomes SCHEDULED once it has a planned start.
    ///
    /// # Errors
    /// An entry fails for a missing or unknown id, for a CLOSED or CANCELED plan, for fixtures
    /// without a system, for a negative duration and for an end before the start.
    ///
    /// ```
    #[doc = include_str!("example.txt")]
    /// let change = ScheduleTestPlanRequest::new().id(id).assigned_to("bob");
    /// assert_eq!(session.schedule_test_plans(ScheduleTestPlansRequest::new([change]))?.failed_test_plans,
    /// None);
    /// # Ok::<(), stationdb::Error>(())
    /// ```
    #[writes]
    fn schedule_test_plans(
        &self,
        request: ScheduleTestPlansRequest,
    ) -> Result<ScheduleTestPlansResponse> {
        batch::amend(self, request.test_plans, request.replace.unwrap_or_default()).map(Into::into)
    }

    /// Updates test plans, in order. Absent members keep their values, null clears them. Arrays are
    /// appended to and maps are merged, unless `replace` is set.
    ///
    /// # Errors
    /// An entry fails for a missing or unknown id, and if the updated record could not be created
    /// as it is.
    ///
    /// ```
    #[doc = include_str!("example.txt")]
    /// let change = UpdateTestPlanRequest::new().id(id).description("weekly");
    /// assert_eq!(session.update_test_plans(UpdateTestPlansRequest::new([change]))?.failed_test_plans,
    /// None);
    /// # Ok::<(), stationdb::Error>(())
    /// ```
    #[writes]
    fn update_test_plans(
        &self,
        request: UpdateTestPlansRequest,
    ) -> Result<UpdateTestPlansResponse> {
        batch::amend(self, request.test_plans, request.replace.unwrap_or_default()).map(Into::into)
    }

    /// Returns one test plan with its actions and its history.
    ///
    /// # Errors
    /// `NotFound` if no test plan that the caller may see has this id.
    ///
    /// ```
    #[doc = include_str!("example.txt")]
    /// assert_eq!(session.get_test_plan(&id)?.name.as_deref(), Some("Incoming"));
    /// # Ok::<(), stationdb::Error>(())
    /// ```
    fn get_test_plan(&self, test_plan_id: &TestPlanId) -> Result<TestPlan> {
        get(self, test_plan_id)
    }

    /// Creates templates.
    ///
    /// # Errors
    /// An entry fails for a missing or blank name or group, a negative duration, and for actions as
    /// in [`TestPlanService::create_test_plans`].
    ///
    /// ```
    #[doc = include_str!("example.txt")]
    /// let template =
    /// CreateTestPlanTemplateRequest::new().name("Outgoing").template_group("Daily");
    /// assert_eq!(session.create_test_plan_templates(vec![template])?.failed_test_plan_templates,
    /// None);
    /// # Ok::<(), stationdb::Error>(())
    /// ```
    #[writes]
    fn create_test_plan_templates(
        &self,
        test_plan_templates: Vec<CreateTestPlanTemplateRequest>,
    ) -> Result<CreateTestPlanTemplatePartialSuccessResponse> {
        batch::create(self, test_plan_templates, |item| item.name.as_ref()).map(Into::into)
    }

    /// Returns a page of the templates that match a filter. There is no other way to read a
    /// template.
    ///
    /// # Errors
    /// As [`TestPlanService::query_test_plans`].
    ///
    /// ```
    #[doc = include_str!("example.txt")]
    /// let page = session.query_test_plan_templates(QueryTestPlanTemplatesRequest::new())?;
    /// assert_eq!(page.test_plan_templates.len(), 1);
    /// # Ok::<(), stationdb::Error>(())
    /// ```
    fn query_test_plan_templates(
        &self,
        request: QueryTestPlanTemplatesRequest,
    ) -> Result<PagedTestPlanTemplates> {
        queries::page(self, &request).map(Into::into)
    }

    /// Executes the query and explains how, with its cost.
    ///
    /// # Errors
    /// As [`TestPlanService::query_test_plan_templates`].
    ///
    /// ```
    #[doc = include_str!("example.txt")]
    /// println!("{}",
    /// session.explain_query_test_plan_templates(QueryTestPlanTemplatesRequest::new())?);
    /// # Ok::<(), stationdb::Error>(())
    /// ```
    fn explain_query_test_plan_templates(
        &self,
        request: QueryTestPlanTemplatesRequest,
    ) -> Result<Plan> {
        queries::explain(self, &request)
    }

    /// Deletes templates; plans created from them remain. Returns `None` if all were deleted.
    ///
    /// # Errors
    /// An id fails if no template that the caller may see has it.
    ///
    /// ```
    #[doc = include_str!("example.txt")]
    /// assert_eq!(session.delete_test_plan_templates(vec![template_id])?, None);
    /// # Ok::<(), stationdb::Error>(())
    /// ```
    #[writes]
    fn delete_test_plan_templates(
        &self,
        ids: Vec<TestPlanTemplateId>,
    ) -> Result<Option<DeleteTestPlanTemplatesPartialSuccessResponse>> {
        batch::delete_all::<TestPlanTemplate>(self, ids).map(Outcome::unless_all_succeeded)
    }
}
}
