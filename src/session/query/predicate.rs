//! The tests of every candidate: filter, restrictions and access policy.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::{ProductFilter, Query, text};
use crate::error::{Error, ErrorKind, Result};
use crate::filter::{self, Condition, Constant, FieldTest, Filter, Schema, Times};
use crate::model::{KindDecl, Product, Resource, Workspace, members_of};
use crate::session::view::View;
use crate::session::{Context, Visibility};
use crate::value::{Env, FieldType, RecordKey, Row, Val, Work};

/// A record as the filter reads it.
#[derive(Debug)]
pub(super) struct RecordRow<'r, R> {
    pub(super) record: &'r R,
    pub(super) env: Env,
    pub(super) names: &'r Names,
}

/// The names of other records that the caller may see, as far as the query reads them.
#[derive(Debug, Default)]
pub(super) struct Names {
    /// The registered names of workspaces, by their ids.
    workspaces: HashMap<String, String>,
    /// The names of products, by their part numbers.
    products: HashMap<String, String>,
}

impl Names {
    /// The names that the fields at these positions read.
    fn read(view: &View<'_>, decl: &KindDecl, fields: impl Iterator<Item = usize>) -> Result<Self> {
        let (mut workspace, mut product) = (false, false);
        for field in fields.filter_map(|field| decl.fields.get(field)) {
            workspace |= matches!(field.ty, FieldType::WorkspaceName);
            product |= matches!(field.ty, FieldType::ProductName);
        }
        let mut names = Self::default();
        if workspace {
            view.for_each::<Workspace>(|workspace| {
                names.workspaces.extend(workspace.id.zip(workspace.name));
                Ok(true)
            })?;
        }
        if product {
            names.products = view.product_names()?;
        }
        Ok(names)
    }
}

impl<R: Resource> Row for RecordRow<'_, R> {
    fn val(&self, index: usize) -> Val<'_> {
        let Some(field) = R::fields().get(index) else { return Val::Null };
        match (field.ty, self.record.value(index, &self.env)) {
            (FieldType::WorkspaceName, Val::Str(id)) => {
                self.names.workspaces.get(&*id).map_or(Val::Str(id), |name| Val::Str(name.into()))
            }
            (FieldType::ProductName, Val::Str(part_number)) => {
                self.names.products.get(&*part_number).into()
            }
            (_, value) => value,
        }
    }
}

impl View<'_> {
    /// The names of the products that the caller may see, by their part numbers.
    ///
    /// # Errors
    /// Those of reading.
    pub(crate) fn product_names(&self) -> Result<HashMap<String, String>> {
        self.product_texts("name", |product| product.name)
    }

    /// The families of the products that the caller may see, by their part numbers.
    ///
    /// # Errors
    /// Those of reading.
    pub(crate) fn product_families(&self) -> Result<HashMap<String, String>> {
        self.product_texts("family", |product| product.family)
    }

    fn product_texts(
        &self,
        path: &str,
        text: fn(Product) -> Option<String>,
    ) -> Result<HashMap<String, String>> {
        let position = |path: &str| Product::fields().iter().position(|field| field.path == path);
        let wanted = members_of::<Product>(["partNumber", path].into_iter().filter_map(position));
        let visibility = self.visibility(Product::KIND);
        let mut texts = HashMap::new();
        self.scan_records::<Product>(None, false, wanted, &mut |_, mut product| {
            if visibility.allows(product.workspace()) {
                texts.extend(product.part_number.take().zip(text(product)));
            }
            Ok(true)
        })?;
        Ok(texts)
    }

    /// The part numbers of the products that the caller may see and that match a filter.
    fn part_numbers(&self, filter: &ProductFilter<'_>) -> Result<HashSet<String>> {
        let query = Query {
            filter: filter.filter,
            substitutions: filter.substitutions,
            ..Query::default()
        };
        let mut part_numbers = HashSet::new();
        self.for_each_match::<Product>(&query, |product| part_numbers.extend(product.part_number))
            .map_err(|error| error.context("productFilter"))?;
        Ok(part_numbers)
    }
}

/// The position of a field in its resource's declaration.
pub(super) fn field_index(decl: &KindDecl, path: &str) -> Result<usize> {
    decl.position(path).ok_or_else(|| {
        Error::invalid(format!("{} has no field {path:?} to order or restrict by", decl.kind.name))
    })
}

/// A restriction, as a condition that indexes can use.
fn restriction(decl: &KindDecl, field: usize, values: &HashSet<String>) -> Condition {
    let mut values: Vec<Arc<str>> = values.iter().map(|value| value.as_str().into()).collect();
    values.sort_unstable();
    let test = match decl.fields.get(field).map(|decl| decl.ty) {
        _ if values.is_empty() => return Condition::Never,
        Some(
            FieldType::String | FieldType::DecimalId | FieldType::Reference | FieldType::Enum(_),
        ) => FieldTest::In(values.into_iter().map(Constant::Text).collect()),
        Some(FieldType::Strings) => FieldTest::ListHas(values),
        _ => return Condition::Other,
    };
    Condition::Field(field, test)
}

/// The compiled conditions of one query.
pub(super) struct Predicate {
    /// The kind of the records.
    pub(super) decl: KindDecl,
    pub(super) filter: Option<Filter>,
    /// The conditions of filter and restrictions, as far as indexes can use them.
    pub(super) conditions: Vec<Condition>,
    pub(super) visibility: Visibility,
    pub(super) restrict: Vec<(usize, HashSet<String>)>,
    pub(super) env: Env,
    /// The records that each `search("...")` of the filter finds.
    pub(super) searches: Vec<Arc<HashSet<RecordKey>>>,
    names: Names,
    context: Arc<Context>,
}

impl Predicate {
    pub(super) fn compile(view: &View<'_>, decl: KindDecl, query: &Query<'_>) -> Result<Self> {
        let mut restrict = query
            .restrict
            .iter()
            .map(|(path, values)| Ok((field_index(&decl, path)?, values.iter().cloned().collect())))
            .collect::<Result<Vec<_>>>()?;
        if let Some(filter) = &query.products {
            restrict.push((field_index(&decl, filter.path)?, view.part_numbers(filter)?));
        }
        let schema = Schema {
            fields: decl.fields,
            columns: None,
            renames: &query.renames,
            requires: query.requires,
            accept_substitutions: !query.no_substitutions,
            accept_brackets: query.bracket_lists,
            search: cfg!(feature = "search") && decl.is_searched,
        };
        let times = Times::new(view.now(), query.reference_time);
        let filter = match query.clause {
            Some(clause) => Some(filter::from_clause(clause, &schema)?),
            None => filter::compile(query.filter, query.substitutions, &schema, &times)?,
        };
        let searches = text::searches(view, decl.kind, filter.as_ref())?;
        let in_order = query.order.iter().filter_map(|term| decl.position(term.path));
        let in_filter = filter.iter().flat_map(|filter| filter.fields().iter().copied());
        let names = Names::read(view, &decl, in_filter.chain(in_order))?;
        let mut conditions: Vec<Condition> =
            restrict.iter().map(|(field, values)| restriction(&decl, *field, values)).collect();
        conditions.extend(filter.iter().flat_map(|filter| filter.conjuncts().iter().cloned()));
        let (visibility, env, context) =
            (view.visibility(decl.kind), view.env(), view.context().clone());
        Ok(Self { decl, filter, conditions, visibility, restrict, env, searches, names, context })
    }

    /// Whether a record of a workspace matches. Only the members that [`Predicate::reads`] names
    /// need to be filled in.
    ///
    /// # Errors
    /// `DeadlineExceeded` and `Cancelled`, also in the middle of one record; `LimitExceeded` at
    /// `filter` for a record that takes more work than
    /// [`limits::FILTER_WORK`](crate::value::limits::FILTER_WORK).
    pub(super) fn matches(&self, key: RecordKey, workspace: &str, row: &dyn Row) -> Result<bool> {
        if !self.visibility.allows(workspace) {
            return Ok(false);
        }
        let is_admitted = self.restrict.iter().all(|(index, values)| match row.val(*index) {
            Val::Str(text) => values.contains(&*text),
            Val::Strings(items) => items.iter().any(|item| values.contains(item)),
            _ => false,
        });
        let Some(filter) = self.filter.as_ref().filter(|_| is_admitted) else {
            return Ok(is_admitted);
        };
        let finds =
            |number: usize| self.searches.get(number).is_some_and(|found| found.contains(&key));
        let check = || self.context.check_deadline();
        let work = Work::new(&check);
        let is_match = filter.matches_with(row, &finds, &work);
        work.finish().map_err(|error| match error.kind() {
            ErrorKind::LimitExceeded => {
                let kind = self.decl.kind;
                error.with_resource(kind.name, key.to_id(kind.id)).at_member("filter")
            }
            _ => error,
        })?;
        Ok(is_match)
    }

    /// A record as tests and orders read it.
    pub(super) fn row<'r, R>(&'r self, record: &'r R) -> RecordRow<'r, R> {
        RecordRow { record, env: self.env, names: &self.names }
    }

    /// The positions of the fields that the tests read.
    pub(super) fn reads(&self) -> impl Iterator<Item = usize> {
        let filter = self.filter.iter().flat_map(|filter| filter.fields());
        filter.copied().chain(self.restrict.iter().map(|(field, _)| *field))
    }

    /// The tests as text, for plans.
    pub(super) fn describe(&self) -> Option<String> {
        let restricted = self.restrict.iter().filter_map(|(index, values)| {
            let decl = self.decl.fields.get(*index);
            decl.map(|field| format!("{} in ({} values)", field.path, values.len()))
        });
        let parts: Vec<String> =
            restricted.chain(self.filter.as_ref().map(ToString::to_string)).collect();
        (!parts.is_empty()).then(|| parts.join(" and "))
    }
}
