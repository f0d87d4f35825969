//! The rows of a measurement table as a table.

use std::sync::Arc;

use async_trait::async_trait;
use datafusion::arrow::array::{RecordBatch, RecordBatchOptions};
use datafusion::arrow::datatypes::{DataType, Field, Schema, SchemaRef, TimeUnit};
use datafusion::catalog::{Session as Planner, TableProvider};
use datafusion::common::stats::Precision;
use datafusion::common::{ColumnStatistics, Statistics};
use datafusion::error::Result;
use datafusion::logical_expr::{Expr, TableProviderFilterPushDown, TableType};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::scalar::ScalarValue;
use stationdb::specifications::Number;
use stationdb::tables::{
    ColumnFilter, QueryTableDataRequest, ScanRequest, TableId, TableService, TableStatistics,
};
use stationdb::{Control, Session};

use crate::filters::{RowFilter, Test, of_rows, tests};
use crate::scan::{Batches, StoreScan};

/// Rows of a batch without columns.
const BATCH_ROWS: u64 = 64 * 1024;

/// The rows of a table in the snapshot of the session.
#[derive(Debug)]
pub(crate) struct RowTable {
    pub session: Session,
    pub id: TableId,
    schema: SchemaRef,
    known: TableStatistics,
}

impl RowTable {
    /// Reads the columns and what is known of them.
    pub(crate) fn open(session: &Session, id: &TableId) -> stationdb::Result<Self> {
        let nothing = ScanRequest::new().take(0);
        let schema = session.scan(id, nothing, &Control::default())?.schema();
        let known = session.table_statistics(id)?;
        Ok(Self { session: session.clone(), id: id.clone(), schema, known })
    }

    /// The tests of these conditions that the store takes over.
    fn pushed(&self, filter: &Expr) -> Option<Vec<RowFilter>> {
        let of = |test: &Test| of_rows(test, &self.schema, self.has_nan(&test.column));
        tests(filter)?.iter().map(of).collect()
    }

    /// Whether the store keeps exactly the rows of this condition.
    fn is_exact(&self, filter: &Expr) -> bool {
        self.pushed(filter).is_some_and(|tests| tests.iter().all(|test| test.is_exact))
    }

    /// Whether the column may have NaN.
    fn has_nan(&self, column: &str) -> bool {
        let known = self.known.columns.iter().find(|known| known.name == column);
        known.is_none_or(|known| known.nan_count != Some(0))
    }

    fn statistics_of(&self, field: &Field) -> ColumnStatistics {
        let mut out = ColumnStatistics::new_unknown();
        let known = self.known.columns.iter().find(|column| column.name == *field.name());
        let Some(known) = known else { return out };
        let nulls = known.null_count.and_then(|count| usize::try_from(count).ok());
        out.null_count = nulls.map_or(Precision::Absent, Precision::Exact);
        let bound = |value: Option<Number>| {
            let value = value.and_then(|value| scalar(value, field.data_type()));
            value.map_or(Precision::Absent, Precision::Exact)
        };
        out.min_value = bound(known.min);
        // NaN is the greatest value in SQL.
        if known.nan_count == Some(0) {
            out.max_value = bound(known.max);
        }
        out
    }
}

fn scalar(value: Number, data_type: &DataType) -> Option<ScalarValue> {
    let integer = value.as_integer();
    match data_type {
        DataType::Int32 => {
            i32::try_from(integer?).ok().map(|value| ScalarValue::Int32(Some(value)))
        }
        DataType::Int64 => Some(ScalarValue::Int64(Some(integer?))),
        DataType::Timestamp(unit, zone) => {
            let (count, zone) = (Some(integer?), zone.clone());
            Some(match unit {
                TimeUnit::Second => ScalarValue::TimestampSecond(count, zone),
                TimeUnit::Millisecond => ScalarValue::TimestampMillisecond(count, zone),
                TimeUnit::Microsecond => ScalarValue::TimestampMicrosecond(count, zone),
                TimeUnit::Nanosecond => ScalarValue::TimestampNanosecond(count, zone),
            })
        }
        // A scan returns no negative zero.
        DataType::Float32 => Some(ScalarValue::Float32(Some(value.as_f64() as f32 + 0.0))),
        DataType::Float64 => Some(ScalarValue::Float64(Some(value.as_f64() + 0.0))),
        _ => None,
    }
}

/// As many rows, without columns.
fn without_columns(rows: u64) -> impl Iterator<Item = stationdb::Result<RecordBatch>> {
    let mut left = rows;
    std::iter::from_fn(move || {
        let count = left.min(BATCH_ROWS);
        left -= count;
        let options = RecordBatchOptions::new().with_row_count(usize::try_from(count).ok());
        let batch = || {
            RecordBatch::try_new_with_options(Arc::new(Schema::empty()), Vec::new(), &options)
                .map_err(|error| stationdb::Error::io("counting", std::io::Error::other(error)))
        };
        (count > 0).then(batch)
    })
}

#[async_trait]
impl TableProvider for RowTable {
    fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }

    fn table_type(&self) -> TableType {
        TableType::Base
    }

    fn supports_filters_pushdown(
        &self,
        filters: &[&Expr],
    ) -> Result<Vec<TableProviderFilterPushDown>> {
        let support = |filter: &&Expr| match self.pushed(filter) {
            Some(_) if self.is_exact(filter) => TableProviderFilterPushDown::Exact,
            Some(_) => TableProviderFilterPushDown::Inexact,
            None => TableProviderFilterPushDown::Unsupported,
        };
        Ok(filters.iter().map(support).collect())
    }

    async fn scan(
        &self,
        _state: &dyn Planner,
        projection: Option<&Vec<usize>>,
        filters: &[Expr],
        limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let schema = match projection {
            Some(columns) => Arc::new(self.schema.project(columns)?),
            None => self.schema.clone(),
        };
        let is_exact = filters.iter().all(|filter| self.is_exact(filter));
        let pushed = filters.iter().filter_map(|filter| self.pushed(filter)).flatten();
        let pushed: Vec<ColumnFilter> = pushed.map(|filter| filter.filter).collect();
        let mut request = ScanRequest::new();
        request.columns = Some(match schema.fields().len() {
            // Only the number of rows is wanted.
            0 => vec![self.known.index.clone()],
            _ => schema.fields().iter().map(|field| field.name().clone()).collect(),
        });
        request.take = limit.and_then(|limit| i64::try_from(limit).ok());
        let shown = |filter: &ColumnFilter| {
            let value = filter.value.as_deref().unwrap_or("null");
            format!("{} {} {value}", filter.column, filter.operation)
        };
        let conditions: Vec<String> = pushed.iter().map(shown).collect();
        let label = format!("rows of {} where {}", self.id, conditions.join(" and "));
        let is_whole = pushed.is_empty() && limit.is_none();
        request.filters = (!pushed.is_empty()).then_some(pushed);
        let (session, id) = (self.session.clone(), self.id.clone());
        let is_count = schema.fields().is_empty() && is_exact && limit.is_none();
        let label = if is_count { format!("number of {label}") } else { label };
        let open = move |control: &Control| {
            if is_count {
                let mut count = QueryTableDataRequest::new().take(0);
                count.filters.clone_from(&request.filters);
                let answer = session.with_control(control).query_table_data(&id, count)?;
                return Ok(Box::new(without_columns(answer.total_row_count)) as Batches);
            }
            Ok(Box::new(session.scan(&id, request.clone(), control)?) as Batches)
        };
        let mut plan = StoreScan::new(label, schema.clone(), Arc::new(open));
        if let Some((position, field)) = schema.column_with_name(&self.known.index) {
            plan = plan.ordered_by(field.name(), position);
        }
        if is_whole {
            let mut statistics = Statistics::new_unknown(&schema);
            statistics.num_rows =
                usize::try_from(self.known.row_count).map_or(Precision::Absent, Precision::Exact);
            statistics.column_statistics =
                schema.fields().iter().map(|field| self.statistics_of(field)).collect();
            plan = plan.with_statistics(statistics);
        }
        Ok(Arc::new(plan))
    }
}
