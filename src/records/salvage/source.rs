//! Pages of a damaged record file: read, compared with their checksums, and repaired in memory if a
//! single bit is wrong.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::ops::Range;

use xxhash_rust::xxh3::xxh3_128;

use crate::disk::DiskFile;
use crate::records::pages::{Child, Node, PAGE_BYTES, Regions, Widths};

/// The regions of the files that this crate creates: 4 GiB each, without headers. The header stores
/// the same, but it may be damaged.
pub(super) const REGIONS: Regions = Regions { bytes: 1 << 32, header_bytes: 0 };

/// Keys and values of our tables have variable length.
pub(super) const ANY: Widths = Widths::ANY;

/// Pages up to this size are searched for a single wrong bit.
const MEND_BYTES: usize = 16 * 1024;
/// Limit of the number of pages that are searched. One takes about 20 ms. If more pages are
/// damaged, the cause is not a single wrong bit.
const MENDS: u32 = 1_000;

/// The pages of a record file, which is only read.
pub(super) struct PageSource<'f> {
    file: &'f dyn DiskFile,
    len: u64,
    mends_left: Cell<u32>,
    /// Damaged pages that were searched, by number and checksum; with their bytes if they could be
    /// repaired.
    mended: RefCell<BTreeMap<(u64, u128), Option<Vec<u8>>>>,
}

impl<'f> PageSource<'f> {
    /// The pages of a file of `len` bytes.
    pub(super) fn new(file: &'f dyn DiskFile, len: u64) -> Self {
        Self { file, len, mends_left: Cell::new(MENDS), mended: RefCell::default() }
    }

    /// The same pages, without repairs.
    pub(super) fn without_mending(&self) -> Self {
        Self {
            file: self.file,
            len: self.len,
            mends_left: Cell::new(0),
            mended: RefCell::default(),
        }
    }

    /// Length of the file in bytes.
    pub(super) fn len(&self) -> u64 {
        self.len
    }

    /// Reads a range of bytes; `None` if the file is shorter or cannot be read.
    pub(super) fn bytes(&self, range: Range<u64>) -> Option<Vec<u8>> {
        if range.end > self.len || range.start > range.end {
            return None;
        }
        let mut bytes = vec![0; usize::try_from(range.end - range.start).ok()?];
        self.file.read_exact_at(&mut bytes, range.start).ok()?;
        Some(bytes)
    }

    /// The place of a page, if it begins inside the file.
    pub(super) fn place(&self, child: Child) -> Option<Range<u64>> {
        REGIONS.place(child.number).filter(|place| place.start < self.len)
    }

    /// Reads the bytes at the place of a page, whatever its checksum.
    pub(super) fn unchecked(&self, child: Child) -> Option<Vec<u8>> {
        self.bytes(self.place(child)?)
    }

    /// Reads a page whose checksum matches, as it is or with one bit repaired.
    pub(super) fn page(&self, child: Child, widths: Widths) -> Option<Vec<u8>> {
        let mut bytes = self.unchecked(child)?;
        if holds(&bytes, child.sum, widths) {
            return Some(bytes);
        }
        if let Some(known) = self.mended.borrow().get(&(child.number, child.sum)) {
            return known.clone();
        }
        if bytes.len() > MEND_BYTES || self.mends_left.get() == 0 {
            return None;
        }
        self.mends_left.set(self.mends_left.get() - 1);
        let mended = mend(&mut bytes, |bytes| holds(bytes, child.sum, widths)).then_some(bytes);
        self.mended.borrow_mut().insert((child.number, child.sum), mended.clone());
        mended
    }
}

fn holds(bytes: &[u8], sum: u128, widths: Widths) -> bool {
    Node { bytes, widths }.summed().is_some_and(|summed| xxh3_128(summed) == sum)
}

/// Flips the one bit after which `holds` returns true. Returns false and changes nothing if there
/// is none. A checksum of 128 bits does not match other bytes by accident.
pub(super) fn mend(bytes: &mut [u8], holds: impl Fn(&[u8]) -> bool) -> bool {
    for at in 0..bytes.len() {
        for bit in 0..8 {
            if let Some(byte) = bytes.get_mut(at) {
                *byte ^= 1 << bit;
            }
            if holds(bytes) {
                return true;
            }
            if let Some(byte) = bytes.get_mut(at) {
                *byte ^= 1 << bit;
            }
        }
    }
    false
}

/// The bytes that a page with this much content takes: redb allocates powers of two.
pub(super) fn span(len: u64) -> u64 {
    len.div_ceil(PAGE_BYTES).next_power_of_two() * PAGE_BYTES
}
