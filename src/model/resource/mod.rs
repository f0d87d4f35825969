//! The one declaration of a resource: what filters, indexes, orders, projections and the text index are made from.
//!
//! `#[derive(Resource)]` makes it from lists of the members; see "Adding a resource type" in
//! `docs/architecture.md`.

pub(in crate::model) mod declare;
pub(in crate::model) mod entries;
#[cfg(test)]
mod field_page_tests;
pub(in crate::model) mod members;
pub mod registry;
pub(in crate::model) mod union;

use std::fmt::Debug;

use chrono::{DateTime, Utc};
pub(crate) use stationdb_derive::Resource;

use crate::error::Result;
use crate::value::id::{Kind, RecordKey};
use crate::value::stored::Payload;
use crate::value::{Env, FieldDecl, Stored, Val, time};

/// One field of a resource: its declaration, and how to get it from a record.
pub struct Field<R: 'static> {
    /// Wire path, type and operators.
    pub decl: FieldDecl,
    /// Gets the value; fields that depend on the time of reading take it from the environment.
    pub get: for<'a> fn(&'a R, &Env) -> Val<'a>,
}

/// The environment for fields that do not depend on the time of reading. Fields that do are neither
/// indexed nor searched.
pub(in crate::model) const TIMELESS: Env = Env { now_ms: 0, calibration_warning_days: 0 };

/// A secondary index of a resource.
///
/// The entries of a record are the order-preserving bytes of the values of `fields`, one after the other; a field of
/// strings gives one entry for each string, a map one for each pair (key, value). `on` computes other entries.
pub struct Index<R: 'static> {
    /// Stable number of the index within the resource; 1 and up, never given to another index.
    pub number: u8,
    /// The format that the index came with. In a store of an older one it is filled step by step,
    /// and used once it is complete. Only an index that came with its kind is read by number.
    pub since: u8,
    /// Paths of the fields, in key order.
    pub fields: &'static [&'static str],
    /// Whether two records may not have the same entry. Null entries (a `Null` first field) are not unique.
    pub unique: bool,
    /// Paths of further fields whose values stand beside each entry, so that queries need not read the record to test
    /// them: plain values only, few and short.
    pub include: &'static [&'static str],
    /// Computes entries that are no plain fields; `None` for an index on `fields`.
    pub on: Option<fn(&R) -> Vec<Vec<u8>>>,
}

/// A field that full-text search reads.
///
/// One that has the path of a text field of filters as its name appends at least that field's text: filters that look
/// for a part of it take their candidates from the text index.
pub struct TextField<R: 'static> {
    /// Name in text queries (`name:amplifier`) and in snippets.
    pub name: &'static str,
    /// Weight of a hit in it; 1.0 is ordinary.
    pub weight: f32,
    /// Appends the text, words separated by spaces or line feeds.
    pub get: fn(&R, &mut String),
}

/// A kind of record that the store keeps.
///
/// Derived, not written by hand: one file in `model` with the type, one file in `services`, and one line
/// in each `mod.rs`.
pub trait Resource: Stored + Clone + Debug + Default + PartialEq + Send + Sync + 'static {
    /// The kind of the resource.
    const KIND: Kind;

    /// The id of a record; empty while it has none.
    fn id(&self) -> &str;

    /// The workspace of a record.
    fn workspace(&self) -> &str;

    /// The display name, for the change feed and for search hits.
    fn name(&self) -> &str {
        ""
    }

    /// The fields, each once; a static of the resource's file. Order is free, paths are unique.
    fn fields() -> &'static [Field<Self>];

    /// The secondary indexes besides the one by id.
    fn indexes() -> &'static [Index<Self>] {
        &[]
    }

    /// The fields that full-text search reads; empty for kinds that search does not find.
    fn text() -> &'static [TextField<Self>] {
        &[]
    }

    /// Whether the getter of each field reads no member but the one that the field's path begins with, and id and workspace
    /// come from the members called so. Queries then decode only the members that they ask about.
    const FIELDS_ARE_MEMBERS: bool = false;

    /// The members that the display name comes from, by their wire names.
    const NAME_MEMBERS: &'static [&'static str] = &["name"];

    /// Paths of fields that no record is without, so that an index that leaves records with null out has them all.
    const NEVER_NULL: &'static [&'static str] = &[];

    /// Whether a part of each record changes so often that it is kept in a small row beside the record. No index and
    /// no text may depend on that part.
    const HAS_STATE: bool = false;

    /// The stored form of that part.
    ///
    /// # Errors
    /// As any encoding.
    fn state(&self) -> Result<Vec<u8>> {
        Ok(Vec::new())
    }

    /// Takes that part back from its stored form.
    ///
    /// # Errors
    /// `Corrupt` for bytes that are none.
    fn set_state(&mut self, _state: Payload<'_>) -> Result<()> {
        Ok(())
    }

    /// The record as it is stored, without that part.
    #[must_use]
    fn without_state(&self) -> Self {
        self.clone()
    }

    /// The key of a record, from its id.
    fn key(&self) -> Option<RecordKey> {
        RecordKey::parse(Self::KIND.id, self.id())
    }
}

/// Who made a record, who changed it, and when.
pub struct Stamp<'r> {
    /// The user who made it.
    pub created_by: &'r mut Option<String>,
    /// When it was made.
    pub created_at: &'r mut Option<DateTime<Utc>>,
    /// The user who changed it last.
    pub updated_by: &'r mut Option<String>,
    /// When it was changed last.
    pub updated_at: &'r mut Option<DateTime<Utc>>,
}

impl Stamp<'_> {
    /// Stamps a new record.
    pub fn create(self, user: &str, now: DateTime<Utc>) {
        *self.created_by = Some(user.to_owned());
        *self.created_at = Some(now);
        *self.updated_by = Some(user.to_owned());
        *self.updated_at = Some(now);
    }

    /// Stamps a change; the time of a record never goes backwards, whatever the clock does.
    pub fn update(self, user: &str, now: DateTime<Utc>) {
        *self.updated_by = Some(user.to_owned());
        *self.updated_at = (*self.updated_at).max(Some(now));
    }
}

/// A resource with the members that every new record gets; derived for those that have all of them.
pub trait Stamped: Resource {
    /// Gives a new record its id.
    fn set_key(&mut self, key: RecordKey);

    /// Its workspace.
    fn workspace_mut(&mut self) -> &mut Option<String>;

    /// Who and when.
    fn stamp(&mut self) -> Stamp<'_>;
}

/// The text of a field, by its path; `None` when it is null, or neither a text nor a time.
#[must_use]
pub fn text_of<R: Resource>(record: &R, path: &str) -> Option<String> {
    let field = R::fields().iter().find(|field| field.decl.path == path)?;
    match (field.get)(record, &TIMELESS) {
        Val::Str(text) => Some(text.into_owned()),
        Val::Time(ms) => Some(time::format(time::from_millis(ms))),
        _ => None,
    }
}
