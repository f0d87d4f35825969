//! Ten stations publish a day's work to one lake in a directory. Some are offline for a while, and
//! one is restored from an old backup and refused until it is rebased.
//!
//! ```sh
//! cargo run -p stationdb-lake --example fleet -- DIRECTORY
//! ```
//!
//! DIRECTORY must not exist; the lake is in DIRECTORY/lake afterwards, for any reader of Delta.

use std::path::Path;
use std::sync::Arc;

use serde_json::{Value, json};
use stationdb::prelude::*;
use stationdb::tables::TableId;
use stationdb::{Control, Error, ErrorKind, Identity, Result, Session, Store, from_json};
use stationdb_lake::object_store::local::LocalFileSystem;
use stationdb_lake::{OneRoot, Publisher};

const STATIONS: usize = 10;
const HOURS: usize = 8;
const ROWS_AN_HOUR: usize = 2_000;

fn request<T: serde::de::DeserializeOwned>(value: &Value) -> Result<T> {
    from_json(value.to_string().as_bytes())
}

fn create(session: &Session, station: usize) -> Result<TableId> {
    let product = json!({ "partNumber": format!("AMP-{}", station % 3), "family": "amplifier" });
    session.create_products(vec![request(&product)?])?.require_all()?;
    let columns = json!([
        { "name": "t", "dataType": "TIMESTAMP", "columnType": "INDEX" },
        { "name": "serial", "dataType": "INT32" },
        { "name": "gain dB", "dataType": "FLOAT64" },
        { "name": "passed", "dataType": "BOOL" },
    ]);
    session.create_table(request(&json!({ "name": "gain", "columns": columns }))?)
}

/// An hour of measurements: one a second, of which a few are outside of the limits.
fn measure(session: &Session, table: &TableId, station: usize, hour: usize) -> Result<()> {
    let row = |second: usize| {
        let wave = ((second * (station + 3)) as f64 * 0.013).sin();
        let gain = 20.0 + wave + if second % 97 == station { 3.0 } else { 0.0 };
        let at = format!("2026-01-05T{:02}:{:02}:{:02}Z", 8 + hour, second / 60 % 60, second % 60);
        json!([at, (second / 10).to_string(), gain.to_string(), (gain < 22.0).to_string()])
    };
    let data: Vec<Value> = (0..ROWS_AN_HOUR).map(row).collect();
    session.append_table_data(table, request(&json!({ "frame": { "data": data } }))?)
}

fn publisher(store: &Store, objects: &Arc<LocalFileSystem>, station: usize) -> Result<Publisher> {
    let who = Identity::user("publisher");
    let name = format!("station-{station}");
    Publisher::new(store, who, objects.clone(), OneRoot::new("lake"), &name)
}

fn day(directory: &Path) -> Result<()> {
    let create_directory = |path: &Path| {
        std::fs::create_dir_all(path).map_err(|error| Error::io("creating a directory", error))
    };
    create_directory(directory)?;
    let objects = LocalFileSystem::new_with_prefix(directory)
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
            let known = known.tables.first().and_then(|table| table.id.clone());
            let table = match known {
                Some(table) => table,
                None => create(&session, station)?,
            };
            measure(&session, &table, station, hour)?;
            if station == 3 && hour == 2 {
                store.backup(&backup, &control)?;
            }
            // Every third station has no network for most of the day.
            if station % 3 == 2 && hour + 1 < HOURS {
                offline += 1;
                continue;
            }
            let published = publisher(&store, &objects, station)?.publish(&control)?;
            rows += published.rows;
            bytes += published.bytes;
        }
        println!(
            "{:02}:00  {rows:>7} rows, {:>8} bytes sent; {offline} stations offline",
            9 + hour,
            bytes
        );
    }
    // Station 3 loses its disk, and is restored from the backup of the morning.
    let restored = directory.join("station-3-restored");
    Store::restore(&backup, &restored, &control)?;
    let store = Store::open(&restored)?;
    let publisher = publisher(&store, &objects, 3)?;
    match publisher.publish(&control) {
        Err(error) if error.kind() == ErrorKind::Conflict => {
            println!("station-3 is refused: {error}");
        }
        Err(error) => return Err(error),
        Ok(_) => return Err(Error::conflict("the restored station was not noticed")),
    }
    publisher.rebase(&control)?;
    let published = publisher.publish(&control)?;
    println!("station-3 after a rebase: {} rows sent again", published.rows);
    let status = publisher.status(&control)?;
    println!("{status:#?}");
    println!("the lake is in {}", directory.join("lake").display());
    Ok(())
}

fn main() -> Result<()> {
    let Some(directory) = std::env::args().nth(1) else {
        return Err(Error::invalid("name a directory: fleet DIRECTORY"));
    };
    day(Path::new(&directory))
}
