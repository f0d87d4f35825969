//! Verifies an entry of the record file by itself: whether its own checksum matches, and whether it
//! can be an entry of its space.

use crate::columnar::{SegmentMeta, check_batch};
use crate::model::steps::links::StepLinks;
use crate::model::steps::stored::StepChunk;
use crate::model::{UploadChunk, by_code};
use crate::records::salvage::Check;
use crate::records::{Space, envelope};
use crate::session::feed::changes::read_log_row;
use crate::session::feed::imports::is_import;
use crate::session::tables::{is_column_history, is_deleted_rows};
use crate::session::{SUBSCRIBER, SubscriberRow};
use crate::value::stored;

/// Verifies an entry.
pub(in crate::store) fn check(space: Space, key: &[u8], value: &[u8]) -> Check {
    let sealed = |kind: u8| match envelope::open(key, kind, value) {
        Ok(_) => Check::Whole,
        Err(_) => Check::Damaged,
    };
    let can_be = |is_one: bool| if is_one { Check::Unsummed } else { Check::Damaged };
    // A name does not begin like a number, or like a row of the state.
    let is_text =
        || key.first().is_none_or(|byte| *byte >= b' ') && std::str::from_utf8(key).is_ok();
    match space {
        Space::Records | Space::RecordState => {
            let kind = key.first().filter(|kind| by_code(**kind).is_some());
            kind.map_or(Check::Damaged, |kind| sealed(*kind))
        }
        // Other spaces also have envelopes of kind 0, so the content must be valid for this space
        // too.
        Space::Log => match read_log_row(key, value) {
            Ok((sequence, _)) if sequence > 0 => Check::Whole,
            _ => Check::Damaged,
        },
        Space::UploadChunks => {
            match envelope::open(key, 0, value).and_then(stored::read::<UploadChunk>) {
                Ok(_) if key.len() == 20 => Check::Whole,
                _ => Check::Damaged,
            }
        }
        Space::RowChunks => {
            match envelope::open(key, 0, value).and_then(stored::read::<StepChunk>) {
                Ok(_) if key.len() == 36 => Check::Whole,
                _ => Check::Damaged,
            }
        }
        Space::StepLinks => {
            match envelope::open(key, 0, value).and_then(stored::read::<StepLinks>) {
                Ok(_) if key.len() == 24 => Check::Whole,
                _ => Check::Damaged,
            }
        }
        Space::TableBuffer => match check_batch(value) {
            // The checksum does not cover the key. Salvage of the table checks the key against the
            // other entries.
            Ok(()) if key.len() == 20 => Check::Whole,
            _ => Check::Damaged,
        },
        Space::Segments => {
            let meta = envelope::from_row::<SegmentMeta>(key, value);
            can_be(key.len() == 20 && meta.is_ok_and(|meta| key.ends_with(&meta.id.to_be_bytes())))
        }
        Space::DeletedRows => can_be(key.len() == 20 && is_deleted_rows(key, value)),
        Space::ColumnHistory => can_be(key.len() == 12 && is_column_history(key, value)),
        Space::Imports => can_be(is_import(key, value)),
        Space::SmallBlobs => can_be(key.len() == 8),
        Space::Intents => can_be(key.len() == 8 && envelope::open(key, 0, value).is_ok()),
        Space::Blobs => can_be(key.len() == 8 && value.len() == 8),
        Space::Counters => can_be(is_text() && value.len() == 8),
        Space::Positions if key.starts_with(SUBSCRIBER) => {
            can_be(SubscriberRow::open(key, value).is_ok())
        }
        Space::Positions => can_be(is_text()),
        Space::PendingDelete => can_be(is_text() && value.is_empty()),
        Space::TableState => can_be(key.len() == 12),
        Space::Meta => can_be(is_text()),
        _ => Check::Damaged,
    }
}

/// Whether the payload of a record's envelope can be decoded.
pub(super) fn is_decoded(key: &[u8], value: &[u8]) -> bool {
    let code = key.first().copied().unwrap_or_default();
    let payload = envelope::open(key, code, value);
    payload.is_ok_and(|payload| by_code(code).is_some_and(|known| (known.entries)(payload).is_ok()))
}
