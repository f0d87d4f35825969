//! The limits of measurements as figures use them: what a comparison makes of the limits that stand
//! beside it.

use std::sync::Arc;

use datafusion::arrow::array::{Array, ArrayRef, AsArray, Float64Array, RecordBatch};
use datafusion::arrow::datatypes::{DataType, Field, Float64Type, Schema, SchemaRef};
use datafusion::arrow::error::ArrowError;
use stationdb::results::ScanMeasurementsRequest;

use crate::batches::misfit;

/// The columns: the lower and the upper limit.
pub(crate) const LOWER: &str = "lower_spec_limit";
pub(crate) const UPPER: &str = "upper_spec_limit";

/// The columns that they are made of.
pub(crate) const LOW: &str = "low_limit";
pub(crate) const HIGH: &str = "high_limit";
pub(crate) const COMPARISON: &str = "comparison_type";

/// Comparisons whose limits are no limits of a capability.
pub(crate) const WITHOUT: [&str; 7] = ["EQ", "NE", "LTGT", "LEGE", "LEGT", "LTGE", "LOG"];
/// Comparisons with the lower limit alone.
pub(crate) const LOWER_ALONE: [&str; 2] = ["GE", "GT"];
/// Comparisons with the upper limit alone, which sequencers write as the lower one.
pub(crate) const UPPER_ALONE: [&str; 2] = ["LE", "LT"];

/// The columns of measurements, with those of the limits last.
pub(crate) fn measurements() -> stationdb::Result<SchemaRef> {
    let stored = ScanMeasurementsRequest::schema()?;
    let mut fields: Vec<Arc<Field>> = stored.fields().iter().cloned().collect();
    for name in [LOWER, UPPER] {
        fields.push(Arc::new(Field::new(name, DataType::Float64, true)));
    }
    Ok(Arc::new(Schema::new(fields)))
}

pub(crate) fn is_spec_limit(column: &str) -> bool {
    column == LOWER || column == UPPER
}

/// The columns that the store reads for these.
pub(crate) fn stored(columns: Vec<String>) -> Vec<String> {
    let is_made = columns.iter().any(|column| is_spec_limit(column));
    let mut stored: Vec<String> =
        columns.into_iter().filter(|column| !is_spec_limit(column)).collect();
    for name in [LOW, HIGH, COMPARISON].iter().filter(|_| is_made) {
        if !stored.iter().any(|column| column == name) {
            stored.push((*name).to_owned());
        }
    }
    stored
}

fn finite(limit: Option<f64>) -> Option<f64> {
    limit.filter(|limit| limit.is_finite())
}

/// The lower and the upper limit of a comparison.
fn limits(
    comparison: Option<&str>,
    low: Option<f64>,
    high: Option<f64>,
) -> (Option<f64>, Option<f64>) {
    let is_among = |all: &[&str]| comparison.is_some_and(|comparison| all.contains(&comparison));
    if is_among(&WITHOUT) {
        (None, None)
    } else if is_among(&LOWER_ALONE) {
        (finite(low), None)
    } else if is_among(&UPPER_ALONE) {
        (None, finite(high.or(low)))
    } else {
        (finite(low), finite(high))
    }
}

/// A batch of stored columns under a schema that has the limits, too.
pub(crate) fn shown(batch: &RecordBatch, schema: &SchemaRef) -> stationdb::Result<RecordBatch> {
    let other = |name: &str| misfit(ArrowError::SchemaError(format!("no such column {name}")));
    let column = |name: &str| batch.column_by_name(name).ok_or_else(|| other(name));
    let numbers =
        |name: &str| column(name)?.as_primitive_opt::<Float64Type>().ok_or_else(|| other(name));
    let (low, high) = (numbers(LOW)?, numbers(HIGH)?);
    let comparison = column(COMPARISON)?.as_string_opt::<i32>().ok_or_else(|| other(COMPARISON))?;
    let number = |of: &Float64Array, row: usize| of.is_valid(row).then(|| of.value(row));
    let at = |row: usize| {
        let comparison = comparison.is_valid(row).then(|| comparison.value(row));
        limits(comparison, number(low, row), number(high, row))
    };
    let made = |is_lower: bool| -> ArrayRef {
        let limit = |row| if is_lower { at(row).0 } else { at(row).1 };
        Arc::new((0..batch.num_rows()).map(limit).collect::<Float64Array>())
    };
    let arrays = schema.fields().iter().map(|field| match field.name().as_str() {
        LOWER => Ok(made(true)),
        UPPER => Ok(made(false)),
        name => column(name).cloned(),
    });
    let arrays = arrays.collect::<stationdb::Result<Vec<_>>>()?;
    RecordBatch::try_new(schema.clone(), arrays).map_err(misfit)
}
