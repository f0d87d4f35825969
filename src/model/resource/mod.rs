//! The declaration of a resource, from which filters, indexes, orders, projections and the text
//! index are derived.
//!
//! `#[derive(Resource)]` generates the declaration from lists of members; see "Adding a resource
//! type" in `docs/architecture.md`.

pub(crate) mod declare;
pub(in crate::model) mod entries;
pub(in crate::model) mod members;
pub(crate) mod registry;
pub(in crate::model) mod union;

use std::any::Any;
use std::fmt::Debug;

use chrono::{DateTime, Utc};
pub(crate) use stationdb_derive::Resource;

use crate::error::Result;
use crate::value::id::{Kind, RecordKey};
use crate::value::number::shortest;
use crate::value::stored::Payload;
use crate::value::{Env, FieldDecl, Row, Stored, Val, time};

/// The environment for fields that do not depend on the time of reading. Fields that do are neither
/// indexed nor searched.
pub(in crate::model) const TIMELESS: Env = Env { now_ms: 0, calibration_warning_days: 0 };

/// A secondary index of a resource.
///
/// An entry of a record consists of the order-preserving bytes of the values of `fields`, one after
/// the other. A field of strings gives one entry for each string, a map one for each pair (key,
/// value). The record computes other entries itself.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Index {
    /// Stable number of the index within the resource, from 1; never reused for another index.
    pub number: u8,
    /// The format that the index came with. In a store of an older one it is filled step by step,
    /// and used once it is complete. Only an index that came with its kind is read by number.
    pub since: u8,
    /// Paths of the fields, in key order.
    pub fields: &'static [&'static str],
    /// Whether two records may not have the same entry. A record with null in the first field has
    /// no entry in a unique index.
    pub unique: bool,
    /// Paths of further fields whose values are stored with each entry, so that queries can test
    /// them without reading the record: only plain values, few and short.
    pub include: &'static [&'static str],
    /// Whether the entries are those of [`Resource::computed_entries`], and not values of fields.
    pub computed: bool,
}

/// A field that full-text search reads.
///
/// If its name is the path of a text field that filters can use, it must append at least the text
/// of that field: filters for a part of the field take their candidates from the text index.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TextField {
    /// Name in text queries (`name:amplifier`) and in snippets.
    pub name: &'static str,
    /// Weight of a hit in this field; 1.0 is the default.
    pub weight: f32,
}

/// A kind of record that the store stores.
///
/// Derived, not written by hand. A resource has one file with its type in `model`, one file in
/// `services`, and one line in each `mod.rs`.
pub(crate) trait Resource:
    Stored + Clone + Debug + Default + PartialEq + Send + Sync + 'static
{
    /// The kind of the resource.
    const KIND: Kind;

    /// The id of a record; empty before it has one.
    fn id(&self) -> &str;

    /// The workspace of a record.
    fn workspace(&self) -> &str;

    /// The display name, for the change feed and for search hits.
    fn name(&self) -> &str {
        ""
    }

    /// The fields, in any order, with unique paths; a static of the resource's file.
    fn fields() -> &'static [FieldDecl];

    /// The value of the field at `place` of [`Self::fields`]. Fields that depend on the time of
    /// reading take the time from the environment.
    fn value<'a>(&'a self, place: usize, env: &Env) -> Val<'a>;

    /// The secondary indexes besides the one by id.
    fn indexes() -> &'static [Index] {
        &[]
    }

    /// The entries in the index of this number, which is [`Index::computed`].
    fn computed_entries(&self, _number: u8) -> Vec<Vec<u8>> {
        Vec::new()
    }

    /// The fields that full-text search reads; empty for kinds that search does not cover.
    fn text() -> &'static [TextField] {
        &[]
    }

    /// Appends the text of the field at `place` of [`Self::text`], with words separated by spaces
    /// or line feeds.
    fn add_text(&self, _place: usize, _out: &mut String) {}

    /// Whether the getter of each field reads only the member that the field's path starts with,
    /// and id and workspace are members of these names. Then queries decode only the members that
    /// they use.
    const FIELDS_ARE_MEMBERS: bool = false;

    /// Wire names of the members from which the display name is taken.
    const NAME_MEMBERS: &'static [&'static str] = &["name"];

    /// Paths of fields that are never null, so that an index that omits records with null contains
    /// all records.
    const NEVER_NULL: &'static [&'static str] = &[];

    /// Whether a part of each record changes so often that it is stored in a small row of its own.
    /// No index and no text may depend on that part: a change of it writes neither.
    const HAS_STATE: bool = false;

    /// The stored form of the state.
    ///
    /// # Errors
    /// The errors of encoding.
    fn state(&self) -> Result<Vec<u8>> {
        Ok(Vec::new())
    }

    /// Reads the state back from its stored form.
    ///
    /// # Errors
    /// `Corrupt` for bytes that are not a state.
    fn set_state(&mut self, _state: Payload<'_>) -> Result<()> {
        Ok(())
    }

    /// The record as it is stored, without the state.
    #[must_use]
    fn without_state(&self) -> Self {
        self.clone()
    }

    /// The key of a record, derived from its id.
    fn key(&self) -> Option<RecordKey> {
        RecordKey::parse(Self::KIND.id, self.id())
    }
}

/// A record of any kind.
pub(crate) trait AnyRecord: Debug {
    /// Its kind.
    fn kind(&self) -> Kind;
    /// As [`Resource::fields`].
    fn field_decls(&self) -> &'static [FieldDecl];
    /// As [`Resource::value`].
    fn field_value<'a>(&'a self, place: usize, env: &Env) -> Val<'a>;
    /// As [`Resource::add_text`].
    fn add_text_of(&self, place: usize, out: &mut String);
    /// As [`Resource::computed_entries`].
    fn entries_in(&self, number: u8) -> Vec<Vec<u8>>;
    /// Its id, name and workspace.
    fn identity(&self) -> [&str; 3];
    /// The record with its type.
    fn as_any(&self) -> &dyn Any;
}

impl<R: Resource> AnyRecord for R {
    fn kind(&self) -> Kind {
        R::KIND
    }

    fn field_decls(&self) -> &'static [FieldDecl] {
        R::fields()
    }

    fn field_value<'a>(&'a self, place: usize, env: &Env) -> Val<'a> {
        self.value(place, env)
    }

    fn add_text_of(&self, place: usize, out: &mut String) {
        self.add_text(place, out);
    }

    fn entries_in(&self, number: u8) -> Vec<Vec<u8>> {
        self.computed_entries(number)
    }

    fn identity(&self) -> [&str; 3] {
        [self.id(), self.name(), self.workspace()]
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

/// A record as filters read it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RecordRow<'r> {
    pub record: &'r dyn AnyRecord,
    pub env: Env,
}

impl Row for RecordRow<'_> {
    fn val(&self, place: usize) -> Val<'_> {
        self.record.field_value(place, &self.env)
    }
}

/// Who created and who changed a record, and when.
pub(crate) struct Stamp<'r> {
    /// The user who created it.
    pub created_by: &'r mut Option<String>,
    /// When it was created.
    pub created_at: &'r mut Option<DateTime<Utc>>,
    /// The user who changed it last.
    pub updated_by: &'r mut Option<String>,
    /// When it was changed last.
    pub updated_at: &'r mut Option<DateTime<Utc>>,
}

impl Stamp<'_> {
    /// Sets the stamp of a new record.
    pub(crate) fn create(self, user: &str, now: DateTime<Utc>) {
        *self.created_by = Some(user.to_owned());
        *self.created_at = Some(now);
        *self.updated_by = Some(user.to_owned());
        *self.updated_at = Some(now);
    }

    /// Sets the stamp of a change. The time of a record never goes backwards, even if the clock
    /// does.
    pub(crate) fn update(self, user: &str, now: DateTime<Utc>) {
        *self.updated_by = Some(user.to_owned());
        *self.updated_at = (*self.updated_at).max(Some(now));
    }
}

/// A resource with the members that every new record gets. Derived for resources that have all of
/// them.
pub(crate) trait Stamped: Resource {
    /// Gives a new record its id.
    fn set_key(&mut self, key: RecordKey);

    /// The workspace of the record.
    fn workspace_mut(&mut self) -> &mut Option<String>;

    /// The stamp of the record.
    fn stamp(&mut self) -> Stamp<'_>;
}

/// The text of a field, by its path; `None` if the value is null, or is no text, time or double.
#[must_use]
pub(crate) fn text_of<R: Resource>(record: &R, path: &str) -> Option<String> {
    let place = R::fields().iter().position(|field| field.path == path)?;
    match record.value(place, &TIMELESS) {
        Val::Str(text) => Some(text.into_owned()),
        Val::Time(ms) => Some(time::format(time::from_millis(ms))),
        Val::Double(value) => Some(shortest(value)),
        _ => None,
    }
}
