//! The workloads with an allocator that counts, to distinguish memory in use from memory that the
//! allocator keeps: `cargo bench --bench memory -- W5`. Its counters cost time, so figures of time
//! come from the bench `workloads`.

use std::alloc::System;

use stats_alloc::{INSTRUMENTED_SYSTEM, StatsAlloc};

#[path = "main.rs"]
mod workloads;

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

fn main() -> workloads::common::Res<()> {
    workloads::main()
}
