//! Restores from a set: which point, and interruptions.

use super::*;

#[test]
fn a_point_that_no_backup_has_is_named_with_the_nearest() {
    let (_store, set, points) = example();
    let error = |at| restored(&set, at).unwrap_err();
    let taken = |point: &Point| time::format(point.taken);
    for (at, words) in [
        (RestorePoint::Backup(9), vec!["no backup 9".to_owned(), "backup 3".to_owned()]),
        (RestorePoint::Sequence(0), vec!["commit 0".to_owned(), taken(&points[0])]),
        (
            RestorePoint::Sequence(points[1].sequence + 1),
            vec![taken(&points[1]), taken(&points[2])],
        ),
        (RestorePoint::Time(points[0].taken - chrono::TimeDelta::days(1)), vec![taken(&points[0])]),
    ] {
        let error = error(at);
        assert_eq!(error.kind(), ErrorKind::NotFound, "{error}");
        for word in words {
            assert!(error.message().contains(&word), "{at:?}: {error}, without {word:?}");
        }
    }
    let between = points[1].taken + chrono::TimeDelta::seconds(1);
    assert_restores(&set, RestorePoint::Time(between), &points[1].model, "between two");
    // An unreadable backup may be the one that is meant.
    flip(&*set, &manifest_path(3), 200);
    for at in [RestorePoint::Latest, RestorePoint::Backup(3), RestorePoint::Time(between)] {
        let error = error(at);
        assert_eq!(error.kind(), ErrorKind::Corrupt, "{error}");
        assert!(error.message().contains("backup 2"), "{error}");
    }
    assert_restores(&set, RestorePoint::Backup(2), &points[1].model, "before it");
}

/// A time means the last backup at that time or before, to the millisecond.
#[test]
fn a_time_means_the_last_backup_until_then() {
    let (_store, set, points) = example();
    let a_millisecond = chrono::TimeDelta::milliseconds(1);
    for (at, expected) in [
        (points[0].taken, 0),
        (points[1].taken - a_millisecond, 0),
        (points[1].taken, 1),
        (points[2].taken - a_millisecond, 1),
        (points[2].taken, 2),
        (points[2].taken + a_millisecond, 2),
    ] {
        assert_restores(&set, RestorePoint::Time(at), &points[expected].model, "a time");
    }
    for point in &points {
        assert_restores(&set, RestorePoint::Sequence(point.sequence), &point.model, "a commit");
    }
}

/// Sets with what the last point has: one with two backups, and one with commits after the second.
fn sets() -> [(SimDisk, Model); 2] {
    let (store, disk, _, second) = before_the_second();
    let set: SharedDisk = Arc::new(disk.clone());
    back_up(&store, &set).unwrap();
    let backups = disk.survivors(0, Survival::All);
    let (seen, disk) = (store.engine().disk.clone(), disk.survivors(1, Survival::All));
    store.close().unwrap();
    let set: SharedDisk = Arc::new(disk.clone());
    let store = options(&clock()).archive_bytes(Some(1 << 20)).open_on(seen).unwrap();
    let ada = session(&store);
    back_up(&store, &set).unwrap();
    let file = upload(&ada, b'v', 4_000);
    upload(&ada, b'w', 2_000);
    ada.delete_file(&file.as_str().into()).unwrap();
    maintain(&store);
    store.archive_to_set_disk(&set, &SetBackupOptions::new(), &control()).unwrap();
    [(backups, second), (disk.survivors(0, Survival::All), Model::of(&store))]
}

fn restore(set: &SimDisk, target: &SimDisk) -> Result<BackupReport> {
    let (set, target): (SharedDisk, SharedDisk) = (Arc::new(set.clone()), Arc::new(target.clone()));
    Store::restore_from_set_disk(&set, RestorePoint::Latest, &target, &control())
}

/// What an interrupted restore left is no store, or one that has everything. If it is none, the
/// next restore ends it. Returns whether it was one.
fn assert_none_or_whole(set: &SimDisk, target: &SimDisk, expected: &Model, place: &str) -> bool {
    let shared: SharedDisk = Arc::new(target.clone());
    let mut opened = None;
    // An empty directory would become a new store.
    if !shared.list("").unwrap().is_empty() {
        match options(&clock()).open_on(shared.clone()) {
            Ok(store) => opened = Some(store),
            Err(error) => assert_eq!(error.kind(), ErrorKind::NotAStore, "{place}: {error}"),
        }
    }
    let was_whole = opened.is_some();
    let store = opened.unwrap_or_else(|| {
        let report = restore(set, target).unwrap_or_else(|error| panic!("{place}: {error}"));
        assert_eq!(report.findings, [], "{place}");
        options(&clock()).open_on(shared).unwrap()
    });
    assert_eq!(Model::of(&store), *expected, "{place}");
    let report = store.verify(VerifyLevel::Headers, &control()).unwrap();
    assert!(report.is_sound(), "{place}: {report:?}");
    was_whole
}

/// Each operation on the set and on the target fails, once or from then on. A failure is told, and
/// never leaves a store that lacks something.
#[test]
fn every_operation_of_a_restore_from_a_set_can_fail() {
    sets().iter().for_each(|(set, expected)| operations_fail(set, expected));
}

fn operations_fail(set: &SimDisk, expected: &Model) {
    let fresh = || set.survivors(0, Survival::All);
    let (clean_set, clean_target) = (fresh(), SimDisk::new(1));
    let from = [clean_set.ops(), clean_target.ops()];
    restore(&clean_set, &clean_target).unwrap();
    let until = [clean_set.ops(), clean_target.ops()];
    let step = sizes::count("crash_set_restores");
    let (mut counts, mut told) = ([0, 0], 0);
    for faulty in [0, 1] {
        for op in (from[faulty]..until[faulty]).step_by(step) {
            let disks = [fresh(), SimDisk::new(1)];
            let disk = &disks[faulty];
            match op % 3 {
                0 => disk.inject(Pick::from_op(op), Fault::Io),
                1 => disk.inject(Pick::from_op(op).once(), Fault::Io),
                _ if faulty == 1 => disk.inject(Pick::from_op(op), Fault::NoSpace),
                _ => disk.inject(Pick::from_op(op), Fault::ShortRead),
            }
            let outcome = restore(&disks[0], &disks[1]);
            disk.heal();
            let place = format!("operation {op} of disk {faulty}: {outcome:?}");
            match &outcome {
                // What cannot be read is told as what is damaged, and the rest is restored.
                Ok(report) if !report.findings.is_empty() => {
                    // A medium that is gone has nothing that is worth restoring. A target that is
                    // gone may have been complete before.
                    assert!(op % 3 > 0 || faulty == 1, "{place}");
                    told += 1;
                    continue;
                }
                // So much could not be read that the rest is no store.
                Err(error) if error.kind() == ErrorKind::Corrupt => told += 1,
                Ok(_) => {}
                Err(_) => counts[faulty] += 1,
            }
            let image = disks[1].survivors(op, Survival::Random);
            let is_whole = assert_none_or_whole(set, &image, expected, &place);
            assert!(is_whole || outcome.is_err(), "{place}");
        }
    }
    println!("{counts:?} of {until:?} failed, {told} told");
    assert!(counts[0] + told > 3 && counts[1] > 10, "{counts:?} {told}");
}

#[test]
fn every_change_of_a_restore_from_a_set_can_be_the_last() {
    sets().iter().for_each(|(set, expected)| changes_are_the_last(set, expected));
}

fn changes_are_the_last(set: &SimDisk, expected: &Model) {
    let target = SimDisk::new(1);
    restore(set, &target).unwrap();
    let step = sizes::count("crash_set_restores");
    let mut replay = target.replay();
    let (mut number, mut counts) = (0, [0, 0]);
    while let Some((op, kind, path)) = replay.advance() {
        number += 1;
        // All of the last changes: the marker goes among them.
        if number % step != 0 && number + 60 < target.changes() {
            continue;
        }
        for survival in [Survival::None, Survival::All, Survival::Random] {
            let place = format!("after {op} ({kind:?} {path:?}), {survival:?}");
            let image = replay.survivors(op, survival);
            let is_whole = assert_none_or_whole(set, &image, expected, &place);
            counts[usize::from(is_whole)] += 1;
        }
    }
    println!("{} changes, {counts:?}", target.changes());
    assert!(counts[0] > 20 && counts[1] > 3, "{counts:?}");
}

/// Rows of the records that a restore cannot read are told, although the rest is a store whose sums
/// are right.
#[test]
fn a_restore_tells_every_row_that_it_cannot_read() {
    let (store, set) = (options(&clock()).open_on(new_disk()).unwrap(), new_disk());
    let ada = session(&store);
    let product = |number| CreateProductRequest {
        part_number: format!("part {number}"),
        name: Some(format!("{number} ").repeat(40)),
        ..Default::default()
    };
    let _ = ada.create_products((0..900).map(product).collect()).unwrap();
    back_up(&store, &set).unwrap();
    let pack = pack_path(1);
    let len = set.open(&pack, Mode::Read).unwrap().len().unwrap();
    let (mut told, mut refused) = (0, 0);
    for at in (16..len).step_by((len / 24) as usize) {
        let damaged = copy(&*set);
        flip(&*damaged, &pack, at);
        let (latest, target) = (RestorePoint::Latest, new_disk());
        match Store::restore_from_set_disk(&damaged, latest, &target, &control()) {
            Ok(report) => {
                let named = report.findings.iter().any(|finding| finding.file == pack);
                let is_list = |finding: &crate::Finding| finding.place == "the list of files";
                assert!(named || report.findings.iter().any(is_list), "byte {at}: {report:?}");
                told += usize::from(named);
            }
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::Corrupt, "byte {at}: {error}");
                refused += 1;
            }
        }
    }
    println!("{told} told, {refused} refused");
    assert!(told > 8, "{told} {refused}");
}

/// A part of the list of files that cannot be read costs no file: what the records say of them
/// finds them in the set.
#[test]
fn files_that_the_list_lost_are_restored_by_their_records() {
    const FILES: u64 = 950;
    let (store, set) = (options(&clock()).open_on(new_disk()).unwrap(), new_disk());
    let ada = session(&store);
    (0..FILES).for_each(|number| drop(upload(&ada, number as u8, 120)));
    assert_eq!(back_up(&store, &set).unwrap().files, FILES);
    let manifest = Manifest::read(&Set::seen(set.clone()).unwrap(), 1).unwrap();
    let mut packs = Packs::new(&set);
    let lists = manifest.file_lists.iter();
    let chunks: Vec<Chunk> = lists.flat_map(|list| packs.read_list(list).unwrap()).collect();
    assert!(chunks.len() > 1, "{}", chunks.len());
    let expected = Model::of(&store);
    // The first chunk, a later one, and the list of all chunks.
    for place in [chunks[0].at, chunks[1].at, manifest.file_lists[0].at] {
        let damaged = copy(&*set);
        flip(&*damaged, &pack_path(1), place.offset + u64::from(place.stored) / 2);
        let (latest, target) = (RestorePoint::Latest, new_disk());
        let report = Store::restore_from_set_disk(&damaged, latest, &target, &control()).unwrap();
        let is_told = |finding: &crate::Finding| finding.place == "the list of files";
        assert_eq!((report.findings.len(), report.files), (1, FILES), "{:?}", report.findings);
        assert!(is_told(&report.findings[0]), "{:?}", report.findings);
        assert_eq!(Model::of(&options(&clock()).open_on(target).unwrap()), expected);
    }
}

/// What a medium cannot read is lost, and the rest is restored. A medium that was pulled would make
/// a store that lacks most of its rows, while the system still has the pages of `SET`.
#[test]
fn bad_places_of_a_medium_are_told_from_a_medium_that_is_gone() {
    let [(set, expected), _] = sets();
    set.inject(Pick::kind(OpKind::Read).on_path(OBJECTS).once(), Fault::Io);
    let target = SimDisk::new(1);
    assert_eq!(restore(&set, &target).unwrap().findings, [], "the second read succeeds");
    set.heal();
    let (object, _) = walk(&set, OBJECTS).unwrap().pop().unwrap();
    set.inject(Pick::kind(OpKind::Read).on_path(&object), Fault::Io);
    let target = SimDisk::new(1);
    let report = restore(&set, &target).unwrap();
    let is_told = |start: &str| report.findings.iter().any(|found| found.file.starts_with(start));
    assert!(is_told(&object) && (is_told("files") || is_told("tables")), "{report:?}");
    assert!(options(&clock()).open_on(Arc::new(target)).is_ok());
    set.heal();
    let target = SimDisk::new(1);
    assert_eq!(restore(&set, &target).unwrap().findings, []);
    assert_eq!(Model::of(&options(&clock()).open_on(Arc::new(target)).unwrap()), expected);

    let store = options(&clock()).open_on(new_disk()).unwrap();
    let product = |number| CreateProductRequest {
        part_number: format!("part {number}"),
        name: Some(format!("{number} ").repeat(400)),
        ..Default::default()
    };
    for start in [0, 900, 1_800, 2_700] {
        let products = (start..start + 900).map(product).collect();
        assert!(session(&store).create_products(products).unwrap().failed.is_none());
    }
    let set = SimDisk::new(1);
    back_up(&store, &(Arc::new(set.clone()) as SharedDisk)).unwrap();
    let expected = Model::of(&store);
    let mut reasons = [0, 0];
    for nth in [3, 9, 60, 200, 330] {
        set.inject(Pick::kind(OpKind::Read).on_path(RECORDS).nth(nth), Fault::Io);
        let target = SimDisk::new(1);
        let error = restore(&set, &target).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Io, "{nth}: {error}");
        assert!(error.message().contains("connect its medium again"), "{nth}: {error}");
        reasons[usize::from(error.message().contains("the last "))] += 1;
        set.heal();
        assert_none_or_whole(&set, &target, &expected, "the medium is back");
    }
    assert!(reasons[0] > 0 && reasons[1] > 0, "{reasons:?}");
    // Bad places with good ones between them are no medium that is gone, however many there are.
    for nth in (10..170).step_by(2) {
        set.inject(Pick::kind(OpKind::Read).on_path(RECORDS).nth(nth).once(), Fault::Io);
    }
    match restore(&set, &SimDisk::new(1)) {
        Ok(report) => assert!(report.findings.len() >= 64, "{report:?}"),
        Err(error) => assert_eq!(error.kind(), ErrorKind::Corrupt, "{error}"),
    }
}

/// After a restore of which no store is left, the next one goes into the same directory.
#[test]
fn a_restore_without_its_store_gives_way_to_the_next() {
    let store = options(&clock()).open_on(new_disk()).unwrap();
    let set = SimDisk::new(1);
    back_up(&store, &(Arc::new(set.clone()) as SharedDisk)).unwrap();
    let (pack, mut refused) = (pack_path(1), 0);
    let len = set.open(&pack, Mode::Read).unwrap().len().unwrap();
    for at in (0..len).step_by(sizes::count("crash_set_restores")) {
        let damaged = set.survivors(0, Survival::All);
        flip(&damaged, &pack, at);
        let target = SimDisk::new(1);
        let Err(error) = restore(&damaged, &target) else { continue };
        assert_eq!(error.kind(), ErrorKind::Corrupt, "byte {at}: {error}");
        assert!(error.message().contains(&pack), "byte {at}: {error}");
        refused += 1;
        let target = target.survivors(at, Survival::None);
        let whole = assert_none_or_whole(&set, &target, &Model::of(&store), "the next restore");
        assert!(!whole, "byte {at}");
    }
    assert!(refused > 0);
}
