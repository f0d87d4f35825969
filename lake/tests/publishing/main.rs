//! What publishers send, and what importers and readers see of it: one program, so that what they
//! share is compiled and linked once.

mod checkpoints;
mod columns;
#[path = "../common/mod.rs"]
mod common;
#[path = "../common/fleet.rs"]
mod eight_stations;
mod equality;
mod fleet;
mod hidden;
mod import;
#[path = "../common/large.rs"]
mod large;
mod lists;
#[path = "../../../tests/common/package.rs"]
mod package;
mod protocol;
mod readers;
mod retention;
mod s3;
#[path = "../common/s3.rs"]
mod server;
mod splices;
mod stations;
mod steps;
mod uploads;

use common::Objects;
