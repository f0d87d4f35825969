//! The body of a record: changes in their stored form.

use crate::error::Result;
use crate::records::memory::entries::{Entries, SortedEntries};
use crate::records::{Change, Space};
use crate::value::byte_reader::{ByteReader, push_varint};

const PUT: u8 = 1;
const DELETE: u8 = 2;
const ENTRIES: u8 = 3;

fn push_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    push_varint(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

/// Appends a change.
pub(in crate::records) fn encode(change: &Change, out: &mut Vec<u8>) {
    match change {
        Change::Put { space, key, value } => {
            out.extend_from_slice(&[PUT, space.number()]);
            push_bytes(out, key);
            push_bytes(out, value);
        }
        Change::Delete { space, key } => {
            out.extend_from_slice(&[DELETE, space.number()]);
            push_bytes(out, key);
        }
        Change::Entries(entries) => encode_entries(entries, out),
    }
}

fn encode_entries(entries: &SortedEntries, out: &mut Vec<u8>) {
    if entries.len() == 0 {
        return;
    }
    out.push(ENTRIES);
    push_varint(out, entries.len() as u64);
    let mut last: &[u8] = &[];
    for change in entries.iter() {
        let shared = last.iter().zip(change.key).take_while(|(one, other)| one == other).count();
        push_varint(out, shared as u64);
        push_bytes(out, change.key.get(shared..).unwrap_or_default());
        out.push(u8::from(change.before) | u8::from(change.after.is_some()) << 1);
        if let Some(value) = change.after {
            push_bytes(out, value);
        }
        last = change.key;
    }
}

struct Reader<'r, 'b>(&'r mut ByteReader<'b>);

impl<'b> Reader<'_, 'b> {
    fn bytes(&mut self) -> Option<&'b [u8]> {
        let len = usize::try_from(self.0.varint()?).ok()?;
        self.0.take(len)
    }

    fn space(&mut self) -> Option<Space> {
        Space::from_number(self.0.byte()?).filter(|space| *space != Space::Index)
    }

    fn entries(&mut self) -> Option<SortedEntries> {
        let mut entries = Entries::default();
        let mut key: Vec<u8> = Vec::new();
        for _ in 0..self.0.varint()? {
            let shared = usize::try_from(self.0.varint()?).ok().filter(|len| *len <= key.len())?;
            key.truncate(shared);
            key.extend_from_slice(self.bytes()?);
            let marks = self.0.byte()?;
            let after = if marks & 2 == 2 { Some(self.bytes()?) } else { None };
            entries.change_key(&key, marks & 1 == 1, after);
        }
        Some(entries.into_sorted())
    }

    fn change(&mut self) -> Option<Change> {
        match self.0.byte()? {
            PUT => Some(Change::Put {
                space: self.space()?,
                key: self.bytes()?.to_vec(),
                value: self.bytes()?.to_vec(),
            }),
            DELETE => Some(Change::Delete { space: self.space()?, key: self.bytes()?.to_vec() }),
            ENTRIES => self.entries().map(Change::Entries),
            _ => None,
        }
    }
}

/// Reads the next change of a body; `None` if the bytes are not those of one.
pub(in crate::records) fn decode_next(reader: &mut ByteReader<'_>) -> Option<Change> {
    Reader(reader).change()
}

/// Reads the changes of a body. `what` names the record in the error.
///
/// # Errors
/// `Corrupt` if the bytes are not those of changes.
pub(super) fn decode(body: &[u8], name: &str) -> Result<Vec<Change>> {
    let mut reader = ByteReader::new(body);
    let mut changes = Vec::new();
    while reader.left() > 0 {
        let change = decode_next(&mut reader);
        let unknown = || super::damaged(name, "a record with a valid checksum cannot be read");
        changes.push(change.ok_or_else(unknown)?);
    }
    Ok(changes)
}
