//! Parses blocks of records into the columns of a table, on threads of their own.

use std::collections::VecDeque;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use stationdb::arrow::array::{ArrayRef, new_null_array};
use stationdb::tables::Column;
use stationdb::tables::readers::{arrow_type, guarded};
use stationdb::{Error, Result};

use super::blocks::Block;
use super::columns::build;
use super::form::Form;
use super::records::{Records, Shape, parse};
use crate::limits;
use crate::lines::at_line;
use crate::options::ImportOptions;

/// Where a column of the table comes from.
#[derive(Debug)]
pub(super) enum ColumnSource {
    Field(usize, Form),
    RowNumbers,
    /// One that is made from the numbers of rows in the file.
    Made(usize),
    Nulls,
}

/// How records become the columns of the table.
#[derive(Debug)]
pub(super) struct Plan {
    pub(super) shape: Shape,
    pub(super) options: ImportOptions,
    pub(super) columns: Vec<(Column, ColumnSource)>,
    /// Fields in which there must be no value, as they have no name.
    pub(super) unnamed: Vec<usize>,
}

/// A column of some rows. Who knows the number of the first row makes those that count.
#[derive(Debug)]
pub(super) enum Built {
    Array(ArrayRef),
    RowNumbers,
    Made(usize),
}

/// The columns of some rows.
#[derive(Debug)]
pub(super) struct Rows {
    pub(super) count: usize,
    pub(super) arrays: Vec<Built>,
    /// The first line that has a quote in a value that does not begin with one.
    pub(super) odd_quote: Option<u64>,
}

impl Plan {
    /// The columns of records.
    ///
    /// # Errors
    /// As [`build`].
    pub(super) fn rows(&self, records: &Records) -> Result<Rows> {
        for at in &self.unnamed {
            let row = (0..records.len())
                .find(|row| records.get(*row, *at).is_some_and(|text| !text.is_empty()));
            if let Some(row) = row {
                let what = format!(
                    "there is a value in place {} of the line, and no column has that place in the \
                     header; name one there",
                    at + 1
                );
                return Err(at_line(Error::invalid(what), records.line(row)));
            }
        }
        let array = |(column, source): &(Column, ColumnSource)| match source {
            ColumnSource::Field(at, form) => {
                build(column, records, *at, form, &self.options).map(Built::Array)
            }
            ColumnSource::RowNumbers => Ok(Built::RowNumbers),
            ColumnSource::Made(at) => Ok(Built::Made(*at)),
            ColumnSource::Nulls => {
                let nulls = new_null_array(&arrow_type(column.data_type), records.len());
                Ok(Built::Array(nulls))
            }
        };
        let arrays = self.columns.iter().map(array).collect::<Result<_>>()?;
        Ok(Rows { count: records.len(), arrays, odd_quote: records.odd_quote() })
    }

    fn rows_of(&self, block: Block) -> Result<Rows> {
        self.rows(&parse(block, &self.shape, usize::MAX)?.0)
    }
}

type Job = (Block, SyncSender<Result<Rows>>);

/// Rows that are parsed, or will be.
enum Coming {
    Here(Result<Rows>),
    Parsed(Receiver<Result<Rows>>),
}

/// The threads that parse, and the blocks that they have, in the order of the text.
pub(super) struct Workers {
    plan: Arc<Plan>,
    give: Option<SyncSender<Job>>,
    threads: Vec<JoinHandle<()>>,
    coming: VecDeque<(Coming, usize)>,
    /// Bytes of the blocks that are parsed, or wait for it.
    bytes: usize,
}

/// Blocks that wait for each thread, beside the one that it parses.
const WAITING: usize = 1;

impl Workers {
    /// Starts no thread yet: a text of one block needs none.
    pub(super) fn new(plan: Plan) -> Self {
        Self {
            plan: Arc::new(plan),
            give: None,
            threads: Vec::new(),
            coming: VecDeque::new(),
            bytes: 0,
        }
    }

    pub(super) fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Starts the threads. On a machine with one core, or without threads, the caller parses.
    fn start(&mut self) {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        if cores < 2 || self.give.is_some() {
            return;
        }
        let count = cores.min(limits::IMPORT_THREADS);
        let (give, jobs) = sync_channel::<Job>(count * WAITING);
        let jobs = Arc::new(Mutex::new(jobs));
        for _ in 0..count {
            let (plan, jobs) = (self.plan.clone(), jobs.clone());
            let work = move || {
                loop {
                    let next = jobs.lock().unwrap_or_else(PoisonError::into_inner).recv();
                    let Ok((block, done)) = next else { return };
                    // After a panic the sender is gone, which the caller sees.
                    if let Some(rows) = guarded(|| plan.rows_of(block)) {
                        let _ = done.send(rows);
                    }
                }
            };
            let thread = std::thread::Builder::new().name("stationdb-csv".to_owned()).spawn(work);
            self.threads.extend(thread.ok());
        }
        self.give = (!self.threads.is_empty()).then_some(give);
    }

    /// Whether another block may be given.
    pub(super) fn has_room(&self) -> bool {
        let blocks = self.threads.len().max(1) * (1 + WAITING);
        self.coming.is_empty()
            || self.coming.len() < blocks && self.bytes < limits::IMPORT_AHEAD_BYTES
    }

    /// Takes the next block of the text.
    pub(super) fn give(&mut self, block: Block) {
        if !block.is_last {
            self.start();
        }
        let len = block.bytes.len();
        let coming = match &self.give {
            None => Coming::Here(self.plan.rows_of(block)),
            Some(give) => {
                let (done, rows) = sync_channel(1);
                // A job that nobody takes drops its sender.
                let _ = give.send((block, done));
                Coming::Parsed(rows)
            }
        };
        self.coming.push_back((coming, len));
        self.bytes += len;
    }

    /// The rows of the first block that were not taken yet; `None` if there is none.
    ///
    /// # Errors
    /// Those of parsing.
    pub(super) fn take(&mut self) -> Result<Option<Rows>> {
        let Some((coming, len)) = self.coming.pop_front() else { return Ok(None) };
        self.bytes -= len;
        let rows = match coming {
            Coming::Here(rows) => rows,
            Coming::Parsed(rows) => rows.recv().unwrap_or_else(|_| {
                Err(Error::corrupt("internal error: parsing a CSV text failed; report the text"))
            }),
        };
        rows.map(Some)
    }
}

impl Drop for Workers {
    fn drop(&mut self) {
        // The threads end when the sender is dropped. Blocks that wait are parsed by nobody.
        self.give = None;
        self.coming.clear();
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}
