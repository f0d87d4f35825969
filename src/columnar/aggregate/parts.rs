//! Aggregates of rows that come in parts, each in memory once.

use std::sync::Arc;

use super::finish;
use super::grouped::GroupedRows;
use super::needs::Needs;
use super::request::Aggregation;
use crate::columnar::read::view::Run;
use crate::columnar::schema::TableSchema;
use crate::columnar::write::memory_run::MemoryRun;
use crate::error::Result;
use crate::model::tables::aggregate::AggregateGroup;
use crate::value::Control;

/// The groups of the parts so far. All rows of a part count; predicates are not tested.
#[derive(Debug)]
pub(crate) struct PartAggregates<'a> {
    schema: Arc<TableSchema>,
    aggregation: &'a Aggregation<'a>,
    needs: Needs,
    whole: GroupedRows,
}

impl<'a> PartAggregates<'a> {
    /// No rows yet.
    ///
    /// # Errors
    /// `Corrupt` for a column that the schema does not have.
    pub(crate) fn new(schema: Arc<TableSchema>, aggregation: &'a Aggregation<'a>) -> Result<Self> {
        let needs = Needs::of(&schema, aggregation)?;
        Ok(Self { schema, aggregation, needs, whole: GroupedRows::default() })
    }

    /// Adds rows. Their index values must be greater than those of the parts before: they decide
    /// which row is the first and the last of a group.
    ///
    /// # Errors
    /// `LimitExceeded` as [`aggregate`](super::aggregate); the errors of `control`.
    pub(crate) fn add(&mut self, rows: MemoryRun, control: &Control) -> Result<()> {
        let run = Run::from(Arc::new(rows));
        let all = 0..run.row_count();
        let request = (self.aggregation, &self.needs);
        self.whole.take((&run, 0), &self.schema, std::slice::from_ref(&all), request, control)
    }

    /// The groups in order of their keys; without keys one group, also of no rows.
    ///
    /// # Errors
    /// `Corrupt` for a column that the schema does not have.
    pub(crate) fn finish(self) -> Result<Vec<AggregateGroup>> {
        finish::groups(self.whole, &self.schema, self.aggregation, &self.needs)
    }
}
