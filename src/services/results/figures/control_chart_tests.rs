//! Control charts of the examples, their rules, and beside a naive computation.

use super::constants::RangeConstants;
use super::control_chart::*;
use crate::model::results::figures::{ChartRule, ChartType, ControlChart, ControlLimits};
use crate::services::results::figures::random::Random;
use crate::services::results::figures::series_tests::values;

const EXAMPLE: [f64; 8] = [10.1, 9.9, 10.0, 10.2, 9.8, 10.0, 10.1, 9.9];
const SUBGROUPS: [f64; 10] = [5.0, 5.1, 4.9, 5.2, 5.0, 5.1, 4.8, 5.0, 4.9, 5.3];

fn of(
    numbers: &[f64],
    form: ChartForm,
    baseline: Option<i64>,
) -> (ControlChart, Vec<PointFigures>) {
    control_chart(&values(numbers), form, baseline, 0, usize::MAX).unwrap()
}

fn near(value: Option<f64>, expected: f64) {
    let value = value.unwrap();
    assert!((value - expected).abs() < 1e-9, "{value} is not {expected}");
}

#[test]
fn the_example_of_individuals() {
    let (chart, points) = of(&EXAMPLE, ChartForm::Individuals, None);
    assert_eq!(chart.limits.center, Some(10.0));
    near(chart.limits.lower, 9.468_263_845);
    near(chart.limits.upper, 10.531_736_155);
    near(chart.range_limits.center, 0.2);
    near(chart.range_limits.upper, 0.653_306_384);
    assert_eq!(chart.range_limits.lower, Some(0.0));
    assert_eq!((chart.n, chart.left_over), (8, 0));
    assert_eq!(points.len(), 8);
    assert_eq!((points[0].index, points[0].value, points[0].range), (0, 10.1, None));
    near(points[1].range, 0.2);
    assert!(points.iter().all(|point| point.rules.is_empty()));
}

#[test]
fn the_example_of_subgroups() {
    let form = ChartForm::new(ChartType::Means, Some(3)).unwrap();
    let (chart, points) = of(&SUBGROUPS, form, None);
    let means: Vec<f64> = points.iter().map(|point| point.value).collect();
    for (mean, expected) in means.into_iter().zip([5.0, 5.1, 4.9]) {
        near(Some(mean), expected);
    }
    points.iter().for_each(|point| near(point.range, 0.2));
    near(chart.limits.center, 5.0);
    near(chart.limits.lower, 4.795_334_658);
    near(chart.limits.upper, 5.204_665_342);
    near(chart.range_limits.upper, 0.514_918_258);
    assert_eq!(chart.range_limits.lower, Some(0.0));
    assert_eq!((chart.n, chart.left_over, points.len()), (10, 1, 3));
    assert_eq!(form.first_value(2), 6);
    // Sizes from 7 on have a lower limit of ranges.
    let (chart, _) = of(&EXAMPLE, ChartForm::Means(8), None);
    assert!(chart.range_limits.lower.unwrap() > 0.0);
    for size in [None, Some(1), Some(26)] {
        assert!(ChartForm::new(ChartType::Means, size).is_err());
    }
    assert_eq!(ChartForm::new(ChartType::Individuals, None).unwrap(), ChartForm::Individuals);
}

#[test]
fn few_values_have_no_limits() {
    let (chart, points) = of(&[], ChartForm::Individuals, None);
    assert_eq!((chart, points), (ControlChart::default(), Vec::new()));
    let (chart, points) = of(&[7.0], ChartForm::Individuals, None);
    assert_eq!((chart.limits.lower, chart.limits.upper), (None, None));
    assert_eq!(chart.range_limits, ControlLimits::default());
    assert_eq!((points.len(), points[0].range), (1, None));
    let (chart, points) = of(&[7.0], ChartForm::Means(2), None);
    assert_eq!((chart.limits, points.len(), chart.left_over), (ControlLimits::default(), 0, 1));
}

#[test]
fn a_baseline_makes_the_limits_of_all_points() {
    let mut numbers = EXAMPLE.to_vec();
    numbers.extend([11.0, 10.0]);
    let (chart, points) = of(&numbers, ChartForm::Individuals, Some(8));
    let (alone, _) = of(&EXAMPLE, ChartForm::Individuals, None);
    assert_eq!((&chart.limits, &chart.range_limits), (&alone.limits, &alone.range_limits));
    assert_eq!((chart.n, points.len()), (10, 10));
    // 11.0 is outside, and so are the ranges before and after it.
    assert_eq!(points[8].rules, [ChartRule::Beyond]);
    assert_eq!(points[8].range_rules, [ChartRule::Beyond]);
    assert_eq!(points[9].rules, [ChartRule::Beyond]);
    assert!(is_beyond(11.0, &chart.limits) && !is_beyond(10.0, &chart.limits));
    // Subgroups are counted as points.
    let (chart, points) = of(&SUBGROUPS, ChartForm::Means(3), Some(2));
    near(chart.limits.center, 5.05);
    assert_eq!(points.len(), 3);
    let (more, _) = of(&SUBGROUPS, ChartForm::Means(3), Some(100));
    assert_eq!(more.limits, of(&SUBGROUPS, ChartForm::Means(3), None).0.limits);
    for count in [0, -1] {
        assert!(ChartLimits::new(ChartForm::Individuals, Some(count)).is_err());
    }
    let (chart, _) = of(&EXAMPLE, ChartForm::Individuals, Some(1));
    assert_eq!((chart.limits.center, chart.limits.upper), (Some(10.1), None));
}

#[test]
fn points_without_deviation_have_limits_at_the_center() {
    for value in [0.1, 3.3] {
        for form in [ChartForm::Individuals, ChartForm::Means(3)] {
            let (chart, points) = of(&[value; 12], form, None);
            let at = Some(value);
            let limits = ControlLimits { center: at, lower: at, upper: at };
            assert_eq!(chart.limits, limits);
            assert!(points.iter().all(|point| point.rules.is_empty()));
        }
    }
    // What differs from a baseline of equal values is outside.
    let (_, points) = of(&[3.3, 3.3, 3.3, 3.3f64.next_up()], ChartForm::Individuals, Some(3));
    assert_eq!(points[3].rules, [ChartRule::Beyond]);
}

#[test]
fn the_ninth_point_on_one_side_is_a_run() {
    // A center of zero, from the first two points.
    let mut numbers = vec![-1.0, 1.0];
    numbers.extend([0.5; 7]);
    let runs = |numbers: &[f64]| -> Vec<usize> {
        let (_, points) = of(numbers, ChartForm::Individuals, Some(2));
        let runs = points.iter().filter(|point| point.rules.contains(&ChartRule::Run));
        runs.map(|point| point.index).collect()
    };
    // Eight points above.
    assert_eq!(runs(&numbers), [0; 0]);
    numbers.extend([0.5, 0.1]);
    assert_eq!(runs(&numbers), [9, 10]);
    // A point at the center ends the run, as one on the other side does.
    for end in [0.0, -0.5] {
        let mut more = numbers.clone();
        more.push(end);
        more.extend([0.5; 8]);
        assert_eq!(runs(&more), [9, 10]);
        more.push(0.5);
        assert_eq!(runs(&more), [9, 10, 20]);
    }
    let below: Vec<f64> = numbers.iter().map(|value| -value).collect();
    assert_eq!(runs(&below), [9, 10]);
}

#[test]
fn pages_have_the_limits_and_the_runs_of_all() {
    let mut random = Random::new(21);
    let numbers: Vec<f64> = (0..100)
        .map(|at| f64::from(at) * 0.01 + random.share() + if at == 60 { 9.0 } else { 0.0 })
        .collect();
    for form in [ChartForm::Individuals, ChartForm::Means(2)] {
        let (chart, points) = of(&numbers, form, None);
        assert!(points.iter().any(|point| point.rules.contains(&ChartRule::Run)));
        let mut pages = Vec::new();
        for first in (0..points.len() + 7).step_by(7) {
            let (part, page) = control_chart(&values(&numbers), form, None, first, 7).unwrap();
            assert_eq!(part, chart);
            pages.extend(page);
        }
        assert_eq!(pages, points);
    }
}

#[test]
fn ranges_that_are_no_numbers_leave_no_limits() {
    let (chart, points) = of(&[f64::MAX, -f64::MAX, 0.0], ChartForm::Individuals, None);
    assert_eq!((chart.limits.upper, chart.range_limits.center), (None, None));
    assert_eq!((chart.limits.center, points[1].range), (Some(0.0), None));
}

#[test]
fn charts_are_those_of_their_definitions() {
    let mut random = Random::new(23);
    for round in 0..200 {
        // Few values, so that some are at the center and many are equal.
        let numbers: Vec<f64> =
            (0..random.below(80)).map(|_| random.below(5) as f64 - 2.0).collect();
        let size = random.below(5) as usize + 1;
        let (form, means, ranges): (_, Vec<f64>, Vec<f64>) = if size == 1 {
            let moving = numbers.windows(2).map(|pair| (pair[1] - pair[0]).abs()).collect();
            (ChartForm::Individuals, numbers.clone(), moving)
        } else {
            let parts = numbers.chunks_exact(size);
            let mean = |part: &[f64]| part.iter().sum::<f64>() / size as f64;
            let range = |part: &[f64]| {
                part.iter().copied().fold(f64::MIN, f64::max)
                    - part.iter().copied().fold(f64::MAX, f64::min)
            };
            (ChartForm::Means(size), parts.clone().map(mean).collect(), parts.map(range).collect())
        };
        let (chart, points) = of(&numbers, form, None);
        assert_eq!(points.len(), means.len());
        let average = |list: &[f64]| list.iter().sum::<f64>() / list.len() as f64;
        if ranges.is_empty() {
            assert_eq!(chart.limits.upper, None);
            continue;
        }
        let constants = RangeConstants::of(size.max(2)).unwrap();
        let center = average(&means);
        let distance =
            if size == 1 { 3.0 / constants.d2 } else { constants.a2() } * average(&ranges);
        near(chart.limits.center, center);
        near(chart.limits.lower, center - distance);
        near(chart.limits.upper, center + distance);
        near(chart.range_limits.upper, constants.upper() * average(&ranges));
        let center = chart.limits.center.unwrap();
        for (at, point) in points.iter().enumerate() {
            let is_run = at >= 8
                && (points[at - 8..=at].iter().all(|point| point.value > center)
                    || points[at - 8..=at].iter().all(|point| point.value < center));
            assert_eq!(point.rules.contains(&ChartRule::Run), is_run, "{round} {at}");
            let is_beyond = point.value < chart.limits.lower.unwrap()
                || point.value > chart.limits.upper.unwrap()
                || point.range.is_some_and(|range| {
                    range > chart.range_limits.upper.unwrap()
                        || range < chart.range_limits.lower.unwrap()
                });
            assert_eq!(point.rules.contains(&ChartRule::Beyond), is_beyond, "{round} {at}");
        }
    }
}
