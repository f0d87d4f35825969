//! How a query is, or was, answered.

use std::fmt;

use serde::Serialize;

use crate::session::Visibility;

/// How a query is answered, and after a run what it cost.
///
/// A caller that the access policy lets see only a part of the records is told what follows from the query alone: which
/// indexes can serve it. What was chosen among them depends on how many records there are, and so does the cost; both
/// would tell of records that the caller may not see.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Plan {
    /// Where the candidates come from: `ids`, `index partNumber = …`, `index updatedAt in order`, `all records`; for a
    /// caller that sees a part, `visible records, with the help of index partNumber`.
    pub access: String,
    /// What is tested on every candidate.
    pub residual: Option<String>,
    /// How the order comes about: `by key`, `from the index`, `top 101 by updatedAt descending`.
    pub order: String,
    /// Where the count comes from, when one was asked for: the ranges whose entries are counted, or every match.
    pub count: Option<String>,
    /// Records that were read, after a run by a caller that sees all of them.
    pub records_touched: Option<u64>,
    /// Index entries that were read, after a run by a caller that sees all records.
    pub entries_touched: Option<u64>,
}

impl Plan {
    /// Sets what a run cost, unless the caller sees only a part of what was read.
    pub(crate) fn set_cost(&mut self, visibility: &Visibility, records: u64, entries: u64) {
        if *visibility == Visibility::All {
            self.records_touched = Some(records);
            self.entries_touched = Some(entries);
        }
    }
}

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
