//! stationdb
