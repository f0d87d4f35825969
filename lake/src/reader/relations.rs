//! What a snapshot of a lake has: stations, tables, columns and files.

use object_store::path::Path;
use stationdb::arrow::datatypes::Field;

use super::log::may_have;

/// The complete batches of a station.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct LakeStation {
    /// The name of the station.
    pub name: String,
    /// The first batch of which rows count: earlier ones are of a history that was given up.
    pub first_batch: i64,
    /// The last complete batch.
    pub last_batch: i64,
}

/// A file of a lake table of which rows count.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct LakeFile {
    /// The path in the object store.
    pub path: Path,
    /// Size in bytes.
    pub bytes: u64,
    /// The station of all rows, where the log says that they have one.
    pub station: Option<String>,
    /// Whether the log says that all rows are of complete batches that count. Rows of the others
    /// have to be compared with [`Lake::stations`](crate::Lake::stations).
    pub is_whole: bool,
    /// The least and the greatest id of a table, where the log says so.
    pub(super) tables: Option<(String, String)>,
}

impl LakeFile {
    /// Whether rows of a station's table may be in the file.
    #[must_use]
    pub fn may_have(&self, station: &str, table: &str) -> bool {
        let of_station = self.station.as_ref().is_none_or(|own| own == station);
        of_station && may_have(self.tables.as_ref(), table)
    }
}

/// A column of a lake table.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct LakeField {
    /// Name and type in the lake.
    pub field: Field,
    /// The name at the station; the columns before the data have none.
    pub stored: Option<String>,
    /// Whether it has the whole nanoseconds of the column with that name.
    pub is_nanoseconds: bool,
}

/// A lake table.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct LakeRelation {
    /// Its name.
    pub name: String,
    /// Its columns, those before the data first.
    pub fields: Vec<LakeField>,
    /// Its files, in order of their paths.
    pub files: Vec<LakeFile>,
}

/// A lake table with rows, and the ranges of rows that were deleted from it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct LakeRows {
    /// The rows.
    pub rows: LakeRelation,
    /// The deleted ranges, where there are any.
    pub deleted: Option<LakeRelation>,
}
