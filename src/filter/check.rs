//! Converts the syntax tree to the typed tree. Every type rule is checked here, before any record
//! is read.
//!
//! This file has the state of the check and selects the rule for each node. The rules are in
//! `compare`, `membership`, `scalars`, `methods`, `functions` and `names`.

use std::collections::BTreeMap;

use super::constant::{Constant, Times};
use super::fault::{Fault, FaultKind, FaultResult, Span};
use super::schema::{Schema, TextSearch};
use super::simplify::{all, any, not};
use super::syntax::{Arg, Ast, Junction, Node};
use super::tree::{FieldPath, RECORD, Scalar, Test};
use super::types::{Of, Type, TypedExpression, Value};
use crate::value::limits;

/// A scope in which names are looked up: the record, or an element inside of it.
#[derive(Debug)]
pub(super) struct Scope<'c> {
    pub number: u32,
    pub of: Option<Of>,
    pub parameter: Option<&'c str>,
}

/// Checks one filter and types its expressions.
pub(super) struct Checker<'c> {
    pub source: &'c str,
    pub schema: &'c Schema<'c>,
    pub values: &'c [serde_json::Value],
    pub times: &'c Times,
    pub scopes: Vec<Scope<'c>>,
    pub next_scope: u32,
    /// Substitutions that the filter uses.
    pub substitutions: BTreeMap<usize, Constant>,
    /// Total bytes of their texts; each occurrence counts.
    pub substituted_bytes: usize,
    /// Fields of the record that the filter uses, each with its first occurrence.
    pub fields: BTreeMap<usize, Span>,
    pub searches: Vec<TextSearch>,
}

/// The span of a whole expression, for faults that concern all of it.
pub(super) fn whole(ast: &Ast) -> Span {
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
            substituted_bytes: 0,
            fields: BTreeMap::new(),
            searches: Vec::new(),
        }
    }

    /// Returns a scope number that is unique in the filter.
    pub(super) fn new_scope(&mut self) -> u32 {
        let number = self.next_scope;
        self.next_scope += 1;
        number
    }

    /// Types a condition; an expression that is not Boolean is a type mismatch.
    pub(super) fn test(&mut self, ast: &'c Ast) -> FaultResult<Test> {
        let typed = self.typed(ast)?;
        self.condition_of(typed, whole(ast))
    }

    fn condition_of(&self, typed: TypedExpression<'c>, span: Span) -> FaultResult<Test> {
        match typed {
            TypedExpression::Test(test) => Ok(test),
            TypedExpression::Scalar(Value {
                scalar: Scalar::Const(Constant::Bool(value)), ..
            }) => Ok(Test::Const(value)),
            TypedExpression::Scalar(Value { scalar: Scalar::Test(test), .. }) => Ok(*test),
            TypedExpression::Scalar(Value { scalar, ty: Type::Bool, .. }) => {
                Ok(Test::Truth(scalar))
            }
            TypedExpression::Many { list, scope, body: Value { scalar, ty: Type::Bool, .. } } => {
                Ok(Test::Exists { list, scope, test: Box::new(Test::Truth(scalar)) })
            }
            other => Err(self.wrong_type(span, "expected a condition", &other)),
        }
    }

    pub(super) fn describe(&self, typed: &TypedExpression<'c>) -> String {
        match typed {
            TypedExpression::Null => "null".to_owned(),
            TypedExpression::Test(_) => "a Boolean".to_owned(),
            TypedExpression::Scalar(value) | TypedExpression::Many { body: value, .. } => {
                value.ty.to_string()
            }
            TypedExpression::List(_, Of::Pair) | TypedExpression::Item { of: Of::Map, .. } => {
                "a map".to_owned()
            }
            TypedExpression::List(..) => "a list".to_owned(),
            TypedExpression::Scope(_) | TypedExpression::Item { .. } => "a record".to_owned(),
            TypedExpression::Brackets(_) => "a bracket list".to_owned(),
        }
    }

    /// The fault of an expression where another one is expected.
    pub(super) fn wrong_type(
        &self,
        span: Span,
        expected: &str,
        found: &TypedExpression<'c>,
    ) -> Fault {
        let message = format!("{expected}, found {}", self.describe(found));
        Fault::new(FaultKind::TypeMismatch, span, message)
    }

    /// The fault of an argument where another one is expected.
    pub(super) fn wrong_argument(
        &self,
        ast: &Ast,
        expected: &str,
        found: &TypedExpression<'c>,
    ) -> Fault {
        self.wrong_arguments(ast, format!("{expected}, found {}", self.describe(found)))
    }

    pub(super) fn typed(&mut self, ast: &'c Ast) -> FaultResult<TypedExpression<'c>> {
        match &ast.node {
            Node::Null => Ok(TypedExpression::Null),
            Node::Bool(value) => Ok(TypedExpression::literal(Constant::Bool(*value), Type::Bool)),
            Node::Int(value) => Ok(TypedExpression::literal(Constant::Int(*value), Type::Int)),
            Node::Real(value) => {
                Ok(TypedExpression::literal(Constant::Double(*value), Type::Double))
            }
            Node::Text(text) => {
                Ok(TypedExpression::literal(Constant::text(text.as_str()), Type::Text))
            }
            Node::Substitution(number) => self.substitution(*number, ast.span),
            Node::It | Node::Parent | Node::Root | Node::Name(_) | Node::Member(..) => {
                self.path(ast)
            }
            Node::Method(left, name, args) => self.method(ast, left, name, args),
            Node::Call(name, args) => self.call(ast, name, args),
            Node::Index(left, index) => self.index(ast, left, index),
            Node::Array(elements) => self.array(elements),
            Node::Brackets(items) => Ok(TypedExpression::Brackets(items)),
            Node::Not(operand) => self.not(ast, operand),
            Node::Negate(operand) => self.negate(ast, operand),
            Node::Chain(first, rest) => self.chain(ast, first, rest),
            Node::Compare(comparison, left, right) => {
                self.comparison(*comparison, left, right, ast.span)
            }
            Node::Bits(kind, terms) | Node::Junction(kind, terms) => self.junction(*kind, terms),
            Node::In { value, negated, items } => self.membership_node(ast, value, *negated, items),
            Node::Coalesce(first, second) => self.coalesce(first, second, ast.span),
            Node::Conditional(condition, yes, no) => self.conditional(condition, yes, no, ast.span),
        }
    }

    fn substitution(
        &mut self,
        number: Option<usize>,
        span: Span,
    ) -> FaultResult<TypedExpression<'c>> {
        let fault = |message: String| Err(Fault::new(FaultKind::BadSubstitution, span, message));
        if !self.schema.accept_substitutions {
            return fault("this filter takes no substitutions".to_owned());
        }
        let Some((number, value)) =
            number.and_then(|number| Some((number, self.values.get(number)?)))
        else {
            let count = self.values.len();
            let shown = span.text(self.source);
            return fault(format!(
                "`{shown}` has no value; the list `substitutions` of the request has {count}"
            ));
        };
        let (constant, ty) = match value {
            serde_json::Value::Null => (Constant::Null, Type::Text),
            serde_json::Value::Bool(value) => (Constant::Bool(*value), Type::Bool),
            serde_json::Value::String(text) => {
                // The length of the filter bounds its own texts. Substituted texts need their own
                // bound, because a condition may copy each.
                self.substituted_bytes = self.substituted_bytes.saturating_add(text.len());
                if self.substituted_bytes > limits::FILTER_SUBSTITUTED_BYTES {
                    let what = "bytes of substituted text (FILTER_SUBSTITUTED_BYTES)";
                    return Err(Fault::limit(span, what, limits::FILTER_SUBSTITUTED_BYTES));
                }
                let known = self.substitutions.get(&number).cloned();
                (known.unwrap_or_else(|| Constant::text(text.as_str())), Type::Text)
            }
            serde_json::Value::Number(value) => match (value.as_i64(), value.as_f64()) {
                (Some(value), _) => (Constant::Int(value), Type::Int),
                (None, Some(value)) if value.is_finite() => (Constant::Double(value), Type::Double),
                _ => return fault(format!("{value} does not fit in 64 bits")),
            },
            serde_json::Value::Array(_) => {
                return fault("a substitution must not be a list".to_owned());
            }
            serde_json::Value::Object(_) => {
                return fault("a substitution must not be an object".to_owned());
            }
        };
        self.substitutions.entry(number).or_insert_with(|| constant.clone());
        Ok(if constant == Constant::Null {
            TypedExpression::Null
        } else {
            TypedExpression::literal(constant, ty)
        })
    }

    fn junction(&mut self, kind: Junction, terms: &'c [Ast]) -> FaultResult<TypedExpression<'c>> {
        let mut tests = Vec::with_capacity(terms.len());
        for term in terms {
            tests.push(self.test(term)?);
        }
        Ok(TypedExpression::Test(match kind {
            Junction::And => all(tests),
            Junction::Or => any(tests),
        }))
    }

    fn not(&mut self, ast: &'c Ast, operand: &'c Ast) -> FaultResult<TypedExpression<'c>> {
        let typed = self.typed(operand)?;
        Ok(TypedExpression::Test(not(self.condition_of(typed, ast.span)?)))
    }

    /// Types an expression that must be one scalar.
    pub(super) fn scalar(&mut self, ast: &'c Ast, span: Span) -> FaultResult<Value> {
        let typed = self.typed(ast)?;
        self.one_scalar(typed, span)
    }

    pub(super) fn one_scalar(&self, typed: TypedExpression<'c>, span: Span) -> FaultResult<Value> {
        match typed.tested() {
            TypedExpression::Scalar(value) => Ok(value),
            other => Err(self.wrong_type(span, "expected a value", &other)),
        }
    }

    /// Types a predicate over the elements of a list, in a new scope.
    pub(super) fn predicate(&mut self, of: Of, arg: &'c Arg) -> FaultResult<(u32, Test)> {
        let number = self.new_scope();
        self.scopes.push(Scope { number, of: Some(of), parameter: arg.parameter.as_deref() });
        let test = self.test(&arg.body);
        self.scopes.pop();
        Ok((number, test?))
    }

    pub(super) fn place(&self, scope: usize, index: usize) -> FieldPath {
        FieldPath { scope: self.scopes.get(scope).map_or(RECORD, |scope| scope.number), index }
    }
}
