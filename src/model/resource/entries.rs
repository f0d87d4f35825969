//! The entries of a record in the indexes that its resource declares.

use crate::model::resource::{AnyRecord, Index, RecordRow, Resource, TIMELESS};
use crate::value::{FieldDecl, Row, Val, key};

fn row(record: &dyn AnyRecord) -> RecordRow<'_> {
    RecordRow { record, env: TIMELESS }
}

fn place(fields: &[FieldDecl], path: &str) -> Option<usize> {
    fields.iter().position(|known| known.path == path)
}

/// The positions of the `wanted` paths; none if one is missing.
fn places(fields: &[FieldDecl], wanted: &[&str]) -> Vec<usize> {
    wanted.iter().map(|path| place(fields, path)).collect::<Option<_>>().unwrap_or_default()
}

/// The positions of those of the `wanted` paths that are fields.
fn known_places(fields: &[FieldDecl], wanted: &[&str]) -> Vec<usize> {
    wanted.iter().filter_map(|path| place(fields, path)).collect()
}

/// The positions of the fields of each index of a resource, in the order of its indexes. An index
/// with a path that is not a field has no positions.
#[must_use]
pub(crate) fn index_positions<R: Resource>() -> Vec<Vec<usize>> {
    R::indexes().iter().map(|index| places(R::fields(), index.fields)).collect()
}

/// The positions of the included fields of each index of a resource, in the order of its indexes.
#[must_use]
pub(crate) fn include_positions<R: Resource>() -> Vec<Vec<usize>> {
    R::indexes().iter().map(|index| known_places(R::fields(), index.include)).collect()
}

/// The entries of one record in one index, in a buffer that is reused.
#[derive(Clone, Debug, Default)]
pub(crate) struct EntryBuffer {
    bytes: Vec<u8>,
    /// Start and end of each entry in `bytes`.
    spans: Vec<(usize, usize)>,
    /// The entry under construction.
    current: Vec<u8>,
}

impl EntryBuffer {
    /// Removes the entries and keeps the memory.
    pub(crate) fn clear(&mut self) {
        self.bytes.clear();
        self.spans.clear();
    }

    /// The entries, sorted and without duplicates.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &[u8]> {
        self.spans.iter().map(|span| slice(&self.bytes, *span))
    }

    /// Whether the buffer contains the entry. The entries must be sorted.
    #[must_use]
    pub(crate) fn contains(&self, entry: &[u8]) -> bool {
        self.spans.binary_search_by(|span| slice(&self.bytes, *span).cmp(entry)).is_ok()
    }

    /// Replaces the contents by these entries.
    fn fill_with(&mut self, entries: &[Vec<u8>], Ends { head, tail }: Ends<'_>) {
        self.clear();
        entries.iter().for_each(|entry| self.push(&[head, entry, tail]));
        self.sort();
    }

    /// Replaces the contents by the entries of the fields at `positions`; none without a field.
    fn fill(&mut self, row: &dyn Row, positions: &[usize], Ends { head, tail }: Ends<'_>) {
        self.clear();
        if !positions.is_empty() {
            let mut current = std::mem::take(&mut self.current);
            current.clear();
            current.extend_from_slice(head);
            add_fields(row, positions, tail, &mut current, self);
            self.current = current;
        }
        self.sort();
    }

    fn push(&mut self, parts: &[&[u8]]) {
        let start = self.bytes.len();
        parts.iter().for_each(|part| self.bytes.extend_from_slice(part));
        self.spans.push((start, self.bytes.len()));
    }

    fn sort(&mut self) {
        if self.spans.len() > 1 {
            let bytes = &self.bytes;
            self.spans.sort_unstable_by(|one, other| slice(bytes, *one).cmp(slice(bytes, *other)));
            self.spans.dedup_by(|one, other| slice(bytes, *one) == slice(bytes, *other));
        }
    }
}

/// What each entry starts and ends with.
#[derive(Clone, Copy)]
struct Ends<'e> {
    head: &'e [u8],
    tail: &'e [u8],
}

fn slice(bytes: &[u8], (start, end): (usize, usize)) -> &[u8] {
    bytes.get(start..end).unwrap_or_default()
}

/// The entries of a record in an index, sorted and without duplicates.
#[must_use]
pub(crate) fn entries(record: &dyn AnyRecord, index: &Index) -> Vec<Vec<u8>> {
    let positions = places(record.field_decls(), index.fields);
    let mut buffer = EntryBuffer::default();
    entries_between(record, index, &positions, &[], &[], &mut buffer);
    buffer.iter().map(<[u8]>::to_vec).collect()
}

/// Replaces the contents of `into` by the entries of a record in an index whose fields are at
/// `positions`, each between `head` and `tail`.
pub(crate) fn entries_between(
    record: &dyn AnyRecord,
    index: &Index,
    positions: &[usize],
    head: &[u8],
    tail: &[u8],
    into: &mut EntryBuffer,
) {
    let ends = Ends { head, tail };
    if index.computed {
        return into.fill_with(&record.entries_in(index.number), ends);
    }
    // A record with null in the first field has no entry in a unique index, so that null values do
    // not collide.
    let row = row(record);
    let is_left_out = index.unique
        && positions.len() == index.fields.len()
        && positions.first().is_some_and(|first| row.val(*first).is_null());
    into.fill(&row, if is_left_out { &[] } else { positions }, ends);
}

/// Whether two records certainly have the same entries in an index. False does not mean that the
/// entries differ: entries that a function computes are not compared.
#[must_use]
pub(crate) fn has_same_entries(
    one: &dyn AnyRecord,
    other: &dyn AnyRecord,
    index: &Index,
    positions: &[usize],
) -> bool {
    !index.computed && have_same(&row(one), &row(other), positions)
}

fn have_same(one: &dyn Row, other: &dyn Row, positions: &[usize]) -> bool {
    positions.iter().all(|position| is_same(&one.val(*position), &other.val(*position)))
}

fn is_same(one: &Val<'_>, other: &Val<'_>) -> bool {
    match (one, other) {
        (Val::Null, Val::Null) => true,
        (Val::Bool(one), Val::Bool(other)) => one == other,
        (Val::Int(one), Val::Int(other)) | (Val::Time(one), Val::Time(other)) => one == other,
        (Val::Str(one), Val::Str(other)) => one == other,
        (Val::Strings(one), Val::Strings(other)) => one == other,
        (Val::Map(one), Val::Map(other)) => one == other,
        _ => false,
    }
}

/// Maximum length of the included values. 255 in the length byte means that they are not included.
const INCLUDED: usize = 254;

/// Whether the entries of two records certainly have the same value in an index whose included
/// fields are at `included`. False does not mean that the values differ.
#[must_use]
pub(crate) fn has_same_value(
    one: &dyn AnyRecord,
    other: &dyn AnyRecord,
    included: &[usize],
) -> bool {
    let ([.., here], [.., there]) = (one.identity(), other.identity());
    here == there && have_same(&row(one), &row(other), included)
}

/// The value that an index stores for each entry of a record: one byte with the length of the
/// included values (255 if they are too long to be included), the included values in
/// order-preserving bytes, and the id of the record's workspace.
#[must_use]
pub(in crate::model) fn entry_value(record: &dyn AnyRecord, index: &Index) -> Vec<u8> {
    let mut value = Vec::new();
    let included = known_places(record.field_decls(), index.include);
    entry_value_into(record, &included, &mut value);
    value
}

/// Replaces the contents of `value` by the [`entry_value`] for included fields at `included`.
pub(crate) fn entry_value_into(record: &dyn AnyRecord, included: &[usize], value: &mut Vec<u8>) {
    let (row, [.., workspace]) = (row(record), record.identity());
    value.clear();
    value.push(0);
    for position in included {
        key::push_val(value, &row.val(*position));
    }
    let len = value.len() - 1;
    match u8::try_from(len) {
        Ok(len) if usize::from(len) <= INCLUDED => {
            value.iter_mut().take(1).for_each(|first| *first = len);
        }
        _ => {
            value.clear();
            value.push(u8::MAX);
        }
    }
    value.extend_from_slice(workspace.as_bytes());
}

/// Splits an [`entry_value`] into the included values, `None` if they were too long, and the
/// workspace.
#[must_use]
pub(crate) fn split_entry_value(value: &[u8]) -> (Option<&[u8]>, &[u8]) {
    match value.split_first() {
        None => (None, &[]),
        Some((&u8::MAX, workspace)) => (None, workspace),
        Some((&len, rest)) => rest
            .split_at_checked(usize::from(len))
            .map_or((None, &[]), |(included, workspace)| (Some(included), workspace)),
    }
}

/// Adds the entries that start with `current` and continue with the fields at `positions`. A field
/// with several values multiplies the entries: recursion appends each value to `current`, adds the
/// entries of the remaining fields, and cuts `current` back.
fn add_fields(
    row: &dyn Row,
    positions: &[usize],
    tail: &[u8],
    current: &mut Vec<u8>,
    into: &mut EntryBuffer,
) {
    let Some((position, rest)) = positions.split_first() else {
        into.push(&[current, tail]);
        return;
    };
    let start = current.len();
    match row.val(*position) {
        Val::Strings(items) => {
            for item in items {
                key::push_str(current, item);
                add_fields(row, rest, tail, current, into);
                current.truncate(start);
            }
        }
        Val::Map(map) => {
            for (name, value) in map.iter() {
                key::push_str(current, name);
                key::push_val(current, &value.into());
                add_fields(row, rest, tail, current, into);
                current.truncate(start);
            }
        }
        scalar => {
            key::push_val(current, &scalar);
            add_fields(row, rest, tail, current, into);
            current.truncate(start);
        }
    }
}
