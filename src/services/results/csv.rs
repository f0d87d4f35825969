//! Test results as CSV, and what the CSV of steps has in common with it.

use std::collections::BTreeSet;
use std::io::Write;
use std::sync::Arc;

use crate::arrow::array::{ArrayRef, Float64Array, RecordBatch, StringArray};
use crate::arrow::datatypes::{Field, Schema, SchemaRef};
use crate::columnar::export_csv;
use crate::error::{Error, Result};
use crate::model::{
    QueryResultsRequest, ResultProjection, Status, StatusType, TestResult, text_of,
};
use crate::services::queries::{self, QueryRequest as _};
use crate::services::service_record::ServiceRecord as _;
use crate::session::{Access, Query, View};
use crate::value::{Control, Env};

/// Results that are read at once by an export.
const STEP_RESULTS: usize = 10_000;

/// A column of the CSV of records.
pub(super) trait CsvColumn {
    type Record;

    fn name(&self) -> String;

    /// The cells of some records.
    fn array(&self, records: &[Self::Record]) -> ArrayRef;
}

/// One column of results.
enum Column {
    Member(ResultProjection),
    Steps(StatusType),
    Property(String),
}

/// The columns of a projection, in the order of its enumeration, over results with these keys of
/// properties.
fn columns(projection: &[ResultProjection], keys: BTreeSet<String>) -> Vec<Column> {
    let has = |member: ResultProjection| projection.is_empty() || projection.contains(&member);
    let is_plain = |member: &ResultProjection| {
        !matches!(member, ResultProjection::StatusTypeSummary | ResultProjection::Properties)
    };
    let members = ResultProjection::ALL.iter().copied().filter(|member| has(*member));
    let mut columns: Vec<Column> = members.filter(is_plain).map(Column::Member).collect();
    if has(ResultProjection::StatusTypeSummary) {
        columns.extend(StatusType::ALL.iter().copied().map(Column::Steps));
    }
    if has(ResultProjection::Properties) {
        columns.extend(keys.into_iter().map(Column::Property));
    }
    columns
}

/// The status as one text.
pub(super) fn status_text(status: &Status) -> String {
    let name = status.status_name.clone().filter(|_| status.status_type == StatusType::Custom);
    name.unwrap_or_else(|| status.status_type.as_str().to_owned())
}

pub(super) fn list_text(list: Option<&Vec<String>>) -> Option<String> {
    list.map(|list| serde_json::Value::from(list.as_slice()).to_string())
}

impl Column {
    fn text(&self, result: &TestResult) -> Option<String> {
        match self {
            Self::Member(member) => match member {
                ResultProjection::Id => result.id.as_ref().map(ToString::to_string),
                ResultProjection::Status => result.status.as_ref().map(status_text),
                ResultProjection::Keywords => list_text(result.keywords.as_ref()),
                ResultProjection::FileIds => list_text(result.file_ids.as_ref()),
                ResultProjection::DataTableIds => list_text(result.data_table_ids.as_ref()),
                member => text_of(result, member.path()),
            },
            Self::Steps(status_type) => {
                let summary = result.status_type_summary.as_ref();
                summary.map(|summary| summary.count(*status_type).to_string())
            }
            Self::Property(key) => {
                let properties = result.properties.as_ref();
                properties.and_then(|properties| properties.get(key)?.clone())
            }
        }
    }
}

impl CsvColumn for Column {
    type Record = TestResult;

    fn name(&self) -> String {
        match self {
            Self::Member(member) => member.path().to_owned(),
            Self::Steps(status_type) => format!("statusTypeSummary.{status_type}"),
            Self::Property(key) => format!("properties.{key}"),
        }
    }

    fn array(&self, results: &[TestResult]) -> ArrayRef {
        match self {
            Self::Member(ResultProjection::TotalTimeInSeconds) => {
                let seconds = results.iter().map(|result| result.total_time_in_seconds);
                Arc::new(Float64Array::from_iter(seconds))
            }
            column => {
                Arc::new(StringArray::from_iter(results.iter().map(|result| column.text(result))))
            }
        }
    }
}

fn misfit(error: crate::arrow::error::ArrowError) -> Error {
    Error::corrupt("internal error: records do not fit their columns; report it").with_source(error)
}

pub(super) fn schema_of<C: CsvColumn>(columns: &[C]) -> SchemaRef {
    let field = |column: &C| Field::new(column.name(), column.array(&[]).data_type().clone(), true);
    Arc::new(Schema::new(columns.iter().map(field).collect::<Vec<_>>()))
}

pub(super) fn batch<C: CsvColumn>(
    columns: &[C],
    schema: &SchemaRef,
    records: &[C::Record],
) -> Result<RecordBatch> {
    let arrays = columns.iter().map(|column| column.array(records)).collect();
    RecordBatch::try_new(schema.clone(), arrays).map_err(misfit)
}

/// The header and the lines of some records.
pub(super) fn text_of_page<C: CsvColumn>(columns: &[C], records: &[C::Record]) -> Result<String> {
    let schema = schema_of(columns);
    let mut text = Vec::new();
    let batches = [batch(columns, &schema, records)];
    export_csv(String::new(), &schema, batches.into_iter(), &mut text)?;
    String::from_utf8(text)
        .map_err(|error| Error::corrupt("internal error: CSV is no text").with_source(error))
}

fn add_keys(result: &TestResult, keys: &mut BTreeSet<String>) {
    for key in result.properties.iter().flatten().map(|(key, _)| key) {
        if !keys.contains(key) {
            keys.insert(key.clone());
        }
    }
}

/// One page of a query.
pub(super) fn page(access: &impl Access, request: &QueryResultsRequest) -> Result<String> {
    let results = queries::page(access, request)?.items;
    let mut keys = BTreeSet::new();
    results.iter().for_each(|result| add_keys(result, &mut keys));
    let columns = columns(request.projection.as_deref().unwrap_or_default(), keys);
    text_of_page(&columns, &results)
}

/// The matches of a query, in its order, in parts.
struct Parts<'v, 's, 'q> {
    view: &'v View<'s>,
    query: Query<'q>,
    control: &'v Control,
    env: Env,
    token: Option<String>,
    is_done: bool,
}

impl Parts<'_, '_, '_> {
    fn part(&mut self) -> Result<Vec<TestResult>> {
        self.control.check()?;
        let token = self.token.take();
        let query = Query { continuation_token: token.as_deref(), ..self.query.clone() };
        let page = self.view.query::<TestResult>(&query)?;
        self.is_done = page.continuation_token.is_none();
        self.token = page.continuation_token;
        Ok(page.items.into_iter().map(|result| result.in_answer(&self.env)).collect())
    }
}

impl Iterator for Parts<'_, '_, '_> {
    type Item = Result<Vec<TestResult>>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.is_done {
            return None;
        }
        let part = self.part();
        self.is_done |= part.is_err();
        Some(part)
    }
}

/// All matches of a query. They are read twice, because the header has the keys of all properties.
pub(super) fn export(
    access: &impl Access,
    request: &QueryResultsRequest,
    out: &mut (dyn Write + Send),
    control: &Control,
) -> Result<u64> {
    let control = access.context().control(control);
    let query = Query {
        take: STEP_RESULTS,
        continuation_token: None,
        return_count: false,
        ..request.query(access.context().settings())?
    };
    let projection = request.projection.as_deref().unwrap_or_default();
    access.read(|view| {
        let mut keys = BTreeSet::new();
        if projection.is_empty() || projection.contains(&ResultProjection::Properties) {
            view.for_each_match::<TestResult>(&query, |result| add_keys(&result, &mut keys))?;
        }
        let columns = columns(projection, keys);
        let schema = schema_of(&columns);
        let parts =
            Parts { view, query, control: &control, env: view.env(), token: None, is_done: false };
        let batches = parts.map(|part| batch(&columns, &schema, &part?));
        export_csv(String::new(), &schema, batches, out)
    })
}
