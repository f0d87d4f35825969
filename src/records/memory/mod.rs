//! The memory table: layers of changes over the record file, and one sequence of rows over both.

pub(super) mod entries;
pub(super) mod layer;
pub(super) mod layered;
