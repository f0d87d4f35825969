//! Pages of a damaged record file: read, compared with their checksum, and mended where a single
//! bit is wrong.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::ops::Range;

use xxhash_rust::xxh3::xxh3_128;

use crate::disk::DiskFile;
use crate::records::pages::{Child, Node, PAGE_BYTES, Regions, Widths};

/// How redb parts the files that this crate creates: regions of 4 GiB without headers. The header
/// says the same, but its copy may be damaged.
pub(super) const REGIONS: Regions = Regions { bytes: 1 << 32, header_bytes: 0 };

/// Keys and values of our tables have any length.
pub(super) const ANY: Widths = Widths { key: None, value: None };

/// Pages up to this size are searched for a single wrong bit.
const MEND_BYTES: usize = 16 * 1024;
/// Pages that are searched at most. One takes about 20 ms; where there are more, no single bit is
/// wrong.
const MENDS: u32 = 1_000;

/// The pages of a record file, which is only read.
pub(super) struct PageSource<'f> {
    file: &'f dyn DiskFile,
    len: u64,
    mends_left: Cell<u32>,
    /// Damaged pages by number and checksum, with their bytes where they could be mended.
    mended: RefCell<BTreeMap<(u64, u128), Option<Vec<u8>>>>,
}

impl<'f> PageSource<'f> {
    /// The pages of a file of `len` bytes.
    pub(super) fn new(file: &'f dyn DiskFile, len: u64) -> Self {
        Self { file, len, mends_left: Cell::new(MENDS), mended: RefCell::default() }
    }

    /// The same pages, none of which is mended.
    pub(super) fn without_mending(&self) -> Self {
        Self { file: self.file, len: self.len, mends_left: Cell::new(0), mended: RefCell::default() }
    }

    /// Length of the file in bytes.
    pub(super) fn len(&self) -> u64 {
        self.len
    }

    /// These bytes; `None` where the file ends before or cannot be read.
    pub(super) fn bytes(&self, range: Range<u64>) -> Option<Vec<u8>> {
        if range.end > self.len || range.start > range.end {
            return None;
        }
        let mut bytes = vec![0; usize::try_from(range.end - range.start).ok()?];
        self.file.read_exact_at(&mut bytes, range.start).ok()?;
        Some(bytes)
    }

    /// Where a page lies, if it begins in the file.
    pub(super) fn place(&self, child: Child) -> Option<Range<u64>> {
        REGIONS.place(child.number).filter(|place| place.start < self.len)
    }

    /// What stands in the place of a page, whatever its checksum.
    pub(super) fn unchecked(&self, child: Child) -> Option<Vec<u8>> {
        self.bytes(self.place(child)?)
    }

    /// The bytes of a page that its checksum holds for: as they stand there, or with one bit
    /// changed.
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

/// Changes the one bit with which `holds`; false, and nothing changed, where there is none. A
/// checksum of 128 bits holds for no other bytes by accident.
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

/// The pages that a leaf or a branch of this length takes: redb gives powers of two.
pub(super) fn span(len: u64) -> u64 {
    len.div_ceil(PAGE_BYTES).next_power_of_two() * PAGE_BYTES
}
