//! Expressions that compute one scalar from others: sums, products, and choices between two.

use super::check::Checker;
use super::constant::{Constant, parse_span, parse_time};
use super::fault::{Fault, FaultKind, FaultResult, Span};
use super::simplify::folded;
use super::syntax::{Arithmetic, Ast};
use super::tree::Scalar;
use super::types::{Type, TypedExpression, Value};

impl<'c> Checker<'c> {
    pub(super) fn negate(
        &mut self,
        ast: &'c Ast,
        operand: &'c Ast,
    ) -> FaultResult<TypedExpression<'c>> {
        match self.typed(operand)? {
            TypedExpression::Scalar(value)
                if value.ty.is_number() || matches!(value.ty, Type::Span) =>
            {
                let negated = Value { scalar: Scalar::Negate(Box::new(value.scalar)), ..value };
                Ok(TypedExpression::Scalar(folded(negated)))
            }
            other => Err(self.wrong_type(ast.span, "`-` needs a number", &other)),
        }
    }

    pub(super) fn chain(
        &mut self,
        ast: &'c Ast,
        first: &'c Ast,
        rest: &'c [(Arithmetic, Ast)],
    ) -> FaultResult<TypedExpression<'c>> {
        let mut left = self.scalar(first, ast.span)?;
        let mut operands = Vec::with_capacity(rest.len());
        let mut ty = left.ty;
        for (operator, operand) in rest {
            let mut right = self.scalar(operand, ast.span)?;
            // Text combined with a time or a span is a time span, or a time to subtract.
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
            let parts =
                std::iter::once(left.scalar).chain(operands.into_iter().map(|(_, part)| part));
            Scalar::Concat(parts.collect())
        } else {
            Scalar::Chain(Box::new(left.scalar), operands)
        };
        Ok(TypedExpression::Scalar(folded(Value {
            scalar,
            ty,
            literal: left.literal,
            equality_only: false,
        })))
    }

    pub(super) fn coalesce(
        &mut self,
        first: &'c Ast,
        second: &'c Ast,
        span: Span,
    ) -> FaultResult<TypedExpression<'c>> {
        let (left, right) = (self.typed(first)?, self.typed(second)?);
        match (left, right) {
            (TypedExpression::Null, other) | (other, TypedExpression::Null) => Ok(other),
            (left, right) => {
                let (left, right) = self.both((left, first), (right, second), span)?;
                let ty = wider(left.ty, right.ty);
                let scalar = Scalar::Coalesce(Box::new(left.scalar), Box::new(right.scalar));
                Ok(TypedExpression::value(scalar, ty))
            }
        }
    }

    pub(super) fn conditional(
        &mut self,
        condition: &'c Ast,
        yes: &'c Ast,
        no: &'c Ast,
        span: Span,
    ) -> FaultResult<TypedExpression<'c>> {
        let test = self.test(condition)?;
        let null = || Scalar::Const(Constant::Null);
        let (yes_typed, no_typed) = (self.typed(yes)?, self.typed(no)?);
        let (yes, no, ty) = match (yes_typed, no_typed) {
            (TypedExpression::Null, TypedExpression::Null) => return Ok(TypedExpression::Null),
            (TypedExpression::Null, TypedExpression::Scalar(no)) => (null(), no.scalar, no.ty),
            (TypedExpression::Scalar(yes), TypedExpression::Null) => (yes.scalar, null(), yes.ty),
            (left, right) => {
                let (left, right) = self.both((left, yes), (right, no), span)?;
                let ty = wider(left.ty, right.ty);
                (left.scalar, right.scalar, ty)
            }
        };
        Ok(TypedExpression::value(Scalar::If(Box::new(test), Box::new(yes), Box::new(no)), ty))
    }

    /// Converts two expressions to scalars of one type.
    fn both(
        &self,
        (left, left_ast): (TypedExpression<'c>, &'c Ast),
        (right, right_ast): (TypedExpression<'c>, &'c Ast),
        span: Span,
    ) -> FaultResult<(Value, Value)> {
        let (left, right) = (self.one_scalar(left, span)?, self.one_scalar(right, span)?);
        self.unify((left, left_ast), (right, right_ast), span)
    }
}

fn wider(left: Type, right: Type) -> Type {
    match (left, right) {
        (Type::Double, Type::Int) | (Type::Int, Type::Double) => Type::Double,
        (_, Type::Json) => Type::Json,
        _ => left,
    }
}
