//! A cursor over a key range, from either end.

use super::Found;
use super::file::parts::{Parts, Visit};
use super::memory::layered::Layered;
use super::runs::Merged;
use crate::error::Result;

/// A cursor over a key range; `next` reads from the front. It keeps the direction of its first
/// read.
pub(crate) struct Cursor<'a>(pub(super) Inner<'a>);

pub(super) enum Inner<'a> {
    /// Rows of the record file.
    Parts(Parts<'a>),
    /// Rows of the record file and of the layers over it.
    Layered(Box<Layered<'a>>),
    /// A range of the sorted runs.
    Runs(Merged<'a>),
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
        mut f: impl FnMut(&[u8], &[u8]) -> T,
    ) -> Result<Option<T>> {
        let mut made = None;
        self.visit_entry(back, &mut |key, value| made = Some(f(key, value)))?;
        Ok(made)
    }

    /// Calls `f` with the value of the next entry; returns false at the end.
    pub(super) fn visit_value(&mut self, f: &mut Found<'_>) -> Result<bool> {
        self.visit_entry(false, &mut |_, value| f(value))
    }

    /// As [`Self::visit`], compiled once for all callers; returns false at the end.
    fn visit_entry(&mut self, back: bool, f: &mut Visit<'_>) -> Result<bool> {
        match &mut self.0 {
            Inner::Parts(parts) => {
                let Some(entry) = parts.next(back)? else { return Ok(false) };
                f(entry.key(), entry.value());
                Ok(true)
            }
            Inner::Layered(layered) => layered.visit(back, f),
            Inner::Runs(merged) => merged.visit(back, f),
        }
    }
}
