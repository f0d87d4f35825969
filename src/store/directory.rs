//! The directories that a caller names: which are there, which are made, and what is wrong with the
//! others; and the one for views inside of a store.

use std::path::Path;
use std::sync::Arc;

use crate::disk::{
    RealDisk, SharedDisk, directories_in, existing_parent, file_in_the_way, is_inside,
};
use crate::error::{Error, ErrorKind, Result};
use crate::value::nearest::did_you_mean;

/// The directory in a store for the private copies of processes that look into it.
///
/// Not `look`: beside the file `LOOK` this is the same name on Windows and macOS.
pub(super) const VIEWS: &str = "views";

/// Removes the private copies that killed processes have left. What cannot be removed stays.
pub(super) fn remove_abandoned_views(disk: &SharedDisk) {
    if let Some(root) = disk.directory() {
        let _ = RealDisk::remove_abandoned(&root.join(VIEWS), is_view_name);
    }
}

/// The name of a private copy with this number.
pub(super) fn view_name(number: u64) -> String {
    format!("stationdb-{number:016x}")
}

/// Whether [`view_name`] makes such a name.
pub(super) fn is_view_name(name: &str) -> bool {
    let number = name.strip_prefix("stationdb-").and_then(|hex| u64::from_str_radix(hex, 16).ok());
    number.is_some_and(|number| view_name(number) == name)
}

/// Opens a directory that must exist. `attempt` says what it is for.
///
/// # Errors
/// `NotAStore` if a file stands there; `NotFound`, with the most similar name beside it, if nothing
/// does; `Io`.
pub(super) fn existing(path: &Path, attempt: &str) -> Result<Arc<RealDisk>> {
    check_no_file(path, attempt)?;
    RealDisk::open(path).map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => missing(path).context(attempt),
        _ => Error::io(attempt, error),
    })
}

/// Opens a directory, and makes it and its parents if they are missing.
///
/// # Errors
/// `NotAStore` if a file stands there; `Io`, `NoSpace`.
pub(super) fn made(path: &Path, attempt: &str) -> Result<Arc<RealDisk>> {
    check_no_file(path, attempt)?;
    RealDisk::create(path).map_err(|error| Error::io(attempt, error))
}

fn check_no_file(path: &Path, attempt: &str) -> Result<()> {
    let Some(file) = file_in_the_way(path) else { return Ok(()) };
    let message = format!("{} is a file; name a directory instead", file.display());
    Err(Error::new(ErrorKind::NotAStore, message).context(attempt))
}

fn missing(path: &Path) -> Error {
    let parent = existing_parent(path);
    let is_beside = parent.as_deref() == path.parent();
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let hint = match &parent {
        Some(parent) if is_beside => {
            let near = directories_in(parent);
            did_you_mean(&name, near.iter().map(String::as_str))
        }
        Some(parent) => {
            format!("; the last directory of the path that exists is {}", parent.display())
        }
        None => String::new(),
    };
    Error::new(
        ErrorKind::NotFound,
        format!("there is no directory {}{hint}; check the path", path.display()),
    )
}

/// Refuses a directory in which the copy of a store would be part of the store.
///
/// # Errors
/// `InvalidArgument`, `Io`.
pub(super) fn check_outside(path: &Path, store: &SharedDisk, attempt: &str) -> Result<()> {
    let Some(directory) = store.directory() else { return Ok(()) };
    if is_inside(path, &directory).map_err(|error| Error::io(attempt, error))? {
        let message =
            "the directory is the store itself, or inside of it; choose another directory";
        return Err(Error::invalid(message).context(attempt));
    }
    Ok(())
}
