//! The time to open a store of results whose process was killed while it wrote them.

use std::path::Path;
use std::time::Duration;

use stationdb::Store;
use stationdb::prelude::*;
use stationdb::results::QueryResultsRequest;

use super::rows::Rows;
use super::{append, session};
use crate::common::{Res, Scale, timed};
use crate::open::{kill_while_writing, opened_in, read_all, tell_opened, tell_writing};

/// The roles of the child processes.
pub const WRITE: &str = "write results";
pub const OPEN: &str = "open results";

/// Results that the child writes are those of a store of this size.
const CHILD: Rows = Rows { results: 1_000_000, steps: 50 };

pub(super) fn run(scale: &Scale, directory: &Path, rows: &Rows) -> Res<()> {
    let (mut killed, mut closed) = (Vec::new(), Vec::new());
    for repetition in 0..scale.repetitions {
        let after = scale.open_writing + Duration::from_millis(37 * repetition as u64);
        kill_while_writing(WRITE, directory, false, after)?;
        read_all(directory)?;
        killed.push(opened_in(OPEN, directory, false)?);
        closed.push(opened_in(OPEN, directory, false)?);
    }
    let note = format!("{} measured steps; page cache warm", rows.measurements());
    scale.emit("W10", "open_after_kill", &killed, "ms", &note);
    scale.emit("W10", "open_after_close", &closed, "ms", &note);
    Ok(())
}

/// The child that is killed: writes results until then.
pub fn write(directory: &Path) -> Res<()> {
    let store = Store::open(directory)?;
    let session = session(&store);
    append(&session, &CHILD, &[0])?;
    tell_writing()?;
    (1..CHILD.results).try_for_each(|result| append(&session, &CHILD, &[result]).map(drop))
}

/// The child that opens the store.
pub fn open(directory: &Path) -> Res<()> {
    let (seconds, store) = timed(|| Ok(Store::open(directory)?))?;
    let session = session(&store);
    let query = QueryResultsRequest::new().take(1);
    assert_eq!(session.query_results(query)?.results.len(), 1);
    drop(session);
    store.close()?;
    tell_opened(seconds);
    Ok(())
}
