//! `decimate('table', 'y1, y2', intervals)`: the rows with the extremes of columns in intervals of
//! the index.

use std::sync::Arc;

use async_trait::async_trait;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::catalog::{Session as Planner, TableFunctionImpl, TableProvider};
use datafusion::common::plan_err;
use datafusion::error::Result;
use datafusion::logical_expr::{Expr, TableType};
use datafusion::physical_plan::ExecutionPlan;
use stationdb::tables::{
    DecimationMethod, DecimationOptions, QueryDecimatedDataRequest, TableService,
};

use crate::batches::{Batches, Memory};
use crate::catalog::Catalog;
use crate::errors::external;
use crate::rows::RowTable;
use crate::scan::{StoreScan, names, project};
use crate::search::{number, text};

/// The function.
#[derive(Debug)]
pub(crate) struct Decimate {
    catalog: Arc<Catalog>,
}

impl Decimate {
    pub(crate) fn new(catalog: Arc<Catalog>) -> Self {
        Self { catalog }
    }

    /// The table, read on a thread of its own: the planner calls a function on an async thread.
    fn rows(&self, name: &str) -> Result<RowTable> {
        let read = || self.catalog.rows(name);
        let found = std::thread::scope(|scope| scope.spawn(read).join());
        match found {
            Ok(Some(table)) => table.map_err(external),
            Ok(None) => plan_err!("decimate: there is no table {name:?}"),
            Err(_) => plan_err!("decimate: reading the table {name:?} failed"),
        }
    }
}

impl TableFunctionImpl for Decimate {
    fn call(&self, exprs: &[Expr]) -> Result<Arc<dyn TableProvider>> {
        let form = "decimate takes a table, columns and a number of intervals, as \
                    decimate('Loop 1', 'volts, amps', 1000)";
        let [table, columns, intervals] = exprs else { return plan_err!("{form}") };
        let (Some(table), Some(columns), Some(intervals)) =
            (text(table), text(columns), number(intervals))
        else {
            return plan_err!("{form}");
        };
        let rows = self.rows(&table)?;
        let columns = match rows.schema().field_with_name(&columns) {
            Ok(_) => vec![columns],
            Err(_) => split(&columns),
        };
        let options = DecimationOptions::new(DecimationMethod::MaxMin)
            .y_columns(columns)
            .intervals(intervals);
        Ok(Arc::new(DecimatedTable { rows, options }))
    }
}

/// Names with commas between them; a name that has a comma is in double quotes.
pub(crate) fn split(text: &str) -> Vec<String> {
    let mut out = vec![String::new()];
    let mut is_quoted = false;
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match (c, out.last_mut()) {
            ('"', Some(name)) if is_quoted => match chars.next_if_eq(&'"') {
                Some(_) => name.push('"'),
                None => is_quoted = false,
            },
            ('"', Some(name)) if name.trim().is_empty() => is_quoted = true,
            (',', _) if !is_quoted => out.push(String::new()),
            (c, Some(name)) => name.push(c),
            (_, None) => {}
        }
    }
    out.iter().map(|name| name.trim().to_owned()).collect()
}

/// A decimated table.
#[derive(Debug)]
pub(crate) struct DecimatedTable {
    pub rows: RowTable,
    pub options: DecimationOptions,
}

#[async_trait]
impl TableProvider for DecimatedTable {
    fn schema(&self) -> SchemaRef {
        self.rows.schema()
    }

    fn table_type(&self) -> TableType {
        TableType::Temporary
    }

    async fn scan(
        &self,
        _state: &dyn Planner,
        projection: Option<&Vec<usize>>,
        _filters: &[Expr],
        _limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let (schema, _) = project(&self.schema(), projection)?;
        let mut request = QueryDecimatedDataRequest::new().decimation(self.options.clone());
        request.columns = Some(names(&schema, self.rows.index()));
        let (session, id) = (self.rows.session.clone(), self.rows.id.clone());
        let open = move |control: &stationdb::Control, _: &Memory| {
            let session = session.with_control(control);
            let answer = session.query_decimated_data(&id, request.clone())?;
            Ok(Box::new(answer.frame.batches.into_iter().map(Ok)) as Batches)
        };
        let label = format!("decimated rows of {}", self.rows.id);
        Ok(Arc::new(StoreScan::new(label, schema, Arc::new(open))))
    }
}

#[cfg(test)]
mod tests {
    use super::split;

    #[test]
    fn a_name_with_a_comma_is_in_quotes() {
        for (text, expected) in [
            ("volts, amps", &["volts", "amps"][..]),
            ("\"Torque, Request\"", &["Torque, Request"]),
            ("t, \"Torque, Request\" ,\"say \"\"x\"\"\"", &["t", "Torque, Request", "say \"x\""]),
            ("5\" pipe,v", &["5\" pipe", "v"]),
        ] {
            assert_eq!(split(text), expected, "{text}");
        }
    }
}
