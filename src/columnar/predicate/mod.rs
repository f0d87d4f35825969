//! Which rows a read returns: tests of values, and what summaries show of them.

pub(super) mod found_rows;
pub(super) mod leaf;
pub(super) mod predicates;
pub(super) mod row_test;
pub(super) mod verdict;
pub(super) mod wanted;
