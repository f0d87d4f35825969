//! The candidates of a query: read and kept by their type, tested and ordered without it.

use std::collections::BinaryHeap;

use super::order::Order;
use super::predicate::Predicate;
use crate::error::Result;
use crate::model::{Resource, members_of};
use crate::session::view::View;
use crate::value::Row;
use crate::value::id::RecordKey;
use crate::value::stored::Members;

/// A match, ordered by its sort key, which ends with the record key.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Hit {
    pub(super) sort: Vec<u8>,
    pub(super) key: RecordKey,
    /// Index of its record in the kept records.
    pub(super) slot: usize,
}

/// Number of hits for which memory is reserved at once: a growing list of large records is copied
/// over and over, and fragments the heap.
const ROOM: usize = 128;

/// Selects the first `keep` matches after the start of the page, in sort order.
///
/// `heap` is a max-heap, so its top is the kept match that sorts last: the one that a better match
/// replaces.
pub(super) struct Top<'t> {
    /// Number of matches before the page that are still to be skipped.
    pub(super) to_pass: usize,
    pub(super) keep: usize,
    /// Whether the records of the hits are kept.
    pub(super) keeps_records: bool,
    /// Whether every match is counted, so that every candidate must be read.
    pub(super) count_all: bool,
    /// Whether the query asks for any records.
    pub(super) has_page: bool,
    pub(super) order: &'t Order<'t>,
    pub(super) predicate: &'t Predicate,
    pub(super) after: Option<&'t [u8]>,
    pub(super) heap: BinaryHeap<Hit>,
    /// The members that are read of each candidate.
    pub(super) wanted: Members,
    pub(super) count: u64,
}

/// What became of a candidate.
struct CandidateOutcome {
    /// Where its record is kept; `None` if it is not among the first.
    slot: Option<usize>,
    /// Whether later candidates can still matter, if candidates come in sort order.
    go_on: bool,
}

impl<'t> Top<'t> {
    /// Keeps the first `keep` matches and their records.
    pub(super) fn new(order: &'t Order<'t>, predicate: &'t Predicate, keep: usize) -> Self {
        Self {
            to_pass: 0,
            keep,
            keeps_records: true,
            count_all: false,
            has_page: true,
            order,
            predicate,
            after: None,
            heap: BinaryHeap::with_capacity(keep.min(ROOM)),
            wanted: Members::ALL,
            count: 0,
        }
    }

    /// From now on, reads only the members that tests and order need. This pays if most candidates
    /// are not on the page; the records of the page are read again.
    pub(super) fn read_parts(&mut self, candidates: &dyn Candidates) {
        self.wanted = candidates.members(&mut self.predicate.reads().chain(self.order.reads()));
    }

    /// Whether the complete records of the hits are kept.
    pub(super) fn is_whole(&self) -> bool {
        self.keeps_records && self.wanted == Members::ALL
    }

    /// Drops all candidates offered so far.
    pub(super) fn clear(&mut self) {
        self.heap.clear();
        self.count = 0;
    }

    /// Tests a candidate and keeps it if it is among the first.
    fn offer(
        &mut self,
        key: RecordKey,
        workspace: &str,
        row: &dyn Row,
    ) -> Result<CandidateOutcome> {
        let passed = |go_on| Ok(CandidateOutcome { slot: None, go_on });
        if !self.predicate.matches(key, workspace, row)? {
            return passed(true);
        }
        self.count += 1;
        if !self.has_page {
            return passed(self.count_all);
        }
        let sort = self.order.sort_key(row, key);
        if self.after.is_some_and(|after| sort.as_slice() <= after) {
            return passed(true);
        }
        if self.to_pass > 0 {
            self.to_pass -= 1;
            return passed(true);
        }
        let mut slot = None;
        if self.heap.len() < self.keep {
            slot = Some(self.heap.len());
            self.heap.push(Hit { sort, key, slot: self.heap.len() });
        } else if let Some(mut worst) = self.heap.peek_mut()
            && sort < worst.sort
        {
            slot = Some(worst.slot);
            *worst = Hit { sort, key, slot: worst.slot };
        }
        Ok(CandidateOutcome { slot, go_on: self.count_all || self.heap.len() < self.keep })
    }
}

/// The candidates of one kind.
pub(super) trait Candidates {
    /// Reads a record and offers it. Returns whether later candidates can still matter, if
    /// candidates come in sort order; `None` if there is no such record.
    fn offer(&mut self, top: &mut Top<'_>, key: RecordKey) -> Result<Option<bool>>;

    /// Offers the records after `after` in key order, or, with `back`, those before it in reverse
    /// order: all of them, or those that can matter.
    fn offer_all(
        &mut self,
        top: &mut Top<'_>,
        after: Option<RecordKey>,
        back: bool,
        to_end: bool,
    ) -> Result<()>;

    /// Drops the kept records.
    fn clear(&mut self);

    /// The members from which these fields are read.
    fn members(&self, fields: &mut dyn Iterator<Item = usize>) -> Members;

    /// Whether the record under `key` exists and matches.
    fn matches(&self, predicate: &Predicate, key: RecordKey) -> Result<bool>;

    /// The sort key of the record under `key`.
    fn sort_key(
        &self,
        order: &Order<'_>,
        predicate: &Predicate,
        key: RecordKey,
    ) -> Result<Option<Vec<u8>>>;
}

/// The candidates of a resource type.
pub(super) struct TypedCandidates<'v, 's, R> {
    view: &'v View<'s>,
    /// The records of the hits; empty while only parts of records are read.
    records: Vec<R>,
}

impl<'v, 's, R: Resource> TypedCandidates<'v, 's, R> {
    pub(super) fn new(view: &'v View<'s>) -> Self {
        Self { view, records: Vec::new() }
    }

    /// The kept records, by the slots of their hits.
    pub(super) fn into_records(self) -> Vec<R> {
        self.records
    }

    fn offer_record(&mut self, top: &mut Top<'_>, key: RecordKey, record: R) -> Result<bool> {
        #[cfg(test)]
        agrees(self.view, top, key, &record)?;
        let CandidateOutcome { slot, go_on } =
            top.offer(key, record.workspace(), &top.predicate.row(&record))?;
        if let (Some(slot), true) = (slot, top.is_whole()) {
            if self.records.is_empty() {
                self.records.reserve(top.keep.min(ROOM));
            }
            match self.records.get_mut(slot) {
                Some(place) => *place = record,
                None => self.records.push(record),
            }
        }
        Ok(go_on)
    }
}

impl<R: Resource> Candidates for TypedCandidates<'_, '_, R> {
    fn offer(&mut self, top: &mut Top<'_>, key: RecordKey) -> Result<Option<bool>> {
        let record = self.view.part_by_key::<R>(key, top.wanted)?;
        record.map(|record| self.offer_record(top, key, record)).transpose()
    }

    fn offer_all(
        &mut self,
        top: &mut Top<'_>,
        after: Option<RecordKey>,
        back: bool,
        to_end: bool,
    ) -> Result<()> {
        self.view.scan_records::<R>(after, back, top.wanted, &mut |key, record| {
            Ok(self.offer_record(top, key, record)? || to_end)
        })
    }

    fn clear(&mut self) {
        self.records.clear();
    }

    fn members(&self, fields: &mut dyn Iterator<Item = usize>) -> Members {
        members_of::<R>(fields)
    }

    fn matches(&self, predicate: &Predicate, key: RecordKey) -> Result<bool> {
        let Some(record) = self.view.any_by_key::<R>(key)? else { return Ok(false) };
        predicate.matches(key, record.workspace(), &predicate.row(&record))
    }

    fn sort_key(
        &self,
        order: &Order<'_>,
        predicate: &Predicate,
        key: RecordKey,
    ) -> Result<Option<Vec<u8>>> {
        let record = self.view.any_by_key::<R>(key)?;
        Ok(record.map(|record| order.sort_key(&predicate.row(&record), key)))
    }
}

/// In tests, every query also checks that a partly read record gives the same answers as the whole
/// one.
#[cfg(test)]
fn agrees<R: Resource>(view: &View<'_>, top: &Top<'_>, key: RecordKey, part: &R) -> Result<()> {
    let whole = view.again::<R>(key, Members::ALL)?.unwrap_or_default();
    let matches =
        |record: &R| top.predicate.matches(key, record.workspace(), &top.predicate.row(record));
    // A test that takes too long fails the query itself.
    if let (Ok(of_part), Ok(of_whole)) = (matches(part), matches(&whole)) {
        assert_eq!(of_part, of_whole, "{part:?} of {whole:?}");
    }
    let sort = |record: &R| top.order.sort_key(&top.predicate.row(record), key);
    assert_eq!(sort(part), sort(&whole), "{part:?} of {whole:?}");
    Ok(())
}
