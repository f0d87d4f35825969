//! Files, their contents, and upload sessions.

pub(crate) mod content;
pub(crate) mod file;
pub(crate) mod requests;
pub(crate) mod upload_session;

pub(crate) use content::{ContentPart, StoredContent};
pub(crate) use file::FileRecord;
pub use file::{
    FileId, FileLinqMetadata, FileLinqQueryOrderBy, FileMetadata, FileQueryOrderBy, Link,
};
pub use requests::{
    CreatedQuery, FileLinqQueryRequest, FileLinqQueryResponse, FileOperation, FileOperations,
    FileQueryOperation, FileQueryResponse, FileTotalCount, GetFilesRequest, IdsQuery,
    PropertyQuery, QueryFilesRequest, SearchFilesRequest, SizeQuery, StringQuery,
    TotalCountRelation, UpdateMetadataRequest, UploadFileRequest, UploadSession,
    UploadSessionState, UploadedChunk,
};
pub use upload_session::UploadSessionId;
pub(crate) use upload_session::{UploadChunk, UploadSessionRecord};
