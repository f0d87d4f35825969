//! Where the work of an exported function ends: its code, its error, and its panic.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use crate::failure::{Failure, Outcome};
use crate::memory::Out;
use crate::registry::{self, Object};

fn of_panic(panic: &(dyn Any + Send)) -> Failure {
    let text = panic.downcast_ref::<&str>().copied();
    let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    Failure::internal(text.unwrap_or("a panic"))
}

/// Does the work of a function. Returns its code, and a handle of its error at `error`.
///
/// No panic leaves it, because the caller's frames cannot be unwound.
pub fn guard(error: Out<u64>, work: impl FnOnce() -> Outcome<()>) -> i32 {
    error.set(0);
    let done = match catch_unwind(AssertUnwindSafe(work)) {
        Ok(done) => done,
        Err(panic) => {
            let failure = of_panic(&*panic);
            // The payload of a panic may panic when it is dropped.
            let _ = catch_unwind(AssertUnwindSafe(|| drop(panic)));
            Err(failure)
        }
    };
    let Err(failure) = done else { return 0 };
    let code = failure.code;
    if !error.is_null() {
        let put =
            catch_unwind(AssertUnwindSafe(|| registry::put(Object::Error(Arc::new(failure)))));
        // Without room for one more handle the code alone is told.
        if let Ok(Ok(handle)) = put {
            error.set(handle);
        }
    }
    code
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::failure::INTERNAL;

    #[test]
    fn a_panic_is_an_error_with_its_text() {
        struct Bad;
        impl Drop for Bad {
            fn drop(&mut self) {
                panic!("again");
            }
        }
        let (code, failure) = told(|| panic!("number {}", 7));
        assert_eq!(code, INTERNAL);
        assert!(failure.unwrap().error.message().contains("number 7; report it"));
        let (code, _) = told(|| std::panic::panic_any(Bad));
        assert_eq!(code, INTERNAL);
        let (code, failure) = told(|| Ok(()));
        assert_eq!((code, failure.is_none()), (0, true));
        // Nobody has to ask for the error.
        assert_eq!(guard(Out::null(), || Err(Failure::internal("x"))), INTERNAL);
    }

    fn told(work: impl FnOnce() -> Outcome<()>) -> (i32, Option<Arc<Failure>>) {
        let mut handle = 9;
        let code = guard(Out::to(&mut handle), work);
        (code, (handle != 0).then(|| registry::failure(handle).unwrap()))
    }
}
