//! `search('words')`: what full-text search finds, as a table.

use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, Float64Array, RecordBatch, StringArray};
use datafusion::arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use datafusion::catalog::{TableFunctionImpl, TableProvider};
use datafusion::common::plan_err;
use datafusion::error::Result;
use datafusion::logical_expr::{Expr, TableType};
use datafusion::scalar::ScalarValue;
use stationdb::Session;
use stationdb::search::{SearchHit, SearchRequest, SearchService};

use crate::batches::misfit;
use crate::pages::{Page, PageRequest, Pages};

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

    /// What is found for these words.
    fn hits(&self, words: String) -> Pages {
        let (label, schema) = (format!("search {words:?}"), self.schema.clone());
        let read = move |session: &Session, wanted: PageRequest<'_>| -> stationdb::Result<Page> {
            let mut request = SearchRequest::new().text(words.clone()).return_count(false);
            request.take = Some(wanted.take);
            request.continuation_token = wanted.token;
            let answer = session.search(request)?;
            let hits = batch(&schema, &answer.hits)?;
            Ok(Page::of(&hits, wanted.columns, answer.continuation_token))
        };
        Pages::new(label, &self.session, self.schema.clone(), TableType::Temporary, Arc::new(read))
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
                Some(words) => Ok(Arc::new(self.hits(words))),
                None => plan_err!("search takes a text, as search('amplifier')"),
            },
            _ => plan_err!("search takes one argument, as search('amplifier')"),
        }
    }
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
    RecordBatch::try_new(schema.clone(), columns).map_err(misfit)
}
