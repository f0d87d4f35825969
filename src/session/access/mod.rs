//! Who calls, through which handle, with which settings.

pub(super) mod caller;
pub(super) mod context;
pub(super) mod holders;
pub(super) mod identity;
pub(super) mod options;
pub(super) mod readers;
pub(super) mod runner;
pub(super) mod sessions;
pub(super) mod transaction;
