//! Eight stations that publish to one lake under faults and crashes.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use futures::StreamExt;
use object_store::memory::InMemory;
use object_store::{ObjectStore, ObjectStoreExt};
use serde_json::json;
use stationdb::faults::MemoryDisk;
use stationdb::prelude::*;
use stationdb::tables::TableId;
use stationdb::{Clock, Control, ManualClock, Store, SystemClock};
use stationdb_lake::OneRoot;
use stationdb_lake::faults::{Fault, FaultyStore, set_clock_back};

use crate::common::results::{assert_same_parts, measure, tested};
use crate::common::*;

const STATIONS: u64 = 8;

/// The objects of a lake, in memory.
pub fn copied(lake: &Objects) -> Objects {
    let copy: Objects = Arc::new(InMemory::new());
    wait(async {
        let mut all = lake.list(None);
        while let Some(object) = all.next().await {
            let path = object.unwrap().location;
            let bytes = lake.get(&path).await.unwrap().bytes().await.unwrap();
            copy.put(&path, bytes.into()).await.unwrap();
        }
    });
    copy
}

/// The clock of a station: of its store, and of the publishers that this thread calls.
struct StationClock {
    store: Arc<ManualClock>,
    behind_ms: u64,
    set_back: u64,
}

impl StationClock {
    fn new() -> Self {
        let store = Arc::new(ManualClock::new(SystemClock.now()));
        Self { store, behind_ms: 0, set_back: 0 }
    }

    fn set_back(&mut self, by_ms: u64) {
        self.behind_ms += by_ms;
        self.set_back += 1;
        self.store.advance_ms(-(by_ms as i64));
        set_clock_back(Duration::from_millis(self.behind_ms));
    }
}

/// The retention and the names of columns of a station's tables.
struct RetentionCounts {
    /// Rows of each table that the retention leaves, of those that the lake has.
    left: [u64; 2],
    retired: u64,
    renamed: u64,
}

impl RetentionCounts {
    /// Deletes the oldest rows of both tables by a retention.
    fn retire(&mut self, store: &Store, tables: &[TableId; 2], rows: u64) {
        for (id, left) in tables.iter().zip(&mut self.left) {
            let most = left.saturating_sub(rows).max(1);
            let has = ada(store).get_table_metadata(id).unwrap().row_count.unwrap() as u64;
            if most < *left {
                // Rows that the lake does not have yet stay.
                retire(store, id, most + has - *left);
                self.retired += *left - most;
                *left = most;
            }
        }
    }

    /// Gives the value another name, so that the rows are sent again.
    fn rename(&mut self, store: &Store, tables: &[TableId; 2]) {
        let name = |at: u64| if at == 0 { "value".to_owned() } else { format!("value{}", at % 3) };
        for id in tables {
            rename(&ada(store), id, &name(self.renamed), &name(self.renamed + 1));
        }
        self.renamed += 1;
    }
}

/// Publishes until it succeeds; a crash is followed by a new publisher, and sometimes by an earlier
/// time, or by a retention. Returns the crashes.
fn survive(
    store: &Store,
    clock: &mut StationClock,
    faulty: &Arc<FaultyStore>,
    objects: &Objects,
    kept: &mut stationdb_lake::Publisher,
    name: &str,
    crashed: &mut dyn FnMut(u64),
) -> u64 {
    for tries in 0.. {
        assert!(tries < 500, "{name} does not get through");
        match kept.publish(&Control::default()) {
            Ok(_) => return tries,
            Err(error) => {
                assert_eq!(error.kind(), stationdb::ErrorKind::Io, "{name}: {error}");
                faulty.restart();
                if tries % 3 == 1 {
                    clock.set_back(3_600_000);
                }
                crashed(tries);
                *kept = publisher(store, objects, OneRoot::new("lake"), name);
            }
        }
    }
    0
}

/// What happened to all stations.
#[derive(Debug, Default)]
struct Counts {
    crashes: AtomicU64,
    faults: AtomicU64,
    clocks: AtomicU64,
    retired: AtomicU64,
    renamed: AtomicU64,
}

/// Whether a station has a retention, and renames columns.
fn is_retiring(at: u64) -> bool {
    at % 2 == 1
}

/// One station's life; returns its store and the sum of its values.
fn station(at: u64, lake: &Objects, batches: i64, counts: &Counts) -> (Store, f64) {
    let name = format!("station-{at}");
    let seed = sizes::seed() * STATIONS + at;
    let faulty = Arc::new(FaultyStore::new(lake.clone(), seed));
    for (fault, rate) in [
        (Fault::AppliedButFailed, 30),
        (Fault::Delayed, 20),
        (Fault::Failed, 20),
        (Fault::CutUpload, 30),
        (Fault::StaleList, 200),
        (Fault::Crash, 10),
        (Fault::CrashAfter, 15),
    ] {
        faulty.rate(fault, rate);
    }
    let objects: Objects = faulty.clone();
    let mut clock = StationClock::new();
    let options = Store::options().maintenance_thread(false).seal_rows(500);
    let options = options.shared_clock(clock.store.clone());
    let store = options.open_disk(Arc::new(MemoryDisk::new())).unwrap();
    let session = ada(&store);
    let mut kept = publisher(&store, &objects, OneRoot::new("lake"), &name);
    let tables = [small_table(&session, "a", ""), small_table(&session, "b", "")];
    let (mut sum, mut results) = (0.0, Vec::new());
    let mut retiring = RetentionCounts { left: [0; 2], retired: 0, renamed: 0 };
    for batch in 0..batches {
        match batch % 4 {
            // By up to a month.
            3 => clock.set_back(seed.wrapping_mul(7919 + batch as u64) % 2_592_000_000),
            _ => clock.store.advance_ms(60_000),
        }
        let rows = batch * 40..batch * 40 + 20 + at as i64;
        sum += rows.clone().map(|n| n as f64 * 0.5).sum::<f64>();
        let added = 20 + at;
        append(&session, &tables[batch as usize % 2], rows);
        if batch % 3 == 0 {
            let product = json!({ "partNumber": format!("{name}-{batch}") });
            let made = session.create_products(vec![from(product)]).unwrap();
            assert!(made.error.is_none());
        }
        match batch % 4 {
            0 => results.push(tested(&session, "", &batch.to_string(), "PASSED")),
            1 => measure(
                &session,
                &results[batch as usize / 5 % results.len()],
                "deep",
                &batch.to_string(),
            ),
            3 if batch % 16 == 3 => {
                let gone = results.swap_remove(0);
                session.delete_result(&gone.as_str().into(), batch % 32 == 3).unwrap();
                results.push(tested(&session, "", "after it", "FAILED"));
            }
            _ => {}
        }
        if is_retiring(at) && batch > 0 {
            retiring.retire(&store, &tables, 3);
            retiring.rename(&store, &tables);
        }
        let mut crashed = |tries: u64| {
            if is_retiring(at) {
                retiring.retire(&store, &tables, 2);
                if tries % 4 == 2 {
                    retiring.rename(&store, &tables);
                }
            }
        };
        let crashes =
            survive(&store, &mut clock, &faulty, &objects, &mut kept, &name, &mut crashed);
        retiring.left[batch as usize % 2] += added;
        counts.crashes.fetch_add(crashes, Ordering::Relaxed);
    }
    counts.retired.fetch_add(retiring.retired, Ordering::Relaxed);
    counts.renamed.fetch_add(retiring.renamed, Ordering::Relaxed);
    counts.clocks.fetch_add(clock.set_back, Ordering::Relaxed);
    counts.faults.fetch_add(faulty.counts().values().sum(), Ordering::Relaxed);
    // Puts that are late come when everything is over.
    wait(faulty.settle());
    (store, sum)
}

/// Asserts that eight stations lose and double nothing in this lake.
pub fn fleet_loses_nothing(lake: &Objects, batches: i64) {
    let counts = Counts::default();
    let stations: Vec<(Store, f64)> = std::thread::scope(|scope| {
        let counts = &counts;
        let begin = |at| scope.spawn(move || station(at, lake, batches, counts));
        let threads: Vec<_> = (0..STATIONS).map(begin).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    let Counts { crashes, faults, clocks, retired, renamed } = counts;
    let (crashes, faults) = (crashes.into_inner(), faults.into_inner());
    let (retired, renamed) = (retired.into_inner(), renamed.into_inner());
    println!("counted: {crashes} crashes");
    println!("counted: {faults} faults");
    println!("counted: {retired} retired rows");
    println!("counted: {renamed} renamed columns");
    println!("counted: {} clocks", clocks.into_inner());
    // Read from memory, because each station's check reads all.
    let lake: &Objects = &copied(lake);
    let name = |at: usize| format!("station-{at}");
    for (at, (store, sum)) in stations.iter().enumerate() {
        let (session, name) = (ada(store), name(at));
        assert_same_records(&session, lake, "lake", &name, |_| true);
        assert_same_parts(&session, lake, "lake", &name, |_| true);
        // Each row that was appended, also those that the station has no more.
        let (live, own) = (live_rows(lake, "lake", &name), store_rows(&session, |_| true));
        let lost: Vec<_> = own.keys().filter(|key| !live.contains_key(*key)).take(5).collect();
        assert!(lost.is_empty(), "{name} lost {lost:?}");
        own.iter().for_each(|(key, row)| assert_eq!(row, &live[key], "{name} {key:?}"));
        let value = |row: &Row| -> f64 {
            let mut cells = row.iter().filter(|(name, _)| name.starts_with("value"));
            cells.next().unwrap().1.parse().unwrap()
        };
        let found = (live.len() as i64, live.values().map(value).sum::<f64>());
        assert_eq!(found, (batches * (20 + at as i64), *sum), "{name}");
        assert!(is_retiring(at as u64) || live.len() == own.len(), "{name} has more");
    }
    // Without a statement of deleted rows, no row of the others is in a file twice.
    for lake_table in names(lake, "lake").into_iter().filter(|name| is_rows(name)) {
        let is_plain = |row: &&Row| {
            (0..STATIONS).any(|at| !is_retiring(at) && row["_station"] == name(at as usize))
        };
        let rows = table(lake, "lake", &lake_table).rows;
        let places: Vec<_> =
            rows.iter().filter(is_plain).map(|row| (&row["_table"], &row["_row"])).collect();
        let each: std::collections::BTreeSet<_> = places.iter().collect();
        assert_eq!(each.len(), places.len(), "rows of {lake_table} are there twice");
    }
    // Those of the first batch are not in the lake before it is complete.
    assert!(retired as i64 >= batches - 1, "{retired} retired rows are too few to show anything");
    assert!(renamed as i64 >= batches / 3, "{renamed} renames are too few to show anything");
    assert!(crashes as i64 >= batches / 2, "{crashes} crashes are too few to show anything");
    assert!(faults as i64 >= batches * 5, "{faults} faults are too few to show anything");
}
