//! The last runs of the test: how many passed, and how capable the computer is of its limits.

use std::error::Error;

use stationdb::prelude::*;
use stationdb::results::{
    CapabilityRequest, QueryResultsRequest, ResultOrderBy, TestResult, YieldsRequest,
};
use stationdb::serde_json::json;
use stationdb::{Control, Session};

use crate::Check;

type Answer<T> = Result<T, Box<dyn Error>>;

/// Runs that are looked back on.
const RUNS: i64 = 20;

/// What the last runs of a test tell.
pub struct History {
    /// How many there are, with this one.
    pub runs: i64,
    /// Share of those that passed among those that passed or failed.
    pub passed: Option<f64>,
    /// The quantities, each with its mean, and with the ratio of its distance from the limit to its
    /// deviation.
    pub quantities: Vec<Quantity>,
}

/// One quantity over the last runs.
pub struct Quantity {
    name: String,
    unit: String,
    n: i64,
    mean: Option<f64>,
    ppk: Option<f64>,
}

/// The last runs of the program of a result on its unit; `None` if it is the only one.
pub fn of(session: &Session, result: &TestResult, checks: &[Check]) -> Answer<Option<History>> {
    let filter = "programName == @0 && serialNumber == @1";
    let of_unit = [json!(result.program_name), json!(result.serial_number)];
    let query = QueryResultsRequest::new()
        .filter(filter)
        .substitutions(of_unit.clone())
        .order_by(ResultOrderBy::StartedAt)
        .descending(true)
        .take(RUNS);
    let last = session.query_results(query)?.results;
    let Some(oldest) = last.last().filter(|_| last.len() > 1) else { return Ok(None) };
    let filter = format!("{filter} && startedAt >= @2");
    let [program, serial] = of_unit;
    let substitutions = [program, serial, json!(oldest.started_at)];
    let control = Control::default();
    let request = YieldsRequest::new().filter(&filter).substitutions(substitutions.clone());
    let yields = session.yields(request, &control)?;
    let passed = yields.groups.first().and_then(|group| group.result_yield);
    let mut quantities = Vec::new();
    for check in checks {
        let request = CapabilityRequest::new(&check.column)
            .units(&check.unit)
            .filter(&filter)
            .substitutions(substitutions.clone());
        let capability = session.capability(request, &control)?;
        quantities.push(Quantity {
            name: check.name.clone(),
            unit: check.unit.clone(),
            n: capability.n,
            mean: capability.mean,
            ppk: capability.ppk,
        });
    }
    Ok(Some(History { runs: i64::try_from(last.len())?, passed, quantities }))
}

impl History {
    /// One line about all.
    pub fn summary(&self) -> String {
        let passed = self.passed.map_or("none".to_owned(), |part| format!("{:.0} %", part * 100.0));
        format!("the last {} runs on this computer: {passed} passed", self.runs)
    }

    /// The table of a report.
    pub fn table(&self) -> String {
        let mut text = format!(
            "\n## History\n\n{}.\n\n| Quantity | Values | Mean | Ppk |\n|---|---|---|---|\n",
            self.summary().replacen('t', "T", 1)
        );
        for quantity in &self.quantities {
            text += &format!("| {} |\n", quantity.cells().join(" | "));
        }
        text
    }
}

impl Quantity {
    /// Name, number of values, mean and Ppk.
    pub fn cells(&self) -> [String; 4] {
        let mean = self.mean.map(|mean| format!("{mean:.3} {}", self.unit));
        let ppk = self.ppk.map(|ppk| format!("{ppk:.2}"));
        [
            self.name.clone(),
            self.n.to_string(),
            mean.unwrap_or_default(),
            ppk.unwrap_or_else(|| "-".to_owned()),
        ]
    }
}
