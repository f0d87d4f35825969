//! The import of rows beside the operations by their names: its request is JSON, too.

use std::sync::Arc;

use serde_json::Value;
use stationdb::arrow::array::{ArrayRef, Int64Array, RecordBatch};
use stationdb::prelude::*;
use stationdb::tables::{Column, ColumnType, DataType, ImportTableRequest};
use stationdb::{Control, Result, Session};

use crate::calls::{read, wire};
use crate::rows::Rows;

/// The answer of `import_rows`, where an operation is that: its argument is the request, and its
/// source has a row.
pub(crate) fn import(
    session: &Session,
    operation: &str,
    arguments: &[Value],
) -> Option<Result<Value>> {
    let answer = || {
        let request: ImportTableRequest = read(arguments.first().unwrap_or(&Value::Null))?;
        let columns = vec![Column::new("a", DataType::Int64).column_type(ColumnType::Index)];
        let values: ArrayRef = Arc::new(Int64Array::from(vec![1]));
        let batch = RecordBatch::try_from_iter([("a", values)]).unwrap();
        let mut rows = Rows::new(request.clone(), columns, vec![batch]);
        session.import_rows(request, &mut rows, &Control::default()).map(wire)
    };
    (operation == "import_rows").then(answer)
}
