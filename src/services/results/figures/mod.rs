//! Figures of test results: accumulators that take facts and give answers, whatever the facts are
//! read from.
//!
//! What must hold: sums are exact and rounded once, so that no answer depends on the order in which
//! equal facts come; what is not defined is null, and nothing is NaN or infinite.

#![expect(dead_code, reason = "no operation answers with figures yet")]

mod calendar;
mod capability;
mod classes;
mod constants;
mod control_chart;
mod gage;
mod groups;
mod histogram;
mod limits;
mod numbers;
mod pareto;
mod passes;
mod series;
mod subgroups;
mod units;
mod yields;
mod zone;

#[cfg(test)]
mod random;
