//! Imports of the records that test programs write into a store.
//!
//! [`openhtf`] reads the records of `OpenHTF`.
#![deny(missing_docs)]
#![cfg_attr(not(test), warn(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

pub mod openhtf;
