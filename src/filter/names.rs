//! Resolves names: a member of an element, a property of the record, an entry of a map, or a lambda
//! parameter.

use super::check::Checker;
use super::constant::Constant;
use super::fault::{Fault, FaultKind, FaultResult, Span, did_you_mean};
use super::syntax::{Ast, Node};
use super::tree::{FieldPath, List, RECORD, Scalar};
use super::types::{Of, Type, TypedExpression, Value};
use crate::value::{FieldDecl, FieldType, Ops};

/// A name of a dotted path, and its span.
type Segment<'c> = (&'c str, Span);

/// Maximum number of dotted parts of a field name; no path of a resource has more.
const PARTS: usize = 8;

impl<'c> Checker<'c> {
    /// Types a name, or names joined by dots after any expression.
    pub(super) fn path(&mut self, ast: &'c Ast) -> FaultResult<TypedExpression<'c>> {
        let mut segments: Vec<Segment<'c>> = Vec::new();
        let mut base = ast;
        while let Node::Member(left, name) = &base.node {
            segments.push((name, base.span));
            base = left;
        }
        segments.reverse();
        let innermost = self.scopes.len() - 1;
        match &base.node {
            Node::Name(name) => {
                segments.insert(0, (name, base.span));
                self.named(&segments)
            }
            Node::It => self.members(TypedExpression::Scope(innermost), &segments),
            Node::Parent => {
                self.members(TypedExpression::Scope(innermost.saturating_sub(1)), &segments)
            }
            Node::Root => self.members(TypedExpression::Scope(0), &segments),
            _ => {
                let typed = self.typed(base)?;
                self.members(typed, &segments)
            }
        }
    }

    fn named(&mut self, segments: &[Segment<'c>]) -> FaultResult<TypedExpression<'c>> {
        let Some(((name, span), rest)) = segments.split_first() else {
            return Ok(TypedExpression::Null);
        };
        let is_parameter = |parameter: Option<&str>| {
            parameter.is_some_and(|known| known.eq_ignore_ascii_case(name))
        };
        if let Some(scope) = self.scopes.iter().rposition(|scope| is_parameter(scope.parameter)) {
            return self.members(TypedExpression::Scope(scope), rest);
        }
        for scope in (0..self.scopes.len()).rev() {
            if let Some((typed, used)) = self.lookup(scope, segments) {
                return self.members(typed, segments.get(used..).unwrap_or_default());
            }
        }
        if let [(unit, unit_span)] = rest {
            if name.eq_ignore_ascii_case("RelativeTime") {
                return match self.times.since_start_of(unit) {
                    Some(span) => Ok(TypedExpression::literal(Constant::Span(span), Type::Span)),
                    None => {
                        let known = ["CurrentDay", "CurrentWeek", "CurrentMonth", "CurrentYear"];
                        let message =
                            format!("there is no RelativeTime.{unit}{}", did_you_mean(unit, known));
                        Err(Fault::new(FaultKind::UnknownFunction, *unit_span, message))
                    }
                };
            }
        }
        let end = segments.last().map_or(span.to, |(_, span)| span.to);
        Err(self.unknown(Span::new(span.from, end)))
    }

    /// Finds the longest path that a scope knows; returns its type and the number of names in it.
    fn lookup(
        &mut self,
        scope: usize,
        segments: &[Segment<'c>],
    ) -> Option<(TypedExpression<'c>, usize)> {
        match self.scopes.get(scope)?.of {
            None if self.schema.columns.is_some() => {
                let columns = self.schema.columns?;
                let (used, (index, ty)) =
                    (1..=segments.len().min(PARTS)).rev().find_map(|used| {
                        let names: Vec<&str> =
                            segments.get(..used)?.iter().map(|(name, _)| *name).collect();
                        Some((used, columns.find(&names.join("."))?))
                    })?;
                Some((self.column(index, ty, segments.first()?.1), used))
            }
            None => {
                let (index, decl, used) =
                    find_in(self.schema.fields, self.schema.renames, segments)?;
                // The members of an object are fields with longer paths, so this is not one of
                // them.
                if matches!(decl.ty, FieldType::Object) && used < segments.len() {
                    return None;
                }
                let span = segments.first()?.1;
                self.fields.entry(index).or_insert(span);
                Some((self.field(FieldPath { scope: RECORD, index }, &decl), used))
            }
            Some(Of::Rows(fields)) => {
                let (index, decl, used) = find_in(fields, &[], segments)?;
                let place = self.place(scope, index);
                Some((self.field(place, &decl), used))
            }
            Some(Of::Pair) => {
                let number = self.scopes.get(scope)?.number;
                let name = segments.first()?.0;
                let scalar = if name.eq_ignore_ascii_case("key") {
                    Scalar::Key(number)
                } else if name.eq_ignore_ascii_case("value") {
                    Scalar::Value(number)
                } else {
                    return None;
                };
                Some((TypedExpression::value(scalar, Type::Text), 1))
            }
            // Every name is a key, so the names of the scopes around are hidden.
            Some(Of::Map) => {
                let name = segments.first()?.0;
                let is_relative = segments.len() == 2 && name.eq_ignore_ascii_case("RelativeTime");
                let map = FieldPath::element(self.scopes.get(scope)?.number);
                (!is_relative).then(|| (TypedExpression::Scalar(entry_named(map, name)), 1))
            }
            Some(Of::Scalar(_)) => None,
        }
    }

    fn column(&mut self, index: usize, ty: FieldType, span: Span) -> TypedExpression<'c> {
        self.fields.entry(index).or_insert(span);
        self.field(FieldPath { scope: RECORD, index }, &FieldDecl::new("", ty))
    }

    fn field(&self, place: FieldPath, decl: &FieldDecl) -> TypedExpression<'c> {
        let scalar = |ty| {
            let equality_only = decl.ops == Ops::Equality;
            TypedExpression::Scalar(Value {
                scalar: Scalar::Field(place),
                ty,
                literal: false,
                equality_only,
            })
        };
        match decl.ty {
            FieldType::Bool => scalar(Type::Bool),
            FieldType::String | FieldType::WorkspaceName | FieldType::ProductName => {
                scalar(Type::Text)
            }
            FieldType::DecimalId => scalar(Type::Id),
            FieldType::Reference => scalar(Type::Reference),
            FieldType::Object => scalar(Type::Object),
            FieldType::Int => scalar(Type::Int),
            FieldType::Double => scalar(Type::Double),
            FieldType::Time => scalar(Type::Time),
            FieldType::Within => {
                let reference_ms = self.times.reference_ms();
                TypedExpression::value(Scalar::Within { time: place, reference_ms }, Type::Span)
            }
            FieldType::Enum(members) => scalar(Type::Enum(members)),
            FieldType::Strings => TypedExpression::List(List::Field(place), Of::Scalar(Type::Text)),
            FieldType::Map => TypedExpression::List(List::Field(place), Of::Pair),
            FieldType::Maps => TypedExpression::List(List::Field(place), Of::Map),
            FieldType::Json => TypedExpression::value(Scalar::Json(place), Type::Json),
            FieldType::Rows(fields) => TypedExpression::List(List::Field(place), Of::Rows(fields)),
        }
    }

    /// Resolves members of a value, one after the other.
    pub(super) fn members(
        &mut self,
        typed: TypedExpression<'c>,
        segments: &[Segment<'c>],
    ) -> FaultResult<TypedExpression<'c>> {
        let mut typed = match typed {
            // The element itself, if it is a scalar or a map.
            TypedExpression::Scope(scope) => match self.scopes.get(scope) {
                Some(found) => match found.of {
                    Some(Of::Scalar(ty)) => {
                        TypedExpression::value(Scalar::Element(found.number), ty)
                    }
                    Some(Of::Map) => {
                        let map = FieldPath::element(found.number);
                        TypedExpression::List(List::Field(map), Of::Pair)
                    }
                    _ => TypedExpression::Scope(scope),
                },
                None => typed,
            },
            other => other,
        };
        let mut rest = segments;
        while let Some((_, span)) = rest.first() {
            let Some((next, used)) = self.member(typed, rest) else {
                return Err(self.unknown(*span));
            };
            typed = next;
            rest = rest.get(used..).unwrap_or_default();
        }
        Ok(typed)
    }

    fn member(
        &mut self,
        typed: TypedExpression<'c>,
        segments: &[Segment<'c>],
    ) -> Option<(TypedExpression<'c>, usize)> {
        let name = segments.first()?.0;
        let is = |expected: &str| name.eq_ignore_ascii_case(expected);
        let one = |typed| Some((typed, 1));
        match typed {
            TypedExpression::Scope(scope) => self.lookup(scope, segments),
            TypedExpression::List(list, _) if is("count") => one(counted(list)),
            TypedExpression::List(List::Field(map), Of::Pair) => one(if is("keys") {
                TypedExpression::List(List::Keys(map), Of::Scalar(Type::Text))
            } else if is("values") {
                TypedExpression::List(List::Values(map), Of::Scalar(Type::Text))
            } else {
                TypedExpression::Scalar(entry_named(map, name))
            }),
            TypedExpression::List(list, of) => {
                let (scope, body, used) = self.member_of_each(of, segments)?;
                Some((TypedExpression::Many { list, scope, body }, used))
            }
            TypedExpression::Item { list, index, of } => {
                let (scope, body, used) = self.member_of_each(of, segments)?;
                Some((TypedExpression::Scalar(of_item(list, index, scope, body)), used))
            }
            TypedExpression::Scalar(value)
                if value.ty.may_be_text() && !value.equality_only && is("length") =>
            {
                one(TypedExpression::Scalar(length(value)))
            }
            TypedExpression::Many { list, scope, body }
                if body.ty.may_be_text() && !body.equality_only && is("length") =>
            {
                one(TypedExpression::Many { list, scope, body: length(body) })
            }
            _ => None,
        }
    }

    /// A member of the elements of a list, in a scope of its own, and how many names it takes.
    fn member_of_each(&mut self, of: Of, segments: &[Segment<'c>]) -> Option<(u32, Value, usize)> {
        let scope = self.new_scope();
        match of {
            Of::Rows(fields) => {
                let (index, decl, used) = find_in(fields, &[], segments)?;
                match self.field(FieldPath { scope, index }, &decl) {
                    TypedExpression::Scalar(body) => Some((scope, body, used)),
                    _ => None,
                }
            }
            Of::Map => {
                Some((scope, entry_named(FieldPath::element(scope), segments.first()?.0), 1))
            }
            Of::Scalar(_) | Of::Pair => None,
        }
    }

    /// The fault of an unknown name, with the closest known name.
    fn unknown(&self, span: Span) -> Fault {
        let name = span.text(self.source);
        let mut known: Vec<&str> = Vec::new();
        for scope in &self.scopes {
            match scope.of {
                None if self.schema.columns.is_some() => {
                    known.extend(self.schema.columns.iter().flat_map(|columns| columns.names()));
                }
                None => known.extend(usable(self.schema.fields).map(|decl| decl.path)),
                Some(Of::Rows(fields)) => known.extend(usable(fields).map(|decl| decl.path)),
                Some(Of::Pair) => known.extend(["key", "value"]),
                Some(Of::Scalar(_) | Of::Map) => {}
            }
        }
        let message =
            format!("unknown property `{}`{}", super::lex::clip(name), did_you_mean(name, known));
        Fault::new(FaultKind::UnknownProperty, span, message)
    }

    /// Types `list[n]` and `map["key"]`.
    pub(super) fn index(
        &mut self,
        ast: &'c Ast,
        left: &'c Ast,
        index: &'c Ast,
    ) -> FaultResult<TypedExpression<'c>> {
        let base = self.typed(left)?;
        let value = self.scalar(index, ast.span)?;
        if let (TypedExpression::Scope(scope), Scalar::Const(Constant::Text(name)), Some(columns)) =
            (&base, &value.scalar, self.schema.columns)
            && self.scopes.get(*scope).is_some_and(|scope| scope.of.is_none())
        {
            // A column whose name is not a name of the language: `it["Voltage (V)"]`.
            return match columns.find(name) {
                Some((at, ty)) => Ok(self.column(at, ty, ast.span)),
                None => {
                    let message = format!(
                        "unknown column `{}`{}",
                        super::lex::clip(name),
                        did_you_mean(name, columns.names())
                    );
                    Err(Fault::new(FaultKind::UnknownProperty, ast.span, message))
                }
            };
        }
        let expected = match (base, value.ty) {
            (TypedExpression::List(List::Field(map), Of::Pair), ty) if ty.may_be_text() => {
                return Ok(TypedExpression::Scalar(entry(map, value.scalar)));
            }
            (TypedExpression::Item { list, index, of: Of::Map }, ty) if ty.may_be_text() => {
                let scope = self.new_scope();
                let body = entry(FieldPath::element(scope), value.scalar);
                return Ok(TypedExpression::Scalar(of_item(list, index, scope, body)));
            }
            (TypedExpression::List(list, Of::Scalar(ty)), Type::Int) => {
                return Ok(TypedExpression::value(Scalar::at(list, value.scalar), ty));
            }
            (TypedExpression::List(list, of @ (Of::Rows(_) | Of::Map)), Type::Int) => {
                return Ok(TypedExpression::Item { list, index: value.scalar, of });
            }
            (TypedExpression::Many { list, scope, body }, Type::Int) => {
                let path = List::Path { list: Box::new(list), scope, body: Box::new(body.scalar) };
                return Ok(TypedExpression::value(Scalar::at(path, value.scalar), body.ty));
            }
            (TypedExpression::List(_, Of::Pair) | TypedExpression::Item { of: Of::Map, .. }, _) => {
                "a map is indexed by text".to_owned()
            }
            (TypedExpression::List(..) | TypedExpression::Many { .. }, _) => {
                "a list is indexed by an integer".to_owned()
            }
            (other, _) => format!("{} has no index", self.describe(&other)),
        };
        Err(Fault::new(FaultKind::TypeMismatch, ast.span, expected))
    }
}

pub(super) fn counted(list: List) -> TypedExpression<'static> {
    TypedExpression::value(Scalar::Count { list, filter: None, null_is_zero: false }, Type::Int)
}

/// The value of a key of a map.
fn entry(map: FieldPath, key: Scalar) -> Value {
    Value::new(Scalar::Entry { map, key: Box::new(key) }, Type::Text)
}

fn entry_named(map: FieldPath, key: &str) -> Value {
    entry(map, Scalar::Const(Constant::text(key)))
}

/// The member `body` of one element of a list.
fn of_item(list: List, index: Scalar, scope: u32, body: Value) -> Value {
    let path = List::Path { list: Box::new(list), scope, body: Box::new(body.scalar) };
    Value { scalar: Scalar::at(path, index), ..body }
}

fn length(value: Value) -> Value {
    super::simplify::folded(Value {
        scalar: Scalar::Length(Box::new(value.scalar)),
        ty: Type::Int,
        ..value
    })
}

fn usable(fields: &[FieldDecl]) -> impl Iterator<Item = &FieldDecl> {
    fields.iter().filter(|decl| decl.ops != Ops::None)
}

/// The field whose path or alias is equal to the longest run of the first segments.
fn find_in(
    fields: &[FieldDecl],
    renames: &[(String, &'static str)],
    segments: &[Segment<'_>],
) -> Option<(usize, FieldDecl, usize)> {
    let same = |path: &str, parts: &[Segment<'_>]| {
        let mut names = path.split('.');
        parts
            .iter()
            .all(|(part, _)| names.next().is_some_and(|name| name.eq_ignore_ascii_case(part)))
            && names.next().is_none()
    };
    (1..=segments.len().min(PARTS)).rev().find_map(|used| {
        let parts = segments.get(..used)?;
        let renamed = renames.iter().find(|(name, _)| same(name, parts)).map(|(_, path)| *path);
        let is_meant = |decl: &FieldDecl| {
            decl.ops != Ops::None
                && (renamed == Some(decl.path)
                    || same(decl.path, parts)
                    || decl.aliases.iter().any(|alias| same(alias, parts)))
        };
        let index = fields.iter().position(is_meant)?;
        Some((index, *fields.get(index)?, used))
    })
}
