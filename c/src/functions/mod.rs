//! The exported functions, which `stationdb.h` and `stationdb_arrow.h` document.

mod aggregates;
mod append;
mod arrow;
mod changes;
mod controls;
mod files;
mod reads;
mod records;
mod rows;
mod sessions;
mod sets;
mod sql;
mod stores;
mod subscribers;
mod texts;
mod waveforms;
