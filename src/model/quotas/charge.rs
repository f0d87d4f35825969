//! What a record counts towards the quota of its workspace.

use crate::model::feeds::PackageRecord;
use crate::model::files::FileRecord;
use crate::model::resource::AnyRecord;
use crate::model::tables::table::TableMetadata;
use crate::value::Service;
use crate::value::wire::record;

record! {
    /// A number of records, bytes of contents, and rows: of one record, or of all in a workspace.
    pub struct Usage {
        /// Records of all kinds but workspaces and quotas.
        pub records: u64,
        /// Bytes of the contents of files and packages.
        pub content_bytes: u64,
        /// Rows of tables.
        pub rows: u64,
    }
}

impl Usage {
    /// What a record counts whose content is still to come.
    #[must_use]
    pub(crate) fn of_new_record() -> Self {
        Self { records: 1, ..Self::default() }
    }

    /// What one record counts. It depends on the stored record alone, so that the usage of a
    /// workspace is the sum over its records.
    pub(crate) fn of(record: &dyn AnyRecord) -> Self {
        // Workspaces and quotas count nothing.
        if record.kind().service == Service::WORKSPACES {
            return Self::default();
        }
        let record = record.as_any();
        let mut usage = Self { records: 1, ..Self::default() };
        if let Some(file) = record.downcast_ref::<FileRecord>() {
            usage.content_bytes = file.content.size();
        } else if let Some(package) = record.downcast_ref::<PackageRecord>() {
            usage.content_bytes = package.content.size();
        } else if let Some(table) = record.downcast_ref::<TableMetadata>() {
            usage.rows = table.row_count.and_then(|rows| u64::try_from(rows).ok()).unwrap_or(0);
        }
        usage
    }

    /// Adds what a record counts.
    #[must_use]
    pub(crate) fn plus(&self, other: &Self) -> Self {
        Self {
            records: self.records.saturating_add(other.records),
            content_bytes: self.content_bytes.saturating_add(other.content_bytes),
            rows: self.rows.saturating_add(other.rows),
        }
    }

    /// Takes away what a record counted.
    #[must_use]
    pub(crate) fn minus(&self, other: &Self) -> Self {
        Self {
            records: self.records.saturating_sub(other.records),
            content_bytes: self.content_bytes.saturating_sub(other.content_bytes),
            rows: self.rows.saturating_sub(other.rows),
        }
    }
}
