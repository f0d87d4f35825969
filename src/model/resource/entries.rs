//! The entries of a record in the indexes that its resource declares.

use crate::model::resource::{Index, Resource, TIMELESS};
use crate::value::{Val, key};

/// The positions of the fields of each index of a resource, in the order of its indexes. An index
/// with a path that is not a field has no positions.
#[must_use]
pub(crate) fn index_positions<R: Resource>() -> Vec<Vec<usize>> {
    let position = |path: &&str| R::fields().iter().position(|field| field.decl.path == *path);
    let positions =
        |index: &Index<R>| index.fields.iter().map(|path| position(path)).collect::<Option<_>>();
    R::indexes().iter().map(|index| positions(index).unwrap_or_default()).collect()
}

/// The positions of the included fields of each index of a resource, in the order of its indexes.
#[must_use]
pub(crate) fn include_positions<R: Resource>() -> Vec<Vec<usize>> {
    let position = |path: &&str| R::fields().iter().position(|field| field.decl.path == *path);
    R::indexes()
        .iter()
        .map(|index| index.include.iter().filter_map(|path| position(path)).collect())
        .collect()
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

fn slice(bytes: &[u8], (start, end): (usize, usize)) -> &[u8] {
    bytes.get(start..end).unwrap_or_default()
}

/// The entries of a record in an index, sorted and without duplicates.
#[must_use]
pub(crate) fn entries<R: Resource>(record: &R, index: &Index<R>) -> Vec<Vec<u8>> {
    let positions = R::indexes().iter().position(|known| known.number == index.number);
    let positions =
        positions.and_then(|at| index_positions::<R>().into_iter().nth(at)).unwrap_or_default();
    let mut buffer = EntryBuffer::default();
    entries_between(record, index, &positions, &[], &[], &mut buffer);
    buffer.iter().map(<[u8]>::to_vec).collect()
}

/// Replaces the contents of `into` by the entries of a record in an index whose fields are at
/// `positions`, each between `head` and `tail`.
pub(crate) fn entries_between<R: Resource>(
    record: &R,
    index: &Index<R>,
    positions: &[usize],
    head: &[u8],
    tail: &[u8],
    into: &mut EntryBuffer,
) {
    into.clear();
    match index.on {
        Some(on) => on(record).iter().for_each(|entry| into.push(&[head, entry, tail])),
        None if positions.is_empty() => {}
        None => {
            let mut current = std::mem::take(&mut into.current);
            current.clear();
            current.extend_from_slice(head);
            add_fields(record, index, positions, tail, &mut current, into);
            into.current = current;
        }
    }
    into.sort();
}

/// Whether two records certainly have the same entries in an index. False does not mean that the
/// entries differ: entries that a function computes are not compared.
#[must_use]
pub(crate) fn has_same_entries<R: Resource>(
    one: &R,
    other: &R,
    index: &Index<R>,
    positions: &[usize],
) -> bool {
    let fields = || positions.iter().filter_map(|position| R::fields().get(*position));
    index.on.is_none()
        && fields()
            .all(|field| is_same(&(field.get)(one, &TIMELESS), &(field.get)(other, &TIMELESS)))
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
pub(crate) fn has_same_value<R: Resource>(one: &R, other: &R, included: &[usize]) -> bool {
    let mut fields = included.iter().filter_map(|position| R::fields().get(*position));
    one.workspace() == other.workspace()
        && fields.all(|field| is_same(&(field.get)(one, &TIMELESS), &(field.get)(other, &TIMELESS)))
}

/// The value that an index stores for each entry of a record: one byte with the length of the
/// included values (255 if they are too long to be included), the included values in
/// order-preserving bytes, and the id of the record's workspace.
#[must_use]
pub(in crate::model) fn entry_value<R: Resource>(record: &R, index: &Index<R>) -> Vec<u8> {
    let mut value = Vec::new();
    let at = R::indexes().iter().position(|known| known.number == index.number);
    let included =
        at.and_then(|at| include_positions::<R>().into_iter().nth(at)).unwrap_or_default();
    entry_value_into(record, &included, &mut value);
    value
}

/// Replaces the contents of `value` by the [`entry_value`] for included fields at `included`.
pub(crate) fn entry_value_into<R: Resource>(record: &R, included: &[usize], value: &mut Vec<u8>) {
    value.clear();
    value.push(0);
    for field in included.iter().filter_map(|position| R::fields().get(*position)) {
        key::push_val(value, &(field.get)(record, &TIMELESS));
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
    value.extend_from_slice(record.workspace().as_bytes());
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
/// entries of the remaining fields, and cuts `current` back. A record with null in the first field
/// has no entry in a unique index, so that null values do not collide.
fn add_fields<R: Resource>(
    record: &R,
    index: &Index<R>,
    positions: &[usize],
    tail: &[u8],
    current: &mut Vec<u8>,
    into: &mut EntryBuffer,
) {
    let Some((position, rest)) = positions.split_first() else {
        into.push(&[current, tail]);
        return;
    };
    let Some(field) = R::fields().get(*position) else { return };
    let value = (field.get)(record, &TIMELESS);
    let is_first = rest.len() + 1 == index.fields.len();
    if index.unique && is_first && value.is_null() {
        return;
    }
    let start = current.len();
    match value {
        Val::Strings(items) => {
            for item in items {
                key::push_str(current, item);
                add_fields(record, index, rest, tail, current, into);
                current.truncate(start);
            }
        }
        Val::Map(map) => {
            for (name, value) in map {
                key::push_str(current, name);
                key::push_str(current, value);
                add_fields(record, index, rest, tail, current, into);
                current.truncate(start);
            }
        }
        scalar => {
            key::push_val(current, &scalar);
            add_fields(record, index, rest, tail, current, into);
            current.truncate(start);
        }
    }
}
