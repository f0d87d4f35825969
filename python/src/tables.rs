//! Rows of tables: in from Arrow, arrays and files, out as streams and arrays.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use pyo3_arrow::buffer::PyArrowBuffer;
use pyo3_arrow::input::AnyRecordBatch;
use stationdb::arrow::array::{Array, ArrayRef, AsArray, RecordBatch, RecordBatchReader};
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
use crate::rows::{RowsCore, Source};
use crate::session::SessionCore;

/// The type of spans of time in pandas, whose numbers do not say what they count.
const PERIOD: &str = "pandas.period";

/// The batches of a reader of the caller, which may be Python code.
struct Foreign<'r> {
    reader: Box<dyn RecordBatchReader + Send>,
    /// Whether this is the thread that runs the handlers of signals.
    is_main: bool,
    /// Batches that were read.
    count: usize,
    raised: &'r mut Option<PyErr>,
}

impl Iterator for Foreign<'_> {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.is_main
            && let Err(exception) = Python::attach(|py| py.check_signals())
        {
            *self.raised = Some(exception);
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
            *self.raised = Python::try_attach(|py| invalid(py, told));
        }
        next
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
        let field = |field: &Arc<Field>| {
            let data_type = columns::decoded_type(field.data_type());
            if data_type == field.data_type() {
                return field.clone();
            }
            Arc::new(field.as_ref().clone().with_data_type(data_type.clone()))
        };
        let fields: Vec<_> = before.fields().iter().map(field).collect();
        let schema = Schema::new_with_metadata(fields, before.metadata().clone());
        if schema == *before {
            return reader;
        }
        Box::new(Self { reader, schema: Arc::new(schema) })
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
    reader: std::sync::Mutex<Option<Box<dyn RecordBatchReader + Send>>>,
}

#[pymethods]
impl Input {
    /// The rows of an object with the Arrow C data interface.
    #[staticmethod]
    fn of_arrow(data: &Bound<'_, PyAny>) -> PyResult<Self> {
        let reader = Decoded::of(data.extract::<AnyRecordBatch>()?.into_reader()?);
        Ok(Self { schema: reader.schema(), reader: std::sync::Mutex::new(Some(reader)) })
    }

    /// Columns: name, form, type of the table's column, values.
    #[staticmethod]
    fn of_columns(
        py: Python<'_>,
        columns: Vec<(String, String, Option<String>, Bound<'_, PyAny>)>,
    ) -> PyResult<Self> {
        let batch = columns::batch(py, columns)?;
        let schema = batch.schema();
        let reader = stationdb::arrow::array::RecordBatchIterator::new([Ok(batch)], schema.clone());
        Ok(Self { schema, reader: std::sync::Mutex::new(Some(Box::new(reader))) })
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
        let Some(reader) = crate::lock::lock(&rows.reader).take() else {
            return Err(raised(py, &Error::conflict("these rows were appended already")));
        };
        let mut exception = None;
        let done = self.session.get().caller.write(py, |services, is_main| {
            let mut batches = Foreign { reader, is_main, count: 0, raised: &mut exception };
            services.append_batches(&self.id, &mut batches, end)
        });
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
