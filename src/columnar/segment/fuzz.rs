//! The body of the fuzz target of summary files.

use std::io::Write;

use super::checked::HashingFile;
use super::meta::SegmentMeta;
use super::summary_file::{Footer, Section, SummaryBody, SummaryFile, write_footer};
use crate::disk::{Disk, MemoryDisk, Mode};

/// Bytes of a column in the input.
const COLUMN_BYTES: usize = 8;

/// Any bytes are a footer or none. The columns of a file with right checksums are read or refused,
/// whatever its body and the places in its footer are.
///
/// The input is a byte for the flags, a count of rows (u16), a count of columns, a word of 8 bytes
/// for each column (kind, zero, block count as u16, offset as u32), and the body.
pub(crate) fn summary_file(data: &[u8]) {
    let meta = |row_count| SegmentMeta { row_count, ..SegmentMeta::default() };
    let _ = Footer::read(data, &meta(1));
    let Some((&[flags, low, high, columns], mut rest)) = data.split_first_chunk() else { return };
    let row_count = u64::from(u16::from_le_bytes([low, high]));
    let mut sections = Vec::new();
    for position in 0..usize::from(columns) {
        let Some((word, after)) = rest.split_first_chunk::<COLUMN_BYTES>() else { break };
        sections.push(Section::from_word(position, *word));
        rest = after;
    }
    let disk = MemoryDisk::default();
    let Ok(file) = disk.open("summary", Mode::CreateNew) else { return };
    let mut file = HashingFile::new(file, "summary".to_owned());
    let has_ordinals = flags & 1 == 1;
    if file.write_all(rest).is_err() {
        return;
    }
    let rest = SummaryBody { has_ordinals, row_count, ..SummaryBody::default() };
    let Ok(crc) = write_footer(&mut file, &rest, &sections) else { return };
    let Ok(written) = file.finish() else { return };
    let meta = SegmentMeta { summary_bytes: written.len, summary_crc: crc, ..meta(row_count) };
    let Ok(file) = disk.open("summary", Mode::Read) else { return };
    let Ok(summary) = SummaryFile::open(file, "summary".to_owned(), &meta) else { return };
    let _ = summary.ordinals(0, usize::try_from(row_count).unwrap_or_default());
    for section in &summary.sections {
        let blocks = summary.column(section).map(|column| column.len());
        if let (Ok(blocks), Ok(Some(sums))) = (blocks, summary.sums(section)) {
            assert_eq!(blocks, sums.len());
        }
    }
}
