//! Results with their steps and tables in one commit.

use super::*;
use stationdb::arrow::array::{ArrayRef, Float64Array, Int64Array, RecordBatch};

fn step(name: &str, status: StatusType) -> CreateStepRequest {
    CreateStepRequest::new().name(name).status(status)
}

fn ramp() -> CreateTableRequest {
    CreateTableRequest::new([
        Column::new("t", DataType::Int64).column_type(ColumnType::Index),
        Column::new("v", DataType::Float64),
    ])
    .name("ramp")
}

fn rows(count: i64) -> RecordBatch {
    let (t, v) = (0..count).map(|t| (t, t as f64 / 2.0)).unzip::<_, _, Vec<_>, Vec<_>>();
    RecordBatch::try_from_iter([
        ("t", Arc::new(Int64Array::from(t)) as ArrayRef),
        ("v", Arc::new(Float64Array::from(v)) as ArrayRef),
    ])
    .unwrap()
}

#[test]
fn a_result_comes_with_steps_tables_and_files_in_one_commit() {
    let store = TestStore::new();
    let session = store.session();
    let item = ResultWithSteps::new(gain("P", "1").file_ids(["f"]).data_table_ids(["given"]))
        .steps([
            step("a", StatusType::Passed).children(vec![
                step("b", StatusType::Failed),
                step("c", StatusType::Passed).children(vec![step("d", StatusType::Done)]),
            ]),
            step("e", StatusType::Passed).step_id("own"),
        ])
        .table(ResultTable::new(ramp()).batch(rows(3)).batch(rows(2)).end_of_data(true))
        .table(ResultTable::new(ramp().workspace("other")));
    let made = session.append_results(&[item]).unwrap().into_result().unwrap().results.remove(0);
    let events = events(&session);
    let sequences: BTreeSet<_> = events.iter().map(|event| event.sequence).collect();
    assert_eq!(sequences.len(), 1, "{events:?}");
    let steps: Vec<_> =
        events.iter().filter(|event| event.what == What::StepsChanged).map(|e| &e.detail).collect();
    assert_eq!(steps, [&Some(json!({"created": 5, "updated": 0, "deleted": 0}))]);

    let id = id_of(&made);
    assert_eq!(session.get_result(&id).unwrap(), made);
    let summary = made.status_type_summary.as_ref().unwrap();
    assert_eq!((summary.passed, summary.failed, summary.done), (3, 1, 1));
    let found = steps_of(&session, &id);
    let paths: Vec<_> = found.iter().filter_map(|step| step.path.as_deref()).collect();
    assert_eq!(paths, ["a", "a\nb", "a\nc", "a\nc\nd", "e"]);
    let parents: Vec<_> = found.iter().map(|step| step.has_children.unwrap()).collect();
    assert_eq!(parents, [true, false, true, false, false]);
    assert_eq!(found[3].parent_id, found[2].step_id);
    assert_eq!(found[4].step_id.as_deref(), Some("own"));
    assert_eq!(found[0].started_at, made.started_at);

    let tables = made.data_table_ids.clone().unwrap();
    assert_eq!((tables.len(), tables[0].as_str()), (3, "given"));
    let table = |at: usize| session.get_table_metadata(&tables[at].as_str().into()).unwrap();
    let (first, second) = (table(1), table(2));
    assert_eq!((first.row_count, first.supports_append), (Some(5), Some(false)));
    assert_eq!(first.test_result_id.as_deref(), Some(id.as_str()));
    assert_eq!(first.workspace, made.workspace);
    assert_eq!((second.row_count, second.workspace.as_deref()), (Some(0), Some("other")));
    store.store.maintain(&control()).unwrap();
    drop(session);
    let store = store.reopen();
    let session = store.session();
    assert_eq!(session.get_result(&id).unwrap(), made);
    assert_eq!(steps_of(&session, &id), found);
    // The next step has the next number.
    let next = step("next", StatusType::Done).result_id(id.to_string());
    session.create_steps(vec![next], false).unwrap().require_all().unwrap();
    assert_eq!(steps_of(&session, &id).len(), 6);
    store.assert_sound();
}

#[test]
fn what_is_refused_leaves_nothing_and_stops_no_other() {
    let store = TestStore::new();
    let session = store.session();
    let mut narrow = ramp();
    narrow.columns.pop();
    let items = [
        ResultWithSteps::new(gain("P", "good")).step(step("s", StatusType::Passed)),
        ResultWithSteps::new(gain("Q", "1"))
            .step(step("s", StatusType::Passed))
            .step(step("t", StatusType::Passed).children(vec![CreateStepRequest::new()])),
        ResultWithSteps::new(gain("Q", "2")).steps([
            step("s", StatusType::Passed).step_id("x"),
            step("t", StatusType::Passed).step_id("x"),
        ]),
        ResultWithSteps::new(gain("Q", "3")).table(ResultTable::new(narrow).batch(rows(1))),
        ResultWithSteps::new(gain("Q", "4")).table(ResultTable::new(CreateTableRequest::new([]))),
        ResultWithSteps::new(gain("Q", "5")).step(step("s", StatusType::Passed).result_id("r")),
        ResultWithSteps::new(CreateResultRequest::new().program_name("no status")),
    ];
    let answer = session.append_results(&items).unwrap();
    assert_eq!(answer.results.len(), 1);
    let failed: Vec<_> =
        answer.failed.as_ref().unwrap().iter().map(|failed| failed.serial_number.clone()).collect();
    let five = ["1", "2", "3", "4", "5"].map(|serial| Some(serial.to_owned()));
    assert_eq!(failed, [five.to_vec(), vec![None]].concat());
    let inner = answer.error.unwrap().inner_errors;
    let places: Vec<_> = inner.iter().map(|inner| inner.args[0].as_str()).collect();
    assert_eq!(places[0], "steps[1].children[0].name");
    assert_eq!(inner[1].name.as_deref(), Some("TestMonitor.StepIdInUse"));
    assert_eq!(places[2], "v", "the column that the table does not have");
    assert!(places[3].starts_with("tables[0]"), "{places:?}");
    assert_eq!(&places[4..], ["steps[0].resultId", "status"]);
    assert_eq!(serials(&session, QueryResultsRequest::new()), "good");
    assert_eq!(session.get_steps(None, Some(0), true).unwrap().total_count, Some(1));
    assert_eq!(session.query_tables(QueryTablesRequest::new().filter("")).unwrap().tables, []);
    let products = session.query_products(QueryProductsRequest::new()).unwrap().products;
    assert_eq!(products.len(), 1, "only that of the stored result");

    let error = session.all_or_nothing().append_results(&items).unwrap_err();
    assert_eq!(error.place(), Some(&Place::Member("[1].steps[1].children[0].name".to_owned())));
    assert_eq!(serials(&session, QueryResultsRequest::new()), "good");
    store.assert_sound();
}

#[test]
fn a_transaction_takes_it_with_other_changes() {
    let store = TestStore::new();
    let session = store.session();
    let item = ResultWithSteps::new(gain("P", "1"))
        .step(step("s", StatusType::Passed))
        .table(ResultTable::new(ramp()).batch(rows(4)));
    let refused = session.transaction(|tx| {
        let made = tx.append_results(std::slice::from_ref(&item))?.into_result()?;
        let table = &made.results[0].data_table_ids.as_ref().unwrap()[0];
        assert_eq!(tx.get_table_metadata(&table.as_str().into())?.row_count, Some(4));
        Err::<(), _>(Error::conflict("no"))
    });
    assert!(refused.is_err());
    assert_eq!(serials(&session, QueryResultsRequest::new()), "");
    session.transaction(|tx| tx.append_results(&[item])?.into_result().map(drop)).unwrap();
    assert_eq!(serials(&session, QueryResultsRequest::new()), "1");
    assert_eq!(session.get_steps(None, Some(0), true).unwrap().total_count, Some(1));
    store.assert_sound();
}

#[test]
fn a_quota_between_a_result_and_its_table_refuses_the_call() {
    let store = TestStore::new();
    let session = store.session();
    session.set_quota(SetQuotaRequest::new("default").records_max(2)).unwrap();
    let item = ResultWithSteps::new(gain("", "1"))
        .table(ResultTable::new(ramp()))
        .table(ResultTable::new(ramp()));
    let error = session.append_results(&[item]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::LimitExceeded);
    assert_eq!(serials(&session, QueryResultsRequest::new()), "");
    assert_eq!(session.query_tables(QueryTablesRequest::new().filter("")).unwrap().tables, []);
    store.assert_sound();
}

#[test]
fn the_policy_is_asked_for_results_and_tables() {
    let store = TestStore::with(|options| {
        options.access_policy(Rule(|_, service, action| match (service, action) {
            (Service::TABLES, Action::Create) => Visibility::workspaces(["open"]),
            _ => Visibility::All,
        }))
    });
    let session = store.session();
    let item = |workspace: &str| {
        ResultWithSteps::new(gain("P", workspace).workspace(workspace))
            .table(ResultTable::new(ramp()))
    };
    let answer = session.append_results(&[item("open"), item("closed")]).unwrap();
    let error = &answer.error.unwrap().inner_errors[0];
    assert_eq!((answer.results.len(), error.args[0].as_str()), (1, "tables[0]"));
    store.assert_sound();
}
