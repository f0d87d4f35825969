//! Random aggregates, beside the same computed from the rows of the model.

use std::cmp::Ordering;

use crate::prelude::*;

use super::cells::{Cell, Kind, canonical, compare};
use super::exact::sum;
use super::{ColumnOf, World, read};

/// A key of groups: a column, and the width of its buckets.
type Key = (usize, Option<f64>);

/// What to compute of a column.
#[derive(Clone, Debug)]
struct Term {
    function: &'static str,
    column: Option<usize>,
    percentile: f64,
    /// Of a histogram.
    range: (f64, f64, usize),
}

/// The value of a key, and its text.
fn key_of(kind: Kind, width: Option<f64>, cell: &Cell) -> (Cell, Option<String>) {
    match (cell, width) {
        (Cell::Int(value), Some(width)) => {
            let start = i128::from(*value).div_euclid(width as i128) * width as i128;
            let start = Cell::Int(start.max(i128::from(i64::MIN)) as i64);
            let text = canonical(kind, &start);
            (start, text)
        }
        (Cell::Float(value), Some(width)) if value.is_finite() => {
            let number = (value / width).floor();
            let start = if number.is_finite() { number * width } else { *value };
            let start = Cell::Float(start.clamp(f64::MIN, f64::MAX) + 0.0);
            let text = canonical(Kind::Float64, &start);
            (start, text)
        }
        (Cell::Float(value), _) => {
            let cell = Cell::Float(value + 0.0);
            let text = canonical(kind, &cell);
            (cell, text)
        }
        (cell, _) => (cell.clone(), canonical(kind, cell)),
    }
}

/// The order of groups: null last.
fn key_order(left: &Cell, right: &Cell) -> Ordering {
    match (left, right) {
        (Cell::Null, Cell::Null) => Ordering::Equal,
        (Cell::Null, _) => Ordering::Greater,
        (_, Cell::Null) => Ordering::Less,
        (left, right) => compare(left, right),
    }
}

fn is_used(cell: &Cell) -> bool {
    !matches!(cell, Cell::Null) && !matches!(cell, Cell::Float(value) if value.is_nan())
}

fn float(cell: &Cell) -> f64 {
    match cell {
        Cell::Int(value) => *value as f64,
        Cell::Float(value) => *value,
        cell => panic!("{cell:?}"),
    }
}

/// Whether a cell is less than an edge, of which every whole part fits in 128 bits or is beyond all
/// integers.
fn is_below(cell: &Cell, edge: f64) -> bool {
    match cell {
        Cell::Int(value) => i128::from(*value) < edge.ceil() as i128,
        cell => float(cell) < edge,
    }
}

fn is_above(cell: &Cell, edge: f64) -> bool {
    match cell {
        Cell::Int(value) => i128::from(*value) > edge.floor() as i128,
        cell => float(cell) > edge,
    }
}

/// The double at a share, more than 0, of the way between two that differ.
fn linear(low: f64, high: f64, share: f64) -> f64 {
    match (low.is_finite(), high.is_finite()) {
        (false, false) => f64::NAN,
        (false, true) => low,
        (true, false) => high,
        (true, true) if (high - low).is_finite() => (low + (high - low) * share).clamp(low, high),
        (true, true) => (low * (1.0 - share) + high * share).clamp(low, high),
    }
}

fn int_sum(cells: &[&Cell]) -> i128 {
    let int = |cell: &&Cell| match cell {
        Cell::Int(value) => i128::from(*value),
        cell => panic!("{cell:?}"),
    };
    cells.iter().map(int).sum()
}

/// A zero has no sign in an answer: of equal values any may be met.
fn written(kind: Kind, cell: &Cell) -> Option<String> {
    match cell {
        Cell::Float(value) => canonical(kind, &Cell::Float(value + 0.0)),
        cell => canonical(kind, cell),
    }
}

/// The correctly rounded sum of doubles, of which some may be infinite.
fn float_sum(values: &[f64]) -> f64 {
    let has = |infinity: f64| values.contains(&infinity);
    match (has(f64::INFINITY), has(f64::NEG_INFINITY)) {
        (true, true) => f64::NAN,
        (true, false) => f64::INFINITY,
        (false, true) => f64::NEG_INFINITY,
        (false, false) => sum(values),
    }
}

/// A double that may differ a little in the last digits.
fn is_near(found: &Value, expected: Option<f64>, tolerance: f64) -> bool {
    match (found.as_str(), expected) {
        (None, None) => found.is_null(),
        (Some(text), Some(expected)) => {
            let found: f64 = text.parse().unwrap();
            let same = found == expected || (found.is_nan() && expected.is_nan());
            // A mean of the least doubles has few digits.
            let least = if tolerance > 0.0 { 1e-300 } else { 0.0 };
            same || (found - expected).abs() <= tolerance * expected.abs() + least
        }
        _ => false,
    }
}

/// The deviation by two passes; `None` where these are not exact enough to compare. Whole numbers
/// that differ may be one double, so whether all `are_equal` is told.
fn deviation(values: &[f64], is_sample: bool, are_equal: bool) -> Option<Option<f64>> {
    let divisor = values.len() as f64 - f64::from(u8::from(is_sample));
    if divisor < 1.0 {
        return Some(None);
    }
    let largest = values.iter().fold(0.0, |most: f64, value| most.max(value.abs()));
    if !largest.is_finite() {
        return Some(Some(f64::NAN));
    }
    let mean = sum(values) / values.len() as f64;
    let squares: Vec<f64> = values.iter().map(|value| (value - mean).powi(2)).collect();
    let deviation = (sum(&squares) / divisor).sqrt();
    let is_exact = (1e-100..1e100).contains(&largest) && deviation > largest * 1e-6;
    match (is_exact, are_equal) {
        (_, true) => Some(Some(0.0)),
        (true, _) => Some(Some(deviation)),
        _ => None,
    }
}

impl Term {
    /// Whether a value of the answer is right. The cells are in the order of the index.
    fn is_right(&self, columns: &[ColumnOf], cells: &[&Cell], found: &Value) -> bool {
        let kind = self.column.map_or(Kind::Int64, |at| columns[at].kind);
        let value = &found["value"];
        let mut used: Vec<&Cell> = cells.iter().copied().filter(|cell| is_used(cell)).collect();
        used.sort_by(|left, right| compare(left, right));
        let plain = |cell: Option<&&Cell>| {
            let expected = cell.and_then(|cell| written(kind, cell));
            value.as_str() == expected.as_deref()
        };
        let floats = || used.iter().map(|cell| float(cell)).collect::<Vec<_>>();
        match self.function {
            "COUNT" => {
                let is_cell = |cell: &&&Cell| self.column.is_none() || ***cell != Cell::Null;
                value.as_str() == Some(&cells.iter().filter(is_cell).count().to_string())
            }
            "MIN" => plain(used.first()),
            "MAX" => plain(used.last()),
            "FIRST" => plain(cells.first()),
            "LAST" => plain(cells.last()),
            "SUM" if used.is_empty() => value.is_null(),
            "SUM" if kind.is_float() => {
                let expected = Cell::Float(float_sum(&floats()) + 0.0);
                value.as_str() == canonical(Kind::Float64, &expected).as_deref()
            }
            "SUM" => value.as_str() == Some(&int_sum(&used).to_string()),
            "MEAN" => {
                let mean =
                    if kind.is_float() { float_sum(&floats()) } else { int_sum(&used) as f64 }
                        / used.len() as f64;
                // The sum may overflow where the mean does not.
                let overflows =
                    mean.is_infinite() && floats().iter().all(|value| value.is_finite());
                overflows || is_near(value, (!used.is_empty()).then_some(mean), 1e-12)
            }
            "DEVIATION" | "POPULATION_DEVIATION" => {
                let are_equal = used.windows(2).all(|pair| compare(pair[0], pair[1]).is_eq());
                let expected = deviation(&floats(), self.function == "DEVIATION", are_equal);
                expected.is_none_or(|expected| is_near(value, expected, 1e-9))
            }
            "PERCENTILE_NEAREST" => {
                // The least value that enough values do not exceed.
                let enough =
                    |at: &usize| (at + 1) as f64 >= self.percentile * used.len() as f64 / 100.0;
                plain((0..used.len()).find(enough).and_then(|at| used.get(at)))
            }
            "PERCENTILE_LINEAR" => {
                let floats = floats();
                let place = self.percentile * (floats.len().max(1) - 1) as f64 / 100.0;
                let low = floats.get(place as usize).copied();
                let high = floats.get(place as usize + 1).copied();
                let expected = low.map(|low| match high {
                    Some(high) if place.fract() != 0.0 && low != high => {
                        linear(low, high, place.fract())
                    }
                    _ => low,
                });
                is_near(value, expected, 0.0)
            }
            "HISTOGRAM" => {
                let (lower, upper, bins) = self.range;
                let edge = |at: usize| lower + (upper - lower) * (at as f64 / bins as f64);
                let mut counts = vec![0; bins + 2];
                for cell in used {
                    let at = match cell {
                        cell if is_below(cell, lower) => 0,
                        cell if is_above(cell, upper) => bins + 1,
                        cell => (1..bins).take_while(|at| !is_below(cell, edge(*at))).count() + 1,
                    };
                    counts[at] += 1;
                }
                found["counts"] == json!(counts)
            }
            function => panic!("{function}"),
        }
    }

    fn request(&self, columns: &[ColumnOf]) -> Value {
        let mut request = json!({"function": self.function});
        if let Some(at) = self.column {
            request["column"] = columns[at].name.as_str().into();
        }
        if self.function.starts_with("PERCENTILE") {
            request["percentile"] = self.percentile.into();
        }
        if self.function == "HISTOGRAM" {
            let (lower, upper, bins) = self.range;
            request["lower"] = lower.into();
            request["upper"] = upper.into();
            request["bins"] = bins.into();
        }
        request
    }
}

impl World {
    fn key(&mut self) -> Key {
        let at = self.rng.below(self.columns.len());
        let width = match self.columns[at].kind {
            _ if self.rng.chance(40) => None,
            Kind::Bool | Kind::Text => None,
            Kind::Float32 | Kind::Float64 => Some(self.rng.pick(&[0.5, 0.1, 10.0, 1e300])),
            kind if kind.is_time() => {
                Some(self.rng.pick(&[1.0, 60_000.0, 3_600_000.0, 86_400_000.0]))
            }
            _ => Some(self.rng.pick(&[1.0, 2.0, 7.0, 1_000.0, 1e9, 1e15])),
        };
        (at, width)
    }

    fn term(&mut self) -> Term {
        let at = self.rng.below(self.columns.len());
        let always: &[&str] = &["COUNT", "MIN", "MAX", "FIRST", "LAST"];
        let numbers: &[&str] = &[
            "SUM",
            "MEAN",
            "DEVIATION",
            "POPULATION_DEVIATION",
            "PERCENTILE_LINEAR",
            "PERCENTILE_NEAREST",
            "HISTOGRAM",
        ];
        let function = match self.columns[at].kind {
            Kind::Bool | Kind::Text => self.rng.pick(always),
            kind if kind.is_time() && self.rng.chance(20) => "PERCENTILE_NEAREST",
            kind if kind.is_time() => self.rng.pick(always),
            _ if self.rng.chance(30) => self.rng.pick(always),
            _ => self.rng.pick(numbers),
        };
        let column = (function != "COUNT" || self.rng.chance(70)).then_some(at);
        let percentile = self.rng.pick(&[0.0, 7.0, 25.0, 50.0, 90.0, 99.9, 100.0]);
        let range =
            self.rng.pick(&[(-3.0, 3.0, 6), (0.0, 1.0, 3), (-1e9, 1e9, 10), (-0.3, 0.7, 7)]);
        Term { function, column, percentile, range }
    }

    /// Asks for random aggregates by random groups of the rows that random filters select.
    pub(super) fn ask_for_aggregates(&mut self) {
        let ask = if self.rng.chance(60) { Some(self.ask(2)) } else { None };
        let tests = self.tests();
        let keys: Vec<Key> = (0..self.rng.pick(&[0, 0, 1, 1, 2])).map(|_| self.key()).collect();
        let terms: Vec<Term> = (0..self.rng.below(5)).map(|_| self.term()).collect();
        let mut request = json!({
            "filters": self.filters(&tests),
            "aggregates": terms.iter().map(|term| term.request(&self.columns)).collect::<Value>(),
            "groupBy": keys
                .iter()
                .map(|(at, width)| json!({"column": self.columns[*at].name, "width": width}))
                .collect::<Value>(),
        });
        if let Some(ask) = &ask {
            (request["filter"], request["substitutions"]) = self.written(ask);
        }
        let rows: Vec<usize> = self
            .expected(&tests, &[])
            .into_iter()
            .filter(|at| ask.as_ref().is_none_or(|ask| ask.holds(&self.rows[*at])))
            .collect();
        let use_of = |what: &str| format!("{what}, seed {}: {request}", self.seed);
        let answer = self.session.aggregate_table_data(&self.id.as_str().into(), read(&request));
        let answer = match answer {
            Ok(answer) => serde_json::to_value(answer).unwrap(),
            // Some worlds have little memory for a query.
            Err(error) => {
                let little = ["than the 1 bytes", "than the 20000 bytes"];
                let is_little = little.iter().any(|text| error.to_string().contains(text));
                assert!(
                    is_little && error.kind() == ErrorKind::LimitExceeded,
                    "{error}: {}",
                    use_of("refused")
                );
                return;
            }
        };
        let of_row = |at: usize| -> Vec<(Cell, Option<String>)> {
            let key = |(column, width): &Key| {
                key_of(self.columns[*column].kind, *width, &self.rows[at][*column])
            };
            keys.iter().map(key).collect()
        };
        let mut keyed: Vec<(Vec<(Cell, Option<String>)>, usize)> =
            rows.iter().map(|at| (of_row(*at), *at)).collect();
        // Stable, so that the rows of a group remain in the order of the index.
        keyed.sort_by(|(left, _), (right, _)| {
            let cells = left.iter().zip(right).map(|(left, right)| key_order(&left.0, &right.0));
            cells.fold(Ordering::Equal, Ordering::then)
        });
        let mut groups: Vec<&[(Vec<(Cell, Option<String>)>, usize)]> = keyed
            .chunk_by(|left, right| {
                left.0
                    .iter()
                    .zip(&right.0)
                    .all(|(left, right)| key_order(&left.0, &right.0).is_eq())
            })
            .collect();
        if keys.is_empty() && groups.is_empty() {
            groups.push(&[]);
        }
        let found = answer["groups"].as_array().unwrap();
        assert_eq!(found.len(), groups.len(), "{}: {answer}", use_of("groups"));
        for (found, group) in found.iter().zip(groups) {
            let texts: Vec<Option<&String>> = match group.first() {
                Some((cells, _)) => cells.iter().map(|(_, text)| text.as_ref()).collect(),
                None => Vec::new(),
            };
            assert_eq!(found["keys"], json!(texts), "{}: {found}", use_of("keys"));
            assert_eq!(found["rows"], json!(group.len()), "{}: {found}", use_of("rows"));
            for (place, term) in terms.iter().enumerate() {
                let cells: Vec<&Cell> = match term.column {
                    Some(column) => group.iter().map(|(_, at)| &self.rows[*at][column]).collect(),
                    None => group.iter().map(|_| &Cell::Null).collect(),
                };
                let value = &found["values"][place];
                assert!(
                    term.is_right(&self.columns, &cells, value),
                    "{}: {value} of {term:?} in {found}, cells {:?}",
                    use_of("value"),
                    &cells[..cells.len().min(50)]
                );
            }
        }
    }
}
