//! Finds single wrong bits in the files of a segment.
//!
//! If one bit of a block is wrong, the CRC-32 of the block determines which one. Other damage can
//! lead to the same CRC-32, by chance in one of 32,000 blocks. So repaired files count only if
//! their XXH3-128 is the one in the manifest entry, which the caller checks.

use super::SegmentMeta;
use super::checked::CRC_BLOCK;
use super::summary_file::{Footer, TRAILER};
use super::{data_name, summary_name};
use crate::disk::{DiskFile, Mode, SharedDisk};
use crate::error::{Error, Result};
use crate::value::Control;

/// The polynomial of CRC-32, least significant bit first.
const POLYNOMIAL: u32 = 0xEDB8_8320;

/// Bytes that must be written to a file to repair it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Patch {
    /// Name of the file in the directory of the table.
    pub name: String,
    /// Position of the bytes.
    pub at: u64,
    /// The bytes.
    pub bytes: Vec<u8>,
}

/// Returns the changes after which all CRC-32s of the files of a segment match, if each damaged
/// block has one wrong bit. Returns `None` if a block has more wrong bits, or a file is missing or
/// has another length.
///
/// # Errors
/// `Io`; the errors of `control`.
pub(crate) fn wrong_bits(
    disk: &SharedDisk,
    dir: &str,
    meta: &SegmentMeta,
    control: &Control,
) -> Result<Option<Vec<Patch>>> {
    let mut patches = Vec::new();
    let mut is_mendable = || -> Result<Option<()>> {
        let Some(summary) =
            VerifiedFile::open(disk, dir, summary_name(meta.id), meta.summary_bytes)?
        else {
            return Ok(None);
        };
        let Some((footer, body_len)) = footer(&summary, meta, &mut patches)? else {
            return Ok(None);
        };
        if !blocks(&summary, body_len, &footer.body_crcs, &mut patches, control)? {
            return Ok(None);
        }
        let Some(data) = VerifiedFile::open(disk, dir, data_name(meta.id), meta.data_bytes)? else {
            return Ok(None);
        };
        Ok(blocks(&data, meta.data_bytes, &footer.data_crcs, &mut patches, control)?.then_some(()))
    };
    Ok(is_mendable()?.map(|()| patches))
}

/// A file that has its expected length.
struct VerifiedFile {
    file: Box<dyn DiskFile>,
    name: String,
    path: String,
}

impl VerifiedFile {
    fn open(disk: &SharedDisk, dir: &str, name: String, len: u64) -> Result<Option<Self>> {
        let path = format!("{dir}/{name}");
        let attempt = |error| Error::io(format_args!("reading {path}"), error);
        let file = match disk.open(&path, Mode::Read) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            file => file.map_err(attempt)?,
        };
        let is_full = file.len().map_err(attempt)? == len;
        Ok(is_full.then_some(Self { file, name, path }))
    }

    fn read(&self, at: u64, len: usize) -> Result<Vec<u8>> {
        let mut bytes = vec![0; len];
        let read = self.file.read_exact_at(&mut bytes, at);
        read.map_err(|error| Error::io(format_args!("reading {}", self.path), error))?;
        Ok(bytes)
    }

    fn patch(&self, at: u64, bytes: Vec<u8>) -> Patch {
        Patch { name: self.name.clone(), at, bytes }
    }
}

/// Reads the footer of the summary file, whose CRC-32 is in the manifest entry. Returns it with the
/// length of the body before it, and adds its repair to `patches`.
fn footer(
    file: &VerifiedFile,
    meta: &SegmentMeta,
    patches: &mut Vec<Patch>,
) -> Result<Option<(Footer, u64)>> {
    let Some(end) = meta.summary_bytes.checked_sub(TRAILER as u64) else { return Ok(None) };
    let trailer = file.read(end, TRAILER)?;
    let Some(told_len) = trailer.first_chunk().map(|len| u32::from_le_bytes(*len)) else {
        return Ok(None);
    };
    let lens = std::iter::once(told_len).chain((0..u32::BITS).map(|bit| told_len ^ 1 << bit));
    for len in lens {
        let Some(at) = end.checked_sub(u64::from(len)) else { continue };
        let mut bytes = file.read(at, len as usize)?;
        let wrong = crc32fast::hash(&bytes) ^ meta.summary_crc;
        if wrong != 0 {
            // At most one bit is wrong: under another length than the stored one, the footer must
            // be whole.
            let found = wrong_bit(bytes.len(), wrong).filter(|_| len == told_len);
            let Some((place, value)) = found.and_then(|found| flip(&mut bytes, found)) else {
                continue;
            };
            patches.push(file.patch(at + place as u64, vec![value]));
        }
        let expected = [len.to_le_bytes(), meta.summary_crc.to_le_bytes()].concat();
        if trailer != expected {
            patches.push(file.patch(end, expected));
        }
        return Ok(Footer::read(&bytes, meta).ok().flatten().map(|footer| (footer, at)));
    }
    Ok(None)
}

/// Whether each of these blocks is whole or has one wrong bit, whose repair is added to `patches`.
fn blocks(
    file: &VerifiedFile,
    len: u64,
    crcs: &[u32],
    patches: &mut Vec<Patch>,
    control: &Control,
) -> Result<bool> {
    if crcs.len() as u64 != len.div_ceil(CRC_BLOCK as u64) {
        return Ok(false);
    }
    let mut at = 0;
    for crc in crcs {
        control.check()?;
        let size = usize::try_from(len - at).unwrap_or(CRC_BLOCK).min(CRC_BLOCK);
        let mut bytes = file.read(at, size)?;
        let wrong = crc32fast::hash(&bytes) ^ crc;
        if wrong != 0 {
            let found = wrong_bit(size, wrong).and_then(|found| flip(&mut bytes, found));
            let Some((place, value)) = found else { return Ok(false) };
            patches.push(file.patch(at + place as u64, vec![value]));
        }
        at += size as u64;
    }
    Ok(true)
}

/// Flips a bit; returns the position of its byte, and the byte after the change.
fn flip(bytes: &mut [u8], (place, bit): (usize, u32)) -> Option<(usize, u8)> {
    let byte = bytes.get_mut(place)?;
    *byte ^= 1 << bit;
    Some((place, *byte))
}

/// Finds the bit that changes the CRC-32 of `len` bytes by `wrong`; returns the position of its
/// byte, and its number in the byte.
///
/// The CRC-32 is linear: the change depends only on the number of bits that follow. Blocks are
/// shorter than the period of the CRC, so no two bits make the same change.
fn wrong_bit(len: usize, wrong: u32) -> Option<(usize, u32)> {
    let mut change = 1u32;
    for place in (0..len).rev() {
        for bit in (0..u8::BITS).rev() {
            change = (change >> 1) ^ if change & 1 == 1 { POLYNOMIAL } else { 0 };
            if change == wrong {
                return Some((place, bit));
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use crate::arrow::array::{Float64Array, Int64Array, RecordBatch};

    use super::*;
    use crate::columnar::schema::TableSchema;
    use crate::columnar::segment::SegmentWriter;
    use crate::disk::MemoryDisk;
    use crate::model::tables::data::{Column, ColumnType, DataType};

    #[test]
    fn the_crc_tells_which_bit_is_wrong() {
        for len in [1, 7, 300, CRC_BLOCK] {
            let bytes: Vec<u8> = (0..len).map(|n| (n * n % 251) as u8).collect();
            let crc = crc32fast::hash(&bytes);
            for (place, bit) in [(0, 0), (0, 7), (len / 2, 3), (len - 1, 1), (len - 1, 7)] {
                let mut damaged = bytes.clone();
                damaged[place] ^= 1 << bit;
                let wrong = crc32fast::hash(&damaged) ^ crc;
                assert_eq!(wrong_bit(len, wrong), Some((place, bit)), "{len} bytes");
            }
        }
        let bytes = vec![7; CRC_BLOCK];
        let mut zeroed = bytes.clone();
        zeroed[512..1024].fill(0);
        assert_eq!(wrong_bit(CRC_BLOCK, crc32fast::hash(&zeroed) ^ crc32fast::hash(&bytes)), None);
    }

    /// A segment whose rows are not in append order, so that its summary has several blocks.
    fn segment() -> (SharedDisk, SegmentMeta) {
        let column = |name: &str, data_type, column_type| Column {
            name: name.into(),
            data_type,
            column_type,
            ..Column::default()
        };
        let columns = vec![
            column("t", DataType::Int64, ColumnType::Index),
            column("noise", DataType::Float64, ColumnType::Normal),
        ];
        let schema = Arc::new(TableSchema::with_default_limit(columns).unwrap());
        let rows = 13_000;
        let noise = Float64Array::from_iter_values((0..rows).map(|n| (n as f64 * 12.9898).sin()));
        let arrays: Vec<crate::arrow::array::ArrayRef> =
            vec![Arc::new(Int64Array::from_iter_values(0..rows)), Arc::new(noise)];
        let batch = RecordBatch::try_new(schema.arrow().clone(), arrays).unwrap();
        let disk: SharedDisk = Arc::new(MemoryDisk::default());
        disk.create_dir_all("t").unwrap();
        let mut writer = SegmentWriter::new(disk.clone(), "t", 1, schema, 0).unwrap();
        let ordinals: Vec<u32> = (0..rows as u32).rev().collect();
        writer.write(&batch, Some(&ordinals)).unwrap();
        (disk, writer.finish().unwrap())
    }

    fn bytes(disk: &SharedDisk, name: &str) -> Vec<u8> {
        let file = disk.open(&format!("t/{name}"), Mode::Read).unwrap();
        let mut bytes = vec![0; file.len().unwrap() as usize];
        file.read_exact_at(&mut bytes, 0).unwrap();
        bytes
    }

    fn put(disk: &SharedDisk, name: &str, at: usize, bytes: &[u8]) {
        disk.open(&format!("t/{name}"), Mode::ReadWrite)
            .unwrap()
            .write_all_at(bytes, at as u64)
            .unwrap();
    }

    #[test]
    fn a_wrong_bit_is_found_wherever_it_is() {
        let (disk, meta) = segment();
        let find = || wrong_bits(&disk, "t", &meta, &Control::default()).unwrap();
        assert_eq!(find(), Some(Vec::new()));
        let names = [data_name(1), summary_name(1)];
        let whole = names.each_ref().map(|name| bytes(&disk, name));
        for (name, whole) in names.iter().zip(&whole) {
            // All bits of the trailer and of the start of the footer, and some of all other bytes.
            let len = whole.len();
            assert!(len > 3 * CRC_BLOCK, "{name}: {len}");
            let places = (0..len).step_by(251).chain(len - 300..len);
            for (place, bit) in
                places.flat_map(|place| [(place, place % 8), (place, 7 - place % 8)])
            {
                put(&disk, name, place, &[whole[place] ^ 1 << bit]);
                let expected =
                    Patch { name: name.clone(), at: place as u64, bytes: vec![whole[place]] };
                let found = find().unwrap_or_else(|| panic!("{name}, byte {place}, bit {bit}"));
                found.iter().for_each(|patch| put(&disk, name, patch.at as usize, &patch.bytes));
                assert!(
                    bytes(&disk, name) == *whole,
                    "{name}, byte {place}, bit {bit}: {found:?}, not {expected:?}"
                );
            }
        }
        // One wrong bit in each of several blocks, in both files.
        for (name, whole) in names.iter().zip(&whole) {
            for place in [5, CRC_BLOCK + 7, 2 * CRC_BLOCK + 9, whole.len() - 20] {
                put(&disk, name, place, &[whole[place] ^ 4]);
            }
        }
        let found = find().unwrap();
        assert_eq!(found.len(), 8);
        found.iter().for_each(|patch| put(&disk, &patch.name, patch.at as usize, &patch.bytes));
        for (name, whole) in names.iter().zip(&whole) {
            assert!(bytes(&disk, name) == *whole);
        }
        for (name, whole) in names.iter().zip(&whole) {
            // Two wrong bits in one block.
            put(&disk, name, 100, &[whole[100] ^ 1, whole[101] ^ 1]);
            assert_eq!(find(), None, "{name}");
            put(&disk, name, 100, &whole[100..102]);
            // Another length.
            disk.open(&format!("t/{name}"), Mode::ReadWrite)
                .unwrap()
                .set_len(whole.len() as u64 - 1)
                .unwrap();
            assert_eq!(find(), None, "{name}");
            put(&disk, name, whole.len() - 1, &whole[whole.len() - 1..]);
        }
        assert_eq!(find(), Some(Vec::new()));
    }
}
