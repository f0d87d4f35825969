//! A day of ten stations.

use std::path::Path;
use std::sync::Arc;

use serde_json::{Value, json};
use stationdb::prelude::*;
use stationdb::results::ResultWithSteps;
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
/// Rows of the gain of one unit.
const UNIT_ROWS: usize = 8;

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
    ]);
    session.create_table(request(&json!({ "name": "gain", "columns": columns }))?)
}

fn products(station: usize) -> [String; 2] {
    [format!("AMP-{}", station % 3), format!("AMP-{}", (station + 1) % 3)]
}

/// A place in the day.
#[derive(Clone, Copy)]
struct Hour {
    station: usize,
    hour: usize,
    rows: usize,
}

impl Hour {
    /// The gain at a row of the hour. It drifts with the day, and each station has outliers of its
    /// own.
    fn gain(self, at: usize) -> f64 {
        let second = at * 3600 / self.rows.max(1);
        let drift = (self.hour * 3600 + second) as f64 / (HOURS * 3600) as f64;
        let wave = ((at * (self.station + 3)) as f64 * 0.013).sin();
        let outlier = if at % 97 < self.station / 3 { 2.4 } else { 0.0 };
        19.6 + 0.8 * drift + 0.5 * wave + outlier
    }

    fn time(self, at: usize) -> String {
        let second = at * 3600 / self.rows.max(1);
        format!("2026-01-05T{:02}:{:02}:{:02}Z", 8 + self.hour, second / 60 % 60, second % 60)
    }
}

/// A unit that was tested, with the highest of its gains.
struct Unit {
    product: String,
    serial: String,
    gain: f64,
}

/// An hour of measurements at even times, and the units that were tested.
fn measure(session: &Session, table: &TableId, hour: Hour) -> Result<Vec<Unit>> {
    let product = |at: usize| products(hour.station)[at / UNIT_ROWS % 2].clone();
    let row = |at: usize| json!([hour.time(at), product(at), hour.gain(at).to_string()]);
    let data: Vec<Value> = (0..hour.rows).map(row).collect();
    session.append_table_data(table, request(&json!({ "frame": { "data": data } }))?)?;
    let unit = |first: usize| Unit {
        product: product(first),
        serial: format!("{}-{}-{}", hour.station, hour.hour, first / UNIT_ROWS),
        gain: (first..first + UNIT_ROWS).map(|at| hour.gain(at)).fold(f64::MIN, f64::max),
    };
    Ok((0..hour.rows / UNIT_ROWS).map(|at| unit(at * UNIT_ROWS)).collect())
}

/// Stores a result with its measurement for each unit, and returns those that failed.
fn judge(session: &Session, hour: Hour, units: Vec<Unit>, is_retest: bool) -> Result<Vec<Unit>> {
    let tested = |(at, unit): (usize, &Unit)| -> Result<ResultWithSteps> {
        let status = if unit.gain < LIMIT { ["PASSED", "Passed"] } else { ["FAILED", "Failed"] };
        // What failed at another station is tested at the end of the hour.
        let time = if is_retest { hour.rows.saturating_sub(1) } else { at * UNIT_ROWS };
        let result = json!({ "programName": "Gain", "partNumber": unit.product,
            "serialNumber": unit.serial, "startedAt": hour.time(time),
            "hostName": format!("station-{}", hour.station), "status": { "statusType": status[0] } });
        let gain = json!({ "name": "gain", "measurement": unit.gain.to_string(), "units": "dB",
            "highLimit": LIMIT.to_string(), "comparisonType": "LT", "status": status[1] });
        let step = json!({ "name": "Gain", "stepType": "NumericLimitTest",
            "status": { "statusType": status[0] }, "data": { "parameters": [gain] } });
        Ok(ResultWithSteps::new(request(&result)?).step(request(&step)?))
    };
    let results = units.iter().enumerate().map(tested).collect::<Result<Vec<_>>>()?;
    for results in results.chunks(500) {
        let _ = session.append_results(results)?.into_result()?;
    }
    Ok(units.into_iter().filter(|unit| unit.gain >= LIMIT).collect())
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
    // What failed at a station is tested once more, with another adapter, at the next one.
    let mut again: Vec<Unit> = Vec::new();
    for hour in 0..HOURS {
        let (mut sent, mut bytes, mut offline) = ([0, 0], 0, 0);
        for station in 0..STATIONS {
            let store = Store::open(place(station))?;
            let session = store.session(Identity::user("operator"));
            let known = session.list_tables(Default::default())?;
            let table = match known.tables.first().and_then(|table| table.id.clone()) {
                Some(table) => table,
                None => create(&session, station)?,
            };
            let hours = Hour { station, hour, rows: rows_an_hour };
            let units = measure(&session, &table, hours)?;
            for unit in &mut again {
                unit.gain -= 1.5;
            }
            // A unit is tested twice at most.
            judge(&session, hours, std::mem::take(&mut again), true)?;
            again = judge(&session, hours, units, false)?;
            if station == 3 && hour == 2 {
                store.backup(&backup, &control)?;
            }
            // Every third station has no network until the last hour.
            if station % 3 == 2 && hour + 1 < HOURS {
                offline += 1;
                continue;
            }
            let published = publisher(&store, &objects, station)?.publish(&control)?;
            sent[0] += published.rows;
            sent[1] += published.measurements;
            bytes += published.bytes;
        }
        let hour = hour + 9;
        let [rows, tested] = sent;
        println!(
            "{hour:02}:00  {rows:>8} rows, {tested:>6} measurements, {bytes:>9} bytes sent; \
             {offline} stations offline"
        );
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
