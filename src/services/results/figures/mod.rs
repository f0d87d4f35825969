//! Figures of test results: accumulators that take facts and give answers, whatever the facts are
//! read from.
//!
//! What must hold: sums are exact and rounded once, so that no answer depends on the order in which
//! equal facts come; what is not defined is null, and nothing is NaN or infinite.

mod calendar;
mod capability;
#[cfg(test)]
mod capability_tests;
mod classes;
mod constants;
mod control_chart;
#[cfg(test)]
mod control_chart_tests;
mod gage;
#[cfg(test)]
mod gage_tests;
mod groups;
mod histogram;
mod limits;
mod numbers;
mod of_results;
mod of_values;
mod pareto;
mod passes;
mod selected;
mod series;
#[cfg(test)]
mod series_tests;
mod subgroups;
mod tree;
mod units;
mod yields;
#[cfg(test)]
mod yields_tests;
mod zone;

#[cfg(test)]
mod random;

pub(super) use of_results::{failure_pareto, yields};
pub(super) use of_values::{capability, control_chart, gage, histogram};
