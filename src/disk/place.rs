//! What stands at and around a path of the system, for messages about paths.

use std::io;
use std::path::{Path, PathBuf, absolute};

/// The file that stands where `path` needs a directory: at the path, or at one of its parents.
#[must_use]
pub(crate) fn file_in_the_way(path: &Path) -> Option<PathBuf> {
    let path = absolute(path).ok()?;
    let found = path.ancestors().find(|part| part.exists())?;
    (!found.is_dir()).then(|| found.to_owned())
}

/// The nearest parent of `path` that exists.
#[must_use]
pub(crate) fn existing_parent(path: &Path) -> Option<PathBuf> {
    let path = absolute(path).ok()?;
    path.ancestors().skip(1).find(|part| part.exists()).map(Path::to_owned)
}

/// The names of the directories in the directory `parent`; none if it cannot be read.
#[must_use]
pub(crate) fn directories_in(parent: &Path) -> Vec<String> {
    /// Names that are read; a message needs no more.
    const MOST: usize = 10_000;
    let Ok(entries) = parent.read_dir() else { return Vec::new() };
    entries
        .take(MOST)
        .filter_map(|entry| {
            let entry = entry.ok()?;
            entry.path().is_dir().then(|| entry.file_name().to_string_lossy().into_owned())
        })
        .collect()
}

/// Whether `path` is `directory` or below it, also through links. Parts of the path that do not
/// exist are taken as they are written.
///
/// # Errors
/// Those of resolving the paths.
pub(crate) fn is_inside(path: &Path, directory: &Path) -> io::Result<bool> {
    let path = absolute(path)?;
    let Some(found) = path.ancestors().find(|part| part.exists()) else { return Ok(false) };
    Ok(found.canonicalize()?.starts_with(directory.canonicalize()?))
}
