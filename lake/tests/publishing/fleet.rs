//! Eight stations publish to one lake under faults and crashes: no row is lost or doubled.
//!
//! `STATIONDB_CRASH_SEED` is the seed.

use crate::common::{objects, sizes};
use crate::eight_stations::fleet_loses_nothing;

#[test]
fn eight_stations_lose_and_double_nothing() {
    fleet_loses_nothing(&objects(), sizes::size("lake_batches") as i64);
}
