//! A stream of the records of one kind.

use std::sync::Arc;

use super::columns::{Node, array, fields_of, nodes};
use super::kinds::{ScannedKind, of_kind};
use crate::arrow::array::{ArrayRef, RecordBatch, RecordBatchOptions, StringArray};
use crate::arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use crate::error::{Error, Result};
use crate::model::members_of;
use crate::model::records::{RecordKind, ScanRecordsRequest};
use crate::services::lists;
use crate::session::{Access, Context, Holder, Query, Session, View};
use crate::value::stored::Members;
use crate::value::{Control, Env, FieldDecl, RecordKey, Row, Val, guarded};

/// Records of one batch.
const BATCH_RECORDS: usize = 1024;
/// Name of the column with the whole record.
const RECORD: &str = "record";

/// A record as its columns read it.
#[derive(Debug)]
pub(super) struct Cells<'r, R> {
    record: &'r R,
    env: Env,
}

impl<R: ScannedKind> Row for Cells<'_, R> {
    fn val(&self, index: usize) -> Val<'_> {
        R::fields().get(index).map_or(Val::Null, |field| (field.get)(self.record, &self.env))
    }
}

/// Records as their columns read them.
pub(super) fn cells<R: ScannedKind>(records: &[R], env: Env) -> Vec<Cells<'_, R>> {
    records.iter().map(|record| Cells { record, env }).collect()
}

/// One column of a scan.
#[derive(Clone, Debug)]
enum Column {
    Fields(Node),
    /// The whole record.
    Record,
}

fn columns<R: ScannedKind>() -> Vec<Column> {
    let fields: Vec<FieldDecl> = R::fields().iter().map(|field| field.decl).collect();
    nodes(&fields).into_iter().map(Column::Fields).chain([Column::Record]).collect()
}

impl Column {
    fn name(&self) -> &str {
        match self {
            Self::Fields(node) => &node.name,
            Self::Record => RECORD,
        }
    }

    fn field(&self) -> Result<Field> {
        match self {
            Self::Fields(node) => Ok(node.field(array(node, &[])?.data_type().clone())),
            Self::Record => Ok(Field::new(RECORD, DataType::Utf8, true)),
        }
    }
}

/// The schema of a kind.
pub(super) fn schema(kind: RecordKind, _context: &Arc<Context>) -> Result<SchemaRef> {
    kind.schema()
}

impl RecordKind {
    /// The columns of the kind, as `record_schema` of a session returns them: what a lake has of
    /// records is read without a store.
    ///
    /// # Errors
    /// None that depends on data.
    ///
    /// ```
    /// use stationdb::scans::RecordKind;
    ///
    /// assert!(RecordKind::Product.schema()?.column_with_name("part_number").is_some());
    /// # Ok::<(), stationdb::Error>(())
    /// ```
    pub fn schema(self) -> Result<SchemaRef> {
        schema_of(&of_kind!(self, columns()))
    }
}

fn schema_of(columns: &[Column]) -> Result<SchemaRef> {
    let fields = columns.iter().map(Column::field).collect::<Result<Vec<_>>>()?;
    Ok(Arc::new(Schema::new(fields)))
}

/// The columns of these names, in this order; all for none.
fn chosen(all: Vec<Column>, names: Option<&[String]>) -> Result<Vec<Column>> {
    let names = names.unwrap_or_default();
    lists::check("columns", names.len())?;
    if names.is_empty() {
        return Ok(all);
    }
    let mut chosen: Vec<Column> = Vec::with_capacity(names.len());
    for (at, name) in names.iter().enumerate() {
        if chosen.iter().any(|column| column.name() == name) {
            continue;
        }
        let found = all.iter().find(|column| column.name() == name).ok_or_else(|| {
            Error::invalid(format!("the kind of record has no column {name:?}"))
                .with_args([name])
                .at_member(format!("columns[{at}]"))
        })?;
        chosen.push(found.clone());
    }
    Ok(chosen)
}

/// A stream of batches of records over one consistent state. It holds that state until it is
/// dropped.
pub struct RecordStream {
    session: Session,
    request: ScanRecordsRequest,
    schema: SchemaRef,
    columns: Vec<Column>,
    /// Where the next batch begins: the last record, or the token of a filtered page.
    after: Option<RecordKey>,
    token: Option<String>,
    left: usize,
    is_done: bool,
}

impl std::fmt::Debug for RecordStream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RecordStream").field("request", &self.request).finish_non_exhaustive()
    }
}

impl RecordStream {
    pub(super) fn new(
        context: &Arc<Context>,
        request: ScanRecordsRequest,
        control: &Control,
    ) -> Result<Self> {
        let left = request.take.map_or(Ok(usize::MAX), |take| {
            usize::try_from(take).map_err(|_| {
                Error::invalid(format!("take is {take}; it cannot be negative")).at_member("take")
            })
        })?;
        let columns = chosen(of_kind!(request.kind, columns()), request.columns.as_deref())?;
        let context = Context { control: Some(context.control(control)), ..(**context).clone() };
        let session = Session::of_context(Arc::new(context), Holder::RecordStream);
        let stream = Self {
            session: session.pinned(),
            schema: schema_of(&columns)?,
            request,
            columns,
            after: None,
            token: None,
            left,
            is_done: left == 0,
        };
        // Refuses a faulty filter now.
        of_kind!(stream.request.kind, check(&stream))?;
        Ok(stream)
    }

    /// The columns.
    #[must_use]
    pub fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }

    fn query(&self, take: usize) -> Query<'_> {
        Query {
            filter: self.request.filter.as_deref(),
            substitutions: self.request.substitutions.as_deref().unwrap_or_default(),
            take,
            continuation_token: self.token.as_deref(),
            ..Query::default()
        }
    }

    /// The next batch; the stream is done when it has fewer records than it may have.
    fn read(&mut self) -> Result<RecordBatch> {
        of_kind!(self.request.kind, batch(self))
    }
}

fn check<R: ScannedKind>(stream: &RecordStream) -> Result<()> {
    stream.session.read(|view| view.query::<R>(&stream.query(0))).map(drop)
}

/// The members that the columns read.
fn wanted<R: ScannedKind>(columns: &[Column]) -> Members {
    let mut fields = Vec::new();
    for column in columns {
        match column {
            Column::Fields(node) => fields_of(node, &mut fields),
            Column::Record => return Members::ALL,
        }
    }
    members_of::<R>(fields)
}

/// The records of the next batch, and the position after them.
fn records<R: ScannedKind>(
    stream: &mut RecordStream,
    view: &View<'_>,
    most: usize,
) -> Result<Vec<R>> {
    if stream.request.filter.is_some() {
        let page = view.query::<R>(&stream.query(most))?;
        stream.is_done = page.continuation_token.is_none();
        stream.token = page.continuation_token;
        return Ok(page.items);
    }
    let (mut records, mut last) = (Vec::new(), stream.after);
    let visibility = view.visibility(R::KIND);
    view.scan_records::<R>(
        stream.after,
        false,
        wanted::<R>(&stream.columns),
        &mut |key, record| {
            last = Some(key);
            if visibility.allows(record.workspace()) {
                records.push(record);
            }
            Ok(records.len() < most)
        },
    )?;
    stream.is_done = records.len() < most;
    stream.after = last;
    Ok(records)
}

fn batch<R: ScannedKind>(stream: &mut RecordStream) -> Result<RecordBatch> {
    let most = stream.left.min(BATCH_RECORDS);
    let session = stream.session.clone();
    let (records, env) =
        session.read(|view| Ok((records::<R>(stream, view, most)?, view.env())))?;
    let cells = cells(&records, env);
    let rows: Vec<&dyn Row> = cells.iter().map(|cells| cells as &dyn Row).collect();
    let json = |at: usize| records.get(at).map(|record| record.clone().json(&env)).transpose();
    batch_of(stream, &rows, &json)
}

/// The batch of rows; `json` returns the whole record of a row.
fn batch_of(
    stream: &mut RecordStream,
    rows: &[&dyn Row],
    json: &dyn Fn(usize) -> Result<Option<String>>,
) -> Result<RecordBatch> {
    stream.left -= rows.len();
    stream.is_done |= stream.left == 0;
    let arrays = stream.columns.iter().map(|column| match column {
        Column::Fields(node) => array(node, rows),
        Column::Record => {
            let texts = (0..rows.len()).map(json).collect::<Result<StringArray>>()?;
            Ok(Arc::new(texts) as ArrayRef)
        }
    });
    let arrays = arrays.collect::<Result<Vec<_>>>()?;
    let options = RecordBatchOptions::new().with_row_count(Some(rows.len()));
    RecordBatch::try_new_with_options(stream.schema.clone(), arrays, &options).map_err(|error| {
        Error::corrupt("internal error: records do not fit their columns; report it")
            .with_source(error)
    })
}

impl Iterator for RecordStream {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.is_done {
            return None;
        }
        match guarded("reading records", || self.read()) {
            Ok(batch) if batch.num_rows() == 0 => {
                self.is_done = true;
                None
            }
            Ok(batch) => Some(Ok(batch)),
            Err(error) => {
                self.is_done = true;
                Some(Err(error))
            }
        }
    }
}
