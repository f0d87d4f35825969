use std::sync::Arc;

use serde_json::json;

use super::check::*;
use crate::arrow::array::{Float64Array, Int32Array, RecordBatch, StringArray};
use crate::error::Error;
use crate::model::specifications::specification::Specification;

fn spec(value: serde_json::Value) -> Specification {
    serde_json::from_value(value).unwrap()
}

fn limits(min: Option<f64>, max: Option<f64>) -> Specification {
    spec(json!({"type": "PARAMETRIC", "limit": {"min": min, "max": max}}))
}

#[test]
fn limits_are_strict_and_violations_are_measured() {
    let both = limits(Some(1.0), Some(3.0));
    assert_eq!(both.check(1.5, &[]), Verdict::Inside { margin: 0.5 });
    assert_eq!(both.check(1.0, &[]), Verdict::Outside { limit: LimitSide::Min, by: 0.0 });
    assert_eq!(both.check(3.0, &[]), Verdict::Outside { limit: LimitSide::Max, by: 0.0 });
    assert_eq!(both.check(0.5, &[]), Verdict::Outside { limit: LimitSide::Min, by: 0.5 });
    assert_eq!(
        both.check(f64::INFINITY, &[]),
        Verdict::Outside { limit: LimitSide::Max, by: f64::INFINITY }
    );
    assert_eq!(both.check(f64::NAN, &[]), Verdict::NotMeasured);
    assert_eq!(limits(None, Some(3.0)).check(-1e300, &[]), Verdict::Inside { margin: 1e300 });
    assert_eq!(limits(Some(3.0), None).check(4.0, &[]), Verdict::Inside { margin: 1.0 });
    assert_eq!(limits(None, None).check(4.0, &[]), Verdict::Inside { margin: f64::INFINITY });
    // With min above max both limits are violated: the greater violation is reported.
    assert_eq!(
        limits(Some(3.0), Some(1.0)).check(2.5, &[]),
        Verdict::Outside { limit: LimitSide::Max, by: 1.5 }
    );
    assert_eq!(spec(json!({"type": "FUNCTIONAL"})).check(1.0, &[]), Verdict::NotApplicable);
    assert!(spec(json!({"type": "FUNCTIONAL", "limit": {"max": 2}})).check(1.0, &[]).is_inside());
}

#[test]
fn conditions_decide_whether_a_value_is_judged() {
    let gain = spec(json!({"type": "PARAMETRIC", "limit": {"min": 0}, "conditions": [
        {"name": "T", "value": {"range": [{"min": 0, "max": 10, "step": 5}, {"min": 20}], "discrete": [15, null]}},
        {"name": "Mode", "value": {"discrete": ["fast", "slow"]}},
        {"name": "Any", "value": {"unit": "V"}},
    ]}));
    let check = |t: f64, mode: &str| {
        gain.check(1.0, &[("T", t.into()), ("Mode", mode.into()), ("Any", 7.0.into())])
    };
    for (t, mode, applies) in [
        (0.0, "fast", true),
        (3.0, "slow", true),
        (10.0, "fast", true),
        (10.1, "fast", false),
        (15.0, "fast", true),
        (1e9, "fast", true),
        (f64::NAN, "fast", false),
        (5.0, "Fast", false),
    ] {
        assert_eq!(check(t, mode).is_inside(), applies, "{t} {mode}");
    }
    assert_eq!(gain.check(1.0, &[("T", 5.0.into()), ("Any", 7.0.into())]), Verdict::NotApplicable);
    assert_eq!(
        gain.check(1.0, &[("T", "5".into()), ("Mode", "fast".into()), ("Any", 7.0.into())]),
        Verdict::NotApplicable
    );
}

fn batch(gain: Vec<Option<f64>>, t: Vec<i32>, mode: Vec<Option<&str>>) -> RecordBatch {
    RecordBatch::try_from_iter([
        ("gain", Arc::new(Float64Array::from(gain)) as _),
        ("t", Arc::new(Int32Array::from(t)) as _),
        ("mode", Arc::new(StringArray::from(mode)) as _),
    ])
    .unwrap()
}

#[test]
fn a_stream_of_batches_is_summed_up() {
    let gain = spec(json!({"type": "PARAMETRIC", "limit": {"min": 1, "max": 3}, "conditions": [
        {"name": "T", "value": {"range": [{"min": 0, "max": 10}]}},
        {"name": "Mode", "value": {"discrete": ["fast"]}},
    ]}));
    let batches = || {
        [
            batch(vec![Some(2.0), None, Some(1.5)], vec![0, 1, 2], vec![Some("fast"); 3]),
            batch(vec![], vec![], vec![]),
            batch(
                vec![Some(3.5), Some(9.0), Some(9.0), Some(f64::NAN), Some(0.5)],
                vec![3, 11, 4, 5, 6],
                vec![Some("fast"), Some("fast"), None, Some("fast"), Some("fast")],
            ),
        ]
        .map(Ok)
    };
    let columns = [("T", "t"), ("Mode", "mode")];
    let summary = gain.check_column(batches(), "gain", &columns).unwrap();
    assert_eq!(
        summary,
        CheckSummary {
            row_count: 8,
            inside_count: 2,
            outside_count: 2,
            not_measured_count: 2,
            not_applicable_count: 2,
            worst: Some(WorstRow {
                row: 3,
                value: 3.5,
                verdict: Verdict::Outside { limit: LimitSide::Max, by: 0.5 }
            }),
        }
    );
    assert_eq!(summary.yield_fraction(), Some(0.5));
    let unknown = gain.check_column(batches(), "gain", &columns[..1]).unwrap();
    assert_eq!((unknown.not_applicable_count, unknown.yield_fraction()), (8, None));
    for (column, columns) in
        [("none", columns), ("mode", columns), ("gain", [("T", "mode"), ("Mode", "mode")])]
    {
        assert!(gain.check_column(batches(), column, &columns).is_err(), "{column}");
    }
    let failed = gain.check_column([Err(Error::corrupt("x"))], "gain", &columns).unwrap_err();
    assert_eq!(failed.kind(), crate::ErrorKind::Corrupt);
}

#[test]
fn without_a_violation_the_worst_row_is_the_one_nearest_to_a_limit() {
    let gain = limits(Some(1.0), Some(3.0));
    let batch = batch(vec![Some(2.0), Some(1.25), Some(2.75)], vec![0; 3], vec![None; 3]);
    let summary = gain.check_column([Ok(batch)], "gain", &[]).unwrap();
    assert_eq!(summary.worst.unwrap().row, 1);
    assert_eq!(summary.yield_fraction(), Some(1.0));
}
