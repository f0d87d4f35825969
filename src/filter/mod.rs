//! The filter language: compiles expression text to a typed condition, and evaluates it over
//! records.
//!
//! [`compile`] parses the text, checks every name, type and value against a [`Schema`], and reports
//! faults with their kind and position. A [`Filter`] evaluates with two truth values, within the
//! work that a [`Work`] allows. It prints itself in canonical form, and gives a query planner the
//! [`Condition`]s that every match satisfies. A [`Clause`], to which the languages of other
//! requests are parsed, becomes the same filter without a text. This module reads no records and
//! knows no resource; its callers pass rows.
//!
//! What must hold: the result of a filter depends only on the row, the constants, the reference
//! time and the answers to its text searches; conditions are exact; recursion is bounded by
//! [`limits::FILTER_DEPTH`] whatever the text.

mod check;
mod clause;
mod compare;
mod condition;
mod constant;
mod eval;
mod fault;
mod functions;
mod lex;
mod membership;
mod methods;
mod names;
mod parse;
mod print;
mod scalars;
mod schema;
mod shape;
mod simplify;
mod syntax;
#[cfg(test)]
pub(crate) mod tests;
mod tree;
mod types;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use crate::error::Result;
use crate::value::{Row, Val, Work, limits};

pub(crate) use clause::{Clause, Subject};
pub(crate) use condition::{Condition, FieldTest};
pub(crate) use constant::{Constant, Fold, Times, number_of, order_mixed};
pub(crate) use schema::{Columns, Schema, TextSearch};
pub(crate) use shape::{Other, Shape};
pub(crate) use syntax::Comparison;
pub(crate) use tree::How;

use check::Checker;
use eval::{Element, Scopes};
use fault::{Fault, FaultKind, FaultResult, Span};

/// A checked filter.
#[derive(Clone, Debug)]
pub(crate) struct Filter {
    test: tree::Test,
    source: FilterOrigin,
    conjuncts: Vec<Condition>,
    fields: Vec<usize>,
    searches: Vec<TextSearch>,
}

/// What a filter was made from; it is printed for plans.
#[derive(Clone, Debug)]
enum FilterOrigin {
    Text { syntax: Box<syntax::Ast>, substitutions: BTreeMap<usize, Constant> },
    Clause(Clause),
}

/// Makes a filter of a clause over these fields.
///
/// # Errors
/// `InvalidArgument` for a field that is not declared.
pub(crate) fn from_clause(clause: &Clause, schema: &Schema<'_>) -> Result<Filter> {
    let mut fields = BTreeSet::new();
    let test = clause.test(schema, &mut fields)?;
    let conjuncts = condition::conjuncts(&test, schema);
    Ok(Filter {
        test,
        source: FilterOrigin::Clause(clause.clone()),
        conjuncts,
        fields: fields.into_iter().collect(),
        searches: Vec::new(),
    })
}

/// Compiles a filter. Returns `None` for an absent or blank text, which matches everything.
///
/// # Errors
/// `InvalidArgument`, with the name `StationDb.Filter.<Kind>`, the offset in characters, and the
/// kind and the offending text as arguments; at `substitutions` when there are too many of them.
pub(crate) fn compile(
    text: Option<&str>,
    substitutions: &[serde_json::Value],
    schema: &Schema<'_>,
    times: &Times,
) -> Result<Option<Filter>> {
    check_substitutions(substitutions)?;
    let Some(text) = text.filter(|text| !text.trim().is_empty()) else {
        return Ok(None);
    };
    build(text, substitutions, schema, times).map(Some).map_err(|fault| fault.into_error(text))
}

/// Fails when there are more substitutions than a filter may have.
///
/// # Errors
/// `InvalidArgument` at `substitutions`.
pub(crate) fn check_substitutions(values: &[serde_json::Value]) -> Result<()> {
    if values.len() <= limits::FILTER_SUBSTITUTIONS {
        return Ok(());
    }
    let message = format!(
        "{} values; FILTER_SUBSTITUTIONS allows {}",
        values.len(),
        limits::FILTER_SUBSTITUTIONS
    );
    Err(Fault::new(FaultKind::TooComplex, Span::new(0, 0), message)
        .into_error("")
        .at_member("substitutions"))
}

fn build(
    text: &str,
    values: &[serde_json::Value],
    schema: &Schema<'_>,
    times: &Times,
) -> FaultResult<Filter> {
    let syntax = parse::parse(text, schema.accept_brackets)?;
    let mut checker = Checker::new(text, schema, values, times);
    let test = checker.test(&syntax)?;
    let Checker { fields, substitutions, searches, .. } = checker;
    let uses = |path: &str| {
        fields
            .iter()
            .find(|(index, _)| schema.fields.get(**index).is_some_and(|decl| decl.path == path))
    };
    for (path, other) in schema.requires {
        if let (Some((_, span)), None) = (uses(path), uses(other)) {
            let message = format!("`{path}` needs a condition on `{other}` in the same filter");
            return Err(Fault::new(FaultKind::MissingCondition, *span, message));
        }
    }
    let conjuncts = condition::conjuncts(&test, schema);
    let fields = fields.into_keys().collect();
    let source = FilterOrigin::Text { syntax, substitutions };
    Ok(Filter { test, source, conjuncts, fields, searches })
}

impl Filter {
    /// Whether the filter matches a row. `search` returns whether the text search with this index
    /// in [`Filter::searches`] matches the row. The result is valid only when `work` finishes
    /// without an error.
    #[must_use]
    pub(crate) fn matches_with(
        &self,
        row: &dyn Row,
        search: &dyn Fn(usize) -> bool,
        work: &Work<'_>,
    ) -> bool {
        let record = Element::Row(row);
        self.test.holds(&Scopes {
            number: tree::RECORD,
            element: record,
            around: None,
            search,
            work,
        })
    }

    /// For tests: whether the filter matches a row that no text search matches. There is no
    /// deadline, and no match when the work exceeds its bound.
    #[cfg(any(test, feature = "fuzzing"))]
    #[must_use]
    pub(crate) fn matches(&self, row: &dyn Row) -> bool {
        let work = Work::new(&|| Ok(()));
        let is_match = self.matches_with(row, &|_| false, &work);
        work.finish().is_ok() && is_match
    }

    /// The filter as tests of columns, for a record whose fields are all scalars.
    #[must_use]
    pub(crate) fn shape(&self) -> Shape {
        shape::shape(&self.test)
    }

    /// The conditions that are joined by `and`; every match satisfies all of them.
    #[must_use]
    pub(crate) fn conjuncts(&self) -> &[Condition] {
        &self.conjuncts
    }

    /// The positions of the fields that the filter reads from a row.
    #[must_use]
    pub(crate) fn fields(&self) -> &[usize] {
        &self.fields
    }

    /// The text searches; [`Filter::matches_with`] refers to them by index.
    #[must_use]
    pub(crate) fn searches(&self) -> &[TextSearch] {
        &self.searches
    }
}

/// The canonical text, with substitutions replaced by their values.
impl fmt::Display for Filter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.source {
            FilterOrigin::Text { syntax, substitutions } => {
                print::PrintedTree { tree: syntax, substitutions }.fmt(f)
            }
            FilterOrigin::Clause(clause) => clause.fmt(f),
        }
    }
}

/// A row without fields, for filters that use none.
impl Row for () {
    fn val(&self, _: usize) -> Val<'_> {
        Val::Null
    }
}
