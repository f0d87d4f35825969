//! Names of lost items in the report of a salvage: collections, keys and ranges of keys.

use crate::error::Result;
use crate::model::{Resource, TableMetadata, UploadSessionRecord, by_code};
use crate::records::keys::split_record_key;
use crate::records::salvage::LostEntries;
use crate::records::{Collection, ReadSource, Space};
use crate::session::{SUBSCRIBER, parts_of};
use crate::store::findings::kind_name;
use crate::value::id::hex;

pub(super) fn collection_name(collection: Collection) -> String {
    match collection.space {
        Space::Records if collection.kind == 0 => "records".to_owned(),
        Space::Records => kind_name(collection.kind),
        Space::RecordState => "state of a table".to_owned(),
        Space::Log => "change log".to_owned(),
        Space::Positions => "subscriber".to_owned(),
        Space::Meta => "fact of the store".to_owned(),
        Space::Counters => "counter".to_owned(),
        Space::TableBuffer => "buffered append".to_owned(),
        Space::Segments => "segment".to_owned(),
        Space::DeletedRows => "deleted rows".to_owned(),
        Space::ColumnHistory => "history of columns".to_owned(),
        Space::Imports => "import".to_owned(),
        Space::RowChunks => "rows of steps".to_owned(),
        Space::StepLinks => "links of steps".to_owned(),
        Space::SmallBlobs => "small content".to_owned(),
        Space::UploadChunks => "upload chunk".to_owned(),
        Space::Intents => "call to the host".to_owned(),
        space => space.name().to_owned(),
    }
}

pub(super) fn kind_of(space: Space, key: &[u8]) -> String {
    Collection::of(space, key).map_or_else(|| space.name().to_owned(), collection_name)
}

/// A key in readable form: its ids and numbers if it can be parsed, else hexadecimal digits.
pub(in crate::store) fn key_text(space: Space, key: &[u8]) -> String {
    let record = |key: &[u8]| {
        let kind = by_code(*key.first()?)?.kind;
        split_record_key(kind, key).map(|key| key.to_id(kind.id))
    };
    let number = |key: &[u8]| <[u8; 8]>::try_from(key).ok().map(u64::from_be_bytes);
    let table = |what: &str| {
        let (table, rest) = key.split_last_chunk::<8>()?;
        let id = record(&[&[TableMetadata::KIND.code], table].concat())?;
        Some(format!("table {id}, {what} {}", u64::from_be_bytes(*rest)))
    };
    let chunk = || {
        let (session, rest) = key.split_last_chunk::<4>()?;
        let id = record(&[&[UploadSessionRecord::KIND.code], session].concat())?;
        Some(format!("upload session {id}, chunk {}", u32::from_be_bytes(*rest)))
    };
    let known = match space {
        Space::Records | Space::RecordState => record(key),
        Space::Positions if key.starts_with(SUBSCRIBER) => Some(match parts_of(key) {
            (None, name) => name,
            (Some(owner), name) => format!("{name} of {owner}"),
        }),
        Space::Positions | Space::Counters | Space::Meta => {
            std::str::from_utf8(key).ok().map(str::to_owned)
        }
        Space::Log | Space::SmallBlobs | Space::Intents => {
            number(key).map(|number| number.to_string())
        }
        Space::Segments => table("segment"),
        Space::TableBuffer => table("rows from"),
        Space::DeletedRows => table("deleted rows, part"),
        Space::UploadChunks => chunk(),
        _ => None,
    };
    known.unwrap_or_else(|| hex(key))
}

/// The place of lost entries, and the reason.
///
/// A gap is bounded by the keys of branches, which need not be complete keys. So the nearest copied
/// entries of the collection before and after the gap are named.
pub(super) fn range_text(lost: &LostEntries, taken: ReadSource<'_>) -> Result<(String, String)> {
    let Collection { space, kind } = lost.collection;
    let text = |key: Vec<u8>| key_text(space, &key);
    let prefix = if kind == 0 { Vec::new() } else { vec![kind] };
    let place = match (&lost.after, &lost.upto) {
        (Some(one), Some(other)) if one == other => text(one.clone()),
        (after, upto) => {
            let next = |bound: &Vec<u8>| [bound.as_slice(), &[0]].concat();
            let before = match after {
                Some(after) => taken
                    .cursor(space, &prefix, Some(&next(after)))?
                    .visit(true, |key, _| key.to_vec())?,
                None => None,
            };
            let after_it = match upto {
                Some(upto) => {
                    let end = crate::value::key::after_prefix(&prefix);
                    taken
                        .cursor(space, &next(upto), end.as_deref())?
                        .visit(false, |key, _| key.to_vec())?
                }
                None => None,
            };
            match (
                before.or_else(|| after.clone()).map(text),
                after_it.or_else(|| upto.clone()).map(text),
            ) {
                (None, None) => "all of them, or any".to_owned(),
                (Some(before), Some(next)) => format!("between {before} and {next}"),
                (Some(before), None) => format!("after {before}"),
                (None, Some(next)) => format!("before {next}"),
            }
        }
    };
    let reason = match lost.entries {
        Some(entries) => format!("{}; {entries} of the whole collection are lost", lost.reason),
        None => lost.reason.to_owned(),
    };
    Ok((place, reason))
}
