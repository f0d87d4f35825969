//! The engine's writer: made in one place, and gone with all its threads once it is dropped.

use std::convert::Infallible;
use std::sync::mpsc::{Receiver, channel};

use tantivy::indexer::IndexWriterOptions;
use tantivy::schema::Field;
use tantivy::{IndexWriter, Term};

use super::directory::StoreDirectory;
use super::failure::failed;
use super::merge::Bounded;
use crate::error::Result;
use crate::value::limits::SEARCH_WRITER_BYTES;

/// See the module.
pub struct Writer {
    /// Dropped before `threads`: that ends the threads that index, and no merge begins any more.
    pub engine: IndexWriter,
    threads: Threads,
}

/// Dropping it waits until the engine's threads are through with the directory.
struct Threads {
    directory: StoreDirectory,
    /// Disconnected when the merge policy is dropped. Each thread and each task of the engine holds
    /// the policy.
    ended: Receiver<Infallible>,
}

impl Writer {
    /// Makes a writer for an engine on `directory`; `key` is the field that deletes go by.
    pub fn new(engine: &tantivy::Index, directory: &StoreDirectory, key: Field) -> Result<Self> {
        let options = IndexWriterOptions::builder()
            .num_worker_threads(1)
            .memory_budget_per_thread(SEARCH_WRITER_BYTES)
            .num_merge_threads(1)
            .build();
        let (working, ended) = channel();
        let writer: IndexWriter = engine.writer_with_options(options).map_err(failed)?;
        writer.set_merge_policy(Box::new(Bounded { index: engine.clone(), _working: working }));
        // The engine gives the first operation of a new writer the stamp of the last commit, C
        // (`IndexWriter::new` starts the stamper at the stamp of the list of segments; elsewhere an
        // operation always has a greater stamp than the commits before it). That collides in a
        // merge of committed segments, whose target is C (`segment_updater::merge`):
        // `advance_deletes` applies operations up to C to a segment without deletes of the last
        // commit and moves its cursor past them, but returns at once for a segment whose deletes
        // are of stamp C. The merged segment goes on with the cursor of its first segment. So when
        // the first operation is a delete of a document of the second segment, it is passed over
        // without being applied, and the document stays for ever. No document has an empty key:
        // this delete takes the stamp C, and it does no harm when it is the one that is lost. It
        // covers every merge (by the policy and by `settle`), since both have C as their target
        // only until the writer's first commit, and every writer (after opening, `recover` and
        // `start_anew`), since all are made here.
        writer.delete_term(Term::from_field_bytes(key, &[]));
        Ok(Self { engine: writer, threads: Threads { directory: directory.clone(), ended } })
    }
}

impl Drop for Writer {
    /// Merges that are under way end at their next write: their result would not be used.
    fn drop(&mut self) {
        self.threads.directory.refuse_writes(true);
    }
}

impl Drop for Threads {
    fn drop(&mut self) {
        // Nothing is ever sent: this returns when the last holder of the other end is gone.
        let _ = self.ended.recv();
        self.directory.refuse_writes(false);
    }
}
