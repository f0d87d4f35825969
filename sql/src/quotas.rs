//! The quotas of workspaces, and how much of them is used, as the table `quotas`.

use std::sync::Arc;

use datafusion::arrow::array::{
    ArrayRef, Int64Array, RecordBatch, StringArray, TimestampMillisecondArray,
};
use datafusion::arrow::datatypes::{DataType, Field, Schema, SchemaRef, TimeUnit};
use datafusion::logical_expr::TableType;
use stationdb::Session;
use stationdb::workspaces::{ListQuotasRequest, Quota, WorkspaceService};

use crate::batches::misfit;
use crate::pages::{Page, PageRequest, Pages};

/// The name of the table.
pub(crate) const NAME: &str = "quotas";
const UTC: &str = "UTC";

/// The quotas that the session sees.
pub(crate) fn table(session: &Session) -> Pages {
    let schema = schema();
    let form = schema.clone();
    let read = move |session: &Session, wanted: PageRequest<'_>| -> stationdb::Result<Page> {
        let mut request = ListQuotasRequest::new().take(wanted.take);
        request.continuation_token = wanted.token;
        let answer = session.list_quotas(request)?;
        let quotas = batch(&form, &answer.quotas)?;
        Ok(Page::of(&quotas, wanted.columns, answer.continuation_token))
    };
    Pages::new(NAME.to_owned(), session, schema, TableType::Base, Arc::new(read))
}

fn schema() -> SchemaRef {
    let number = |name, nullable| Field::new(name, DataType::Int64, nullable);
    let text = |name, nullable| Field::new(name, DataType::Utf8, nullable);
    let time = DataType::Timestamp(TimeUnit::Millisecond, Some(UTC.into()));
    Arc::new(Schema::new(vec![
        text("workspace", false),
        number("records_max", true),
        number("content_bytes_max", true),
        number("rows_max", true),
        number("record_count", false),
        number("content_bytes", false),
        number("row_count", false),
        Field::new("updated_at", time, true),
        text("updated_by", true),
        text("record", false),
    ]))
}

/// A bound that no store reaches is the greatest number of SQL.
fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

fn batch(schema: &SchemaRef, quotas: &[Quota]) -> stationdb::Result<RecordBatch> {
    let bounds = |get: fn(&Quota) -> Option<u64>| {
        Arc::new(quotas.iter().map(|quota| get(quota).map(signed)).collect::<Int64Array>())
            as ArrayRef
    };
    let numbers = |get: fn(&Quota) -> u64| {
        Arc::new(Int64Array::from_iter_values(quotas.iter().map(|quota| signed(get(quota)))))
            as ArrayRef
    };
    let times = quotas.iter().map(|quota| quota.updated_at.map(|time| time.timestamp_millis()));
    let records = quotas.iter().map(serde_json::to_string).collect::<Result<Vec<_>, _>>();
    let records =
        records.map_err(|error| stationdb::Error::io("writing a quota as JSON", error.into()))?;
    let columns: Vec<ArrayRef> = vec![
        Arc::new(StringArray::from_iter_values(quotas.iter().map(|quota| &quota.workspace))),
        bounds(|quota| quota.records_max),
        bounds(|quota| quota.content_bytes_max),
        bounds(|quota| quota.rows_max),
        numbers(|quota| quota.record_count),
        numbers(|quota| quota.content_bytes),
        numbers(|quota| quota.row_count),
        Arc::new(times.collect::<TimestampMillisecondArray>().with_timezone(UTC)),
        Arc::new(quotas.iter().map(|quota| quota.updated_by.as_deref()).collect::<StringArray>()),
        Arc::new(StringArray::from_iter_values(records)),
    ];
    RecordBatch::try_new(schema.clone(), columns).map_err(misfit)
}
