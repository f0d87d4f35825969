//! Limits, scales and units of a test, and the members of its measurements that they become.

use super::scale::shown;
use crate::results::text::cell;

/// What a record says of a limit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Limit {
    /// The limit of the first record of the test.
    Untold,
    None,
    /// A limit, and the power of ten by which it is shown.
    At(f32, i64),
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Numbers {
    pub(super) scale: i64,
    pub(super) low_scale: i64,
    pub(super) high_scale: i64,
    pub(super) low: Option<f32>,
    pub(super) high: Option<f32>,
    pub(super) low_spec: Option<f32>,
    pub(super) high_spec: Option<f32>,
    /// The input of the first result, and how much that of each other one is above the one before.
    pub(super) input: Option<(f32, f32)>,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Texts {
    pub(super) unit: String,
    pub(super) format: String,
    pub(super) low_format: String,
    pub(super) high_format: String,
    pub(super) input_unit: String,
}

impl Texts {
    pub(super) fn new(all: [String; 5]) -> Self {
        let [unit, format, low_format, high_format, input_unit] = all;
        Self { unit, format, low_format, high_format, input_unit }
    }

    pub(super) fn all(&self) -> [&String; 5] {
        [&self.unit, &self.format, &self.low_format, &self.high_format, &self.input_unit]
    }
}

/// Limits, scales and units, with the members that are equal in all measurements.
#[derive(Clone, Debug)]
pub(super) struct Setting {
    pub(super) numbers: Numbers,
    pub(super) texts: Texts,
    pub(super) members: Vec<(&'static str, String)>,
}

impl Setting {
    pub(super) fn new(numbers: Numbers, texts: Texts) -> Self {
        let mut members = Vec::new();
        if !texts.unit.is_empty() {
            members.push(("units", texts.unit.clone()));
        }
        for (key, limit) in [
            ("lowLimit", numbers.low),
            ("highLimit", numbers.high),
            ("lowSpecLimit", numbers.low_spec),
            ("highSpecLimit", numbers.high_spec),
        ] {
            members.extend(limit.map(|limit| (key, exact(limit))));
        }
        for (key, limit, scale, format) in [
            ("shownLowLimit", numbers.low, numbers.low_scale, &texts.low_format),
            ("shownHighLimit", numbers.high, numbers.high_scale, &texts.high_format),
        ] {
            let shown = limit.filter(|_| is_shown(scale, format));
            members.extend(shown.map(|limit| (key, shown_text(limit, scale, format, &texts))));
        }
        Self { numbers, texts, members }
    }

    /// How a result is shown, if that is not as it is.
    pub(super) fn shown(&self, value: f32) -> Option<String> {
        let (scale, format) = (self.numbers.scale, &self.texts.format);
        is_shown(scale, format).then(|| shown_text(value, scale, format, &self.texts))
    }
}

fn is_shown(scale: i64, format: &str) -> bool {
    scale != 0 || !format.is_empty()
}

fn shown_text(value: f32, scale: i64, format: &str, texts: &Texts) -> String {
    shown(value, scale, format, &texts.unit)
}

/// A number of four bytes as the text of the double of the same value.
pub(super) fn exact(value: f32) -> String {
    cell(f64::from(value))
}
