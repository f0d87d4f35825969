//! Functions, and the static methods of type names.

use super::TextSearch;
use super::check::Checker;
use super::constant::{Constant, DAY_MS, calendar, parse_span, parse_time};
use super::fault::{Fault, FaultKind, FaultResult, did_you_mean};
use super::simplify::{comparison_test, folded, not};
use super::syntax::{Arg, Ast, Comparison};
use super::tree::{Cast, Scalar, Test};
use super::types::{Of, Type, TypedExpression, Value};

const TYPES: &[&str] =
    &["string", "DateTime", "TimeSpan", "RelativeTime", "Convert", "SafeConvert"];
const FUNCTIONS: &[&str] = &["DateTime", "TimeSpan", "iif", "isnan", "isnull", "np", "search"];

pub(super) fn is_type_name(name: &str) -> bool {
    TYPES.iter().any(|known| name.eq_ignore_ascii_case(known))
}

impl<'c> Checker<'c> {
    /// A method of a type: `string.IsNullOrEmpty(x)`.
    pub(super) fn static_method(
        &mut self,
        ast: &'c Ast,
        type_name: &str,
        name: &'c str,
        args: &'c [Arg],
    ) -> FaultResult<TypedExpression<'c>> {
        let of = |expected: &str| type_name.eq_ignore_ascii_case(expected);
        let is = |expected: &str| name.eq_ignore_ascii_case(expected);
        if of("string") && is("IsNullOrEmpty") {
            let [arg] = self.exactly(ast, name, args)?;
            return self.null_or_empty(ast, arg).map(TypedExpression::Test);
        }
        if of("DateTime") && is("Parse") {
            let [arg] = self.exactly(ast, name, args)?;
            return self.cast_time(ast, arg);
        }
        if of("TimeSpan") && is("Parse") {
            let [arg] = self.exactly(ast, name, args)?;
            return self.cast_span(ast, arg);
        }
        const UNITS: [(&str, i64); 5] = [
            ("FromDays", DAY_MS),
            ("FromHours", 3_600_000),
            ("FromMinutes", 60_000),
            ("FromSeconds", 1000),
            ("FromMilliseconds", 1),
        ];
        if let Some((_, unit_ms)) = UNITS.iter().find(|(unit, _)| of("TimeSpan") && is(unit)) {
            let [arg] = self.exactly(ast, name, args)?;
            let value = self.scalar(arg, ast.span)?;
            if !value.ty.is_number() {
                return Err(self
                    .wrong_arguments(ast, format!("`{name}` takes a number, found {}", value.ty)));
            }
            let scalar = Scalar::Cast(Box::new(value.scalar), Cast::Units(*unit_ms));
            return Ok(TypedExpression::Scalar(folded(Value::new(scalar, Type::Span))));
        }
        if of("Convert") || of("SafeConvert") {
            if let Some(typed) = self.convert(ast, name, args)? {
                return Ok(typed);
            }
        }
        let known: &[&str] = match () {
            () if of("string") => &["IsNullOrEmpty"],
            () if of("DateTime") => &["Parse"],
            () if of("TimeSpan") => {
                &["Parse", "FromDays", "FromHours", "FromMinutes", "FromSeconds"]
            }
            () if of("RelativeTime") => &[],
            () => &["ToDecimal", "ToDouble", "ToInt32", "ToInt64", "ToBoolean", "ToDateTime"],
        };
        Err(self.unknown_method(ast, name, known))
    }

    fn convert(
        &mut self,
        ast: &'c Ast,
        name: &'c str,
        args: &'c [Arg],
    ) -> FaultResult<Option<TypedExpression<'c>>> {
        let is =
            |expected: &[&str]| expected.iter().any(|expected| name.eq_ignore_ascii_case(expected));
        let (cast, ty) = match () {
            () if is(&["ToDecimal", "ToDouble", "ToSingle"]) => (Cast::Number, Type::Double),
            () if is(&["ToInt16", "ToInt32", "ToInt64"]) => (Cast::Integer, Type::Int),
            () if is(&["ToBoolean"]) => (Cast::Bool, Type::Bool),
            () if is(&["ToDateTime"]) => (Cast::Time, Type::Time),
            () => return Ok(None),
        };
        let [arg] = self.exactly(ast, name, args)?;
        let value = match self.typed(arg)? {
            TypedExpression::Null => Value::new(Scalar::Const(Constant::Null), Type::Text),
            TypedExpression::Scalar(value) if !matches!(value.ty, Type::Span | Type::Enum(_)) => {
                value
            }
            other => {
                let message = format!("`{name}` does not take {}", self.describe(&other));
                return Err(self.wrong_arguments(ast, message));
            }
        };
        Ok(Some(TypedExpression::Scalar(folded(Value::new(
            Scalar::Cast(Box::new(value.scalar), cast),
            ty,
        )))))
    }

    /// A cast of a property or text to a time.
    fn cast_time(&mut self, ast: &'c Ast, arg: &'c Ast) -> FaultResult<TypedExpression<'c>> {
        match self.typed(arg)? {
            TypedExpression::Null => Ok(TypedExpression::Null),
            typed => {
                let parse = |text: &str| parse_time(text).map(Constant::Time);
                let takes = "`DateTime` takes a date or text";
                self.cast(ast, (typed, arg), Type::Time, parse, Cast::Time, takes)
            }
        }
    }

    fn cast_span(&mut self, ast: &'c Ast, arg: &'c Ast) -> FaultResult<TypedExpression<'c>> {
        let typed = self.typed(arg)?;
        let parse = |text: &str| parse_span(text).map(Constant::Span);
        self.cast(ast, (typed, arg), Type::Span, parse, Cast::Span, "`TimeSpan` takes text")
    }

    /// A cast of a value of this type, a literal that `parse` reads, or a text.
    fn cast(
        &self,
        ast: &'c Ast,
        (typed, arg): (TypedExpression<'c>, &'c Ast),
        ty: Type,
        parse: fn(&str) -> Option<Constant>,
        cast: Cast,
        takes: &str,
    ) -> FaultResult<TypedExpression<'c>> {
        match typed {
            TypedExpression::Scalar(Value {
                scalar: Scalar::Const(Constant::Text(text)), ..
            }) => match parse(&text) {
                Some(constant) => Ok(TypedExpression::literal(constant, ty)),
                None => Err(self.bad_value(arg, &text, &ty.to_string())),
            },
            TypedExpression::Scalar(value) if value.ty.may_be_text() => {
                Ok(TypedExpression::value(Scalar::Cast(Box::new(value.scalar), cast), ty))
            }
            TypedExpression::Scalar(value)
                if std::mem::discriminant(&value.ty) == std::mem::discriminant(&ty) =>
            {
                Ok(TypedExpression::Scalar(value))
            }
            other => Err(self.wrong_argument(ast, takes, &other)),
        }
    }

    /// Arguments that are integer constants.
    fn integers(&mut self, ast: &'c Ast, args: &'c [Arg]) -> FaultResult<Vec<i64>> {
        let mut integers = Vec::with_capacity(args.len());
        for arg in args {
            match self.typed(&arg.body)? {
                TypedExpression::Scalar(Value {
                    scalar: Scalar::Const(Constant::Int(value)),
                    ..
                }) if arg.parameter.is_none() => {
                    integers.push(value);
                }
                other => {
                    return Err(self.wrong_argument(ast, "expected integer constants", &other));
                }
            }
        }
        Ok(integers)
    }

    pub(super) fn call(
        &mut self,
        ast: &'c Ast,
        name: &'c str,
        args: &'c [Arg],
    ) -> FaultResult<TypedExpression<'c>> {
        let is = |expected: &str| name.eq_ignore_ascii_case(expected);
        if is("DateTime") {
            return self.date_time(ast, args);
        }
        if is("TimeSpan") {
            return self.time_span(ast, args);
        }
        if is("iif") {
            let [condition, yes, no] = self.exactly(ast, name, args)?;
            return self.conditional(condition, yes, no, ast.span);
        }
        if is("isnan") {
            let [arg] = self.exactly(ast, name, args)?;
            let value = self.scalar(arg, ast.span)?;
            // Only a field can be NaN: a computed NaN is null. The test has its operand twice, so
            // nested ones would double the tree at each level.
            if !value.ty.is_number() || !matches!(value.scalar, Scalar::Field(_)) {
                let message = format!("`isnan` takes a field with numbers, found {}", value.ty);
                return Err(self.wrong_arguments(ast, message));
            }
            // Only NaN differs from itself.
            let same = comparison_test(value.scalar.clone(), Comparison::Eq, value.scalar);
            return Ok(TypedExpression::Test(not(same)));
        }
        if is("isnull") || (is("np") && args.len() == 2) {
            let [first, second] = self.exactly(ast, name, args)?;
            return self.coalesce(first, second, ast.span);
        }
        if is("np") {
            // Paths are null-safe anyway.
            let [path] = self.exactly(ast, name, args)?;
            return self.typed(path);
        }
        if is("search") && self.schema.search {
            return self.search(ast, args);
        }
        let innermost = self.scopes.len() - 1;
        if let Some(Of::Scalar(_) | Of::Map) = self.scopes.get(innermost).and_then(|scope| scope.of)
        {
            // Inside a collection method a bare call is a method of the element.
            let element = self.members(TypedExpression::Scope(innermost), &[])?;
            return self.invoke(ast, element, ast, name, args);
        }
        let message = format!(
            "there is no function `{name}`{}",
            did_you_mean(name, FUNCTIONS.iter().copied())
        );
        Err(Fault::new(FaultKind::UnknownFunction, ast.span, message))
    }

    fn date_time(&mut self, ast: &'c Ast, args: &'c [Arg]) -> FaultResult<TypedExpression<'c>> {
        if args.len() == 1 {
            let [arg] = self.exactly(ast, "DateTime", args)?;
            return self.cast_time(ast, arg);
        }
        let parts = self.integers(ast, args)?;
        let parts = match *parts.as_slice() {
            [year, month, day] => [year, month, day, 0, 0, 0],
            [year, month, day, hour, minute, second] => [year, month, day, hour, minute, second],
            _ => {
                let message = format!("`DateTime` takes 1, 3 or 6 arguments, found {}", args.len());
                return Err(self.wrong_arguments(ast, message));
            }
        };
        match calendar(parts) {
            Some(time) => Ok(TypedExpression::literal(Constant::Time(time), Type::Time)),
            None => {
                Err(Fault::new(FaultKind::BadValue, ast.span, "there is no such date and time"))
            }
        }
    }

    fn time_span(&mut self, ast: &'c Ast, args: &'c [Arg]) -> FaultResult<TypedExpression<'c>> {
        let parts = self.integers(ast, args)?;
        let (days, hours, minutes, seconds) = match *parts.as_slice() {
            [days, hours, minutes, seconds] => (days, hours, minutes, seconds),
            [hours, minutes, seconds] => (0, hours, minutes, seconds),
            _ => {
                let message = format!("`TimeSpan` takes 3 or 4 arguments, found {}", args.len());
                return Err(self.wrong_arguments(ast, message));
            }
        };
        let scaled = |value: i64, unit: i64| value.checked_mul(unit);
        let total = scaled(days, DAY_MS)
            .zip(scaled(hours, 3_600_000))
            .and_then(|(days, hours)| days.checked_add(hours))
            .zip(scaled(minutes, 60_000))
            .and_then(|(sum, minutes)| sum.checked_add(minutes))
            .zip(scaled(seconds, 1000))
            .and_then(|(sum, seconds)| sum.checked_add(seconds));
        match total {
            Some(total) => Ok(TypedExpression::literal(Constant::Span(total), Type::Span)),
            None => Err(Fault::new(FaultKind::BadValue, ast.span, "the time span is too long")),
        }
    }

    fn search(&mut self, ast: &'c Ast, args: &'c [Arg]) -> FaultResult<TypedExpression<'c>> {
        let [arg] = self.exactly(ast, "search", args)?;
        match self.typed(arg)? {
            TypedExpression::Scalar(Value {
                scalar: Scalar::Const(Constant::Text(text)), ..
            }) => {
                let offset = self.source.get(..arg.span.from).unwrap_or_default().chars().count();
                self.searches.push(TextSearch { text: text.as_ref().to_owned(), offset });
                Ok(TypedExpression::Test(Test::Search(self.searches.len() - 1)))
            }
            other => Err(self.wrong_argument(ast, "`search` takes a text", &other)),
        }
    }
}
