//! The requests that bring rows of files into tables; native, without a form on the wire.

use crate::model::tables::table::{CreateTableRequest, TableId};
use crate::value::wire::record;

record! {
    /// Where imported rows go, and how they are read.
    wire pub struct ImportTableRequest new() {
        /// Table to append to; a new one is created when absent.
        pub id: Option<String>,
        /// The new table. Without columns, or when absent, they are inferred.
        pub table: Option<CreateTableRequest>,
        /// Name of the index column, where columns are inferred.
        pub index_column: Option<String>,
        /// The character between the values of CSV; a comma when absent.
        pub separator: Option<String>,
        /// Whether no further appends will be accepted.
        pub end_of_data: Option<bool>,
    }

    /// What was imported.
    wire pub struct ImportTableResponse {
        /// Id of the table.
        pub id: Option<TableId>,
        /// Rows imported.
        pub row_count: i64,
    }
}
