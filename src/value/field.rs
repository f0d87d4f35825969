//! How a resource declares a field: its name on the wire, its type, and the operators that filters
//! may use on it.

/// The operators that a filter may use on a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ops {
    /// Every operator of the field's type.
    All,
    /// `=` and `!=`, and membership, which is equality with one of several values.
    Equality,
    /// None: the field is declared for order, projection or text search only.
    None,
}

/// The type of a field in filters.
#[derive(Clone, Copy, Debug)]
pub(crate) enum FieldType {
    /// Boolean.
    Bool,
    /// Text.
    String,
    /// An id that is a decimal number written as text. Text that is not a number is a bad value.
    DecimalId,
    /// The id of another record as text. An integer compared with it stands for its decimal text.
    Reference,
    /// 64-bit integer.
    Int,
    /// Double.
    Double,
    /// Date and time.
    Time,
    /// Reference time minus the time that the getter returns.
    Within,
    /// The registered name of the workspace whose id the getter returns; the id if none is
    /// registered.
    WorkspaceName,
    /// The name of the product whose part number the getter returns; null if the caller sees no
    /// such product.
    ProductName,
    /// One of these canonical texts, compared ignoring letter case, `_`, `-` and spaces. Each entry
    /// is a canonical text and its alternative spellings.
    Enum(&'static [(&'static str, &'static [&'static str])]),
    /// List of strings.
    Strings,
    /// Map from string to string.
    Map,
    /// List of maps from string to string.
    Maps,
    /// Any JSON value. Filters compare it with values of its own JSON type; an object or an array
    /// only with null.
    Json,
    /// List of records with these fields.
    Rows(&'static [FieldDecl]),
    /// An object whose members are declared as fields of their own; filters can only compare it
    /// with null. For an object that is present, its getter returns any value other than null.
    Object,
}

/// The part of a field's declaration that filters, orders and projections need.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FieldDecl {
    /// Wire name, dotted where nested: `timeline.dueDateTime`.
    pub path: &'static str,
    /// Alternative names that filters accept.
    pub aliases: &'static [&'static str],
    /// Its type.
    pub ty: FieldType,
    /// The operators that filters may use on it.
    pub ops: Ops,
}

impl FieldDecl {
    /// A field on which filters may use every operator of its type.
    #[must_use]
    pub(crate) const fn new(path: &'static str, ty: FieldType) -> Self {
        Self { path, aliases: &[], ty, ops: Ops::All }
    }

    /// Adds alternative names that filters accept.
    #[must_use]
    pub(crate) const fn alias(mut self, aliases: &'static [&'static str]) -> Self {
        self.aliases = aliases;
        self
    }

    /// Restricts the operators.
    #[must_use]
    pub(crate) const fn ops(mut self, ops: Ops) -> Self {
        self.ops = ops;
        self
    }
}

/// Inputs of fields that are computed when a record is read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Env {
    /// The current time of the store's clock, in milliseconds since 1970 UTC.
    pub now_ms: i64,
    /// How long before its due date a calibration counts as approaching, in days.
    pub calibration_warning_days: u32,
}
