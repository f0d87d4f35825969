//! Order-preserving encoding: the byte order of two encodings is the order of their values.
//!
//! | value | bytes |
//! |---|---|
//! | null | `00` |
//! | false, true | `01 00`, `01 01` |
//! | integer, time, span | `02`, then the two's complement big-endian with the sign bit flipped |
//! | double | `03`, then the adjusted IEEE bits, big-endian |
//! | text | `04`, then UTF-8 with `00` written as `00 ff`, then `00 00` |
//!
//! The bits of a double are adjusted so that they sort as the values do: the sign bit of a positive
//! double is flipped, all bits of a negative one. NaN sorts last; -0 is encoded as 0.
//!
//! Every encoding is self-delimiting, so encodings can be concatenated to a composite key.

use super::val::Val;

/// Appends the encoding of a scalar; lists, maps, rows and JSON values have no key and encode as
/// null.
pub(crate) fn push_val(out: &mut Vec<u8>, value: &Val<'_>) {
    match value {
        Val::Null | Val::Strings(_) | Val::Map(_) | Val::Maps(_) | Val::Json(_) | Val::Rows(_) => {
            out.push(0);
        }
        Val::Bool(value) => out.extend_from_slice(&[1, u8::from(*value)]),
        Val::Int(value) | Val::Time(value) | Val::Span(value) => push_i64(out, *value),
        Val::Double(value) => push_f64(out, *value),
        Val::Str(value) => push_str(out, value),
    }
}

/// Appends the encoding of an integer or a time.
pub(crate) fn push_i64(out: &mut Vec<u8>, value: i64) {
    out.push(2);
    out.extend_from_slice(&(value.cast_unsigned() ^ (1 << 63)).to_be_bytes());
}

/// Appends the encoding of a double.
pub(crate) fn push_f64(out: &mut Vec<u8>, value: f64) {
    let value = if value == 0.0 { 0.0 } else { value };
    let value = if value.is_nan() { f64::NAN } else { value };
    let bits = value.to_bits();
    let ordered = if bits >> 63 == 1 { !bits } else { bits | (1 << 63) };
    out.push(3);
    out.extend_from_slice(&ordered.to_be_bytes());
}

/// Appends the encoding of text.
pub(crate) fn push_str(out: &mut Vec<u8>, value: &str) {
    push_str_prefix(out, value);
    out.extend_from_slice(&[0, 0]);
}

/// The encoding of one text.
pub(crate) fn of_str(value: &str) -> Vec<u8> {
    let mut out = Vec::new();
    push_str(&mut out, value);
    out
}

/// Appends the bytes with which the encoding of every text that starts with `prefix` starts.
pub(crate) fn push_str_prefix(out: &mut Vec<u8>, prefix: &str) {
    out.push(4);
    if memchr::memchr(0, prefix.as_bytes()).is_none() {
        out.extend_from_slice(prefix.as_bytes());
        return;
    }
    for &byte in prefix.as_bytes() {
        out.push(byte);
        if byte == 0 {
            out.push(0xff);
        }
    }
}

/// Reads back one text written by [`push_str`]; returns it and the bytes that follow.
#[must_use]
pub(crate) fn split_str(bytes: &[u8]) -> Option<(String, &[u8])> {
    let mut rest = bytes.strip_prefix(&[4])?;
    let mut text = Vec::new();
    loop {
        let zero = memchr::memchr(0, rest)?;
        let (part, tail) = rest.split_at_checked(zero)?;
        text.extend_from_slice(part);
        match tail {
            [0, 0, tail @ ..] => return Some((String::from_utf8(text).ok()?, tail)),
            [0, 0xff, tail @ ..] => {
                text.push(0);
                rest = tail;
            }
            _ => return None,
        }
    }
}

/// Reads back one integer written by [`push_i64`]; returns it and the bytes that follow.
#[must_use]
pub(crate) fn split_i64(bytes: &[u8]) -> Option<(i64, &[u8])> {
    let rest = bytes.strip_prefix(&[2])?;
    let (head, tail) = rest.split_first_chunk::<8>()?;
    Some(((u64::from_be_bytes(*head) ^ (1 << 63)).cast_signed(), tail))
}

/// The length in bytes of the scalar encoding at the start of `bytes`.
#[must_use]
pub(crate) fn encoded_len(bytes: &[u8]) -> Option<usize> {
    match bytes.first()? {
        0 => Some(1),
        1 => Some(2),
        2 | 3 => Some(9),
        4 => {
            let mut at = 1;
            loop {
                at += memchr::memchr(0, bytes.get(at..)?)?;
                match bytes.get(at + 1) {
                    Some(0) => return Some(at + 2),
                    Some(0xff) => at += 2,
                    _ => return None,
                }
            }
        }
        _ => None,
    }
}

/// The smallest key that is greater than every key with this prefix; `None` when there is none.
#[must_use]
pub(crate) fn after_prefix(prefix: &[u8]) -> Option<Vec<u8>> {
    let mut end = prefix.to_vec();
    while let Some(last) = end.pop() {
        if last < 0xff {
            end.push(last + 1);
            return Some(end);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn text(value: &str) -> Vec<u8> {
        let mut out = Vec::new();
        push_str(&mut out, value);
        out
    }

    proptest! {
        #[test]
        fn byte_order_is_text_order(a in "[\\x00-\\x02a-bä]{0,6}", b in "[\\x00-\\x02a-bä]{0,6}") {
            prop_assert_eq!(text(&a).cmp(&text(&b)), a.cmp(&b));
            let encoded = text(&a);
            prop_assert_eq!(encoded_len(&encoded), Some(encoded.len()));
            prop_assert_eq!(split_str(&encoded).map(|(text, rest)| (text, rest.len())), Some((a, 0)));
        }

        #[test]
        fn byte_order_is_number_order(a: i64, b: i64, x: f64, y: f64) {
            let key = |value| { let mut out = Vec::new(); push_i64(&mut out, value); out };
            prop_assert_eq!(key(a).cmp(&key(b)), a.cmp(&b));
            prop_assert_eq!(split_i64(&key(a)).map(|(value, _)| value), Some(a));
            let key = |value| { let mut out = Vec::new(); push_f64(&mut out, value); out };
            if let Some(order) = x.partial_cmp(&y) {
                prop_assert_eq!(key(x).cmp(&key(y)), order);
            }
        }
    }

    #[test]
    fn nan_is_after_infinity_and_minus_zero_is_zero() {
        let key = |value| {
            let mut out = Vec::new();
            push_f64(&mut out, value);
            out
        };
        assert!(key(f64::NAN) > key(f64::INFINITY));
        assert!(key(-f64::NAN) > key(f64::INFINITY));
        assert_eq!(key(-0.0), key(0.0));
    }

    #[test]
    fn after_prefix_is_the_exclusive_end_of_a_prefix_scan() {
        assert_eq!(after_prefix(&[1, 0xff]), Some(vec![2]));
        assert_eq!(after_prefix(&[0xff]), None);
    }
}
