//! Ranges of the tables of the record file.

use crate::error::Result;
use crate::records::error::from_redb;

/// A range of one table. Each key in the table has a prefix of `prefix_len` bytes that the key of
/// the space does not have.
pub(in crate::records) struct Part<'a> {
    pub(in crate::records) range: redb::Range<'a, &'static [u8], &'static [u8]>,
    pub(in crate::records) prefix_len: usize,
}

/// The ranges of a space.
#[expect(clippy::large_enum_variant, reason = "almost all spaces have one range")]
pub(in crate::records) enum Parts<'a> {
    One(Part<'a>),
    /// Two ranges, one after the other.
    Two(Box<[Part<'a>; 2]>),
}

type Guard<'a> = redb::AccessGuard<'a, &'static [u8]>;

/// What is called with the key and the value of an entry.
pub(in crate::records) type Visit<'f> = dyn FnMut(&[u8], &[u8]) + 'f;

/// A row of a table.
pub(in crate::records) struct Entry<'a> {
    key: Guard<'a>,
    value: Guard<'a>,
    prefix_len: usize,
}

impl Entry<'_> {
    /// The key in its space.
    pub(in crate::records) fn key(&self) -> &[u8] {
        self.key.value().get(self.prefix_len..).unwrap_or_default()
    }

    pub(in crate::records) fn value(&self) -> &[u8] {
        self.value.value()
    }
}

impl<'a> Part<'a> {
    /// The number of entries.
    pub(in crate::records) fn count(mut self) -> Result<u64> {
        let mut count = 0;
        while self.next(false)?.is_some() {
            count += 1;
        }
        Ok(count)
    }

    /// The next entry.
    pub(in crate::records) fn next(&mut self, back: bool) -> Result<Option<Entry<'a>>> {
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
    pub(in crate::records) fn next(&mut self, back: bool) -> Result<Option<Entry<'a>>> {
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
