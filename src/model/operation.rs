//! The description of an operation in the API information of a service.

use crate::value::wire::record;

record! {
    /// Whether an operation is available, and its version.
    wire pub struct Operation {
        /// Whether it can be called.
        pub available: bool,
        /// Version of its interface.
        pub version: i32,
    }
}
