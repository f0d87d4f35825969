//! The types of expressions, and expressions with their types.

use super::constant::{Constant, Members};
use super::syntax::Ast;
use super::tree::{List, Scalar, Test};
use crate::value::FieldDecl;

/// The type of a scalar.
#[derive(Clone, Copy, Debug)]
pub(super) enum Type {
    Bool,
    Text,
    /// A decimal number written as text.
    Id,
    /// The id of a record as text.
    Reference,
    Int,
    Double,
    Time,
    Span,
    Enum(Members),
    /// Any JSON value; its own JSON type is known only when a record is read.
    Json,
    /// Can only be compared with null.
    Object,
}

impl Type {
    pub(super) fn is_number(self) -> bool {
        matches!(self, Self::Int | Self::Double)
    }

    pub(super) fn is_text(self) -> bool {
        matches!(self, Self::Text | Self::Id | Self::Reference)
    }

    /// Whether its values are texts, or some of them may be.
    pub(super) fn may_be_text(self) -> bool {
        self.is_text() || matches!(self, Self::Json)
    }

    /// Whether an integer literal that is compared with it stands for its decimal text.
    pub(super) fn is_id(self) -> bool {
        matches!(self, Self::Id | Self::Reference)
    }

    /// Whether two values that are not literals can be compared.
    pub(super) fn fits(self, other: Self) -> bool {
        match (self, other) {
            (Self::Enum(left), Self::Enum(right)) => std::ptr::eq(left, right),
            (Self::Json, other) | (other, Self::Json) => !matches!(other, Self::Object),
            (Self::Bool, Self::Bool) | (Self::Time, Self::Time) | (Self::Span, Self::Span) => true,
            _ => (self.is_number() && other.is_number()) || (self.is_text() && other.is_text()),
        }
    }
}

impl std::fmt::Display for Type {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Bool => "a Boolean",
            Self::Text => "text",
            Self::Id | Self::Reference => "an id",
            Self::Int => "an integer",
            Self::Double => "a number",
            Self::Time => "a date and time",
            Self::Span => "a time span",
            Self::Enum(_) => "an enumeration",
            Self::Json => "a JSON value",
            Self::Object => "an object",
        })
    }
}

/// The type of the elements of a list.
#[derive(Clone, Copy, Debug)]
pub(super) enum Of {
    Scalar(Type),
    /// A pair of a map.
    Pair,
    /// A map, whose keys are the names in it.
    Map,
    Rows(&'static [FieldDecl]),
}

/// A scalar with the properties that the type rules need.
#[derive(Clone, Debug)]
pub(super) struct Value {
    pub scalar: Scalar,
    pub ty: Type,
    /// A literal or substitution; its text converts to the type of the other side.
    pub literal: bool,
    pub equality_only: bool,
}

impl Value {
    pub(super) fn new(scalar: Scalar, ty: Type) -> Self {
        Self { scalar, ty, literal: false, equality_only: false }
    }

    pub(super) fn literal(constant: Constant, ty: Type) -> Self {
        Self { scalar: Scalar::Const(constant), ty, literal: true, equality_only: false }
    }
}

/// An expression with its type.
#[derive(Clone, Debug)]
pub(super) enum TypedExpression<'c> {
    Null,
    Test(Test),
    Scalar(Value),
    /// A path through a list of records: one value for each record.
    Many {
        list: List,
        scope: u32,
        body: Value,
    },
    List(List, Of),
    /// The record, an element that is a record or a map, or a pair.
    Scope(usize),
    /// One element of a list of records or maps.
    Item {
        list: List,
        index: Scalar,
        of: Of,
    },
    Brackets(&'c [(Ast, Option<Ast>)]),
}

impl TypedExpression<'_> {
    /// A computed value.
    pub(super) fn value(scalar: Scalar, ty: Type) -> Self {
        Self::Scalar(Value::new(scalar, ty))
    }

    /// A literal or substitution.
    pub(super) fn literal(constant: Constant, ty: Type) -> Self {
        Self::Scalar(Value::literal(constant, ty))
    }

    /// A test as a Boolean value; others as they are.
    pub(super) fn tested(self) -> Self {
        match self {
            Self::Test(test) => Self::value(Scalar::Test(Box::new(test)), Type::Bool),
            other => other,
        }
    }
}
