//! The records of one kind as a stream of batches.

use std::sync::Arc;

use super::columns::{Node, array, fields_of, nodes};
use super::kinds::{Position, ScannedKind, Shown};
use super::stream::{Batches, RecordStream, chosen, count_of};
use crate::arrow::array::{ArrayRef, RecordBatch, RecordBatchOptions, StringArray};
use crate::arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use crate::error::{Error, Result};
use crate::model::{RecordKind, ScanRecordsRequest};
use crate::session::{Access, Context, Query, Session};
use crate::value::stored::Members;
use crate::value::{Control, Env, Row};

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

impl RecordStream {
    pub(super) fn new(
        context: &Arc<Context>,
        request: ScanRecordsRequest,
        control: &Control,
    ) -> Result<Self> {
        let mut request = Some(request);
        Self::open(context, control, &mut |session| {
            let request = request.take().ok_or_else(no_part)?;
            Ok(Box::new(Records::new(session, request)?))
        })
    }
}

fn no_part() -> Error {
    Error::corrupt("internal error: no part; report it")
}

/// The records of one kind.
struct Records {
    request: ScanRecordsRequest,
    schema: SchemaRef,
    columns: Vec<Column>,
    kind: ScannedKind,
    /// Where the next batch begins.
    position: Position,
    left: usize,
}

impl std::fmt::Debug for Records {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Records").field("request", &self.request).finish_non_exhaustive()
    }
}

impl Records {
    fn new(session: &Session, request: ScanRecordsRequest) -> Result<Self> {
        let left = count_of(request.take)?;
        let all = columns(request.kind);
        let names: Vec<&str> = all.iter().map(Column::name).collect();
        let places =
            chosen(&names, request.columns.as_deref(), "the kind of record has")?.into_iter();
        let columns: Vec<Column> = places.filter_map(|at| all.get(at).cloned()).collect();
        let records = Self {
            schema: schema_of(&columns)?,
            kind: ScannedKind::new(request.kind),
            request,
            columns,
            position: Position { is_done: left == 0, ..Position::default() },
            left,
        };
        // Refuses a faulty filter now.
        let mut start = Position::default();
        let query = records.query(&records.position, 0);
        session.read(|view| {
            records.kind.part(view, &query, Members::NONE, &mut start, &mut |_, _| Ok(()))
        })?;
        Ok(records)
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
    fn read(&mut self, session: &Session) -> Result<RecordBatch> {
        let mut position = self.position.clone();
        let query = self.query(&self.position, self.left.min(BATCH_RECORDS));
        let mut batch = None;
        session.read(|view| {
            let env = view.env();
            self.kind.part(view, &query, self.wanted(), &mut position, &mut |records, rows| {
                batch = Some(self.batch_of(records, rows, &env)?);
                Ok(())
            })
        })?;
        let batch = batch.ok_or_else(no_part)?;
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

impl Batches for Records {
    fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }

    fn next(&mut self, session: &Session) -> Result<Option<RecordBatch>> {
        if self.position.is_done {
            return Ok(None);
        }
        self.read(session).map(|batch| Some(batch).filter(|batch| batch.num_rows() > 0))
    }
}
