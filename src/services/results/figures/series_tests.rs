//! Which measurements are values of a series, in which order, and with which limits.

use super::limits::Limits;
use super::series::*;
use crate::error::Result;
use crate::services::results::figures::random::Random;

/// The values of measurements without limits, of results in this order.
pub(super) fn values(numbers: &[f64]) -> Values<u32> {
    let mut series = Series::new(None, true, None);
    for (at, number) in numbers.iter().enumerate() {
        series.add(&measured(at as i64, Some(*number))).unwrap();
    }
    series.finish().unwrap()
}

fn measured(started_at_ms: i64, value: Option<f64>) -> Measured<'static, u32> {
    Measured {
        value,
        units: None,
        path: "p",
        limits: Limits::default(),
        is_skipped: false,
        at: Place { started_at_ms, result_id: [0; 16], step: 0, position: 0 },
    }
}

fn of(all: &[Measured<'_, u32>], mut series: Series<u32>) -> Result<Values<u32>> {
    for measured in all {
        series.add(measured)?;
    }
    series.finish()
}

fn open() -> Series<u32> {
    Series::new(None, false, None)
}

#[test]
fn what_is_no_number_is_counted() {
    let all = [
        measured(0, Some(1.0)),
        measured(1, None),
        measured(2, Some(f64::NAN)),
        measured(3, Some(f64::INFINITY)),
        measured(4, Some(f64::NEG_INFINITY)),
        Measured { is_skipped: true, ..measured(5, Some(7.0)) },
        // In other units it would be refused, but it is no value.
        Measured { units: Some("V"), path: "q", ..measured(6, None) },
        Measured { units: Some("V"), is_skipped: true, ..measured(7, Some(1.0)) },
        measured(8, Some(2.0)),
    ];
    let values = of(&all, open()).unwrap();
    assert_eq!(values.numbers().collect::<Vec<_>>(), [1.0, 2.0]);
    assert_eq!((values.not_numbers, values.skipped), (5, 2));
}

#[test]
fn several_units_are_refused_unless_one_is_named() {
    let all = [
        Measured { units: Some("V"), ..measured(0, Some(1.0)) },
        measured(1, Some(2.0)),
        Measured { units: Some(""), ..measured(2, Some(3.0)) },
        Measured { units: Some("mV"), ..measured(3, Some(4.0)) },
        Measured { units: Some("mV"), ..measured(4, None) },
    ];
    let error = of(&all, open()).unwrap_err();
    assert!(error.message().contains("\"\" (2), \"V\" (1), \"mV\" (1)"), "{error:?}");
    let chosen = |units| {
        let values = of(&all, Series::new(Some(units), false, None)).unwrap();
        (values.numbers().collect::<Vec<_>>(), values.not_numbers)
    };
    assert_eq!(chosen("V"), (vec![1.0], 0));
    assert_eq!(chosen(""), (vec![2.0, 3.0], 0));
    assert_eq!(chosen("mV"), (vec![4.0], 1));
    assert_eq!(chosen("kV"), (vec![], 0));
    // Absent and empty are one unit.
    assert!(of(&all[1..3], open()).is_ok());
}

#[test]
fn several_paths_are_refused_unless_they_are_allowed() {
    let at = |time, path| Measured { path, ..measured(time, Some(1.0)) };
    let all =
        [at(0, "a\nVOUT"), at(1, "b\nVOUT"), at(2, "b\nVOUT"), at(3, "a\nVOUT"), at(4, "b\nVOUT")];
    let error = of(&all, open()).unwrap_err();
    let told = "2 different path: \"b\\nVOUT\" (3), \"a\\nVOUT\" (2)";
    assert!(error.message().contains(told), "{error:?}");
    assert_eq!(of(&all, Series::new(None, true, None)).unwrap().places.len(), 5);
    let names: Vec<String> = (0..30).map(|at| format!("p{at}")).collect();
    let many: Vec<_> =
        names.iter().map(|name| Measured { path: name, ..measured(0, Some(1.0)) }).collect();
    let error = of(&many, open()).unwrap_err();
    assert!(error.message().contains("of 30 different") && error.message().contains("and 10 more"));
}

#[test]
fn values_are_in_the_order_of_results_steps_and_positions() {
    let mut random = Random::new(7);
    for _ in 0..100 {
        let mut all: Vec<Measured<'_, u32>> = Vec::new();
        for time in 0..2 {
            for id in 0..2u8 {
                for step in 0..3 {
                    for position in 0..2 {
                        let at = Place { started_at_ms: time, result_id: [id; 16], step, position };
                        let number = f64::from(all.len() as u32);
                        let limits = Limits { low: Some(number), high: None };
                        all.push(Measured { limits, at, ..measured(0, Some(number)) });
                    }
                }
            }
        }
        let expected: Vec<f64> = (0..all.len()).map(|at| at as f64).collect();
        for at in (1..all.len()).rev() {
            all.swap(at, random.below(at as u64 + 1) as usize);
        }
        let values = of(&all, open()).unwrap();
        assert_eq!(values.numbers().collect::<Vec<_>>(), expected);
        assert_eq!(values.limits.low, Some(23.0));
        assert!(values.limits_vary);
    }
}

#[test]
fn limits_are_those_of_the_request_or_of_the_last_value() {
    let limits = |low, high| Limits { low, high };
    let with =
        |time, low, high| Measured { limits: limits(low, high), ..measured(time, Some(1.0)) };
    let same = [with(0, Some(1.0), None), with(1, Some(1.0), None)];
    let values = of(&same, open()).unwrap();
    assert_eq!((values.limits, values.limits_vary), (limits(Some(1.0), None), false));
    // One that is missing differs; what is no value does not count.
    let vary = [
        with(2, Some(1.0), Some(2.0)),
        with(1, Some(1.0), None),
        Measured { value: None, ..with(3, Some(9.0), None) },
    ];
    let values = of(&vary, open()).unwrap();
    assert_eq!((values.limits, values.limits_vary), (limits(Some(1.0), Some(2.0)), true));
    // Only the first one differs, or only one in the middle.
    let (one, none) = (|time| with(time, Some(1.0), None), |time| with(time, None, None));
    assert!(of(&[none(0), one(1), one(2)], open()).unwrap().limits_vary);
    assert!(of(&[one(0), none(1), one(2), one(3)], open()).unwrap().limits_vary);
    // One limit of the request replaces both.
    let asked = Limits::of_request(Some(0.5), None).unwrap();
    let values = of(&vary, Series::new(None, false, asked)).unwrap();
    assert_eq!((values.limits, values.limits_vary), (limits(Some(0.5), None), false));
    let none = of(&[], open()).unwrap();
    assert_eq!((none.limits, none.limits_vary), (Limits::default(), false));
}
