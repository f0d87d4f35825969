//! A pass over many entries of the index space, of which a second thread reads every other part.

use std::sync::mpsc::sync_channel;
use std::thread::{Builder, scope};

use super::{ReadSource, Snapshot, Space};
use crate::error::{Error, Result};
use crate::value::key;

/// Blocks of a part: some thousand entries.
const PART_BLOCKS: usize = 64;
/// Parts that are kept until they are wanted.
const PARTS_AHEAD: usize = 1;

/// What is called with the key and the value of an entry; returns whether the pass goes on.
type Each<'f> = dyn FnMut(&[u8], &[u8]) -> Result<bool> + 'f;

/// The entries of a part that was read ahead.
#[derive(Default)]
struct Part {
    bytes: Vec<u8>,
    /// The ends of the key and of the value of each entry.
    ends: Vec<(usize, usize)>,
}

impl Part {
    fn read(snapshot: &Snapshot, from: &[u8], to: &[u8]) -> Result<Self> {
        let mut part = Self::default();
        each_between(ReadSource::Snapshot(snapshot), from, Some(to), &mut |key, value| {
            part.bytes.extend_from_slice(key);
            let end = part.bytes.len();
            part.bytes.extend_from_slice(value);
            part.ends.push((end, part.bytes.len()));
            Ok(true)
        })?;
        Ok(part)
    }

    fn each(&self, f: &mut Each<'_>) -> Result<bool> {
        let mut start = 0;
        for (key_end, end) in &self.ends {
            let key = self.bytes.get(start..*key_end).unwrap_or_default();
            let value = self.bytes.get(*key_end..*end).unwrap_or_default();
            start = *end;
            if !f(key, value)? {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

fn each_between(
    source: ReadSource<'_>,
    from: &[u8],
    to: Option<&[u8]>,
    f: &mut Each<'_>,
) -> Result<bool> {
    let mut cursor = source.cursor(Space::Index, from, to)?;
    while let Some(go_on) = cursor.visit(false, &mut *f)? {
        if !go_on? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Calls `f` with the key and the value of each entry of the index space whose key starts with
/// `prefix`, in order, until it returns false.
pub(crate) fn each_entry(source: ReadSource<'_>, prefix: &[u8], f: &mut Each<'_>) -> Result<()> {
    match key::after_prefix(prefix) {
        Some(to) => in_parts(source, prefix, &to, PART_BLOCKS, f),
        None => each_between(source, prefix, None, f).map(drop),
    }
}

/// As [`each_entry`], from `from` (included) to `to` (excluded), in parts of so many blocks.
///
/// A second thread reads the parts between those that this one reads. It holds no more than two of
/// them, and is over when this returns. The state of a turn is read by its own thread alone.
pub(super) fn in_parts(
    source: ReadSource<'_>,
    from: &[u8],
    to: &[u8],
    blocks: usize,
    f: &mut Each<'_>,
) -> Result<()> {
    let whole = |f: &mut Each<'_>| each_between(source, from, Some(to), f).map(drop);
    let ReadSource::Snapshot(snapshot) = source else { return whole(f) };
    let middle = snapshot.stack().split_entries(from, to, blocks)?;
    if middle.is_empty() {
        return whole(f);
    }
    let mut bounds: Vec<&[u8]> = vec![from];
    bounds.extend(middle.iter().map(Vec::as_slice));
    bounds.push(to);
    let parts = || bounds.iter().zip(bounds.iter().skip(1));
    scope(|scope| {
        let (sender, receiver) = sync_channel(PARTS_AHEAD);
        let others = parts().skip(1).step_by(2);
        let read = move || {
            for (from, to) in others {
                if sender.send(Part::read(snapshot, from, to)).is_err() {
                    return;
                }
            }
        };
        // Where no thread can be started, this one reads all parts.
        let has_other = Builder::new().name("stationdb-pass".to_owned()).spawn_scoped(scope, read);
        let has_other = has_other.is_ok();
        for (at, (from, to)) in parts().enumerate() {
            let go_on = if has_other && at % 2 == 1 {
                // Without a part the thread has panicked, which the end of the scope tells.
                let lost = || Error::corrupt("records.redb: a part of an index cannot be read");
                receiver.recv().map_err(|_| lost())??.each(f)?
            } else {
                each_between(source, from, Some(to), f)?
            };
            if !go_on {
                break;
            }
        }
        Ok(())
    })
}
