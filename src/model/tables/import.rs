//! Requests to import rows of files into tables. They are native to this crate and have no wire
//! form.

use crate::model::tables::table::{CreateTableRequest, TableId};
use crate::value::wire::record;

record! {
    /// The target of an import, and how its source is read.
    wire pub struct ImportTableRequest new() {
        /// Table to append to; a new one is created when absent.
        pub id: Option<String>,
        /// The new table. Its columns are inferred if it has none or is absent.
        pub table: Option<CreateTableRequest>,
        /// Name of the index column, if columns are inferred.
        pub index_column: Option<String>,
        /// The separator of CSV values; a comma when absent.
        pub separator: Option<String>,
        /// Whether no further appends will be accepted.
        pub end_of_data: Option<bool>,
    }

    /// The result of an import.
    wire pub struct ImportTableResponse {
        /// Id of the table.
        pub id: Option<TableId>,
        /// Rows imported.
        pub row_count: i64,
    }
}
