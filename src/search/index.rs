//! The index: opened, fed, searched and made durable.
//!
//! Changes are applied in the order of the change log. What is applied is found at once: small batches by evaluation in
//! memory until the next commit, large ones by committing. A failed writer is dropped and the index continues from its
//! last commit; the caller sees the lower [`Index::sequence`] and feeds the changes again. `rollback` is never called.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

use tantivy::indexer::IndexWriterOptions;
use tantivy::query::Bm25StatisticsProvider;
use tantivy::schema::{
    BytesOptions, FAST, Field, INDEXED, IndexRecordOption, STRING, Schema, TextFieldIndexing, TextOptions,
};
use tantivy::tokenizer::{Token, TokenStream, Tokenizer};
use tantivy::{IndexReader, IndexSettings, IndexWriter, ReloadPolicy, Searcher, TantivyDocument, TantivyError, Term};

use super::checkpoint::{Checkpoint, FileEntry};
use super::collect::{KEY, KIND, WORKSPACE, collect, collect_keys, push_keys};
use super::compile::Compiler;
use super::contains::{candidates, parts};
use super::directory::StoreDirectory;
use super::document::{Change, DocKey, Document, Shape};
use super::merge::Bounded;
use super::overlay::{Chunk, Overlay, Statistics};
use super::request::{Facets, Hit, Hits, Request};
use super::words::{Word, Words, words};
use crate::disk::{Mode, SharedDisk};
use crate::error::{Error, ErrorKind, Result};
use crate::value::limits::{SEARCH_OVERLAY_CHANGES, SEARCH_WRITER_BYTES};

/// The fields in the engine's schema.
#[derive(Clone, Debug)]
pub struct Fields {
    /// Kind byte and key bytes.
    pub key: Field,
    /// Code of the kind.
    pub kind: Field,
    /// Id of the workspace.
    pub workspace: Field,
    /// The text fields, in the order of the shape.
    pub texts: Vec<Field>,
}

/// How an index was opened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Opened {
    /// As the checkpoint has it.
    Resumed,
    /// Empty, because there was no checkpoint, or the files are not what it says; the text is the reason.
    Anew(String),
}

/// The text index of one store.
pub struct Index {
    place: Place,
    shape: Arc<Shape>,
    state: Mutex<State>,
    published: RwLock<View>,
    walks: Mutex<Walks>,
}

/// The views that walks by pages began with, oldest first.
struct Walks {
    next: u64,
    views: VecDeque<(u64, View)>,
}

/// Walks whose view is kept. An older walk goes on in the newest state, where scores may have shifted.
const WALKS: usize = 16;

struct Place {
    disk: SharedDisk,
    path: String,
    store_id: String,
    fingerprint: u64,
}

struct State {
    directory: StoreDirectory,
    engine: tantivy::Index,
    fields: Fields,
    reader: IndexReader,
    writer: Option<IndexWriter>,
    overlay: Overlay,
    /// Changes up to here are in the last commit.
    committed: u64,
    /// Changes up to here are found.
    applied: u64,
    /// Changes given to the writer since the last commit.
    uncommitted_changes: u64,
    /// Changes committed since the last checkpoint.
    unsaved_changes: u64,
    /// Those of them that the checkpoint being recorded holds.
    saving_changes: u64,
    generation: u64,
    meta_name: Option<String>,
    /// Whether the writer may hold what the overlay does not show.
    is_loading: bool,
}

/// One state of the index that does not change: a commit, and the changes after it.
#[derive(Clone)]
pub struct View {
    searcher: Searcher,
    fields: Fields,
    shape: Arc<Shape>,
    overlay: Overlay,
    sequence: u64,
}

fn failed(error: TantivyError) -> Error {
    let kind = match &error {
        TantivyError::DataCorruption(_) | TantivyError::IncompatibleIndex(_) => ErrorKind::Corrupt,
        _ => ErrorKind::Io,
    };
    Error::new(kind, format!("the text index failed: {error}")).with_source(error)
}

/// Runs the engine on files that may be damaged: a panic of it becomes `Corrupt`.
fn guarded<T>(what: &str, run: impl FnOnce() -> Result<T>) -> Result<T> {
    catch_unwind(AssertUnwindSafe(run))
        .unwrap_or_else(|_| Err(Error::corrupt(format!("the text index is damaged: {what} could not be carried out"))))
}

impl Index {
    /// Opens the index in the directory `path` of `disk` as `checkpoint` has it, or empty when anything does not match.
    ///
    /// With `with_contents` the checksum of every file is compared, else the length.
    ///
    /// # Errors
    /// Only when an empty index cannot be made either.
    pub fn open(
        disk: &SharedDisk,
        path: &str,
        shape: Arc<Shape>,
        store_id: &str,
        checkpoint: Option<&Checkpoint>,
        with_contents: bool,
    ) -> Result<(Self, Opened)> {
        let place = Place {
            disk: Arc::clone(disk),
            path: path.to_owned(),
            store_id: store_id.to_owned(),
            fingerprint: shape.fingerprint(),
        };
        let resumed = match checkpoint {
            None => Err(Error::corrupt("no checkpoint is recorded")),
            Some(checkpoint) => guarded("opening", || place.resume(checkpoint, with_contents, &shape)),
        };
        let (state, opened) = match resumed {
            Ok(state) => (state, Opened::Resumed),
            Err(reason) => (place.anew(&shape)?, Opened::Anew(reason.to_string())),
        };
        let view = state.view(&shape);
        // Numbers of walks are drawn anew, so that a token of an earlier opening does not find a view of this one.
        let mut first = [0; 8];
        getrandom::fill(&mut first)
            .map_err(|error| Error::new(ErrorKind::Io, format!("drawing a number for the text index: {error}")))?;
        let walks = Walks { next: u64::from_be_bytes(first), views: VecDeque::new() };
        let published = RwLock::new(view);
        Ok((Self { place, shape, state: Mutex::new(state), published, walks: Mutex::new(walks) }, opened))
    }

    /// Keeps a view for the further pages of a walk; returns the number of the walk.
    pub fn begin_walk(&self, view: &View) -> u64 {
        let mut walks = self.walks.lock().unwrap_or_else(PoisonError::into_inner);
        walks.next = walks.next.wrapping_add(1);
        let number = walks.next;
        if walks.views.len() == WALKS {
            walks.views.pop_front();
        }
        walks.views.push_back((number, view.clone()));
        number
    }

    /// The view that a walk began with, while it is kept.
    pub fn walk(&self, number: u64) -> Option<View> {
        let walks = self.walks.lock().unwrap_or_else(PoisonError::into_inner);
        walks.views.iter().find(|(known, _)| *known == number).map(|(_, view)| view.clone())
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn publish(&self, state: &State) {
        *self.published.write().unwrap_or_else(PoisonError::into_inner) = state.view(&self.shape);
    }

    /// The state that searches see now.
    pub fn view(&self) -> View {
        self.published.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The shape of the documents.
    pub fn shape(&self) -> &Arc<Shape> {
        &self.shape
    }

    /// The sequence after which changes must be applied next.
    pub fn sequence(&self) -> u64 {
        self.state().applied
    }

    /// Changes that only a checkpoint would keep from being applied again after the next open.
    pub fn unsaved_changes(&self) -> u64 {
        let state = self.state();
        state.unsaved_changes + state.uncommitted_changes
    }

    /// Applies the changes from [`Index::sequence`] up to `sequence`; views taken afterwards show them.
    ///
    /// # Errors
    /// When the writer fails: the index then stands at its last commit, see [`Index::sequence`].
    pub fn apply(&self, changes: &[Change], sequence: u64) -> Result<()> {
        self.feed(changes, sequence, changes.len() <= SEARCH_OVERLAY_CHANGES)
    }

    /// Applies changes that [`Index::commit`] makes visible: for long runs.
    ///
    /// # Errors
    /// As [`Index::apply`].
    pub fn load(&self, changes: &[Change], sequence: u64) -> Result<()> {
        let mut state = self.state();
        state.is_loading = true;
        let outcome = guarded("writing", || state.write(changes, sequence));
        self.settle(&mut state, outcome)
    }

    fn feed(&self, changes: &[Change], sequence: u64, is_small: bool) -> Result<()> {
        let mut state = self.state();
        let outcome = guarded("writing", || {
            state.write(changes, sequence)?;
            if changes.is_empty() {
                return Ok(());
            }
            let fits = state.overlay.len() + changes.len() <= SEARCH_OVERLAY_CHANGES;
            if is_small && fits && !state.is_loading {
                state.overlay.push(Chunk::new(changes));
                return Ok(());
            }
            state.commit(&self.place)
        });
        self.settle(&mut state, outcome)?;
        self.publish(&state);
        Ok(())
    }

    /// Moves what is in memory into the index.
    ///
    /// # Errors
    /// As [`Index::apply`].
    pub fn commit(&self) -> Result<()> {
        let mut state = self.state();
        if state.uncommitted_changes > 0 {
            let outcome = guarded("committing", || state.commit(&self.place));
            self.settle(&mut state, outcome)?;
            self.publish(&state);
        }
        Ok(())
    }

    /// After an error of the writer: drops it and goes on from the last commit, whichever that is: an error may come
    /// after the commit took effect.
    fn settle(&self, state: &mut State, outcome: Result<()>) -> Result<()> {
        if outcome.is_ok() {
            return outcome;
        }
        state.writer = None;
        let resumed = guarded("going back to the last commit", || {
            let metas = state.engine.load_metas().map_err(failed)?;
            state.reader.reload().map_err(failed)?;
            let sequence = metas.payload.as_deref().and_then(|payload| payload.rsplit(' ').next()?.parse().ok());
            Ok(sequence.unwrap_or(0))
        });
        match resumed {
            Ok(sequence) => {
                state.overlay = Overlay::default();
                state.committed = sequence;
                state.applied = sequence;
                state.unsaved_changes += state.uncommitted_changes;
                state.uncommitted_changes = 0;
                state.is_loading = false;
            }
            Err(_) => *state = self.place.anew(&self.shape)?,
        }
        self.publish(state);
        outcome
    }

    /// Commits and makes the index durable. It counts once the caller has recorded what is returned and then calls
    /// [`Index::recorded`]; `None` when the last checkpoint is still right, unless `is_forced`, which moves its sequence on.
    ///
    /// # Errors
    /// When the disk fails; the index goes on without the checkpoint.
    pub fn checkpoint(&self, is_forced: bool) -> Result<Option<Checkpoint>> {
        self.commit()?;
        let mut state = self.state();
        if is_forced && state.committed != state.applied {
            let outcome = guarded("committing", || state.commit(&self.place));
            self.settle(&mut state, outcome)?;
        }
        if state.unsaved_changes == 0 {
            return Ok(None);
        }
        let sequence = state.committed;
        let generation = state.generation + 1;
        let name = format!("meta-{generation}.json");
        let attempt = |error| Error::io(format!("making the text index durable in {}", self.place.path), error);
        let (meta, files) = state.directory.pin().map_err(attempt)?;
        // A number is not used twice, also when this attempt fails.
        state.generation = generation;
        if let Err(error) = state.directory.sync(&files, &name, &meta) {
            state.directory.unpin();
            return Err(attempt(error));
        }
        let entry = FileEntry { name, len: meta.len() as u64, crc: crc32fast::hash(&meta) };
        state.saving_changes = state.unsaved_changes;
        Ok(Some(Checkpoint {
            generation,
            sequence,
            store_id: self.place.store_id.clone(),
            fingerprint: self.place.fingerprint,
            meta: entry,
            files,
        }))
    }

    /// The caller has recorded `checkpoint` durably: files that only earlier ones name may go.
    pub fn recorded(&self, checkpoint: &Checkpoint) {
        let mut state = self.state();
        state.directory.recorded(&checkpoint.files);
        state.unsaved_changes = state.unsaved_changes.saturating_sub(std::mem::take(&mut state.saving_changes));
        if let Some(old) = state.meta_name.replace(checkpoint.meta.name.clone())
            && old != checkpoint.meta.name
        {
            // A file that stays is swept at the next open.
            let _ = self.place.disk.remove_file(&format!("{}/{old}", self.place.path));
        }
    }

    /// Sets the directory aside and begins with an empty index, after damage was met.
    ///
    /// # Errors
    /// When an empty index cannot be made.
    pub fn start_anew(&self) -> Result<()> {
        let mut state = self.state();
        state.writer = None;
        self.walks.lock().unwrap_or_else(PoisonError::into_inner).views.clear();
        *state = self.place.anew(&self.shape)?;
        self.publish(&state);
        Ok(())
    }
}

impl Place {
    fn resume(&self, checkpoint: &Checkpoint, with_contents: bool, shape: &Shape) -> Result<State> {
        if checkpoint.store_id != self.store_id || checkpoint.fingerprint != self.fingerprint {
            return Err(Error::corrupt("the index belongs to another store, or to another version of this crate"));
        }
        let listed = self.disk.list(&self.path).map_err(|error| Error::io("listing the index", error))?;
        for file in &checkpoint.files {
            if !listed.iter().any(|entry| entry.name == file.name && entry.len == file.len) {
                return Err(Error::corrupt(format!("{} is missing, or its length is not {}", file.name, file.len)));
            }
            if with_contents && self.crc(file)? != file.crc {
                return Err(Error::corrupt(format!("{} is damaged", file.name)));
            }
        }
        let meta = self.read(&checkpoint.meta)?;
        if crc32fast::hash(&meta) != checkpoint.meta.crc {
            return Err(Error::corrupt(format!("{} is damaged", checkpoint.meta.name)));
        }
        let is_known =
            |name: &str| name == checkpoint.meta.name || checkpoint.files.iter().any(|file| file.name == name);
        for stray in listed.iter().filter(|entry| !entry.is_dir && !is_known(&entry.name)) {
            // What cannot be removed does no harm: names are not used again.
            let _ = self.disk.remove_file(&format!("{}/{}", self.path, stray.name));
        }
        let directory = StoreDirectory::new(Arc::clone(&self.disk), &self.path, checkpoint.files.clone(), Some(meta));
        let engine = tantivy::Index::open(directory.clone()).map_err(failed)?;
        let (schema, _) = schema(shape);
        let metas = engine.load_metas().map_err(failed)?;
        if engine.schema() != schema || metas.payload.as_deref() != Some(&self.payload(checkpoint.sequence)) {
            return Err(Error::corrupt("the list of segments is not that of the checkpoint"));
        }
        let mut state = State::new(directory, engine, shape, checkpoint.sequence)?;
        let most = listed.iter().filter_map(|entry| generation_of(&entry.name)).max().unwrap_or(0);
        state.generation = checkpoint.generation.max(most);
        state.meta_name = Some(checkpoint.meta.name.clone());
        Ok(state)
    }

    fn anew(&self, shape: &Shape) -> Result<State> {
        let attempt = |error| Error::io(format!("making an empty text index in {}", self.path), error);
        let listed = self.disk.list(&self.path).unwrap_or_default();
        let generation = listed.iter().filter_map(|entry| generation_of(&entry.name)).max().unwrap_or(0);
        if !listed.is_empty() {
            let aside = format!("{}.old", self.path);
            let _ = self.disk.remove_dir_all(&aside);
            // Where open files keep a directory from being renamed, the strays stay until the next open.
            if self.disk.rename(&self.path, &aside).is_ok() {
                let _ = self.disk.remove_dir_all(&aside);
            }
        }
        self.disk.create_dir_all(&self.path).map_err(attempt)?;
        self.disk.sync_dir(crate::disk::parent(&self.path)).map_err(attempt)?;
        let directory = StoreDirectory::new(Arc::clone(&self.disk), &self.path, Vec::new(), None);
        let settings = IndexSettings { docstore_compress_dedicated_thread: false, ..IndexSettings::default() };
        let (schema, _) = schema(shape);
        let engine = tantivy::Index::create(directory.clone(), schema, settings).map_err(failed)?;
        let mut state = State::new(directory, engine, shape, 0)?;
        state.generation = generation;
        Ok(state)
    }

    fn payload(&self, sequence: u64) -> String {
        format!("{} {:016x} {sequence}", self.store_id, self.fingerprint)
    }

    fn read(&self, entry: &FileEntry) -> Result<Vec<u8>> {
        let attempt = |error| Error::io(format!("reading {}/{}", self.path, entry.name), error);
        let file = self.disk.open(&format!("{}/{}", self.path, entry.name), Mode::Read).map_err(attempt)?;
        if file.len().map_err(attempt)? != entry.len {
            return Err(Error::corrupt(format!("the length of {} is not {}", entry.name, entry.len)));
        }
        let mut bytes = vec![0; usize::try_from(entry.len).unwrap_or(0)];
        file.read_exact_at(&mut bytes, 0).map_err(attempt)?;
        Ok(bytes)
    }

    fn crc(&self, entry: &FileEntry) -> Result<u32> {
        const STEP: u64 = 1024 * 1024;
        let attempt = |error| Error::io(format!("reading {}/{}", self.path, entry.name), error);
        let file = self.disk.open(&format!("{}/{}", self.path, entry.name), Mode::Read).map_err(attempt)?;
        let mut crc = crc32fast::Hasher::new();
        let mut at = 0;
        let mut buffer = Vec::new();
        while at < entry.len {
            buffer.resize(usize::try_from(STEP.min(entry.len - at)).unwrap_or(0), 0);
            file.read_exact_at(&mut buffer, at).map_err(attempt)?;
            crc.update(&buffer);
            at += buffer.len() as u64;
        }
        Ok(crc.finalize())
    }
}

fn generation_of(name: &str) -> Option<u64> {
    name.strip_prefix("meta-")?.strip_suffix(".json")?.parse().ok()
}

fn schema(shape: &Shape) -> (Schema, Fields) {
    let mut builder = Schema::builder();
    let key = builder.add_bytes_field(KEY, BytesOptions::default() | INDEXED | FAST);
    let kind = builder.add_u64_field(KIND, INDEXED | FAST);
    let workspace = builder.add_text_field(WORKSPACE, STRING | FAST);
    let indexing =
        TextFieldIndexing::default().set_tokenizer("words").set_index_option(IndexRecordOption::WithFreqsAndPositions);
    let options = TextOptions::default().set_indexing_options(indexing);
    // Numbered, so that no name of a field can be that of a column above.
    let texts = (0..shape.fields.len()).map(|at| builder.add_text_field(&format!("t{at}"), options.clone())).collect();
    (builder.build(), Fields { key, kind, workspace, texts })
}

impl State {
    fn new(directory: StoreDirectory, engine: tantivy::Index, shape: &Shape, sequence: u64) -> Result<Self> {
        engine.tokenizers().register("words", WordTokenizer);
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
            fields,
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
        })
    }

    fn view(&self, shape: &Arc<Shape>) -> View {
        View {
            searcher: self.reader.searcher(),
            fields: self.fields.clone(),
            shape: Arc::clone(shape),
            overlay: self.overlay.clone(),
            sequence: if self.is_loading { self.committed } else { self.applied },
        }
    }

    fn writer(&mut self) -> Result<&mut IndexWriter> {
        if self.writer.is_none() {
            let options = IndexWriterOptions::builder()
                .num_worker_threads(1)
                .memory_budget_per_thread(SEARCH_WRITER_BYTES)
                .num_merge_threads(1)
                .build();
            let writer: IndexWriter = self.engine.writer_with_options(options).map_err(failed)?;
            writer.set_merge_policy(Box::new(Bounded));
            self.writer = Some(writer);
        }
        self.writer.as_mut().ok_or_else(|| Error::corrupt("the text index has no writer"))
    }

    fn write(&mut self, changes: &[Change], sequence: u64) -> Result<()> {
        let fields = self.fields.clone();
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

    fn commit(&mut self, place: &Place) -> Result<()> {
        let payload = place.payload(self.applied);
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

fn engine_document(fields: &Fields, document: &Document) -> TantivyDocument {
    let mut built = TantivyDocument::default();
    built.add_bytes(fields.key, &document.key.to_bytes());
    built.add_u64(fields.kind, u64::from(document.key.kind));
    built.add_text(fields.workspace, &document.workspace);
    for (field, text) in &document.texts {
        if let Some(&field) = fields.texts.get(*field) {
            built.add_text(field, text);
        }
    }
    built
}

impl View {
    /// The change-log sequence up to which answers are complete.
    pub fn sequence(&self) -> u64 {
        self.sequence
    }

    /// Adds changes that only this view shows, for example those of a transaction.
    #[must_use]
    pub fn with(mut self, changes: &[Change]) -> Self {
        if !changes.is_empty() {
            self.overlay.push(Chunk::new(changes));
        }
        self
    }

    /// Carries out a search.
    ///
    /// # Errors
    /// `LimitExceeded` for a prefix that stands for too many words; `Corrupt` or `Io` when the index is damaged: build
    /// it anew.
    pub fn search(&self, request: &Request) -> Result<Hits> {
        let mut hits = Hits {
            hits: Vec::new(),
            has_more: false,
            total: request.count.then_some(0),
            facets: request.facets.then(Facets::default),
        };
        guarded("searching", || {
            let compiler = Compiler { searcher: &self.searcher, fields: &self.fields, shape: &self.shape, failed };
            let query = compiler.request(request, &self.overlay.hidden())?;
            collect(&self.searcher, &*query, request, &self.shape, &mut hits).map_err(failed)
        })?;
        self.overlay.search(request, &self.shape, self, &mut hits);
        hits.hits.sort_by(Hit::order);
        hits.has_more = hits.hits.len() > request.take;
        hits.hits.truncate(request.take);
        Ok(hits)
    }
}

impl View {
    /// The documents that a request finds, all of them and in no order.
    ///
    /// # Errors
    /// As [`View::search`].
    pub fn matching(&self, request: &Request) -> Result<Vec<DocKey>> {
        let mut keys = guarded("searching", || {
            let compiler = Compiler { searcher: &self.searcher, fields: &self.fields, shape: &self.shape, failed };
            let query = compiler.request(request, &self.overlay.hidden())?;
            collect_keys(&self.searcher, &*query, &self.shape).map_err(failed)
        })?;
        let mut hits = Hits::default();
        self.overlay.search(request, &self.shape, self, &mut hits);
        keys.extend(hits.hits.iter().map(|hit| hit.key));
        Ok(keys)
    }
}

impl View {
    /// The documents of a kind that may contain `piece` in the field of this name, letter case ignored: none that does
    /// is missing. `None` when the index is no help: no such field, nothing to look for, or too many.
    ///
    /// # Errors
    /// `Corrupt` or `Io` when the index is damaged.
    pub fn containing(&self, kind: u8, field: &str, piece: &str) -> Result<Option<Vec<DocKey>>> {
        let field = self.shape.field(field).and_then(|at| self.fields.texts.get(at));
        let (Some(&field), Some(parts)) = (field, parts(piece)) else { return Ok(None) };
        let found = guarded("looking words up", || {
            // Beyond a part of all documents, reading them in order is quicker.
            let most = usize::try_from(self.searcher.num_docs() / 8).unwrap_or(0).max(1_000);
            let mut found = Vec::new();
            for reader in self.searcher.segment_readers() {
                let here = candidates(reader, field, &parts, most).map_err(failed)?;
                let Some(here) = here else { return Ok(None) };
                push_keys(reader, &here, &self.shape, &mut found).map_err(failed)?;
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
}

/// Errors count as zero here: they come back as errors of the search itself.
impl Statistics for View {
    fn document_count(&self) -> u64 {
        self.searcher.total_num_docs().unwrap_or(0)
    }

    fn document_frequency(&self, field: usize, word: &str) -> u64 {
        self.fields
            .texts
            .get(field)
            .map_or(0, |&field| self.searcher.doc_freq(&Term::from_field_text(field, word)).unwrap_or(0))
    }

    #[expect(clippy::cast_precision_loss, reason = "a score is an estimate")]
    fn average_length(&self, field: usize) -> f32 {
        let total = self.fields.texts.get(field).map_or(0, |&field| self.searcher.total_num_tokens(field).unwrap_or(0));
        total as f32 / self.document_count().max(1) as f32
    }
}

/// The engine's side of [`words`].
#[derive(Clone)]
struct WordTokenizer;

struct WordStream<'t> {
    words: Words<'t>,
    word: Word,
    token: Token,
}

impl Tokenizer for WordTokenizer {
    type TokenStream<'t> = WordStream<'t>;

    fn token_stream<'t>(&'t mut self, text: &'t str) -> WordStream<'t> {
        let word = Word { text: String::new(), start: 0, end: 0 };
        WordStream { words: words(text), word, token: Token::default() }
    }
}

impl TokenStream for WordStream<'_> {
    fn advance(&mut self) -> bool {
        // The token's text is the buffer that the next word is read into.
        std::mem::swap(&mut self.word.text, &mut self.token.text);
        let found = self.words.next_into(&mut self.word);
        std::mem::swap(&mut self.word.text, &mut self.token.text);
        self.token.offset_from = self.word.start;
        self.token.offset_to = self.word.end;
        self.token.position = self.token.position.wrapping_add(1);
        found
    }

    fn token(&self) -> &Token {
        &self.token
    }

    fn token_mut(&mut self) -> &mut Token {
        &mut self.token
    }
}
