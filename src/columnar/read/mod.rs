//! Rows of one state of a table: in index order or by position, counted, described.

pub(super) mod append_order;
pub(super) mod count;
pub(super) mod explain;
pub(super) mod fetch;
pub(super) mod found;
pub(super) mod index_rows;
pub(super) mod matching;
pub(super) mod record_batches;
pub(super) mod row_query;
pub(super) mod rows;
pub(super) mod scan;
pub(super) mod statistics;
pub(super) mod unit;
pub(super) mod view;
