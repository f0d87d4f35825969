//! Rows of tables: in from Arrow, arrays and files, out as streams and arrays.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use pyo3_arrow::PySchema;
use pyo3_arrow::buffer::PyArrowBuffer;
use pyo3_arrow::input::AnyRecordBatch;
use stationdb::arrow::array::{
    Array, ArrayRef, AsArray, RecordBatch, RecordBatchIterator, RecordBatchOptions,
    RecordBatchReader,
};
use stationdb::arrow::buffer::Buffer;
use stationdb::arrow::datatypes::{
    DataType, Field, Float32Type, Float64Type, Int16Type, Int32Type, Int64Type, Schema, SchemaRef,
};
use stationdb::arrow::error::ArrowError;
use stationdb::by_name::Services;
use stationdb::chrono::{DateTime, Utc};
use stationdb::tables::{
    ColumnFilter, ColumnOrderBy, ExportTableDataRequest, FilterOperation,
    QueryDecimatedDataRequest, ReadWaveformsRequest, SampleValues, Samples, ScanRequest, TableId,
    Waveform, WaveformAxis, WaveformX,
};
use stationdb::{Control, Error, Result};
use stationdb_formats::tdms::ExportTdmsRequest;
use stationdb_formats::{ExportFiles as _, ImportFiles};

use crate::callbacks;
use crate::columns;
use crate::content::{FileReader, FileWriter};
use crate::errors::{invalid, raised};
use crate::json::{request, to_python};
use crate::lock::lock;
use crate::open::TransactionSlot;
use crate::rows::{RowsCore, Source};
use crate::session::SessionCore;

/// The type of spans of time in pandas, whose numbers do not say what they count.
const PERIOD: &str = "pandas.period";

/// The exception of code of the caller that makes batches.
type Raised = Arc<Mutex<Option<PyErr>>>;

/// The batches of a reader of the caller, which may be Python code.
struct Foreign {
    reader: Box<dyn RecordBatchReader + Send>,
    /// Whether this is the thread that runs the handlers of signals.
    is_main: bool,
    /// Batches that were read.
    count: usize,
    raised: Raised,
}

impl Foreign {
    fn set(&self, exception: PyErr) {
        lock(&self.raised).get_or_insert(exception);
    }
}

impl Iterator for Foreign {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.is_main
            && let Err(exception) = Python::attach(|py| py.check_signals())
        {
            self.set(exception);
            return Some(Err(ArrowError::ExternalError("interrupted".into())));
        }
        let next = callbacks::inside(|| self.reader.next());
        let next = match next {
            // A stream without batches is an append of no rows, whose columns are looked at.
            None if self.count == 0 => Some(Ok(RecordBatch::new_empty(self.reader.schema()))),
            next => next,
        };
        self.count += 1;
        if let Some(Err(error)) = &next {
            let told =
                format!("batch {} of the rows to append cannot be read: {error}", self.count);
            // An exception that the reader has kept comes first.
            if let Some(exception) = Python::try_attach(|py| of_text(py, told)) {
                self.set(exception);
            }
        }
        next
    }
}

/// The exception of a reader that only tells it in words, as the C data interface does.
fn of_text(py: Python<'_>, told: String) -> PyErr {
    let is_interrupt = told.lines().any(|line| line.starts_with("KeyboardInterrupt"));
    if is_interrupt { PyKeyboardInterrupt::new_err(()) } else { invalid(py, told) }
}

/// The batches of an iterator of Python, whose exceptions are kept.
struct Batches {
    iterator: Py<PyAny>,
    schema: SchemaRef,
    /// What the iterator gave last: a batch, or a table with several.
    part: Option<Box<dyn RecordBatchReader + Send>>,
    /// Batches that were read.
    count: usize,
    raised: Raised,
}

impl Batches {
    /// The next object of the iterator as batches.
    fn ask(
        py: Python<'_>,
        iterator: &Py<PyAny>,
        count: usize,
    ) -> PyResult<Option<Box<dyn RecordBatchReader + Send>>> {
        let Some(object) = iterator.bind(py).try_iter()?.next().transpose()? else {
            return Ok(None);
        };
        let reader = object.extract::<AnyRecordBatch>().and_then(AnyRecordBatch::into_reader);
        match reader {
            Ok(reader) => Ok(Some(Decoded::of(reader))),
            Err(error) => {
                let told = format!(
                    "object {count} of the rows to append is of type {}, which is no batch of \
                     Arrow: {error}",
                    object.get_type().name()?
                );
                Err(invalid(py, told))
            }
        }
    }

    /// A batch with the schema of all of them.
    fn fitting(&self, py: Python<'_>, batch: &RecordBatch) -> PyResult<RecordBatch> {
        let (found, known) = (described(&batch.schema()), described(&self.schema));
        if found != known {
            let told = format!(
                "batch {} of the rows to append has the columns {found:?}, and the rows have \
                 {known:?}; give each batch the same ones",
                self.count
            );
            return Err(invalid(py, told));
        }
        let rows = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
        let columns = batch.columns().to_vec();
        RecordBatch::try_new_with_options(self.schema.clone(), columns, &rows)
            .map_err(|error| invalid(py, format!("batch {}: {error}", self.count)))
    }

    fn read(&mut self, py: Python<'_>) -> PyResult<Option<RecordBatch>> {
        loop {
            let batch = match &mut self.part {
                None => None,
                Some(part) => {
                    let next = py.detach(|| part.next());
                    next.transpose().map_err(|error| of_text(py, error.to_string()))?
                }
            };
            if let Some(batch) = batch {
                self.count += 1;
                return self.fitting(py, &batch).map(Some);
            }
            self.part = Self::ask(py, &self.iterator, self.count + 1)?;
            if self.part.is_none() {
                return Ok(None);
            }
        }
    }
}

impl Iterator for Batches {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        match Python::try_attach(|py| self.read(py)) {
            Some(Ok(batch)) => batch.map(Ok),
            Some(Err(exception)) => {
                let told = exception.to_string();
                lock(&self.raised).get_or_insert(exception);
                Some(Err(ArrowError::ExternalError(told.into())))
            }
            None => Some(Err(ArrowError::ExternalError("the interpreter has ended".into()))),
        }
    }
}

impl RecordBatchReader for Batches {
    fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }
}

/// The axis of a waveform: `("time", datetime, dt)`, `("nanos", nanoseconds, dt)` as a time that a
/// datetime cannot keep, `("seconds", t0, dt)` or `("count", t0, dt)`.
#[derive(FromPyObject)]
enum Axis {
    Time(String, DateTime<Utc>, f64),
    Count(String, i64, i64),
    Nanos(String, i64, f64),
    Seconds(String, f64, f64),
}

impl Axis {
    fn of(&self) -> Option<WaveformAxis> {
        match *self {
            Self::Time(ref kind, t0, dt) if kind == "time" => Some(WaveformAxis::Time { t0, dt }),
            Self::Nanos(ref kind, t0, dt) if kind == "nanos" => {
                Some(WaveformAxis::Time { t0: DateTime::from_timestamp_nanos(t0), dt })
            }
            Self::Count(ref kind, t0, dt) if kind == "count" => {
                Some(WaveformAxis::Count { t0, dt })
            }
            Self::Seconds(ref kind, t0, dt) if kind == "seconds" => {
                Some(WaveformAxis::Seconds { t0, dt })
            }
            _ => None,
        }
    }
}

/// The samples in an array, without a copy.
fn samples(array: &ArrayRef) -> Option<Samples<'_>> {
    Some(match array.data_type() {
        DataType::Float64 => Samples::Float64(array.as_primitive::<Float64Type>().values()),
        DataType::Float32 => Samples::Float32(array.as_primitive::<Float32Type>().values()),
        DataType::Int64 => Samples::Int64(array.as_primitive::<Int64Type>().values()),
        DataType::Int32 => Samples::Int32(array.as_primitive::<Int32Type>().values()),
        DataType::Int16 => Samples::Int16(array.as_primitive::<Int16Type>().values()),
        _ => return None,
    })
}

fn numbers(py: Python<'_>, values: SampleValues) -> PyResult<(Py<PyArrowBuffer>, &'static str)> {
    let (buffer, name) = match values {
        SampleValues::Float64(values) => (Buffer::from_vec(values), "float64"),
        SampleValues::Float32(values) => (Buffer::from_vec(values), "float32"),
        SampleValues::Int64(values) => (Buffer::from_vec(values), "int64"),
        SampleValues::Int32(values) => (Buffer::from_vec(values), "int32"),
        _ => return Err(raised(py, &crate::errors::internal("samples of a new type"))),
    };
    Ok((Py::new(py, PyArrowBuffer::new(buffer))?, name))
}

fn nanos(times: &[DateTime<Utc>]) -> Result<Vec<i64>> {
    let nanos = |time: &DateTime<Utc>| {
        time.timestamp_nanos_opt().ok_or_else(|| {
            Error::invalid(format!("{time} is no time in nanoseconds: the years 1677 to 2262 are"))
        })
    };
    times.iter().map(nanos).collect()
}

/// Batches whose dictionaries have only texts: others are decoded.
struct Decoded {
    reader: Box<dyn RecordBatchReader + Send>,
    schema: SchemaRef,
}

impl Decoded {
    /// The batches of `reader`, which is passed through where it has no other dictionaries.
    fn of(reader: Box<dyn RecordBatchReader + Send>) -> Box<dyn RecordBatchReader + Send> {
        let before = reader.schema();
        let schema = Self::schema_of(&before);
        if schema == *before {
            return reader;
        }
        Box::new(Self { reader, schema: Arc::new(schema) })
    }

    fn schema_of(before: &Schema) -> Schema {
        let field = |field: &Arc<Field>| {
            let data_type = columns::decoded_type(field.data_type());
            if data_type == field.data_type() {
                return field.clone();
            }
            Arc::new(field.as_ref().clone().with_data_type(data_type.clone()))
        };
        let fields: Vec<_> = before.fields().iter().map(field).collect();
        Schema::new_with_metadata(fields, before.metadata().clone())
    }

    fn batch(&self, batch: &RecordBatch) -> Result<RecordBatch, ArrowError> {
        let arrays = batch.columns().iter().map(columns::decoded).collect::<Result<_, _>>()?;
        RecordBatch::try_new(self.schema.clone(), arrays)
    }
}

impl Iterator for Decoded {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        let next = self.reader.next()?;
        Some(next.and_then(|batch| self.batch(&batch)))
    }
}

impl RecordBatchReader for Decoded {
    fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }
}

/// The name of each column, and its type: that of Arrow, or the one that pandas keeps as numbers.
fn described(schema: &Schema) -> Vec<(String, String)> {
    let field = |field: &Arc<Field>| {
        let told = match field.extension_type_name() {
            Some(PERIOD) => PERIOD.to_owned(),
            _ => field.data_type().to_string(),
        };
        (field.name().clone(), told)
    };
    schema.fields().iter().map(field).collect()
}

/// A number of rows.
fn taken(given: &Bound<'_, PyAny>) -> PyResult<i64> {
    given.extract().map_err(|_| {
        let told = match given.repr() {
            Ok(given) => format!("limit is {given}; give a whole number of rows"),
            Err(_) => "limit is no whole number of rows".to_owned(),
        };
        invalid(given.py(), told)
    })
}

/// Rows to append, taken from Python once.
#[pyclass(frozen, module = "stationdb._stationdb")]
pub struct Input {
    schema: SchemaRef,
    reader: Mutex<Option<Box<dyn RecordBatchReader + Send>>>,
    raised: Raised,
    /// Where the rows were appended; `Some(None)` is outside of transactions.
    appended: Mutex<Option<Option<Arc<TransactionSlot>>>>,
}

impl Input {
    fn new(reader: Box<dyn RecordBatchReader + Send>, raised: Raised) -> Self {
        let schema = reader.schema();
        Self { schema, reader: Mutex::new(Some(reader)), raised, appended: Mutex::default() }
    }
}

#[pymethods]
impl Input {
    /// The rows of an object with the Arrow C data interface.
    #[staticmethod]
    fn of_arrow(data: &Bound<'_, PyAny>) -> PyResult<Self> {
        let reader = Decoded::of(data.extract::<AnyRecordBatch>()?.into_reader()?);
        Ok(Self::new(reader, Raised::default()))
    }

    /// The rows of the batches of an iterator, whose exceptions an append raises as they are.
    /// Without a schema the first batch, which there is then, tells it.
    #[staticmethod]
    fn of_batches(iterator: &Bound<'_, PyAny>, schema: Option<PySchema>) -> PyResult<Self> {
        let py = iterator.py();
        let iterator = iterator.clone().unbind();
        let part = match &schema {
            Some(_) => None,
            None => Batches::ask(py, &iterator, 1)?,
        };
        let schema = match (schema, &part) {
            (Some(schema), _) => Arc::new(Decoded::schema_of(&schema.into_inner())),
            (None, Some(part)) => part.schema(),
            (None, None) => {
                return Err(invalid(py, "there are no batches, which tell the columns"));
            }
        };
        let raised = Raised::default();
        let batches = Batches { iterator, schema, part, count: 0, raised: raised.clone() };
        Ok(Self::new(Box::new(batches), raised))
    }

    /// Columns: name, form, type of the table's column, values.
    #[staticmethod]
    fn of_columns(
        py: Python<'_>,
        columns: Vec<(String, String, Option<String>, Bound<'_, PyAny>)>,
    ) -> PyResult<Self> {
        let batch = columns::batch(py, columns)?;
        let schema = batch.schema();
        let reader = RecordBatchIterator::new([Ok(batch)], schema);
        Ok(Self::new(Box::new(reader), Raised::default()))
    }

    /// Whether a table has the rows: they were appended, and not taken back by their transaction.
    #[getter]
    fn is_stored(&self) -> bool {
        match &*lock(&self.appended) {
            None => false,
            Some(None) => true,
            Some(Some(slot)) => slot.is_open() || slot.is_committed(),
        }
    }

    /// Names and Arrow types of the columns.
    #[getter]
    fn columns(&self) -> Vec<(String, String)> {
        described(&self.schema)
    }
}

/// The rows of one table.
#[pyclass(frozen, module = "stationdb._stationdb")]
pub struct TableCore {
    session: Py<SessionCore>,
    id: TableId,
}

#[pymethods]
impl TableCore {
    #[new]
    fn new(session: Py<SessionCore>, id: String) -> Self {
        Self { session, id: id.into() }
    }

    #[getter]
    fn id(&self) -> &str {
        self.id.as_str()
    }

    /// Appends rows, all or none.
    #[pyo3(signature = (rows, end))]
    fn append(&self, py: Python<'_>, rows: &Input, end: Option<bool>) -> PyResult<()> {
        let Some(reader) = lock(&rows.reader).take() else {
            return Err(raised(py, &Error::conflict("these rows were appended already")));
        };
        let caller = &self.session.get().caller;
        let done = caller.write(py, |services, is_main| {
            let mut batches = Foreign { reader, is_main, count: 0, raised: rows.raised.clone() };
            services.append_batches(&self.id, &mut batches, end)?;
            *lock(&rows.appended) = Some(caller.transaction.clone());
            Ok(())
        });
        let exception = lock(&rows.raised).take();
        match exception {
            Some(exception) => Err(exception),
            None => done,
        }
    }

    /// Appends the samples of columns at equal steps of an axis.
    #[pyo3(signature = (columns, axis, number))]
    fn append_waveform(
        &self,
        py: Python<'_>,
        columns: Vec<(String, Bound<'_, PyAny>)>,
        axis: Axis,
        number: Option<i64>,
    ) -> PyResult<()> {
        let Some(axis) = axis.of() else { return Err(invalid(py, "the axis is of no known kind")) };
        let arrays: Vec<(String, ArrayRef)> = columns
            .into_iter()
            .map(|(name, values)| Ok((name.clone(), columns::numbers(&values, &name)?)))
            .collect::<PyResult<_>>()?;
        let mut waveform = Waveform::new(axis);
        waveform.number = number;
        for (name, array) in &arrays {
            let Some(samples) = samples(array) else {
                let told = format!(
                    "the samples of column {name:?} are of type {}; give float64, float32, int64, \
                     int32 or int16, as in values.astype(float)",
                    array.data_type()
                );
                return Err(invalid(py, told));
            };
            waveform = waveform.y(name, samples);
        }
        let caller = &self.session.get().caller;
        caller.write(py, |services, _| services.append_waveform(&self.id, &waveform))
    }

    /// Rows as a stream.
    ///
    /// The bounds are the index, cells with its first and its last value, and whether rows with the
    /// last one are read too.
    #[pyo3(signature = (columns, bounds, condition, order, take))]
    fn scan(
        &self,
        py: Python<'_>,
        columns: Option<Vec<String>>,
        bounds: (Option<String>, Option<String>, Option<String>, bool),
        condition: Option<(String, Option<Bound<'_, PyAny>>)>,
        order: Vec<(String, bool)>,
        take: Option<Bound<'_, PyAny>>,
    ) -> PyResult<RowsCore> {
        let mut asked = ScanRequest::new();
        asked.columns = columns;
        if let Some((filter, values)) = condition {
            asked.filter = Some(filter);
            asked.substitutions = values.map(|values| request(&values, "rows")).transpose()?;
        }
        asked.take = take.map(|take| taken(&take)).transpose()?;
        let (index, start, stop, has_stop) = bounds;
        let before =
            if has_stop { FilterOperation::LessThanEquals } else { FilterOperation::LessThan };
        let bounds = [(FilterOperation::GreaterThanEquals, start), (before, stop)];
        let bounds = bounds.into_iter().filter_map(|(operation, cell)| {
            Some(ColumnFilter::new(index.clone()?, operation).value(cell?))
        });
        asked.filters = Some(bounds.collect());
        let order = order.into_iter().map(|(name, descending)| {
            let mut order = ColumnOrderBy::new(name);
            order.descending = descending;
            order
        });
        asked.order_by = Some(order.collect());
        let caller = &self.session.get().caller;
        caller.stream(py, |services, control| {
            let stream = services.scan(&self.id, asked, control)?;
            Ok((stream.schema(), Box::new(stream) as Source))
        })
    }

    /// Decimated rows.
    fn decimate(&self, py: Python<'_>, asked: &Bound<'_, PyAny>) -> PyResult<RowsCore> {
        let asked: QueryDecimatedDataRequest = request(asked, "decimate")?;
        let caller = &self.session.get().caller;
        caller.stream(py, |services, _| {
            let batches = services.query_decimated_data(&self.id, asked)?.frame.batches;
            let schema =
                batches.first().map_or_else(|| Arc::new(Schema::empty()), RecordBatch::schema);
            Ok((schema, Box::new(batches.into_iter().map(Ok)) as Source))
        })
    }

    /// Waveforms as dicts with buffers of numbers.
    fn waveforms<'py>(
        &self,
        py: Python<'py>,
        asked: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyList>> {
        let asked: ReadWaveformsRequest = request(asked, "waveforms")?;
        let caller = &self.session.get().caller;
        let found = caller
            .read(py, |services, control| services.read_waveforms(&self.id, asked, control))?;
        let list = PyList::empty(py);
        for waveform in found {
            let one = PyDict::new(py);
            one.set_item("number", waveform.number)?;
            one.set_item("unit", waveform.unit)?;
            let (kind, t0, dt) = match waveform.axis {
                None => (None, py.None(), py.None()),
                Some(WaveformAxis::Time { t0, dt }) => (Some("time"), any(py, t0)?, any(py, dt)?),
                Some(WaveformAxis::Seconds { t0, dt }) => {
                    (Some("seconds"), any(py, t0)?, any(py, dt)?)
                }
                Some(WaveformAxis::Count { t0, dt }) => (Some("count"), any(py, t0)?, any(py, dt)?),
                Some(_) => return Err(raised(py, &crate::errors::internal("a new axis"))),
            };
            one.set_item("axis", kind)?;
            one.set_item("t0", t0)?;
            one.set_item("dt", dt)?;
            let (x, name) = match waveform.x {
                WaveformX::Seconds(x) => numbers(py, SampleValues::Float64(x))?,
                WaveformX::Counts(x) => numbers(py, SampleValues::Int64(x))?,
                WaveformX::Times(x) => {
                    let nanos = nanos(&x).map_err(|error| raised(py, &error))?;
                    (numbers(py, SampleValues::Int64(nanos))?.0, "datetime64[ns]")
                }
                _ => return Err(raised(py, &crate::errors::internal("a new kind of x"))),
            };
            one.set_item("x", (x, name))?;
            let y = PyList::empty(py);
            for column in waveform.y {
                let (values, name) = numbers(py, column.samples)?;
                y.append((column.column, column.unit, values, name))?;
            }
            one.set_item("y", y)?;
            list.append(one)?;
        }
        Ok(list)
    }

    /// Writes rows into a file or into an object with `write`. Returns their number.
    #[pyo3(signature = (target, asked, progress))]
    fn export(
        &self,
        py: Python<'_>,
        target: &Bound<'_, PyAny>,
        asked: &Bound<'_, PyAny>,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<u64> {
        let asked: ExportTableDataRequest = request(asked, "export")?;
        let caller = &self.session.get().caller;
        let mut out = FileWriter::open(target)?;
        let done = caller.long(py, progress, |services, control| {
            services.export_table_data(&self.id, asked, &mut out, control)
        });
        out.finish(py, done)
    }

    /// Writes rows as TDMS. Returns their number.
    #[pyo3(signature = (target, asked, fill, progress))]
    fn export_tdms(
        &self,
        py: Python<'_>,
        target: &Bound<'_, PyAny>,
        asked: &Bound<'_, PyAny>,
        fill: BTreeMap<String, String>,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<u64> {
        let mut export = ExportTdmsRequest::new().rows(request(asked, "export")?);
        export.fill = fill;
        let caller = &self.session.get().caller;
        let mut out = FileWriter::open(target)?;
        let done = caller.long(py, progress, |services, control| {
            services.export_tdms(&self.id, export, &mut out, control)
        });
        out.finish(py, done)
    }

    /// Writes the stored files of the table into a directory. Returns their manifest.
    #[pyo3(signature = (directory, progress))]
    fn export_segments(
        &self,
        py: Python<'_>,
        directory: PathBuf,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<Py<PyAny>> {
        let caller = &self.session.get().caller;
        let manifest = caller.long(py, progress, |services, control| {
            services.export_segments_to(&self.id, &directory, control)
        })?;
        to_python(py, &manifest)
    }
}

fn any<'py>(py: Python<'py>, value: impl IntoPyObject<'py>) -> PyResult<Py<PyAny>> {
    use pyo3::IntoPyObjectExt as _;
    value.into_py_any(py)
}

/// Imports a file into a table: CSV, or Parquet if `is_parquet`.
#[pyfunction]
#[pyo3(signature = (session, source, is_parquet, asked, progress))]
pub fn import_table(
    py: Python<'_>,
    session: &SessionCore,
    source: &Bound<'_, PyAny>,
    is_parquet: bool,
    asked: &Bound<'_, PyAny>,
    progress: Option<Py<PyAny>>,
) -> PyResult<Py<PyAny>> {
    session.caller.refuse_own_transaction(py)?;
    let asked = request(asked, "import_file")?;
    let import = |services: &dyn Services, control: &Control, input: FileReader| {
        if is_parquet {
            services.import_parquet(asked, Box::new(input), control)
        } else {
            let mut input = std::io::BufReader::with_capacity(1 << 20, input);
            services.import_csv(asked, &mut input, control)
        }
    };
    let input = FileReader::open(source)?;
    let raised = input.raised();
    let done = session
        .caller
        .long(py, progress, move |services, control| import(services, control, input));
    let answer = crate::content::raised_or(&raised, done)?;
    to_python(py, &answer)
}
