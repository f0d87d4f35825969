//! The C interface of `stationdb`: flat functions over handles, for C, C++, C#, LabVIEW and
//! whatever else calls C. `include/stationdb.h` documents every function, and `docs/c.md` the
//! whole.
//!
//! A handle is a number and no pointer (`registry`), so that a null, freed or foreign handle is an
//! error and never undefined behaviour. What a pointer of the caller leads to is read and written
//! in `memory` and `arrow` alone. A panic ends the call with an error (`guard`), and nothing is
//! kept for each thread.
#![deny(missing_docs)]
#![cfg_attr(not(test), warn(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

#[macro_use]
mod export;
mod arrow;
mod caller;
mod cells;
mod changes;
mod content;
mod control;
mod failure;
mod functions;
mod guard;
mod json;
mod lock;
mod memory;
mod numbers;
mod open;
mod registry;
mod rows;
mod target;
