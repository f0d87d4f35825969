//! A kind of record, the steps and the measurements as tables.

use std::sync::Arc;

use async_trait::async_trait;
use datafusion::arrow::datatypes::{Field, Schema, SchemaRef};
use datafusion::catalog::{Session as Planner, TableProvider};
use datafusion::error::Result;
use datafusion::logical_expr::{Expr, Operator, TableProviderFilterPushDown, TableType};
use datafusion::physical_plan::ExecutionPlan;
use stationdb::Session;

use crate::errors::external;
use crate::filters::{stand_in, tests, text_of};
use crate::language::{FIELD, Filter, Names};
use crate::record_read::{RecordRead, Source, Tests};
use crate::scan::{StoreScan, names, project};
use crate::spec_limits;

/// The path of the field of results that a column is.
const RESULT_FIELD: &str = "stationdb.result_field";

/// The rows of a source that the session sees.
#[derive(Debug)]
pub(crate) struct RecordTable {
    session: Session,
    pub source: Source,
    schema: SchemaRef,
    /// The same columns, of which only those that are fields of results can be in filters.
    of_results: SchemaRef,
}

impl RecordTable {
    pub(crate) fn new(session: &Session, source: Source) -> Result<Self> {
        let schema = source.schema(session).map_err(external)?;
        let of_result = |field: &Arc<Field>| {
            let path = field.metadata().get(RESULT_FIELD);
            let path = path.map(|path| (FIELD.to_owned(), path.clone()));
            field.as_ref().clone().with_metadata(path.into_iter().collect())
        };
        let of_results = Schema::new(schema.fields().iter().map(of_result).collect::<Vec<_>>());
        Ok(Self { session: session.clone(), source, schema, of_results: Arc::new(of_results) })
    }

    /// Adds what the store can test of a condition; returns whether that is anything.
    fn add(&self, read: &mut Tests, condition: &Expr) -> bool {
        let mut is_any = read.filter.add(condition, &Names::Fields(&self.schema));
        if self.source == Source::Measurements {
            is_any |= read.result_filter.add(condition, &Names::Fields(&self.of_results));
            for test in tests(condition).unwrap_or_default() {
                let is_name = test.column() == Some("name") && test.operator == Operator::Eq;
                if let Some(name) = text_of(test.value).filter(|_| is_name) {
                    read.name = Some(name.to_owned());
                    is_any = true;
                }
            }
        }
        is_any
    }

    /// Adds a condition if the store keeps exactly the rows that it keeps; returns whether it does.
    fn add_whole(&self, read: &mut Tests, condition: &Expr) -> bool {
        if !self.source.is_whole() {
            return false;
        }
        if read.filter.add(condition, &Names::Whole(&self.schema)) {
            return true;
        }
        if self.source != Source::Measurements {
            return false;
        }
        if read.result_filter.add(condition, &Names::Whole(&self.of_results)) {
            return true;
        }
        let tests = tests(condition).unwrap_or_default();
        let [test] = tests.as_slice() else { return false };
        if test.column() != Some("name") || test.operator != Operator::Eq {
            return false;
        }
        let Some(name) = text_of(test.value) else { return false };
        match &read.name {
            // No measurement has two names.
            Some(known) if known != name => {
                read.filter.add_any("", std::iter::empty());
            }
            _ => read.name = Some(name.to_owned()),
        }
        true
    }

    fn support(&self, filter: &Expr) -> TableProviderFilterPushDown {
        let condition = stand_in(filter);
        if self.add_whole(&mut Tests::default(), &condition) {
            TableProviderFilterPushDown::Exact
        } else if self.add(&mut Tests::default(), &condition) {
            TableProviderFilterPushDown::Inexact
        } else {
            TableProviderFilterPushDown::Unsupported
        }
    }
}

#[async_trait]
impl TableProvider for RecordTable {
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
        Ok(filters.iter().map(|filter| self.support(filter)).collect())
    }

    async fn scan(
        &self,
        _state: &dyn Planner,
        projection: Option<&Vec<usize>>,
        filters: &[Expr],
        limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let (schema, _) = project(&self.schema, projection)?;
        let (mut required, mut repeated) = (Tests::default(), Tests::default());
        let mut is_exact = true;
        for condition in filters {
            if !self.add_whole(&mut required, condition) {
                self.add(&mut repeated, condition);
                is_exact = false;
            }
        }
        let is_count =
            self.source.is_counted() && schema.fields().is_empty() && is_exact && limit.is_none();
        let columns = names(&schema, self.source.least(&self.schema));
        let key = self.source.key().and_then(|name| schema.column_with_name(name));
        let key = key.map(|(position, _)| position);
        let read = RecordRead {
            session: self.session.clone(),
            source: self.source,
            schema,
            columns: spec_limits::stored(columns),
            required,
            repeated,
            among: Filter::default(),
            take: limit.and_then(|limit| i64::try_from(limit).ok()),
            is_count,
            key,
        };
        Ok(Arc::new(StoreScan::of_records(read.schema.clone(), read)))
    }
}
