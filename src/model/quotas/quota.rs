//! A quota: the bounds of one workspace.

use chrono::{DateTime, Utc};

use crate::error::{Error, Result};
use crate::model::quotas::charge::Usage;
use crate::model::resource::Resource;
use crate::model::workspaces::workspace::check;
use crate::value::wire::record;
use crate::value::{IdForm, id::id_type};

id_type!(
    /// The record key of a quota.
    QuotaKey,
    IdForm::Guid
);

/// The stored bounds of a workspace. What is used is stored in a row of its own, because each write
/// into the workspace changes it.
#[derive(Clone, Debug, Default, PartialEq, Resource)]
#[resource(
    kind = 15,
    name = "quota",
    service(WORKSPACES),
    id(Guid),
    id_at(key),
    workspace_at(workspace),
    title(workspace)
)]
#[fields(workspace, updated_at)]
#[index(1, unique(workspace), called(WORKSPACE))]
pub(crate) struct QuotaRecord {
    /// The record key. Events of the change feed contain it as the id.
    #[serde(skip)]
    pub key: Option<QuotaKey>,
    /// The workspace.
    pub workspace: Option<String>,
    /// Maximum number of records.
    pub records_max: Option<u64>,
    /// Maximum bytes of contents.
    pub content_bytes_max: Option<u64>,
    /// Maximum number of rows.
    pub rows_max: Option<u64>,
    /// Time of the last change.
    pub updated_at: Option<DateTime<Utc>>,
    /// Id of the user who set it.
    pub updated_by: Option<String>,
}

record! {
    /// Bounds for a workspace; a bound that is absent does not limit. At least one is required.
    wire pub struct SetQuotaRequest new(workspace: String) requires(workspace) {
        /// The workspace.
        pub workspace: String,
        /// Maximum number of records of all kinds.
        pub records_max: Option<u64>,
        /// Maximum bytes of the contents of files and packages.
        pub content_bytes_max: Option<u64>,
        /// Maximum number of rows of all tables.
        pub rows_max: Option<u64>,
    }

    /// The quota of a workspace, and how much of it is used.
    answer pub struct Quota {
        /// The workspace.
        pub workspace: String,
        /// Maximum number of records of all kinds; no bound when absent.
        pub records_max: Option<u64>,
        /// Maximum bytes of the contents of files and packages; no bound when absent.
        pub content_bytes_max: Option<u64>,
        /// Maximum number of rows of all tables; no bound when absent.
        pub rows_max: Option<u64>,
        /// Number of records.
        pub record_count: u64,
        /// Bytes of contents.
        pub content_bytes: u64,
        /// Number of rows.
        pub row_count: u64,
        /// Time of the last change of the bounds.
        pub updated_at: Option<DateTime<Utc>>,
        /// Id of the user who set the bounds.
        pub updated_by: Option<String>,
    }

    /// Which quotas to list.
    wire pub struct ListQuotasRequest new() {
        /// Page size; 1000 when absent or negative, at most 1000.
        pub take: Option<i64>,
        /// The token of the previous page.
        pub continuation_token: Option<String>,
    }

    /// A page of quotas, by workspace.
    answer pub struct PagedQuotas {
        /// The quotas.
        pub quotas: Vec<Quota>,
        /// The token of the next page; absent on the last one.
        pub continuation_token: Option<String>,
    }
}

impl QuotaRecord {
    /// Replaces the bounds.
    ///
    /// # Errors
    /// `InvalidArgument` for a blank workspace and for a request without a bound; `LimitExceeded`
    /// for a workspace that is too long.
    pub(crate) fn set(
        &mut self,
        request: SetQuotaRequest,
        now: DateTime<Utc>,
        user: &str,
    ) -> Result<()> {
        let SetQuotaRequest { workspace, records_max, content_bytes_max, rows_max } = request;
        check("quota", "workspace", &workspace)?;
        if records_max.is_none() && content_bytes_max.is_none() && rows_max.is_none() {
            return Err(Error::invalid(
                "a quota needs recordsMax, contentBytesMax or rowsMax; delete_quota removes it",
            ));
        }
        self.workspace = Some(workspace);
        self.records_max = records_max;
        self.content_bytes_max = content_bytes_max;
        self.rows_max = rows_max;
        self.updated_at = Some(now);
        self.updated_by = Some(user.to_owned());
        Ok(())
    }

    /// The answer for a caller.
    pub(crate) fn with_usage(self, usage: &Usage) -> Quota {
        Quota {
            workspace: self.workspace.unwrap_or_default(),
            records_max: self.records_max,
            content_bytes_max: self.content_bytes_max,
            rows_max: self.rows_max,
            record_count: usage.records,
            content_bytes: usage.content_bytes,
            row_count: usage.rows,
            updated_at: self.updated_at,
            updated_by: self.updated_by,
        }
    }

    /// Refuses a usage that is above a bound and above what was used before: what shrinks is never
    /// refused.
    ///
    /// # Errors
    /// `LimitExceeded` with the name `Workspaces.QuotaExceeded`.
    pub(crate) fn check(&self, before: &Usage, after: &Usage) -> Result<()> {
        let bounds = [
            ("records", "recordsMax", self.records_max, before.records, after.records),
            (
                "bytes of contents",
                "contentBytesMax",
                self.content_bytes_max,
                before.content_bytes,
                after.content_bytes,
            ),
            ("rows", "rowsMax", self.rows_max, before.rows, after.rows),
        ];
        for (what, bound, most, before, after) in bounds {
            if let Some(most) = most.filter(|most| after > *most && after > before) {
                let workspace = self.workspace.clone().unwrap_or_default();
                return Err(Error::limit(format!(
                    "the workspace {workspace:?} would have {after} {what}, more than the {most} \
                     of its quota ({bound}); delete some, or raise it (set_quota)"
                ))
                .with_name("Workspaces.QuotaExceeded", None)
                .with_args([workspace]));
            }
        }
        Ok(())
    }
}
