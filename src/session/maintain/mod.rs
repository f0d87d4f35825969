//! Work of maintenance on records and indexes, while the store is open.

pub(super) mod fillings;
pub(crate) mod growth;
pub(super) mod mend;
pub(super) mod rewrite;
pub(super) mod settle;
