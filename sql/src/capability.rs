//! The aggregates `pp`, `ppk`, `cp` and `cpk` of a value and its limits.
//!
//! The figures are those of the core, of the values that a group has. `cp` and `cpk` depend on the
//! order of the values, so they are called with one: `cpk(value, low, high order by started_at)`.

use std::sync::Arc;

use datafusion::arrow::array::{Array, ArrayRef, AsArray, Float64Array};
use datafusion::arrow::compute::concat;
use datafusion::arrow::datatypes::{DataType, Field, FieldRef, Float64Type};
use datafusion::common::{exec_err, internal_err, plan_err};
use datafusion::error::Result;
use datafusion::functions_aggregate::array_agg::array_agg_udaf;
use datafusion::logical_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion::logical_expr::utils::AggregateOrderSensitivity;
use datafusion::logical_expr::{
    Accumulator, AggregateUDF, AggregateUDFImpl, Signature, Volatility,
};
use datafusion::scalar::ScalarValue;
use stationdb::results::Capability;

use crate::errors::external;

/// Arguments: the value, the lower and the upper limit.
const ARGUMENTS: usize = 3;

/// All functions.
pub(crate) fn functions() -> [AggregateUDF; 4] {
    [Figure::Pp, Figure::Ppk, Figure::Cp, Figure::Cpk].map(|figure| {
        let signature = Signature::exact(vec![DataType::Float64; ARGUMENTS], Volatility::Immutable);
        AggregateUDF::new_from_impl(CapabilityAggregate { figure, signature })
    })
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Figure {
    Pp,
    Ppk,
    Cp,
    Cpk,
}

impl Figure {
    fn name(self) -> &'static str {
        match self {
            Self::Pp => "pp",
            Self::Ppk => "ppk",
            Self::Cp => "cp",
            Self::Cpk => "cpk",
        }
    }

    fn of(self, capability: &Capability) -> Option<f64> {
        match self {
            Self::Pp => capability.pp,
            Self::Ppk => capability.ppk,
            Self::Cp => capability.cp,
            Self::Cpk => capability.cpk,
        }
    }

    fn needs_order(self) -> bool {
        matches!(self, Self::Cp | Self::Cpk)
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct CapabilityAggregate {
    figure: Figure,
    signature: Signature,
}

fn list_of_numbers() -> DataType {
    DataType::List(Arc::new(Field::new_list_field(DataType::Float64, true)))
}

impl AggregateUDFImpl for CapabilityAggregate {
    fn name(&self) -> &str {
        self.figure.name()
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _types: &[DataType]) -> Result<DataType> {
        Ok(DataType::Float64)
    }

    fn accumulator(&self, args: AccumulatorArgs<'_>) -> Result<Box<dyn Accumulator>> {
        let name = self.figure.name();
        if args.is_distinct {
            return plan_err!("{name} has no distinct form: equal values count each");
        }
        if self.figure.needs_order() && args.order_bys.is_empty() {
            return plan_err!(
                "{name} depends on the order of the values; give it, as \
                 {name}(value, low, high order by started_at)"
            );
        }
        let field: FieldRef = Arc::new(Field::new(name, list_of_numbers(), true));
        let of_values = AccumulatorArgs {
            return_field: field,
            expr_fields: args.expr_fields.get(..1).unwrap_or_default(),
            exprs: args.exprs.get(..1).unwrap_or_default(),
            ..args
        };
        let values = array_agg_udaf().accumulator(of_values)?;
        Ok(Box::new(CapabilityAccumulator {
            figure: self.figure,
            values,
            low: Limit::default(),
            high: Limit::default(),
        }))
    }

    fn state_fields(&self, args: StateFieldsArgs<'_>) -> Result<Vec<FieldRef>> {
        let name = args.name;
        let of_values = StateFieldsArgs {
            name,
            input_fields: args.input_fields.get(..1).unwrap_or_default(),
            return_field: Arc::new(Field::new(name, list_of_numbers(), true)),
            ordering_fields: args.ordering_fields,
            is_distinct: false,
        };
        let mut fields = array_agg_udaf().state_fields(of_values)?;
        for limit in ["low", "high"] {
            let seen = Field::new(format!("{name}[{limit} seen]"), DataType::Boolean, true);
            let value = Field::new(format!("{name}[{limit}]"), DataType::Float64, true);
            fields.extend([Arc::new(seen), Arc::new(value)]);
        }
        Ok(fields)
    }

    fn order_sensitivity(&self) -> AggregateOrderSensitivity {
        AggregateOrderSensitivity::SoftRequirement
    }

    // The values are put in order here, whether they come in it or not.
    fn with_beneficial_ordering(
        self: Arc<Self>,
        _beneficial_ordering: bool,
    ) -> Result<Option<Arc<dyn AggregateUDFImpl>>> {
        Ok(Some(self))
    }
}

/// A limit that all rows have.
#[derive(Clone, Copy, Debug, Default)]
struct Limit {
    is_known: bool,
    value: Option<f64>,
}

impl Limit {
    fn add(&mut self, value: Option<f64>, figure: Figure) -> Result<()> {
        let value = value.filter(|value| value.is_finite());
        if self.is_known && self.value != value {
            return exec_err!(
                "{0}: the limits are not the same in all rows of a group; group by them, or give \
                 one, as {0}(value, 4.5, 5.5)",
                figure.name()
            );
        }
        *self = Self { is_known: true, value };
        Ok(())
    }

    fn state(self) -> [ScalarValue; 2] {
        [ScalarValue::Boolean(Some(self.is_known)), ScalarValue::Float64(self.value)]
    }
}

#[derive(Debug)]
struct CapabilityAccumulator {
    figure: Figure,
    /// Keeps the values, in the order that the call has.
    values: Box<dyn Accumulator>,
    low: Limit,
    high: Limit,
}

fn numbers(array: &ArrayRef) -> Result<&Float64Array> {
    match array.as_primitive_opt::<Float64Type>() {
        Some(numbers) => Ok(numbers),
        None => internal_err!("a capability of {}", array.data_type()),
    }
}

fn number_at(numbers: &Float64Array, row: usize) -> Option<f64> {
    numbers.is_valid(row).then(|| numbers.value(row))
}

impl Accumulator for CapabilityAccumulator {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        let [value, low, high, orderings @ ..] = values else {
            return internal_err!("{} takes {ARGUMENTS} arguments", self.figure.name());
        };
        let (number, low, high) = (numbers(value)?, numbers(low)?, numbers(high)?);
        for row in 0..number.len() {
            // The limits of rows without a value do not count.
            if number_at(number, row).is_some_and(f64::is_finite) {
                self.low.add(number_at(low, row), self.figure)?;
                self.high.add(number_at(high, row), self.figure)?;
            }
        }
        let kept: Vec<ArrayRef> = std::iter::once(value).chain(orderings).cloned().collect();
        self.values.update_batch(&kept)
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        let ScalarValue::List(list) = self.values.evaluate()? else {
            return internal_err!("{} of no list", self.figure.name());
        };
        let parts: Vec<ArrayRef> = list.iter().flatten().collect();
        let parts: Vec<&dyn Array> = parts.iter().map(AsRef::as_ref).collect();
        let mut found = Vec::new();
        if !parts.is_empty() {
            let all = concat(&parts)?;
            found.extend(numbers(&all)?.iter().flatten());
        }
        let capability = Capability::of_values(&found, self.low.value, self.high.value);
        Ok(ScalarValue::Float64(self.figure.of(&capability.map_err(external)?)))
    }

    fn size(&self) -> usize {
        size_of_val(self) + self.values.size()
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        let mut state = self.values.state()?;
        state.extend(self.low.state());
        state.extend(self.high.state());
        Ok(state)
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        let Some((values, limits)) = states.len().checked_sub(4).map(|at| states.split_at(at))
        else {
            return internal_err!("the state of {} is incomplete", self.figure.name());
        };
        let [low_seen, low, high_seen, high] = limits else {
            return internal_err!("the state of {} is incomplete", self.figure.name());
        };
        for (limit, seen, given) in
            [(&mut self.low, low_seen, low), (&mut self.high, high_seen, high)]
        {
            let (seen, given) = (seen.as_boolean(), numbers(given)?);
            for row in 0..given.len() {
                if seen.is_valid(row) && seen.value(row) {
                    limit.add(number_at(given, row), self.figure)?;
                }
            }
        }
        self.values.merge_batch(values)
    }
}
