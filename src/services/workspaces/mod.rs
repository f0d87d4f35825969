//! The registry of workspaces, and their quotas.

mod quotas;

use crate::error::{Error, Result};
use crate::model::Resource as _;
use crate::model::{
    CreateWorkspaceRequest, ListQuotasRequest, PagedQuotas, PagedWorkspaces,
    QueryWorkspacesRequest, Quota, SetQuotaRequest, Workspace, WorkspaceKey,
};
use crate::services::declare::service;
use crate::services::queries::{self, QueryRequest};
use crate::services::service_record::ServiceRecord;
use crate::session::{Access, OrderTerm, Plan, Query, Settings, What};
use crate::value::key;

const DEFAULT_TAKE: usize = 1000;

service! {
/// The registry of workspaces. Its use is optional.
///
/// While no workspace is registered, resources may use any workspace id. Once one is registered, or
/// with
/// [`Settings::require_registered_workspaces`](crate::Settings::require_registered_workspaces),
/// nothing can be created in or moved to a workspace that is not registered: such a request, or
/// such an item of a batch, is rejected with `InvalidArgument` and the name
/// `Workspaces.InvalidWorkspace`. The default workspace of the store counts as registered. Deleting
/// a workspace from the registry does not change the records in it. They can still be read,
/// changed, moved to another workspace and deleted.
///
/// The access policy decides about [`Service::WORKSPACES`](crate::Service::WORKSPACES) in the
/// workspace itself.
///
/// Methods may be added until version 1.0.
pub trait WorkspaceService {
    /// Registers a workspace.
    ///
    /// # Errors
    /// `InvalidArgument` for a blank name or id; `LimitExceeded` for one that is too long;
    /// `Conflict` for an id that is registered; `PermissionDenied`; errors of the disk.
    ///
    /// ```
    #[doc = include_str!("example.txt")]
    /// use stationdb::products::CreateProductRequest;
    ///
    /// let lab = session.create_workspace(CreateWorkspaceRequest::new("Laboratory").id("lab-1"))?;
    /// assert_eq!(lab.id.as_deref(), Some("lab-1"));
    /// let request = CreateProductRequest::new("156502A-11L");
    /// let made = session.create_products(vec![
    ///     request.clone().workspace("lab-2"),
    ///     request.workspace("lab-1"),
    /// ])?;
    /// assert_eq!(made.products.len(), 1);
    /// let refused = made.error.unwrap_or_default().inner_errors;
    /// assert_eq!(refused[0].name.as_deref(), Some("Workspaces.InvalidWorkspace"));
    /// # Ok::<(), stationdb::Error>(())
    /// ```
    #[writes]
    fn create_workspace(&self, request: CreateWorkspaceRequest) -> Result<Workspace> {
        self.write(move |draft| {
            let key = WorkspaceKey::from(draft.new_key::<Workspace>()?);
            let workspace = Workspace::create(request, key, draft.now(), draft.user())?;
            draft.put_new(&workspace, What::Created)?;
            Ok(workspace)
        })
    }

    /// Returns one page of the registered workspaces that match and that the caller may see.
    ///
    /// # Errors
    /// `InvalidArgument` for an invalid filter or token.
    ///
    /// ```
    #[doc = include_str!("example.txt")]
    /// session.create_workspace(CreateWorkspaceRequest::new("Laboratory"))?;
    /// let page =
    /// session.query_workspaces(QueryWorkspacesRequest::new().filter("name.StartsWith(\"Lab\")"))?;
    /// assert_eq!(page.workspaces.len(), 1);
    /// # Ok::<(), stationdb::Error>(())
    /// ```
    fn query_workspaces(&self, query: QueryWorkspacesRequest) -> Result<PagedWorkspaces> {
        queries::page(self, &query).map(Into::into)
    }

    /// Executes [`WorkspaceService::query_workspaces`] and explains how, with its cost.
    ///
    /// # Errors
    /// As [`WorkspaceService::query_workspaces`].
    fn explain_query_workspaces(&self, query: QueryWorkspacesRequest) -> Result<Plan> {
        queries::explain(self, &query)
    }

    /// Removes a workspace from the registry. Its records remain.
    ///
    /// # Errors
    /// `NotFound` for a workspace that is not registered or that the caller may not see;
    /// `PermissionDenied`; errors of the disk.
    ///
    /// ```
    #[doc = include_str!("example.txt")]
    /// session.create_workspace(CreateWorkspaceRequest::new("Laboratory").id("lab-1"))?;
    /// session.delete_workspace("lab-1")?;
    /// # Ok::<(), stationdb::Error>(())
    /// ```
    #[writes]
    fn delete_workspace(&self, id: &str) -> Result<()> {
        let id = id.to_owned();
        self.write(move |draft| {
            let mut entry = Vec::new();
            key::push_str(&mut entry, &id);
            let found = draft.find::<Workspace>(Workspace::BY_ID, &entry)?;
            let deleted = match found {
                Some(key) => draft.delete::<Workspace>(&key.to_id(Workspace::KIND.id))?,
                None => None,
            };
            let (name, code) = Workspace::ABSENT;
            let not_found = || Error::not_found(Workspace::KIND.name, &id).with_name(name, code);
            deleted.map(drop).ok_or_else(not_found)
        })
    }

    /// Sets the bounds of a workspace, whether it is registered or not, in place of earlier ones. A
    /// write that would take the workspace above a bound is refused then with `LimitExceeded` and
    /// the name `Workspaces.QuotaExceeded`; what is above a bound already stays. The first quota
    /// of a workspace is set by reading all records once.
    ///
    /// # Errors
    /// `InvalidArgument` for a blank workspace or without a bound; `LimitExceeded` for a workspace
    /// that is too long; `PermissionDenied`; errors of the disk.
    ///
    /// ```
    #[doc = include_str!("example.txt")]
    /// use stationdb::products::CreateProductRequest;
    ///
    /// session.set_quota(SetQuotaRequest::new("lab-1").records_max(1))?;
    /// let create = |part_number: &str| {
    ///     let request = CreateProductRequest::new(part_number).workspace("lab-1");
    ///     session.create_products(vec![request])
    /// };
    /// create("156502A-11L")?;
    /// let error = create("156502A-12L")?.error.unwrap_or_default();
    /// assert_eq!(error.inner_errors[0].name.as_deref(), Some("Workspaces.QuotaExceeded"));
    /// assert_eq!(session.get_quota("lab-1")?.record_count, 1);
    /// # Ok::<(), stationdb::Error>(())
    /// ```
    #[writes]
    fn set_quota(&self, request: SetQuotaRequest) -> Result<Quota> {
        self.write(move |draft| quotas::set(draft, request))
    }

    /// Returns the bounds of a workspace and what is used.
    ///
    /// # Errors
    /// `NotFound` for a workspace without a quota or that the caller may not see.
    fn get_quota(&self, workspace: &str) -> Result<Quota> {
        self.read(|view| quotas::get(view, workspace))
    }

    /// Returns one page of the quotas that the caller may see, by workspace.
    ///
    /// # Errors
    /// `InvalidArgument` for an invalid token.
    fn list_quotas(&self, request: ListQuotasRequest) -> Result<PagedQuotas> {
        self.read(|view| quotas::list(view, &request))
    }

    /// Removes the bounds of a workspace.
    ///
    /// # Errors
    /// `NotFound` for a workspace without a quota or that the caller may not see;
    /// `PermissionDenied`; errors of the disk.
    #[writes]
    fn delete_quota(&self, workspace: &str) -> Result<()> {
        let workspace = workspace.to_owned();
        self.write(move |draft| quotas::delete(draft, &workspace))
    }
}
}

impl ServiceRecord for Workspace {
    const ABSENT: (&'static str, Option<i64>) = ("Workspaces.WorkspaceNotFound", None);
}

impl QueryRequest for QueryWorkspacesRequest {
    fn query(&self, _settings: &Settings) -> Result<Query<'_>> {
        Ok(Query {
            order: vec![OrderTerm {
                path: self.order_by.unwrap_or_default().path(),
                descending: self.descending.unwrap_or_default(),
            }],
            ties_follow_direction: true,
            take: queries::take_or(DEFAULT_TAKE, self.take).min(DEFAULT_TAKE),
            ..queries::common(self)?
        })
    }
}
