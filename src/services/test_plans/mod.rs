//! The legacy test plan service: the predecessor of the work item service, on the same machinery.

mod records;

use crate::error::Result;
use crate::model::test_plans::requests::{
    CreateTestPlansPartialSuccessResponse, DeleteTestPlansPartialSuccessResponse, PagedTestPlans,
    QueryTestPlansRequest, ScheduleTestPlansRequest, ScheduleTestPlansResponse,
    UpdateTestPlansRequest, UpdateTestPlansResponse,
};
use crate::model::test_plans::template::{
    CreateTestPlanTemplateRequest, TestPlanTemplate, TestPlanTemplateId, TestPlanTemplateOrderBy,
};
use crate::model::test_plans::template_requests::{
    CreateTestPlanTemplatePartialSuccessResponse, DeleteTestPlanTemplatesPartialSuccessResponse,
    PagedTestPlanTemplates, QueryTestPlanTemplatesRequest,
};
use crate::model::test_plans::test_plan::{
    CreateTestPlanRequest, TestPlan, TestPlanId, TestPlanOrderBy,
};
use crate::services::declare::service;
use crate::services::lab::batch;
use crate::services::lab::query::{self, Ask};
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
    fn create_test_plans(
        &self,
        test_plans: Vec<CreateTestPlanRequest>,
    ) -> Result<CreateTestPlansPartialSuccessResponse> {
        let mut outcome = batch::create(self, test_plans)?;
        Ok(CreateTestPlansPartialSuccessResponse {
            failed_test_plans: outcome.failed_or_none(),
            created_test_plans: outcome.succeeded,
            error: outcome.error,
        })
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
    fn delete_test_plans(
        &self,
        ids: Vec<TestPlanId>,
    ) -> Result<Option<DeleteTestPlansPartialSuccessResponse>> {
        let outcome = batch::delete::<TestPlan>(self, ids)?;
        Ok(batch::unless_all_went(outcome, |deleted, failed, error| {
            DeleteTestPlansPartialSuccessResponse {
                deleted_test_plan_ids: Some(deleted),
                failed_test_plan_ids: Some(failed),
                error: Some(error),
            }
        }))
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
        let page =
            query::page(self, &plan_ask(&request), request.projection.as_ref(), TestPlan::project)?;
        Ok(PagedTestPlans {
            test_plans: page.items,
            continuation_token: page.continuation_token,
            total_count: page.total_count,
        })
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
        query::explain::<TestPlan>(self, &plan_ask(&request))
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
    fn schedule_test_plans(
        &self,
        request: ScheduleTestPlansRequest,
    ) -> Result<ScheduleTestPlansResponse> {
        let mut outcome =
            batch::amend(self, request.test_plans, request.replace.unwrap_or_default())?;
        Ok(ScheduleTestPlansResponse {
            failed_test_plans: outcome.failed_or_none(),
            scheduled_test_plans: Some(outcome.succeeded),
            error: outcome.error,
        })
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
    fn update_test_plans(&self, request: UpdateTestPlansRequest) -> Result<UpdateTestPlansResponse> {
        let mut outcome =
            batch::amend(self, request.test_plans, request.replace.unwrap_or_default())?;
        Ok(UpdateTestPlansResponse {
            failed_test_plans: outcome.failed_or_none(),
            updated_test_plans: Some(outcome.succeeded),
            error: outcome.error,
        })
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
        batch::get(self, test_plan_id)
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
    fn create_test_plan_templates(
        &self,
        test_plan_templates: Vec<CreateTestPlanTemplateRequest>,
    ) -> Result<CreateTestPlanTemplatePartialSuccessResponse> {
        let mut outcome = batch::create(self, test_plan_templates)?;
        Ok(CreateTestPlanTemplatePartialSuccessResponse {
            failed_test_plan_templates: outcome.failed_or_none(),
            created_test_plan_templates: outcome.succeeded,
            error: outcome.error,
        })
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
        let page = query::page(
            self,
            &template_ask(&request),
            request.projection.as_ref(),
            TestPlanTemplate::project,
        )?;
        Ok(PagedTestPlanTemplates {
            test_plan_templates: page.items,
            continuation_token: page.continuation_token,
            total_count: None,
        })
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
        query::explain::<TestPlanTemplate>(self, &template_ask(&request))
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
    fn delete_test_plan_templates(
        &self,
        ids: Vec<TestPlanTemplateId>,
    ) -> Result<Option<DeleteTestPlanTemplatesPartialSuccessResponse>> {
        let outcome = batch::delete::<TestPlanTemplate>(self, ids)?;
        Ok(batch::unless_all_went(outcome, |deleted, failed, error| {
            DeleteTestPlanTemplatesPartialSuccessResponse {
                deleted_test_plan_template_ids: deleted,
                failed_test_plan_template_ids: Some(failed),
                error: Some(error),
            }
        }))
    }
}
}

fn plan_ask(request: &QueryTestPlansRequest) -> Ask<'_> {
    Ask {
        filter: request.filter.as_deref(),
        substitutions: request.substitutions.as_ref(),
        take: request.take,
        continuation_token: request.continuation_token.as_deref(),
        order_by: request.order_by.map(TestPlanOrderBy::path),
        descending: request.descending.unwrap_or_default(),
        return_count: request.return_count.unwrap_or_default(),
        projection_len: request.projection.as_ref().map_or(0, Vec::len),
    }
}

fn template_ask(request: &QueryTestPlanTemplatesRequest) -> Ask<'_> {
    Ask {
        filter: request.filter.as_deref(),
        substitutions: request.substitutions.as_ref(),
        take: request.take,
        continuation_token: request.continuation_token.as_deref(),
        order_by: request.order_by.map(TestPlanTemplateOrderBy::path),
        descending: request.descending.unwrap_or_default(),
        return_count: false,
        projection_len: request.projection.as_ref().map_or(0, Vec::len),
    }
}
