//! The syntax tree, which the parser builds and the printer writes: names and operators without
//! types.

use super::fault::Span;

/// A node and its position.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Ast {
    pub node: Node,
    /// The token that names the node: operator, name or literal.
    pub span: Span,
    /// Where the expression begins.
    pub start: Span,
    /// Levels of nodes below; bounded, so that every walk may recurse.
    pub depth: usize,
}

/// What an expression is.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Node {
    Null,
    Bool(bool),
    Int(i64),
    Real(f64),
    Text(String),
    Substitution(Option<usize>),
    /// The current element; outside collection methods the record.
    It,
    /// The element or record that encloses the current one.
    Parent,
    /// The record.
    Root,
    Name(String),
    Member(Box<Ast>, String),
    Method(Box<Ast>, String, Vec<Arg>),
    Call(String, Vec<Arg>),
    Index(Box<Ast>, Box<Ast>),
    /// `new[]{..}`.
    Array(Vec<Ast>),
    /// `["a", "b"]` or `["k":"v"]`, in asset filters.
    Brackets(Vec<(Ast, Option<Ast>)>),
    Not(Box<Ast>),
    Negate(Box<Ast>),
    /// Sums or products: the first operand, then operators with theirs.
    Chain(Box<Ast>, Vec<(Arithmetic, Ast)>),
    Compare(Comparison, Box<Ast>, Box<Ast>),
    /// `&` or `|`.
    Bits(Junction, Vec<Ast>),
    /// `and` or `or`; flat, whatever the number of terms.
    Junction(Junction, Vec<Ast>),
    In {
        value: Box<Ast>,
        negated: bool,
        items: Items,
    },
    Coalesce(Box<Ast>, Box<Ast>),
    Conditional(Box<Ast>, Box<Ast>, Box<Ast>),
}

/// An argument; it has a parameter name when written `x => ...`.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Arg {
    pub parameter: Option<String>,
    pub body: Ast,
}

/// The right side of `in`.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Items {
    List(Vec<Ast>),
    Of(Box<Ast>),
}

/// And, or.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Junction {
    And,
    Or,
}

/// A comparison operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Comparison {
    /// Equal.
    Eq,
    /// Not equal.
    Ne,
    /// Less.
    Lt,
    /// Less or equal.
    Le,
    /// Greater.
    Gt,
    /// Greater or equal.
    Ge,
}

impl Comparison {
    /// The operator that means the same with swapped operands.
    pub(super) fn mirrored(self) -> Self {
        match self {
            Self::Lt => Self::Gt,
            Self::Le => Self::Ge,
            Self::Gt => Self::Lt,
            Self::Ge => Self::Le,
            same => same,
        }
    }

    /// Whether it needs an order, and not only equality.
    pub(super) fn is_ordering(self) -> bool {
        !matches!(self, Self::Eq | Self::Ne)
    }

    pub(super) fn sign(self) -> &'static str {
        match self {
            Self::Eq => "=",
            Self::Ne => "!=",
            Self::Lt => "<",
            Self::Le => "<=",
            Self::Gt => ">",
            Self::Ge => ">=",
        }
    }
}

/// An operator of sums and products.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Arithmetic {
    Add,
    Subtract,
    Multiply,
    Divide,
    Remainder,
}

impl Arithmetic {
    pub(super) fn is_sum(self) -> bool {
        matches!(self, Self::Add | Self::Subtract)
    }

    pub(super) fn sign(self) -> &'static str {
        match self {
            Self::Add => "+",
            Self::Subtract => "-",
            Self::Multiply => "*",
            Self::Divide => "/",
            Self::Remainder => "%",
        }
    }
}
