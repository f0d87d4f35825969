//! The time of a look into a store with many records, and what its owner notices.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use stationdb::prelude::*;
use stationdb::products::CreateProductRequest;
use stationdb::{Identity, Session, Store};

use crate::common::{Res, Scale, bytes_below, quantile, timed};

/// Products of one call.
const BATCH: usize = 1000;
/// Bytes of a property of each product. A million products are about 2 GB with their indexes.
const TEXT: usize = 64;

fn create(session: &Session, from: usize, count: usize) -> Res<()> {
    let made = (from..from + count).map(|at| {
        let mut product = CreateProductRequest::new(format!("P-{at:08}"));
        product.family = Some(format!("F-{}", at % 100));
        let mut text = format!("{:016x}", crate::common::hash(7, at as u64));
        while text.len() < TEXT {
            let more = crate::common::hash(8, (at * TEXT + text.len()) as u64);
            text.push_str(&format!("{more:016x}"));
        }
        product.properties = Some([("text".to_owned(), Some(text))].into());
        product
    });
    session.create_products(made.collect())?.require_all()?;
    Ok(())
}

pub fn run(scale: &Scale, times: usize) -> Res<()> {
    let directory = scale.scratch("looks")?;
    let store = Store::open(&directory)?;
    let session = store.session(Identity::user("bench"));
    for from in (0..scale.records).step_by(BATCH) {
        create(&session, from, BATCH.min(scale.records - from))?;
    }
    let bytes = bytes_below(&directory) as f64 / 1e6;
    let (mut alone, mut beside, mut waits) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..times {
        alone.push(look(&directory, scale.records)?);
    }
    // A writer of single products, until the looks have ended.
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| -> Res<()> {
        let writer = scope.spawn(|| {
            let (mut taken, mut at) = (Vec::new(), scale.records);
            while !is_over.load(Ordering::Relaxed) {
                let begun = Instant::now();
                create(&session, at, 1)?;
                taken.push(begun.elapsed().as_secs_f64() * 1e3);
                at += 1;
            }
            Ok::<_, Box<dyn std::error::Error + Send + Sync>>(taken)
        });
        let looked = (0..times).try_for_each(|_| -> Res<()> {
            beside.push(look(&directory, scale.records)?);
            Ok(())
        });
        is_over.store(true, Ordering::Relaxed);
        waits = writer.join().map_err(|_| "the writer panicked")??;
        looked
    })?;
    let note = format!("a store of {bytes:.0} MB");
    scale.emit("LOOK", "open and count, the owner idle", &alone, "ms", &note);
    scale.emit("LOOK", "open and count beside a writer", &beside, "ms", &note);
    let longest = waits.iter().copied().fold(0.0, f64::max);
    scale.emit("LOOK", "longest commit beside looks", &[longest], "ms", &note);
    scale.emit("LOOK", "p50 of commits beside looks", &[quantile(&waits, 0.5)], "ms", &note);
    drop(session);
    store.close()?;
    std::fs::remove_dir_all(&directory)?;
    Ok(())
}

/// Looks, counts the products, and returns the time of the look in ms.
fn look(directory: &std::path::Path, records: usize) -> Res<f64> {
    let (seconds, view) = timed(|| Ok(Store::look(directory)?))?;
    let session = view.session(Identity::user("bench"));
    let request = stationdb::from_json(br#"{"take": 0, "returnCount": true}"#)?;
    let answer: Option<u64> = session.query_products(request)?.total_count;
    assert!(answer.is_some_and(|count| count >= records as u64), "{answer:?} of {records}");
    drop(session);
    view.close()?;
    Ok(seconds * 1e3)
}
