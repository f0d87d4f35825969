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
use datafusion::logical_expr::{BinaryExpr, Expr, GroupingSet, LogicalPlan, Operator};

use super::growth;
use super::limits::refused;

/// Groupings of one aggregation at most: `cube` of n columns makes 2^n.
const GROUPINGS_MAX: usize = 256;

/// What a plan is made of.
#[derive(Clone, Debug, Default)]
pub(super) struct Weight {
    nodes: usize,
    /// Expressions whose results may be large.
    pub makers: usize,
    /// The nodes of each column.
    columns: Arc<[usize]>,
}

/// The weight of a plan that has at most so many nodes.
pub(super) fn of(plan: &LogicalPlan, nodes: usize) -> Result<Weight> {
    Scale { bound: nodes, known: HashMap::new() }.weigh(plan)
}

struct Scale {
    bound: usize,
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
        let mut sizes = Vec::new();
        plan.apply_expressions(|expr| {
            let own = self.expression(expr, below)?;
            weight.add(&own);
            sizes.push(own.nodes);
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
            if matches!(expr, Expr::InList(_)) {
                copies = 1;
            }
            Ok(TreeNodeRecursion::Continue)
        })?;
        weight.makers += usize::from(is_maker(expr));
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
        self.makers = self.makers.saturating_add(other.makers);
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

fn is_maker(part: &Expr) -> bool {
    match part {
        Expr::ScalarFunction(call) => growth::of(call.name()) != Some(growth::Growth::Plain),
        Expr::BinaryExpr(BinaryExpr { op, .. }) => *op == Operator::StringConcat,
        _ => false,
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
