//! Rows on their way into a table: the types of the columns, the bytes of an append, and the
//! buffered rows as a run.

pub(super) mod buffer;
pub(super) mod coerce;
pub(super) mod memory_run;
