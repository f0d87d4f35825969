//! What publishing costs beside copying files: time, bytes, and what a writing station notices.
//!
//! `STATIONDB_LAKE_ROWS` is the number of rows, 4 million with `STATIONDB_NIGHT`. Times are asserted
//! with `STATIONDB_NIGHT` alone, in an optimised build on a machine that does nothing else.

mod common;

use std::path::{Path as Directory, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use common::curves::{append_curve, curve_table, is_night};
use common::*;
use object_store::local::LocalFileSystem;
use object_store::memory::InMemory;
use stationdb::{Control, Store};

fn row_count() -> usize {
    let few = if is_night() { 4_000_000 } else { 500_000 };
    std::env::var("STATIONDB_LAKE_ROWS").map_or(few, |text| text.parse().unwrap())
}

fn open(directory: &Directory) -> Store {
    Store::options().maintenance_thread(false).open(directory).unwrap()
}

/// The files of sealed rows.
fn segments(directory: &Directory) -> Vec<(PathBuf, u64)> {
    let mut found = Vec::new();
    let mut left = vec![directory.to_owned()];
    while let Some(next) = left.pop() {
        for entry in std::fs::read_dir(next).unwrap() {
            let entry = entry.unwrap();
            let path = entry.path();
            if entry.file_type().unwrap().is_dir() {
                left.push(path);
            } else if path.extension().is_some_and(|end| end == "parquet") {
                found.push((path, entry.metadata().unwrap().len()));
            }
        }
    }
    found
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}

#[test]
fn splicing_is_as_cheap_as_copying_files() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(&directory.path().join("store"));
    let session = ada(&store);
    let id = curve_table(&session, "curve");
    append_curve(&session, &id, 0..row_count());
    store.maintain(&Control::default()).unwrap();
    let files = segments(&directory.path().join("store"));
    let stored: u64 = files.iter().map(|(_, bytes)| bytes).sum();
    let rounds = if is_night() { 9 } else { 1 };
    let (mut copied, mut local, mut memory) = (Vec::new(), Vec::new(), Vec::new());
    let mut bytes = 0;
    for round in 0..rounds {
        let copies = directory.path().join(format!("copies-{round}"));
        std::fs::create_dir(&copies).unwrap();
        let began = Instant::now();
        for (at, (path, _)) in files.iter().enumerate() {
            std::fs::copy(path, copies.join(at.to_string())).unwrap();
        }
        copied.push(began.elapsed());
        std::fs::remove_dir_all(&copies).unwrap();

        let lake_directory = directory.path().join(format!("lake-{round}"));
        std::fs::create_dir(&lake_directory).unwrap();
        let objects: Objects = Arc::new(LocalFileSystem::new_with_prefix(&lake_directory).unwrap());
        let lake = publisher(&store, &objects, lake(), "s1");
        let began = Instant::now();
        let published = publish(&lake);
        local.push(began.elapsed());
        assert_eq!(published.rows, row_count() as u64);
        bytes = published.bytes;
        std::fs::remove_dir_all(&lake_directory).unwrap();

        let objects: Objects = Arc::new(InMemory::new());
        let lake = publisher(&store, &objects, common::lake(), "s1");
        let began = Instant::now();
        assert_eq!(publish(&lake).rows, row_count() as u64);
        memory.push(began.elapsed());
    }
    let (copied, local, memory) = (median(copied), median(local), median(memory));
    let speed = |time: Duration| copied.as_secs_f64() / time.as_secs_f64();
    let share = bytes as f64 / stored as f64;
    println!(
        "{} rows in {} files of {stored} bytes, {share:.4} of them in the lake; copied in \
         {copied:?}, published to a directory in {local:?} ({:.2} of the speed), to memory in \
         {memory:?} ({:.2})",
        row_count(),
        files.len(),
        speed(local),
        speed(memory),
    );
    assert!(share <= 1.02, "the lake has {share:.4} of the bytes of the segments");
}

/// Appends small streams for a while, and returns how many each second.
fn appends_a_second(store: &Store, first: &mut usize) -> f64 {
    const ROWS: usize = 1_000;
    let session = ada(store);
    let id = curve_table(&session, "written");
    let began = Instant::now();
    let mut count = 0;
    while began.elapsed() < Duration::from_secs(4) {
        append_curve(&session, &id, *first..*first + ROWS);
        *first += ROWS;
        count += 1;
        // A station measures, and does not only write.
        std::thread::sleep(Duration::from_millis(10));
    }
    f64::from(count) / began.elapsed().as_secs_f64()
}

#[test]
fn a_writing_station_hardly_notices_a_publisher() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(&directory.path().join("store"));
    let session = ada(&store);
    let id = curve_table(&session, "curve");
    append_curve(&session, &id, 0..row_count());
    store.maintain(&Control::default()).unwrap();
    let rounds = if is_night() { 5 } else { 1 };
    let mut shares = Vec::new();
    let mut first = 0;
    for _ in 0..rounds {
        let alone = appends_a_second(&store, &mut first);
        let objects = objects();
        let kept = publisher(&store, &objects, lake(), "s1");
        let is_over = AtomicBool::new(false);
        let (beside, sent) = std::thread::scope(|scope| {
            let publishing = scope.spawn(|| {
                let mut sent = 0;
                while !is_over.load(Ordering::SeqCst) {
                    sent += publish(&kept).rows;
                    std::thread::sleep(Duration::from_millis(500));
                }
                sent
            });
            let beside = appends_a_second(&store, &mut first);
            is_over.store(true, Ordering::SeqCst);
            (beside, publishing.join().unwrap())
        });
        assert!(sent >= row_count() as u64, "{sent} rows were sent");
        shares.push(beside / alone);
        println!(
            "{alone:.1} appends a second alone, {beside:.1} beside a publisher of {sent} rows"
        );
    }
    shares.sort_by(f64::total_cmp);
    let share = shares[shares.len() / 2];
    println!("a station writes at {share:.3} of its speed beside a publisher");
    if is_night() && !cfg!(debug_assertions) {
        assert!(share > 0.9, "a publisher slows the station to {share:.3}");
    }
}
