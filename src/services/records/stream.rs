//! A stream of batches over one state, and the columns that a request names.

use std::sync::Arc;

use crate::arrow::array::RecordBatch;
use crate::arrow::datatypes::SchemaRef;
use crate::error::{Error, Result};
use crate::services::lists;
use crate::session::{Context, Holder, Session};
use crate::value::{Control, guarded};

/// The positions of the columns of these names among `all`, in this order; all for none.
pub(in crate::services) fn chosen(
    all: &[&str],
    names: Option<&[String]>,
    what: &str,
) -> Result<Vec<usize>> {
    let names = names.unwrap_or_default();
    lists::check("columns", names.len())?;
    if names.is_empty() {
        return Ok((0..all.len()).collect());
    }
    let mut chosen: Vec<usize> = Vec::with_capacity(names.len());
    for (at, name) in names.iter().enumerate() {
        let found = all.iter().position(|column| column == name).ok_or_else(|| {
            Error::invalid(format!("{what} no column {name:?}"))
                .with_args([name])
                .at_member(format!("columns[{at}]"))
        })?;
        if !chosen.contains(&found) {
            chosen.push(found);
        }
    }
    Ok(chosen)
}

/// How many records a scan returns at most.
pub(in crate::services) fn count_of(take: Option<i64>) -> Result<usize> {
    take.map_or(Ok(usize::MAX), |take| {
        usize::try_from(take).map_err(|_| {
            Error::invalid(format!("take is {take}; it cannot be negative")).at_member("take")
        })
    })
}

/// What a stream reads.
pub(in crate::services) trait Batches: std::fmt::Debug + Send {
    /// The columns.
    fn schema(&self) -> SchemaRef;

    /// The next batch, which has rows; `None` after the last one.
    fn next(&mut self, session: &Session) -> Result<Option<RecordBatch>>;
}

/// A stream of batches of records over one consistent state. It holds that state until it is
/// dropped.
#[derive(Debug)]
pub struct RecordStream {
    session: Session,
    batches: Box<dyn Batches>,
    is_done: bool,
}

impl RecordStream {
    /// A stream of what `open` reads of the state of this moment.
    pub(in crate::services) fn open(
        context: &Arc<Context>,
        control: &Control,
        open: &mut dyn FnMut(&Session) -> Result<Box<dyn Batches>>,
    ) -> Result<Self> {
        let context = Context { control: Some(context.control(control)), ..(**context).clone() };
        let session = Session::of_context(Arc::new(context), Holder::RecordStream);
        let session = session.pinned_as("a scan of records");
        let batches = open(&session)?;
        Ok(Self { session, batches, is_done: false })
    }

    /// The columns.
    #[must_use]
    pub fn schema(&self) -> SchemaRef {
        self.batches.schema()
    }
}

impl Iterator for RecordStream {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.is_done {
            return None;
        }
        let next = guarded("reading records", || self.batches.next(&self.session)).transpose();
        self.is_done = next.as_ref().is_none_or(Result::is_err);
        next
    }
}
