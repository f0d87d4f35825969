//! Figures: the examples of their definition, and random results compared with plain computations.

use std::f64::consts::FRAC_2_SQRT_PI;

use super::*;

fn at(second: i64) -> chrono::DateTime<chrono::Utc> {
    chrono::DateTime::from_timestamp(1_700_000_000 + second, 0).unwrap()
}

fn near(value: Option<f64>, expected: f64) {
    let value = value.unwrap();
    let room = 1e-9 * expected.abs().max(1.0);
    assert!((value - expected).abs() <= room, "{value} is not {expected}");
}

fn ids(session: &Session, requests: Vec<CreateResultRequest>) -> Vec<String> {
    create(session, requests).iter().map(|result| id_of(result).to_string()).collect()
}

fn step(result: &str, name: &str, entries: Vec<BTreeMap<String, String>>) -> CreateStepRequest {
    CreateStepRequest::new()
        .result_id(result)
        .name(name)
        .status(StatusType::Passed)
        .data(StepData::new().parameters(entries))
}

/// One result for each value, each with one step.
fn store_values(session: &Session, values: &[f64]) {
    let request = |second: usize| {
        CreateResultRequest::new()
            .program_name("P")
            .status(StatusType::Passed)
            .started_at(at(second as i64))
    };
    let results = ids(session, (0..values.len()).map(request).collect());
    let steps = results.iter().zip(values).map(|(result, value)| {
        let value = value.to_string();
        step(result, "S", vec![parameter(&[("name", "VOUT"), ("measurement", &value)])])
    });
    session.create_steps(steps.collect(), false).unwrap().require_all().unwrap();
}

const X: [f64; 8] = [10.1, 9.9, 10.0, 10.2, 9.8, 10.0, 10.1, 9.9];

fn small() -> TestStore {
    TestStore::with(|options| options.maintenance_thread(false).seal_rows(8))
}

#[test]
fn a_histogram_of_all_values_counts_those_of_results_that_are_there() {
    let store = small();
    let session = store.session();
    store_values(&session, &X);
    let count = |filter: Option<&str>| {
        let mut request = HistogramRequest::new("VOUT");
        request.filter = filter.map(str::to_owned);
        let ranges = session.histogram(request, &control()).unwrap().ranges;
        ranges.iter().map(|range| range.count).sum::<i64>()
    };
    let late = Some("startedAt > \"2023-11-14T22:13:22Z\"");
    assert_eq!((count(None), count(late)), (8, 5));
    store.store.maintain(&control()).unwrap();
    store_values(&session, &X);
    assert_eq!((count(None), count(late)), (16, 10));
    let all = session.query_results(QueryResultsRequest::new()).unwrap().results;
    for gone in all.iter().step_by(5) {
        session.delete_result(&id_of(gone), false).unwrap();
    }
    assert_eq!(count(None), 12);
}

#[test]
fn the_example_of_yields() {
    use StatusType::{Failed, Passed, Running, Skipped, Terminated};
    let store = small();
    let session = store.session();
    let results = [
        ("P1", "SN1", Failed),
        ("P1", "SN1", Passed),
        ("P1", "SN2", Passed),
        ("P1", "SN3", Terminated),
        ("P1", "SN3", Failed),
        ("P1", "SN4", Running),
        ("P1", "SN4", Passed),
        ("P1", "SN5", Skipped),
        ("P1", "", Passed),
        ("P2", "SN1", Passed),
        ("P2", "SN2", Failed),
        ("P2", "SN2", Passed),
    ];
    let requests = results.iter().enumerate().map(|(second, (program, serial, status))| {
        CreateResultRequest::new()
            .program_name(*program)
            .status(*status)
            .part_number("A")
            .serial_number(*serial)
            .started_at(at(second as i64))
    });
    ids(&session, requests.collect());
    let request = YieldsRequest::new().group_by(["PROGRAM_NAME".to_owned()]);
    let yields = session.yields(request.clone(), &control()).unwrap();
    let [one, two] = &*yields.groups else { panic!("{yields:?}") };
    assert_eq!(one.keys, [Some("P1".to_owned())]);
    assert_eq!((one.units, one.first_units, one.good, one.bad), (5, 5, 4, 3));
    assert_eq!(one.not_counted.values().sum::<i64>(), 2);
    near(one.first_pass_yield, 0.6);
    near(one.final_yield, 0.8);
    near(one.result_yield, 4.0 / 7.0);
    near(one.retest_rate, 2.0 / 7.0);
    near(two.first_pass_yield, 0.5);
    near(two.final_yield, 1.0);
    let [rolled] = &*yields.rolled_throughput else { panic!("{yields:?}") };
    near(rolled.rolled_throughput_yield, 0.30);
    near(rolled.normalized_yield, 0.547_722_557_505_166);
    // A filter that leaves the first result out: in no first pass, unless only the selection counts.
    let request = request.filter("serialNumber == \"SN1\" && status.statusType == \"PASSED\"");
    let yields = session.yields(request.clone(), &control()).unwrap();
    assert_eq!((yields.groups[0].first_units, yields.groups[0].units), (0, 1));
    let request = request.retest_scope(RetestScope::Selection);
    assert_eq!(session.yields(request, &control()).unwrap().groups[0].first_units, 1);
    let faulty = YieldsRequest::new().filter("none ==");
    let error = session.yields(faulty, &control()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument);
}

/// Each field groups as a plain count does; a result without it comes last.
#[test]
fn yields_are_grouped_by_each_field() {
    let store = small();
    let session = store.session();
    for (part, family) in [("P", Some("Analog")), ("Q", Some("Digital")), ("R", None)] {
        let product = CreateProductRequest::new(part).maybe_family(family.map(str::to_owned));
        session.create_products(vec![product]).unwrap().require_all().unwrap();
    }
    let (mut requests, mut plain) = (Vec::new(), Vec::new());
    for at in 0..60_usize {
        let pick =
            |of: usize, name: &str| (at % of != 0).then(|| format!("{name} {}", at / of % 3));
        let part = ["P", "Q", "R", "P"][at * 7 % 4];
        let family = match part {
            "P" => Some("Analog".to_owned()),
            "Q" => Some("Digital".to_owned()),
            _ => None,
        };
        let status = if at % 5 == 0 { StatusType::Failed } else { StatusType::Passed };
        let (system, host, operator) = (pick(3, "rack"), pick(4, "host"), pick(5, "ada"));
        let (workspace, slot) = (format!("lab {}", at % 2), pick(7, "slot"));
        let properties = slot.iter().map(|slot| ("slot".to_owned(), Some(slot.clone())));
        let properties: BTreeMap<String, Option<String>> = properties.collect();
        let mut request = gain(part, &at.to_string()).status(status).workspace(workspace.clone());
        request.system_id.clone_from(&system);
        request.host_name.clone_from(&host);
        request.operator.clone_from(&operator);
        request.properties = Some(properties);
        requests.push(request);
        let keys = [Some(part.to_owned()), family, system, host, operator, Some(workspace), slot];
        plain.push((keys, status == StatusType::Passed));
    }
    create(&session, requests);
    let fields = [
        "PART_NUMBER",
        "PRODUCT_FAMILY",
        "SYSTEM_ID",
        "HOST_NAME",
        "OPERATOR",
        "WORKSPACE",
        "properties.slot",
    ];
    for (at, field) in fields.into_iter().enumerate() {
        let mut expected: BTreeMap<(bool, Option<String>), (i64, i64)> = BTreeMap::new();
        for (keys, is_good) in &plain {
            let key = (keys[at].is_none(), keys[at].clone());
            let (good, bad) = expected.entry(key).or_default();
            *good += i64::from(*is_good);
            *bad += i64::from(!*is_good);
        }
        let request = YieldsRequest::new().group_by([field.to_owned()]);
        let groups = session.yields(request, &control()).unwrap().groups;
        let found: Vec<_> = groups
            .into_iter()
            .map(|group| {
                ((group.keys[0].is_none(), group.keys[0].clone()), (group.good, group.bad))
            })
            .collect();
        assert_eq!(found, expected.into_iter().collect::<Vec<_>>(), "{field}");
    }
}

#[test]
fn the_example_of_failures() {
    let store = small();
    let session = store.session();
    let keys = ["C", "A", "B", "A", "", "A", "C", "B", "A"];
    let request = CreateResultRequest::new().program_name("P").status(StatusType::Failed);
    let results = ids(&session, vec![request; keys.len()]);
    let steps = results.iter().zip(keys).filter(|(_, key)| !key.is_empty()).map(|(result, key)| {
        let failed = parameter(&[("name", "V"), ("measurement", "1"), ("status", "FAILED")]);
        step(result, key, vec![failed]).status(StatusType::Failed)
    });
    session.create_steps(steps.collect(), false).unwrap().require_all().unwrap();
    for sealed in [false, true] {
        if sealed {
            store.store.maintain(&control()).unwrap();
        }
        let pareto = session.failure_pareto(FailureParetoRequest::new(), &control()).unwrap();
        let text = |key: &str| Some(ParetoKey::Text(key.to_owned()));
        let expected = [
            (text("A"), 4, 4.0 / 9.0, 4.0 / 9.0),
            (text("B"), 2, 2.0 / 9.0, 6.0 / 9.0),
            (text("C"), 2, 2.0 / 9.0, 8.0 / 9.0),
            (None, 1, 1.0 / 9.0, 1.0),
        ];
        assert_eq!(pareto.entries.len(), expected.len());
        for (entry, (key, count, fraction, cumulative)) in pareto.entries.iter().zip(expected) {
            assert_eq!((&entry.key, entry.count), (&key, count));
            near(entry.fraction, fraction);
            near(entry.cumulative, cumulative);
        }
        assert_eq!((pareto.good, pareto.not_first, pareto.not_counted), (0, 0, BTreeMap::new()));
        let by = FailureParetoRequest::new().by(ParetoBy::Measurement).take(1_i64);
        let pareto = session.failure_pareto(by, &control()).unwrap();
        let entry = write(&pareto.entries[0]);
        assert_eq!(entry["key"], json!({"path": "A", "measurement": "V"}));
        assert_eq!(pareto.others.unwrap().count, 5);
    }
}

/// An answer tells which results it left out, and why.
#[test]
fn failures_tell_what_they_leave_out() {
    let store = small();
    let session = store.session();
    let request = |serial: &str, second: i64, status: StatusType| {
        gain("P", serial).started_at(at(second)).status(status)
    };
    use StatusType::{Done, Failed, Passed, Running, Skipped};
    let requests = [
        request("1", 1, Failed),
        request("1", 2, Failed),
        request("1", 3, Passed),
        request("2", 4, Passed),
        request("2", 5, Failed),
        request("3", 6, Running),
        request("3", 7, Done),
        request("4", 8, Skipped),
        request("5", 9, Done),
    ];
    create(&session, requests.to_vec());
    let of = |request: FailureParetoRequest| {
        let found = session.failure_pareto(request, &control()).unwrap();
        let not_counted: Vec<_> = found.not_counted.into_iter().collect();
        (found.results, found.good, found.not_first, not_counted)
    };
    let count = |of: &str, count: i64| (of.to_owned(), count);
    let ignored = vec![count("DONE", 2), count("RUNNING", 1), count("SKIPPED", 1)];
    assert_eq!(of(FailureParetoRequest::new()), (3, 2, 0, ignored.clone()));
    let first = FailureParetoRequest::new().first_pass_only(true);
    assert_eq!(of(first), (1, 2, 2, ignored));
    let one = FailureParetoRequest::new().filter("serialNumber == \"1\"");
    assert_eq!(of(one), (2, 1, 0, Vec::new()));
}

/// Of more results than are read one by one, columns alone tell the failures.
#[test]
fn failures_of_many_results_agree_with_a_plain_count() {
    const RESULTS: usize = 600;
    let store = TestStore::with(|options| options.maintenance_thread(false).seal_rows(700));
    let session = store.session();
    let mut plain: BTreeMap<(&str, String), i64> = BTreeMap::new();
    let all: Vec<ResultWithSteps> = (0..RESULTS)
        .map(|at| {
            let bad = |name: String| {
                let failed =
                    parameter(&[("name", "V"), ("measurement", "1"), ("status", "Failed")]);
                CreateStepRequest::new()
                    .name(name)
                    .step_type(format!("type {}", at % 4))
                    .status(StatusType::Failed)
                    .data(StepData::new().parameters([failed]))
            };
            let good = CreateStepRequest::new().name("good").status(StatusType::Passed);
            let (first, second) = (format!("step {}", at % 5), format!("step {}", at % 3));
            // Every seventh result has its first bad step below another bad one.
            let (path, name) = if at.is_multiple_of(7) {
                (format!("{first}\n{second}"), second.clone())
            } else {
                (first.clone(), first.clone())
            };
            let steps = if at.is_multiple_of(7) {
                vec![good, bad(first).children([bad(second)])]
            } else {
                vec![good, bad(first), bad(second)]
            };
            for (by, key) in [
                (ParetoBy::Path, path.clone()),
                (ParetoBy::Name, name),
                (ParetoBy::StepType, format!("type {}", at % 4)),
                (ParetoBy::Measurement, path),
            ] {
                *plain.entry((by.as_str(), key)).or_default() += 1;
            }
            let request = CreateResultRequest::new().program_name("P").status(StatusType::Failed);
            ResultWithSteps::new(request).steps(steps)
        })
        .collect();
    session.append_results(&all).unwrap().require_all().unwrap();
    for state in ["in chunks", "sealed in part", "sealed"] {
        for by in [ParetoBy::Path, ParetoBy::Name, ParetoBy::StepType, ParetoBy::Measurement] {
            let request = FailureParetoRequest::new().by(by);
            let entries = session.failure_pareto(request, &control()).unwrap().entries;
            let key = |entry: &ParetoEntry| match entry.key.clone().unwrap() {
                ParetoKey::Text(text) => text,
                ParetoKey::Measurement(key) => {
                    assert_eq!(key.measurement.as_deref(), Some("V"));
                    key.path
                }
            };
            let found: BTreeMap<_, _> =
                entries.iter().map(|entry| ((by.as_str(), key(entry)), entry.count)).collect();
            let wanted: BTreeMap<_, _> = plain
                .iter()
                .filter(|((of, _), _)| *of == by.as_str())
                .map(|(key, n)| (key.clone(), *n))
                .collect();
            assert_eq!(found, wanted, "{state}");
        }
        store.store.maintain(&control()).unwrap();
    }
    store.assert_sound();
}

#[test]
fn the_examples_of_series() {
    let store = small();
    let session = store.session();
    store_values(&session, &X);
    for sealed in [false, true] {
        if sealed {
            store.store.maintain(&control()).unwrap();
        }
        let request = CapabilityRequest::new("VOUT").low_limit(9.4).high_limit(10.6);
        let of = |request: CapabilityRequest| session.capability(request, &control()).unwrap();
        let figures = of(request.clone());
        assert_eq!((figures.n, figures.mean), (8, Some(10.0)));
        near(figures.overall_deviation, 0.130_930_734_141_595);
        near(figures.within_deviation, 0.177_245_385_090_552);
        near(figures.cp, FRAC_2_SQRT_PI);
        near(figures.cpk, FRAC_2_SQRT_PI);
        near(figures.pp, 1.527_525_231_651_947);
        near(figures.ppk, 1.527_525_231_651_947);
        let sized = request.clone().subgroup_size(4_i64);
        let range = of(sized.clone().within_method(WithinMethod::Range));
        near(range.within_deviation, 0.3 / 2.058_750_746_0);
        let pooled = of(sized.within_method(WithinMethod::Pooled));
        near(pooled.within_deviation, 0.129_099_444_873_581);
        let one = of(CapabilityRequest::new("VOUT").high_limit(10.6));
        assert_eq!((one.cp, one.cpk == one.cpu), (None, true));
        near(one.cpu, FRAC_2_SQRT_PI);

        let request = HistogramRequest::new("VOUT").bins(4_i64);
        let histogram = session.histogram(request, &control()).unwrap();
        let counts: Vec<i64> = histogram.ranges.iter().map(|range| range.count).collect();
        assert_eq!(counts, [1, 2, 2, 3]);

        let request = ControlChartRequest::new("VOUT");
        let chart = session.control_chart(request.clone(), &control()).unwrap();
        near(chart.limits.center, 10.0);
        near(chart.limits.lower, 9.468_263_844_728);
        near(chart.limits.upper, 10.531_736_155_272);
        near(chart.range_limits.upper, 0.653_306_383_86);
        let (mut pages, mut request) = (Vec::new(), request.take(3_i64));
        loop {
            let page = session.control_chart(request.clone(), &control()).unwrap();
            assert_eq!((&page.limits, page.n), (&chart.limits, 8));
            pages.extend(page.points);
            request.continuation_token = page.continuation_token;
            if request.continuation_token.is_none() {
                break;
            }
        }
        assert_eq!(pages, chart.points);
        for point in &pages {
            let found = session.get_step(&point.result_id.as_str().into(), &point.step_id);
            assert_eq!(found.unwrap().name.as_deref(), Some("S"));
        }
        let other = ControlChartRequest::new("other").continuation_token("x");
        assert!(session.control_chart(other, &control()).is_err());
    }
    let store = small();
    let session = store.session();
    store_values(&session, &[5.0, 5.1, 4.9, 5.2, 5.0, 5.1, 4.8, 5.0, 4.9, 5.3]);
    let request = ControlChartRequest::new("VOUT").chart(ChartType::Means).subgroup_size(3_i64);
    let chart = session.control_chart(request, &control()).unwrap();
    near(chart.limits.center, 5.0);
    near(chart.limits.lower, 4.795_334_658);
    near(chart.limits.upper, 5.204_665_342);
    // Of the ranges 0.2, 0.2 and 0.2.
    near(chart.range_limits.upper, 0.2 * 2.574_591_289_8);
    assert_eq!((chart.left_over, chart.points.len()), (1, 3));
}

/// A result of the plain list.
#[derive(Clone)]
struct Plain {
    id: String,
    part: Option<&'static str>,
    serial: Option<&'static str>,
    program: &'static str,
    status: StatusType,
    second: i64,
    is_hidden: bool,
    /// Those of its measurements that take part, in step order: value and path.
    values: Vec<Measured>,
}

#[derive(Clone)]
struct Measured {
    text: &'static str,
    path: String,
    units: Option<&'static str>,
    is_skipped: bool,
    started: i64,
}

fn pick<T: Clone>(random: &mut Random, all: &[T]) -> T {
    all[random.below(all.len() as u64) as usize].clone()
}

/// Random results with steps in a store, and as a list in order of start and id.
fn random_results(seed: u64, store: &TestStore) -> Vec<Plain> {
    use StatusType::{Done, Errored, Failed, Passed, Running};
    let session = store.session();
    let mut random = Random::new(seed);
    let mut all = Vec::new();
    for _ in 0..60 {
        let mut plain = Plain {
            id: String::new(),
            part: pick(&mut random, &[None, Some("A"), Some("B")]),
            serial: pick(&mut random, &[None, Some(""), Some("1"), Some("2"), Some("3")]),
            program: pick(&mut random, &["P", "Q"]),
            status: pick(&mut random, &[Passed, Passed, Failed, Errored, Done, Running]),
            second: random.below(20) as i64,
            is_hidden: random.below(4) == 0,
            values: Vec::new(),
        };
        let mut request = CreateResultRequest::new()
            .program_name(plain.program)
            .status(plain.status)
            .started_at(at(plain.second));
        request.part_number = plain.part.map(str::to_owned);
        request.serial_number = plain.serial.map(str::to_owned);
        request.workspace = Some(if plain.is_hidden { "secret" } else { "open" }.to_owned());
        plain.id = ids(&session, vec![request]).remove(0);
        let mut steps = Vec::new();
        for number in 0..random.below(4) {
            let measured = Measured {
                text: pick(&mut random, &["1", "2.5", "2.5", "-3", "nan", "x", "7e1"]),
                path: pick(&mut random, &["a", "b"]).to_owned(),
                units: pick(&mut random, &[None, Some("V")]),
                is_skipped: random.below(8) == 0,
                started: random.below(3) as i64,
            };
            let mut entry = parameter(&[("name", "X"), ("measurement", measured.text)]);
            entry.extend(measured.units.map(|units| ("units".to_owned(), units.to_owned())));
            let other = parameter(&[("name", "Y"), ("measurement", "9")]);
            let status = if measured.is_skipped { StatusType::Skipped } else { Passed };
            let request = step(&plain.id, &measured.path, vec![other, entry])
                .step_id(number.to_string())
                .status(status)
                .started_at(at(measured.started));
            steps.push(request);
            plain.values.push(measured);
        }
        session.create_steps(steps, false).unwrap().require_all().unwrap();
        plain.values.sort_by_key(|measured| measured.started);
        if random.below(12) == 0 {
            store.store.maintain(&control()).unwrap();
        }
        // Steps that outlive their result take no part.
        if random.below(12) == 0 {
            session.delete_result(&plain.id.as_str().into(), false).unwrap();
            continue;
        }
        all.push(plain);
    }
    all.sort_by(|one, other| (one.second, &one.id).cmp(&(other.second, &other.id)));
    all
}

fn class(status: StatusType) -> Option<bool> {
    match status {
        StatusType::Passed => Some(true),
        StatusType::Failed | StatusType::Errored => Some(false),
        _ => None,
    }
}

/// For each unit the places of its counted results, in order.
fn units(all: &[&Plain]) -> Vec<Vec<usize>> {
    let mut units: BTreeMap<(Option<&str>, &str, &str), Vec<usize>> = BTreeMap::new();
    let mut alone = Vec::new();
    for (place, plain) in all.iter().enumerate() {
        if class(plain.status).is_none() {
            continue;
        }
        match plain.serial.filter(|serial| !serial.is_empty()) {
            Some(serial) => {
                units.entry((plain.part, serial, plain.program)).or_default().push(place);
            }
            None => alone.push(vec![place]),
        }
    }
    units.into_values().chain(alone).collect()
}

fn check_yields(session: &Session, all: &[&Plain]) {
    let is_selected = |plain: &Plain| plain.program == "P";
    let request =
        YieldsRequest::new().filter("programName == \"P\" && status.statusType != \"DONE\"");
    let found = session.yields(request, &control()).unwrap().groups.remove(0);
    let units = units(all);
    let firsts: Vec<&Plain> = units
        .iter()
        .filter_map(|unit| unit.first())
        .map(|place| all[*place])
        .filter(|plain| is_selected(plain))
        .collect();
    let good = |list: &[&Plain]| {
        list.iter().filter(|plain| class(plain.status) == Some(true)).count() as i64
    };
    let counted: Vec<&Plain> = all
        .iter()
        .copied()
        .filter(|plain| is_selected(plain) && class(plain.status).is_some())
        .collect();
    assert_eq!(found.first_units, firsts.len() as i64);
    assert_eq!((found.good, found.good + found.bad), (good(&counted), counted.len() as i64));
    let share = |part: i64, whole: usize| (whole > 0).then(|| part as f64 / whole as f64);
    assert_eq!(found.first_pass_yield, share(good(&firsts), firsts.len()));
    let lasts: Vec<&Plain> = units
        .iter()
        .filter_map(|unit| unit.last())
        .map(|place| all[*place])
        .filter(|plain| is_selected(plain))
        .collect();
    assert_eq!(found.final_yield, share(good(&lasts), lasts.len()));
    let running =
        all.iter().filter(|plain| is_selected(plain) && plain.status == StatusType::Running);
    let count = running.count() as i64;
    assert_eq!(found.not_counted.get("RUNNING").copied().unwrap_or_default(), count);
}

/// Failures of all results, which statuses alone tell, and the same by a filter that all pass.
fn check_failures(session: &Session, all: &[&Plain]) {
    let found = session.failure_pareto(FailureParetoRequest::new(), &control()).unwrap();
    let of = |is_good| all.iter().filter(|plain| class(plain.status) == is_good).count() as i64;
    assert_eq!((found.good, found.results), (of(Some(true)), of(Some(false))));
    assert_eq!(found.not_counted.values().sum::<i64>(), of(None));
    let filtered = FailureParetoRequest::new().filter("programName != \"none\"");
    assert_eq!(session.failure_pareto(filtered, &control()).unwrap(), found);
    // A name may change the class, so that statuses do not tell it.
    let mut named = FailureParetoRequest::new();
    named.custom = Some(BTreeMap::from([("none".to_owned(), FigureClass::Bad)]));
    assert_eq!(session.failure_pareto(named, &control()).unwrap(), found);
}

fn check_series(session: &Session, all: &[&Plain]) {
    let units = units(all);
    for pass in [SeriesPass::All, SeriesPass::First, SeriesPass::Last] {
        for path in ["a", "b"] {
            let takes_part = |place: usize| match pass {
                SeriesPass::First => units.iter().any(|unit| unit.first() == Some(&place)),
                SeriesPass::Last => units.iter().any(|unit| unit.last() == Some(&place)),
                _ => true,
            };
            let (mut values, mut not_numbers, mut skipped) = (Vec::new(), 0, 0);
            for (place, plain) in all.iter().enumerate().filter(|(place, _)| takes_part(*place)) {
                for measured in &plain.values {
                    if measured.path != path || measured.units != Some("V") {
                        continue;
                    }
                    match (measured.is_skipped, measured.text.parse::<f64>()) {
                        (true, _) => skipped += 1,
                        (false, Ok(value)) if value.is_finite() => {
                            values.push((value, all[place].id.clone()));
                        }
                        _ => not_numbers += 1,
                    }
                }
            }
            let mut request =
                ControlChartRequest::new("X").path(path).units("V").pass(pass).take(10_000_i64);
            let chart = session.control_chart(request.clone(), &control()).unwrap();
            let points: Vec<(f64, String)> =
                chart.points.iter().map(|point| (point.value, point.result_id.clone())).collect();
            assert_eq!(points, values, "{pass:?} {path}");
            assert_eq!((chart.not_numbers, chart.skipped), (not_numbers, skipped));
            request.step_filter = Some("name != \"none\"".to_owned());
            let filtered = session.control_chart(request.clone(), &control()).unwrap();
            assert_eq!(filtered.points, chart.points);
            let mut request = CapabilityRequest::new("X").path(path).units("V").pass(pass);
            request.low_limit = Some(0.0);
            let found = session.capability(request, &control()).unwrap();
            let numbers: Vec<f64> = values.iter().map(|(value, _)| *value).collect();
            assert_eq!(found.n, numbers.len() as i64);
            if numbers.len() > 1 {
                let n = numbers.len() as f64;
                let mean = numbers.iter().sum::<f64>() / n;
                near(found.mean, mean);
                let squares: f64 = numbers.iter().map(|value| (value - mean).powi(2)).sum();
                near(found.overall_deviation, (squares / (n - 1.0)).sqrt());
                let ranges: f64 = numbers.windows(2).map(|two| (two[1] - two[0]).abs()).sum();
                near(found.within_deviation, ranges / (n - 1.0) / FRAC_2_SQRT_PI);
            }
            let request = HistogramRequest::new("X").path(path).units("V").pass(pass);
            let histogram = session.histogram(request, &control()).unwrap();
            let count: i64 = histogram.ranges.iter().map(|range| range.count).sum();
            assert_eq!(count, numbers.len() as i64);
        }
    }
    let mixed = session.capability(CapabilityRequest::new("X"), &control()).unwrap_err();
    assert_eq!(mixed.kind(), ErrorKind::InvalidArgument);
    let paths = CapabilityRequest::new("X").units("V");
    assert!(session.capability(paths, &control()).unwrap_err().to_string().contains("path"));
}

#[test]
fn random_results_agree_with_plain_computations() {
    for seed in 0..6 {
        let store = TestStore::with(|options| {
            options.maintenance_thread(false).seal_rows(8).access_policy(GuestsRead("open"))
        });
        let all = random_results(seed, &store);
        let guest = store.store.session(Identity::user("guest"));
        let open: Vec<&Plain> = all.iter().filter(|plain| !plain.is_hidden).collect();
        check_yields(&guest, &open);
        check_failures(&guest, &open);
        check_series(&guest, &open);
        let every: Vec<&Plain> = all.iter().collect();
        check_yields(&store.session(), &every);
        check_failures(&store.session(), &every);
        check_series(&store.session(), &every);
        store.store.maintain(&control()).unwrap();
        check_series(&store.session(), &every);
    }
}

#[test]
fn the_tables_of_a_result_are_those_of_both_sides() {
    let store = small();
    let session = store.session();
    let request = CreateResultRequest::new()
        .program_name("P")
        .status(StatusType::Passed)
        .data_table_ids(["named".to_owned()]);
    let id = ids(&session, vec![request]).remove(0);
    let table = json!({
        "columns": [{"name": "i", "dataType": "INT64", "columnType": "INDEX"}],
        "testResultId": id,
    });
    let own = session.create_table(read(&table)).unwrap().to_string();
    let found = session.tables_of_result(&id.as_str().into()).unwrap();
    assert_eq!(found, ["named".to_owned(), own]);
    let unknown = session.tables_of_result(&"none".into()).unwrap_err();
    assert_eq!(unknown.kind(), ErrorKind::NotFound);
}
