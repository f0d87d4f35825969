//! Damaged pages of the record file. redb itself would panic on many of them.

use std::sync::Arc;

use serde_json::json;
use stationdb::faults::{Mode, Random};
use stationdb::prelude::*;
use stationdb::{Control, ErrorKind, Result, VerifyLevel};

use crate::sizes::{self, seed};
use crate::world::{World, request};
use crate::{Filled, disk, open_on, without_panic};

const PAGE_BYTES: usize = 4096;

/// Calls that read much of the record file.
fn use_it(world: &World) -> Vec<Result<()>> {
    let control = Control::default();
    let ada = world.session("ada");
    let one = |name: &str| request(json!({"partNumber": name, "workspace": "secret"}));
    vec![
        ada.query_products(request(json!({"take": 10}))).map(drop),
        ada.query_work_items(request(json!({"take": 10}))).map(drop),
        ada.transaction(|tx| {
            let _ = tx.create_products(vec![one("tx")])?;
            tx.upload_file(&mut b"bytes".as_slice(), request(json!({"name": "n"})), &control)?;
            tx.delete_feed(&world.secret.feed.as_str().into())
        }),
        ada.create_products(vec![one("new")]).map(drop),
        ada.delete_table(&world.open.table.as_str().into()),
        world.store.maintain(&control).map(drop),
        world.store.verify(VerifyLevel::Checksums, &control).map(drop),
        world.store.register("replica").map(drop),
    ]
}

/// Writes garbage into one page, or into a part of it.
fn damage(page: &mut [u8], random: &mut Random) {
    let mut byte = || u8::try_from(random.below(256)).unwrap();
    match byte() % 4 {
        0 => page.fill_with(byte),
        // The kind of the page is kept, but its description of the entries is wrong.
        1 => page[2..64].fill_with(byte),
        2 => page[4..].fill(0xff),
        _ => {
            let at = 2 + usize::from(byte());
            page[at] ^= 0x80 | byte();
        }
    }
}

/// Damages pages before the store is opened and while it is open. The daily run uses one seed.
#[test]
fn a_damaged_page_never_ends_the_process() {
    disk::quiet();
    let filled = Filled::new();
    let pages = filled.image.files["records.redb"].len() / PAGE_BYTES;
    let mut random = Random::new(seed());
    let begun = disk::engine_panics();
    let (mut refused, mut damaged) = (0, 0);
    let draws = sizes::size("panic_pages");
    for draw in 0..draws {
        // Page 0 is redb's header. A used page is drawn, because most of a small file is empty.
        let used = |at: usize| {
            filled.image.files["records.redb"][at * PAGE_BYTES..][..PAGE_BYTES]
                .iter()
                .any(|b| *b != 0)
        };
        let page = (0..)
            .map(|_| 1 + usize::try_from(random.below(pages as u64 - 1)).unwrap())
            .find(|&at| used(at))
            .unwrap();
        let place = format!("draw {draw}, page {page} of {pages}");
        // Printed first, because a process that aborts prints nothing more.
        println!("seed {}, {place}", seed());
        let mut image = filled.image.clone();
        let mut bytes = image.files["records.redb"].to_vec();
        let bounds = page * PAGE_BYTES..(page + 1) * PAGE_BYTES;
        damage(&mut bytes[bounds.clone()], &mut random);
        let damaged_page = bytes[bounds.clone()].to_vec();
        image.files.insert("records.redb".to_owned(), Arc::new(bytes));
        if u64::is_multiple_of(draw, 2) {
            match without_panic(&place, || open_on(&image)) {
                Err(error) => {
                    assert_eq!(error.kind(), ErrorKind::Corrupt, "{place}: {error}");
                    refused += 1;
                    continue;
                }
                Ok(store) => without_panic(&place, || drop(store)),
            }
            let (world, _disk) = Filled { image, ids: filled.ids.clone() }.open();
            damaged += check(&place, world);
        } else {
            let (world, disk) = filled.open();
            let file = disk.shared().open("records.redb", Mode::ReadWrite).unwrap();
            file.write_all_at(&damaged_page, bounds.start as u64).unwrap();
            damaged += check(&place, world);
        }
    }
    let panics = disk::engine_panics() - begun;
    println!("counted: {draws} damaged pages");
    println!(
        "{draws} damaged pages: {refused} refused at opening, {damaged} answers of damage, {panics} panics caught"
    );
    // Pages are verified before redb sees them, so redb has hardly a reason to panic.
    assert!(damaged > 20, "no damaged page was read");
}

/// Uses the store and closes it. Returns how many calls found damage.
fn check(place: &str, world: World) -> usize {
    let answers = without_panic(place, || use_it(&world));
    without_panic(place, || drop(world));
    answers
        .iter()
        .filter(|answer| answer.as_ref().is_err_and(|error| error.kind() == ErrorKind::Corrupt))
        .count()
}
