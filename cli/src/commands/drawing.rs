//! What is drawn, whatever draws it.

use stationdb::chrono::DateTime;

use super::scale::{number, range};

/// One column over x, in the order of x.
pub struct Curve {
    pub name: String,
    pub points: Vec<(f64, f64)>,
}

/// What a limit is of; each kind has its own colour and its own dashes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LimitKind {
    /// What is allowed: of a specification, of a measurement, or of an option.
    Specification,
    /// What the values themselves make likely: center and limits of a control chart.
    Control,
}

/// A line at a value.
pub struct Limit {
    pub name: String,
    pub value: f64,
    pub kind: LimitKind,
}

impl LimitKind {
    /// The dashes of its line in text.
    pub fn dashes(self) -> &'static str {
        match self {
            Self::Specification => "┅",
            Self::Control => "┄",
        }
    }
}

/// Points that are drawn by themselves.
#[derive(Default)]
pub struct Marks {
    /// What they are.
    pub name: String,
    pub points: Vec<(f64, f64)>,
}

/// What is drawn.
pub struct Drawing {
    pub title: String,
    pub x_name: String,
    /// Whether x is a time in milliseconds since 1970.
    pub is_time: bool,
    pub curves: Vec<Curve>,
    pub limits: Vec<Limit>,
    pub marks: Marks,
    /// Whether values are left out because they are infinite or NaN.
    pub is_partial: bool,
}

/// What is said of values that are infinite or NaN.
pub const LEFT_OUT: &str = "values that are infinite or NaN are left out";

impl Drawing {
    /// The range of x and that of y. A range is never empty.
    pub fn ranges(&self) -> ((f64, f64), (f64, f64)) {
        let points = || self.curves.iter().flat_map(|curve| &curve.points);
        let limits = self.limits.iter().map(|limit| limit.value);
        (range(points().map(|point| point.0)), range(points().map(|point| point.1).chain(limits)))
    }

    /// The label of a place on the x axis.
    pub fn x_label(&self, x: f64) -> String {
        if !self.is_time {
            return number(x);
        }
        let ((from, to), _) = self.ranges();
        let form = match to - from {
            span if span < 100.0 => "%H:%M:%S%.6f",
            span if span < 86_400_000.0 => "%H:%M:%S%.3f",
            _ => "%Y-%m-%d %H:%M",
        };
        let time = DateTime::from_timestamp_micros((x * 1e3).round() as i64);
        time.map_or_else(|| number(x), |time| time.format(form).to_string())
    }
}
