//! What was imported from other stores: how far each source is, what was agreed about its records,
//! and the states of its records that wait because they conflict with what is here.
//!
//! What must hold: these rows change in the commit that changes the records, so a crash never
//! leaves one without the other.

use crate::error::Result;
use crate::model::Resource;
use crate::records::{Space, envelope};
use crate::session::write::draft::Draft;
use crate::value::wire::record;
use crate::value::{Kind, RecordKey};

/// First bytes of the keys of positions, of agreements, and of states that wait.
const POSITION: u8 = 0;
const AGREED: u8 = 1;
const WAITING: u8 = 2;
/// A byte that no UTF-8 text contains, so that no name of a source begins another one's keys.
const END: u8 = 0xff;

record! {
    /// How far a source was imported.
    pub struct SourcePosition {
        /// As the importer named it.
        pub position: String,
    }

    /// What was agreed about a record of a source.
    pub struct Agreed {
        /// The hash of the record as it was imported last, or as both sides had it.
        pub imported: Option<String>,
        /// The hash of the state of the source that the caller decided against.
        pub kept: Option<String>,
    }

    /// A state of a record at the source that was not imported, because it conflicts.
    pub struct Waiting {
        /// Its JSON; `None` when it was deleted there.
        pub record: Option<serde_json::Value>,
    }
}

/// The source of an import, by name.
#[derive(Clone, Debug)]
pub(crate) struct ImportSource(pub(crate) String);

impl ImportSource {
    fn position_key(&self) -> Vec<u8> {
        [&[POSITION], self.0.as_bytes()].concat()
    }

    fn prefix(&self, part: u8, kind: Kind) -> Vec<u8> {
        [&[part], self.0.as_bytes(), &[END, kind.code]].concat()
    }

    fn key(&self, part: u8, kind: Kind, key: RecordKey) -> Vec<u8> {
        let mut full = self.prefix(part, kind);
        full.extend_from_slice(key.as_bytes());
        full
    }

    /// The position; `None` for a source of which nothing was imported.
    pub(crate) fn position(&self, draft: &Draft<'_>) -> Result<Option<String>> {
        let key = self.position_key();
        let row = draft.raw(Space::Imports, &key)?;
        let position = row.map(|row| envelope::from_row::<SourcePosition>(&key, &row));
        Ok(position.transpose()?.map(|row| row.position))
    }

    pub(crate) fn set_position(&self, draft: &mut Draft<'_>, position: String) -> Result<()> {
        let key = self.position_key();
        let row = envelope::to_row(&key, &SourcePosition { position })?;
        draft.put_raw(Space::Imports, key, row);
        Ok(())
    }

    /// The number of sources that have a position.
    pub(crate) fn count(draft: &Draft<'_>) -> Result<usize> {
        Ok(draft.raw_prefix(Space::Imports, &[POSITION])?.len())
    }

    /// What was agreed about a record; nothing for one that is new.
    pub(crate) fn agreed<R: Resource>(&self, draft: &Draft<'_>, of: RecordKey) -> Result<Agreed> {
        let key = self.key(AGREED, R::KIND, of);
        let row = draft.raw(Space::Imports, &key)?;
        Ok(row.map(|row| envelope::from_row(&key, &row)).transpose()?.unwrap_or_default())
    }

    /// Stores what was agreed about a record, or forgets it.
    pub(crate) fn agree<R: Resource>(
        &self,
        draft: &mut Draft<'_>,
        of: RecordKey,
        agreed: &Agreed,
    ) -> Result<()> {
        let key = self.key(AGREED, R::KIND, of);
        set(draft, key, (agreed != &Agreed::default()).then_some(agreed))
    }

    /// The keys of the records of a kind about which something was agreed.
    pub(crate) fn known<R: Resource>(&self, draft: &Draft<'_>) -> Result<Vec<RecordKey>> {
        let prefix = self.prefix(AGREED, R::KIND);
        let rows = draft.raw_prefix(Space::Imports, &prefix)?;
        Ok(rows.iter().filter_map(|(key, _)| record_of::<R>(&prefix, key)).collect())
    }

    /// The states that wait, of a kind.
    pub(crate) fn waiting<R: Resource>(
        &self,
        draft: &Draft<'_>,
    ) -> Result<Vec<(RecordKey, Waiting)>> {
        let prefix = self.prefix(WAITING, R::KIND);
        let rows = draft.raw_prefix(Space::Imports, &prefix)?.into_iter();
        rows.filter_map(|(key, row)| {
            let of = record_of::<R>(&prefix, &key)?;
            Some(envelope::from_row(&key, &row).map(|waiting| (of, waiting)))
        })
        .collect()
    }

    /// Stores the state of a record that waits, or that none does.
    pub(crate) fn wait<R: Resource>(
        &self,
        draft: &mut Draft<'_>,
        of: RecordKey,
        waiting: Option<&Waiting>,
    ) -> Result<()> {
        set(draft, self.key(WAITING, R::KIND, of), waiting)
    }
}

fn record_of<R: Resource>(prefix: &[u8], key: &[u8]) -> Option<RecordKey> {
    RecordKey::from_bytes(R::KIND.id, key.strip_prefix(prefix)?)
}

/// Sets or removes a row; one that stays as it is costs no commit.
fn set<T: crate::value::Stored>(
    draft: &mut Draft<'_>,
    key: Vec<u8>,
    value: Option<&T>,
) -> Result<()> {
    let row = value.map(|value| envelope::to_row(&key, value)).transpose()?;
    if draft.raw(Space::Imports, &key)? == row {
        return Ok(());
    }
    match row {
        Some(row) => draft.put_raw(Space::Imports, key, row),
        None => draft.delete_raw(Space::Imports, key),
    }
    Ok(())
}

/// Whether a row can be one of the space.
pub(crate) fn is_import(key: &[u8], row: &[u8]) -> bool {
    match key.first() {
        Some(&POSITION) => envelope::from_row::<SourcePosition>(key, row).is_ok(),
        Some(&AGREED) => envelope::from_row::<Agreed>(key, row).is_ok(),
        Some(&WAITING) => envelope::from_row::<Waiting>(key, row).is_ok(),
        _ => false,
    }
}
