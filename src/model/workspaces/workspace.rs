//! Workspaces: the ids that other resources name in their member `workspace`.

use chrono::{DateTime, Utc};

use crate::error::{Error, Result};
use crate::model::resource::Resource;
use crate::value::wire::record;
use crate::value::{IdForm, id::id_type, limits};

id_type!(
    /// The key under which the store keeps a workspace.
    WorkspaceKey,
    IdForm::Guid
);

/// A registered workspace.
///
/// A field with the path `id` is the key of its record to queries, so filters know the id of a workspace by the path
/// `workspace`, and by `id` as a further name of it.
#[derive(Clone, Debug, Default, PartialEq, Resource)]
#[resource(kind = 14, name = "workspace", service(WORKSPACES), id(Guid), id_at(key), workspace_at(id), title(name))]
#[fields(workspace(also("id"), from(id)), name, created_at, created_within(within(created_at)), created_by)]
#[index(1, unique(workspace), called(ID), since = 4)]
#[index(2, name, since = 4)]
#[index(3, created_at, since = 4)]
#[order(WorkspaceOrderBy(name, created_at))]
#[request(CreateWorkspaceRequest = "A workspace to register.")]
#[request(CreateWorkspaceRequest(name(String, "Name; required.")))]
#[request(CreateWorkspaceRequest(id = "The id that resources name; a new one is made when absent."))]
pub struct Workspace {
    /// The key under which the store keeps it. The change feed calls it by this id.
    #[serde(skip)]
    #[since(4)]
    pub key: Option<WorkspaceKey>,
    /// The id that resources name in their member `workspace`.
    #[since(4)]
    pub id: Option<String>,
    /// Name.
    #[since(4)]
    pub name: Option<String>,
    /// Time of creation.
    #[since(4)]
    pub created_at: Option<DateTime<Utc>>,
    /// Id of the user who registered it.
    #[since(4)]
    pub created_by: Option<String>,
}

record! {
    /// A query for workspaces.
    wire pub struct QueryWorkspacesRequest new() {
        /// Which; all when absent or empty.
        pub filter: Option<String>,
        /// Values for `@0`, `@1`, … of the filter.
        pub substitutions: Option<Vec<serde_json::Value>>,
        /// Order; by name when absent.
        pub order_by: Option<WorkspaceOrderBy>,
        /// Whether from the greatest.
        pub descending: Option<bool>,
        /// Page size; 1000 when absent or negative, and at most.
        pub take: Option<i64>,
        /// The token of the previous page.
        pub continuation_token: Option<String>,
        /// Whether to count all matches.
        pub return_count: Option<bool>,
    }

    /// A page of workspaces.
    wire pub struct PagedWorkspaces {
        /// The workspaces.
        pub workspaces: Vec<Workspace>,
        /// Gets the next page; absent on the last.
        pub continuation_token: Option<String>,
        /// Count of all matches, when asked for.
        pub total_count: Option<u64>,
    }
}

impl Workspace {
    /// The record that a request makes; an absent id is that of `key`.
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
        check("id", &id)?;
        check("name", &request.name)?;
        Ok(Self {
            key: Some(key),
            id: Some(id),
            name: Some(request.name),
            created_at: Some(now),
            created_by: Some(user.to_owned()),
        })
    }
}

fn check(member: &str, text: &str) -> Result<()> {
    if text.trim().is_empty() {
        return Err(Error::invalid(format!("a workspace needs a {member} that is not blank")).at_member(member));
    }
    if text.len() > limits::WORKSPACE_BYTES {
        return Err(Error::limit(format!(
            "the {member} takes {} bytes, more than the {} that the {member} of a workspace may take (WORKSPACE_BYTES)",
            text.len(),
            limits::WORKSPACE_BYTES
        ))
        .at_member(member));
    }
    Ok(())
}
