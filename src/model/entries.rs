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
