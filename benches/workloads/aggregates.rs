//! Aggregates of the measurement table, and the same by a naive pass over its rows.

use stationdb::tables::{Aggregate, AggregateFunction as Of, AggregateGroup};

use crate::common::Res;
use crate::measurements::{v1, v2};

/// What is compared of a group: rows, the sum of v1, and the squares of v2 around 25.
#[derive(Clone, Copy, Default)]
pub struct Naive {
    pub rows: u64,
    sum: f64,
    least: f64,
    greatest: f64,
    shifted: (f64, f64),
}

impl Naive {
    pub fn add(&mut self, row: u64) {
        let (value, other) = (v1(row), v2(row) - 25.0);
        if self.rows == 0 {
            (self.least, self.greatest) = (value, value);
        }
        (self.least, self.greatest) = (self.least.min(value), self.greatest.max(value));
        self.rows += 1;
        self.sum += value;
        self.shifted.0 += other;
        self.shifted.1 += other * other;
    }

    fn deviation(&self) -> f64 {
        let count = self.rows as f64;
        ((self.shifted.1 - self.shifted.0 * self.shifted.0 / count) / (count - 1.0)).sqrt()
    }
}

pub fn of(function: Of, column: &str) -> Aggregate {
    Aggregate::new(function).column(column)
}

/// Count, sum, mean, least, greatest of v1 and the deviation of v2.
pub fn all() -> Vec<Aggregate> {
    let of_v1 = [Of::Count, Of::Sum, Of::Mean, Of::Min, Of::Max].map(|one| of(one, "v1"));
    of_v1.into_iter().chain([of(Of::Deviation, "v2")]).collect()
}

pub fn check(groups: &[AggregateGroup], expected: &[Naive]) -> Res<()> {
    assert_eq!(groups.len(), expected.len());
    for (group, naive) in groups.iter().zip(expected) {
        let value = |at: usize| -> Res<f64> {
            let text = group.values.get(at).and_then(|value| value.value.as_deref());
            Ok(text.ok_or("no value")?.parse()?)
        };
        assert_eq!(group.rows as u64, naive.rows);
        assert_eq!(value(0)?, naive.rows as f64);
        let scale = naive.rows as f64 * 10.0;
        assert!((value(1)? - naive.sum).abs() < 1e-10 * scale, "{} {}", value(1)?, naive.sum);
        assert!((value(2)? - naive.sum / naive.rows as f64).abs() < 1e-9);
        assert_eq!((value(3)?, value(4)?), (naive.least, naive.greatest));
        assert!((value(5)? / naive.deviation() - 1.0).abs() < 1e-6);
    }
    Ok(())
}
