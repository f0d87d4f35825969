//! Backup sets: a directory with many backups of one store, in which each thing is once.
//!
//! Segments and contents never change, so each is an object that is sent once and recognised by its
//! name. The rows of the records are cut into chunks at places that follow from the keys, and a
//! backup writes the chunks that the one before it does not have, most of them as a difference. The
//! bytes are in `docs/format.md`.
//!
//! Between two backups a set may have the commits of the store, from its archive.
//!
//! What must hold: a manifest gets its name after everything that it needs is durable, and nothing
//! that a manifest needs is changed or removed. So an interruption leaves every earlier backup.

mod archive;
mod backup;
mod chain;
mod chunks;
mod earlier;
mod layout;
mod list;
mod manifest;
mod marks;
mod mend;
mod objects;
mod pace;
mod pack;
mod point;
mod prune;
mod repair;
mod replay;
mod restore;
mod rows;
mod send;
mod sweep;
#[cfg(test)]
mod tests;
mod unread;
mod verify;

pub use backup::{SetBackupOptions, SetBackupReport};
pub use list::{SetBackup, SetBackups, SetRange};
pub use point::RestorePoint;
pub use prune::{PruneReport, SetRetention};
pub use repair::RepairReport;
pub use send::ArchiveReport;
pub use verify::SetReport;
