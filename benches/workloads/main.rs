//! The workloads that a user would measure before choosing this store over a database, a file
//! format or plain files.
//!
//! `cargo bench --bench workloads -- W3 W5` prints one JSON line for each figure, in the form of
//! the peers' own programs, so that one run can compare both (`benches/project` is the command for
//! that). `cargo bench --bench workloads -- --test` runs every workload in a small size, asserts
//! every answer, and prints nothing.

mod aggregates;
mod calls;
pub mod common;
mod measurements;
mod open;
mod w1;
mod w10;
mod w2;
#[cfg(feature = "faults")]
mod w2_disk;
mod w3;
mod w4;
mod w5;
mod w6;
mod w7;
mod w8;
mod w9;
mod words;

use common::{Res, Scale};

/// A workload: its name and its function.
type Workload = (&'static str, fn(&Scale) -> Res<()>);

const WORKLOADS: &[Workload] = &[
    ("W1", w1::run),
    ("W2", w2::run),
    #[cfg(feature = "faults")]
    ("W2D", w2_disk::run),
    ("W3", w3::run),
    ("W4", w4::run),
    ("W4L", w4::run_large),
    ("W5", w5::run),
    ("W6", w6::run),
    ("W7", w7::run),
    ("W8", w8::run),
    ("W9", w9::run),
    ("W10", w10::run),
    ("OPEN", open::run),
    ("CALLS", calls::run),
];

pub fn main() -> Res<()> {
    if let Some(outcome) = open::child().or_else(w9::child) {
        return outcome;
    }
    let arguments: Vec<String> =
        std::env::args().skip(1).filter(|argument| argument != "--bench").collect();
    if arguments.iter().any(|argument| argument == "--test") {
        let scratch = tempfile::tempdir()?;
        return WORKLOADS.iter().try_for_each(|(_, run)| run(&Scale::small(scratch.path())));
    }
    let scale = Scale::from_environment()?;
    for (name, run) in WORKLOADS {
        if arguments.is_empty() || arguments.iter().any(|argument| argument == name) {
            run(&scale)?;
        }
    }
    Ok(())
}
