//! Methods of values, lists and maps.

use super::check::Checker;
use super::constant::Constant;
use super::fault::{Fault, FaultKind, FaultResult, did_you_mean};
use super::functions::is_type_name;
use super::names::counted;
use super::simplify::{folded, match_test, not};
use super::syntax::{Arg, Ast, Comparison, Node};
use super::tree::{How, List, Scalar, Test};
use super::types::{Of, Type, TypedExpression, Value};

const TEXT_METHODS: &[&str] = &[
    "Contains",
    "StartsWith",
    "EndsWith",
    "ToLower",
    "ToUpper",
    "Equals",
    "Length",
    "Trim",
    "IndexOf",
    "Substring",
];
const LIST_METHODS: &[&str] = &["Contains", "Any", "All", "Count", "First"];
const MAP_METHODS: &[&str] = &["ContainsKey", "Any", "All", "Count"];

impl<'c> Checker<'c> {
    pub(super) fn method(
        &mut self,
        ast: &'c Ast,
        left: &'c Ast,
        name: &'c str,
        args: &'c [Arg],
    ) -> FaultResult<TypedExpression<'c>> {
        if let Node::Name(type_name) = &left.node {
            if is_type_name(type_name) {
                return self.static_method(ast, type_name, name, args);
            }
        }
        if let Node::Array(items) = &left.node {
            if name.eq_ignore_ascii_case("contains") {
                let [value] = self.exactly(ast, name, args)?;
                let typed = self.typed(value)?;
                return self.membership((typed, value), items, ast.span).map(TypedExpression::Test);
            }
        }
        let receiver = self.typed(left)?;
        self.invoke(ast, receiver, left, name, args)
    }

    /// Types a method of a value that is already typed.
    pub(super) fn invoke(
        &mut self,
        ast: &'c Ast,
        receiver: TypedExpression<'c>,
        left: &'c Ast,
        name: &'c str,
        args: &'c [Arg],
    ) -> FaultResult<TypedExpression<'c>> {
        let known = match receiver.tested() {
            TypedExpression::Scalar(value) => {
                return self.value_method(ast, value, left, name, args);
            }
            TypedExpression::Many { list, scope, body } => {
                return self.many_method(ast, (list, scope, body), left, name, args);
            }
            TypedExpression::List(list, of) => {
                if let Some(typed) = self.list_method(ast, list, of, name, args)? {
                    return Ok(typed);
                }
                if matches!(of, Of::Pair) { MAP_METHODS } else { LIST_METHODS }
            }
            _ => &[],
        };
        Err(self.unknown_method(ast, name, known))
    }

    pub(super) fn unknown_method(&self, ast: &Ast, name: &str, known: &[&'static str]) -> Fault {
        let message = format!(
            "there is no method `{name}` here{}",
            did_you_mean(name, known.iter().copied())
        );
        Fault::new(FaultKind::UnknownFunction, ast.span, message)
    }

    pub(super) fn wrong_arguments(&self, ast: &Ast, message: impl Into<String>) -> Fault {
        Fault::new(FaultKind::WrongArguments, ast.span, message)
    }

    /// Exactly `N` arguments, none of them with a parameter.
    pub(super) fn exactly<const N: usize>(
        &self,
        ast: &Ast,
        name: &str,
        args: &'c [Arg],
    ) -> FaultResult<[&'c Ast; N]> {
        let plain = args.iter().all(|arg| arg.parameter.is_none());
        let bodies: Vec<&Ast> = args.iter().map(|arg| &arg.body).collect();
        match <[&Ast; N]>::try_from(bodies) {
            Ok(bodies) if plain => Ok(bodies),
            _ => Err(self.wrong_arguments(
                ast,
                format!("`{name}` takes {N} argument(s), found {}", args.len()),
            )),
        }
    }

    /// One argument that is text.
    fn text_argument(&mut self, ast: &'c Ast, name: &str, arg: &'c Ast) -> FaultResult<Scalar> {
        match self.typed(arg)? {
            TypedExpression::Scalar(value) if value.ty.may_be_text() => Ok(value.scalar),
            other => Err(self.wrong_argument(ast, &format!("`{name}` takes text"), &other)),
        }
    }

    fn integer_argument(&mut self, ast: &'c Ast, name: &str, arg: &'c Ast) -> FaultResult<Scalar> {
        match self.typed(arg)? {
            TypedExpression::Scalar(value) if matches!(value.ty, Type::Int) => Ok(value.scalar),
            other => Err(self.wrong_argument(ast, &format!("`{name}` takes an integer"), &other)),
        }
    }

    fn value_method(
        &mut self,
        ast: &'c Ast,
        value: Value,
        left: &'c Ast,
        name: &'c str,
        args: &'c [Arg],
    ) -> FaultResult<TypedExpression<'c>> {
        let is = |expected: &str| name.eq_ignore_ascii_case(expected);
        if is("equals") {
            let [other] = self.exactly(ast, name, args)?;
            let other_typed = self.typed(other)?;
            // A missing value has no method to call, so `Equals` is false for it, also with a null
            // argument.
            if matches!(other_typed, TypedExpression::Null) {
                return Ok(TypedExpression::Test(Test::Const(false)));
            }
            let receiver = (TypedExpression::Scalar(value), left);
            return self
                .compare(Comparison::Eq, receiver, (other_typed, other), ast.span)
                .map(TypedExpression::Test);
        }
        if !value.ty.may_be_text() {
            return Err(self.unknown_method(ast, name, &["Equals"]));
        }
        if !TEXT_METHODS.iter().any(|known| is(known)) {
            return Err(self.unknown_method(ast, name, TEXT_METHODS));
        }
        if value.equality_only {
            let message =
                format!("`{name}` is not allowed here: the id supports `=` and `!=` only");
            return Err(Fault::new(FaultKind::OperatorNotAllowed, ast.span, message));
        }
        let literal = value.literal;
        let text = Box::new(value.scalar);
        let (scalar, ty) = match () {
            () if is("contains") || is("startswith") || is("endswith") => {
                let [part] = self.exactly(ast, name, args)?;
                let part = self.text_argument(ast, name, part)?;
                let how = match () {
                    () if is("contains") => How::Contains,
                    () if is("startswith") => How::Starts,
                    () => How::Ends,
                };
                return Ok(TypedExpression::Test(match_test(*text, how, part)));
            }
            () if is("tolower") || is("toupper") => {
                let [] = self.exactly(ast, name, args)?;
                (Scalar::Case { text, upper: is("toupper") }, Type::Text)
            }
            () if is("trim") => {
                let [] = self.exactly(ast, name, args)?;
                (Scalar::Trim(text), Type::Text)
            }
            () if is("length") => {
                let [] = self.exactly(ast, name, args)?;
                (Scalar::Length(text), Type::Int)
            }
            () if is("indexof") => {
                let [part] = self.exactly(ast, name, args)?;
                (Scalar::IndexOf(text, Box::new(self.text_argument(ast, name, part)?)), Type::Int)
            }
            () if args.len() == 1 => {
                let [from] = self.exactly(ast, name, args)?;
                let from = Box::new(self.integer_argument(ast, name, from)?);
                (Scalar::Substring(text, from, None), Type::Text)
            }
            () => {
                let [from, len] = self.exactly(ast, name, args)?;
                let from = Box::new(self.integer_argument(ast, name, from)?);
                let len = Box::new(self.integer_argument(ast, name, len)?);
                (Scalar::Substring(text, from, Some(len)), Type::Text)
            }
        };
        Ok(TypedExpression::Scalar(folded(Value { scalar, ty, literal, equality_only: false })))
    }

    /// Types a method of a path: list methods apply to all values, text methods to each of them.
    fn many_method(
        &mut self,
        ast: &'c Ast,
        (list, scope, body): (List, u32, Value),
        left: &'c Ast,
        name: &'c str,
        args: &'c [Arg],
    ) -> FaultResult<TypedExpression<'c>> {
        let is_list_method =
            ["any", "all", "count", "first"].iter().any(|known| name.eq_ignore_ascii_case(known));
        if is_list_method {
            let of = Of::Scalar(body.ty);
            let path = List::Path { list: Box::new(list), scope, body: Box::new(body.scalar) };
            return match self.list_method(ast, path, of, name, args)? {
                Some(typed) => Ok(typed),
                None => Err(self.unknown_method(ast, name, LIST_METHODS)),
            };
        }
        match self.value_method(ast, body, left, name, args)? {
            TypedExpression::Test(test) => {
                Ok(TypedExpression::Test(Test::Exists { list, scope, test: Box::new(test) }))
            }
            TypedExpression::Scalar(body) => Ok(TypedExpression::Many { list, scope, body }),
            other => Ok(other),
        }
    }

    fn list_method(
        &mut self,
        ast: &'c Ast,
        list: List,
        of: Of,
        name: &'c str,
        args: &'c [Arg],
    ) -> FaultResult<Option<TypedExpression<'c>>> {
        let is = |expected: &str| name.eq_ignore_ascii_case(expected);
        if is("any") || is("all") || is("count") {
            let predicate = match args {
                [] => None,
                [arg] => Some(self.predicate(of, arg)?),
                _ => {
                    let message = format!("`{name}` takes one condition, found {}", args.len());
                    return Err(self.wrong_arguments(ast, message));
                }
            };
            return Ok(Some(match predicate {
                None if is("any") => TypedExpression::Test(Test::NotEmpty(list)),
                None if is("count") => counted(list),
                None => return Err(self.wrong_arguments(ast, "`All` needs a condition")),
                Some((scope, test)) => {
                    let boxed = Box::new(test);
                    if is("any") {
                        TypedExpression::Test(Test::Exists { list, scope, test: boxed })
                    } else if is("all") {
                        TypedExpression::Test(Test::Every { list, scope, test: boxed })
                    } else {
                        let scalar = Scalar::Count {
                            list,
                            filter: Some((scope, boxed)),
                            null_is_zero: false,
                        };
                        TypedExpression::value(scalar, Type::Int)
                    }
                }
            }));
        }
        match (list, of) {
            (List::Field(map), Of::Pair) if is("containskey") => {
                let [key] = self.exactly(ast, name, args)?;
                let key = self.text_argument(ast, name, key)?;
                Ok(Some(TypedExpression::Test(Test::HasKey { map, key })))
            }
            (_, Of::Pair) => Ok(None),
            (list, Of::Scalar(_)) if is("contains") => {
                let [value] = self.exactly(ast, name, args)?;
                let typed = self.typed(value)?;
                let list = TypedExpression::List(list, of);
                let test =
                    self.list_holds(list, (typed, value), ast.span, FaultKind::WrongArguments)?;
                Ok(Some(TypedExpression::Test(test)))
            }
            (list, of) if is("first") => {
                let [] = self.exactly(ast, name, args)?;
                let index = Scalar::Const(Constant::Int(0));
                Ok(Some(match of {
                    Of::Scalar(ty) => TypedExpression::value(Scalar::at(list, index), ty),
                    Of::Rows(_) | Of::Map => TypedExpression::Item { list, index, of },
                    Of::Pair => return Ok(None),
                }))
            }
            _ => Ok(None),
        }
    }

    /// Tests whether `x` is null or empty.
    pub(super) fn null_or_empty(&mut self, ast: &'c Ast, arg: &'c Ast) -> FaultResult<Test> {
        match self.typed(arg)? {
            TypedExpression::Null => Ok(Test::Const(true)),
            TypedExpression::Scalar(Value {
                scalar: Scalar::Const(Constant::Text(text)), ..
            }) => Ok(Test::Const(text.is_empty())),
            TypedExpression::Scalar(value) if value.ty.may_be_text() => {
                Ok(Test::NullOrEmpty(value.scalar))
            }
            TypedExpression::Many { list, scope, body } if body.ty.may_be_text() => {
                Ok(Test::Exists { list, scope, test: Box::new(Test::NullOrEmpty(body.scalar)) })
            }
            TypedExpression::List(list, _) => Ok(not(Test::NotEmpty(list))),
            other => Err(self.wrong_argument(ast, "`IsNullOrEmpty` takes text or a list", &other)),
        }
    }
}
