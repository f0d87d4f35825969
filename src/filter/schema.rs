//! What a filter may name, and what it asks of others.

use crate::value::FieldDecl;

/// What the filters of a resource may name and use.
#[derive(Clone, Copy, Debug, Default)]
pub struct Schema<'s> {
    /// The fields; rows hand out values by position in this list.
    pub fields: &'s [FieldDecl],
    /// Further names of fields, decided at run time: name and path.
    pub renames: &'s [(String, &'static str)],
    /// Fields that may be used only in filters that also use another: path and path of the other.
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
pub struct TextSearch {
    /// The text query.
    pub text: String,
    /// Where its literal stands in the filter, in characters.
    pub offset: usize,
}
