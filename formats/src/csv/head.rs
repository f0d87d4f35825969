//! The first bytes of a text, read before its form is known.

use std::io::Read;

use stationdb::{Error, Result};

/// Bytes that are read at a time.
pub(super) const READ_BYTES: usize = 64 * 1024;

/// The first bytes of a text.
#[derive(Debug, Default)]
pub(super) struct ReadHead {
    pub(super) bytes: Vec<u8>,
    /// Whether they are all bytes of the text.
    pub(super) is_whole: bool,
}

impl ReadHead {
    /// Reads at most [`READ_BYTES`].
    ///
    /// # Errors
    /// `Io`.
    pub(super) fn read(input: &mut dyn Read) -> Result<Self> {
        let mut bytes = vec![0; READ_BYTES];
        let mut filled = 0;
        while let Some(room) = bytes.get_mut(filled..).filter(|room| !room.is_empty()) {
            match input.read(room) {
                Ok(0) => break,
                Ok(count) => filled += count.min(room.len()),
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(error) => return Err(Error::io("reading the CSV text", error)),
            }
        }
        bytes.truncate(filled);
        Ok(Self { bytes, is_whole: filled < READ_BYTES })
    }
}
