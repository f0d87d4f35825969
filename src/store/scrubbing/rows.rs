//! The rows of the record file, some at a time.

use std::sync::Arc;

use crate::error::Result;
use crate::records::{ReadSource, Space};
use crate::session::Engine;
use crate::store::readable::each_row;
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
/// Behind damage it goes on with the next row that can be read.
///
/// # Errors
/// Those that are no damage.
pub(super) fn walk(engine: &Arc<Engine>, space: Space, after: &str, most: u64) -> Result<Walked> {
    let snapshot = engine.snapshot();
    let source = ReadSource::Snapshot(&snapshot);
    let mut walked = Walked { after: after.to_owned(), ..Walked::default() };
    let after = bytes_of_hex(after).filter(|key| !key.is_empty());
    let (mut bytes, mut last) = (0, None);
    let (mut rows, mut gaps) = (Vec::new(), Vec::new());
    walked.is_done = each_row(
        source,
        space,
        after.as_deref(),
        &mut |key, value| {
            bytes += (key.len() + value.len()) as u64;
            last = Some(key.to_vec());
            if let Err(problem) = check_row(space, key, value) {
                rows.push((format!("key {}", hex(key)), problem.message().to_owned()));
            }
            Ok(bytes < most)
        },
        &mut |gap| {
            gaps.push((gap.place(), gap.error.message().to_owned()));
            Ok(())
        },
    )?;
    if let Some(last) = last {
        walked.after = hex(&last);
    }
    walked.bytes = bytes;
    walked.findings = [rows, gaps].concat();
    Ok(walked)
}
