//! `search('words')`: what full-text search finds, as a table.

use std::sync::Arc;

use async_trait::async_trait;
use datafusion::arrow::array::{ArrayRef, Float64Array, RecordBatch, StringArray};
use datafusion::arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use datafusion::catalog::{Session as Planner, TableFunctionImpl, TableProvider};
use datafusion::common::plan_err;
use datafusion::error::Result;
use datafusion::logical_expr::{Expr, TableType};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::scalar::ScalarValue;
use stationdb::Session;
use stationdb::search::{SearchHit, SearchRequest, SearchService};

use crate::scan::{Batches, StoreScan};

/// Hits of one page.
const PAGE: i64 = 1000;

/// The function.
#[derive(Debug)]
pub(crate) struct Search {
    session: Session,
    schema: SchemaRef,
}

impl Search {
    pub(crate) fn new(session: Session) -> Self {
        let text = |name| Field::new(name, DataType::Utf8, false);
        let fields = [
            text("kind"),
            text("id"),
            text("name"),
            text("workspace"),
            Field::new("score", DataType::Float64, false),
        ];
        Self { session, schema: Arc::new(Schema::new(fields.to_vec())) }
    }
}

/// The text of a literal argument.
pub(crate) fn text(expr: &Expr) -> Option<String> {
    match expr {
        Expr::Literal(value, _) => value.try_as_str().flatten().map(str::to_owned),
        _ => None,
    }
}

/// The number of a literal argument.
pub(crate) fn number(expr: &Expr) -> Option<i64> {
    match expr {
        Expr::Literal(ScalarValue::Int64(value), _) => *value,
        _ => None,
    }
}

impl TableFunctionImpl for Search {
    fn call(&self, exprs: &[Expr]) -> Result<Arc<dyn TableProvider>> {
        match exprs {
            [words] => match text(words) {
                Some(words) => Ok(Arc::new(Hits {
                    session: self.session.clone(),
                    schema: self.schema.clone(),
                    words,
                })),
                None => plan_err!("search takes a text, as search('amplifier')"),
            },
            _ => plan_err!("search takes one argument, as search('amplifier')"),
        }
    }
}

/// The hits of one search.
#[derive(Debug)]
struct Hits {
    session: Session,
    schema: SchemaRef,
    words: String,
}

fn batch(schema: &SchemaRef, hits: &[SearchHit]) -> stationdb::Result<RecordBatch> {
    let texts = |get: fn(&SearchHit) -> &str| {
        Arc::new(StringArray::from_iter_values(hits.iter().map(get))) as ArrayRef
    };
    let columns = vec![
        texts(|hit| &hit.kind),
        texts(|hit| &hit.id),
        texts(|hit| &hit.name),
        texts(|hit| &hit.workspace),
        Arc::new(Float64Array::from_iter_values(hits.iter().map(|hit| hit.score))),
    ];
    RecordBatch::try_new(schema.clone(), columns)
        .map_err(|error| stationdb::Error::io("searching", std::io::Error::other(error)))
}

#[async_trait]
impl TableProvider for Hits {
    fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }

    fn table_type(&self) -> TableType {
        TableType::Temporary
    }

    async fn scan(
        &self,
        _state: &dyn Planner,
        projection: Option<&Vec<usize>>,
        _filters: &[Expr],
        limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let all = self.schema.clone();
        let columns: Vec<usize> =
            projection.cloned().unwrap_or_else(|| (0..all.fields().len()).collect());
        let schema = Arc::new(all.project(&columns)?);
        let (session, words) = (self.session.clone(), self.words.clone());
        let open = move |control: &stationdb::Control| {
            let session = session.with_control(control);
            let (words, all, columns) = (words.clone(), all.clone(), columns.clone());
            let mut left = limit.unwrap_or(usize::MAX);
            let mut token = None;
            let mut is_done = false;
            let pages = std::iter::from_fn(move || {
                if is_done || left == 0 {
                    return None;
                }
                let mut page = || {
                    let mut request = SearchRequest::new().text(words.clone()).return_count(false);
                    request.take = Some(PAGE.min(i64::try_from(left).unwrap_or(PAGE)));
                    request.continuation_token = token.take();
                    let answer = session.search(request)?;
                    left -= left.min(answer.hits.len());
                    token = answer.continuation_token;
                    is_done = token.is_none();
                    let batch = batch(&all, &answer.hits)?;
                    batch.project(&columns).map_err(|error| {
                        stationdb::Error::io("searching", std::io::Error::other(error))
                    })
                };
                let page = page();
                is_done |= page.is_err();
                Some(page)
            });
            Ok(Box::new(pages) as Batches)
        };
        let label = format!("search {:?}", self.words);
        Ok(Arc::new(StoreScan::new(label, schema, Arc::new(open))))
    }
}
