//! The rows of the record file, some at a time.

use std::sync::Arc;

use crate::error::Result;
use crate::records::{ReadSource, Space};
use crate::session::Engine;
use crate::store::findings::checked;
use crate::store::scrub::check_row;
use crate::value::id::{bytes_of_hex, hex};

/// What a walk over some rows read.
#[derive(Debug, Default)]
pub(super) struct Walked {
    pub(super) bytes: u64,
    /// The last key, as hexadecimal digits.
    pub(super) after: String,
    /// Whether there are no more rows.
    pub(super) is_done: bool,
    /// Places and problems.
    pub(super) findings: Vec<(String, String)>,
}

/// Reads the rows of a space after a key until they have `most` bytes, and checks each by itself.
/// Damage that no row can be read behind ends the space.
///
/// # Errors
/// Those that are no damage.
pub(super) fn walk(engine: &Arc<Engine>, space: Space, after: &str, most: u64) -> Result<Walked> {
    let snapshot = engine.snapshot();
    let source = ReadSource::Snapshot(&snapshot);
    let mut walked = Walked { after: after.to_owned(), ..Walked::default() };
    let from = match bytes_of_hex(after) {
        Some(key) if !after.is_empty() => [key.as_slice(), &[0]].concat(),
        _ => Vec::new(),
    };
    let read = checked("scrubbing the records", || {
        let mut cursor = source.cursor(space, &from, None)?;
        while walked.bytes < most {
            let read = cursor.visit(false, |key, value| {
                let problem = check_row(space, key, value).err();
                (key.to_vec(), value.len(), problem)
            })?;
            let Some((key, value_len, problem)) = read else {
                walked.is_done = true;
                break;
            };
            walked.bytes += (key.len() + value_len) as u64;
            walked.after = hex(&key);
            if let Some(problem) = problem {
                let place = format!("key {}", walked.after);
                walked.findings.push((place, problem.message().to_owned()));
            }
        }
        Ok(())
    })?;
    if let Err(error) = read {
        let place = match walked.after.as_str() {
            "" => "its first keys".to_owned(),
            after => format!("the keys after {after}"),
        };
        walked.findings.push((place, error.message().to_owned()));
        walked.is_done = true;
    }
    Ok(walked)
}
