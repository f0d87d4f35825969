//! What indexes offer for the conditions of a query: the seam between the kinds of indexes and the
//! choice among them.

use super::Query;
use super::predicate::Predicate;
use super::scan::Scan;
use crate::model::KindDecl;
use crate::session::view::View;
use crate::text::Ask;
use crate::value::id::RecordKey;

/// The cost of reading a record, in index entries read.
pub(super) const RECORD_COST: usize = 8;

/// Records, as an index gives them.
#[derive(Clone, Debug)]
pub(super) enum Set {
    /// The records with these keys. A key need not have a record.
    Keys(Vec<RecordKey>),
    /// The records that have entries in one of these ranges.
    Ranges(Vec<Scan>),
}

impl Set {
    pub(super) fn is_keys(&self) -> bool {
        matches!(self, Self::Keys(_))
    }

    /// Its ranges; none for keys.
    pub(super) fn scans(&self) -> &[Scan] {
        match self {
            Self::Keys(_) => &[],
            Self::Ranges(scans) => scans,
        }
    }
}

/// What an index offers: a set, or the means to count one, that contains every match.
#[derive(Debug)]
pub(super) struct Offer<S> {
    pub(super) set: S,
    /// Numbers of the conditions that the set answers exactly.
    pub(super) answers: Vec<usize>,
}

/// How matches are counted without reading records.
#[derive(Debug)]
pub(super) enum Count {
    /// By index entries: the intersection of these sets is exactly the set of matches.
    Entries(Vec<Set>),
    /// By columns of the text index.
    Columns(Vec<Ask>),
}

/// What the indexes are asked.
pub(super) struct Question<'q> {
    pub(super) view: &'q View<'q>,
    pub(super) query: &'q Query<'q>,
    pub(super) predicate: &'q Predicate,
    /// The kind of the records, with the indexes that are filled.
    pub(super) decl: &'q KindDecl,
}

/// Whether some kind offered keys.
pub(super) fn has_keys(offers: &[Offer<Set>]) -> bool {
    offers.iter().any(|offer| offer.set.is_keys())
}

/// The offer of these keys. The workspaces of their records are unknown, so it answers nothing
/// exactly.
pub(super) fn keys(keys: Option<Vec<RecordKey>>) -> Vec<Offer<Set>> {
    keys.into_iter().map(|keys| Offer { set: Set::Keys(keys), answers: Vec::new() }).collect()
}
