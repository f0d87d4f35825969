//! Conditions of statements in the filter language of the store.
//!
//! Over records the store keeps every record that the condition keeps, and DataFusion tests it
//! again: one side of `and` may be left out, and none of `or`. Over rows a condition goes down as a
//! whole or not at all, so that the store keeps exactly its rows; so it does over results, their steps
//! and measurements, which the store counts. Both need a language without `not` and `!=`: null
//! satisfies `!=` there.

use datafusion::arrow::datatypes::{DataType, Field, Schema, TimeUnit};
use datafusion::logical_expr::expr::InList;
use datafusion::logical_expr::{BinaryExpr, Expr, Operator};
use datafusion::scalar::ScalarValue;
use serde_json::{Value, json};
use stationdb::results::StatusType;

use crate::filters::{ColumnTest, float_of, integer_of, tests, text_of, time_of, value_of};

/// Comparisons in a filter over records, and in one condition that the store alone tests, at most;
/// DataFusion alone tests longer ones. For the latter a bound of all conditions together would make
/// what the store tests of one depend on the others.
const TERMS_MAX: usize = 100;

/// Bytes of a text at most that the store alone compares: it refuses filters with too many of them.
const TEXT_BYTES_MAX: usize = 1024;

/// The status of results and steps in filters. Its letter case does not count there.
const STATUS_TYPE: &str = "status.statusType";

/// Key of the metadata of a column with the path of its field in filters.
pub(crate) const FIELD: &str = "stationdb.field";

/// What the names of a filter are.
pub(crate) enum Names<'s> {
    /// The fields of records.
    Fields(&'s Schema),
    /// The fields of results or steps, in conditions that the store alone tests.
    Whole(&'s Schema),
    /// The columns of measured rows, and which of them may have NaN.
    Columns(&'s Schema, &'s dyn Fn(&str) -> bool),
}

impl Names<'_> {
    /// Whether nothing of a condition may be left out.
    fn is_exact(&self) -> bool {
        matches!(self, Self::Columns(..) | Self::Whole(_))
    }
}

/// A filter in the language of the store.
#[derive(Clone, Debug, Default)]
pub(crate) struct Filter {
    pub text: String,
    pub substitutions: Vec<Value>,
    /// Comparisons that count against the bound.
    terms: usize,
}

impl Filter {
    /// Adds what the store can test of a condition; returns whether that is anything.
    pub(crate) fn add(&mut self, expr: &Expr, names: &Names<'_>) -> bool {
        if names.is_exact() {
            self.terms = 0;
        }
        let Some(text) = self.term(expr, names, Operator::And) else { return false };
        if !self.text.is_empty() {
            self.text.push_str(" and ");
        }
        self.text.push_str(&text);
        true
    }

    /// Adds all terms of another filter.
    pub(crate) fn append(&mut self, other: &Self) {
        if other.text.is_empty() {
            return;
        }
        let before = self.substitutions.len();
        let mut text = String::new();
        // The text has no literals, so what follows each `@` is a number.
        for (at, part) in other.text.split('@').enumerate() {
            if at == 0 {
                text.push_str(part);
                continue;
            }
            let digits = part.find(|sign: char| !sign.is_ascii_digit()).unwrap_or(part.len());
            let (number, rest) = part.split_at(digits);
            let number = number.parse::<usize>().unwrap_or_default() + before;
            text.push_str(&format!("@{number}{rest}"));
        }
        if self.text.is_empty() {
            self.text = text;
        } else {
            self.text = format!("{} and {text}", self.text);
        }
        self.substitutions.extend(other.substitutions.iter().cloned());
    }

    /// Adds that a field is one of these texts.
    pub(crate) fn add_any<'t>(&mut self, field: &str, texts: impl Iterator<Item = &'t str>) {
        let texts: Vec<String> = texts.map(|text| self.substitution(json!(text))).collect();
        let test = if texts.is_empty() {
            "false".to_owned()
        } else {
            format!("{field} in ({})", texts.join(", "))
        };
        if !self.text.is_empty() {
            self.text.push_str(" and ");
        }
        self.text.push_str(&test);
    }

    /// The condition as a term of a chain of `and` or of `or`. Without effect where there is none.
    fn term(&mut self, expr: &Expr, names: &Names<'_>, chain: Operator) -> Option<String> {
        let known = (self.substitutions.len(), self.terms);
        let text = match expr {
            Expr::BinaryExpr(BinaryExpr { left, op: Operator::And, right }) => {
                let sides = [left, right];
                let terms = sides.into_iter().map(|side| self.term(side, names, Operator::And));
                both(terms, names).and_then(|terms| joined(terms, Operator::And, chain))
            }
            Expr::BinaryExpr(BinaryExpr { left, op: Operator::Or, right }) => {
                let sides = [left, right];
                let terms = sides.into_iter().map(|side| self.term(side, names, Operator::Or));
                let terms = terms.collect::<Option<Vec<_>>>();
                terms.and_then(|terms| joined(terms, Operator::Or, chain))
            }
            Expr::InList(InList { expr: operand, list, negated: false }) => {
                let equal = |value| {
                    let test =
                        ColumnTest { operand, operator: Operator::Eq, value: value_of(value)? };
                    self.comparison(&test, names)
                };
                let terms = list.iter().map(equal).collect::<Option<Vec<_>>>();
                terms.and_then(|terms| joined(terms, Operator::Or, chain))
            }
            _ => {
                let tests = tests(expr).unwrap_or_default();
                let terms = tests.iter().map(|test| self.comparison(test, names));
                both(terms, names).and_then(|terms| joined(terms, Operator::And, chain))
            }
        };
        let text = text.filter(|_| self.terms <= TERMS_MAX);
        if text.is_none() {
            self.substitutions.truncate(known.0);
            self.terms = known.1;
        }
        text
    }

    fn comparison(&mut self, test: &ColumnTest<'_>, names: &Names<'_>) -> Option<String> {
        let operator = match test.operator {
            Operator::Eq => "==",
            Operator::Lt => "<",
            Operator::LtEq => "<=",
            Operator::Gt => ">",
            Operator::GtEq => ">=",
            _ => return None,
        };
        let (name, value) = match names {
            Names::Fields(schema) => {
                let field = member(test.operand, schema)?;
                let value = field_value(test, field)?;
                let path = field.metadata().get(FIELD)?;
                (path.clone(), value)
            }
            Names::Whole(schema) => {
                let field = member(test.operand, schema)?;
                let path = field.metadata().get(FIELD)?;
                (path.clone(), whole_value(test, field, path)?)
            }
            Names::Columns(schema, has_nan) => {
                let name = test.column().or_else(|| widened(test.operand, schema))?;
                let (_, field) = schema.column_with_name(name)?;
                let value = column_value(test, field, has_nan(name))?;
                // A column may have any name.
                (format!("it[{}]", self.substitution(json!(name))), value)
            }
        };
        self.terms += 1;
        Some(format!("{name} {operator} {}", self.substitution(value)))
    }

    fn substitution(&mut self, value: Value) -> String {
        let number = self.substitutions.len();
        self.substitutions.push(value);
        format!("@{number}")
    }
}

/// The column of 32-bit floats that is compared as one of 64 bits, which is how the store compares
/// it too.
fn widened<'e>(expr: &'e Expr, schema: &Schema) -> Option<&'e str> {
    let Expr::Cast(cast) = expr else { return None };
    let Expr::Column(column) = cast.expr.as_ref() else { return None };
    let (_, field) = schema.column_with_name(&column.name)?;
    let is_widened =
        *field.data_type() == DataType::Float32 && *cast.field.data_type() == DataType::Float64;
    is_widened.then_some(column.name.as_str())
}

fn field_value(test: &ColumnTest<'_>, field: &Field) -> Option<Value> {
    Some(match field.data_type() {
        DataType::Utf8 if test.operator == Operator::Eq => json!(text_of(test.value)?),
        DataType::Int64 => json!(integer_of(test.value)?),
        DataType::Timestamp(..) => json!(time_of(test.value)?),
        _ => return None,
    })
}

/// The value, where the store's comparison of a result or step with it keeps exactly those that SQL
/// keeps.
fn whole_value(test: &ColumnTest<'_>, field: &Field, path: &str) -> Option<Value> {
    match (field.data_type(), test.value) {
        (DataType::Utf8, value) if test.operator == Operator::Eq => {
            let text = text_of(value).filter(|text| text.len() <= TEXT_BYTES_MAX)?;
            let is_same = |status: StatusType| status.as_str() == text;
            let is_kept = path != STATUS_TYPE || text.parse().is_ok_and(is_same);
            is_kept.then(|| json!(text))
        }
        // The store's times have no finer digits.
        (DataType::Timestamp(TimeUnit::Millisecond, _), ScalarValue::TimestampMillisecond(..)) => {
            time_of(test.value).map(|time| json!(time))
        }
        _ => None,
    }
}

/// The value, where the store's comparison with it keeps exactly the rows of SQL's.
fn column_value(test: &ColumnTest<'_>, field: &Field, has_nan: bool) -> Option<Value> {
    let is_greater = matches!(test.operator, Operator::Gt | Operator::GtEq);
    Some(match field.data_type() {
        // NaN is greater than every number in SQL alone.
        DataType::Float32 | DataType::Float64 if is_greater && has_nan => return None,
        DataType::Float32 | DataType::Float64 => {
            // The two zeros are left to DataFusion.
            json!(float_of(test.value).filter(|value| value.is_finite() && *value != 0.0)?)
        }
        DataType::Int32 | DataType::Int64 => json!(integer_of(test.value)?),
        // Finer times are integers in the language.
        DataType::Timestamp(unit, _) => match (unit, test.value) {
            (TimeUnit::Millisecond, value) => json!(time_of(value)?),
            (TimeUnit::Microsecond, ScalarValue::TimestampMicrosecond(Some(count), _))
            | (TimeUnit::Nanosecond, ScalarValue::TimestampNanosecond(Some(count), _)) => {
                json!(count)
            }
            _ => return None,
        },
        DataType::Utf8 if test.operator == Operator::Eq => json!(text_of(test.value)?),
        _ => return None,
    })
}

/// What both sides of `and` have: one of them is less strict than both.
fn both(terms: impl Iterator<Item = Option<String>>, names: &Names<'_>) -> Option<Vec<String>> {
    if names.is_exact() { terms.collect() } else { Some(terms.flatten().collect()) }
}

/// The column, or the member of objects that `timeline['due_date_time']` names.
fn member<'s>(expr: &Expr, schema: &'s Schema) -> Option<&'s Field> {
    match expr {
        Expr::Column(column) => schema.column_with_name(&column.name).map(|(_, field)| field),
        Expr::ScalarFunction(call) if call.name() == "get_field" => {
            let (object, names) = call.args.split_first()?;
            names.iter().try_fold(member(object, schema)?, |field, name| {
                let DataType::Struct(members) = field.data_type() else { return None };
                let (_, found) = members.find(text_of(value_of(name)?)?)?;
                Some(found.as_ref())
            })
        }
        _ => None,
    }
}

/// The terms of one chain, as a term of another: flat chains do not nest.
fn joined(terms: Vec<String>, own: Operator, outer: Operator) -> Option<String> {
    let word = if own == Operator::And { " and " } else { " or " };
    match terms.len() {
        0 => None,
        1 => terms.into_iter().next(),
        _ if own == outer => Some(terms.join(word)),
        _ => Some(format!("({})", terms.join(word))),
    }
}
