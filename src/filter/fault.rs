//! The faults of a filter: their kinds, their positions, and the errors made from them.

use crate::error::{Error, Place};

pub(super) use crate::value::nearest::did_you_mean;

macro_rules! fault_kinds {
    ($($kind:ident $word:literal)*) => {
        /// The kinds of fault of a filter; each is an invalid-argument error with its own name.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(super) enum FaultKind {
            $($kind,)*
        }

        impl FaultKind {
            /// The name on the wire and the kind as `docs/reference/filters.md` spells it.
            fn names(self) -> (&'static str, &'static str) {
                match self {
                    $(Self::$kind => (concat!("StationDb.Filter.", stringify!($kind)), $word),)*
                }
            }
        }
    };
}

fault_kinds! {
    Syntax "syntax"
    BadCharacter "bad_character"
    UnterminatedString "unterminated_string"
    BadEscape "bad_escape"
    BadNumber "bad_number"
    MissingBracket "missing_bracket"
    UnknownProperty "unknown_property"
    UnknownFunction "unknown_function"
    WrongArguments "wrong_arguments"
    TypeMismatch "type_mismatch"
    BadValue "bad_value"
    OperatorNotAllowed "operator_not_allowed"
    BadSubstitution "bad_substitution"
    TooComplex "too_complex"
    MissingCondition "missing_condition"
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
