//! Transactions as values: committed on another thread than the one that began them, large ones
//! that go into the record file, and dropped ones.

use std::thread;

use crate::prelude::*;
use stationdb::products::ProductService;
use stationdb::{OwnedTransaction, Session};

pub struct Transactions;

fn products(transaction: &OwnedTransaction, name: &str, count: usize) -> Result<(), Error> {
    (0..count).try_for_each(|part| {
        let request = CreateProductRequest::new(format!("{name}-{part}")).name(name.to_owned());
        transaction.create_products(vec![request])?.require_all()
    })
}

/// Begins a transaction, writes on another thread, and returns it.
fn elsewhere(
    session: &Session,
    work: impl FnOnce(&OwnedTransaction) -> Result<(), Error> + Send,
) -> Result<OwnedTransaction, Error> {
    let transaction = session.begin()?;
    let moved = move || work(&transaction).map(|()| transaction);
    thread::scope(|scope| scope.spawn(moved).join().unwrap())
}

impl Steps for Transactions {
    fn options(&self) -> StoreOptions {
        let options = options().small_blob_bytes(1000).memory_table_bytes(6_000);
        options.clock(ManualClock::new(Default::default()))
    }

    fn steps(&self) -> Vec<Step> {
        vec![
            ("records and files", |store| {
                let transaction = elsewhere(&ada(store), |transaction| {
                    products(transaction, "small", 2)?;
                    upload(transaction, "report", 6_000)?;
                    upload(transaction, "note", 100)
                })?;
                transaction.commit()
            }),
            (MAINTAIN, |store| {
                let transaction = ada(store).begin()?;
                products(&transaction, "dropped", 2)?;
                upload(&transaction, "dropped", 3_000)
            }),
            (REOPEN, |_| Ok(())),
            ("many records", |store| {
                let transaction = elsewhere(&ada(store), |tx| products(tx, "many", 9))?;
                products(&transaction, "more", 2)?;
                transaction.commit()
            }),
            (MAINTAIN, |store| {
                let transaction = ada(store).begin()?;
                products(&transaction, "many dropped", 9)
            }),
            ("a write after one that another thread dropped", |store| {
                let session = ada(store);
                let dropped = elsewhere(&session, |tx| products(tx, "elsewhere", 9))?;
                thread::scope(|scope| scope.spawn(move || drop(dropped)).join().unwrap());
                let request = vec![CreateProductRequest::new("next")];
                session.create_products(request)?.require_all()
            }),
            (REOPEN, |_| Ok(())),
        ]
    }

    fn observe(&self, store: &Store) -> Result<Observation, Error> {
        let mut seen = Observation::new();
        observe_files(store, &mut seen)?;
        for product in ada(store).query_products(Default::default())?.products {
            let text = serde_json::to_string(&product).unwrap();
            seen.insert(format!("product {}", product.part_number.unwrap_or_default()), text);
        }
        Ok(seen)
    }
}

#[test]
fn every_change_of_transactions_as_values_can_be_the_last() {
    must_hold("transactions as values", &Sequence::new(Transactions));
}

#[test]
fn the_nth_operation_of_transactions_as_values_fails() {
    errors::operations_fail("transactions as values", &Sequence::new(Transactions), 3);
}

#[test]
fn a_disk_that_fills_up_under_transactions_as_values_loses_nothing() {
    assert!(errors::fills_up("transactions as values", &Sequence::new(Transactions)) > 0);
}
