//! Ranges of the tables of the record file.

use super::error::from_redb;
use crate::error::Result;

/// A range of one table. Each key in the table has a prefix of `prefix_len` bytes that the key of
/// the space does not have.
pub(super) struct Part<'a> {
    pub(super) range: redb::Range<'a, &'static [u8], &'static [u8]>,
    pub(super) prefix_len: usize,
}

/// The ranges of a space.
#[expect(clippy::large_enum_variant, reason = "almost all spaces have one range")]
pub(super) enum Parts<'a> {
    One(Part<'a>),
    /// Two ranges, one after the other.
    Two(Box<[Part<'a>; 2]>),
}

type Guard<'a> = redb::AccessGuard<'a, &'static [u8]>;

/// What is called with the key and the value of an entry.
pub(super) type Visit<'f> = dyn FnMut(&[u8], &[u8]) + 'f;

/// A row of a table.
pub(super) struct Entry<'a> {
    key: Guard<'a>,
    value: Guard<'a>,
    prefix_len: usize,
}

impl Entry<'_> {
    /// The key in its space.
    pub(super) fn key(&self) -> &[u8] {
        self.key.value().get(self.prefix_len..).unwrap_or_default()
    }

    pub(super) fn value(&self) -> &[u8] {
        self.value.value()
    }
}

impl<'a> Part<'a> {
    /// The number of entries.
    pub(super) fn count(mut self) -> Result<u64> {
        let mut count = 0;
        while self.next(false)?.is_some() {
            count += 1;
        }
        Ok(count)
    }

    /// The next entry.
    pub(super) fn next(&mut self, back: bool) -> Result<Option<Entry<'a>>> {
        let entry = if back { self.range.next_back() } else { self.range.next() };
        match entry {
            None => Ok(None),
            Some(Ok((key, value))) => Ok(Some(Entry { key, value, prefix_len: self.prefix_len })),
            Some(Err(error)) => Err(from_redb("read a key range", error)),
        }
    }
}

impl<'a> Parts<'a> {
    /// The next entry.
    pub(super) fn next(&mut self, back: bool) -> Result<Option<Entry<'a>>> {
        match self {
            Self::One(part) => part.next(back),
            Self::Two(parts) => {
                let [one, other] = parts.as_mut();
                let (first, second) = if back { (other, one) } else { (one, other) };
                match first.next(back)? {
                    Some(found) => Ok(Some(found)),
                    None => second.next(back),
                }
            }
        }
    }
}
