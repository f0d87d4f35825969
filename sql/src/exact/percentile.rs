//! `percentile_cont` and `median` of floats, between two values as they are.
//!
//! DataFusion 55.2 cuts the weight of the greater value to six digits, and overflows where the two
//! are far from each other. It can go when it does neither.

use std::sync::{Arc, LazyLock};

use datafusion::arrow::array::{Array, ArrayRef, AsArray, Float64Array, ListArray, RecordBatch};
use datafusion::arrow::buffer::OffsetBuffer;
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{DataType, Field, FieldRef, Float64Type, Schema};
use datafusion::common::plan_err;
use datafusion::error::Result;
use datafusion::functions_aggregate::percentile_cont::percentile_cont_udaf;
use datafusion::logical_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion::logical_expr::{
    Accumulator, AggregateUDF, AggregateUDFImpl, ColumnarValue, Documentation, Signature,
};
use datafusion::scalar::ScalarValue;
use stationdb::tables::kernels::between;

static FUNCTION: LazyLock<Arc<AggregateUDF>> = LazyLock::new(|| {
    Arc::new(AggregateUDF::new_from_impl(Percentile { own: percentile_cont_udaf() }))
});

pub(super) fn function() -> Arc<AggregateUDF> {
    FUNCTION.clone()
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct Percentile {
    own: Arc<AggregateUDF>,
}

// Without `simplify`, which would put minima in its place that take NaN by the order of the rows.
impl AggregateUDFImpl for Percentile {
    fn name(&self) -> &str {
        self.own.name()
    }

    fn aliases(&self) -> &[String] {
        self.own.aliases()
    }

    fn signature(&self) -> &Signature {
        self.own.signature()
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        self.own.return_type(types)
    }

    fn accumulator(&self, args: AccumulatorArgs<'_>) -> Result<Box<dyn Accumulator>> {
        let data_type = args.return_field.data_type().clone();
        let is_down = args.order_bys.first().is_some_and(|order| order.options.descending);
        let (is_distinct, exprs) = (args.is_distinct, args.exprs.to_vec());
        // It checks the arguments too.
        let own = self.own.accumulator(args)?;
        if !matches!(data_type, DataType::Float32 | DataType::Float64) {
            return Ok(own);
        }
        let [_, fraction] = exprs.as_slice() else {
            return plan_err!("{} takes a value and a fraction", self.name());
        };
        let fraction = fraction.evaluate(&RecordBatch::new_empty(Arc::new(Schema::empty())))?;
        let fraction = match fraction {
            ColumnarValue::Scalar(ScalarValue::Float64(Some(fraction))) => fraction,
            ColumnarValue::Scalar(ScalarValue::Float32(Some(fraction))) => f64::from(fraction),
            _ => return plan_err!("{} takes a constant as its fraction", self.name()),
        };
        let fraction = if is_down { 1.0 - fraction } else { fraction };
        Ok(Box::new(Values { values: Vec::new(), fraction, is_distinct, data_type }))
    }

    fn state_fields(&self, args: StateFieldsArgs<'_>) -> Result<Vec<FieldRef>> {
        self.own.state_fields(args)
    }

    fn supports_within_group_clause(&self) -> bool {
        true
    }

    fn documentation(&self) -> Option<&Documentation> {
        self.own.documentation()
    }
}

/// The values of one group.
#[derive(Debug)]
struct Values {
    values: Vec<f64>,
    fraction: f64,
    is_distinct: bool,
    data_type: DataType,
}

fn floats(array: &ArrayRef) -> Result<Float64Array> {
    Ok(cast(array, &DataType::Float64)?.as_primitive::<Float64Type>().clone())
}

impl Accumulator for Values {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        if let Some(values) = values.first() {
            self.values.extend(floats(values)?.iter().flatten());
        }
        Ok(())
    }

    fn retract_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        let Some(values) = values.first() else { return Ok(()) };
        for value in floats(values)?.iter().flatten() {
            let place = self.values.iter().position(|own| own.to_bits() == value.to_bits());
            if let Some(place) = place {
                self.values.swap_remove(place);
            }
        }
        Ok(())
    }

    fn supports_retract_batch(&self) -> bool {
        true
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        let found = if self.is_distinct {
            let mut distinct = self.values.clone();
            distinct.sort_unstable_by(f64::total_cmp);
            distinct.dedup_by_key(|value| value.to_bits());
            at(&mut distinct, self.fraction)
        } else {
            at(&mut self.values, self.fraction)
        };
        Ok(match self.data_type {
            DataType::Float32 => ScalarValue::Float32(found.map(|value| value as f32)),
            _ => ScalarValue::Float64(found),
        })
    }

    fn size(&self) -> usize {
        size_of_val(self) + self.values.capacity() * size_of::<f64>()
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        let values: ArrayRef = Arc::new(Float64Array::from(std::mem::take(&mut self.values)));
        let values = cast(&values, &self.data_type)?;
        let field = Arc::new(Field::new_list_field(self.data_type.clone(), true));
        let ends = OffsetBuffer::from_lengths([values.len()]);
        let list = ListArray::try_new(field, ends, values, None)?;
        Ok(vec![ScalarValue::List(Arc::new(list))])
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        let Some(lists) = states.first() else { return Ok(()) };
        for list in lists.as_list::<i32>().iter().flatten() {
            self.update_batch(&[list])?;
        }
        Ok(())
    }
}

/// The value at this part of the way from the least to the greatest one.
fn at(values: &mut [f64], fraction: f64) -> Option<f64> {
    let last = values.len().checked_sub(1)?;
    let place = fraction * last as f64;
    let floor = (place.floor() as usize).min(last);
    let (_, low, above) = values.select_nth_unstable_by(floor, f64::total_cmp);
    let low = *low;
    let high = above.iter().copied().min_by(f64::total_cmp).unwrap_or(low);
    Some(between(low, high, place - floor as f64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_between_its_neighbours() {
        let mut numbers: Vec<f64> = (1..=12).map(f64::from).collect();
        assert_eq!(at(&mut numbers, 0.95), Some(11.45));
        assert_eq!(at(&mut numbers, 0.0), Some(1.0));
        assert_eq!(at(&mut numbers, 1.0), Some(12.0));
        assert_eq!(at(&mut [], 0.5), None);
        assert_eq!(at(&mut [-1.7e308, 1.7e308], 0.5), Some(0.0));
        assert_eq!(at(&mut [1.7e308, 1.0e308], 0.5), Some(1.35e308));
        let (least, most) = (f64::NEG_INFINITY, f64::INFINITY);
        assert_eq!(at(&mut [least, 1.0], 0.5), Some(least));
        assert_eq!(at(&mut [1.0, most], 0.5), Some(most));
        assert!(at(&mut [least, most], 0.5).is_some_and(f64::is_nan));
        assert!(at(&mut [1.0, f64::NAN], 0.5).is_some_and(f64::is_nan));
        assert_eq!(at(&mut [1.0, 2.0, f64::NAN], 0.5), Some(2.0));
    }
}
