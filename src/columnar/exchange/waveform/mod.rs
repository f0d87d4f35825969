//! Waveforms as rows: one row for each sample. Either the index column is the axis, or it has the
//! number of the waveform, and the columns `t0` and `dt` have the axis.

mod read;
mod write;

pub(crate) use read::WaveformReader;
pub(crate) use write::waveform_batches;

use crate::arrow::datatypes::TimeUnit;
use crate::columnar::schema::TableSchema;
use crate::columnar::ticks;
use crate::error::Result;
use crate::model::tables::data::{Column, DataType};
use crate::model::tables::waveform::{DT, T0};

const NANOS: i64 = 1_000_000_000;

/// How a table keeps waveforms.
#[derive(Clone, Copy, Debug)]
enum Form {
    /// The index is the axis.
    Samples,
    /// The index is the number of the waveform; the positions are those of the axis.
    Numbered { t0: usize, dt: usize },
}

impl Form {
    fn of(schema: &TableSchema) -> Result<Self> {
        let index = schema.index();
        let (Ok(t0), Ok(dt)) = (schema.position(T0), schema.position(DT)) else {
            return Ok(Self::Samples);
        };
        let is_number = !schema.column(index)?.data_type.is_time();
        let (start, step) = (schema.column(t0)?.data_type, schema.column(dt)?.data_type);
        let is_axis = match step {
            DataType::Float64 => start.is_time() || start == DataType::Float64,
            DataType::Int64 => start == DataType::Int64,
            _ => false,
        };
        Ok(if is_number && is_axis && t0 != index && dt != index {
            Self::Numbered { t0, dt }
        } else {
            Self::Samples
        })
    }
}

/// The steps of a column in one second: by its type, or by its unit. `None` if it has no times.
fn steps_per_second(column: &Column) -> Option<i64> {
    let named = || match column.properties.get(Column::UNIT)?.as_str() {
        "s" => Some(TimeUnit::Second),
        "ms" => Some(TimeUnit::Millisecond),
        "us" | "µs" | "μs" => Some(TimeUnit::Microsecond),
        "ns" => Some(TimeUnit::Nanosecond),
        _ => None,
    };
    ticks::unit_of(column.data_type).or_else(named).map(ticks::per_second)
}
