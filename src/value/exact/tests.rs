//! Exact sums beside integers, and beside each other in another order.

use super::BLOCK_SUM_BYTES;
use super::big::Big;
use super::block::BlockSums;
use super::floats::FloatSums;
use super::ints::IntSums;
use super::sums::{Summable, Sums};
use proptest::prelude::*;

fn floats(values: &[f64]) -> FloatSums {
    let mut sums = FloatSums::default();
    values.iter().for_each(|value| sums.add::<true>(*value));
    sums
}

fn double() -> impl Strategy<Value = f64> {
    prop_oneof![
        4 => any::<f64>().prop_filter("finite", |value| value.is_finite()),
        4 => -3.0..3.0f64,
        1 => Just(f64::MIN_POSITIVE),
        1 => Just(f64::from_bits(1)),
        1 => Just(f64::MAX),
        1 => Just(-f64::MAX),
        1 => Just(-0.0),
    ]
}

/// Doubles of a block whose exponents lie within some range of each other.
fn near_doubles() -> impl Strategy<Value = Vec<f64>> {
    let value = |spread: i32| {
        let part = (-2.0..2.0f64, 0..=spread);
        prop_oneof![
            20 => part.prop_map(|(value, by)| value * 2f64.powi(by)),
            1 => Just(0.0),
            1 => Just(-0.0),
            1 => Just(f64::INFINITY),
        ]
    };
    let scale = prop_oneof![Just(0), Just(-1073), Just(950), -900..900i32];
    (prop_oneof![Just(3), Just(33), Just(50), Just(70)], scale).prop_flat_map(
        move |(spread, scale)| {
            proptest::collection::vec(value(spread), 0..60).prop_map(move |values| {
                let (half, rest) = (scale / 2, scale - scale / 2);
                values.iter().map(|value| value * 2f64.powi(half) * 2f64.powi(rest)).collect()
            })
        },
    )
}

proptest! {
    #[test]
    fn stored_sums_of_blocks_add_up_to_those_of_the_values(
        blocks in proptest::collection::vec(near_doubles(), 1..6)) {
        let (mut whole, mut stored, mut all) = (FloatSums::default(), FloatSums::default(), Vec::new());
        for values in &blocks {
            let sums = BlockSums::from_bytes(&f64::block_sums(values).to_bytes(), true);
            if sums.is_known() {
                stored.merge_block::<true>(&sums);
                whole.merge(floats(values));
                all.extend(values.iter().copied());
            }
        }
        let count = all.len() as u64;
        let (whole, stored) = (whole.exact(count), stored.exact(count));
        prop_assert_eq!(whole.sum().to_bits(), stored.sum().to_bits());
        for is_sample in [false, true] {
            let (left, right) = (whole.deviation(is_sample), stored.deviation(is_sample));
            prop_assert_eq!(left.map(f64::to_bits), right.map(f64::to_bits));
        }
    }

    #[test]
    fn stored_sums_of_integers_add_up(
        blocks in proptest::collection::vec(proptest::collection::vec(any::<i64>(), 0..50), 1..5)) {
        let mut stored = IntSums::default();
        let mut whole = IntSums::default();
        for values in &blocks {
            let sums = BlockSums::from_bytes(&i64::block_sums(values).to_bytes(), false);
            prop_assert!(sums.is_known());
            stored.merge_block::<true>(&sums);
            values.iter().for_each(|value| whole.add::<true>(*value));
        }
        prop_assert_eq!(stored, whole);
    }

    #[test]
    fn any_bytes_are_sums_or_none(bytes in proptest::collection::vec(any::<u8>(), BLOCK_SUM_BYTES), form in 0u8..4) {
        let mut bytes: [u8; BLOCK_SUM_BYTES] = bytes.try_into().unwrap();
        bytes[0] = form;
        let (mut of_floats, mut of_ints) = (floats(&[1.5]), IntSums::default());
        for _ in 0..3 {
            let sums = BlockSums::from_bytes(&bytes, true);
            if sums.is_known() {
                of_floats.merge_block::<true>(&sums);
            }
            bytes[2] &= 7;
            let sums = BlockSums::from_bytes(&bytes, false);
            if sums.is_known() {
                of_ints.merge_block::<true>(&sums);
            }
            bytes[16..23].fill(0);
        }
        let _ = (of_floats.exact(3).deviation(true), of_ints.exact(3).sum());
    }
    #[test]
    fn a_sum_does_not_depend_on_order_or_parts(
        values in proptest::collection::vec(double(), 0..40), cut in 0usize..40, swap in any::<bool>()) {
        let cut = cut.min(values.len());
        let (left, right) = values.split_at(cut);
        let (mut one, other) = if swap {
            (floats(right), floats(left))
        } else {
            (floats(left), floats(right))
        };
        one.merge(other);
        let count = values.len() as u64;
        let (whole, parts) = (floats(&values).exact(count), one.exact(count));
        prop_assert_eq!(whole.sum().to_bits(), parts.sum().to_bits());
        prop_assert_eq!(whole.deviation(true).map(f64::to_bits), parts.deviation(true).map(f64::to_bits));
        let mut reversed = values.clone();
        reversed.reverse();
        prop_assert_eq!(floats(&reversed).exact(count).sum().to_bits(), whole.sum().to_bits());
    }

    #[test]
    fn equal_values_are_their_mean_and_have_no_deviation(
        value in double(), count in 1usize..200, other in double()) {
        let mut sums = floats(&vec![value; count]);
        prop_assert_eq!(sums.clone().exact(count as u64).mean(), Some(value));
        prop_assert_eq!(sums.clone().exact(count as u64).deviation(false), Some(0.0));
        // Another value, which takes part no more.
        let mut window = floats(&[other]);
        window.merge(floats(&[-other]));
        sums.merge(window);
        prop_assert_eq!(sums.exact(count as u64).mean(), Some(value));
    }

    #[test]
    fn a_mean_is_rounded_once(values in proptest::collection::vec(-(1i64 << 50)..(1 << 50), 1..300)) {
        let count = values.len() as i128;
        let mut ints = IntSums::default();
        values.iter().for_each(|value| ints.add::<false>(*value));
        let mean = ints.exact(count as u64).mean().unwrap();
        let total: i128 = values.iter().map(|value| i128::from(*value)).sum();
        // Twice the distance to the mean, in units of 2^-64 over the count, beside a step of the double.
        let unit = |value: f64| (value * 2f64.powi(60)) as i128;
        let above = unit(mean.abs().next_up()) - unit(mean.abs());
        if mean.abs() >= 1.0 {
            let distance = (unit(mean) - (total << 60) / count).abs();
            prop_assert!(2 * distance <= above + 4, "{mean} {distance} {above}");
        }
    }

    #[test]
    fn integers_as_doubles_have_the_same_sums(values in proptest::collection::vec(-(1i64 << 53)..(1 << 53), 1..50)) {
        let count = values.len() as u64;
        let mut ints = IntSums::default();
        values.iter().for_each(|value| ints.add::<true>(*value));
        let as_doubles: Vec<f64> = values.iter().map(|value| *value as f64).collect();
        let total: i128 = values.iter().map(|value| i128::from(*value)).sum();
        let (ints, floats) = (ints.exact(count), floats(&as_doubles).exact(count));
        prop_assert_eq!(floats.sum(), total as f64);
        prop_assert_eq!(ints.sum(), floats.sum());
        prop_assert_eq!(ints.mean(), floats.mean());
        prop_assert_eq!(ints.deviation(true), floats.deviation(true));
        prop_assert_eq!(ints.deviation(false), floats.deviation(false));
    }
}

#[test]
fn sums_that_rounding_would_lose() {
    let sum = |values: &[f64]| floats(values).exact(values.len() as u64).sum();
    assert_eq!(sum(&[1e300, 1.0, -1e300]), 1.0);
    assert_eq!(sum(&[0.1; 10]), 1.0);
    assert_eq!(sum(&[f64::MAX, f64::MAX, -f64::MAX]), f64::MAX);
    assert_eq!(sum(&[f64::MAX, f64::MAX]), f64::INFINITY);
    assert_eq!(sum(&[f64::from_bits(1); 3]), f64::from_bits(3));
    assert_eq!(sum(&[1.0, f64::EPSILON / 2.0]), 1.0);
    assert_eq!(sum(&[1.0, f64::EPSILON / 2.0, f64::from_bits(1)]), 1.0 + f64::EPSILON);
    assert_eq!(sum(&[f64::INFINITY, 1.0]), f64::INFINITY);
    assert!(sum(&[f64::INFINITY, f64::NEG_INFINITY]).is_nan());
    assert_eq!(sum(&[]), 0.0);
}

#[test]
fn a_deviation_is_exact_where_the_mean_is_large() {
    let values: Vec<f64> = (0..1000).map(|at| 1e9 + f64::from(at % 2)).collect();
    let exact = floats(&values).exact(1000);
    assert_eq!(exact.mean(), Some(1e9 + 0.5));
    let expected = (0.25f64 * 1000.0 / 999.0).sqrt();
    assert!((exact.deviation(true).unwrap() / expected - 1.0).abs() < 1e-15);
    assert_eq!(exact.deviation(false), Some(0.5));
    let huge = floats(&[1e300, 3e300]).exact(2);
    assert!((huge.deviation(false).unwrap() / 1e300 - 1.0).abs() < 1e-15);
    assert_eq!(floats(&[2.0]).exact(1).deviation(true), None);
    assert_eq!(floats(&[2.0]).exact(1).deviation(false), Some(0.0));
}

#[test]
fn the_window_moves() {
    let values: Vec<f64> = (0..2000).map(|at| if at < 700 { 1e-9 } else { 1e9 }).collect();
    let small = Big::of_int(700).nearest() * 1e-9;
    let sum = floats(&values).exact(2000).sum();
    assert_eq!(sum, 1300.0 * 1e9 + small);
}

/// The exact sum of doubles that are multiples of 2^-40 below 2^60, in units of 2^-40.
fn scaled_sum(values: &[f64]) -> i128 {
    values.iter().map(|value| (value * 2f64.powi(40)) as i128).sum()
}

#[test]
fn windows_join_in_either_order_and_where_they_do_not_fit() {
    // Parts with windows that are near, farther apart, and too far apart.
    let parts: Vec<Vec<f64>> = [0.75, 3.0, 4096.0, 2f64.powi(38), 2f64.powi(-39)]
        .iter()
        .map(|scale| (1..200).map(|at| scale * f64::from(at) - scale * 99.0).collect())
        .collect();
    let all: Vec<f64> = parts.concat();
    let expected = scaled_sum(&all) as f64 / 2f64.powi(40);
    for turn in 0..parts.len() {
        let mut sums = FloatSums::default();
        for at in 0..parts.len() {
            sums.merge(floats(&parts[(turn + at) % parts.len()]));
        }
        let exact = sums.exact(all.len() as u64);
        assert_eq!(exact.sum(), expected, "from part {turn} on");
        let whole = floats(&all).exact(all.len() as u64);
        assert_eq!(exact.deviation(false), whole.deviation(false), "from part {turn} on");
    }
}

#[test]
fn a_block_is_stored_up_to_64_exponents_apart() {
    let spread = |by: i32| f64::block_sums(&[1.0, 1.5 * 2f64.powi(by), -1.0]);
    for by in [0, 31, 32, 33, 63, 64] {
        let sums = spread(by);
        assert!(sums.is_known(), "{by}");
        let mut all = FloatSums::default();
        all.merge_block::<true>(&sums);
        assert_eq!(all.exact(3).sum(), 1.5 * 2f64.powi(by), "{by}");
    }
    assert!(!spread(65).is_known());
    assert!(f64::block_sums(&[]).is_known());
    // A full block of the greatest spread fits.
    let values: Vec<f64> =
        (0..1024).map(|at| if at == 0 { 1.0 } else { 1.9 * 2f64.powi(64) }).collect();
    let mut all = FloatSums::default();
    all.merge_block::<true>(&f64::block_sums(&values));
    assert_eq!(all.exact(1024).sum(), floats(&values).exact(1024).sum());
    let near: Vec<f64> = values.iter().map(|value| value.min(1.9 * 2f64.powi(32))).collect();
    let mut all = FloatSums::default();
    all.merge_block::<true>(&f64::block_sums(&near));
    let (all, whole) = (all.exact(1024), floats(&near).exact(1024));
    assert_eq!((all.sum(), all.deviation(true)), (whole.sum(), whole.deviation(true)));
}

/// The least halves of squares decide where the mean is far from zero: windows of different units
/// are joined with each half in its place.
#[test]
fn joined_windows_keep_the_least_halves_of_squares() {
    let step = 2f64.powi(-53);
    for parts in [[1.0 + 2.0 * step, 1.0 - step], [1.0 - step, 1.0 + 2.0 * step]] {
        let mut all = FloatSums::default();
        for value in parts {
            all.merge_block::<true>(&f64::block_sums(&[value]));
        }
        assert_eq!(all.exact(2).deviation(false), Some(1.5 * step), "{parts:?}");
    }
}

#[test]
fn infinity_behind_a_block_of_the_greatest_numbers_is_no_number() {
    let mut all = FloatSums::default();
    all.merge_block::<true>(&f64::block_sums(&[f64::MAX]));
    all.add::<true>(f64::INFINITY);
    assert_eq!(all.clone().exact(2).sum(), f64::INFINITY);
    // As numbers they would cancel each other.
    all.add::<true>(f64::NEG_INFINITY);
    assert!(all.exact(3).sum().is_nan());
}

#[test]
fn infinities_of_blocks_are_kept_with_their_signs() {
    let sum = |blocks: &[&[f64]]| {
        let mut all = FloatSums::default();
        blocks.iter().for_each(|block| all.merge_block::<true>(&f64::block_sums(block)));
        all.exact(blocks.iter().map(|block| block.len() as u64).sum()).sum()
    };
    assert_eq!(sum(&[&[1.0, f64::NEG_INFINITY], &[2.0]]), f64::NEG_INFINITY);
    assert_eq!(sum(&[&[1.0], &[f64::INFINITY]]), f64::INFINITY);
    assert!(sum(&[&[f64::INFINITY], &[f64::NEG_INFINITY]]).is_nan());
}
