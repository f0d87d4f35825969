//! A record, read and checked before anything is written.

use std::collections::{BTreeMap, HashMap};

use stationdb::results::{CreateResultRequest, StatusType};
use stationdb::{Error, Result};

use super::json::{At, Json};
use super::phase::{of_phase, of_subtest, status, times};
use crate::results::ResultOptions;
use crate::results::step::{NewResult, NewStep};

/// The name of a test without one.
const PROGRAM: &str = "OpenHTF";
/// The members of records.
const OF_RECORDS: [&str; 12] = [
    "phases",
    "outcome",
    "outcome_details",
    "dut_id",
    "station_id",
    "start_time_millis",
    "end_time_millis",
    "metadata",
    "code_info",
    "subtests",
    "marginal",
    "log_records",
];
/// Metadata with a member of their own.
const MEMBERS: [&str; 3] = ["test_name", "operator_name", "part_number"];

/// What a record becomes.
#[derive(Clone, Debug)]
pub(super) struct Record {
    pub(super) result: NewResult,
    /// The name of the file with the record.
    pub(super) file_name: String,
}

/// Reads a record.
///
/// # Errors
/// `InvalidArgument` with the place of what cannot be read.
pub(super) fn read(bytes: &[u8], options: &ResultOptions) -> Result<Record> {
    let json: Json = serde_json::from_slice(bytes).map_err(|error| {
        Error::invalid(format!("reading an OpenHTF record: this is no JSON: {error}"))
            .with_source(error)
    })?;
    let record = At::root(&json);
    if let Json::Object(members) = &json
        && !members.is_empty()
        && !members.iter().any(|(member, _)| OF_RECORDS.contains(&member.as_str()))
    {
        return Err(Error::invalid(format!(
            "reading an OpenHTF record: this is JSON with none of the members {}, so it is no \
             record of OpenHTF; give a file that its output OutputToJSON wrote",
            OF_RECORDS.join(", ")
        )));
    }
    let request = result(&record, options)?;
    let dut = record.member("dut_id")?.and_then(|dut| dut.json.text());
    let start = record.integer("start_time_millis")?.unwrap_or_default();
    let parts = dut.into_iter().chain([start.to_string(), "openhtf.json".to_owned()]);
    let file_name = parts.collect::<Vec<_>>().join(".").replace(['/', '\\'], "_");
    Ok(Record { result: NewResult { request, steps: steps(&record)? }, file_name })
}

fn result(record: &At<'_>, options: &ResultOptions) -> Result<CreateResultRequest> {
    let text = |of: &At<'_>, name: &str| -> Result<Option<String>> {
        let text = of.member(name)?.and_then(|value| value.json.text());
        Ok(text.filter(|text| !text.trim().is_empty()))
    };
    let in_metadata = |name| match record.member("metadata")? {
        Some(metadata) => text(&metadata, name),
        None => Ok(None),
    };
    let code = match record.member("code_info")? {
        Some(code) => text(&code, "name")?,
        None => None,
    };
    let program = in_metadata("test_name")?.or(code).unwrap_or_else(|| PROGRAM.to_owned());
    let status = status(
        record,
        &[
            ("PASS", StatusType::Passed),
            ("FAIL", StatusType::Failed),
            ("ERROR", StatusType::Errored),
            ("TIMEOUT", StatusType::TimedOut),
            ("ABORTED", StatusType::Terminated),
        ],
    )?;
    let (started_at, total_time) = times(record)?;
    let mut properties = BTreeMap::new();
    if record.flag("marginal")? {
        properties.insert("marginal".to_owned(), "true".to_owned());
    }
    for (at, detail) in record.list("outcome_details")?.iter().enumerate() {
        let code = text(detail, "code")?.unwrap_or_default();
        let what = text(detail, "description")?.unwrap_or_default();
        properties.insert(format!("outcome_details.{at}"), format!("{code}: {what}"));
    }
    for (key, value) in record.object("metadata")? {
        let is_scalar = !matches!(value.json, Json::List(_) | Json::Object(_));
        if let Some(text) = value.json.text().filter(|_| is_scalar && !MEMBERS.contains(&key)) {
            properties.insert(format!("metadata.{key}"), text);
        }
    }
    let part_number = options
        .part_number
        .clone()
        .map_or_else(|| in_metadata("part_number"), |given| Ok(Some(given)))?;
    Ok(CreateResultRequest::new()
        .program_name(program)
        .status(status)
        .total_time_in_seconds(total_time)
        .properties(properties)
        .maybe_serial_number(text(record, "dut_id")?)
        .maybe_host_name(text(record, "station_id")?)
        .maybe_operator(in_metadata("operator_name")?)
        .maybe_part_number(part_number)
        .maybe_started_at(started_at))
}

/// Phases and subtests in the order of the record. A subtest is where its first phase is; one
/// without phases is last.
fn steps(record: &At<'_>) -> Result<Vec<NewStep>> {
    let mut subtests: Vec<Option<NewStep>> = Vec::new();
    // The first subtest of each name.
    let mut numbers: HashMap<&str, usize> = HashMap::new();
    for (number, subtest) in record.list("subtests")?.iter().enumerate() {
        let name = subtest.text("name")?.unwrap_or_default();
        numbers.entry(name).or_insert(number);
        subtests.push(Some(of_subtest(number, subtest)?));
    }
    // The place of each subtest among the top steps.
    let mut places: HashMap<&str, usize> = HashMap::new();
    let mut steps: Vec<NewStep> = Vec::new();
    for (number, phase) in record.list("phases")?.iter().enumerate() {
        let step = of_phase(number, phase)?;
        let Some(name) = phase.text("subtest_name")? else {
            steps.push(step);
            continue;
        };
        if !places.contains_key(name) {
            let subtest = numbers.get(name).and_then(|number| subtests.get_mut(*number));
            let Some(subtest) = subtest.and_then(Option::take) else {
                // The record has no subtest with the name.
                steps.push(step);
                continue;
            };
            places.insert(name, steps.len());
            steps.push(subtest);
        }
        let place = places.get(name).copied();
        if let Some(subtest) = place.and_then(|place| steps.get_mut(place)) {
            subtest.children.push(step);
        }
    }
    steps.extend(subtests.into_iter().flatten());
    Ok(steps)
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;

    /// A phase costs the same however many subtests there are.
    #[test]
    fn many_phases_and_subtests_are_read_quickly() {
        const MANY: usize = 60_000;
        let all = |member: &str, letter: char| {
            let one = |at: usize| format!("{{\"{member}\": \"{letter}{at}\"}}");
            (0..MANY).map(one).collect::<Vec<_>>().join(",")
        };
        let text = format!(
            "{{\"subtests\": [{}], \"phases\": [{}]}}",
            all("name", 's'),
            all("subtest_name", 'p')
        );
        let start = Instant::now();
        let record = read(text.as_bytes(), &ResultOptions::new()).unwrap();
        assert_eq!(record.result.steps.len(), 2 * MANY);
        assert!(start.elapsed() < Duration::from_secs(20), "{:?}", start.elapsed());
    }
}
