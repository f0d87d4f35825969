//! Damaged pages of the record file below a whole store: no call answers wrongly, and nothing that
//! was acknowledged is lost.

use crate::store::tests::prelude::*;

use crate::{ErrorKind, Result, Session};

const PAGE: usize = 4096;

fn open(disk: &SimDisk) -> Result<Store> {
    let options = StoreOptions::default().seed(Some(1)).reserve_bytes(0).record_cache_bytes(0);
    options.maintenance_thread(false).open_on(Arc::new(disk.clone()))
}

fn create(session: &Session, number: usize) -> Result<ProductId> {
    let request = CreateProductRequest {
        part_number: format!("part {number}"),
        name: Some("n".repeat(200)),
        ..CreateProductRequest::default()
    };
    let made = session.create_products(vec![request])?;
    Ok(made.products.into_iter().find_map(|product| product.id).unwrap())
}

/// Reads the products from a number on; returns how many are refused.
fn read(session: &Session, ids: &[ProductId], from: usize, place: &str) -> usize {
    let mut refused = 0;
    for (number, id) in ids.iter().enumerate().skip(from) {
        match session.get_product(id) {
            Ok(found) => assert_eq!(found.part_number, Some(format!("part {number}")), "{place}"),
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::Corrupt, "{place}: {error}");
                refused += 1;
            }
        }
    }
    refused
}

/// A page is damaged while the journal has commits that no checkpoint has moved. Whether the
/// checkpoint succeeds or fails, they are there when the page is.
#[test]
fn nothing_acknowledged_is_lost_by_a_checkpoint_over_damaged_pages() {
    let whole = SimDisk::new(1);
    let store = open(&whole).unwrap();
    let session = store.session(Identity::user("ada"));
    let old: Vec<_> = (0..150).map(|number| create(&session, number).unwrap()).collect();
    drop(session);
    store.close().unwrap();
    let file = whole.open("records.redb", Mode::Read).unwrap();
    let mut bytes = vec![0; usize::try_from(file.len().unwrap()).unwrap()];
    file.read_exact_at(&mut bytes, 0).unwrap();
    let used: Vec<usize> =
        (1..bytes.len() / PAGE).filter(|at| bytes[at * PAGE] != 0).map(|at| at * PAGE).collect();
    let mut random = Random::new(3);
    let (mut reads, mut failed, mut reported) = (0, 0, 0);
    for draw in 0..24 {
        let at = used[random.below(used.len() as u64) as usize];
        let place = format!("draw {draw}, the page at byte {at}");
        let disk = whole.survivors(1, Survival::All);
        let store = open(&disk).unwrap();
        let session = store.session(Identity::user("ada"));
        let mut ids = old.clone();
        ids.extend((150..160).map(|number| create(&session, number).unwrap()));
        let file = disk.open("records.redb", Mode::ReadWrite).unwrap();
        file.write_all_at(&[0; PAGE], at as u64).unwrap();
        let refused = read(&session, &ids, 0, &place);
        reads += refused;
        let report = store.verify(VerifyLevel::Checksums, &Control::default()).unwrap();
        assert!(refused == 0 || !report.is_sound(), "{place}: verify is content");
        let tells = |text: &str| text.contains(&format!("byte {at}"));
        reported += usize::from(report.findings.iter().any(|found| tells(&found.place)));
        drop(session);
        if let Err(error) = store.close() {
            assert!(
                matches!(error.kind(), ErrorKind::Corrupt | ErrorKind::Latched),
                "{place}: {error}"
            );
            failed += 1;
        }
        // The page comes back, unless the checkpoint used its place for something else.
        let mut now = [0; PAGE];
        file.read_exact_at(&mut now, at as u64).unwrap();
        if now == [0; PAGE] {
            file.write_all_at(&bytes[at..at + PAGE], at as u64).unwrap();
        }
        drop(file);
        let store = open(&disk).unwrap();
        let session = store.session(Identity::user("ada"));
        assert_eq!(read(&session, &ids, 150, &place), 0, "{place}: a commit is lost");
        if now == [0; PAGE] {
            assert_eq!(read(&session, &ids, 0, &place), 0, "{place}");
        }
    }
    println!("{reads} reads refused, {failed} checkpoints failed, {reported} pages reported");
    assert!(reads > 0 && failed > 0 && reported > 0, "{reads} {failed} {reported}");
}

/// A page of redb's lists of pages is damaged while the store is open. Calls go on without a wrong
/// answer or a panic of redb, until a checkpoint needs the page. What was acknowledged is there
/// afterwards: in the store, or in its salvage.
#[test]
fn nothing_acknowledged_is_lost_by_a_damaged_list_of_pages() {
    let open_busy = || {
        let disk = SimDisk::new(1);
        let store = open(&disk).unwrap();
        let session = store.session(Identity::user("ada"));
        let mut ids = Vec::new();
        for turn in 0..4 {
            ids.extend((turn * 30..turn * 30 + 30).map(|number| create(&session, number).unwrap()));
            store.maintain(&Control::default()).unwrap();
        }
        (disk, store, session, ids)
    };
    let killed = |disk: &SimDisk| disk.survivors(1, Survival::All);
    let page_of = |disk: &SimDisk, at: u64, bytes: &[u8]| {
        disk.open("records.redb", Mode::ReadWrite).unwrap().write_all_at(bytes, at).unwrap();
    };
    // Such a page is refused when the store is opened.
    let is_in_a_list = |disk: &SimDisk, at: u64| {
        let disk = killed(disk);
        page_of(&disk, at, &[0; PAGE]);
        open(&disk).is_err_and(|error| error.to_string().contains("in its bookkeeping"))
    };
    let (disk, store, session, _) = open_busy();
    let len = disk.open("records.redb", Mode::Read).unwrap().len().unwrap();
    let pages = (1..len / PAGE as u64).map(|page| page * PAGE as u64);
    let pages: Vec<u64> = pages.filter(|at| is_in_a_list(&disk, *at)).collect();
    drop((session, store));
    assert!(pages.len() > 3, "{pages:?}");
    let allow = |error: &crate::Error, place: &str| {
        let is_damage = matches!(error.kind(), ErrorKind::Corrupt | ErrorKind::Latched);
        assert!(is_damage && !error.to_string().contains("internal error"), "{place}: {error}");
    };
    let (mut failed, mut salvaged) = (0, 0);
    for at in pages {
        for byte in [0, 0xff] {
            let place = format!("{byte:#x} in the page at byte {at}");
            let (disk, store, session, mut ids) = open_busy();
            assert!(is_in_a_list(&disk, at), "{place}");
            page_of(&disk, at, &[byte; PAGE]);
            for turn in 0..3 {
                for number in 0..5 {
                    match create(&session, 120 + turn * 5 + number) {
                        Ok(id) if ids.len() == 120 + turn * 5 + number => ids.push(id),
                        Ok(_) => panic!("{place}: a write after a failed one"),
                        Err(error) => allow(&error, &place),
                    }
                }
                if let Err(error) = store.maintain(&Control::default()) {
                    allow(&error, &place);
                    failed += 1;
                }
                assert_eq!(read(&session, &ids, 0, &place), 0, "{place}");
            }
            assert!(ids.len() >= 125, "{place}: the journal takes commits");
            drop(session);
            if let Err(error) = store.close() {
                allow(&error, &place);
            }
            let store = open(&disk).or_else(|error| {
                allow(&error, &place);
                salvaged += 1;
                let into = SimDisk::new(2);
                let (from, to) = (disk.clone(), into.clone());
                let (from, to): (crate::disk::SharedDisk, crate::disk::SharedDisk) =
                    (Arc::new(from), Arc::new(to));
                crate::store::salvage::salvage_to(&from, &to, &Control::default())?;
                open(&into)
            });
            let store = store.unwrap_or_else(|error| panic!("{place}: {error}"));
            let session = store.session(Identity::user("ada"));
            assert_eq!(read(&session, &ids, 0, &place), 0, "{place}: a commit is lost");
        }
    }
    println!("{failed} passes of maintenance failed, {salvaged} stores were salvaged");
    assert!(failed > 0 && salvaged > 0, "{failed} {salvaged}");
}

/// A record that was written and not synced when its writer was killed. The open that shows it
/// makes it durable; without that sync a power cut takes back what was read.
#[test]
fn what_an_open_shows_of_the_journal_stays() {
    for is_removed in [false, true] {
        let disk = SimDisk::new(1);
        let store = open(&disk).unwrap();
        let session = store.session(Identity::user("ada"));
        create(&session, 0).unwrap();
        disk.inject(Pick::kind(OpKind::Sync).on_path("journal").once(), Fault::Io);
        assert_eq!(create(&session, 1).unwrap_err().kind(), ErrorKind::OutcomeUnknown);
        // A kill: what was written is there, but not durable.
        let killed = disk.clone();
        drop((session, store));
        killed.heal();
        if is_removed {
            killed.ignore_sync(Pick::kind(OpKind::Sync).on_path("journal"));
        }
        let store = open(&killed).unwrap();
        let all = store.session(Identity::user("ada")).query_products(Default::default()).unwrap();
        let shown = all.products.len();
        assert_eq!(shown, 2, "the record is whole, so it is shown");
        let cut = killed.survivors(1, Survival::None);
        let store = open(&cut).unwrap();
        let all = store.session(Identity::user("ada")).query_products(Default::default()).unwrap();
        assert_eq!(all.products.len() == shown, !is_removed, "removed: {is_removed}");
    }
}

/// A table of another kind, as a later build might make one, puts the record file into a form whose
/// pages nothing here can verify. They are read as before, and `verify` says so until it is gone.
#[test]
fn verify_tells_that_pages_in_an_unknown_form_are_not_compared() {
    const OTHER: redb::MultimapTableDefinition<'_, u64, u64> =
        redb::MultimapTableDefinition::new("other");
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("records.redb");
    let open = || StoreOptions::default().maintenance_thread(false).open(directory.path()).unwrap();
    let store = open();
    let id = create(&store.session(Identity::user("ada")), 0).unwrap();
    store.close().unwrap();
    let change = |f: &dyn Fn(&redb::WriteTransaction)| {
        let write = redb::Database::open(&path).unwrap().begin_write().unwrap();
        f(&write);
        write.commit().unwrap();
    };
    let told = |level| {
        let store = open();
        assert_eq!(
            read(&store.session(Identity::user("ada")), std::slice::from_ref(&id), 0, "unknown"),
            0
        );
        let found = store.verify(level, &Control::default()).unwrap().findings;
        let found = found.into_iter().map(|found| (found.file, found.place, found.problem));
        found.collect::<Vec<_>>()
    };
    assert_eq!(told(VerifyLevel::Checksums), []);
    change(&|write| assert!(!write.open_multimap_table(OTHER).unwrap().insert(1, 2).unwrap()));
    let found = told(VerifyLevel::Checksums);
    let [(file, place, problem)] = &found[..] else { panic!("{found:?}") };
    assert_eq!((&**file, &**place), ("records.redb", "its pages"));
    assert!(problem.contains("not in the form of redb 4.6"), "{problem}");
    assert_eq!(told(VerifyLevel::Headers), []);
    change(&|write| assert!(write.delete_multimap_table(OTHER).unwrap()));
    assert_eq!(told(VerifyLevel::Checksums), []);
}
