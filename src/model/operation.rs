//! What every service tells of its operations.

use crate::value::wire::record;

record! {
    /// Whether an operation is available, and its version.
    pub struct Operation {
        /// Whether it can be called.
        pub available: bool,
        /// Version of its interface.
        pub version: i32,
    }
}
