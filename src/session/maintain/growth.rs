//! Filling the indexes that a store of an older format lacks.
//!
//! The row `format` of [`Space::Meta`] says which format's indexes a record file has. Opening a
//! store with an older row lists the missing indexes in the row `filling`, in the same commit that
//! raises `format`. Maintenance then fills one index after the other, some records per commit, in
//! key order.
//!
//! What must hold: a listed index contains the entries of exactly the records with keys up to its
//! `after`. So a write maintains the entries of those records, and leaves out those of later
//! records: the filling adds them when it gets there. Otherwise an entry would be added twice, or
//! an outdated one would stay.
//!
//! A plan does not use an index that its own snapshot lists. A reader of an older snapshot sees the
//! older row.

use super::fillings::{FILLING_KEY, Filling, Fillings};
use crate::error::{Error, Result};
use crate::model::{by_code, kinds};
use crate::records::keys::index_key;
use crate::records::{Space, envelope};
use crate::session::access::sessions::{Access, Session};
use crate::session::write::draft::Draft;
use crate::value::stored::Format;
use crate::value::{Control, key};

/// The row of [`Space::Meta`] with the format whose indexes the record file has, or is being given.
const FORMAT_KEY: &[u8] = b"format";
/// Number of records whose entries one commit adds.
const STEP_RECORDS: usize = 1_000;
/// Approximate bytes of records that one commit reads.
const STEP_BYTES: usize = 4 << 20;

/// Drafts the row that lists the incomplete indexes.
fn put(fillings: &Fillings, draft: &mut Draft<'_>) -> Result<()> {
    if fillings.indexes.is_empty() {
        draft.delete_raw(Space::Meta, FILLING_KEY.to_vec());
    } else {
        draft.put_raw(Space::Meta, FILLING_KEY.to_vec(), envelope::to_row(FILLING_KEY, fillings)?);
    }
    Ok(())
}

/// The row of a record file that has all indexes of this build's format.
pub(crate) fn format_row() -> (Vec<u8>, Vec<u8>) {
    (FORMAT_KEY.to_vec(), vec![Format::current().number()])
}

fn format_of(row: Option<&[u8]>) -> Result<u8> {
    match row {
        Some(&[number]) if Format::from_number(number).is_some() => Ok(number),
        _ => Err(Error::corrupt(
            "records.redb: the row of its format is missing or damaged; restore it from a backup",
        )),
    }
}

/// Lists the indexes that the record file of an older format lacks. Called when the store is
/// opened, before any read or write.
///
/// # Errors
/// As any write; `Corrupt` when the row of the format is missing or damaged.
pub(crate) fn begin(session: &Session) -> Result<()> {
    let is_growing = session.write(|draft| {
        let mut fillings = Fillings::of(draft.view().source())?;
        let held = format_of(draft.raw(Space::Meta, FORMAT_KEY)?.as_deref())?;
        if held < Format::current().number() {
            for registered in kinds() {
                let kind = registered.kind.code;
                let mut records = draft.view().cursor(Space::Records, &[kind])?;
                if records.next()?.is_none() {
                    continue;
                }
                let missing = (registered.indexes)().iter().filter(|index| index.since > held);
                let missing =
                    missing.map(|index| Filling { kind, index: index.number, after: Vec::new() });
                fillings.indexes.extend(missing);
            }
            let (key, row) = format_row();
            draft.put_raw(Space::Meta, key, row);
            put(&fillings, draft)?;
        }
        Ok(!fillings.indexes.is_empty())
    })?;
    if is_growing {
        session.context().engine.growth.set();
    }
    Ok(())
}

/// Fills the incomplete indexes; returns the number of entries added.
///
/// # Errors
/// The errors of any write, and those of `control`. Entries added so far stay.
pub(crate) fn fill(session: &Session, control: &Control) -> Result<u64> {
    let mut added = 0;
    if !session.context().engine.growth.is_set() {
        return Ok(added);
    }
    loop {
        control.check()?;
        // Filling an index can wait; deletes need the remaining space.
        session.context().engine.check_space(STEP_BYTES as u64)?;
        let (entries, is_done) = session.write(|draft| fill_step(draft, STEP_RECORDS))?;
        added += entries;
        if is_done {
            return Ok(added);
        }
    }
}

/// One commit of [`fill`] over at most `most_records` records; returns whether all indexes are
/// complete.
#[cfg(test)]
pub(crate) fn step(session: &Session, most_records: usize) -> Result<bool> {
    session.write(move |draft| fill_step(draft, most_records)).map(|(_, is_done)| is_done)
}

/// Adds the entries of the next `most_records` records to the first incomplete index. Returns the
/// number of entries added, and whether all indexes are complete.
fn fill_step(draft: &mut Draft<'_>, most_records: usize) -> Result<(u64, bool)> {
    let mut fillings = Fillings::of(draft.view().source())?;
    let Some(filling) = fillings.indexes.first_mut() else { return Ok((0, true)) };
    let prefix = [filling.kind];
    let registered = by_code(filling.kind).ok_or_else(|| {
        Error::corrupt(format!(
            "records.redb: an incomplete index has the unknown kind {}; restore it from a backup",
            filling.kind
        ))
    })?;
    let from = match filling.after.as_slice() {
        [] => prefix.to_vec(),
        // The smallest key after `after`.
        after => [after, &[0]].concat(),
    };
    let (mut entries, mut records, mut bytes) = (0, 0, 0);
    let mut is_filled = true;
    let mut added = Vec::new();
    {
        let source = draft.view().source();
        let mut cursor =
            source.cursor(Space::Records, &from, key::after_prefix(&prefix).as_deref())?;
        while let Some((key, row)) = cursor.next()? {
            if records >= most_records || bytes >= STEP_BYTES {
                is_filled = false;
                break;
            }
            records += 1;
            bytes += row.len();
            // A damaged record is reported when it is read; here it has no entries.
            let payload = envelope::open(&key, filling.kind, &row);
            let all = payload.and_then(|payload| (registered.entries)(payload)).unwrap_or_default();
            for (_, entry, value) in all.into_iter().filter(|(index, ..)| *index == filling.index) {
                added.push((index_key(filling.kind, filling.index, &entry, &key), value));
            }
            filling.after = key;
        }
    }
    for (key, value) in added {
        draft.put_entry(&key, &value);
        entries += 1;
    }
    if is_filled {
        fillings.indexes.remove(0);
    }
    put(&fillings, draft)?;
    Ok((entries, fillings.indexes.is_empty()))
}
