//! A kind of record as a table.

use std::sync::Arc;

use async_trait::async_trait;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::catalog::{Session as Planner, TableProvider};
use datafusion::error::Result;
use datafusion::logical_expr::{Expr, TableProviderFilterPushDown, TableType};
use datafusion::physical_plan::ExecutionPlan;
use stationdb::scans::{RecordKind, RecordService, ScanRecordsRequest};
use stationdb::{ErrorKind, Session};

use crate::errors::external;
use crate::language::{Filter, Names};
use crate::scan::{Batches, StoreScan, names, project};

/// The records of a kind that the session sees.
#[derive(Debug)]
pub(crate) struct RecordTable {
    session: Session,
    kind: RecordKind,
    schema: SchemaRef,
}

impl RecordTable {
    pub(crate) fn new(session: &Session, kind: RecordKind) -> Result<Self> {
        let schema = session.record_schema(kind).map_err(external)?;
        Ok(Self { session: session.clone(), kind, schema })
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
            if Filter::default().add(filter, &Names::Fields(&self.schema)) {
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
        let mut request = ScanRecordsRequest::new(self.kind);
        let least = self.schema.fields().first().map_or("record", |field| field.name());
        request.columns = Some(names(&schema, least));
        request.take = limit.and_then(|limit| i64::try_from(limit).ok());
        let unfiltered = request.clone();
        let mut filter = Filter::default();
        for condition in filters {
            filter.add(condition, &Names::Fields(&self.schema));
        }
        let label = if filter.text.is_empty() {
            self.kind.to_string()
        } else {
            format!("{} where {} {:?}", self.kind, filter.text, filter.substitutions)
        };
        if !filter.text.is_empty() {
            request.filter = Some(filter.text);
            request.substitutions = Some(filter.substitutions);
        }
        let session = self.session.clone();
        let open = move |control: &stationdb::Control| {
            let stream = match session.scan_records(request.clone(), control) {
                // A value that the field cannot have, as an unknown name of a state: nothing
                // matches it in SQL, and the store refuses it.
                Err(error) if error.kind() == ErrorKind::InvalidArgument => {
                    session.scan_records(unfiltered.clone(), control)?
                }
                stream => stream?,
            };
            Ok(Box::new(stream) as Batches)
        };
        Ok(Arc::new(StoreScan::new(label, schema, Arc::new(open))))
    }
}
