//! Which store publishes under which name, as the log of `batches` says.
//!
//! Rows are told apart by the name of the station, and positions by the store. So a store has one
//! name in a lake, and a name belongs to one store: otherwise rows would be there twice, and the
//! ordinals of two stores would be taken for those of one.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use stationdb::{Error, Result};

use crate::clock::now_ms;

/// First part of every application id.
const STORE: &str = "stationdb/";
/// Part of the application id that names a station.
pub(crate) const STATION: &str = "/station/";

/// Names of stations by the application ids of their stores.
#[derive(Clone, Debug, Default)]
pub(crate) struct Stations(BTreeMap<String, String>);

impl Stations {
    /// Takes over an application id; of two names of a store the first counts.
    pub(crate) fn take(&mut self, app_id: &str) {
        let is_ours = app_id.starts_with(STORE);
        if let Some((app, name)) = app_id.split_once(STATION).filter(|_| is_ours) {
            self.0.entry(app.to_owned()).or_insert_with(|| name.to_owned());
        }
    }

    /// Whether the store has this name.
    pub(crate) fn has(&self, app: &str, station: &str) -> bool {
        self.0.get(app).is_some_and(|name| name == station)
    }

    /// Refuses a name that another store has, and a store that has another name.
    ///
    /// # Errors
    /// `Conflict`.
    pub(crate) fn check(&self, app: &str, station: &str) -> Result<()> {
        if let Some(name) = self.0.get(app).filter(|name| *name != station) {
            return Err(Error::conflict(format!(
                "the store is in the lake as the station {name}, so its rows would be there twice \
                 as {station}; publish it as {name}"
            )));
        }
        let other = self.0.iter().find(|(store, name)| *name == station && *store != app);
        match other {
            None => Ok(()),
            Some((store, _)) => Err(Error::conflict(format!(
                "the station {station} of the lake is the store {}; publish this one under another \
                 name",
                store.strip_prefix(STORE).unwrap_or(store)
            ))),
        }
    }
}

/// Says that the store publishes under this name.
pub(crate) fn named(app: &str, station: &str) -> Value {
    let id = format!("{app}{STATION}{station}");
    json!({ "txn": { "appId": id, "version": 1, "lastUpdated": now_ms() } })
}
