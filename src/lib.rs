//! stationdb
#![deny(missing_docs)]

mod disk;
mod error;
mod model;
mod records;
mod value;

pub use error::{ApiError, Error, ErrorKind, Place, Result};
pub use value::{Clock, Control, Number, Patch, Progress};
