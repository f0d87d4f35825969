//! The entries of a record in the indexes that its resource declares.

use super::resource::{Index, Resource};
use crate::value::{Env, Val, key};

/// The positions of the fields of each index of a resource, in the order of its indexes; nothing for a path that is no
/// field.
#[must_use]
pub fn index_positions<R: Resource>() -> Vec<Vec<usize>> {
    let position = |path: &&str| R::fields().iter().position(|field| field.decl.path == *path);
    let positions = |index: &Index<R>| index.fields.iter().map(|path| position(path)).collect::<Option<_>>();
    R::indexes().iter().map(|index| positions(index).unwrap_or_default()).collect()
}

/// The entries of a record in an index: sorted, each once.
#[must_use]
pub fn entries<R: Resource>(record: &R, index: &Index<R>) -> Vec<Vec<u8>> {
    let positions = R::indexes().iter().position(|known| known.number == index.number);
    let positions = positions.and_then(|at| index_positions::<R>().into_iter().nth(at)).unwrap_or_default();
    entries_between(record, index, &positions, &[], &[])
}

/// The entries of a record in an index whose fields stand at `positions`, each with `head` before it and `tail` behind it:
/// sorted, each once.
#[must_use]
pub fn entries_between<R: Resource>(
    record: &R,
    index: &Index<R>,
    positions: &[usize],
    head: &[u8],
    tail: &[u8],
) -> Vec<Vec<u8>> {
    let mut all = match index.on {
        Some(on) => on(record).iter().map(|entry| [head, entry].concat()).collect(),
        None => field_entries(record, index, positions, head),
    };
    all.iter_mut().for_each(|entry| entry.extend_from_slice(tail));
    if all.len() > 1 {
        all.sort_unstable();
        all.dedup();
    }
    all
}

/// Whether two records surely have the same entries in an index.
#[must_use]
pub fn has_same_entries<R: Resource>(one: &R, other: &R, index: &Index<R>, positions: &[usize]) -> bool {
    let fields = || positions.iter().filter_map(|position| R::fields().get(*position));
    index.on.is_none() && fields().all(|field| is_same(&(field.get)(one, &ENV), &(field.get)(other, &ENV)))
}

/// Fields that depend on the time of reading are never indexed, so the environment does not matter.
const ENV: Env = Env { now_ms: 0, calibration_warning_days: 0 };

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

/// More bytes than this do not stand beside an entry.
const INCLUDED: usize = 254;

/// What stands beside the entries of a record in an index: the number of bytes of the included values (255 when they are
/// too long to be included), those values in order-preserving bytes, and the id of the record's workspace.
#[must_use]
pub fn entry_value<R: Resource>(record: &R, index: &Index<R>) -> Vec<u8> {
    let mut included = Vec::new();
    for path in index.include {
        let field = R::fields().iter().find(|field| field.decl.path == *path);
        key::push_val(&mut included, &field.map_or(Val::Null, |field| (field.get)(record, &ENV)));
    }
    let workspace = record.workspace().as_bytes();
    let mut value = Vec::with_capacity(1 + included.len() + workspace.len());
    match u8::try_from(included.len()) {
        Ok(len) if included.len() <= INCLUDED => {
            value.push(len);
            value.extend_from_slice(&included);
        }
        _ => value.push(u8::MAX),
    }
    value.extend_from_slice(workspace);
    value
}

/// The included values, unless they were too long, and the workspace of what [`entry_value`] made.
#[must_use]
pub fn split_entry_value(value: &[u8]) -> (Option<&[u8]>, &[u8]) {
    match value.split_first() {
        None => (None, &[]),
        Some((&u8::MAX, workspace)) => (None, workspace),
        Some((&len, rest)) => rest
            .split_at_checked(usize::from(len))
            .map_or((None, &[]), |(included, workspace)| (Some(included), workspace)),
    }
}

fn field_entries<R: Resource>(record: &R, index: &Index<R>, positions: &[usize], head: &[u8]) -> Vec<Vec<u8>> {
    /// Room for most entries with head and tail.
    const ROOM: usize = 64;
    if positions.is_empty() {
        return Vec::new();
    }
    let mut first = Vec::with_capacity(ROOM);
    first.extend_from_slice(head);
    let mut partial = vec![first];
    for (place, position) in positions.iter().enumerate() {
        let Some(field) = R::fields().get(*position) else { return Vec::new() };
        let value = (field.get)(record, &ENV);
        if index.unique && place == 0 && value.is_null() {
            return Vec::new();
        }
        let longer = |start: &Vec<u8>| {
            let mut entry = Vec::with_capacity(ROOM.max(start.len() * 2));
            entry.extend_from_slice(start);
            entry
        };
        match value {
            Val::Strings(items) => {
                let all = partial.iter().flat_map(|start| {
                    items.iter().map(move |item| {
                        let mut entry = longer(start);
                        key::push_str(&mut entry, item);
                        entry
                    })
                });
                partial = all.collect();
            }
            Val::Map(map) => {
                let all = partial.iter().flat_map(|start| {
                    map.iter().map(move |(name, value)| {
                        let mut entry = longer(start);
                        key::push_str(&mut entry, name);
                        key::push_str(&mut entry, value);
                        entry
                    })
                });
                partial = all.collect();
            }
            scalar => partial.iter_mut().for_each(|entry| key::push_val(entry, &scalar)),
        }
    }
    partial
}
