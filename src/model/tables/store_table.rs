//! Tables that the store keeps itself. Their rows come from records, so no caller sees them as
//! tables: they have no metadata record, and their ids are never generated.

use super::data::Column;
use super::table::TableMetadata;
use crate::arrow::array::{ArrayRef, RecordBatch};
use crate::error::Result;
use crate::model::steps;
use crate::value::RecordKey;
use crate::value::stored::Payload;

/// A chunk of rows that are not sealed yet: the key of the record that they belong to, and the
/// payload of its envelope.
pub(crate) type StoredChunk<'c> = (RecordKey, Payload<'c>);

/// A table that the store keeps itself.
///
/// Its rows belong to records. Until they are sealed they lie in chunks, found by the key of their
/// record, so that they can be read and changed by it. The index of a sealed row has the order of
/// these keys.
#[derive(Debug)]
pub(crate) struct StoreTable {
    /// Its id. The counter at the beginning of a generated id never gets there.
    pub id: &'static str,
    /// Its columns.
    pub columns: fn() -> Vec<Column>,
    /// The rows of chunks, column by column.
    pub arrays: fn(&[StoredChunk<'_>]) -> Result<Vec<ArrayRef>>,
    /// The number of rows of a chunk.
    pub row_count: fn(Payload<'_>) -> Result<u64>,
    /// It is sealed when so many rows are in chunks, even if the settings allow more: a pass over
    /// all rows walks through each chunk, where it reads few columns of sealed rows.
    pub buffered_rows_max: u64,
    /// The index value of the rows of a record.
    pub index_of: fn(RecordKey) -> i64,
    /// The columns that tell the rows of records with one index value apart.
    pub key_columns: &'static [usize],
    /// Whether a row is one of a record, by its key columns.
    pub is_of: fn(RecordKey, &RecordBatch, usize) -> bool,
}

/// The steps of test results.
pub(crate) static STEPS: StoreTable = StoreTable {
    id: "ffffffffffff000000000001",
    columns: steps::rows::columns,
    arrays: steps::rows::arrays,
    row_count: steps::rows::row_count,
    buffered_rows_max: 8_192,
    index_of: steps::stored::index_of,
    key_columns: &[steps::rows::StepColumn::ResultRest as usize],
    is_of: steps::rows::is_of,
};

/// All tables that the store keeps itself.
pub(crate) static STORE_TABLES: [&StoreTable; 1] = [&STEPS];

impl StoreTable {
    /// The table with this key.
    #[must_use]
    pub(crate) fn by_key(key: RecordKey) -> Option<&'static Self> {
        // No other id begins so; most keys are told apart by that.
        if !key.as_bytes().starts_with(&[0xff; 6]) {
            return None;
        }
        STORE_TABLES.into_iter().find(|table| table.key() == Some(key))
    }

    /// Its key.
    #[must_use]
    pub(crate) fn key(&self) -> Option<RecordKey> {
        use crate::model::Resource;
        RecordKey::parse(TableMetadata::KIND.id, self.id)
    }

    /// What a table of callers has as its metadata.
    #[must_use]
    pub(crate) fn metadata(&self, row_count: u64) -> TableMetadata {
        TableMetadata {
            id: Some(self.id.into()),
            columns: Some((self.columns)()),
            row_count: Some(i64::try_from(row_count).unwrap_or(i64::MAX)),
            supports_append: Some(true),
            ..TableMetadata::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value::IdForm;

    #[test]
    fn store_tables_are_found_by_their_keys_alone() {
        for table in STORE_TABLES {
            let key = table.key().unwrap();
            assert_eq!(StoreTable::by_key(key).map(|found| found.id), Some(table.id));
            assert_eq!(table.metadata(7).row_count, Some(7));
        }
        for bytes in [[0; 12], [0xff; 12]] {
            let other = RecordKey::from_bytes(IdForm::Hex24, &bytes).unwrap();
            assert!(StoreTable::by_key(other).is_none());
        }
    }
}
