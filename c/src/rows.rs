//! Rows of a table or of a statement: a cursor over their batches.

use std::sync::{Arc, Mutex};

use arrow_array::{ArrayRef, RecordBatch, RecordBatchReader};
use stationdb::arrow::datatypes::SchemaRef;
use stationdb::arrow::error::ArrowError;
use stationdb::{Control, Error, Result};

use crate::failure::{Failure, Outcome};
use crate::lock::lock;
use crate::open::{Held, Open};

/// Where rows come from.
pub type Source = Box<dyn Iterator<Item = Result<RecordBatch>> + Send>;

enum State {
    Open(Source),
    /// The source has no more, reading it failed, or another reader has it.
    Done,
    /// The store was closed.
    Ended,
}

struct Stream {
    state: State,
    /// The batch that the cursor is on.
    batch: Option<RecordBatch>,
}

/// Rows, which are read once.
pub struct Rows {
    open: Arc<Open>,
    pub schema: SchemaRef,
    /// That of the source, as long as these rows have it.
    control: Mutex<Option<Control>>,
    stream: Mutex<Stream>,
}

impl Held for Rows {
    fn end(&self) {
        // Before the lock, which a read has that this ends.
        if let Some(control) = lock(&self.control).take() {
            control.cancel();
        }
        let mut stream = lock(&self.stream);
        stream.batch = None;
        if !matches!(stream.state, State::Done) {
            stream.state = State::Ended;
        }
    }
}

impl Rows {
    /// Rows of a source whose checks ask `control`.
    pub fn new(open: &Arc<Open>, schema: SchemaRef, source: Source, control: Control) -> Arc<Self> {
        let stream = Mutex::new(Stream { state: State::Open(source), batch: None });
        let control = Mutex::new(Some(control));
        let rows = Arc::new(Self { open: open.clone(), schema, control, stream });
        open.hold(&rows);
        rows
    }

    /// Moves on to the next batch, and returns it. `None` after the last one.
    ///
    /// # Errors
    /// A closed store; those of the read, after which there are no more rows.
    pub fn next(&self) -> Outcome<Option<RecordBatch>> {
        let _call = self.open.call(None)?;
        let mut stream = lock(&self.stream);
        stream.batch = None;
        loop {
            let next = match &mut stream.state {
                State::Open(source) => source.next(),
                State::Done => None,
                State::Ended => return Err(ended()),
            };
            match next.transpose() {
                // Callers know the end by a batch without rows.
                Ok(Some(batch)) if batch.num_rows() == 0 => {}
                Ok(Some(batch)) => {
                    stream.batch = Some(batch.clone());
                    return Ok(Some(batch));
                }
                Ok(None) => {
                    // What it holds of the store is free again.
                    stream.state = State::Done;
                    return Ok(None);
                }
                Err(error) => {
                    stream.state = State::Done;
                    return Err(error.into());
                }
            }
        }
    }

    /// A column of the batch that the cursor is on, with its name.
    ///
    /// # Errors
    /// `Conflict` before the first batch and after the last one; `InvalidArgument` for a column
    /// that is not there.
    pub fn column(&self, column: i32) -> Outcome<(&str, ArrayRef)> {
        let stream = lock(&self.stream);
        if matches!(stream.state, State::Ended) {
            return Err(ended());
        }
        let Some(batch) = &stream.batch else {
            let told =
                "the cursor is on no rows; call sdb_rows_next, which says how many there are";
            return Err(Error::conflict(told).into());
        };
        let fields = self.schema.fields();
        let at = usize::try_from(column).unwrap_or(usize::MAX);
        match (fields.get(at), batch.columns().get(at)) {
            (Some(field), Some(array)) => Ok((field.name(), array.clone())),
            _ => Err(Error::invalid(format!(
                "there is no column {column}; there are {}, counted from 0",
                fields.len()
            ))
            .into()),
        }
    }

    /// The rows that are left, for a reader that outlives the handle of these.
    pub fn take(&self) -> Outcome<Arc<Self>> {
        let _call = self.open.call(None)?;
        let mut stream = lock(&self.stream);
        stream.batch = None;
        // The control goes with the source, so that the end of these rows is not that of others.
        let control = lock(&self.control).take();
        match std::mem::replace(&mut stream.state, State::Done) {
            State::Open(source) => {
                let control = control.ok_or_else(ended)?;
                Ok(Self::new(&self.open, self.schema.clone(), source, control))
            }
            State::Done => Err(Error::conflict(
                "these rows were read already: they are read once; ask for them again",
            )
            .into()),
            State::Ended => {
                stream.state = State::Ended;
                Err(ended())
            }
        }
    }
}

fn ended() -> Failure {
    Failure::closed(
        "these rows have ended, because the store was closed or compacted, or because their handle \
         was freed; ask for them again",
    )
}

/// The rows for a reader of the C stream interface. They end with it.
pub struct Reader(pub Arc<Rows>);

impl Iterator for Reader {
    type Item = std::result::Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        // The reader is called by C, which no panic may reach.
        let next = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| self.0.next()));
        let next = next.unwrap_or_else(|_| Err(Failure::internal("a read of rows panicked")));
        let told = |failure: Failure| {
            // A text of C ends at its first zero byte.
            ArrowError::CDataInterface(failure.error.to_string().replace('\0', "\u{fffd}"))
        };
        next.map_err(told).transpose()
    }
}

impl RecordBatchReader for Reader {
    fn schema(&self) -> SchemaRef {
        self.0.schema.clone()
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        self.0.end();
    }
}
