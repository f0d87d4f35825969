//! Power cuts and failures while commits are archived and sent.

use super::archive::{Moment, archive, archiving, assert_reaches};
use super::*;
use crate::records::archive::DIRECTORY;

/// A store on a simulated disk that was backed up and then changed, with checkpoints, a merge, and
/// files that come and go. Returns the set, the moments, and the operation after the backup.
fn changed() -> (Store, SimDisk, SharedDisk, Vec<Moment>, u64) {
    let clock = clock();
    let disk = SimDisk::new(1);
    let store = archiving(&clock, 1 << 20).memory_table_bytes(20_000);
    let store = store.open_on(Arc::new(disk.clone())).unwrap();
    let ada = session(&store);
    let table = create_table(&ada);
    upload(&ada, b'0', 1_000);
    let set = new_disk();
    back_up(&store, &set).unwrap();
    let from = disk.ops();
    let mut moments = Vec::new();
    let mut note = || {
        clock.advance_ms(10);
        let (sequence, model) = (store.engine().snapshot().sequence, Model::of(&store));
        moments.push(Moment { sequence, time: clock.now(), model });
    };
    for round in 0..5_i64 {
        let file = upload(&ada, b'a' + round as u8, 1_500);
        note();
        append(&ada, &table, round * 40);
        note();
        ada.delete_file(&file.as_str().into()).unwrap();
        maintain(&store);
        note();
        if round == 2 {
            store.engine().archive_all().unwrap();
        }
    }
    maintain(&store);
    note();
    (store, disk, set, moments, from)
}

/// After a power cut or a kill at any change the archive has every commit that the store has since
/// the backup, and the files that they name: nothing is a gap.
#[test]
fn no_power_cut_of_the_store_leaves_a_gap() {
    let (store, disk, set, moments, from) = changed();
    drop(store);
    let (mut replay, mut seed, mut checked) = (disk.replay(), 0_u64, 0);
    let one_in = sizes::count("set_archive_cuts") as u64;
    while let Some((op, kind, path)) = replay.advance() {
        // Where the archive is written, all of them.
        let is_archive = path.starts_with(DIRECTORY);
        seed += 1;
        if op < from || (!is_archive && !seed.is_multiple_of(one_in)) {
            continue;
        }
        let killed = replay.killed(seed);
        let cuts = [Survival::None, Survival::Random, Survival::All];
        let images = cuts.map(|survival| replay.survivors(seed, survival));
        for (way, image) in images.into_iter().chain([killed]).enumerate() {
            let place = format!("after {op} ({kind:?} {path:?}), {way}, seed {seed}");
            let open = options(&clock()).memory_table_bytes(20_000);
            let store = open.open_on(Arc::new(image)).unwrap_or_else(|e| panic!("{place}: {e}"));
            let set = copy(&*set);
            let report = archive(&store, &set).unwrap_or_else(|e| panic!("{place}: {e}"));
            assert_eq!(report.findings, [], "{place}");
            let last = store.engine().snapshot().sequence;
            let listed = Store::list_backups_disk(&set).unwrap();
            match listed.ranges.as_slice() {
                [range] => assert_eq!((range.last, range.missing), (last, None), "{place}"),
                other => assert!(
                    other.is_empty() && last == listed.backups[0].sequence,
                    "{place}: {other:?}, the store has {last}"
                ),
            }
            assert_eq!(report.last.max(listed.backups[0].sequence), last, "{place}");
            checked += 1;
            if checked % 7 == 0 {
                assert!(Store::verify_set_disk(&set, &control()).unwrap().is_sound(), "{place}");
                let last_moment = moments.iter().rfind(|moment| moment.sequence <= last);
                let any = moments.get(checked % moments.len());
                let any = any.filter(|moment| moment.sequence <= last);
                for moment in [last_moment, any].into_iter().flatten() {
                    let at = RestorePoint::Sequence(moment.sequence);
                    assert_restores(&set, at, &moment.model, &place);
                }
            }
        }
    }
    println!("{checked} images");
    assert!(checked > 100, "{checked}");
}

/// A failure of the archive fails no write and sets no latch. What it lacks then is told.
#[test]
fn a_failure_of_the_archive_fails_no_write() {
    for fault in [Fault::Io, Fault::NoSpace] {
        for nth in 1..12 {
            let place = format!("{fault:?} {nth}");
            let clock = clock();
            let disk = SimDisk::new(1);
            let open = archiving(&clock, 1 << 20).memory_table_bytes(20_000);
            let store = open.open_on(Arc::new(disk.clone())).unwrap();
            let ada = session(&store);
            let set = new_disk();
            back_up(&store, &set).unwrap();
            disk.inject(Pick::any().on_path(DIRECTORY).nth(nth), fault.clone());
            let mut moments = Vec::new();
            for byte in 0..30 {
                clock.advance_ms(10);
                upload(&ada, byte, 90);
                upload(&ada, byte, 800);
                let (sequence, model) = (store.engine().snapshot().sequence, Model::of(&store));
                moments.push(Moment { sequence, time: clock.now(), model });
            }
            let status = store.archive_status().unwrap();
            assert!(status.problem.is_some(), "{place}: {status:?}");
            disk.heal();
            let report = archive(&store, &set).unwrap();
            assert_eq!(report.last, moments.last().unwrap().sequence, "{place}: {report:?}");
            assert_reaches(&set, &moments, 5, &place);
            back_up(&store, &set).unwrap();
            upload(&ada, b'z', 800);
            archive(&store, &set).unwrap();
            let range = Store::list_backups_disk(&set).unwrap().ranges.pop().unwrap();
            let last = store.engine().snapshot().sequence;
            assert_eq!((range.backup, range.last), (2, last), "{place}");
            assert!(store.archive_status().unwrap().problem.is_none(), "{place}");
        }
    }
}

/// On a disk that is nearly full the archive gives its space back.
#[test]
fn a_full_disk_takes_the_space_of_the_archive() {
    let clock = clock();
    let disk = SimDisk::new(1);
    let open = archiving(&clock, 1 << 30).reserve_bytes(100_000);
    let store = open.open_on(Arc::new(disk.clone())).unwrap();
    let ada = session(&store);
    for byte in 0..20 {
        let file = upload(&ada, byte, 40_000);
        ada.delete_file(&file.as_str().into()).unwrap();
        maintain(&store);
    }
    store.engine().archive_all().unwrap();
    let before = store.archive_status().unwrap();
    assert!(before.held_bytes > 15 * 40_000 && before.bytes > 0, "{before:?}");
    disk.set_capacity(Some(disk.peak_bytes() + 200_000));
    maintain(&store);
    let after = store.archive_status().unwrap();
    assert_eq!((after.held_bytes, after.bytes), (0, 0), "{after:?}");
    assert_eq!(walk(&*store.engine().disk, "files").unwrap(), []);
    upload(&ada, b'x', 40_000);
}

/// Each operation on the set fails while commits are sent, once or from then on. Every backup and
/// every commit that the set lists is whole, and the next call goes on.
#[test]
fn every_operation_of_an_archiving_can_fail() {
    let (store, _, set, moments, _) = changed();
    let before = SimDisk::new(1);
    {
        let shared: SharedDisk = Arc::new(before.clone());
        for directory in [BACKUPS, RECORDS, OBJECTS] {
            shared.create_dir_all(directory).unwrap();
        }
        for (path, _) in walk(&*set, "").unwrap() {
            shared.create_dir_all(parent(&path)).unwrap();
            copy_file(&*set, &*shared, &path, |_| Ok(())).unwrap();
        }
    }
    let start = before.survivors(0, Survival::All);
    let clean = start.survivors(0, Survival::All);
    let from = clean.ops();
    archive(&store, &(Arc::new(clean.clone()) as SharedDisk)).unwrap();
    let mut failed = 0;
    for op in from..clean.ops() {
        let disk = start.survivors(0, Survival::All);
        let set: SharedDisk = Arc::new(disk.clone());
        match op % 3 {
            0 => disk.inject(Pick::from_op(op), Fault::Io),
            1 => disk.inject(Pick::from_op(op).once(), Fault::Io),
            _ => disk.inject(Pick::from_op(op), Fault::NoSpace),
        }
        let outcome = archive(&store, &set);
        failed += usize::from(outcome.is_err());
        disk.heal();
        let place = format!("operation {op}: {outcome:?}");
        for image in [disk.survivors(op, Survival::Random), disk] {
            let set: SharedDisk = Arc::new(image.clone());
            let told = Store::verify_set_disk(&set, &control()).unwrap();
            assert!(told.is_sound(), "{place}: {told:?}");
            if op.is_multiple_of(9) {
                assert_reaches(&set, &moments, 4, &place);
            }
            archive(&store, &set).unwrap_or_else(|error| panic!("{place}: {error}"));
            let set: SharedDisk = Arc::new(image.survivors(op, Survival::None));
            let told = Store::verify_set_disk(&set, &control()).unwrap();
            assert!(told.is_sound() && !told.is_unfinished, "{place}: {told:?}");
            let left = walk(&*set, "").unwrap();
            let left = left.into_iter().find(|(path, _)| path.ends_with(".new"));
            assert_eq!(left, None, "{place}");
            let range = Store::list_backups_disk(&set).unwrap().ranges.pop().unwrap();
            assert_eq!(range.last, moments.last().unwrap().sequence, "{place}");
        }
    }
    assert!(failed > 20, "{failed}");
}
