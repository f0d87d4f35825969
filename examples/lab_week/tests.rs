//! The tests of a week: results of two programs from three benches, and what they tell.
//!
//! The numbers are drawn by chance, always the same. Contacts fail now and then and pass on a
//! retest; some units are defective and fail again; and the gain at 10 kHz that `bench-2` measures
//! falls from day to day, because nobody calibrates it.

use std::collections::BTreeMap;

use chrono::{DateTime, Datelike as _, Duration, Utc};
use stationdb::prelude::*;
use stationdb::results::{
    CapabilityRequest, ControlChartRequest, CreateResultRequest, CreateStepRequest,
    FailureParetoRequest, ParetoKey, ResultWithSteps, StatusType, StepData, YieldsRequest,
};
use stationdb::{Control, Result, Session};

/// Units that are tested each day.
const UNITS: usize = 300;
const DAYS: i64 = 5;
const BENCHES: [&str; 3] = ["bench-1", "bench-2", "bench-3"];
const OPERATORS: [&str; 4] = ["ada", "grace", "katherine", "mary"];
/// Attempts to get a unit through a program.
const ATTEMPTS: usize = 3;
/// Results of one commit.
const BATCH: usize = 200;
const BOARD: &str = "Board test";
const FINAL: &str = "Final test";
/// The measurement whose figures are printed, and the path of its step.
const DRIFTING: (&str, &str) = ("Gain", "Gain\n10 kHz");

/// Numbers by chance, the same in every run.
struct Chance(u64);

impl Chance {
    /// A number from 0 to 1.
    fn part(&mut self) -> f64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as f64 / (1_u64 << 53) as f64
    }

    fn is(&mut self, likelihood: f64) -> bool {
        self.part() < likelihood
    }

    /// A number near the mean, distributed nearly normally.
    fn near(&mut self, mean: f64, deviation: f64) -> f64 {
        let sum: f64 = (0..12).map(|_| self.part()).sum();
        mean + (sum - 6.0) * deviation
    }
}

/// What a step measures.
struct Measured {
    name: &'static str,
    value: f64,
    units: &'static str,
    limits: (f64, f64),
}

/// The circumstances of one attempt.
struct Attempt {
    program: &'static str,
    bench: usize,
    day: i64,
    started_at: DateTime<Utc>,
    is_defective: bool,
}

/// A unit on its way through the programs.
struct Unit {
    serial: String,
    part: String,
    operator: &'static str,
}

/// Stores the results of five days, from Monday of last week on. Returns their number.
pub fn run(session: &Session) -> Result<usize> {
    let mut chance = Chance(0x5DEE_CE66_D1CE_5EED);
    let now = Utc::now();
    let monday = now - Duration::days(7 + i64::from(now.weekday().num_days_from_monday()));
    let monday = monday.date_naive().and_hms_opt(6, 0, 0).unwrap_or_default().and_utc();
    let mut count = 0;
    for day in 0..DAYS {
        let mut results = Vec::new();
        for number in 0..UNITS {
            let unit = Unit {
                serial: format!("SN-{day}{number:03}"),
                part: format!("PN-{}", number % 2),
                operator: OPERATORS[number / 75 % OPERATORS.len()],
            };
            let minutes = i64::try_from(number * 3).unwrap_or_default();
            let at = monday + Duration::days(day) + Duration::minutes(minutes);
            unit.test(&mut chance, day, at, &mut results);
        }
        for batch in results.chunks(BATCH) {
            session.append_results(batch)?.require_all()?;
        }
        count += results.len();
    }
    Ok(count)
}

impl Unit {
    /// The results of a unit: each program until it passes, but not for ever.
    fn test(
        &self,
        chance: &mut Chance,
        day: i64,
        mut at: DateTime<Utc>,
        results: &mut Vec<ResultWithSteps>,
    ) {
        let bench = (chance.part() * BENCHES.len() as f64) as usize % BENCHES.len();
        for program in [BOARD, FINAL] {
            let is_defective = chance.is(0.01);
            let mut has_passed = false;
            for _ in 0..ATTEMPTS {
                let attempt = Attempt { program, bench, day, started_at: at, is_defective };
                let result = self.attempt(chance, &attempt);
                has_passed = result.result.status == Some(StatusType::Passed.into());
                results.push(result);
                at += Duration::minutes(20);
                if has_passed {
                    break;
                }
            }
            // Defective boards are not built in.
            if !has_passed {
                break;
            }
        }
    }

    fn attempt(&self, chance: &mut Chance, attempt: &Attempt) -> ResultWithSteps {
        let steps = match attempt.program {
            BOARD => board_steps(chance, attempt),
            _ => final_steps(chance, attempt),
        };
        let has_failed = steps.iter().any(|step| step.status == Some(StatusType::Failed.into()));
        // Now and then an operator stops a test, or an instrument does not answer.
        let status = match chance.part() {
            _ if has_failed => StatusType::Failed,
            ..0.003 => StatusType::Terminated,
            0.003..0.006 => StatusType::Errored,
            _ => StatusType::Passed,
        };
        let result = CreateResultRequest::new()
            .program_name(attempt.program)
            .status(status)
            .part_number(self.part.clone())
            .serial_number(self.serial.clone())
            .operator(self.operator)
            .host_name(BENCHES[attempt.bench])
            .started_at(attempt.started_at)
            .total_time_in_seconds(chance.near(42.0, 3.0));
        ResultWithSteps::new(result).steps(steps)
    }
}

fn board_steps(chance: &mut Chance, attempt: &Attempt) -> Vec<CreateStepRequest> {
    let is_short = attempt.is_defective;
    let amps = if is_short { chance.near(0.9, 0.05) } else { chance.near(0.21, 0.01) };
    let contact = contact(chance);
    vec![
        step("Contact", attempt, vec![contact]),
        step(
            "Power",
            attempt,
            vec![
                Measured {
                    name: "VOUT",
                    value: chance.near(12.0, 0.04),
                    units: "V",
                    limits: (11.8, 12.2),
                },
                Measured { name: "IIN", value: amps, units: "A", limits: (0.1, 0.3) },
            ],
        ),
    ]
}

fn final_steps(chance: &mut Chance, attempt: &Attempt) -> Vec<CreateStepRequest> {
    let drift = if attempt.bench == 1 { 0.12 * attempt.day as f64 } else { 0.0 };
    let loss = if attempt.is_defective { 2.0 } else { 0.0 };
    let mut gain = |name, falls| {
        let value = chance.near(20.0 - falls, 0.18);
        step(
            name,
            attempt,
            vec![Measured { name: "Gain", value, units: "dB", limits: (19.2, 20.8) }],
        )
    };
    let gains = vec![gain("100 Hz", 0.0), gain("1 kHz", loss), gain("10 kHz", drift)];
    let contact = contact(chance);
    let noise = chance.near(1.1, 0.08);
    vec![
        step("Contact", attempt, vec![contact]),
        group("Gain", attempt, gains),
        step(
            "Noise",
            attempt,
            vec![Measured { name: "Noise", value: noise, units: "uV", limits: (0.0, 1.4) }],
        ),
    ]
}

/// Needles wear: one contact in thirty is bad, and good at the next attempt.
fn contact(chance: &mut Chance) -> Measured {
    let value = if chance.is(0.033) { chance.near(4.0, 0.5) } else { chance.near(0.4, 0.05) };
    Measured { name: "Resistance", value, units: "ohm", limits: (0.0, 1.0) }
}

/// A step with its measurements, judged by their limits.
fn step(name: &str, attempt: &Attempt, all: Vec<Measured>) -> CreateStepRequest {
    let mut has_failed = false;
    let parameters: Vec<BTreeMap<String, String>> = all
        .iter()
        .map(|one| {
            let (low, high) = one.limits;
            let is_inside = (low..=high).contains(&one.value);
            has_failed |= !is_inside;
            let members = [
                ("name", one.name.to_owned()),
                ("measurement", format!("{:.4}", one.value)),
                ("units", one.units.to_owned()),
                ("lowLimit", low.to_string()),
                ("highLimit", high.to_string()),
                ("comparisonType", "GELE".to_owned()),
                ("status", if is_inside { "Passed" } else { "Failed" }.to_owned()),
            ];
            members.into_iter().map(|(key, text)| (key.to_owned(), text)).collect()
        })
        .collect();
    CreateStepRequest::new()
        .name(name)
        .step_type("NumericLimitTest")
        .status(verdict(has_failed))
        .started_at(attempt.started_at)
        .data(StepData::new().parameters(parameters))
}

/// A step that consists of others.
fn group(name: &str, attempt: &Attempt, children: Vec<CreateStepRequest>) -> CreateStepRequest {
    let failed = Some(StatusType::Failed.into());
    CreateStepRequest::new()
        .name(name)
        .step_type("SequenceCall")
        .status(verdict(children.iter().any(|child| child.status == failed)))
        .started_at(attempt.started_at)
        .children(children)
}

fn verdict(has_failed: bool) -> StatusType {
    if has_failed { StatusType::Failed } else { StatusType::Passed }
}

/// Prints what the results of the week tell.
pub fn tell(session: &Session) -> Result<()> {
    let control = Control::default();
    let request = YieldsRequest::new().group_by(["DAY".to_owned(), "PROGRAM_NAME".to_owned()]);
    let yields = session.yields(request, &control)?;
    println!("\nday         program     first pass  final yield  retests  results");
    for group in &yields.groups {
        let key = |at: usize| group.keys.get(at).cloned().flatten().unwrap_or_default();
        println!(
            "{:<11} {:<11} {:>10}  {:>11}  {:>7}  {:>7}",
            key(0).split('T').next().unwrap_or_default(),
            key(1),
            percent(group.first_pass_yield),
            percent(group.final_yield),
            group.retests,
            group.good + group.bad,
        );
    }
    for rolled in &yields.rolled_throughput {
        let part = rolled.part_number.as_deref().unwrap_or_default();
        println!("{part}: {} through both programs", percent(rolled.rolled_throughput_yield));
    }

    let pareto = session.failure_pareto(FailureParetoRequest::new().take(6_i64), &control)?;
    println!(
        "\n{} failures of {} results, by the first step that failed",
        pareto.total, pareto.results
    );
    for entry in &pareto.entries {
        let key = match &entry.key {
            Some(ParetoKey::Text(path)) => path.replace('\n', " > "),
            _ => "(no step)".to_owned(),
        };
        let bar = "#".repeat(usize::try_from(entry.count / 4).unwrap_or_default());
        println!("{key:<16} {:>5}  {:>7}  {bar}", entry.count, percent(entry.cumulative));
    }

    let (name, path) = DRIFTING;
    println!(
        "\n{name} at 10 kHz   values   mean      Cp     Cpk     Ppk   beyond the control limits"
    );
    for bench in BENCHES {
        let filter = "hostName == @0";
        let request = CapabilityRequest::new(name).path(path).filter(filter).substitutions([bench]);
        let capability = session.capability(request, &control)?;
        // The limits come from the first day, and the points of the week are seen against them.
        let request = ControlChartRequest::new(name).path(path).filter(filter);
        let request = request.substitutions([bench]).baseline_count(60_i64).take(100_000_i64);
        let chart = session.control_chart(request, &control)?;
        let outside = chart.points.iter().filter(|point| !point.rules.is_empty());
        let first = outside.clone().next().map(|point| point.started_at.format("%A %H:%M"));
        println!(
            "{bench:<16} {:>6}  {}  {}  {}  {}   {:>4}{}",
            capability.n,
            figure(capability.mean),
            figure(capability.cp),
            figure(capability.cpk),
            figure(capability.ppk),
            outside.count(),
            first.map(|time| format!(", the first on {time}")).unwrap_or_default(),
        );
    }
    Ok(())
}

fn percent(fraction: Option<f64>) -> String {
    fraction.map_or("-".to_owned(), |fraction| format!("{:.1} %", fraction * 100.0))
}

fn figure(figure: Option<f64>) -> String {
    figure.map_or("     -".to_owned(), |figure| format!("{figure:>6.2}"))
}
