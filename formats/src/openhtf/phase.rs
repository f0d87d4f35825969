//! Phases and subtests as steps.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use stationdb::Result;
use stationdb::chrono::{DateTime, Utc};
use stationdb::results::{CreateStepRequest, StatusType};

use super::json::{At, Json};
use super::measurement::parameter;
use super::sha1::sha1;
use crate::results::step::{Attachment, NewStep};
use crate::results::text::hex;

const DATA_MODEL: &str = "OpenHTF";

/// The step of a phase.
///
/// # Errors
/// `InvalidArgument` at what is no phase.
pub(super) fn of_phase(number: usize, phase: &At<'_>) -> Result<NewStep> {
    let name = phase.text("name")?.unwrap_or_default();
    let result = phase.member("result")?;
    let returned = result.as_ref().map(|result| result.member("phase_result")).transpose()?;
    // A phase that was stopped by its time limit returned nothing.
    let has_timed_out = returned.as_ref().is_some_and(Option::is_none);
    let exception = returned.flatten().filter(|returned| matches!(returned.json, Json::Object(_)));
    let text = exception.map(|exception| exception_text(&exception)).transpose()?;
    let status = status(
        phase,
        &[
            ("PASS", StatusType::Passed),
            ("FAIL", StatusType::Failed),
            ("SKIP", StatusType::Skipped),
            ("ERROR", if has_timed_out { StatusType::TimedOut } else { StatusType::Errored }),
        ],
    )?;
    let parameters = phase.object("measurements")?;
    let parameters = parameters.iter().map(|(key, measurement)| {
        parameter(name, measurement.text("name")?.unwrap_or(key), measurement)
    });
    let attachments = phase.object("attachments")?;
    let attachments = attachments.iter().map(|(name, attachment)| attached(name, attachment));
    Ok(NewStep {
        request: request(phase, status)?
            .step_id(format!("phase-{number}"))
            .name(name)
            .step_type("Phase"),
        text,
        parameters: parameters.collect::<Result<_>>()?,
        attachments: attachments.collect::<Result<_>>()?,
        ..NewStep::default()
    })
}

/// The step of a subtest.
///
/// # Errors
/// `InvalidArgument` at what is no subtest.
pub(super) fn of_subtest(number: usize, subtest: &At<'_>) -> Result<NewStep> {
    let status = status(
        subtest,
        &[
            ("PASS", StatusType::Passed),
            ("FAIL", StatusType::Failed),
            ("STOP", StatusType::Terminated),
        ],
    )?;
    let request = request(subtest, status)?
        .step_id(format!("subtest-{number}"))
        .name(subtest.text("name")?.unwrap_or_default())
        .step_type("Subtest");
    Ok(NewStep { request, ..NewStep::default() })
}

/// A file that a phase attached.
fn attached(name: &str, attachment: &At<'_>) -> Result<Attachment> {
    let sha1_text = attachment.text("sha1")?.map(str::to_ascii_lowercase);
    let content = match attachment.member("data")? {
        Some(data) => {
            let content = STANDARD
                .decode(data.as_text()?)
                .map_err(|error| data.error(format_args!("this is no base64: {error}")))?;
            let found = hex(&sha1(&content));
            if let Some(told) = sha1_text.as_ref().filter(|told| **told != found) {
                let what = format!(
                    "the attachment has the SHA-1 {found} and not {told}: it was damaged, so \
                     import the record from where it was written"
                );
                return Err(data.error(what));
            }
            Some(content)
        }
        None => None,
    };
    let mime_type = attachment.text("mimetype")?.map(str::to_owned);
    Ok(Attachment { name: name.to_owned(), mime_type, sha1: sha1_text, content })
}

fn request(of: &At<'_>, status: StatusType) -> Result<CreateStepRequest> {
    let (started_at, total_time) = times(of)?;
    let mut request = CreateStepRequest::new()
        .status(status)
        .data_model(DATA_MODEL)
        .total_time_in_seconds(total_time)
        .maybe_started_at(started_at);
    if of.flag("marginal")? {
        request = request.properties([("marginal", "true")]);
    }
    Ok(request)
}

/// Start and duration in seconds.
pub(super) fn times(of: &At<'_>) -> Result<(Option<DateTime<Utc>>, f64)> {
    let start = of.integer("start_time_millis")?;
    let end = of.integer("end_time_millis")?;
    // A subtest or phase that never began has 0.
    let started_at = match start.filter(|start| *start != 0) {
        Some(start) => Some(DateTime::from_timestamp_millis(start).ok_or_else(|| {
            of.error(format_args!("start_time_millis: {start} is no time that can be stored"))
        })?),
        None => None,
    };
    let total = start.zip(end).map_or(0, |(start, end)| end.saturating_sub(start)).max(0);
    #[expect(clippy::cast_precision_loss, reason = "the service takes a double")]
    Ok((started_at, total as f64 / 1000.0))
}

/// The status of an outcome; one that is not there yet is RUNNING.
pub(super) fn status(of: &At<'_>, known: &[(&str, StatusType)]) -> Result<StatusType> {
    let Some(outcome) = of.member("outcome")? else { return Ok(StatusType::Running) };
    let text = outcome.as_text()?;
    known.iter().find(|(name, _)| *name == text).map(|(_, status)| *status).ok_or_else(|| {
        let names: Vec<&str> = known.iter().map(|(name, _)| *name).collect();
        outcome.error(format_args!("{text:?} is not one of {}", names.join(", ")))
    })
}

/// Type and message of an exception.
fn exception_text(exception: &At<'_>) -> Result<String> {
    let part = |name: &str| -> Result<Option<String>> {
        Ok(exception.member(name)?.and_then(|part| part.json.text()))
    };
    let class = part("exc_type")?.unwrap_or_default();
    let class =
        class.strip_prefix("<class '").and_then(|class| class.strip_suffix("'>")).unwrap_or(&class);
    Ok(match part("exc_val")?.filter(|message| !message.is_empty()) {
        Some(message) => format!("{class}: {message}"),
        None => class.to_owned(),
    })
}
