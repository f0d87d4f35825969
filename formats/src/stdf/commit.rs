//! Writes the results of a lot.
//!
//! What must hold: a file that fits into one commit is one. A larger one is marked as unfinished
//! until its last commit. What a refused file has committed is deleted again.

use std::collections::HashMap;

use stationdb::prelude::*;
use stationdb::results::{ResultWithSteps, TestResultId, UpdateResultRequest};
use stationdb::work_items::{
    QueryWorkItemsRequest, UpdateWorkItemRequest, UpdateWorkItemsRequest, WorkItemField, WorkItemId,
};
use stationdb::{Control, Error, OwnedTransaction, Result, Session};

use super::counts::PartCounts;
use super::lot::Lot;
use super::part::{Key, Part};
use super::unfinished;
use super::{ImportOptions, ImportReport};

/// The property with the SHA-256 of a file.
pub(super) const SUM: &str = "stdf.sha256";
/// Parts of a file.
const PARTS_MAX: usize = 1_000_000;
/// Results that one call changes.
const CALL_RESULTS: usize = 1_000;

/// How much is held and committed at once.
#[derive(Clone, Copy, Debug)]
pub(super) struct Portions {
    /// Bytes of steps that are given to the store at once.
    pub(super) bytes: usize,
    /// Parts of one commit.
    pub(super) parts: usize,
    /// Steps of one commit.
    pub(super) steps: usize,
}

impl Default for Portions {
    fn default() -> Self {
        Self { bytes: 32 * 1024 * 1024, parts: 25_000, steps: 1_000_000 }
    }
}

/// A result that was created.
struct Stored {
    id: TestResultId,
    counts: PartCounts,
    wafer: Option<usize>,
    /// How many names of its bins and wafer it has.
    names: usize,
}

/// Takes the parts of a lot, and commits them.
pub(super) struct Sink<'s> {
    session: &'s Session,
    /// The session that stops when the import shall.
    stopping: Session,
    options: &'s ImportOptions,
    portions: Portions,
    waiting: Vec<Part>,
    waiting_bytes: usize,
    transaction: Option<OwnedTransaction>,
    /// Parts and steps of the transaction.
    held: (usize, usize),
    work_item: Option<WorkItemId>,
    stored: Vec<Stored>,
    /// How many of the stored results, and of the work item, are committed.
    committed: usize,
    earlier: HashMap<Key, usize>,
    commits: usize,
    steps: usize,
    measurements: usize,
}

impl<'s> Sink<'s> {
    pub(super) fn new(
        session: &'s Session,
        options: &'s ImportOptions,
        control: &Control,
        portions: Portions,
    ) -> Self {
        Self {
            session,
            stopping: session.with_control(control),
            options,
            portions,
            waiting: Vec::new(),
            waiting_bytes: 0,
            transaction: None,
            held: (0, 0),
            work_item: None,
            stored: Vec::new(),
            committed: 0,
            earlier: HashMap::new(),
            commits: 0,
            steps: 0,
            measurements: 0,
        }
    }

    /// Takes a part. Writes those that wait when they are many.
    ///
    /// # Errors
    /// Those of creating results and steps; `LimitExceeded` for too many parts.
    pub(super) fn take(&mut self, part: Part, lot: &mut Lot<'_>) -> Result<()> {
        let place = self.stored.len() + self.waiting.len();
        if place >= PARTS_MAX {
            return Err(Error::limit(format!(
                "the STDF file has more than {PARTS_MAX} parts; split it by wafers"
            )));
        }
        let earlier = part.earlier.as_ref().and_then(|key| self.earlier.get(key)).copied();
        let mut part = part;
        if let Some(earlier) = earlier {
            if earlier >= self.stored.len() {
                // The earlier result needs its id.
                self.write(lot, false)?;
            }
            if let Some(stored) = self.stored.get(earlier) {
                lot.counts.replaced(&stored.counts);
                part.properties.insert("retestOf".to_owned(), stored.id.to_string());
            }
        }
        for key in &part.keys {
            self.earlier.insert(*key, place);
        }
        self.waiting_bytes += part.weight;
        self.waiting.push(part);
        if self.waiting_bytes >= self.portions.bytes {
            self.write(lot, false)?;
        }
        Ok(())
    }

    fn transaction(&mut self) -> Result<&OwnedTransaction> {
        if self.transaction.is_none() {
            self.transaction = Some(self.stopping.begin()?);
        }
        self.transaction.as_ref().ok_or_else(|| {
            Error::corrupt("internal error: a transaction of an STDF import is lost; report it")
        })
    }

    /// Writes the parts that wait, and commits when the transaction holds enough.
    fn write(&mut self, lot: &Lot<'_>, is_last: bool) -> Result<()> {
        let work_item = self.work_item(lot)?;
        let waiting = std::mem::take(&mut self.waiting);
        self.waiting_bytes = 0;
        self.held.0 += waiting.len();
        self.held.1 += waiting.iter().map(|part| part.steps.len()).sum::<usize>();
        let mut requests = Vec::with_capacity(waiting.len());
        let mut stored = Vec::with_capacity(waiting.len());
        for mut part in waiting {
            let names = lot.names(part.counts.hard_bin, part.counts.soft_bin, part.wafer);
            stored.push((part.counts, part.wafer, names.len()));
            let names = names.into_iter().map(|(key, text)| (key.to_owned(), text.to_owned()));
            part.properties.extend(names);
            part.properties.insert(unfinished::WORK_ITEM.to_owned(), work_item.to_string());
            self.steps += part.steps.len();
            self.measurements += part.measurements;
            let request = part.request.properties(part.properties);
            requests.push(ResultWithSteps::new(request).steps(part.steps));
        }
        let created = self.transaction()?.append_results(&requests)?.into_result()?.results;
        for (result, (counts, wafer, names)) in created.into_iter().zip(stored) {
            let id = result.id.unwrap_or_default();
            self.stored.push(Stored { id, counts, wafer, names });
        }
        let is_full = self.held.0 >= self.portions.parts || self.held.1 >= self.portions.steps;
        if is_full && !is_last { self.commit() } else { Ok(()) }
    }

    fn commit(&mut self) -> Result<()> {
        if let Some(transaction) = self.transaction.take() {
            transaction.commit()?;
            self.held = (0, 0);
            self.commits += 1;
            self.committed = self.stored.len();
        }
        Ok(())
    }

    /// The work item, which is unfinished as long as it has the property that says so.
    fn work_item(&mut self, lot: &Lot<'_>) -> Result<WorkItemId> {
        if let Some(id) = &self.work_item {
            return Ok(id.clone());
        }
        let mut properties = lot.properties();
        properties.insert(unfinished::PROPERTY.to_owned(), "true".to_owned());
        let request = lot.work_item().state("IN_PROGRESS").properties(properties);
        let created = self.transaction()?.create_work_items(vec![request])?.into_result()?;
        let id = created.created_work_items.into_iter().next().and_then(|item| item.id);
        let id = id.unwrap_or_default();
        self.work_item = Some(id.clone());
        Ok(id)
    }

    /// Writes what is left, and makes the last commit.
    ///
    /// # Errors
    /// Those of creating results and steps; `Conflict` for a file that was imported before.
    pub(super) fn finish(&mut self, mut lot: Lot<'_>, sum: &str) -> Result<ImportReport> {
        self.write(&lot, true)?;
        if !self.options.again {
            refuse_again(self.transaction()?, sum)?;
        }
        self.name_results(&lot)?;
        let work_item_id = self.work_item(&lot)?;
        let mut properties = lot.properties();
        properties.insert(SUM.to_owned(), sum.to_owned());
        let change = UpdateWorkItemRequest::new()
            .id(work_item_id.to_string())
            .state("CLOSED")
            .properties(properties);
        let request = UpdateWorkItemsRequest::new([change]).replace(true);
        self.transaction()?.update_work_items(request)?.require_all()?;
        self.commit()?;
        Ok(ImportReport {
            work_item_id,
            results: self.stored.drain(..).map(|stored| stored.id).collect(),
            steps: self.steps,
            measurements: self.measurements,
            commits: self.commits,
            warnings: std::mem::take(&mut lot.warnings).into_texts(),
        })
    }

    /// Gives results the names that came after their parts.
    fn name_results(&mut self, lot: &Lot<'_>) -> Result<()> {
        let mut from = 0;
        while from < self.stored.len() {
            let part = self.stored.get(from..).unwrap_or_default();
            let part = part.get(..CALL_RESULTS).unwrap_or(part);
            from += part.len();
            let changes = part.iter().filter_map(|stored| {
                let counts = stored.counts;
                let names = lot.names(counts.hard_bin, counts.soft_bin, stored.wafer);
                if names.len() == stored.names {
                    return None;
                }
                let names = names.into_iter().map(|(key, text)| (key.to_owned(), text.to_owned()));
                let change = UpdateResultRequest::new().id(stored.id.to_string());
                Some(change.properties(names.collect::<std::collections::BTreeMap<_, _>>()))
            });
            let changes: Vec<_> = changes.collect();
            if changes.is_empty() {
                continue;
            }
            self.held.0 += changes.len();
            self.transaction()?.update_results(changes, false, false)?.require_all()?;
            if self.held.0 >= self.portions.parts && self.commits > 0 {
                self.commit()?;
            }
        }
        Ok(())
    }

    /// Deletes what was committed of a file that is refused for `error`.
    pub(super) fn undo(mut self, error: Error) -> Error {
        self.transaction = None;
        let Some(id) = self.work_item.filter(|_| self.commits > 0) else { return error };
        let results = self.stored.into_iter().take(self.committed).map(|stored| stored.id);
        match unfinished::delete(self.session, &id, results.collect()) {
            Ok(()) => error,
            Err(failed) => error.context(format_args!(
                "the results of the work item {id} are left over, because they could not be \
                 deleted ({failed})"
            )),
        }
    }
}

/// # Errors
/// `Conflict` for a file of which there is a work item.
pub(super) fn refuse_again(work_items: &impl WorkItemService, sum: &str) -> Result<()> {
    let query = QueryWorkItemsRequest::new()
        .filter(format!("properties[\"{SUM}\"] == @0"))
        .substitutions([sum])
        .projection([WorkItemField::Id])
        .take(1);
    let Some(found) = work_items.query_work_items(query)?.work_items.into_iter().next() else {
        return Ok(());
    };
    let id = found.id.unwrap_or_default();
    Err(Error::conflict(format!(
        "the STDF file was imported before, as the work item {id}; import it again only to have it \
         twice"
    ))
    .with_resource("WorkItem", id.as_str()))
}
