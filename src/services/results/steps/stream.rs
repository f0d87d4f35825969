//! Steps as a stream of batches.

use std::sync::Arc;

use super::convert::answered;
use super::filter::{Reads, StepRow, fields};
use super::query::{Question, Workspaces};
use super::scan::Position;
use crate::arrow::array::{ArrayRef, RecordBatch, RecordBatchOptions, StringArray};
use crate::arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use crate::error::{Error, Result};
use crate::model::results::ScanStepsRequest;
use crate::model::steps::stored::StoredStep;
use crate::services::records::{
    Batches, Node, RecordStream, array, chosen, count_of, fields_of, nodes,
};
use crate::session::{Access, Context, Session, View};
use crate::value::{Control, RecordKey, Row};

/// Steps of one batch.
pub(super) const BATCH_STEPS: usize = 1024;
/// Memory of the steps of one batch, unless it has only one.
pub(super) const BATCH_BYTES: usize = 8 * 1024 * 1024;

/// Name of the column with the whole step.
const RECORD: &str = "record";

/// One column of a scan.
#[derive(Clone, Debug)]
enum Column {
    Fields(Node),
    /// The whole step.
    Record,
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

fn all_columns() -> Vec<Column> {
    nodes(fields()).into_iter().map(Column::Fields).chain([Column::Record]).collect()
}

fn schema_of(columns: &[Column]) -> Result<SchemaRef> {
    let fields = columns.iter().map(Column::field).collect::<Result<Vec<_>>>()?;
    Ok(Arc::new(Schema::new(fields)))
}

impl ScanStepsRequest {
    /// All columns of steps: their fields in snake case, then `record` with the whole step as JSON.
    ///
    /// # Errors
    /// None that depends on data.
    ///
    /// ```
    /// use stationdb::results::ScanStepsRequest;
    ///
    /// assert!(ScanStepsRequest::schema()?.column_with_name("path_ids").is_some());
    /// # Ok::<(), stationdb::Error>(())
    /// ```
    pub fn schema() -> Result<SchemaRef> {
        schema_of(&all_columns())
    }
}

/// The steps that match a request.
struct Steps {
    request: ScanStepsRequest,
    question: Question,
    columns: Vec<Column>,
    schema: SchemaRef,
    reads: Reads,
    after: Option<Position>,
    left: usize,
}

impl std::fmt::Debug for Steps {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Steps").field("request", &self.request).finish_non_exhaustive()
    }
}

/// A stream of the steps that match.
///
/// # Errors
/// `InvalidArgument` for a faulty request.
pub(in crate::services::results) fn scan(
    context: &Arc<Context>,
    request: &ScanStepsRequest,
    control: &Control,
) -> Result<RecordStream> {
    RecordStream::open(context, control, &mut |session| {
        let left = count_of(request.take)?;
        let all = all_columns();
        let names: Vec<&str> = all.iter().map(Column::name).collect();
        let places = chosen(&names, request.columns.as_deref(), "steps have")?.into_iter();
        let columns: Vec<Column> = places.filter_map(|at| all.get(at).cloned()).collect();
        let mut read = Vec::new();
        for column in &columns {
            if let Column::Fields(node) = column {
                fields_of(node, &mut read);
            }
        }
        let mut reads = Reads::of_fields(&read);
        reads.workspace |= columns.iter().any(|column| matches!(column, Column::Record));
        let question = session.read(|view| {
            Question::among(
                view,
                (request.filter.as_deref(), request.substitutions.as_deref()),
                (request.result_filter.as_deref(), request.result_substitutions.as_deref()),
            )
        })?;
        let schema = schema_of(&columns)?;
        let request = request.clone();
        Ok(Box::new(Steps { request, question, columns, schema, reads, after: None, left }))
    })
}

impl Steps {
    fn batch_of(&self, view: &View<'_>, found: &[(RecordKey, StoredStep)]) -> Result<RecordBatch> {
        let mut places = Vec::new();
        if self.reads.workspace {
            let mut workspaces = Workspaces::new(view);
            for (result, _) in found {
                places.push(workspaces.of(*result)?.unwrap_or_default().to_owned());
            }
        }
        let place = |at: usize| places.get(at).map_or("", String::as_str);
        let rows = found.iter().enumerate();
        let rows = rows.map(|(at, (result, step))| self.reads.row(*result, place(at), step));
        let rows = rows.collect::<Result<Vec<StepRow<'_>>>>()?;
        let rows: Vec<&dyn Row> = rows.iter().map(|row| row as &dyn Row).collect();
        let arrays = self.columns.iter().map(|column| match column {
            Column::Fields(node) => array(node, &rows),
            Column::Record => {
                let texts = found
                    .iter()
                    .enumerate()
                    .map(|(at, (result, step))| json(*result, place(at), step.clone()).map(Some));
                Ok(Arc::new(texts.collect::<Result<StringArray>>()?) as ArrayRef)
            }
        });
        let arrays = arrays.collect::<Result<Vec<_>>>()?;
        let options = RecordBatchOptions::new().with_row_count(Some(found.len()));
        RecordBatch::try_new_with_options(self.schema.clone(), arrays, &options).map_err(|error| {
            Error::corrupt("internal error: steps do not fit their columns; report it")
                .with_source(error)
        })
    }
}

fn json(result: RecordKey, workspace: &str, step: StoredStep) -> Result<String> {
    let step = answered(result, workspace, step)?;
    serde_json::to_string(&step).map_err(|error| {
        Error::corrupt("a stored step cannot be written as JSON").with_source(error)
    })
}

impl Batches for Steps {
    fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }

    fn next(&mut self, session: &Session) -> Result<Option<RecordBatch>> {
        session.read(|view| {
            let count = self.left.min(BATCH_STEPS);
            if count == 0 {
                return Ok(None);
            }
            let found = self.question.part(view, self.after, count, BATCH_BYTES)?;
            let Some((result, step)) = found.last() else { return Ok(None) };
            self.after = Some((*result, step.seq));
            self.left = self.left.saturating_sub(found.len());
            self.batch_of(view, &found).map(Some)
        })
    }
}
