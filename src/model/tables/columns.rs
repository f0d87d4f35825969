//! Requests that add, rename and drop columns. They are native to this crate and have no wire form.

use crate::model::tables::data::Column;
use crate::value::wire::record;

record! {
    /// Columns to add to a table.
    wire pub struct AddColumnsRequest new(columns: Vec<Column>) requires(columns) {
        /// The new columns, after those that the table has; each is NULLABLE.
        pub columns: Vec<Column>,
        /// The new revision of the metadata: the current one plus 1; not checked when absent.
        pub metadata_revision: Option<i64>,
    }

    /// A new name of a column.
    wire pub struct ColumnRename new(name: String, new_name: String) requires(name, new_name) {
        /// Name of an existing column.
        pub name: String,
        /// Its name from now on.
        pub new_name: String,
    }

    /// Columns of a table to rename, all at once, so that two can exchange their names.
    wire pub struct RenameColumnsRequest new(columns: Vec<ColumnRename>) requires(columns) {
        /// The renamed columns, each listed once.
        pub columns: Vec<ColumnRename>,
        /// The new revision of the metadata: the current one plus 1; not checked when absent.
        pub metadata_revision: Option<i64>,
    }

    /// Columns of a table to drop.
    wire pub struct DropColumnsRequest new(columns: Vec<String>) requires(columns) {
        /// Names of the columns, each listed once; not the index.
        pub columns: Vec<String>,
        /// The new revision of the metadata: the current one plus 1; not checked when absent.
        pub metadata_revision: Option<i64>,
    }
}
