//! The values of curves.

/// The value of a polynomial; its first coefficient is that of the power 0. Without any it is 0, and
/// otherwise NaN for NaN.
pub(super) fn polynomial(coefficients: &[f64], x: f64) -> f64 {
    let mut down = coefficients.iter().rev();
    let Some(first) = down.next() else { return 0.0 };
    down.fold(first + x * 0.0, |sum, coefficient| sum * x + coefficient)
}

/// Replaces values by those of [`polynomial`].
pub(super) fn polynomials(coefficients: &[f64], values: &mut [f64]) {
    let Some((first, others)) = coefficients.split_last() else { return values.fill(0.0) };
    // The sums of several values stay in registers, and are computed side by side.
    let (whole, rest) = values.as_chunks_mut::<8>();
    for values in whole {
        let mut sums = values.map(|x| first + x * 0.0);
        for coefficient in others.iter().rev() {
            for (sum, x) in sums.iter_mut().zip(&*values) {
                *sum = *sum * x + coefficient;
            }
        }
        *values = sums;
    }
    rest.iter_mut().for_each(|value| *value = polynomial(coefficients, *value));
}

/// The value between points whose inputs rise: linear between two of them, and that of an end
/// outside.
pub(super) fn interpolated(points: &[(f64, f64)], x: f64) -> f64 {
    if x.is_nan() {
        return x;
    }
    let above = points.partition_point(|point| point.0 <= x);
    let before = above.checked_sub(1).and_then(|at| points.get(at));
    match (before, points.get(above)) {
        (Some(before), Some(_)) if before.0 == x => before.1,
        (Some(before), Some(after)) => {
            (after.1 - before.1) / (after.0 - before.0) * (x - before.0) + before.1
        }
        (Some(end), None) | (None, Some(end)) => end.1,
        (None, None) => f64::NAN,
    }
}
