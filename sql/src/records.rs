//! A kind of record, the steps and the measurements as tables.

use std::sync::Arc;

use async_trait::async_trait;
use datafusion::arrow::datatypes::{Field, Schema, SchemaRef};
use datafusion::catalog::{Session as Planner, TableProvider};
use datafusion::error::Result;
use datafusion::logical_expr::{Expr, Operator, TableProviderFilterPushDown, TableType};
use datafusion::physical_plan::ExecutionPlan;
use stationdb::results::{ResultService, ScanMeasurementsRequest, ScanStepsRequest};
use stationdb::scans::{RecordKind, RecordService, RecordStream, ScanRecordsRequest};
use stationdb::{Control, ErrorKind, Session};

use crate::errors::external;
use crate::filters::{stand_in, tests, text_of};
use crate::language::{FIELD, Filter, Names};
use crate::scan::{Batches, StoreScan, names, project};

/// The names of the tables of steps and of measurements.
pub(crate) const STEPS: &str = "steps";
pub(crate) const MEASUREMENTS: &str = "measurements";

/// The path of the field of results that a column is.
const RESULT_FIELD: &str = "stationdb.result_field";

/// What the rows of a table are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    Kind(RecordKind),
    Steps,
    Measurements,
}

/// The columns, and what the store tests.
#[derive(Clone, Debug, Default)]
struct Read {
    columns: Vec<String>,
    /// Of records, or of steps.
    filter: Filter,
    result_filter: Filter,
    /// Name of the measurements.
    name: Option<String>,
    take: Option<i64>,
}

/// The text and the substitutions of a filter.
fn parts(filter: Filter) -> (Option<String>, Option<Vec<serde_json::Value>>) {
    if filter.text.is_empty() {
        (None, None)
    } else {
        (Some(filter.text), Some(filter.substitutions))
    }
}

impl Source {
    fn schema(self, session: &Session) -> stationdb::Result<SchemaRef> {
        match self {
            Self::Kind(kind) => session.record_schema(kind),
            Self::Steps => ScanStepsRequest::schema(),
            Self::Measurements => ScanMeasurementsRequest::schema(),
        }
    }

    /// What is read, for `explain`.
    fn label(self) -> String {
        match self {
            Self::Kind(kind) => kind.to_string(),
            Self::Steps => STEPS.to_owned(),
            Self::Measurements => MEASUREMENTS.to_owned(),
        }
    }

    fn open(
        self,
        session: &Session,
        read: Read,
        control: &Control,
    ) -> stationdb::Result<RecordStream> {
        let (filter, substitutions) = parts(read.filter);
        let (result_filter, result_substitutions) = parts(read.result_filter);
        match self {
            Self::Kind(kind) => {
                let mut request = ScanRecordsRequest::new(kind).columns(read.columns);
                (request.filter, request.substitutions) = (filter, substitutions);
                request.take = read.take;
                session.scan_records(request, control)
            }
            Self::Steps => {
                let mut request = ScanStepsRequest::new().columns(read.columns);
                (request.filter, request.substitutions) = (filter, substitutions);
                request.take = read.take;
                session.scan_steps(request, control)
            }
            Self::Measurements => {
                let mut request = ScanMeasurementsRequest::new().columns(read.columns);
                (request.filter, request.substitutions) = (filter, substitutions);
                request.result_filter = result_filter;
                request.result_substitutions = result_substitutions;
                (request.name, request.take) = (read.name, read.take);
                session.scan_measurements(request, control)
            }
        }
    }
}

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
    fn add(&self, read: &mut Read, condition: &Expr) -> bool {
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

    fn label(&self, read: &Read) -> String {
        let mut label = self.source.label();
        let mut word = " where";
        if let Some(name) = &read.name {
            label.push_str(&format!("{word} name == {name:?}"));
            word = " and";
        }
        for (filter, of) in [(&read.filter, ""), (&read.result_filter, " results with")] {
            if !filter.text.is_empty() {
                label.push_str(&format!("{word}{of} {} {:?}", filter.text, filter.substitutions));
                word = " and";
            }
        }
        label
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
        let support = |filter: &&Expr| {
            if self.add(&mut Read::default(), &stand_in(filter)) {
                TableProviderFilterPushDown::Inexact
            } else {
                TableProviderFilterPushDown::Unsupported
            }
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
        let (schema, _) = project(&self.schema, projection)?;
        let least = self.schema.fields().first().map_or("record", |field| field.name());
        let unfiltered = Read {
            columns: names(&schema, least),
            take: limit.and_then(|limit| i64::try_from(limit).ok()),
            ..Read::default()
        };
        let mut read = unfiltered.clone();
        for condition in filters {
            self.add(&mut read, condition);
        }
        let label = self.label(&read);
        let (session, source) = (self.session.clone(), self.source);
        let open = move |control: &Control| {
            let stream = match source.open(&session, read.clone(), control) {
                // A value that the field cannot have, as an unknown name of a state: nothing
                // matches it in SQL, and the store refuses it.
                Err(error) if error.kind() == ErrorKind::InvalidArgument => {
                    source.open(&session, unfiltered.clone(), control)?
                }
                stream => stream?,
            };
            Ok(Box::new(stream) as Batches)
        };
        Ok(Arc::new(StoreScan::new(label, schema, Arc::new(open))))
    }
}
