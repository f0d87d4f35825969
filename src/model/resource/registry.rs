//! All kinds of resources, for code that reads records without knowing their type: search, change
//! feed, verification.

use crate::error::Result;
use crate::model::quotas::charge::Usage;
use crate::model::resource::entries::{entries, entry_value};
use crate::model::resource::members::summary_members;
use crate::model::resource::{AnyRecord, Index, Resource, TIMELESS, TextField};
use crate::value::id::Kind;
use crate::value::stored::{Members, Payload};
use crate::value::{FieldDecl, FieldType, Val, stored};

/// The content of one record for full-text search.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Document {
    /// Id of the record.
    pub id: String,
    /// Display name.
    pub name: String,
    /// Workspace.
    pub workspace: String,
    /// Name, weight and text of each text field; empty for kinds that search does not cover.
    pub texts: Vec<(&'static str, f32, String)>,
    /// Path and value of each plain number or time field whose value is not null.
    pub scalars: Vec<(&'static str, Scalar)>,
}

/// A numeric value of a record.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Scalar {
    /// An integer, or a time in milliseconds.
    Int(i64),
    /// A double.
    Float(f64),
}

/// The declaration of a kind with its type erased, for queries.
#[derive(Clone, Debug)]
pub(crate) struct KindDecl {
    /// The kind.
    pub kind: Kind,
    /// The fields, in the order of [`Resource::fields`].
    pub fields: &'static [FieldDecl],
    /// The indexes whose entries are values of fields.
    pub indexes: Vec<Index>,
    /// Paths of fields that are never null.
    pub never_null: &'static [&'static str],
    /// Whether full-text search covers it.
    pub is_searched: bool,
}

impl KindDecl {
    /// The declaration of a resource type.
    #[must_use]
    pub(crate) fn of<R: Resource>() -> Self {
        Self {
            kind: R::KIND,
            fields: R::fields(),
            indexes: on_fields(R::indexes()),
            never_null: R::NEVER_NULL,
            is_searched: !R::text().is_empty(),
        }
    }

    /// The position of a field by its path.
    #[must_use]
    pub(crate) fn position(&self, path: &str) -> Option<usize> {
        self.fields.iter().position(|field| field.path == path)
    }
}

fn on_fields(indexes: &[Index]) -> Vec<Index> {
    indexes.iter().filter(|index| !index.computed).copied().collect()
}

/// One kind of resource with its type erased.
#[derive(Clone, Copy, Debug)]
pub(crate) struct KindEntry {
    /// The kind.
    pub kind: Kind,
    /// Whether full-text search covers it.
    pub searchable: fn() -> bool,
    /// The text fields.
    pub text_fields: fn() -> &'static [TextField],
    /// Path of each plain field that is a number or a time, and whether it is a double.
    pub scalars: fn() -> Vec<(&'static str, bool)>,
    /// The document of a record, from the payload of its envelope.
    pub document: fn(Payload<'_>) -> Result<Document>,
    /// The members that a summary needs.
    pub summary_members: fn() -> Members,
    /// The document without its texts and scalars, read from these members.
    pub summary: fn(Payload<'_>, Members) -> Result<Document>,
    /// The indexes.
    pub indexes: fn() -> &'static [Index],
    /// Index number, entry and entry value of all index entries of a record, from the payload of
    /// its envelope.
    pub entries: fn(Payload<'_>) -> Result<Vec<(u8, Vec<u8>, Vec<u8>)>>,
    /// The workspace of a record and what it counts towards the quota, from the payload of its
    /// envelope and that of its state.
    pub usage: fn(Payload<'_>, Option<Payload<'_>>) -> Result<(String, Usage)>,
}

impl KindEntry {
    /// The erased form of a resource type.
    #[must_use]
    pub(crate) const fn of<R: Resource>() -> Self {
        Self {
            kind: R::KIND,
            searchable: || !R::text().is_empty(),
            text_fields: R::text,
            scalars: || scalars(R::fields(), R::HAS_STATE),
            document: |payload| {
                Ok(document(&read::<R>(payload, Members::ALL)?, R::text(), R::HAS_STATE))
            },
            summary_members: summary_members::<R>,
            summary: |payload, members| Ok(summary(&read::<R>(payload, members)?)),
            indexes: R::indexes,
            entries: |payload| Ok(all_entries(&read::<R>(payload, Members::ALL)?, R::indexes())),
            usage: usage::<R>,
        }
    }
}

/// The fields for columns of the text index, with their places. A kind with state has none: its
/// records change without the index seeing it. Fields that depend on the time of reading have other
/// types.
fn scalar_fields(
    fields: &'static [FieldDecl],
    has_state: bool,
) -> impl Iterator<Item = (usize, &'static FieldDecl)> {
    let holds = |(_, field): &(usize, &FieldDecl)| {
        matches!(field.ty, FieldType::Int | FieldType::Time | FieldType::Double)
    };
    let fields: &[FieldDecl] = if has_state { &[] } else { fields };
    fields.iter().enumerate().filter(holds)
}

fn scalars(fields: &'static [FieldDecl], has_state: bool) -> Vec<(&'static str, bool)> {
    scalar_fields(fields, has_state)
        .map(|(_, field)| (field.path, matches!(field.ty, FieldType::Double)))
        .collect()
}

/// The record in a payload, of which only these members are read.
fn read<R: Resource>(payload: Payload<'_>, members: Members) -> Result<R> {
    let mut record = R::default();
    stored::fill(&mut record, payload, members)?;
    Ok(record)
}

fn document(record: &dyn AnyRecord, text: &[TextField], has_state: bool) -> Document {
    let texts = text.iter().enumerate().map(|(place, field)| {
        let mut text = String::new();
        record.add_text_of(place, &mut text);
        (field.name, field.weight, text)
    });
    let scalar = |(place, field): (usize, &FieldDecl)| match record.field_value(place, &TIMELESS) {
        Val::Int(value) | Val::Time(value) => Some((field.path, Scalar::Int(value))),
        Val::Double(value) => Some((field.path, Scalar::Float(value))),
        _ => None,
    };
    Document {
        texts: texts.collect(),
        scalars: scalar_fields(record.field_decls(), has_state).filter_map(scalar).collect(),
        ..summary(record)
    }
}

fn summary(record: &dyn AnyRecord) -> Document {
    let [id, name, workspace] = record.identity().map(str::to_owned);
    Document { id, name, workspace, ..Document::default() }
}

fn all_entries(record: &dyn AnyRecord, indexes: &[Index]) -> Vec<(u8, Vec<u8>, Vec<u8>)> {
    let mut all = Vec::new();
    for index in indexes {
        let value = entry_value(record, index);
        for entry in entries(record, index) {
            all.push((index.number, entry, value.clone()));
        }
    }
    all
}

fn usage<R: Resource>(payload: Payload<'_>, state: Option<Payload<'_>>) -> Result<(String, Usage)> {
    let mut record = read::<R>(payload, Members::ALL)?;
    if let Some(state) = state.filter(|_| R::HAS_STATE) {
        record.set_state(state)?;
    }
    Ok((record.workspace().to_owned(), Usage::of(&record)))
}

/// Lists every resource type, one line each.
macro_rules! registry {
    ($($resource:ty,)*) => {
        /// All kinds of resources that the store stores.
        pub(crate) static REGISTRY: &[KindEntry] = &[$(KindEntry::of::<$resource>()),*];

        /// All kinds of resources that this build stores.
        pub(crate) fn kinds() -> impl Iterator<Item = &'static KindEntry> {
            let added = $crate::model::resource::registry::added();
            let is_kept = move |known: &&KindEntry| {
                added.iter().all(|added| added.kind.code != known.kind.code)
            };
            added.iter().chain(REGISTRY.iter().filter(is_kept))
        }

        /// The kind with this code.
        #[must_use]
        pub(crate) fn by_code(code: u8) -> Option<&'static KindEntry> {
            kinds().find(|registered| registered.kind.code == code)
        }
    };
}
pub(crate) use registry;

/// Kinds that the build of the next format adds, or has in another form: none but in a test.
pub(crate) fn added() -> &'static [KindEntry] {
    #[cfg(test)]
    return grown::added();
    #[cfg(not(test))]
    &[]
}

/// A build of the next format, for tests of how the format grows.
#[cfg(test)]
pub(crate) mod grown {
    use std::cell::Cell;

    use super::KindEntry;
    use crate::value::stored::grown;

    thread_local! {
        static ADDED: Cell<&'static [KindEntry]> = const { Cell::new(&[]) };
    }

    pub(super) fn added() -> &'static [KindEntry] {
        ADDED.get()
    }

    /// Runs `f` as a build of the next format does: this thread writes that format, and knows these
    /// kinds, each in place of the one with its code.
    pub(crate) fn build<T>(kinds: &'static [KindEntry], f: impl FnOnce() -> T) -> T {
        /// Ends the change also when `f` panics.
        struct Restore;
        impl Drop for Restore {
            fn drop(&mut self) {
                ADDED.set(&[]);
                grown::set(false);
            }
        }
        let _restore = Restore;
        ADDED.set(kinds);
        grown::set(true);
        f()
    }
}

#[cfg(test)]
mod tests {
    use crate::model::REGISTRY;

    #[test]
    fn codes_and_names_of_kinds_are_unique() {
        for (position, one) in REGISTRY.iter().enumerate() {
            for other in &REGISTRY[position + 1..] {
                assert_ne!(one.kind.code, other.kind.code);
                assert_ne!(one.kind.name, other.kind.name);
            }
        }
    }

    #[test]
    fn names_of_kinds_in_events_are_lower_case_words() {
        for registered in REGISTRY {
            let name = registered.kind.event_name();
            assert!(name.chars().all(|c| c.is_ascii_lowercase() || c == ' '), "{name}");
        }
    }
}
