//! Which rows to read: conditions of columns and a filter in the language, both as tests of rows.

use std::collections::HashSet;
use std::sync::{Arc, OnceLock};

use super::found_rows::FoundCache;
use super::row_test::RowTest;
use super::verdict::Verdict;
use super::wanted::{Wanted, wanted};
use crate::columnar::cells;
use crate::columnar::read::view::Run;
use crate::columnar::schema::TableSchema;
use crate::columnar::ticks;
use crate::error::{Error, Result};
use crate::filter::{Comparison, Constant, How, Shape};
use crate::model::tables::data::{Column, ColumnFilter, ColumnType, DataType, FilterOperation};

/// Validated filters; a row must pass all of them.
#[derive(Clone, Debug, Default)]
pub struct Predicates {
    /// Tests of one column each, cheap columns first; then tests of several columns or of none.
    tests: Vec<Arc<RowTest>>,
    /// What the tests want of columns, once it was asked for.
    wanted: Arc<OnceLock<Vec<Wanted>>>,
    /// What value indexes found for the tests.
    found: Arc<FoundCache>,
}

impl Predicates {
    /// Validates filters against the columns of a table. A repeated filter is tested once.
    ///
    /// # Errors
    /// `InvalidArgument` for an unknown column, an operation that the column's type does not have,
    /// or a value that is not of that type.
    pub fn new<'f>(schema: &TableSchema, filters: &'f [ColumnFilter]) -> Result<Self> {
        let mut seen = HashSet::new();
        let mut is_new = |filter: &'f ColumnFilter| {
            seen.insert((&*filter.column, filter.operation.as_str(), filter.value.as_deref()))
        };
        let shapes = filters
            .iter()
            .enumerate()
            .filter(|(_, filter)| is_new(filter))
            .map(|(at, filter)| {
                let member = |name: &str| format!("filters[{at}].{name}");
                let column = schema
                    .position(&filter.column)
                    .map_err(|error| error.at_member(member("column")))?;
                shape(column, schema.column(column)?, filter, &member)
            })
            .collect::<Result<Vec<_>>>()?;
        Self::default().with_filter(schema, Shape::All(shapes))
    }

    /// These filters and others.
    pub(crate) fn and(mut self, schema: &TableSchema, others: Self) -> Self {
        self.tests.extend(others.tests);
        self.changed(schema);
        self
    }

    /// These filters, and a filter of the whole language that was compiled for this table.
    ///
    /// # Errors
    /// `Corrupt` when it was compiled for another table.
    pub(crate) fn with_filter(mut self, schema: &TableSchema, shape: Shape) -> Result<Self> {
        let mut open = vec![shape];
        while let Some(shape) = open.pop() {
            match shape {
                // Terms that are joined by `and` prune, and read their columns, one after the
                // other.
                Shape::All(terms) => open.extend(terms),
                shape => self.tests.push(Arc::new(RowTest::new(shape, schema)?)),
            }
        }
        self.changed(schema);
        Ok(self)
    }

    /// These filters, and the tests that `column` is neither null nor NaN.
    pub(in crate::columnar) fn with_usable(
        &self,
        schema: &TableSchema,
        column: usize,
    ) -> Result<Self> {
        let declared = schema.column(column)?;
        let mut shapes = Vec::new();
        if declared.column_type == ColumnType::Nullable {
            shapes.push(not(Shape::IsNull(column)));
        }
        if declared.data_type.is_float() {
            shapes.push(Shape::NotNan(column));
        }
        self.clone().with_filter(schema, Shape::All(shapes))
    }

    /// Whether every row passes.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.tests.is_empty()
    }

    /// The range of the integers in `column` that rows can have if they pass, and whether all rows
    /// within it do. The least of it is greater than the greatest if no row passes. The column has
    /// no nulls.
    fn ints(&self, column: usize) -> ((i64, i64), bool) {
        let (mut low, mut high, mut is_exact) = (i64::MIN, i64::MAX, true);
        for test in &self.tests {
            let known = test
                .as_leaf()
                .filter(|(tested, ..)| *tested == column)
                .and_then(|(_, leaf, is_negated)| leaf.int_range(is_negated));
            let Some(((least, greatest), is_all)) = known else {
                is_exact = false;
                continue;
            };
            (low, high) = (low.max(least), high.min(greatest));
            is_exact &= is_all;
        }
        ((low, high), is_exact)
    }

    /// The range of the integers in `column` that rows must have to pass. Other tests, also of this
    /// column, may exclude more of them.
    pub(crate) fn int_bounds(&self, column: usize) -> (i64, i64) {
        self.ints(column).0
    }

    /// The range of the integers in `column` with which rows pass; `None` if the tests ask for more
    /// than that.
    pub(in crate::columnar) fn int_range(&self, column: usize) -> Option<(i64, i64)> {
        let (range, is_exact) = self.ints(column);
        is_exact.then_some(range)
    }

    /// Whether no row of a run passes, as the range of its index shows.
    pub(in crate::columnar) fn excludes(&self, run: &Run) -> bool {
        self.tests.iter().any(|test| test.judge_run(run) == Verdict::None)
    }

    /// The tests: those of one column each come first.
    pub(in crate::columnar) fn tests(&self) -> &[Arc<RowTest>] {
        &self.tests
    }

    /// The values that the tests want of columns that may have value indexes.
    pub(in crate::columnar) fn wanted(&self) -> &[Wanted] {
        self.wanted.get_or_init(|| wanted(self.tests.iter().map(|test| &**test)))
    }

    /// What value indexes found for these tests.
    pub(in crate::columnar) fn found(&self) -> &FoundCache {
        &self.found
    }

    /// Puts new tests in order, and forgets what was known of the tests before.
    fn changed(&mut self, schema: &TableSchema) {
        (self.wanted, self.found) = Default::default();
        self.cheap_first(schema);
    }

    /// Cheap columns first: rows that they exclude need not be decoded in the other columns.
    fn cheap_first(&mut self, schema: &TableSchema) {
        self.tests.sort_by_key(|test| match test.only_column() {
            None => 3,
            Some((column, _)) if column == schema.index() => 0,
            Some((_, DataType::String)) => 2,
            Some(_) => 1,
        });
    }
}

fn not(shape: Shape) -> Shape {
    Shape::Not(Box::new(shape))
}

/// A condition of the wire as a shape of the language. There NaN is unequal to nothing; on the wire
/// it is unequal to every number.
fn shape(
    at: usize,
    column: &Column,
    filter: &ColumnFilter,
    member: &dyn Fn(&str) -> String,
) -> Result<Shape> {
    use FilterOperation as Op;
    let data_type = column.data_type;
    let is_text = data_type == DataType::String;
    let comparison = match filter.operation {
        Op::Equals => Some(Comparison::Eq),
        Op::NotEquals => Some(Comparison::Ne),
        Op::LessThan => Some(Comparison::Lt),
        Op::LessThanEquals => Some(Comparison::Le),
        Op::GreaterThan => Some(Comparison::Gt),
        Op::GreaterThanEquals => Some(Comparison::Ge),
        Op::Contains | Op::NotContains => None,
    };
    let is_order = !matches!(comparison, Some(Comparison::Eq | Comparison::Ne) | None);
    if (is_text && is_order) || (!is_text && comparison.is_none()) {
        return Err(Error::invalid(format!(
            "{} cannot be used on the column {:?} of type {data_type}",
            filter.operation, column.name
        ))
        .at_member(member("operation")));
    }
    let Some(value) = filter.value.as_deref() else {
        return match filter.operation {
            Op::Equals => Ok(Shape::IsNull(at)),
            Op::NotEquals => Ok(not(Shape::IsNull(at))),
            other => Err(Error::invalid(format!(
                "{other} needs a value; null can only be tested for (in)equality"
            ))
            .at_member(member("value"))),
        };
    };
    let Some(comparison) = comparison else {
        let contains = Shape::Text(at, How::Contains, value.into());
        return Ok(if filter.operation == Op::Contains { contains } else { not(contains) });
    };
    let constant = match data_type {
        DataType::String => Some(Constant::Text(value.into())),
        DataType::Bool => cells::parse_bool(value).map(Constant::Bool),
        DataType::Int32 => cells::parse_i32(value).map(|value| Constant::Int(value.into())),
        DataType::Int64 => cells::parse_i64(value).map(Constant::Int),
        DataType::Timestamp => ticks::parse(data_type, value).map(Constant::Time),
        DataType::TimestampMicros | DataType::TimestampNanos => {
            ticks::parse(data_type, value).map(Constant::Int)
        }
        DataType::Float32 => cells::parse_f32(value).map(|value| Constant::Double(value.into())),
        DataType::Float64 => cells::parse_f64(value).map(Constant::Double),
    };
    let constant = constant.ok_or_else(|| {
        let hint = if data_type.is_time() { "; write it as 2024-01-31T12:00:00Z" } else { "" };
        Error::invalid(format!(
            "{value:?} is not a {data_type} value, which column {:?} has{hint}",
            column.name
        ))
        .at_member(member("value"))
    })?;
    match (&constant, comparison) {
        (Constant::Double(value), Comparison::Ne) if value.is_nan() => Ok(Shape::NotNan(at)),
        (Constant::Double(value), _) if value.is_nan() => {
            Err(Error::invalid("NaN can only be tested with NOT_EQUALS").at_member(member("value")))
        }
        (Constant::Double(_), Comparison::Ne) => {
            Ok(not(Shape::Compare(at, Comparison::Eq, constant)))
        }
        _ => Ok(Shape::Compare(at, comparison, constant)),
    }
}
