//! Repairs of the files of a store from a set.

use super::*;

/// Every file of the store is damaged in turn, while the store is open and has its segments open:
/// a repair gives back the same bytes, and a second one has nothing to do.
#[test]
fn a_repair_takes_exactly_what_is_damaged() {
    let (store, set, points) = example();
    let disk = store.engine().disk.clone();
    let model = &points.last().unwrap().model;
    let files: Vec<(String, u64)> = ["files", "tables"]
        .iter()
        .flat_map(|directory| walk(&*disk, directory).unwrap())
        .filter(|(_, len)| *len > 0)
        .collect();
    assert!(files.len() > 4, "{files:?}");
    let bytes = |path: &str| read_file(&*disk, path, 1 << 20).unwrap();
    let lose: [fn(&dyn Disk, &str, u64); 3] = [
        |disk, path, len| flip(disk, path, len / 2),
        |disk, path, _| disk.remove_file(path).unwrap(),
        |disk, path, len| {
            disk.open(path, Mode::ReadWrite).unwrap().set_len(len / 2).unwrap();
        },
    ];
    for (path, len) in &files {
        let before = bytes(path);
        for lose in lose {
            assert_eq!(Model::of(&store), *model);
            lose(&*disk, path, *len);
            let report = store.repair_disk(&set, &control()).unwrap();
            assert_eq!((&report.repaired, report.repaired_bytes), (&vec![path.clone()], *len));
            assert_eq!((report.findings, report.files), (vec![], files.len() as u64));
            assert!(bytes(path) == before, "{path}");
        }
    }
    let report = store.repair_disk(&set, &control()).unwrap();
    assert!(report.repaired.is_empty() && report.findings.is_empty(), "{report:?}");
    assert!(store.verify(VerifyLevel::Checksums, &control()).unwrap().is_sound());
    // The directories are lost as well.
    disk.remove_dir_all("files").unwrap();
    assert!(!store.repair_disk(&set, &control()).unwrap().repaired.is_empty());
    assert_eq!(Model::of(&store), *model);
}

/// A segment that was opened while it was damaged is read from the repaired file, without a reopen:
/// one that does not open, and one of which a page is wrong.
#[test]
fn a_repaired_segment_that_was_open_is_read_again() {
    for every in [Some(16), None] {
        let (store, set, points) = example();
        let disk = store.engine().disk.clone();
        let model = points.last().unwrap().model.clone();
        store.close().unwrap();
        let segments = walk(&*disk, "tables").unwrap();
        let hurt = segments
            .iter()
            .filter(|(path, _)| every.is_some() || path.ends_with(crate::columnar::DATA_SUFFIX));
        let hurt: Vec<_> = hurt.collect();
        for (path, len) in &hurt {
            match every {
                Some(every) => (0..*len).step_by(every).for_each(|at| flip(&*disk, path, at)),
                None => flip(&*disk, path, len / 3),
            }
        }
        let store = options(&clock()).open_on(disk).unwrap();
        let ada = session(&store);
        let request =
            || crate::tables::GetTableDataRequest { take: Some(10_000), ..Default::default() };
        for table in ada.query_tables(Default::default()).unwrap().tables {
            let id = table.id.unwrap().to_string();
            assert!(ada.get_table_data(&id.as_str().into(), request()).is_err());
        }
        let report = store.repair_disk(&set, &control()).unwrap();
        assert_eq!((report.repaired.len(), report.findings), (hurt.len(), vec![]));
        assert_eq!(Model::of(&store), model);
    }
}

/// Two repairs at a time would write to one copy: the second one is refused.
#[test]
fn a_second_repair_waits_for_the_first() {
    let (store, set, points) = example();
    let (path, len) = walk(&*store.engine().disk, "tables").unwrap().pop().unwrap();
    flip(&*store.engine().disk, &path, len / 2);
    let seen = Arc::new(Mutex::new(BTreeSet::new()));
    let (other, from, kinds) = (store.clone(), set.clone(), seen.clone());
    let beside = Control::default().with_progress(move |_| {
        let refused = other.repair_disk(&from, &control()).unwrap_err();
        kinds.lock().unwrap().insert(refused.kind().status());
    });
    assert_eq!(store.repair_disk(&set, &beside).unwrap().repaired, [path]);
    assert_eq!(*seen.lock().unwrap(), BTreeSet::from([ErrorKind::Conflict.status()]));
    assert!(store.repair_disk(&set, &control()).unwrap().repaired.is_empty());
    assert_eq!(Model::of(&store), points.last().unwrap().model);
}

/// A repair keeps the reserve of the disk, and leaves no copy after a failure.
#[test]
fn a_repair_needs_room_beside_the_reserve() {
    const RESERVE: u64 = 100_000;
    let disk = SimDisk::new(1);
    let open = || options(&clock()).reserve_bytes(RESERVE).open_on(Arc::new(disk.clone()));
    let (store, set) = (open().unwrap(), new_disk());
    upload(&session(&store), b'x', 70_000);
    maintain(&store);
    back_up(&store, &set).unwrap();
    let (path, len) =
        walk(&disk, "files").unwrap().into_iter().max_by_key(|(_, len)| *len).unwrap();
    flip(&disk, &path, len / 2);
    let used: u64 = walk(&disk, "").unwrap().iter().map(|(_, len)| len).sum();
    let copies = || walk(&disk, "tmp").unwrap();
    disk.set_capacity(Some(used + RESERVE + len / 2));
    let error = store.repair_disk(&set, &control()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NoSpace, "{error}");
    assert!(error.message().contains("the reserve"), "{error}");
    assert_eq!(copies(), []);
    disk.set_capacity(None);
    disk.inject(Pick::kind(OpKind::Write).on_path("tmp/"), Fault::NoSpace);
    let error = store.repair_disk(&set, &control()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NoSpace, "{error}");
    assert_eq!(copies(), []);
    disk.heal();
    assert_eq!(store.repair_disk(&set, &control()).unwrap().repaired, [path]);
}

/// What the set has damaged, or not at all, is told and not taken.
#[test]
fn a_repair_takes_nothing_that_is_not_proven() {
    let (store, set, _) = example();
    let disk = store.engine().disk.clone();
    let (path, len) = walk(&*disk, "tables").unwrap().pop().unwrap();
    flip(&*disk, &path, len / 2);
    let damaged = read_file(&*disk, &path, 1 << 20).unwrap();
    for (object, _) in walk(&*set, OBJECTS).unwrap() {
        flip(&*set, &object, 20);
    }
    for _ in 0..2 {
        let report = store.repair_disk(&set, &control()).unwrap();
        assert_eq!((report.repaired.len(), report.findings.len()), (0, 1), "{report:?}");
        assert_eq!(report.findings[0].file, path);
        assert!(read_file(&*disk, &path, 1 << 20).unwrap() == damaged);
        for (object, _) in walk(&*set, OBJECTS).unwrap() {
            set.remove_file(&object).unwrap();
        }
    }
    let other = StoreOptions::default().seed(Some(2)).open_on(new_disk()).unwrap();
    let refused = other.repair_disk(&set, &control()).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::NotAStore, "{refused}");
}

/// The power is cut at any change of a repair: the store opens, and has the damaged bytes or the
/// whole ones; the next repair ends it.
#[test]
fn every_change_of_a_repair_can_be_the_last() {
    let disk = SimDisk::new(1);
    let shared: SharedDisk = Arc::new(disk.clone());
    let clock = clock();
    let store = options(&clock).open_on(shared.clone()).unwrap();
    let ada = session(&store);
    let table = create_table(&ada);
    (0..3).for_each(|at| append(&ada, &table, at * 40));
    upload(&ada, b'x', 3_000);
    maintain(&store);
    let set = new_disk();
    back_up(&store, &set).unwrap();
    let model = Model::of(&store);
    drop(ada);
    store.close().unwrap();
    // What a damaged file may have: the damaged bytes or the whole ones.
    let mut allowed = Vec::new();
    for directory in ["files", "tables"] {
        let (path, len) = walk(&*shared, directory).unwrap().pop().unwrap();
        let read = || read_file(&*shared, &path, 1 << 20).unwrap();
        let whole = read();
        flip(&*shared, &path, len / 2);
        allowed.push((path.clone(), [read(), whole]));
    }
    let start = disk.survivors(0, Survival::All);
    let store = options(&clock).open_on(Arc::new(start.clone())).unwrap();
    let from = start.ops();
    assert_eq!(store.repair_disk(&set, &control()).unwrap().repaired.len(), 2);
    let until = start.ops();
    for (path, [_, whole]) in &allowed {
        let image = start.survivors(0, Survival::None);
        assert!(read_file(&image, path, 1 << 20).unwrap() == *whole, "{path} is not durable");
    }
    let (mut seed, mut counts) = (0_u64, BTreeSet::new());
    let mut replay = start.replay();
    while let Some((op, kind, path)) = replay.advance() {
        if !(from..until).contains(&op) {
            continue;
        }
        for survival in [Survival::None, Survival::All, Survival::Random] {
            seed += 1;
            let place = format!("after {op} ({kind:?} {path:?}), {survival:?}, seed {seed}");
            let image: SharedDisk = Arc::new(replay.survivors(seed, survival));
            for (path, allowed) in &allowed {
                let found = read_file(&*image, path, 1 << 20);
                assert!(found.is_ok_and(|bytes| allowed.contains(&bytes)), "{place}: {path}");
            }
            let store = options(&clock).open_on(image.clone()).unwrap();
            let report = store.repair_disk(&set, &control()).unwrap();
            assert_eq!(report.findings, [], "{place}");
            counts.insert(report.repaired.len());
            assert_eq!(Model::of(&store), model, "{place}");
            assert!(!image.exists("tmp").unwrap() || image.list("tmp").unwrap().is_empty());
        }
    }
    assert_eq!(counts, BTreeSet::from([0, 1, 2]));
}
