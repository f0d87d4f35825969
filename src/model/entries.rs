//! The entries of a record in the indexes that its resource declares.

use super::resource::{Index, Resource};
use crate::value::{Env, Val, key};

/// The entries of a record in an index: sorted, each once.
#[must_use]
pub fn entries<R: Resource>(record: &R, index: &Index<R>) -> Vec<Vec<u8>> {
    let mut all = match index.on {
        Some(on) => on(record),
        None => field_entries(record, index),
    };
    all.sort_unstable();
    all.dedup();
    all
}

/// More bytes than this do not stand beside an entry.
const INCLUDED: usize = 254;

/// What stands beside the entries of a record in an index: the number of bytes of the included values (255 when they are
/// too long to be included), those values in order-preserving bytes, and the id of the record's workspace.
#[must_use]
pub fn entry_value<R: Resource>(record: &R, index: &Index<R>) -> Vec<u8> {
    let env = Env { now_ms: 0, calibration_warning_days: 0 };
    let mut included = Vec::new();
    for path in index.include {
        let field = R::fields().iter().find(|field| field.decl.path == *path);
        key::push_val(&mut included, &field.map_or(Val::Null, |field| (field.get)(record, &env)));
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

fn field_entries<R: Resource>(record: &R, index: &Index<R>) -> Vec<Vec<u8>> {
    // Fields that depend on the time of reading are never indexed, so the environment does not matter.
    let env = Env { now_ms: 0, calibration_warning_days: 0 };
    let mut partial = vec![Vec::new()];
    for (position, path) in index.fields.iter().enumerate() {
        let Some(field) = R::fields().iter().find(|field| field.decl.path == *path) else {
            return Vec::new();
        };
        let value = (field.get)(record, &env);
        if index.unique && position == 0 && value.is_null() {
            return Vec::new();
        }
        partial = match value {
            Val::Strings(items) => extend(&partial, items.iter().map(|item| Val::from(item))),
            Val::Map(map) => partial
                .iter()
                .flat_map(|start| {
                    map.iter().map(|(name, value)| {
                        let mut entry = start.clone();
                        key::push_str(&mut entry, name);
                        key::push_str(&mut entry, value);
                        entry
                    })
                })
                .collect(),
            scalar => extend(&partial, std::iter::once(scalar)),
        };
    }
    partial
}

fn extend<'a>(partial: &[Vec<u8>], values: impl Iterator<Item = Val<'a>>) -> Vec<Vec<u8>> {
    values
        .flat_map(|value| {
            partial.iter().map(move |start| {
                let mut entry = start.clone();
                key::push_val(&mut entry, &value);
                entry
            })
        })
        .collect()
}
