//! Figures of random results, compared with what a few loops over the same results find.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};
use stationdb::faults::Random;
use stationdb_sql::context;

use crate::common::{ada, ask, create, settle};
use crate::{at, near, open, shown};

/// Mean range of two standard normal values.
const D2: f64 = std::f64::consts::FRAC_2_SQRT_PI;
/// Of subgroups of three.
const A2: f64 = 1.0233267079;
const D4: f64 = 2.5745912898;
/// Of two.
const UPPER_RANGE: f64 = 3.2665319193;

#[derive(Clone, Debug)]
struct Parameter {
    name: Option<String>,
    text: Option<String>,
    number: Option<f64>,
    units: Option<&'static str>,
    status: &'static str,
    comparison: Option<&'static str>,
    low: Option<f64>,
    high: Option<f64>,
    is_additional: bool,
}

#[derive(Clone, Debug)]
struct Step {
    name: &'static str,
    step_type: &'static str,
    status: Option<&'static str>,
    second: i64,
    parameters: Vec<Parameter>,
    children: Vec<Step>,
}

#[derive(Clone, Debug)]
struct Tested {
    id: String,
    program: &'static str,
    part: Option<&'static str>,
    serial: Option<&'static str>,
    status: &'static str,
    lot: &'static str,
    second: i64,
    steps: Vec<Step>,
}

fn pick<T: Copy>(random: &mut Random, all: &[T]) -> T {
    all[random.below(all.len() as u64) as usize]
}

/// What the values of a result are like.
#[derive(Clone, Copy, Debug, Default)]
struct Values {
    are_equal: bool,
    shift: f64,
}

fn parameter(random: &mut Random, like: Values) -> Parameter {
    let quarter = (random.below(17) as f64 - 4.0) / 4.0;
    let is_far = random.below(40) == 0 && like.shift == 0.0;
    let quarter = if is_far { 30.0 } else { quarter + like.shift };
    let number = if like.are_equal { 2.5 } else { quarter };
    let number_texts = [format!("{number}"), format!(" {number} "), format!("{number}e0")];
    let (text, number) = match random.below(12) {
        0 => (Some("yes".to_owned()), None),
        1 => (Some("NaN".to_owned()), None),
        2 => (Some(String::new()), None),
        3 => (None, None),
        other => (Some(number_texts[other as usize % 3].clone()), Some(number)),
    };
    let name = pick(random, &[Some("X"), Some("X"), Some("X"), Some("Y"), None]);
    Parameter {
        name: name.map(str::to_owned),
        text,
        number,
        units: pick(
            random,
            &[Some("V"), Some("V"), Some("V"), Some("V"), Some("mV"), None, Some("")],
        ),
        status: pick(random, &["Passed", "Failed", "failed", "Skipped"]),
        comparison: pick(random, &[Some("GELE"), Some("GE"), Some("LE"), Some("EQ"), None]),
        low: pick(random, &[Some(-2.0), Some(-1.5), None]),
        high: pick(random, &[Some(4.0), Some(4.5), None]),
        is_additional: random.below(12) == 0,
    }
}

fn step(random: &mut Random, like: Values, level: u64) -> Step {
    let parameters = (0..random.below(4)).map(|_| parameter(random, like)).collect();
    let children = match level {
        2 => 0,
        _ => random.below(3),
    };
    let children = (0..children).map(|_| step(random, like, level + 1)).collect();
    let statuses = [
        Some("PASSED"),
        Some("PASSED"),
        Some("FAILED"),
        Some("ERRORED"),
        Some("SKIPPED"),
        Some("CUSTOM"),
        None,
    ];
    Step {
        name: pick(random, &["a", "a", "b", "c"]),
        step_type: pick(random, &["Numeric", "Text"]),
        status: pick(random, &statuses),
        second: random.below(3) as i64,
        parameters,
        children,
    }
}

fn tested(random: &mut Random, seed: u64) -> Tested {
    // Many begin at the same time.
    let second = random.below(40) as i64;
    let shift = match seed {
        2 if second >= 20 => 12.0,
        2 => 1.0,
        _ => 0.0,
    };
    let like = Values { are_equal: seed == 3, shift };
    let statuses = [
        "PASSED",
        "PASSED",
        "PASSED",
        "FAILED",
        "FAILED",
        "ERRORED",
        "TERMINATED",
        "TIMED_OUT",
        "DONE",
        "SKIPPED",
        "CUSTOM",
        "RUNNING",
    ];
    let serials = [None, Some(""), Some("1"), Some("2"), Some("3"), Some("4"), Some("5")];
    Tested {
        id: String::new(),
        program: pick(random, &["P", "Q"]),
        part: pick(random, &[Some("A"), Some("A"), Some("B"), None]),
        serial: pick(random, &serials),
        status: pick(random, &statuses),
        lot: pick(random, &["x", "y"]),
        second,
        steps: (0..random.below(5)).map(|_| step(random, like, 0)).collect(),
    }
}

fn json_of(step: &Step) -> Value {
    let parameter = |own: &Parameter| {
        let number = |limit: Option<f64>| limit.map(|limit| limit.to_string());
        let kind = own.is_additional.then_some("ADDITIONAL_RESULTS");
        json!({"name": own.name, "measurement": own.text, "units": own.units,
            "status": own.status, "comparisonType": own.comparison, "lowLimit": number(own.low),
            "highLimit": number(own.high), "nitmParameterType": kind})
    };
    let mut value = json!({"name": step.name, "stepType": step.step_type,
        "startedAt": at(step.second),
        "data": {"parameters": step.parameters.iter().map(parameter).collect::<Vec<_>>()},
        "children": step.children.iter().map(json_of).collect::<Vec<_>>()});
    if let Some(status) = step.status {
        value["status"] = json!({"statusType": status});
    }
    value
}

/// Whether a result or step is good or bad; none for others.
fn class(status: &str) -> Option<bool> {
    match status {
        "PASSED" => Some(true),
        "FAILED" | "ERRORED" | "TERMINATED" | "TIMED_OUT" => Some(false),
        _ => None,
    }
}

/// The results in order of start and id.
fn in_order(all: &[Tested]) -> Vec<&Tested> {
    let mut order: Vec<&Tested> = all.iter().collect();
    order.sort_by_key(|one| (one.second, one.id.clone()));
    order
}

/// The unit of a result: one without a serial number is one of its own.
fn unit(one: &Tested) -> (Option<&str>, &str, &str, &str) {
    match one.serial {
        None | Some("") => (one.part, "", one.program, &one.id),
        Some(serial) => (one.part, serial, one.program, ""),
    }
}

fn share(part: usize, whole: usize) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}

#[derive(Default)]
struct Counts {
    good: usize,
    bad: usize,
    others: BTreeMap<&'static str, usize>,
    firsts: usize,
    good_firsts: usize,
    lasts: usize,
    good_lasts: usize,
    retests: usize,
}

type Wanted<'w> = &'w dyn Fn(&Tested) -> bool;

/// The yields of the selected results by a key.
fn yields<K: Ord>(
    all: &[Tested],
    is_selected: Wanted<'_>,
    key: &dyn Fn(&Tested) -> K,
) -> BTreeMap<K, Counts> {
    let mut groups: BTreeMap<K, Counts> = BTreeMap::new();
    let mut firsts = BTreeSet::new();
    let mut lasts = BTreeMap::new();
    for one in in_order(all) {
        let good = class(one.status);
        let is_first = good.is_some() && firsts.insert(unit(one));
        if !is_selected(one) {
            continue;
        }
        let group = groups.entry(key(one)).or_default();
        let Some(is_good) = good else {
            *group.others.entry(one.status).or_default() += 1;
            continue;
        };
        group.good += usize::from(is_good);
        group.bad += usize::from(!is_good);
        group.firsts += usize::from(is_first);
        group.good_firsts += usize::from(is_first && is_good);
        group.retests += usize::from(!is_first);
        lasts.insert(unit(one), one);
    }
    for last in lasts.into_values() {
        let group = groups.entry(key(last)).or_default();
        group.lasts += 1;
        group.good_lasts += usize::from(class(last.status) == Some(true));
    }
    groups
}

impl Counts {
    fn line(&self, key: &str) -> String {
        let counted = self.good + self.bad;
        let figures = [
            share(self.good_firsts, self.firsts),
            share(self.good_lasts, self.lasts),
            share(self.good, counted),
            share(counted - self.lasts, counted),
        ];
        let counts = [self.good, self.bad, self.lasts, self.firsts, self.retests];
        let counts = counts.map(|count| count.to_string());
        let others = ["DONE", "SKIPPED", "CUSTOM", "RUNNING"].map(|status| {
            self.others.get(status).map_or("null".to_owned(), |count| count.to_string())
        });
        let figures = shown(&figures).join(" | ");
        format!("{key} | {figures} | {} | {}", counts.join(" | "), others.join(" | "))
    }
}

/// The selections: what SQL has, and the same here.
fn selections() -> Vec<(&'static str, Box<dyn Fn(&Tested) -> bool>)> {
    vec![
        ("", Box::new(|_: &Tested| true)),
        ("properties.lot == \"x\"", Box::new(|one: &Tested| one.lot == "x")),
        ("programName == \"P\"", Box::new(|one: &Tested| one.program == "P")),
        ("serialNumber == \"3\"", Box::new(|one: &Tested| one.serial == Some("3"))),
        ("serialNumber == \"none\"", Box::new(|_: &Tested| false)),
    ]
}

/// The steps of a result in step order: with its path, whether a step below is bad, and the step.
fn flat<'s>(steps: &'s [Step], above: &str, out: &mut Vec<(String, bool, &'s Step)>) -> bool {
    let mut order: Vec<&Step> = steps.iter().collect();
    order.sort_by_key(|step| step.second);
    let mut is_any = false;
    for step in order {
        let path =
            if above.is_empty() { step.name.to_owned() } else { format!("{above}\n{}", step.name) };
        let place = out.len();
        out.push((path.clone(), false, step));
        let is_below = flat(&step.children, &path, out);
        out[place].1 = is_below;
        is_any |= is_below || step.status.and_then(class) == Some(false);
    }
    is_any
}

fn is_measurement(parameter: &Parameter) -> bool {
    parameter.name.is_some() && parameter.text.is_some() && !parameter.is_additional
}

/// The key of the first failing step of a result.
fn failure(one: &Tested, by: &str) -> (Option<String>, Option<String>) {
    let mut steps = Vec::new();
    flat(&one.steps, "", &mut steps);
    let is_failing = |step: &Step| step.status.and_then(class) == Some(false);
    let first = steps.iter().find(|(_, is_below, step)| !is_below && is_failing(step));
    let Some((path, _, step)) = first else { return (None, None) };
    let failed = step.parameters.iter().find(|parameter| {
        is_measurement(parameter) && parameter.status.eq_ignore_ascii_case("failed")
    });
    match by {
        "PATH" => (Some(path.clone()), None),
        "NAME" => (Some(step.name.to_owned()), None),
        "STEP_TYPE" => (Some(step.step_type.to_owned()), None),
        _ => (Some(path.clone()), failed.and_then(|parameter| parameter.name.clone())),
    }
}

/// The values of a measurement in order, with their limits.
#[derive(Debug, Default)]
struct Series {
    values: Vec<f64>,
    limits: Vec<(Option<f64>, Option<f64>)>,
    not_numbers: usize,
    skipped: usize,
}

fn series(all: &[Tested], is_selected: Wanted<'_>, path: &str, units: &str) -> Series {
    let mut found = Series::default();
    for one in in_order(all).into_iter().filter(|one| is_selected(one)) {
        let mut steps = Vec::new();
        flat(&one.steps, "", &mut steps);
        for (_, _, step) in steps.iter().filter(|(of, ..)| of == path) {
            for parameter in step.parameters.iter().filter(|parameter| is_measurement(parameter)) {
                let has_units = parameter.units.unwrap_or_default() == units;
                if parameter.name.as_deref() != Some("X") || !has_units {
                    continue;
                }
                if step.status == Some("SKIPPED") {
                    found.skipped += 1;
                    continue;
                }
                let Some(number) = parameter.number else {
                    found.not_numbers += 1;
                    continue;
                };
                found.values.push(number);
                found.limits.push(match parameter.comparison {
                    Some("GE") => (parameter.low, None),
                    Some("LE") => (None, parameter.high.or(parameter.low)),
                    Some("EQ") => (None, None),
                    _ => (parameter.low, parameter.high),
                });
            }
        }
    }
    found
}

fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// The distances of values from those before.
fn moves(values: &[f64]) -> Vec<f64> {
    values.windows(2).map(|pair| (pair[1] - pair[0]).abs()).collect()
}

/// cp, cpl, cpu and cpk with a deviation.
fn ratios(low: Option<f64>, high: Option<f64>, mean: f64, deviation: f64) -> [Option<f64>; 4] {
    if deviation == 0.0 {
        return [None; 4];
    }
    let both = low.zip(high).map(|(low, high)| (high - low) / (6.0 * deviation));
    let lower = low.map(|low| (mean - low) / (3.0 * deviation));
    let upper = high.map(|high| (high - mean) / (3.0 * deviation));
    let least = [lower, upper].into_iter().flatten().reduce(f64::min);
    [both, lower, upper, least]
}

fn numbers(line: &str) -> Vec<Option<f64>> {
    line.split(" | ").map(|cell| cell.parse().ok()).collect()
}

/// The runs of a chart of individual values: from the ninth on that is on one side.
fn runs(values: &[f64], center: f64) -> Vec<bool> {
    let (mut length, mut side) = (0, 0.0);
    let run = |value: &f64| {
        let own = (value - center).partial_cmp(&0.0).map_or(0.0, |order| f64::from(order as i8));
        length = if own == 0.0 {
            0
        } else if own == side {
            length + 1
        } else {
            1
        };
        side = own;
        length >= 9
    };
    values.iter().map(run).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn figures_of_random_results_are_those_of_a_naive_computation() {
    let (mut with_figures, mut with_ties) = (0, 0);
    let mut broken_rules: BTreeMap<String, usize> = BTreeMap::new();
    for seed in 0..4 {
        let directory = tempfile::tempdir().unwrap();
        let store = open(directory.path());
        let session = ada(&store);
        let mut random = Random::new(1_000 + seed);
        let mut all = Vec::new();
        for count in 0..140 {
            let mut one = tested(&mut random, seed);
            let mut result = json!({"programName": one.program, "startedAt": at(one.second),
                "status": {"statusType": one.status}, "properties": {"lot": one.lot}});
            for (member, text) in [("partNumber", one.part), ("serialNumber", one.serial)] {
                if let Some(text) = text {
                    result[member] = json!(text);
                }
            }
            one.id = create(&session, result, one.steps.iter().map(json_of).collect()).to_string();
            all.push(one);
            if count % 50 == 30 {
                settle(&store);
            }
        }
        let ties = all.iter().map(|one| (unit(one), one.second)).collect::<BTreeSet<_>>();
        with_ties += all.len() - ties.len();
        let sql = context(&session).unwrap();
        for (filter, is_selected) in selections() {
            let what = format!("seed {seed}, {filter:?}");
            // Yields, by part number and of all.
            let columns = "first_pass_yield, final_yield, result_yield, retest_rate, good, bad, \
                units, first_units, retests, not_counted['DONE'], not_counted['SKIPPED'], \
                not_counted['CUSTOM'], not_counted['RUNNING']";
            let groups = yields(&all, &is_selected, &|one| (one.part.is_none(), one.part));
            let expected: Vec<String> = groups
                .iter()
                .map(|((_, part), counts)| counts.line(part.unwrap_or("null")))
                .collect();
            let statement =
                format!("select part_number, {columns} from yields('{filter}', 'PART_NUMBER')");
            assert_eq!(ask(&sql, &statement).await.unwrap(), expected, "{what}");
            let whole = yields(&all, &is_selected, &|_| ());
            let expected = whole.get(&()).map_or(Counts::default().line(""), |all| all.line(""));
            let statement = format!("select '', {columns} from yields('{filter}')");
            assert_eq!(ask(&sql, &statement).await.unwrap(), [expected], "{what}");
            // Rolled throughput.
            let by_program =
                yields(&all, &is_selected, &|one| ((one.part.is_none(), one.part), one.program));
            let mut parts: BTreeMap<_, Vec<Option<f64>>> = BTreeMap::new();
            for ((part, _), counts) in &by_program {
                let first = share(counts.good_firsts, counts.firsts);
                parts.entry(*part).or_default().push(first);
            }
            let expected: Vec<String> = parts
                .iter()
                .map(|((_, part), yields)| {
                    let rolled = yields.iter().copied().product::<Option<f64>>();
                    let root = rolled.map(|rolled| rolled.powf(1.0 / yields.len() as f64));
                    let figures = shown(&[rolled, root]).join(" | ");
                    format!("{} | {} | {figures}", part.unwrap_or("null"), yields.len())
                })
                .collect();
            let statement = format!(
                "select part_number, array_length(programs), rolled_throughput_yield, \
                 normalized_yield from rolled_throughput('{filter}')"
            );
            assert_eq!(ask(&sql, &statement).await.unwrap(), expected, "{what}");

            for by in ["PATH", "NAME", "STEP_TYPE", "MEASUREMENT"] {
                let what = format!("{what} by {by}");
                let mut counts: BTreeMap<_, usize> = BTreeMap::new();
                let bad = all.iter().filter(|one| is_selected(one));
                let bad: Vec<&Tested> =
                    bad.filter(|one| class(one.status) == Some(false)).collect();
                for one in &bad {
                    let (key, measurement) = failure(one, by);
                    let key = (key.is_none(), key, measurement.is_none(), measurement);
                    *counts.entry(key).or_default() += 1;
                }
                let mut entries: Vec<_> = counts.into_iter().collect();
                entries.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
                let mut sum = 0;
                let expected: Vec<String> = entries
                    .into_iter()
                    .map(|((_, key, _, measurement), count)| {
                        sum += count;
                        let figures = [share(count, bad.len()), share(sum, bad.len())];
                        let text = |text: Option<String>| text.unwrap_or("null".to_owned());
                        format!(
                            "{} | {} | {count} | {} | {} | {}",
                            text(key).replace('\n', " > "),
                            text(measurement),
                            shown(&figures).join(" | "),
                            bad.len(),
                            bad.len()
                        )
                    })
                    .collect();
                let statement = format!(
                    "select replace(key, e'\\n', ' > '), measurement, count, fraction, cumulative, \
                     total, results from failure_pareto('{filter}', '{by}')"
                );
                assert_eq!(ask(&sql, &statement).await.unwrap(), expected, "{what}");
            }

            for (path, units) in [("a", "V"), ("b", "mV"), ("c", ""), ("a > b", "V"), ("d", "V")] {
                let what = format!("{what} of {path} in {units:?}");
                let own = series(&all, &is_selected, &path.replace(" > ", "\n"), units);
                let (values, n) = (&own.values, own.values.len());
                let arguments = format!("'{filter}', '{path}', 'X'");
                let left_out = [own.not_numbers as f64, own.skipped as f64].map(Some);

                // Capability.
                let statement = format!(
                    "select n, mean, minimum, maximum, overall_deviation, within_deviation, \
                     cp, cpl, cpu, cpk, pp, ppl, ppu, ppk, low_limit, high_limit, \
                     not_numbers, skipped, cast(limits_vary as int) \
                     from capability({arguments}, '{units}')"
                );
                let found = ask(&sql, &statement).await.unwrap();
                let found = numbers(&found[0]);
                let center = mean(values);
                let spread = moves(values);
                let (mut overall, mut within) = (None, None);
                if n > 1 {
                    let center = center.unwrap_or_default();
                    let squares = values.iter().map(|value| (value - center).powi(2)).sum::<f64>();
                    overall = Some((squares / (n - 1) as f64).sqrt());
                    within = mean(&spread).map(|mean| mean / D2);
                }
                let (low, high) = own.limits.last().copied().unwrap_or_default();
                let with = |deviation: Option<f64>| {
                    deviation.map_or([None; 4], |deviation| {
                        ratios(low, high, center.unwrap_or_default(), deviation)
                    })
                };
                let vary = own.limits.iter().any(|limits| *limits != (low, high));
                let least = values.iter().copied().reduce(f64::min);
                let greatest = values.iter().copied().reduce(f64::max);
                let mut expected = vec![Some(n as f64), center, least, greatest, overall, within];
                expected.extend(with(within));
                expected.extend(with(overall));
                expected.extend([low, high]);
                expected.extend(left_out);
                expected.push(Some(f64::from(u8::from(vary))));
                assert_eq!(found.len(), expected.len());
                for (at, (found, expected)) in found.iter().zip(&expected).enumerate() {
                    near(*found, *expected, &format!("{what}: capability {at}"));
                }
                with_figures += usize::from(expected[9].is_some());

                // Histograms: of a number of ranges, and of that of the values.
                for wanted in [Some(7), None] {
                    let bins = wanted.map_or("null".to_owned(), |bins| bins.to_string());
                    let statement = format!(
                        "select lower, upper, count, n, below, above, not_numbers, skipped, \
                         minimum, maximum from histogram({arguments}, {bins}, '{units}')"
                    );
                    let found = ask(&sql, &statement).await.unwrap();
                    let Some((mut lower, mut upper)) = least.zip(greatest) else {
                        assert!(found.is_empty(), "{what}");
                        continue;
                    };
                    if lower == upper {
                        (lower, upper) = (lower - 0.5, upper + 0.5);
                    }
                    let log = (0..).find(|power| 1_usize << power >= n).unwrap();
                    let bins = wanted.unwrap_or(log + 1);
                    assert_eq!(found.len(), bins, "{what}");
                    let start = |bin: usize| lower + (upper - lower) * (bin as f64 / bins as f64);
                    for (bin, found) in found.iter().enumerate() {
                        let is_last = bin + 1 == bins;
                        let end = if is_last { upper } else { start(bin + 1) };
                        let is_in = |value: &&f64| {
                            **value >= start(bin) && (**value < end || is_last && **value <= end)
                        };
                        let count = values.iter().filter(is_in).count();
                        let mut expected = vec![Some(start(bin)), Some(end), Some(count as f64)];
                        expected.extend([Some(n as f64), Some(0.0), Some(0.0)]);
                        expected.extend(left_out);
                        expected.extend([least, greatest]);
                        let found = numbers(found);
                        assert_eq!(found.len(), expected.len());
                        for (at, (found, expected)) in found.iter().zip(&expected).enumerate() {
                            near(*found, *expected, &format!("{what}: range {bin}, {at}"));
                        }
                    }
                }

                // Charts of individual values, and of the means of three.
                let columns = "index, value, range, limits['center'], limits['lower'], \
                    limits['upper'], range_limits['center'], range_limits['lower'], \
                    range_limits['upper'], n, left_over, not_numbers, skipped, \
                    array_to_string(rules, ' ')";
                for size in [1, 3] {
                    let given = if size == 1 { "null".to_owned() } else { size.to_string() };
                    let statement = format!(
                        "select {columns} from control_chart({arguments}, {given}, '{units}')"
                    );
                    let found = ask(&sql, &statement).await.unwrap();
                    let (points, ranges): (Vec<f64>, Vec<f64>) = if size == 1 {
                        (values.clone(), spread.clone())
                    } else {
                        let subgroups = values.chunks_exact(size).map(|group| {
                            let most = group.iter().copied().reduce(f64::max).unwrap();
                            let least = group.iter().copied().reduce(f64::min).unwrap();
                            (mean(group).unwrap(), most - least)
                        });
                        subgroups.unzip()
                    };
                    assert_eq!(found.len(), points.len(), "{what}");
                    let (center, range) = (mean(&points), mean(&ranges));
                    let factor = if size == 1 { 3.0 / D2 } else { A2 };
                    let around = |sign: f64| Some(center? + sign * factor * range?);
                    let most = if size == 1 { UPPER_RANGE } else { D4 };
                    let limits = [
                        center,
                        around(-1.0),
                        around(1.0),
                        range,
                        range.map(|_| 0.0),
                        range.map(|range| most * range),
                    ];
                    let left_over = if size == 1 { 0 } else { n % size };
                    let is_run = runs(&points, center.unwrap_or_default());
                    for (index, found) in found.iter().enumerate() {
                        let (figures, rules) = found.rsplit_once(" | ").unwrap();
                        let own = match (size, index) {
                            (1, 0) => None,
                            (1, _) => Some(ranges[index - 1]),
                            _ => Some(ranges[index]),
                        };
                        let mut expected = vec![Some(index as f64), Some(points[index]), own];
                        expected.extend(limits);
                        expected.extend([Some(n as f64), Some(left_over as f64)]);
                        expected.extend(left_out);
                        let figures = numbers(figures);
                        assert_eq!(figures.len(), expected.len());
                        for (at, (found, expected)) in figures.iter().zip(&expected).enumerate() {
                            near(*found, *expected, &format!("{what}: point {index}, {at}"));
                        }
                        if size == 1 {
                            let is_out = |value: f64, low: Option<f64>, high: Option<f64>| {
                                low.is_some_and(|low| value < low)
                                    || high.is_some_and(|high| value > high)
                            };
                            let is_beyond = is_out(points[index], limits[1], limits[2])
                                || own.is_some_and(|own| is_out(own, limits[4], limits[5]));
                            let broken = [(is_beyond, "BEYOND"), (is_run[index], "RUN")];
                            let broken = broken.iter().filter(|(is_broken, _)| *is_broken);
                            let names: Vec<&str> = broken.map(|(_, name)| *name).collect();
                            assert_eq!(rules, names.join(" "), "{what}: point {index}");
                            for name in names {
                                *broken_rules.entry(name.to_owned()).or_default() += 1;
                            }
                        }
                    }
                }
            }
        }
    }
    assert!(with_figures > 20 && with_ties > 10, "{with_figures} {with_ties}");
    let is_often = broken_rules.values().all(|count| *count > 10);
    assert!(broken_rules.len() == 2 && is_often, "{broken_rules:?}");
}
