//! Opening and closing a store, and all operations on a store as a whole.

mod archive;
mod archiving;
mod backup;
mod checkpoint_thread;
mod directory;
mod feed;
mod findings;
mod format;
mod lock;
mod look;
mod maintain;
mod maintenance;
mod maintenance_report;
mod named;
mod open;
mod readable;
mod restore;
mod salvage;
mod scrub;
mod scrub_indexes;
mod scrubbing;
mod set;
mod status;
mod trim;
mod upkeep;
mod verify;

pub use archive::{ArchiveStatus, CommitRange};
pub use backup::{BackupReport, CompactReport};
pub use findings::{Finding, VerifyReport};
pub use maintenance_report::{MaintenanceReport, MaintenanceStatus};
pub use open::{Store, StoreOptions};
pub use salvage::{Lost, SalvageReport};
pub use set::{
    ArchiveReport, PruneReport, RepairReport, RestorePoint, SetBackup, SetBackupOptions,
    SetBackupReport, SetBackups, SetRange, SetReport, SetRetention,
};
pub use status::report::{
    ActivityStatus, Attention, AttentionCode, DiskStatus, IndexStatus, JournalStatus, MemoryStatus,
    Outcome, OutcomeResult, ReaderStatus, ScrubProgress, ScrubStatus, StoreStatus, VersionStatus,
    WriteStatus,
};
pub use verify::VerifyLevel;

#[cfg(test)]
mod backup_tests;
#[cfg(test)]
mod budget_tests;
#[cfg(test)]
mod checkpoint_tests;
#[cfg(test)]
mod compact_tests;
#[cfg(test)]
mod damaged_page_tests;
#[cfg(test)]
mod format_tests;
#[cfg(test)]
mod growth_tests;
#[cfg(test)]
mod handles_tests;
#[cfg(all(test, feature = "packages"))]
mod large_transaction_tests;
#[cfg(test)]
mod rewrite_tests;
#[cfg(test)]
mod salvage_tests;
#[cfg(test)]
mod scrub_tests;
#[cfg(all(test, feature = "search"))]
mod scrubbing_tests;
#[cfg(all(test, feature = "search"))]
mod search_tests;
#[cfg(test)]
mod service_tests;
#[cfg(test)]
mod space_tests;
#[cfg(test)]
mod status_tests;
#[cfg(test)]
mod sync_tests;
#[cfg(test)]
mod table_maintenance_tests;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod windows_tests;
