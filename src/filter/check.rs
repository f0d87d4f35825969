//! Tree to typed tree: every rule about which types go together, checked before any record is read.

use std::collections::BTreeMap;

use memchr::memmem::Finder;

use super::constant::{Constant, Members, Times, enum_member, order, parse_bool, parse_number, parse_span, parse_time};
use super::eval::{Element, Scopes, compare as compare_values};
use super::fault::{Checked, Fault, FaultKind, Span};
use super::syntax::{Arg, Arithmetic, Ast, Comparison, Items, Junction, Node};
use super::tree::{How, List, Place, RECORD, Scalar, Set, Test};
use super::{Schema, TextSearch};
use crate::value::{FieldDecl, Val};

/// The type of a scalar.
#[derive(Clone, Copy, Debug)]
pub(super) enum Type {
    Bool,
    Text,
    /// A decimal number written as text.
    Id,
    Int,
    Double,
    Time,
    Span,
    Enum(Members),
}

impl Type {
    pub(super) fn is_number(self) -> bool {
        matches!(self, Self::Int | Self::Double)
    }

    pub(super) fn is_text(self) -> bool {
        matches!(self, Self::Text | Self::Id)
    }

    /// Whether two values that are no literals may be compared.
    fn fits(self, other: Self) -> bool {
        match (self, other) {
            (Self::Enum(left), Self::Enum(right)) => std::ptr::eq(left, right),
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
            Self::Id => "an id",
            Self::Int => "an integer",
            Self::Double => "a number",
            Self::Time => "a date and time",
            Self::Span => "a time span",
            Self::Enum(_) => "an enumeration",
        })
    }
}

/// What the elements of a list are.
#[derive(Clone, Copy, Debug)]
pub(super) enum Of {
    Scalar(Type),
    Pair,
    Rows(&'static [FieldDecl]),
}

/// A scalar with what the rules need to know of it.
#[derive(Clone, Debug)]
pub(super) struct Value {
    pub scalar: Scalar,
    pub ty: Type,
    /// A literal or substitution, whose text converts to the type that it meets.
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
pub(super) enum Typed<'c> {
    Null,
    Test(Test),
    Scalar(Value),
    /// A path that runs through a list of records: a value for each.
    Many {
        list: List,
        scope: u32,
        body: Value,
    },
    List(List, Of),
    /// The record, an element that is a record, or a pair.
    Scope(usize),
    /// One element of a list of records.
    Item {
        list: List,
        index: Scalar,
        fields: &'static [FieldDecl],
    },
    Brackets(&'c [(Ast, Option<Ast>)]),
}

/// What a name may refer to, from the record inwards.
#[derive(Debug)]
pub(super) struct Scope<'c> {
    pub number: u32,
    pub of: Option<Of>,
    pub parameter: Option<&'c str>,
}

/// Types one filter.
pub(super) struct Checker<'c> {
    pub source: &'c str,
    pub schema: &'c Schema<'c>,
    pub values: &'c [serde_json::Value],
    pub times: &'c Times,
    pub scopes: Vec<Scope<'c>>,
    pub next_scope: u32,
    /// Substitutions that occur.
    pub substitutions: BTreeMap<usize, Constant>,
    /// Fields of the record that occur, and where first.
    pub fields: BTreeMap<usize, Span>,
    pub searches: Vec<TextSearch>,
}

/// The span of a whole expression, for faults that are about all of it.
fn whole(ast: &Ast) -> Span {
    Span::new(ast.start.from, ast.span.to.max(ast.start.to))
}

impl<'c> Checker<'c> {
    pub(super) fn new(
        source: &'c str,
        schema: &'c Schema<'c>,
        values: &'c [serde_json::Value],
        times: &'c Times,
    ) -> Self {
        Self {
            source,
            schema,
            values,
            times,
            scopes: vec![Scope { number: RECORD, of: None, parameter: None }],
            next_scope: RECORD + 1,
            substitutions: BTreeMap::new(),
            fields: BTreeMap::new(),
            searches: Vec::new(),
        }
    }

    /// A scope number that no other scope of the filter has.
    pub(super) fn new_scope(&mut self) -> u32 {
        let number = self.next_scope;
        self.next_scope += 1;
        number
    }

    /// A condition; anything that is not Boolean is a type mismatch.
    pub(super) fn test(&mut self, ast: &'c Ast) -> Checked<Test> {
        let typed = self.typed(ast)?;
        self.condition_of(typed, whole(ast))
    }

    fn condition_of(&self, typed: Typed<'c>, span: Span) -> Checked<Test> {
        match typed {
            Typed::Test(test) => Ok(test),
            Typed::Scalar(Value { scalar: Scalar::Const(Constant::Bool(value)), .. }) => Ok(Test::Const(value)),
            Typed::Scalar(Value { scalar: Scalar::Test(test), .. }) => Ok(*test),
            Typed::Scalar(Value { scalar, ty: Type::Bool, .. }) => Ok(Test::Truth(scalar)),
            Typed::Many { list, scope, body: Value { scalar, ty: Type::Bool, .. } } => {
                Ok(Test::Exists { list, scope, test: Box::new(Test::Truth(scalar)) })
            }
            other => {
                let message = format!("expected a condition, found {}", self.describe(&other));
                Err(Fault::new(FaultKind::TypeMismatch, span, message))
            }
        }
    }

    pub(super) fn describe(&self, typed: &Typed<'c>) -> String {
        match typed {
            Typed::Null => "null".to_owned(),
            Typed::Test(_) => "a Boolean".to_owned(),
            Typed::Scalar(value) | Typed::Many { body: value, .. } => value.ty.to_string(),
            Typed::List(_, Of::Pair) => "a map".to_owned(),
            Typed::List(..) => "a list".to_owned(),
            Typed::Scope(_) | Typed::Item { .. } => "a record".to_owned(),
            Typed::Brackets(_) => "a bracket list".to_owned(),
        }
    }

    pub(super) fn typed(&mut self, ast: &'c Ast) -> Checked<Typed<'c>> {
        match &ast.node {
            Node::Null => Ok(Typed::Null),
            Node::Bool(value) => Ok(Typed::Scalar(Value::literal(Constant::Bool(*value), Type::Bool))),
            Node::Int(value) => Ok(Typed::Scalar(Value::literal(Constant::Int(*value), Type::Int))),
            Node::Real(value) => Ok(Typed::Scalar(Value::literal(Constant::Double(*value), Type::Double))),
            Node::Text(text) => Ok(Typed::Scalar(Value::literal(Constant::text(text.as_str()), Type::Text))),
            Node::Substitution(number) => self.substitution(*number, ast.span),
            Node::It | Node::Parent | Node::Root | Node::Name(_) | Node::Member(..) => self.path(ast),
            Node::Method(left, name, args) => self.method(ast, left, name, args),
            Node::Call(name, args) => self.call(ast, name, args),
            Node::Index(left, index) => self.index(ast, left, index),
            Node::Array(elements) => self.array(elements),
            Node::Brackets(items) => Ok(Typed::Brackets(items)),
            Node::Not(operand) => self.not(ast, operand),
            Node::Negate(operand) => self.negate(ast, operand),
            Node::Chain(first, rest) => self.chain(ast, first, rest),
            Node::Compare(comparison, left, right) => self.comparison(*comparison, left, right, ast.span),
            Node::Bits(kind, terms) | Node::Junction(kind, terms) => self.junction(*kind, terms),
            Node::In { value, negated, items } => self.membership_node(ast, value, *negated, items),
            Node::Coalesce(first, second) => self.coalesce(first, second, ast.span),
            Node::Conditional(condition, yes, no) => self.conditional(condition, yes, no, ast.span),
        }
    }

    fn substitution(&mut self, number: Option<usize>, span: Span) -> Checked<Typed<'c>> {
        let fault = |message: String| Err(Fault::new(FaultKind::BadSubstitution, span, message));
        if !self.schema.accept_substitutions {
            return fault("this filter takes no substitutions".to_owned());
        }
        let Some((number, value)) = number.and_then(|number| Some((number, self.values.get(number)?))) else {
            let count = self.values.len();
            return fault(format!("there is no such substitution; the request has {count}"));
        };
        let (constant, ty) = match value {
            serde_json::Value::Null => (Constant::Null, Type::Text),
            serde_json::Value::Bool(value) => (Constant::Bool(*value), Type::Bool),
            serde_json::Value::String(text) => (Constant::text(text.as_str()), Type::Text),
            serde_json::Value::Number(value) => match (value.as_i64(), value.as_f64()) {
                (Some(value), _) => (Constant::Int(value), Type::Int),
                (None, Some(value)) if value.is_finite() => (Constant::Double(value), Type::Double),
                _ => return fault(format!("{value} is no number that 64 bits hold")),
            },
            serde_json::Value::Array(_) => return fault("a substitution must not be a list".to_owned()),
            serde_json::Value::Object(_) => return fault("a substitution must not be an object".to_owned()),
        };
        self.substitutions.entry(number).or_insert_with(|| constant.clone());
        Ok(if constant == Constant::Null { Typed::Null } else { Typed::Scalar(Value::literal(constant, ty)) })
    }

    fn junction(&mut self, kind: Junction, terms: &'c [Ast]) -> Checked<Typed<'c>> {
        let mut tests = Vec::with_capacity(terms.len());
        for term in terms {
            tests.push(self.test(term)?);
        }
        Ok(Typed::Test(match kind {
            Junction::And => all(tests),
            Junction::Or => any(tests),
        }))
    }

    fn not(&mut self, ast: &'c Ast, operand: &'c Ast) -> Checked<Typed<'c>> {
        let typed = self.typed(operand)?;
        Ok(Typed::Test(not(self.condition_of(typed, ast.span)?)))
    }

    fn negate(&mut self, ast: &'c Ast, operand: &'c Ast) -> Checked<Typed<'c>> {
        match self.typed(operand)? {
            Typed::Scalar(value) if value.ty.is_number() || matches!(value.ty, Type::Span) => {
                let negated = Value { scalar: Scalar::Negate(Box::new(value.scalar)), ..value };
                Ok(Typed::Scalar(folded(negated)))
            }
            other => {
                let message = format!("`-` needs a number, found {}", self.describe(&other));
                Err(Fault::new(FaultKind::TypeMismatch, ast.span, message))
            }
        }
    }

    fn chain(&mut self, ast: &'c Ast, first: &'c Ast, rest: &'c [(Arithmetic, Ast)]) -> Checked<Typed<'c>> {
        let mut left = self.scalar(first, ast.span)?;
        let mut operands = Vec::with_capacity(rest.len());
        let mut ty = left.ty;
        for (operator, operand) in rest {
            let mut right = self.scalar(operand, ast.span)?;
            // Text beside a time is a time span, or a time to subtract.
            if right.literal && right.ty.is_text() && matches!(ty, Type::Time | Type::Span) {
                if let Scalar::Const(Constant::Text(text)) = &right.scalar {
                    right = match (parse_span(text), parse_time(text)) {
                        (Some(span), _) => Value::literal(Constant::Span(span), Type::Span),
                        (None, Some(time)) => Value::literal(Constant::Time(time), Type::Time),
                        (None, None) => return Err(self.bad_value(operand, text, "a time span")),
                    };
                }
            }
            ty = match (ty, operator, right.ty) {
                (Type::Int, _, Type::Int) => Type::Int,
                (left, _, right) if left.is_number() && right.is_number() => Type::Double,
                (Type::Time, Arithmetic::Subtract, Type::Time)
                | (Type::Span, Arithmetic::Add | Arithmetic::Subtract, Type::Span) => Type::Span,
                (Type::Time, Arithmetic::Add | Arithmetic::Subtract, Type::Span)
                | (Type::Span, Arithmetic::Add, Type::Time) => Type::Time,
                (left, Arithmetic::Add, right) if left.is_text() && right.is_text() => Type::Text,
                (left, operator, right) => {
                    let message = format!("`{}` does not take {left} and {right}", operator.sign());
                    return Err(Fault::new(FaultKind::TypeMismatch, ast.span, message));
                }
            };
            left.literal &= right.literal;
            operands.push((*operator, right.scalar));
        }
        let scalar = if ty.is_text() {
            let parts = std::iter::once(left.scalar).chain(operands.into_iter().map(|(_, part)| part));
            Scalar::Concat(parts.collect())
        } else {
            Scalar::Chain(Box::new(left.scalar), operands)
        };
        Ok(Typed::Scalar(folded(Value { scalar, ty, literal: left.literal, equality_only: false })))
    }

    /// An expression that must be one scalar.
    pub(super) fn scalar(&mut self, ast: &'c Ast, span: Span) -> Checked<Value> {
        match self.typed(ast)? {
            Typed::Scalar(value) => Ok(value),
            Typed::Test(test) => Ok(Value::new(Scalar::Test(Box::new(test)), Type::Bool)),
            other => {
                let message = format!("expected a value, found {}", self.describe(&other));
                Err(Fault::new(FaultKind::TypeMismatch, span, message))
            }
        }
    }

    fn comparison(&mut self, comparison: Comparison, left: &'c Ast, right: &'c Ast, span: Span) -> Checked<Typed<'c>> {
        let left_typed = self.typed(left)?;
        let right_typed = self.typed(right)?;
        self.compare(comparison, (left_typed, left), (right_typed, right), span).map(Typed::Test)
    }

    pub(super) fn compare(
        &mut self,
        comparison: Comparison,
        (left, left_ast): (Typed<'c>, &'c Ast),
        (right, right_ast): (Typed<'c>, &'c Ast),
        span: Span,
    ) -> Checked<Test> {
        let value = |typed: Typed<'c>| match typed {
            Typed::Test(test) => Typed::Scalar(Value::new(Scalar::Test(Box::new(test)), Type::Bool)),
            other => other,
        };
        match (value(left), value(right)) {
            (Typed::Null, Typed::Null) => Ok(Test::Const(comparison == Comparison::Eq)),
            (Typed::Null, other) => self.compare_null(comparison.mirrored(), other, span),
            (other, Typed::Null) => self.compare_null(comparison, other, span),
            (Typed::List(list, of), Typed::Brackets(items)) | (Typed::Brackets(items), Typed::List(list, of)) => {
                self.compare_brackets(comparison, list, of, items, span)
            }
            (Typed::Many { .. }, Typed::Many { .. }) => {
                Err(Fault::new(FaultKind::TypeMismatch, span, "two paths through lists cannot be compared"))
            }
            (Typed::Many { list, scope, body }, other) => {
                let body = (Typed::Scalar(body), left_ast);
                self.compare_many(comparison, list, scope, body, (other, right_ast), span)
            }
            (other, Typed::Many { list, scope, body }) => {
                let body = (Typed::Scalar(body), right_ast);
                self.compare_many(comparison.mirrored(), list, scope, body, (other, left_ast), span)
            }
            (Typed::Scalar(left), Typed::Scalar(right)) => {
                self.compare_scalars(comparison, (left, left_ast), (right, right_ast), span)
            }
            (left, right) => {
                let (left, right) = (self.describe(&left), self.describe(&right));
                let message = format!("`{}` does not compare {left} with {right}", comparison.sign());
                Err(Fault::new(FaultKind::TypeMismatch, span, message))
            }
        }
    }

    fn compare_null(&self, comparison: Comparison, other: Typed<'c>, span: Span) -> Checked<Test> {
        if comparison.is_ordering() {
            return Ok(Test::Const(false));
        }
        let is_null = match other {
            Typed::Scalar(Value { scalar: Scalar::Const(_) | Scalar::Test(_), .. }) => Test::Const(false),
            Typed::Scalar(value) => Test::IsNull(value.scalar),
            Typed::List(list, _) => Test::ListIsNull(list),
            Typed::Many { list, scope, body } => {
                Test::Exists { list, scope, test: Box::new(Test::IsNull(body.scalar)) }
            }
            Typed::Item { list, index, .. } => {
                Test::IsNull(Scalar::At { list: Box::new(list), index: Box::new(index), member: None })
            }
            other => {
                let message = format!("{} is never null", self.describe(&other));
                return Err(Fault::new(FaultKind::TypeMismatch, span, message));
            }
        };
        Ok(if comparison == Comparison::Eq { is_null } else { not(is_null) })
    }

    /// Some value of the path compares; for `!=`, none is equal.
    fn compare_many(
        &mut self,
        comparison: Comparison,
        list: List,
        scope: u32,
        body: (Typed<'c>, &'c Ast),
        other: (Typed<'c>, &'c Ast),
        span: Span,
    ) -> Checked<Test> {
        let negated = comparison == Comparison::Ne;
        let inner = if negated { Comparison::Eq } else { comparison };
        let test = Box::new(self.compare(inner, body, other, span)?);
        let exists = Test::Exists { list, scope, test };
        Ok(if negated { not(exists) } else { exists })
    }

    fn compare_brackets(
        &mut self,
        comparison: Comparison,
        list: List,
        of: Of,
        items: &'c [(Ast, Option<Ast>)],
        span: Span,
    ) -> Checked<Test> {
        if comparison.is_ordering() {
            return Err(Fault::new(FaultKind::TypeMismatch, span, "a bracket list takes `=` and `!=` only"));
        }
        let mut tests = Vec::with_capacity(items.len());
        for (key, value) in items {
            let key_text = self.bracket_text(key)?;
            tests.push(match (of, value, &list) {
                (Of::Scalar(Type::Text), None, _) => Test::Holds { list: list.clone(), value: key_text },
                (Of::Pair, Some(value), List::Field(map)) => {
                    let right = self.bracket_text(value)?;
                    let left = Scalar::Entry { map: *map, key: Box::new(key_text) };
                    Test::Compare { left, comparison: Comparison::Eq, right }
                }
                _ => {
                    let message = "a list is compared with [\"a\", \"b\"], a map with [\"key\": \"value\"]";
                    return Err(Fault::new(FaultKind::TypeMismatch, key.span, message));
                }
            });
        }
        let present = all(tests);
        Ok(if comparison == Comparison::Eq { present } else { not(present) })
    }

    fn bracket_text(&mut self, ast: &'c Ast) -> Checked<Scalar> {
        match self.typed(ast)? {
            Typed::Scalar(Value { scalar: scalar @ Scalar::Const(Constant::Text(_)), .. }) => Ok(scalar),
            other => {
                let message = format!("a bracket list takes text only, found {}", self.describe(&other));
                Err(Fault::new(FaultKind::TypeMismatch, ast.span, message))
            }
        }
    }

    fn compare_scalars(
        &mut self,
        comparison: Comparison,
        (left, left_ast): (Value, &'c Ast),
        (right, right_ast): (Value, &'c Ast),
        span: Span,
    ) -> Checked<Test> {
        if comparison.is_ordering() && (left.equality_only || right.equality_only) {
            let message = format!("`{}` is not allowed here: the id supports `=` and `!=` only", comparison.sign());
            return Err(Fault::new(FaultKind::OperatorNotAllowed, span, message));
        }
        let (left, right) = self.unify((left, left_ast), (right, right_ast), span)?;
        if comparison.is_ordering() && matches!(left.ty, Type::Bool | Type::Enum(_)) {
            let message = format!("`{}` does not order {}", comparison.sign(), left.ty);
            return Err(Fault::new(FaultKind::TypeMismatch, span, message));
        }
        for (constant, constant_ast, other) in [(&left, left_ast, &right), (&right, right_ast, &left)] {
            // Only empty text beside a time becomes null here.
            if matches!(constant.scalar, Scalar::Const(Constant::Null)) {
                if comparison.is_ordering() {
                    return Err(self.bad_value(constant_ast, "", "a date and time"));
                }
                return self.compare_null(comparison, Typed::Scalar(other.clone()), span);
            }
        }
        Ok(comparison_test(left.scalar, comparison, right.scalar))
    }

    /// Brings two scalars to types that compare; converts the literal of the two.
    pub(super) fn unify(
        &self,
        (mut left, left_ast): (Value, &Ast),
        (mut right, right_ast): (Value, &Ast),
        span: Span,
    ) -> Checked<(Value, Value)> {
        let is_text_literal = |value: &Value| value.literal && value.ty.is_text();
        if is_text_literal(&right) {
            right = self.fit(right, left.ty, right_ast, span)?;
        } else if is_text_literal(&left) {
            left = self.fit(left, right.ty, left_ast, span)?;
        }
        if left.ty.fits(right.ty) {
            return Ok((left, right));
        }
        let message = format!("{} cannot be compared with {}", left.ty, right.ty);
        Err(Fault::new(FaultKind::TypeMismatch, span, message))
    }

    /// Converts a literal to the type that it meets; empty text becomes null beside a time.
    pub(super) fn fit(&self, value: Value, ty: Type, ast: &Ast, span: Span) -> Checked<Value> {
        let Scalar::Const(Constant::Text(text)) = &value.scalar else {
            if value.ty.fits(ty) {
                return Ok(value);
            }
            let message = format!("{ty} cannot be compared with {}", value.ty);
            return Err(Fault::new(FaultKind::TypeMismatch, span, message));
        };
        let bad = || self.bad_value(ast, text, &ty.to_string());
        let constant = match ty {
            Type::Text => return Ok(value),
            Type::Id => {
                let digits = text.strip_prefix('-').unwrap_or(text);
                if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
                    return Err(self.bad_value(ast, text, "the number of an id"));
                }
                Constant::Text(text.clone())
            }
            Type::Bool => Constant::Bool(parse_bool(text).ok_or_else(bad)?),
            Type::Int | Type::Double => {
                let number = parse_number(text).ok_or_else(bad)?;
                let ty = if matches!(number, Constant::Int(_)) { Type::Int } else { Type::Double };
                return Ok(Value::literal(number, ty));
            }
            Type::Time if text.is_empty() => Constant::Null,
            Type::Time => Constant::Time(parse_time(text).ok_or_else(bad)?),
            Type::Span => Constant::Span(parse_span(text).ok_or_else(bad)?),
            Type::Enum(members) => match enum_member(members, text) {
                Some(member) => Constant::text(member),
                None => {
                    let names: Vec<&str> = members.iter().map(|(name, _)| *name).collect();
                    let expected = format!("one of {}", names.join(", "));
                    return Err(self.bad_value(ast, text, &expected));
                }
            },
        };
        Ok(Value::literal(constant, ty))
    }

    pub(super) fn bad_value(&self, ast: &Ast, text: &str, expected: &str) -> Fault {
        let message = format!("{:?} is not {expected}", super::lex::clip(text));
        Fault::new(FaultKind::BadValue, ast.span, message)
    }

    fn membership_node(&mut self, ast: &'c Ast, value: &'c Ast, negated: bool, items: &'c Items) -> Checked<Typed<'c>> {
        let typed = self.typed(value)?;
        let test = match items {
            Items::List(items) => self.membership((typed, value), items, ast.span)?,
            Items::Of(list) => match &list.node {
                Node::Array(items) => self.membership((typed, value), items, ast.span)?,
                _ => {
                    let list_typed = self.typed(list)?;
                    self.list_holds(list_typed, (typed, value), ast.span, FaultKind::TypeMismatch)?
                }
            },
        };
        Ok(Typed::Test(if negated { not(test) } else { test }))
    }

    /// Whether the value equals one of the items.
    pub(super) fn membership(
        &mut self,
        (value, value_ast): (Typed<'c>, &'c Ast),
        items: &'c [Ast],
        span: Span,
    ) -> Checked<Test> {
        if let Typed::Many { list, scope, body } = value {
            let test = Box::new(self.membership((Typed::Scalar(body), value_ast), items, span)?);
            return Ok(Test::Exists { list, scope, test });
        }
        let mut has_null = false;
        let mut constants = Vec::new();
        let mut others = Vec::new();
        for item in items {
            let typed = self.typed(item)?;
            match (&value, typed) {
                (Typed::Scalar(_), Typed::Null) => has_null = true,
                (Typed::Scalar(left), Typed::Scalar(right)) if right.literal && !left.literal => {
                    match self.unify((left.clone(), value_ast), (right, item), span)?.1.scalar {
                        Scalar::Const(Constant::Null) => has_null = true,
                        Scalar::Const(constant) => constants.push(constant),
                        _ => {}
                    }
                }
                (value, list @ Typed::List(..)) if items.len() == 1 => {
                    let value = (value.clone(), value_ast);
                    return self.list_holds(list, value, span, FaultKind::TypeMismatch);
                }
                (value, typed) => {
                    let value = (value.clone(), value_ast);
                    others.push(self.compare(Comparison::Eq, value, (typed, item), span)?);
                }
            }
        }
        if let Typed::Scalar(value) = value {
            if has_null || !constants.is_empty() {
                others.insert(0, in_set(value, constants, has_null));
            }
        }
        Ok(any(others))
    }

    /// Whether the list has an element that equals the value.
    pub(super) fn list_holds(
        &mut self,
        list: Typed<'c>,
        (value, value_ast): (Typed<'c>, &'c Ast),
        span: Span,
        kind: FaultKind,
    ) -> Checked<Test> {
        let (list, ty) = match list {
            Typed::List(list, Of::Scalar(ty)) => (list, ty),
            Typed::Many { list, scope, body } => {
                let (ty, body) = (body.ty, Box::new(body.scalar));
                (List::Path { list: Box::new(list), scope, body }, ty)
            }
            other => {
                let message = format!("expected a list of values, found {}", self.describe(&other));
                return Err(Fault::new(kind, span, message));
            }
        };
        let value = match value {
            Typed::Scalar(value) if value.literal => match (value.ty, ty) {
                (left, right) if !left.is_text() && right.is_text() => {
                    let message = format!("the elements are {right}, not {left}");
                    return Err(Fault::new(kind, span, message));
                }
                _ => self.fit(value, ty, value_ast, span)?,
            },
            Typed::Scalar(value) if value.ty.fits(ty) => value,
            Typed::Null => return Ok(Test::Const(false)),
            other => {
                let message = format!("the elements are {ty}, not {}", self.describe(&other));
                return Err(Fault::new(kind, span, message));
            }
        };
        Ok(Test::Holds { list, value: value.scalar })
    }

    fn array(&mut self, elements: &'c [Ast]) -> Checked<Typed<'c>> {
        let mut scalars = Vec::with_capacity(elements.len());
        let mut ty: Option<Type> = None;
        for element in elements {
            let value = match self.typed(element)? {
                Typed::Null => {
                    scalars.push(Scalar::Const(Constant::Null));
                    continue;
                }
                Typed::Scalar(value) => value,
                other => {
                    let message = format!("an array takes values, found {}", self.describe(&other));
                    return Err(Fault::new(FaultKind::TypeMismatch, element.span, message));
                }
            };
            ty = match ty {
                None => Some(value.ty),
                Some(Type::Int) if matches!(value.ty, Type::Double) => Some(Type::Double),
                Some(ty) if ty.fits(value.ty) => Some(ty),
                Some(ty) => {
                    let message = format!("an array of {ty} does not take {}", value.ty);
                    return Err(Fault::new(FaultKind::TypeMismatch, element.span, message));
                }
            };
            scalars.push(value.scalar);
        }
        Ok(Typed::List(List::Array(scalars), Of::Scalar(ty.unwrap_or(Type::Text))))
    }

    pub(super) fn coalesce(&mut self, first: &'c Ast, second: &'c Ast, span: Span) -> Checked<Typed<'c>> {
        let (left, right) = (self.typed(first)?, self.typed(second)?);
        match (left, right) {
            (Typed::Null, other) | (other, Typed::Null) => Ok(other),
            (left, right) => {
                let (left, right) = self.both((left, first), (right, second), span)?;
                let ty = wider(left.ty, right.ty);
                let scalar = Scalar::Coalesce(Box::new(left.scalar), Box::new(right.scalar));
                Ok(Typed::Scalar(Value::new(scalar, ty)))
            }
        }
    }

    pub(super) fn conditional(
        &mut self,
        condition: &'c Ast,
        yes: &'c Ast,
        no: &'c Ast,
        span: Span,
    ) -> Checked<Typed<'c>> {
        let test = self.test(condition)?;
        let null = || Scalar::Const(Constant::Null);
        let (yes_typed, no_typed) = (self.typed(yes)?, self.typed(no)?);
        let (yes, no, ty) = match (yes_typed, no_typed) {
            (Typed::Null, Typed::Null) => return Ok(Typed::Null),
            (Typed::Null, Typed::Scalar(no)) => (null(), no.scalar, no.ty),
            (Typed::Scalar(yes), Typed::Null) => (yes.scalar, null(), yes.ty),
            (left, right) => {
                let (left, right) = self.both((left, yes), (right, no), span)?;
                let ty = wider(left.ty, right.ty);
                (left.scalar, right.scalar, ty)
            }
        };
        Ok(Typed::Scalar(Value::new(Scalar::If(Box::new(test), Box::new(yes), Box::new(no)), ty)))
    }

    /// Two scalars of one type.
    fn both(
        &self,
        (left, left_ast): (Typed<'c>, &'c Ast),
        (right, right_ast): (Typed<'c>, &'c Ast),
        span: Span,
    ) -> Checked<(Value, Value)> {
        let value = |typed: Typed<'c>| match typed {
            Typed::Scalar(value) => Ok(value),
            Typed::Test(test) => Ok(Value::new(Scalar::Test(Box::new(test)), Type::Bool)),
            other => {
                let message = format!("expected a value, found {}", self.describe(&other));
                Err(Fault::new(FaultKind::TypeMismatch, span, message))
            }
        };
        self.unify((value(left)?, left_ast), (value(right)?, right_ast), span)
    }

    /// Types a predicate over the elements of a list, in a scope of its own.
    pub(super) fn predicate(&mut self, of: Of, arg: &'c Arg) -> Checked<(u32, Test)> {
        let number = self.new_scope();
        self.scopes.push(Scope { number, of: Some(of), parameter: arg.parameter.as_deref() });
        let test = self.test(&arg.body);
        self.scopes.pop();
        Ok((number, test?))
    }

    pub(super) fn place(&self, scope: usize, index: usize) -> Place {
        Place { scope: self.scopes.get(scope).map_or(RECORD, |scope| scope.number), index }
    }
}

fn wider(left: Type, right: Type) -> Type {
    match (left, right) {
        (Type::Double, Type::Int) | (Type::Int, Type::Double) => Type::Double,
        _ => left,
    }
}

pub(super) fn not(test: Test) -> Test {
    match test {
        Test::Const(value) => Test::Const(!value),
        Test::Not(inner) => *inner,
        test => Test::Not(Box::new(test)),
    }
}

pub(super) fn all(tests: Vec<Test>) -> Test {
    let mut kept = Vec::with_capacity(tests.len());
    for test in tests {
        match test {
            Test::Const(true) => {}
            Test::Const(false) => return Test::Const(false),
            Test::All(inner) => kept.extend(inner),
            test => kept.push(test),
        }
    }
    match kept.len() {
        0 => Test::Const(true),
        1 => kept.pop().unwrap_or(Test::Const(true)),
        _ => Test::All(kept),
    }
}

pub(super) fn any(tests: Vec<Test>) -> Test {
    let mut kept = Vec::with_capacity(tests.len());
    for test in tests {
        match test {
            Test::Const(false) => {}
            Test::Const(true) => return Test::Const(true),
            Test::Any(inner) => kept.extend(inner),
            test => kept.push(test),
        }
    }
    match kept.len() {
        0 => Test::Const(false),
        1 => kept.pop().unwrap_or(Test::Const(false)),
        _ => Test::Any(kept),
    }
}

/// A comparison of two scalars, with the constant on the right and constants folded.
pub(super) fn comparison_test(left: Scalar, comparison: Comparison, right: Scalar) -> Test {
    match (left, right) {
        (Scalar::Const(left), Scalar::Const(right)) => {
            Test::Const(compare_values(&left.val(), comparison, &right.val()))
        }
        (left @ Scalar::Const(_), right) => comparison_test(right, comparison.mirrored(), left),
        // `x.Contains("a") == true` is the call itself.
        (Scalar::Test(test), Scalar::Const(Constant::Bool(value))) if !comparison.is_ordering() => {
            if value == (comparison == Comparison::Eq) { *test } else { not(*test) }
        }
        // A null list has no elements where equality asks for their number.
        (Scalar::Count { list, filter, .. }, right) if !comparison.is_ordering() => {
            Test::Compare { left: Scalar::Count { list, filter, null_is_zero: true }, comparison, right }
        }
        (left, right) => Test::Compare { left, comparison, right },
    }
}

/// Membership in constants that were converted to the type of the value.
fn in_set(value: Value, mut constants: Vec<Constant>, has_null: bool) -> Test {
    if constants.len() == 1 && !has_null {
        if let Some(constant) = constants.pop() {
            return comparison_test(value.scalar, Comparison::Eq, Scalar::Const(constant));
        }
    }
    let set = match value.ty {
        Type::Text | Type::Id | Type::Enum(_) => Set::texts(
            constants
                .into_iter()
                .filter_map(|constant| if let Constant::Text(text) = constant { Some(text) } else { None })
                .collect(),
            has_null,
        ),
        Type::Int | Type::Time | Type::Span => {
            let kind = match value.ty {
                Type::Time => Constant::Time,
                Type::Span => Constant::Span,
                _ => Constant::Int,
            };
            Set::ints(constants.iter().filter_map(exact_int).collect(), has_null, kind)
        }
        Type::Double => Set::doubles(constants.iter().filter_map(exact_double).collect(), has_null),
        Type::Bool => {
            let bools = constants
                .into_iter()
                .map(|constant| comparison_test(value.scalar.clone(), Comparison::Eq, Scalar::Const(constant)));
            let mut tests: Vec<Test> = bools.collect();
            if has_null {
                tests.push(Test::IsNull(value.scalar));
            }
            return any(tests);
        }
    };
    Test::In { value: value.scalar, set }
}

/// The integer that a number equals, if one does.
pub(super) fn exact_int(constant: &Constant) -> Option<i64> {
    match constant {
        Constant::Int(value) | Constant::Time(value) | Constant::Span(value) => Some(*value),
        Constant::Double(value) => {
            let int = *value as i64;
            (order(&Val::Int(int), &Val::Double(*value)) == Some(std::cmp::Ordering::Equal)).then_some(int)
        }
        _ => None,
    }
}

/// The double that a number equals, if one does.
pub(super) fn exact_double(constant: &Constant) -> Option<f64> {
    match constant {
        Constant::Double(value) => Some(*value),
        Constant::Int(value) => {
            let double = *value as f64;
            (order(&Val::Int(*value), &Val::Double(double)) == Some(std::cmp::Ordering::Equal)).then_some(double)
        }
        _ => None,
    }
}

/// Computes what has constants only.
pub(super) fn folded(value: Value) -> Value {
    let is_const = |scalar: &Scalar| matches!(scalar, Scalar::Const(_));
    let constant = match &value.scalar {
        Scalar::Case { text, .. } | Scalar::Trim(text) | Scalar::Length(text) | Scalar::Negate(text) => is_const(text),
        Scalar::ToTime(text)
        | Scalar::ToSpan(text)
        | Scalar::ToNumber(text)
        | Scalar::ToInteger(text)
        | Scalar::ToBool(text)
        | Scalar::Units(text, _) => is_const(text),
        Scalar::Concat(parts) => parts.iter().all(is_const),
        Scalar::Chain(first, rest) => is_const(first) && rest.iter().all(|(_, scalar)| is_const(scalar)),
        _ => false,
    };
    if !constant {
        return value;
    }
    let scopes = Scopes { number: RECORD, element: Element::Scalar(Val::Null), around: None, search: &|_| false };
    let constant = match value.scalar.get(&scopes) {
        Val::Bool(value) => Constant::Bool(value),
        Val::Int(value) => Constant::Int(value),
        Val::Double(value) => Constant::Double(value),
        Val::Str(text) => Constant::text(text.as_ref()),
        Val::Time(value) => Constant::Time(value),
        Val::Span(value) => Constant::Span(value),
        _ => Constant::Null,
    };
    Value { scalar: Scalar::Const(constant), ..value }
}

/// A test for a part of a text, with what a constant part allows to prepare.
pub(super) fn match_test(text: Scalar, how: How, part: Scalar) -> Test {
    let finder = |part: &str| Box::new(Finder::new(part.as_bytes()).into_owned());
    match (text, how, part) {
        (Scalar::Case { text, upper }, How::Contains, Scalar::Const(Constant::Text(part))) => {
            Test::ContainsFolded { text: *text, upper, find: finder(&part) }
        }
        (text, How::Contains, Scalar::Const(Constant::Text(part))) => Test::Contains { text, find: finder(&part) },
        (text, how, part) => Test::Match { text, how, part },
    }
}
