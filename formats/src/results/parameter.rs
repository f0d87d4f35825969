//! The entry of a measurement, as the formats without a form of their own build it.

use std::collections::BTreeMap;

use super::text::cell;

/// The keys and texts of a measurement.
#[derive(Debug, Default)]
pub(crate) struct Entry(BTreeMap<String, String>);

impl Entry {
    /// A measurement with this name.
    pub(crate) fn new(name: &str) -> Self {
        Self([("name".to_owned(), name.to_owned())].into())
    }

    /// Adds a text that is not blank, unless the key is taken.
    pub(crate) fn put(&mut self, key: &str, text: impl AsRef<str>) {
        let text = text.as_ref();
        if !text.trim().is_empty() {
            self.0.entry(key.to_owned()).or_insert_with(|| text.to_owned());
        }
    }

    /// Adds a text that may be blank.
    pub(crate) fn set(&mut self, key: &str, text: impl Into<String>) {
        self.0.insert(key.to_owned(), text.into());
    }

    /// Adds pairs.
    pub(crate) fn extend(&mut self, pairs: Vec<(&'static str, String)>) {
        for (key, text) in pairs {
            self.put(key, text);
        }
    }

    /// The text of a key.
    pub(crate) fn get(&self, key: &str) -> Option<&str> {
        self.0.get(key).map(String::as_str)
    }

    pub(crate) fn has(&self, key: &str) -> bool {
        self.0.contains_key(key)
    }

    /// The keys and texts.
    pub(crate) fn finish(self) -> BTreeMap<String, String> {
        self.0
    }
}

/// The number of a text with a decimal point; blanks around it are allowed.
pub(crate) fn number(text: &str) -> Option<f64> {
    let text = text.trim();
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let is_special = ["nan", "ind", "inf", "infinity"]
        .iter()
        .any(|special| unsigned.eq_ignore_ascii_case(special));
    if unsigned.eq_ignore_ascii_case("ind") {
        return Some(f64::NAN);
    }
    let begins = unsigned.starts_with(|first: char| first.is_ascii_digit() || first == '.');
    text.parse().ok().filter(|_| is_special || begins)
}

/// A number as short as it can be, and any other text as it is. A whole number keeps all its
/// digits.
pub(crate) fn number_text(text: &str) -> String {
    let trimmed = text.trim();
    let digits = trimmed.strip_prefix('-').unwrap_or(trimmed);
    let is_whole = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    match number(trimmed) {
        Some(_) if is_whole => trimmed.to_owned(),
        Some(value) => cell(value),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers() {
        for (text, expected) in [
            (" 5.0 ", "5"),
            ("4.9000000000000004", "4.9"),
            ("1.5E-07", "1.5e-7"),
            ("+2", "2"),
            (".5", "0.5"),
            ("INF", "Infinity"),
            ("-Infinity", "-Infinity"),
            ("NaN", "NaN"),
            ("-IND", "NaN"),
            ("900719925474099312345", "900719925474099312345"),
            ("007", "007"),
            ("4,9", "4,9"),
            ("0x1F", "0x1F"),
            (" e", " e"),
            ("", ""),
        ] {
            assert_eq!(number_text(text), expected, "{text:?}");
        }
        assert_eq!(number("nano"), None);
    }

    #[test]
    fn entries_keep_the_first_text() {
        let mut entry = Entry::new("a");
        entry.put("units", " ");
        entry.put("units", "V");
        entry.extend(vec![("units", "A".to_owned())]);
        entry.set("measurement", "");
        assert!(entry.has("measurement"));
        let expected = [("name", "a"), ("units", "V"), ("measurement", "")];
        assert_eq!(entry.finish(), expected.map(|(k, v)| (k.to_owned(), v.to_owned())).into());
    }
}
