//! Uploads whose bytes come in one piece: checked, written, and named in one commit.

use std::collections::BTreeMap;

use crate::error::Result;
use crate::model::{FileId, FileRecord, Resource, UploadFileRequest, Usage};
use crate::services::content::{self, Room};
use crate::services::files::create::{NewFile, check_properties, create, id_taken};
use crate::session::Access;
use crate::value::Action;

/// An upload whose request was checked, beside its content.
pub(super) struct Upload {
    id: Option<FileId>,
    properties: BTreeMap<String, String>,
    name: Option<String>,
    workspace: String,
}

impl Upload {
    /// Refuses what can be refused before the bytes are read. The write turn checks all of it
    /// again, because the policy and the records may have changed.
    pub(super) fn check<A: Access>(access: &A, request: UploadFileRequest) -> Result<Self> {
        let context = access.context();
        let id = request.id.as_deref().map(FileId::parse).transpose();
        let id = id.map_err(|error| error.with_name("Files.InvalidId", None).at_member("id"))?;
        check_properties(&request.metadata, "metadata")?;
        let workspace = request.workspace.unwrap_or_else(|| context.default_workspace().to_owned());
        context.require(FileRecord::KIND.service, Action::Create, &workspace)?;
        access.read(|view| view.require_workspace(&workspace))?;
        if let Some(id) = &id {
            let taken = access.read(|view| {
                match crate::value::RecordKey::parse(FileRecord::KIND.id, id) {
                    Some(key) => view.any_by_key::<FileRecord>(key),
                    None => Ok(None),
                }
            })?;
            if taken.is_some() {
                return Err(id_taken(id));
            }
        }
        Ok(Self { id, properties: request.metadata, name: request.name, workspace })
    }

    /// The room for its content.
    ///
    /// # Errors
    /// `LimitExceeded` when there is none, whatever its length.
    pub(super) fn room<'a, A: Access>(&self, access: &'a A) -> Result<Room<'a>> {
        Room::new(access, &self.workspace, Usage::of_new_record())
    }

    pub(super) fn write<A: Access>(self, access: &A, new: content::NewContent) -> Result<FileId> {
        let draft_content = new.draft();
        let Self { id, properties, name, workspace } = self;
        let file = NewFile { id, properties, name, workspace, content: new.content.clone() };
        let written = access.write(move |draft| {
            let id = create(draft, file)?;
            draft_content(draft);
            Ok(id)
        });
        new.settle(written)
    }
}
