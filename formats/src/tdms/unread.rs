//! Channels of types whose values have a size that the metadata do not have: extended-precision floats,
//! which are read, and types that are not. The latter are left out. The values around them are found by
//! the bytes that theirs take.
//!
//! What must hold: a size is taken only if no other one fits the bytes of the segment.

use stationdb::{Error, Result};

use super::fields::Fields;

/// The codes of extended-precision floats, without and with a unit.
const EXTENDED: [u32; 2] = [11, 0x1b];
const FIXED_POINT: u32 = 0x4f;

/// Bytes that an extended-precision float takes on the platforms of LabVIEW, the most likely first.
pub(super) const EXTENDED_BYTES: [u8; 3] = [16, 10, 12];

/// Whether the code is that of extended-precision floats.
pub(super) fn is_extended(code: u32) -> bool {
    EXTENDED.contains(&code)
}

/// What values of a type are whose size is not told, for messages.
pub(super) fn name(code: u32) -> String {
    match code {
        code if is_extended(code) => "extended-precision floats".to_owned(),
        FIXED_POINT => "fixed-point numbers".to_owned(),
        other => format!("values of the unknown type {other:#x}"),
    }
}

/// The raw data of an object whose values have a size that is not told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Unread {
    pub(super) code: u32,
    /// Values of a chunk.
    pub(super) count: u64,
    /// Bytes of a chunk, where the metadata have them, as they have those of texts.
    pub(super) bytes: Option<u64>,
    /// Where the type is in the file.
    pub(super) at: u64,
}

impl Unread {
    /// Bytes of an index with and without the bytes of a chunk.
    const PLAIN: u32 = 20;
    const WITH_BYTES: u32 = 28;

    /// Whether the values are extended-precision floats that are read.
    pub(super) fn is_extended(&self) -> bool {
        is_extended(self.code) && self.bytes.is_none()
    }

    /// Reads what follows the code in an index of `len` bytes.
    ///
    /// # Errors
    /// `InvalidArgument` where the metadata end; `Unsupported` for an index of another length.
    pub(super) fn read(fields: &mut Fields<'_>, len: u32, code: u32, at: u64) -> Result<Self> {
        // The number of dimensions.
        fields.u32()?;
        let count = fields.u64()?;
        let bytes = match len {
            Self::PLAIN => None,
            Self::WITH_BYTES => Some(fields.u64()?),
            _ => {
                return Err(Error::unsupported(format!(
                    "the TDMS file has {} at byte {at}, which are not read, and what describes \
                     them takes {len} bytes, so what follows is not found; write other values, or \
                     leave them out",
                    name(code)
                )));
            }
        };
        Ok(Self { code, count, bytes, at })
    }
}

/// The sizes of values, in the segments of a file.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Sizes {
    /// Bytes of an extended-precision float, once a segment told them.
    pub(super) extended: Option<u8>,
}

impl Sizes {
    /// Bytes of a chunk of such values, and of one of them; 0 where they are unknown.
    pub(super) fn of(&self, index: &Unread) -> (u64, u64) {
        let extended = self.extended.filter(|_| index.is_extended()).unwrap_or_default().into();
        match index.bytes {
            Some(bytes) => (bytes, bytes.checked_div(index.count).unwrap_or_default()),
            None => (index.count.saturating_mul(extended), extended),
        }
    }
}
