//! Test results and their steps.

mod figures;
