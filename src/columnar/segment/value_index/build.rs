//! Builds the value index of a column of a row group.

use std::collections::HashMap;
use std::hash::Hash;

use super::keys::{int_key, text_key};
use super::{BLOCK_KEYS, IndexPlace};
use crate::arrow::array::{Array, ArrayRef};
use crate::columnar::column_slice::{ColumnSlice, nulls_of};
use crate::value::byte_reader::push_varint;

/// The bytes of a value index, and where they are counted from the first one of them.
#[derive(Debug)]
pub(in crate::columnar::segment) struct IndexPart {
    pub place: IndexPlace,
    pub bytes: Vec<u8>,
}

/// The distinct values of a column, and which of them each row has.
struct Distinct<V> {
    numbers: HashMap<V, u32>,
    values: Vec<V>,
    /// The number of the value of each row; none of a null.
    rows: Vec<Option<u32>>,
}

impl<V: Copy + Eq + Hash> Distinct<V> {
    fn new() -> Self {
        Self { numbers: HashMap::new(), values: Vec::new(), rows: Vec::new() }
    }

    fn push(&mut self, value: Option<V>) {
        let Some(value) = value else { return self.rows.push(None) };
        let next = self.values.len() as u32;
        // Equal values often follow each other.
        let last = self.rows.last().copied().flatten();
        let number = match last {
            Some(last) if self.values.get(last as usize) == Some(&value) => last,
            _ => *self.numbers.entry(value).or_insert(next),
        };
        if number == next {
            self.values.push(value);
        }
        self.rows.push(Some(number));
    }

    /// The rows of each value, one value after the other, and where those of each begin. The last
    /// place is the end.
    fn rows_by_value(&self) -> (Vec<u32>, Vec<u32>) {
        let mut starts = vec![0u32; self.values.len() + 1];
        let numbered = || self.rows.iter().zip(0u32..).filter_map(|(n, row)| Some(((*n)?, row)));
        for (number, _) in numbered() {
            if let Some(count) = starts.get_mut(number as usize + 1) {
                *count += 1;
            }
        }
        let mut before = 0;
        for start in &mut starts {
            before += *start;
            *start = before;
        }
        let mut next = starts.clone();
        let mut rows = vec![0; before as usize];
        for (number, row) in numbered() {
            let Some(at) = next.get_mut(number as usize) else { continue };
            if let Some(place) = rows.get_mut(*at as usize) {
                *place = row;
            }
            *at += 1;
        }
        (rows, starts)
    }

    fn index<'a, K: AsRef<[u8]> + Ord + 'a>(&'a self, key: impl Fn(&'a V) -> K) -> IndexPart {
        let (rows, starts) = self.rows_by_value();
        let mut keys: Vec<(K, u32)> = self.values.iter().map(key).zip(0..).collect();
        keys.sort_unstable();
        let mut writer = Writer::default();
        let mut same: Vec<u32> = Vec::new();
        for group in keys.chunk_by(|(a, _), (b, _)| a == b) {
            let rows_of = |number: &u32| {
                let from = *starts.get(*number as usize)?;
                rows.get(from as usize..*starts.get(*number as usize + 1)? as usize)
            };
            match group {
                [(key, number)] => {
                    writer.put(key.as_ref(), rows_of(number).unwrap_or_default());
                }
                // Texts that begin with the same bytes have one key.
                [(key, _), ..] => {
                    same.clear();
                    let all = group.iter().filter_map(|(_, number)| rows_of(number));
                    same.extend(all.flatten());
                    same.sort_unstable();
                    writer.put(key.as_ref(), &same);
                }
                [] => {}
            }
        }
        writer.finish()
    }
}

/// Builds the index of the rows of these arrays; `None` for a type that has none.
pub(in crate::columnar::segment) fn build<'a>(
    arrays: impl Iterator<Item = &'a ArrayRef> + Clone,
) -> Option<IndexPart> {
    let total: usize = arrays.clone().map(Array::len).sum();
    let (mut ints, mut texts) = (Distinct::new(), Distinct::new());
    let (mut is_text, mut is_cut) = (false, false);
    for array in arrays {
        let nulls = nulls_of(array);
        let valid = |row: usize| nulls.is_none_or(|nulls| nulls.is_valid(row));
        match ColumnSlice::of(array)? {
            ColumnSlice::I32(values) => {
                ints.rows.reserve(total - ints.rows.len());
                let rows = values.iter().enumerate();
                rows.for_each(|(at, value)| ints.push(valid(at).then(|| i64::from(*value))));
            }
            ColumnSlice::I64(values) => {
                ints.rows.reserve(total - ints.rows.len());
                let rows = values.iter().enumerate();
                rows.for_each(|(at, value)| ints.push(valid(at).then_some(*value)));
            }
            ColumnSlice::Text(values) => {
                is_text = true;
                texts.rows.reserve(total - texts.rows.len());
                for value in values {
                    is_cut |= value.is_some_and(|text| text_key(text).1);
                    texts.push(value);
                }
            }
            _ => return None,
        }
    }
    let mut part = if is_text {
        texts.index(|text| text_key(text).0)
    } else {
        ints.index(|value| int_key(*value))
    };
    part.place.is_cut = is_cut;
    Some(part)
}

/// Takes keys in order, with their rows.
#[derive(Default)]
struct Writer {
    rows: Vec<u8>,
    keys: Vec<u8>,
    directory: Vec<u8>,
    /// Offsets of the entries of the directory.
    entries: Vec<u32>,
    key_count: usize,
    row_count: u32,
    last_key: Vec<u8>,
}

impl Writer {
    fn put(&mut self, key: &[u8], rows: &[u32]) {
        if self.key_count.is_multiple_of(BLOCK_KEYS) {
            self.begin_block(key);
        }
        self.key_count += 1;
        let from = self.rows.len();
        put_rows(&mut self.rows, rows);
        let shared = self.last_key.iter().zip(key).take_while(|(a, b)| a == b).count();
        let rest = key.get(shared..).unwrap_or_default();
        push_varint(&mut self.keys, shared as u64);
        push_varint(&mut self.keys, rest.len() as u64);
        self.keys.extend_from_slice(rest);
        push_varint(&mut self.keys, rows.len() as u64);
        push_varint(&mut self.keys, (self.rows.len() - from) as u64);
        self.last_key.truncate(shared);
        self.last_key.extend_from_slice(rest);
        self.row_count += rows.len() as u32;
    }

    fn begin_block(&mut self, key: &[u8]) {
        self.last_key.clear();
        self.entries.push(self.directory.len() as u32);
        self.directory.extend_from_slice(&(key.len() as u16).to_le_bytes());
        self.directory.extend_from_slice(key);
        for number in [self.keys.len() as u32, self.rows.len() as u32, self.row_count] {
            self.directory.extend_from_slice(&number.to_le_bytes());
        }
    }

    fn finish(mut self) -> IndexPart {
        for entry in &self.entries {
            self.directory.extend_from_slice(&entry.to_le_bytes());
        }
        let place = IndexPlace {
            rows_bytes: self.rows.len() as u32,
            keys_bytes: self.keys.len() as u32,
            directory_bytes: self.directory.len() as u32,
            blocks: self.entries.len() as u32,
            ..IndexPlace::default()
        };
        let mut bytes = self.rows;
        bytes.append(&mut self.keys);
        bytes.append(&mut self.directory);
        IndexPart { place, bytes }
    }
}

/// Appends ascending rows as stretches of consecutive ones.
fn put_rows(out: &mut Vec<u8>, rows: &[u32]) {
    let mut end = 0;
    for stretch in rows.chunk_by(|a, b| a + 1 == *b) {
        let (Some(first), len) = (stretch.first(), stretch.len() as u64) else { continue };
        push_varint(out, u64::from(first - end) << 1 | u64::from(len > 1));
        if len > 1 {
            push_varint(out, len - 2);
        }
        end = first + len as u32;
    }
}
