//! What every candidate is tested for: the filter, the restrictions and the access policy.

use std::collections::HashSet;

use super::{Query, text};
use crate::error::{Error, Result};
use crate::filter::{self, Condition, Constant, Filter, Schema, Times};
use crate::model::Resource;
use crate::session::Visibility;
use crate::session::view::View;
use crate::value::{Env, FieldDecl, FieldType, RecordKey, Row, Val};

/// A record as filters see it.
#[derive(Debug)]
pub(super) struct RecordRow<'r, R> {
    pub(super) record: &'r R,
    pub(super) env: Env,
}

impl<R: Resource> Row for RecordRow<'_, R> {
    fn val(&self, index: usize) -> Val<'_> {
        R::fields().get(index).map_or(Val::Null, |field| (field.get)(self.record, &self.env))
    }
}

/// The position of a field in its resource's declaration.
pub(super) fn field_index<R: Resource>(path: &str) -> Result<usize> {
    R::fields()
        .iter()
        .position(|field| field.decl.path == path)
        .ok_or_else(|| Error::invalid(format!("{} has no field {path:?} to order or restrict by", R::KIND.name)))
}

/// A restriction as a condition.
fn restriction(fields: &[FieldDecl], field: usize, values: &[String]) -> Condition {
    let mut values: Vec<Box<str>> = values.iter().map(|value| value.as_str().into()).collect();
    values.sort_unstable();
    values.dedup();
    match fields.get(field).map(|decl| decl.ty) {
        _ if values.is_empty() => Condition::Never,
        Some(FieldType::String | FieldType::DecimalId | FieldType::Enum(_)) => {
            Condition::In { field, values: values.into_iter().map(Constant::Text).collect() }
        }
        Some(FieldType::Strings) => Condition::ListHas { field, values },
        _ => Condition::Other,
    }
}

/// The compiled conditions of one query.
pub(super) struct Predicate {
    pub(super) filter: Option<Filter>,
    /// What filter and restrictions ask for, as far as indexes can use it.
    pub(super) conditions: Vec<Condition>,
    pub(super) visibility: Visibility,
    pub(super) restrict: Vec<(usize, Vec<String>)>,
    pub(super) env: Env,
    /// What each `search("...")` of the filter finds.
    pub(super) searches: Vec<HashSet<RecordKey>>,
}

impl Predicate {
    pub(super) fn compile<R: Resource>(view: &View<'_>, query: &Query<'_>) -> Result<Self> {
        let restrict = query
            .restrict
            .iter()
            .map(|(path, values)| Ok((field_index::<R>(path)?, values.clone())))
            .collect::<Result<Vec<_>>>()?;
        let fields: Vec<FieldDecl> = R::fields().iter().map(|field| field.decl).collect();
        let schema = Schema {
            fields: &fields,
            renames: &query.renames,
            requires: query.requires,
            accept_substitutions: !query.no_substitutions,
            accept_brackets: query.bracket_lists,
            search: cfg!(feature = "search") && !R::text().is_empty(),
        };
        let times = Times::new(view.now(), query.reference_time);
        let filter = filter::compile(query.filter, query.substitutions, &schema, &times)?;
        let searches = text::searches::<R>(view, filter.as_ref())?;
        let mut conditions: Vec<Condition> =
            restrict.iter().map(|(field, values)| restriction(&fields, *field, values)).collect();
        conditions.extend(filter.iter().flat_map(|filter| filter.conjuncts().iter().cloned()));
        Ok(Self { filter, conditions, visibility: view.visibility(R::KIND), restrict, env: view.env(), searches })
    }

    /// Whether a record is a match; only the members that [`Predicate::reads`] names need be there.
    pub(super) fn matches<R: Resource>(&self, key: RecordKey, record: &R) -> bool {
        if !self.visibility.allows(record.workspace()) {
            return false;
        }
        let row = RecordRow { record, env: self.env };
        let finds = |number: usize| self.searches.get(number).is_some_and(|found| found.contains(&key));
        self.restrict.iter().all(|(index, values)| match row.val(*index) {
            Val::Str(text) => values.iter().any(|value| *value == text),
            Val::Strings(items) => items.iter().any(|item| values.contains(item)),
            _ => false,
        }) && self.filter.as_ref().is_none_or(|filter| filter.matches_with(&row, &finds))
    }

    /// The positions of the fields that are tested.
    pub(super) fn reads(&self) -> impl Iterator<Item = usize> {
        let filter = self.filter.iter().flat_map(|filter| filter.fields());
        filter.copied().chain(self.restrict.iter().map(|(field, _)| *field))
    }

    /// The residual condition as text, for plans.
    pub(super) fn describe<R: Resource>(&self) -> Option<String> {
        let restricted = self.restrict.iter().filter_map(|(index, values)| {
            R::fields().get(*index).map(|field| format!("{} in ({} values)", field.decl.path, values.len()))
        });
        let parts: Vec<String> = restricted.chain(self.filter.as_ref().map(ToString::to_string)).collect();
        (!parts.is_empty()).then(|| parts.join(" and "))
    }
}
