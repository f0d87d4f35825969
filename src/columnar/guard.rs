//! The one place where panics of the parsers below are caught: Arrow's and Parquet's, on bytes from outside.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};

thread_local! {
    static DEPTH: Cell<u32> = const { Cell::new(0) };
}

/// What `parse` returns, or `None` when it panicked. The state that `parse` worked on must not be used after that.
pub(super) fn guarded<T>(parse: impl FnOnce() -> T) -> Option<T> {
    DEPTH.with(|depth| depth.set(depth.get() + 1));
    let outcome = catch(parse);
    DEPTH.with(|depth| depth.set(depth.get().saturating_sub(1)));
    outcome
}

fn catch<T>(parse: impl FnOnce() -> T) -> Option<T> {
    #[cfg(any(test, fuzzing))]
    if IS_OFF.with(Cell::get) {
        return Some(parse());
    }
    catch_unwind(AssertUnwindSafe(parse)).ok()
}

#[cfg(any(test, fuzzing))]
thread_local! {
    static IS_OFF: Cell<bool> = const { Cell::new(false) };
}

/// Runs `f` as a host with `panic = "abort"` does: nothing on this thread is caught here.
#[cfg(any(test, fuzzing))]
pub fn unguarded<T>(f: impl FnOnce() -> T) -> T {
    /// Ends it after a panic, too.
    struct Guard;
    impl Drop for Guard {
        fn drop(&mut self) {
            IS_OFF.with(|is_off| is_off.set(false));
        }
    }
    IS_OFF.with(|is_off| is_off.set(true));
    let _guard = Guard;
    f()
}

/// Whether a panic on this thread would be caught here. A fuzzer's panic hook asks, since it sees panics first.
#[cfg(any(test, fuzzing))]
pub fn is_guarded() -> bool {
    DEPTH.with(Cell::get) > 0 && !IS_OFF.with(Cell::get)
}
