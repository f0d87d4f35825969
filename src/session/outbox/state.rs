//! The text index of an open store: its handle, the lock of feeding, and the searchable kinds.

use std::fmt;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Instant;

use crate::disk::Owner;
use crate::error::Result;
use crate::model::{KindEntry, REGISTRY};
use crate::session::access::options::Settings;
use crate::session::lock::lock;
#[cfg(test)]
use crate::text::Change;
use crate::text::{ColumnName, Folding, Index, OpenOutcome, Shape};
use crate::value::stored::Members;

/// The text index of an open store. It is opened at first use.
#[derive(Default)]
pub(crate) struct SearchOutbox {
    folding: Folding,
    registry: OnceLock<&'static [KindEntry]>,
    searchable: OnceLock<Vec<Searchable>>,
    pub(super) opened: Mutex<Option<(Arc<Index>, OpenOutcome)>>,
    /// Locked while changes are fed: there is one feeder at a time.
    pub(super) feeding: Mutex<()>,
    pub(super) saved_at: Mutex<Option<Instant>>,
    owner: Owner,
}

/// A kind that text search covers.
#[derive(Clone, Copy)]
pub(super) struct Searchable {
    pub(super) registered: &'static KindEntry,
    /// The members that a search result shows.
    pub(super) summary: Members,
}

impl fmt::Debug for SearchOutbox {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SearchOutbox")
            .field("is_open", &lock(&self.opened).is_some())
            .finish_non_exhaustive()
    }
}

impl Drop for SearchOutbox {
    /// A forked child must not stop the index: it would wait for threads that exist only in the
    /// process that opened the store.
    #[expect(clippy::mem_forget, reason = "the process that opened the store frees it")]
    fn drop(&mut self) {
        if !self.owner.is_current() {
            std::mem::forget(self.opened.get_mut().unwrap_or_else(PoisonError::into_inner).take());
        }
    }
}

impl SearchOutbox {
    /// The text index of a store with these settings.
    pub(crate) fn new(settings: &Settings) -> Self {
        let folding =
            if settings.search_folds_diacritics { Folding::Diacritics } else { Folding::Case };
        let mut outbox = Self::default();
        outbox.folding = folding;
        outbox
    }

    fn registry(&self) -> &'static [KindEntry] {
        self.registry.get_or_init(|| REGISTRY)
    }

    /// Replaces the list of resources, before the index is first opened.
    #[cfg(test)]
    pub(crate) fn set_registry(&self, registry: &'static [KindEntry]) {
        assert!(self.registry.set(registry).is_ok());
    }

    /// How the index was opened; `None` before that.
    #[cfg(test)]
    pub(crate) fn opened(&self) -> Option<OpenOutcome> {
        lock(&self.opened).as_ref().map(|(_, how)| how.clone())
    }

    /// Drops the cached checksum results of the index's files, so that the next search reads the
    /// disk again.
    #[cfg(test)]
    pub(crate) fn forget_blocks(&self) {
        self.open_index().into_iter().for_each(|index| index.forget_blocks());
    }

    /// Applies changes to the index that no record had.
    #[cfg(test)]
    pub(crate) fn falsify(&self, changes: &[Change]) {
        let index = self.open_index().unwrap();
        index.apply(changes, index.sequence()).unwrap();
        index.commit().unwrap();
    }

    pub(super) fn open_index(&self) -> Option<Arc<Index>> {
        lock(&self.opened).as_ref().map(|(index, _)| Arc::clone(index))
    }

    /// The last commit that the open index has.
    pub(crate) fn sequence(&self) -> Option<u64> {
        self.open_index().map(|index| index.sequence())
    }

    pub(super) fn known(&self, code: u8) -> Option<Searchable> {
        self.searchable_kinds().iter().find(|known| known.registered.kind.code == code).copied()
    }

    pub(in crate::session) fn by_code(&self, code: u8) -> Option<&'static KindEntry> {
        self.known(code).map(|known| known.registered)
    }

    /// The kinds that text search covers.
    pub(in crate::session) fn searchable(&self) -> impl Iterator<Item = &'static KindEntry> {
        self.searchable_kinds().iter().map(|known| known.registered)
    }

    pub(super) fn searchable_kinds(&self) -> &[Searchable] {
        self.searchable.get_or_init(|| {
            let searchable = self.registry().iter().filter(|registered| (registered.searchable)());
            searchable
                .map(|registered| Searchable {
                    registered,
                    summary: (registered.summary_members)(),
                })
                .collect()
        })
    }

    pub(in crate::session) fn shape(&self) -> Shape {
        let mut shape = Shape { folding: self.folding, ..Shape::default() };
        for registered in self.searchable() {
            shape.kinds.push(registered.kind);
            for field in (registered.text_fields)() {
                shape.add_field(field.name, field.weight);
            }
            for (path, is_float) in (registered.scalars)() {
                shape.columns.push(ColumnName {
                    kind: registered.kind.code,
                    path: path.to_owned(),
                    is_float,
                });
            }
        }
        shape
    }

    /// Number of times that the index was discarded and started again since it was opened.
    pub(crate) fn beginnings(&self) -> u64 {
        self.open_index().map_or(0, |index| index.beginnings())
    }

    /// Merges segments of the index, for times without writes.
    ///
    /// # Errors
    /// If the merge fails; the next pass tries it again.
    pub(crate) fn settle(&self) -> Result<()> {
        self.open_index().map_or(Ok(()), |index| index.settle())
    }
}
