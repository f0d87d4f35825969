//! The one place where panics of the parsers below are caught: Arrow's and Parquet's, on bytes from outside.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};

thread_local! {
    static DEPTH: Cell<u32> = const { Cell::new(0) };
}

/// What `parse` returns, or `None` when it panicked. The state that `parse` worked on must not be used after that.
pub(super) fn guarded<T>(parse: impl FnOnce() -> T) -> Option<T> {
    DEPTH.with(|depth| depth.set(depth.get() + 1));
    let outcome = catch_unwind(AssertUnwindSafe(parse));
    DEPTH.with(|depth| depth.set(depth.get().saturating_sub(1)));
    outcome.ok()
}

/// Whether a panic on this thread would be caught here. A fuzzer's panic hook asks, since it sees panics first.
#[cfg(any(test, fuzzing))]
pub fn is_guarded() -> bool {
    DEPTH.with(Cell::get) > 0
}
