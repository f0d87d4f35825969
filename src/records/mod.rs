//! Records on redb: the only truth of a store.

pub(crate) mod backend;
