//! Rules for plans: the first rows of an order are selected by the store, whose summaries exclude
//! most rows; joins with results read the steps of these; and joins let a query be cancelled.

use std::sync::Arc;

use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::config::ConfigOptions;
use datafusion::error::Result;
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_optimizer::optimizer::PhysicalOptimizer;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::coop::CooperativeExec;
use datafusion::physical_plan::sorts::sort::SortExec;

use crate::pruning::StepsOfResults;
use crate::scan::StoreScan;

/// The rule that decides which side of a join is kept in memory.
const SIDES: &str = "join_selection";
/// The rule after which scans yield between batches.
const LATER: &str = "EnsureCooperative";

/// The rules of DataFusion, and these.
pub(crate) fn all() -> Vec<Arc<dyn PhysicalOptimizerRule + Send + Sync>> {
    let mut rules = PhysicalOptimizer::new().rules;
    let sides = rules.iter().position(|rule| rule.name() == SIDES);
    rules.insert(sides.map_or(0, |place| place + 1), Arc::new(StepsOfResults));
    let place = rules.iter().position(|rule| rule.name() == LATER).unwrap_or(rules.len());
    rules.insert(place, Arc::new(TopRows));
    let last = rules.len().min(place + 2);
    rules.insert(last, Arc::new(YieldInsertion));
    rules
}

/// Nodes that make any number of rows of one batch. They do not ask whether the query goes on.
const MAKERS: [&str; 5] =
    ["CrossJoinExec", "NestedLoopJoinExec", "HashJoinExec", "SortMergeJoinExec", "UnnestExec"];

/// Makes such nodes yield between batches: a query that is dropped would compute on for minutes.
#[derive(Debug)]
struct YieldInsertion;

impl PhysicalOptimizerRule for YieldInsertion {
    fn optimize(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        _config: &ConfigOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let wrapped = |plan: Arc<dyn ExecutionPlan>| {
            Ok(if MAKERS.contains(&plan.name()) {
                Transformed::yes(Arc::new(CooperativeExec::new(plan)) as Arc<dyn ExecutionPlan>)
            } else {
                Transformed::no(plan)
            })
        };
        plan.transform_up(wrapped).data()
    }

    fn name(&self) -> &str {
        "Yielding"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

/// Replaces a sort with a limit over a scan by a scan in that order.
#[derive(Debug)]
struct TopRows;

impl PhysicalOptimizerRule for TopRows {
    fn optimize(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        _config: &ConfigOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let first = |plan: Arc<dyn ExecutionPlan>| {
            let scan = plan.downcast_ref::<SortExec>().and_then(|sort| {
                let scan = sort.input().downcast_ref::<StoreScan>()?;
                scan.first(sort.expr(), sort.fetch()?)
            });
            Ok(match scan {
                Some(scan) => Transformed::yes(Arc::new(scan) as Arc<dyn ExecutionPlan>),
                None => Transformed::no(plan),
            })
        };
        plan.transform_down(first).data()
    }

    fn name(&self) -> &str {
        "TopRows"
    }

    fn schema_check(&self) -> bool {
        true
    }
}
