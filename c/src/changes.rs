//! The changes of a store, which callers poll.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use stationdb::{ChangeEvent, ChangeStream};

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
        loop {
            let left = timeout.saturating_sub(began.elapsed());
            // A call of its own for each glance: a store can be closed while others wait.
            let call = self.open.call(None)?;
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
