//! Workspaces: their ids are the values of the member `workspace` of other resources.

use chrono::{DateTime, Utc};

use crate::error::{Error, Result};
use crate::model::resource::Resource;
use crate::value::wire::record;
use crate::value::{IdForm, id::id_type, limits};

id_type!(
    /// The record key of a workspace.
    WorkspaceKey,
    IdForm::Guid
);

/// A registered workspace.
///
/// In queries, a field with the path `id` means the record key. So in filters the id of a workspace
/// has the path `workspace`, with `id` as another name for it.
#[derive(Clone, Debug, Default, PartialEq, Resource)]
#[resource(
    kind = 14,
    name = "workspace",
    service(WORKSPACES),
    id(Guid),
    id_at(key),
    workspace_at(id),
    title(name)
)]
#[fields(
    workspace(also("id"), from(id)),
    name,
    created_at,
    created_within(within(created_at)),
    created_by
)]
#[index(1, unique(workspace), called(ID))]
#[index(2, name)]
#[index(3, created_at)]
#[order(WorkspaceOrderBy(name, created_at))]
#[request(CreateWorkspaceRequest = "A workspace to register.")]
#[request(CreateWorkspaceRequest(name(String, "Name; required.")))]
#[request(CreateWorkspaceRequest(id = "The id that resources use; generated when absent."))]
#[non_exhaustive]
pub struct Workspace {
    /// The record key. Events of the change feed contain it as the id.
    #[serde(skip)]
    pub key: Option<WorkspaceKey>,
    /// The id that resources have in their member `workspace`.
    pub id: Option<String>,
    /// Name.
    pub name: Option<String>,
    /// Time of creation.
    pub created_at: Option<DateTime<Utc>>,
    /// Id of the user who registered it.
    pub created_by: Option<String>,
}

record! {
    /// A query for workspaces.
    wire pub struct QueryWorkspacesRequest new() queries(Workspace) {
        /// Filter; all workspaces when absent or empty.
        pub filter: Option<String>,
        /// Values for `@0`, `@1`, … of the filter.
        pub substitutions: Option<Vec<serde_json::Value>>,
        /// Order; by name when absent.
        pub order_by: Option<WorkspaceOrderBy>,
        /// Whether the order is descending.
        pub descending: Option<bool>,
        /// Page size; 1000 when absent or negative, at most 1000.
        pub take: Option<i64>,
        /// The token of the previous page.
        pub continuation_token: Option<String>,
        /// Whether to count all matches.
        pub return_count: Option<bool>,
    }

    /// A page of workspaces.
    page pub struct PagedWorkspaces {
        /// The workspaces.
        pub workspaces: Vec<Workspace>,
        /// The token of the next page; absent on the last one.
        pub continuation_token: Option<String>,
        /// Count of all matches, if requested.
        pub total_count: Option<u64>,
    }
}

impl Workspace {
    /// The record of a create request. If the request has no id, the id is that of `key`.
    ///
    /// # Errors
    /// `InvalidArgument` for a blank name or id; `LimitExceeded` for one that is too long.
    pub(crate) fn create(
        request: CreateWorkspaceRequest,
        key: WorkspaceKey,
        now: DateTime<Utc>,
        user: &str,
    ) -> Result<Self> {
        let id = request.id.unwrap_or_else(|| key.to_string());
        check("workspace", "id", &id)?;
        check("workspace", "name", &request.name)?;
        Ok(Self {
            key: Some(key),
            id: Some(id),
            name: Some(request.name),
            created_at: Some(now),
            created_by: Some(user.to_owned()),
        })
    }
}

/// Refuses a text of a workspace or of its quota that is blank or too long.
///
/// # Errors
/// `InvalidArgument`; `LimitExceeded`.
pub(crate) fn check(what: &str, member: &str, text: &str) -> Result<()> {
    if text.trim().is_empty() {
        return Err(Error::invalid(format!("a {what} needs a {member} that is not blank"))
            .at_member(member));
    }
    if text.len() > limits::WORKSPACE_BYTES {
        return Err(Error::limit(format!(
            "the {member} takes {} bytes, more than the {} that the {member} of a {what} may \
             take (WORKSPACE_BYTES)",
            text.len(),
            limits::WORKSPACE_BYTES
        ))
        .at_member(member));
    }
    Ok(())
}
