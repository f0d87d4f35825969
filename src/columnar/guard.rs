//! The only place that catches panics of Arrow's and Parquet's parsers on external bytes.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};

thread_local! {
    static DEPTH: Cell<u32> = const { Cell::new(0) };
}

/// Returns the result of `parse`, or `None` if it panicked. After a panic the state that `parse`
/// changed must not be used.
pub fn guarded<T>(parse: impl FnOnce() -> T) -> Option<T> {
    let (mut parse, mut outcome) = (Some(parse), None);
    catch(&mut || outcome = parse.take().map(|parse| parse()));
    outcome
}

/// Calls `parse`, and catches its panic.
fn catch(parse: &mut dyn FnMut()) {
    DEPTH.with(|depth| depth.set(depth.get() + 1));
    #[cfg(any(test, feature = "fuzzing"))]
    let is_off = IS_OFF.with(Cell::get);
    #[cfg(not(any(test, feature = "fuzzing")))]
    let is_off = false;
    if is_off {
        parse();
    } else {
        let _ = catch_unwind(AssertUnwindSafe(parse));
    }
    DEPTH.with(|depth| depth.set(depth.get().saturating_sub(1)));
}

#[cfg(any(test, feature = "fuzzing"))]
thread_local! {
    static IS_OFF: Cell<bool> = const { Cell::new(false) };
}

/// Runs `f` without catching panics on this thread, as in a host with `panic = "abort"`.
#[cfg(any(test, feature = "fuzzing"))]
pub fn unguarded<T>(f: impl FnOnce() -> T) -> T {
    /// Catches panics again at the end, also after a panic.
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

/// Whether a panic on this thread would be caught here. The panic hook of a fuzzer needs to know,
/// because it runs before the catch.
#[cfg(any(test, feature = "fuzzing"))]
pub(crate) fn is_guarded() -> bool {
    DEPTH.with(Cell::get) > 0 && !IS_OFF.with(Cell::get)
}
