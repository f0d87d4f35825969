//! Drafts the creation of a file.

use std::collections::BTreeMap;

use crate::error::{Error, Result};
use crate::model::{FileId, FileRecord, NAME, Resource, StoredContent};
use crate::services::service_record::{ServiceRecord, Umbrella};
use crate::session::{Draft, What};

/// The members of a file that is created.
pub(super) struct NewFile {
    pub(super) id: Option<FileId>,
    pub(super) properties: BTreeMap<String, String>,
    pub(super) name: Option<String>,
    pub(super) workspace: String,
    pub(super) content: StoredContent,
}

pub(super) fn check_properties(properties: &BTreeMap<String, String>, member: &str) -> Result<()> {
    if properties.contains_key("") {
        return Err(Error::invalid("a property has an empty key").at_member(member));
    }
    if properties.get(NAME).is_some_and(String::is_empty) {
        return Err(Error::invalid("the name of a file cannot be empty")
            .at_member(format!("{member}.{NAME}")));
    }
    Ok(())
}

impl ServiceRecord for FileRecord {
    const UMBRELLA: Umbrella = Umbrella::FILES_AND_ASSETS;
    const ABSENT: (&'static str, Option<i64>) = ("FileIngestion.IdNotFound", Some(-251_608));
}

pub(super) fn id_taken(id: &FileId) -> Error {
    Error::conflict(format!("a file with the id {id} already exists"))
        .with_name("Files.IdTaken", None)
        .with_resource(FileRecord::KIND.name, id.as_str())
        .with_args([id.as_str()])
}

/// Drafts a new file.
pub(super) fn create(draft: &mut Draft<'_>, new: NewFile) -> Result<FileId> {
    check_properties(&new.properties, "metadata")?;
    let id = match new.id {
        Some(id) => id,
        None => FileId::from(draft.new_key::<FileRecord>()?),
    };
    let mut properties = new.properties;
    properties.entry(NAME.to_owned()).or_insert_with(|| match new.name {
        Some(name) if !name.is_empty() => name,
        _ => id.to_string(),
    });
    let file = FileRecord {
        id: id.clone(),
        created: draft.now(),
        last_updated: draft.now(),
        properties,
        metadata_revision: 1,
        workspace: new.workspace,
        content: new.content,
        user_id: Some(draft.user().to_owned()),
    };
    // An id is taken even if the caller may not see the file that has it.
    if let Some(key) = file.key()
        && draft.any_by_key::<FileRecord>(key)?.is_some()
    {
        return Err(id_taken(&id));
    }
    draft.put(&file, What::Created)?;
    Ok(id)
}
