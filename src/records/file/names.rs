//! Whether the names of a store still lead to the files that it has open.
//!
//! Commits to a file that lost its name would be lost when the store is closed.

use std::io;

use crate::disk::{FileId, SharedDisk};
use crate::error::{Error, ErrorKind, Result};

/// The name of an open file.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OpenName {
    pub(in crate::records) name: &'static str,
    /// The file that was opened by this name.
    pub(in crate::records) id: FileId,
}

/// Checks that each name leads to its open file.
///
/// # Errors
/// `Latched` if one does not; `Io` if that cannot be determined.
pub(crate) fn check_names(disk: &SharedDisk, names: &[OpenName]) -> Result<()> {
    let paths: Vec<_> = names.iter().map(|open| open.name).collect();
    names.iter().zip(disk.file_ids(&paths)).try_for_each(|(open, found)| check(*open, found))
}

fn check(open: OpenName, found: io::Result<FileId>) -> Result<()> {
    let name = open.name;
    let lost = |what: &str| {
        Error::new(
            ErrorKind::Latched,
            format!(
                "{what}, so no further write is accepted; move the files of the store back, or \
                 back up the open store, then close and reopen it"
            ),
        )
    };
    match found {
        Ok(id) if id == open.id => Ok(()),
        Ok(_) => {
            Err(lost(&format!("{name} was replaced by another file while the store was open")))
        }
        Err(error) => match error.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => {
                Err(lost(&format!("{name} was moved or removed while the store was open")))
            }
            io::ErrorKind::StaleNetworkFileHandle => {
                Err(lost(&error.to_string()).with_source(error))
            }
            _ => Err(Error::io(format!("checking that {name} is in its place"), error)),
        },
    }
}
