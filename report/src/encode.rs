//! Columns as bytes: in the shortest of a few forms that keep every bit.

use std::collections::{BTreeMap, BTreeSet};

/// What the bytes of a column are. The page reads the names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// Codes of one byte into a dictionary of doubles.
    Codes8,
    /// Codes of two bytes into a dictionary of doubles.
    Codes16,
    /// Whole numbers of two bytes, divided by a power of ten. The smallest one stands for none.
    Int16 { digits: u8 },
    /// Whole numbers of four bytes, divided by a power of ten. The smallest one stands for none.
    Int32 { digits: u8 },
    /// Single precision; NaN stands for none.
    Float32,
    /// Double precision; NaN stands for none.
    Float64,
    /// Whole numbers of eight bytes. `none` stands for none; no value is that.
    Int64 { none: i64 },
}

impl Form {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Codes8 => "codes8",
            Self::Codes16 => "codes16",
            Self::Int16 { .. } => "int16",
            Self::Int32 { .. } => "int32",
            Self::Float32 => "float32",
            Self::Float64 => "float64",
            Self::Int64 { .. } => "int64",
        }
    }

    /// Bytes of one value.
    pub(crate) fn width(self) -> usize {
        match self {
            Self::Codes8 => 1,
            Self::Codes16 | Self::Int16 { .. } => 2,
            Self::Int32 { .. } | Self::Float32 => 4,
            Self::Float64 | Self::Int64 { .. } => 8,
        }
    }

    /// Digits behind the decimal point that the whole numbers have.
    pub(crate) fn digits(self) -> u8 {
        match self {
            Self::Int16 { digits } | Self::Int32 { digits } => digits,
            _ => 0,
        }
    }

    /// The whole number of eight bytes that stands for none, as text: scripts would round it.
    pub(crate) fn none(self) -> Option<String> {
        match self {
            Self::Int64 { none } => Some(none.to_string()),
            _ => None,
        }
    }
}

/// Values in one form.
#[derive(Debug)]
pub(crate) struct Encoded {
    pub form: Form,
    pub bytes: Vec<u8>,
    /// The doubles that codes stand for, as bytes; code 0 is NaN, which stands for none.
    pub dictionary: Vec<u8>,
}

/// Distinct values that codes of two bytes can stand for, beside none.
const CODES_MAX: usize = u16::MAX as usize;
/// Most digits behind the decimal point.
const DIGITS_MAX: u8 = 9;

/// What is known of values, for choosing a form; and the form.
pub(crate) struct Plan {
    pub form: Form,
    /// Code of each distinct value, by its bits. Empty where the form has no codes.
    codes: BTreeMap<u64, u16>,
}

impl Plan {
    /// Bytes of a dictionary.
    pub(crate) fn dictionary_bytes(&self) -> usize {
        if self.codes.is_empty() { 0 } else { (self.codes.len() + 1) * 8 }
    }

    /// The shortest form for doubles; any value of the same set fits it. NaN stands for none.
    pub(crate) fn of_floats(values: impl Iterator<Item = f64> + Clone) -> Self {
        let numbers = || values.clone().filter(|value| !value.is_nan());
        let whole = |most: f64| {
            (0..=DIGITS_MAX).find(|&digits| numbers().all(|value| fits(value, digits, most)))
        };
        let short = whole(f64::from(i16::MAX)).map(|digits| Form::Int16 { digits });
        let codes = distinct(numbers());
        let count = numbers().count();
        let with_codes = |codes: BTreeMap<u64, u16>| {
            let form = if codes.len() < 256 { Form::Codes8 } else { Form::Codes16 };
            Self { form, codes }
        };
        let plain = |form| Self { form, codes: BTreeMap::new() };
        let plain_form = || {
            let is_single = |value: f64| f64::from(value as f32).to_bits() == value.to_bits();
            if numbers().all(is_single) {
                return Form::Float32;
            }
            let long = whole(f64::from(i32::MAX)).map(|digits| Form::Int32 { digits });
            long.unwrap_or(Form::Float64)
        };
        let form = short.unwrap_or_else(plain_form);
        match codes {
            Some(codes) if !codes.is_empty() => {
                let coded = with_codes(codes);
                let bytes = count * coded.form.width() + coded.dictionary_bytes();
                if bytes < count * form.width() { coded } else { plain(form) }
            }
            _ => plain(form),
        }
    }

    /// Writes values that the plan was made for.
    pub(crate) fn write(&self, values: impl Iterator<Item = f64>) -> Encoded {
        let mut bytes = Vec::with_capacity(values.size_hint().0 * self.form.width());
        let scale = 10f64.powi(i32::from(self.form.digits()));
        for value in values {
            let whole = (value * scale).round();
            match self.form {
                Form::Codes8 => bytes.push(self.code(value) as u8),
                Form::Codes16 => bytes.extend(self.code(value).to_le_bytes()),
                Form::Int16 { .. } => {
                    let whole = if value.is_nan() { i16::MIN } else { whole as i16 };
                    bytes.extend(whole.to_le_bytes());
                }
                Form::Int32 { .. } => {
                    let whole = if value.is_nan() { i32::MIN } else { whole as i32 };
                    bytes.extend(whole.to_le_bytes());
                }
                Form::Float32 => bytes.extend((value as f32).to_le_bytes()),
                Form::Float64 | Form::Int64 { .. } => bytes.extend(value.to_le_bytes()),
            }
        }
        let mut dictionary = Vec::new();
        if !self.codes.is_empty() {
            let mut by_code: Vec<(u16, u64)> =
                self.codes.iter().map(|(&bits, &code)| (code, bits)).collect();
            by_code.sort_unstable();
            dictionary.extend(f64::NAN.to_le_bytes());
            dictionary.extend(by_code.into_iter().flat_map(|(_, bits)| bits.to_le_bytes()));
        }
        Encoded { form: self.form, bytes, dictionary }
    }

    fn code(&self, value: f64) -> u16 {
        self.codes.get(&value.to_bits()).copied().unwrap_or(0)
    }
}

/// Whether the value is a whole number below `most` divided by a power of ten, to the last bit.
fn fits(value: f64, digits: u8, most: f64) -> bool {
    let scale = 10f64.powi(i32::from(digits));
    let whole = (value * scale).round();
    // As a whole number, which has one zero alone.
    whole.abs() <= most && (f64::from(whole as i32) / scale).to_bits() == value.to_bits()
}

/// The codes of the values; none if there are too many.
fn distinct(values: impl Iterator<Item = f64>) -> Option<BTreeMap<u64, u16>> {
    let mut codes = BTreeMap::new();
    let mut last = None;
    for value in values {
        let bits = value.to_bits();
        if last == Some(bits) {
            continue;
        }
        last = Some(bits);
        let next = codes.len() + 1;
        if next > CODES_MAX && !codes.contains_key(&bits) {
            return None;
        }
        codes.entry(bits).or_insert(next as u16);
    }
    Some(codes)
}

/// Writes whole numbers of eight bytes; `known` are those that occur.
pub(crate) fn long_numbers(values: impl Iterator<Item = Option<i64>>, known: &[i64]) -> Encoded {
    // Of so many numbers from the smallest one, one at least does not occur.
    let end = i64::MIN.saturating_add(i64::try_from(known.len()).unwrap_or(i64::MAX));
    let low: BTreeSet<i64> = known.iter().copied().filter(|value| *value <= end).collect();
    let none = (i64::MIN..=end).find(|number| !low.contains(number)).unwrap_or(end);
    let bytes = values.flat_map(|value| value.unwrap_or(none).to_le_bytes()).collect();
    Encoded { form: Form::Int64 { none }, bytes, dictionary: Vec::new() }
}

/// Writes distances from the first one in as few bytes as they all fit. The page tells the forms
/// apart by their names.
pub(crate) fn distances(values: &[u64]) -> (&'static str, Vec<u8>) {
    let most = values.iter().copied().max().unwrap_or(0);
    let values = values.iter().copied();
    if most <= u64::from(u8::MAX) {
        ("uint8", values.map(|value| value as u8).collect())
    } else if most <= u64::from(u16::MAX) {
        ("uint16", values.flat_map(|value| (value as u16).to_le_bytes()).collect())
    } else if most <= u64::from(u32::MAX) {
        ("uint32", values.flat_map(|value| (value as u32).to_le_bytes()).collect())
    } else {
        ("uint64", values.flat_map(u64::to_le_bytes).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the page makes of the bytes.
    fn read(encoded: &Encoded) -> Vec<f64> {
        let doubles = |bytes: &[u8]| -> Vec<f64> {
            bytes.chunks(8).map(|b| f64::from_le_bytes(b.try_into().unwrap())).collect()
        };
        let scale = 10f64.powi(i32::from(encoded.form.digits()));
        let dictionary = doubles(&encoded.dictionary);
        let chunks = encoded.bytes.chunks(encoded.form.width());
        let value = |b: &[u8]| match encoded.form {
            Form::Codes8 => dictionary[usize::from(b[0])],
            Form::Codes16 => dictionary[usize::from(u16::from_le_bytes(b.try_into().unwrap()))],
            Form::Int16 { .. } => match i16::from_le_bytes(b.try_into().unwrap()) {
                i16::MIN => f64::NAN,
                whole => f64::from(whole) / scale,
            },
            Form::Int32 { .. } => match i32::from_le_bytes(b.try_into().unwrap()) {
                i32::MIN => f64::NAN,
                whole => f64::from(whole) / scale,
            },
            Form::Float32 => f64::from(f32::from_le_bytes(b.try_into().unwrap())),
            Form::Float64 => f64::from_le_bytes(b.try_into().unwrap()),
            Form::Int64 { none } => match i64::from_le_bytes(b.try_into().unwrap()) {
                value if value == none => f64::NAN,
                value => value as f64,
            },
        };
        chunks.map(value).collect()
    }

    #[track_caller]
    fn keeps(values: &[f64], form: Form) {
        let plan = Plan::of_floats(values.iter().copied());
        let encoded = plan.write(values.iter().copied());
        assert_eq!(encoded.form, form);
        assert_eq!(encoded.dictionary.len(), plan.dictionary_bytes());
        let bits = |values: &[f64]| values.iter().map(|v| v.to_bits()).collect::<Vec<_>>();
        assert_eq!(bits(&read(&encoded)), bits(values));
    }

    #[test]
    fn the_shortest_form_keeps_every_bit() {
        let many = |f: &dyn Fn(f64) -> f64, count: u32| -> Vec<f64> {
            (0..count).map(|at| f(f64::from(at))).collect()
        };
        keeps(&many(&|x| x, 30_000), Form::Int16 { digits: 0 });
        keeps(&many(&|x| x / 100.0, 30_000), Form::Int16 { digits: 2 });
        keeps(&many(&|x| (x + 1e6) / 1e4, 30_000), Form::Int32 { digits: 4 });
        keeps(&many(&|x| x * 0.25, 200_000), Form::Float32);
        keeps(&many(&|x| x.sin(), 70_000), Form::Float64);
        // The 4,096 steps of a converter, whose size is no decimal number.
        keeps(&many(&|x| (x % 4096.0) * (5.0 / 4095.0), 70_000), Form::Codes16);
        keeps(&many(&|x| (x % 7.0).sin(), 1_000), Form::Codes8);
        keeps(&[f64::NAN, 1.0, f64::NAN], Form::Int16 { digits: 0 });
        keeps(&[f64::NAN; 3], Form::Int16 { digits: 0 });
        keeps(&[-0.0, 0.1, 1e300], Form::Float64);
        keeps(&[-0.0, 0.5], Form::Float32);
        keeps(&[f64::from(i16::MIN), 1.0], Form::Float32);
        keeps(&[], Form::Int16 { digits: 0 });
    }

    #[test]
    fn none_is_no_number_that_occurs() {
        for (values, none) in [
            (vec![Some(i64::MAX), None], i64::MIN),
            (vec![None, Some(i64::MIN), Some(i64::MIN + 2)], i64::MIN + 1),
            (vec![Some(i64::MIN + 1), Some(i64::MIN), None, Some(i64::MIN)], i64::MIN + 2),
            (Vec::new(), i64::MIN),
        ] {
            let known: Vec<i64> = values.iter().copied().flatten().collect();
            let encoded = long_numbers(values.iter().copied(), &known);
            assert_eq!(encoded.form, Form::Int64 { none });
            let is_none: Vec<bool> = read(&encoded).iter().map(|value| value.is_nan()).collect();
            assert_eq!(is_none, values.iter().map(Option::is_none).collect::<Vec<_>>());
        }
    }

    #[test]
    fn codes_end_where_two_bytes_end() {
        for (count, form) in [(65_535_u32, Form::Codes16), (65_536, Form::Float64)] {
            let values: Vec<f64> = (0..count).map(|at| f64::from(at).sqrt().exp()).collect();
            // Each value ten times, so that the dictionary is worth it.
            let all = values.iter().copied().cycle().take(values.len() * 10);
            assert_eq!(Plan::of_floats(all).form, form, "{count}");
        }
    }

    #[test]
    fn distances_have_the_width_of_the_longest() {
        for (most, form, bytes) in
            [(255, "uint8", 2), (256, "uint16", 4), (65_536, "uint32", 8), (1 << 32, "uint64", 16)]
        {
            let (name, written) = distances(&[0, most]);
            assert_eq!((name, written.len()), (form, bytes));
        }
    }
}
