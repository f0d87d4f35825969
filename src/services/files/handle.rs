//! The file service over a session or a transaction.

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
use crate::services::files::create::check_properties;
use crate::services::files::listing::{
    linq_answer, linq_query, list_query, parsed, response, search_query, structured_query,
};
use crate::services::files::query::{page, structured};
use crate::services::files::upload::Upload;
use crate::services::files::{FileService, change, not_found, sessions};
use crate::session::{Access, Handle, Plan};
use crate::value::{Control, limits};

impl FileService for Handle<'_, '_> {
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

    fn get_files(&self, request: GetFilesRequest) -> Result<FileQueryResponse> {
        let query = list_query(&request)?;
        Ok(response(&self.read(|view| view.query::<FileRecord>(&query))?))
    }

    fn query_files(&self, request: QueryFilesRequest) -> Result<FileQueryResponse> {
        let page = page(request.skip, request.take, true, limits::FILES_TAKE_DEFAULT)?;
        let clause = structured(&request)?;
        let query = structured_query(page, &clause);
        Ok(response(&self.read(|view| view.query::<FileRecord>(&query))?))
    }

    fn explain_query_files(&self, request: QueryFilesRequest) -> Result<Plan> {
        let page = page(request.skip, request.take, true, limits::FILES_TAKE_DEFAULT)?;
        let clause = structured(&request)?;
        let query = structured_query(page, &clause);
        self.read(|view| Ok(view.query_with_plan::<FileRecord>(&query)?.1))
    }

    fn query_files_linq(&self, request: FileLinqQueryRequest) -> Result<FileLinqQueryResponse> {
        linq_answer(self, &linq_query(&request)?)
    }

    fn explain_query_files_linq(&self, request: FileLinqQueryRequest) -> Result<Plan> {
        let query = linq_query(&request)?;
        self.read(|view| Ok(view.query_with_plan::<FileRecord>(&query)?.1))
    }

    fn search_files(&self, request: SearchFilesRequest) -> Result<FileLinqQueryResponse> {
        let (page, clause) = parsed(&request)?;
        linq_answer(self, &search_query(&request, page, &clause))
    }

    fn explain_search_files(&self, request: SearchFilesRequest) -> Result<Plan> {
        let (page, clause) = parsed(&request)?;
        let query = search_query(&request, page, &clause);
        self.read(|view| Ok(view.query_with_plan::<FileRecord>(&query)?.1))
    }

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

    fn write_file(&self, control: &Control) -> Result<ContentWriter> {
        ContentWriter::new(self, FileRecord::KIND.service, control)
    }

    fn commit_file(&self, content: ContentWriter, request: UploadFileRequest) -> Result<FileId> {
        let upload = Upload::check(self, request)?;
        upload.room(self)?.declared(content.len())?;
        let new = content.finish(self)?;
        upload.write(self, new)
    }

    fn download_file(&self, id: &FileId, target: &mut dyn Write, control: &Control) -> Result<u64> {
        self.open_file(id)?.copy_to(target, &self.context().control(control))
    }

    fn open_file(&self, id: &FileId) -> Result<ContentReader> {
        // Opened inside the view: maintenance removes a blob only when no reader that began before
        // its deletion is left.
        self.read(|view| {
            let file = view.get::<FileRecord>(id)?.ok_or_else(|| not_found(id))?;
            content::open(view, &file.content)
        })
    }

    fn update_metadata(&self, id: &FileId, request: UpdateMetadataRequest) -> Result<()> {
        check_properties(&request.properties, "properties")?;
        let id = id.to_owned();
        self.write(move |draft| change::update(draft, &id, request))
    }

    fn delete_file(&self, id: &FileId) -> Result<()> {
        let id = id.to_owned();
        self.write(move |draft| change::delete(draft, &id))
    }

    fn delete_files(&self, ids: Vec<FileId>) -> Result<()> {
        change::delete_many(self, ids)
    }

    fn start_upload_session(&self, workspace: Option<String>) -> Result<UploadSession> {
        sessions::start(self, workspace)
    }

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

    fn query_upload_sessions(&self) -> Result<Vec<UploadSessionState>> {
        sessions::list(self)
    }

    fn finish_upload_session(
        &self,
        session_id: &UploadSessionId,
        name: &str,
        properties: BTreeMap<String, String>,
    ) -> Result<FileId> {
        sessions::finish(self, session_id, name, properties)
    }

    fn cancel_upload_session(&self, session_id: &UploadSessionId) -> Result<()> {
        sessions::cancel(self, session_id)
    }
}
