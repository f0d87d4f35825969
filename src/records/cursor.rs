//! A cursor over a key range, from either end.

use super::error::from_redb;
use super::runs::Merged;
use crate::error::Result;

/// A cursor over a key range; `next` reads from the front. A cursor over the index space keeps the
/// direction of its first read.
pub(crate) struct Cursor<'a>(pub(super) Inner<'a>);

pub(super) enum Inner<'a> {
    /// A range of a tree.
    Tree(Part<'a>),
    /// Two ranges, one after the other.
    Trees(Box<[Part<'a>; 2]>),
    /// A range of the sorted runs.
    Runs(Merged<'a>),
}

/// A range of one table. Each key in the table has a prefix of `prefix_len` bytes that the key of
/// the space does not have.
pub(super) struct Part<'a> {
    pub(super) range: redb::Range<'a, &'static [u8], &'static [u8]>,
    pub(super) prefix_len: usize,
}

impl Part<'_> {
    /// The number of entries.
    pub(super) fn count(mut self) -> Result<u64> {
        let mut count = 0;
        while self.visit(false, |_, _| ())?.is_ok() {
            count += 1;
        }
        Ok(count)
    }

    /// Calls `f` with the next entry and returns its result; returns `f` back at the end of the
    /// range.
    pub(super) fn visit<T, F: FnOnce(&[u8], &[u8]) -> T>(
        &mut self,
        back: bool,
        f: F,
    ) -> Result<std::result::Result<T, F>> {
        let entry = if back { self.range.next_back() } else { self.range.next() };
        match entry {
            None => Ok(Err(f)),
            Some(Ok((key, value))) => {
                Ok(Ok(f(key.value().get(self.prefix_len..).unwrap_or_default(), value.value())))
            }
            Some(Err(error)) => Err(from_redb("read a key range", error)),
        }
    }
}

impl Cursor<'_> {
    /// The next key and value from the front.
    pub(crate) fn next(&mut self) -> Result<Option<(Vec<u8>, Vec<u8>)>> {
        self.visit(false, |key, value| (key.to_vec(), value.to_vec()))
    }

    /// Calls `f` with the next entry, without copying the entry, and returns its result.
    pub(crate) fn visit<T>(
        &mut self,
        back: bool,
        f: impl FnOnce(&[u8], &[u8]) -> T,
    ) -> Result<Option<T>> {
        match &mut self.0 {
            Inner::Tree(part) => Ok(part.visit(back, f)?.ok()),
            Inner::Trees(parts) => {
                let [one, other] = parts.as_mut();
                let (first, second) = if back { (other, one) } else { (one, other) };
                match first.visit(back, f)? {
                    Ok(found) => Ok(Some(found)),
                    Err(f) => Ok(second.visit(back, f)?.ok()),
                }
            }
            Inner::Runs(merged) => merged.visit(back, f),
        }
    }
}
