//! Each line of the status is made wrong once, and seen.

use crate::store::tests::prelude::*;

use super::format;
use super::status::kept::Activity;
use crate::status::*;

const DAY_MS: i64 = 24 * 60 * 60 * 1_000;
const MINUTE_MS: i64 = 60_000;

/// A disk, and the clock of the stores on it.
struct Bench {
    disk: SimDisk,
    clock: Arc<ManualClock>,
}

impl Bench {
    fn new() -> Self {
        let start = time::parse("2026-03-01T12:00:00Z").unwrap();
        Self { disk: SimDisk::new(1), clock: Arc::new(ManualClock::new(start)) }
    }

    fn options(&self) -> StoreOptions {
        let options = StoreOptions::default().maintenance_thread(false).seed(Some(1));
        options.shared_clock(self.clock.clone())
    }

    fn open(&self) -> Store {
        self.options().open_on(Arc::new(self.disk.clone())).unwrap()
    }

    /// A pass of maintenance after this time.
    fn maintain_after(&self, store: &Store, ms: i64) {
        self.clock.advance_ms(ms);
        store.maintain(&Control::default()).unwrap();
    }
}

fn codes(store: &Store) -> Vec<AttentionCode> {
    store.status().unwrap().attention.iter().map(|item| item.code).collect()
}

#[track_caller]
fn told(store: &Store, code: AttentionCode) -> Attention {
    let attention = store.status().unwrap().attention;
    let found = attention.iter().find(|item| item.code == code).cloned();
    let found = found.unwrap_or_else(|| panic!("no {code} in {attention:?}"));
    assert!(!found.problem.is_empty() && !found.action.is_empty(), "{found:?}");
    found
}

fn product(store: &Store, number: usize) {
    let request = CreateProductRequest::new(format!("P-{number}"));
    ada(store).create_products(vec![request]).unwrap().require_all().unwrap();
}

fn file(store: &Store, len: usize) {
    let bytes = vec![7; len];
    let (request, control) = (UploadFileRequest::default(), Control::default());
    ada(store).upload_file(&mut bytes.as_slice(), request, &control).unwrap();
}

fn verify(store: &Store) -> crate::VerifyReport {
    store.verify(VerifyLevel::Checksums, &Control::default()).unwrap()
}

/// Flips a bit of a file in the middle.
fn flip(disk: &SimDisk, path: &str) {
    let file = disk.open(path, Mode::ReadWrite).unwrap();
    let at = file.len().unwrap() / 2;
    let mut byte = [0];
    file.read_exact_at(&mut byte, at).unwrap();
    byte[0] ^= 1;
    file.write_all_at(&byte, at).unwrap();
    file.sync_all().unwrap();
}

fn blob(disk: &SimDisk) -> String {
    walk(disk, "files").unwrap().pop().unwrap().0
}

#[test]
fn a_store_that_is_well_needs_nobody() {
    let bench = Bench::new();
    let store = bench.open();
    product(&store, 1);
    bench.maintain_after(&store, 2 * MINUTE_MS);
    let status = store.status().unwrap();
    assert_eq!(status.attention, []);
    assert!(status.writes.are_taken && status.writes.latch.is_none() && !status.is_view);
    assert_eq!((status.id.len(), status.versions.format), (16, 1));
    assert_eq!(status.versions.fingerprint.len(), 16);
    assert_eq!(status.opened_at + chrono::Duration::milliseconds(2 * MINUTE_MS), status.time);
    let json = serde_json::to_value(&status).unwrap();
    for pointer in ["/attention", "/writes/commitLatency/p9999Us", "/journal/lagCommits"] {
        assert!(json.pointer(pointer).is_some(), "{pointer}: {json}");
    }
}

#[test]
fn latencies_count_commits_and_syncs() {
    let bench = Bench::new();
    let store = bench.open();
    let before = store.status().unwrap().writes;
    bench.disk.set_latency(OpKind::Sync, Duration::from_millis(3));
    (0..20).for_each(|number| product(&store, number));
    let transaction = ada(&store).begin().unwrap();
    let request = vec![CreateProductRequest::new("T")];
    transaction.create_products(request).unwrap().require_all().unwrap();
    transaction.commit().unwrap();
    let after = store.status().unwrap().writes;
    assert_eq!(after.commit_latency.count, before.commit_latency.count + 21);
    assert_eq!(after.sync_latency.count, before.sync_latency.count + 21);
    let (commit, sync) = (after.commit_latency, after.sync_latency);
    assert!(sync.p99_us >= 3_000 && commit.max_us >= sync.p50_us, "{commit:?} {sync:?}");
    assert!(sync.p50_us <= sync.p99_us && sync.p9999_us <= sync.max_us, "{sync:?}");
    assert_eq!(after.sequence, before.sequence + 21);
    // A write that is refused is none.
    ada(&store).delete_table(&"00000000000000000000abcd".into()).unwrap_err();
    assert_eq!(store.status().unwrap().writes.commit_latency.count, commit.count);
}

#[test]
fn the_latch_and_its_cause_are_told() {
    let bench = Bench::new();
    let store = bench.open();
    bench.disk.inject(Pick::kind(OpKind::Sync).on_path("journal"), Fault::Io);
    ada(&store).create_products(vec![CreateProductRequest::new("P")]).unwrap_err();
    bench.disk.heal();
    let writes = store.status().unwrap().writes;
    assert!(!writes.are_taken && writes.latch.is_some(), "{writes:?}");
    let item = told(&store, AttentionCode::Latched);
    assert!(item.problem.contains("journal"), "{item:?}");
    assert!(item.action.contains("reopen"), "{item:?}");
    // A latched store still keeps what it found.
    assert!(verify(&store).is_sound());
    assert!(store.status().unwrap().verify.last_success.is_some());
    drop(store);
    let store = bench.open();
    assert!(codes(&store).is_empty());
    assert!(store.status().unwrap().verify.last_success.is_some());
}

#[test]
fn what_waits_for_a_checkpoint_is_told() {
    let bench = Bench::new();
    let store = bench.open();
    let before = store.status().unwrap().journal;
    (0..5).for_each(|number| product(&store, number));
    let journal = store.status().unwrap().journal;
    assert_eq!(journal.lag_commits, before.lag_commits + 5);
    assert!(journal.lag_bytes > before.lag_bytes && journal.record_bytes > before.record_bytes);
    assert!(journal.file_bytes >= journal.record_bytes && !journal.is_moving);
    store.maintain(&Control::default()).unwrap();
    let journal = store.status().unwrap().journal;
    assert_eq!((journal.lag_commits, journal.lag_bytes), (0, 0));
}

#[test]
fn checkpoints_that_are_behind_are_told() {
    let bench = Bench::new();
    let options = bench.options().maintenance_thread(true).memory_table_bytes(2_000);
    let store = options.open_on(Arc::new(bench.disk.clone())).unwrap();
    // Nobody moves the frozen layer meanwhile.
    let _moving = store.engine().checkpoints.hold();
    let lag = || store.status().unwrap().journal;
    for number in 0..100 {
        if lag().lag_bytes > 4_000 {
            break;
        }
        // The writer that has to wait for the checkpoint would wait for this thread.
        let worker = store.clone();
        let done = std::thread::spawn(move || product(&worker, number));
        let until = std::time::Instant::now() + Duration::from_secs(20);
        while !done.is_finished() && lag().lag_bytes <= 4_000 {
            assert!(std::time::Instant::now() < until, "{:?}", lag());
            std::thread::sleep(Duration::from_millis(5));
        }
    }
    told(&store, AttentionCode::CheckpointBehind);
    drop(_moving);
}

#[test]
fn the_oldest_reader_is_named() {
    let bench = Bench::new();
    let store = bench.open();
    product(&store, 1);
    assert_eq!(store.status().unwrap().oldest_reader, None);
    let pinned = store.session(Identity::user("bo")).pinned();
    product(&store, 2);
    let reader = store.status().unwrap().oldest_reader.unwrap();
    assert_eq!((reader.who.as_str(), reader.lag_commits), ("a pinned session of \"bo\"", 1));
    assert!(reader.age_ms.is_some());
    // A clone is the same reader, and the newest state is nobody's to name.
    let clone = pinned.clone();
    drop(pinned);
    assert!(store.status().unwrap().oldest_reader.is_some());
    drop(clone);
    assert_eq!(store.status().unwrap().oldest_reader, None);
    let request = crate::scans::ScanRecordsRequest::new(crate::scans::RecordKind::Product);
    let scan = ada(&store).scan_records(request, &Control::default()).unwrap();
    product(&store, 3);
    let reader = store.status().unwrap().oldest_reader.unwrap();
    assert_eq!(reader.who, "a scan of records of \"ada\"");
    drop(scan);
    // A call that is in no list.
    let held = store.engine().snapshot();
    product(&store, 4);
    let reader = store.status().unwrap().oldest_reader.unwrap();
    assert_eq!((reader.who.as_str(), reader.age_ms), ("a call", None));
    drop(held);
}

#[test]
fn a_backup_and_a_verification_are_readers() {
    let bench = Bench::new();
    let store = bench.open();
    product(&store, 1);
    file(&store, 100_000);
    let seen = Arc::new(std::sync::Mutex::new(BTreeSet::new()));
    let (watching, readers) = (store.clone(), seen.clone());
    let watched = Control::default().with_progress(move |_| {
        let reader = watching.status().unwrap().oldest_reader;
        readers.lock().unwrap().extend(reader.map(|reader| reader.who));
    });
    store.verify(VerifyLevel::Checksums, &watched).unwrap();
    let seen = || std::mem::take(&mut *seen.lock().unwrap());
    assert_eq!(seen(), BTreeSet::from(["a verification".to_owned()]));
    let [target, set]: [SharedDisk; 2] = [Arc::new(MemoryDisk::new()), Arc::new(MemoryDisk::new())];
    store.backup_disk(&target, &watched).unwrap();
    assert_eq!(seen(), BTreeSet::from(["a backup".to_owned()]));
    store.backup_to_set_disk(&set, &crate::SetBackupOptions::new(), &watched).unwrap();
    assert_eq!(seen(), BTreeSet::from(["a backup".to_owned()]));
    store.repair_disk(&set, &watched).unwrap();
    assert_eq!(seen(), BTreeSet::from(["a repair".to_owned()]));
}

#[cfg(feature = "search")]
#[test]
fn what_the_text_index_lacks_is_told() {
    let bench = Bench::new();
    let store = bench.open();
    product(&store, 1);
    let search = || ada(&store).search(SearchRequest::new().text("P")).unwrap();
    search();
    store.maintain(&Control::default()).unwrap();
    let settled = store.status().unwrap().indexes;
    assert_eq!(settled.incomplete, [""; 0]);
    (2..6).for_each(|number| product(&store, number));
    let behind = store.status().unwrap().indexes;
    assert_eq!(behind.text_lag_commits, settled.text_lag_commits + 4, "{settled:?} {behind:?}");
    assert_eq!(behind.text_unsaved_commits, settled.text_unsaved_commits + 4);
    search();
    assert_eq!(store.status().unwrap().indexes.text_lag_commits, 0);
}

#[test]
fn a_disk_that_is_full_or_fills_is_told() {
    const MIB: u64 = 1 << 20;
    let bench = Bench::new();
    let store = bench.options().reserve_bytes(MIB).open_on(Arc::new(bench.disk.clone())).unwrap();
    assert_eq!(store.status().unwrap().disk.free_bytes, None);
    let used = bench.disk.peak_bytes();
    let free = |bytes: u64| bench.disk.set_capacity(Some(used + bytes));
    let disk = || store.status().unwrap().disk;
    // Three days of samples make the rate: 40 MiB a day.
    for day in 0..4 {
        assert_eq!(disk().full_in_days, None, "{day}");
        free((400 - 40 * day) * MIB);
        bench.maintain_after(&store, DAY_MS);
    }
    let filling = disk();
    let rate = filling.shrinks_by_bytes_a_day.unwrap();
    assert!((39 * MIB..=41 * MIB).contains(&rate), "{filling:?}");
    assert_eq!(filling.full_in_days, Some(6), "{filling:?}");
    told(&store, AttentionCode::DiskFilling);
    // The samples are kept over a close.
    drop(store);
    let store = bench.options().reserve_bytes(MIB).open_on(Arc::new(bench.disk.clone())).unwrap();
    assert_eq!(store.status().unwrap().disk.full_in_days, Some(6));
    bench.disk.set_capacity(Some(1));
    let item = told(&store, AttentionCode::DiskFull);
    assert!(item.problem.contains("bytes left"), "{item:?}");
    assert!(!codes(&store).contains(&AttentionCode::DiskFilling));
}

#[test]
fn damage_is_told_until_a_verification_finds_none() {
    let bench = Bench::new();
    let store = bench.options().small_blob_bytes(10).open_on(Arc::new(bench.disk.clone())).unwrap();
    file(&store, 1_000);
    assert!(verify(&store).is_sound());
    let well = store.status().unwrap().verify;
    assert_eq!(well.last.as_ref().unwrap().result, OutcomeResult::Succeeded);
    flip(&bench.disk, &blob(&bench.disk));
    bench.clock.advance_ms(5);
    assert_eq!(verify(&store).findings.len(), 1);
    let status = store.status().unwrap().verify;
    assert_eq!(status.last_success, well.last_success);
    let last = status.last.unwrap();
    assert_eq!((last.result, last.findings), (OutcomeResult::Damaged, 1));
    let item = told(&store, AttentionCode::Damage);
    assert!(item.problem.contains("files/"), "{item:?}");
    // Kept over a close, and a view tells it too.
    drop(store);
    let store = bench.options().small_blob_bytes(10).open_on(Arc::new(bench.disk.clone())).unwrap();
    told(&store, AttentionCode::Damage);
    flip(&bench.disk, &blob(&bench.disk));
    bench.clock.advance_ms(5);
    assert!(verify(&store).is_sound());
    assert_eq!(codes(&store), []);
    // A verification of the lengths says nothing about the bytes.
    flip(&bench.disk, &blob(&bench.disk));
    store.verify(VerifyLevel::Headers, &Control::default()).unwrap();
    assert_eq!(codes(&store), []);
}

/// A clock that was ahead while all was well does not hide damage that is found after it was set
/// right, nor a verification that finds none after that.
#[test]
fn damage_is_told_also_after_the_clock_was_ahead() {
    let bench = Bench::new();
    let options = || bench.options().small_blob_bytes(10);
    let open = || options().open_on(Arc::new(bench.disk.clone())).unwrap();
    let store = open();
    file(&store, 1_000);
    bench.clock.advance_ms(1_500 * DAY_MS);
    assert!(verify(&store).is_sound());
    bench.clock.advance_ms(-1_500 * DAY_MS);
    flip(&bench.disk, &blob(&bench.disk));
    assert!(!verify(&store).is_sound());
    assert!(told(&store, AttentionCode::Damage).problem.contains("files/"));
    // A run that did not end says nothing about it.
    let cancelled = Control::default();
    cancelled.cancel();
    store.verify(VerifyLevel::Checksums, &cancelled).unwrap_err();
    told(&store, AttentionCode::Damage);
    drop(store);
    let store = open();
    told(&store, AttentionCode::Damage);
    flip(&bench.disk, &blob(&bench.disk));
    bench.clock.advance_ms(-DAY_MS);
    assert!(verify(&store).is_sound());
    assert!(!codes(&store).contains(&AttentionCode::Damage));
}

/// Damage that is found while a verification is under way is not taken back by it: it may have read
/// the place before.
#[test]
fn a_verification_takes_back_what_was_known_when_it_began() {
    let bench = Bench::new();
    let store = bench.open();
    file(&store, 100_000);
    let keeper = || &store.upkeep().keeper;
    let found = |findings| {
        let now = store.engine().clock_now();
        keeper().record_outcome(Activity::Scrub, now, &Ok(()), |()| (findings, "bytes".into()));
    };
    found(1);
    let known = keeper().known_damage();
    found(2);
    keeper().take_back(&known);
    assert!(told(&store, AttentionCode::Damage).problem.contains("2 damages"));
    assert!(verify(&store).is_sound());
    assert_eq!(codes(&store), []);
    // So are the findings of a scrub that is under way.
    let progress = |findings| {
        let progress = ScrubProgress { findings, ..ScrubProgress::default() };
        keeper().change(|kept| kept.scrubbing = Some(progress));
    };
    progress(1);
    told(&store, AttentionCode::Damage);
    assert!(verify(&store).is_sound());
    assert_eq!(codes(&store), []);
    progress(3);
    assert!(told(&store, AttentionCode::Damage).problem.contains("has found 2 damages"));
    assert!(verify(&store).is_sound());
    keeper().change(|kept| kept.scrubbing = None);
    found(3);
    assert_eq!(codes(&store), [], "all of them were taken back");
    found(1);
    told(&store, AttentionCode::Damage);
}

/// The days without a backup are counted from the day that the clock was set right, if it was ahead
/// at the last one.
#[test]
fn a_backup_under_a_clock_that_was_ahead_is_overdue_in_time() {
    let bench = Bench::new();
    let store = bench.open();
    bench.maintain_after(&store, 2 * MINUTE_MS);
    bench.clock.advance_ms(1_500 * DAY_MS);
    let target: SharedDisk = Arc::new(MemoryDisk::new());
    store.backup_disk(&target, &Control::default()).unwrap();
    bench.clock.advance_ms(-1_500 * DAY_MS);
    bench.maintain_after(&store, MINUTE_MS);
    assert!(!codes(&store).contains(&AttentionCode::BackupOverdue));
    bench.maintain_after(&store, 31 * DAY_MS);
    told(&store, AttentionCode::BackupOverdue);
}

#[test]
fn how_backups_end_is_told() {
    let bench = Bench::new();
    let store = bench.options().small_blob_bytes(10).open_on(Arc::new(bench.disk.clone())).unwrap();
    file(&store, 1_000);
    let back_up = |control: &Control| {
        let target: SharedDisk = Arc::new(MemoryDisk::new());
        store.backup_disk(&target, control)
    };
    let last = || store.status().unwrap().backup.last.unwrap();
    bench.maintain_after(&store, 2 * MINUTE_MS);
    assert_eq!(codes(&store), []);
    bench.maintain_after(&store, 31 * DAY_MS);
    assert!(told(&store, AttentionCode::BackupOverdue).problem.contains("yet"));
    back_up(&Control::default()).unwrap();
    assert_eq!(
        (last().result, last().ended_at),
        (OutcomeResult::Succeeded, Some(store.status().unwrap().time))
    );
    assert!(!codes(&store).contains(&AttentionCode::BackupOverdue));
    let cancelled = Control::default();
    cancelled.cancel();
    back_up(&cancelled).unwrap_err();
    assert_eq!(last().result, OutcomeResult::Cancelled);
    assert!(!codes(&store).contains(&AttentionCode::BackupFailed));
    bench.disk.remove_file(&blob(&bench.disk)).unwrap();
    back_up(&Control::default()).unwrap_err();
    assert_eq!(last().result, OutcomeResult::Failed);
    let item = told(&store, AttentionCode::BackupFailed);
    assert!(item.problem.contains("files/"), "{item:?}");
    assert!(store.status().unwrap().backup.last_success.is_some());
    bench.clock.advance_ms(31 * DAY_MS);
    assert!(told(&store, AttentionCode::BackupOverdue).problem.contains("since"));
}

#[test]
fn a_verification_that_cannot_be_carried_out_is_told() {
    let bench = Bench::new();
    let store = bench.open();
    let error = Control::default().with_deadline(std::time::Instant::now());
    store.verify(VerifyLevel::Checksums, &error).unwrap_err();
    told(&store, AttentionCode::VerifyFailed);
    assert!(verify(&store).is_sound());
    assert_eq!(codes(&store), []);
}

#[test]
fn a_clock_that_was_ahead_is_told() {
    let bench = Bench::new();
    let store = bench.open();
    bench.clock.advance_ms(400 * DAY_MS);
    product(&store, 1);
    bench.clock.advance_ms(-400 * DAY_MS);
    let item = told(&store, AttentionCode::ClockAhead);
    assert!(
        item.problem.contains("2027-04-05") && item.action.contains("--present-clock"),
        "{item:?}"
    );
    store.take_present_time().unwrap();
    assert_eq!(codes(&store), []);
}

#[test]
fn subscribers_that_are_about_to_lose_their_position_are_told() {
    let bench = Bench::new();
    let options = bench.options().maintenance_thread(true).log_entries_max(2);
    let store = options.subscriber_hold_ms(1_000).open_on(Arc::new(bench.disk.clone())).unwrap();
    store.register("replica").unwrap();
    (0..3).for_each(|number| product(&store, number));
    bench.clock.advance_ms(900);
    let until = std::time::Instant::now() + Duration::from_secs(30);
    while !codes(&store).contains(&AttentionCode::SubscribersAtRisk) {
        assert!(std::time::Instant::now() < until, "{:?}", store.status().unwrap().maintenance);
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// A failure of the archive of commits is told until commits are archived again.
#[test]
fn commits_that_cannot_be_archived_are_told() {
    let bench = Bench::new();
    let options = bench.options().archive_bytes(Some(1 << 20));
    let store = options.open_on(Arc::new(bench.disk.clone())).unwrap();
    product(&store, 1);
    let status = store.status().unwrap();
    assert_eq!((status.attention, status.archive.unwrap().bytes_max), (vec![], 1 << 20));
    bench.disk.inject(Pick::any().on_path("archive/"), Fault::Io);
    assert!(store.engine().archive_all().is_err());
    told(&store, AttentionCode::ArchiveFailed);
    bench.disk.heal();
    store.engine().archive_all().unwrap();
    assert_eq!(codes(&store), []);
    store.set_archive_bytes(0).unwrap();
    assert!(store.status().unwrap().archive.is_none());
}

/// A file that cannot be read costs its history, and is told.
#[test]
fn a_damaged_file_of_the_status_is_begun_again() {
    let bench = Bench::new();
    let store = bench.open();
    assert!(verify(&store).is_sound());
    drop(store);
    flip(&bench.disk, format::STATUS);
    let store = bench.open();
    told(&store, AttentionCode::StatusLost);
    assert_eq!(store.status().unwrap().verify, ActivityStatus::default());
    assert!(verify(&store).is_sound());
    drop(store);
    let store = bench.open();
    assert_eq!(codes(&store), []);
    assert!(store.status().unwrap().verify.last.is_some());
}

/// A disk that takes no file loses nothing: the next save has it.
#[test]
fn what_could_not_be_written_is_written_later() {
    let bench = Bench::new();
    let store = bench.open();
    let failing = Pick::any().on_path(format::NEW_STATUS);
    bench.disk.inject(failing, Fault::Io);
    assert!(verify(&store).is_sound());
    assert!(!bench.disk.exists(format::STATUS).unwrap());
    assert!(store.status().unwrap().verify.last.is_some());
    bench.disk.heal();
    store.close().unwrap();
    assert!(bench.open().status().unwrap().verify.last.is_some());
}

/// A power cut at any change leaves the outcome before or the one after, and the store opens.
#[test]
fn every_change_of_keeping_an_outcome_can_be_the_last() {
    let bench = Bench::new();
    let store = bench.open();
    assert!(verify(&store).is_sound());
    let first = store.status().unwrap().verify.last_success;
    let from = bench.disk.ops();
    bench.clock.advance_ms(DAY_MS);
    assert!(verify(&store).is_sound());
    let second = store.status().unwrap().verify.last_success;
    assert_ne!(first, second);
    let mut replay = bench.disk.replay();
    let (mut images, mut seen) = (0, BTreeSet::new());
    while replay.advance().is_some() {
        if replay.until_op() < from {
            continue;
        }
        for (seed, survival) in [(1, Survival::None), (2, Survival::All), (3, Survival::Random)] {
            images += 1;
            let disk: SharedDisk = Arc::new(replay.survivors(seed, survival));
            let store = bench.options().open_on(disk).unwrap();
            let status = store.status().unwrap();
            assert_eq!(status.attention, []);
            let found = status.verify.last_success;
            assert!(found == first || found == second, "{found:?}");
            seen.insert(found);
        }
    }
    assert!(images > 8 && seen.len() == 2, "{images} {seen:?}");
}

#[test]
fn a_backup_has_nothing_of_the_status() {
    let bench = Bench::new();
    let store = bench.open();
    assert!(verify(&store).is_sound());
    let target: SharedDisk = Arc::new(MemoryDisk::new());
    store.backup_disk(&target, &Control::default()).unwrap();
    assert!(!target.exists(format::STATUS).unwrap());
    // One that was opened meanwhile has its own, which goes with the next backup.
    let opened = bench.options().open_on(target.clone()).unwrap();
    assert!(verify(&opened).is_sound());
    drop(opened);
    assert!(target.exists(format::STATUS).unwrap());
    store.backup_disk(&target, &Control::default()).unwrap();
    assert!(!target.exists(format::STATUS).unwrap());
}

#[test]
fn a_view_tells_what_its_owner_kept() {
    let directory = tempfile::tempdir().unwrap();
    let store = Store::options().open(directory.path()).unwrap();
    assert!(verify(&store).is_sound());
    let view = Store::look(directory.path()).unwrap();
    let status = view.status().unwrap();
    assert!(status.is_view && !status.writes.are_taken && status.writes.latch.is_none());
    assert_eq!(status.verify, store.status().unwrap().verify);
    assert_eq!(status.attention, []);
    // What it finds is its own.
    assert!(verify(&view).is_sound());
    drop(view);
    drop(store);
}

#[test]
fn memory_has_bounds_and_a_use() {
    let bench = Bench::new();
    let store = bench.options().record_cache_bytes(1 << 20).query_memory_bytes(1 << 21);
    let store = store.memory_budget_bytes(1 << 30);
    let store = store.open_on(Arc::new(bench.disk.clone())).unwrap();
    let part = |name: &str| {
        let memory = store.status().unwrap().memory;
        memory.into_iter().find(|part| part.part == name).unwrap()
    };
    assert_eq!(part("page cache").bound_bytes, 1 << 20);
    assert_eq!(part("one query").bound_bytes, 1 << 21);
    let before = part("memory table").used_bytes.unwrap();
    product(&store, 1);
    assert!(part("memory table").used_bytes.unwrap() > before);
    // The parts and the room of calls are the budget.
    let memory = store.status().unwrap().memory;
    let fixed: u64 = memory.iter().skip(4).map(|part| part.bound_bytes).sum();
    assert_eq!(part("budget").bound_bytes, 1 << 30);
    assert_eq!(fixed + part("calls").bound_bytes, 1 << 30);
    assert_eq!((part("calls").used_bytes, part("calls").peak_bytes), (Some(0), Some(0)));
    let mut call = store.engine().memory.reservation();
    call.hold(3 << 20).unwrap();
    assert_eq!(part("calls").used_bytes, Some(3 << 20));
    assert_eq!(part("budget").used_bytes, Some(fixed + (3 << 20)));
    drop(call);
    assert_eq!((part("calls").used_bytes, part("calls").peak_bytes), (Some(0), Some(3 << 20)));
}

#[test]
fn parts_beyond_the_budget_are_refused_at_open_and_change_nothing() {
    let bench = Bench::new();
    let open = |bytes: u64| {
        let options = bench.options().memory_budget_bytes(bytes);
        options.open_on(Arc::new(bench.disk.clone()))
    };
    let error = open(500_000_000).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument);
    for figure in [
        "memory_budget_bytes allows 500000000",
        "page cache 67108864 (record_cache_bytes)",
        "memory table 167772160 (memory_table_bytes)",
        "one query 268435456 (query_memory_bytes)",
    ] {
        assert!(error.message().contains(figure), "{figure}: {error}");
    }
    assert!(!bench.disk.exists("FORMAT").unwrap(), "nothing was created");
    drop(open(1 << 30).unwrap());
    // A store that is there is as it was.
    assert_eq!(open(1).unwrap_err().kind(), ErrorKind::InvalidArgument);
    drop(open(1 << 30).unwrap());
}
