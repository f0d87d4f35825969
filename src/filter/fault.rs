//! The faults of a filter: their kinds, their positions, and the errors made from them.

use crate::error::{Error, Place};

pub(super) use crate::value::nearest::did_you_mean;

/// The kinds of fault of a filter; each is an invalid-argument error with its own name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FaultKind {
    Syntax,
    BadCharacter,
    UnterminatedString,
    BadEscape,
    BadNumber,
    MissingBracket,
    UnknownProperty,
    UnknownFunction,
    WrongArguments,
    TypeMismatch,
    BadValue,
    OperatorNotAllowed,
    BadSubstitution,
    TooComplex,
    MissingCondition,
}

impl FaultKind {
    /// The name on the wire and the kind as `docs/reference/filters.md` spells it.
    fn names(self) -> (&'static str, &'static str) {
        match self {
            Self::Syntax => ("StationDb.Filter.Syntax", "syntax"),
            Self::BadCharacter => ("StationDb.Filter.BadCharacter", "bad_character"),
            Self::UnterminatedString => {
                ("StationDb.Filter.UnterminatedString", "unterminated_string")
            }
            Self::BadEscape => ("StationDb.Filter.BadEscape", "bad_escape"),
            Self::BadNumber => ("StationDb.Filter.BadNumber", "bad_number"),
            Self::MissingBracket => ("StationDb.Filter.MissingBracket", "missing_bracket"),
            Self::UnknownProperty => ("StationDb.Filter.UnknownProperty", "unknown_property"),
            Self::UnknownFunction => ("StationDb.Filter.UnknownFunction", "unknown_function"),
            Self::WrongArguments => ("StationDb.Filter.WrongArguments", "wrong_arguments"),
            Self::TypeMismatch => ("StationDb.Filter.TypeMismatch", "type_mismatch"),
            Self::BadValue => ("StationDb.Filter.BadValue", "bad_value"),
            Self::OperatorNotAllowed => {
                ("StationDb.Filter.OperatorNotAllowed", "operator_not_allowed")
            }
            Self::BadSubstitution => ("StationDb.Filter.BadSubstitution", "bad_substitution"),
            Self::TooComplex => ("StationDb.Filter.TooComplex", "too_complex"),
            Self::MissingCondition => ("StationDb.Filter.MissingCondition", "missing_condition"),
        }
    }
}

/// A range of bytes in the filter text.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Span {
    pub from: usize,
    pub to: usize,
}

impl Span {
    pub(super) fn new(from: usize, to: usize) -> Self {
        Self { from, to }
    }

    pub(super) fn text(self, source: &str) -> &str {
        source.get(self.from..self.to).unwrap_or_default()
    }
}

/// Spans always compare equal, so two trees are equal when they mean the same, wherever they were
/// read.
impl PartialEq for Span {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

/// One fault; boxed, so that the results of the recursive functions stay small on the stack.
#[derive(Debug)]
pub(super) struct Fault(Box<Inner>);

#[derive(Debug)]
struct Inner {
    kind: FaultKind,
    span: Span,
    message: String,
}

pub(super) type FaultResult<T> = std::result::Result<T, Fault>;

impl Fault {
    pub(super) fn new(kind: FaultKind, span: Span, message: impl Into<String>) -> Self {
        Self(Box::new(Inner { kind, span, message: message.into() }))
    }

    pub(super) fn limit(span: Span, what: &str, limit: usize) -> Self {
        Self::new(FaultKind::TooComplex, span, format!("the filter has more than {limit} {what}"))
    }

    /// The public error; byte offsets become counts of Unicode scalar values.
    pub(super) fn into_error(self, source: &str) -> Error {
        const SHOWN: usize = 80;
        let Inner { kind, span, message } = *self.0;
        let offset = source.get(..span.from).unwrap_or(source).chars().count();
        let offending: String = span.text(source).chars().take(SHOWN).collect();
        let (name, word) = kind.names();
        Error::invalid(format!("filter: {message}"))
            .with_name(name, None)
            .with_args([word.to_owned(), offending])
            .at(Place::Offset(offset))
    }
}
