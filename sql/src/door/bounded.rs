//! Calls that are measured before they make anything.

use std::hash::{Hash, Hasher};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::datatypes::{DataType, Field, FieldRef, Schema};
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::common::{DFSchema, plan_err};
use datafusion::config::ConfigOptions;
use datafusion::error::{DataFusionError, Result};
use datafusion::execution::FunctionRegistry as _;
use datafusion::execution::session_state::SessionState;
use datafusion::functions::core;
use datafusion::functions_nested::map::map_udf;
use datafusion::logical_expr::expr::{ScalarFunction, WindowFunctionDefinition};
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::planner::{ExprPlanner, PlannerResult, RawDictionaryExpr};
use datafusion::logical_expr::type_coercion::binary::BinaryTypeCoercer;
use datafusion::logical_expr::utils::merge_schema;
use datafusion::logical_expr::{
    BinaryExpr, ColumnarValue, Documentation, Expr, ExprSchemable, LogicalPlan, Operator,
    ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};
use datafusion::optimizer::analyzer::AnalyzerRule;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::{BinaryExpr as PhysicalBinary, Column};

use super::growth::{self, AGGREGATES, Growth, WHOLE, WINDOWS};
use super::limits::late;
use super::measure::Argument;

/// Values of a fixed number of bytes at most: each row has as many, also where it is null.
const FIXED_MAX: i32 = 1024;
const MEASURED: &str = "measured";
/// Bytes of a result in a process that runs plans of others.
#[cfg(feature = "lake")]
const ELSEWHERE_BYTES: usize = 64 * 1024 * 1024;
/// Rows of a batch in such a process.
#[cfg(feature = "lake")]
const ELSEWHERE_ROWS: usize = 8192;

/// Values of one row in each other at most: the type of a value is as large.
const LEAVES_MAX: usize = 10_000;

/// What the expressions of one statement may make.
#[derive(Debug)]
pub(crate) struct Meter {
    /// Bytes of all results of one batch.
    share: usize,
    /// Rows of a batch, beside each of which a constant may stand.
    rows: usize,
    until: Option<Instant>,
    /// What the calls of the statement have made of their last batches, together. None where the
    /// calls are of many statements.
    made: Option<AtomicU64>,
}

/// What one call has made of its last batch.
#[derive(Debug, Default)]
struct Made(AtomicU64);

impl Meter {
    pub(super) fn new(share: usize, rows: usize, until: Option<Instant>) -> Self {
        Self { share, rows, until, made: Some(AtomicU64::new(0)) }
    }

    /// For a process that does not know the statement.
    #[cfg(feature = "lake")]
    pub(crate) fn elsewhere() -> Arc<Self> {
        Arc::new(Self { share: ELSEWHERE_BYTES, rows: ELSEWHERE_ROWS, until: None, made: None })
    }

    fn check(&self, name: &str, call: &Made, bytes: u128, is_constant: bool) -> Result<()> {
        if self.until.is_some_and(|until| Instant::now() >= until) {
            return late();
        }
        let beside = if is_constant { self.rows as u128 } else { 1 };
        let bytes = u64::try_from(bytes.saturating_mul(beside)).unwrap_or(u64::MAX);
        let others = match &self.made {
            Some(all) if bytes <= self.share as u64 => {
                let before = call.0.swap(bytes, Ordering::Relaxed);
                let all = all.fetch_add(bytes.wrapping_sub(before), Ordering::Relaxed);
                all.wrapping_sub(before)
            }
            _ => 0,
        };
        if bytes.saturating_add(others) > self.share as u64 {
            return Err(DataFusionError::ResourcesExhausted(format!(
                "{name} would make {bytes} bytes of one batch of rows, beside {others} of others, \
                 and this statement may make {}: make the values shorter, or call fewer functions \
                 that make texts and lists",
                self.share
            )));
        }
        Ok(())
    }
}

/// A function that is called when its result is within the bound.
#[derive(Debug)]
struct BoundedFunction {
    inner: Arc<ScalarUDF>,
    growth: Growth,
    meter: Arc<Meter>,
    made: Made,
}

impl PartialEq for BoundedFunction {
    fn eq(&self, other: &Self) -> bool {
        self.inner == other.inner
    }
}

impl Eq for BoundedFunction {}

impl Hash for BoundedFunction {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.inner.hash(state);
    }
}

/// The function with its bound, for one call; the same one where its result is measured after the
/// call. None if its bound is not known.
pub(crate) fn bounded(function: &Arc<ScalarUDF>, meter: &Arc<Meter>) -> Option<Arc<ScalarUDF>> {
    if function.inner().is::<BoundedConcat>() || function.inner().is::<Measured>() {
        return Some(function.clone());
    }
    let inner = match function.inner().downcast_ref::<BoundedFunction>() {
        Some(other) => &other.inner,
        None => function,
    };
    match growth::of(inner.name())? {
        Growth::Plain => Some(inner.clone()),
        growth => {
            let (inner, meter) = (inner.clone(), meter.clone());
            let bounded = BoundedFunction { inner, growth, meter, made: Made::default() };
            Some(Arc::new(ScalarUDF::new_from_impl(bounded)))
        }
    }
}

/// The function of a plan for another call of it; none where it has no bound.
pub(crate) fn again(function: &ScalarUDF, meter: &Arc<Meter>) -> Option<ScalarUDF> {
    let function = function.inner();
    if let Some(known) = function.downcast_ref::<BoundedFunction>() {
        let (inner, growth) = (known.inner.clone(), known.growth);
        let (meter, made) = (meter.clone(), Made::default());
        return Some(ScalarUDF::new_from_impl(BoundedFunction { inner, growth, meter, made }));
    }
    if function.is::<BoundedConcat>() {
        return Some(joined(meter));
    }
    function.is::<Measured>().then(|| measured(meter))
}

// Without `simplify`, which would put the function without its bound in its place.
impl ScalarUDFImpl for BoundedFunction {
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn aliases(&self) -> &[String] {
        self.inner.aliases()
    }

    fn schema_name(&self, args: &[Expr]) -> Result<String> {
        self.inner.schema_name(args)
    }

    fn signature(&self) -> &Signature {
        self.inner.signature()
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        self.inner.return_type(types)
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs<'_>) -> Result<FieldRef> {
        let field = self.inner.return_field_from_args(args)?;
        // Here, because each query of `with` may put the values of the one before into two others.
        if leaves(field.data_type(), LEAVES_MAX).is_none() {
            return Err(DataFusionError::ResourcesExhausted(format!(
                "{} would make a value of more than {LEAVES_MAX} values",
                self.name()
            )));
        }
        Ok(field)
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let is_constant = is_constant(&args.args);
        let rows = if is_constant { 1 } else { args.number_rows };
        let made = self.growth.bytes(self.name(), &args.args, rows)?;
        self.meter.check(self.name(), &self.made, made, is_constant)?;
        self.inner.invoke_with_args(args)
    }

    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        self.inner.coerce_types(types)
    }

    fn documentation(&self) -> Option<&Documentation> {
        self.inner.documentation()
    }
}

fn is_constant(args: &[ColumnarValue]) -> bool {
    args.iter().all(|value| matches!(value, ColumnarValue::Scalar(_)))
}

/// The operator `||` as a function.
#[derive(Debug)]
struct BoundedConcat {
    signature: Signature,
    meter: Arc<Meter>,
    made: Made,
}

pub(super) fn joined(meter: &Arc<Meter>) -> ScalarUDF {
    let signature = Signature::any(2, Volatility::Immutable);
    ScalarUDF::new_from_impl(BoundedConcat {
        signature,
        meter: meter.clone(),
        made: Made::default(),
    })
}

impl PartialEq for BoundedConcat {
    fn eq(&self, _other: &Self) -> bool {
        true
    }
}

impl Eq for BoundedConcat {}

impl Hash for BoundedConcat {
    fn hash<H: Hasher>(&self, state: &mut H) {
        "||".hash(state);
    }
}

impl ScalarUDFImpl for BoundedConcat {
    fn name(&self) -> &str {
        "||"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        let [left, right] = types else { return plan_err!("|| takes two values") };
        BinaryTypeCoercer::new(left, &Operator::StringConcat, right).get_result_type()
    }

    fn is_strict(&self) -> bool {
        true
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let is_constant = is_constant(&args.args);
        let rows = if is_constant { 1 } else { args.number_rows };
        let made = Growth::Sum(1).bytes("||", &args.args, rows)?;
        self.meter.check("||", &self.made, made, is_constant)?;
        operate(Operator::StringConcat, false, args)
    }
}

/// The value that it is given, which is counted.
///
/// Around what is as large as a few of its arguments: each column of it is an array of its own.
#[derive(Debug)]
struct Measured {
    signature: Signature,
    meter: Arc<Meter>,
    made: Made,
}

pub(super) fn measured(meter: &Arc<Meter>) -> ScalarUDF {
    let signature = Signature::any(1, Volatility::Immutable);
    ScalarUDF::new_from_impl(Measured { signature, meter: meter.clone(), made: Made::default() })
}

impl PartialEq for Measured {
    fn eq(&self, _other: &Self) -> bool {
        true
    }
}

impl Eq for Measured {}

impl Hash for Measured {
    fn hash<H: Hasher>(&self, state: &mut H) {
        MEASURED.hash(state);
    }
}

impl ScalarUDFImpl for Measured {
    fn name(&self) -> &str {
        MEASURED
    }

    fn schema_name(&self, args: &[Expr]) -> Result<String> {
        let [arg] = args else { return plan_err!("{MEASURED} takes one value") };
        Ok(arg.schema_name().to_string())
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        let [own] = types else { return plan_err!("{MEASURED} takes one value") };
        Ok(own.clone())
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs<'_>) -> Result<FieldRef> {
        let [own] = args.arg_fields else { return plan_err!("{MEASURED} takes one value") };
        Ok(own.clone())
    }

    fn is_strict(&self) -> bool {
        true
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let [value] = args.args.as_slice() else {
            return plan_err!("{MEASURED} takes one value");
        };
        let is_constant = is_constant(&args.args);
        let rows = if is_constant { 1 } else { args.number_rows };
        let bytes = Argument::new(value)?.bytes(rows);
        self.meter.check("a part of an expression", &self.made, bytes, is_constant)?;
        Ok(value.clone())
    }
}

/// Whether the values of the type are of any length, and not those of the expression.
fn is_copy(from: &Expr, to: &DataType, schema: &DFSchema) -> Result<bool> {
    // Views share the bytes of texts.
    if !has_length(to) || *to == DataType::Utf8View {
        return Ok(false);
    }
    let from = from.get_type(schema)?;
    Ok(has_length(&from) && from != *to)
}

/// Whether what the expression makes is an array of its own whose length its values decide.
fn is_measured(expr: &Expr, schema: &DFSchema) -> Result<bool> {
    match expr {
        Expr::Case(_) => Ok(has_length(&expr.get_type(schema)?)),
        Expr::Cast(cast) => is_copy(&cast.expr, cast.field.data_type(), schema),
        Expr::TryCast(cast) => is_copy(&cast.expr, cast.field.data_type(), schema),
        _ => Ok(false),
    }
}

fn is_measured_call(call: &ScalarFunction, made: &DataType, schema: &DFSchema) -> Result<bool> {
    if growth::of(call.name()) != Some(Growth::Plain) {
        return Ok(false);
    }
    match (call.name(), call.args.first()) {
        // A member is the array that the object has.
        ("get_field", _) => Ok(false),
        ("arrow_cast" | "arrow_try_cast", Some(from)) => is_copy(from, made, schema),
        _ => Ok(has_length(made)),
    }
}

/// Whether values of the type may be of any length.
fn has_length(data_type: &DataType) -> bool {
    data_type.is_nested()
        || matches!(
            data_type,
            DataType::Utf8
                | DataType::LargeUtf8
                | DataType::Utf8View
                | DataType::Binary
                | DataType::LargeBinary
                | DataType::BinaryView
        )
}

/// The values of one row that are in each other, if they are at most so many.
fn leaves(data_type: &DataType, most: usize) -> Option<usize> {
    let all = |fields: &[FieldRef]| {
        fields.iter().try_fold(0, |sum: usize, field| {
            leaves(field.data_type(), most.checked_sub(sum)?).map(|own| sum + own)
        })
    };
    let inner = match data_type {
        DataType::Struct(fields) => all(fields)?,
        DataType::List(field)
        | DataType::LargeList(field)
        | DataType::FixedSizeList(field, _)
        | DataType::Map(field, _) => leaves(field.data_type(), most)?,
        _ => 0,
    };
    (inner < most).then_some(inner + 1)
}

/// The engine's planners of literals, with the type of each value bounded.
#[derive(Debug)]
pub(super) struct Literals(pub Arc<Meter>);

impl Literals {
    fn planned(&self, function: &Arc<ScalarUDF>, args: Vec<Expr>) -> PlannerResult<Vec<Expr>> {
        match bounded(function, &self.0) {
            Some(func) => {
                PlannerResult::Planned(Expr::ScalarFunction(ScalarFunction { func, args }))
            }
            None => PlannerResult::Original(args),
        }
    }
}

impl ExprPlanner for Literals {
    fn plan_struct_literal(
        &self,
        args: Vec<Expr>,
        is_named_struct: bool,
    ) -> Result<PlannerResult<Vec<Expr>>> {
        let function = if is_named_struct { core::named_struct() } else { core::r#struct() };
        Ok(self.planned(&function, args))
    }

    fn plan_dictionary_literal(
        &self,
        pairs: RawDictionaryExpr,
        _schema: &DFSchema,
    ) -> Result<PlannerResult<RawDictionaryExpr>> {
        let named = core::named_struct();
        let Some(func) = bounded(&named, &self.0) else {
            return Ok(PlannerResult::Original(pairs));
        };
        let pairs = pairs.keys.into_iter().zip(pairs.values);
        let args = pairs.flat_map(|(key, value)| [key, value]).collect();
        Ok(PlannerResult::Planned(Expr::ScalarFunction(ScalarFunction { func, args })))
    }

    fn plan_make_map(&self, args: Vec<Expr>) -> Result<PlannerResult<Vec<Expr>>> {
        Ok(self.planned(&map_udf(), args))
    }
}

/// Functions that put several values into one.
const JOINERS: [&str; 4] = ["struct", "named_struct", "map", "arrays_zip"];

/// Bounds the types that planning makes, which it walks over before there is a plan.
pub(super) fn bound_types(state: &mut SessionState, meter: &Arc<Meter>) -> Result<()> {
    for name in JOINERS {
        let known = state.scalar_functions().get(name).cloned();
        if let Some(function) = known.and_then(|function| bounded(&function, meter)) {
            state.register_udf(function)?;
        }
    }
    Ok(())
}

/// What the engine's operator answers for these two arguments.
pub(crate) fn operate(
    operator: Operator,
    fail_on_overflow: bool,
    args: ScalarFunctionArgs,
) -> Result<ColumnarValue> {
    let is_constant = is_constant(&args.args);
    let rows = if is_constant { 1 } else { args.number_rows };
    let arrays = args.args.iter().map(|value| value.to_array(rows));
    let arrays = arrays.collect::<Result<Vec<_>>>()?;
    let field = |(at, array): (usize, &datafusion::arrow::array::ArrayRef)| {
        Field::new(at.to_string(), array.data_type().clone(), true)
    };
    let fields: Vec<Field> = arrays.iter().enumerate().map(field).collect();
    let batch = RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays)?;
    let side = |at: usize| Arc::new(Column::new(&at.to_string(), at)) as Arc<dyn PhysicalExpr>;
    let expr = PhysicalBinary::new(side(0), operator, side(1));
    let answer = expr.with_fail_on_overflow(fail_on_overflow).evaluate(&batch)?.to_array(rows)?;
    Ok(if is_constant {
        ColumnarValue::Scalar(datafusion::scalar::ScalarValue::try_from_array(&answer, 0)?)
    } else {
        ColumnarValue::Array(answer)
    })
}

/// Puts bounds around each call of a plan, and refuses calls without one.
///
/// After all other rules of analysis, so that what these have made is seen too.
#[derive(Debug)]
pub(super) struct BoundInsertion(pub Arc<Meter>);

impl BoundInsertion {
    fn expr(&self, expr: Expr, schema: &DFSchema) -> Result<Transformed<Expr>> {
        let is_measured = match &expr {
            // Some functions become casts when the plan is simplified.
            Expr::ScalarFunction(call) => {
                let data_type = expr.get_type(schema)?;
                if is_wide(&data_type) {
                    return wide();
                }
                is_measured_call(call, &data_type, schema)?
            }
            _ => is_measured(&expr, schema)?,
        };
        let bounded = self.called(expr)?;
        if !is_measured {
            return Ok(bounded);
        }
        let (func, args) = (Arc::new(measured(&self.0)), vec![bounded.data]);
        Ok(Transformed::yes(Expr::ScalarFunction(ScalarFunction { func, args })))
    }

    fn called(&self, expr: Expr) -> Result<Transformed<Expr>> {
        match expr {
            Expr::ScalarFunction(call) => match bounded(&call.func, &self.0) {
                Some(func) => {
                    Ok(Transformed::yes(Expr::ScalarFunction(ScalarFunction { func, ..call })))
                }
                None => unknown(call.name()),
            },
            // Each element may become a list of its own, whose elements become lists again.
            Expr::HigherOrderFunction(ref call)
                if call.args.iter().any(|arg| matches!(arg, Expr::Lambda(_))) =>
            {
                plan_err!("{} of a function has no bound, and is refused", call.name())
            }
            Expr::HigherOrderFunction(ref call) if growth::of(call.name()).is_none() => {
                unknown(call.name())
            }
            Expr::AggregateFunction(ref call) if !AGGREGATES.contains(&call.func.name()) => {
                unknown(call.func.name())
            }
            Expr::WindowFunction(ref call) => match &call.fun {
                WindowFunctionDefinition::AggregateUDF(function)
                    if WHOLE.contains(&function.name()) =>
                {
                    plan_err!("{} over a window has no bound, and is refused", function.name())
                }
                WindowFunctionDefinition::AggregateUDF(function)
                    if !AGGREGATES.contains(&function.name()) =>
                {
                    unknown(function.name())
                }
                WindowFunctionDefinition::WindowUDF(function)
                    if !WINDOWS.contains(&function.name()) =>
                {
                    unknown(function.name())
                }
                _ => Ok(Transformed::no(expr)),
            },
            Expr::Cast(ref cast) if is_wide(cast.field.data_type()) => wide(),
            Expr::TryCast(ref cast) if is_wide(cast.field.data_type()) => wide(),
            Expr::Literal(ref value, _) if is_wide(&value.data_type()) => wide(),
            Expr::BinaryExpr(BinaryExpr { left, op: Operator::StringConcat, right }) => {
                let func = Arc::new(joined(&self.0));
                let args = vec![*left, *right];
                Ok(Transformed::yes(Expr::ScalarFunction(ScalarFunction { func, args })))
            }
            other => Ok(Transformed::no(other)),
        }
    }
}

fn unknown<T>(name: &str) -> Result<T> {
    plan_err!("{name} has no known bound of its result, and is refused")
}

fn wide<T>() -> Result<T> {
    plan_err!("values of a fixed number of bytes have at most {FIXED_MAX}")
}

fn is_wide(data_type: &DataType) -> bool {
    match data_type {
        DataType::FixedSizeBinary(size) => *size > FIXED_MAX,
        DataType::FixedSizeList(field, size) => *size > FIXED_MAX || is_wide(field.data_type()),
        DataType::List(field) | DataType::LargeList(field) | DataType::Map(field, _) => {
            is_wide(field.data_type())
        }
        DataType::Struct(fields) => fields.iter().any(|field| is_wide(field.data_type())),
        _ => false,
    }
}

impl AnalyzerRule for BoundInsertion {
    fn analyze(&self, plan: LogicalPlan, _config: &ConfigOptions) -> Result<LogicalPlan> {
        rewritten(plan, |expr, schema| self.expr(expr, schema))
    }

    fn name(&self) -> &str {
        "BoundInsertion"
    }
}

/// A plan with its expressions rewritten from their leaves, under the same names. `rewrite` has the
/// columns of the plan's inputs.
pub(crate) fn rewritten(
    plan: LogicalPlan,
    rewrite: impl Fn(Expr, &DFSchema) -> Result<Transformed<Expr>>,
) -> Result<LogicalPlan> {
    plan.transform_up_with_subqueries(|plan| {
        let mut schema = merge_schema(&plan.inputs());
        if let LogicalPlan::TableScan(scan) = &plan {
            let source = scan.source.schema();
            schema.merge(&DFSchema::try_from_qualified_schema(scan.table_name.clone(), &source)?);
        }
        let names = NamePreserver::new(&plan);
        plan.map_expressions(|expr| {
            let name = names.save(&expr);
            let done = expr.transform_up(|expr| rewrite(expr, &schema))?;
            Ok(done.update_data(|expr| name.restore(expr)))
        })?
        .map_data(LogicalPlan::recompute_schema)
    })
    .data()
}
