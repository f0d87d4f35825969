//! The beginning of a run.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};

use super::Run;
use super::store::{IN_PROGRESS, RUN};
use crate::error::Result;
use crate::model::StatusType;
use crate::model::results::CreateResultRequest;
use crate::services::results::creation::create;
use crate::session::{Access, Session};

/// A run that is about to begin, see [`Run::begin`]. Nothing is stored before
/// [`start`](RunStart::start).
#[derive(Clone, Debug)]
#[must_use = "a run is stored by `start`"]
pub struct RunStart {
    request: CreateResultRequest,
}

impl RunStart {
    pub(super) fn new(part_number: String, serial_number: String, program_name: String) -> Self {
        let request = CreateResultRequest::new()
            .part_number(part_number)
            .serial_number(serial_number)
            .program_name(program_name)
            .status(StatusType::Running);
        Self { request }
    }

    /// Sets the person who runs the test.
    pub fn operator(mut self, operator: impl Into<String>) -> Self {
        self.request.operator = Some(operator.into());
        self
    }

    /// Sets the id of the system that runs the test.
    pub fn system_id(mut self, system_id: impl Into<String>) -> Self {
        self.request.system_id = Some(system_id.into());
        self
    }

    /// Sets the name of the host that runs the test.
    pub fn host_name(mut self, host_name: impl Into<String>) -> Self {
        self.request.host_name = Some(host_name.into());
        self
    }

    /// Sets the workspace.
    pub fn workspace(mut self, workspace: impl Into<String>) -> Self {
        self.request.workspace = Some(workspace.into());
        self
    }

    /// Sets the time of the start, which is otherwise that of the store.
    pub fn started_at(mut self, started_at: DateTime<Utc>) -> Self {
        self.request.started_at = Some(started_at);
        self
    }

    /// Adds a keyword.
    pub fn keyword(mut self, keyword: impl Into<String>) -> Self {
        self.request.keywords.get_or_insert_default().push(keyword.into());
        self
    }

    /// Sets a property.
    pub fn property(mut self, key: impl Into<String>, value: impl Into<String>) -> Self {
        self.properties().insert(key.into(), Some(value.into()));
        self
    }

    fn properties(&mut self) -> &mut BTreeMap<String, Option<String>> {
        self.request.properties.get_or_insert_default()
    }

    /// Stores the result as RUNNING, in one durable commit.
    ///
    /// # Errors
    /// `InvalidArgument` for a blank program name and an empty key of a property;
    /// `PermissionDenied`; errors of the disk.
    ///
    /// ```
    #[doc = include_str!("example.txt")]
    /// assert_eq!(session.unfinished_runs()?[0].operator.as_deref(), Some("ada"));
    /// # Ok::<(), stationdb::Error>(())
    /// ```
    pub fn start(mut self, session: &Session) -> Result<Run> {
        self.properties().insert(RUN.to_owned(), Some(IN_PROGRESS.to_owned()));
        let request = self.request;
        let (result, now) =
            session.write(move |draft| Ok((create(draft, request)?, draft.now())))?;
        Ok(Run::of(session, &result, now))
    }
}
