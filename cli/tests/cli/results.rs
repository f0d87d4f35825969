//! `ls results`, `ls steps`, `show` of a result, `yield`, `pareto`, `capability` and the charts of a
//! measurement: the figures are those of the library.

use stationdb::prelude::*;
use stationdb::results::{
    CapabilityRequest, ChartType, ControlChartRequest, CreateResultRequest, CreateStepRequest,
    FailureParetoRequest, HistogramRequest, ParetoBasis, ParetoBy, ResultWithSteps, RetestScope,
    SeriesPass, WithinMethod, YieldsRequest,
};
use stationdb::serde_json::{Value, json, to_value};
use stationdb::{Control, Identity, Session, Store};

use crate::bench::Bench;

/// Results of two programs in two weeks.
const RESULTS: usize = 60;

fn parameter(name: &str, value: f64, units: &str, is_good: bool) -> Value {
    json!({"name": name, "measurement": value.to_string(), "units": units, "lowLimit": "11.8",
        "highLimit": "12.2", "comparisonType": "GELE",
        "status": if is_good { "Passed" } else { "Failed" }})
}

fn step(body: Value) -> CreateStepRequest {
    stationdb::from_json_strict(body.to_string().as_bytes()).unwrap()
}

/// One result: every seventh fails at `Power`, every eleventh at `Gain > 1 kHz`.
fn result(number: usize) -> ResultWithSteps {
    let vout = 12.0 + (number * 37 % 29) as f64 / 100.0 - 0.14;
    let (power, gain) = (!number.is_multiple_of(7), !number.is_multiple_of(11));
    let status = |is_good: bool| json!({"statusType": if is_good { "PASSED" } else { "FAILED" }});
    let program = if number.is_multiple_of(3) { "Final" } else { "Board" };
    let at = format!("2026-03-{:02}T{:02}:00:00Z", 2 + number / 5, 8 + number % 5);
    let about = json!({"programName": program, "status": status(power && gain),
        "partNumber": "P-1", "serialNumber": format!("SN-{}", number / 2), "startedAt": at,
        "operator": if number.is_multiple_of(2) { "ada" } else { "grace" }});
    let about: CreateResultRequest =
        stationdb::from_json_strict(about.to_string().as_bytes()).unwrap();
    let mut parameters = vec![parameter("VOUT", vout, "V", power)];
    parameters.push(parameter("IOUT", vout / 10.0, "A", power));
    ResultWithSteps::new(about).steps([
        step(json!({"name": "Power", "stepId": "power", "stepType": "NumericLimitTest",
            "status": status(power), "totalTimeInSeconds": 0.5,
            "data": {"parameters": parameters}})),
        step(json!({"name": "Gain", "stepId": "gain", "status": status(gain), "children": [
            {"name": "1 kHz", "stepId": "one", "status": status(gain), "data": {"parameters": [
                parameter("VOUT", vout + 0.01, "V", gain)]}}]})),
    ])
}

fn bench() -> Bench {
    let bench = Bench::empty();
    bench.fill(|session| {
        let all: Vec<ResultWithSteps> = (0..RESULTS).map(result).collect();
        session.append_results(&all).unwrap().require_all().unwrap();
    });
    bench
}

/// What the library says about the store of a bench.
fn asked<T>(bench: &Bench, ask: impl FnOnce(&Session, &Control) -> T) -> T {
    let store = Store::open(bench.store()).unwrap();
    let answer = ask(&store.session(Identity::user("ada")), &Control::default());
    store.close().unwrap();
    answer
}

/// Compares texts: a double that is read from JSON may be the neighbour of the one that was written.
fn same(bench: &Bench, arguments: &[&str], answer: &Value) {
    let written = bench.good(&[arguments, &["--jsonl"]].concat());
    assert_eq!(written.trim_end(), answer.to_string(), "{arguments:?}");
    let value = bench.json(arguments);
    let names =
        |value: &Value| -> Vec<String> { value.as_object().unwrap().keys().cloned().collect() };
    assert_eq!(names(&value), names(answer), "{arguments:?}");
}

/// The fields of the lines of CSV that has no quotes.
fn cells(csv: &str) -> Vec<Vec<&str>> {
    csv.lines().map(|line| line.split(',').collect()).collect()
}

#[test]
fn results_and_steps_are_listed() {
    let bench = bench();
    let failed = "status.statusType == \"FAILED\"";
    let results = bench.json(&["ls", "results", "--filter", failed, "--order", "startedAt"]);
    let expected = (0..RESULTS).filter(|n| n % 7 == 0 || n % 11 == 0).count();
    assert_eq!(results.as_array().map(Vec::len), Some(expected));
    let steps = bench.json(&["ls", "steps"]);
    assert_eq!(steps.as_array().map(Vec::len), Some(3 * RESULTS));
    assert_eq!(steps[2]["path"], "Gain\n1 kHz");
    let first = ["ls", "steps", "--filter", "name == \"1 kHz\" && status.statusType == \"FAILED\""];
    let columns = ["--order", "startedAt", "--take", "2", "--columns", "stepId,name", "--csv"];
    assert_eq!(bench.good(&[&first[..], &columns].concat()), "stepId,name\none,1 kHz\none,1 kHz\n");
    let told = bench.run(&["ls", "steps", "--filter", "nam == 1"]).bad(2);
    assert!(told.contains("unknown property `nam`"), "{told}");
    assert_eq!(bench.json(&["info"])["counts"]["steps"], 3 * RESULTS);
}

#[test]
fn a_result_is_shown_with_its_steps() {
    let bench = bench();
    let id = bench.json(&["ls", "results", "--take", "1"])[0]["id"].as_str().unwrap().to_owned();
    let text = bench.good(&["show", &id]);
    let (members, tree) = text.split_once("\n\n").unwrap();
    assert!(members.contains("programName") && members.contains("status.statusType"), "{text}");
    let lines: Vec<Vec<&str>> = tree.lines().map(|line| line.split("  ").collect()).collect();
    let line = |at: usize| -> Vec<&str> {
        lines[at].iter().map(|cell| cell.trim()).filter(|cell| !cell.is_empty()).collect()
    };
    let limits = "11.8 <= x <= 12.2";
    assert_eq!(
        line(0),
        ["step", "status", "seconds", "measurement", "value", "units", "limits", "verdict"]
    );
    assert_eq!(line(1), ["Power", "FAILED", "0.5", "VOUT", "11.86", "V", limits, "Failed"]);
    assert_eq!(line(2), ["IOUT", "1.186", "A", limits, "Failed"]);
    assert_eq!(line(3), ["Gain", "FAILED", "0.0"]);
    assert_eq!(line(4), ["1 kHz", "FAILED", "0.0", "VOUT", "11.87", "V", limits, "Failed"]);
    assert!(tree.lines().nth(4).unwrap().starts_with("  1 kHz"), "{tree}");

    let whole = bench.json(&["show", &id]);
    let steps = asked(&bench, |session, _| {
        let query = stationdb::results::QueryStepsRequest::new().filter("resultId == @0");
        session.query_steps(query.substitutions([id.as_str()])).unwrap().steps
    });
    assert_eq!(whole["steps"], to_value(steps).unwrap());
    assert_eq!(whole["id"], id.as_str());

    let csv = bench.good(&["show", &id, "--csv"]);
    let lines = cells(&csv);
    assert_eq!(lines.len(), 5, "{csv}");
    let line = |name: &str, at: usize| {
        let column = lines[0].iter().position(|column| *column == name).unwrap();
        lines[at][column]
    };
    assert_eq!((line("depth", 4), line("stepId", 4), line("value", 4)), ("1", "one", "11.87"));
    assert_eq!((line("step", 2), line("measurement", 2)), ("Power", "IOUT"));
}

#[test]
fn yields_are_those_of_the_library() {
    let bench = bench();
    let by = || ["week", "programName"].map(str::to_owned);
    let (all, grouped, chosen, of_store) = asked(&bench, |session, control| {
        let ask = |request: YieldsRequest| session.yields(request, control).unwrap();
        // They repeat what the others test first.
        let chosen = || YieldsRequest::new().filter("operator == \"grace\"");
        (
            ask(YieldsRequest::new()),
            ask(YieldsRequest::new().group_by(by())),
            ask(chosen().retest_scope(RetestScope::Selection)),
            ask(chosen()),
        )
    });
    same(&bench, &["yield"], &to_value(&all).unwrap());
    let week = ["yield", "--by", "week,programName"];
    same(&bench, &week, &to_value(&grouped).unwrap());
    assert!(grouped.groups.len() == 4, "{grouped:?}");
    let of_grace = ["yield", "--filter", "operator == \"grace\"", "--selection"];
    same(&bench, &of_grace, &to_value(&chosen).unwrap());
    same(&bench, &of_grace[..3], &to_value(&of_store).unwrap());
    assert_ne!(of_store, chosen);

    let csv = bench.good(&[&week[..], &["--csv"]].concat());
    let lines = cells(&csv);
    assert_eq!(lines[0][..3], ["week", "programName", "firstPassYield"]);
    for (group, line) in grouped.groups.iter().zip(&lines[1..]) {
        assert_eq!(group.keys, [Some(line[0].to_owned()), Some(line[1].to_owned())]);
        assert_eq!(group.first_pass_yield, line[2].parse().ok());
        assert_eq!(group.good, line[8].parse::<i64>().unwrap());
    }
    let text = bench.good(&week);
    let line = text.lines().nth(1).unwrap();
    let share = format!("{:.2} %", grouped.groups[0].first_pass_yield.unwrap() * 100.0);
    assert!(line.starts_with("2026-03-02  Board ") && line.contains(&share), "{text}");
    // Two programs: the yield over both.
    let rolled = all.rolled_throughput[0].rolled_throughput_yield.unwrap();
    let last = text.lines().last().unwrap();
    let rolled = format!("{:.2}", rolled * 100.0);
    let cells: Vec<&str> = last.split_whitespace().collect();
    assert_eq!(cells[..4], ["P-1", "2", rolled.as_str(), "%"], "{text}");
}

#[test]
fn the_pareto_is_that_of_the_library() {
    let bench = bench();
    let (by_path, by_measurement, cut) = asked(&bench, |session, control| {
        let ask = |request| session.failure_pareto(request, control).unwrap();
        let all = || FailureParetoRequest::new().basis(ParetoBasis::All);
        (
            ask(FailureParetoRequest::new()),
            ask(all().by(ParetoBy::Measurement)),
            ask(all().by(ParetoBy::Name).take(1_i64).first_pass_only(true)),
        )
    });
    same(&bench, &["pareto"], &to_value(&by_path).unwrap());
    let measurement = ["pareto", "--by", "measurement", "--basis", "all"];
    same(&bench, &measurement, &to_value(&by_measurement).unwrap());
    let first = ["pareto", "--by", "name", "--basis", "all", "--take", "1", "--first-pass"];
    same(&bench, &first, &to_value(&cut).unwrap());

    let csv = bench.good(&[&measurement[..], &["--csv"]].concat());
    let expected = "key.path,key.measurement,count,fraction,cumulative\nPower,VOUT,9,";
    assert!(csv.starts_with(expected), "{csv}");
    let text = bench.good(&["pareto"]);
    assert!(text.lines().any(|line| line.starts_with("Gain > 1 kHz")), "{text}");
    let total = format!("{} failures of {} results", by_path.total, by_path.results);
    assert_eq!(text.lines().last(), Some(total.as_str()));
    let text = bench.good(&first);
    let others = cut.others.unwrap();
    assert!(text.contains(&format!("({} others)", others.keys)), "{text}");
}

#[test]
fn the_capability_is_that_of_the_library() {
    let bench = bench();
    let (whole, chosen) = asked(&bench, |session, control| {
        let ask = |request| session.capability(request, control).unwrap();
        let chosen = CapabilityRequest::new("VOUT").any_path(true).pass(SeriesPass::First);
        let chosen = chosen.low_limit(11.5).filter("operator == \"ada\"");
        let pooled = chosen.within_method(WithinMethod::Pooled).subgroup_size(4_i64);
        (ask(CapabilityRequest::new("VOUT").path("Gain\n1 kHz")), ask(pooled))
    });
    assert_eq!(whole.n, RESULTS as i64);
    let asked = ["capability", "VOUT", "--path", "Gain > 1 kHz"];
    same(&bench, &asked, &to_value(&whole).unwrap());
    let other = ["capability", "VOUT", "--any-path", "--pass", "first", "--low", "11.5"];
    let within = ["--within", "pooled", "--subgroup", "4", "--filter", "operator == \"ada\""];
    same(&bench, &[&other[..], &within].concat(), &to_value(&chosen).unwrap());
    let csv = bench.good(&[&asked[..], &["--csv"]].concat());
    assert!(csv.contains(&format!("\ncpk,{}\n", whole.cpk.unwrap())), "{csv}");
    let text = bench.good(&asked);
    let cpk = text.lines().find(|line| line.starts_with("cpk ")).unwrap();
    assert!(cpk.ends_with(&whole.cpk.unwrap().to_string()), "{text}");
}

#[test]
fn charts_are_those_of_the_library() {
    let bench = bench();
    let (histogram, imr, xbar) = asked(&bench, |session, control| {
        let chart = || ControlChartRequest::new("VOUT").path("Power").take(100_000_i64);
        let request = HistogramRequest::new("VOUT").path("Power").bins(5_i64);
        let means = chart().chart(ChartType::Means).subgroup_size(4_i64).baseline_count(10_i64);
        (
            session.histogram(request, control).unwrap(),
            session.control_chart(chart(), control).unwrap(),
            session.control_chart(means, control).unwrap(),
        )
    });
    let plot = ["plot", "--measurement", "VOUT", "--path", "Power", "--chart"];
    let plot = |more: &[&'static str]| [&plot[..], more].concat();
    let bars = plot(&["histogram", "--bins", "5"]);
    same(&bench, &bars, &to_value(&histogram).unwrap());
    same(&bench, &plot(&["imr"]), &to_value(&imr).unwrap());
    let means = plot(&["xbar", "--subgroup", "4", "--baseline", "10"]);
    same(&bench, &means, &to_value(&xbar).unwrap());
    let csv = bench.good(&[&means[..], &["--csv"]].concat());
    assert_eq!(csv.lines().count(), xbar.points.len() + 1);
    let first = &xbar.points[0];
    let line = format!("0,{},{},2026-03-02T08:00:00.000Z,", first.value, first.range.unwrap());
    assert!(csv.lines().nth(1).unwrap().starts_with(&line), "{csv}");

    // In characters: the count of each range, and the limits of the measurement.
    let text = bench.good(&bars);
    assert!(text.starts_with("VOUT: 60 values, mean "), "{text}");
    let counts: Vec<i64> = text
        .lines()
        .filter_map(|line| line.split_once('│')?.1.trim_start_matches('█').trim().parse().ok())
        .collect();
    let expected: Vec<i64> = histogram.ranges.iter().map(|range| range.count).collect();
    assert_eq!(counts, expected, "{text}");
    assert!(text.contains("low limit 11.8") && text.contains("high limit 12.2"), "{text}");
    let text = bench.good(&plot(&["imr", "--limit", "12.5"]));
    let legends: Vec<&str> = text.lines().filter(|line| line.contains("x: number")).collect();
    assert_eq!(legends.len(), 2, "{text}");
    let center = format!("┄ center {}", &imr.limits.center.unwrap().to_string()[..5]);
    let control = ["┄ upper control limit ", "┄ lower control limit "];
    for part in ["VOUT", &center, "┅ limit 12.5"].into_iter().chain(control) {
        assert!(legends[0].contains(part), "{part}: {text}");
    }
    assert!(legends[1].contains("moving range"), "{text}");
}

#[test]
fn charts_are_pictures_too() {
    let bench = bench();
    let plot = |more: &[&str]| {
        let fixed = ["plot", "--measurement", "VOUT", "--step", "Power"];
        bench.good(&[&fixed, more].concat())
    };
    let said = plot(&["--chart", "histogram", "-o", "bars.png"]);
    assert_eq!(said, "plotted 60 values of VOUT to bars.png\n");
    plot(&["--chart", "histogram", "--low", "11", "-o", "other.png"]);
    let said = plot(&["-o", "imr.png", "--baseline", "2", "--json"]);
    let said: Value = stationdb::serde_json::from_str(&said).unwrap();
    assert_eq!((&said["file"], &said["n"]), (&json!("imr.png"), &json!(60)));
    assert!(said["breakingRules"].as_u64().unwrap() > 0, "{said}");
    plot(&["--chart", "xbar", "-o", "xbar.png"]);
    let mut pictures: Vec<Vec<u8>> = bench
        .names()
        .iter()
        .map(|name| {
            let picture = std::fs::read(bench.path(name)).unwrap();
            assert!(picture.starts_with(b"\x89PNG\r\n\x1a\n") && picture.len() > 3000, "{name}");
            picture
        })
        .collect();
    pictures.sort();
    pictures.dedup();
    assert_eq!(pictures.len(), 4);
}

/// A blank text is another key than none.
#[test]
fn csv_and_tables_tell_none_from_a_blank_text() {
    let bench = Bench::empty();
    bench.fill(|session| {
        let failed = json!({"statusType": "FAILED"});
        let request = |part_number: Value| -> CreateResultRequest {
            let about = json!({"programName": "P", "status": failed, "partNumber": part_number});
            stationdb::from_json_strict(about.to_string().as_bytes()).unwrap()
        };
        let blank = ResultWithSteps::new(request(json!("")))
            .steps([step(json!({"name": "", "stepId": "s", "status": failed}))]);
        let none = ResultWithSteps::new(request(Value::Null));
        session.append_results(&[blank, none]).unwrap().require_all().unwrap();
    });
    let first_fields = |arguments: &[&str]| -> Vec<String> {
        let csv = bench.good(&[arguments, &["--csv"]].concat());
        let lines = csv.lines().skip(1);
        let mut fields: Vec<String> =
            lines.map(|line| line.split(',').next().unwrap().to_owned()).collect();
        fields.sort();
        fields
    };
    for arguments in [
        &["yield", "--by", "PART_NUMBER"][..],
        &["pareto"],
        &["pareto", "--by", "NAME"],
        &["ls", "results", "--columns", "partNumber"],
    ] {
        assert_eq!(first_fields(arguments), ["", "\"\""], "{arguments:?}");
    }
    let table = bench.good(&["yield", "--by", "PART_NUMBER"]);
    let is_none = |line: &&str| line.starts_with("(none) ");
    assert_eq!(table.lines().filter(is_none).count(), 1, "{table}");
}

#[test]
fn reports_are_pages() {
    let bench = bench();
    let id = bench.json(&["ls", "results", "--take", "1", "--columns", "id"])[0]["id"].clone();
    let id = id.as_str().unwrap();
    let part = bench.json(&["ls", "products", "--columns", "partNumber"])[0]["partNumber"].clone();
    let part = part.as_str().unwrap();
    for (asked, file, text) in [
        (&["run", id][..], "run.html", id),
        (&["product", part], "product.html", "VOUT"),
        (&["product", part, "--time-zone", "Europe/Berlin"], "zone.html", "VOUT"),
        (&["store"], "store.html", "No damage was found"),
    ] {
        // Alone, and while another process has the store open.
        for is_open in [false, true] {
            let owner = is_open.then(|| Store::open(bench.store()).unwrap());
            let said = bench.good(&[&["report"], asked, &["-o", file]].concat());
            assert_eq!(said, format!("wrote {file}, which any browser opens\n"));
            let page = bench.read(file);
            assert!(page.starts_with("<!DOCTYPE html>") && page.contains(text), "{file}");
            std::fs::remove_file(bench.path(file)).unwrap();
            if let Some(owner) = owner {
                owner.close().unwrap();
            }
        }
    }
    // With --full, the shell says before how long the page gets.
    let full = bench.run(&["report", "run", id, "--full", "-o", "full.html"]);
    assert_eq!((full.code, full.err.as_str()), (Some(0), "the page has up to 1 MB\n"));
    assert!(bench.read("full.html").len() < 1_000_000);
    bench.run(&["report", "run", "none", "-o", "none.html"]).bad(5);
    let text = bench.run(&["report", "product", "none", "-o", "none.html"]).bad(5);
    assert!(text.contains("has the part number \"none\""), "{text}");
    bench.good(&["report", "product", part, "--measurements", "0", "-o", "few.html"]);
    assert!(bench.read("few.html").contains("No measurement with values was found; "));
    let narrow = ["report", "run", id, "--filter", "id == \"x\"", "-o", "none.html"];
    assert!(bench.run(&narrow).bad(2).contains("are for products"));
    assert!(!bench.names().contains(&"none.html".to_owned()));
}

#[test]
fn wrong_figures_are_refused() {
    let bench = bench();
    let refused: [(&[&str], &str); 9] = [
        (&["yield", "--by", "colour"], "\"colour\" is not one of PART_NUMBER"),
        (&["yield", "--filter", "colour == 1"], "unknown property `colour`"),
        (&["yield", "--by", "week", "--time-zone", "Nowhere"], "Nowhere"),
        (&["pareto", "--by", "colour"], "\"colour\" is not one of PATH"),
        (&["capability", "VOUT"], "\"Gain > 1 kHz\" (60)"),
        (&["capability", "VOUT", "--step", "Power", "--within", "range"], "subgroupSize"),
        (&["plot", "--measurement", "VOUT", "--from", "1"], "--step-filter"),
        (&["plot", "Loop", "--y", "volts", "--path", "x"], "--measurement"),
        (&["plot", "--measurement", "VOUT", "-o", "a.gif"], "a.gif: plots are written as .png"),
    ];
    for (arguments, text) in refused {
        let told = bench.run(arguments).bad(2);
        assert!(told.contains(text), "{arguments:?}: {told}");
    }
    let told = bench.run(&["capability", "VOUT"]).bad(2);
    assert!(told.contains("--path, --step or --any-path"), "{told}");
    for wrong in [&["plot"][..], &["plot", "Loop", "--measurement", "VOUT"], &["capability"]] {
        assert_eq!(bench.run(wrong).code, Some(2), "{wrong:?}");
    }
    assert_eq!(bench.names(), Vec::<String>::new());
}

#[test]
fn a_measurement_that_is_not_there_is_told_with_those_that_are() {
    let bench = bench();
    let none = "no step of the chosen test results has a measurement \"VOUT2\"; there are \"VOUT\", \
                \"IOUT\"";
    let path = "no path \"Gain > 2 kHz\" has a measurement \"VOUT\"; it is there in \
                \"Gain > 1 kHz\", \"Power\"";
    let step = "no step \"power\" has a measurement \"VOUT\"; it is there in \"Power\", \"1 kHz\"";
    let units = "no value of the measurement \"VOUT\" of the step \"Power\" was chosen by the \
                 options --units";
    let chosen = "the test results that were chosen have no measurement at all, and so no \"VOUT\"";
    let asked: [(&[&str], &str); 5] = [
        (&["VOUT2"], none),
        (&["VOUT", "--path", "Gain > 2 kHz"], path),
        (&["VOUT", "--step", "power"], step),
        (&["VOUT", "--step", "Power", "--units", "mV"], units),
        (&["VOUT", "--filter", "operator == \"nobody\""], chosen),
    ];
    for (arguments, text) in asked {
        let capability = [&["capability"], arguments].concat();
        let plot = [&["plot", "--measurement"], arguments].concat();
        let drawn = [&plot[..], &["--chart", "histogram", "-o", "a.png"]].concat();
        for command in [&capability, &plot, &drawn] {
            let told = bench.run(command).bad(5);
            assert!(told.contains(text), "{command:?}: {told}");
        }
        // Programs get the answer of the library, and the line beside it.
        for command in [&capability, &plot] {
            let run = bench.run(&[&command[..], &["--json"]].concat());
            let answer: Value = stationdb::serde_json::from_str(&run.out).unwrap();
            assert_eq!((run.code, &answer["n"]), (Some(0), &json!(0)), "{command:?}");
            assert!(
                run.err.contains(text) && run.err.lines().count() == 1,
                "{command:?}: {}",
                run.err
            );
        }
    }
    assert_eq!(bench.names(), Vec::<String>::new());
}

#[test]
fn values_that_are_no_numbers_are_no_missing_measurement() {
    let bench = Bench::empty();
    bench.fill(|session| {
        let mut result = result(1);
        let text = json!({"name": "serial", "measurement": "A-1"});
        result.steps = vec![step(json!({"name": "Read", "data": {"parameters": [text]}}))];
        session.append_results(&[result]).unwrap().require_all().unwrap();
    });
    let told = bench.good(&["capability", "serial"]);
    assert!(
        told.lines().any(|line| line.starts_with("notNumbers") && line.ends_with(" 1")),
        "{told}"
    );
    let told = bench.run(&["plot", "--measurement", "serial"]).bad(5);
    assert!(told.contains("no value to draw: 1 are no numbers"), "{told}");
}

#[test]
fn a_path_is_taken_as_it_is_shown_and_as_it_is_told() {
    let bench = bench();
    let paths = ["Gain > 1 kHz", "Gain\\n1 kHz", "Gain\n1 kHz"];
    for path in paths {
        assert_eq!(bench.json(&["capability", "VOUT", "--path", path])["n"], RESULTS, "{path}");
    }
    // The spelling with `\n` is that of filters too.
    let filter = format!("path == \"{}\"", paths[1]);
    let steps = bench.json(&["ls", "steps", "--filter", &filter]);
    assert_eq!(steps.as_array().map(Vec::len), Some(RESULTS));
    let run = bench.run(&["ls", "steps", "--filter", "path == \"Gain > 1 kHz\"", "--json"]);
    assert_eq!((run.code, run.out.as_str()), (Some(0), "[]\n"));
    assert!(run.err.contains("path == \"Gain\\n1 kHz\""), "{}", run.err);
}

#[test]
fn failures_of_steps_without_a_type_are_told_as_such() {
    let bench = bench();
    let keys = |bench: &Bench| -> Vec<String> {
        let text = bench.good(&["pareto", "--by", "stepType"]);
        let lines = text.lines().filter(|line| line.starts_with('('));
        lines.map(|line| line.split(")").next().unwrap().to_owned() + ")").collect()
    };
    // `1 kHz` has no type, and each result that failed has a step that did.
    assert_eq!(keys(&bench), ["(step without a type)"]);
    let failed = |count: usize| -> Vec<ResultWithSteps> {
        let bare = json!({"programName": "Board", "status": {"statusType": "FAILED"}});
        let bare = stationdb::from_json_strict(bare.to_string().as_bytes()).unwrap();
        (0..count).map(|_| ResultWithSteps::new(CreateResultRequest::clone(&bare))).collect()
    };
    bench.fill(|session| {
        session.append_results(&failed(2)).unwrap().require_all().unwrap();
    });
    let untyped = (0..RESULTS).filter(|n| n % 11 == 0 && n % 7 != 0).count();
    let told = format!("({untyped} of a step without a type, 2 without a failing step)");
    assert_eq!(keys(&bench), [told]);
    let bench = Bench::empty();
    bench.fill(|session| {
        session.append_results(&failed(3)).unwrap().require_all().unwrap();
    });
    assert_eq!(keys(&bench), ["(no failing step)"]);
}
