//! Capability of the examples, of equal and of extreme values, and beside a naive computation.

#![expect(clippy::approx_constant, reason = "the example has the ratio 2 / sqrt(pi)")]

use super::capability::*;
use super::constants::RangeConstants;
use super::limits::Limits;
use super::series::Values;
use crate::model::results::figures::{Capability, WithinMethod, ZeroDeviation};
use crate::services::results::figures::random::Random;
use crate::services::results::figures::series_tests::values;

const EXAMPLE: [f64; 8] = [10.1, 9.9, 10.0, 10.2, 9.8, 10.0, 10.1, 9.9];
const BOTH: Limits = Limits { low: Some(9.4), high: Some(10.6) };

fn of(numbers: &[f64], limits: Limits, method: WithinMethod, size: Option<i64>) -> Capability {
    let values = Values { limits, ..values(numbers) };
    capability(&values, method, size).unwrap()
}

fn moving(numbers: &[f64], limits: Limits) -> Capability {
    of(numbers, limits, WithinMethod::MovingRange, None)
}

fn near(value: Option<f64>, expected: f64) {
    let value = value.unwrap();
    assert!((value - expected).abs() < 1e-9, "{value} is not {expected}");
}

#[test]
fn the_example() {
    let figures = moving(&EXAMPLE, BOTH);
    assert_eq!(figures.n, 8);
    assert_eq!(figures.mean, Some(10.0));
    assert_eq!((figures.minimum, figures.maximum), (Some(9.8), Some(10.2)));
    near(figures.overall_deviation, 0.130_930_734);
    near(figures.within_deviation, 0.177_245_385);
    near(figures.cp, 1.128_379_167);
    near(figures.cpk, 1.128_379_167);
    near(figures.pp, 1.527_525_232);
    near(figures.ppk, 1.527_525_232);
    let range = of(&EXAMPLE, BOTH, WithinMethod::Range, Some(4));
    near(range.within_deviation, 0.3 / 2.058_750_746_007_928);
    let pooled = of(&EXAMPLE, BOTH, WithinMethod::Pooled, Some(4));
    near(pooled.within_deviation, 0.129_099_445);
    assert_eq!(pooled.overall_deviation, figures.overall_deviation);
}

#[test]
fn one_limit_has_one_ratio() {
    let upper = moving(&EXAMPLE, Limits { low: None, high: Some(10.6) });
    assert_eq!((upper.cp, upper.cpl, upper.pp, upper.ppl), (None, None, None, None));
    near(upper.cpu, 1.128_379_167);
    assert_eq!(upper.cpk, upper.cpu);
    assert_eq!(upper.ppk, upper.ppu);
    let lower = moving(&EXAMPLE, Limits { low: Some(10.3), high: None });
    assert!(lower.cpk.unwrap() < 0.0);
    assert_eq!((lower.cpk, lower.cpu, lower.cp), (lower.cpl, None, None));
    let none = moving(&EXAMPLE, Limits::default());
    assert_eq!((none.cp, none.cpk, none.pp, none.ppk), (None, None, None, None));
    near(none.within_deviation, 0.177_245_385);
}

#[test]
fn few_values_have_few_figures() {
    assert_eq!(
        moving(&[], BOTH),
        Capability { low_limit: BOTH.low, high_limit: BOTH.high, ..Capability::default() }
    );
    let one = moving(&[10.0], BOTH);
    assert_eq!(
        (one.n, one.mean, one.minimum, one.maximum),
        (1, Some(10.0), Some(10.0), Some(10.0))
    );
    assert_eq!(
        (one.overall_deviation, one.within_deviation, one.cp, one.ppk),
        (None, None, None, None)
    );
    assert_eq!(one.zero_deviation, ZeroDeviation::default());
    // No full subgroup.
    for method in [WithinMethod::Range, WithinMethod::Pooled] {
        let few = of(&EXAMPLE, BOTH, method, Some(9));
        assert_eq!((few.within_deviation, few.cp, few.left_over), (None, None, 8));
        assert!(few.pp.is_some() && !few.zero_deviation.within);
        assert_eq!(of(&EXAMPLE, BOTH, method, Some(3)).left_over, 2);
        for size in [None, Some(1), Some(26), Some(-2)] {
            assert!(CapabilityValues::new(method, size).is_err());
        }
    }
}

#[test]
fn equal_values_have_no_deviation() {
    for value in [0.1, 3.3, 0.0, -7.7e-12, 1e300, f64::MAX, f64::from_bits(1)] {
        for n in [2, 3, 6, 7, 49] {
            let numbers = vec![value; n];
            for (method, size) in [
                (WithinMethod::MovingRange, None),
                (WithinMethod::Range, Some(2)),
                (WithinMethod::Pooled, Some(2)),
            ] {
                let figures =
                    of(&numbers, Limits { low: Some(-1.0), high: Some(4.0) }, method, size);
                assert_eq!(figures.mean, Some(value), "{value} {n}");
                assert_eq!(figures.overall_deviation, Some(0.0));
                assert_eq!(figures.within_deviation, Some(0.0));
                assert_eq!(figures.zero_deviation, ZeroDeviation { within: true, overall: true });
                assert_eq!(
                    (figures.cp, figures.cpk, figures.pp, figures.ppk),
                    (None, None, None, None)
                );
            }
        }
    }
}

#[test]
fn equal_values_with_another_before_have_no_deviation_within() {
    // The first subgroup of equal values comes after others.
    let mut pooled = vec![1.7, 1e6, 5.0];
    pooled.extend([3.3; 6]);
    let alone = of(&pooled[..3], BOTH, WithinMethod::Pooled, Some(3));
    let with = of(&pooled, BOTH, WithinMethod::Pooled, Some(3));
    let (alone, with) = (alone.within_deviation.unwrap(), with.within_deviation.unwrap());
    assert!((with * 3f64.sqrt() / alone - 1.0).abs() < 1e-15, "{with} {alone}");
    // Subgroups of equal values that differ from each other.
    let numbers = [7.1, 7.1, 7.1, 3.3, 3.3, 3.3];
    let figures = of(&numbers, BOTH, WithinMethod::Pooled, Some(3));
    assert_eq!(figures.within_deviation, Some(0.0));
    assert_eq!(figures.zero_deviation, ZeroDeviation { within: true, overall: false });
    assert_eq!(figures.cp, None);
    assert!(figures.pp.is_some());
    assert_eq!(of(&numbers, BOTH, WithinMethod::Range, Some(3)).within_deviation, Some(0.0));
    // A value that is there no more leaves nothing behind in the sums.
    for before in [0.1, 1e300, 5e-324, 1e17] {
        let mut figures = CapabilityValues::new(WithinMethod::Pooled, Some(2)).unwrap();
        [before, -before, 3.3, 3.3].into_iter().for_each(|value| figures.add(value));
        let two = of(&[before, -before], BOTH, WithinMethod::Pooled, Some(2));
        let expected = two.within_deviation.unwrap() / 2f64.sqrt();
        let found = figures.finish(BOTH).within_deviation.unwrap();
        assert!((found - expected).abs() <= expected * 1e-15, "{before}: {found} {expected}");
    }
}

#[test]
fn limits_of_entries_may_be_wrong() {
    let figures = moving(&EXAMPLE, Limits { low: Some(10.6), high: Some(9.4) });
    assert!(figures.limits_invalid);
    assert_eq!((figures.cp, figures.cpk, figures.pp, figures.ppu), (None, None, None, None));
    assert_eq!((figures.low_limit, figures.high_limit), (Some(10.6), Some(9.4)));
    let equal = moving(&EXAMPLE, Limits { low: Some(10.0), high: Some(10.0) });
    assert_eq!((equal.limits_invalid, equal.cp, equal.cpk), (false, Some(0.0), Some(0.0)));
}

#[test]
fn what_fits_in_no_double_is_no_figure() {
    let figures = moving(&[f64::MAX, -f64::MAX, f64::MAX], BOTH);
    assert_eq!(figures.within_deviation, None);
    assert!(figures.mean.unwrap().is_finite());
    let all = [figures.overall_deviation, figures.cp, figures.cpk, figures.pp, figures.ppk];
    assert!(all.into_iter().flatten().all(f64::is_finite));
    let range = of(&[f64::MAX, -f64::MAX], BOTH, WithinMethod::Range, Some(2));
    assert_eq!(range.within_deviation, None);
    // Ratios that are too great.
    let tiny = [5e-324, 0.0, 5e-324, 0.0];
    let figures = moving(&tiny, Limits { low: Some(-1e300), high: Some(1e300) });
    assert_eq!((figures.cp, figures.cpk, figures.pp), (None, None, None));
    assert_eq!(moving(&[-0.0], BOTH).mean.map(f64::to_bits), Some(0));
}

#[test]
fn capability_is_that_of_its_definitions() {
    let mut random = Random::new(11);
    for round in 0..400 {
        let base = random.of(&[0.0, 1.0, -5.0, 1e4]);
        let numbers: Vec<f64> =
            (0..random.below(60)).map(|_| base + (random.share() - 0.5) * 3.0).collect();
        let n = numbers.len() as f64;
        let size = random.below(24) as usize + 2;
        let mean = numbers.iter().sum::<f64>() / n;
        let squared = numbers.iter().map(|x| (x - mean).powi(2)).sum::<f64>();
        let overall = if n < 2.0 { f64::NAN } else { squared / (n - 1.0) };
        let d2 = |size| RangeConstants::of(size).unwrap().d2;
        let full: Vec<&[f64]> = numbers.chunks_exact(size).collect();
        let moving: Vec<f64> = numbers.windows(2).map(|pair| (pair[0] - pair[1]).abs()).collect();
        let average = |list: &[f64]| list.iter().sum::<f64>() / list.len() as f64;
        let range = |part: &[f64]| {
            part.iter().copied().fold(f64::MIN, f64::max)
                - part.iter().copied().fold(f64::MAX, f64::min)
        };
        let ranges: Vec<f64> = full.iter().map(|part| range(part)).collect();
        let squares = |part: &&[f64]| {
            let mean = average(part);
            part.iter().map(|x| (x - mean).powi(2)).sum::<f64>()
        };
        let pooled = full.iter().map(squares).sum::<f64>() / (full.len() * (size - 1)) as f64;
        let limits = Limits {
            low: (random.below(3) > 0).then(|| base - random.share()),
            high: (random.below(3) > 0).then(|| base + random.share()),
        };
        for (method, within) in [
            (WithinMethod::MovingRange, average(&moving) / d2(2)),
            (WithinMethod::Range, average(&ranges) / d2(size)),
            (WithinMethod::Pooled, pooled.sqrt()),
        ] {
            let figures = of(&numbers, limits, method, Some(size as i64));
            let same = |found: Option<f64>, expected: f64, what: &str| match found {
                None => assert!(!expected.is_finite(), "{what} of round {round}"),
                Some(found) => assert!(
                    (found - expected).abs() <= 1e-9 * (1.0 + expected.abs()),
                    "{what} of round {round}: {found} {expected}"
                ),
            };
            same(figures.mean, mean, "mean");
            same(figures.overall_deviation, overall.sqrt(), "overall");
            same(figures.within_deviation, within, "within");
            let low = limits.low.unwrap_or(f64::NAN);
            let high = limits.high.unwrap_or(f64::NAN);
            for (sigma, both, lower, upper, least) in [
                (within, figures.cp, figures.cpl, figures.cpu, figures.cpk),
                (overall.sqrt(), figures.pp, figures.ppl, figures.ppu, figures.ppk),
            ] {
                same(both, (high - low) / (6.0 * sigma), "both");
                same(lower, (mean - low) / (3.0 * sigma), "lower");
                same(upper, (high - mean) / (3.0 * sigma), "upper");
                // The minimum of a number and NaN is the number.
                same(
                    least,
                    ((mean - low) / (3.0 * sigma)).min((high - mean) / (3.0 * sigma)),
                    "least",
                );
            }
            if method != WithinMethod::MovingRange {
                assert_eq!(figures.left_over, (numbers.len() % size) as i64);
            }
        }
    }
}
