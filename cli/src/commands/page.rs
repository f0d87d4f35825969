//! Pages: files that appear when they are complete.

use std::io::Write as _;
use std::path::Path;

use super::rows::DraftFile;
use crate::failure::Outcome;

/// Whether the name of a file ends with a dot and this, in any letter case.
pub fn has_extension(path: &Path, wanted: &str) -> bool {
    path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case(wanted))
}

/// Writes a page into a file.
pub fn save(target: &Path, page: &str) -> Outcome {
    let draft = DraftFile::new(target, ".html")?;
    let mut file = draft.create()?;
    let written = file.write_all(page.as_bytes()).and_then(|()| file.sync_all());
    written.map_err(|error| draft.failed(&error))?;
    draft.finish()
}
