//! What a filter may name, and the text searches that its caller must run.

use crate::value::{FieldDecl, FieldType};

/// Fields whose names are known at run time only: the columns of a table.
pub(crate) trait Columns: std::fmt::Debug {
    /// Position and type of the column with this name.
    fn find(&self, name: &str) -> Option<(usize, FieldType)>;

    /// Counts in one second of a column of integers that counts the time since 1970 UTC; `None` for
    /// any other column.
    fn per_second(&self, _column: usize) -> Option<i64> {
        None
    }

    /// All names, for the message about an unknown one.
    fn names(&self) -> Vec<&str>;
}

/// The fields and constructs that the filters of a resource may use.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Schema<'s> {
    /// The fields; rows return values by position in this list.
    pub fields: &'s [FieldDecl],
    /// The columns, for filters of rows. They replace the fields.
    pub columns: Option<&'s dyn Columns>,
    /// Alternative names of fields, known at run time: name and path.
    pub renames: &'s [(String, &'static str)],
    /// Fields that may be used only together with another: path and path of the other.
    pub requires: &'s [(&'static str, &'static str)],
    /// Whether `@n` is accepted.
    pub accept_substitutions: bool,
    /// Whether lists are compared with `["a", "b"]` and maps with `["key": "value"]`.
    pub accept_brackets: bool,
    /// Whether `search("...")` is a condition.
    pub search: bool,
}

/// A `search("...")` condition of a filter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TextSearch {
    /// The text query.
    pub text: String,
    /// Offset of its literal in the filter, in characters.
    pub offset: usize,
}
