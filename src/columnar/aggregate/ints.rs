//! Small dense numbers for values: of integers, and of pairs of such numbers.

use std::collections::HashMap;

/// Spans of integers up to which a table is faster than a map.
const TABLE: u64 = 1 << 16;
const NONE: u32 = u32::MAX;

/// Numbers the distinct integers in order of first appearance; a null has the number of `None`.
/// Returns the number of each value, and the values by number.
pub(super) fn numbered(
    values: &[i64],
    is_valid: &dyn Fn(usize) -> bool,
    has_nulls: bool,
) -> (Vec<u32>, Vec<Option<i64>>) {
    let mut codes = Vec::with_capacity(values.len());
    let mut distinct: Vec<Option<i64>> = Vec::new();
    let mut null = NONE;
    let low = values.iter().copied().min().unwrap_or_default();
    let high = values.iter().copied().max().unwrap_or_default();
    let span = high.abs_diff(low);
    let mut table = vec![NONE; if span < TABLE { span as usize + 1 } else { 0 }];
    let mut map: HashMap<i64, u32> = HashMap::new();
    let mut last: Option<(i64, u32)> = None;
    let fresh = |distinct: &mut Vec<Option<i64>>, value: Option<i64>| {
        distinct.push(value);
        (distinct.len() - 1) as u32
    };
    for (at, &value) in values.iter().enumerate() {
        if has_nulls && !is_valid(at) {
            if null == NONE {
                null = fresh(&mut distinct, None);
            }
            codes.push(null);
            continue;
        }
        if let Some((known, code)) = last
            && known == value
        {
            codes.push(code);
            continue;
        }
        let code = match table.get_mut(value.abs_diff(low) as usize) {
            Some(slot) if span < TABLE => {
                if *slot == NONE {
                    *slot = fresh(&mut distinct, Some(value));
                }
                *slot
            }
            _ => *map.entry(value).or_insert_with(|| fresh(&mut distinct, Some(value))),
        };
        last = Some((value, code));
        codes.push(code);
    }
    (codes, distinct)
}

/// Numbers the distinct pairs of two lists of numbers. Returns the number of each pair, and the
/// pairs by number.
pub(super) fn paired(left: &[u32], right: &[u32], width: usize) -> (Vec<u32>, Vec<(u32, u32)>) {
    let width = width.max(1) as i64;
    let joined: Vec<i64> = left
        .iter()
        .zip(right)
        .map(|(left, right)| i64::from(*left) * width + i64::from(*right))
        .collect();
    let (codes, distinct) = numbered(&joined, &|_| true, false);
    let pairs = distinct
        .into_iter()
        .flatten()
        .map(|pair| ((pair / width) as u32, (pair % width) as u32))
        .collect();
    (codes, pairs)
}
