//! The records of a file, one after the other.

use std::io::Read;

use stationdb::{Control, Error, Result};

use super::decode::Decoder;
use super::fields::{FAR, Field, RecordType, record_type};
use super::input;
use super::value::{ByteOrder, Value};

/// Bytes of the header of a record.
const HEADER_BYTES: usize = 4;
/// Bytes that are read at once; more than any record has.
const BUFFER_BYTES: usize = 256 * 1024;
/// The version of the standard that is read.
const VERSION: u8 = 4;

/// A record, in the bytes of its reader.
#[derive(Clone, Copy, Debug)]
pub struct Record<'r> {
    number: (u8, u8),
    record_type: Option<&'static RecordType>,
    body: &'r [u8],
    order: ByteOrder,
    position: u64,
}

impl<'r> Record<'r> {
    /// The numbers in its header: `REC_TYP` and `REC_SUB`.
    #[must_use]
    pub fn number(&self) -> (u8, u8) {
        self.number
    }

    /// Its type; `None` for numbers that the standard does not have.
    #[must_use]
    pub fn record_type(&self) -> Option<&'static RecordType> {
        self.record_type
    }

    /// Its bytes, without the header.
    #[must_use]
    pub fn body(&self) -> &'r [u8] {
        self.body
    }

    /// The place of its header in the file, in bytes, after decompression.
    #[must_use]
    pub fn position(&self) -> u64 {
        self.position
    }

    /// The values of its fields, in the order of the fields of its type; none for a type that the
    /// standard does not have.
    ///
    /// # Errors
    /// `InvalidArgument` for a record that ends within a field.
    ///
    /// ```
    /// # use stationdb_formats::stdf::{Records, Value};
    /// let mut records = Records::new(&b"\x02\x00\x00\x0a\x02\x04\x03\x00\x32\x1e\x02ok"[..])?;
    /// records.next_record()?;
    /// let text = records.next_record()?.map(|record| record.values());
    /// assert_eq!(text.transpose()?, Some(vec![Value::Text(b"ok")]));
    /// # Ok::<(), stationdb::Error>(())
    /// ```
    pub fn values(&self) -> Result<Vec<Value<'r>>> {
        let count = self.fields().len();
        let mut values = vec![Value::Missing; count];
        self.read(&mut values)?;
        Ok(values)
    }

    /// The fields of its type.
    #[must_use]
    pub fn fields(&self) -> &'static [Field] {
        self.record_type.map_or(&[], |record_type| record_type.fields)
    }

    /// The values of its first fields.
    pub(super) fn first<const N: usize>(&self) -> Result<[Value<'r>; N]> {
        let mut values = [Value::Missing; N];
        self.read(&mut values)?;
        Ok(values)
    }

    pub(super) fn read(&self, values: &mut [Value<'r>]) -> Result<()> {
        let Some(record_type) = self.record_type else { return Ok(()) };
        Decoder::new(record_type, self.body, self.order, self.position).read(values)
    }
}

/// Reads the records of an STDF file: plain, or compressed with gzip or bzip2.
///
/// ```
/// use stationdb_formats::stdf::Records;
///
/// let file = b"\x02\x00\x00\x0a\x02\x04\x02\x00\x05\x0a\x01\x07";
/// let mut records = Records::new(&file[..])?;
/// let mut names = Vec::new();
/// while let Some(record) = records.next_record()? {
///     names.extend(record.record_type().map(|known| known.name));
/// }
/// assert_eq!(names, ["FAR", "PIR"]);
/// assert_eq!(records.cut(), None);
/// # Ok::<(), stationdb::Error>(())
/// ```
#[allow(missing_debug_implementations, reason = "an input has none")]
pub struct Records<R> {
    input: R,
    buffer: Vec<u8>,
    /// The bytes of the buffer that are not read yet.
    from: usize,
    to: usize,
    order: ByteOrder,
    /// Where `from` is in the file.
    position: u64,
    cut: Option<String>,
    /// Where zeros stand instead of a record.
    padding: Option<u64>,
}

impl<'i> Records<Box<dyn Read + 'i>> {
    /// Reads the begin of a file, by which its byte order is known.
    ///
    /// # Errors
    /// `Io`; `InvalidArgument` for bytes that do not begin with the record FAR; `Unsupported` for
    /// another version than 4, and for the floating point numbers of a VAX.
    pub fn new(input: impl Read + 'i) -> Result<Self> {
        Self::over(input::open(input, &Control::default())?)
    }
}

impl<R: Read> Records<R> {
    /// The records of decompressed bytes.
    pub(super) fn over(input: R) -> Result<Self> {
        let mut records = Self {
            input,
            buffer: vec![0; BUFFER_BYTES],
            from: 0,
            to: 0,
            order: ByteOrder::Little,
            position: 0,
            cut: None,
            padding: None,
        };
        records.fill(HEADER_BYTES + 2)?;
        let (order, cpu, version) = match *records.unread() {
            [2, 0, 0, 10, cpu, version, ..] => (ByteOrder::Little, cpu, version),
            [0, 2, 0, 10, cpu, version, ..] => (ByteOrder::Big, cpu, version),
            _ => return Err(no_stdf()),
        };
        records.order = order;
        if version != VERSION {
            return Err(Error::unsupported(format!(
                "the file is STDF version {version}, and version 4 is read; write it anew with a \
                 converter of the tester's maker"
            )));
        }
        if cpu == 0 {
            return Err(Error::unsupported(
                "the STDF file has the floating point numbers of a VAX (CPU_TYPE 0), which are not \
                 read; write it anew with CPU_TYPE 1 or 2",
            ));
        }
        Ok(records)
    }

    /// The order of the bytes of its numbers.
    #[must_use]
    pub fn byte_order(&self) -> ByteOrder {
        self.order
    }

    /// Where the next record begins, in bytes, after decompression.
    #[must_use]
    pub fn position(&self) -> u64 {
        self.position
    }

    /// What the file lacks, if it ends within a record: known after the last record.
    #[must_use]
    pub fn cut(&self) -> Option<&str> {
        self.cut.as_deref()
    }

    /// Where zeros stand instead of a record, as tapes and disks that were filled up have them: known
    /// after the last record. What follows them is no record either.
    #[must_use]
    pub fn padding(&self) -> Option<u64> {
        self.padding
    }

    /// Reads what is left, which has no records.
    fn drain(&mut self) -> Result<()> {
        self.padding = Some(self.position);
        let position = self.position;
        while self.to > self.from {
            self.position += (self.to - self.from) as u64;
            self.from = self.to;
            self.fill(1)?;
        }
        self.position = position;
        Ok(())
    }

    /// What the records were read from.
    pub(super) fn into_input(self) -> R {
        self.input
    }

    fn unread(&self) -> &[u8] {
        self.buffer.get(self.from..self.to).unwrap_or_default()
    }

    /// Reads until there are `count` unread bytes, or the input ends.
    fn fill(&mut self, count: usize) -> Result<()> {
        if self.to - self.from >= count {
            return Ok(());
        }
        self.buffer.copy_within(self.from..self.to, 0);
        (self.from, self.to) = (0, self.to - self.from);
        while self.to < count {
            let free = self.buffer.get_mut(self.to..).unwrap_or_default();
            match self.input.read(free) {
                Ok(0) => break,
                Ok(read) => self.to += read.min(free.len()),
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(error) => {
                    let at = self.position + self.to as u64;
                    let Some(error) = input::failure(error, at) else {
                        self.cut = Some(format!(
                            "the compressed bytes end too early, where the file would be at byte \
                             {at}"
                        ));
                        break;
                    };
                    return Err(error);
                }
            }
        }
        Ok(())
    }

    /// The next record; `None` at the end of the file, also within a record, and where zeros begin.
    ///
    /// # Errors
    /// `Io`; `InvalidArgument` for damaged compressed bytes.
    pub fn next_record(&mut self) -> Result<Option<Record<'_>>> {
        let Some((number, length)) = self.header()? else { return Ok(None) };
        if (number, length) == ((0, 0), 0) {
            self.drain()?;
            return Ok(None);
        }
        let record_type = record_type(number.0, number.1);
        let whole = HEADER_BYTES + length;
        self.fill(whole)?;
        let found = self.to - self.from;
        if found < whole {
            let name = record_type.map_or("record", |record_type| record_type.name);
            self.cut.get_or_insert_with(|| {
                format!(
                    "the file ends within the {name} at byte {}, of which {found} of {whole} bytes \
                     are there",
                    self.position
                )
            });
            return Ok(None);
        }
        let (position, body) = (self.position, self.from + HEADER_BYTES..self.from + whole);
        self.from += whole;
        self.position += whole as u64;
        let body = self.buffer.get(body).unwrap_or_default();
        Ok(Some(Record { number, record_type, body, order: self.order, position }))
    }

    /// The numbers of the next record and the bytes of its body.
    fn header(&mut self) -> Result<Option<((u8, u8), usize)>> {
        self.fill(HEADER_BYTES)?;
        let found = self.unread();
        let Some(&[first, second, typ, sub]) = found.first_chunk::<HEADER_BYTES>() else {
            if !found.is_empty() {
                let (count, at) = (found.len(), self.position);
                self.cut.get_or_insert_with(|| {
                    format!(
                        "the file ends within the header of a record at byte {at}, of which \
                             {count} of {HEADER_BYTES} bytes are there"
                    )
                });
            }
            return Ok(None);
        };
        let length = match self.order {
            ByteOrder::Little => u16::from_le_bytes([first, second]),
            ByteOrder::Big => u16::from_be_bytes([first, second]),
        };
        Ok(Some(((typ, sub), usize::from(length))))
    }
}

fn no_stdf() -> Error {
    Error::invalid(format!(
        "the bytes are no STDF file: they do not begin with the record {} of two bytes",
        FAR.name
    ))
}
