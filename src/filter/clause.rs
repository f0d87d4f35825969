//! Conditions that the languages of other requests are parsed to: the searches of files, and their
//! structured queries.
//!
//! A clause becomes the typed tree of a filter, so it is evaluated, bounded and planned like one.
//! Its patterns are taken apart, so that a planner sees the equality or the prefix in them.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use memchr::memmem::Finder;

use super::constant::{Constant, Fold};
use super::print::separated;
use super::schema::Schema;
use super::simplify::{all, any, not};
use super::syntax::Comparison;
use super::tree::{FieldPath, How, RECORD, Scalar, Set, Test};
use crate::error::{Error, Result};
use crate::value::pattern::Pattern;
use crate::value::time;

/// A condition over the fields of a record, named by their paths.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Clause {
    /// Each of these is true; true if there is none.
    All(Vec<Clause>),
    /// At least one of these is true.
    Any(Vec<Clause>),
    /// This is false.
    Not(Box<Clause>),
    /// The field compares so with a value of its type.
    Compare { field: &'static str, comparison: Comparison, value: Constant },
    /// The field equals one of these texts.
    OneOf { field: &'static str, texts: Vec<Arc<str>> },
    /// The text fits the pattern.
    Like { text: Subject, pattern: Pattern },
    /// The map has the key with this value.
    Entry { map: &'static str, key: Arc<str>, value: Arc<str> },
    /// The map has the key with a value that contains this.
    EntryContains { map: &'static str, key: Arc<str>, part: Arc<str> },
}

/// The text that is compared with a pattern.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Subject {
    /// A text that is never null, as it is stored.
    Field(&'static str),
    /// A text that is never null, in lower case, which is the field `folded`. The pattern is in
    /// lower case.
    Folded { field: &'static str, folded: &'static str },
    /// The value of a key of a map, in lower case, as the pattern is.
    Entry { map: &'static str, key: Arc<str> },
}

impl Clause {
    /// The condition as a tree. Adds the positions of the fields that it reads to `fields`.
    ///
    /// # Errors
    /// `InvalidArgument` for a field that is not declared.
    pub(super) fn test(&self, schema: &Schema<'_>, fields: &mut BTreeSet<usize>) -> Result<Test> {
        let mut many = |clauses: &[Self]| {
            clauses.iter().map(|clause| clause.test(schema, fields)).collect::<Result<Vec<_>>>()
        };
        Ok(match self {
            Self::All(clauses) => all(many(clauses)?),
            Self::Any(clauses) => any(many(clauses)?),
            Self::Not(clause) => not(clause.test(schema, fields)?),
            Self::Compare { field, comparison, value } => Test::Compare {
                left: Scalar::Field(place(schema, fields, field)?),
                comparison: *comparison,
                right: Scalar::Const(value.clone()),
            },
            Self::OneOf { texts, .. } if texts.is_empty() => Test::Const(false),
            Self::OneOf { field, texts } => Test::In {
                value: Scalar::Field(place(schema, fields, field)?),
                set: Set::texts(texts.clone(), false),
            },
            Self::Like { text, pattern } => like(text, pattern, schema, fields)?,
            Self::Entry { map, key, value } => Test::Compare {
                left: entry(place(schema, fields, map)?, key),
                comparison: Comparison::Eq,
                right: Scalar::Const(Constant::Text(value.clone())),
            },
            Self::EntryContains { map, key, part } => {
                let map = place(schema, fields, map)?;
                let find = Box::new(Finder::new(part.as_bytes()).into_owned());
                let text = entry(map, key);
                all(vec![has_key(map, key), Test::Contains { text, fold: Fold::None, find }])
            }
        })
    }
}

fn place(schema: &Schema<'_>, fields: &mut BTreeSet<usize>, path: &str) -> Result<FieldPath> {
    let index = schema
        .fields
        .iter()
        .position(|decl| decl.path == path)
        .ok_or_else(|| Error::invalid(format!("there is no field {path:?}")))?;
    fields.insert(index);
    Ok(FieldPath { scope: RECORD, index })
}

fn constant(text: &Arc<str>) -> Scalar {
    Scalar::Const(Constant::Text(text.clone()))
}

fn entry(map: FieldPath, key: &Arc<str>) -> Scalar {
    Scalar::Entry { map, key: Box::new(constant(key)) }
}

fn has_key(map: FieldPath, key: &Arc<str>) -> Test {
    Test::HasKey { map, key: constant(key) }
}

fn like(
    text: &Subject,
    pattern: &Pattern,
    schema: &Schema<'_>,
    fields: &mut BTreeSet<usize>,
) -> Result<Test> {
    let fits = |text: Scalar, fold: bool, words: Option<FieldPath>| Test::Like {
        text,
        fold,
        pattern: Box::new(pattern.clone()),
        words,
    };
    let (path, words) = match text {
        Subject::Entry { map, key } => {
            let map = place(schema, fields, map)?;
            let mut tests = vec![has_key(map, key)];
            if !(pattern.is_prefix() && pattern.prefix().is_empty()) {
                tests.push(fits(entry(map, key), true, None));
            }
            return Ok(all(tests));
        }
        Subject::Field(path) => (path, None),
        Subject::Folded { field, folded } => (folded, Some(place(schema, fields, field)?)),
    };
    let field = Scalar::Field(place(schema, fields, path)?);
    if let Some(whole) = pattern.whole() {
        let right = Scalar::Const(Constant::text(whole));
        return Ok(Test::Compare { left: field, comparison: Comparison::Eq, right });
    }
    let mut tests = Vec::new();
    if !pattern.prefix().is_empty() {
        let part = Scalar::Const(Constant::text(pattern.prefix()));
        tests.push(Test::Match { text: field.clone(), how: How::Starts, part });
    }
    if !pattern.is_prefix() {
        tests.push(fits(field, false, words));
    }
    Ok(all(tests))
}

/// The clause for plans: in the words of the filter language, with `like` for patterns.
impl fmt::Display for Clause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::All(clauses) if clauses.is_empty() => f.write_str("true"),
            Self::Any(clauses) if clauses.is_empty() => f.write_str("false"),
            Self::All(clauses) => joined(f, clauses, " and "),
            Self::Any(clauses) => joined(f, clauses, " or "),
            Self::Not(clause) => write!(f, "!({clause})"),
            Self::Compare { field, comparison, value } => {
                write!(f, "{field} {} ", comparison.sign())?;
                match value {
                    Constant::Text(text) => write!(f, "{text:?}"),
                    Constant::Time(ms) => f.write_str(&time::format(time::from_millis(*ms))),
                    Constant::Int(value) => write!(f, "{value}"),
                    other => write!(f, "{other:?}"),
                }
            }
            Self::OneOf { field, texts } => write!(f, "{field} in ({} values)", texts.len()),
            Self::Like { text, pattern } => {
                match text {
                    Subject::Field(field) | Subject::Folded { folded: field, .. } => {
                        f.write_str(field)?;
                    }
                    Subject::Entry { map, key } => write!(f, "{map}[{key:?}].ToLower()")?,
                }
                write!(f, " like \"{pattern}\"")
            }
            Self::Entry { map, key, value } => write!(f, "{map}[{key:?}] = {value:?}"),
            Self::EntryContains { map, key, part } => {
                write!(f, "{map}[{key:?}].Contains({part:?})")
            }
        }
    }
}

fn joined(f: &mut fmt::Formatter<'_>, clauses: &[Clause], sign: &str) -> fmt::Result {
    separated(f, clauses, sign, |f, clause| match clause {
        Clause::All(inner) | Clause::Any(inner) if inner.len() > 1 => write!(f, "({clause})"),
        _ => write!(f, "{clause}"),
    })
}
