//! What a log costs as it grows: the inputs of `docs/scale.md`.
//!
//! `STATIONDB_LAKE_DIRECTORY` is a new directory for the lake, which is kept for other readers.

mod common;
#[path = "common/memory.rs"]
mod memory;

use std::path::Path as Directory;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use common::*;
use memory::peak_of;
use object_store::local::LocalFileSystem;
use object_store::path::Path;
use object_store::{ObjectStore, ObjectStoreExt};
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use serde_json::{Value, json};
use stationdb::arrow::array::Array;
use stationdb::prelude::*;
use stationdb::tables::TableId;
use stationdb::{Control, Store};
use stationdb_lake::{Note, Publisher};

fn sizes(objects: &Objects, table: &str) -> Vec<(String, u64)> {
    let log = Path::from(format!("lake/{table}/_delta_log"));
    let listed = wait(async { objects.list_with_delimiter(Some(&log)).await.unwrap() });
    let size = |it: &object_store::ObjectMeta| (it.location.to_string(), it.size);
    listed.objects.iter().map(size).collect()
}

/// Sizes of a log: bytes of a version, and of the last checkpoint for each of its actions.
fn measure(objects: &Objects, table: &str, batches: usize) {
    let sizes = sizes(objects, table);
    let versions: Vec<u64> =
        sizes.iter().filter(|(name, _)| name.ends_with(".json")).map(|(_, size)| *size).collect();
    let bytes = versions.iter().sum::<u64>();
    let of_version = bytes / versions.len() as u64;
    let checkpoints = sizes.iter().filter(|(name, _)| name.ends_with(".parquet"));
    let (_, checkpoint) = checkpoints.max().expect("a checkpoint");
    let hint = Path::from(format!("lake/{table}/_delta_log/_last_checkpoint"));
    let hint = wait(async { objects.get(&hint).await.unwrap().bytes().await.unwrap() });
    let hint: Value = serde_json::from_slice(&hint).unwrap();
    let (actions, files) =
        (hint["size"].as_u64().unwrap(), hint["numOfAddFiles"].as_u64().unwrap());
    println!(
        "{table}: {} versions of {of_version} bytes; the last checkpoint: {checkpoint} bytes for \
         {actions} actions, {files} of them files",
        versions.len()
    );
    assert!(versions.len() >= batches, "{table}");
    assert!(of_version < 2_500, "{table}: a version has {of_version} bytes");
    assert!(*checkpoint < 20_000 + 250 * actions, "{table}: {checkpoint} bytes");
}

#[test]
fn the_inputs_of_the_page_on_scale_hold() {
    let setting = |name| std::env::var(name).ok();
    let batches: usize = sizes::count("lake_scale_batches");
    let kept = setting("STATIONDB_LAKE_DIRECTORY");
    let inner: Objects = match &kept {
        Some(kept) => {
            std::fs::create_dir(kept).unwrap();
            Arc::new(LocalFileSystem::new_with_prefix(Directory::new(kept)).unwrap())
        }
        None => objects(),
    };
    let store = store();
    let session = ada(&store);
    let id = small_table(&session, "a", "");
    let first = publisher(&store, &inner, lake(), "station-1");
    let began = Instant::now();
    let mut commits = 0;
    for batch in 0..batches as i64 {
        append(&session, &id, batch * 10..batch * 10 + 10);
        let product = from(json!({ "partNumber": format!("P-{batch}") }));
        assert!(session.create_products(vec![product]).unwrap().error.is_none());
        commits += publish(&first).commits;
    }
    println!(
        "{batches} batches, {commits} commits, {:?} a batch",
        began.elapsed() / batches as u32
    );
    let tables = names(&inner, "lake");
    let rows = tables.iter().find(|name| is_rows(name)).unwrap().clone();
    for table in [rows.as_str(), "product_changes", "table_changes", "batches"] {
        measure(&inner, table, batches);
    }
    // A new publisher, with the checkpoints and without.
    let mut reads = Vec::new();
    for hints in [true, false] {
        if !hints {
            for table in &tables {
                let hint = Path::from(format!("lake/{table}/_delta_log/_last_checkpoint"));
                let _ = wait(async { inner.delete(&hint).await });
            }
        }
        let (faulty, objects) = faulty(&inner, 1);
        let new = publisher(&store, &objects, lake(), "station-1");
        let began = Instant::now();
        let status = new.status(&Control::default()).unwrap();
        assert_eq!(status.roots[0].rows, 0);
        reads.push(faulty.take_read().len());
        println!("a start with checkpoints {hints}: {:?} requests, {:?}", reads, began.elapsed());
    }
    assert!(reads[0] < 60, "{reads:?}");
    assert!(reads[1] >= batches * 2, "{reads:?}");
}

/// Stations beside the one that publishes here.
const STATIONS: usize = 1_000;

/// Hexadecimal digits that no rule makes shorter.
fn digits(seed: usize, count: usize) -> String {
    let mut state = seed as u64 + 1;
    let digit = |_| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        char::from_digit((state.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 60) as u32, 16).unwrap()
    };
    (0..count).map(digit).collect()
}

/// A lake table with rows of one station that publishes, and of others whose versions are made of
/// its own.
struct Log {
    store: Store,
    objects: Objects,
    kept: Publisher,
    id: TableId,
    /// The directory of the log.
    log: Path,
    /// Versions of which a checkpoint was written.
    written: Arc<Mutex<Vec<u64>>>,
    row: i64,
}

impl Log {
    fn new() -> Self {
        let (store, objects) = (store(), objects());
        let id = small_table(&ada(&store), "a", "");
        let written = Arc::new(Mutex::new(Vec::new()));
        let kept = publisher(&store, &objects, lake(), "station-1").with_notes({
            let written = written.clone();
            move |note| {
                if let Note::Checkpoint { table, version, error } = note {
                    assert_eq!(error.as_deref(), None);
                    if is_rows(table.rsplit('/').next().unwrap()) {
                        written.lock().unwrap().push(version);
                    }
                }
            }
        });
        let mut log = Self { store, objects, kept, id, log: Path::default(), written, row: 0 };
        log.publish();
        let name = names(&log.objects, "lake").into_iter().find(|name| is_rows(name)).unwrap();
        log.log = Path::from(format!("lake/{name}/_delta_log"));
        log
    }

    /// Publishes a batch, and returns how long that took.
    fn publish(&mut self) -> Duration {
        append(&ada(&self.store), &self.id, self.row..self.row + 10);
        self.row += 10;
        let began = Instant::now();
        assert_eq!(publish(&self.kept).rows, 10);
        began.elapsed()
    }

    fn get(&self, name: &str) -> bytes::Bytes {
        let path = self.log.clone().join(name);
        wait(async { self.objects.get(&path).await.unwrap().bytes().await.unwrap() })
    }

    fn put(&self, name: &str, bytes: String) {
        let path = self.log.clone().join(name);
        wait(async { self.objects.put(&path, bytes.into()).await.unwrap() });
    }

    fn last_version(&self) -> u64 {
        let names = sizes(&self.objects, self.log.parts().nth(1).unwrap().as_ref());
        let names = names.iter().filter_map(|(name, _)| {
            name.rsplit('/').next()?.strip_suffix(".json")?.parse::<u64>().ok()
        });
        names.max().unwrap()
    }

    /// Adds the files of the other stations: as many batches of each as it takes, each batch as this
    /// station publishes it, and those of a hundred stations in one version.
    fn add_files(&self, files: usize) -> Vec<String> {
        let last = self.last_version();
        let own = self.get(&format!("{last:020}.json"));
        let own = std::str::from_utf8(&own).unwrap();
        let add = own.lines().find(|line| line.contains("\"add\"")).unwrap();
        let add: Value = serde_json::from_str(add).unwrap();
        let path = add["add"]["path"].as_str().unwrap();
        let nonce = path.rsplit('-').next().unwrap().strip_suffix(".parquet").unwrap();
        let tag: Value =
            serde_json::from_str(add["add"]["tags"]["stationdb.sent"].as_str().unwrap()).unwrap();
        let app = tag["app"].as_str().unwrap().strip_prefix("stationdb/").unwrap();
        let batch = tag["batch"].as_u64().unwrap();
        let lines: Vec<&str> = own
            .lines()
            .filter(|line| line.contains("\"txn\"") || line.contains("\"add\""))
            .collect();
        assert!(lines.len() >= 3, "{own}");
        // In texts of JSON inside of JSON.
        let said = |batch: u64| format!("batch\\\":{batch}");
        let mut paths = Vec::new();
        for (version, some) in (0..files).collect::<Vec<_>>().chunks(100).enumerate() {
            let mut text = String::new();
            for at in some {
                let (station, later) = (at % STATIONS, at / STATIONS);
                let next = batch + 4 * later as u64;
                for line in &lines {
                    let line = line
                        .replace("station-1", &format!("station-{}", station + 2))
                        .replace(app, &digits(station, app.len()))
                        .replace(self.id.as_str(), &digits(station + STATIONS, 24))
                        .replace(&format!("/{batch}-"), &format!("/{next}-"))
                        .replace(&said(batch), &said(next))
                        .replace(nonce, &digits(at + 2 * STATIONS, nonce.len()));
                    text.push_str(&line);
                    text.push('\n');
                }
                let random = digits(at + 2 * STATIONS, nonce.len());
                paths.push(format!("data/station-{}/{next}-{random}.parquet", station + 2));
            }
            assert!(paths.iter().rev().take(some.len()).all(|path| text.contains(path)));
            self.put(&format!("{:020}.json", last + 1 + version as u64), text);
        }
        paths
    }

    /// Replaces these files by one, as an engine does that compacts them.
    fn compact(&self, paths: &[String]) {
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
        let now = now.as_millis() as u64;
        let remove = |path: &String| {
            json!({ "remove": { "path": path, "deletionTimestamp": now, "dataChange": false,
                "extendedFileMetadata": true, "partitionValues": {}, "size": 4_400 } })
            .to_string()
        };
        let mut lines: Vec<String> = paths.iter().map(remove).collect();
        let add = json!({ "add": { "path": "compacted.parquet", "partitionValues": {}, "size": 9,
            "modificationTime": now, "dataChange": false } });
        lines.push(add.to_string());
        self.put(&format!("{:020}.json", self.last_version() + 1), lines.join("\n"));
    }

    /// Publishes until a checkpoint is written. Returns how long that publish took, how long one
    /// without took, and how much the one with it allocated.
    fn checkpoint(&mut self) -> (Duration, Duration, usize) {
        let before = self.written.lock().unwrap().len();
        let mut others = Vec::new();
        loop {
            let (took, peak) = peak_of(|| self.publish());
            if self.written.lock().unwrap().len() > before {
                others.sort();
                let other = others.get(others.len() / 2).copied().unwrap_or_default();
                return (took, other, peak);
            }
            others.push(took);
            assert!(others.len() <= 10, "no checkpoint was written");
        }
    }

    /// The last checkpoint: its bytes, and how many files it adds and removes.
    fn last(&self) -> (usize, usize, usize) {
        let hint: Value = serde_json::from_slice(&self.get("_last_checkpoint")).unwrap();
        let version = hint["version"].as_u64().unwrap();
        assert_eq!(self.written.lock().unwrap().last(), Some(&version));
        let bytes = self.get(&format!("{version:020}.checkpoint.parquet"));
        let size = bytes.len();
        let (mut adds, mut removes) = (0, 0);
        for batch in ParquetRecordBatchReaderBuilder::try_new(bytes).unwrap().build().unwrap() {
            let batch = batch.unwrap();
            let there = |name: &str| {
                let column = batch.column_by_name(name).unwrap();
                column.len() - column.null_count()
            };
            adds += there("add");
            removes += there("remove");
        }
        assert_eq!(hint["numOfAddFiles"].as_u64(), Some(adds as u64));
        assert_eq!(hint["sizeInBytes"].as_u64(), Some(size as u64));
        (size, adds, removes)
    }
}

fn measure_checkpoints(files: usize) {
    let mut log = Log::new();
    let paths = log.add_files(files);
    // This one reads all versions.
    let (first, ..) = log.checkpoint();
    let (size, adds, removes) = log.last();
    assert_eq!((adds, removes), (files + 2, 0));
    let of_add = size / adds;
    let (with, without, peak) = log.checkpoint();
    let (size_2, adds_2, _) = log.last();
    assert!(adds_2 > adds && size_2 > size);
    println!(
        "{files} files: a checkpoint of {size} bytes, {of_add} for each; the first publish read \
         all versions in {first:?}; a publish with a checkpoint took {with:?} and allocated \
         {} MiB, one without took {without:?}",
        peak >> 20,
    );
    let (faulty, objects) = faulty(&log.objects, 1);
    let new = publisher(&log.store, &objects, lake(), "station-1");
    let began = Instant::now();
    assert_eq!(new.status(&Control::default()).unwrap().roots[0].rows, 0);
    let requests = faulty.take_read().len();
    println!("{files} files: a start in {requests} requests took {:?}", began.elapsed());
    assert!(requests < 60, "{requests} requests");

    let gone = files / 2;
    log.compact(&paths[..gone]);
    log.checkpoint();
    let (size_3, adds_3, removes) = log.last();
    assert_eq!(removes, gone);
    assert!(adds_3 > files - gone && adds_3 < files - gone + 40, "{adds_3} files");
    let of_remove = size_3.saturating_sub(of_add * adds_3) / removes;
    println!(
        "{files} files, of which {gone} were removed: a checkpoint of {size_3} bytes, {of_remove} for \
         each that was removed"
    );
    assert!((15..90).contains(&of_add), "{of_add} bytes for each file");
    assert!((10..of_add).contains(&of_remove), "{of_remove} bytes for each removed file");
    // What the checkpoints say is what the station sent.
    assert_eq!(publish(&new).rows, 0);
}

#[test]
fn a_checkpoint_grows_with_its_files_alone() {
    let most = sizes::count("lake_scale_files");
    // The growth between two counts is seen at night.
    for file_count in [most, most / 10].into_iter().take(sizes::count("lake_scale_counts")) {
        measure_checkpoints(file_count);
    }
}
