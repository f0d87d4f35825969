//! Changes and deletions of files.

use crate::error::{ApiError, Error, ErrorKind, Result};
use crate::model::files::file::NAME;
use crate::model::{FileId, FileRecord, Resource, UpdateMetadataRequest};
use crate::services::batch::{Umbrella, distinct, is_item_error};
use crate::services::content;
use crate::services::files::not_found;
use crate::session::{Access, Draft, What};

pub(super) fn update(
    draft: &mut Draft<'_>,
    id: &str,
    request: UpdateMetadataRequest,
) -> Result<()> {
    let mut file = draft.get::<FileRecord>(id)?.ok_or_else(|| not_found(id))?;
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
    let file = draft.delete::<FileRecord>(id)?.ok_or_else(|| not_found(id))?;
    content::forget(draft, &file.content);
    Ok(())
}

/// Deletes the files that exist.
pub(super) fn delete_many<A: Access>(access: &A, ids: Vec<FileId>) -> Result<()> {
    if ids.is_empty() {
        return Ok(());
    }
    let ids = distinct(ids.into_iter().map(|id| FileId::parse(&id).unwrap_or(id)).collect());
    let inner: Vec<ApiError> = access.write(move |draft| {
        let mut inner = Vec::new();
        for id in ids {
            match delete(draft, &id) {
                Ok(()) => {}
                Err(error) if is_item_error(&error) => {
                    let mut api = error.api_error();
                    api.resource_type.get_or_insert_with(|| FileRecord::KIND.name.to_owned());
                    api.resource_id.get_or_insert(id);
                    inner.push(api);
                }
                Err(error) => return Err(error),
            }
        }
        Ok(inner)
    })?;
    if inner.is_empty() {
        return Ok(());
    }
    let umbrella = Umbrella::FILES_AND_ASSETS;
    Err(Error::new(
        ErrorKind::PartialFailure,
        format!("{} of the files could not be deleted", inner.len()),
    )
    .with_name(umbrella.name, Some(umbrella.code))
    .with_inner(inner))
}
