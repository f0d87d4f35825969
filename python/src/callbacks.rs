//! Code of the caller that runs inside a call of the library: callbacks of progress, readers of
//! rows, file objects. It must not wait for the end of the call that it is a part of.

use std::cell::Cell;

thread_local! {
    static DEPTH: Cell<u32> = const { Cell::new(0) };
}

/// Runs code of the caller.
pub fn inside<T>(work: impl FnOnce() -> T) -> T {
    struct Back(u32);
    impl Drop for Back {
        fn drop(&mut self) {
            DEPTH.set(self.0);
        }
    }
    let _back = Back(DEPTH.get());
    DEPTH.set(DEPTH.get().saturating_add(1));
    work()
}

/// Whether code of the caller runs inside a call on this thread.
pub fn is_inside() -> bool {
    DEPTH.get() > 0
}
