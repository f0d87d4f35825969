//! The write side: plans draft changes, and one path makes the changes of a group durable.

pub(super) mod draft;
pub(super) mod quotas;
pub(super) mod workspaces;
pub(super) mod write_path;
pub(super) mod written;
