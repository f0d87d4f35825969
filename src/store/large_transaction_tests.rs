//! Transactions whose changes are too many for the journal: they go into the record file while the
//! transaction is open, and nobody else sees them before its commit.

use crate::store::tests::prelude::*;
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::products::QueryProductsRequest;
use crate::{ErrorKind, Result, Transaction};

const BOUND: usize = 64 * 1024;

fn open(disk: &SimDisk) -> Store {
    let options = StoreOptions::default().maintenance_thread(false).seed(Some(1)).reserve_bytes(0);
    options.memory_table_bytes(BOUND).open_on(Arc::new(disk.clone())).unwrap()
}

fn create(access: &impl ProductService, number: usize) -> Result<()> {
    let request = CreateProductRequest {
        part_number: format!("part {number:04}"),
        name: Some("n".repeat(500)),
        ..CreateProductRequest::default()
    };
    access.create_products(vec![request]).map(drop)
}

/// The part numbers, in their order.
fn parts(access: &impl ProductService) -> Vec<String> {
    let request = QueryProductsRequest { take: Some(1_000), ..QueryProductsRequest::default() };
    let mut parts: Vec<String> = access
        .query_products(request)
        .unwrap()
        .products
        .into_iter()
        .filter_map(|product| product.part_number)
        .collect();
    parts.sort();
    parts
}

fn numbers(range: std::ops::Range<usize>) -> Vec<String> {
    range.map(|number| format!("part {number:04}")).collect()
}

fn assert_sound(store: &Store) {
    let report = store.verify(VerifyLevel::Checksums, &Control::default()).unwrap();
    assert!(report.is_sound(), "{:?}", report.findings);
}

/// Twenty commits in the journal, and then a transaction of 100 writes whose end is `last`.
fn large<T>(store: &Store, last: impl FnOnce(&Transaction<'_>) -> Result<T>) -> Result<T> {
    let session = ada(store);
    (0..20).for_each(|number| create(&session, number).unwrap());
    session.transaction(|transaction| {
        create(transaction, 20)?;
        assert!(!transaction.is_in_file(), "a small change is in the record file");
        for number in 21..120 {
            create(transaction, number)?;
        }
        assert!(transaction.is_in_file(), "all of the changes are in memory");
        last(transaction)
    })
}

#[test]
fn a_large_transaction_reads_what_it_wrote_and_nobody_else_does() {
    let disk = SimDisk::new(1);
    let store = open(&disk);
    let others = ada(&store);
    large(&store, |transaction| {
        assert_eq!(parts(transaction), numbers(0..120));
        assert_eq!(parts(&others), numbers(0..20));
        // A kill now leaves what was acknowledged.
        let killed = open(&disk.survivors(1, Survival::All));
        assert_eq!(parts(&ada(&killed)), numbers(0..20));
        assert_sound(&killed);
        Ok(())
    })
    .unwrap();
    assert_eq!(parts(&others), numbers(0..120));
    for survival in [Survival::All, Survival::None] {
        let killed = open(&disk.survivors(1, survival));
        assert_eq!(parts(&ada(&killed)), numbers(0..120));
        assert_sound(&killed);
    }
    // Later commits continue in the journal.
    create(&others, 120).unwrap();
    let killed = open(&disk.survivors(1, Survival::None));
    assert_eq!(parts(&ada(&killed)), numbers(0..121));
    drop(others);
    store.close().unwrap();
    let store = open(&disk);
    assert_eq!(parts(&ada(&store)), numbers(0..121));
    assert_sound(&store);
}

#[test]
fn a_large_transaction_that_is_taken_back_or_panics_leaves_nothing() {
    let disk = SimDisk::new(1);
    let store = open(&disk);
    let refusal = large(&store, |_| Err::<(), _>(Error::conflict("taken back"))).unwrap_err();
    assert_eq!(refusal.kind(), ErrorKind::Conflict);
    let session = ada(&store);
    assert_eq!(parts(&session), numbers(0..20));
    let panicked = catch_unwind(AssertUnwindSafe(|| {
        session.transaction(|transaction| {
            (20..120).for_each(|number| create(transaction, number).unwrap());
            assert!(transaction.is_in_file());
            std::panic::resume_unwind(Box::new("the host's"));
            #[expect(unreachable_code, reason = "the type of the closure")]
            Ok(())
        })
    }));
    assert!(panicked.is_err());
    assert_eq!(parts(&session), numbers(0..20));
    // The record file and the journal take further writes.
    create(&session, 20).unwrap();
    drop(session);
    store.close().unwrap();
    let store = open(&disk);
    assert_eq!(parts(&ada(&store)), numbers(0..21));
    assert_sound(&store);
}

#[test]
fn a_disk_that_fails_under_a_large_transaction_leaves_all_of_it_or_nothing() {
    for (path, kind, nth) in [
        ("journal", OpKind::Sync, 21),
        ("records.redb", OpKind::Sync, 1),
        ("records.redb", OpKind::Sync, 2),
        ("records.redb", OpKind::Write, 2),
    ] {
        let disk = SimDisk::new(1);
        let store = open(&disk);
        disk.inject(Pick::kind(kind).on_path(path).nth(nth), Fault::Io);
        let place = format!("{kind:?} {nth} of {path}");
        let failed = large(&store, |_| Ok(())).unwrap_err();
        assert!(
            matches!(failed.kind(), ErrorKind::OutcomeUnknown | ErrorKind::Io),
            "{place}: {failed}"
        );
        let session = ada(&store);
        assert_eq!(create(&session, 500).unwrap_err().kind(), ErrorKind::Latched, "{place}");
        assert_eq!(parts(&session), numbers(0..20), "{place}");
        drop((session, store));
        disk.heal();
        for survival in [Survival::All, Survival::None] {
            let store = open(&disk.survivors(1, survival));
            let found = parts(&ada(&store));
            assert!(found == numbers(0..20) || found == numbers(0..120), "{place}: {found:?}");
            assert_sound(&store);
        }
    }
}
