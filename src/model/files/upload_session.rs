//! Upload sessions: files that arrive in chunks, even across restarts of the store.

use chrono::{DateTime, Utc};

use crate::model::resource::Resource;
use crate::value::id::{IdForm, id_type};
use crate::value::wire::record;

id_type!(
    /// Id of an upload session.
    UploadSessionId,
    IdForm::Guid
);

/// The stored record of an upload session.
#[derive(Clone, Debug, Default, PartialEq, Resource)]
#[resource(kind = 13, name = "upload session", service(FILES), id(Guid))]
#[fields(id, created_at, workspace)]
pub(crate) struct UploadSessionRecord {
    /// Id.
    pub id: UploadSessionId,
    /// Time of the start.
    pub created_at: DateTime<Utc>,
    /// Workspace of the future file.
    pub workspace: String,
}

record! {
    /// One chunk of an upload session that has arrived.
    pub struct UploadChunk {
        /// Location of the bytes.
        pub content: super::content::StoredContent,
        /// Whether it was sent as the last one.
        pub close: bool,
        /// Time of arrival.
        pub arrived_at: DateTime<Utc>,
    }
}
