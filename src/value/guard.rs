//! The one place where a panic of an engine becomes an error.
//!
//! redb, tantivy and Arrow panic on damaged bytes. What must hold: where possible, code of the host
//! (the closure of a transaction, its readers, writers and iterators) does not run inside a guard,
//! so that a panic of the host is not reported as damage of the store.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::error::{Error, Result};

/// Runs `f`; a panic inside becomes a `Corrupt` error. After an error, the state that `f` changed
/// must be dropped without further use.
pub(crate) fn guarded<T>(attempt: &str, f: impl FnOnce() -> Result<T>) -> Result<T> {
    match catch_unwind(AssertUnwindSafe(f)) {
        Ok(result) => result,
        Err(panic) => Err(failure(attempt, &*panic)),
    }
}

#[cold]
fn failure(attempt: &str, panic: &(dyn Any + Send)) -> Error {
    let text = panic
        .downcast_ref::<String>()
        .map(String::as_str)
        .or_else(|| panic.downcast_ref::<&str>().copied())
        .unwrap_or("no message");
    Error::corrupt(format!("{attempt}: internal error in the storage engine: {text}"))
}

/// Drops `value`; a panic of its `drop` becomes a `Corrupt` error.
///
/// When called from a `drop`, it prevents a second panic from aborting the process while a first
/// one unwinds.
pub(crate) fn drop_guarded<T>(attempt: &str, value: T) -> Result<()> {
    guarded(attempt, || {
        drop(value);
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ErrorKind;

    struct Bomb;

    impl Drop for Bomb {
        fn drop(&mut self) {
            panic!("while it was dropped");
        }
    }

    struct Box(Option<Bomb>);

    impl Drop for Box {
        fn drop(&mut self) {
            let error = drop_guarded("dropping", self.0.take()).unwrap_err();
            assert!(error.message().contains("while it was dropped"), "{error}");
        }
    }

    #[test]
    fn a_panic_while_another_one_unwinds_does_not_end_the_process() {
        let error = guarded("reading", || -> Result<()> {
            let _two = [Box(Some(Bomb)), Box(Some(Bomb))];
            panic!("the first")
        })
        .unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Corrupt);
        assert!(error.message().contains("the first"), "{error}");
    }
}
