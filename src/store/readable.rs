//! The rows of a space that can be read, also behind damage.

use super::findings::checked;
use crate::error::{Error, Result};
use crate::records::{ReadSource, Space};

/// Rows of a space that cannot be read.
#[derive(Debug)]
pub(super) struct Gap {
    /// The key before them; `None` if they are the first ones.
    pub(super) after: Option<Vec<u8>>,
    /// The key behind them; `None` if they are the last ones.
    pub(super) until: Option<Vec<u8>>,
    pub(super) error: Error,
}

impl Gap {
    /// The keys, as findings name them.
    pub(super) fn place(&self) -> String {
        let bound = |key: &Option<Vec<u8>>| {
            key.as_deref().map_or_else(|| "its end".to_owned(), crate::value::id::hex)
        };
        format!("keys between {} and {}", bound(&self.after), bound(&self.until))
    }
}

/// Calls `f` with the rows of a space behind the key `after`, in the order of their keys, as long
/// as it returns true. Calls `lost` for each gap, and goes on behind it. Returns whether the space
/// has no more rows.
///
/// # Errors
/// Those of `f` and `lost`, and those of reading that are no damage.
pub(super) fn each_row(
    source: ReadSource<'_>,
    space: Space,
    after: Option<&[u8]>,
    f: &mut dyn FnMut(&[u8], &[u8]) -> Result<bool>,
    lost: &mut dyn FnMut(Gap) -> Result<()>,
) -> Result<bool> {
    let mut last = after.map(<[u8]>::to_vec);
    let mut from = last.as_deref().map_or_else(Vec::new, |last| [last, &[0]].concat());
    let mut is_behind_gap = false;
    loop {
        let mut has_read = false;
        let mut ended = Ok(true);
        let read = checked("reading the records", || {
            let mut cursor = source.cursor(space, &from, None)?;
            loop {
                let visited = cursor.visit(false, |key, value| {
                    has_read = true;
                    let last = last.get_or_insert_default();
                    last.clear();
                    last.extend_from_slice(key);
                    f(key, value)
                })?;
                match visited {
                    Some(Ok(true)) => {}
                    Some(stopped) => {
                        ended = stopped;
                        return Ok(());
                    }
                    None => return Ok(()),
                }
            }
        })?;
        let Err(error) = read else { return ended };
        if is_behind_gap && !has_read {
            // What could be read behind the gap before cannot be read now.
            last = Some(from);
        }
        let until = behind(source, space, last.as_deref())?;
        lost(Gap { after: last.clone(), until: until.clone(), error })?;
        let Some(until) = until else { return Ok(true) };
        from = until;
        is_behind_gap = true;
    }
}

/// The key of the first row that can be read behind damage that comes after the key `last`; `None`
/// if there is none.
///
/// It tries keys that come after it, in steps that grow: what is damaged has the place of a page,
/// and the keys of a page have a beginning in common. From the first one behind which a row can be
/// read it goes back to the damage.
fn behind(source: ReadSource<'_>, space: Space, last: Option<&[u8]>) -> Result<Option<Vec<u8>>> {
    for start in starts(last.unwrap_or_default()) {
        let found = checked("reading the records", || {
            source.cursor(space, &start, None)?.visit(false, |key, _| key.to_vec())
        })?;
        let Ok(mut edge) = found else { continue };
        // The page of the last key can be read, so a walk may begin at it. The damage ends it.
        let _ = checked("reading the records", || {
            let first = last.unwrap_or_default();
            let mut cursor = source.cursor(space, first, Some(start.as_slice()))?;
            while let Some(key) = cursor.visit(true, |key, _| key.to_vec())? {
                if last.is_some_and(|last| key.as_slice() <= last) {
                    break;
                }
                edge = Some(key);
            }
            Ok(())
        })?;
        return Ok(edge);
    }
    Ok(None)
}

/// Keys that come after a key, in growing steps: for each of its beginnings, the first key that has
/// not this beginning; then each first byte that is greater.
fn starts(key: &[u8]) -> impl Iterator<Item = Vec<u8>> {
    let whole = key.to_vec();
    let beginnings = (2..=key.len()).rev().filter_map(move |len| {
        let (last, rest) = whole.get(..len)?.split_last()?;
        Some([rest, &[last.checked_add(1)?]].concat())
    });
    let first = key.first().copied().map_or(0, |first| first.saturating_add(1));
    let is_last = key.first() == Some(&u8::MAX);
    beginnings.chain((first..=u8::MAX).filter(move |_| !is_last).map(|byte| vec![byte]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_behind_a_key_are_tried_in_growing_steps() {
        let starts: Vec<Vec<u8>> = starts(&[250, 255, 7]).collect();
        let first: [&[u8]; 3] = [&[250, 255, 8], &[251], &[252]];
        assert_eq!(starts[..3], first);
        assert_eq!(starts.last().unwrap(), &[255]);
        assert!(super::starts(&[255]).next().is_none());
        assert_eq!(super::starts(&[]).count(), 256);
    }
}
