//! Keys of values, and the ranges of keys that a condition wants.

use super::KEY_BYTES;

/// The key of an integer or a time: bytes in the order of the numbers.
pub(super) fn int_key(value: i64) -> [u8; 8] {
    (value.cast_unsigned() ^ (1 << 63)).to_be_bytes()
}

/// The key of a text: its first bytes, and whether they are not all of them.
pub(super) fn text_key(text: &str) -> (&[u8], bool) {
    match text.as_bytes().split_at_checked(KEY_BYTES) {
        Some((key, rest)) => (key, !rest.is_empty()),
        None => (text.as_bytes(), false),
    }
}

/// Values from one on and before another, as bytes in their order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct KeyRange {
    /// The first value.
    from: Vec<u8>,
    /// The first value after the range; none if it has no end.
    to: Option<Vec<u8>>,
}

/// The least bytes after these.
fn after(mut bytes: Vec<u8>) -> Vec<u8> {
    bytes.push(0);
    bytes
}

impl KeyRange {
    fn between(from: Vec<u8>, to: Option<Vec<u8>>) -> Self {
        Self { from, to }
    }

    fn of_bytes(bytes: Vec<u8>) -> Self {
        Self { to: Some(after(bytes.clone())), from: bytes }
    }

    /// One integer.
    pub(crate) fn of_int(value: i64) -> Self {
        Self::of_bytes(int_key(value).to_vec())
    }

    /// Integers up to this one; without it if `is_strict`.
    pub(crate) fn ints_to(value: i64, is_strict: bool) -> Self {
        Self::to(int_key(value).to_vec(), is_strict)
    }

    /// Integers from this one on; without it if `is_strict`.
    pub(crate) fn ints_from(value: i64, is_strict: bool) -> Self {
        Self::from(int_key(value).to_vec(), is_strict)
    }

    /// One text.
    pub(crate) fn of_text(text: &str) -> Self {
        Self::of_bytes(text.as_bytes().to_vec())
    }

    /// Texts up to this one; without it if `is_strict`.
    pub(crate) fn texts_to(text: &str, is_strict: bool) -> Self {
        Self::to(text.as_bytes().to_vec(), is_strict)
    }

    /// Texts from this one on; without it if `is_strict`.
    pub(crate) fn texts_from(text: &str, is_strict: bool) -> Self {
        Self::from(text.as_bytes().to_vec(), is_strict)
    }

    /// Texts that begin with this one.
    pub(crate) fn texts_with(prefix: &str) -> Self {
        let mut end = prefix.as_bytes().to_vec();
        // No byte of UTF-8 is the greatest one, so the last byte has a successor.
        if let Some(last) = end.last_mut() {
            *last = last.saturating_add(1);
        }
        let to = (!end.is_empty()).then_some(end);
        Self::between(prefix.as_bytes().to_vec(), to)
    }

    fn to(bytes: Vec<u8>, is_strict: bool) -> Self {
        Self::between(Vec::new(), Some(if is_strict { bytes } else { after(bytes) }))
    }

    fn from(bytes: Vec<u8>, is_strict: bool) -> Self {
        Self::between(if is_strict { after(bytes) } else { bytes }, None)
    }

    /// The first key that a value of the range can have; with `is_cut`, keys are the first bytes of
    /// longer values.
    pub(super) fn first_key(&self, is_cut: bool) -> &[u8] {
        match self.from.get(..KEY_BYTES) {
            Some(key) if is_cut => key,
            _ => &self.from,
        }
    }

    /// Whether a key, which a value of the range may have, comes after the range.
    pub(super) fn ends_before(&self, key: &[u8]) -> bool {
        self.to.as_deref().is_some_and(|to| to <= key)
    }

    /// The values that both ranges have; none if there are none.
    fn and(&self, other: &Self) -> Option<Self> {
        let from = self.from.clone().max(other.from.clone());
        let to = match (&self.to, &other.to) {
            (Some(to), Some(other)) => Some(to.min(other).clone()),
            (to, other) => to.clone().or_else(|| other.clone()),
        };
        to.as_ref().is_none_or(|to| from < *to).then_some(Self { from, to })
    }
}

/// Puts ranges in order, and joins those that overlap.
pub(crate) fn disjoint(mut ranges: Vec<KeyRange>) -> Vec<KeyRange> {
    ranges.sort_unstable_by(|a, b| a.from.cmp(&b.from));
    let mut out: Vec<KeyRange> = Vec::with_capacity(ranges.len());
    for range in ranges {
        match out.last_mut() {
            Some(last) if last.to.as_ref().is_none_or(|to| range.from <= *to) => {
                last.to = match (last.to.take(), range.to) {
                    (Some(to), Some(other)) => Some(to.max(other)),
                    _ => None,
                };
            }
            _ => out.push(range),
        }
    }
    out
}

/// The values that both of two lists of disjoint ranges in order have.
pub(crate) fn common(one: &[KeyRange], other: &[KeyRange]) -> Vec<KeyRange> {
    let (mut ones, mut others) = (one.iter().peekable(), other.iter().peekable());
    let mut out = Vec::new();
    while let (Some(a), Some(b)) = (ones.peek(), others.peek()) {
        out.extend(a.and(b));
        // The range that ends first has nothing in common with later ones.
        let a_ends_first = match (&a.to, &b.to) {
            (Some(a), Some(b)) => a <= b,
            (to, _) => to.is_some(),
        };
        if a_ends_first {
            ones.next();
        } else {
            others.next();
        }
    }
    out
}
