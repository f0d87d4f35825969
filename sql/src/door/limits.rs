//! The bounds of a statement, and the errors of what is beyond them.

use std::time::Duration;

use datafusion::common::exec_err;
use datafusion::error::{DataFusionError, Result};

/// What one statement may ask for, in [`query`](crate::query).
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Limits {
    /// Bytes of the text; 64 KiB. A text of the statement may stand beside each row of a batch.
    pub text_bytes: usize,
    /// Words and signs; 16,384.
    pub tokens: usize,
    /// Operators and keywords of one term, with those of the terms that it is in; 200. A term is
    /// at most as deep.
    pub depth: usize,
    /// The words `select`, `from`, `join`, `union` and the like, and commas between tables; 256.
    pub relations: usize,
    /// Nodes of the plan and of its expressions after each use of a name is replaced by what it
    /// stands for; 200,000.
    pub nodes: usize,
    /// Bytes that the expressions may make of one batch of rows, all together; 256 MiB. Sorts,
    /// joins and groups have [`Options::memory_bytes`](crate::Options::memory_bytes) besides.
    pub expression_bytes: usize,
    /// Time for planning and for all rows; 10 minutes. None is without an end.
    pub time: Option<Duration>,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            text_bytes: 64 * 1024,
            tokens: 16_384,
            depth: 200,
            relations: 256,
            nodes: 200_000,
            expression_bytes: 256 * 1024 * 1024,
            time: Some(Duration::from_secs(600)),
        }
    }
}

impl Limits {
    /// With bytes of the text.
    #[must_use]
    pub fn text_bytes(mut self, bytes: usize) -> Self {
        self.text_bytes = bytes;
        self
    }

    /// With a number of words and signs.
    #[must_use]
    pub fn tokens(mut self, count: usize) -> Self {
        self.tokens = count;
        self
    }

    /// With a depth of terms.
    #[must_use]
    pub fn depth(mut self, count: usize) -> Self {
        self.depth = count;
        self
    }

    /// With a number of tables and subqueries.
    #[must_use]
    pub fn relations(mut self, count: usize) -> Self {
        self.relations = count;
        self
    }

    /// With a number of nodes of the plan and of its expressions.
    #[must_use]
    pub fn nodes(mut self, count: usize) -> Self {
        self.nodes = count;
        self
    }

    /// With a time for planning and for all rows.
    #[must_use]
    pub fn time(mut self, time: impl Into<Option<Duration>>) -> Self {
        self.time = time.into();
        self
    }

    /// With bytes that the expressions may make of one batch of rows.
    #[must_use]
    pub fn expression_bytes(mut self, bytes: usize) -> Self {
        self.expression_bytes = bytes;
        self
    }
}

/// The error of a bound of a statement.
pub(super) fn refused<T>(what: &str, found: usize, bound: usize) -> Result<T> {
    Err(DataFusionError::ResourcesExhausted(format!(
        "the statement has {found} {what}, and may have {bound}: divide it, or make it shorter"
    )))
}

/// The error of a time that is over.
pub(super) fn late<T>() -> Result<T> {
    exec_err!("the time of the statement is over: ask for fewer rows, or allow more time")
}
