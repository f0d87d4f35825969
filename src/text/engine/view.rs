//! An immutable view of the index, and searches over it.

use std::cell::RefCell;
use std::ops::Deref;
use std::sync::Arc;

use tantivy::query::Bm25StatisticsProvider;
use tantivy::{Searcher, Term};

use super::collect::{Compiled, collect, collect_keys, push_keys};
use super::columns::{self, DeletedDocuments};
use super::compile::Compiler;
use super::contains::{candidates, parts};
use super::failure::{failed, guarded};
use super::fixed_statistics::FixedStatistics;
use super::lengths::Lengths;
use super::schema::{Fields, Keys};
use super::segment_cache::{Deleted, SegmentCache};
use super::word_list::WordLists;
use crate::error::Result;
use crate::text::document::{Ask, Change, DocKey, Shape};
use crate::text::overlay::{Chunk, Overlay, Statistics};
use crate::text::request::{Facets, Hit, Hits, Request, Scope};
use crate::text::tree::{Leaf, Node};

/// An immutable state of the index: a commit, and the changes after it. A search clones it several
/// times.
#[derive(Clone)]
pub(crate) struct View {
    pub(super) parts: Arc<ViewParts>,
    pub(super) overlay: Overlay,
    pub(super) sequence: u64,
}

/// What views share.
pub(crate) struct ViewParts {
    pub(super) searcher: Searcher,
    pub(super) fields: Arc<Fields>,
    pub(super) shape: Arc<Shape>,
    pub(super) word_lists: Arc<WordLists>,
    pub(super) key_columns: Arc<SegmentCache<Keys>>,
    pub(super) lengths: Arc<SegmentCache<Lengths>>,
    pub(super) deleted: Arc<SegmentCache<Deleted>>,
}

impl Deref for View {
    type Target = ViewParts;

    fn deref(&self) -> &ViewParts {
        &self.parts
    }
}

impl View {
    /// The change-log sequence up to which its answers are complete.
    pub(crate) fn sequence(&self) -> u64 {
        self.sequence
    }

    /// Adds changes that only this view shows, such as those of a transaction.
    #[must_use]
    pub(crate) fn with(mut self, changes: &[Change]) -> Self {
        if !changes.is_empty() {
            let chunk = Chunk::new(changes, self.shape.folding);
            self.overlay.push(chunk);
        }
        self
    }

    /// Runs a search.
    ///
    /// # Errors
    /// `LimitExceeded` for a phrase whose last word is a prefix of too many words; `Corrupt` or
    /// `Io` when the index is damaged and must be built again.
    pub(crate) fn search(&self, request: &Request) -> Result<Hits> {
        let mut hits = Hits {
            hits: Vec::new(),
            has_more: false,
            total: request.count.then_some(0),
            facets: request.facets.then(Facets::default),
        };
        guarded("searching", || {
            let compiled = self.compiled(request)?;
            let known = (&*self.key_columns, &*self.lengths);
            collect(&self.searcher, &compiled, request, &self.shape, known, &mut hits)
                .map_err(failed)
        })?;
        let about: &dyn Statistics = if request.fixed_statistics { &FixedStatistics } else { self };
        self.overlay.search(request, &self.shape, about, &mut hits);
        hits.hits.sort_by(Hit::order);
        hits.has_more = hits.hits.len() > request.take;
        hits.hits.truncate(request.take);
        Ok(hits)
    }

    /// The query of a request over the documents whose present form is in the index.
    fn compiled(&self, request: &Request) -> Result<Compiled> {
        let compiler = Compiler {
            searcher: &self.searcher,
            fields: &self.fields,
            shape: &self.shape,
            failed,
            frequencies: RefCell::default(),
        };
        let hidden = self.overlay.hidden();
        let query = compiler.request(request, &hidden)?;
        let is_word = matches!(
            &request.query,
            Node::Leaf(Leaf::Text { words, prefix: false, .. }) if words.len() == 1
        );
        let mut terms = Vec::new();
        if is_word && request.scopes.is_none() && hidden.is_empty() {
            query.query_terms(&mut |term, _| terms.push(term.clone()));
        }
        let only_term = terms.pop().filter(|_| terms.is_empty());
        let frequencies = compiler.frequencies.into_inner();
        Ok(Compiled { query, only_term, frequencies })
    }

    /// All documents that a request finds, in no order.
    ///
    /// # Errors
    /// As [`View::search`].
    pub(crate) fn matching(&self, request: &Request) -> Result<Vec<DocKey>> {
        let mut keys = guarded("searching", || {
            let query = self.compiled(request)?.query;
            collect_keys(&self.searcher, &*query, &self.shape, &self.key_columns).map_err(failed)
        })?;
        let mut hits = Hits::default();
        self.overlay.search(request, &self.shape, self, &mut hits);
        keys.extend(hits.hits.iter().map(|hit| hit.key));
        Ok(keys)
    }

    /// The documents of a kind that may contain `piece` in the field of this name, ignoring case;
    /// no document that contains it is left out. `None` if the index cannot answer: there is no
    /// such field, `piece` has no word, or there are too many candidates.
    ///
    /// # Errors
    /// `Corrupt` or `Io` when the index is damaged.
    pub(crate) fn containing(
        &self,
        kind: u8,
        field: &str,
        piece: &str,
    ) -> Result<Option<Vec<DocKey>>> {
        let field = self.shape.field(field).and_then(|at| self.fields.texts.get(at));
        let (Some(&field), Some(parts)) = (field, parts(piece, self.shape.folding)) else {
            return Ok(None);
        };
        let found = guarded("looking up words", || {
            // Above a fraction of all documents, reading the records in key order is faster.
            let most = usize::try_from(self.searcher.num_docs() / 8).unwrap_or(0).max(1_000);
            self.word_lists.keep_only(&self.searcher);
            let mut found = Vec::new();
            for reader in self.searcher.segment_readers() {
                let here =
                    candidates(reader, field, &parts, most, &self.word_lists).map_err(failed)?;
                let Some(here) = here else { return Ok(None) };
                let keys = self.key_columns.of(&self.searcher, reader).map_err(failed)?;
                push_keys(&keys, &here, &self.shape, &mut found).map_err(failed)?;
            }
            Ok(Some(found))
        })?;
        Ok(found.map(|mut found| {
            let hidden = self.overlay.hidden();
            found.retain(|key| key.kind == kind && !hidden.contains(key));
            found.extend(self.overlay.keys().into_iter().filter(|key| key.kind == kind));
            found
        }))
    }

    /// The number of documents in these scopes whose cells satisfy every `Ask`, without the
    /// documents of [`View::unsettled`].
    ///
    /// # Errors
    /// `Corrupt` or `Io` when the index is damaged.
    pub(crate) fn count_cells(&self, asks: &[Ask], scopes: Option<&[Scope]>) -> Result<u64> {
        guarded("counting", || {
            let hidden = self.overlay.hidden();
            let mut total = 0;
            for reader in self.searcher.segment_readers() {
                let deleted = self.deleted.of(&self.searcher, reader).map_err(failed)?;
                let gone = DeletedDocuments { deleted: &deleted.documents, hidden: &hidden };
                total +=
                    columns::count(reader, &self.fields, asks, scopes, &gone).map_err(failed)?;
            }
            Ok(total)
        })
    }

    /// The documents that exist, but whose present form is only in the overlay.
    pub(crate) fn unsettled(&self) -> Vec<DocKey> {
        self.overlay.keys().into_iter().collect()
    }
}

/// Errors count as zero here: the search itself meets and returns them.
impl Statistics for View {
    fn document_count(&self) -> u64 {
        self.searcher.total_num_docs().unwrap_or(0)
    }

    fn document_frequency(&self, field: usize, word: &str) -> u64 {
        self.fields.texts.get(field).map_or(0, |&field| {
            self.searcher.doc_freq(&Term::from_field_text(field, word)).unwrap_or(0)
        })
    }

    #[expect(clippy::cast_precision_loss, reason = "a score is an estimate")]
    fn average_length(&self, field: usize) -> f32 {
        let total = self
            .fields
            .texts
            .get(field)
            .map_or(0, |&field| self.searcher.total_num_tokens(field).unwrap_or(0));
        total as f32 / self.document_count().max(1) as f32
    }
}
