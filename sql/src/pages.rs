//! Answers that the store gives page by page, as tables.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::catalog::{Session as Planner, TableProvider};
use datafusion::error::Result;
use datafusion::logical_expr::{Expr, TableType};
use datafusion::physical_plan::ExecutionPlan;
use stationdb::Session;

use crate::batches::{Batches, Memory, misfit};
use crate::scan::{StoreScan, project};

/// Rows of one page at most.
const PAGE: i64 = 1000;

/// A page.
pub(crate) struct Page {
    /// Its rows, with the columns that were asked for.
    pub batches: Batches,
    /// The token of the next one.
    pub next: Option<String>,
}

/// What is asked for of a list.
pub(crate) struct PageRequest<'r> {
    /// The page after this token.
    pub token: Option<String>,
    /// Rows at most.
    pub take: i64,
    /// The columns, in this order.
    pub columns: &'r [usize],
    /// Where a list that is made as a whole counts its memory.
    pub memory: &'r Memory,
}

impl Page {
    /// A page of all columns as one of those that were asked for.
    pub(crate) fn of(batch: &RecordBatch, columns: &[usize], next: Option<String>) -> Self {
        let batch = batch.project(columns).map_err(misfit);
        Self { batches: Box::new(std::iter::once(batch)), next }
    }
}

/// Reads a page.
pub(crate) type PageReader =
    dyn Fn(&Session, PageRequest<'_>) -> stationdb::Result<Page> + Send + Sync;

/// A list of the store, and who reads it.
#[derive(Clone, Debug)]
pub(crate) struct Pages {
    pub list: PageList,
    session: Session,
}

/// A list of the store.
#[derive(Clone)]
pub(crate) struct PageList {
    /// What is read, for `explain`.
    label: String,
    schema: SchemaRef,
    read: Arc<PageReader>,
    table_type: TableType,
}

impl Pages {
    /// A list whose pages have this schema.
    pub(crate) fn new(
        label: String,
        session: &Session,
        schema: SchemaRef,
        table_type: TableType,
        read: Arc<PageReader>,
    ) -> Self {
        let list = PageList { label, schema, read, table_type };
        list.read_by(session)
    }
}

impl PageList {
    pub(crate) fn read_by(self, session: &Session) -> Pages {
        Pages { list: self, session: session.clone() }
    }
}

impl fmt::Debug for PageList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PageList").field("label", &self.label).finish_non_exhaustive()
    }
}

#[async_trait]
impl TableProvider for Pages {
    fn schema(&self) -> SchemaRef {
        self.list.schema.clone()
    }

    fn table_type(&self) -> TableType {
        self.list.table_type
    }

    async fn scan(
        &self,
        _state: &dyn Planner,
        projection: Option<&Vec<usize>>,
        _filters: &[Expr],
        limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let (schema, columns) = project(&self.list.schema, projection)?;
        let (session, list) = (self.session.clone(), self.list.clone());
        let open = move |control: &stationdb::Control, memory: &Memory| {
            let session = session.with_control(control);
            let (read, columns, memory) = (list.read.clone(), columns.clone(), memory.clone());
            let mut left = limit.unwrap_or(usize::MAX);
            let mut token = None;
            let mut is_last = left == 0;
            let mut open: Option<Batches> = None;
            let mut next = move || -> stationdb::Result<Option<RecordBatch>> {
                loop {
                    if let Some(batch) = open.as_mut().and_then(Iterator::next) {
                        let batch = batch?;
                        left = left.saturating_sub(batch.num_rows());
                        return Ok(Some(batch));
                    }
                    if is_last || left == 0 {
                        return Ok(None);
                    }
                    let request = PageRequest {
                        token: token.take(),
                        take: PAGE.min(i64::try_from(left).unwrap_or(PAGE)),
                        columns: &columns,
                        memory: &memory,
                    };
                    let page = read(&session, request)?;
                    is_last = page.next.is_none();
                    (token, open) = (page.next, Some(page.batches));
                }
            };
            let mut is_done = false;
            let batches = std::iter::from_fn(move || {
                if is_done {
                    return None;
                }
                let batch = next().transpose();
                is_done = batch.as_ref().is_none_or(Result::is_err);
                batch
            });
            Ok(Box::new(batches) as Batches)
        };
        Ok(Arc::new(StoreScan::new(self.list.label.clone(), schema, Arc::new(open))))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use datafusion::arrow::array::Int64Array;
    use datafusion::arrow::datatypes::{DataType, Field, Schema};
    use datafusion::prelude::SessionContext;
    use stationdb::{Identity, Store};

    use super::*;

    /// A list of 2,500 numbers is read by pages of what is wanted, and not beyond its end.
    #[tokio::test]
    async fn no_page_is_read_beyond_the_limit() {
        let directory = tempfile::tempdir().unwrap();
        let store = Store::open(directory.path()).unwrap();
        let session = store.session(Identity::user("ada"));
        let schema = Arc::new(Schema::new(vec![Field::new("n", DataType::Int64, false)]));
        let takes: Arc<Mutex<Vec<i64>>> = Arc::default();
        let (seen, form) = (takes.clone(), schema.clone());
        let read = move |_: &Session, request: PageRequest<'_>| {
            seen.lock().unwrap().push(request.take);
            let from: i64 = request.token.map_or(0, |token| token.parse().unwrap());
            let to = (from + request.take).min(2_500);
            let page = Arc::new(Int64Array::from_iter_values(from..to));
            let page = RecordBatch::try_new(form.clone(), vec![page]).unwrap();
            Ok(Page::of(&page, request.columns, (to < 2_500).then(|| to.to_string())))
        };
        let pages =
            Pages::new("numbers".to_owned(), &session, schema, TableType::Base, Arc::new(read));
        let sql = SessionContext::new();
        sql.register_table("numbers", Arc::new(pages)).unwrap();
        for (limit, expected) in [
            (None, &[1000, 1000, 1000][..]),
            (Some(1_300), &[1000, 300]),
            (Some(1_000), &[1000]),
            (Some(7), &[7]),
            (Some(9_000), &[1000, 1000, 1000]),
        ] {
            let frame = sql.table("numbers").await.unwrap().limit(0, limit).unwrap();
            let rows: usize =
                frame.collect().await.unwrap().iter().map(RecordBatch::num_rows).sum();
            assert_eq!(rows, limit.unwrap_or(2_500).min(2_500), "{limit:?}");
            assert_eq!(std::mem::take(&mut *takes.lock().unwrap()), expected, "{limit:?}");
        }
    }
}
