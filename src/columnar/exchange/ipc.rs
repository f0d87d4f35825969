//! Reads Arrow IPC streams from callers. Every declared length is checked before memory is
//! allocated for it.
//!
//! What must hold: no stream makes the Arrow library panic. The checks in `ipc_check` ensure that.
//! The guard around the library is for panics that the checks do not cover.

use std::collections::HashMap;
use std::io::Read;
use std::sync::Arc;

use super::foreign;
use super::ipc_check::{StreamColumns, check_batch, malformed, too_large};
use crate::arrow::array::{ArrayRef, RecordBatch};
use crate::arrow::buffer::Buffer;
use crate::arrow::datatypes::SchemaRef;
use crate::arrow::error::ArrowError;
use crate::arrow::ipc::convert::fb_to_schema;
use crate::arrow::ipc::reader::{read_dictionary, read_record_batch};
use crate::arrow::ipc::{
    DictionaryBatch, Message, MessageHeader, MetadataVersion, root_as_message,
};
use crate::columnar::guard::guarded;
use crate::error::{Error, Result};
use crate::value::limits;

const CONTINUATION: u32 = u32::MAX;
/// Bytes that are read to tell what is no stream.
const START_BYTES: u64 = foreign::START_BYTES as u64 - 4;
/// Memory is allocated in steps of this size, so a forged length costs no more than the bytes that
/// were sent.
const READ_STEP: usize = 1024 * 1024;

/// Passes every batch of the stream to `each`, and returns their number.
///
/// # Errors
/// `InvalidArgument` for bytes that are not an Arrow IPC stream, end too early or go on behind the
/// end of the stream, `LimitExceeded`
/// for a message, metadata or batch beyond the import limits, and the errors of `each` and of the
/// reader.
pub(crate) fn read_stream(
    input: &mut dyn Read,
    mut each: impl FnMut(RecordBatch) -> Result<()>,
) -> Result<usize> {
    let mut stream: Option<Stream> = None;
    let mut batch_count = 0;
    let mut marks = None;
    while let Some(metadata) = read_metadata(input, &mut marks)? {
        let message =
            root_as_message(&metadata).map_err(|_| malformed("a message header is damaged"))?;
        let body = read_body(input, &message)?;
        match &mut stream {
            None => stream = Some(Stream::open(&message)?),
            Some(stream) => {
                if let Some(batch) = stream.decode(&message, &body)? {
                    batch_count += 1;
                    each(batch)?;
                }
            }
        }
    }
    check_end(input)?;
    Ok(batch_count)
}

/// Refuses bytes behind the end of the stream: they may be another stream, whose rows would be lost
/// unnoticed.
fn check_end(input: &mut dyn Read) -> Result<()> {
    let mut behind = Vec::new();
    let read = input.take(1).read_to_end(&mut behind);
    read.map_err(|error| Error::io("reading the Arrow stream", error))?;
    if behind.is_empty() {
        return Ok(());
    }
    Err(malformed(
        "it goes on behind its end, and nothing of it was appended; append each stream by itself, \
         or write all batches into one",
    ))
}

/// The state after the messages read so far.
struct Stream {
    schema: SchemaRef,
    columns: StreamColumns,
    dictionaries: HashMap<i64, ArrayRef>,
    dictionary_bytes: Dictionaries,
}

impl Stream {
    fn open(message: &Message<'_>) -> Result<Self> {
        let schema = message
            .header_as_schema()
            .ok_or_else(|| malformed("it does not begin with a schema"))?;
        let columns = StreamColumns::of(&schema)?;
        let schema = guarded(|| fb_to_schema(schema)).ok_or_else(contradiction)?;
        Ok(Self {
            schema: Arc::new(schema),
            columns,
            dictionaries: HashMap::new(),
            dictionary_bytes: Dictionaries::default(),
        })
    }

    /// Decodes the batch of a message; returns `None` for a dictionary, which is kept.
    fn decode(&mut self, message: &Message<'_>, body: &Buffer) -> Result<Option<RecordBatch>> {
        let undecodable =
            |error: ArrowError| malformed("a message cannot be decoded").with_source(error);
        let version = message.version();
        match message.header_type() {
            MessageHeader::RecordBatch => {
                let batch = message.header_as_record_batch().ok_or_else(contradiction)?;
                check_batch(&batch, &self.columns.columns, body)?;
                let (schema, dictionaries) = (self.schema.clone(), &self.dictionaries);
                guarded(|| read_record_batch(body, batch, schema, dictionaries, None, &version))
                    .ok_or_else(contradiction)?
                    .map(Some)
                    .map_err(undecodable)
            }
            MessageHeader::DictionaryBatch => {
                let batch = message.header_as_dictionary_batch().ok_or_else(contradiction)?;
                self.keep_dictionary(&batch, body, version)?.map(|()| None).map_err(undecodable)
            }
            MessageHeader::Schema => Err(malformed("it has a second schema")),
            _ => Err(malformed("a message is neither a batch nor a dictionary")),
        }
    }

    fn keep_dictionary(
        &mut self,
        batch: &DictionaryBatch<'_>,
        body: &Buffer,
        version: MetadataVersion,
    ) -> Result<Result<(), ArrowError>> {
        let id = batch.id();
        let layout = self.columns.dictionaries.get(&id);
        let layout = layout.ok_or_else(|| malformed("a dictionary belongs to no column"))?;
        let data = batch.data().ok_or_else(|| malformed("a dictionary has no values"))?;
        let bytes = check_batch(&data, std::slice::from_ref(layout), body)?;
        self.dictionary_bytes.add(id, batch.isDelta(), bytes)?;
        let (schema, dictionaries) = (&self.schema, &mut self.dictionaries);
        guarded(|| read_dictionary(body, *batch, schema, dictionaries, &version))
            .ok_or_else(contradiction)
    }
}

fn contradiction() -> Error {
    malformed("its metadata contradicts its contents")
}

/// Bytes of the dictionaries that a stream keeps in memory, by dictionary id.
#[derive(Debug, Default)]
struct Dictionaries(HashMap<i64, u64>);

impl Dictionaries {
    fn add(&mut self, id: i64, is_delta: bool, bytes: u64) -> Result<()> {
        let kept = self.0.entry(id).or_default();
        *kept = if is_delta { kept.saturating_add(bytes) } else { bytes };
        let total = self.0.values().fold(0, |total: u64, bytes| total.saturating_add(*bytes));
        if total > limits::IMPORT_OPEN_BYTES {
            return Err(Error::limit(format!(
                "the dictionaries of the Arrow stream take {total} bytes, more than the {} that \
                 they may take in total",
                limits::IMPORT_OPEN_BYTES
            )));
        }
        Ok(())
    }
}

fn read_word(input: &mut dyn Read) -> Result<Option<u32>> {
    let mut word = [0; 4];
    let mut filled = 0;
    while let Some(rest) = word.get_mut(filled..).filter(|rest| !rest.is_empty()) {
        match input.read(rest) {
            Ok(0) if filled == 0 => return Ok(None),
            Ok(0) => return Err(malformed("it ends inside a length")),
            Ok(count) => filled += count,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) => return Err(Error::io("reading the Arrow stream", error)),
        }
    }
    Ok(Some(u32::from_le_bytes(word)))
}

fn read(input: &mut dyn Read, len: usize) -> Result<Vec<u8>> {
    let mut out = Vec::with_capacity(len.min(READ_STEP));
    while out.len() < len {
        let from = out.len();
        out.resize(len.min(from + READ_STEP), 0);
        let target = out.get_mut(from..).unwrap_or_default();
        input.read_exact(target).map_err(|error| match error.kind() {
            std::io::ErrorKind::UnexpectedEof => malformed("it ends inside a message"),
            _ => Error::io("reading the Arrow stream", error),
        })?;
    }
    Ok(out)
}

/// The metadata of the next message, or `None` at the end of the stream.
///
/// The end-of-stream marker is required, although the format lets a stream just stop: otherwise a
/// stream that was cut between two messages would lose rows unnoticed. `marks` says whether the
/// messages before this one have continuation markers; then the end has one, too, and zeros there
/// are what a power cut left.
fn read_metadata(input: &mut dyn Read, marks: &mut Option<bool>) -> Result<Option<Vec<u8>>> {
    let is_first = marks.is_none();
    let word = read_word(input)?
        .ok_or_else(|| malformed(if is_first { "it is empty" } else { "it has no end" }))?;
    let is_marked = word == CONTINUATION;
    if is_first && !is_marked {
        check_start(input, word)?;
    }
    if *marks.get_or_insert(is_marked) && word == 0 {
        return Err(malformed(
            "it has NUL bytes where a message or its end should be, as a file may after a power \
             cut",
        ));
    }
    let len = if word == CONTINUATION {
        read_word(input)?.ok_or_else(|| malformed("it ends inside a length"))?
    } else {
        word
    } as usize;
    if len == 0 {
        return if is_first { Err(malformed("it has no schema")) } else { Ok(None) };
    }
    if len > limits::IMPORT_METADATA_BYTES {
        // Only streams from before Arrow 0.15 lack the marker, so this is most likely no length at
        // all.
        if word != CONTINUATION || len > i32::MAX as usize {
            return Err(malformed("a message does not begin with a marker and a length"));
        }
        return Err(Error::limit(format!(
            "the metadata of an Arrow message takes {len} bytes, more than the {} that an import \
             may have",
            limits::IMPORT_METADATA_BYTES
        )));
    }
    read(input, len).map(Some)
}

/// Refuses a stream whose first word is that of another format. Streams from before Arrow 0.15
/// begin with a length.
fn check_start(input: &mut dyn Read, word: u32) -> Result<()> {
    let start = word.to_le_bytes();
    let is_length = word as usize <= limits::IMPORT_METADATA_BYTES && word > 0;
    if is_length && foreign::marked(&start).is_none() {
        return Ok(());
    }
    let mut bytes = start.to_vec();
    // Only for the message, so a failed read tells no more.
    let _ = input.take(START_BYTES).read_to_end(&mut bytes);
    match foreign::known(&bytes) {
        Some(what) => Err(malformed(&what)),
        None if foreign::is_text(&bytes) => {
            Err(malformed("it is text; import it as CSV, or write the rows as an Arrow IPC stream"))
        }
        None => Err(malformed("a message does not begin with a marker and a length")),
    }
}

fn read_body(input: &mut dyn Read, message: &Message<'_>) -> Result<Buffer> {
    let len = usize::try_from(message.bodyLength())
        .map_err(|_| malformed("a body has a negative length"))?;
    if len > limits::IMPORT_MESSAGE_BYTES {
        return Err(too_large(len as u64));
    }
    read(input, len).map(Buffer::from_vec)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dictionaries_of_a_stream_have_a_bound_together() {
        limits::holds_at(limits::IMPORT_OPEN_BYTES, crate::ErrorKind::LimitExceeded, |bytes| {
            let mut dictionaries = Dictionaries::default();
            dictionaries.add(1, false, bytes as u64 - 10)?;
            dictionaries.add(2, false, 7)?;
            dictionaries.add(2, true, 3)
        });
    }
}
