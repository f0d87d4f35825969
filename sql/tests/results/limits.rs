//! The limits of aggregates are those that figures use: a comparison says which of the limits beside
//! it are limits.

use serde_json::json;
use stationdb::prelude::*;
use stationdb::results::*;
use stationdb_sql::context;

use crate::common::{ada, ask, create, settle};
use crate::{at, control, near, number, open, shown};

const VALUES: [f64; 6] = [1.5, 2.25, 1.75, 2.5, 2.0, 1.25];

/// The comparisons, and which limit they have: the lower and the upper one.
const COMPARISONS: [(Option<&str>, bool, bool); 18] = [
    (Some("GELE"), true, true),
    (Some("GTLT"), true, true),
    (Some("GELT"), true, true),
    (Some("GTLE"), true, true),
    (Some("EQT"), true, true),
    (Some("GE"), true, false),
    (Some("GT"), true, false),
    (Some("LE"), false, true),
    (Some("LT"), false, true),
    (Some("EQ"), false, false),
    (Some("NE"), false, false),
    (Some("LTGT"), false, false),
    (Some("LEGE"), false, false),
    (Some("LEGT"), false, false),
    (Some("LTGE"), false, false),
    (Some("LOG"), false, false),
    (Some("other"), true, true),
    (None, true, true),
];

const LIMITS: [(Option<&str>, Option<&str>); 7] = [
    (Some("0.5"), Some("4")),
    (Some("3.5"), None),
    (None, Some("3.5")),
    (None, None),
    (Some("0.5"), Some("NaN")),
    (Some("none"), Some("4")),
    (None, Some("none")),
];

#[tokio::test(flavor = "multi_thread")]
async fn aggregates_of_spec_limits_are_the_figures_of_each_comparison() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(directory.path());
    let session = ada(&store);
    let name = |comparison: usize, limits: usize| format!("M{comparison}-{limits}");
    for (second, value) in (0..).zip(VALUES) {
        let mut parameters = Vec::new();
        for (of, (comparison, ..)) in COMPARISONS.iter().enumerate() {
            for (among, (low, high)) in LIMITS.iter().enumerate() {
                parameters.push(json!({"name": name(of, among), "measurement": value.to_string(),
                    "comparisonType": comparison, "lowLimit": low, "highLimit": high}));
            }
        }
        let result = json!({"programName": "P", "status": {"statusType": "PASSED"},
            "startedAt": at(second)});
        let step =
            json!({"name": "s", "startedAt": at(second), "data": {"parameters": parameters}});
        create(&session, result, vec![step]);
    }
    for _ in 0..2 {
        let sql = context(&session).unwrap();
        let (mut ratios, mut nulls) = (0, 0);
        for (of, (comparison, has_low, has_high)) in COMPARISONS.iter().enumerate() {
            for (among, (low, high)) in LIMITS.iter().enumerate() {
                let name = name(of, among);
                let what = format!("{comparison:?} {low:?} {high:?}");
                let request = CapabilityRequest::new(name.clone());
                let figures = session.capability(request, &control()).unwrap();
                assert_eq!(figures.n, 6, "{what}");
                for (call, expected) in [
                    ("pp(value, lower_spec_limit, upper_spec_limit)", figures.pp),
                    ("ppk(value, lower_spec_limit, upper_spec_limit)", figures.ppk),
                    (
                        "cp(value, lower_spec_limit, upper_spec_limit order by started_at)",
                        figures.cp,
                    ),
                    (
                        "cpk(value, lower_spec_limit, upper_spec_limit order by started_at)",
                        figures.cpk,
                    ),
                ] {
                    let statement =
                        format!("select {call} from measurements where name = '{name}'");
                    near(number(&sql, &statement).await, expected, &format!("{what}: {call}"));
                    ratios += usize::from(expected.is_some());
                    nulls += usize::from(expected.is_none());
                }
                // By the table of the definitions.
                let number = |text: &Option<&str>| text.and_then(|text| text.parse::<f64>().ok());
                let number = |text: &Option<&str>| number(text).filter(|limit| !limit.is_nan());
                let is_alone = !has_low && *has_high;
                let upper = if is_alone && high.is_none() { low } else { high };
                let limits = [
                    Some(low).filter(|_| *has_low).and_then(number),
                    Some(upper).filter(|_| *has_high).and_then(number),
                ];
                assert_eq!(
                    (figures.low_limit, figures.high_limit),
                    (limits[0], limits[1]),
                    "{what}"
                );
                let columns = format!(
                    "select distinct lower_spec_limit, upper_spec_limit from measurements \
                     where name = '{name}'"
                );
                let expected = shown(&limits).join(" | ");
                assert_eq!(ask(&sql, &columns).await.unwrap(), [expected], "{what}");
            }
        }
        assert!(ratios > 100 && nulls > 100, "{ratios} {nulls}");
        // A limit is a column as others are.
        let some = "select count(*) from measurements where upper_spec_limit is not null \
            and comparison_type = 'LE'";
        // Of each value, those with a limit that is a number.
        assert_eq!(ask(&sql, some).await.unwrap(), [(4 * VALUES.len()).to_string()]);
        settle(&store);
    }
}
