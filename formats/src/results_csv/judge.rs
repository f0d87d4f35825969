//! Statuses of rows: those that the text has, and otherwise what the limits say.

use stationdb::results::{Status, StatusType};

use crate::results::sequencer_status;

/// The status of a text.
pub(super) fn status(text: &str) -> Option<Status> {
    let text = text.trim();
    let known = [
        (["ok", "good", "p", "true", "1"], StatusType::Passed),
        (["nok", "bad", "f", "false", "0"], StatusType::Failed),
        (["ng", "not ok", "reject", "rejected", "failure"], StatusType::Failed),
        (["io", "i.o.", "in ordnung", "gut", "success"], StatusType::Passed),
        (["nio", "n.i.o.", "nicht in ordnung", "schlecht", "unsuccessful"], StatusType::Failed),
    ];
    let found =
        known.iter().find(|(names, _)| names.iter().any(|name| text.eq_ignore_ascii_case(name)));
    found.map(|(_, status)| (*status).into()).or_else(|| sequencer_status(text))
}

/// Whether a value is within its limits; `None` if nothing says so. Without a comparison both
/// limits are inclusive.
pub(super) fn judge(
    value: f64,
    comparison: &str,
    low: Option<f64>,
    high: Option<f64>,
) -> Option<bool> {
    let (from, to) = (low, high);
    let is = |side: Option<f64>, holds: fn(f64, f64) -> bool| side.map(|limit| holds(value, limit));
    let all = |one: Option<bool>, other: Option<bool>| match (one, other) {
        (Some(one), Some(other)) => Some(one && other),
        (one, other) => one.or(other),
    };
    let any = |one: Option<bool>, other: Option<bool>| Some(one? || other?);
    let (ge, gt): (fn(f64, f64) -> bool, fn(f64, f64) -> bool) = (|a, b| a >= b, |a, b| a > b);
    let (le, lt): (fn(f64, f64) -> bool, fn(f64, f64) -> bool) = (|a, b| a <= b, |a, b| a < b);
    match comparison {
        "" | "GELE" | "EQT" => all(is(from, ge), is(to, le)),
        "GTLT" => all(is(from, gt), is(to, lt)),
        "GELT" => all(is(from, ge), is(to, lt)),
        "GTLE" => all(is(from, gt), is(to, le)),
        "GE" => is(from, ge),
        "GT" => is(from, gt),
        "LE" => is(to, le),
        "LT" => is(to, lt),
        "EQ" => is(from, |a, b| a == b),
        "NE" => is(from, |a, b| a != b),
        "LTGT" => any(is(from, lt), is(to, gt)),
        "LEGE" => any(is(from, le), is(to, ge)),
        "LEGT" => any(is(from, le), is(to, gt)),
        "LTGE" => any(is(from, lt), is(to, ge)),
        _ => None,
    }
}

/// The status of what has these parts: that of the most severe one that has a verdict, else DONE.
pub(super) fn of_parts<'s>(parts: impl Iterator<Item = Option<&'s Status>>) -> Status {
    let types = parts.flatten().map(|status| status.status_type);
    let verdicts = types.filter(|one| {
        !matches!(
            one,
            StatusType::Custom | StatusType::Done | StatusType::Skipped | StatusType::Looping
        )
    });
    let severity = |one: &StatusType| match one {
        StatusType::Errored | StatusType::TimedOut => 4,
        StatusType::Terminated => 3,
        StatusType::Failed => 2,
        _ => 1,
    };
    verdicts.max_by_key(severity).unwrap_or(StatusType::Done).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_comparison_at_its_limits() {
        // Below, at the low limit, between, at the high limit, above.
        for (comparison, expected) in [
            ("", "FPPPF"),
            ("GELE", "FPPPF"),
            ("EQT", "FPPPF"),
            ("GTLT", "FFPFF"),
            ("GELT", "FPPFF"),
            ("GTLE", "FFPPF"),
            ("GE", "FPPPP"),
            ("GT", "FFPPP"),
            ("LE", "PPPPF"),
            ("LT", "PPPFF"),
            ("EQ", "FPFFF"),
            ("NE", "PFPPP"),
            ("LTGT", "PFFFP"),
            ("LEGE", "PPFPP"),
            ("LEGT", "PPFFP"),
            ("LTGE", "PFFPP"),
            ("LOG", "-----"),
        ] {
            let found: String = [0.0, 1.0, 1.5, 2.0, 3.0]
                .iter()
                .map(|value| match judge(*value, comparison, Some(1.0), Some(2.0)) {
                    Some(true) => 'P',
                    Some(false) => 'F',
                    None => '-',
                })
                .collect();
            assert_eq!(found, expected, "{comparison}");
        }
        assert_eq!(judge(1.0, "", None, None), None);
        assert_eq!(judge(1.0, "", None, Some(1.0)), Some(true));
        assert_eq!(judge(1.0, "LTGT", None, Some(1.0)), None);
        assert_eq!(judge(f64::NAN, "GELE", Some(1.0), Some(2.0)), Some(false));
    }

    #[test]
    fn statuses() {
        for (text, expected) in [
            ("OK", StatusType::Passed),
            (" pass ", StatusType::Passed),
            ("P", StatusType::Passed),
            ("NOK", StatusType::Failed),
            ("ng", StatusType::Failed),
            ("i.O.", StatusType::Passed),
            ("n.i.O.", StatusType::Failed),
            ("FAIL", StatusType::Failed),
            ("0", StatusType::Failed),
            ("Error", StatusType::Errored),
            ("odd", StatusType::Custom),
        ] {
            assert_eq!(status(text).map(|status| status.status_type), Some(expected), "{text}");
        }
        assert_eq!(status(" "), None);
        let whole = |types: &[StatusType]| {
            let all: Vec<Status> = types.iter().map(|one| (*one).into()).collect();
            of_parts(all.iter().map(Some)).status_type
        };
        assert_eq!(whole(&[]), StatusType::Done);
        assert_eq!(whole(&[StatusType::Done, StatusType::Passed]), StatusType::Passed);
        assert_eq!(whole(&[StatusType::Failed, StatusType::Passed]), StatusType::Failed);
        assert_eq!(whole(&[StatusType::Errored, StatusType::Failed]), StatusType::Errored);
        assert_eq!(whole(&[StatusType::Skipped]), StatusType::Done);
    }
}
