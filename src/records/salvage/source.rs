//! Pages of a damaged record file: read, and compared with their checksums.

use std::ops::Range;

use xxhash_rust::xxh3::xxh3_128;

use crate::disk::DiskFile;
use crate::records::file::pages::{Child, Node, PAGE_BYTES, Regions, Widths};

/// The regions of the files that this crate creates: 4 GiB each, without headers. The header stores
/// the same, but it may be damaged.
pub(super) const REGIONS: Regions = Regions { bytes: 1 << 32, header_bytes: 0 };

/// Keys and values of our tables have variable length.
pub(super) const ANY: Widths = Widths::ANY;

/// The pages of a record file, which is only read.
pub(super) struct PageSource<'f> {
    file: &'f dyn DiskFile,
    len: u64,
}

impl<'f> PageSource<'f> {
    /// The pages of a file of `len` bytes.
    pub(super) fn new(file: &'f dyn DiskFile, len: u64) -> Self {
        Self { file, len }
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

    /// Reads the bytes at the place of a page, whatever its checksum. If the file ends inside the
    /// page, only those that are there: a checksum does not cover the unused end of a page.
    pub(super) fn unchecked(&self, child: Child) -> Option<Vec<u8>> {
        let place = self.place(child)?;
        self.bytes(place.start..place.end.min(self.len))
    }

    /// Reads a page whose checksum matches.
    pub(super) fn page(&self, child: Child, widths: Widths) -> Option<Vec<u8>> {
        let bytes = self.unchecked(child)?;
        let summed = Node { bytes: &bytes, widths }.summed().map(xxh3_128);
        (summed == Some(child.sum)).then_some(bytes)
    }
}

/// The bytes that a page with this much content takes: redb allocates powers of two.
pub(super) fn span(len: u64) -> u64 {
    len.div_ceil(PAGE_BYTES).next_power_of_two() * PAGE_BYTES
}
