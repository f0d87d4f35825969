//! The work item service.

pub(crate) mod execute;
mod records;
mod requests;
mod templates;

pub(crate) use execute::recover_intents;

use crate::error::Result;
use crate::model::{
    CreateWorkItemRequest, CreateWorkItemTemplateRequest,
    CreateWorkItemTemplatesPartialSuccessResponse, CreateWorkItemsPartialSuccessResponse,
    DeleteWorkItemTemplatesPartialSuccessResponse, DeleteWorkItemsPartialSuccessResponse,
    ExecuteWorkItemResponse, Outcome, PagedWorkItemTemplates, PagedWorkItems,
    QueryWorkItemTemplatesRequest, QueryWorkItemsRequest, ScheduleWorkItemsPartialSuccessResponse,
    ScheduleWorkItemsRequest, UpdateWorkItemTemplatesPartialSuccessResponse,
    UpdateWorkItemTemplatesRequest, UpdateWorkItemsPartialSuccessResponse, UpdateWorkItemsRequest,
    WorkItem, WorkItemId, WorkItemTemplate, WorkItemTemplateId,
};
use crate::services::declare::service;
use crate::services::lab::batch;
use crate::services::queries;
use crate::services::service_record::get;
use crate::session::Plan;

service! {
/// Work items: units of test work with a state, reservations, a plan and actions; and the templates
/// they are made from.
///
/// Implemented by [`crate::Session`], where each call is one durable transaction, and by
/// [`crate::Transaction`]. Batch operations validate every entry on its own. Rejected entries are
/// returned as they were sent, in order, each with one inner error under
/// `Skyline.OneOrMoreErrorsOccurred` (-251041). The inner errors have the kinds InvalidArgument
/// (`Skyline.WorkOrder.InputValidationError`, args = member and reason), NotFound (names ending in
/// `NotFoundOrNoAccess`), Conflict (`Skyline.WorkOrder.InvalidState`) and PermissionDenied.
///
/// Every method may also fail as a whole with `Corrupt`, `Io`, `NoSpace` or `DeadlineExceeded`, and
/// methods that write with `Latched` or `OutcomeUnknown`. Outside the crate, implement the trait
/// only for fakes and decorators; methods may be added until 1.0.
///
/// ```
/// # fn main() -> stationdb::Result<()> {
/// # let dir = tempfile::tempdir().map_err(|e| stationdb::Error::io("temp", e))?;
/// use stationdb::prelude::*;
/// use stationdb::{Identity, Store};
/// use stationdb::lab::State;
/// use stationdb::work_items::CreateWorkItemRequest;
///
/// let store = Store::open(dir.path())?;
/// let session = store.session(Identity::user("ada"));
/// let request = CreateWorkItemRequest::new().name("Burn-in");
/// let made = session.create_work_items(vec![request])?.created_work_items;
/// let id = made[0].id.clone().unwrap_or_default();
/// session.execute_work_item(&id, "START")?;
/// assert_eq!(session.get_work_item(&id)?.state, Some(State::InProgress));
/// # Ok(())
/// # }
/// ```
pub trait WorkItemService {
    /// Creates work items. A template is copied into the items that name it: members of the request
    /// take precedence, properties are merged.
    ///
    /// # Errors
    /// An entry fails for an unknown state or template, a negative duration, a due date before the
    /// earliest start, and for actions without a name, with a duplicate name, or with nothing to
    /// run.
    ///
    /// ```
    #[doc = include_str!("example.txt")]
    /// let items = vec![CreateWorkItemRequest::new().name("Calibration")];
    /// let made = session.create_work_items(items)?;
    /// assert_eq!(made.failed_work_items, None);
    /// # Ok::<(), stationdb::Error>(())
    /// ```
    #[writes]
    fn create_work_items(
        &self,
        work_items: Vec<CreateWorkItemRequest>,
    ) -> Result<CreateWorkItemsPartialSuccessResponse> {
        batch::create(self, work_items, |item| item.name.as_ref()).map(Into::into)
    }

    /// Returns a page of the work items that match a filter.
    ///
    /// # Errors
    /// `InvalidArgument` for an invalid filter, an invalid substitution, a negative take or an
    /// invalid token.
    ///
    /// ```
    #[doc = include_str!("example.txt")]
    /// let query = QueryWorkItemsRequest::new().filter("state == \"NEW\"").take(100);
    /// assert_eq!(session.query_work_items(query)?.work_items.len(), 1);
    /// # Ok::<(), stationdb::Error>(())
    /// ```
    fn query_work_items(&self, request: QueryWorkItemsRequest) -> Result<PagedWorkItems> {
        queries::page(self, &request).map(Into::into)
    }

    /// Executes the query and explains how, with its cost.
    ///
    /// # Errors
    /// As [`WorkItemService::query_work_items`].
    ///
    /// ```
    #[doc = include_str!("example.txt")]
    /// println!("{}", session.explain_query_work_items(QueryWorkItemsRequest::new())?);
    /// # Ok::<(), stationdb::Error>(())
    /// ```
    fn explain_query_work_items(&self, request: QueryWorkItemsRequest) -> Result<Plan> {
        queries::explain(self, &request)
    }

    /// Returns one work item with its actions and its history.
    ///
    /// # Errors
    /// `NotFound` if no work item that the caller may see has this id.
    ///
    /// ```
    #[doc = include_str!("example.txt")]
    /// assert_eq!(session.get_work_item(&id)?.name.as_deref(), Some("Burn-in"));
    /// # Ok::<(), stationdb::Error>(())
    /// ```
    fn get_work_item(&self, work_item_id: &WorkItemId) -> Result<WorkItem> {
        get(self, work_item_id)
    }

    /// Updates work items, in order. Absent members keep their values, null clears them. Arrays are
    /// appended to and maps are merged, unless `replace` is set.
    ///
    /// # Errors
    /// An entry fails for a missing or unknown id, for a parent that is the item itself, and if the
    /// updated record could not be created as it is.
    ///
    /// ```
    #[doc = include_str!("example.txt")]
    /// let change = UpdateWorkItemRequest::new().id(id).description("48 hours");
    /// assert_eq!(session.update_work_items(UpdateWorkItemsRequest::new([change]))?.failed_work_items,
    /// None);
    /// # Ok::<(), stationdb::Error>(())
    /// ```
    #[writes]
    fn update_work_items(
        &self,
        request: UpdateWorkItemsRequest,
    ) -> Result<UpdateWorkItemsPartialSuccessResponse> {
        batch::amend(self, request.work_items, request.replace.unwrap_or_default()).map(Into::into)
    }

    /// Schedules work items and reserves their resources. An item that is NEW, DEFINED or REVIEWED
    /// becomes SCHEDULED once it has a planned start.
    ///
    /// # Errors
    /// An entry fails for a missing or unknown id, for a CLOSED or CANCELED item, for a negative
    /// duration and for an end before the start.
    ///
    /// ```
    #[doc = include_str!("example.txt")]
    /// let change = ScheduleWorkItemRequest::new().id(id).assigned_to("bob");
    /// assert_eq!(session.schedule_work_items(ScheduleWorkItemsRequest::new([change]))?.failed_work_items,
    /// None);
    /// # Ok::<(), stationdb::Error>(())
    /// ```
    #[writes]
    fn schedule_work_items(
        &self,
        request: ScheduleWorkItemsRequest,
    ) -> Result<ScheduleWorkItemsPartialSuccessResponse> {
        batch::amend(self, request.work_items, request.replace.unwrap_or_default()).map(Into::into)
    }

    /// Deletes work items; their children remain. Returns `None` if all were deleted.
    ///
    /// # Errors
    /// An id fails if no work item that the caller may see has it.
    ///
    /// ```
    #[doc = include_str!("example.txt")]
    /// assert_eq!(session.delete_work_items(vec![id])?, None);
    /// # Ok::<(), stationdb::Error>(())
    /// ```
    #[writes]
    fn delete_work_items(
        &self,
        ids: Vec<WorkItemId>,
    ) -> Result<Option<DeleteWorkItemsPartialSuccessResponse>> {
        batch::delete_all::<WorkItem>(self, ids).map(Outcome::unless_all_succeeded)
    }

    /// Executes an action of a work item: runs its definition, and changes the state as
    /// `docs/states-and-actions.md` lists. JOB and NOTEBOOK actions call the
    /// [`crate::lab::JobRunner`] of the store.
    ///
    /// If the runner fails, the response contains the error and the result, for instance the jobs
    /// that were cancelled. The state does not change, and the history records the error.
    ///
    /// # Errors
    /// Before anything runs: `NotFound` for an unknown id, and for an action that is neither
    /// defined nor built in; `Conflict` if the state does not allow the action, or if jobs have no
    /// system to run on; `InvalidArgument` for a blank action; `PermissionDenied`; `Unsupported`
    /// for JOB and NOTEBOOK actions inside a transaction.
    ///
    /// ```
    #[doc = include_str!("example.txt")]
    /// session.execute_work_item(&id, "START")?;
    /// assert_eq!(session.get_work_item(&id)?.state, Some(State::InProgress));
    /// # Ok::<(), stationdb::Error>(())
    /// ```
    #[writes]
    fn execute_work_item(
        &self,
        work_item_id: &WorkItemId,
        action: &str,
    ) -> Result<ExecuteWorkItemResponse> {
        execute::execute(self, work_item_id, action)
    }

    /// Creates templates.
    ///
    /// # Errors
    /// An entry fails for a missing or blank name, group or type, a negative duration, and for
    /// actions as in [`WorkItemService::create_work_items`].
    ///
    /// ```
    #[doc = include_str!("example.txt")]
    /// let template =
    /// CreateWorkItemTemplateRequest::new().name("Soak").template_group("Incoming").r#type("test");
    /// assert_eq!(session.create_work_item_templates(vec![template])?.failed_work_item_templates,
    /// None);
    /// # Ok::<(), stationdb::Error>(())
    /// ```
    #[writes]
    fn create_work_item_templates(
        &self,
        work_item_templates: Vec<CreateWorkItemTemplateRequest>,
    ) -> Result<CreateWorkItemTemplatesPartialSuccessResponse> {
        batch::create(self, work_item_templates, |item| item.name.as_ref()).map(Into::into)
    }

    /// Returns a page of the templates that match a filter. There is no other way to read a
    /// template.
    ///
    /// # Errors
    /// As [`WorkItemService::query_work_items`].
    ///
    /// ```
    #[doc = include_str!("example.txt")]
    /// let page = session.query_work_item_templates(QueryWorkItemTemplatesRequest::new())?;
    /// assert_eq!(page.work_item_templates.len(), 1);
    /// # Ok::<(), stationdb::Error>(())
    /// ```
    fn query_work_item_templates(
        &self,
        request: QueryWorkItemTemplatesRequest,
    ) -> Result<PagedWorkItemTemplates> {
        queries::page(self, &request).map(Into::into)
    }

    /// Executes the query and explains how, with its cost.
    ///
    /// # Errors
    /// As [`WorkItemService::query_work_item_templates`].
    ///
    /// ```
    #[doc = include_str!("example.txt")]
    /// println!("{}",
    /// session.explain_query_work_item_templates(QueryWorkItemTemplatesRequest::new())?);
    /// # Ok::<(), stationdb::Error>(())
    /// ```
    fn explain_query_work_item_templates(
        &self,
        request: QueryWorkItemTemplatesRequest,
    ) -> Result<Plan> {
        queries::explain(self, &request)
    }

    /// Updates templates, in order, like [`WorkItemService::update_work_items`]. Items created from
    /// them do not change.
    ///
    /// # Errors
    /// An entry fails for a missing or unknown id, and if the updated template could not be created
    /// as it is.
    ///
    /// ```
    #[doc = include_str!("example.txt")]
    /// let change = UpdateWorkItemTemplateRequest::new().id(template_id).summary("48 hours");
    /// let answer =
    /// session.update_work_item_templates(UpdateWorkItemTemplatesRequest::new([change]))?;
    /// assert_eq!(answer.failed_work_item_templates, None);
    /// # Ok::<(), stationdb::Error>(())
    /// ```
    #[writes]
    fn update_work_item_templates(
        &self,
        request: UpdateWorkItemTemplatesRequest,
    ) -> Result<UpdateWorkItemTemplatesPartialSuccessResponse> {
        batch::amend(self, request.work_item_templates, request.replace.unwrap_or_default())
            .map(Into::into)
    }

    /// Deletes templates; items created from them remain. Returns `None` if all were deleted.
    ///
    /// # Errors
    /// An id fails if no template that the caller may see has it.
    ///
    /// ```
    #[doc = include_str!("example.txt")]
    /// assert_eq!(session.delete_work_item_templates(vec![template_id])?, None);
    /// # Ok::<(), stationdb::Error>(())
    /// ```
    #[writes]
    fn delete_work_item_templates(
        &self,
        ids: Vec<WorkItemTemplateId>,
    ) -> Result<Option<DeleteWorkItemTemplatesPartialSuccessResponse>> {
        batch::delete_all::<WorkItemTemplate>(self, ids).map(Outcome::unless_all_succeeded)
    }
}
}
