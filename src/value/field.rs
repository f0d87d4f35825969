//! How a resource declares a field: its name on the wire, its type, what may be asked of it.

/// What may be asked of a field in a filter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ops {
    /// Every operator that its type has.
    All,
    /// `=` and `!=` (and membership, which is made of them).
    Equality,
    /// Not in filters at all: the field is there for order, projection or text search.
    None,
}

/// The type of a field in filters.
#[derive(Clone, Copy, Debug)]
pub enum FieldType {
    /// Boolean.
    Bool,
    /// Text.
    String,
    /// An id that is a decimal number written as text: text that is no number is a bad value.
    DecimalId,
    /// Text that holds the id of another record: an integer beside it means its decimal text.
    Reference,
    /// 64-bit integer.
    Int,
    /// Double.
    Double,
    /// Date and time.
    Time,
    /// Reference time minus the time that the getter returns.
    Within,
    /// One of these canonical texts; compared without letter case, `_`, `-` and spaces.
    /// Each entry is the canonical text and the further spellings that stand for it.
    Enum(&'static [(&'static str, &'static [&'static str])]),
    /// List of strings.
    Strings,
    /// Map from string to string.
    Map,
    /// List of records with these fields.
    Rows(&'static [FieldDecl]),
    /// An object whose members are fields of their own: filters ask whether it is null. Its getter
    /// returns any value that is not null for an object that is there.
    Object,
}

/// The part of a field's declaration that filters, orders and projections need.
#[derive(Clone, Copy, Debug)]
pub struct FieldDecl {
    /// Wire name, dotted where nested: `timeline.dueDateTime`.
    pub path: &'static str,
    /// Further names that filters accept.
    pub aliases: &'static [&'static str],
    /// Its type.
    pub ty: FieldType,
    /// What may be asked of it.
    pub ops: Ops,
}

impl FieldDecl {
    /// A field on which every operator of its type may be used.
    #[must_use]
    pub const fn new(path: &'static str, ty: FieldType) -> Self {
        Self { path, aliases: &[], ty, ops: Ops::All }
    }

    /// Adds names that filters accept.
    #[must_use]
    pub const fn alias(mut self, aliases: &'static [&'static str]) -> Self {
        self.aliases = aliases;
        self
    }

    /// Restricts what may be asked.
    #[must_use]
    pub const fn ops(mut self, ops: Ops) -> Self {
        self.ops = ops;
        self
    }
}

/// What fields that are computed at read time depend on.
#[derive(Clone, Copy, Debug)]
pub struct Env {
    /// The store's clock, in milliseconds since 1970 UTC.
    pub now_ms: i64,
    /// How long before its due date a calibration counts as approaching, in days.
    pub calibration_warning_days: u32,
}
