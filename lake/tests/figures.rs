//! What publishing costs beside copying files: time, bytes, and what a writing station notices.
//!
//! Times are asserted with `STATIONDB_NIGHT` alone, in an optimised build on a machine that does
//! nothing else.

mod common;

use std::path::{Path as Directory, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use common::curves::{append_curve, curve_table, curve_table_of};
use common::sizes;
use common::*;
use object_store::ObjectStoreExt;
use object_store::local::LocalFileSystem;
use stationdb::{Control, Store};

/// Bytes of smaller parts than those without a choice.
const SMALL: Option<usize> = Some(512 * 1024);

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

fn timed(work: impl FnOnce()) -> Duration {
    let began = Instant::now();
    work();
    began.elapsed()
}

fn in_directory(directory: &Directory) -> Objects {
    std::fs::create_dir(directory).unwrap();
    Arc::new(LocalFileSystem::new_with_prefix(directory).unwrap())
}

/// Copies files.
fn copy(files: &[(PathBuf, u64)], to: &Directory) {
    std::fs::create_dir(to).unwrap();
    for (at, (path, _)) in files.iter().enumerate() {
        std::fs::copy(path, to.join(at.to_string())).unwrap();
    }
}

/// Copies files and removes the copies, so that what is measured next finds memory that the machine
/// has. The host of a virtual machine may have taken free memory away, and files are then copied up
/// to ten times as slowly: without this a figure says how long ago other files were removed.
fn warm(files: &[(PathBuf, u64)], round: &Directory) {
    copy(files, &round.join("warm"));
    std::fs::remove_dir_all(round.join("warm")).unwrap();
}

/// Publishes a table whose times have this type, beside copying its files. Returns the bytes in the
/// lake, and the speed without a choice of parts, as shares of those of the files.
fn publish_beside_copying(time: &str) -> (f64, f64) {
    let row_count = sizes::count("lake_copy_rows");
    let directory = tempfile::tempdir().unwrap();
    let store = open(&directory.path().join("store"));
    let session = ada(&store);
    let id = curve_table_of(&session, "curve", time);
    append_curve(&session, &id, 0..row_count);
    store.maintain(&Control::default()).unwrap();
    let files = segments(&directory.path().join("store"));
    let stored: u64 = files.iter().map(|(_, bytes)| bytes).sum();
    let rounds = sizes::count("lake_copy_rounds");
    let [mut copied, mut put, mut local, mut parts, mut memory] = [const { Vec::new() }; 5];
    let (mut bytes, mut taken) = (0, 0);
    for number in 0..rounds {
        let round = directory.path().join("round");
        std::fs::create_dir(&round).unwrap();
        let copies = round.join("copies");
        warm(&files, &round);
        copied.push(timed(|| copy(&files, &copies)));
        std::fs::remove_dir_all(&copies).unwrap();

        let objects = in_directory(&round.join("puts"));
        warm(&files, &round);
        put.push(timed(|| {
            wait(async {
                for (at, (path, _)) in files.iter().enumerate() {
                    let read = std::fs::read(path).unwrap();
                    objects.put(&at.to_string().into(), read.into()).await.unwrap();
                }
            });
        }));

        std::fs::remove_dir_all(round.join("puts")).unwrap();

        // The second one of them may find memory that the first one had.
        let mut both = [("lake", None, &mut local), ("parts", SMALL, &mut parts)];
        if number % 2 == 1 {
            both.reverse();
        }
        for (name, part_bytes, times) in both {
            let objects = in_directory(&round.join(name));
            let mut kept = publisher(&store, &objects, lake(), "s1");
            if let Some(part_bytes) = part_bytes {
                kept = kept.with_part_bytes(part_bytes);
            }
            warm(&files, &round);
            times.push(timed(|| {
                let published = publish(&kept);
                assert_eq!(published.rows, row_count as u64);
                (bytes, taken) = (published.bytes, published.taken_bytes);
            }));
            std::fs::remove_dir_all(round.join(name)).unwrap();
        }

        let objects = common::objects();
        let kept = publisher(&store, &objects, lake(), "s1");
        warm(&files, &round);
        memory.push(timed(|| assert_eq!(publish(&kept).rows, row_count as u64)));
        std::fs::remove_dir_all(&round).unwrap();
    }
    println!("{time}: copied in {copied:?}, published in {local:?}, in small parts in {parts:?}");
    let [copied, put, local, parts, memory] = [copied, put, local, parts, memory].map(median);
    let speed = |time: Duration| copied.as_secs_f64() / time.as_secs_f64();
    let share = bytes as f64 / stored as f64;
    println!(
        "{time}: {row_count} rows in {} files of {stored} bytes, of which {taken} were taken over; \
         {share:.4} of the bytes are in the lake; copied in {copied:?}, put in {put:?} ({:.2} of the \
         speed), published to a directory in {local:?} ({:.2}), in small parts in {parts:?} \
         ({:.2}), to memory in {memory:?} ({:.2})",
        files.len(),
        speed(put),
        speed(local),
        speed(parts),
        speed(memory),
    );
    (share, speed(local))
}

#[test]
fn splicing_is_as_cheap_as_copying_files() {
    // Times in milliseconds have to be multiplied; all else is copied. docs/scale.md has figures of a
    // busy machine with real-time priority, and these bounds leave room for a busier one.
    for (time, least) in [("TIMESTAMP_US", 0.5), ("TIMESTAMP", 0.4)] {
        let (share, speed) = publish_beside_copying(time);
        assert!(share <= 1.02, "{time}: the lake has {share:.4} of the bytes of the segments");
        if sizes::does("lake_speed_checked") && !cfg!(debug_assertions) {
            assert!(speed >= least, "{time}: {speed:.2} of the speed of copying");
        }
    }
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
    let row_count = sizes::count("lake_writer_rows");
    let directory = tempfile::tempdir().unwrap();
    let store = open(&directory.path().join("store"));
    let session = ada(&store);
    let id = curve_table(&session, "curve");
    append_curve(&session, &id, 0..row_count);
    store.maintain(&Control::default()).unwrap();
    let rounds = sizes::count("lake_writer_rounds");
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
        assert!(sent >= row_count as u64, "{sent} rows were sent");
        shares.push(beside / alone);
        println!(
            "{alone:.1} appends a second alone, {beside:.1} beside a publisher of {sent} rows"
        );
    }
    shares.sort_by(f64::total_cmp);
    let share = shares[shares.len() / 2];
    println!("a station writes at {share:.3} of its speed beside a publisher");
    if sizes::does("lake_speed_checked") && !cfg!(debug_assertions) {
        assert!(share > 0.9, "a publisher slows the station to {share:.3}");
    }
}
