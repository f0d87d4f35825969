//! The one status of a store.

mod attention;
pub(super) mod kept;
mod note;
pub(super) mod report;
mod text;
mod trend;

use super::findings::{VerifyReport, is_damage};
use super::format;
use super::open::Store;
use super::scrubbing;
use crate::error::{ErrorKind, Result};
use crate::records::ReadSource;
use crate::session::{Engine, Fillings, Health, Session, guarded, memory};

use attention::Circumstances;
use kept::{Activity, Kept, KnownDamage};
use report::{
    DiskStatus, IndexStatus, JournalStatus, MemoryStatus, ReaderStatus, ScrubStatus, StoreStatus,
    VersionStatus, WriteStatus,
};
use trend::Trend;

impl Store {
    /// How the store is: whether it takes writes, how long they take, what waits for a checkpoint,
    /// who holds old states, how its disk fills, how maintenance, verifications, scrubs and backups
    /// ended, and what of all this needs a person.
    ///
    /// It reads a few rows and asks the disk for its free space. It also answers when the store is
    /// latched or its disk is full. It waits for a sync of the journal that is under way.
    ///
    /// How verifications, scrubs and backups ended, and the samples of the disk's space, are kept
    /// over a close; everything else is since the store was opened. A view ([`Store::look`]) tells
    /// what its owner kept when the view was made, and keeps nothing.
    ///
    /// ```
    /// # let directory = tempfile::tempdir()?;
    /// # let store = stationdb::Store::open(directory.path())?;
    /// let status = store.status()?;
    /// for item in &status.attention {
    ///     eprintln!("{}: {}; {}", item.code, item.problem, item.action);
    /// }
    /// assert!(status.writes.are_taken);
    /// # Ok::<(), stationdb::Error>(())
    /// ```
    ///
    /// # Errors
    /// `Locked` in a forked process.
    pub fn status(&self) -> Result<StoreStatus> {
        self.engine().check_process()?;
        guarded("reading the status", || Ok(self.make_status()))
    }

    /// Keeps for the status how a run of an activity ended. `told` is the number of damages that it
    /// found, and the first of them or what was done.
    pub(super) fn record_outcome<T>(
        &self,
        activity: Activity,
        done: &Result<T>,
        told: impl FnOnce(&T) -> (u64, String),
    ) {
        // A forked process writes nothing, and may wait for no lock.
        if self.engine().check_process().is_ok() {
            let now = self.engine().clock_now();
            self.upkeep().keeper.record_outcome(activity, now, done, told);
        }
    }

    /// The damage that is known now, for a verification that begins.
    pub(super) fn known_damage(&self) -> Option<KnownDamage> {
        self.engine().check_process().ok().map(|()| self.upkeep().keeper.known_damage())
    }

    /// Keeps for the status how a verification ended. One without findings takes back what was
    /// known when it began.
    pub(super) fn record_verification(
        &self,
        known: Option<KnownDamage>,
        done: &Result<VerifyReport>,
    ) {
        if let (Some(known), Ok(report)) = (known, done)
            && report.is_sound()
        {
            self.upkeep().keeper.take_back(&known);
        }
        self.record_outcome(Activity::Verify, done, VerifyReport::outcome);
    }

    fn make_status(&self) -> StoreStatus {
        let engine = self.engine();
        let settings = &engine.settings;
        let keeper = &self.upkeep().keeper;
        let kept = keeper.kept();
        // A directory that was moved sets the latch here.
        let free_bytes = engine.disk_free_bytes().ok().flatten();
        let health = engine.health();
        let now = engine.clock_now();
        let circumstances = Circumstances {
            backed_up_at: kept.backed_up_at.or(kept.since),
            scrubbing_damage: kept.scrubbing_damage(),
            damage: kept.damage.clone(),
            is_status_lost: keeper.is_lost(),
            refused_pages: engine.refused_pages().unwrap_or_default(),
            time_ahead: engine.time_ahead(),
            memory_table_bytes: settings.memory_table_bytes as u64,
        };
        let mut status = StoreStatus {
            attention: Vec::new(),
            time: now,
            opened_at: keeper.opened_at,
            id: self.id(),
            is_view: keeper.is_view(),
            versions: VersionStatus {
                build: format::BUILD.to_owned(),
                format: format::version(),
                fingerprint: format!("{:016x}", format::FINGERPRINT),
            },
            writes: writes_of(&health),
            journal: JournalStatus {
                file_bytes: health.journal_file_bytes,
                record_bytes: health.journal_record_bytes,
                lag_commits: health.sequence.saturating_sub(health.moved_sequence),
                lag_bytes: health.pending_bytes,
                is_moving: health.is_moving,
            },
            oldest_reader: health.oldest_reader.as_ref().map(|reader| ReaderStatus {
                who: reader.who.clone(),
                sequence: reader.sequence,
                lag_commits: health.sequence.saturating_sub(reader.sequence),
                age_ms: reader.age.and_then(|age| u64::try_from(age.as_millis()).ok()),
            }),
            indexes: indexes_of(engine, &health),
            disk: disk_of(settings.reserve_bytes, free_bytes, &kept, now),
            memory: memory_of(engine, &health),
            maintenance: self.maintenance(),
            scrubbing: ScrubStatus {
                period_days: settings.scrub_days,
                bytes_per_s: settings.scrub_bytes_per_s.max(1),
                due_at: match kept.scrubbing {
                    Some(_) => None,
                    None => {
                        let (began_at, since) = (kept.scrub_began_at, kept.since);
                        scrubbing::due_at(settings.scrub_days, began_at, since)
                    }
                },
                progress: kept.scrubbing,
            },
            archive: self.archive_status(),
            verify: kept.verify,
            scrub: kept.scrub,
            backup: kept.backup,
        };
        status.attention = attention::of(&status, &circumstances);
        status
    }
}

fn writes_of(health: &Health) -> WriteStatus {
    // A view takes no writes, and has no fault.
    let latch = health.latch.as_ref().filter(|error| error.kind() != ErrorKind::Unsupported);
    WriteStatus {
        are_taken: health.latch.is_none(),
        latch: latch.map(crate::Error::api_error),
        sequence: health.sequence,
        commit_latency: health.commit_latency,
        sync_latency: health.sync_latency,
    }
}

fn indexes_of(engine: &std::sync::Arc<Engine>, health: &Health) -> IndexStatus {
    let snapshot = engine.snapshot();
    // Damage of these rows is what a verification tells.
    let incomplete = Fillings::of(ReadSource::Snapshot(&snapshot)).unwrap_or_default().names();
    let saved = engine.search.position(&Session::of_store(engine));
    let saved = saved.or_else(|error| if is_damage(&error) { Ok(0) } else { Err(error) });
    let saved = saved.unwrap_or_default();
    let lag = |sequence: u64| health.sequence.saturating_sub(sequence);
    IndexStatus {
        text_lag_commits: lag(health.text_sequence.unwrap_or(saved)),
        text_unsaved_commits: lag(saved),
        incomplete,
    }
}

fn disk_of(
    reserve_bytes: u64,
    free_bytes: Option<u64>,
    kept: &Kept,
    now: chrono::DateTime<chrono::Utc>,
) -> DiskStatus {
    let trend = Trend { samples: &kept.samples };
    let spare = free_bytes.map(|free| free.saturating_sub(reserve_bytes));
    let shrinking = spare.and_then(|spare| trend.shrinking(now, spare));
    DiskStatus {
        free_bytes,
        reserve_bytes,
        shrinks_by_bytes_a_day: shrinking.map(|(rate, _)| rate),
        full_in_days: shrinking.map(|(_, days)| days),
    }
}

fn memory_of(engine: &Engine, health: &Health) -> Vec<MemoryStatus> {
    let budget = &engine.memory;
    let part = |part: &str, bound_bytes: u64| MemoryStatus {
        part: part.to_owned(),
        bound_bytes,
        ..MemoryStatus::default()
    };
    let (used, peak) = budget.used_and_peak();
    let set_aside = budget.bytes() - budget.room();
    let cached = engine.tables.cached_bytes();
    let mut parts = vec![
        MemoryStatus {
            used_bytes: Some(set_aside + cached + used),
            ..part("budget", budget.bytes())
        },
        MemoryStatus {
            used_bytes: Some(used),
            peak_bytes: Some(peak),
            ..part("calls", budget.room())
        },
        part("one query", engine.settings.query_memory_bytes as u64),
        MemoryStatus {
            used_bytes: Some(cached),
            ..part(memory::TABLE_CACHES, budget.cache_bytes())
        },
    ];
    parts.extend(budget.parts().iter().map(|fixed| MemoryStatus {
        used_bytes: (fixed.name == memory::MEMORY_TABLE).then_some(health.pending_bytes),
        ..part(fixed.name, fixed.bytes)
    }));
    parts
}
