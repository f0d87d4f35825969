//! Sums of doubles in the most naive exact way: as integers of 2,200 bits, in units of 2^-1074.

const LIMBS: usize = 70;

/// The correctly rounded sum of finite doubles.
pub(super) fn sum(values: &[f64]) -> f64 {
    let mut limbs = [0i128; LIMBS];
    for value in values {
        let bits = value.to_bits();
        let field = (bits >> 52) & 0x7ff;
        let fraction = bits & ((1 << 52) - 1);
        let (whole, shift) =
            if field == 0 { (fraction, 0) } else { (fraction | 1 << 52, field as usize - 1) };
        let spread = i128::from(whole) << (shift % 32);
        limbs[shift / 32] += if *value < 0.0 { -spread } else { spread };
    }
    let is_negative = carried(&mut limbs) < 0;
    if is_negative {
        limbs.iter_mut().for_each(|limb| *limb = -*limb);
        carried(&mut limbs);
    }
    let bit = |at: usize| (limbs[at / 32] >> (at % 32)) & 1 == 1;
    let Some(top) = (0..LIMBS * 32).rev().find(|at| bit(*at)) else { return 0.0 };
    let lowest = top.saturating_sub(52);
    let mut kept = (lowest..=top).rev().fold(0u64, |kept, at| kept * 2 + u64::from(bit(at)));
    let is_half = lowest > 0 && bit(lowest - 1);
    let has_rest = (0..lowest.saturating_sub(1)).any(bit);
    if is_half && (has_rest || kept % 2 == 1) {
        kept += 1;
    }
    // The highest bit of `kept`, if it has 53, adds one to the exponent.
    let bits = ((lowest as u64) << 52) + kept;
    let size = if bits >= f64::INFINITY.to_bits() { f64::INFINITY } else { f64::from_bits(bits) };
    if is_negative { -size } else { size }
}

/// Limbs of 32 bits, all but the last; returns the sign.
fn carried(limbs: &mut [i128; LIMBS]) -> i128 {
    for at in 0..LIMBS - 1 {
        limbs[at + 1] += limbs[at] >> 32;
        limbs[at] &= 0xffff_ffff;
    }
    limbs[LIMBS - 1].signum()
}

#[test]
fn a_naive_sum_is_rounded_once() {
    assert_eq!(sum(&[1e300, 1.0, -1e300]), 1.0);
    assert_eq!(sum(&[1.0, f64::EPSILON / 2.0]), 1.0);
    assert_eq!(sum(&[1.0, f64::EPSILON / 2.0, f64::from_bits(1)]), 1.0 + f64::EPSILON);
    assert_eq!(sum(&[-f64::MAX, -f64::MAX]), f64::NEG_INFINITY);
    assert_eq!(sum(&[f64::from_bits(1); 3]), f64::from_bits(3));
    assert_eq!(sum(&[-0.5, 0.25]), -0.25);
    assert_eq!(sum(&[]), 0.0);
}
