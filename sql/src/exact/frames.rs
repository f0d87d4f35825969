//! Aggregates of floats over frames that move, of the rows of each frame.
//!
//! DataFusion 55.2 takes what leaves a frame from the state before: after NaN or infinity all later
//! rows are NaN, and after a large number the small ones are lost. It can go when it adds again.

use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, AsArray, Float64Array};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{DataType, FieldRef, Float64Type, Schema};
use datafusion::common::exec_err;
use datafusion::error::Result;
use datafusion::logical_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion::logical_expr::{
    Accumulator, AggregateUDF, AggregateUDFImpl, Documentation, ReversedUDAF, Signature,
};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::scalar::ScalarValue;

/// The same function, which begins anew with each frame.
pub(super) fn again(own: &Arc<AggregateUDF>) -> Arc<AggregateUDF> {
    if own.inner().is::<Again>() {
        return own.clone();
    }
    Arc::new(AggregateUDF::new_from_impl(Again { own: own.clone() }))
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct Again {
    own: Arc<AggregateUDF>,
}

impl AggregateUDFImpl for Again {
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

    fn return_field(&self, fields: &[FieldRef]) -> Result<FieldRef> {
        self.own.return_field(fields)
    }

    fn is_nullable(&self) -> bool {
        self.own.is_nullable()
    }

    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        self.own.coerce_types(types)
    }

    fn accumulator(&self, args: AccumulatorArgs<'_>) -> Result<Box<dyn Accumulator>> {
        self.own.accumulator(args)
    }

    fn state_fields(&self, args: StateFieldsArgs<'_>) -> Result<Vec<FieldRef>> {
        self.own.state_fields(args)
    }

    fn create_sliding_accumulator(
        &self,
        args: AccumulatorArgs<'_>,
    ) -> Result<Box<dyn Accumulator>> {
        Ok(Box::new(Frame {
            function: self.own.clone(),
            return_field: args.return_field.clone(),
            schema: args.schema.clone(),
            name: args.name.to_owned(),
            is_distinct: args.is_distinct,
            exprs: args.exprs.to_vec(),
            fields: args.expr_fields.to_vec(),
            rows: vec![Vec::new(); args.exprs.len()],
            first: 0,
        }))
    }

    fn reverse_expr(&self) -> ReversedUDAF {
        ReversedUDAF::NotSupported
    }

    fn documentation(&self) -> Option<&Documentation> {
        self.own.documentation()
    }
}

/// The values of the rows of one frame.
#[derive(Debug)]
struct Frame {
    function: Arc<AggregateUDF>,
    return_field: FieldRef,
    schema: Schema,
    name: String,
    is_distinct: bool,
    exprs: Vec<Arc<dyn PhysicalExpr>>,
    fields: Vec<FieldRef>,
    /// Of each argument.
    rows: Vec<Vec<Option<f64>>>,
    /// The first row of the frame; those before have left it.
    first: usize,
}

impl Accumulator for Frame {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        for (rows, values) in self.rows.iter_mut().zip(values) {
            let values = cast(values, &DataType::Float64)?;
            rows.extend(values.as_primitive::<Float64Type>().iter());
        }
        Ok(())
    }

    fn retract_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        self.first += values.first().map_or(0, |values| values.len());
        let held = self.rows.first().map_or(0, Vec::len);
        // Not with each row: it moves those that stay.
        if self.first > held / 2 {
            for rows in &mut self.rows {
                rows.drain(..self.first.min(held));
            }
            self.first = 0;
        }
        Ok(())
    }

    fn supports_retract_batch(&self) -> bool {
        true
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        let mut whole = self.function.accumulator(AccumulatorArgs {
            return_field: self.return_field.clone(),
            schema: &self.schema,
            ignore_nulls: false,
            order_bys: &[],
            is_reversed: false,
            name: &self.name,
            is_distinct: self.is_distinct,
            exprs: &self.exprs,
            expr_fields: &self.fields,
        })?;
        let values = self.rows.iter().zip(&self.fields).map(|(rows, field)| {
            let rows = rows.get(self.first..).unwrap_or_default();
            let array: ArrayRef = Arc::new(rows.iter().copied().collect::<Float64Array>());
            Ok(cast(&array, field.data_type())?)
        });
        whole.update_batch(&values.collect::<Result<Vec<_>>>()?)?;
        whole.evaluate()
    }

    fn size(&self) -> usize {
        let rows = self.rows.iter().map(|rows| rows.capacity() * size_of::<Option<f64>>());
        size_of_val(self) + rows.sum::<usize>()
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        exec_err!("a frame has no state")
    }

    fn merge_batch(&mut self, _states: &[ArrayRef]) -> Result<()> {
        exec_err!("a frame has no state")
    }
}
