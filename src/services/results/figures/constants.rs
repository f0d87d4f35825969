//! Constants of the range of normal values, by the size of the subgroup.

use std::f64::consts::FRAC_2_SQRT_PI;

/// The least and the greatest size of subgroups.
pub(super) const SIZES: std::ops::RangeInclusive<usize> = 2..=25;

/// Of each size from 2 on: mean and deviation of the range of as many independent standard normal
/// values. They are integrals, which the tests compute.
const RANGES: [(f64, f64); 24] = [
    (FRAC_2_SQRT_PI, 0.852_502_466_427_421_8),
    (1.692_568_750_643_269, 0.888_368_004_045_204_3),
    (2.058_750_746_007_928, 0.879_808_202_824_983_3),
    (2.325_928_947_281_039, 0.864_081_941_099_504_1),
    (2.534_412_721_222_943, 0.848_039_686_117_495_3),
    (2.704_356_751_213_808_7, 0.833_205_335_622_293_7),
    (2.847_200_612_090_555_5, 0.819_831_489_791_944),
    (2.970_026_324_418_474, 0.807_834_274_553_322_5),
    (3.077_505_461_670_346, 0.797_050_673_519_411_3),
    (3.172_872_703_816_000_5, 0.787_314_620_550_328_2),
    (3.258_455_279_743_826, 0.778_478_341_203_384_3),
    (3.335_980_354_098_255, 0.770_416_202_063_754_8),
    (3.406_763_108_199_953, 0.763_023_095_624_790_3),
    (3.471_826_889_882_074_8, 0.756_211_429_727_944),
    (3.531_982_786_109_576, 0.749_908_089_409_915_9),
    (3.587_883_961_765_381_7, 0.744_051_783_960_731_5),
    (3.640_063_757_937_444_4, 0.738_590_853_378_177_9),
    (3.688_963_023_207_649_3, 0.733_481_495_518_868_4),
    (3.734_950_119_596_641, 0.728_686_345_707_305_3),
    (3.778_335_829_842_621, 0.724_173_340_717_499_1),
    (3.819_384_643_362_832_7, 0.719_914_808_434_223_4),
    (3.858_323_423_285_007, 0.715_886_735_491_814_5),
    (3.895_348_148_451_356_4, 0.712_068_175_147_937_2),
    (3.930_629_219_507_113, 0.708_440_765_888_655),
];

/// The constants of a size.
#[derive(Clone, Copy, Debug)]
pub(super) struct RangeConstants {
    size: usize,
    /// d2: mean of the range.
    pub d2: f64,
    /// d3: deviation of the range.
    pub d3: f64,
}

impl RangeConstants {
    /// Of consecutive pairs of values.
    pub(super) const OF_PAIRS: Self = Self { size: 2, d2: RANGES[0].0, d3: RANGES[0].1 };

    /// The constants of a size of [`SIZES`].
    pub(super) fn of(size: usize) -> Option<Self> {
        let (d2, d3) = *RANGES.get(size.checked_sub(*SIZES.start())?)?;
        Some(Self { size, d2, d3 })
    }

    /// A2: three deviations of the mean of a subgroup, over the mean range.
    pub(super) fn a2(&self) -> f64 {
        3.0 / (self.d2 * (self.size as f64).sqrt())
    }

    /// D3: the lower limit of ranges, over the mean range.
    pub(super) fn lower(&self) -> f64 {
        (1.0 - 3.0 * self.d3 / self.d2).max(0.0)
    }

    /// D4: the upper limit of ranges, over the mean range.
    pub(super) fn upper(&self) -> f64 {
        1.0 + 3.0 * self.d3 / self.d2
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn density(x: f64) -> f64 {
        (-x * x / 2.0).exp() / (2.0 * std::f64::consts::PI).sqrt()
    }

    /// The normal distribution from 0 to a value, by its series.
    fn above_zero(x: f64) -> f64 {
        if x.abs() > 8.5 {
            return 0.5f64.copysign(x);
        }
        let (mut term, mut sum, mut odd) = (x, x, 1.0);
        while term.abs() > 1e-18 * sum.abs() {
            odd += 2.0;
            term *= x * x / odd;
            sum += term;
        }
        density(x) * sum
    }

    fn distribution(x: f64) -> f64 {
        0.5 + above_zero(x)
    }

    /// The mean of the range: the integral of `1 - F^m - (1 - F)^m`.
    fn mean(size: usize) -> f64 {
        const STEP: f64 = 1.0 / 16.0;
        let value = |at: i32| {
            let below = distribution(f64::from(at) * STEP);
            1.0 - below.powi(size as i32) - (1.0 - below).powi(size as i32)
        };
        STEP * (-150..=150).map(value).sum::<f64>()
    }

    /// The mean square of the range: the integral of `2 w (1 - G(w))`, where `G` is the
    /// distribution of the range: the integral of `m f(x) (F(x + w) - F(x))^(m - 1)`.
    fn mean_squares() -> Vec<f64> {
        const STEP: f64 = 1.0 / 10.0;
        const WIDE: f64 = 1.0 / 16.0;
        let places: Vec<f64> = (-90..=90).map(|at| f64::from(at) * STEP).collect();
        let mut sums = vec![0.0; RANGES.len()];
        // The substitution `w = exp(u - exp(-u))` makes both ends flat.
        for at in -64..=56 {
            let u = f64::from(at) * WIDE;
            let width = (u - (-u).exp()).exp();
            // No range is wider, and a distribution of nearly 1 is rounded.
            if width > 13.0 {
                break;
            }
            let weight = WIDE * width * (1.0 + (-u).exp());
            let mut distributions = vec![0.0; RANGES.len()];
            for x in &places {
                let between = above_zero(x + width) - above_zero(*x);
                let mut power = STEP * density(*x);
                for (size, distribution) in (2..).zip(&mut distributions) {
                    power *= between;
                    *distribution += f64::from(size) * power;
                }
            }
            for (sum, distribution) in sums.iter_mut().zip(distributions) {
                *sum += weight * 2.0 * width * (1.0 - distribution);
            }
        }
        sums
    }

    #[test]
    fn the_constants_are_the_integrals() {
        for (size, square) in SIZES.zip(mean_squares()) {
            let constants = RangeConstants::of(size).unwrap();
            let d2 = mean(size);
            let d3 = (square - d2 * d2).sqrt();
            assert!((constants.d2 - d2).abs() < 1e-12, "{size}: {d2}");
            assert!((constants.d3 - d3).abs() < 1e-12, "{size}: {d3}");
        }
        assert_eq!(RangeConstants::OF_PAIRS.d2, RangeConstants::of(2).unwrap().d2);
        // Of two values both are known without an integral.
        let pi = std::f64::consts::PI;
        assert!((RangeConstants::OF_PAIRS.d2 - 2.0 / pi.sqrt()).abs() < 1e-15);
        assert!((RangeConstants::OF_PAIRS.d3 - (2.0 - 4.0 / pi).sqrt()).abs() < 1e-15);
        for size in [0, 1, 26] {
            assert!(RangeConstants::of(size).is_none(), "{size}");
        }
    }

    #[expect(clippy::approx_constant, reason = "the table is that of the description")]
    #[test]
    fn the_table_of_the_description() {
        for (size, d2, d3, a2, lower, upper) in [
            (2, 1.1283791671, 0.8525024664, 1.8799712060, 0.0, 3.2665319193),
            (3, 1.6925687506, 0.8883680040, 1.0233267079, 0.0, 2.5745912898),
            (4, 2.0587507460, 0.8798082028, 0.7285971859, 0.0, 2.2820515614),
            (5, 2.3259289473, 0.8640819411, 0.5768193341, 0.0, 2.1144991451),
            (6, 2.5344127212, 0.8480396861, 0.4832460243, 0.0, 2.0038298171),
            (10, 3.0775054617, 0.7970506735, 0.3082637252, 0.2230226557, 1.7769773443),
            (25, 3.9306292195, 0.7084407659, 0.1526473159, 0.4592920932, 1.5407079068),
        ] {
            let constants = RangeConstants::of(size).unwrap();
            for (found, expected) in [
                (constants.d2, d2),
                (constants.d3, d3),
                (constants.a2(), a2),
                (constants.lower(), lower),
                (constants.upper(), upper),
            ] {
                assert!((found - expected).abs() <= 0.5000001e-10, "{size}: {found} {expected}");
            }
        }
    }
}
