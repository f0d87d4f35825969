//! Reads Arrow IPC streams from callers, with every declared length checked before memory is taken for it.
//!
//! The parser below may still panic on forged metadata, so it runs guarded.

use std::collections::HashMap;
use std::io::Read;

use arrow::array::RecordBatch;
use arrow::buffer::Buffer;
use arrow::ipc::reader::StreamDecoder;
use arrow::ipc::{MessageHeader, RecordBatch as IpcBatch, root_as_message};

use super::guard::guarded;
use crate::error::{Error, Result};
use crate::value::limits;

const CONTINUATION: u32 = u32::MAX;
/// Memory is taken in steps of this size, so that a forged length costs no more than what was really sent.
const READ_STEP: usize = 1024 * 1024;

/// Hands every batch of the stream to `each`, and returns how many there were.
///
/// # Errors
/// `InvalidArgument` for bytes that are no Arrow IPC stream or end too early, `LimitExceeded` for a message, metadata or
/// batch beyond the import limits, and whatever `each` and the reader return.
pub fn read_stream(input: &mut dyn Read, mut each: impl FnMut(RecordBatch) -> Result<()>) -> Result<usize> {
    let mut decoder = StreamDecoder::new();
    let mut batch_count = 0;
    let mut is_first = true;
    let mut dictionaries = Dictionaries::default();
    while let Some(message) = read_message(input, is_first, &mut dictionaries)? {
        is_first = false;
        let mut buffer = Buffer::from_vec(message);
        while !buffer.is_empty() {
            let decoded = guarded(|| decoder.decode(&mut buffer))
                .ok_or_else(|| malformed("its metadata contradicts its contents"))?
                .map_err(|error| malformed("a message cannot be decoded").with_source(error))?;
            if let Some(batch) = decoded {
                batch_count += 1;
                guarded(|| check_batch(&batch)).ok_or_else(|| malformed("a batch contradicts its metadata"))??;
                each(batch)?;
            }
        }
    }
    Ok(batch_count)
}

/// Bytes of the dictionaries that a stream keeps in memory, by their ids.
#[derive(Debug, Default)]
struct Dictionaries(HashMap<i64, u64>);

impl Dictionaries {
    fn add(&mut self, id: i64, is_delta: bool, bytes: u64) -> Result<()> {
        let kept = self.0.entry(id).or_default();
        *kept = if is_delta { kept.saturating_add(bytes) } else { bytes };
        let total = self.0.values().fold(0, |total: u64, bytes| total.saturating_add(*bytes));
        if total > limits::IMPORT_OPEN_BYTES {
            return Err(Error::limit(format!(
                "the dictionaries of the Arrow stream take {total} bytes, more than the {} that they may",
                limits::IMPORT_OPEN_BYTES
            )));
        }
        Ok(())
    }
}

fn check_batch(batch: &RecordBatch) -> Result<()> {
    for array in batch.columns() {
        array.to_data().validate_full().map_err(|error| malformed("a column is not valid").with_source(error))?;
    }
    Ok(())
}

fn malformed(what: &str) -> Error {
    Error::invalid(format!("the bytes are not a complete Arrow IPC stream: {what}"))
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

fn read_into(input: &mut dyn Read, out: &mut Vec<u8>, len: usize) -> Result<()> {
    let mut rest = len;
    while rest > 0 {
        let step = rest.min(READ_STEP);
        let from = out.len();
        out.resize(from + step, 0);
        let target = out.get_mut(from..).unwrap_or_default();
        input.read_exact(target).map_err(|error| match error.kind() {
            std::io::ErrorKind::UnexpectedEof => malformed("it ends inside a message"),
            _ => Error::io("reading the Arrow stream", error),
        })?;
        rest -= step;
    }
    Ok(())
}

/// One encapsulated message with its framing, or `None` at the end of the stream.
///
/// The marker at the end is asked for, although the format lets a stream just stop: a stream that was cut between two
/// messages would lose rows unnoticed.
fn read_message(input: &mut dyn Read, is_first: bool, dictionaries: &mut Dictionaries) -> Result<Option<Vec<u8>>> {
    let word = read_word(input)?.ok_or_else(|| malformed(if is_first { "it is empty" } else { "it has no end" }))?;
    let metadata_len = if word == CONTINUATION {
        read_word(input)?.ok_or_else(|| malformed("it ends inside a length"))?
    } else {
        word
    } as usize;
    if metadata_len == 0 {
        return if is_first { Err(malformed("it has no schema")) } else { Ok(None) };
    }
    if metadata_len > limits::IMPORT_METADATA_BYTES {
        return Err(Error::limit(format!(
            "the metadata of an Arrow message takes {metadata_len} bytes, more than the {} that an import may have; \
             or the bytes are not an Arrow IPC stream",
            limits::IMPORT_METADATA_BYTES
        )));
    }
    let mut message = Vec::with_capacity(metadata_len.min(READ_STEP) + 8);
    message.extend_from_slice(&CONTINUATION.to_le_bytes());
    message.extend_from_slice(&(metadata_len as u32).to_le_bytes());
    read_into(input, &mut message, metadata_len)?;
    let (body_len, is_compressed) = {
        let header = root_as_message(message.get(8..).unwrap_or_default())
            .map_err(|error| malformed(&format!("a message header is damaged: {error}")))?;
        let body_len = usize::try_from(header.bodyLength()).map_err(|_| malformed("a body has a negative length"))?;
        if body_len > limits::IMPORT_MESSAGE_BYTES {
            return Err(too_large(body_len as u64));
        }
        let batch = batch_of(&header);
        if let Some(batch) = &batch {
            check_header(batch, body_len)?;
        }
        if let Some(schema) = header.header_as_schema() {
            check_schema(&schema)?;
        }
        (body_len, batch.is_some_and(|batch| batch.compression().is_some()))
    };
    read_into(input, &mut message, body_len)?;
    let inflated = if is_compressed { check_inflated(&message, metadata_len + 8)? } else { body_len as u64 };
    let dictionary = root_as_message(message.get(8..metadata_len + 8).unwrap_or_default())
        .ok()
        .and_then(|header| header.header_as_dictionary_batch().map(|batch| (batch.id(), batch.isDelta())));
    if let Some((id, is_delta)) = dictionary {
        dictionaries.add(id, is_delta, inflated)?;
    }
    Ok(Some(message))
}

fn too_large(bytes: u64) -> Error {
    Error::limit(format!(
        "an Arrow message takes {bytes} bytes, more than the {} that one may take; use smaller batches",
        limits::IMPORT_MESSAGE_BYTES
    ))
}

fn batch_of<'a>(message: &arrow::ipc::Message<'a>) -> Option<IpcBatch<'a>> {
    match message.header_type() {
        MessageHeader::RecordBatch => message.header_as_record_batch(),
        MessageHeader::DictionaryBatch => message.header_as_dictionary_batch().and_then(|batch| batch.data()),
        _ => None,
    }
}

fn check_schema(schema: &arrow::ipc::Schema<'_>) -> Result<()> {
    let fields = schema.fields().unwrap_or_default();
    if fields.len() > limits::IMPORT_COLUMNS {
        return Err(Error::limit(format!(
            "the Arrow stream has {} columns, more than the {} of an import",
            fields.len(),
            limits::IMPORT_COLUMNS
        )));
    }
    match fields.iter().find(|field| field.children().is_some_and(|children| !children.is_empty())) {
        Some(nested) => {
            let name = nested.name().unwrap_or_default();
            Err(Error::invalid(format!(
                "column {name:?} of the Arrow stream is nested; a table has single values only"
            ))
            .with_args([name]))
        }
        None => Ok(()),
    }
}

fn check_header(batch: &IpcBatch<'_>, body_len: usize) -> Result<()> {
    let bound = limits::IMPORT_BATCH_ROWS as i64;
    let nodes = batch.nodes().into_iter().flatten();
    for length in nodes.map(arrow::ipc::FieldNode::length).chain([batch.length()]) {
        if length < 0 {
            return Err(malformed("a batch has a negative length"));
        }
        if length > bound {
            return Err(Error::limit(format!(
                "an Arrow batch has {length} rows, more than the {bound} that one may have"
            )));
        }
    }
    for buffer in batch.buffers().into_iter().flatten() {
        let end = buffer.offset().checked_add(buffer.length());
        let inside = buffer.offset() >= 0
            && buffer.length() >= 0
            && end.and_then(|end| usize::try_from(end).ok()).is_some_and(|end| end <= body_len);
        if !inside {
            return Err(malformed("a buffer lies outside its message"));
        }
    }
    Ok(())
}

/// Adds up the inflated lengths that compressed buffers declare in their first eight bytes.
fn check_inflated(message: &[u8], body_at: usize) -> Result<u64> {
    let header = root_as_message(message.get(8..body_at).unwrap_or_default())
        .map_err(|error| malformed(&format!("a message header is damaged: {error}")))?;
    let body = message.get(body_at..).unwrap_or_default();
    let mut total = 0u64;
    for buffer in batch_of(&header).and_then(|batch| batch.buffers()).into_iter().flatten() {
        let at = buffer.offset() as usize;
        if buffer.length() == 0 {
            continue;
        }
        let declared = body
            .get(at..at + 8)
            .and_then(|bytes| bytes.try_into().ok())
            .map(i64::from_le_bytes)
            .ok_or_else(|| malformed("a compressed buffer is too short"))?;
        // -1 stands for a buffer that was left uncompressed.
        if declared < -1 {
            return Err(malformed("a compressed buffer has a negative length"));
        }
        total = total.saturating_add(declared.max(0) as u64);
    }
    if total > limits::IMPORT_MESSAGE_BYTES as u64 { Err(too_large(total)) } else { Ok(total) }
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
