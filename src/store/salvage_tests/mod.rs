//! Damaged stores are salvaged: the new store contains only what the last commit had, and only what
//! the damage touched is missing.

mod damage;
mod earlier;
mod journal;
mod segments;
mod truth;

#[path = "../../../tests/common/calls.rs"]
mod calls;
#[path = "../../../tests/common/package.rs"]
pub(super) mod package;
#[path = "../../../tests/fixtures/station.rs"]
#[allow(dead_code)]
mod station;

use crate::store::tests::prelude::*;
use std::time::Instant;

use self::damage::{Damage, Kind, copy, files};
use self::earlier::killed;
use self::truth::Truth;
use crate::model::StoredContent;
use crate::sizes;
use crate::store::{Lost, SalvageReport};

fn options() -> StoreOptions {
    StoreOptions::default()
        .seed(Some(7))
        .maintenance_thread(false)
        .small_blob_bytes(4_000)
        .seal_rows(1_000)
        .record_cache_bytes(1 << 20)
        // Without a memory table, so that the record file has pages of each commit.
        .memory_table_bytes(0)
}

fn request<T: serde::de::DeserializeOwned>(value: serde_json::Value) -> T {
    serde_json::from_value(value).unwrap()
}

/// A store with items of every kind. Its record file has branches, and pages of earlier commits.
fn filled() -> Arc<MemoryDisk> {
    use crate::products::ProductService;

    let disk = Arc::new(MemoryDisk::new());
    let (store, session) = opened(options(), disk.clone());
    station::fill(&session);
    let product = |number: usize, turn: usize| {
        serde_json::json!({
            "partNumber": format!("N-{number}"), "name": format!("unit {number} of {turn}"),
            "properties": { "text": "x".repeat(100 + number % 7 * 20), "turn": turn.to_string() },
        })
    };
    let mut ids = Vec::new();
    for turn in 0..6 {
        let batch = (0..20).map(|number| request(product(turn * 20 + number, 0))).collect();
        let made = session.create_products(batch).unwrap();
        ids.extend(
            made.products.into_iter().filter_map(|product| product.id).map(|id| id.to_string()),
        );
    }
    // Each change is in its own commit, so that each leaves old pages.
    for (number, id) in ids.iter().enumerate().filter(|(number, _)| number % 9 == 4) {
        let update = serde_json::json!({ "id": id, "name": format!("unit {number} changed"), "properties": { "turn": "1" } });
        let _ = session.update_products(vec![request(update)], false).unwrap();
    }
    for id in ids.iter().skip(2).step_by(15) {
        session.delete_product(&id.into()).unwrap();
    }
    let columns = serde_json::json!({ "name": "large", "columns": [
        { "name": "t", "dataType": "INT64", "columnType": "INDEX" },
        { "name": "small", "dataType": "INT32", "columnType": "NORMAL" },
        { "name": "noise", "dataType": "FLOAT64", "columnType": "NORMAL" },
    ] });
    let table = session.create_table(request(columns)).unwrap();
    let t: Vec<i64> = (0..LARGE_ROWS).collect();
    let small = t.iter().map(|t| (t * 3) as i32);
    let noise = t.iter().map(|t| noise(*t));
    let batch = crate::arrow::array::RecordBatch::try_from_iter([
        ("t", Arc::new(crate::arrow::array::Int64Array::from_iter_values(t.iter().copied())) as _),
        ("small", Arc::new(crate::arrow::array::Int32Array::from_iter_values(small)) as _),
        ("noise", Arc::new(crate::arrow::array::Float64Array::from_iter_values(noise)) as _),
    ]);
    session.append_batches(&table, &mut std::iter::once(Ok(batch.unwrap())), None).unwrap();
    steps(&session);
    store.maintain(&Control::default()).unwrap();
    session.register_subscriber("late").unwrap();
    drop(session);
    store.close().unwrap();
    disk
}

/// So many results with steps that some are sealed and some are not.
fn steps(session: &Session) {
    use crate::results::ResultService;

    for number in 0..12 {
        let status = serde_json::json!({ "statusType": "PASSED" });
        let result = serde_json::json!({ "programName": format!("p {number}"), "status": status });
        let made = session.create_results(vec![request(result)]).unwrap();
        let id = made.results[0].id.clone().unwrap();
        let step = |at: usize| {
            let value =
                |of: usize| serde_json::json!({ "name": "v", "measurement": of.to_string() });
            let parameters: Vec<_> = (0..10).map(|of| value(at * of)).collect();
            request(serde_json::json!({
                "resultId": id, "name": format!("s {at}"), "status": status,
                "data": { "parameters": parameters },
            }))
        };
        session.create_steps((0..10).map(step).collect(), false).unwrap().require_all().unwrap();
    }
}

/// Number of rows of the table whose segment has many blocks with checksums.
const LARGE_ROWS: i64 = 20_000;

fn noise(t: i64) -> f64 {
    (t as f64 * 12.9898).sin() * 43_758.545_3
}

fn salvage(from: &Arc<MemoryDisk>) -> (SalvageReport, Arc<MemoryDisk>) {
    let into = Arc::new(MemoryDisk::new());
    let (source, target): (SharedDisk, SharedDisk) = (from.clone(), into.clone());
    let report = super::salvage::salvage_to(&source, &target, &Control::default()).unwrap();
    (report, into)
}

/// The bytes of all files, to check that nothing was written.
fn image(disk: &dyn Disk) -> BTreeMap<String, Vec<u8>> {
    files(disk).into_iter().map(|(path, _)| (path.clone(), damage::read(disk, &path))).collect()
}

#[test]
fn a_sound_store_is_taken_over_whole() {
    let from = filled();
    let truth = Truth::of(&from);
    let before = image(&*from);
    let (report, into) = salvage(&from);
    assert!(report.is_complete(), "{report:#?}");
    assert_eq!(truth.missing(&into), BTreeMap::new());
    assert!(
        report.records > 120 && report.rows > 20_000 && report.files >= 5 && report.bytes > 90_000,
        "{report:?}"
    );
    assert_eq!(report.sequence, truth.sequence);
    assert_eq!(image(&*from), before);
    println!("{report:?}, record file of {} bytes", before["records.redb"].len());
}

#[test]
fn what_is_salvaged_is_true_and_what_is_missing_was_damaged() {
    let begun = Instant::now();
    let closed = filled();
    let [earlier, open] = killed(90);
    // Each store comes with the states that it may have: that of the last commit and, if that one
    // may be torn, that of the one before.
    let stores =
        [(&closed, vec![Truth::of(&closed)]), (&open, vec![Truth::of(&open), Truth::of(&earlier)])];
    let mut random = Random::new(sizes::seed());
    let runs = sizes::size("salvages");
    let mut kinds = BTreeMap::<Kind, [u64; 3]>::new();
    let (mut lossless, mut lost, mut unproven, mut problems) = (0, 0, 0, Vec::new());
    let made = begun.elapsed();
    for run in 0..runs {
        let is_closed = run % 2 == 0;
        let (whole, truths) = &stores[usize::from(!is_closed)];
        let image = copy(&***whole);
        let damage = Damage::draw(&mut random, whole);
        let touched = damage.strike(&image);
        let before = fingerprint(&image);
        let looked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            let (report, into) = salvage(&image);
            let known = truths.iter().find(|truth| truth.sequence == report.sequence);
            let truth = known.unwrap_or(&truths[0]);
            let is_told = std::ptr::eq(truth, &truths[0])
                || report.lost.iter().any(|lost| lost.kind == "commits");
            assert!(is_told, "an older state without a word");
            (
                report.unproven.len(),
                truth.judge(&damage, is_closed, known.is_some(), &touched, &report, &into),
            )
        }));
        let counts = kinds.entry(damage.kind(is_closed)).or_default();
        counts[0] += 1;
        match looked {
            Ok((taken, Ok(missing))) => {
                unproven += taken;
                lossless += u64::from(missing == 0);
                counts[1] += u64::from(missing == 0);
                counts[2] += missing;
                lost += missing;
            }
            Ok((_, Err(problem))) => problems.push(format!("run {run}, {damage:?}: {problem}")),
            Err(_) => problems.push(format!("run {run}, {damage:?}: a panic")),
        }
        assert!(
            before == fingerprint(&image),
            "run {run}, {damage:?}: the damaged store was changed"
        );
    }
    println!("counted: {runs} damaged stores");
    println!(
        "{runs} salvaged in {:.1} s (store made in {made:.1?}), {lossless} without loss, {lost} items lost, {unproven} unproven",
        begun.elapsed().as_secs_f64()
    );
    for (kind, [runs, lossless, lost]) in kinds {
        println!("  {kind:?}: {runs}, without loss {lossless}, items lost {lost}");
    }
    assert!(problems.is_empty(), "{} problems:\n{}", problems.len(), problems.join("\n"));
}

fn fingerprint(disk: &MemoryDisk) -> u64 {
    let mut hasher = xxhash_rust::xxh3::Xxh3::new();
    for (path, bytes) in image(disk) {
        hasher.update(path.as_bytes());
        hasher.update(&bytes);
    }
    hasher.digest()
}

/// The tree of tables, the root of a table: each leads to all pages below it. Only the header names
/// the commit.
#[test]
fn what_leads_to_the_records_may_be_lost() {
    let whole = filled();
    let truth = Truth::of(&whole);
    let (branches, leaves) = truth.places();
    assert!(!branches.is_empty() && leaves > 20, "{branches:?}, {leaves}");
    for place in branches.into_iter().chain(std::iter::once(0..512)) {
        let image = copy(&*whole);
        let len = usize::try_from(place.end - place.start).unwrap();
        image
            .open("records.redb", Mode::ReadWrite)
            .unwrap()
            .write_all_at(&vec![0; len], place.start)
            .unwrap();
        let (report, into) = salvage(&image);
        let is_header = place.start == 0;
        assert_eq!(truth.missing(&into).is_empty(), !is_header, "{place:?}: {report:#?}");
        let is_told = report.lost.iter().any(|lost| lost.kind == "commits");
        assert_eq!(is_told, is_header, "{report:#?}");
    }
}

#[test]
fn the_sources_of_a_salvage_are_checked() {
    let directory = tempfile::tempdir().unwrap();
    let (from, into) = (directory.path().join("from"), directory.path().join("into"));
    let kind = |from: &std::path::Path, into: &std::path::Path| {
        Store::salvage(from, into, &Control::default()).map(|_| ()).unwrap_err().kind()
    };
    std::fs::create_dir(&from).unwrap();
    assert_eq!(kind(&from, &into), ErrorKind::NotAStore);
    let store = Store::options().maintenance_thread(false).open(&from).unwrap();
    assert_eq!(kind(&from, &into), ErrorKind::Locked);
    std::fs::remove_file(from.join("LOCK")).unwrap();
    assert_eq!(kind(&from, &into), ErrorKind::Locked, "records.redb is locked as well");
    store.close().unwrap();
    assert_eq!(kind(&from, &from.join("inside")), ErrorKind::InvalidArgument);
    let cancelled = Control::default();
    cancelled.cancel();
    let target = directory.path().join("cancelled");
    let error = Store::salvage(&from, &target, &cancelled).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Cancelled);
    assert_eq!(Store::open(&target).unwrap_err().kind(), ErrorKind::NotAStore);
    assert_eq!(kind(&target, &into), ErrorKind::NotAStore, "an incomplete copy");
    assert!(Store::salvage(&from, &target, &Control::default()).unwrap().is_complete());
    Store::open(&target).unwrap().close().unwrap();
    assert_eq!(kind(&from, &target), ErrorKind::NotAStore, "it is not empty");
    // The record file tells everything that FORMAT does.
    let format = std::fs::read_to_string(from.join("FORMAT")).unwrap();
    let lines = format.split("\nsum").next().unwrap().replace("format 1\n", "format 2\n");
    std::fs::write(from.join("FORMAT"), super::format::with_sum(&lines)).unwrap();
    assert!(
        Store::salvage(&from, directory.path().join("again"), &Control::default())
            .unwrap()
            .is_complete()
    );
    std::fs::remove_file(from.join("records.redb")).unwrap();
    assert_eq!(kind(&from, &directory.path().join("newer")), ErrorKind::NewerFormat);
    std::fs::write(from.join("FORMAT"), "garbage").unwrap();
    let report =
        Store::salvage(&from, directory.path().join("empty"), &Control::default()).unwrap();
    assert!(report.lost.iter().any(|lost| lost.kind == "records"), "{report:#?}");
}

#[test]
fn a_power_cut_during_a_salvage_leaves_a_marked_target_and_the_source_as_it_was() {
    let [_, from] = killed(3);
    let truth = Truth::of(&from);
    let before = image(&*from);
    let source: SharedDisk = from.clone();
    let into = SimDisk::new(1);
    super::salvage::salvage_to(
        &source,
        &(Arc::new(into.clone()) as SharedDisk),
        &Control::default(),
    )
    .unwrap();
    let (mut replay, mut images, mut marked, mut whole) = (into.replay(), 0, 0, 0);
    while replay.advance().is_some() {
        images += 1;
        for (draw, survival) in
            [(0, crate::disk::sim::Survival::None), (images, crate::disk::sim::Survival::Random)]
        {
            let cut = replay.survivors(draw, survival);
            let names: Vec<String> =
                cut.list("").unwrap().into_iter().map(|entry| entry.name).collect();
            if names.iter().any(|name| name == crate::store::format::INCOMPLETE) {
                marked += 1;
                assert_eq!(
                    options().open_on(Arc::new(cut.clone())).unwrap_err().kind(),
                    ErrorKind::NotAStore
                );
            } else if names.iter().any(|name| name == "FORMAT") {
                whole += 1;
                if whole % 20 == 1 {
                    assert_eq!(truth.missing(&damage::copy(&cut)), BTreeMap::new());
                }
            } else {
                assert_eq!(names, Vec::<String>::new());
            }
            if images % 60 == 0 && !names.iter().any(|name| name == "FORMAT") {
                let cut: SharedDisk = Arc::new(cut);
                assert!(
                    super::salvage::salvage_to(&source, &cut, &Control::default())
                        .unwrap()
                        .is_complete()
                );
            }
        }
    }
    println!("{images} changes: {marked} images marked, {whole} whole");
    assert!(marked > 100 && whole > 1, "{marked}, {whole}");
    assert!(image(&*from) == before, "the source was changed");
}

/// A sector of a leaf is lost. The other entries of the leaf are copied by their own checksums and
/// reported as unproven, unless another page has another version of them.
#[test]
fn entries_of_a_damaged_leaf_are_told_as_unproven() {
    let whole = filled();
    let truth = Truth::of(&whole);
    let (mut unproven, mut lost) = (0, 0);
    for place in truth.leaves_of(Space::Records) {
        let image = copy(&*whole);
        let at = place.start + (place.end - place.start) / 2 / 512 * 512;
        image.open("records.redb", Mode::ReadWrite).unwrap().write_all_at(&[0; 512], at).unwrap();
        let (report, into) = salvage(&image);
        let missing = truth.missing(&into);
        unproven += report.unproven.len();
        lost += missing.len();
        assert!(!report.is_complete() && !missing.is_empty(), "{place:?}: {report:#?}");
    }
    println!("{unproven} entries taken as unproven, {lost} lost");
    assert!(unproven > 40 && lost > 20, "{unproven}, {lost}");
}

/// Damage that the CRC-32 of a block does not detect, and damage that looks like another wrong bit:
/// the hash of the file detects both.
#[test]
fn a_segment_whose_blocks_only_seem_whole_is_not_taken() {
    let whole = filled();
    let truth = Truth::of(&whole);
    let (path, _) = files(&*whole)
        .into_iter()
        .find(|(path, len)| path.ends_with(".parquet") && *len > 100_000)
        .unwrap();
    let bytes = damage::read(&*whole, &path);
    // The polynomial itself: a block has the same CRC-32 with and without it.
    let pattern = (1u64 | 0xEDB8_8320 << 1).to_le_bytes();
    for wrong_bit in [None, Some(70_100)] {
        let image = copy(&*whole);
        let file = image.open(&path, Mode::ReadWrite).unwrap();
        let damaged: Vec<u8> =
            bytes[70_000..70_008].iter().zip(pattern).map(|(byte, change)| byte ^ change).collect();
        file.write_all_at(&damaged, 70_000).unwrap();
        if let Some(at) = wrong_bit {
            file.write_all_at(&[bytes[at] ^ 8], at as u64).unwrap();
        }
        drop(file);
        let (report, into) = salvage(&image);
        // Fails on rows with other values.
        let lost: u64 = truth.missing(&into).values().sum();
        assert!(
            report.lost.iter().any(|lost| lost.kind == "rows" && lost.file == path),
            "{report:#?}"
        );
        // With the wrong bit, the damaged block is known, so the rows of the other blocks are
        // copied.
        let all = LARGE_ROWS.unsigned_abs();
        assert!(
            if wrong_bit.is_none() { lost == all } else { (1_000..all / 2).contains(&lost) },
            "{lost}: {report:#?}"
        );
    }
}

/// If keys contain ids, the report names the lost items by id.
#[test]
fn what_is_lost_is_told_by_id() {
    let whole = filled();
    let truth = Truth::of(&whole);
    let tables = truth.table_ids();
    let (mut told, mut bounded) = (BTreeMap::<String, u64>::new(), 0);
    for space in [
        Space::Records,
        Space::Segments,
        Space::TableBuffer,
        Space::UploadChunks,
        Space::SmallBlobs,
    ] {
        for place in truth.leaves_of(space) {
            let image = copy(&*whole);
            let file = image.open("records.redb", Mode::ReadWrite).unwrap();
            file.write_all_at(&vec![0; (place.end - place.start) as usize], place.start).unwrap();
            drop(file);
            let (report, into) = salvage(&image);
            let missing = truth.missing(&into);
            assert!(!report.lost.is_empty() && !missing.is_empty(), "{report:#?}");
            for lost in &report.lost {
                *told.entry(lost.kind.clone()).or_default() += 1;
                if lost.kind == "rows" {
                    assert!(
                        tables
                            .iter()
                            .any(|id| lost.place.starts_with(&format!("table {id}, rows "))),
                        "{lost:?}"
                    );
                }
            }
            // The missing products are bounded by the ids of copied ones.
            for lost in report.lost.iter().filter(|lost| lost.kind == "Product") {
                let products = truth.ids_of("Product", missing.keys());
                let place = lost.place.trim_start_matches("between ").trim_start_matches("after ");
                let (after, before) = match place.split_once(" and ") {
                    Some((after, before)) => (after, before),
                    None if place.starts_with("before ") => {
                        ("", place.trim_start_matches("before "))
                    }
                    None if place.starts_with("all of them") => ("", "g"),
                    None => (place, "g"),
                };
                assert!(
                    products.iter().all(|id| after < id.as_str() && id.as_str() < before),
                    "{lost:?}: {products:?}"
                );
                bounded += u64::from(lost.place.starts_with("between "));
            }
        }
    }
    assert!(bounded > 3, "{bounded} ranges of products");
    println!("{told:?}");
    assert!(
        ["Product", "rows", "upload chunk"].iter().all(|kind| told.contains_key(*kind)),
        "{told:?}"
    );
    let key = |space, key: &[u8]| super::salvage::key_text(space, key);
    let table = crate::value::id::hex(&[7; 12]);
    assert_eq!(
        key(Space::Segments, &[&[7; 12][..], &9u64.to_be_bytes()].concat()),
        format!("table {table}, segment 9")
    );
    let first = key(Space::TableBuffer, &[&[7; 12][..], &300u64.to_be_bytes()].concat());
    assert_eq!(first, format!("table {table}, rows from 300"));
    let chunk = key(Space::UploadChunks, &[&[7; 16][..], &3u32.to_be_bytes()].concat());
    assert!(chunk.starts_with("upload session ") && chunk.ends_with(", chunk 3"), "{chunk}");
    assert_eq!(key(Space::SmallBlobs, &12u64.to_be_bytes()), "12");
    assert_eq!(key(Space::Segments, &[1, 2]), "0102", "no key of a segment");
}
