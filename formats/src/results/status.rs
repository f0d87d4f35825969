//! Statuses from the texts of sequencers and of IEEE 1636.1.

use stationdb::results::{Status, StatusType};

fn custom(name: &str) -> Status {
    Status::new(StatusType::Custom).status_name(name)
}

/// The status of a text of a sequencer; any other text is `CUSTOM` with that name. `None` for a
/// blank text.
pub(crate) fn sequencer_status(text: &str) -> Option<Status> {
    let text = text.trim();
    let known = [
        ("passed", StatusType::Passed),
        ("pass", StatusType::Passed),
        ("failed", StatusType::Failed),
        ("fail", StatusType::Failed),
        ("done", StatusType::Done),
        ("error", StatusType::Errored),
        ("errored", StatusType::Errored),
        ("skipped", StatusType::Skipped),
        ("terminated", StatusType::Terminated),
        ("running", StatusType::Running),
        ("looping", StatusType::Looping),
        ("waiting", StatusType::Waiting),
        ("timed out", StatusType::TimedOut),
        ("timedout", StatusType::TimedOut),
        ("timed_out", StatusType::TimedOut),
    ];
    let found = known.iter().find(|(name, _)| text.eq_ignore_ascii_case(name));
    match found {
        Some((_, status_type)) => Some((*status_type).into()),
        None if text.is_empty() => None,
        None => Some(custom(text)),
    }
}

/// The status of an outcome of IEEE 1636.1. The qualifier comes first where it is a status, because
/// the values of the standard are fewer than those of sequencers.
pub(crate) fn outcome_status(value: &str, qualifier: Option<&str>) -> Status {
    let by_qualifier = qualifier.and_then(sequencer_status);
    match by_qualifier {
        Some(status) if status.status_type != StatusType::Custom => return status,
        Some(status) if value.eq_ignore_ascii_case("UserDefined") => return status,
        _ => {}
    }
    match value.trim() {
        "Aborted" => StatusType::Terminated.into(),
        "NotStarted" => StatusType::Skipped.into(),
        other => sequencer_status(other).unwrap_or_else(|| custom("no outcome")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_of_sequencers() {
        for (text, expected) in [
            ("Passed", StatusType::Passed),
            (" failed ", StatusType::Failed),
            ("Done", StatusType::Done),
            ("Error", StatusType::Errored),
            ("Skipped", StatusType::Skipped),
            ("Terminated", StatusType::Terminated),
            ("Running", StatusType::Running),
            ("Looping", StatusType::Looping),
            ("Timed Out", StatusType::TimedOut),
        ] {
            assert_eq!(sequencer_status(text), Some(expected.into()), "{text}");
        }
        assert_eq!(sequencer_status("Aborted"), Some(custom("Aborted")));
        assert_eq!(sequencer_status(" "), None);
    }

    #[test]
    fn outcomes() {
        for (value, qualifier, expected) in [
            ("Passed", None, StatusType::Passed.into()),
            ("Failed", None, StatusType::Failed.into()),
            ("Done", None, StatusType::Done.into()),
            ("Aborted", None, StatusType::Terminated.into()),
            ("Aborted", Some("Error"), StatusType::Errored.into()),
            ("Aborted", Some("Terminated"), StatusType::Terminated.into()),
            ("NotStarted", None, StatusType::Skipped.into()),
            ("NotStarted", Some("Skipped"), StatusType::Skipped.into()),
            ("UserDefined", Some("Error"), StatusType::Errored.into()),
            ("UserDefined", Some("Marginal"), custom("Marginal")),
            ("UserDefined", None, custom("UserDefined")),
            ("Passed", Some("Goodish"), StatusType::Passed.into()),
            ("Inconclusive", None, custom("Inconclusive")),
            ("", None, custom("no outcome")),
        ] {
            assert_eq!(outcome_status(value, qualifier), expected, "{value} {qualifier:?}");
        }
    }
}
