//! Results, steps and measurements as tables, and the figures of results: the numbers of the trait.

mod common;
#[path = "results/counted.rs"]
mod counted;
#[path = "results/joined.rs"]
mod joined;
#[path = "results/limits.rs"]
mod limits;
#[path = "results/many.rs"]
mod many;
#[path = "results/naive.rs"]
mod naive;
#[path = "results/units.rs"]
mod units;

use common::{ada, ask, ask_with, create, open_sealing, plan, settle};
use datafusion::common::{ParamValues, ScalarValue};
use datafusion::prelude::SessionContext;
use serde_json::json;
use stationdb::faults::Random;
use stationdb::prelude::*;
use stationdb::results::*;
use stationdb::{Control, Identity, Session, Store};
use stationdb_sql::{context, datafusion};

fn control() -> Control {
    Control::default()
}

fn open(directory: &std::path::Path) -> Store {
    open_sealing(directory, 60)
}

fn at(second: i64) -> String {
    format!("2024-03-01T{:02}:{:02}:{:02}Z", second / 3600, second / 60 % 60, second % 60)
}

/// Results with one or two steps, of two workspaces, sealed and not; some leave their steps.
fn fill(seed: u64, store: &Store) {
    let session = ada(store);
    let mut random = Random::new(seed);
    for second in 0..150 {
        let mut pick = |texts: &[&str]| texts[random.below(texts.len() as u64) as usize].to_owned();
        let result = json!({
            "programName": pick(&["P", "Q"]), "status": {"statusType": pick(&["PASSED", "PASSED", "FAILED"])},
            "partNumber": pick(&["A", "B"]), "serialNumber": pick(&["1", "2", "3", "4", "5", "6"]),
            "workspace": pick(&["open", "open", "closed"]), "startedAt": at(second),
            "properties": {"lot": pick(&["x", "y"])},
        });
        let parameter = json!({"name": "X", "measurement": pick(&["1", "2.5", "3.25", "0.1", "nan"]),
            "units": "V", "lowLimit": "0", "highLimit": "4", "status": pick(&["Passed", "Failed"])});
        let other = json!({"name": "Y", "measurement": pick(&["1", "yes"])});
        let step = json!({"name": "a", "stepType": "NumericLimitTest",
            "status": {"statusType": pick(&["PASSED", "FAILED", "FAILED", "SKIPPED"])},
            "data": {"parameters": [other, parameter]},
            "inputs": [{"name": "i", "value": {"deep": [1, "1"]}}]});
        let empty = json!({"name": "b", "status": {"statusType": "DONE"}});
        let id = create(&session, result, vec![step, empty]);
        if second % 40 == 20 {
            settle(store);
        }
        if random.below(12) == 0 {
            session.delete_result(&id, false).unwrap();
        }
    }
}

/// The only number of an answer.
async fn number(sql: &SessionContext, statement: &str) -> Option<f64> {
    let answer = ask(sql, statement).await.unwrap_or_else(|error| panic!("{statement}: {error}"));
    assert_eq!(answer.len(), 1, "{statement}");
    (answer[0] != "null").then(|| answer[0].parse().unwrap())
}

fn near(found: Option<f64>, expected: Option<f64>, what: &str) {
    match (found, expected) {
        (Some(found), Some(expected)) => {
            assert!((found - expected).abs() <= 1e-8 * expected.abs().max(1.0), "{what}: {found}");
        }
        _ => assert_eq!(found, expected, "{what}"),
    }
}

/// How cells of these values are printed.
fn shown(values: &[Option<f64>]) -> Vec<String> {
    let text =
        |value: &Option<f64>| value.map_or("null".to_owned(), |value| format!("{value:.8e}"));
    values.iter().map(text).collect()
}

const SELECTED: &str = "partNumber == \"A\"";

async fn check(session: &Session) {
    let sql = context(session).unwrap();
    // Tables.
    let all = session.query_steps(QueryStepsRequest::new().take(100_000)).unwrap().steps;
    let count = ask(&sql, "select count(*) from steps").await.unwrap();
    assert_eq!(count, [all.len().to_string()]);
    let ids = "select result_id, step_id from steps order by result_id, step_id";
    let mut expected: Vec<String> = all
        .iter()
        .map(|step| {
            format!("{} | {}", step.result_id.as_ref().unwrap(), step.step_id.as_ref().unwrap())
        })
        .collect();
    expected.sort();
    assert_eq!(ask(&sql, ids).await.unwrap(), expected);
    let measured: usize = all
        .iter()
        .flat_map(|step| step.data.iter().flat_map(|data| data.parameters.iter().flatten()))
        .count();
    let count = "select count(*), count(distinct step_id) from measurements";
    let with = all.iter().filter(|step| step.name.as_deref() == Some("a")).count();
    assert_eq!(ask(&sql, count).await.unwrap(), [format!("{measured} | {with}")]);
    // Steps that outlive their result have nulls in its columns.
    let lost =
        "select count(*) from measurements where program_name is null and workspace is not null";
    let known = "select count(*) from measurements m left join results r on m.result_id = r.id \
                 where r.id is null";
    assert_eq!(ask(&sql, lost).await.unwrap(), ask(&sql, known).await.unwrap());

    // Figures.
    let yields = YieldsRequest::new()
        .filter(SELECTED)
        .group_by(["PROGRAM_NAME".to_owned(), "properties.lot".to_owned()]);
    let expected: Vec<String> = session
        .yields(yields, &control())
        .unwrap()
        .groups
        .iter()
        .map(|group| {
            let keys = group.keys.iter().map(|key| key.clone().unwrap_or("null".to_owned()));
            let figures =
                [group.first_pass_yield, group.final_yield, group.result_yield, group.retest_rate];
            let counts = [group.good, group.bad, group.units, group.first_units, group.retests];
            let counts = counts.map(|count| count.to_string());
            keys.chain(shown(&figures)).chain(counts).collect::<Vec<_>>().join(" | ")
        })
        .collect();
    let statement = "select program_name, \"properties.lot\", first_pass_yield, final_yield, \
        result_yield, retest_rate, good, bad, units, first_units, retests \
        from yields('partNumber == \"A\"', 'PROGRAM_NAME, properties.lot')";
    assert_eq!(ask(&sql, statement).await.unwrap(), expected);
    assert_eq!(expected.len(), 4);
    // What is of the whole selection has a function of its own.
    let all = session.yields(YieldsRequest::new(), &control()).unwrap().rolled_throughput;
    let rolled = |rolled: &RolledYield| {
        let first = &rolled.programs[0];
        let figures =
            [first.first_pass_yield, rolled.rolled_throughput_yield, rolled.normalized_yield];
        format!(
            "{} | {} | {} | {}",
            rolled.part_number.as_deref().unwrap(),
            rolled.programs.len(),
            first.program_name,
            shown(&figures).join(" | ")
        )
    };
    let expected: Vec<String> = all.iter().map(rolled).collect();
    let statement = "select part_number, array_length(programs), programs[1]['program_name'], \
        programs[1]['first_pass_yield'], rolled_throughput_yield, normalized_yield \
        from rolled_throughput('')";
    assert_eq!(ask(&sql, statement).await.unwrap(), expected);
    assert_eq!(expected.len(), 2);
    let one = format!("select part_number from rolled_throughput('{SELECTED}')");
    assert_eq!(ask(&sql, &one).await.unwrap(), ["A"]);

    // A key with a comma is quoted.
    let comma = session.yields(YieldsRequest::new().group_by(["properties.a, b"]), &control());
    let statement = "select count(*) from yields('', '\"properties.a, b\"')";
    let count = comma.unwrap().groups.len().to_string();
    assert_eq!(ask(&sql, statement).await.unwrap(), [count]);

    for (by, basis, arguments) in [
        (ParetoBy::Path, ParetoBasis::First, "'PATH'"),
        (ParetoBy::Measurement, ParetoBasis::First, "'MEASUREMENT', 'FIRST'"),
        (ParetoBy::Path, ParetoBasis::All, "'', 'ALL'"),
    ] {
        let pareto = FailureParetoRequest::new().filter(SELECTED).by(by).basis(basis);
        let pareto = session.failure_pareto(pareto, &control()).unwrap();
        assert!(pareto.total > 0 && pareto.results > 0);
        let expected: Vec<String> = pareto
            .entries
            .iter()
            .map(|entry| {
                let null = || "null".to_owned();
                let (key, measurement) = match &entry.key {
                    None => (null(), null()),
                    Some(ParetoKey::Text(key)) => (key.clone(), null()),
                    Some(ParetoKey::Measurement(key)) => {
                        (key.path.clone(), key.measurement.clone().unwrap_or_else(null))
                    }
                };
                let figures = shown(&[entry.fraction, entry.cumulative]).join(" | ");
                let all = format!("{} | {}", pareto.total, pareto.results);
                format!("{key} | {measurement} | {} | {figures} | {all}", entry.count)
            })
            .collect();
        let statement = format!(
            "select key, measurement, count, fraction, cumulative, total, results \
             from failure_pareto('partNumber == \"A\"', {arguments})"
        );
        assert_eq!(ask(&sql, &statement).await.unwrap(), expected);
        assert!(expected.len() > 1, "{expected:?}");
    }

    let of = CapabilityRequest::new("X").filter(SELECTED).path("a");
    let capability = session.capability(of, &control()).unwrap();
    assert!(capability.n > 10 && capability.not_numbers > 0 && capability.skipped > 0);
    let figures = [
        capability.mean,
        capability.overall_deviation,
        capability.within_deviation,
        capability.cp,
        capability.cpk,
        capability.pp,
        capability.ppk,
        capability.low_limit,
    ];
    let counts = [capability.n, capability.not_numbers, capability.skipped];
    let counts = counts.map(|count| count.to_string());
    let statement = "select mean, overall_deviation, within_deviation, cp, cpk, pp, ppk, low_limit, \
        n, not_numbers, skipped, zero_deviation['within'], limits_vary \
        from capability('partNumber == \"A\"', 'a', 'X')";
    let expected: Vec<String> = shown(&figures).into_iter().chain(counts).collect();
    assert_eq!(
        ask(&sql, statement).await.unwrap(),
        [format!("{} | false | false", expected.join(" | "))]
    );
    // The aggregates of the same values.
    let values = "from measurements m join results r on m.result_id = r.id where m.name = 'X' and \
        m.path = 'a' and m.part_number = 'A' and m.step_status <> 'SKIPPED'";
    let order = "order by r.started_at, m.result_id, m.position";
    for (call, expected) in [
        ("pp(m.value, m.lower_spec_limit, m.upper_spec_limit)".to_owned(), capability.pp),
        ("ppk(m.value, m.low_limit, m.high_limit)".to_owned(), capability.ppk),
        (format!("cp(m.value, m.low_limit, m.high_limit {order})"), capability.cp),
        (format!("cpk(m.value, m.low_limit, m.high_limit {order})"), capability.cpk),
        (format!("cpk(m.value, 0.0, 4.0 {order})"), capability.cpk),
    ] {
        assert!(expected.is_some());
        near(number(&sql, &format!("select {call} {values}")).await, expected, &call);
        // Groups, and no rows.
        let grouped =
            format!("select max(f) from (select {call} as f {values} group by m.part_number)");
        near(number(&sql, &grouped).await, expected, &call);
        let none = format!("select {call} {values} and m.value > 100 and not isnan(m.value)");
        assert_eq!(number(&sql, &none).await, None, "{call}");
    }

    let of = HistogramRequest::new("X").filter(SELECTED).path("a").bins(5_i64);
    let histogram = session.histogram(of, &control()).unwrap();
    let expected: Vec<String> = histogram
        .ranges
        .iter()
        .map(|range| {
            let ends = shown(&[Some(range.lower), Some(range.upper)]).join(" | ");
            let of_all = [histogram.n, histogram.below, histogram.above];
            let left_out = [histogram.not_numbers, histogram.skipped];
            let of_all = of_all.iter().chain(&left_out).map(ToString::to_string);
            let extremes = shown(&[histogram.minimum, histogram.maximum]);
            let of_all: Vec<String> = of_all.chain(extremes).collect();
            format!("{ends} | {} | {}", range.count, of_all.join(" | "))
        })
        .collect();
    assert!(histogram.not_numbers > 0 && histogram.skipped > 0);
    let statement = "select lower, upper, count, n, below, above, not_numbers, skipped, minimum, \
        maximum from histogram('partNumber == \"A\"', 'a', 'X', 5)";
    assert_eq!(ask(&sql, statement).await.unwrap(), expected);
    assert_eq!(expected.len(), 5);

    for size in [None, Some(3_i64)] {
        let mut of = ControlChartRequest::new("X").filter(SELECTED).path("a").take(10_000_i64);
        of.chart = size.map(|_| ChartType::Means);
        of.subgroup_size = size;
        let chart = session.control_chart(of, &control()).unwrap();
        assert!(chart.n > 10 && chart.not_numbers > 0 && chart.skipped > 0);
        let expected: Vec<String> = chart
            .points
            .iter()
            .map(|point| {
                let figures =
                    [Some(point.value), point.range, chart.limits.center, chart.range_limits.upper];
                let figures = shown(&figures).join(" | ");
                let rules: Vec<String> = point.rules.iter().map(ToString::to_string).collect();
                let of_all = [chart.n, chart.left_over, chart.not_numbers, chart.skipped];
                let of_all: Vec<String> = of_all.iter().map(ToString::to_string).collect();
                format!(
                    "{} | {figures} | {} | {} | {} | [{}] | {}",
                    point.index,
                    point.started_at.timestamp_millis(),
                    point.result_id,
                    point.step_id,
                    rules.join(", "),
                    of_all.join(" | ")
                )
            })
            .collect();
        let more = size.map_or(String::new(), |size| format!(", {size}"));
        let statement = format!(
            "select index, value, range, limits['center'], range_limits['upper'], started_at, \
             result_id, step_id, rules, n, left_over, not_numbers, skipped from control_chart('partNumber == \"A\"', 'a', 'X'{more})"
        );
        assert_eq!(ask(&sql, &statement).await.unwrap(), expected);
        assert!(expected.len() > 3);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn tables_and_functions_have_the_numbers_of_the_trait() {
    for seed in 0..2 {
        let directory = tempfile::tempdir().unwrap();
        let store = open(directory.path());
        fill(seed, &store);
        check(&ada(&store)).await;
        let guest = store.session(Identity::user("guest"));
        check(&guest).await;
        let (seen, all) = (context(&guest).unwrap(), context(&ada(&store)).unwrap());
        for table in ["steps", "measurements", "results"] {
            let count = format!("select count(*) from {table}");
            assert_ne!(ask(&seen, &count).await.unwrap(), ask(&all, &count).await.unwrap());
            let closed = format!("{count} where workspace = 'closed'");
            assert_eq!(ask(&seen, &closed).await.unwrap(), ["0"]);
        }
        settle(&store);
        check(&ada(&store)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn values_stand_in_arguments_of_tables() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(directory.path());
    fill(3, &store);
    let sql = context(&ada(&store)).unwrap();
    let values = || {
        Some(ParamValues::from(vec![
            ("which", ScalarValue::from(SELECTED)),
            ("name", ScalarValue::from("X")),
            ("ranges", ScalarValue::from(5_i64)),
            ("none", ScalarValue::Null),
            ("time", ScalarValue::TimestampMicrosecond(Some(5), None)),
        ]))
    };
    for (with, without) in [
        ("yields($which, 'PART_NUMBER')", format!("yields('{SELECTED}', 'PART_NUMBER')")),
        ("histogram($which, '', $name, $ranges)", format!("histogram('{SELECTED}', '', 'X', 5)")),
        ("histogram('', '', $name) where $name = 'X'", "histogram('', '', 'X')".to_owned()),
    ] {
        let found = ask_with(&sql, &format!("select * from {with}"), values()).await.unwrap();
        assert!(!found.is_empty(), "{with}");
        assert_eq!(found, ask(&sql, &format!("select * from {without}")).await.unwrap(), "{with}");
        let plan = ask_with(&sql, &format!("explain select * from {with}"), values()).await;
        assert!(!plan.unwrap().is_empty(), "{with}");
    }
    for (with, why) in [
        ("yields($nothing)", "nothing"),
        ("yields($time)", "write it as a text"),
        ("yields($ranges)", "yields"),
        ("yields($none)", "yields"),
    ] {
        let refused = ask_with(&sql, &format!("select * from {with}"), values()).await.unwrap_err();
        assert!(refused.contains(why), "{with}: {refused}");
    }
}

/// A condition says the same whether the store tests it or DataFusion alone, and goes down.
#[tokio::test(flavor = "multi_thread")]
async fn conditions_go_down_to_the_store() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(directory.path());
    fill(7, &store);
    let session = ada(&store);
    let sql = context(&session).unwrap();
    let one = ask(&sql, "select min(result_id) from steps").await.unwrap().remove(0);
    let other = ask(&sql, "select max(result_id) from steps").await.unwrap().remove(0);
    let start = "timestamp '2024-03-01T00:01:00Z'";
    for (table, condition, pushed) in [
        ("steps", format!("result_id = '{one}'"), "resultId == @0"),
        ("steps", format!("result_id in ('{one}', '{other}')"), "resultId == @0 or resultId == @1"),
        ("steps", "name = 'a' and status = 'FAILED'".to_owned(), "status.statusType == @1"),
        ("steps", "status = 'no such status'".to_owned(), "status.statusType == @0"),
        ("measurements", "name = 'X'".to_owned(), "name == \"X\""),
        ("measurements", format!("name = 'X' and result_id = '{one}'"), "resultId == @0"),
        ("measurements", "part_number = 'A' and name = 'Y'".to_owned(), "results with partNumber"),
        ("measurements", "path = 'a' and step_status = 'FAILED'".to_owned(), "path == @0"),
        ("measurements", format!("started_at >= {start}"), "startedAt >= @0"),
        ("measurements", "result_status = 'FAILED'".to_owned(), "results with status.statusType"),
        (
            "results",
            "status = 'FAILED' and part_number = 'B'".to_owned(),
            "status.statusType == @0",
        ),
    ] {
        let key = if table == "results" { "id" } else { "result_id" };
        let statement = format!("select {key} from {table} where {condition} order by 1");
        let plan = plan(&sql, &statement).await;
        assert!(plan.contains(pushed), "{statement}: {plan}");
        let found = ask(&sql, &statement).await.unwrap();
        // `is true` keeps the condition from going down.
        let alone = format!("select {key} from {table} where ({condition}) is true order by 1");
        assert_eq!(found, ask(&sql, &alone).await.unwrap(), "{statement}");
        assert_eq!(found.is_empty(), condition.contains("no such"), "{statement}");
    }
    let few = "select result_id from measurements limit 3";
    assert_eq!(ask(&sql, few).await.unwrap().len(), 3);
    // One state.
    let before = ask(&sql, "select count(*) from measurements").await.unwrap();
    fill(8, &store);
    settle(&store);
    assert_eq!(ask(&sql, "select count(*) from measurements").await.unwrap(), before);
    let now = context(&session).unwrap();
    assert_ne!(ask(&now, "select count(*) from measurements").await.unwrap(), before);
}

#[tokio::test(flavor = "multi_thread")]
async fn members_of_results_and_steps_are_columns() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(directory.path());
    let session = ada(&store);
    let result = json!({"programName": "P", "status": {"statusType": "CUSTOM", "statusName": "odd"},
        "properties": {"lot": "7", "none": null}, "workspace": "open"});
    let step = json!({"stepId": "s", "name": "a", "status": {"statusType": "FAILED", "statusName": "f"},
        "startedAt": at(5), "inputs": [{"name": "i", "value": "35"}, {"name": "j", "value": [35]}],
        "data": {"text": "note", "parameters": [{"name": "V", "measurement": " 1.50 ",
            "lowLimit": "1", "comparisonType": "GE", "nominalValue": "2", "k": "v"},
            {"name": "W", "measurement": "yes"}, {"name": "no value"}]}});
    let child = json!({"stepId": "c", "parentId": "s", "name": "b"});
    create(&session, result, vec![step, child]);
    for _ in 0..2 {
        let sql = context(&session).unwrap();
        for (statement, expected) in [
            (
                "select status, status_name, properties['lot'] from results",
                &["CUSTOM | odd | 7"][..],
            ),
            ("select record like '%\"CUSTOM\"%' from results", &["true"]),
            (
                "select step_id, parent_id, status, status_name, has_children, path_ids \
                 from steps order by has_children",
                &["c | s | null | null | false | [s, c]", "s | null | FAILED | f | true | [s]"],
            ),
            (
                "select inputs[1]['name'], inputs[1]['value'], inputs[2]['value'], data['text'], \
                 data['parameters'][1]['k'], record like '%\"35\"%' from steps where step_id = 's'",
                &["i | \"35\" | [35] | note | v | true"],
            ),
            (
                "select step_id, position, name, value, text, low_limit, high_limit, comparison_type, \
                 extra['k'], extra['nominalValue'], started_at from measurements order by position",
                &[
                    "s | 0 | V | 1.50000000e0 |  1.50  | 1.00000000e0 | null | GE | v | 2 | 1709251205000",
                    "s | 1 | W | null | yes | null | null | null | null | null | 1709251205000",
                ],
            ),
            (
                "select step_name, path, step_status, program_name, workspace, result_status \
                 from measurements where name = 'V'",
                &["a | a | FAILED | P | open | CUSTOM"],
            ),
        ] {
            assert_eq!(ask(&sql, statement).await.unwrap(), expected, "{statement}");
        }
        // Sealed.
        for _ in 0..40 {
            let filler =
                json!({"programName": "F", "status": {"statusType": "DONE"}, "workspace": "open"});
            let id = create(&session, filler, vec![json!({"name": "f"}), json!({"name": "f"})]);
            settle(&store);
            session.delete_result(&id, true).unwrap();
        }
    }
}

/// The examples of the definitions.
#[tokio::test(flavor = "multi_thread")]
async fn the_examples_of_figures() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(directory.path());
    let session = ada(&store);
    let runs = [
        ("P1", "SN1", "FAILED"),
        ("P1", "SN1", "PASSED"),
        ("P1", "SN2", "PASSED"),
        ("P1", "SN3", "TERMINATED"),
        ("P1", "SN3", "FAILED"),
        ("P1", "SN4", "RUNNING"),
        ("P1", "SN4", "PASSED"),
        ("P1", "SN5", "SKIPPED"),
        ("P1", "", "PASSED"),
        ("P2", "SN1", "PASSED"),
        ("P2", "SN2", "FAILED"),
        ("P2", "SN2", "PASSED"),
    ];
    for (second, (program, serial, status)) in (0..).zip(runs) {
        let result = json!({"programName": program, "serialNumber": serial,
            "status": {"statusType": status}, "startedAt": at(second)});
        create(&session, result, Vec::new());
    }
    let sql = context(&session).unwrap();
    let statement = "select program_name, first_pass_yield, final_yield, round(result_yield, 9), units, \
        not_counted['SKIPPED'] from yields('', 'PROGRAM_NAME')";
    assert_eq!(
        ask(&sql, statement).await.unwrap(),
        [
            "P1 | 6.00000000e-1 | 8.00000000e-1 | 5.71428571e-1 | 5 | 1",
            "P2 | 5.00000000e-1 | 1.00000000e0 | 6.66666667e-1 | 2 | null",
        ]
    );
    let weeks = "select week, good, bad from yields('programName == \"P2\"', 'WEEK')";
    assert_eq!(ask(&sql, weeks).await.unwrap().len(), 1);

    let failing = ["C", "A", "B", "A", "", "A", "C", "B", "A"];
    for key in failing {
        let steps = match key {
            "" => Vec::new(),
            key => vec![json!({"name": key, "status": {"statusType": "FAILED"}})],
        };
        let result = json!({"programName": "F", "status": {"statusType": "FAILED"}});
        create(&session, result, steps);
    }
    let x = [10.1, 9.9, 10.0, 10.2, 9.8, 10.0, 10.1, 9.9];
    for (second, value) in (0..).zip(x) {
        let parameter = json!({"name": "VOUT", "measurement": value.to_string(), "lowLimit": "9.4",
            "highLimit": "10.6"});
        let result = json!({"programName": "M", "status": {"statusType": "PASSED"},
            "startedAt": at(second)});
        create(&session, result, vec![json!({"name": "m", "data": {"parameters": [parameter]}})]);
    }
    let means = [5.0, 5.1, 4.9, 5.2, 5.0, 5.1, 4.8, 5.0, 4.9, 5.3];
    for (second, value) in (0..).zip(means) {
        let parameter = json!({"name": "mean", "measurement": value.to_string()});
        let result = json!({"programName": "M", "status": {"statusType": "PASSED"},
            "startedAt": at(second)});
        create(&session, result, vec![json!({"name": "m", "data": {"parameters": [parameter]}})]);
    }
    for _ in 0..2 {
        let sql = context(&session).unwrap();
        let statement = "select key, count, fraction, cumulative \
            from failure_pareto('programName == \"F\"')";
        assert_eq!(
            ask(&sql, statement).await.unwrap(),
            [
                "A | 4 | 4.44444444e-1 | 4.44444444e-1",
                "B | 2 | 2.22222222e-1 | 6.66666667e-1",
                "C | 2 | 2.22222222e-1 | 8.88888889e-1",
                "null | 1 | 1.11111111e-1 | 1.00000000e0",
            ]
        );
        let statement = "select mean, overall_deviation, within_deviation, cp, cpk, pp, ppk \
            from capability('', 'm', 'VOUT')";
        let figures = "1.00000000e1 | 1.30930734e-1 | 1.77245385e-1 | 1.12837917e0 | 1.12837917e0 | \
            1.52752523e0 | 1.52752523e0";
        assert_eq!(ask(&sql, statement).await.unwrap(), [figures]);
        let statement = "select cp(value, lower_spec_limit, upper_spec_limit order by r.started_at), \
            cpk(value, lower_spec_limit, upper_spec_limit order by r.started_at), \
            pp(value, lower_spec_limit, upper_spec_limit), ppk(value, null, 10.6) \
            from measurements join results r on r.id = result_id where name = 'VOUT'";
        assert_eq!(
            ask(&sql, statement).await.unwrap(),
            ["1.12837917e0 | 1.12837917e0 | 1.52752523e0 | 1.52752523e0"]
        );
        let counts = "select count from histogram('', '', 'VOUT', 4)";
        assert_eq!(ask(&sql, counts).await.unwrap(), ["1", "2", "2", "3"]);
        let chart = "select distinct limits['center'], limits['lower'], limits['upper'], \
            range_limits['upper'] from control_chart('', '', 'VOUT')";
        assert_eq!(
            ask(&sql, chart).await.unwrap(),
            ["1.00000000e1 | 9.46826384e0 | 1.05317362e1 | 6.53306384e-1"]
        );
        let chart = "select value, range, limits['lower'], range_limits['upper'] \
            from control_chart('', '', 'mean', 3)";
        let limits = "2.00000000e-1 | 4.79533466e0 | 5.14918258e-1";
        let expected = ["5.00000000e0", "5.10000000e0", "4.90000000e0"];
        assert_eq!(
            ask(&sql, chart).await.unwrap(),
            expected.map(|value| format!("{value} | {limits}"))
        );
        settle(&store);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn faulty_calls_say_what_they_take() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(directory.path());
    fill(1, &store);
    let sql = context(&ada(&store)).unwrap();
    for (statement, says) in [
        ("select * from yields()", "yields takes a filter"),
        ("select * from yields('', 1)", "yields takes a filter"),
        ("select * from yields('programName ==', '')", "filter"),
        ("select * from yields('', 'NOTHING')", "NOTHING"),
        ("select * from rolled_throughput()", "rolled_throughput takes a filter"),
        ("select * from rolled_throughput('', 'WEEK')", "rolled_throughput takes a filter"),
        ("select * from failure_pareto('', 'NOTHING')", "failure_pareto takes"),
        ("select * from failure_pareto('', 'PATH', 'SOME')", "failure_pareto takes"),
        ("select * from capability('', '')", "capability takes"),
        ("select * from histogram('', '', 'X', 'y')", "histogram takes"),
        ("select * from control_chart('', 'a', 'X', 1000)", "subgroup"),
        ("select cpk(value, 0, 1) from measurements", "order by"),
        ("select cp(distinct value, 0.0, 1.0) from measurements", "distinct"),
        ("select ppk(value, position, 9) from measurements", "not the same"),
        ("select ppk(value, 1) from measurements", "ppk"),
    ] {
        let error = ask(&sql, statement).await.unwrap_err();
        assert!(error.contains(says), "{statement}: {error}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_path_is_taken_as_it_is_shown_and_as_it_is_told() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(directory.path());
    let session = ada(&store);
    for value in ["1", "2"] {
        let result = json!({"programName": "P", "status": {"statusType": "PASSED"}});
        let measured = |name: &str| {
            json!({"name": name,
                "data": {"parameters": [{"name": "X", "measurement": value, "units": "V"}]}})
        };
        let mut outer = json!({"name": "Gain"});
        outer["children"] = json!([measured("1 kHz")]);
        create(&session, result, vec![outer, measured("Power")]);
    }
    let sql = context(&session).unwrap();
    // The error has the path in the form of filters.
    let error = ask(&sql, "select n from capability('', '', 'X')").await.unwrap_err();
    assert!(error.contains("\"Gain\\n1 kHz\" (2)"), "{error}");
    for path in ["Gain > 1 kHz", "Gain\\n1 kHz", "Gain\n1 kHz"] {
        for call in ["capability('', '{}', 'X')", "histogram('', '{}', 'X', 1)"] {
            let column = if call.starts_with("cap") { "n" } else { "count" };
            let statement = format!("select {column} from {}", call.replace("{}", path));
            assert_eq!(ask(&sql, &statement).await.unwrap(), ["2"], "{statement}");
        }
        let points = format!("select index from control_chart('', '{path}', 'X')");
        assert_eq!(ask(&sql, &points).await.unwrap(), ["0", "1"]);
    }
    // A column is compared as it is stored.
    let of = "select count(*) from steps where path = ";
    assert_eq!(ask(&sql, &format!("{of} e'Gain\\n1 kHz'")).await.unwrap(), ["2"]);
    assert_eq!(ask(&sql, &format!("{of} 'Gain > 1 kHz'")).await.unwrap(), ["0"]);
    // A measurement that no step has: the numbers of the trait, and no error.
    let none = "select n, mean from capability('', '', 'Y')";
    assert_eq!(ask(&sql, none).await.unwrap(), ["0 | null"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn aggregates_of_texts_are_mistakes_of_the_statement() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(directory.path());
    fill(1, &store);
    let sql = context(&ada(&store)).unwrap();
    for name in ["avg", "sum", "median", "stddev", "var_pop"] {
        for over in ["", " over (partition by name)"] {
            let statement = format!("select {name}(text){over} from measurements");
            let error = ask(&sql, &statement).await.unwrap_err();
            let fix = format!("{name}(try_cast(column as double))");
            for part in [&*format!("{name} takes numbers"), "(Utf8)", &fix] {
                assert!(error.contains(part), "{statement}: {part}: {error}");
            }
            assert!(!error.contains("bug") && !error.contains("Internal"), "{error}");
        }
    }
    let fixed = "select avg(try_cast(text as double)) from measurements where text = '2.5'";
    near(number(&sql, fixed).await, Some(2.5), fixed);
    let error = ask(&sql, "select avg(started_at) from measurements").await.unwrap_err();
    assert!(error.contains("avg does not take") && !error.contains("bug"), "{error}");
    let error = ask(&sql, "select avg(nothing) from measurements").await.unwrap_err();
    assert!(error.contains("nothing"), "{error}");
}
