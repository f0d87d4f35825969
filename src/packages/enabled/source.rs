//! The bytes of a package, counted and hashed while they are read.

use std::cell::{Cell, RefCell};
use std::io::{self, Read};
use std::rc::Rc;

use md5::Md5;
use sha2::{Digest, Sha256};

use crate::error::{Error, Result};
use crate::packages::invalid;
use crate::value::id::hex;

/// The byte count and the first error of a source, shared with the decoders that read it. Decoders
/// rewrap or drop the errors of their input, so the error is stored outside them.
#[derive(Clone, Default)]
pub(super) struct Meter {
    consumed: Rc<Cell<u64>>,
    refusal: Rc<RefCell<Option<Error>>>,
}

impl Meter {
    /// Number of bytes read from the source so far.
    pub(super) fn consumed(&self) -> u64 {
        self.consumed.get()
    }

    /// Stores `error` for [`Meter::explain`]. The returned error only stops the decoder.
    pub(super) fn refuse(&self, error: Error) -> io::Error {
        self.refusal.borrow_mut().get_or_insert(error);
        io::Error::other("refused")
    }

    /// The error that stopped a decoder: the stored one, or else an error of invalid content.
    pub(super) fn explain(&self, what: &str, error: &io::Error) -> Error {
        match self.refusal.borrow().as_ref() {
            Some(kept) => kept.clone(),
            None => invalid(format_args!("{what}: {error}")),
        }
    }
}

/// The reader of a package.
pub(super) struct PackageReader<'r> {
    inner: &'r mut dyn Read,
    peeked: Vec<u8>,
    meter: Meter,
    md5: Md5,
    sha256: Sha256,
}

impl<'r> PackageReader<'r> {
    pub(super) fn new(inner: &'r mut dyn Read) -> Self {
        Self {
            inner,
            peeked: Vec::new(),
            meter: Meter::default(),
            md5: Md5::new(),
            sha256: Sha256::new(),
        }
    }

    pub(super) fn meter(&self) -> Meter {
        self.meter.clone()
    }

    /// The first bytes, or fewer if the content is shorter. They are not consumed.
    pub(super) fn peek(&mut self, len: usize) -> Result<&[u8]> {
        let mut head = Vec::new();
        let read = self.by_ref().take(len as u64).read_to_end(&mut head);
        self.check(read)?;
        self.peeked = head;
        Ok(&self.peeked)
    }

    /// Fills `buffer`; an error says that the content ends before or inside `what`.
    pub(super) fn fill(&mut self, buffer: &mut [u8], what: &str) -> Result<()> {
        if self.fill_or_end(buffer, what)? {
            Ok(())
        } else {
            Err(invalid(format_args!("it ends before {what}")))
        }
    }

    /// Fills `buffer`; returns false if the content ends right before it.
    pub(super) fn fill_or_end(&mut self, buffer: &mut [u8], what: &str) -> Result<bool> {
        let mut filled = 0;
        while let Some(rest) = buffer.get_mut(filled..).filter(|rest| !rest.is_empty()) {
            let read = self.read(rest);
            match self.check(read)? {
                0 if filled == 0 => return Ok(false),
                0 => return Err(invalid(format_args!("it ends in the middle of {what}"))),
                count => filled += count,
            }
        }
        Ok(true)
    }

    /// The next `len` bytes. The buffer grows with the bytes read, so a forged length allocates
    /// nothing.
    pub(super) fn take_vec(&mut self, len: u64, what: &str) -> Result<Vec<u8>> {
        let mut out = Vec::new();
        let read = self.by_ref().take(len).read_to_end(&mut out);
        self.check(read)?;
        if (out.len() as u64) < len {
            return Err(invalid(format_args!("it ends in the middle of {what}")));
        }
        Ok(out)
    }

    /// Skips `len` bytes.
    pub(super) fn skip(&mut self, len: u64, what: &str) -> Result<()> {
        let copied = io::copy(&mut self.by_ref().take(len), &mut io::sink());
        if self.check(copied)? < len {
            return Err(invalid(format_args!("it ends in the middle of {what}")));
        }
        Ok(())
    }

    /// Reads the rest; returns the length and the hashes, MD5 first.
    pub(super) fn finish(mut self) -> Result<(u64, String, String)> {
        let rest = io::copy(&mut self, &mut io::sink());
        self.check(rest)?;
        Ok((self.meter.consumed(), hex(&self.md5.finalize()), hex(&self.sha256.finalize())))
    }

    fn check<T>(&self, result: io::Result<T>) -> Result<T> {
        result.map_err(|error| self.meter.explain("it cannot be read", &error))
    }
}

impl Read for PackageReader<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if !self.peeked.is_empty() {
            let count = self.peeked.len().min(buffer.len());
            for (target, byte) in buffer.iter_mut().zip(self.peeked.drain(..count)) {
                *target = byte;
            }
            return Ok(count);
        }
        let count = loop {
            match self.inner.read(buffer) {
                Ok(count) => break count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(self.meter.refuse(own_error(error))),
            }
        };
        // A reader that returns more than the length of the buffer is broken; it must not be
        // counted.
        let Some(read) = buffer.get(..count) else {
            return Err(self.meter.refuse(Error::invalid(
                "the reader of the package returned more bytes than were requested",
            )));
        };
        self.md5.update(read);
        self.sha256.update(read);
        self.meter.consumed.set(self.meter.consumed.get() + count as u64);
        Ok(count)
    }
}

/// Returns the crate's own error if the I/O error wraps one, or else the I/O error.
fn own_error(error: io::Error) -> Error {
    match error.get_ref().and_then(|inner| inner.downcast_ref::<Error>()) {
        Some(own) => own.clone(),
        None => Error::io("reading the package from its source", error),
    }
}
