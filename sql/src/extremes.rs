//! `min` and `max` of floats in groups, where NaN counts as greater than every number.
//!
//! DataFusion's own take NaN or not by the order of the rows.

use std::sync::Arc;

use datafusion::arrow::datatypes::FieldRef;
use datafusion::arrow::datatypes::{DataType, Float32Type, Float64Type};
use datafusion::error::Result;
use datafusion::functions_aggregate::min_max::{max_udaf, min_udaf};
use datafusion::logical_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion::logical_expr::utils::AggregateOrderSensitivity;
use datafusion::logical_expr::{
    Accumulator, AggregateUDF, AggregateUDFImpl, Documentation, GroupsAccumulator, ReversedUDAF,
    SetMonotonicity, Signature, StatisticsArgs,
};
use datafusion::scalar::ScalarValue;
use datafusion_functions_aggregate_common::aggregate::groups_accumulator::prim_op::PrimitiveGroupsAccumulator;

/// Both functions.
pub(crate) fn functions() -> [AggregateUDF; 2] {
    [(max_udaf(), true), (min_udaf(), false)]
        .map(|(own, is_max)| AggregateUDF::new_from_impl(Extreme { own, is_max }))
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct Extreme {
    own: Arc<AggregateUDF>,
    is_max: bool,
}

macro_rules! extreme {
    ($type:ty, $native:ty, $is_max:expr, $data_type:expr) => {
        if $is_max {
            Box::new(
                PrimitiveGroupsAccumulator::<$type, _>::new($data_type, |current, new: $native| {
                    if !current.is_nan() && (new.is_nan() || new > *current) {
                        *current = new;
                    }
                })
                .with_starting_value(<$native>::NEG_INFINITY),
            ) as Box<dyn GroupsAccumulator>
        } else {
            Box::new(
                PrimitiveGroupsAccumulator::<$type, _>::new($data_type, |current, new: $native| {
                    if current.is_nan() || new < *current {
                        *current = new;
                    }
                })
                .with_starting_value(<$native>::NAN),
            )
        }
    };
}

impl AggregateUDFImpl for Extreme {
    fn name(&self) -> &str {
        self.own.name()
    }

    fn signature(&self) -> &Signature {
        self.own.signature()
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        self.own.return_type(types)
    }

    fn accumulator(&self, args: AccumulatorArgs<'_>) -> Result<Box<dyn Accumulator>> {
        self.own.accumulator(args)
    }

    fn state_fields(&self, args: StateFieldsArgs<'_>) -> Result<Vec<FieldRef>> {
        self.own.state_fields(args)
    }

    fn groups_accumulator_supported(&self, args: AccumulatorArgs<'_>) -> bool {
        self.own.groups_accumulator_supported(args)
    }

    fn create_groups_accumulator(
        &self,
        args: AccumulatorArgs<'_>,
    ) -> Result<Box<dyn GroupsAccumulator>> {
        let data_type = args.return_field.data_type();
        Ok(match data_type {
            DataType::Float32 => extreme!(Float32Type, f32, self.is_max, data_type),
            DataType::Float64 => extreme!(Float64Type, f64, self.is_max, data_type),
            _ => return self.own.create_groups_accumulator(args),
        })
    }

    fn create_sliding_accumulator(
        &self,
        args: AccumulatorArgs<'_>,
    ) -> Result<Box<dyn Accumulator>> {
        self.own.create_sliding_accumulator(args)
    }

    fn order_sensitivity(&self) -> AggregateOrderSensitivity {
        self.own.order_sensitivity()
    }

    fn reverse_expr(&self) -> ReversedUDAF {
        ReversedUDAF::Identical
    }

    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        self.own.coerce_types(types)
    }

    // Without a direction: the heap that a known one allows would order NaN in its own way.
    fn is_descending(&self) -> Option<bool> {
        None
    }

    fn value_from_stats(&self, args: &StatisticsArgs<'_>) -> Option<ScalarValue> {
        self.own.value_from_stats(args)
    }

    fn documentation(&self) -> Option<&Documentation> {
        self.own.documentation()
    }

    fn set_monotonicity(&self, data_type: &DataType) -> SetMonotonicity {
        self.own.inner().set_monotonicity(data_type)
    }
}
