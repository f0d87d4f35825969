//! Gage studies beside a naive analysis of variance, and what makes no study.

use super::gage::*;
use crate::error::Result;
use crate::model::results::figures::GageStudy;
use crate::services::results::figures::random::Random;

type Given = (String, String, f64);

fn of(values: &[Given]) -> Result<GageStudy> {
    let mut gage = GageValues::default();
    for (part, operator, value) in values {
        gage.add(Some(part), Some(operator), *value)?;
    }
    gage.finish()
}

fn crossed(
    parts: usize,
    operators: usize,
    trials: usize,
    mut value: impl FnMut(usize, usize) -> f64,
) -> Vec<Given> {
    let mut all = Vec::new();
    for _ in 0..trials {
        for part in 0..parts {
            for operator in 0..operators {
                all.push((format!("p{part}"), format!("o{operator}"), value(part, operator)));
            }
        }
    }
    all
}

fn near(value: Option<f64>, expected: f64, what: &str) {
    let value = value.unwrap();
    assert!(
        (value - expected).abs() <= 1e-9 * (1.0 + expected.abs()),
        "{what}: {value} {expected}"
    );
}

/// The deviations from sums of squared differences of means.
fn naive(values: &[Given], p: usize, o: usize, r: usize) -> [f64; 4] {
    let mean = |is_mine: &dyn Fn(&Given) -> bool| {
        let mine: Vec<f64> =
            values.iter().filter(|given| is_mine(given)).map(|given| given.2).collect();
        mine.iter().sum::<f64>() / mine.len() as f64
    };
    let all = mean(&|_| true);
    let part = |at: usize| mean(&|given| given.0 == format!("p{at}"));
    let operator = |at: usize| mean(&|given| given.1 == format!("o{at}"));
    let cell = |one: usize, other: usize| {
        mean(&|given| given.0 == format!("p{one}") && given.1 == format!("o{other}"))
    };
    let (pf, of, rf) = (p as f64, o as f64, r as f64);
    let ms_part = (0..p).map(|at| (part(at) - all).powi(2)).sum::<f64>() * of * rf / (pf - 1.0);
    let ms_operator =
        (0..o).map(|at| (operator(at) - all).powi(2)).sum::<f64>() * pf * rf / (of - 1.0);
    let (mut ss_both, mut ss_error) = (0.0, 0.0);
    for one in 0..p {
        for other in 0..o {
            ss_both += rf * (cell(one, other) - part(one) - operator(other) + all).powi(2);
            for given in values {
                if given.0 == format!("p{one}") && given.1 == format!("o{other}") {
                    ss_error += (given.2 - cell(one, other)).powi(2);
                }
            }
        }
    }
    let ms_both = ss_both / ((pf - 1.0) * (of - 1.0));
    let ms_error = ss_error / (pf * of * (rf - 1.0));
    [
        ms_error,
        ((ms_both - ms_error) / rf).max(0.0),
        ((ms_operator - ms_both) / (pf * rf)).max(0.0),
        ((ms_part - ms_both) / (of * rf)).max(0.0),
    ]
    .map(f64::sqrt)
}

#[test]
fn studies_are_those_of_the_analysis_of_variance() {
    let mut random = Random::new(31);
    let mut zeros = 0;
    for round in 0..100 {
        let (p, o) = (random.below(5) as usize + 2, random.below(3) as usize + 2);
        let r = random.below(3) as usize + 2;
        let parts: Vec<f64> = (0..p).map(|_| random.share() * 4.0).collect();
        let operators: Vec<f64> = (0..o).map(|_| random.share() * 0.5).collect();
        let values = crossed(p, o, r, |part, operator| {
            100.0 + parts[part] + operators[operator] + random.share() * 0.3
        });
        let study = of(&values).unwrap();
        let [error, both, operator, part] = naive(&values, p, o, r);
        let what = format!("round {round}");
        near(study.repeatability, error, &what);
        near(study.operators, operator, &what);
        near(study.parts, part, &what);
        // Close to zero, the naive computation has few digits.
        let interaction = study.interaction.unwrap();
        assert!((interaction - both).abs() < 1e-7, "{what}: {interaction} {both}");
        zeros += u32::from(interaction == 0.0);
        let gage = (error * error + interaction * interaction + operator * operator).sqrt();
        near(study.gage_rr, gage, &what);
        near(study.total, gage.hypot(part), &what);
        near(study.percent_study, 100.0 * gage / gage.hypot(part), &what);
        let categories = (2f64.sqrt() * part / gage).floor() as i64;
        assert_eq!(study.distinct_categories, Some(categories));
        assert_eq!((study.n, study.trials), ((p * o * r) as i64, r as i64));
        assert_eq!((study.part_count, study.operator_count), (p as i64, o as i64));
    }
    assert!(zeros > 0 && zeros < 100, "{zeros}");
}

#[test]
fn a_study_by_hand() {
    // Parts 1 and 3, operators without a difference, two values 0.2 apart: MSe = 0.02.
    let mut turn = 0;
    let values = crossed(2, 2, 2, |part, _| {
        turn += 1;
        1.0 + 2.0 * part as f64 + if turn <= 4 { 0.125 } else { -0.125 }
    });
    let study = of(&values).unwrap();
    // MSe = 4 * 2 * 0.125^2 / 4 = 0.03125; MSp = 4 * (1 + 1) / 1 = 8; MSo = MSpo = 0.
    assert_eq!(study.repeatability, Some(0.03125f64.sqrt()));
    assert_eq!((study.interaction, study.operators), (Some(0.0), Some(0.0)));
    assert_eq!(study.parts, Some(2f64.sqrt()));
    assert_eq!(study.gage_rr, study.repeatability);
    assert_eq!(study.distinct_categories, Some(11));
}

#[test]
fn far_from_zero_nothing_is_lost() {
    let mut random = Random::new(33);
    let steps: Vec<f64> = (0..27).map(|_| random.below(16) as f64 / 16.0).collect();
    let study = |base: f64| {
        let mut at = 0;
        let values = crossed(3, 3, 3, |part, _| {
            at += 1;
            base + part as f64 + steps[at - 1]
        });
        of(&values).unwrap()
    };
    // All values are exact, so the deviations are the same.
    assert_eq!(study(0.0), study(2f64.powi(45)));
}

#[test]
fn without_deviation_nothing_is_divided() {
    let equal = of(&crossed(2, 2, 2, |_, _| 3.3)).unwrap();
    assert_eq!((equal.gage_rr, equal.total), (Some(0.0), Some(0.0)));
    assert_eq!((equal.percent_study, equal.distinct_categories), (None, None));
    let exact = of(&crossed(3, 2, 2, |part, _| 0.1 * part as f64)).unwrap();
    assert_eq!((exact.gage_rr, exact.percent_study), (Some(0.0), Some(0.0)));
    assert_eq!(exact.distinct_categories, None);
    assert!(exact.parts.unwrap() > 0.09);
}

#[test]
fn a_study_is_crossed_and_balanced() {
    let all = crossed(3, 2, 2, |part, operator| (part * operator) as f64);
    assert!(of(&all).is_ok());
    assert!(of(&all[1..]).is_err());
    let mut more = all.clone();
    more.push(all[0].clone());
    assert!(of(&more).is_err());
    assert!(of(&crossed(3, 2, 1, |_, _| 1.0)).is_err());
    assert!(of(&crossed(1, 2, 2, |_, _| 1.0)).is_err());
    assert!(of(&crossed(2, 1, 2, |_, _| 1.0)).is_err());
    assert!(of(&[]).is_err());
    // A part that one operator did not see.
    let mut nested = all.clone();
    nested.retain(|(part, operator, _)| part != "p2" || operator != "o1");
    let error = of(&nested).unwrap_err();
    assert!(error.message().contains("0 values of \"p2\" by \"o1\""), "{error:?}");
}

#[test]
fn values_of_nobody_take_no_part() {
    let mut gage = GageValues::default();
    for (part, operator, value) in crossed(2, 2, 2, |part, _| part as f64) {
        gage.add(Some(&part), Some(&operator), value).unwrap();
    }
    for (part, operator) in
        [(None, Some("o")), (Some("p"), None), (Some(""), Some("o")), (Some("p"), Some(""))]
    {
        gage.add(part, operator, 1e9).unwrap();
    }
    let study = gage.finish().unwrap();
    assert_eq!((study.unassigned, study.n), (4, 8));
}
