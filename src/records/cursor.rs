//! A cursor over a key range, from either end.

use super::error::from_redb;
use super::runs::Merged;
use crate::error::Result;

/// A cursor over a key range; `next` takes from the front. A cursor over the index space keeps the direction that it was
/// first moved in.
pub(crate) struct Cursor<'a>(pub(super) Inner<'a>);

pub(super) enum Inner<'a> {
    /// A range of a tree.
    Tree(redb::Range<'a, &'static [u8], &'static [u8]>),
    /// A range of the sorted runs.
    Runs(Merged<'a>),
}

impl Cursor<'_> {
    /// The next key and value from the front.
    pub(crate) fn next(&mut self) -> Result<Option<(Vec<u8>, Vec<u8>)>> {
        self.visit(false, |key, value| (key.to_vec(), value.to_vec()))
    }

    /// What `f` makes of the next entry, without copying it.
    pub(crate) fn visit<T>(&mut self, back: bool, f: impl FnOnce(&[u8], &[u8]) -> T) -> Result<Option<T>> {
        let range = match &mut self.0 {
            Inner::Tree(range) => range,
            Inner::Runs(merged) => return merged.visit(back, f),
        };
        let entry = if back { range.next_back() } else { range.next() };
        match entry {
            None => Ok(None),
            Some(Ok((key, value))) => Ok(Some(f(key.value(), value.value()))),
            Some(Err(error)) => Err(from_redb("read a key range", error)),
        }
    }
}
