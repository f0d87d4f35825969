//! Commits and reads beside a checkpoint: writers do not wait for it, every snapshot is one state,
//! and nothing is lost wherever it ends.

use crate::store::tests::prelude::*;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::time::Instant;

use crate::records::SUMS_KEY;
use crate::search::SearchRequest;
use crate::session::Engine;
use crate::session::outbox::CHECKPOINT;
use crate::{ErrorKind, Result, Session};

const BOUND: usize = 48 * 1024;
/// Longer than any wait of these tests, also on a busy machine.
const FOR_EVER: Duration = Duration::from_mins(2);

fn open(disk: &SimDisk, bound: usize) -> Store {
    let options = StoreOptions::default().seed(Some(1)).reserve_bytes(0).memory_table_bytes(bound);
    options.open_on(Arc::new(disk.clone())).unwrap()
}

fn create(session: &Session, number: usize) -> Result<ProductId> {
    let request = CreateProductRequest {
        part_number: format!("part {number}"),
        name: Some("n".repeat(600)),
        ..CreateProductRequest::default()
    };
    let made = session.create_products(vec![request])?;
    Ok(made.products.into_iter().find_map(|product| product.id).unwrap())
}

fn assert_there(store: &Store, ids: &[ProductId]) {
    let session = store.session(Identity::user("ada"));
    for (number, id) in ids.iter().enumerate() {
        let found = session.get_product(id).unwrap_or_else(|error| panic!("{number}: {error}"));
        assert_eq!(found.part_number, Some(format!("part {number}")));
    }
    let report = store.verify(VerifyLevel::Checksums, &Control::default()).unwrap();
    assert!(report.is_sound(), "{:?}", report.findings);
}

fn wait_until(what: &str, is_done: impl Fn() -> bool) {
    let begun = Instant::now();
    while !is_done() {
        assert!(begun.elapsed() < FOR_EVER, "{what} did not happen");
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// A checkpoint that does not end: writers slow down in proportion, by 50 ms at most, and do not
/// wait for it. A kill meanwhile loses nothing.
#[test]
fn writers_do_not_wait_for_a_checkpoint() {
    let disk = SimDisk::new(1);
    let store = open(&disk, BOUND);
    let engine = store.engine().clone();
    let moving = engine.checkpoints.hold();
    let (told, answers) = channel();
    let is_late = AtomicBool::new(false);
    let (ids, waits) = std::thread::scope(|scope| {
        scope.spawn(|| {
            let session = store.session(Identity::user("ada"));
            let mut number = 0;
            while engine.snapshot().active().bytes() < 3 * BOUND
                || engine.snapshot().frozen().is_none()
            {
                let begun = Instant::now();
                let id = create(&session, number).unwrap();
                let snapshot = engine.snapshot();
                let behind = snapshot.frozen().map(|_| snapshot.active().bytes());
                told.send(Some((id, behind, begun.elapsed()))).unwrap();
                number += 1;
                if is_late.load(Ordering::SeqCst) {
                    break;
                }
            }
            told.send(None).unwrap();
        });
        let (mut ids, mut waits) = (Vec::new(), Vec::new());
        loop {
            match answers.recv_timeout(FOR_EVER) {
                Ok(Some((id, behind, waited))) => {
                    ids.push(id);
                    waits.extend(behind.map(|behind| (behind, waited)));
                }
                Ok(None) => break,
                Err(_) => {
                    is_late.store(true, Ordering::SeqCst);
                    drop(moving);
                    panic!("a writer waits for the checkpoint");
                }
            }
        }
        // The process is killed in the middle of the checkpoint.
        let killed = disk.survivors(1, Survival::All);
        assert!(engine.snapshot().frozen().is_some());
        assert_there(&open(&killed, BOUND), &ids);
        drop(moving);
        (ids, waits)
    });
    let least = |from: usize, to: usize| {
        let waits = waits.iter().filter(|(behind, _)| (from..to).contains(behind));
        waits.map(|(_, waited)| *waited).min().unwrap()
    };
    let (none, full) = (least(0, BOUND / 2), least(BOUND * 3 / 2, BOUND * 3));
    let half = least(BOUND, BOUND * 3 / 2);
    println!("{} writes beside the checkpoint: {none:?}, {half:?}, {full:?}", waits.len());
    assert!(full >= Duration::from_millis(50) && half >= Duration::from_millis(25));
    assert!(none < full && full < Duration::from_secs(1), "{none:?} {full:?}");
    wait_until("the checkpoint", || engine.snapshot().frozen().is_none());
    assert_there(&store, &ids);
    drop(engine);
    store.close().unwrap();
    assert_there(&open(&disk, BOUND), &ids);
}

/// Each commit creates one record, so each snapshot has as many records as its sequence says. The
/// first pass of maintenance may come in between: it commits how far the text index has come.
#[test]
fn every_snapshot_beside_checkpoints_is_one_state() {
    const WRITERS: usize = 4;
    const EACH: usize = 60;
    let disk = SimDisk::new(1);
    let store = open(&disk, 12 * 1024);
    let engine = store.engine().clone();
    let count = |snapshot: &crate::records::Snapshot| {
        let source = ReadSource::Snapshot(snapshot);
        let records = source.len(Space::Records).unwrap();
        let is_saved = source.get(Space::Positions, CHECKPOINT).unwrap().is_some();
        snapshot.sequence - records - u64::from(is_saved)
    };
    let difference = count(&engine.snapshot());
    let is_done = AtomicBool::new(false);
    let (mut looks, mut frozen) = (0, 0);
    std::thread::scope(|scope| {
        let writers: Vec<_> = (0..WRITERS)
            .map(|writer| {
                let session = store.session(Identity::user("ada"));
                scope.spawn(move || {
                    (0..EACH).for_each(|number| {
                        create(&session, writer * EACH + number).map(drop).unwrap();
                    });
                })
            })
            .collect();
        scope.spawn(|| {
            writers.into_iter().for_each(|writer| writer.join().unwrap());
            is_done.store(true, Ordering::SeqCst);
        });
        let mut newest = 0;
        while !is_done.load(Ordering::SeqCst) {
            let snapshot = engine.snapshot();
            assert_eq!(count(&snapshot), difference);
            assert!(snapshot.sequence >= newest);
            newest = snapshot.sequence;
            looks += 1;
            frozen += usize::from(snapshot.frozen().is_some());
        }
    });
    println!("{looks} snapshots, {frozen} of them beside a checkpoint");
    assert_eq!(count(&engine.snapshot()), difference);
    let syncs = disk.trace().into_iter().filter(|entry| &*entry.path == "records.redb");
    let syncs = syncs.filter(|entry| entry.kind == OpKind::Sync).count();
    assert!(syncs > 20, "{syncs} syncs of the record file");
    // A search brings the text index up to date. The close commits how far it has come, and nothing
    // else.
    let request = SearchRequest { text: Some("part".to_owned()), ..SearchRequest::default() };
    let _ = store.session(Identity::user("ada")).search(request).unwrap();
    let (sequence, mut held) = state(&engine);
    drop(engine);
    store.close().unwrap();
    let (reopened, mut found) = state(open(&disk, BOUND).engine());
    let checkpoint = (Space::Positions, CHECKPOINT.to_vec());
    let is_saved = held.remove(&checkpoint) != found.remove(&checkpoint);
    assert!(is_saved, "the close did not save the text index");
    // What every commit writes.
    let of_commits = |(space, key): &(Space, Vec<u8>)| {
        *space == Space::Log || (*space == Space::Meta && [SUMS_KEY, b"state"].contains(&&**key))
    };
    held.retain(|at, _| !of_commits(at));
    found.retain(|at, _| !of_commits(at));
    let changed: Vec<_> = held.iter().filter(|(at, row)| found.get(at) != Some(row)).collect();
    let added: Vec<_> = found.iter().filter(|(at, _)| !held.contains_key(at)).collect();
    assert!(changed.is_empty() && added.is_empty(), "{changed:?} {added:?}");
    assert_eq!(reopened, sequence + 1);
}

/// The sequence and all rows but those of the indexes.
fn state(engine: &Engine) -> (u64, BTreeMap<(Space, Vec<u8>), Vec<u8>>) {
    let snapshot = engine.snapshot();
    let mut rows = BTreeMap::new();
    for space in Space::ALL.into_iter().filter(|space| *space != Space::Index) {
        let mut cursor = ReadSource::Snapshot(&snapshot).cursor(space, &[], None).unwrap();
        while let Some((key, value)) = cursor.next().unwrap() {
            rows.insert((space, key), value);
        }
    }
    (snapshot.sequence, rows)
}

/// Each sync of the record file takes long, and a checkpoint has at least two. A writer waits at
/// most 50 ms beyond one of them, until the memory table is four times its bound.
#[test]
fn a_writer_waits_at_most_a_little_longer_than_the_longest_sync() {
    const SYNC: Duration = Duration::from_millis(600);
    const WAIT: Duration = Duration::from_millis(50);
    let disk = SimDisk::new(1);
    let store = open(&disk, BOUND);
    let engine = store.engine().clone();
    disk.set_latency(OpKind::Sync, Duration::from_millis(2));
    disk.inject(Pick::kind(OpKind::Sync).on_path("records.redb"), Fault::Delay(SYNC));
    let session = store.session(Identity::user("ada"));
    let (mut longest, mut beside, mut checkpoints, mut most) = (Duration::ZERO, 0, 0, 0);
    let mut was_moving = false;
    for number in 0.. {
        let begun = Instant::now();
        create(&session, number).unwrap();
        longest = longest.max(begun.elapsed());
        let snapshot = engine.snapshot();
        let is_moving = snapshot.frozen().is_some();
        beside += u64::from(is_moving);
        checkpoints += u64::from(was_moving && !is_moving);
        most = most.max(snapshot.active().bytes());
        was_moving = is_moving;
        if checkpoints == 3 {
            break;
        }
    }
    println!("{beside} writes beside {checkpoints} checkpoints, {most} bytes, {longest:?} at most");
    assert!(beside > 20 && most < 4 * BOUND, "{beside} {most}");
    assert!(longest <= SYNC + WAIT, "{longest:?}");
}

/// The condition under which a writer waits longer than 50 ms: while one checkpoint is under way,
/// the others committed four times the bound. Before that at least ten groups waited 50 ms each. The
/// memory table then stays as it is until the checkpoint ends.
#[test]
fn at_four_times_the_bound_a_writer_waits_for_the_end_of_the_checkpoint() {
    const BOUND: usize = 12 * 1024;
    let disk = SimDisk::new(1);
    let store = open(&disk, BOUND);
    let engine = store.engine().clone();
    let moving = engine.checkpoints.hold();
    let active = || engine.snapshot().active().bytes();
    let is_full = || engine.snapshot().frozen().is_some() && active() >= 4 * BOUND;
    let (ids, slowed, begun, full) = std::thread::scope(|scope| {
        let writer = scope.spawn(|| {
            let session = store.session(Identity::user("ada"));
            let (mut ids, mut slowed, mut largest, mut begun) = (Vec::new(), 0, 0, None);
            while !is_full() {
                let before = active();
                ids.push(create(&session, ids.len()).unwrap());
                let (after, is_moving) = (active(), engine.snapshot().frozen().is_some());
                if is_moving && (BOUND * 3 / 2..4 * BOUND).contains(&after) {
                    begun.get_or_insert_with(Instant::now);
                    slowed += 1;
                    largest = largest.max(after.saturating_sub(before));
                }
                // The commit that reaches the limit returns only after the checkpoint.
                if begun.is_some() && !is_moving {
                    break;
                }
            }
            assert!(largest < BOUND / 4, "{largest}");
            (ids, slowed, begun.unwrap())
        });
        wait_until("a full memory table", is_full);
        let full = Instant::now();
        let held = engine.snapshot();
        std::thread::sleep(Duration::from_millis(200));
        assert_eq!(engine.snapshot().sequence, held.sequence, "a writer went on");
        assert!(held.active().bytes() < 4 * BOUND + BOUND / 4, "{}", held.active().bytes());
        assert!(!writer.is_finished());
        drop((held, moving));
        let (ids, slowed, begun) = writer.join().unwrap();
        (ids, slowed, begun, full)
    });
    println!("{slowed} groups waited before the memory table was full");
    assert!(slowed >= 10, "{slowed}");
    // The first of them had waited when the clock began.
    assert!(full - begun >= Duration::from_millis(50) * (slowed - 1), "{:?}", full - begun);
    assert_there(&store, &ids);
}

/// A checkpoint that fails refuses further writes. What was acknowledged is read on, and found by
/// the next open.
#[test]
fn a_failed_checkpoint_loses_nothing() {
    let faults = [
        (OpKind::Sync, Fault::Io, 1),
        (OpKind::Sync, Fault::DropDirty, 2),
        (OpKind::Write, Fault::NoSpace, 2),
        (OpKind::Write, Fault::PartialWrite, 4),
    ];
    for (kind, fault, nth) in faults {
        let place = format!("{fault:?} at {kind:?} {nth}");
        let disk = SimDisk::new(1);
        let store = open(&disk, BOUND / 2);
        let session = store.session(Identity::user("ada"));
        disk.inject(Pick::kind(kind).on_path("records.redb").nth(nth), fault);
        let mut ids = Vec::new();
        let error = loop {
            assert!(ids.len() < 2_000, "{place}: no write was refused");
            match create(&session, ids.len()) {
                Ok(id) => ids.push(id),
                Err(error) => break error,
            }
        };
        assert!(
            matches!(error.kind(), ErrorKind::Latched | ErrorKind::OutcomeUnknown),
            "{place}: {error}"
        );
        assert!(ids.len() >= 3, "{place}: {}", ids.len());
        let again = create(&session, ids.len()).unwrap_err();
        assert_eq!(again.kind(), ErrorKind::Latched, "{place}");
        for (number, id) in ids.iter().enumerate() {
            let found = session.get_product(id).unwrap();
            assert_eq!(found.part_number, Some(format!("part {number}")), "{place}");
        }
        drop(session);
        drop(store);
        disk.heal();
        for survival in [Survival::All, Survival::None] {
            let reopened = open(&disk.survivors(1, survival), BOUND);
            assert_there(&reopened, &ids);
            create(&reopened.session(Identity::user("ada")), 5_000).unwrap();
        }
    }
}
