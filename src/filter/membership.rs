//! Membership: `in`, `Contains` of lists, and arrays.

use super::check::Checker;
use super::constant::Constant;
use super::fault::{Fault, FaultKind, FaultResult, Span};
use super::simplify::{any, comparison_test, exact_double, exact_int, not};
use super::syntax::{Ast, Comparison, Items, Node};
use super::tree::{List, Scalar, Set, Test};
use super::types::{Of, Type, TypedExpression, Value};

impl<'c> Checker<'c> {
    pub(super) fn membership_node(
        &mut self,
        ast: &'c Ast,
        value: &'c Ast,
        negated: bool,
        items: &'c Items,
    ) -> FaultResult<TypedExpression<'c>> {
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
        Ok(TypedExpression::Test(if negated { not(test) } else { test }))
    }

    /// Tests whether the value equals one of the items.
    pub(super) fn membership(
        &mut self,
        (value, value_ast): (TypedExpression<'c>, &'c Ast),
        items: &'c [Ast],
        span: Span,
    ) -> FaultResult<Test> {
        if let TypedExpression::Many { list, scope, body } = value {
            let test = Box::new(self.membership(
                (TypedExpression::Scalar(body), value_ast),
                items,
                span,
            )?);
            return Ok(Test::Exists { list, scope, test });
        }
        let value = value.tested();
        if let TypedExpression::Scalar(whole) = value {
            if items.len() < 2 || is_short(&whole.scalar) {
                return self.one_of((TypedExpression::Scalar(whole), value_ast), items, span);
            }
            // Every item is compared with the value. A computed value is evaluated once and bound
            // as an element: if each comparison had a copy of it, the tree would double with each
            // membership of a chain.
            let scope = self.new_scope();
            let element = Value { scalar: Scalar::Element(scope), ..whole };
            let test = Box::new(self.one_of(
                (TypedExpression::Scalar(element), value_ast),
                items,
                span,
            )?);
            return Ok(Test::Exists { list: List::Array(vec![whole.scalar]), scope, test });
        }
        self.one_of((value, value_ast), items, span)
    }

    /// Tests whether the value equals one of the items; copies the value for each comparison.
    fn one_of(
        &mut self,
        (value, value_ast): (TypedExpression<'c>, &'c Ast),
        items: &'c [Ast],
        span: Span,
    ) -> FaultResult<Test> {
        let mut has_null = false;
        let mut constants = Vec::new();
        let mut others = Vec::new();
        for item in items {
            let typed = self.typed(item)?;
            match (&value, typed) {
                (TypedExpression::Scalar(_), TypedExpression::Null) => has_null = true,
                (TypedExpression::Scalar(left), TypedExpression::Scalar(right))
                    if right.literal && !left.literal =>
                {
                    match self.unify((left.clone(), value_ast), (right, item), span)?.1.scalar {
                        Scalar::Const(Constant::Null) => has_null = true,
                        Scalar::Const(constant) => constants.push(constant),
                        _ => {}
                    }
                }
                (value, list @ TypedExpression::List(..)) if items.len() == 1 => {
                    let value = (value.clone(), value_ast);
                    return self.list_holds(list, value, span, FaultKind::TypeMismatch);
                }
                (value, typed) => {
                    let value = (value.clone(), value_ast);
                    others.push(self.compare(Comparison::Eq, value, (typed, item), span)?);
                }
            }
        }
        if let TypedExpression::Scalar(value) = value {
            if has_null || !constants.is_empty() {
                others.insert(0, in_set(value, constants, has_null));
            }
        }
        Ok(any(others))
    }

    /// Tests whether the list has an element that equals the value.
    pub(super) fn list_holds(
        &mut self,
        list: TypedExpression<'c>,
        (value, value_ast): (TypedExpression<'c>, &'c Ast),
        span: Span,
        kind: FaultKind,
    ) -> FaultResult<Test> {
        let (list, ty) = match list {
            TypedExpression::List(list, Of::Scalar(ty)) => (list, ty),
            TypedExpression::Many { list, scope, body } => {
                let (ty, body) = (body.ty, Box::new(body.scalar));
                (List::Path { list: Box::new(list), scope, body }, ty)
            }
            other => {
                let message = format!("expected a list of values, found {}", self.describe(&other));
                return Err(Fault::new(kind, span, message));
            }
        };
        let value = match value {
            TypedExpression::Scalar(value) if value.literal => match (value.ty, ty) {
                (left, right) if !left.is_text() && right.is_text() => {
                    let message = format!("the elements are {right}, not {left}");
                    return Err(Fault::new(kind, span, message));
                }
                _ => self.fit(value, ty, value_ast, span)?,
            },
            TypedExpression::Scalar(value) if value.ty.fits(ty) => value,
            TypedExpression::Null => return Ok(Test::Const(false)),
            other => {
                let message = format!("the elements are {ty}, not {}", self.describe(&other));
                return Err(Fault::new(kind, span, message));
            }
        };
        Ok(Test::Holds { list, value: value.scalar })
    }

    pub(super) fn array(&mut self, elements: &'c [Ast]) -> FaultResult<TypedExpression<'c>> {
        let mut scalars = Vec::with_capacity(elements.len());
        let mut ty: Option<Type> = None;
        for element in elements {
            let value = match self.typed(element)? {
                TypedExpression::Null => {
                    scalars.push(Scalar::Const(Constant::Null));
                    continue;
                }
                TypedExpression::Scalar(value) => value,
                other => {
                    return Err(self.wrong_type(element.span, "an array takes values", &other));
                }
            };
            ty = match ty {
                None => Some(value.ty),
                Some(Type::Int) if matches!(value.ty, Type::Double) => Some(Type::Double),
                Some(ty) if matches!(value.ty, Type::Json) && ty.fits(value.ty) => Some(value.ty),
                Some(ty) if ty.fits(value.ty) => Some(ty),
                Some(ty) => {
                    let message = format!("an array of {ty} does not take {}", value.ty);
                    return Err(Fault::new(FaultKind::TypeMismatch, element.span, message));
                }
            };
            scalars.push(value.scalar);
        }
        Ok(TypedExpression::List(List::Array(scalars), Of::Scalar(ty.unwrap_or(Type::Text))))
    }
}

/// Membership in constants that already have the type of the value.
fn in_set(value: Value, mut constants: Vec<Constant>, has_null: bool) -> Test {
    if constants.len() == 1 && !has_null {
        if let Some(constant) = constants.pop() {
            return comparison_test(value.scalar, Comparison::Eq, Scalar::Const(constant));
        }
    }
    let mut others = Vec::new();
    let set = match value.ty {
        Type::Text | Type::Id | Type::Reference | Type::Enum(_) => Set::texts(
            constants
                .into_iter()
                .filter_map(
                    |constant| if let Constant::Text(text) = constant { Some(text) } else { None },
                )
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
        Type::Double => {
            let (exact, between): (Vec<_>, Vec<_>) =
                constants.into_iter().partition(|constant| exact_double(constant).is_some());
            // A computed value may be an integer that no double equals.
            if !between.is_empty() && !matches!(value.scalar, Scalar::Field(_)) {
                let set =
                    Set::ints(between.iter().filter_map(exact_int).collect(), false, Constant::Int);
                others.push(Test::In { value: value.scalar.clone(), set });
            }
            Set::doubles(exact.iter().filter_map(exact_double).collect(), has_null)
        }
        Type::Bool | Type::Json | Type::Object => {
            let each = constants.into_iter().map(|constant| {
                comparison_test(value.scalar.clone(), Comparison::Eq, Scalar::Const(constant))
            });
            let mut tests: Vec<Test> = each.collect();
            if has_null {
                tests.push(Test::IsNull(value.scalar));
            }
            return any(tests);
        }
    };
    others.push(Test::In { value: value.scalar, set });
    any(others)
}

/// Whether a value is read rather than computed, so that copies of it are cheap.
fn is_short(scalar: &Scalar) -> bool {
    match scalar {
        Scalar::Const(_)
        | Scalar::Field(_)
        | Scalar::Json(_)
        | Scalar::Within { .. }
        | Scalar::Element(_)
        | Scalar::Key(_)
        | Scalar::Value(_) => true,
        Scalar::Entry { key, .. } => matches!(**key, Scalar::Const(_)),
        _ => false,
    }
}
