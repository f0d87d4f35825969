//! The versions of a log, in order.

use object_store::path::Path;
use stationdb::{Control, Result};

use crate::checkpoint::version_file;
use crate::remote::Remote;

/// Versions that are read at a time.
const READ_AHEAD: u64 = 64;

/// Passes on the versions of a log from `next` on, until one does not exist.
///
/// # Errors
/// Errors of the object store and of `each`.
pub(crate) fn each(
    remote: &Remote,
    log: &Path,
    mut next: u64,
    control: &Control,
    each: &mut dyn FnMut(u64, &[u8]) -> Result<()>,
) -> Result<()> {
    let mut run = 1;
    loop {
        // Most logs have nothing new; those that have are read in longer and longer runs.
        run = (run * 2).min(READ_AHEAD);
        let files = (next..next + run).map(|version| version_file(log, version)).collect();
        let mut found = remote.get_run(files, control)?;
        if found.is_empty() {
            // The requests may have failed: only this one tells that there is none.
            match remote.get(&version_file(log, next), control)? {
                Some(bytes) => found.push(bytes),
                None => return Ok(()),
            }
        }
        for bytes in &found {
            each(next, bytes)?;
            next += 1;
        }
    }
}
