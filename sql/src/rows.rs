//! The rows of a measurement table as a table.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use datafusion::arrow::datatypes::{DataType, Field, SchemaRef, TimeUnit};
use datafusion::catalog::{Session as Planner, TableProvider};
use datafusion::common::stats::Precision;
use datafusion::common::{ColumnStatistics, Statistics, internal_err};
use datafusion::error::Result;
use datafusion::logical_expr::{Expr, TableProviderFilterPushDown, TableType};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::scalar::ScalarValue;
use stationdb::specifications::Number;
use stationdb::tables::{
    ColumnFilter, ColumnOrderBy, QueryTableDataRequest, ScanRequest, TableId, TableService,
    TableStatistics,
};
use stationdb::{Control, Session};

use crate::batches::{Batches, BatchesOpener, Memory, without_columns};
use crate::filters::{ColumnTest, RowFilter, of_rows, stand_in, tests};
use crate::language::{Filter, Names};
use crate::scan::{StoreScan, TopRowsOpener, names, project};

/// What is known of tables, by their ids. It holds for as long as the snapshot does.
pub(crate) type StatisticsCache = Mutex<BTreeMap<String, Arc<TableStatistics>>>;

/// The rows of a table in the snapshot of the session.
#[derive(Debug)]
pub(crate) struct RowTable {
    pub session: Session,
    /// The name or id that the statement has.
    pub name: String,
    pub id: TableId,
    schema: SchemaRef,
    known: Arc<TableStatistics>,
}

impl RowTable {
    /// Reads the columns, and what is known of them unless `known` has it.
    pub(crate) fn open(
        session: &Session,
        name: &str,
        id: &TableId,
        known: &StatisticsCache,
    ) -> stationdb::Result<Self> {
        // For every statement: the access policy may say something else than it did.
        let nothing = ScanRequest::new().take(0);
        let schema = session.scan(id, nothing, &Control::default())?.schema();
        let held = || known.lock().unwrap_or_else(PoisonError::into_inner);
        let found = held().get(id.as_str()).cloned();
        let known = match found {
            Some(known) => known,
            None => {
                let read = Arc::new(session.table_statistics(id)?);
                held().insert(id.to_string(), read.clone());
                read
            }
        };
        let (session, name) = (session.clone(), name.to_owned());
        Ok(Self { session, name, id: id.clone(), schema, known })
    }

    /// The name of the index.
    pub(crate) fn index(&self) -> &str {
        &self.known.index
    }

    /// The tests of these conditions that the store takes over.
    fn pushed(&self, filter: &Expr) -> Option<Vec<RowFilter>> {
        let of = |test: &ColumnTest<'_>| {
            let has_nan = test.column().is_none_or(|column| self.has_nan(column));
            of_rows(test, &self.schema, has_nan)
        };
        tests(filter)?.iter().map(of).collect()
    }

    /// How far the store keeps the rows of this condition.
    fn support(&self, filter: &Expr) -> TableProviderFilterPushDown {
        match self.pushed(filter) {
            Some(tests) if tests.iter().all(|test| test.is_exact) => {
                TableProviderFilterPushDown::Exact
            }
            Some(_) => TableProviderFilterPushDown::Inexact,
            None if self.add(filter, &mut Filter::default()) => TableProviderFilterPushDown::Exact,
            None => TableProviderFilterPushDown::Unsupported,
        }
    }

    /// Adds a condition in the language of the store, if the store can test it.
    fn add(&self, condition: &Expr, filter: &mut Filter) -> bool {
        let has_nan = |column: &str| self.has_nan(column);
        filter.add(condition, &Names::Columns(&self.schema, &has_nan))
    }

    /// Whether the column may have NaN.
    fn has_nan(&self, column: &str) -> bool {
        let known = self.known.columns.iter().find(|known| known.name == column);
        known.is_none_or(|known| known.nan_count != Some(0))
    }

    /// Reads the first of these rows in an order of the statement.
    fn first(&self, label: String, rows: ScanRequest) -> TopRowsOpener {
        let (session, id) = (self.session.clone(), self.id.clone());
        Arc::new(move |order, take| {
            let (session, id) = (session.clone(), id.clone());
            let names: Vec<String> = order.iter().map(shown).collect();
            let mut rows = rows.clone();
            rows.order_by = Some(order.to_vec());
            rows.take = i64::try_from(take).ok();
            let label = format!("first {take} by {} of {label}", names.join(", "));
            let open = move |control: &Control, _: &Memory| {
                Ok(Box::new(session.scan(&id, rows.clone(), control)?) as Batches)
            };
            (label, Arc::new(open) as BatchesOpener)
        })
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

fn shown(term: &ColumnOrderBy) -> String {
    if term.descending { format!("{} desc", term.column) } else { term.column.clone() }
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
        Ok(filters.iter().map(|filter| self.support(&stand_in(filter))).collect())
    }

    async fn scan(
        &self,
        _state: &dyn Planner,
        projection: Option<&Vec<usize>>,
        filters: &[Expr],
        limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let (schema, _) = project(&self.schema, projection)?;
        let exact = TableProviderFilterPushDown::Exact;
        let is_exact = filters.iter().all(|filter| self.support(filter) == exact);
        let (mut pushed, mut filter) = (Vec::new(), Filter::default());
        for condition in filters {
            match self.pushed(condition) {
                Some(tests) => pushed.extend(tests.into_iter().map(|test| test.filter)),
                None if self.add(condition, &mut filter) => {}
                // DataFusion tests no condition that was said to be exact.
                None => return internal_err!("the store does not test {condition}"),
            }
        }
        let mut request = ScanRequest::new();
        request.columns = Some(names(&schema, &self.known.index));
        request.take = limit.and_then(|limit| i64::try_from(limit).ok());
        let condition = |filter: &ColumnFilter| {
            let value = filter.value.as_deref().unwrap_or("null");
            format!("{} {} {value}", filter.column, filter.operation)
        };
        let mut conditions: Vec<String> = pushed.iter().map(condition).collect();
        if !filter.text.is_empty() {
            conditions.push(format!("{} {:?}", filter.text, filter.substitutions));
        }
        let label = if conditions.is_empty() {
            format!("rows of {}", self.id)
        } else {
            format!("rows of {} where {}", self.id, conditions.join(" and "))
        };
        let is_whole = conditions.is_empty() && limit.is_none();
        request.filters = (!pushed.is_empty()).then_some(pushed);
        if !filter.text.is_empty() {
            (request.filter, request.substitutions) =
                (Some(filter.text), Some(filter.substitutions));
        }
        let (session, id) = (self.session.clone(), self.id.clone());
        let is_count = schema.fields().is_empty() && is_exact && limit.is_none();
        let shown = if is_count { format!("number of {label}") } else { label.clone() };
        let rows = request.clone();
        let open = move |control: &Control, _: &Memory| {
            if is_count {
                let mut count = QueryTableDataRequest::new().take(0);
                count.filters.clone_from(&request.filters);
                count.filter.clone_from(&request.filter);
                count.substitutions.clone_from(&request.substitutions);
                let answer = session.with_control(control).query_table_data(&id, count)?;
                return Ok(Box::new(without_columns(answer.total_row_count)) as Batches);
            }
            Ok(Box::new(session.scan(&id, request.clone(), control)?) as Batches)
        };
        let mut plan = StoreScan::new(shown, schema.clone(), Arc::new(open));
        if is_count {
            plan = plan.counted();
        }
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
        // A limit of the plan is one on rows in the order of the index.
        if limit.is_none() {
            plan = plan.with_first(self.first(label, rows));
        }
        Ok(Arc::new(plan))
    }
}
