//! Waveforms: arrays of samples at equal steps of an axis.

use chrono::{DateTime, Utc};

use crate::model::tables::data::{Column, ColumnType, DataType};
use crate::model::tables::table::CreateTableRequest;
use crate::value::wire::record;

/// Names of the columns of a table with numbered waveforms.
pub(crate) const NUMBER: &str = "waveform";
pub(crate) const T0: &str = "t0";
pub(crate) const DT: &str = "dt";

/// Where the samples of a waveform lie: sample `i` is at `t0 + i * dt`.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum WaveformAxis {
    /// From an instant.
    Time {
        /// The instant of the first sample.
        t0: DateTime<Utc>,
        /// Seconds between samples, above 0.
        dt: f64,
    },
    /// From a number of seconds.
    Seconds {
        /// Seconds of the first sample.
        t0: f64,
        /// Seconds between samples, above 0.
        dt: f64,
    },
    /// Whole numbers, in the unit of the column that keeps them.
    Count {
        /// Number of the first sample.
        t0: i64,
        /// The step between samples, above 0.
        dt: i64,
    },
}

/// The samples of one column, borrowed from the caller.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Samples<'s> {
    /// For a column of FLOAT64, or of FLOAT32, which rounds.
    Float64(&'s [f64]),
    /// For a column of FLOAT32 or FLOAT64.
    Float32(&'s [f32]),
    /// For a column of INT64, or of INT32 where every value fits.
    Int64(&'s [i64]),
    /// For a column of INT32, INT64 or FLOAT64.
    Int32(&'s [i32]),
    /// For a column of numbers of any type.
    Int16(&'s [i16]),
}

impl Samples<'_> {
    /// Number of samples.
    #[must_use]
    pub fn len(&self) -> usize {
        match self {
            Self::Float64(values) => values.len(),
            Self::Float32(values) => values.len(),
            Self::Int64(values) => values.len(),
            Self::Int32(values) => values.len(),
            Self::Int16(values) => values.len(),
        }
    }

    /// Whether there are no samples.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

macro_rules! samples_from {
    ($($name:ident: $number:ty),*) => {
        $(
            impl<'s> From<&'s [$number]> for Samples<'s> {
                fn from(values: &'s [$number]) -> Self {
                    Self::$name(values)
                }
            }

            impl<'s> From<&'s Vec<$number>> for Samples<'s> {
                fn from(values: &'s Vec<$number>) -> Self {
                    Self::$name(values)
                }
            }

            impl<'s, const N: usize> From<&'s [$number; N]> for Samples<'s> {
                fn from(values: &'s [$number; N]) -> Self {
                    Self::$name(values)
                }
            }
        )*
    };
}

samples_from!(Float64: f64, Float32: f32, Int64: i64, Int32: i32, Int16: i16);

/// A waveform to append: an axis, and one array of samples for each column.
///
/// ```
/// use stationdb::tables::{Waveform, WaveformAxis};
///
/// let axis = WaveformAxis::Count { t0: 0, dt: 20 };
/// let waveform = Waveform::new(axis).y("volts", &[0.5, 0.75]).y("raw", &[12_i16, 18]);
/// # let _ = waveform;
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Waveform<'s> {
    /// Where the samples lie.
    pub axis: WaveformAxis,
    /// The number of this waveform, for a table of numbered waveforms.
    pub number: Option<i64>,
    /// The columns and their samples.
    pub y: Vec<(&'s str, Samples<'s>)>,
}

impl<'s> Waveform<'s> {
    /// A waveform without samples.
    #[must_use]
    pub fn new(axis: WaveformAxis) -> Self {
        Self { axis, number: None, y: Vec::new() }
    }

    /// The number of this waveform, for a table of [`CreateTableRequest::of_waveforms`]. A number
    /// that is used again continues its waveform if t0 and dt are the same.
    #[must_use]
    pub fn number(mut self, number: i64) -> Self {
        self.number = Some(number);
        self
    }

    /// Adds the samples of a column. All columns have the same number of samples.
    #[must_use]
    pub fn y(mut self, column: &'s str, samples: impl Into<Samples<'s>>) -> Self {
        self.y.push((column, samples.into()));
        self
    }
}

/// A waveform as it is read back.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct WaveformData {
    /// Its number; `None` in a table of samples.
    pub number: Option<i64>,
    /// The axis. In a table of samples it is found from the index: `None` if the samples do not lie
    /// at equal steps, or if there is only one.
    pub axis: Option<WaveformAxis>,
    /// The unit of whole numbers on the axis: the property `unit` of the index column, or of `t0`
    /// in a table of numbered waveforms.
    pub unit: Option<String>,
    /// The place of every sample on the axis.
    pub x: WaveformX,
    /// The samples of each column.
    pub y: Vec<WaveformY>,
}

/// The places of samples on their axis.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum WaveformX {
    /// Instants, to the nanosecond that is nearest.
    Times(Vec<DateTime<Utc>>),
    /// Seconds.
    Seconds(Vec<f64>),
    /// Whole numbers, in the unit of their column.
    Counts(Vec<i64>),
}

/// The samples of one column.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct WaveformY {
    /// Name of the column.
    pub column: String,
    /// The column's property `unit`.
    pub unit: Option<String>,
    /// The samples, in the type of the column.
    pub samples: SampleValues,
}

/// Samples, in the type of their column.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum SampleValues {
    /// Of a FLOAT64 column.
    Float64(Vec<f64>),
    /// Of a FLOAT32 column.
    Float32(Vec<f32>),
    /// Of an INT64 column.
    Int64(Vec<i64>),
    /// Of an INT32 column.
    Int32(Vec<i32>),
}

impl SampleValues {
    /// Number of samples.
    #[must_use]
    pub fn len(&self) -> usize {
        match self {
            Self::Float64(values) => values.len(),
            Self::Float32(values) => values.len(),
            Self::Int64(values) => values.len(),
            Self::Int32(values) => values.len(),
        }
    }

    /// Whether there are no samples.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The samples as `f64`. Integers above 2^53 are rounded.
    #[must_use]
    pub fn to_f64(&self) -> Vec<f64> {
        match self {
            Self::Float64(values) => values.clone(),
            Self::Float32(values) => values.iter().map(|&value| f64::from(value)).collect(),
            Self::Int64(values) => values.iter().map(|&value| value as f64).collect(),
            Self::Int32(values) => values.iter().map(|&value| f64::from(value)).collect(),
        }
    }
}

record! {
    /// The options of `read_waveforms`.
    wire pub struct ReadWaveformsRequest new() {
        /// Columns of samples to return, in this order, each once; all columns of numbers when
        /// absent or empty. At most 10,000 entries.
        pub columns: Option<Vec<String>>,
        /// First value of the index column, written like a cell: the number of a waveform in a
        /// table of numbered waveforms, else the place of a sample.
        pub from: Option<String>,
        /// Last value of the index column.
        pub to: Option<String>,
    }
}

impl Column {
    /// The key of the property that is the unit of a column. Exports carry it.
    pub const UNIT: &'static str = "unit";

    /// Sets the unit of the values, such as `V`: the property [`Column::UNIT`].
    #[must_use]
    pub fn unit(mut self, unit: impl Into<String>) -> Self {
        self.properties.insert(Self::UNIT.to_owned(), unit.into());
        self
    }
}

impl CreateTableRequest {
    /// A table of numbered waveforms: the INT64 index `waveform`, the columns `t0` and `dt`, and
    /// the columns of samples `y`. The type of `t0` is that of the axis: a time for
    /// [`WaveformAxis::Time`], FLOAT64 for [`WaveformAxis::Seconds`], INT64 for
    /// [`WaveformAxis::Count`].
    #[must_use]
    pub fn of_waveforms(t0: DataType, y: impl IntoIterator<Item = Column>) -> Self {
        let step = if t0 == DataType::Int64 { DataType::Int64 } else { DataType::Float64 };
        let mut axis = [Column::new(T0, t0), Column::new(DT, step)];
        for column in axis.iter_mut().filter(|column| column.data_type == DataType::Float64) {
            *column = column.clone().unit("s");
        }
        let index = Column::new(NUMBER, DataType::Int64).column_type(ColumnType::Index);
        Self::new(std::iter::once(index).chain(axis).chain(y).collect::<Vec<_>>())
    }
}
