//! Joins with results: of steps and measurements only those of the results are read that the other
//! side of a join may have.
//!
//! Where the other side is results with a condition, the condition is one of the read. It leaves rows
//! out that the join would, so what is not understood is read as a whole.
//!
//! The ids that a join has read of its other side are not used: DataFusion passes them down by the
//! name of a column, and where two columns have the name `result_id`, they reach the wrong one.

use std::sync::Arc;

use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::common::{JoinSide, JoinType};
use datafusion::config::ConfigOptions;
use datafusion::error::Result;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::aggregates::AggregateExec;
use datafusion::physical_plan::coalesce_partitions::CoalescePartitionsExec;
use datafusion::physical_plan::coop::CooperativeExec;
use datafusion::physical_plan::execution_plan::replace_children_if_necessary;
use datafusion::physical_plan::filter::FilterExec;
use datafusion::physical_plan::joins::HashJoinExec;
use datafusion::physical_plan::limit::{GlobalLimitExec, LocalLimitExec};
use datafusion::physical_plan::projection::ProjectionExec;
use datafusion::physical_plan::repartition::RepartitionExec;
use datafusion::physical_plan::sorts::sort::SortExec;
use datafusion::physical_plan::sorts::sort_preserving_merge::SortPreservingMergeExec;

use crate::language::Filter;
use crate::scan::StoreScan;

fn column(expr: &Arc<dyn PhysicalExpr>) -> Option<usize> {
    expr.downcast_ref::<Column>().map(Column::index)
}

/// Where a column comes from.
struct Below {
    /// Which child of the node.
    child: usize,
    column: usize,
    /// Whether a condition on the column may be tested below the node.
    is_tested_below: bool,
}

/// Where the column at this position of a node comes from. Below there are all values that it has
/// beside null.
fn below(plan: &dyn ExecutionPlan, position: usize) -> Option<Below> {
    let is_tested_below = plan.fetch().is_none();
    let same = Below { child: 0, column: position, is_tested_below };
    if let Some(filter) = plan.downcast_ref::<FilterExec>() {
        let column = match filter.projection() {
            Some(projection) => projection.get(position).copied()?,
            None => position,
        };
        return Some(Below { column, ..same });
    }
    if let Some(projection) = plan.downcast_ref::<ProjectionExec>() {
        let column = column(&projection.expr().get(position)?.expr)?;
        return Some(Below { column, ..same });
    }
    if let Some(aggregate) = plan.downcast_ref::<AggregateExec>() {
        let groups = aggregate.group_expr();
        let (group, _) = groups.expr().get(position).filter(|_| groups.is_single())?;
        let is_tested_below = is_tested_below && aggregate.limit_options().is_none();
        return Some(Below { column: column(group)?, is_tested_below, ..same });
    }
    if let Some(join) = plan.downcast_ref::<HashJoinExec>() {
        return below_join(join, position);
    }
    if plan.downcast_ref::<GlobalLimitExec>().is_some()
        || plan.downcast_ref::<LocalLimitExec>().is_some()
    {
        return Some(Below { is_tested_below: false, ..same });
    }
    let is_same = plan.downcast_ref::<SortExec>().is_some()
        || plan.downcast_ref::<SortPreservingMergeExec>().is_some()
        || plan.downcast_ref::<RepartitionExec>().is_some()
        || plan.downcast_ref::<CoalescePartitionsExec>().is_some()
        || plan.downcast_ref::<CooperativeExec>().is_some();
    is_same.then_some(same)
}

fn below_join(join: &HashJoinExec, position: usize) -> Option<Below> {
    let position = match &join.projection {
        Some(projection) => projection.get(position).copied()?,
        None => position,
    };
    let lefts = join.left().schema().fields().len();
    let side = match join.join_type() {
        JoinType::RightSemi | JoinType::RightAnti | JoinType::RightMark => JoinSide::Right,
        JoinType::LeftSemi | JoinType::LeftAnti | JoinType::LeftMark => JoinSide::Left,
        _ if position < lefts => JoinSide::Left,
        _ => JoinSide::Right,
    };
    let (child, column, rows) = match (side, join.join_type()) {
        (JoinSide::Left, _) => (0, position, join.left()),
        (_, JoinType::RightSemi | JoinType::RightAnti | JoinType::RightMark) => {
            (1, position, join.right())
        }
        _ => (1, position.checked_sub(lefts)?, join.right()),
    };
    let is_tested_below = join.fetch().is_none()
        && matches!(
            (side, join.join_type()),
            (_, JoinType::Inner)
                | (JoinSide::Left, JoinType::Left | JoinType::LeftSemi)
                | (JoinSide::Right, JoinType::Right | JoinType::RightSemi)
        );
    // The mark of a join is no column of a side.
    let is_column = column < rows.schema().fields().len();
    is_column.then_some(Below { child, column, is_tested_below })
}

/// The read whose ids of results are this column, and the position of the ids in it.
fn read(plan: &Arc<dyn ExecutionPlan>, position: usize) -> Option<(&StoreScan, usize)> {
    let (mut plan, mut position) = (plan, position);
    loop {
        if let Some(scan) = plan.downcast_ref::<StoreScan>() {
            return Some((scan, position));
        }
        let next = below(plan.as_ref(), position)?;
        plan = plan.children().get(next.child).copied()?;
        position = next.column;
    }
}

/// The condition that all results pass whose ids are this column.
fn results(plan: &Arc<dyn ExecutionPlan>, position: usize) -> Option<Filter> {
    let (scan, position) = read(plan, position)?;
    scan.records()?.results(position)
}

/// The plan with a read of no steps and measurements but those of the results that pass a filter;
/// `None` if the column is none of their results.
fn among(
    plan: &Arc<dyn ExecutionPlan>,
    position: usize,
    filter: &Filter,
) -> Result<Option<Arc<dyn ExecutionPlan>>> {
    if let Some(scan) = plan.downcast_ref::<StoreScan>() {
        let records = scan.records().filter(|read| read.is_of_results());
        let records = records.filter(|read| read.key() == Some(position));
        return Ok(records.map(|read| {
            Arc::new(scan.with_records(read.among(filter))) as Arc<dyn ExecutionPlan>
        }));
    }
    let Some(next) = below(plan.as_ref(), position).filter(|next| next.is_tested_below) else {
        return Ok(None);
    };
    let mut children: Vec<_> = plan.children().into_iter().cloned().collect();
    let Some(child) = children.get_mut(next.child) else { return Ok(None) };
    let Some(fewer) = among(child, next.column, filter)? else { return Ok(None) };
    *child = fewer;
    replace_children_if_necessary(plan.clone(), children).map(Some)
}

/// Whether rows of a side that match none of the other one make no difference: of the left and of the
/// right side.
fn drops_rows(join: &HashJoinExec) -> (bool, bool) {
    match join.join_type() {
        _ if join.null_aware => (false, false),
        JoinType::Inner | JoinType::LeftSemi | JoinType::RightSemi => (true, true),
        JoinType::Left | JoinType::LeftAnti | JoinType::LeftMark => (false, true),
        JoinType::Right | JoinType::RightAnti | JoinType::RightMark => (true, false),
        JoinType::Full => (false, false),
    }
}

/// The join with reads of fewer steps and measurements.
fn pruned(join: &HashJoinExec) -> Result<Option<Arc<dyn ExecutionPlan>>> {
    let (mut left, mut right) = (join.left().clone(), join.right().clone());
    let (is_left, is_right) = drops_rows(join);
    let mut is_changed = false;
    // What selects every result selects none.
    let narrows = |filter: &Filter| !filter.text.is_empty();
    for (of_left, of_right) in join.on() {
        let (Some(of_left), Some(of_right)) = (column(of_left), column(of_right)) else { continue };
        let of_results =
            |side, at, drops: bool| results(side, at).filter(|_| drops).filter(narrows);
        if let Some(filter) = of_results(&right, of_right, is_left) {
            if let Some(fewer) = among(&left, of_left, &filter)? {
                (left, is_changed) = (fewer, true);
            }
        } else if let Some(filter) = of_results(&left, of_left, is_right)
            && let Some(fewer) = among(&right, of_right, &filter)?
        {
            (right, is_changed) = (fewer, true);
        }
    }
    if !is_changed {
        return Ok(None);
    }
    let join = join.builder().with_new_children(vec![left, right])?.build()?;
    Ok(Some(Arc::new(join)))
}

/// Joins of steps and measurements with results read those of the results.
#[derive(Debug)]
pub(crate) struct StepsOfResults;

impl PhysicalOptimizerRule for StepsOfResults {
    fn optimize(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        _config: &ConfigOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let fewer = |plan: Arc<dyn ExecutionPlan>| {
            let join = plan.downcast_ref::<HashJoinExec>();
            Ok(match join.map(pruned).transpose()?.flatten() {
                Some(join) => Transformed::yes(join),
                None => Transformed::no(plan),
            })
        };
        plan.transform_up(fewer).data()
    }

    fn name(&self) -> &str {
        "StepsOfResults"
    }

    fn schema_check(&self) -> bool {
        true
    }
}
