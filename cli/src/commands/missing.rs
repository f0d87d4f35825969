//! What is said where the chosen test results have no value of a measurement.

use std::collections::BTreeSet;
use std::io::{self, Write as _};

use stationdb::Session;
use stationdb::prelude::*;
use stationdb::results::{QueryStepsRequest, StepProjection};

use super::paths::{path_of, path_text};
use crate::args::SeriesFlags;
use crate::failure::{Code, Failure, Outcome};
use crate::output::{Output, OutputFormat};

/// Steps that are looked at for names that exist.
const LOOKED: i64 = 10_000;
/// Names that a message has.
const TOLD: usize = 10;

/// A measurement of a step.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Found {
    name: String,
    path: String,
    step: String,
}

/// Ends a command for people with what is missing; with an answer for programs, that is told beside
/// it.
///
/// # Errors
/// `NotFound`, with the names that exist; those of a query.
pub(super) fn tell_missing(
    session: &Session,
    output: Output,
    name: &str,
    series: &SeriesFlags,
) -> Outcome {
    let failure = Failure::new(Code::NotFound, missing(session, name, series)?);
    if output.form == OutputFormat::Table {
        return Err(failure);
    }
    let _ = writeln!(io::stderr(), "{failure}");
    Ok(())
}

/// What the chosen results do not have. Names that exist are looked for in the first steps alone,
/// so that a wrong name costs no pass over all.
pub(super) fn missing(session: &Session, name: &str, series: &SeriesFlags) -> Outcome<String> {
    let (found, is_all) = measurements(session, series)?;
    if found.is_empty() && is_all {
        return Ok(format!(
            "the test results that were chosen have no measurement at all, and so no {name:?}"
        ));
    }
    let named: Vec<&Found> = found.iter().filter(|found| found.name == name).collect();
    if named.is_empty() {
        let begin = format!("no step of the chosen test results has a measurement {name:?}");
        let names: BTreeSet<&str> = found.iter().map(|found| found.name.as_str()).collect();
        return Ok(begin + &those_there("there are", nearest(name, names), is_all));
    }
    let paths = named.iter().map(|found| path_text(&found.path));
    let steps = named.iter().map(|found| found.step.clone());
    let (option, asked, there): (_, _, BTreeSet<String>) = match (&series.path, &series.step) {
        (Some(path), _) => ("path", path_text(&path_of(path)), paths.collect()),
        (_, Some(step)) => ("step", step.clone(), steps.collect()),
        _ => {
            return Ok(format!(
                "no value of the measurement {name:?} was chosen by the options --units, \
                 --step-filter and --pass"
            ));
        }
    };
    if there.contains(&asked) {
        return Ok(format!(
            "no value of the measurement {name:?} of the {option} {asked:?} was chosen by the \
             options --units, --step-filter and --pass"
        ));
    }
    let begin = format!("no {option} {asked:?} has a measurement {name:?}");
    let there = nearest(&asked, there.iter().map(String::as_str).collect());
    Ok(begin + &those_there("it is there in", there, is_all))
}

/// The measurements of the first steps, and whether these are all.
fn measurements(session: &Session, series: &SeriesFlags) -> Outcome<(BTreeSet<Found>, bool)> {
    let mut request = QueryStepsRequest::new().take(LOOKED).projection([
        StepProjection::Name,
        StepProjection::Path,
        StepProjection::Data,
    ]);
    request.result_filter.clone_from(&series.results.filter);
    let page = session.query_steps(request)?;
    let mut found = BTreeSet::new();
    for step in page.steps {
        let (path, own) = (step.path.unwrap_or_default(), step.name.unwrap_or_default());
        let parameters = step.data.into_iter().flat_map(|data| data.parameters).flatten();
        for mut parameter in parameters.filter(|one| one.contains_key("measurement")) {
            if let Some(name) = parameter.remove("name") {
                found.insert(Found { name, path: path.clone(), step: own.clone() });
            }
        }
    }
    Ok((found, page.continuation_token.is_none()))
}

/// The texts that have the most with `asked` in common first: those that differ in the case of
/// letters, those that contain it or are contained, and then by the letters that they begin with.
fn nearest<'n>(asked: &str, texts: BTreeSet<&'n str>) -> Vec<&'n str> {
    let plain = |text: &str| text.to_lowercase();
    let wanted = plain(asked);
    let rank = |text: &&str| {
        let text = plain(text);
        let is_part = text.contains(&wanted) || wanted.contains(&text);
        let equal = text.chars().zip(wanted.chars()).take_while(|(a, b)| a == b).count();
        (text != wanted, !is_part, usize::MAX - equal)
    };
    let mut texts: Vec<&str> = texts.into_iter().collect();
    texts.sort_by_key(rank);
    texts
}

/// `; there are "A", "B"`.
fn those_there(words: &str, texts: Vec<&str>, is_all: bool) -> String {
    let told: Vec<String> = texts.iter().take(TOLD).map(|text| format!("{text:?}")).collect();
    let more = match texts.len().saturating_sub(TOLD) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let among = if is_all { String::new() } else { format!(" among the first {LOOKED} steps") };
    if told.is_empty() {
        return format!("; none was found{among}");
    }
    format!("; {words} {}{more}{among}", told.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_names_come_first() {
        let texts = ["Gain", "IOUT", "VOUT", "VOUT 2", "Vin", "vuot"];
        let of = |asked: &str| nearest(asked, texts.into_iter().collect())[..2].to_vec();
        assert_eq!(of("vout"), ["VOUT", "VOUT 2"]);
        assert_eq!(of("VI"), ["Vin", "VOUT"]);
        assert_eq!(of("gains"), ["Gain", "IOUT"]);
    }

    #[test]
    fn a_message_has_a_bounded_number_of_names() {
        let texts: Vec<String> = (0..12).map(|at| at.to_string()).collect();
        let told = those_there("there are", texts.iter().map(String::as_str).collect(), false);
        assert!(told.ends_with("\"9\" and 2 more among the first 10000 steps"), "{told}");
        assert_eq!(those_there("there are", vec!["a"], true), "; there are \"a\"");
    }
}
