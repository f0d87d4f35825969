//! One batch of rows.

use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyDict, PyList, PyTuple};
use pyo3_arrow::buffer::PyArrowBuffer;
use pyo3_arrow::ffi::{to_array_pycapsules, to_schema_pycapsule};
use stationdb::arrow::array::{Array, ArrayRef, RecordBatch, StructArray};
use stationdb::arrow::datatypes::{DataType, Field, TimeUnit};

use crate::cells;
use crate::errors::invalid;

/// Rows in memory.
#[pyclass(frozen, module = "stationdb._stationdb")]
pub struct Batch(RecordBatch);

impl Batch {
    pub fn new(batch: RecordBatch) -> Self {
        Self(batch)
    }

    fn column(&self, py: Python<'_>, index: usize) -> PyResult<&ArrayRef> {
        let count = self.0.num_columns();
        self.0.columns().get(index).ok_or_else(|| {
            invalid(py, format!("there is no column {index}; the batch has {count}"))
        })
    }
}

/// The type of the numbers that numpy reads in a buffer of Arrow, if both have it.
pub fn numpy_type(data_type: &DataType) -> Option<&'static str> {
    Some(match data_type {
        DataType::Int8 => "int8",
        DataType::Int16 => "int16",
        DataType::Int32 => "int32",
        DataType::Int64 => "int64",
        DataType::UInt8 => "uint8",
        DataType::UInt16 => "uint16",
        DataType::UInt32 => "uint32",
        DataType::UInt64 => "uint64",
        DataType::Float16 => "float16",
        DataType::Float32 => "float32",
        DataType::Float64 => "float64",
        DataType::Timestamp(TimeUnit::Second, _) => "datetime64[s]",
        DataType::Timestamp(TimeUnit::Millisecond, _) => "datetime64[ms]",
        DataType::Timestamp(TimeUnit::Microsecond, _) => "datetime64[us]",
        DataType::Timestamp(TimeUnit::Nanosecond, _) => "datetime64[ns]",
        _ => return None,
    })
}

#[pymethods]
impl Batch {
    #[getter]
    fn num_rows(&self) -> usize {
        self.0.num_rows()
    }

    fn __len__(&self) -> usize {
        self.0.num_rows()
    }

    #[getter]
    fn column_names(&self) -> Vec<String> {
        self.0.schema_ref().fields().iter().map(|field| field.name().clone()).collect()
    }

    /// The values of a column as a list.
    fn values<'py>(&self, py: Python<'py>, index: usize) -> PyResult<Bound<'py, PyList>> {
        cells::to_list(py, self.column(py, index)?)
    }

    /// The numbers of a column as a buffer with the name of their numpy type, and where they are
    /// null; `None` if they are no numbers.
    fn numbers<'py>(
        &self,
        py: Python<'py>,
        index: usize,
    ) -> PyResult<Option<(Py<PyArrowBuffer>, &'static str, Option<Bound<'py, PyList>>)>> {
        let array = self.column(py, index)?;
        let Some(name) = numpy_type(array.data_type()) else { return Ok(None) };
        let data = array.to_data();
        let Some(buffer) = data.buffers().first() else { return Ok(None) };
        let width = array.data_type().primitive_width().unwrap_or(1);
        let buffer = buffer.slice_with_length(data.offset() * width, data.len() * width);
        let nulls = match array.nulls().filter(|nulls| nulls.null_count() > 0) {
            None => None,
            Some(nulls) => Some(PyList::new(py, nulls.iter().map(|is_valid| !is_valid))?),
        };
        Ok(Some((Py::new(py, PyArrowBuffer::new(buffer))?, name, nulls)))
    }

    /// The rows as dicts.
    fn to_pylist<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let names = self.column_names();
        let columns: Vec<_> = self
            .0
            .columns()
            .iter()
            .map(|array| cells::to_list(py, array))
            .collect::<PyResult<_>>()?;
        let rows = PyList::empty(py);
        for row in 0..self.0.num_rows() {
            let cells = PyDict::new(py);
            for (name, column) in names.iter().zip(&columns) {
                cells.set_item(name, column.get_item(row)?)?;
            }
            rows.append(cells)?;
        }
        Ok(rows)
    }

    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_array__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyCapsule>>,
    ) -> PyResult<Bound<'py, PyTuple>> {
        let fields = self.0.schema_ref().fields().clone();
        let metadata = self.0.schema_ref().metadata().clone();
        let field = Field::new_struct("", fields, false).with_metadata(metadata);
        let array = StructArray::from(self.0.clone());
        Ok(to_array_pycapsules(py, Arc::new(field), &array, requested_schema)?)
    }

    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        Ok(to_schema_pycapsule(py, self.0.schema_ref().as_ref())?)
    }
}
