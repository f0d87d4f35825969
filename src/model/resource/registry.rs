//! All kinds of resources, for code that reads records without knowing their type: search, change
//! feed, verification.

use crate::error::Result;
use crate::model::quotas::charge::Usage;
use crate::model::resource::entries::{entries, entry_value};
use crate::model::resource::members::summary_members;
use crate::model::resource::{Field, Index, Resource, TIMELESS};
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

/// An index with the type of its resource erased.
#[derive(Clone, Copy, Debug)]
pub(crate) struct IndexForm {
    /// Number of the index within the resource.
    pub number: u8,
    /// The format that the index came with.
    #[cfg_attr(
        not(test),
        allow(dead_code, reason = "what is stored is compared with a committed list")
    )]
    pub since: u8,
    /// Paths of the fields, in key order.
    pub fields: &'static [&'static str],
    /// Paths of the fields whose values are stored with each entry.
    pub include: &'static [&'static str],
    /// Whether two records may not have the same entry.
    pub unique: bool,
}

impl IndexForm {
    fn of<R: Resource>(index: &Index<R>) -> Self {
        let Index { number, since, fields, include, unique, on: _ } = *index;
        Self { number, since, fields, include, unique }
    }
}

/// The declaration of a kind with its type erased, for queries.
#[derive(Clone, Debug)]
pub(crate) struct KindDecl {
    /// The kind.
    pub kind: Kind,
    /// The fields, in the order of [`Resource::fields`].
    pub fields: Vec<FieldDecl>,
    /// The indexes whose entries are values of fields.
    pub indexes: Vec<IndexForm>,
    /// Paths of fields that are never null.
    pub never_null: &'static [&'static str],
    /// Whether full-text search covers it.
    pub is_searched: bool,
}

impl KindDecl {
    /// The declaration of a resource type.
    #[must_use]
    pub(crate) fn of<R: Resource>() -> Self {
        let on_fields = R::indexes().iter().filter(|index| index.on.is_none());
        Self {
            kind: R::KIND,
            fields: R::fields().iter().map(|field| field.decl).collect(),
            indexes: on_fields.map(IndexForm::of).collect(),
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

/// One kind of resource with its type erased.
#[derive(Clone, Copy, Debug)]
pub(crate) struct KindEntry {
    /// The kind.
    pub kind: Kind,
    /// Whether full-text search covers it.
    pub searchable: fn() -> bool,
    /// Name and weight of each text field.
    pub text_fields: fn() -> Vec<(&'static str, f32)>,
    /// Path of each plain field that is a number or a time, and whether it is a double.
    pub scalars: fn() -> Vec<(&'static str, bool)>,
    /// The document of a record, from the payload of its envelope.
    pub document: fn(Payload<'_>) -> Result<Document>,
    /// The members that a summary needs.
    pub summary_members: fn() -> Members,
    /// The document without its texts and scalars, read from these members.
    pub summary: fn(Payload<'_>, Members) -> Result<Document>,
    /// The stored form of each index.
    pub indexes: fn() -> Vec<IndexForm>,
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
            text_fields: || R::text().iter().map(|field| (field.name, field.weight)).collect(),
            scalars: || {
                scalar_fields::<R>()
                    .map(|field| (field.decl.path, matches!(field.decl.ty, FieldType::Double)))
                    .collect()
            },
            document: document::<R>,
            summary_members: summary_members::<R>,
            summary: summary::<R>,
            indexes: || R::indexes().iter().map(IndexForm::of).collect(),
            entries: all_entries::<R>,
            usage: usage::<R>,
        }
    }
}

/// The fields for columns of the text index. A kind with state has none: its records change without
/// the index seeing it. Fields that depend on the time of reading have other types.
fn scalar_fields<R: Resource>() -> impl Iterator<Item = &'static Field<R>> {
    let holds = |field: &&Field<R>| {
        matches!(field.decl.ty, FieldType::Int | FieldType::Time | FieldType::Double)
    };
    let fields: &'static [Field<R>] = if R::HAS_STATE { &[] } else { R::fields() };
    fields.iter().filter(holds)
}

fn scalars<R: Resource>(record: &R) -> Vec<(&'static str, Scalar)> {
    let scalar = |field: &Field<R>| match (field.get)(record, &TIMELESS) {
        Val::Int(value) | Val::Time(value) => Some((field.decl.path, Scalar::Int(value))),
        Val::Double(value) => Some((field.decl.path, Scalar::Float(value))),
        _ => None,
    };
    scalar_fields::<R>().filter_map(scalar).collect()
}

fn document<R: Resource>(payload: Payload<'_>) -> Result<Document> {
    let record = stored::read::<R>(payload)?;
    let texts = R::text()
        .iter()
        .map(|field| {
            let mut text = String::new();
            (field.get)(&record, &mut text);
            (field.name, field.weight, text)
        })
        .collect();
    Ok(Document {
        id: record.id().to_owned(),
        name: record.name().to_owned(),
        workspace: record.workspace().to_owned(),
        texts,
        scalars: scalars(&record),
    })
}

fn summary<R: Resource>(payload: Payload<'_>, members: Members) -> Result<Document> {
    let mut record = R::default();
    stored::fill(&mut record, payload, members)?;
    Ok(Document {
        id: record.id().to_owned(),
        name: record.name().to_owned(),
        workspace: record.workspace().to_owned(),
        ..Document::default()
    })
}

fn all_entries<R: Resource>(payload: Payload<'_>) -> Result<Vec<(u8, Vec<u8>, Vec<u8>)>> {
    let record = stored::read::<R>(payload)?;
    let mut all = Vec::new();
    for index in R::indexes() {
        let value = entry_value(&record, index);
        for entry in entries(&record, index) {
            all.push((index.number, entry, value.clone()));
        }
    }
    Ok(all)
}

fn usage<R: Resource>(payload: Payload<'_>, state: Option<Payload<'_>>) -> Result<(String, Usage)> {
    let mut record = stored::read::<R>(payload)?;
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
