//! The engine's writer. It is created only here, and all its threads have ended once it is dropped.

use std::convert::Infallible;
use std::sync::mpsc::{Receiver, channel};

use tantivy::indexer::IndexWriterOptions;
use tantivy::schema::Field;
use tantivy::{IndexWriter, Term};

use super::directory::StoreDirectory;
use super::failure::failed;
use super::merge::BoundedMergePolicy;
use crate::error::Result;
use crate::value::limits::SEARCH_WRITER_BYTES;

/// See the module documentation.
pub(crate) struct Writer {
    /// Dropped before `threads`. That ends the indexing threads, and no further merge begins.
    pub engine: IndexWriter,
    threads: Threads,
}

/// Dropping it waits until the threads of the engine no longer use the directory.
struct Threads {
    directory: StoreDirectory,
    /// Disconnected when the merge policy is dropped: each thread and each task of the engine owns
    /// a reference to the policy.
    ended: Receiver<Infallible>,
}

impl Writer {
    /// Creates a writer for an engine on `directory`; deletes find documents by the field `key`.
    pub(crate) fn new(
        engine: &tantivy::Index,
        directory: &StoreDirectory,
        key: Field,
    ) -> Result<Self> {
        let options = IndexWriterOptions::builder()
            .num_worker_threads(1)
            .memory_budget_per_thread(SEARCH_WRITER_BYTES)
            .num_merge_threads(1)
            .build();
        let (working, ended) = channel();
        let writer: IndexWriter = engine.writer_with_options(options).map_err(failed)?;
        writer.set_merge_policy(Box::new(BoundedMergePolicy {
            index: engine.clone(),
            _working: working,
        }));
        // Works around lost deletes in the engine. The engine gives the first operation of a new
        // writer the stamp of the last commit, C: `IndexWriter::new` starts the stamper at the
        // stamp of the list of segments. Everywhere else, an operation has a greater stamp than the
        // commits before it.
        //
        // The equal stamps collide in a merge of committed segments, whose target is C
        // (`segment_updater::merge`). `advance_deletes` applies operations up to C to a segment
        // without deletes of the last commit, and moves its cursor past them. But it returns at
        // once for a segment whose deletes have the stamp C. The merged segment continues with the
        // cursor of its first segment. So if the first operation is a delete of a document of the
        // second segment, it is skipped without being applied, and the document stays for ever.
        //
        // The delete of an empty key below takes the stamp C. No document has an empty key, so it
        // does no harm if this delete is lost. It covers every merge (by the policy and by
        // `settle`), since their target is C only until the writer's first commit. It covers every
        // writer (after opening, `recover` and `start_anew`), since all are created here.
        writer.delete_term(Term::from_field_bytes(key, &[]));
        Ok(Self { engine: writer, threads: Threads { directory: directory.clone(), ended } })
    }
}

impl Drop for Writer {
    /// Makes running merges end at their next write: their result would not be used.
    fn drop(&mut self) {
        self.threads.directory.refuse_writes(true);
    }
}

impl Drop for Threads {
    fn drop(&mut self) {
        // Nothing is ever sent: this returns when the last sender is dropped.
        let _ = self.ended.recv();
        self.directory.refuse_writes(false);
    }
}
