//! Measurements as a stream of batches.
//!
//! Sealed rows are selected by columns, and only the columns are read that the batches need. Steps
//! are decoded only where they are not sealed yet, for a few results, and for filters that columns
//! cannot answer.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::arrays::{Arrays, damaged, equals, text};
use super::chunk_test::ChunkTest;
use super::convert::{number, number_text};
use super::query::{Question, Workspaces};
use super::scan::{Position, Selection, compare, each_step};
use super::stream::{BATCH_BYTES, BATCH_STEPS};
use super::workspace_of;
use crate::arrow::array::{
    Array as _, ArrayRef, Float64Array, RecordBatch, RecordBatchOptions, StringBuilder, UInt32Array,
};
use crate::arrow::compute::take;
use crate::arrow::datatypes::{DataType, Field, Schema, SchemaRef, TimeUnit};
use crate::arrow::error::ArrowError;
use crate::columnar::{MergedScan, Predicates};
use crate::error::{Error, Result};
use crate::filter::{Comparison, Shape};
use crate::model::results::ScanMeasurementsRequest;
use crate::model::steps::rows::{StepColumn, StepRows};
use crate::model::steps::stored::{StoredStep, generated_id, index_of, is_additional, result_key};
use crate::model::tables::store_table::STEPS;
use crate::model::{Resource, TestResult, members_of};
use crate::services::records::{Batches, FIELD, RecordStream, chosen, count_of, map_builder};
use crate::session::tables::{all_chunks, sealed};
use crate::session::{Access, Context, Session, View};
use crate::value::stored::Members;
use crate::value::{Control, IdForm, RecordKey};

/// Key of the metadata of a column with the path of its field in filters of results.
const RESULT_FIELD: &str = "stationdb.result_field";

/// A column of measurements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Of {
    ResultId,
    StepId,
    Position,
    Name,
    Value,
    Text,
    Units,
    LowLimit,
    HighLimit,
    ComparisonType,
    Status,
    SpecId,
    Extra,
    StepName,
    Path,
    StepStatus,
    StartedAt,
    PartNumber,
    SerialNumber,
    ProgramName,
    Operator,
    SystemId,
    Workspace,
    ResultStatus,
}

/// What names the values of a column in filters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Filtered {
    Not,
    /// The path of a field of steps.
    Step(&'static str),
    /// The path of a field of results.
    Result(&'static str),
}

const COLUMNS: [(Of, &str, Filtered); 24] = [
    (Of::ResultId, "result_id", Filtered::Step("resultId")),
    (Of::StepId, "step_id", Filtered::Step("stepId")),
    (Of::Position, "position", Filtered::Not),
    (Of::Name, "name", Filtered::Not),
    (Of::Value, "value", Filtered::Not),
    (Of::Text, "text", Filtered::Not),
    (Of::Units, "units", Filtered::Not),
    (Of::LowLimit, "low_limit", Filtered::Not),
    (Of::HighLimit, "high_limit", Filtered::Not),
    (Of::ComparisonType, "comparison_type", Filtered::Not),
    (Of::Status, "status", Filtered::Not),
    (Of::SpecId, "spec_id", Filtered::Not),
    (Of::Extra, "extra", Filtered::Not),
    (Of::StepName, "step_name", Filtered::Step("name")),
    (Of::Path, "path", Filtered::Step("path")),
    (Of::StepStatus, "step_status", Filtered::Step("status.statusType")),
    (Of::StartedAt, "started_at", Filtered::Step("startedAt")),
    (Of::PartNumber, "part_number", Filtered::Result("partNumber")),
    (Of::SerialNumber, "serial_number", Filtered::Result("serialNumber")),
    (Of::ProgramName, "program_name", Filtered::Result("programName")),
    (Of::Operator, "operator", Filtered::Result("operator")),
    (Of::SystemId, "system_id", Filtered::Result("systemId")),
    (Of::Workspace, "workspace", Filtered::Step("workspace")),
    (Of::ResultStatus, "result_status", Filtered::Result("status.statusType")),
];

impl Of {
    /// The stored columns that it is made of, beside those that every read has.
    fn columns(self) -> &'static [StepColumn] {
        match self {
            Self::StepId => &[StepColumn::StepId, StepColumn::Seq],
            Self::Position => &[StepColumn::Position],
            Self::Name => &[StepColumn::Measurement],
            Self::Units => &[StepColumn::Units],
            Self::LowLimit => &[StepColumn::LowLimit],
            Self::HighLimit => &[StepColumn::HighLimit],
            Self::ComparisonType => &[StepColumn::Comparison],
            Self::Status => &[StepColumn::Status],
            Self::SpecId => &[StepColumn::SpecId],
            Self::Extra => &[StepColumn::NominalValue],
            Self::StepName => &[StepColumn::Name],
            Self::Path => &[StepColumn::Path],
            Self::StepStatus => &[StepColumn::StatusType],
            Self::StartedAt => &[StepColumn::StartedAt],
            _ => &[],
        }
    }

    fn data_type(self) -> DataType {
        match self {
            Self::Position => DataType::Int64,
            Self::Value | Self::LowLimit | Self::HighLimit => DataType::Float64,
            Self::Extra => map_builder().finish().data_type().clone(),
            Self::StartedAt => DataType::Timestamp(TimeUnit::Millisecond, Some("UTC".into())),
            _ => DataType::Utf8,
        }
    }

    /// The path of the field of the result that it is, if it is one.
    fn result_path(self) -> Option<&'static str> {
        let (_, _, filtered) = COLUMNS.iter().find(|(of, ..)| *of == self)?;
        match filtered {
            Filtered::Result(path) => Some(path),
            _ => None,
        }
    }
}

/// The columns that every row is selected by.
const SELECTING: [StepColumn; 5] = [
    StepColumn::Result,
    StepColumn::ResultRest,
    StepColumn::Value,
    StepColumn::ValueText,
    StepColumn::Extra,
];

/// The columns whose values every row of a step has.
const OF_EVERY_ROW: [StepColumn; 10] = [
    StepColumn::Result,
    StepColumn::ResultRest,
    StepColumn::Seq,
    StepColumn::StepId,
    StepColumn::Name,
    StepColumn::StepType,
    StepColumn::StatusType,
    StepColumn::StatusName,
    StepColumn::StartedAt,
    StepColumn::Path,
];

/// Whether all rows of a step pass a test, or none.
fn is_of_every_row(shape: &Shape) -> bool {
    shape.reads_only(&mut |at| OF_EVERY_ROW.iter().any(|column| *column as usize == at))
}

fn schema_of(columns: &[Of]) -> SchemaRef {
    let field = |column: &Of| {
        let (_, name, filtered) = COLUMNS.iter().find(|(of, ..)| of == column)?;
        let path = match filtered {
            Filtered::Not => None,
            Filtered::Step(path) => Some((FIELD.to_owned(), (*path).to_owned())),
            Filtered::Result(path) => Some((RESULT_FIELD.to_owned(), (*path).to_owned())),
        };
        let field = Field::new(*name, column.data_type(), true);
        Some(field.with_metadata(path.into_iter().collect()))
    };
    Arc::new(Schema::new(columns.iter().filter_map(field).collect::<Vec<_>>()))
}

impl ScanMeasurementsRequest {
    /// All columns of measurements. The metadata `stationdb.field` of a column has the path of its
    /// field in filters of steps, `stationdb.result_field` that in filters of results.
    ///
    /// # Errors
    /// None that depends on data.
    ///
    /// ```
    /// use stationdb::results::ScanMeasurementsRequest;
    ///
    /// assert!(ScanMeasurementsRequest::schema()?.column_with_name("low_limit").is_some());
    /// # Ok::<(), stationdb::Error>(())
    /// ```
    pub fn schema() -> Result<SchemaRef> {
        Ok(schema_of(&COLUMNS.map(|(column, ..)| column)))
    }
}

/// What is read next.
enum Stage {
    Sealed(Box<MergedScan>),
    /// The chunks after this one.
    Chunks(Option<(RecordKey, u64)>),
    /// The decoded steps after this one.
    Steps(Option<Position>),
    Done,
}

/// The measurements that match a request.
struct Measurements {
    request: ScanMeasurementsRequest,
    question: Question,
    columns: Vec<Of>,
    schema: SchemaRef,
    /// The stored columns of sealed rows that are read.
    stored: Vec<StepColumn>,
    /// The members of results that are read; none if no column has one.
    members: Option<Members>,
    reads_workspace: bool,
    stage: Stage,
    left: usize,
    last: Option<(RecordKey, OfResult)>,
}

/// What columns have of a result.
#[derive(Clone, Debug, Default)]
struct OfResult {
    result: Option<Box<TestResult>>,
    workspace: Option<String>,
}

impl OfResult {
    fn text(&self, column: Of) -> Option<&str> {
        if column == Of::Workspace {
            return self.workspace.as_deref();
        }
        let result = self.result.as_ref()?;
        match column {
            Of::PartNumber => result.part_number.as_deref(),
            Of::SerialNumber => result.serial_number.as_deref(),
            Of::ProgramName => result.program_name.as_deref(),
            Of::Operator => result.operator.as_deref(),
            Of::SystemId => result.system_id.as_deref(),
            Of::ResultStatus => result.status.as_ref().map(|status| status.status_type.as_str()),
            _ => None,
        }
    }
}

impl std::fmt::Debug for Measurements {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Measurements").field("request", &self.request).finish_non_exhaustive()
    }
}

fn misfit(error: ArrowError) -> Error {
    Error::corrupt("internal error: measurements do not fit their columns; report it")
        .with_source(error)
}

/// A stream of the measurements that match.
///
/// # Errors
/// `InvalidArgument` for a faulty request.
pub(in crate::services::results) fn scan(
    context: &Arc<Context>,
    request: &ScanMeasurementsRequest,
    control: &Control,
) -> Result<RecordStream> {
    RecordStream::open(context, control, &mut |session| {
        session.read(|view| Ok(Box::new(Measurements::new(view, request)?) as Box<dyn Batches>))
    })
}

/// The tests of columns that the measurements of a request pass.
fn shapes(request: &ScanMeasurementsRequest, question: &Question) -> Vec<Shape> {
    let measured = Shape::Not(Box::new(Shape::IsNull(StepColumn::Measurement as usize)));
    let named = request.name.as_deref().map(|name| equals(StepColumn::Measurement, name));
    let mut shapes = vec![named.unwrap_or(measured)];
    shapes.extend(request.path.as_deref().map(|path| equals(StepColumn::Path, path)));
    shapes.extend(question.filter.shapes().0);
    if let Selection::Of(results) = &question.selection {
        for (end, comparison) in
            [(results.first(), Comparison::Ge), (results.last(), Comparison::Le)]
        {
            shapes.extend(end.map(|key| compare(StepColumn::Result, comparison, index_of(*key))));
        }
    }
    shapes
}

impl Measurements {
    fn new(view: &View<'_>, request: &ScanMeasurementsRequest) -> Result<Self> {
        let left = count_of(request.take)?;
        let names = COLUMNS.map(|(_, name, _)| name);
        let places = chosen(&names, request.columns.as_deref(), "measurements have")?.into_iter();
        let columns: Vec<Of> =
            places.filter_map(|at| COLUMNS.get(at)).map(|(column, ..)| *column).collect();
        let question = Question::among(
            view,
            (request.filter.as_deref(), request.substitutions.as_deref()),
            (request.result_filter.as_deref(), request.result_substitutions.as_deref()),
        )?;
        let mut stored = SELECTING.to_vec();
        for column in columns.iter().flat_map(|column| column.columns()) {
            if !stored.contains(column) {
                stored.push(*column);
            }
        }
        let paths: Vec<&str> = columns.iter().filter_map(|column| column.result_path()).collect();
        let fields = TestResult::fields().iter().enumerate();
        let places = fields.filter(|(_, field)| paths.contains(&field.path)).map(|(at, _)| at);
        let members = (!paths.is_empty()).then(|| members_of::<TestResult>(places));
        let mut found = Self {
            schema: schema_of(&columns),
            reads_workspace: columns.contains(&Of::Workspace),
            request: request.clone(),
            question,
            columns,
            stored,
            members,
            stage: Stage::Steps(None),
            left,
            last: None,
        };
        let (tests, is_exact) = found.question.filter.shapes();
        let is_columnar = is_exact && tests.iter().all(is_of_every_row);
        if is_columnar && found.question.selection.one_by_one().is_none() {
            found.stage = found.first_stage(view)?;
        }
        Ok(found)
    }

    /// A pass over columns.
    fn first_stage(&self, view: &View<'_>) -> Result<Stage> {
        let Some(table) = sealed(view, &STEPS)? else { return Ok(Stage::Chunks(None)) };
        let shapes = Shape::All(shapes(&self.request, &self.question));
        let predicates = Predicates::default().with_filter(&table.schema, shapes)?;
        let places = self.stored.iter().map(|column| *column as usize).collect();
        let control = self.question.control.clone();
        let scan = MergedScan::new(table, Arc::new(predicates), places, None, control)?;
        Ok(Stage::Sealed(Box::new(scan)))
    }

    /// The next batch, which may be empty; `None` after the last one.
    fn read(&mut self, view: &View<'_>) -> Result<Option<RecordBatch>> {
        match std::mem::replace(&mut self.stage, Stage::Done) {
            Stage::Done => Ok(None),
            Stage::Sealed(mut scan) => match scan.next_chunk()? {
                None => {
                    self.stage = Stage::Chunks(None);
                    self.batch(view, &StepRows::new().finish())
                }
                Some(chunk) => {
                    self.stage = Stage::Sealed(scan);
                    let stored = std::mem::take(&mut self.stored);
                    let arrays = Arrays::new(chunk.batch.columns(), &stored);
                    let batch = self.batch_of(view, arrays, chunk.batch.num_rows());
                    self.stored = stored;
                    batch.map(Some)
                }
            },
            Stage::Chunks(after) => self.read_chunks(view, after),
            Stage::Steps(after) => self.read_steps(view, after),
        }
    }

    /// Reads steps that are not sealed yet.
    fn read_chunks(
        &mut self,
        view: &View<'_>,
        after: Option<(RecordKey, u64)>,
    ) -> Result<Option<RecordBatch>> {
        let from = after.map(|(result, first)| (result, first.saturating_add(1)));
        let (mut rows, mut bytes) = (StepRows::new(), 0);
        let test = ChunkTest::new(&shapes(&self.request, &self.question));
        for chunk in all_chunks(view, &STEPS, from)? {
            self.question.control.check()?;
            let (result, chunk) = chunk?;
            if self.question.selection.contains(result) {
                for step in &test.steps(&chunk)? {
                    if self.question.filter.matches(view, result, "", step)? {
                        bytes += self.push(&mut rows, result, step);
                    }
                }
            }
            if bytes >= BATCH_BYTES {
                self.stage = Stage::Chunks(Some((result, chunk.first)));
                break;
            }
        }
        self.batch(view, &rows.finish())
    }

    /// Reads steps one after the other.
    fn read_steps(
        &mut self,
        view: &View<'_>,
        after: Option<Position>,
    ) -> Result<Option<RecordBatch>> {
        let (mut rows, mut bytes, mut count, mut last) = (StepRows::new(), 0, 0, None);
        let mut shapes = self.question.filter.shapes().0;
        shapes.extend(self.request.path.as_deref().map(|path| equals(StepColumn::Path, path)));
        let question = &self.question;
        let mut workspaces = Workspaces::new(view);
        let control = question.control.clone();
        each_step(view, &question.selection, shapes, after, &control, &mut |result, step| {
            control.check()?;
            let workspace = workspaces.read_by(&question.filter, result)?;
            if question.filter.matches(view, result, workspace, &step)? {
                bytes += self.push(&mut rows, result, &step);
                count += 1;
                last = Some((result, step.seq));
            }
            Ok(count < BATCH_STEPS && bytes < BATCH_BYTES)
        })?;
        if count >= BATCH_STEPS || bytes >= BATCH_BYTES {
            self.stage = Stage::Steps(last);
        }
        self.batch(view, &rows.finish())
    }

    /// Adds the rows of a step that may have measurements of the request; returns their memory.
    fn push(&self, rows: &mut StepRows, result: RecordKey, step: &StoredStep) -> usize {
        let is_other = self.request.path.as_ref().is_some_and(|path| *path != step.path);
        let is_wanted = |name: &Option<String>| match &self.request.name {
            Some(wanted) => name.as_ref() == Some(wanted),
            None => name.is_some(),
        };
        if is_other || !step.parameters().iter().any(|parameter| is_wanted(&parameter.name)) {
            return 0;
        }
        rows.push(result, step);
        step.memory_bytes()
    }

    /// The measurements of rows with all columns, of which some may be others.
    fn batch(&mut self, view: &View<'_>, arrays: &[ArrayRef]) -> Result<Option<RecordBatch>> {
        let row_count = arrays.first().map_or(0, |array| array.len());
        self.batch_of(view, Arrays::of_all(arrays), row_count).map(Some)
    }

    fn batch_of(
        &mut self,
        view: &View<'_>,
        arrays: Arrays<'_>,
        row_count: usize,
    ) -> Result<RecordBatch> {
        let (index, rest) =
            (arrays.ints(StepColumn::Result)?, arrays.ints(StepColumn::ResultRest)?);
        let value = arrays.numbers(StepColumn::Value)?;
        let value_text = arrays.texts(StepColumn::ValueText)?;
        let extra = arrays.texts(StepColumn::Extra)?;
        let name = arrays.texts(StepColumn::Measurement)?;
        let mut rows = Rows { arrays, rows: Vec::new(), results: Vec::new() };
        for row in 0..row_count {
            if rows.rows.len() >= self.left {
                break;
            }
            // Sealed rows are selected by their names already.
            let is_named = match (name, &self.request.name) {
                (None, _) => true,
                (name, Some(wanted)) => text(name, row) == Some(wanted.as_str()),
                (name, None) => text(name, row).is_some(),
            };
            let has_value = value.is_valid(row) || text(value_text, row).is_some();
            if !is_named || !has_value || text(extra, row).is_some_and(is_additional) {
                continue;
            }
            let key = result_key(index.value(row), rest.value(row)).ok_or_else(damaged)?;
            if self.question.selection.contains(key) {
                rows.rows.push(u32::try_from(row).map_err(|_| damaged())?);
                rows.results.push(key);
            }
        }
        self.left = self.left.saturating_sub(rows.rows.len());
        let of_results = self.of_results(view, &rows.results)?;
        let arrays = self.columns.iter().map(|column| rows.array(*column, &of_results));
        let arrays = arrays.collect::<Result<Vec<_>>>()?;
        let options = RecordBatchOptions::new().with_row_count(Some(rows.rows.len()));
        RecordBatch::try_new_with_options(self.schema.clone(), arrays, &options).map_err(misfit)
    }

    /// What columns have of each run of rows with one result, with the end of the run.
    fn of_results(
        &mut self,
        view: &View<'_>,
        results: &[RecordKey],
    ) -> Result<Vec<(usize, OfResult)>> {
        let mut runs = Vec::new();
        if self.members.is_none() && !self.reads_workspace {
            return Ok(runs);
        }
        for run in results.chunk_by(|a, b| a == b) {
            let Some(key) = run.first().copied() else { continue };
            if self.last.as_ref().is_none_or(|(known, _)| *known != key) {
                self.last = Some((key, self.of_result(view, key)?));
            }
            let end = runs.last().map_or(0, |(end, _)| *end) + run.len();
            let of = self.last.as_ref().map(|(_, of)| of.clone()).unwrap_or_default();
            runs.push((end, of));
        }
        Ok(runs)
    }

    fn of_result(&self, view: &View<'_>, key: RecordKey) -> Result<OfResult> {
        let members = self.members.unwrap_or_else(|| members_of::<TestResult>([]));
        let result = view.part_by_key::<TestResult>(key, members)?;
        let workspace = match &result {
            Some(result) => Some(result.workspace().to_owned()),
            None => workspace_of(view, key)?,
        };
        Ok(OfResult { result: result.map(Box::new), workspace })
    }
}

/// Rows that are measurements of a request.
struct Rows<'b> {
    arrays: Arrays<'b>,
    rows: Vec<u32>,
    results: Vec<RecordKey>,
}

impl Rows<'_> {
    fn taken(&self, column: StepColumn) -> Result<ArrayRef> {
        let array = self.arrays.array(column).ok_or_else(damaged)?;
        if self.rows.len() == array.len() {
            return Ok(array.clone());
        }
        take(array, &UInt32Array::from(self.rows.clone()), None).map_err(misfit)
    }

    fn each(&self) -> impl Iterator<Item = (usize, RecordKey)> {
        let rows = self.rows.iter().map(|row| *row as usize);
        rows.zip(self.results.iter().copied())
    }

    /// The numbers that the texts of a column are.
    fn numbers(&self, column: StepColumn) -> Result<ArrayRef> {
        let texts = self.arrays.texts(column)?;
        let mut last: Option<(&str, Option<f64>)> = None;
        let numbers = self.each().map(|(row, _)| {
            let found = text(texts, row)?;
            match last {
                Some((known, value)) if known == found => value,
                _ => {
                    let value = number(found);
                    last = Some((found, value));
                    value
                }
            }
        });
        Ok(Arc::new(numbers.collect::<Float64Array>()))
    }

    fn result_ids(&self) -> ArrayRef {
        let mut ids = StringBuilder::new();
        for run in self.results.chunk_by(|a, b| a == b) {
            let id = run.first().map(|key| key.to_id(IdForm::Guid)).unwrap_or_default();
            run.iter().for_each(|_| ids.append_value(&id));
        }
        Arc::new(ids.finish())
    }

    fn step_ids(&self) -> Result<ArrayRef> {
        let chosen = self.arrays.texts(StepColumn::StepId)?;
        let seq = self.arrays.ints(StepColumn::Seq)?;
        let mut ids = StringBuilder::new();
        for (row, key) in self.each() {
            match text(chosen, row) {
                Some(id) => ids.append_value(id),
                None => ids.append_value(generated_id(key, seq.value(row).cast_unsigned())),
            }
        }
        Ok(Arc::new(ids.finish()))
    }

    /// The texts of the values.
    fn texts(&self) -> Result<ArrayRef> {
        let value = self.arrays.numbers(StepColumn::Value)?;
        let given = self.arrays.texts(StepColumn::ValueText)?;
        let mut texts = StringBuilder::new();
        for (row, _) in self.each() {
            match text(given, row) {
                Some(given) => texts.append_value(given),
                None => texts.append_value(number_text(value.value(row))),
            }
        }
        Ok(Arc::new(texts.finish()))
    }

    /// The other keys of the parameters, `nominalValue` among them.
    fn extra(&self) -> Result<ArrayRef> {
        let extra = self.arrays.texts(StepColumn::Extra)?;
        let nominal = self.arrays.texts(StepColumn::NominalValue)?;
        let mut map = map_builder();
        for (row, _) in self.each() {
            let mut keys: BTreeMap<String, String> = match text(extra, row) {
                None => BTreeMap::new(),
                Some(keys) => {
                    serde_json::from_str(keys).map_err(|error| damaged().with_source(error))?
                }
            };
            let nominal = text(nominal, row).map(str::to_owned);
            keys.extend(nominal.map(|text| ("nominalValue".to_owned(), text)));
            for (key, text) in keys {
                map.keys().append_value(key);
                map.values().append_value(text);
            }
            map.append(true).map_err(misfit)?;
        }
        Ok(Arc::new(map.finish()))
    }

    fn of_results(&self, column: Of, runs: &[(usize, OfResult)]) -> ArrayRef {
        let (mut texts, mut begin) = (StringBuilder::new(), 0);
        for (end, of) in runs {
            let text = of.text(column);
            (begin..*end).for_each(|_| texts.append_option(text));
            begin = *end;
        }
        Arc::new(texts.finish())
    }

    fn array(&self, column: Of, runs: &[(usize, OfResult)]) -> Result<ArrayRef> {
        match column {
            Of::ResultId => Ok(self.result_ids()),
            Of::StepId => self.step_ids(),
            Of::Position => self.taken(StepColumn::Position),
            Of::Name => self.taken(StepColumn::Measurement),
            Of::Value => self.taken(StepColumn::Value),
            Of::Text => self.texts(),
            Of::Units => self.taken(StepColumn::Units),
            Of::LowLimit => self.numbers(StepColumn::LowLimit),
            Of::HighLimit => self.numbers(StepColumn::HighLimit),
            Of::ComparisonType => self.taken(StepColumn::Comparison),
            Of::Status => self.taken(StepColumn::Status),
            Of::SpecId => self.taken(StepColumn::SpecId),
            Of::Extra => self.extra(),
            Of::StepName => self.taken(StepColumn::Name),
            Of::Path => self.taken(StepColumn::Path),
            Of::StepStatus => self.taken(StepColumn::StatusType),
            Of::StartedAt => self.taken(StepColumn::StartedAt),
            Of::PartNumber
            | Of::SerialNumber
            | Of::ProgramName
            | Of::Operator
            | Of::SystemId
            | Of::Workspace
            | Of::ResultStatus => Ok(self.of_results(column, runs)),
        }
    }
}

impl Batches for Measurements {
    fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }

    fn next(&mut self, session: &Session) -> Result<Option<RecordBatch>> {
        session.read(|view| {
            while self.left > 0 {
                match self.read(view)? {
                    Some(batch) if batch.num_rows() == 0 => {}
                    batch => return Ok(batch),
                }
            }
            Ok(None)
        })
    }
}
