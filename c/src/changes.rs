//! The changes of a store, which callers poll.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use stationdb::{ChangeEvent, ChangeStream, Control, ErrorKind};

use crate::control::until;
use crate::failure::{Failure, Outcome};
use crate::lock::lock;
use crate::open::{Held, Open};

/// How long a closing store waits for one that waits for a change.
const GLANCE: Duration = Duration::from_millis(50);

/// The changes after a position.
pub struct Changes {
    open: Arc<Open>,
    stream: Mutex<Option<ChangeStream>>,
}

impl Held for Changes {
    fn end(&self) {
        *lock(&self.stream) = None;
    }
}

impl Changes {
    pub fn new(open: &Arc<Open>, stream: ChangeStream) -> Arc<Self> {
        let changes = Arc::new(Self { open: open.clone(), stream: Mutex::new(Some(stream)) });
        open.hold(&changes);
        changes
    }

    /// The next change and the position after it; waits `timeout` at most.
    pub fn next(&self, timeout: Duration) -> Outcome<Option<(ChangeEvent, u64)>> {
        let began = Instant::now();
        let control = until(Control::default(), Some(timeout));
        loop {
            let left = timeout.saturating_sub(began.elapsed());
            // A call of its own for each glance: a store can be closed while others wait.
            let call = match self.open.call(Some(&control)) {
                Ok(call) => call,
                // Another call has the store alone for longer.
                Err(failure) if failure.error.kind() == ErrorKind::DeadlineExceeded => {
                    return Ok(None);
                }
                Err(failure) => return Err(failure),
            };
            let mut stream = lock(&self.stream);
            let Some(stream) = stream.as_mut() else {
                return Err(Failure::closed(
                    "the store of these changes was closed or compacted; ask for them again",
                ));
            };
            if let Some(event) = stream.next(left.min(GLANCE))? {
                return Ok(Some((event, stream.position().0)));
            }
            drop(call);
            if left.is_zero() {
                return Ok(None);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use stationdb::{Position, Store};

    use super::*;

    #[test]
    fn a_wait_ends_while_another_call_has_the_store_alone() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::options().maintenance_thread(false).open(dir.path()).unwrap();
        let stream = store.changes(Position(0));
        let open = Open::new(store, "s".to_owned());
        let changes = Changes::new(&open, stream);
        let next = |_: &mut Store| {
            let found = changes.next(Duration::from_millis(50));
            assert!(found.is_ok_and(|found| found.is_none()));
            Ok(())
        };
        open.alone("w", None, next).unwrap();
        // It has ended meanwhile.
        assert!(changes.next(Duration::ZERO).is_err());
        open.close().unwrap();
    }
}
