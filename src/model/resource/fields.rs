//! Shorthand for the field lists of resources.

/// Declares one field: path, type, getter.
macro_rules! field {
    ($path:literal, $ty:expr, $get:expr) => {
        $crate::model::Field { decl: $crate::value::FieldDecl::new($path, $ty), get: $get }
    };
    ($path:literal, $ty:expr, $ops:expr, $get:expr) => {
        $crate::model::Field { decl: $crate::value::FieldDecl::new($path, $ty).ops($ops), get: $get }
    };
}
pub(crate) use field;

/// Declares one index on plain fields that need not be unique; fields after `include` stand beside its entries.
macro_rules! index {
    ($number:literal, $($path:literal),+) => {
        $crate::model::resource::fields::index!($number, $($path),+; include)
    };
    ($number:literal, $($path:literal),+; include $($beside:literal),*) => {
        $crate::model::Index {
            number: $number,
since: 1,
            fields: &[$($path),+],
            unique: false,
            include: &[$($beside),*],
            on: None,
        }
    };
}
pub(crate) use index;

/// Appends a text to what full-text search reads.
pub(crate) fn add_text(out: &mut String, text: Option<&String>) {
    if let Some(text) = text {
        out.push_str(text);
        out.push('\n');
    }
}
