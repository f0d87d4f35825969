//! Upload sessions: files that arrive in chunks, over restarts of the store.

use chrono::{DateTime, Utc};

use crate::model::{Field, Resource};
use crate::value::id::{IdForm, Kind, id_type};
use crate::value::wire::record;
use crate::value::{FieldDecl, FieldType, Service};

id_type!(
    /// Id of an upload session.
    UploadSessionId,
    IdForm::Guid
);

record! {
    /// What the store keeps of an upload session.
    pub struct UploadSessionRecord {
        /// Id.
        pub id: UploadSessionId,
        /// When it was started.
        #[serde(with = "crate::value::time::required")]
        pub created_at: DateTime<Utc>,
        /// Workspace of the file that it will become.
        pub workspace: String,
    }

    /// One chunk of an upload session that has arrived.
    pub struct UploadChunk {
        /// Where its bytes are.
        pub content: super::content::StoredContent,
        /// Whether it was sent as the last one.
        pub close: bool,
        /// When it arrived.
        #[serde(with = "crate::value::time::required")]
        pub arrived_at: DateTime<Utc>,
    }
}

impl Resource for UploadSessionRecord {
    const KIND: Kind = Kind { code: 13, name: "upload session", service: Service::FILES, id: IdForm::Guid };

    fn id(&self) -> &str {
        &self.id
    }

    fn workspace(&self) -> &str {
        &self.workspace
    }

    fn fields() -> &'static [Field<Self>] {
        static FIELDS: [Field<UploadSessionRecord>; 3] = [
            Field { decl: FieldDecl::new("id", FieldType::String), get: |session, _| (&session.id).into() },
            Field { decl: FieldDecl::new("createdAt", FieldType::Time), get: |session, _| session.created_at.into() },
            Field {
                decl: FieldDecl::new("workspace", FieldType::String),
                get: |session, _| (&session.workspace).into(),
            },
        ];
        &FIELDS
    }
}
