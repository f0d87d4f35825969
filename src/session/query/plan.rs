//! How a query is, or was, answered.

use std::fmt;

use serde::Serialize;

/// How a query is answered, and after a run what it cost.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Plan {
    /// Where the candidates come from: `ids`, `index partNumber = …`, `index updatedAt in order`, `all records`.
    pub access: String,
    /// What is tested on every candidate.
    pub residual: Option<String>,
    /// How the order comes about: `by key`, `from the index`, `top 101 by updatedAt descending`.
    pub order: String,
    /// Where the count comes from, when one was asked for: the ranges whose entries are counted, or every match.
    pub count: Option<String>,
    /// Records that were read, after a run.
    pub records_touched: Option<u64>,
    /// Index entries that were read, after a run.
    pub entries_touched: Option<u64>,
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
