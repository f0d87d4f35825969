//! The pages of redb 4.6's file format, version 3: their places and their layout.
//!
//! What must hold: no byte of a page is trusted. Offsets are computed in 64 bits, which the numbers
//! in a page cannot overflow, and every read is bounds-checked. What does not fit is `None`.

use std::ops::Range;

use xxhash_rust::xxh3::xxh3_128;

pub(in crate::records) const MAGIC: &[u8] = b"redb\x1A\x0A\xA9\x0D\x0A";
pub(in crate::records) const FORMAT_VERSION: u8 = 3;
pub(in crate::records) const PAGE_BYTES: u64 = 4096;
/// The largest value that redb writes for itself is the state of the free pages of a region, which
/// is less than one mebibyte.
pub(in crate::records) const PAGE_BYTES_MAX: u64 = 16 * 1024 * 1024;
/// Flags of the byte after the magic number.
pub(in crate::records) const PRIMARY_IS_SLOT_1: u8 = 1;
/// The file was not closed.
pub(in crate::records) const NOT_CLOSED: u8 = 2;
pub(in crate::records) const TWO_PHASES: u8 = 4;
/// Two slots follow the first 64 bytes of the file. The last bytes of a slot are its checksum.
pub(in crate::records) const SLOTS_AT: usize = 64;
pub(in crate::records) const SLOT_BYTES: usize = 128;
pub(in crate::records) const SLOT_SUMMED_BYTES: usize = SLOT_BYTES - 16;
pub(in crate::records) const HEADER_BYTES: usize = SLOTS_AT + 2 * SLOT_BYTES;
pub(in crate::records) const LEAF: u8 = 1;
pub(in crate::records) const BRANCH: u8 = 2;
/// A table with one value for each key. redb uses no other kind for its own tables.
pub(in crate::records) const NORMAL_TABLE: u8 = 3;

/// How the file is divided into regions. All regions have one size, except the last.
pub(in crate::records) struct Regions {
    pub(in crate::records) bytes: u64,
    pub(in crate::records) header_bytes: u64,
}

impl Regions {
    /// The place of a page. A page number consists of the index in its region, the region, and the
    /// binary logarithm of the size in pages.
    pub(in crate::records) fn place(&self, number: u64) -> Option<Range<u64>> {
        const TWENTY_BITS: u64 = 0xF_FFFF;
        let order = number >> 59;
        let (index, region) = (number & (TWENTY_BITS >> order), (number >> 20) & TWENTY_BITS);
        let len = PAGE_BYTES.checked_shl(u32::try_from(order).ok()?)?;
        let in_region = self.header_bytes.checked_add(index.checked_mul(len)?)?;
        let start =
            PAGE_BYTES.checked_add(region.checked_mul(self.bytes)?)?.checked_add(in_region)?;
        Some(start..start.checked_add(len)?)
    }
}

/// The number and the checksum of a page, as its parent stores them.
#[derive(Clone, Copy, Debug)]
pub(in crate::records) struct Child {
    pub(in crate::records) number: u64,
    pub(in crate::records) sum: u128,
}

impl Child {
    /// The root of a tree, as commit slots and table definitions store it.
    pub(in crate::records) fn root(bytes: &[u8], at: usize) -> Option<Self> {
        Some(Self { number: le(bytes, at).map(u64::from_le_bytes)?, sum: le_u128(bytes, at + 8)? })
    }
}

/// The lengths of keys and values of fixed length. For others, the page stores where each ends.
#[derive(Clone, Copy, PartialEq)]
pub(in crate::records) struct Widths {
    pub(in crate::records) key: Option<u64>,
    pub(in crate::records) value: Option<u64>,
}

impl Widths {
    /// Keys and values of any length, as in every table of ours and in the trees of tables.
    pub(in crate::records) const ANY: Self = Self { key: None, value: None };
}

/// What the header says about the commit that redb uses.
pub(in crate::records) struct Header {
    pub(in crate::records) regions: Regions,
    /// Whether the commit was one of two phases, so that redb does not verify it.
    pub(in crate::records) is_two_phase: bool,
    /// The root of the tree that lists the tables.
    pub(in crate::records) records: Option<Child>,
    /// The root of the tree that lists the system tables.
    pub(in crate::records) system: Option<Child>,
}

impl Header {
    /// Parses the header; `None` if it is damaged, or not in the form of redb 4.6.
    pub(in crate::records) fn new(header: &[u8]) -> Option<Self> {
        let god = *header.get(MAGIC.len())?;
        let (page, region_header, region_data) =
            (le_u32(header, 12)?, le_u32(header, 16)?, le_u32(header, 20)?);
        if !header.starts_with(MAGIC) || page != PAGE_BYTES {
            return None;
        }
        let slot_at = SLOTS_AT + usize::from(god & PRIMARY_IS_SLOT_1) * SLOT_BYTES;
        let slot = header.get(slot_at..slot_at + SLOT_BYTES)?;
        let summed = slot.get(..SLOT_SUMMED_BYTES)?;
        if *slot.first()? != FORMAT_VERSION || le_u128(slot, SLOT_SUMMED_BYTES)? != xxh3_128(summed)
        {
            return None;
        }
        let root = |flag: usize, at: usize| {
            slot.get(flag).filter(|flag| **flag != 0).and_then(|_| Child::root(slot, at))
        };
        let header_bytes = region_header * PAGE_BYTES;
        Some(Self {
            regions: Regions { bytes: header_bytes + region_data * PAGE_BYTES, header_bytes },
            is_two_phase: god & TWO_PHASES != 0,
            records: root(1, 8),
            system: root(2, 40),
        })
    }
}

/// A table, as the tree that lists the tables defines it.
pub(in crate::records) struct Table {
    pub(in crate::records) name: String,
    pub(in crate::records) root: Option<Child>,
    pub(in crate::records) widths: Widths,
}

impl Table {
    /// Parses a table definition; `None` if it is not one of redb 4.6 with one value for each key.
    pub(in crate::records) fn new(name: &[u8], definition: &[u8]) -> Option<Self> {
        let width = |at: usize| match definition.get(at)? {
            0 => Some(None),
            _ => le_u32(definition, at + 1).map(Some),
        };
        if *definition.first()? != NORMAL_TABLE {
            return None;
        }
        let root = if *definition.get(9)? == 0 { None } else { Some(Child::root(definition, 10)?) };
        let widths = Widths { key: width(42)?, value: width(47)? };
        Some(Self { name: String::from_utf8_lossy(name).into_owned(), root, widths })
    }
}

/// The bytes of a page. All offsets are computed in 64 bits, which the numbers in a page cannot
/// overflow.
pub(in crate::records) struct Node<'a> {
    pub(in crate::records) bytes: &'a [u8],
    pub(in crate::records) widths: Widths,
}

impl<'a> Node<'a> {
    pub(in crate::records) fn kind(&self) -> Option<u8> {
        self.bytes.first().copied()
    }

    /// The number of pairs of a leaf, or of keys of a branch.
    pub(in crate::records) fn count(&self) -> u64 {
        le(self.bytes, 2).map_or(0, |count| u64::from(u16::from_le_bytes(count)))
    }

    /// The bytes that the checksum covers: everything up to the end of the last value or the last
    /// key, but not the unused bytes after it.
    pub(in crate::records) fn summed(&self) -> Option<&'a [u8]> {
        let last = self.count().checked_sub(1)?;
        let end = match self.kind()? {
            LEAF => self.value_end(last)?,
            BRANCH => self.separator_end(last)?,
            _ => return None,
        };
        self.bytes.get(..usize::try_from(end).ok()?)
    }

    /// The `n`-th offset of the list of offsets that begins at `list`.
    pub(in crate::records) fn offset(&self, list: u64, n: u64) -> Option<u64> {
        le_u32(self.bytes, usize::try_from(list + 4 * n).ok()?)
    }

    /// The start of the list of value ends in a leaf. It follows the list of key ends, if there is
    /// one.
    pub(in crate::records) fn value_ends(&self) -> u64 {
        4 + self.widths.key.map_or(4 * self.count(), |_| 0)
    }

    pub(in crate::records) fn keys_start(&self) -> u64 {
        self.value_ends() + self.widths.value.map_or(4 * self.count(), |_| 0)
    }

    pub(in crate::records) fn key_end(&self, n: u64) -> Option<u64> {
        match self.widths.key {
            Some(width) => Some(self.keys_start() + width * (n + 1)),
            None => self.offset(4, n),
        }
    }

    pub(in crate::records) fn value_end(&self, n: u64) -> Option<u64> {
        match self.widths.value {
            Some(width) => Some(self.key_end(self.count().checked_sub(1)?)? + width * (n + 1)),
            None => self.offset(self.value_ends(), n),
        }
    }

    /// The end of a key of a branch. The keys follow the checksums and the numbers of the children.
    pub(in crate::records) fn separator_end(&self, n: u64) -> Option<u64> {
        let lists_end = 8 + 24 * (self.count() + 1);
        match self.widths.key {
            Some(width) => Some(lists_end + width * (n + 1)),
            None => self.offset(lists_end, n),
        }
    }

    pub(in crate::records) fn children(&self) -> impl Iterator<Item = Child> + use<'a> {
        let bytes = self.bytes;
        let children = usize::try_from(self.count() + 1).unwrap_or(0);
        let numbers = 8 + 16 * children;
        (0..children).filter_map(move |n| {
            Some(Child {
                number: le(bytes, numbers + 8 * n).map(u64::from_le_bytes)?,
                sum: le_u128(bytes, 8 + 16 * n)?,
            })
        })
    }

    /// Key and value of a pair of a leaf.
    pub(in crate::records) fn entry(&self, n: u64) -> Option<(&'a [u8], &'a [u8])> {
        let count = self.count();
        if n >= count {
            return None;
        }
        let key_start = match n.checked_sub(1) {
            Some(before) => self.key_end(before)?,
            None => self.keys_start(),
        };
        let value_start = match n.checked_sub(1) {
            Some(before) => self.value_end(before)?,
            None => self.key_end(count - 1)?,
        };
        Some((self.part(key_start, self.key_end(n)?)?, self.part(value_start, self.value_end(n)?)?))
    }

    /// A key of a branch: not less than the keys of the child before it, and less than those of the
    /// child after it.
    pub(in crate::records) fn separator(&self, n: u64) -> Option<&'a [u8]> {
        if n >= self.count() {
            return None;
        }
        let start = match n.checked_sub(1) {
            Some(before) => self.separator_end(before)?,
            None => 8 + 24 * (self.count() + 1) + self.widths.key.map_or(4 * self.count(), |_| 0),
        };
        self.part(start, self.separator_end(n)?)
    }

    fn part(&self, start: u64, end: u64) -> Option<&'a [u8]> {
        self.bytes.get(usize::try_from(start).ok()?..usize::try_from(end).ok()?)
    }

    /// The tables that a leaf of the tree of tables defines.
    pub(in crate::records) fn tables(&self) -> Vec<Table> {
        let entries = (0..self.count()).filter_map(|n| self.entry(n));
        entries.filter_map(|(name, definition)| Table::new(name, definition)).collect()
    }
}

pub(in crate::records) fn le<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    bytes.get(at..at.checked_add(N)?)?.try_into().ok()
}

pub(in crate::records) fn le_u32(bytes: &[u8], at: usize) -> Option<u64> {
    le(bytes, at).map(|bytes| u64::from(u32::from_le_bytes(bytes)))
}

pub(in crate::records) fn le_u128(bytes: &[u8], at: usize) -> Option<u128> {
    le(bytes, at).map(u128::from_le_bytes)
}
