//! Links of a record: a set of numbers in rows of few of them.
//!
//! What must hold: the links of a row are at least the number in its key, and below that of the
//! next row of the record; and no link is there twice. So the row of a link is found by its key,
//! and a change of one link writes one row, however many the record has.
//!
//! All functions see the state that the plan began with. A plan changes the links of a record once.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use crate::error::{Error, Result};
use crate::model::steps::links::StepLinks;
use crate::records::{Space, envelope};
use crate::session::view::View;
use crate::session::write::draft::Draft;
use crate::value::key::after_prefix;
use crate::value::{IdForm, RecordKey};

/// A row that would have more links is divided.
const MOST: usize = 64;
/// Links of each part of a divided row, about.
const PART: usize = MOST * 3 / 4;

fn key_of(record: RecordKey, low: u64) -> Vec<u8> {
    [record.as_bytes(), &low.to_be_bytes()].concat()
}

/// The key after that of this row.
fn after(record: RecordKey, low: u64) -> Vec<u8> {
    [record.as_bytes(), &low.to_be_bytes(), &[0]].concat()
}

fn damaged() -> Error {
    Error::corrupt(
        "records.redb: the links of the steps of a result are damaged; restore the store from a \
         backup",
    )
}

fn low_of(key: &[u8]) -> u64 {
    key.last_chunk::<8>().map_or(0, |low| u64::from_be_bytes(*low))
}

fn links_in(key: &[u8], row: &[u8]) -> Result<Vec<u64>> {
    let mut at = low_of(key);
    let row: StepLinks = envelope::from_row(key, row)?;
    let next = |difference: &u64| {
        at = at.checked_add(*difference)?;
        Some(at)
    };
    row.differences.iter().map(next).collect::<Option<_>>().ok_or_else(damaged)
}

/// The row that a link is in, or would be: its number, and its links.
fn row_of(view: &View<'_>, record: RecordKey, link: u64) -> Result<Option<(u64, Vec<u64>)>> {
    let (from, to) = (record.as_bytes(), after(record, link));
    let mut cursor = view.source().cursor(Space::StepLinks, from, Some(&to))?;
    let row = cursor.visit(true, |key, row| Ok((low_of(key), links_in(key, row)?)))?;
    row.transpose()
}

/// Calls `f` with each of these links that a record has, in order, until it returns false.
///
/// # Errors
/// Those of `f`; `Corrupt`, `Io`.
pub(crate) fn each_link(
    view: &View<'_>,
    record: RecordKey,
    wanted: RangeInclusive<u64>,
    f: &mut dyn FnMut(u64) -> Result<bool>,
) -> Result<()> {
    let mut row = row_of(view, record, *wanted.start())?.map(|(_, links)| links);
    let (from, to) = (after(record, *wanted.start()), after(record, *wanted.end()));
    let mut cursor = None;
    loop {
        for link in row.unwrap_or_default().into_iter().filter(|link| wanted.contains(link)) {
            if !f(link)? {
                return Ok(());
            }
        }
        let cursor = match &mut cursor {
            Some(cursor) => cursor,
            None => cursor.insert(view.source().cursor(Space::StepLinks, &from, Some(&to))?),
        };
        row = cursor.visit(false, links_in)?.transpose()?;
        if row.is_none() {
            return Ok(());
        }
    }
}

/// Calls `f` with each record that has links, in order.
///
/// # Errors
/// Those of `f`; `Corrupt`, `Io`.
pub(crate) fn each_linked(
    view: &View<'_>,
    f: &mut dyn FnMut(RecordKey) -> Result<()>,
) -> Result<()> {
    let mut from = Vec::new();
    loop {
        let mut cursor = view.source().cursor(Space::StepLinks, &from, None)?;
        let record = |key: &[u8], _: &[u8]| {
            let record = key.get(..key.len().saturating_sub(8));
            record.and_then(|record| RecordKey::from_bytes(IdForm::Guid, record))
        };
        let Some(record) = cursor.visit(false, record)? else { return Ok(()) };
        let record = record.ok_or_else(damaged)?;
        f(record)?;
        let Some(next) = after_prefix(record.as_bytes()) else { return Ok(()) };
        from = next;
    }
}

/// Drafts that a record has no longer the links `removed`, and has those `added` in addition.
///
/// # Errors
/// `Corrupt`, `Io`.
pub(crate) fn change_links(
    draft: &mut Draft<'_>,
    record: RecordKey,
    removed: impl IntoIterator<Item = u64>,
    added: impl IntoIterator<Item = u64>,
) -> Result<()> {
    let mut changes: BTreeMap<u64, bool> = removed.into_iter().map(|link| (link, false)).collect();
    changes.extend(added.into_iter().map(|link| (link, true)));
    while let Some(link) = changes.first_key_value().map(|(link, _)| *link) {
        let view = draft.view();
        let known = row_of(view, record, link)?;
        let is_known = known.is_some();
        let (low, links) = known.unwrap_or_default();
        let (from, end) = (after(record, link), after_prefix(record.as_bytes()));
        let mut cursor = view.source().cursor(Space::StepLinks, &from, end.as_deref())?;
        let later = match cursor.visit(false, |key, _| low_of(key))? {
            Some(next) => changes.split_off(&next),
            None => BTreeMap::new(),
        };
        let mut all: BTreeMap<u64, bool> = links.into_iter().map(|link| (link, true)).collect();
        all.extend(std::mem::replace(&mut changes, later));
        let left: Vec<u64> = all.into_iter().filter(|(_, stays)| *stays).map(|at| at.0).collect();
        if left.is_empty() && is_known {
            draft.delete_raw(Space::StepLinks, key_of(record, low));
        }
        put_row(draft, record, low, &left)?;
    }
    Ok(())
}

/// Drafts the links of a row, or of several if there are too many for one.
fn put_row(draft: &mut Draft<'_>, record: RecordKey, low: u64, links: &[u64]) -> Result<()> {
    let parts = if links.len() <= MOST { 1 } else { links.len().div_ceil(PART) };
    let mut low = Some(low);
    for part in links.chunks(links.len().div_ceil(parts).max(1)) {
        let Some(low) = low.take().or(part.first().copied()) else { continue };
        let key = key_of(record, low);
        let mut at = low;
        let difference = |link: &u64| link.saturating_sub(std::mem::replace(&mut at, *link));
        let row = StepLinks { differences: part.iter().map(difference).collect() };
        let row = envelope::to_row(&key, &row)?;
        draft.put_raw(Space::StepLinks, key, row);
    }
    Ok(())
}

/// Drafts the removal of all links of a record.
///
/// # Errors
/// `Corrupt`, `Io`.
pub(crate) fn drop_links(draft: &mut Draft<'_>, record: RecordKey) -> Result<()> {
    let mut cursor = draft.view().cursor(Space::StepLinks, record.as_bytes())?;
    let mut keys = Vec::new();
    while let Some(key) = cursor.visit(false, |key, _| key.to_vec())? {
        keys.push(key);
    }
    drop(cursor);
    keys.into_iter().for_each(|key| draft.delete_raw(Space::StepLinks, key));
    Ok(())
}

/// Drafts that a record has exactly these links, which are in order.
///
/// # Errors
/// As [`drop_links`].
pub(crate) fn replace_links(draft: &mut Draft<'_>, record: RecordKey, links: &[u64]) -> Result<()> {
    drop_links(draft, record)?;
    put_row(draft, record, 0, links)
}
