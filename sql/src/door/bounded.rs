//! Calls that are measured before they make anything.

use std::hash::{Hash, Hasher};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::datatypes::{DataType, Field, FieldRef, Schema};
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::common::{DFSchema, plan_err};
use datafusion::config::ConfigOptions;
use datafusion::error::{DataFusionError, Result};
use datafusion::logical_expr::expr::{ScalarFunction, WindowFunctionDefinition};
use datafusion::logical_expr::expr_rewriter::NamePreserver;
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

/// Values of a fixed number of bytes at most: each row has as many, also where it is null.
const FIXED_MAX: i32 = 1024;
/// Bytes of a result in a process that runs plans of others.
#[cfg(feature = "lake")]
const ELSEWHERE_BYTES: usize = 64 * 1024 * 1024;
/// Rows of a batch in such a process.
#[cfg(feature = "lake")]
const ELSEWHERE_ROWS: usize = 8192;

/// What the expressions of one statement may make.
#[derive(Debug)]
pub(crate) struct Meter {
    /// Bytes of all results of one batch.
    share: usize,
    /// Rows of a batch, beside each of which a constant may stand.
    rows: usize,
    until: Option<Instant>,
    /// Bytes of one result.
    bound: AtomicUsize,
}

impl Meter {
    pub(super) fn new(share: usize, rows: usize, until: Option<Instant>) -> Self {
        Self { share, rows, until, bound: AtomicUsize::new(share) }
    }

    /// For a process that does not know the statement.
    #[cfg(feature = "lake")]
    pub(crate) fn elsewhere() -> Arc<Self> {
        Arc::new(Self::new(ELSEWHERE_BYTES, ELSEWHERE_ROWS, None))
    }

    /// Divides the bytes among so many calls.
    pub(super) fn divide(&self, calls: usize) {
        self.bound.store(self.share / calls.max(1), Ordering::Relaxed);
    }

    fn check(&self, name: &str, made: u128, is_constant: bool) -> Result<()> {
        if self.until.is_some_and(|until| Instant::now() >= until) {
            return late();
        }
        let whole = self.bound.load(Ordering::Relaxed);
        let bound = if is_constant { whole / self.rows } else { whole };
        if made > bound as u128 {
            Err(DataFusionError::ResourcesExhausted(format!(
                "{name} would make {made} bytes, and this statement allows it {bound}: make the \
                 values shorter, or call fewer functions that make texts and lists"
            )))
        } else {
            Ok(())
        }
    }
}

/// A function that is called when its result is within the bound.
#[derive(Debug)]
struct BoundedFunction {
    inner: Arc<ScalarUDF>,
    growth: Growth,
    meter: Arc<Meter>,
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

/// The function with its bound; the same one where its result is always small. None if its bound
/// is not known.
pub(crate) fn bounded(inner: &Arc<ScalarUDF>, meter: &Arc<Meter>) -> Option<Arc<ScalarUDF>> {
    if inner.inner().is::<BoundedFunction>() || inner.inner().is::<BoundedConcat>() {
        return Some(inner.clone());
    }
    match growth::of(inner.name())? {
        Growth::Plain => Some(inner.clone()),
        growth => {
            let (inner, meter) = (inner.clone(), meter.clone());
            Some(Arc::new(ScalarUDF::new_from_impl(BoundedFunction { inner, growth, meter })))
        }
    }
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
        self.inner.return_field_from_args(args)
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let is_constant = is_constant(&args.args);
        let rows = if is_constant { 1 } else { args.number_rows };
        let made = self.growth.bytes(self.name(), &args.args, rows)?;
        self.meter.check(self.name(), made, is_constant)?;
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
}

pub(super) fn joined(meter: &Arc<Meter>) -> ScalarUDF {
    let signature = Signature::any(2, Volatility::Immutable);
    ScalarUDF::new_from_impl(BoundedConcat { signature, meter: meter.clone() })
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
        self.meter.check("||", made, is_constant)?;
        operate(Operator::StringConcat, false, args)
    }
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
        match expr {
            // Some functions become casts when the plan is simplified.
            Expr::ScalarFunction(_) if is_wide(&expr.get_type(schema)?) => wide(),
            Expr::ScalarFunction(call) => match bounded(&call.func, &self.0) {
                Some(func) => {
                    Ok(Transformed::yes(Expr::ScalarFunction(ScalarFunction { func, ..call })))
                }
                None => unknown(call.name()),
            },
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
        "Bound"
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
