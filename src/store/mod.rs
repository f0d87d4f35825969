//! Opening and closing a store, and everything that is done to a store as a whole.

mod format;
mod lock;
mod open;

pub use open::{Store, StoreOptions};
