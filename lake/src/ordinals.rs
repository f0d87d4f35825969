//! Sets of ordinals, as ranges in order that do not touch: first and last ones.

/// First and last ordinals.
pub(crate) type Ordinals = Vec<(u64, u64)>;

/// Those from `from` on and before `end`.
pub(crate) fn within(set: &[(u64, u64)], from: u64, end: u64) -> Ordinals {
    let Some(most) = end.checked_sub(1) else { return Ordinals::new() };
    let cut = set.iter().map(|(first, last)| ((*first).max(from), (*last).min(most)));
    cut.filter(|(first, last)| first <= last).collect()
}

/// Those of `set` that are not in `without`.
pub(crate) fn minus(set: &[(u64, u64)], without: &[(u64, u64)]) -> Ordinals {
    let mut left = Ordinals::new();
    let mut others = without.iter().peekable();
    'ranges: for (first, last) in set {
        let mut from = *first;
        while let Some((other, end)) = others.peek() {
            if other > last {
                break;
            }
            if *other > from {
                left.push((from, other - 1));
            }
            if end >= last {
                continue 'ranges;
            }
            from = from.max(end + 1);
            others.next();
        }
        left.push((from, *last));
    }
    left
}

/// Those of both, in any order, also if they overlap.
pub(crate) fn joined(sets: [Ordinals; 2]) -> Ordinals {
    let mut all = sets.concat();
    all.sort_unstable();
    let mut joined = Ordinals::new();
    for (first, last) in all {
        match joined.last_mut() {
            Some((_, end)) if first <= end.saturating_add(1) => *end = last.max(*end),
            _ => joined.push((first, last)),
        }
    }
    joined
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(bits: u64) -> Ordinals {
        let each = (0..12).filter(|bit| bits >> bit & 1 == 1).map(|bit| (bit, bit)).collect();
        joined([each, Ordinals::new()])
    }

    fn bits(set: &[(u64, u64)]) -> u64 {
        set.iter().flat_map(|(first, last)| *first..=*last).map(|bit| 1 << bit).sum()
    }

    #[test]
    fn sets_are_those_of_bits() {
        for a in (0..4096).step_by(7) {
            for b in (0..4096).step_by(11) {
                assert_eq!(minus(&set(a), &set(b)), set(a & !b), "{a:b} without {b:b}");
                assert_eq!(joined([set(a), set(b)]), set(a | b), "{a:b} and {b:b}");
            }
            for (from, end) in [(0, 0), (0, 12), (3, 9), (5, 6), (9, 3)] {
                let kept = (from..end).map(|bit| 1 << bit).sum::<u64>();
                assert_eq!(bits(&within(&set(a), from, end)), a & kept, "{a:b} {from} {end}");
            }
        }
        assert_eq!(minus(&[(0, u64::MAX)], &[(5, u64::MAX)]), [(0, 4)]);
    }
}
