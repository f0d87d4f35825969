//! The plan of a query, for `explain` calls.

use std::fmt;

use serde::Serialize;

use crate::model::answer::Answer;
use crate::session::Visibility;

/// How a query is answered, and after a run, what it cost.
///
/// A caller that may see only a part of the records gets only what follows from the query itself:
/// the indexes that can serve it. The choice among them, and the cost, depend on the number of
/// records, and would reveal records that the caller may not see.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Plan {
    /// The access path: `ids`, `index partNumber = …`, `index updatedAt in order`, `all records`.
    /// For a caller that sees a part of the records: `visible records, with the help of index
    /// partNumber`.
    pub access: String,
    /// The condition that is tested on every candidate.
    pub residual: Option<String>,
    /// How the order is produced: `by key`, `from the index`, `top 101 by updatedAt descending`.
    pub order: String,
    /// The source of the count, if one was asked for: the ranges whose entries are counted, or
    /// every match.
    pub count: Option<String>,
    /// Number of records read; set after a run, if the caller sees all records.
    pub records_touched: Option<u64>,
    /// Number of index entries read; set after a run, if the caller sees all records.
    pub entries_touched: Option<u64>,
}

impl Plan {
    /// Sets the cost of a run, unless the caller sees only a part of the records.
    pub(crate) fn set_cost(&mut self, visibility: &Visibility, records: u64, entries: u64) {
        if *visibility == Visibility::All {
            self.records_touched = Some(records);
            self.entries_touched = Some(entries);
        }
    }
}

impl Answer for Plan {}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.access)?;
        if let Some(residual) = &self.residual {
            write!(f, "; where {residual}")?;
        }
        write!(f, "; {}", self.order)?;
        if let Some(count) = &self.count {
            write!(f, "; counts {count}")?;
        }
        if let Some(touched) = self.records_touched {
            write!(f, "; {touched} records read")?;
        }
        Ok(())
    }
}
