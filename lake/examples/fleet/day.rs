//! A day of ten stations.

use std::path::Path;
use std::sync::Arc;

use serde_json::{Value, json};
use stationdb::prelude::*;
use stationdb::tables::{TableId, TableMetadata};
use stationdb::{Control, Error, ErrorKind, Identity, Result, Session, Store, from_json};
use stationdb_lake::object_store::local::LocalFileSystem;
use stationdb_lake::object_store::path::Path as LakePath;
use stationdb_lake::{LakeTable, Layout, Publisher};

/// The root of all in the object store.
pub const ROOT: &str = "plant";
const STATIONS: usize = 10;
const HOURS: usize = 8;
/// The gain in dB above which an amplifier fails.
pub const LIMIT: f64 = 22.0;

/// Everything goes to one root, and the measured gains of all stations to one lake table.
struct Plant;

impl Layout for Plant {
    fn roots(&self) -> Vec<LakePath> {
        vec![ROOT.into()]
    }

    fn root(&self, _workspace: &str) -> Option<LakePath> {
        Some(ROOT.into())
    }

    fn rows(&self, _table: &TableMetadata) -> Option<LakeTable> {
        Some(LakeTable::named("gain"))
    }
}

fn request<T: serde::de::DeserializeOwned>(value: &Value) -> Result<T> {
    from_json(value.to_string().as_bytes())
}

/// The products that a station tests, and the table of its measurements.
fn create(session: &Session, station: usize) -> Result<TableId> {
    for product in products(station) {
        let family = if product.ends_with('0') { "low noise" } else { "power" };
        let product = json!({ "partNumber": product, "family": family });
        session.create_products(vec![request(&product)?])?.require_all()?;
    }
    let columns = json!([
        { "name": "t", "dataType": "TIMESTAMP", "columnType": "INDEX" },
        { "name": "product", "dataType": "STRING" },
        { "name": "gain_db", "dataType": "FLOAT64" },
        { "name": "passed", "dataType": "BOOL" },
    ]);
    session.create_table(request(&json!({ "name": "gain", "columns": columns }))?)
}

fn products(station: usize) -> [String; 2] {
    [format!("AMP-{}", station % 3), format!("AMP-{}", (station + 1) % 3)]
}

/// An hour of measurements at even times. The gain drifts with the day, and each station has outliers
/// of its own.
fn measure(
    session: &Session,
    table: &TableId,
    station: usize,
    hour: usize,
    rows: usize,
) -> Result<()> {
    let row = |at: usize| {
        let second = at * 3600 / rows.max(1);
        let drift = (hour * 3600 + second) as f64 / (HOURS * 3600) as f64;
        let wave = ((at * (station + 3)) as f64 * 0.013).sin();
        let outlier = if at % 97 < station / 3 { 2.4 } else { 0.0 };
        let gain = 19.6 + 0.8 * drift + 0.5 * wave + outlier;
        let time =
            format!("2026-01-05T{:02}:{:02}:{:02}Z", 8 + hour, second / 60 % 60, second % 60);
        let product = &products(station)[at / 10 % 2];
        json!([time, product, gain.to_string(), (gain < LIMIT).to_string()])
    };
    let data: Vec<Value> = (0..rows).map(row).collect();
    session.append_table_data(table, request(&json!({ "frame": { "data": data } }))?)
}

fn publisher(store: &Store, objects: &Arc<LocalFileSystem>, station: usize) -> Result<Publisher> {
    let name = format!("station-{station}");
    Publisher::new(store, Identity::user("publisher"), objects.clone(), Plant, &name)
}

/// Measures and publishes, hour by hour.
pub fn work(directory: &Path, rows_an_hour: usize) -> Result<()> {
    let objects = LocalFileSystem::new_with_prefix(directory.join("lake"))
        .map_err(|error| Error::io("opening the lake", std::io::Error::other(error)))?;
    let (objects, control) = (Arc::new(objects), Control::default());
    let place = |station: usize| directory.join(format!("station-{station}"));
    let backup = directory.join("backup");
    for hour in 0..HOURS {
        let (mut rows, mut bytes, mut offline) = (0, 0, 0);
        for station in 0..STATIONS {
            let store = Store::open(place(station))?;
            let session = store.session(Identity::user("operator"));
            let known = session.list_tables(Default::default())?;
            let table = match known.tables.first().and_then(|table| table.id.clone()) {
                Some(table) => table,
                None => create(&session, station)?,
            };
            measure(&session, &table, station, hour, rows_an_hour)?;
            if station == 3 && hour == 2 {
                store.backup(&backup, &control)?;
            }
            // Every third station has no network until the last hour.
            if station % 3 == 2 && hour + 1 < HOURS {
                offline += 1;
                continue;
            }
            let published = publisher(&store, &objects, station)?.publish(&control)?;
            rows += published.rows;
            bytes += published.bytes;
        }
        let hour = hour + 9;
        println!("{hour:02}:00  {rows:>8} rows, {bytes:>9} bytes sent; {offline} stations offline");
    }
    restored(directory, &objects, &backup)
}

/// Station 3 loses its disk, and is restored from the backup of the morning. The lake knows more of
/// it than it knows itself, so nothing that it sends now can be right.
fn restored(directory: &Path, objects: &Arc<LocalFileSystem>, backup: &Path) -> Result<()> {
    let place = directory.join("station-3-restored");
    Store::restore(backup, &place, &Control::default())?;
    let store = Store::open(&place)?;
    match publisher(&store, objects, 3)?.publish(&Control::default()) {
        Err(error) if error.kind() == ErrorKind::Conflict => {
            println!("\nstation-3, restored from a backup, is refused: {error}");
            Ok(())
        }
        Err(error) => Err(error),
        Ok(_) => Err(Error::conflict("the restored station was not noticed")),
    }
}
