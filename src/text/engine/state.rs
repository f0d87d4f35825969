//! The writing side of an index: the committed part, the changes in memory, and what a checkpoint
//! still has to save.

use std::sync::Arc;

use tantivy::{IndexReader, IndexWriter, ReloadPolicy, Term};

use super::directory::StoreDirectory;
use super::failure::failed;
use super::lengths::Lengths;
use super::schema::{Fields, Keys, engine_document, schema};
use super::segment_cache::{Deleted, SegmentCache};
use super::tokenizer::WordTokenizer;
use super::view::{View, ViewParts};
use super::word_list::WordLists;
use super::writer::Writer;
use crate::error::{Error, Result};
use crate::text::document::{Change, Shape};
use crate::text::overlay::Overlay;

/// See the module documentation.
pub(crate) struct IndexState {
    pub directory: StoreDirectory,
    pub engine: tantivy::Index,
    fields: Arc<Fields>,
    pub reader: IndexReader,
    pub writer: Option<Writer>,
    pub overlay: Overlay,
    /// The last commit contains the changes up to this sequence.
    pub committed: u64,
    /// The changes up to this sequence were applied.
    pub applied: u64,
    /// Number of changes given to the writer since the last commit.
    pub uncommitted_changes: u64,
    /// Number of changes committed since the last checkpoint.
    pub unsaved_changes: u64,
    /// How many of these the checkpoint contains that is being recorded.
    pub saving_changes: u64,
    pub generation: u64,
    pub meta_name: Option<String>,
    /// Whether the writer may have changes that are not in the overlay. Views then claim only the
    /// last commit.
    pub is_loading: bool,
    /// Word lists of segments.
    word_lists: Arc<WordLists>,
    /// Key columns of segments.
    key_columns: Arc<SegmentCache<Keys>>,
    lengths: Arc<SegmentCache<Lengths>>,
    /// Deleted documents of segments.
    deleted: Arc<SegmentCache<Deleted>>,
}

impl IndexState {
    /// A state over an open engine.
    pub(crate) fn new(
        directory: StoreDirectory,
        engine: tantivy::Index,
        shape: &Shape,
        sequence: u64,
    ) -> Result<Self> {
        engine.tokenizers().register("words", WordTokenizer(shape.folding));
        let (_, fields) = schema(shape);
        let reader = engine
            .reader_builder()
            .reload_policy(ReloadPolicy::Manual)
            .doc_store_cache_num_blocks(0)
            .try_into()
            .map_err(failed)?;
        Ok(Self {
            directory,
            engine,
            fields: Arc::new(fields),
            reader,
            writer: None,
            overlay: Overlay::default(),
            committed: sequence,
            applied: sequence,
            uncommitted_changes: 0,
            unsaved_changes: 0,
            saving_changes: 0,
            generation: 0,
            meta_name: None,
            is_loading: false,
            word_lists: Arc::default(),
            key_columns: Arc::default(),
            lengths: Arc::default(),
            deleted: Arc::default(),
        })
    }

    /// Marks the contents of the index as invalid, because changes that were given to it are lost.
    /// Sequence 0 prevents a checkpoint; the unsaved change makes the next feeder discard the
    /// contents first.
    pub(crate) fn disown(&mut self) {
        self.writer = None;
        self.overlay = Overlay::default();
        self.committed = 0;
        self.applied = 0;
        self.unsaved_changes = self.unsaved_changes.max(1);
        self.uncommitted_changes = 0;
        self.is_loading = false;
    }

    /// The view for searches from now on.
    pub(crate) fn view(&self, shape: &Arc<Shape>) -> View {
        let parts = ViewParts {
            searcher: self.reader.searcher(),
            fields: Arc::clone(&self.fields),
            shape: Arc::clone(shape),
            word_lists: Arc::clone(&self.word_lists),
            key_columns: Arc::clone(&self.key_columns),
            lengths: Arc::clone(&self.lengths),
            deleted: Arc::clone(&self.deleted),
        };
        View {
            parts: Arc::new(parts),
            overlay: self.overlay.clone(),
            sequence: if self.is_loading { self.committed } else { self.applied },
        }
    }

    /// The writer; created at first use.
    pub(crate) fn writer(&mut self) -> Result<&mut IndexWriter> {
        if self.writer.is_none() {
            self.writer = Some(Writer::new(&self.engine, &self.directory, self.fields.key)?);
        }
        let writer = self.writer.as_mut().map(|writer| &mut writer.engine);
        writer.ok_or_else(|| Error::corrupt("internal error: the text index has no writer"))
    }

    /// Passes changes to the writer.
    pub(crate) fn write(&mut self, changes: &[Change], sequence: u64) -> Result<()> {
        let fields = Arc::clone(&self.fields);
        if !changes.is_empty() {
            let writer = self.writer()?;
            for change in changes {
                if !change.is_new {
                    writer.delete_term(Term::from_field_bytes(fields.key, &change.key.to_bytes()));
                }
                if let Some(document) = &change.document {
                    writer.add_document(engine_document(&fields, document)).map_err(failed)?;
                }
            }
        }
        self.uncommitted_changes += changes.len() as u64;
        self.applied = sequence;
        Ok(())
    }

    /// Commits the changes of the writer, and makes them visible to new views.
    pub(crate) fn commit(&mut self, payload: impl Fn(u64) -> String) -> Result<()> {
        let payload = payload(self.applied);
        let writer = self.writer()?;
        let mut prepared = writer.prepare_commit().map_err(failed)?;
        prepared.set_payload(&payload);
        prepared.commit().map_err(failed)?;
        self.reader.reload().map_err(failed)?;
        self.committed = self.applied;
        self.unsaved_changes += self.uncommitted_changes.max(1);
        self.uncommitted_changes = 0;
        self.overlay = Overlay::default();
        self.is_loading = false;
        Ok(())
    }
}
