//! What a call allocates.

use std::alloc::System;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use stats_alloc::{INSTRUMENTED_SYSTEM, StatsAlloc};

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

fn allocated() -> usize {
    let stats = INSTRUMENTED_SYSTEM.stats();
    stats.bytes_allocated.saturating_sub(stats.bytes_deallocated)
}

/// Runs a call, and returns how much more was allocated at a time than before it.
pub fn peak_of<T>(call: impl FnOnce() -> T) -> (T, usize) {
    let before = allocated();
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let watching = scope.spawn(|| {
            let mut most = 0;
            while !is_over.load(Ordering::SeqCst) {
                most = most.max(allocated());
                std::thread::sleep(Duration::from_micros(500));
            }
            most
        });
        let answer = call();
        is_over.store(true, Ordering::SeqCst);
        (answer, watching.join().unwrap().saturating_sub(before))
    })
}
