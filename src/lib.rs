//! stationdb
#![deny(missing_docs)]

mod disk;
mod error;
mod model;
mod records;
mod services;
mod session;
mod store;
mod value;

pub use error::{ApiError, Error, ErrorKind, Place, Result};
pub use session::{
    AccessPolicy, AllowAll, ChangeEvent, ChangeStream, Identity, Position, Session, Settings, Transaction, Visibility,
    What,
};
pub use store::{Store, StoreOptions};
pub use value::{Action, Clock, Control, ManualClock, Number, Patch, Progress, Service, SystemClock};
