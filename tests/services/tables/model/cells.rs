//! Random cells of every type, at the limits of their types and in every accepted spelling.

use std::cmp::Ordering;
use std::sync::Arc;

use chrono::{DateTime, FixedOffset, SecondsFormat};
use stationdb::arrow::array::{
    ArrayRef, BooleanArray, Float32Array, Float64Array, Int32Array, Int64Array, StringArray,
    TimestampMicrosecondArray, TimestampMillisecondArray, TimestampNanosecondArray,
};

/// Splitmix64.
pub(super) struct Rng(pub(super) u64);

impl Rng {
    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    pub(super) fn below(&mut self, end: usize) -> usize {
        (self.next() % end as u64) as usize
    }

    pub(super) fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    pub(super) fn pick<T: Clone>(&mut self, of: &[T]) -> T {
        of[self.below(of.len())].clone()
    }

    /// `len` of these elements, in random order, each once.
    pub(super) fn some<T: Clone>(&mut self, of: &[T], len: usize) -> Vec<T> {
        let mut left = of.to_vec();
        (0..len.min(of.len())).map(|_| left.swap_remove(self.below(left.len()))).collect()
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Kind {
    Bool,
    Int32,
    Int64,
    Float32,
    Float64,
    Text,
    Time,
    Micros,
    Nanos,
}

/// Without the finer times, which a world has instead of `Time`.
pub(super) const KINDS: [Kind; 7] =
    [Kind::Bool, Kind::Int32, Kind::Int64, Kind::Float32, Kind::Float64, Kind::Text, Kind::Time];

impl Kind {
    /// Whether a column can have an index of its values.
    pub(super) fn can_be_indexed(self) -> bool {
        !matches!(self, Self::Bool | Self::Float32 | Self::Float64)
    }

    pub(super) fn wire(self) -> &'static str {
        match self {
            Self::Bool => "BOOL",
            Self::Int32 => "INT32",
            Self::Int64 => "INT64",
            Self::Float32 => "FLOAT32",
            Self::Float64 => "FLOAT64",
            Self::Text => "STRING",
            Self::Time => "TIMESTAMP",
            Self::Micros => "TIMESTAMP_US",
            Self::Nanos => "TIMESTAMP_NS",
        }
    }

    pub(super) fn is_float(self) -> bool {
        matches!(self, Self::Float32 | Self::Float64)
    }

    pub(super) fn is_time(self) -> bool {
        self.per_second().is_some()
    }

    /// Counts of a time in one second.
    fn per_second(self) -> Option<i64> {
        match self {
            Self::Time => Some(1_000),
            Self::Micros => Some(1_000_000),
            Self::Nanos => Some(1_000_000_000),
            _ => None,
        }
    }

    pub(super) fn is_numeric(self) -> bool {
        !matches!(self, Self::Bool | Self::Text)
    }
}

/// A cell. `Int` is also used for times, in the unit of their kind, and `Float` for FLOAT32 values.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Cell {
    Null,
    Bool(bool),
    Int(i64),
    Float(f64),
    Text(String),
}

/// Roughly the number of distinct values of a column, which gives ties of every length.
#[derive(Clone, Copy, Debug)]
pub(super) enum Spread {
    Few,
    Ends,
    Many,
}

const YEAR_1: i64 = -62_135_596_800_000;
const YEAR_9999: i64 = 253_402_300_799_999;

fn instant(ms: i64) -> DateTime<chrono::Utc> {
    DateTime::from_timestamp_millis(ms).unwrap()
}

/// A value and a text for it.
pub(super) fn draw(rng: &mut Rng, kind: Kind, spread: Spread) -> (Cell, String) {
    let int = |rng: &mut Rng, least: i64, greatest: i64| match spread {
        Spread::Few => rng.below(7) as i64 - 3,
        Spread::Ends => rng.pick(&[
            least,
            least + 1,
            -1,
            0,
            1,
            greatest - 1,
            greatest,
            greatest / 2,
            least / 2,
            1 << 24,
            1 << 30,
        ]),
        Spread::Many => rng.below(100_000) as i64 - 50_000,
    };
    let spell = |rng: &mut Rng, value: i64| match (value, rng.below(6)) {
        (0, 0) => "-0".to_owned(),
        (0.., 1) => format!("+{value}"),
        (0.., 2) => format!("000{value}"),
        (i64::MIN..0, 3) => format!("-00{}", value.unsigned_abs()),
        _ => value.to_string(),
    };
    match kind {
        Kind::Bool => {
            let value = rng.chance(50);
            (
                Cell::Bool(value),
                rng.pick(if value {
                    &["true", "TRUE", "tRue"]
                } else {
                    &["false", "FALSE", "False"]
                })
                .into(),
            )
        }
        Kind::Int32 => {
            let value = int(rng, i64::from(i32::MIN), i64::from(i32::MAX));
            (Cell::Int(value), spell(rng, value))
        }
        Kind::Int64 => {
            let value = match (spread, rng.below(4)) {
                // Neighbouring integers that are equal as doubles.
                (Spread::Ends, 0) => (1i64 << 62) + rng.below(5) as i64,
                _ => int(rng, i64::MIN, i64::MAX),
            };
            (Cell::Int(value), spell(rng, value))
        }
        Kind::Float32 | Kind::Float64 => {
            let value = match spread {
                Spread::Few => rng.pick(&[f64::NAN, -0.0, 0.0, 1.0, -1.5, 2.25]),
                Spread::Ends if kind == Kind::Float32 => rng.pick(&[
                    f64::NAN,
                    f64::INFINITY,
                    f64::NEG_INFINITY,
                    f64::from(f32::MAX),
                    f64::from(f32::MIN),
                    f64::from(f32::MIN_POSITIVE),
                    f64::from(f32::from_bits(1)),
                    0.1,
                    -0.0,
                    16_777_217.0,
                ]),
                Spread::Ends => rng.pick(&[
                    f64::NAN,
                    f64::INFINITY,
                    f64::NEG_INFINITY,
                    f64::MAX,
                    f64::MIN,
                    f64::MIN_POSITIVE,
                    f64::from_bits(1),
                    0.1,
                    -0.0,
                    9_007_199_254_740_993.0,
                    1e16,
                    123_456.789e-10,
                ]),
                Spread::Many => (rng.below(20_000) as f64 - 10_000.0) / 7.0,
            };
            let text = match value {
                value if value.is_nan() => "NaN".to_owned(),
                f64::INFINITY => "Infinity".to_owned(),
                f64::NEG_INFINITY => "-Infinity".to_owned(),
                value if rng.chance(30) => format!("{value:E}"),
                value => format!("{value}"),
            };
            // Rounded once, directly from the text, as `docs/reference/tables.md` specifies.
            let value = match kind {
                Kind::Float32 if value.is_finite() => f64::from(text.parse::<f32>().unwrap()),
                _ => value,
            };
            (Cell::Float(value), text)
        }
        Kind::Text => {
            let value = match spread {
                Spread::Few => rng.pick(&["", "a", "b", "ab", "B"]).to_owned(),
                Spread::Ends => {
                    let pool = [
                        "\u{ffff}",
                        "\u{1f600}",
                        "é",
                        "e\u{301}",
                        "x,y",
                        "\"q\"",
                        "line\nfeed",
                        "\r",
                        "\0",
                        " ",
                        "null",
                    ];
                    rng.pick(&pool).to_owned()
                }
                Spread::Many => format!("SN-{:05}", rng.below(3_000)),
            };
            (Cell::Text(value.clone()), value)
        }
        Kind::Time => {
            let ms = match spread {
                Spread::Few => rng.below(5) as i64 - 2,
                Spread::Ends => {
                    rng.pick(&[YEAR_1, YEAR_1 + 1, -1, 0, 1, -86_400_001, YEAR_9999 - 1, YEAR_9999])
                }
                Spread::Many => 1_700_000_000_000 + rng.below(100_000_000) as i64,
            };
            let at_end = (ms - YEAR_1).min(YEAR_9999 - ms) < 86_400_000;
            let minutes = if at_end || rng.chance(50) { 0 } else { rng.below(1_680) as i32 - 840 };
            let local = instant(ms).with_timezone(&FixedOffset::east_opt(minutes * 60).unwrap());
            let mut text = local.format("%Y-%m-%dT%H:%M:%S").to_string();
            let digits = local.format("%3f").to_string();
            match rng.below(3) {
                0 if ms.rem_euclid(1_000) == 0 => {}
                1 => text += &format!(".{digits}"),
                // Finer fractions are truncated.
                _ => {
                    text += &format!(".{digits}{}", rng.pick(&["9", "999", "999999", "5", "0001"]));
                }
            }
            text += &match (minutes, rng.below(2)) {
                (0, 0) => rng.pick(&["", "Z", "+00:00"]).to_owned(),
                (0, _) => "Z".to_owned(),
                _ => local.format("%:z").to_string(),
            };
            (Cell::Int(ms), text)
        }
        Kind::Micros | Kind::Nanos => {
            let per = kind.per_second().unwrap();
            let (least, greatest) = match kind {
                Kind::Micros => (YEAR_1 * 1_000, YEAR_9999 * 1_000 + 999),
                _ => (i64::MIN, i64::MAX),
            };
            let count = match spread {
                Spread::Few => rng.below(5) as i64 - 2,
                Spread::Ends => rng.pick(&[
                    least,
                    least + 1,
                    -1,
                    0,
                    1,
                    -per,
                    per / 1_000,
                    greatest - 1,
                    greatest,
                ]),
                Spread::Many => 1_700_000_000 * per + rng.below(100_000_000) as i64,
            };
            let text = canonical(kind, &Cell::Int(count)).unwrap();
            let text = match rng.below(3) {
                0 => text.replace('Z', ""),
                1 => text.replace('Z', "+00:00"),
                _ => text,
            };
            (Cell::Int(count), text)
        }
    }
}

pub(super) fn parse(kind: Kind, text: &str) -> Cell {
    match kind {
        Kind::Bool => Cell::Bool(text == "true"),
        Kind::Int32 | Kind::Int64 => Cell::Int(text.parse().unwrap()),
        Kind::Float32 => Cell::Float(f64::from(text.parse::<f32>().unwrap())),
        Kind::Float64 => Cell::Float(text.parse().unwrap()),
        Kind::Text => Cell::Text(text.to_owned()),
        Kind::Time | Kind::Micros | Kind::Nanos => {
            let time = DateTime::parse_from_rfc3339(text).unwrap();
            let per = i128::from(kind.per_second().unwrap());
            let part = i128::from(time.timestamp_subsec_nanos()) * per / 1_000_000_000;
            Cell::Int((i128::from(time.timestamp()) * per + part) as i64)
        }
    }
}

/// Cells of one kind as an Arrow array.
pub(super) fn array<'c>(kind: Kind, cells: impl Iterator<Item = &'c Cell>) -> ArrayRef {
    let cells: Vec<&Cell> = cells.collect();
    let ints =
        cells.iter().map(|cell| if let Cell::Int(value) = cell { Some(*value) } else { None });
    let floats =
        cells.iter().map(|cell| if let Cell::Float(value) = cell { Some(*value) } else { None });
    match kind {
        Kind::Bool => {
            let values = cells
                .iter()
                .map(|cell| if let Cell::Bool(value) = cell { Some(*value) } else { None });
            Arc::new(values.collect::<BooleanArray>())
        }
        Kind::Int32 => {
            Arc::new(ints.map(|value| value.map(|value| value as i32)).collect::<Int32Array>())
        }
        Kind::Int64 => Arc::new(ints.collect::<Int64Array>()),
        Kind::Float32 => {
            Arc::new(floats.map(|value| value.map(|value| value as f32)).collect::<Float32Array>())
        }
        Kind::Float64 => Arc::new(floats.collect::<Float64Array>()),
        Kind::Text => {
            let values = cells
                .iter()
                .map(|cell| if let Cell::Text(value) = cell { Some(value.as_str()) } else { None });
            Arc::new(values.collect::<StringArray>())
        }
        Kind::Time => Arc::new(ints.collect::<TimestampMillisecondArray>().with_timezone("UTC")),
        Kind::Micros => Arc::new(ints.collect::<TimestampMicrosecondArray>().with_timezone("UTC")),
        Kind::Nanos => Arc::new(ints.collect::<TimestampNanosecondArray>().with_timezone("UTC")),
    }
}

/// The canonical spelling, which is written.
pub(super) fn canonical(kind: Kind, cell: &Cell) -> Option<String> {
    Some(match cell {
        Cell::Null => return None,
        Cell::Bool(value) => value.to_string(),
        Cell::Int(count) if kind.is_time() => {
            let per = kind.per_second().unwrap();
            let nanos = count.rem_euclid(per) * (1_000_000_000 / per);
            let time = DateTime::from_timestamp(count.div_euclid(per), nanos as u32).unwrap();
            let form = match kind {
                Kind::Micros => SecondsFormat::Micros,
                Kind::Nanos => SecondsFormat::Nanos,
                _ => SecondsFormat::Millis,
            };
            time.to_rfc3339_opts(form, true)
        }
        Cell::Int(value) => value.to_string(),
        Cell::Text(text) => text.clone(),
        Cell::Float(value) if value.is_nan() => "NaN".to_owned(),
        Cell::Float(f64::INFINITY) => "Infinity".to_owned(),
        Cell::Float(f64::NEG_INFINITY) => "-Infinity".to_owned(),
        Cell::Float(value) => {
            let is_plain = *value == 0.0 || (1e-5..1e16).contains(&value.abs());
            match (kind, is_plain) {
                (Kind::Float32, true) => format!("{}", *value as f32),
                (Kind::Float32, false) => format!("{:e}", *value as f32),
                (_, true) => format!("{value}"),
                (_, false) => format!("{value:e}"),
            }
        }
    })
}

pub(super) fn is_same(a: &Cell, b: &Cell) -> bool {
    match (a, b) {
        (Cell::Float(a), Cell::Float(b)) => {
            a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan())
        }
        (a, b) => a == b,
    }
}

/// The order of cells that are not null: false first, code points, NaN last.
pub(super) fn compare(a: &Cell, b: &Cell) -> Ordering {
    match (a, b) {
        (Cell::Bool(a), Cell::Bool(b)) => a.cmp(b),
        (Cell::Int(a), Cell::Int(b)) => a.cmp(b),
        (Cell::Text(a), Cell::Text(b)) => a.chars().cmp(b.chars()),
        (Cell::Float(a), Cell::Float(b)) => {
            a.partial_cmp(b).unwrap_or_else(|| a.is_nan().cmp(&b.is_nan()))
        }
        _ => panic!("{a:?} beside {b:?}"),
    }
}
