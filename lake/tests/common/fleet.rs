//! Eight stations that publish to one lake under faults and crashes.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use futures::StreamExt;
use object_store::memory::InMemory;
use object_store::{ObjectStore, ObjectStoreExt};
use serde_json::json;
use stationdb::faults::MemoryDisk;
use stationdb::prelude::*;
use stationdb::{Clock, Control, ManualClock, Store, SystemClock};
use stationdb_lake::OneRoot;
use stationdb_lake::faults::{Fault, FaultyStore, set_clock_back};

use crate::common::*;

const STATIONS: u64 = 8;

pub fn setting(name: &str) -> Option<i64> {
    std::env::var(name).ok().map(|text| text.parse().unwrap())
}

/// The number of batches: `STATIONDB_LAKE_BATCHES`, or one of these in the gate and at night.
pub fn batches(few: i64, at_night: i64) -> i64 {
    let usual = if setting("STATIONDB_NIGHT").is_some() { at_night } else { few };
    setting("STATIONDB_LAKE_BATCHES").unwrap_or(usual)
}

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

/// Publishes until it succeeds; a crash is followed by a new publisher, and sometimes by an earlier
/// time. Returns the crashes.
fn survive(
    store: &Store,
    clock: &mut StationClock,
    faulty: &Arc<FaultyStore>,
    objects: &Objects,
    kept: &mut stationdb_lake::Publisher,
    name: &str,
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
}

/// One station's life; returns its store and the sum of its values.
fn station(at: u64, lake: &Objects, batches: i64, counts: &Counts) -> (Store, f64) {
    let name = format!("station-{at}");
    let seed = setting("STATIONDB_CRASH_SEED").unwrap_or(1) as u64 * STATIONS + at;
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
    let mut sum = 0.0;
    for batch in 0..batches {
        match batch % 4 {
            // By up to a month.
            3 => clock.set_back(seed.wrapping_mul(7919 + batch as u64) % 2_592_000_000),
            _ => clock.store.advance_ms(60_000),
        }
        let rows = batch * 40..batch * 40 + 20 + at as i64;
        sum += rows.clone().map(|n| n as f64 * 0.5).sum::<f64>();
        append(&session, &tables[batch as usize % 2], rows);
        if batch % 3 == 0 {
            let product = json!({ "partNumber": format!("{name}-{batch}") });
            let made = session.create_products(vec![from(product)]).unwrap();
            assert!(made.error.is_none());
        }
        let crashes = survive(&store, &mut clock, &faulty, &objects, &mut kept, &name);
        counts.crashes.fetch_add(crashes, Ordering::Relaxed);
    }
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
    let Counts { crashes, faults, clocks } = counts;
    let (crashes, faults) = (crashes.into_inner(), faults.into_inner());
    println!("counted: {crashes} crashes");
    println!("counted: {faults} faults");
    println!("counted: {} clocks", clocks.into_inner());
    // Read from memory, because each station's check reads all.
    let lake: &Objects = &copied(lake);
    for (at, (store, _)) in stations.iter().enumerate() {
        equal(store, lake, &format!("station-{at}"));
    }
    // What the lake has, by the numbers that a reader counts.
    let mut counted: BTreeMap<String, (i64, f64)> = BTreeMap::new();
    for name in names(lake, "lake").into_iter().filter(|name| is_rows(name)) {
        let rows = table(lake, "lake", &name).rows;
        let places: std::collections::BTreeSet<_> =
            rows.iter().map(|row| (row["_table"].clone(), row["_row"].clone())).collect();
        assert_eq!(places.len(), rows.len(), "rows of {name} are there twice");
        for row in rows {
            let station = counted.entry(row["_station"].clone()).or_default();
            station.0 += 1;
            station.1 += row["value"].parse::<f64>().unwrap();
        }
    }
    for (at, (_, sum)) in stations.into_iter().enumerate() {
        let expected = (batches * (20 + at as i64), sum);
        assert_eq!(counted[&format!("station-{at}")], expected);
    }
    assert!(crashes as i64 >= batches / 2, "{crashes} crashes are too few to show anything");
    assert!(faults as i64 >= batches * 5, "{faults} faults are too few to show anything");
}
