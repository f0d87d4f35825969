//! What stands at and around a path of the system, for messages about paths.

use std::io;
use std::path::{Component, Path, PathBuf, absolute};

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
/// exist count as the directories that whoever uses the path would make.
///
/// # Errors
/// Those of resolving the paths.
pub(crate) fn is_inside(path: &Path, directory: &Path) -> io::Result<bool> {
    let mut found = PathBuf::new();
    for part in absolute(path)?.components() {
        if part == Component::ParentDir {
            found.pop();
            continue;
        }
        found.push(part);
        // A link that leads nowhere does not exist, and nothing can be made at it.
        if found.exists() {
            found = found.canonicalize()?;
        }
    }
    Ok(found.starts_with(directory.canonicalize()?))
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn a_path_leads_into_a_directory_whatever_stands_before_it() {
        let root = tempfile::tempdir().unwrap();
        let path = |name: &str| root.path().join(name);
        for name in ["store", "other"] {
            std::fs::create_dir(path(name)).unwrap();
        }
        std::os::unix::fs::symlink(path("store"), path("link")).unwrap();
        let store = path("store");
        for (name, is_in) in [
            ("store", true),
            ("store/new/deep", true),
            ("other/../store/new", true),
            ("missing/../store/new", true),
            ("missing/deep/../../store", true),
            ("link/new", true),
            ("link/../link/new", true),
            ("store/../other", false),
            ("store/missing/../../other", false),
            ("stores", false),
            ("missing/store", false),
        ] {
            assert_eq!(is_inside(&path(name), &store).unwrap(), is_in, "{name}");
        }
    }
}
