//! The summary file of a segment, byte for byte.
//!
//! Body: the append ordinals of the rows, if they are not in order (u32 offsets from the segment's
//! first ordinal), then for each numeric column its blocks (min, max as 8 bytes, min_at, max_at,
//! rows, nulls, nans as u16: 26 bytes each), followed by the parts of these blocks (32 bytes each),
//! and, except of times, by the sums of these blocks (55 bytes each).
//! Footer: `SDSM`, version u16, ordinal flag u8, zero u8, row count u64, column count u32; for each
//! column its position u32, kind u8 (0 integer, 1 float, and 2 more with sums), offset u64, block
//! count u32; then the offset in the Parquet file of the extreme rows of each row group (count u32,
//! u64 each), the places of the value indexes (count u32, 33 bytes each), the CRC-32s of the body's
//! 16 KiB blocks (count u32, values) and those of the Parquet file (count u32, values). Trailer:
//! footer length u32, footer CRC-32 u32. All little-endian. The footer's CRC-32 is also in the
//! manifest.

use std::io::Write;

use super::BLOCK_ROWS;
use super::checked::{CheckedFile, HashingFile};
use super::meta::SegmentMeta;
use super::summary::{Block, Blocks, Column, ColumnSummary, Levels, PARTS_BYTES, Parts};
use super::value_index::IndexPlace;
use crate::disk::DiskFile;
use crate::error::{Error, Result};
use crate::value::byte_reader::ByteReader;
use crate::value::exact::{BLOCK_SUM_BYTES, BlockSums};

const MAGIC: &[u8; 4] = b"SDSM";
pub(crate) const VERSION: u16 = 1;
const FLOAT: u8 = 1;
const SUMS: u8 = 2;
pub(super) const BLOCK_BYTES: usize = 26;
pub(super) const TRAILER: usize = 8;

/// Where the blocks of a column are.
#[derive(Clone, Copy, Debug)]
pub(super) struct Section {
    pub position: usize,
    is_float: bool,
    has_sums: bool,
    offset: u64,
    block_count: u32,
}

#[cfg(any(test, feature = "fuzzing"))]
impl Section {
    /// A section in the input of the fuzz target.
    pub(super) fn from_word(position: usize, word: [u8; 8]) -> Self {
        let [kind, _, low, high, offset @ ..] = word;
        Self {
            position,
            is_float: kind & FLOAT != 0,
            has_sums: kind & SUMS != 0,
            offset: u64::from(u32::from_le_bytes(offset)),
            block_count: u32::from(u16::from_le_bytes([low, high])),
        }
    }
}

#[derive(Debug)]
pub(super) struct SummaryFile {
    pub has_ordinals: bool,
    pub sections: Vec<Section>,
    /// Offset in the Parquet file of the extreme rows of each row group; empty if there are none.
    pub extreme_rows: Vec<u64>,
    /// Where the value indexes are, by row group and column.
    pub indexes: Vec<IndexPlace>,
    pub data_crcs: Vec<u32>,
    body: CheckedFile,
}

fn put_block(out: &mut Vec<u8>, value_bytes: [[u8; 8]; 2], counts: [u16; 5]) {
    value_bytes.iter().for_each(|bytes| out.extend_from_slice(bytes));
    counts.iter().for_each(|count| out.extend_from_slice(&count.to_le_bytes()));
}

/// Appends the blocks of a column, their parts and their sums. Returns the number of blocks, and
/// whether there are sums.
fn put_column<T: Copy>(
    out: &mut Vec<u8>,
    column: &Column<T>,
    to_bytes: fn(T) -> [u8; 8],
) -> (usize, bool) {
    for b in &column.blocks {
        let values = [to_bytes(b.min), to_bytes(b.max)];
        put_block(out, values, [b.min_at, b.max_at, b.rows, b.nulls, b.nans]);
    }
    out.extend(column.parts.iter().flatten());
    out.extend(column.sums.iter().flat_map(|sums| sums.to_bytes()));
    (column.blocks.len(), !column.sums.is_empty())
}

/// What follows the ordinals.
#[derive(Default)]
pub(super) struct SummaryBody<'a> {
    pub has_ordinals: bool,
    pub row_count: u64,
    pub columns: &'a [(usize, Blocks)],
    pub extreme_rows: &'a [u64],
    pub indexes: &'a [IndexPlace],
    pub data_crcs: &'a [u32],
}

/// Appends columns and footer to a file that has the ordinals already; returns the footer's CRC-32.
pub(super) fn write_rest(file: &mut HashingFile, rest: &SummaryBody<'_>) -> std::io::Result<u32> {
    let mut sections = Vec::with_capacity(rest.columns.len());
    let mut body = Vec::new();
    for (position, blocks) in rest.columns {
        body.clear();
        let offset = file.len();
        let (count, has_sums) = match blocks {
            Blocks::Int(column) => put_column(&mut body, column, i64::to_le_bytes),
            Blocks::Float(column) => put_column(&mut body, column, f64::to_le_bytes),
        };
        sections.push(Section {
            position: *position,
            is_float: matches!(blocks, Blocks::Float(_)),
            has_sums,
            offset,
            block_count: count as u32,
        });
        file.write_all(&body)?;
    }
    write_footer(file, rest, &sections)
}

/// Appends the footer to a file that has the body already; returns the footer's CRC-32.
pub(super) fn write_footer(
    file: &mut HashingFile,
    rest: &SummaryBody<'_>,
    sections: &[Section],
) -> std::io::Result<u32> {
    let SummaryBody { has_ordinals, row_count, extreme_rows, indexes, data_crcs, .. } = *rest;
    let mut footer = Vec::new();
    footer.extend_from_slice(MAGIC);
    footer.extend_from_slice(&VERSION.to_le_bytes());
    footer.extend_from_slice(&[u8::from(has_ordinals), 0]);
    footer.extend_from_slice(&row_count.to_le_bytes());
    footer.extend_from_slice(&(sections.len() as u32).to_le_bytes());
    for section in sections {
        footer.extend_from_slice(&(section.position as u32).to_le_bytes());
        let sums = if section.has_sums { SUMS } else { 0 };
        footer.push(u8::from(section.is_float) | sums);
        footer.extend_from_slice(&section.offset.to_le_bytes());
        footer.extend_from_slice(&section.block_count.to_le_bytes());
    }
    footer.extend_from_slice(&(extreme_rows.len() as u32).to_le_bytes());
    extreme_rows.iter().for_each(|offset| footer.extend_from_slice(&offset.to_le_bytes()));
    footer.extend_from_slice(&(indexes.len() as u32).to_le_bytes());
    indexes.iter().for_each(|place| put_place(&mut footer, place));
    for crcs in [&file.crcs_so_far()[..], data_crcs] {
        footer.extend_from_slice(&(crcs.len() as u32).to_le_bytes());
        crcs.iter().for_each(|crc| footer.extend_from_slice(&crc.to_le_bytes()));
    }
    let crc = crc32fast::hash(&footer);
    file.write_all(&footer)?;
    file.write_all(&(footer.len() as u32).to_le_bytes())?;
    file.write_all(&crc.to_le_bytes())?;
    Ok(crc)
}

fn put_place(out: &mut Vec<u8>, place: &IndexPlace) {
    let IndexPlace { group, column, is_cut, offset, .. } = *place;
    out.extend_from_slice(&group.to_le_bytes());
    out.extend_from_slice(&column.to_le_bytes());
    out.push(u8::from(is_cut));
    out.extend_from_slice(&offset.to_le_bytes());
    for number in [place.rows_bytes, place.keys_bytes, place.directory_bytes, place.blocks] {
        out.extend_from_slice(&number.to_le_bytes());
    }
}

fn place(reader: &mut ByteReader<'_>) -> Option<IndexPlace> {
    let number = |reader: &mut ByteReader<'_>| reader.number(u32::from_le_bytes);
    Some(IndexPlace {
        group: number(reader)?,
        column: number(reader)?,
        is_cut: reader.byte()? == 1,
        offset: reader.number(u64::from_le_bytes)?,
        rows_bytes: number(reader)?,
        keys_bytes: number(reader)?,
        directory_bytes: number(reader)?,
        blocks: number(reader)?,
    })
}

fn places(reader: &mut ByteReader<'_>) -> Option<Vec<IndexPlace>> {
    let count = reader.number(u32::from_le_bytes)?;
    (0..count).map(|_| place(reader)).collect()
}

/// A count, and that many numbers.
fn list<T, const N: usize>(reader: &mut ByteReader<'_>, read: fn([u8; N]) -> T) -> Option<Vec<T>> {
    let count = reader.number(u32::from_le_bytes)?;
    reader.numbers(count as usize, read)
}

impl SummaryFile {
    /// An empty summary, for a segment whose summary file is damaged. `body` has length 0.
    pub(super) fn none(body: CheckedFile) -> Self {
        Self {
            has_ordinals: false,
            sections: Vec::new(),
            extreme_rows: Vec::new(),
            indexes: Vec::new(),
            data_crcs: Vec::new(),
            body,
        }
    }

    /// Opens the file, and checks its footer against the manifest entry.
    pub(super) fn open(file: Box<dyn DiskFile>, name: String, meta: &SegmentMeta) -> Result<Self> {
        let damaged =
            || Error::corrupt(format!("{name} is damaged; restore the table from a backup"));
        let io = |error: std::io::Error| Error::io(format_args!("reading {name}"), error);
        let len = file.len().map_err(io)?;
        if len != meta.summary_bytes || len < TRAILER as u64 {
            return Err(damaged());
        }
        let mut trailer = [0; TRAILER];
        file.read_exact_at(&mut trailer, len - TRAILER as u64).map_err(io)?;
        let mut trailer = ByteReader::new(&trailer);
        let footer_len = trailer.number(u32::from_le_bytes).ok_or_else(damaged)?;
        let body_len =
            len.checked_sub(TRAILER as u64 + u64::from(footer_len)).ok_or_else(damaged)?;
        let mut footer = vec![0; footer_len as usize];
        file.read_exact_at(&mut footer, body_len).map_err(io)?;
        if crc32fast::hash(&footer) != meta.summary_crc
            || trailer.number(u32::from_le_bytes) != Some(meta.summary_crc)
        {
            return Err(damaged());
        }
        let footer = Footer::read(&footer, meta)
            .map_err(|error| error.context(format!("reading {name}")))?;
        let Footer { has_ordinals, sections, extreme_rows, indexes, body_crcs, data_crcs } =
            footer.ok_or_else(damaged)?;
        let body = CheckedFile::new(file, name.clone(), body_len, body_crcs)?;
        Ok(Self { has_ordinals, sections, extreme_rows, indexes, data_crcs, body })
    }

    /// Reads the blocks of one column.
    pub(super) fn column(&self, section: &Section) -> Result<ColumnSummary> {
        let count = section.block_count as usize;
        let bytes = self.body.read(section.offset, count * (BLOCK_BYTES + PARTS_BYTES))?;
        let (blocks, parts) = bytes.split_at_checked(count * BLOCK_BYTES).unwrap_or_default();
        let (blocks, _) = blocks.as_chunks::<BLOCK_BYTES>();
        let parts: Vec<Parts> = parts.as_chunks::<PARTS_BYTES>().0.to_vec();
        Ok(if section.is_float {
            let blocks =
                blocks.iter().filter_map(|bytes| block(bytes, f64::from_le_bytes)).collect();
            ColumnSummary::Float(Levels::new(blocks, parts))
        } else {
            let blocks =
                blocks.iter().filter_map(|bytes| block(bytes, i64::from_le_bytes)).collect();
            ColumnSummary::Int(Levels::new(blocks, parts))
        })
    }

    /// Reads the sums of the blocks of one column; `None` if they are not stored.
    pub(super) fn sums(&self, section: &Section) -> Result<Option<Vec<BlockSums>>> {
        if !section.has_sums {
            return Ok(None);
        }
        let count = section.block_count as usize;
        let before = (count * (BLOCK_BYTES + PARTS_BYTES)) as u64;
        let bytes =
            self.body.read(section.offset.saturating_add(before), count * BLOCK_SUM_BYTES)?;
        let (sums, _) = bytes.as_chunks::<BLOCK_SUM_BYTES>();
        Ok(Some(sums.iter().map(|sums| BlockSums::from_bytes(sums, section.is_float)).collect()))
    }

    /// Reads the ordinal offsets of these rows.
    pub(super) fn ordinals(&self, from: usize, len: usize) -> Result<Vec<u32>> {
        let bytes = self.body.read(from as u64 * 4, len * 4)?;
        let (words, _) = bytes.as_chunks::<4>();
        Ok(words.iter().map(|word| u32::from_le_bytes(*word)).collect())
    }
}

pub(super) struct Footer {
    has_ordinals: bool,
    sections: Vec<Section>,
    extreme_rows: Vec<u64>,
    indexes: Vec<IndexPlace>,
    pub body_crcs: Vec<u32>,
    pub data_crcs: Vec<u32>,
}

impl Footer {
    /// Reads a footer whose CRC-32 matches; `None` if it is not a footer of this segment.
    ///
    /// # Errors
    /// `NewerFormat` if another version of this library wrote it.
    pub(super) fn read(bytes: &[u8], meta: &SegmentMeta) -> Result<Option<Self>> {
        let mut reader = ByteReader::new(bytes);
        let (magic, version) = (reader.take(MAGIC.len()), reader.number(u16::from_le_bytes));
        if magic != Some(&MAGIC[..]) {
            return Ok(None);
        }
        if version != Some(VERSION) {
            let text = "the summary of a segment was written by another version of this library";
            return Err(Error::new(crate::error::ErrorKind::NewerFormat, text));
        }
        Ok(Self::parse(&mut reader, meta))
    }

    /// Reads what follows the version.
    fn parse(reader: &mut ByteReader<'_>, meta: &SegmentMeta) -> Option<Self> {
        let [has_ordinals, _] = reader.number(|flags: [u8; 2]| flags)?;
        if reader.number(u64::from_le_bytes)? != meta.row_count {
            return None;
        }
        let count = reader.number(u32::from_le_bytes)?;
        let mut sections = Vec::new();
        for _ in 0..count {
            let position = reader.number(u32::from_le_bytes)? as usize;
            let kind = reader.byte()?;
            let section = Section {
                position,
                is_float: kind & FLOAT != 0,
                has_sums: kind & SUMS != 0,
                offset: reader.number(u64::from_le_bytes)?,
                block_count: reader.number(u32::from_le_bytes)?,
            };
            if u64::from(section.block_count) != meta.row_count.div_ceil(BLOCK_ROWS as u64) {
                return None;
            }
            sections.push(section);
        }
        Some(Self {
            has_ordinals: has_ordinals == 1,
            sections,
            extreme_rows: list(reader, u64::from_le_bytes)?,
            indexes: places(reader)?,
            body_crcs: list(reader, u32::from_le_bytes)?,
            data_crcs: list(reader, u32::from_le_bytes)?,
        })
    }
}

fn block<T>(bytes: &[u8; BLOCK_BYTES], read: fn([u8; 8]) -> T) -> Option<Block<T>> {
    let mut reader = ByteReader::new(bytes);
    let (min, max) = (reader.number(read)?, reader.number(read)?);
    let mut count = || reader.number(u16::from_le_bytes);
    Some(Block {
        min,
        max,
        min_at: count()?,
        max_at: count()?,
        rows: count()?,
        nulls: count()?,
        nans: count()?,
    })
}
