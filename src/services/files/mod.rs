//! The file service.

mod change;
mod create;
mod listing;
mod query;
mod search;
mod sessions;
mod upload;

pub(crate) use sessions::expire;

use std::collections::BTreeMap;
use std::io::{Read, Write};

use crate::blobs::ContentReader;
use crate::error::Result;
use crate::model::{
    FileId, FileLinqQueryRequest, FileLinqQueryResponse, FileOperation, FileOperations,
    FileQueryResponse, FileRecord, GetFilesRequest, QueryFilesRequest, Resource,
    SearchFilesRequest, UpdateMetadataRequest, UploadFileRequest, UploadSession, UploadSessionId,
    UploadSessionState,
};
use crate::services::content::{self, ContentWriter};
use crate::services::declare::service;
use crate::services::files::create::check_properties;
use crate::services::files::listing::{
    linq_answer, parsed, response, search_query, structured_query,
};
use crate::services::files::query::{page, structured};
use crate::services::files::upload::Upload;
use crate::services::queries::{self, QueryRequest as _};
use crate::services::service_record::found;
use crate::session::{Access, Plan};
use crate::value::{Control, limits};

service! {
/// Files: any bytes, with a name, properties and a workspace.
///
/// Content is streamed in and out, so memory does not grow with it. A file becomes visible when its
/// content is complete. Every byte read is verified. Outside the crate, implement this trait only
/// for fakes and decorators; methods may be added until 1.0.
///
/// ```
/// # fn main() -> stationdb::Result<()> {
/// # let dir = tempfile::tempdir().map_err(|e| stationdb::Error::io("temp", e))?;
/// use stationdb::{Control, Identity, Store};
/// use stationdb::files::{FileService, UploadFileRequest};
///
/// let store = Store::open(dir.path())?;
/// let session = store.session(Identity::user("ada"));
/// let request = UploadFileRequest::new().name("log.txt");
/// let id = session.upload_file(&mut &b"passed"[..], request, &Control::default())?;
///
/// let mut bytes = Vec::new();
/// session.download_file(&id, &mut bytes, &Control::default())?;
/// assert_eq!(bytes, b"passed");
/// # Ok(())
/// # }
/// ```
pub trait FileService {
    /// The operations of the service, and their versions.
    ///
    /// # Errors
    /// None specific to this call.
    ///
    /// ```
    #[doc = include_str!("example.txt")]
    /// assert!(session.file_api_info()?.operations["uploadFiles"].available);
    /// # Ok::<(), stationdb::Error>(())
    /// ```
    fn file_api_info(&self) -> Result<FileOperations> {
        let versions = [
            ("deleteFiles", 2),
            ("downloadData", 1),
            ("listFiles", 3),
            ("queryFiles", 1),
            ("searchFiles", 1),
            ("updateMetadata", 1),
            ("uploadFiles", 1),
        ];
        let operation = |(name, version): (&str, i32)| {
            (name.to_owned(), FileOperation { available: true, version })
        };
        Ok(FileOperations { operations: versions.into_iter().map(operation).collect() })
    }

    /// Returns a page of files, all or those with given ids.
    ///
    /// # Errors
    /// `InvalidArgument` for a negative `skip` or `take`, or a `take` above 10,000.
    ///
    /// ```
    #[doc = include_str!("example.txt")]
    /// assert_eq!(session.get_files(GetFilesRequest::new().take(10))?.total_count, 1);
    /// # Ok::<(), stationdb::Error>(())
    /// ```
    fn get_files(&self, request: GetFilesRequest) -> Result<FileQueryResponse> {
        queries::page(self, &request).map(response)
    }

    /// Returns a page of the files that match a structured query.
    ///
    /// # Errors
    /// `InvalidArgument` as [`FileService::get_files`] (with at most 1,000), and for an operation
    /// that a part does not support.
    ///
    /// ```
    #[doc = include_str!("example.txt")]
    /// let query =
    /// QueryFilesRequest::new().extension_query(StringQuery::new(FileQueryOperation::Equal,
    /// "txt")); assert_eq!(session.query_files(query)?.total_count, 1);
    /// # Ok::<(), stationdb::Error>(())
    /// ```
    fn query_files(&self, request: QueryFilesRequest) -> Result<FileQueryResponse> {
        let page = page(request.skip, request.take, true, limits::FILES_TAKE_DEFAULT)?;
        let clause = structured(&request)?;
        let query = structured_query(page, &clause);
        self.read(|view| view.query::<FileRecord>(&query)).map(response)
    }

    /// Explains how [`FileService::query_files`] executes a request.
    ///
    /// # Errors
    /// As [`FileService::query_files`].
    ///
    /// ```
    #[doc = include_str!("example.txt")]
    /// let query = QueryFilesRequest::new().workspace("lab");
    /// assert!(session.explain_query_files(query)?.access.contains("index"));
    /// # Ok::<(), stationdb::Error>(())
    /// ```
    fn explain_query_files(&self, request: QueryFilesRequest) -> Result<Plan> {
        let page = page(request.skip, request.take, true, limits::FILES_TAKE_DEFAULT)?;
        let clause = structured(&request)?;
        let query = structured_query(page, &clause);
        self.read(|view| Ok(view.query_with_plan::<FileRecord>(&query)?.1))
    }

    /// Returns a page of the files that match a filter expression.
    ///
    /// # Errors
    /// `InvalidArgument` for an invalid filter, with its position.
    ///
    /// ```
    #[doc = include_str!("example.txt")]
    /// let query = FileLinqQueryRequest::new().filter("size > 3");
    /// assert_eq!(session.query_files_linq(query)?.available_files.len(), 1);
    /// # Ok::<(), stationdb::Error>(())
    /// ```
    fn query_files_linq(&self, request: FileLinqQueryRequest) -> Result<FileLinqQueryResponse> {
        linq_answer(self, &request.query(self.context().settings())?)
    }

    /// Explains how [`FileService::query_files_linq`] executes a request.
    ///
    /// # Errors
    /// As [`FileService::query_files_linq`].
    ///
    /// ```
    #[doc = include_str!("example.txt")]
    /// println!("{}", session.explain_query_files_linq(FileLinqQueryRequest::new())?);
    /// # Ok::<(), stationdb::Error>(())
    /// ```
    fn explain_query_files_linq(&self, request: FileLinqQueryRequest) -> Result<Plan> {
        queries::explain(self, &request)
    }

    /// Returns a page of the files that a search finds: `name:("*.tdms") AND NOT size:[0 TO 1000]`.
    /// Letter case is ignored.
    ///
    /// # Errors
    /// `InvalidArgument` for an invalid expression, with its position; `LimitExceeded` for an
    /// expression beyond its limits.
    ///
    /// ```
    #[doc = include_str!("example.txt")]
    /// let query = SearchFilesRequest::new().filter("name:(\"*.txt\")");
    /// assert_eq!(session.search_files(query)?.available_files.len(), 1);
    /// # Ok::<(), stationdb::Error>(())
    /// ```
    fn search_files(&self, request: SearchFilesRequest) -> Result<FileLinqQueryResponse> {
        let (page, clause) = parsed(&request)?;
        linq_answer(self, &search_query(&request, page, &clause))
    }

    /// Explains how [`FileService::search_files`] executes a request. A pattern that starts with a
    /// star uses the words of the text index where it has a part in ASCII, and reads every file
    /// otherwise; a property is found by its key.
    ///
    /// # Errors
    /// As [`FileService::search_files`].
    ///
    /// ```
    #[doc = include_str!("example.txt")]
    /// let query = SearchFilesRequest::new().filter("name:(\"log*\")");
    /// assert!(session.explain_search_files(query)?.access.contains("index foldedName"));
    /// # Ok::<(), stationdb::Error>(())
    /// ```
    fn explain_search_files(&self, request: SearchFilesRequest) -> Result<Plan> {
        let (page, clause) = parsed(&request)?;
        let query = search_query(&request, page, &clause);
        self.read(|view| Ok(view.query_with_plan::<FileRecord>(&query)?.1))
    }

    /// Stores content as a new file. The file is durable when this returns; after an error nothing
    /// of it is left.
    ///
    /// # Errors
    /// `InvalidArgument` for an id of the wrong form or an empty key; `Conflict` if the id is
    /// taken; `LimitExceeded` above the size that the store allows; `Unsupported` for more than 64
    /// MiB inside a transaction; errors of `content`; `Cancelled` and `DeadlineExceeded` by
    /// `control`.
    ///
    /// ```
    #[doc = include_str!("example.txt")]
    /// let request = UploadFileRequest::new().name("log.txt").metadata([("station", "3")]);
    /// let file = session.upload_file(&mut &b"passed"[..], request, &Control::default())?;
    /// assert_eq!(session.open_file(&file)?.len(), 6);
    /// # Ok::<(), stationdb::Error>(())
    /// ```
    #[writes]
    fn upload_file(
        &self,
        content: &mut dyn Read,
        request: UploadFileRequest,
        control: &Control,
    ) -> Result<FileId> {
        let upload = Upload::check(self, request)?;
        let room = upload.room(self)?;
        let new = content::store(self, content, room, &self.context().control(control))?;
        upload.write(self, new)
    }

    /// Opens content that [`FileService::commit_file`] makes a file of: for callers that have the
    /// bytes before they know what names them, and for bytes that come in pieces.
    ///
    /// # Errors
    /// `PermissionDenied` when the caller may create files nowhere; `Unsupported` inside a
    /// transaction. Writing fails with what `control` says, with `LimitExceeded` above the size
    /// that the store allows, and as the disk does; such an error is inside the `std::io::Error`.
    ///
    /// ```
    #[doc = include_str!("example.txt")]
    /// use std::io::Write;
    ///
    /// let mut content = session.write_file(&Control::default())?;
    /// content.write_all(b"pas")?;
    /// content.write_all(b"sed")?;
    /// let file = session.commit_file(content, UploadFileRequest::new().name("log.txt"))?;
    /// assert_eq!(session.open_file(&file)?.len(), 6);
    /// # Ok::<(), stationdb::Error>(())
    /// ```
    fn write_file(&self, control: &Control) -> Result<ContentWriter> {
        ContentWriter::new(self, FileRecord::KIND.service, control)
    }

    /// Makes a file of content that was written. It is durable when this returns; on an error
    /// nothing is left. A transaction may commit what was written before it began.
    ///
    /// # Errors
    /// As [`FileService::upload_file`]; the error that ended the writing, if one did;
    /// `InvalidArgument` for content of another store.
    ///
    /// ```
    #[doc = include_str!("example.txt")]
    /// let content = session.write_file(&Control::default())?;
    /// let file = session.transaction(|tx| tx.commit_file(content,
    /// UploadFileRequest::new().name("empty")))?; assert!(session.open_file(&file)?.is_empty());
    /// # Ok::<(), stationdb::Error>(())
    /// ```
    #[writes]
    fn commit_file(&self, content: ContentWriter, request: UploadFileRequest) -> Result<FileId> {
        let upload = Upload::check(self, request)?;
        upload.room(self)?.declared(content.len())?;
        let new = content.finish(self)?;
        upload.write(self, new)
    }

    /// Writes the verified content of a file to `target`. Returns its length.
    ///
    /// # Errors
    /// `NotFound`; `Corrupt` if a byte differs from what was uploaded; errors of `target`;
    /// `Cancelled` and `DeadlineExceeded` by `control`.
    ///
    /// ```
    #[doc = include_str!("example.txt")]
    /// let mut bytes = Vec::new();
    /// session.download_file(&id, &mut bytes, &Control::default())?;
    /// assert_eq!(bytes, b"passed");
    /// # Ok::<(), stationdb::Error>(())
    /// ```
    fn download_file(&self, id: &FileId, target: &mut dyn Write, control: &Control) -> Result<u64> {
        self.open_file(id)?.copy_to(target, &self.context().control(control))
    }

    /// Opens the content of a file for ranged reads. The reader stays usable after the file is
    /// deleted, as long as the store is open.
    ///
    /// # Errors
    /// `NotFound`; `Corrupt` if the content is missing.
    ///
    /// ```
    #[doc = include_str!("example.txt")]
    /// use std::io::{Read, Seek, SeekFrom};
    ///
    /// let mut reader = session.open_file(&id)?;
    /// reader.seek(SeekFrom::Start(4))?;
    /// let mut rest = String::new();
    /// reader.read_to_string(&mut rest)?;
    /// assert_eq!(rest, "ed");
    /// # Ok::<(), stationdb::Error>(())
    /// ```
    fn open_file(&self, id: &FileId) -> Result<ContentReader> {
        // Opened inside the view: maintenance removes a blob only when no reader that began before
        // its deletion is left.
        self.read(|view| {
            let file = found(id, view.get::<FileRecord>(id)?)?;
            content::open(view, &file.content)
        })
    }

    /// Changes the properties or the workspace of a file.
    ///
    /// # Errors
    /// `NotFound`; `Conflict` if the file does not have the expected revision; `InvalidArgument`
    /// for an empty key or name.
    ///
    /// ```
    #[doc = include_str!("example.txt")]
    /// session.update_metadata(&id, UpdateMetadataRequest::new().properties([("station", "3")]))?;
    /// # Ok::<(), stationdb::Error>(())
    /// ```
    #[writes]
    fn update_metadata(&self, id: &FileId, request: UpdateMetadataRequest) -> Result<()> {
        check_properties(&request.properties, "properties")?;
        let id = id.to_owned();
        self.write(move |draft| change::update(draft, &id, request))
    }

    /// Deletes a file.
    ///
    /// # Errors
    /// `NotFound`.
    ///
    /// ```
    #[doc = include_str!("example.txt")]
    /// session.delete_file(&id)?;
    /// assert!(session.open_file(&id).is_err());
    /// # Ok::<(), stationdb::Error>(())
    /// ```
    #[writes]
    fn delete_file(&self, id: &FileId) -> Result<()> {
        let id = id.to_owned();
        self.write(move |draft| change::delete(draft, &id))
    }

    /// Deletes files. Files that exist are deleted even if others are missing.
    ///
    /// # Errors
    /// `PartialFailure` with one inner error for each id that is missing.
    ///
    /// ```
    #[doc = include_str!("example.txt")]
    /// session.delete_files(vec![id])?;
    /// # Ok::<(), stationdb::Error>(())
    /// ```
    #[writes]
    fn delete_files(&self, ids: Vec<FileId>) -> Result<()> {
        change::delete_many(self, ids)
    }

    /// Starts an upload in chunks. The upload session survives a restart of the store.
    ///
    /// # Errors
    /// `Unsupported` inside a transaction.
    ///
    /// ```
    #[doc = include_str!("example.txt")]
    /// let upload = session.start_upload_session(None)?;
    /// assert_eq!(session.query_upload_sessions()?[0].id, upload.id);
    /// # Ok::<(), stationdb::Error>(())
    /// ```
    #[writes]
    fn start_upload_session(&self, workspace: Option<String>) -> Result<UploadSession> {
        sessions::start(self, workspace)
    }

    /// Stores one chunk, durable when this returns. Indexes start at 1. Chunks may arrive in any
    /// order and concurrently. Each has exactly 10,485,760 bytes; the one sent with `close` is the
    /// last and may be shorter. A repeated index replaces the earlier bytes.
    ///
    /// # Errors
    /// `NotFound`; `InvalidArgument` for a wrong index or length; `Unsupported` inside a
    /// transaction.
    ///
    /// ```
    #[doc = include_str!("example.txt")]
    /// let upload = session.start_upload_session(None)?;
    /// // The last chunk may be shorter than the others.
    /// session.append_to_upload_session(&upload.id.into(), 1, &mut &b"passed"[..], true,
    /// &Control::default())?;
    /// # Ok::<(), stationdb::Error>(())
    /// ```
    #[writes]
    fn append_to_upload_session(
        &self,
        session_id: &UploadSessionId,
        chunk_index: u32,
        content: &mut dyn Read,
        close: bool,
        control: &Control,
    ) -> Result<()> {
        sessions::append(self, session_id, chunk_index, content, close, control)
    }

    /// Returns the unfinished upload sessions with the chunks that have arrived, so that an upload
    /// can be resumed after a restart.
    ///
    /// # Errors
    /// None specific to this call.
    ///
    /// ```
    #[doc = include_str!("example.txt")]
    /// assert!(session.query_upload_sessions()?.is_empty());
    /// # Ok::<(), stationdb::Error>(())
    /// ```
    fn query_upload_sessions(&self) -> Result<Vec<UploadSessionState>> {
        sessions::list(self)
    }

    /// Creates a file from the chunks. `name` takes precedence over a `Name` among the properties.
    ///
    /// # Errors
    /// `NotFound`; `InvalidArgument` if a chunk is missing; `Unsupported` inside a transaction.
    ///
    /// ```
    #[doc = include_str!("example.txt")]
    /// let upload = UploadSessionId::from(session.start_upload_session(None)?.id);
    /// session.append_to_upload_session(&upload, 1, &mut &b"passed"[..], true,
    /// &Control::default())?; let file = session.finish_upload_session(&upload, "log.txt",
    /// Default::default())?; assert_eq!(session.open_file(&file)?.len(), 6);
    /// # Ok::<(), stationdb::Error>(())
    /// ```
    #[writes]
    fn finish_upload_session(
        &self,
        session_id: &UploadSessionId,
        name: &str,
        properties: BTreeMap<String, String>,
    ) -> Result<FileId> {
        sessions::finish(self, session_id, name, properties)
    }

    /// Discards an upload session and its chunks.
    ///
    /// # Errors
    /// `NotFound`; `Unsupported` inside a transaction.
    ///
    /// ```
    #[doc = include_str!("example.txt")]
    /// let upload = UploadSessionId::from(session.start_upload_session(None)?.id);
    /// session.cancel_upload_session(&upload)?;
    /// # Ok::<(), stationdb::Error>(())
    /// ```
    #[writes]
    fn cancel_upload_session(&self, session_id: &UploadSessionId) -> Result<()> {
        sessions::cancel(self, session_id)
    }
}
}
