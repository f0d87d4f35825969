//! Distinct values of a field, read from an index.

use std::collections::BTreeSet;

use crate::error::Result;
use crate::session::{View, Visibility};
use crate::value::{Kind, key, time};

/// The distinct values of the first field of an index over the records that the caller may see, as
/// text and without null: one seek for each distinct value.
///
/// `starts_with` bounds the values of a text field to those that start with it. `seeks` counts the
/// seeks.
///
/// # Errors
/// Those of reading.
pub(super) fn distinct(
    view: &View<'_>,
    kind: Kind,
    index: u8,
    starts_with: Option<&str>,
    seeks: &mut u64,
) -> Result<BTreeSet<String>> {
    let mut values = BTreeSet::new();
    let visibility = view.visibility(kind);
    let mut prefix = Vec::new();
    if let Some(starts_with) = starts_with {
        key::push_str_prefix(&mut prefix, starts_with);
    }
    let end = key::after_prefix(&prefix).unwrap_or_else(|| vec![0xff]);
    let mut from = prefix;
    while let Some(entry) = first_visible(view, kind, index, &from, &end, &visibility)? {
        let value = key::split_str(&entry)
            .map(|(text, _)| text)
            .or_else(|| key::split_i64(&entry).map(|(ms, _)| time::format(time::from_millis(ms))));
        *seeks += 1;
        // An entry of a null value contains no text or number.
        values.extend(value);
        // Skips all other entries of this value: the next seek starts after its bytes.
        let len = key::encoded_len(&entry).unwrap_or(entry.len());
        let Some(next) = entry.get(..len).and_then(key::after_prefix) else { break };
        from = next;
    }
    Ok(values)
}

/// The first entry of an index at or after `from` that belongs to a visible record.
fn first_visible(
    view: &View<'_>,
    kind: Kind,
    index: u8,
    from: &[u8],
    end: &[u8],
    visibility: &Visibility,
) -> Result<Option<Vec<u8>>> {
    let mut entries = view.index_entries(kind, index, from, end)?;
    loop {
        let found = entries.visit(false, |entry, _, workspace| {
            let is_visible =
                std::str::from_utf8(workspace).is_ok_and(|workspace| visibility.allows(workspace));
            is_visible.then(|| entry.to_vec())
        })?;
        match found {
            None => return Ok(None),
            Some(Some(entry)) => return Ok(Some(entry)),
            Some(None) => {}
        }
    }
}

/// The ids of the records that the caller may see, from an index that has an entry of each record.
///
/// # Errors
/// Those of reading.
pub(super) fn ids(view: &View<'_>, kind: Kind, index: u8) -> Result<BTreeSet<String>> {
    let mut ids = BTreeSet::new();
    let visibility = view.visibility(kind);
    view.index_scan(kind, index, &[], |_, key, workspace| {
        if std::str::from_utf8(workspace).is_ok_and(|workspace| visibility.allows(workspace)) {
            ids.insert(key.to_id(kind.id));
        }
        Ok(true)
    })?;
    Ok(ids)
}
