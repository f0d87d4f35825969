//! Reads from inputs that may give little at once.

use std::io::{self, ErrorKind, Read};

/// Reads some bytes. Returns their number; 0 at the end.
pub(crate) fn some(input: &mut (impl Read + ?Sized), into: &mut [u8]) -> io::Result<usize> {
    loop {
        match input.read(into) {
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            read => return read.map(|count| count.min(into.len())),
        }
    }
}

/// Reads until the room is full, or the input ends. Returns the number of bytes.
pub(crate) fn filled(input: &mut (impl Read + ?Sized), into: &mut [u8]) -> io::Result<usize> {
    let mut count = 0;
    while let Some(room) = into.get_mut(count..).filter(|room| !room.is_empty()) {
        match some(input, room)? {
            0 => break,
            more => count += more,
        }
    }
    Ok(count)
}

/// An input that gives a few bytes at a time.
#[cfg(test)]
pub(crate) struct Slow<'b>(pub(crate) &'b [u8], pub(crate) usize);

#[cfg(test)]
impl Read for Slow<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let len = into.len().min(self.1);
        self.0.read(into.get_mut(..len).unwrap_or_default())
    }
}
