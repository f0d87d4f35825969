//! Validation of records as they would be stored, and the parsing of states.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};

use crate::error::{Error, Result};
use crate::model::{ExecutionDefinition, State};

/// The error about a member of a request.
pub(crate) fn invalid(member: &str, reason: &str) -> Error {
    Error::invalid(format!("{member} {reason}"))
        .with_name("Skyline.WorkOrder.InputValidationError", None)
        .with_args([member, reason])
        .at_member(member)
}

/// Parses a state: any letter case, with or without `_`, `-` and spaces.
pub(crate) fn state(text: &str) -> Result<State> {
    text.parse().map_err(|error: Error| invalid("state", error.message()))
}

/// Rejects a negative duration.
pub(crate) fn not_negative(member: &str, seconds: Option<i64>) -> Result<()> {
    match seconds {
        Some(seconds) if seconds < 0 => {
            Err(invalid(member, &format!("is {seconds}; a duration cannot be negative")))
        }
        _ => Ok(()),
    }
}

/// Rejects an end before its start; either may be absent.
pub(crate) fn in_order<T: Into<DateTime<Utc>>>(
    start: (&str, Option<T>),
    end: (&str, Option<T>),
) -> Result<()> {
    match (start.1.map(T::into), end.1.map(T::into)) {
        (Some(from), Some(to)) if to < from => {
            Err(invalid(end.0, &format!("is before {}", start.0)))
        }
        _ => Ok(()),
    }
}

/// Rejects a required text that is absent or blank. The text itself is never trimmed.
pub(crate) fn required(member: &str, text: Option<&String>) -> Result<()> {
    match text {
        Some(text) if !text.trim().is_empty() => Ok(()),
        Some(_) => Err(invalid(member, "must not be blank")),
        None => Err(invalid(member, "is required")),
    }
}

/// Rejects a property without a key.
pub(crate) fn property_keys(properties: Option<&BTreeMap<String, String>>) -> Result<()> {
    if properties.is_some_and(|properties| properties.contains_key("")) {
        Err(invalid("properties", "need keys that are not empty"))
    } else {
        Ok(())
    }
}

/// Rejects actions without a name, two actions of one name, and definitions with nothing to run.
pub(crate) fn actions(definitions: Option<&Vec<ExecutionDefinition>>) -> Result<()> {
    let mut names = std::collections::HashSet::new();
    for (position, definition) in definitions.into_iter().flatten().enumerate() {
        let member = |name: &str| format!("executionActions[{position}].{name}");
        required(&member("action"), Some(&definition.action().to_owned()))?;
        if !names.insert(definition.action()) {
            return Err(invalid(
                &member("action"),
                &format!("{:?} is defined twice", definition.action()),
            ));
        }
        match definition {
            ExecutionDefinition::Notebook(notebook) => {
                required(&member("notebookId"), Some(&notebook.notebook_id))?;
            }
            ExecutionDefinition::Job(job) => {
                for (at, job) in job.jobs.iter().flatten().enumerate() {
                    if job.functions.is_empty() {
                        return Err(invalid(
                            &member(&format!("jobs[{at}].functions")),
                            "is required",
                        ));
                    }
                    if job.functions.len() != job.arguments.len() {
                        return Err(invalid(
                            &member(&format!("jobs[{at}].arguments")),
                            &format!(
                                "has {} lists for {} functions",
                                job.arguments.len(),
                                job.functions.len()
                            ),
                        ));
                    }
                }
            }
            ExecutionDefinition::Manual(_) | ExecutionDefinition::None(_) => {}
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorKind;
    use crate::value::time;

    #[test]
    fn states_are_read_in_every_spelling_and_unknown_ones_are_refused_by_member() {
        for text in ["IN_PROGRESS", "InProgress", "in progress", "in-progress", "INPROGRESS"] {
            assert_eq!(state(text).unwrap(), State::InProgress);
        }
        let error = state("DONE").unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument);
        assert_eq!(error.args()[0], "state");
        assert_eq!(
            error.api_error().name.as_deref(),
            Some("Skyline.WorkOrder.InputValidationError")
        );
    }

    #[test]
    fn durations_and_orders() {
        assert!(not_negative("d", Some(0)).is_ok() && not_negative("d", None).is_ok());
        assert!(not_negative("d", Some(-1)).is_err());
        let at = |ms| Some(time::from_millis(ms));
        let local = |ms| Some(crate::value::PlannedTime::without_offset(time::from_millis(ms)));
        assert!(in_order(("a", at(1).map(Into::into)), ("b", local(1))).is_ok());
        assert!(in_order(("a", local(1)), ("b", at(1).map(Into::into))).is_ok());
        assert!(in_order(("a", at(1)), ("b", at(1))).is_ok());
        assert!(in_order(("a", at(2)), ("b", at(1))).is_err());
        assert!(in_order(("a", None), ("b", at(1))).is_ok());
    }

    #[test]
    fn actions_need_names_that_differ_and_something_to_run() {
        let check = |text: &str| actions(Some(&serde_json::from_str(text).unwrap()));
        assert!(check(r#"[{"type":"MANUAL","action":"A"},{"type":"NONE","action":"a"}]"#).is_ok());
        for bad in [
            r#"[{"type":"MANUAL","action":"A"},{"type":"NONE","action":"A"}]"#,
            r#"[{"type":"MANUAL","action":" "}]"#,
            r#"[{"type":"MANUAL"}]"#,
            r#"[{"type":"NOTEBOOK","action":"A"}]"#,
            r#"[{"type":"JOB","action":"A","jobs":[{"functions":[],"arguments":[]}]}]"#,
            r#"[{"type":"JOB","action":"A","jobs":[{"functions":["f"],"arguments":[]}]}]"#,
        ] {
            assert_eq!(check(bad).unwrap_err().kind(), ErrorKind::InvalidArgument, "{bad}");
        }
    }
}
