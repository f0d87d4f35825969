//! Facts about the store as a whole: identity, sequence, time, counters, and the positions of
//! subscribers.
//!
//! Lost facts are replaced so that no guarantee breaks. What must hold:
//! - A number that was assigned is never assigned again.
//! - A position of the change feed that a subscriber has never lies before a gap in the log, nor
//!   after the last commit. Otherwise the subscriber would miss changes without an error.

use std::collections::{BTreeMap, BTreeSet};

use super::report::SalvageReport;
use crate::disk::SharedDisk;
use crate::error::{Error, ErrorKind, Result};
use crate::model::{RetentionPolicy, by_code};
use crate::records::salvage::{Proof, SalvageResult};
use crate::records::{Change, ReadSource, RecordFile, Space};
use crate::session::maintain::growth::format_row;
use crate::session::tables::{largest_segment, retention_in_row};
use crate::session::{Engine, SUBSCRIBER, SubscriberRow};
use crate::store::findings::RECORD_FILE;
use crate::store::format;
use crate::value::key::after_prefix;
use crate::value::{RecordKey, time};

/// Numbers that are skipped if the last value of a counter is unknown.
const MARGIN: u64 = 1 << 20;
const TRIMMED: &[u8] = b"trimmed";

/// The facts that are known.
#[derive(Debug, Default)]
pub(super) struct Facts {
    /// The seed, and the key of continuation tokens.
    identity: Option<(u64, [u8; 32])>,
    /// The seed in FORMAT.
    format_seed: Option<u64>,
    /// Sequence of the last commit, and the store's time.
    state: Option<(u64, i64)>,
    counters: BTreeMap<Vec<u8>, u64>,
    trimmed: Option<u64>,
    /// Keys of segments whose manifest entries are unproven.
    pub(super) unproven_segments: BTreeSet<Vec<u8>>,
    /// The retentions of tables, by the keys of the tables. The rest of their states is made anew.
    pub(super) retentions: BTreeMap<Vec<u8>, RetentionPolicy>,
    /// The number of the next new segment.
    pub(super) next_segment: u64,
    /// Whether commits are lost that may have assigned numbers.
    pub(super) has_lost_commits: bool,
}

fn number(value: &[u8]) -> Option<u64> {
    <[u8; 8]>::try_from(value).ok().map(u64::from_be_bytes)
}

impl Facts {
    pub(super) fn new(source: &SharedDisk) -> Self {
        Self { format_seed: format::seed(source), ..Self::default() }
    }

    /// Takes an entry that is a fact, or that is not copied; returns false for all others, which
    /// are copied unchanged.
    pub(super) fn take(&mut self, space: Space, key: &[u8], value: &[u8], proof: Proof) -> bool {
        let is_proven = proof == Proof::Proven;
        match (space, key) {
            (Space::Meta, b"identity") if is_proven => {
                self.identity = value.split_first_chunk::<8>().and_then(|(seed, key)| {
                    Some((u64::from_be_bytes(*seed), <[u8; 32]>::try_from(key).ok()?))
                });
            }
            (Space::Meta, b"state") if is_proven => {
                self.state = value.split_first_chunk::<8>().and_then(|(sequence, time)| {
                    Some((
                        u64::from_be_bytes(*sequence),
                        i64::from_be_bytes(<[u8; 8]>::try_from(time).ok()?),
                    ))
                });
            }
            (Space::Meta, _) => return !is_proven || !key.starts_with(b"system-connection/"),
            (Space::Counters, _) if is_proven => {
                self.counters.extend(number(value).map(|number| (key.to_vec(), number)));
            }
            (Space::Positions, TRIMMED) if is_proven => self.trimmed = number(value),
            (Space::Positions, _) => {
                return !is_proven
                    || !key.starts_with(SUBSCRIBER)
                    || SubscriberRow::open(key, value).is_err();
            }
            (Space::Intents, _) => return !is_proven,
            (Space::Segments, _) => {
                if !is_proven {
                    self.unproven_segments.insert(key.to_vec());
                }
                return false;
            }
            (Space::TableState, _) if is_proven => {
                self.retentions
                    .extend(retention_in_row(key, value).map(|policy| (key.to_vec(), policy)));
            }
            (
                Space::Counters
                | Space::Blobs
                | Space::PendingDelete
                | Space::TableState
                | Space::Index
                // What was agreed about a record that is lost would count as a deletion here.
                | Space::Imports,
                _,
            ) => {}
            _ => return false,
        }
        true
    }

    /// The sequence of the last commit that is known.
    pub(super) fn sequence(&self) -> Option<u64> {
        self.state.map(|(sequence, _)| sequence)
    }

    /// The seed of the store.
    pub(super) fn seed(&self) -> u64 {
        self.identity.map_or(0, |(seed, _)| seed)
    }

    /// Replaces the lost facts. Called before contents and tables are copied, because they need new
    /// numbers.
    ///
    /// A counter becomes at least one more than the largest number that is seen in the store. If
    /// the counter itself or a commit of the journal is lost, `MARGIN` is added, because records
    /// with larger numbers may be lost too.
    pub(super) fn complete(
        &mut self,
        source: &SharedDisk,
        records: &RecordFile,
        salvaged: &SalvageResult,
        report: &mut SalvageReport,
    ) -> Result<()> {
        if self.state.is_none() && salvaged.damaged.contains(&Space::Meta) {
            // Then only FORMAT tells the format.
            refuse_other_format(source)?;
        }
        if self.identity.is_none() {
            let mut random = [0; 40];
            getrandom::fill(&mut random).map_err(|error| {
                Error::new(ErrorKind::Io, format!("generating the identity of the store: {error}"))
            })?;
            let (seed, key) =
                random.split_first_chunk::<8>().map_or((0, [0; 32]), |(seed, key)| {
                    (u64::from_be_bytes(*seed), <[u8; 32]>::try_from(key).unwrap_or_default())
                });
            self.identity = Some((self.format_seed.unwrap_or(seed), key));
            let reason = match self.format_seed {
                Some(_) => {
                    "a new key of continuation tokens was generated: start paged queries again"
                }
                None => {
                    "a new one was generated: earlier continuation tokens are refused; back up to \
                     a new directory"
                }
            };
            report.lose("fact of the store", "identity", RECORD_FILE, reason);
        }
        let mut newest = salvaged.newest_sequence;
        let snapshot = records.snapshot(0)?;
        let mut log = ReadSource::Snapshot(&snapshot).cursor(Space::Log, &[], None)?;
        newest = newest.max(log.visit(true, |key, _| number(key).unwrap_or(0))?.unwrap_or(0));
        drop(log);
        let largest_segment = largest_segment(source, records)?;
        let (sequence, time_ms) = match self.state {
            Some(state) => state,
            // Nothing was written yet.
            None if !salvaged.damaged.contains(&Space::Meta) => (0, time::MIN_MS),
            None => {
                let time_ms =
                    chrono::Utc::now().timestamp_millis().clamp(time::MIN_MS, time::MAX_MS);
                let sequence = newest.saturating_add(MARGIN);
                let reason = format!(
                    "the sequence of the last commit is lost; the new store continues at {sequence}"
                );
                report.lose("fact of the store", "sequence and time", RECORD_FILE, reason);
                (sequence, time_ms)
            }
        };
        self.state = Some((sequence, time_ms));
        report.sequence = sequence;
        let is_lost = salvaged.damaged.contains(&Space::Counters);
        let seen = [("segments", largest_segment), ("blob", largest_blob(source, records)?)];
        let seen = seen
            .into_iter()
            .map(|(name, seen)| (name.to_owned(), seen))
            .chain(largest_ids(records, self.seed())?);
        for (name, seen) in seen {
            let counter = self.counters.entry(name.into_bytes());
            let is_missing =
                is_lost && matches!(counter, std::collections::btree_map::Entry::Vacant(_));
            let counter = counter.or_insert(0);
            if seen > 0 || is_missing {
                let margin = if is_missing { MARGIN } else { 1 };
                *counter = (*counter).max(seen.saturating_add(margin));
            }
        }
        if self.has_lost_commits {
            let known = crate::model::REGISTRY.iter().map(|known| known.kind.code);
            let first = known.map(|code| (format!("kind {code}").into_bytes(), 1_000));
            let others = ["segments", "blob", "intent"].map(|name| (name.as_bytes().to_vec(), 1));
            for (name, first) in first.chain(others) {
                let counter = self.counters.entry(name).or_insert(first);
                *counter = counter.saturating_add(MARGIN);
            }
        }
        if is_lost {
            // Kinds without a remaining record may have had some.
            for known in crate::model::REGISTRY {
                let name = format!("kind {}", known.kind.code).into_bytes();
                self.counters.entry(name).or_insert(1_000 + MARGIN);
            }
            self.counters.entry(b"intent".to_vec()).or_insert(1 + MARGIN);
        }
        self.next_segment = self.counters.get(&b"segments"[..]).copied().unwrap_or(0).max(1);
        Ok(())
    }

    /// Writes the facts, after everything else was written.
    pub(super) fn write(
        &mut self,
        records: &RecordFile,
        salvaged: &SalvageResult,
        report: &mut SalvageReport,
    ) -> Result<()> {
        let (sequence, time_ms) = self.state.unwrap_or_default();
        let (seed, token_key) = self.identity.unwrap_or_default();
        // The indexes of the new store are complete, including those that its format added.
        let (key, value) = format_row();
        let mut changes = vec![
            Engine::identity_row(seed, token_key),
            Change::Put { space: Space::Meta, key, value },
        ];
        self.cut_log(records, salvaged, sequence, &mut changes, report)?;
        if self.next_segment > 1 {
            self.counters.insert(b"segments".to_vec(), self.next_segment);
        }
        let counters = self.counters.iter().filter(|(_, number)| **number > 0);
        changes.extend(counters.map(|(name, number)| Change::Put {
            space: Space::Counters,
            key: name.clone(),
            value: number.to_be_bytes().to_vec(),
        }));
        let mut state = sequence.to_be_bytes().to_vec();
        state.extend_from_slice(&time_ms.to_be_bytes());
        changes.push(Change::Put { space: Space::Meta, key: b"state".to_vec(), value: state });
        records.write(|turn| turn.apply(changes))
    }

    /// Drops the part of the change log before its last gap, and stores how far it was trimmed. A
    /// subscriber that has read less then gets an error instead of a log with a gap.
    fn cut_log(
        &self,
        records: &RecordFile,
        salvaged: &SalvageResult,
        sequence: u64,
        changes: &mut Vec<Change>,
        report: &mut SalvageReport,
    ) -> Result<()> {
        let holes: Vec<_> =
            salvaged.lost.iter().filter(|lost| lost.collection.space == Space::Log).collect();
        let has_no_end = holes.iter().any(|hole| hole.upto.is_none());
        let last_hole = holes.iter().filter_map(|hole| hole.upto.clone()).max();
        let is_cut = !holes.is_empty() || salvaged.damaged.contains(&Space::Log);
        let snapshot = records.snapshot(0)?;
        let mut log = ReadSource::Snapshot(&snapshot).cursor(Space::Log, &[], None)?;
        let (mut first_kept, mut dropped) = (None, 0u64);
        while let Some(key) = log.visit(false, |key, _| key.to_vec())? {
            let is_before = last_hole.as_ref().is_some_and(|hole| key <= *hole);
            if is_cut && (has_no_end || last_hole.is_none() || is_before) {
                dropped += 1;
                changes.push(Change::Delete { space: Space::Log, key });
            } else {
                first_kept = number(&key);
                break;
            }
        }
        drop(log);
        let mut trimmed = self.trimmed;
        if is_cut || salvaged.damaged.contains(&Space::Positions) {
            let upto = first_kept.map_or(sequence, |first| first.saturating_sub(1));
            trimmed = Some(trimmed.unwrap_or(0).max(upto));
            let reason = format!(
                "it starts after {upto}; {dropped} entries before its last gap are left out"
            );
            report.lose("change log", format!("up to {upto}"), RECORD_FILE, reason);
        }
        if let Some(trimmed) = trimmed {
            let (key, value) = (TRIMMED.to_vec(), trimmed.to_be_bytes().to_vec());
            changes.push(Change::Put { space: Space::Positions, key, value });
        }
        // A position after the last commit would skip the next changes.
        let end = after_prefix(SUBSCRIBER);
        let mut positions =
            ReadSource::Snapshot(&snapshot).cursor(Space::Positions, SUBSCRIBER, end.as_deref())?;
        while let Some((key, value)) = positions.next()? {
            let row = SubscriberRow::open(&key, &value).ok();
            if let Some(row) = row.filter(|row| row.position > sequence) {
                let value = SubscriberRow { position: sequence, ..row }.sealed(&key)?;
                changes.push(Change::Put { space: Space::Positions, key, value });
            }
        }
        Ok(())
    }
}

/// Refuses a store of another format, by its FORMAT file, if the record file does not tell the
/// format.
fn refuse_other_format(source: &SharedDisk) -> Result<()> {
    match format::probe(source) {
        Err(error) if matches!(error.kind(), ErrorKind::NewerFormat | ErrorKind::OlderFormat) => {
            Err(error)
        }
        _ => Ok(()),
    }
}

/// The largest number of a content that exists in the store or that the record file references.
fn largest_blob(source: &SharedDisk, records: &RecordFile) -> Result<u64> {
    let mut largest = 0;
    for (path, _) in crate::disk::walk(&**source, "files").unwrap_or_default() {
        let name = path.rsplit('/').next().filter(|name| name.len() == 16);
        largest =
            largest.max(name.and_then(|name| u64::from_str_radix(name, 16).ok()).unwrap_or(0));
    }
    let snapshot = records.snapshot(0)?;
    let mut cursor = ReadSource::Snapshot(&snapshot).cursor(Space::SmallBlobs, &[], None)?;
    let small = cursor.visit(true, |key, _| number(key).unwrap_or(0))?.unwrap_or(0);
    Ok(largest.max(small))
}

/// For each kind, the largest number from which a record's id was generated.
fn largest_ids(records: &RecordFile, seed: u64) -> Result<Vec<(String, u64)>> {
    let mut largest = BTreeMap::<u8, u64>::new();
    let snapshot = records.snapshot(0)?;
    let mut cursor = ReadSource::Snapshot(&snapshot).cursor(Space::Records, &[], None)?;
    while let Some(key) = cursor.visit(false, |key, _| key.to_vec())? {
        let Some((code, bytes)) = key.split_first() else { continue };
        let Some(known) = by_code(*code) else { continue };
        let counter = match bytes.len() {
            8 => number(bytes),
            _ => bytes
                .first_chunk::<6>()
                .map(|head| head.iter().fold(0, |sum, byte| sum << 8 | u64::from(*byte))),
        };
        // Callers may choose the ids of files; such ids come from no counter.
        let is_made =
            |counter: &u64| RecordKey::generate(known.kind, *counter, seed).as_bytes() == bytes;
        if let Some(counter) = counter.filter(is_made) {
            let most = largest.entry(*code).or_default();
            *most = counter.max(*most);
        }
    }
    Ok(largest.into_iter().map(|(code, counter)| (format!("kind {code}"), counter)).collect())
}
