//! How large a plan is when each name in it is replaced by what it stands for.
//!
//! A query in `with` is put in the place of each use of its name, and a condition takes the place
//! of the names of a query below it. Thirty of either that use the one before twice would make a
//! thousand million nodes of a short text.

use std::collections::HashMap;
use std::sync::Arc;

use datafusion::common::Column;
use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::error::Result;
use datafusion::logical_expr::expr::{Exists, InSubquery};
use datafusion::logical_expr::{Expr, GroupingSet, LogicalPlan};
use datafusion::scalar::ScalarValue;

use super::Limits;
use super::limits::refused;

/// Groupings of one aggregation at most: `cube` of n columns makes 2^n.
const GROUPINGS_MAX: usize = 256;

/// What a plan is made of.
#[derive(Clone, Debug, Default)]
pub(super) struct Weight {
    nodes: usize,
    /// The nodes of each column.
    columns: Arc<[usize]>,
    /// The bytes of each column that is a text of the statement.
    texts: Arc<[usize]>,
}

/// The nodes that a plan stands for, which are checked.
pub(super) fn check(plan: &LogicalPlan, limits: &Limits) -> Result<usize> {
    let (bound, texts) = (limits.nodes, limits.text_bytes);
    Scale { bound, texts, known: HashMap::new() }.weigh(plan).map(|weight| weight.nodes)
}

struct Scale {
    bound: usize,
    /// Bytes of texts of the statement that may stand beside each row.
    texts: usize,
    /// By address: a plan that is used twice is weighed once.
    known: HashMap<*const LogicalPlan, Weight>,
}

impl Scale {
    fn weigh(&mut self, plan: &LogicalPlan) -> Result<Weight> {
        let place = std::ptr::from_ref(plan);
        if let Some(known) = self.known.get(&place) {
            return Ok(known.clone());
        }
        let mut below = Vec::new();
        for input in plan.inputs() {
            below.push((input, self.weigh(input)?));
        }
        let weight = self.node(plan, &below)?;
        self.known.insert(place, weight.clone());
        Ok(weight)
    }

    fn node(&mut self, plan: &LogicalPlan, below: &[(&LogicalPlan, Weight)]) -> Result<Weight> {
        let mut weight = Weight { nodes: 1, ..Weight::default() };
        for (_, input) in below {
            weight.add(input);
        }
        let (mut sizes, mut texts) = (Vec::new(), Vec::new());
        plan.apply_expressions(|expr| {
            let own = self.expression(expr, below)?;
            weight.add(&own);
            sizes.push(own.nodes);
            texts.push(text_of(expr, below));
            Ok(TreeNodeRecursion::Continue)
        })?;
        if let LogicalPlan::Aggregate(aggregate) = plan {
            let groupings = aggregate.group_expr.iter().map(groupings);
            let groupings = groupings.fold(1, usize::saturating_mul);
            if groupings > GROUPINGS_MAX {
                return refused("groupings", groupings, GROUPINGS_MAX);
            }
            let own = sizes.iter().fold(1, |sum: usize, size| sum.saturating_add(*size));
            weight.nodes = weight.nodes.saturating_add(own.saturating_mul(groupings));
        }
        if weight.nodes > self.bound {
            return refused("nodes in its plan", weight.nodes, self.bound);
        }
        weight.columns = columns(plan, below, sizes);
        weight.texts = match plan {
            LogicalPlan::Projection(_) => {
                let all = texts.iter().fold(0, |sum: usize, text| sum.saturating_add(*text));
                if all > self.texts {
                    return refused("bytes of texts beside each row", all, self.texts);
                }
                texts.into()
            }
            LogicalPlan::SubqueryAlias(_)
            | LogicalPlan::Subquery(_)
            | LogicalPlan::Filter(_)
            | LogicalPlan::Sort(_)
            | LogicalPlan::Limit(_)
            | LogicalPlan::Distinct(_) => {
                below.iter().flat_map(|(_, input)| input.texts.iter().copied()).collect()
            }
            _ => Arc::default(),
        };
        Ok(weight)
    }

    /// Recurses over an expression, which is as deep as the tokens allow.
    fn expression(&mut self, expr: &Expr, below: &[(&LogicalPlan, Weight)]) -> Result<Weight> {
        let mut weight = match expr {
            Expr::ScalarSubquery(query)
            | Expr::Exists(Exists { subquery: query, .. })
            | Expr::InSubquery(InSubquery { subquery: query, .. }) => {
                self.weigh(&query.subquery)?
            }
            Expr::SetComparison(comparison) => self.weigh(&comparison.subquery.subquery)?,
            _ => Weight { nodes: size_of(expr, below), ..Weight::default() },
        };
        let mut copies = copies(expr);
        expr.apply_children(|part| {
            let mut part = self.expression(part, below)?;
            part.nodes = part.nodes.saturating_mul(copies);
            weight.add(&part);
            // The values of a list are not copied, only what is compared with them.
            if matches!(expr, Expr::InList(_) | Expr::Case(_)) {
                copies = 1;
            }
            Ok(TreeNodeRecursion::Continue)
        })?;
        if weight.nodes > self.bound {
            refused("nodes in an expression", weight.nodes, self.bound)
        } else {
            Ok(weight)
        }
    }
}

/// How often planning writes a part of the expression at most.
fn copies(expr: &Expr) -> usize {
    match expr {
        Expr::Between(_) => 2,
        Expr::InList(list) => list.list.len() + 1,
        // It becomes comparisons, where its types are of different kinds.
        Expr::Case(case) if case.expr.is_some() => case.when_then_expr.len(),
        // They become `case when x is not null then x`.
        Expr::ScalarFunction(call) => match call.name() {
            "coalesce" | "nullif" | "nvl" | "nvl2" => 2,
            _ => 1,
        },
        _ => 1,
    }
}

impl Weight {
    fn add(&mut self, other: &Self) {
        self.nodes = self.nodes.saturating_add(other.nodes);
    }
}

/// The nodes that a part of an expression stands for, without its own parts.
fn size_of(part: &Expr, below: &[(&LogicalPlan, Weight)]) -> usize {
    let of = |column: &Column| {
        below.iter().find_map(|(plan, weight)| {
            let place = plan.schema().maybe_index_of_column(column)?;
            weight.columns.get(place).copied()
        })
    };
    match part {
        Expr::Column(column) => of(column).unwrap_or(1),
        _ => 1,
    }
}

/// The bytes of a text of the statement that the column is.
fn text_of(expr: &Expr, below: &[(&LogicalPlan, Weight)]) -> usize {
    match expr {
        Expr::Alias(alias) => text_of(&alias.expr, below),
        Expr::Cast(cast) => text_of(&cast.expr, below),
        Expr::TryCast(cast) => text_of(&cast.expr, below),
        Expr::Literal(value, _) => match value {
            ScalarValue::Binary(Some(bytes)) | ScalarValue::LargeBinary(Some(bytes)) => bytes.len(),
            other => other.try_as_str().flatten().map_or(0, str::len),
        },
        Expr::Column(column) => {
            let known = below.iter().find_map(|(plan, weight)| {
                weight.texts.get(plan.schema().maybe_index_of_column(column)?).copied()
            });
            known.unwrap_or(0)
        }
        _ => 0,
    }
}

/// The nodes of each column of a plan.
fn columns(
    plan: &LogicalPlan,
    below: &[(&LogicalPlan, Weight)],
    sizes: Vec<usize>,
) -> Arc<[usize]> {
    let width = plan.schema().fields().len();
    let inputs = || below.iter().flat_map(|(_, weight)| weight.columns.iter().copied());
    let found: Vec<usize> = match plan {
        LogicalPlan::Projection(_) => sizes,
        LogicalPlan::Filter(_)
        | LogicalPlan::Sort(_)
        | LogicalPlan::Limit(_)
        | LogicalPlan::Distinct(_)
        | LogicalPlan::Repartition(_)
        | LogicalPlan::Subquery(_)
        | LogicalPlan::SubqueryAlias(_)
        | LogicalPlan::Join(_) => inputs().collect(),
        LogicalPlan::Window(_) => inputs().chain(std::iter::repeat(1)).take(width).collect(),
        LogicalPlan::Union(_) => {
            let widest = |at| below.iter().filter_map(move |(_, weight)| weight.columns.get(at));
            (0..width).map(|at| widest(at).copied().max().unwrap_or(1)).collect()
        }
        _ => Vec::new(),
    };
    // Where the columns are others than those of the inputs, each is one node.
    if found.len() == width { found.into() } else { vec![1; width].into() }
}

fn groupings(expr: &Expr) -> usize {
    let power = |columns: usize| {
        let power = u32::try_from(columns).ok().and_then(|columns| 2_usize.checked_pow(columns));
        power.unwrap_or(usize::MAX)
    };
    match expr {
        Expr::GroupingSet(GroupingSet::Cube(columns)) => power(columns.len()),
        Expr::GroupingSet(GroupingSet::Rollup(columns)) => columns.len() + 1,
        Expr::GroupingSet(GroupingSet::GroupingSets(sets)) => sets.len(),
        _ => 1,
    }
}
