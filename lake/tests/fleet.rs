//! Eight stations publish to one lake under faults and crashes: no row is lost or doubled.
//!
//! `STATIONDB_LAKE_BATCHES` is the number of batches of each station, 200 with `STATIONDB_NIGHT`;
//! `STATIONDB_CRASH_SEED` the seed.

mod common;
#[path = "common/fleet.rs"]
mod fleet;

use common::objects;
use fleet::{batches, fleet_loses_nothing};

#[test]
fn eight_stations_lose_and_double_nothing() {
    fleet_loses_nothing(&objects(), batches(12, 200));
}
