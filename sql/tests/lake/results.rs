//! Results, steps and measurements over a lake, and the yields of a fleet.
//!
//! `STATIONDB_PYTHON` names the interpreter of the other engines, as in `peers.rs`.

use std::collections::BTreeMap;
use std::process::Command;

use datafusion::object_store::local::LocalFileSystem;
use serde_json::{Value, json};
use stationdb::faults::Random;
use stationdb::results::{ScanMeasurementsRequest, StatusType, YieldsRequest};
use stationdb_lake::Lake;
use stationdb_sql::{LakeYieldKey, LakeYieldScope, LakeYields};

use super::common::{create, open_sealing, request};
use super::*;

/// A result as the naive figures see it: part, serial, program, start and id; station; status.
type Tested = ((Option<String>, Option<String>, String, String, String), String, String);

const STATUSES: [&str; 9] = [
    "PASSED",
    "PASSED",
    "PASSED",
    "FAILED",
    "ERRORED",
    "TERMINATED",
    "TIMED_OUT",
    "SKIPPED",
    "RUNNING",
];

/// Results of few units, with retests, steps and measurements.
fn test(session: &Session, random: &mut Random, count: i64, from: i64) -> Vec<String> {
    let mut ids = Vec::new();
    for at in 0..count {
        let mut pick = |texts: &[&str]| texts[random.below(texts.len() as u64) as usize].to_owned();
        let second = from + at * 7 % 50;
        let mut result = json!({
            "programName": pick(&["P", "Q"]), "status": { "statusType": pick(&STATUSES) },
            "serialNumber": pick(&["1", "2", "3", "4", "5", ""]), "operator": pick(&["ada", "bob"]),
            "startedAt": format!("2024-03-01T00:{:02}:{:02}Z", second / 60, second % 60),
            "workspace": pick(&["", "w"]), "properties": { "lot": pick(&["x", "y"]) },
        });
        match pick(&["A", "B", "C", "-"]).as_str() {
            "-" => {}
            part => result["partNumber"] = part.into(),
        }
        let measured = json!([
            { "name": "gain", "measurement": pick(&["1.50", "-2", "nan", "inf", "yes"]), "units": "dB",
              "lowLimit": "0", "highLimit": "4", "status": "Passed", "more": "kept" },
            { "name": "no value" }, { "name": "level", "measurement": "7",
              "lowLimit": pick(&["1", "inf", "nan"]),
              "comparisonType": pick(&["GELE", "GE", "LT", "LE", "EQ", "LOG", "other"]) }]);
        let step = json!({ "name": "a", "stepType": "NumericLimitTest", "data": { "parameters": measured },
            "status": { "statusType": pick(&STATUSES) },
            "inputs": [{ "name": "i", "value": { "deep": [1, "1"] } }],
            "children": [{ "name": "below", "data": { "parameters": [
                { "name": "inner", "measurement": pick(&["1", "2"]) }] } }] });
        ids.push(create(session, result, vec![step]).to_string());
    }
    ids
}

fn tested(session: &Session, station: &str) -> Vec<Tested> {
    use datafusion::arrow::array::AsArray;
    let request = ScanRecordsRequest::new(RecordKind::TestResult).columns(["record"]);
    let mut found = Vec::new();
    for batch in session.scan_records(request, &Control::default()).unwrap() {
        for record in batch.unwrap().column(0).as_string::<i32>().iter().flatten() {
            let record: Value = serde_json::from_str(record).unwrap();
            let text = |member: &str| record[member].as_str().map(str::to_owned);
            let key = (
                text("partNumber"),
                text("serialNumber"),
                text("programName").unwrap(),
                text("startedAt").unwrap(),
                text("id").unwrap(),
            );
            let status = record["status"]["statusType"].as_str().unwrap().to_owned();
            found.push((key, station.to_owned(), status));
        }
    }
    found
}

/// Counts of one group: good, bad, not counted, units, good last, first units, good first.
type Counts = [i64; 7];

/// The figures as their definitions say, one unit at a time.
fn naive(
    results: &[Tested],
    scope: LakeYieldScope,
    is_selected: impl Fn(&Tested) -> bool,
) -> Vec<String> {
    let class = |result: &Tested| match result.2.as_str() {
        "PASSED" => Some(true),
        "FAILED" | "ERRORED" | "TERMINATED" | "TIMED_OUT" => Some(false),
        _ => None,
    };
    let group = |result: &Tested| (result.0.0.is_none(), result.0.0.clone(), result.1.clone());
    let mut groups: BTreeMap<_, Counts> = BTreeMap::new();
    let mut units: BTreeMap<String, Vec<&Tested>> = BTreeMap::new();
    for (at, result) in results.iter().enumerate() {
        let ((part, serial, program, ..), station, _) = result;
        let alone = serial.as_ref().is_none_or(String::is_empty).then_some(at);
        let station = (scope == LakeYieldScope::Station).then_some(station);
        units
            .entry(format!("{part:?} {serial:?} {program} {alone:?} {station:?}"))
            .or_default()
            .push(result);
        if is_selected(result) {
            let place = class(result).map_or(2, |good| usize::from(!good));
            groups.entry(group(result)).or_default()[place] += 1;
        }
    }
    for mut unit in units.into_values() {
        unit.retain(|result| class(result).is_some());
        unit.sort_by_key(|result| (&result.0.3, &result.0.4));
        let good = |result: &Tested| i64::from(class(result) == Some(true));
        if let Some(first) = unit.first().filter(|first| is_selected(first)) {
            let counts = groups.entry(group(first)).or_default();
            counts[5] += 1;
            counts[6] += good(first);
        }
        if let Some(last) = unit.iter().rfind(|result| is_selected(result)) {
            let counts = groups.entry(group(last)).or_default();
            counts[3] += 1;
            counts[4] += good(last);
        }
    }
    let share = |part: i64, whole: i64| match whole {
        0 => "null".to_owned(),
        _ => format!("{:.8e}", part as f64 / whole as f64),
    };
    let line = |((_, part, station), counts): ((bool, Option<String>, String), Counts)| {
        let [good, bad, ignored, units, last, first_units, first] = counts;
        let counted = good + bad;
        format!(
            "{} | {station} | {} | {} | {} | {} | {good} | {bad} | {ignored} | {units} | {first_units} | {}",
            part.unwrap_or("null".to_owned()),
            share(first, first_units),
            share(last, units),
            share(good, counted),
            share(counted - units, counted),
            counted - first_units,
        )
    };
    groups.into_iter().map(line).collect()
}

/// The statement's answer, of the default columns.
async fn yields(sql: &SessionContext, yields: LakeYields) -> Vec<String> {
    answers(sql, &yields.statement().unwrap()).await
}

struct Fleet {
    _directory: tempfile::TempDir,
    stores: Vec<Store>,
    objects: Objects,
}

const STATIONS: [&str; 3] = ["s1", "s2", "s3"];

/// Three stations that test units of each other, with changes between their publications.
fn fleet(seed: u64, objects: Objects) -> Fleet {
    let directory = tempfile::tempdir().unwrap();
    let mut random = Random::new(seed);
    let mut stores = Vec::new();
    for (at, station) in STATIONS.iter().enumerate() {
        let store = open_sealing(&directory.path().join(station), 60);
        let session = ada(&store);
        let ids = test(&session, &mut random, 40, at as i64 * 20);
        if at != 1 {
            settle(&store);
        }
        publish(&store, &objects, station);
        let change = |id: &str, members: Value| {
            let mut result = members;
            result["id"] = id.into();
            let done = session.update_results(vec![request(result)], false, false).unwrap();
            assert!(done.error.is_none(), "{:?}", done.error);
        };
        change(&ids[1], json!({ "status": { "statusType": "FAILED" }, "operator": "eve" }));
        change(&ids[2], json!({ "partNumber": "C", "serialNumber": "9", "workspace": "w" }));
        session.delete_result(&ids[3].as_str().into(), true).unwrap();
        let steps = stationdb::results::QueryStepsRequest::new();
        let filter = format!("resultId == \"{}\" && name == \"below\"", ids[4]);
        let step = session.query_steps(steps.filter(filter)).unwrap().steps.remove(0);
        let step = step.step_id.unwrap();
        session.delete_step(&ids[4].as_str().into(), &step, false).unwrap();
        test(&session, &mut random, 20, 30);
        publish(&store, &objects, station);
        stores.push(store);
    }
    Fleet { _directory: directory, stores, objects }
}

impl Fleet {
    fn results(&self) -> Vec<Tested> {
        let stations = self.stores.iter().zip(STATIONS);
        stations.flat_map(|(store, station)| tested(&ada(store), station)).collect()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn steps_and_measurements_of_all_stations_are_those_of_the_stores() {
    let fleet = fleet(3, Arc::new(InMemory::new()));
    let sql = lake(&fleet.objects).await;
    let tables = ["results", "steps", "measurements"];
    for table in tables {
        let mut expected = Vec::new();
        for store in &fleet.stores {
            let own = stationdb_sql::context(&ada(store)).unwrap();
            expected.extend(answers(&own, &format!("select * from {table}")).await);
            let statement = format!("select * from {table}");
            let fields = |frame: datafusion::prelude::DataFrame| -> Vec<_> {
                let fields = frame.schema().fields().iter();
                fields.map(|field| (field.name().clone(), field.data_type().to_string())).collect()
            };
            let here = fields(own.sql(&statement).await.unwrap());
            assert_eq!(here, fields(sql.sql(&statement).await.unwrap()), "{table}");
        }
        expected.sort();
        assert!(expected.len() > 150, "{table}");
        assert_eq!(sorted(&sql, &format!("select * from {table}")).await, expected, "{table}");
    }
    // The limits that figures use are there.
    for comparison in ["GE", "LE"] {
        let limits = format!(
            "select count(lower_spec_limit) > 0, count(upper_spec_limit) > 0 from measurements \
             where comparison_type = '{comparison}'"
        );
        let expected = format!("{} | {}", comparison == "GE", comparison == "LE");
        assert_eq!(answers(&sql, &limits).await, [expected]);
    }
    // By station, with conditions on every kind of column.
    let condition = "where name = 'gain' and value > 0 and result_status = 'PASSED' \
                     and started_at is not null and part_number in ('A', 'B')";
    let ours = format!(
        "select _station, count(*), sum(low_limit), max(text) from lake.measurement_changes \
         {condition} group by 1 order by 1"
    );
    let mut expected = Vec::new();
    for (store, station) in fleet.stores.iter().zip(STATIONS) {
        let own = stationdb_sql::context(&ada(store)).unwrap();
        let theirs = format!(
            "select '{station}', count(*), sum(low_limit), max(text) from measurements {condition}"
        );
        expected.extend(answers(&own, &theirs).await);
    }
    assert_eq!(answers(&sql, &ours).await, expected);
    let joined = "select count(*) from measurements m join results r on m.result_id = r.id \
                  join steps s on s.result_id = r.id and s.step_id = m.step_id \
                  where m.step_name = s.name and m.path = s.path";
    let all = "select count(*) from measurements";
    assert_eq!(answers(&sql, joined).await, answers(&sql, all).await);
    let listed = "select table_schema, table_name from information_schema.tables where table_name \
                  in ('steps', 'measurements', 'step_changes', 'measurement_changes') order by 1, 2";
    let names = [
        "lake | measurement_changes",
        "lake | step_changes",
        "public | measurements",
        "public | steps",
    ];
    assert_eq!(answers(&sql, listed).await, names);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lake_without_results_has_empty_tables() {
    let directory = tempfile::tempdir().unwrap();
    let objects: Objects = Arc::new(InMemory::new());
    for at in 0..2 {
        let sql = lake(&objects).await;
        for table in ["steps", "measurements", "lake.step_changes", "lake.measurement_changes"] {
            assert_eq!(answers(&sql, &format!("select count(*) from {table}")).await, ["0"]);
        }
        assert_eq!(yields(&sql, LakeYields::new()).await, Vec::<String>::new());
        let of_all = yields(&sql, LakeYields::new().by([])).await;
        assert_eq!(of_all, ["null | null | null | null | 0 | 0 | 0 | 0 | 0 | 0"], "{at}");
        // And with a station that has no results.
        if at == 0 {
            publish(&open(&directory.path().join("store")), &objects, "s1");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn yields_of_a_fleet_are_those_of_their_definitions() {
    for seed in 1..4 {
        let fleet = fleet(seed, Arc::new(InMemory::new()));
        let sql = lake(&fleet.objects).await;
        let results = fleet.results();
        for scope in [LakeYieldScope::Lake, LakeYieldScope::Station] {
            let all = yields(&sql, LakeYields::new().scope(scope)).await;
            assert_eq!(all, naive(&results, scope, |_| true), "{seed} {scope:?}");
            assert!(all.len() >= 9, "{all:?}");
            // The first results of some units are not selected, or the last ones.
            for (test, is_late) in [(">=", true), ("<", false)] {
                let filter = format!("started_at {test} '2024-03-01T00:00:30Z'");
                let some = LakeYields::new().scope(scope).filter(filter);
                let is_selected =
                    |result: &Tested| (result.0.3.as_str() >= "2024-03-01T00:00:30") == is_late;
                let found = yields(&sql, some).await;
                assert_eq!(found, naive(&results, scope, is_selected), "{seed} {scope:?} {test}");
                assert_ne!(found, all);
            }
        }
        // A unit of two stations is one, and has its first pass at one of them.
        let units = async |scope| {
            let all = LakeYields::new().by([]).scope(scope);
            yields(&sql, all).await.remove(0).split(" | ").nth(7).unwrap().parse::<i64>().unwrap()
        };
        assert!(units(LakeYieldScope::Lake).await < units(LakeYieldScope::Station).await);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_yields_of_a_station_are_those_of_its_store() {
    let fleet = fleet(7, Arc::new(InMemory::new()));
    let sql = lake(&fleet.objects).await;
    for (store, station) in fleet.stores.iter().zip(STATIONS) {
        let groups = [
            (LakeYieldKey::PartNumber, "PART_NUMBER"),
            (LakeYieldKey::ProgramName, "PROGRAM_NAME"),
            (LakeYieldKey::Operator, "OPERATOR"),
            (LakeYieldKey::Workspace, "WORKSPACE"),
        ];
        let good = [StatusType::Passed, StatusType::Skipped];
        let bad = [StatusType::Failed, StatusType::Running];
        let mut count = 0;
        for (key, group) in groups {
            for has_classes in [false, true] {
                let mut asked = YieldsRequest::new().group_by([group.to_owned()]);
                let mut of_lake = LakeYields::new().by([key]).scope(LakeYieldScope::Station);
                of_lake = of_lake.filter(format!("_station = '{station}'"));
                if has_classes {
                    (asked.good, asked.bad) = (Some(good.into()), Some(bad.into()));
                    of_lake = of_lake.good(good).bad(bad);
                }
                let answer = ada(store).yields(asked, &Control::default()).unwrap();
                let expected: Vec<String> = answer
                    .groups
                    .iter()
                    .map(|group| {
                        let share = |share: Option<f64>| {
                            share.map_or("null".to_owned(), |share| format!("{share:.8e}"))
                        };
                        let key = group.keys[0].clone().unwrap_or("null".to_owned());
                        let ignored: i64 = group.not_counted.values().sum();
                        format!(
                            "{key} | {} | {} | {} | {} | {} | {} | {ignored} | {} | {} | {}",
                            share(group.first_pass_yield),
                            share(group.final_yield),
                            share(group.result_yield),
                            share(group.retest_rate),
                            group.good,
                            group.bad,
                            group.units,
                            group.first_units,
                            group.retests
                        )
                    })
                    .collect();
                assert_eq!(yields(&sql, of_lake).await, expected, "{station} by {group}");
                count += expected.len();
            }
        }
        assert!(count >= 16, "{count} groups");
    }
}

#[test]
fn a_statement_is_refused_for_classes_and_keys_that_contradict() {
    let both = LakeYields::new().good([StatusType::Failed]);
    assert!(both.statement().unwrap_err().to_string().contains("FAILED is good and bad"));
    let twice = LakeYields::new().by([LakeYieldKey::Station, LakeYieldKey::Station]);
    assert!(twice.statement().is_err());
    LakeYields::new().good([]).bad([]).statement().unwrap();
}

/// Reads the lake tables by `deltalake`, and asks the views and the statement of `DuckDB`.
const PEERS: &str = r#"
import sys, os, json, duckdb, deltalake
spec = json.load(open(sys.argv[1], encoding="utf-8"))
def cell(v):
    if v is None: return "null"
    if isinstance(v, float):
        if v != v: return "nan"
        if v in (float("inf"), -float("inf")): return "inf" if v > 0 else "-inf"
        mantissa, exponent = ("%.8e" % (v + 0.0)).split("e")
        return "%se%d" % (mantissa, int(exponent))
    return str(v)
for reader in ["DuckDB", "pyarrow"]:
    db = duckdb.connect()
    db.execute("set timezone = 'UTC'")
    for name in spec["tables"]:
        table = deltalake.DeltaTable(os.path.join(spec["root"], name))
        if reader == "DuckDB":
            files = [uri.replace("file://", "") for uri in table.file_uris()]
            db.execute('create view "%s" as select * from read_parquet(%r, union_by_name=true)' % (name, files))
        else:
            db.register(name, table.to_pyarrow_table())
    for view in spec["views"]:
        db.execute('create view "%s" as %s' % (view["name"], view["sql"]))
    for name, statement in spec["statements"].items():
        rows = [" | ".join(cell(v) for v in row) for row in db.execute(statement).fetchall()]
        print(json.dumps([reader, name, rows]))
"#;

#[tokio::test(flavor = "multi_thread")]
async fn other_engines_read_measurements_and_yields() {
    let directory = tempfile::tempdir().unwrap();
    let objects: Objects = Arc::new(LocalFileSystem::new_with_prefix(directory.path()).unwrap());
    let fleet = fleet(5, objects.clone());
    let opening = objects.clone();
    let open = move || Lake::open(opening, &ROOT.into(), &Control::default()).unwrap();
    let read = tokio::task::spawn_blocking(open).await.unwrap();
    let kinds = ["test_result", "measurement", "step"];
    let views: Vec<Value> = read
        .views()
        .iter()
        .filter(|view| kinds.iter().any(|kind| view.name == format!("{kind}_latest")))
        .map(|view| json!({ "name": view.name, "sql": view.sql }))
        .collect();
    assert_eq!(views.len(), 3);
    let tables: Vec<String> = kinds.iter().map(|kind| format!("{kind}_changes")).collect();
    let columns = "result_id, step_id, position, name, value, text, units, low_limit, high_limit, \
                   status, step_name, path, step_status, part_number, result_status";
    let steps = "result_id, step_id, name, path, has_children";
    let by_reader = [
        ("measurements", format!("select _station, {columns} from measurement_latest")),
        ("steps", format!("select _station, {steps} from step_latest")),
        ("yields", LakeYields::new().over("test_result_latest").statement().unwrap()),
    ];
    let statements: BTreeMap<_, _> = by_reader.into_iter().collect();
    let tables: Vec<String> = tables.into_iter().chain(["batches".to_owned()]).collect();
    let spec = json!({ "root": directory.path().join(ROOT), "tables": tables, "views": views,
        "statements": statements });
    let file = directory.path().join("spec.json");
    std::fs::write(&file, spec.to_string()).unwrap();
    let named = std::env::var("STATIONDB_PYTHON");
    let python = named.clone().unwrap_or_else(|_| "python3".to_owned());
    let has = Command::new(&python).args(["-c", "import duckdb, deltalake, pyarrow"]).output();
    if !has.is_ok_and(|output| output.status.success()) {
        assert!(named.is_err(), "{python} cannot import duckdb, deltalake and pyarrow");
        println!("skipped: {python} cannot import duckdb, deltalake and pyarrow");
        return;
    }
    let output = Command::new(&python).args(["-c", PEERS]).arg(&file).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let sql = lake(&fleet.objects).await;
    let ours = BTreeMap::from([
        (
            "measurements",
            sorted(&sql, &format!("select _station, {columns} from lake.measurement_changes"))
                .await,
        ),
        ("steps", sorted(&sql, &format!("select _station, {steps} from lake.step_changes")).await),
        ("yields", naive(&fleet.results(), LakeYieldScope::Lake, |_| true)),
    ]);
    let mut count = 0;
    for line in String::from_utf8(output.stdout).unwrap().lines() {
        let (reader, name, mut rows): (String, String, Vec<String>) =
            serde_json::from_str(line).unwrap();
        if name != "yields" {
            rows.sort();
        }
        let shown: Vec<String> =
            rows.iter().map(|row| row.replace("True", "true").replace("False", "false")).collect();
        assert_eq!(shown, ours[name.as_str()], "{reader}: {name}");
        count += 1;
    }
    assert_eq!(count, 6);
    let measured = ScanMeasurementsRequest::new().columns(["name"]);
    let stream = ada(&fleet.stores[0]).scan_measurements(measured, &Control::default()).unwrap();
    let own: usize = stream.map(|batch| batch.unwrap().num_rows()).sum();
    let of_first = ours["measurements"].iter().filter(|row| row.starts_with("s1 | ")).count();
    assert_eq!(of_first, own);
}
