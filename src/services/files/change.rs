//! Changes and deletions of files.

use crate::error::{Error, Result};
use crate::model::{FileId, FileRecord, NAME, Resource, UpdateMetadataRequest};
use crate::services::batch::{self, distinct};
use crate::services::content;
use crate::services::service_record::found;
use crate::session::{Access, Draft, What};

pub(super) fn update(
    draft: &mut Draft<'_>,
    id: &str,
    request: UpdateMetadataRequest,
) -> Result<()> {
    let mut file = found(id, draft.get::<FileRecord>(id)?)?;
    if let Some(expected) = request.expected_revision
        && expected != file.metadata_revision
    {
        return Err(Error::conflict(format!(
            "the file {} has the metadata revision {}, not {expected}; read it again",
            file.id, file.metadata_revision
        ))
        .with_name("Files.RevisionConflict", None)
        .with_resource(FileRecord::KIND.name, file.id.as_str())
        .with_args([file.metadata_revision.to_string(), expected.to_string()]));
    }
    if request.replace_existing {
        let name = file.display_name().to_owned();
        file.properties = request.properties;
        file.properties.entry(NAME.to_owned()).or_insert(name);
    } else {
        file.properties.extend(request.properties);
    }
    if let Some(workspace) = request.workspace {
        file.workspace = workspace;
    }
    file.metadata_revision = file.metadata_revision.saturating_add(1);
    file.last_updated = draft.now().max(file.created);
    draft.put(&file, What::Updated)
}

pub(super) fn delete(draft: &mut Draft<'_>, id: &str) -> Result<()> {
    let file = found(id, draft.delete::<FileRecord>(id)?)?;
    content::forget(draft, &file.content);
    Ok(())
}

/// Deletes the files that exist.
pub(super) fn delete_many<A: Access>(access: &A, ids: Vec<FileId>) -> Result<()> {
    let ids = ids.into_iter().map(|id| FileId::parse(&id).unwrap_or(id)).collect();
    batch::delete_or_fail::<FileRecord>(access, distinct(ids), delete)
}
