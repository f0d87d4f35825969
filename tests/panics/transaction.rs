//! Panics in transactions. After a panic of an engine the call fails and nothing of the transaction
//! is kept; a panic of the host is passed on.

use std::panic::{AssertUnwindSafe, catch_unwind};

use serde_json::json;
use stationdb::faults::Random;
use stationdb::prelude::*;
use stationdb::{Control, ErrorKind, Result, Session, VerifyLevel};

use crate::sizes::{self, seed};
use crate::world::{World, package, request};
use crate::{Filled, check_sound, disk, without_panic};

/// Writes and reads of most kinds, so that many tables are open in one transaction.
fn all_in_one(session: &Session, world: &World) -> Result<()> {
    let control = Control::default();
    session.transaction(|tx| {
        let _ =
            tx.create_products(vec![request(json!({"partNumber": "tx", "workspace": "secret"}))])?;
        tx.query_products(request(json!({"filter": "partNumber == \"tx\"", "take": 10})))?;
        tx.append_table_data(
            &world.secret.table.as_str().into(),
            request(json!({"frame": {"columns": ["t", "v"], "data": [["9", "nine"]]}})),
        )?;
        tx.get_table_data(&world.secret.table.as_str().into(), request(json!({})))?;
        tx.upload_file(
            &mut b"bytes".as_slice(),
            request(json!({"name": "n", "workspace": "secret"})),
            &control,
        )?;
        tx.upload_package_content(
            &world.secret.feed.as_str().into(),
            &mut package("tx").as_slice(),
            None,
            false,
            &control,
        )?;
        tx.delete_file(&world.secret.loose_file.as_str().into())?;
        tx.delete_work_items(vec![world.secret.work_item.clone().into()])?;
        tx.search(request(json!({"text": "thing", "take": 10})))?;
        Ok(())
    })
}

#[test]
fn an_engine_that_panics_in_a_transaction_leaves_nothing_of_it() {
    disk::quiet();
    let filled = Filled::new();
    let (world, disk) = filled.open();
    let before = world.picture();
    disk.begin();
    all_in_one(&world.session("ada"), &world).unwrap();
    let reads = disk.disarm();
    let after = world.picture();
    assert_ne!(before, after);
    drop(world);
    let mut random = Random::new(seed());
    let (mut panics, mut latched) = (0, 0);
    let wanted = reads.min(sizes::size("panics"));
    for draw in 1..=wanted {
        let at = if wanted == reads { draw } else { 1 + random.below(reads) };
        let place = format!("read {at} of {reads}");
        let (world, disk) = filled.open();
        disk.arm(at);
        disk.begin();
        let outcome = without_panic(&place, || all_in_one(&world.session("ada"), &world));
        disk.disarm();
        panics += u64::from(disk.has_panicked());
        let kind = outcome.as_ref().map_err(|error| error.kind());
        let is_expected =
            matches!(kind, Ok(()) | Err(ErrorKind::Corrupt | ErrorKind::OutcomeUnknown));
        assert!(is_expected, "{place}: {outcome:?}");
        // The write turn is free after either outcome, and reads go on.
        let next = world
            .session("ada")
            .update_feed(&world.open.feed.as_str().into(), request(json!({"description": "next"})));
        match next.map(drop).map_err(|error| error.kind()) {
            Ok(()) => {}
            Err(ErrorKind::Latched) => latched += 1,
            Err(kind) => panic!("{place}: {kind:?}"),
        }
        world
            .session("ada")
            .get_product(&world.secret.product.as_str().into())
            .unwrap_or_else(|e| panic!("{place}: {e}"));
        drop(world);
        let image = disk.image();
        check_sound(&image, &place);
        let (world, _disk) = Filled { image, ids: filled.ids.clone() }.open();
        let found = world.picture();
        match kind {
            Ok(()) => assert_eq!(found, after, "{place}"),
            Err(ErrorKind::OutcomeUnknown) => assert!(found == before || found == after, "{place}"),
            Err(_) => assert_eq!(found, before, "{place}"),
        }
    }
    println!("counted: {panics} panics");
    println!("{panics} panics in {reads} reads, {latched} of them latched the store");
    assert!(panics * 2 > wanted, "{panics} of {wanted}");
}

#[test]
fn a_panic_of_the_host_in_a_transaction_is_its_own() {
    disk::quiet();
    let filled = Filled::new();
    let (mut world, disk) = filled.open();
    let before = world.picture();
    for _ in 0..3 {
        let ada = world.session("ada");
        let panic = catch_unwind(AssertUnwindSafe(|| {
            ada.transaction(|tx| -> Result<()> {
                tx.delete_product(&world.secret.product.as_str().into())?;
                tx.upload_file(
                    &mut b"bytes".as_slice(),
                    request(json!({"name": "n"})),
                    &Control::default(),
                )?;
                std::panic::panic_any(7_u32)
            })
        }));
        assert_eq!(panic.unwrap_err().downcast_ref::<u32>(), Some(&7));
        assert_eq!(world.picture(), before);
        // The write turn is free, and writes are not refused.
        let update = json!({"id": world.open.product, "name": "next"});
        let _ = ada.update_products(vec![request(update)], false).unwrap();
    }
    // The pages of the transactions are free again.
    let report = world.store.verify_pages(&Control::default()).unwrap();
    assert!(report.is_sound(), "{:?}", report.findings);
    drop(world);
    check_sound(&disk.image(), "after a panic of the host");
}

/// The reader of an upload also belongs to the host.
#[test]
fn a_panic_of_the_hosts_reader_is_its_own() {
    struct Panics;

    impl std::io::Read for Panics {
        fn read(&mut self, _: &mut [u8]) -> std::io::Result<usize> {
            std::panic::panic_any(8_u32)
        }
    }

    disk::quiet();
    let (world, _disk) = Filled::new().open();
    let ada = world.session("ada");
    let upload =
        || ada.upload_file(&mut Panics, request(json!({"name": "n"})), &Control::default());
    let panic = catch_unwind(AssertUnwindSafe(upload)).unwrap_err();
    assert_eq!(panic.downcast_ref::<u32>(), Some(&8));
    ada.delete_file(&world.open.file.as_str().into()).unwrap();
    assert!(world.store.verify(VerifyLevel::Checksums, &Control::default()).unwrap().is_sound());
}
