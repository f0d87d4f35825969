//! Random filters of rows in the whole language: their text, and what they mean.
//!
//! Null satisfies `!=` and `== null` only; NaN satisfies no comparison, but `isnan`.

use std::cmp::Ordering;

use crate::prelude::*;

use super::cells::{Cell, Kind, canonical, compare, draw};
use super::{ColumnOf, World, read};

const SIGNS: [&str; 6] = ["==", "!=", "<", "<=", ">", ">="];

/// A filter of rows.
#[derive(Clone, Debug)]
pub(super) enum Ask {
    All(Vec<Ask>),
    Any(Vec<Ask>),
    Not(Box<Ask>),
    /// Column, sign, constant; the constant of an integer column may be a float.
    Compare(usize, &'static str, Cell),
    /// The same with an arithmetic expression, which is tested row by row.
    Plus(usize, i64, &'static str, i64),
    Columns(usize, &'static str, usize),
    In(usize, Vec<Cell>, bool),
    IsNull(usize),
    IsNan(usize),
    Part(usize, &'static str, String),
    Longer(usize, i64),
}

fn holds(sign: &str, order: Option<Ordering>) -> bool {
    match (sign, order) {
        (_, None) => false,
        ("==", Some(order)) => order.is_eq(),
        ("!=", Some(order)) => order.is_ne(),
        ("<", Some(order)) => order.is_lt(),
        ("<=", Some(order)) => order.is_le(),
        (">", Some(order)) => order.is_gt(),
        (_, Some(order)) => order.is_ge(),
    }
}

/// The exact order; `None` for NaN.
fn order(left: &Cell, right: &Cell) -> Option<Ordering> {
    match (left, right) {
        (Cell::Float(left), Cell::Float(right)) => left.partial_cmp(right),
        (Cell::Int(left), Cell::Float(right)) if !right.is_nan() => {
            // Saturates beyond 128 bits, which no integer of a column reaches.
            let whole = right.floor() as i128;
            let has_rest = right.fract() != 0.0;
            Some(i128::from(*left).cmp(&whole).then(if has_rest {
                Ordering::Less
            } else {
                Ordering::Equal
            }))
        }
        (Cell::Float(_), Cell::Int(_)) => order(right, left).map(Ordering::reverse),
        (Cell::Float(_), _) | (_, Cell::Float(_)) => None,
        (left, right) => Some(compare(left, right)),
    }
}

fn compared(left: &Cell, sign: &str, right: &Cell) -> bool {
    match (left, right) {
        (Cell::Null, Cell::Null) => sign == "==",
        (Cell::Null, _) | (_, Cell::Null) => sign == "!=",
        (left, right) => holds(sign, order(left, right)),
    }
}

fn is_nan(cell: &Cell) -> bool {
    matches!(cell, Cell::Float(value) if value.is_nan())
}

impl Ask {
    /// Whether a row matches.
    pub(super) fn holds(&self, row: &[Cell]) -> bool {
        match self {
            Self::All(asks) => asks.iter().all(|ask| ask.holds(row)),
            Self::Any(asks) => asks.iter().any(|ask| ask.holds(row)),
            Self::Not(ask) => !ask.holds(row),
            Self::Compare(at, sign, value) => compared(&row[*at], sign, value),
            Self::Plus(at, more, sign, value) => {
                let sum = match &row[*at] {
                    Cell::Int(cell) => cell.checked_add(*more).map_or(Cell::Null, Cell::Int),
                    _ => Cell::Null,
                };
                compared(&sum, sign, &Cell::Int(*value))
            }
            Self::Columns(left, sign, right) => compared(&row[*left], sign, &row[*right]),
            Self::In(at, values, has_null) => match &row[*at] {
                Cell::Null => *has_null,
                cell => values.iter().any(|value| compared(cell, "==", value)),
            },
            Self::IsNull(at) => row[*at] == Cell::Null,
            Self::IsNan(at) => is_nan(&row[*at]),
            Self::Part(at, how, part) => match &row[*at] {
                Cell::Text(text) => match *how {
                    "Contains" => text.contains(part),
                    "StartsWith" => text.starts_with(part),
                    _ => text.ends_with(part),
                },
                _ => false,
            },
            Self::Longer(at, than) => match &row[*at] {
                Cell::Text(text) => text.chars().count() as i64 > *than,
                _ => false,
            },
        }
    }
}

/// The text of a filter, and its substitutions.
pub(super) struct Written<'w> {
    pub columns: &'w [ColumnOf],
    pub values: Vec<Value>,
}

fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            '\0' => out.push_str("\\0"),
            c => out.push(c),
        }
    }
    out + "\""
}

impl Written<'_> {
    fn name(&self, at: usize) -> String {
        format!("it[{}]", quoted(&self.columns[at].name))
    }

    /// A constant as a literal or as a substitution; numbers and times are written as text, which
    /// is exact.
    fn constant(&mut self, at: usize, cell: &Cell) -> String {
        let text = match cell {
            Cell::Bool(value) => return value.to_string(),
            // Digits alone are an integer, which may not fit.
            Cell::Float(value) => format!("{value:?}"),
            cell => canonical(self.columns[at].kind, cell).unwrap(),
        };
        if text.len() % 2 == 0 {
            return quoted(&text);
        }
        self.values.push(text.into());
        format!("@{}", self.values.len() - 1)
    }

    pub(super) fn text(&mut self, ask: &Ask) -> String {
        let joined = |written: &mut Self, asks: &[Ask], word: &str| {
            let terms: Vec<String> = asks.iter().map(|ask| written.text(ask)).collect();
            format!("({})", terms.join(word))
        };
        match ask {
            Ask::All(asks) => joined(self, asks, " && "),
            Ask::Any(asks) => joined(self, asks, " or "),
            Ask::Not(ask) => format!("!({})", self.text(ask)),
            Ask::Compare(at, sign, value) => {
                let value = self.constant(*at, value);
                format!("{} {sign} {value}", self.name(*at))
            }
            Ask::Plus(at, more, sign, value) => {
                format!("{} + {more} {sign} {value}", self.name(*at))
            }
            Ask::Columns(left, sign, right) => {
                format!("{} {sign} {}", self.name(*left), self.name(*right))
            }
            Ask::In(at, values, has_null) => {
                let mut list: Vec<String> =
                    values.iter().map(|value| self.constant(*at, value)).collect();
                if *has_null {
                    list.push("null".to_owned());
                }
                format!("{} in ({})", self.name(*at), list.join(", "))
            }
            Ask::IsNull(at) => format!("{} == null", self.name(*at)),
            Ask::IsNan(at) => format!("isnan({})", self.name(*at)),
            Ask::Part(at, how, part) => format!("{}.{how}({})", self.name(*at), quoted(part)),
            Ask::Longer(at, than) => format!("{}.Length > {than}", self.name(*at)),
        }
    }
}

impl World {
    fn constant_for(&mut self, at: usize) -> Cell {
        let ColumnOf { kind, spread, .. } = self.columns[at];
        let rows = &self.rows;
        let rng = &mut self.rng;
        let drawn = match rng.below(3) {
            0 if !rows.is_empty() => rows[rng.below(rows.len())][at].clone(),
            1 if at == self.number => Cell::Int(rng.below(rows.len() + 1) as i64),
            _ => draw(rng, kind, spread).0,
        };
        let finite = |cell: &Cell| !matches!(cell, Cell::Float(value) if !value.is_finite());
        match drawn {
            Cell::Int(value) if !kind.is_time() && rng.chance(15) => {
                Cell::Float(value as f64 / 2.0)
            }
            Cell::Null => fallback(kind),
            cell if finite(&cell) => cell,
            _ => fallback(kind),
        }
    }

    fn one(&mut self) -> Ask {
        let at = self.rng.below(self.columns.len());
        let kind = self.columns[at].kind;
        match (self.rng.below(8), kind) {
            (0, _) => Ask::IsNull(at),
            (1, kind) if kind.is_float() => Ask::IsNan(at),
            (1, Kind::Text) => {
                let how = self.rng.pick(&["Contains", "StartsWith", "EndsWith"]);
                let part = self.rng.pick(&["", "a", "0", "SN", "\u{1f600}", "b"]);
                Ask::Part(at, how, part.to_owned())
            }
            (2, Kind::Text) => Ask::Longer(at, self.rng.below(4) as i64),
            (2, Kind::Int32 | Kind::Int64) => {
                let (more, value) = (self.rng.below(9) as i64, self.rng.below(90) as i64);
                Ask::Plus(at, more, self.rng.pick(&SIGNS), value)
            }
            (3 | 4, _) => {
                let count = self.rng.pick(&[1, 2, 3, 12]);
                let values = (0..count).map(|_| self.constant_for(at)).collect();
                Ask::In(at, values, self.rng.chance(20))
            }
            (5, kind) => {
                let alike = |other: &usize| self.columns[*other].kind == kind;
                let others: Vec<usize> = (0..self.columns.len()).filter(alike).collect();
                let other = self.rng.pick(&others);
                match kind {
                    Kind::Bool => Ask::Columns(at, self.rng.pick(&SIGNS[..2]), other),
                    _ => Ask::Columns(at, self.rng.pick(&SIGNS), other),
                }
            }
            (_, Kind::Bool) => Ask::Compare(at, self.rng.pick(&SIGNS[..2]), self.constant_for(at)),
            _ => {
                let sign = self.rng.pick(&SIGNS);
                Ask::Compare(at, sign, self.constant_for(at))
            }
        }
    }

    /// A random filter.
    pub(super) fn ask(&mut self, depth: usize) -> Ask {
        match self.rng.below(if depth == 0 { 1 } else { 5 }) {
            1 | 2 => {
                let terms = (0..self.rng.below(3) + 1).map(|_| self.ask(depth - 1)).collect();
                if self.rng.chance(50) { Ask::All(terms) } else { Ask::Any(terms) }
            }
            3 => Ask::Not(Box::new(self.ask(depth - 1))),
            _ => self.one(),
        }
    }

    /// The filter as members of a request.
    pub(super) fn written(&self, ask: &Ask) -> (Value, Value) {
        let mut written = Written { columns: &self.columns, values: Vec::new() };
        let text = written.text(ask);
        (text.into(), written.values.into())
    }

    /// Asks for rows by a filter of the language, alone and beside the wire's conditions.
    pub(super) fn ask_for_rows(&mut self) {
        let (ask, tests) = (self.ask(3), self.tests());
        let expected: Vec<usize> = self
            .expected(&tests, &[])
            .into_iter()
            .filter(|at| ask.holds(&self.rows[*at]))
            .collect();
        let (filter, substitutions) = self.written(&ask);
        let request = json!({
            "filter": filter, "substitutions": substitutions, "filters": self.filters(&tests),
            "take": 10_000, "columns": [self.columns[self.number].name],
        });
        let id = self.id.as_str().into();
        let use_of = |what: &str| format!("{what}, seed {}: {request}", self.seed);
        let page = self
            .session
            .query_table_data(&id, read(&request))
            .unwrap_or_else(|error| panic!("{}: {error}", use_of("refused")));
        assert_eq!(page.total_row_count, expected.len() as u64, "{}", use_of("count"));
        let found = self.numbers(&[self.number], &page.frame.to_data_frame());
        assert_eq!(found, expected, "{}", use_of("rows"));
        let plan = self.session.explain_query_table_data(&id, read(&request)).unwrap();
        assert_eq!(plan.touched.rows_passed, expected.len() as u64, "{}", use_of("plan"));
    }
}

fn fallback(kind: Kind) -> Cell {
    match kind {
        Kind::Bool => Cell::Bool(true),
        Kind::Text => Cell::Text("a".to_owned()),
        Kind::Float32 | Kind::Float64 => Cell::Float(0.5),
        _ => Cell::Int(0),
    }
}
