//! Column filters: validated against the schema once, then evaluated on arrays and on summaries.

use std::collections::HashSet;
use std::sync::Arc;

use super::cells;
use super::row_leaf::Leaf;
use super::row_test::RowTest;
use super::schema::TableSchema;
use super::segment::{Block, ColumnSummary, Part, bits};
use super::ticks;
use super::verdict::Verdict;
use super::view::Run;
use crate::arrow::array::{Array, ArrayRef, AsArray};
use crate::arrow::buffer::BooleanBuffer;
use crate::arrow::datatypes::{Float32Type, Float64Type, Int32Type, Int64Type};
use crate::error::{Error, Result};
use crate::filter::{Comparison, Shape};
use crate::model::tables::data::{Column, ColumnFilter, DataType, FilterOperation};
use crate::value::Control;

#[derive(Clone, Copy, Debug, PartialEq)]
enum Compare {
    Equal,
    NotEqual,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
}

#[derive(Clone, Debug)]
enum Test {
    IsNull,
    IsNotNull,
    IsNotNan,
    Bool(Compare, bool),
    Int(Compare, i64),
    Float(Compare, f64),
    Text { value: String, contains: bool, negate: bool },
    Row(Arc<RowTest>),
}

/// One validated filter.
#[derive(Clone, Debug)]
pub(super) struct Predicate {
    pub column: usize,
    test: Test,
}

/// Validated filters; a row must pass all of them.
#[derive(Clone, Debug, Default)]
pub struct Predicates {
    /// Tests of one column each, cheap columns first.
    single: Vec<Predicate>,
    /// Tests of several columns, or of none.
    joint: Vec<Arc<RowTest>>,
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
        let predicates = filters
            .iter()
            .enumerate()
            .filter(|(_, filter)| is_new(filter))
            .map(|(at, filter)| {
                let member = |name: &str| format!("filters[{at}].{name}");
                let column = schema
                    .position(&filter.column)
                    .map_err(|error| error.at_member(member("column")))?;
                let test = check(schema.column(column)?, filter, &member)?;
                Ok(Predicate { column, test })
            })
            .collect::<Result<Vec<_>>>()?;
        let mut predicates = predicates;
        cheap_first(schema, &mut predicates);
        Ok(Self { single: predicates, joint: Vec::new() })
    }

    /// These filters and others.
    pub(crate) fn and(mut self, schema: &TableSchema, others: Self) -> Self {
        self.single.extend(others.single);
        self.joint.extend(others.joint);
        cheap_first(schema, &mut self.single);
        self
    }

    /// These filters, and a filter of the whole language that was compiled for this table.
    ///
    /// # Errors
    /// `Corrupt` when it was compiled for another table.
    pub(crate) fn with_filter(mut self, schema: &TableSchema, shape: Shape) -> Result<Self> {
        let mut open = vec![shape];
        while let Some(shape) = open.pop() {
            // Terms that are joined by `and` prune, and read their columns, one after the other.
            if let Shape::All(terms) = shape {
                open.extend(terms);
                continue;
            }
            let test = RowTest::new(shape, schema)?;
            match test.columns().as_slice() {
                [column] => {
                    let (column, data_type) = (*column, schema.column(*column)?.data_type);
                    self.single.push(Predicate { column, test: simple(test, data_type) });
                }
                _ => self.joint.push(Arc::new(test)),
            }
        }
        cheap_first(schema, &mut self.single);
        Ok(self)
    }

    /// These filters, and the tests that `column` is neither null nor NaN.
    pub(super) fn with_usable(&self, schema: &TableSchema, column: usize) -> Result<Self> {
        let mut predicates = self.single.clone();
        let declared = schema.column(column)?;
        if declared.column_type == crate::model::tables::data::ColumnType::Nullable {
            predicates.push(Predicate { column, test: Test::IsNotNull });
        }
        if declared.data_type.is_float() {
            predicates.push(Predicate { column, test: Test::IsNotNan });
        }
        Ok(Self { single: predicates, joint: self.joint.clone() })
    }

    /// Whether every row passes.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.single.is_empty() && self.joint.is_empty()
    }

    /// The range of integers in `column` that can pass, if every test is an ordering or equality of
    /// integers in that column; `None` otherwise.
    pub(super) fn int_range(&self, column: usize) -> Option<(i64, i64)> {
        if !self.joint.is_empty() {
            return None;
        }
        let (mut low, mut high) = (i64::MIN, i64::MAX);
        for predicate in &self.single {
            match (&predicate.test, predicate.column == column) {
                (Test::IsNotNull, true) => {}
                (Test::Int(compare, value), true) => match compare {
                    Compare::Equal => (low, high) = (low.max(*value), high.min(*value)),
                    Compare::GreaterEqual => low = low.max(*value),
                    Compare::LessEqual => high = high.min(*value),
                    Compare::Greater => match value.checked_add(1) {
                        Some(next) => low = low.max(next),
                        None => return Some((1, 0)),
                    },
                    Compare::Less => match value.checked_sub(1) {
                        Some(next) => high = high.min(next),
                        None => return Some((1, 0)),
                    },
                    Compare::NotEqual => return None,
                },
                _ => return None,
            }
        }
        Some((low, high))
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Predicate> {
        self.single.iter()
    }

    pub(super) fn joint(&self) -> &[Arc<RowTest>] {
        &self.joint
    }
}

/// Cheap columns first: rows that they exclude need not be decoded in the other columns.
fn cheap_first(schema: &TableSchema, predicates: &mut [Predicate]) {
    predicates.sort_by_key(|predicate| match &predicate.test {
        _ if predicate.column == schema.index() => 0,
        Test::Text { .. } => 2,
        Test::Row(_) if schema.column(predicate.column).is_ok_and(is_text) => 2,
        _ => 1,
    });
}

fn is_text(column: &Column) -> bool {
    column.data_type == DataType::String
}

/// A test of one column, as one of the tests of the wire where it has the same meaning.
fn simple(test: RowTest, data_type: DataType) -> Test {
    let compare = |how: Comparison| match how {
        Comparison::Eq => Compare::Equal,
        Comparison::Ne => Compare::NotEqual,
        Comparison::Lt => Compare::Less,
        Comparison::Le => Compare::LessEqual,
        Comparison::Gt => Compare::Greater,
        Comparison::Ge => Compare::GreaterEqual,
    };
    let same = match test.as_leaf() {
        Some((_, Leaf::IsNull, is_negated)) => {
            Some(if is_negated { Test::IsNotNull } else { Test::IsNull })
        }
        Some((_, Leaf::Int(how, value), false))
            if data_type != DataType::Int32 || i32::try_from(*value).is_ok() =>
        {
            Some(Test::Int(compare(*how), *value))
        }
        // On the wire NaN is unequal to every value.
        Some((_, Leaf::Float(how, value), false))
            if data_type == DataType::Float64 && *how != Comparison::Ne =>
        {
            Some(Test::Float(compare(*how), *value))
        }
        _ => None,
    };
    same.unwrap_or_else(|| Test::Row(Arc::new(test)))
}

fn check(column: &Column, filter: &ColumnFilter, member: &dyn Fn(&str) -> String) -> Result<Test> {
    use FilterOperation as Op;
    let data_type = column.data_type;
    let is_text = data_type == DataType::String;
    let compare = match filter.operation {
        Op::Equals => Some(Compare::Equal),
        Op::NotEquals => Some(Compare::NotEqual),
        Op::LessThan => Some(Compare::Less),
        Op::LessThanEquals => Some(Compare::LessEqual),
        Op::GreaterThan => Some(Compare::Greater),
        Op::GreaterThanEquals => Some(Compare::GreaterEqual),
        Op::Contains | Op::NotContains => None,
    };
    let is_order = !matches!(compare, Some(Compare::Equal | Compare::NotEqual) | None);
    if (is_text && is_order) || (!is_text && compare.is_none()) {
        return Err(Error::invalid(format!(
            "{} cannot be used on the column {:?} of type {data_type}",
            filter.operation, column.name
        ))
        .at_member(member("operation")));
    }
    let Some(value) = filter.value.as_deref() else {
        return match filter.operation {
            Op::Equals => Ok(Test::IsNull),
            Op::NotEquals => Ok(Test::IsNotNull),
            other => Err(Error::invalid(format!(
                "{other} needs a value; null can only be tested for (in)equality"
            ))
            .at_member(member("value"))),
        };
    };
    let negate = matches!(filter.operation, Op::NotEquals | Op::NotContains);
    let Some(compare) = compare else {
        return Ok(Test::Text { value: value.to_owned(), contains: true, negate });
    };
    let bad = || {
        Error::invalid(format!(
            "{value:?} is not a {data_type} value, which column {:?} has",
            column.name
        ))
        .at_member(member("value"))
    };
    let float = |parsed: Option<f64>| {
        let parsed = parsed.ok_or_else(bad)?;
        if !parsed.is_nan() {
            return Ok(Test::Float(compare, parsed));
        }
        if compare == Compare::NotEqual {
            return Ok(Test::IsNotNan);
        }
        Err(Error::invalid("NaN can only be tested with NOT_EQUALS").at_member(member("value")))
    };
    match data_type {
        DataType::String => Ok(Test::Text { value: value.to_owned(), contains: false, negate }),
        DataType::Bool => {
            cells::parse_bool(value).map(|value| Test::Bool(compare, value)).ok_or_else(bad)
        }
        DataType::Int32 => cells::parse_i32(value)
            .map(|value| Test::Int(compare, i64::from(value)))
            .ok_or_else(bad),
        DataType::Int64 => {
            cells::parse_i64(value).map(|value| Test::Int(compare, value)).ok_or_else(bad)
        }
        DataType::Timestamp | DataType::TimestampMicros | DataType::TimestampNanos => {
            ticks::parse(data_type, value).map(|value| Test::Int(compare, value)).ok_or_else(bad)
        }
        DataType::Float32 => float(cells::parse_f32(value).map(f64::from)),
        DataType::Float64 => float(cells::parse_f64(value)),
    }
}

fn compare_all<N: Copy + PartialOrd>(values: &[N], compare: Compare, value: N) -> BooleanBuffer {
    // One loop for each comparison, so that the compiler vectorises each of them.
    match compare {
        Compare::Equal => bits(values, |other| *other == value),
        Compare::NotEqual => bits(values, |other| *other != value),
        Compare::Less => bits(values, |other| *other < value),
        Compare::LessEqual => bits(values, |other| *other <= value),
        Compare::Greater => bits(values, |other| *other > value),
        Compare::GreaterEqual => bits(values, |other| *other >= value),
    }
}

impl Predicate {
    /// Which values pass, for decoded values that are not an array yet.
    ///
    /// # Errors
    /// `LimitExceeded` beyond the work on one row; the errors of `control`.
    pub(super) fn evaluate_part(
        &self,
        part: &Part<'_>,
        control: &Control,
    ) -> Result<BooleanBuffer> {
        match &self.test {
            Test::Row(test) => test.evaluate_part(part, control),
            _ => Ok(self.compare_part(part)),
        }
    }

    /// What the summary of a column shows about its blocks, from `first` on.
    pub(super) fn judge(
        &self,
        run: &Run,
        first: usize,
        count: usize,
    ) -> Result<Option<Vec<Verdict>>> {
        if let Test::Row(test) = &self.test {
            return test.judge(run, first, count);
        }
        Ok(match run.summary(self.column)? {
            None => None,
            Some(ColumnSummary::Int(levels)) => levels
                .blocks()
                .get(first..first + count)
                .map(|blocks| blocks.iter().map(|block| self.judge_int(block)).collect()),
            Some(ColumnSummary::Float(levels)) => levels
                .blocks()
                .get(first..first + count)
                .map(|blocks| blocks.iter().map(|block| self.judge_float(block)).collect()),
        })
    }

    fn compare_part(&self, part: &Part<'_>) -> BooleanBuffer {
        let len = part.len();
        if let Part::Array(array) = part {
            return self.evaluate(array);
        }
        match (&self.test, part) {
            (Test::Int(compare, value), Part::I32(values)) => {
                compare_all(values, *compare, *value as i32)
            }
            (Test::Int(compare, value), Part::I64(values)) => compare_all(values, *compare, *value),
            (Test::Float(compare, value), Part::F32(values)) => {
                compare_all(values, *compare, *value as f32)
            }
            (Test::Float(compare, value), Part::F64(values)) => {
                compare_all(values, *compare, *value)
            }
            (Test::IsNotNan, Part::F32(values)) => bits(values, |value| !value.is_nan()),
            (Test::IsNotNan, Part::F64(values)) => bits(values, |value| !value.is_nan()),
            (Test::IsNotNull | Test::IsNotNan, _) => BooleanBuffer::new_set(len),
            // Slices have no nulls, and each test was validated for the type of its column.
            _ => BooleanBuffer::new_unset(len),
        }
    }

    /// Which rows of an array of the column pass.
    fn evaluate(&self, array: &ArrayRef) -> BooleanBuffer {
        let len = array.len();
        let nulls = array.nulls().filter(|nulls| nulls.null_count() > 0);
        // Whether a null cell passes: only the negative tests let it pass.
        let (mask, null_passes) = match &self.test {
            Test::IsNull => {
                return nulls.map_or_else(|| BooleanBuffer::new_unset(len), |nulls| !nulls.inner());
            }
            Test::IsNotNull => {
                return nulls
                    .map_or_else(|| BooleanBuffer::new_set(len), |nulls| nulls.inner().clone());
            }
            Test::IsNotNan => {
                let mask = match array.data_type() {
                    crate::arrow::datatypes::DataType::Float32 => {
                        let values = array.as_primitive::<Float32Type>().values();
                        BooleanBuffer::collect_bool(len, |at| {
                            values.get(at).is_some_and(|value| !value.is_nan())
                        })
                    }
                    _ => {
                        let values = array.as_primitive::<Float64Type>().values();
                        BooleanBuffer::collect_bool(len, |at| {
                            values.get(at).is_some_and(|value| !value.is_nan())
                        })
                    }
                };
                (mask, true)
            }
            Test::Bool(compare, value) => {
                let values = array.as_boolean().values();
                let mask = match (compare, value) {
                    (Compare::Equal, true)
                    | (Compare::NotEqual | Compare::Greater, false)
                    | (Compare::GreaterEqual, true) => values.clone(),
                    (Compare::Equal, false)
                    | (Compare::NotEqual | Compare::Less, true)
                    | (Compare::LessEqual, false) => !values,
                    (Compare::Less, false) | (Compare::Greater, true) => {
                        BooleanBuffer::new_unset(len)
                    }
                    (Compare::LessEqual, true) | (Compare::GreaterEqual, false) => {
                        BooleanBuffer::new_set(len)
                    }
                };
                (mask, *compare == Compare::NotEqual)
            }
            Test::Int(compare, value) => {
                let mask = match array.data_type() {
                    crate::arrow::datatypes::DataType::Int32 => {
                        // The value of an INT32 filter was parsed as a 32-bit integer.
                        compare_all(
                            array.as_primitive::<Int32Type>().values(),
                            *compare,
                            *value as i32,
                        )
                    }
                    crate::arrow::datatypes::DataType::Int64 => {
                        compare_all(array.as_primitive::<Int64Type>().values(), *compare, *value)
                    }
                    _ => compare_all(ticks::ticks(array), *compare, *value),
                };
                (mask, *compare == Compare::NotEqual)
            }
            Test::Float(compare, value) => {
                let mask = match array.data_type() {
                    crate::arrow::datatypes::DataType::Float32 => compare_all(
                        array.as_primitive::<Float32Type>().values(),
                        *compare,
                        *value as f32,
                    ),
                    _ => {
                        compare_all(array.as_primitive::<Float64Type>().values(), *compare, *value)
                    }
                };
                (mask, *compare == Compare::NotEqual)
            }
            // Evaluated before.
            Test::Row(_) => return BooleanBuffer::new_unset(len),
            Test::Text { value, contains, negate } => {
                let strings = array.as_string::<i32>();
                let mask = if *contains {
                    let finder = memchr::memmem::Finder::new(value);
                    BooleanBuffer::collect_bool(len, |at| {
                        finder.find(strings.value(at).as_bytes()).is_some() != *negate
                    })
                } else {
                    BooleanBuffer::collect_bool(len, |at| (strings.value(at) == value) != *negate)
                };
                (mask, *negate)
            }
        };
        match nulls {
            None => mask,
            Some(nulls) if null_passes => &mask | &!nulls.inner(),
            Some(nulls) => &mask & nulls.inner(),
        }
    }

    /// Tests the summary of a block of integers.
    fn judge_int(&self, block: &Block<i64>) -> Verdict {
        match &self.test {
            Test::Int(compare, value) => judge(*compare, *value, block),
            other => judge_nulls(other, block),
        }
    }

    /// Tests the summary of a block of floats.
    fn judge_float(&self, block: &Block<f64>) -> Verdict {
        match &self.test {
            Test::Float(compare, value) => judge(*compare, *value, block),
            other => judge_nulls(other, block),
        }
    }
}

fn judge_nulls<T>(test: &Test, block: &Block<T>) -> Verdict {
    let all_or = |count: u16, full: Verdict, none: Verdict| match count {
        0 => none,
        count if count == block.rows => full,
        _ => Verdict::Some,
    };
    match test {
        Test::IsNull => all_or(block.nulls, Verdict::All, Verdict::None),
        Test::IsNotNull => all_or(block.nulls, Verdict::None, Verdict::All),
        Test::IsNotNan => all_or(block.nans, Verdict::None, Verdict::All),
        _ => Verdict::Some,
    }
}

fn judge<T: Copy + PartialOrd>(compare: Compare, value: T, block: &Block<T>) -> Verdict {
    let (min, max) = (block.min, block.max);
    let usable = block.is_usable();
    // `any`: some usable value may satisfy the comparison. `every`: all usable values satisfy it.
    let (any, every) = match compare {
        Compare::Equal => (min <= value && value <= max, min == value && max == value),
        Compare::NotEqual => (min != value || max != value, value < min || value > max),
        Compare::Less => (min < value, max < value),
        Compare::LessEqual => (min <= value, max <= value),
        Compare::Greater => (max > value, min > value),
        Compare::GreaterEqual => (max >= value, min >= value),
    };
    let others = block.nulls + block.nans;
    if compare == Compare::NotEqual {
        // Nulls and NaNs are unequal to every value, so they pass.
        return match (usable && any, others > 0) {
            _ if !usable || every => Verdict::All,
            (false, false) => Verdict::None,
            _ => Verdict::Some,
        };
    }
    if !(usable && any) {
        Verdict::None
    } else if every && others == 0 {
        Verdict::All
    } else {
        Verdict::Some
    }
}
