//! The commands and the shell through the built program, on small stores.

mod bench;
mod files;
#[cfg(feature = "lake")]
mod lake;
mod look;
mod openhtf;
mod operations;
mod other_ways;
#[path = "../../../tests/common/package.rs"]
mod package;
mod records;
mod results;
mod rows;
mod scripts;
#[cfg(unix)]
mod signals;
#[cfg(feature = "sql")]
mod sql;
#[cfg(unix)]
mod terminal;
mod upkeep;
mod wrong;
