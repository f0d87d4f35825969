//! The templates that the requests of one batch name.

use std::collections::BTreeMap;

use super::LabRecord;
use crate::error::Result;
use crate::services::service_record::found;
use crate::session::Draft;
use crate::value::stored;

/// Bytes of templates, in their stored form, that are kept. A batch that names more reads some of
/// them again.
const KEPT_BYTES: usize = if cfg!(test) { 1 << 10 } else { 1 << 20 };

/// Templates that were read for earlier requests of a batch, which changes no templates.
#[derive(Debug)]
pub(in crate::services) struct Templates<T> {
    known: BTreeMap<String, T>,
    bytes: usize,
}

impl<T> Default for Templates<T> {
    fn default() -> Self {
        Self { known: BTreeMap::new(), bytes: 0 }
    }
}

impl<T: LabRecord> Templates<T> {
    /// The template that a request names; an empty one for a request that names none.
    ///
    /// # Errors
    /// `NotFound` at `templateId` if there is no such template that the caller may see.
    pub(in crate::services) fn get(&mut self, draft: &Draft<'_>, id: Option<&String>) -> Result<T> {
        let Some(id) = id else { return Ok(T::default()) };
        if let Some(known) = self.known.get(id) {
            return Ok(known.clone());
        }
        let template = found(id, draft.get::<T>(id)?);
        let template = template.map_err(|error| error.at_member("templateId"))?;
        let bytes = stored::to_bytes(&template)?.len();
        if self.bytes + bytes > KEPT_BYTES {
            (self.known, self.bytes) = (BTreeMap::new(), 0);
        }
        if bytes <= KEPT_BYTES {
            self.bytes += bytes;
            self.known.insert(id.clone(), template.clone());
        }
        Ok(template)
    }
}
