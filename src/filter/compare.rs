//! Comparisons: which types can be compared, and how a literal converts to the type of the other
//! side.

use super::check::{Checker, whole};
use super::constant::{
    Constant, enum_member, exact_count, parse_bool, parse_number, parse_span, parse_time,
};
use super::fault::{Fault, FaultKind, FaultResult, Span};
use super::simplify::{all, comparison_test, not};
use super::syntax::{Ast, Comparison};
use super::tree::{List, RECORD, Scalar, Test};
use super::types::{Of, Type, TypedExpression, Value};

impl<'c> Checker<'c> {
    pub(super) fn comparison(
        &mut self,
        comparison: Comparison,
        left: &'c Ast,
        right: &'c Ast,
        span: Span,
    ) -> FaultResult<TypedExpression<'c>> {
        let left_typed = self.typed(left)?;
        let right_typed = self.typed(right)?;
        self.compare(comparison, (left_typed, left), (right_typed, right), span)
            .map(TypedExpression::Test)
    }

    pub(super) fn compare(
        &mut self,
        comparison: Comparison,
        (left, left_ast): (TypedExpression<'c>, &'c Ast),
        (right, right_ast): (TypedExpression<'c>, &'c Ast),
        span: Span,
    ) -> FaultResult<Test> {
        match (left.tested(), right.tested()) {
            (TypedExpression::Null, TypedExpression::Null) => {
                Ok(Test::Const(comparison == Comparison::Eq))
            }
            (TypedExpression::Null, other) => self.compare_null(comparison.mirrored(), other, span),
            (other, TypedExpression::Null) => self.compare_null(comparison, other, span),
            (TypedExpression::List(list, of), TypedExpression::Brackets(items))
            | (TypedExpression::Brackets(items), TypedExpression::List(list, of)) => {
                self.compare_brackets(comparison, list, of, items, span)
            }
            (TypedExpression::Many { .. }, TypedExpression::Many { .. }) => Err(Fault::new(
                FaultKind::TypeMismatch,
                span,
                "two paths through lists cannot be compared",
            )),
            (TypedExpression::Many { list, scope, body }, other) => {
                let body = (TypedExpression::Scalar(body), left_ast);
                self.compare_many(comparison, list, scope, body, (other, right_ast), span)
            }
            (other, TypedExpression::Many { list, scope, body }) => {
                let body = (TypedExpression::Scalar(body), right_ast);
                self.compare_many(comparison.mirrored(), list, scope, body, (other, left_ast), span)
            }
            (TypedExpression::Scalar(left), TypedExpression::Scalar(right)) => {
                self.compare_scalars(comparison, (left, left_ast), (right, right_ast), span)
            }
            (left, right) => {
                let (left, right) = (self.describe(&left), self.describe(&right));
                let message = format!("`{}` cannot compare {left} with {right}", comparison.sign());
                Err(Fault::new(FaultKind::TypeMismatch, span, message))
            }
        }
    }

    fn compare_null(
        &self,
        comparison: Comparison,
        other: TypedExpression<'c>,
        span: Span,
    ) -> FaultResult<Test> {
        if comparison.is_ordering() {
            return Ok(Test::Const(false));
        }
        let is_null = match other {
            TypedExpression::Scalar(Value { scalar: Scalar::Const(constant), .. }) => {
                Test::Const(constant == Constant::Null)
            }
            TypedExpression::Scalar(Value { scalar: Scalar::Test(_), .. }) => Test::Const(false),
            TypedExpression::Scalar(value) => Test::IsNull(value.scalar),
            TypedExpression::List(list, _) => Test::ListIsNull(list),
            TypedExpression::Many { list, scope, body } => {
                Test::Exists { list, scope, test: Box::new(Test::IsNull(body.scalar)) }
            }
            TypedExpression::Item { list, index, .. } => Test::IsNull(Scalar::at(list, index)),
            other => {
                let message = format!("{} is never null", self.describe(&other));
                return Err(Fault::new(FaultKind::TypeMismatch, span, message));
            }
        };
        Ok(if comparison == Comparison::Eq { is_null } else { not(is_null) })
    }

    /// Tests whether some value of the path compares so; for `!=`, whether none is equal.
    fn compare_many(
        &mut self,
        comparison: Comparison,
        list: List,
        scope: u32,
        body: (TypedExpression<'c>, &'c Ast),
        other: (TypedExpression<'c>, &'c Ast),
        span: Span,
    ) -> FaultResult<Test> {
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
    ) -> FaultResult<Test> {
        if comparison.is_ordering() {
            return Err(Fault::new(
                FaultKind::TypeMismatch,
                span,
                "a bracket list takes `=` and `!=` only",
            ));
        }
        let mut tests = Vec::with_capacity(items.len());
        for (key, value) in items {
            let key_text = self.bracket_text(key)?;
            tests.push(match (of, value, &list) {
                (Of::Scalar(Type::Text), None, _) => {
                    Test::Holds { list: list.clone(), value: key_text }
                }
                (Of::Pair, Some(value), List::Field(map)) => {
                    let right = self.bracket_text(value)?;
                    let left = Scalar::Entry { map: *map, key: Box::new(key_text) };
                    Test::Compare { left, comparison: Comparison::Eq, right }
                }
                _ => {
                    let message =
                        "a list is compared with [\"a\", \"b\"], a map with [\"key\": \"value\"]";
                    return Err(Fault::new(FaultKind::TypeMismatch, key.span, message));
                }
            });
        }
        let present = all(tests);
        Ok(if comparison == Comparison::Eq { present } else { not(present) })
    }

    fn bracket_text(&mut self, ast: &'c Ast) -> FaultResult<Scalar> {
        match self.typed(ast)? {
            TypedExpression::Scalar(Value {
                scalar: scalar @ Scalar::Const(Constant::Text(_)),
                ..
            }) => Ok(scalar),
            other => Err(self.wrong_type(ast.span, "a bracket list takes text only", &other)),
        }
    }

    fn compare_scalars(
        &mut self,
        comparison: Comparison,
        (left, left_ast): (Value, &'c Ast),
        (right, right_ast): (Value, &'c Ast),
        span: Span,
    ) -> FaultResult<Test> {
        if comparison.is_ordering() && (left.equality_only || right.equality_only) {
            let message = format!(
                "`{}` is not allowed here: the id supports `=` and `!=` only",
                comparison.sign()
            );
            return Err(Fault::new(FaultKind::OperatorNotAllowed, span, message));
        }
        let is_empty_text = |value: &Value| match &value.scalar {
            Scalar::Const(Constant::Text(text)) => text.is_empty(),
            _ => false,
        };
        let has_empty_text = is_empty_text(&left) || is_empty_text(&right);
        let (left, right) = self.unify((left, left_ast), (right, right_ast), span)?;
        let has_no_order = |ty: &Type| matches!(ty, Type::Bool | Type::Enum(_));
        if comparison.is_ordering()
            && let Some(ty) = [left.ty, right.ty].into_iter().find(has_no_order)
        {
            let message = format!("`{}` cannot order {ty}", comparison.sign());
            return Err(Fault::new(FaultKind::TypeMismatch, span, message));
        }
        for (constant, constant_ast, other) in
            [(&left, left_ast, &right), (&right, right_ast, &left)]
        {
            if matches!(constant.scalar, Scalar::Const(Constant::Null)) {
                // An ordering with empty text, where a time is expected, is a fault. Any other null
                // constant was computed, and compares like a null in a record.
                if comparison.is_ordering() && has_empty_text {
                    return Err(self.bad_value(constant_ast, "", "a date and time"));
                }
                return self.compare_null(comparison, TypedExpression::Scalar(other.clone()), span);
            }
        }
        Ok(comparison_test(left.scalar, comparison, right.scalar))
    }

    /// Converts two scalars to types that can be compared. Only a literal is converted.
    pub(super) fn unify(
        &self,
        (mut left, left_ast): (Value, &Ast),
        (mut right, right_ast): (Value, &Ast),
        span: Span,
    ) -> FaultResult<(Value, Value)> {
        if left.ty.is_id() {
            right = decimal_text(right, left.ty);
        } else if right.ty.is_id() {
            left = decimal_text(left, right.ty);
        }
        right = self.count_of_time(&left, right, right_ast)?;
        left = self.count_of_time(&right, left, left_ast)?;
        let is_text_literal = |value: &Value| value.literal && value.ty.is_text();
        if is_text_literal(&right) {
            right = self.fit(right, left.ty, right_ast, span)?;
        } else if is_text_literal(&left) {
            left = self.fit(left, right.ty, left_ast, span)?;
        }
        if left.ty.fits(right.ty) {
            return Ok((left, right));
        }
        let hint = self.conversion(&left, left_ast, &right, span);
        let hint =
            hint.or_else(|| self.conversion(&right, right_ast, &left, span)).unwrap_or_default();
        let message = format!("{} cannot be compared with {}{hint}", left.ty, right.ty);
        Err(Fault::new(FaultKind::TypeMismatch, span, message))
    }

    /// Converts a constant time, or a text that is one, to the counts of a column that it is
    /// compared with; returns other values unchanged.
    fn count_of_time(&self, column: &Value, value: Value, ast: &Ast) -> FaultResult<Value> {
        let Scalar::Field(place) = &column.scalar else { return Ok(value) };
        let columns = self.schema.columns.filter(|_| place.scope == RECORD);
        let Some(per_second) = columns.and_then(|columns| columns.per_second(place.index)) else {
            return Ok(value);
        };
        let count = match &value.scalar {
            Scalar::Const(Constant::Time(ms)) => {
                Some(i128::from(*ms) * i128::from(per_second / 1000))
            }
            Scalar::Const(Constant::Text(text))
                if value.literal && parse_number(text).is_none() =>
            {
                if text.is_empty() {
                    return Ok(Value::literal(Constant::Null, Type::Int));
                }
                let digits = per_second.ilog10();
                let expected = format!("a number, or a date and time of at most {digits} digits");
                let bad = || self.bad_value(ast, text, &expected);
                Some(exact_count(text, per_second).ok_or_else(bad)?)
            }
            _ => None,
        };
        Ok(match count.map(|count| (count, i64::try_from(count))) {
            None => value,
            Some((_, Ok(count))) => Value::literal(Constant::Int(count), Type::Int),
            // Beyond all cells of the column. The nearest double may be the least of them.
            Some((count, Err(_))) => {
                let beyond = if count < 0 { f64::NEG_INFINITY } else { f64::INFINITY };
                Value::literal(Constant::Double(beyond), Type::Double)
            }
        })
    }

    /// How a text, such as a property, is compared with `other`; `None` if it is no text.
    fn conversion(&self, text: &Value, ast: &Ast, other: &Value, at: Span) -> Option<String> {
        let function = match other.ty {
            // An integer of a text would be rounded.
            Type::Int | Type::Double => "ToDecimal",
            Type::Bool => "ToBoolean",
            Type::Time => "ToDateTime",
            _ => return None,
        };
        // The span of an expression is that of its operator; one on the left ends before `at`.
        let end = if ast.start.from < at.from { at.from } else { whole(ast).to };
        let shown = Span::new(ast.start.from, end).text(self.source).trim();
        let is_whole = shown.matches(['(', '[']).count() == shown.matches([')', ']']).count();
        let shown = if is_whole && !shown.is_empty() { shown } else { "…" };
        text.ty.is_text().then(|| format!("; convert it: `SafeConvert.{function}({shown})`"))
    }

    /// Converts a literal to the type of the other side; empty text becomes null if that is a time.
    pub(super) fn fit(&self, value: Value, ty: Type, ast: &Ast, span: Span) -> FaultResult<Value> {
        let Scalar::Const(Constant::Text(text)) = &value.scalar else {
            if value.ty.fits(ty) {
                return Ok(value);
            }
            let message = format!("{ty} cannot be compared with {}", value.ty);
            return Err(Fault::new(FaultKind::TypeMismatch, span, message));
        };
        let bad = || self.bad_value(ast, text, &ty.to_string());
        let constant = match ty {
            Type::Text | Type::Reference | Type::Json => return Ok(value),
            Type::Object => {
                let message = format!("{ty} can only be compared with null, not with {}", value.ty);
                return Err(Fault::new(FaultKind::TypeMismatch, span, message));
            }
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
}

/// Converts an integer literal that is compared with an id of this type to its decimal text;
/// returns other values unchanged.
fn decimal_text(value: Value, ty: Type) -> Value {
    match &value.scalar {
        Scalar::Const(Constant::Int(number)) if value.literal => {
            Value::literal(Constant::text(number.to_string()), ty)
        }
        _ => value,
    }
}
