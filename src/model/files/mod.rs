//! Files, their contents, and upload sessions.

pub mod content;
pub mod file;
pub mod requests;
pub mod upload_session;

pub use content::{ContentPart, StoredContent};
pub use file::{FileId, FileLinqMetadata, FileLinqQueryOrderBy, FileMetadata, FileQueryOrderBy, FileRecord, Link};
pub use requests::{
    CreatedQuery, FileLinqQueryRequest, FileLinqQueryResponse, FileOperation, FileOperations, FileQueryOperation,
    FileQueryResponse, FileTotalCount, GetFilesRequest, IdsQuery, PropertyQuery, QueryFilesRequest, SearchFilesRequest,
    SizeQuery, StringQuery, TotalCountRelation, UpdateMetadataRequest, UploadFileRequest, UploadSession,
    UploadSessionState, UploadedChunk,
};
pub use upload_session::{UploadChunk, UploadSessionId, UploadSessionRecord};
