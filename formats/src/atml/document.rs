//! Documents as results.

use std::collections::BTreeMap;

use stationdb::results::{CreateResultRequest, StatusType};
use stationdb::{Error, Result};

use super::step::{Steps, duration};
use crate::results::step::NewResult;
use crate::results::{Clock, ResultOptions, Told, file, outcome_status};
use crate::xml::{self, Element};

/// The name of a test without one.
const PROGRAM: &str = "ATML";
/// What the namespaces of the standard begin with.
const STANDARD: &str = "urn:IEEE-1636.1:";
/// The editions that are read.
const EDITIONS: [&str; 3] = ["2011", "2013", "2018"];
/// Attributes of a set of results that are members of the result.
const MEMBERS: [&str; 3] = ["name", "startDateTime", "endDateTime"];

/// The results of a document, which is one `TestResults` or a `TestResultsCollection`.
///
/// # Errors
/// `InvalidArgument` with the line of what cannot be read; `Unsupported` for another edition; the
/// errors of reading XML.
pub(super) fn read(bytes: &[u8], options: &ResultOptions) -> Result<(Vec<NewResult>, Told)> {
    let clock = Clock::new(options.time_zone.as_deref())?;
    let document = xml::read(bytes).map_err(|error| error.context("reading an ATML document"))?;
    let root = document.root();
    let refuse = |error: Error| Err(root.wrong(error.context("reading an ATML document")));
    let Some(edition) = document.namespace().strip_prefix(STANDARD) else {
        return refuse(Error::invalid(format!(
            "the outermost element {:?} has the namespace {:?} and not one of {STANDARD}*; give \
             test results of IEEE 1636.1",
            root.name(),
            document.namespace()
        )));
    };
    let edition = edition.split(':').next().unwrap_or_default();
    if !EDITIONS.contains(&edition) {
        return refuse(Error::unsupported(format!(
            "the edition {edition:?} of IEEE 1636.1 is not read; those of {} are",
            EDITIONS.join(", ")
        )));
    }
    let mut told = Told::default();
    let mut results = Vec::new();
    match root.name() {
        "TestResults" => results_of(root, edition, options, &clock, &mut told, &mut results)?,
        "TestResultsCollection" => {
            for child in root.children() {
                if child.name() == "TestResults" {
                    results_of(child, edition, options, &clock, &mut told, &mut results)?;
                } else {
                    let what =
                        format!("the element {:?} of the collection is not read", child.name());
                    told.note(child.line(), what);
                }
            }
        }
        other => {
            return refuse(Error::invalid(format!(
                "the outermost element is {other:?} and not TestResults or TestResultsCollection"
            )));
        }
    }
    if results.is_empty() {
        return refuse(Error::invalid("there is no ResultSet"));
    }
    Ok((results, told))
}

/// Adds the results of one `TestResults`: one for each set of results.
fn results_of(
    test: Element<'_>,
    edition: &str,
    options: &ResultOptions,
    clock: &Clock,
    told: &mut Told,
    results: &mut Vec<NewResult>,
) -> Result<()> {
    let mut common = Common::new(test, edition, told);
    common.part_number = options.part_number.clone().or(common.part_number);
    for set in test.children().filter(|child| child.name() == "ResultSet") {
        let mut steps = Steps { told: &mut *told, clock, count: 0 };
        results.push(result(set, &common, &mut steps)?);
    }
    Ok(())
}

/// What all sets of results of one `TestResults` share.
#[derive(Debug, Default)]
struct Common {
    serial_number: Option<String>,
    part_number: Option<String>,
    operator: Option<String>,
    host_name: Option<String>,
    program: Option<String>,
    properties: BTreeMap<String, String>,
}

impl Common {
    fn new(test: Element<'_>, edition: &str, told: &mut Told) -> Self {
        let clock = Clock::default();
        let mut steps = Steps { told, clock: &clock, count: 0 };
        let mut found = Self::default();
        let properties = &mut found.properties;
        properties.insert("atml.edition".to_owned(), edition.to_owned());
        for (name, value) in test.attributes() {
            let is_notation = name.starts_with("xmlns") || name == "schemaLocation";
            if !is_notation && !value.trim().is_empty() {
                properties.insert(name.to_owned(), value.to_owned());
            }
        }
        let text = |element: Option<Element<'_>>| {
            element.map(|element| element.text().trim().to_owned()).filter(|text| !text.is_empty())
        };
        for child in test.children() {
            match child.name() {
                "ResultSet" => continue,
                "UUT" => {
                    found.serial_number = text(child.child("SerialNumber"));
                    found.part_number = part_number(child);
                }
                "TestStation" => found.host_name = text(child.child("SerialNumber")),
                "Personnel" => {
                    let operator = child.child("SystemOperator");
                    let name =
                        operator.and_then(|one| one.attribute("name").or(one.attribute("ID")));
                    found.operator = name.map(|name| name.trim().to_owned());
                }
                "TestProgram" => {
                    let definition = child.child("Definition");
                    let name = definition.and_then(|one| one.attribute("name"));
                    let name = name.map(|name| name.trim().to_owned());
                    found.program =
                        name.or_else(|| text(definition?.below(&["Identification", "ModelName"])));
                }
                _ => {}
            }
            // Also what has a member: the paths say where it was, and nothing is left out.
            if child.name() == "Extension" {
                for inner in child.children() {
                    steps.flat(inner, inner.name(), &mut found.properties);
                }
            } else {
                steps.flat(child, child.name(), &mut found.properties);
            }
        }
        for member in ["UUT.SerialNumber", "TestStation.SerialNumber"] {
            found.properties.remove(member);
        }
        found
    }
}

/// The number of the part among the numbers of a unit, or the name of its model.
fn part_number(unit: Element<'_>) -> Option<String> {
    let identification = unit.below(&["Definition", "Identification"])?;
    let numbers = identification.child("IdentificationNumbers");
    let mut numbers = numbers.into_iter().flat_map(|numbers| numbers.children());
    let part = numbers.find(|number| {
        // A bare `type` says what the number is; one of the schema has a prefix that was cut off.
        number
            .attributes()
            .any(|(name, value)| name == "type" && value.eq_ignore_ascii_case("Part"))
    });
    let number = part.and_then(|part| part.attribute("number"));
    let model = || identification.child("ModelName").map(|model| model.text());
    let found = number.or_else(model)?.trim().to_owned();
    (!found.is_empty()).then_some(found)
}

fn result(set: Element<'_>, common: &Common, steps: &mut Steps<'_>) -> Result<NewResult> {
    let mut properties = common.properties.clone();
    for (name, value) in set.attributes() {
        let is_own = MEMBERS.contains(&name) || name.starts_with("xmlns");
        if !is_own && !value.trim().is_empty() {
            properties.insert(format!("ResultSet.{name}"), value.to_owned());
        }
    }
    let mut status = None;
    for child in set.children() {
        match child.name() {
            "TestGroup" | "Test" | "SessionAction" => {}
            "Outcome" => {
                let value = child.attribute("value").unwrap_or_default();
                status = Some(outcome_status(value, child.attribute("qualifier")));
                for inner in child.children() {
                    let path = format!("Outcome.{}", inner.name());
                    steps.flat(inner, &path, &mut properties);
                }
            }
            "Extension" => {
                for inner in child.children() {
                    steps.flat(inner, inner.name(), &mut properties);
                }
            }
            other => steps.flat(child, &format!("ResultSet.{other}"), &mut properties),
        }
    }
    if status.is_none() {
        let what = "a set of results has no outcome, and is RUNNING";
        steps.told.note(set.line(), what);
    }
    let started_at = steps.time(set, "startDateTime")?;
    let total = duration(started_at, steps.time(set, "endDateTime")?);
    let name = set.attribute("name").map(|name| {
        properties.insert("ResultSet.name".to_owned(), name.to_owned());
        // The path of a sequence file and the name of the sequence in it.
        file::base_name(name.split('#').next().unwrap_or(name)).trim().to_owned()
    });
    let name = common.program.clone().or(name).filter(|name| !name.is_empty());
    let request = CreateResultRequest::new()
        .program_name(name.unwrap_or_else(|| PROGRAM.to_owned()))
        .status(status.unwrap_or_else(|| StatusType::Running.into()))
        .total_time_in_seconds(total)
        .properties(properties)
        .maybe_serial_number(common.serial_number.clone())
        .maybe_part_number(common.part_number.clone())
        .maybe_host_name(common.host_name.clone())
        .maybe_operator(common.operator.clone())
        .maybe_started_at(started_at);
    Ok(NewResult { request, steps: steps.inside(set, started_at)? })
}
