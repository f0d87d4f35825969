//! A stream of the records of one kind.

use std::sync::Arc;

use super::columns::{Node, array, fields_of, nodes};
use super::kinds::{Position, ScannedKind, Shown};
use crate::arrow::array::{ArrayRef, RecordBatch, RecordBatchOptions, StringArray};
use crate::arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use crate::error::{Error, Result};
use crate::model::{RecordKind, ScanRecordsRequest};
use crate::services::lists;
use crate::session::{Access, Context, Holder, Query, Session};
use crate::value::stored::Members;
use crate::value::{Control, Env, Row, guarded};

/// Records of one batch.
const BATCH_RECORDS: usize = 1024;
/// Name of the column with the whole record.
const RECORD: &str = "record";

/// One column of a scan.
#[derive(Clone, Debug)]
enum Column {
    Fields(Node),
    /// The whole record.
    Record,
}

fn columns(kind: RecordKind) -> Vec<Column> {
    let fields = nodes(ScannedKind::new(kind).fields).into_iter().map(Column::Fields);
    fields.chain([Column::Record]).collect()
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
        schema_of(&columns(self))
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
    kind: ScannedKind,
    /// Where the next batch begins.
    position: Position,
    left: usize,
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
        let columns = chosen(columns(request.kind), request.columns.as_deref())?;
        let context = Context { control: Some(context.control(control)), ..(**context).clone() };
        let session = Session::of_context(Arc::new(context), Holder::RecordStream);
        let stream = Self {
            session: session.pinned(),
            schema: schema_of(&columns)?,
            kind: ScannedKind::new(request.kind),
            request,
            columns,
            position: Position { is_done: left == 0, ..Position::default() },
            left,
        };
        // Refuses a faulty filter now.
        let mut start = Position::default();
        let query = stream.query(&stream.position, 0);
        stream.session.read(|view| {
            stream.kind.part(view, &query, Members::NONE, &mut start, &mut |_, _| Ok(()))
        })?;
        Ok(stream)
    }

    /// The columns.
    #[must_use]
    pub fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }

    fn query<'q>(&'q self, position: &'q Position, take: usize) -> Query<'q> {
        let ScanRecordsRequest { filter, substitutions, .. } = &self.request;
        position.query(filter.as_deref(), substitutions.as_ref(), take)
    }

    /// The members that the columns read.
    fn wanted(&self) -> Members {
        let mut fields = Vec::new();
        for column in &self.columns {
            match column {
                Column::Fields(node) => fields_of(node, &mut fields),
                Column::Record => return Members::ALL,
            }
        }
        (self.kind.members)(&fields)
    }

    /// The next batch; the stream is done when it has fewer records than it may have.
    fn read(&mut self) -> Result<RecordBatch> {
        let mut position = self.position.clone();
        let query = self.query(&self.position, self.left.min(BATCH_RECORDS));
        let mut batch = None;
        self.session.read(|view| {
            let env = view.env();
            self.kind.part(view, &query, self.wanted(), &mut position, &mut |records, rows| {
                batch = Some(self.batch_of(records, rows, &env)?);
                Ok(())
            })
        })?;
        let batch = batch.ok_or_else(|| Error::corrupt("internal error: no part; report it"))?;
        self.left -= batch.num_rows();
        position.is_done |= self.left == 0;
        self.position = position;
        Ok(batch)
    }

    fn batch_of(
        &self,
        records: &[&dyn Shown],
        rows: &[&dyn Row],
        env: &Env,
    ) -> Result<RecordBatch> {
        let arrays = self.columns.iter().map(|column| match column {
            Column::Fields(node) => array(node, rows),
            Column::Record => {
                let texts = records.iter().map(|record| record.json(env).map(Some));
                Ok(Arc::new(texts.collect::<Result<StringArray>>()?) as ArrayRef)
            }
        });
        let arrays = arrays.collect::<Result<Vec<_>>>()?;
        let options = RecordBatchOptions::new().with_row_count(Some(rows.len()));
        RecordBatch::try_new_with_options(self.schema.clone(), arrays, &options).map_err(|error| {
            Error::corrupt("internal error: records do not fit their columns; report it")
                .with_source(error)
        })
    }
}

impl Iterator for RecordStream {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.position.is_done {
            return None;
        }
        match guarded("reading records", || self.read()) {
            Ok(batch) if batch.num_rows() == 0 => {
                self.position.is_done = true;
                None
            }
            Ok(batch) => Some(Ok(batch)),
            Err(error) => {
                self.position.is_done = true;
                Some(Err(error))
            }
        }
    }
}
