//! The members of a request that a reader ignores, collected for the readers that tell them.

use std::cell::RefCell;

use crate::error::Result;

/// A member of a request that the reader ignored.
pub(super) struct IgnoredMember {
    /// Its path in the request.
    pub(super) path: String,
    pub(super) name: String,
    /// The members that the object may have.
    pub(super) known: &'static [&'static str],
}

/// What one reading collects.
#[derive(Default)]
struct Reading {
    /// The names and `[index]`es that lead to the value that is being read.
    path: Vec<String>,
    ignored: Vec<IgnoredMember>,
}

thread_local! {
    /// The reading of this thread; `None` unless ignored members are collected.
    static READING: RefCell<Option<Reading>> = const { RefCell::new(None) };
}

fn with(f: impl FnOnce(&mut Reading)) -> bool {
    READING.with_borrow_mut(|reading| reading.as_mut().map(f).is_some())
}

/// Leaves a value when it is dropped.
pub(super) struct ValueScope(bool);

impl Drop for ValueScope {
    fn drop(&mut self) {
        if self.0 {
            with(|reading| drop(reading.path.pop()));
        }
    }
}

/// Enters the value of a member.
pub(super) fn inside(name: &str) -> ValueScope {
    ValueScope(with(|reading| reading.path.push(name.to_owned())))
}

/// Enters an item of a list.
pub(super) fn inside_item(index: usize) -> ValueScope {
    ValueScope(with(|reading| reading.path.push(format!("[{index}]"))))
}

/// Records a member that is ignored.
pub(super) fn ignored(name: &str, known: &'static [&'static str]) {
    with(|reading| {
        let mut path = String::new();
        for part in reading.path.iter().map(String::as_str).chain([name]) {
            if !path.is_empty() && !part.starts_with('[') {
                path.push('.');
            }
            path.push_str(part);
        }
        // A value that is read in several forms is met again.
        if reading.ignored.iter().all(|before| before.path != path) {
            reading.ignored.push(IgnoredMember { path, name: name.to_owned(), known });
        }
    });
}

/// Runs a reader, and returns the members that it ignored, also when it fails.
pub(super) fn collect<T>(read: impl FnOnce() -> Result<T>) -> (Result<T>, Vec<IgnoredMember>) {
    /// Ends the reading, also when a reader panics.
    struct Ends(Option<Reading>);
    impl Drop for Ends {
        fn drop(&mut self) {
            READING.set(self.0.take());
        }
    }
    let _before = Ends(READING.replace(Some(Reading::default())));
    let value = read();
    let ignored = READING.with_borrow_mut(|reading| {
        reading.as_mut().map(|reading| std::mem::take(&mut reading.ignored))
    });
    (value, ignored.unwrap_or_default())
}
