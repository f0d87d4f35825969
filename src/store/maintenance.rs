//! One pass of maintenance, and the thread that runs the passes.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Condvar, Mutex, PoisonError, Weak};
use std::thread::JoinHandle;
use std::time::Duration;

use super::maintenance_report::MaintenanceReport;
use super::upkeep::Upkeep;
use crate::disk::{Owner, parent};
use crate::error::{Error, ErrorKind, Result};
use crate::records::{ReadSource, Space};
use crate::session::feed::trim;
use crate::session::maintain::growth;
use crate::session::{
    Access, Engine, Session, checkpoint, guarded, lock, rewrite_record_file, settle_indexes, tables,
};
use crate::value::{Control, trace};

/// The period of the maintenance thread.
const PERIOD: Duration = Duration::from_secs(1);
/// Limit of the log entries that one pass drops.
pub(super) const TRIM_BATCH: usize = 10_000;

/// Runs one pass; the error is that of its first step that failed.
pub(super) fn run(
    engine: &Arc<Engine>,
    upkeep: &Upkeep,
    control: &Control,
    is_idle: bool,
) -> Result<MaintenanceReport> {
    // Asked for, so not only when it is due.
    engine.results_due_ms.store(i64::MIN, Ordering::Relaxed);
    let (report, failures) = pass(engine, upkeep, control, is_idle);
    failures.into_iter().next().map_or(Ok(report), Err)
}

/// Runs one pass, and returns what it did and the errors of its steps.
fn pass(
    engine: &Arc<Engine>,
    upkeep: &Upkeep,
    control: &Control,
    is_idle: bool,
) -> (MaintenanceReport, Vec<Error>) {
    let _span = trace::span!("maintenance", is_idle = is_idle);
    let mut steps = Steps::default();
    let mut report = MaintenanceReport::default();
    if let Err(error) = run_steps(engine, control, is_idle, &mut steps, &mut report) {
        steps.failures.push(error);
    }
    // Also when other steps failed: it is what tells of them.
    steps.run(|| upkeep.maintain(engine, control));
    for error in steps.failures.iter().filter(|error| error.kind() != ErrorKind::Cancelled) {
        trace::background_error("maintaining the store", error);
    }
    (report, steps.failures)
}

/// Runs the steps of a pass. Steps that only make reads faster, or that make writers wait, run only
/// if `is_idle`.
fn run_steps(
    engine: &Arc<Engine>,
    control: &Control,
    is_idle: bool,
    steps: &mut Steps,
    report: &mut MaintenanceReport,
) -> Result<()> {
    // Also if there is nothing to do, so that a store that lost its files reports it soon.
    engine.check_place()?;
    report.time_ahead = engine.time_ahead();
    // A pass that waits for the write turn ends with the thread: a transaction may have the turn.
    let session = Session::of_store(engine).with_control(control);
    // First, because tables go with results.
    report.results_deleted = steps.run(|| retain_results(engine, &session, control));
    let mut due = steps.run(|| tables::due(&session));
    let retained = std::mem::take(&mut due.retained);
    report.rows_deleted = steps.run(|| tables::retain_rows(&session, retained, control));
    let stored = due.deleted_stored + report.rows_deleted;
    report.segments_written = steps.run(|| tables::maintain(&session, due, control));
    if stored > 0 {
        let left = steps.run(|| tables::deleted_stored(&session).map(Some));
        report.deleted_rows_removed = left.map_or(0, |left| stored.saturating_sub(left));
    }
    report.upload_sessions_expired =
        steps.run(|| crate::services::expire_upload_sessions(&session));
    report.files_removed = steps.run(|| crate::services::remove_abandoned_contents(&session));
    report.files_removed += steps.run(|| remove_forgotten(engine, &session, control));
    control.check()?;
    if is_idle {
        engine.blobs.remove_ready();
        // First, because a merge of runs has to move what is left while writers wait.
        steps.run(|| checkpoint(&session));
        steps.run(|| settle(&session, control));
    }
    steps.run(|| engine.search.maintain(&session));
    if is_idle {
        // A failure is ignored: the next pass tries again.
        let _ = guarded("merging the text index", || engine.search.settle());
    }
    // Before the trim, so that it counts the log outside of the write turn.
    report.subscribers_at_risk = steps.run(|| trim::subscribers_at_risk(&session));
    let trimmed = steps.run(|| {
        let position = log_position(engine, &session)?;
        session.write(move |draft| trim::trim(draft, position, TRIM_BATCH))
    });
    report.log_entries_dropped = trimmed.entries;
    report.subscribers_lost = trimmed.lost_subscribers;
    report.index_entries_added = steps.run(|| growth::fill(&session, control));
    if is_idle {
        steps.run(|| checkpoint(&session));
        // Last, so that the space freed by the earlier steps counts.
        report.record_file_bytes_returned = steps.run(|| rewrite_record_file(&session, control));
    }
    Ok(())
}

/// The sequence up to which nothing of the store needs the log any more.
pub(super) fn log_position(engine: &Engine, session: &Session) -> Result<u64> {
    // A session over an older snapshot searches with the help of the log.
    Ok(engine.search.position(session)?.min(engine.oldest_live_sequence()))
}

/// Independent steps: a table that is damaged for good must not keep the log from being trimmed.
#[derive(Default)]
struct Steps {
    /// The errors of the steps that failed.
    failures: Vec<Error>,
}

impl Steps {
    fn run<T: Default>(&mut self, step: impl FnOnce() -> Result<T>) -> T {
        guarded("maintaining the store", step).unwrap_or_else(|error| {
            self.failures.push(error);
            T::default()
        })
    }
}

/// Carries out the retention of results when it is due, and in the next pass again if there may be
/// more to delete.
fn retain_results(engine: &Engine, session: &Session, control: &Control) -> Result<u64> {
    /// Between two looks at all results.
    const LOOK_MS: i64 = 10 * 60 * 1_000;
    let now_ms = engine.now().timestamp_millis();
    if now_ms < engine.results_due_ms.load(Ordering::Relaxed) {
        return Ok(0);
    }
    // Also if it fails.
    engine.results_due_ms.store(now_ms.saturating_add(LOOK_MS), Ordering::Relaxed);
    let (deleted, has_more) = crate::services::retain_results(session, 1, control)?;
    if has_more {
        engine.results_due_ms.store(now_ms, Ordering::Relaxed);
    }
    Ok(deleted)
}

/// Merges the runs of the indexes while there are no writers, in short turns.
fn settle(session: &Session, control: &Control) -> Result<()> {
    /// Entries merged in one turn. A writer that arrives meanwhile waits for one turn.
    const TURN: u64 = 100_000;
    while settle_indexes(session, TURN)? {
        control.check()?;
    }
    Ok(())
}

/// Removes the files that are no longer named since a commit that every reader has passed.
///
/// What must hold: no reader can still open a removed file. So the order is: read the list from a
/// snapshot, check that no older snapshot is alive, then check that no reader has the file in use,
/// then remove it, sync the directory, and only then delete the list's entry. If the entry were
/// deleted first, a crash would leave a file that is never removed. A crash after the removal
/// leaves an entry for a missing file, which the next pass accepts.
fn remove_forgotten(engine: &Arc<Engine>, session: &Session, control: &Control) -> Result<u64> {
    let (sequence, paths) = {
        let snapshot = engine.snapshot();
        // Read from this snapshot: an entry of a later commit may name a file that readers of this
        // one need.
        let mut cursor = ReadSource::Snapshot(&snapshot).cursor(Space::PendingDelete, &[], None)?;
        let mut paths = Vec::new();
        while let Some((path, _)) = cursor.next()? {
            paths.push(path);
        }
        (snapshot.sequence, paths)
    };
    let archived = engine.archived_files(&paths, sequence);
    // A reader of an older snapshot may still open one of these files; the next pass removes them.
    if paths.is_empty() || engine.oldest_live_sequence() < sequence {
        return Ok(0);
    }
    // After a replacement of the directory, these names could lead to files of another store, or of
    // an older state of this one.
    engine.check_place()?;
    // A process that looks may be about to take the names of these files.
    let Some(shut) = engine.gate.try_shut()? else { return Ok(0) };
    let mut removed = Vec::new();
    let mut directories = std::collections::BTreeSet::new();
    for key in paths {
        control.check()?;
        let Ok(path) = std::str::from_utf8(&key) else { continue };
        // A set may have to get it.
        if archived.contains(&key) {
            continue;
        }
        // Checked after the snapshots: a reader takes its files into use before it drops its
        // snapshot.
        if engine.blobs.is_held(path) || !engine.tables.release(path) {
            continue;
        }
        match engine.disk.remove_file(path) {
            Ok(()) => {
                directories.insert(parent(path).to_owned());
            }
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            // The file is open where the platform forbids removing open files; a later pass removes
            // it.
            Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied => continue,
            Err(error) => return Err(Error::io(format!("removing {path}"), error)),
        }
        removed.push(key);
    }
    drop(shut);
    for directory in directories {
        engine
            .disk
            .sync_dir(&directory)
            .map_err(|error| Error::io(format!("syncing {directory}"), error))?;
        tables::remove_empty(session, &directory)?;
    }
    let count = removed.len() as u64;
    if count > 0 {
        session.write(move |draft| {
            removed.into_iter().for_each(|key| draft.delete_raw(Space::PendingDelete, key));
            Ok(())
        })?;
    }
    Ok(count)
}

/// The maintenance thread. Dropping this stops and joins it.
#[derive(Debug)]
pub(super) struct MaintenanceThread {
    stop: Arc<(Mutex<bool>, Condvar)>,
    control: Control,
    thread: Option<JoinHandle<()>>,
    owner: Owner,
}

impl MaintenanceThread {
    /// Starts the thread. It has a strong reference to the engine only while it works, so it never
    /// keeps a store open.
    pub(super) fn start(engine: Weak<Engine>, upkeep: Arc<Upkeep>) -> Result<Self> {
        let stop = Arc::new((Mutex::new(false), Condvar::new()));
        let control = Control::default();
        let (thread_stop, thread_control) = (stop.clone(), control.clone());
        let work = move || {
            let mut seen = None;
            loop {
                let stopped = lock(&thread_stop.0);
                let (stopped, _) = thread_stop
                    .1
                    .wait_timeout_while(stopped, PERIOD, |stopped| !*stopped)
                    .unwrap_or_else(PoisonError::into_inner);
                if *stopped {
                    return;
                }
                drop(stopped);
                let Some(engine) = engine.upgrade() else { return };
                // A failed pass is repeated by the next one; a failed write has latched the store
                // by itself.
                let newest = engine.snapshot().sequence;
                let is_idle = seen == Some(newest);
                let (report, errors) = pass(&engine, &upkeep, &thread_control, is_idle);
                lock(&upkeep.maintenance).add(engine.now(), report, &errors);
                seen = Some(newest);
            }
        };
        let thread = std::thread::Builder::new()
            .name("stationdb-maintenance".to_owned())
            .spawn(work)
            .map_err(|error| Error::io("starting the maintenance thread", error))?;
        Ok(Self { stop, control, thread: Some(thread), owner: Owner::current() })
    }
}

impl Drop for MaintenanceThread {
    #[expect(clippy::mem_forget, reason = "the process that opened the store joins its thread")]
    fn drop(&mut self) {
        if !self.owner.is_current() {
            // A forked process does not have this thread. Joining would wait forever for the thread
            // and for the locks that it held.
            std::mem::forget(self.thread.take());
            return;
        }
        *lock(&self.stop.0) = true;
        self.control.cancel();
        self.stop.1.notify_all();
        if let Some(thread) = self.thread.take() {
            // The maintenance thread itself may drop the last handle.
            if thread.thread().id() != std::thread::current().id() {
                let _ = thread.join();
            }
        }
    }
}
