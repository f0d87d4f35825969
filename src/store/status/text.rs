//! The form of the file `STATUS` and of notes: a text with a sum.

use serde::Serialize;
use serde::de::DeserializeOwned;
use xxhash_rust::xxh3::xxh3_64;

use crate::disk::{Mode, SharedDisk, parent, remove_if_there};
use crate::error::{Error, Result};

const MAGIC: &str = "stationdb status 1";
/// A longer file is none of ours.
const BYTES_MAX: u64 = 256 * 1024;

/// Reads a file; `None` if there is none.
///
/// # Errors
/// `Io`; `Corrupt` if its bytes are not those that were written.
pub(super) fn read<T: DeserializeOwned>(disk: &SharedDisk, name: &str) -> Result<Option<T>> {
    let failed = |error| Error::io(format!("reading {name}"), error);
    let file = match disk.open(name, Mode::Read) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        file => file.map_err(failed)?,
    };
    let len = file.len().map_err(failed)?;
    let damaged = || Error::corrupt(format!("{name} is damaged; it is begun again"));
    if len > BYTES_MAX {
        return Err(damaged());
    }
    let mut bytes = vec![0; usize::try_from(len).unwrap_or_default()];
    file.read_exact_at(&mut bytes, 0).map_err(failed)?;
    let text = String::from_utf8(bytes).map_err(|_| damaged())?;
    let parts = text.strip_prefix(MAGIC).and_then(|rest| rest.strip_prefix("\nsum "));
    let (sum, json) = parts.and_then(|rest| rest.split_once('\n')).ok_or_else(damaged)?;
    if sum != format!("{:016x}", xxh3_64(json.as_bytes())) {
        return Err(damaged());
    }
    serde_json::from_str(json).map(Some).map_err(|_| damaged())
}

/// Replaces a file by one that has another name first.
pub(super) fn write<T: Serialize>(
    disk: &SharedDisk,
    name: &str,
    new_name: &str,
    value: &T,
) -> Result<()> {
    let failed = |error| Error::io(format!("writing {name}"), error);
    let json = serde_json::to_string_pretty(value)
        .map_err(|error| Error::conflict(format!("internal error: {name}: {error}")))?;
    let text = format!("{MAGIC}\nsum {:016x}\n{json}", xxh3_64(json.as_bytes()));
    remove_if_there(&**disk, new_name).map_err(failed)?;
    let file = disk.open(new_name, Mode::CreateNew).map_err(failed)?;
    file.write_all_at(text.as_bytes(), 0).map_err(failed)?;
    file.sync_all().map_err(failed)?;
    drop(file);
    disk.rename(new_name, name).map_err(failed)?;
    disk.sync_dir(parent(name)).map_err(failed)
}
