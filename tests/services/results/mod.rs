//! Test results, as their reference describes them.

mod append;
mod client;
mod figures;
mod orders;
mod paths;
mod queries;
mod retention;
mod runs;
mod scans;
mod storage;
mod writes;

use crate::prelude::*;
use crate::test_store::TestStore;
use stationdb::results::*;

/// A request of the program `Gain` that passed.
fn gain(part_number: &str, serial_number: &str) -> CreateResultRequest {
    CreateResultRequest::new()
        .program_name("Gain")
        .status(StatusType::Passed)
        .part_number(part_number)
        .serial_number(serial_number)
}

fn create(session: &Session, requests: Vec<CreateResultRequest>) -> Vec<TestResult> {
    session.create_results(requests).unwrap().into_result().unwrap().results
}

fn id_of(result: &TestResult) -> TestResultId {
    result.id.clone().unwrap()
}

fn parameter(entry: &[(&str, &str)]) -> BTreeMap<String, String> {
    entry.iter().map(|(key, text)| ((*key).to_owned(), (*text).to_owned())).collect()
}

fn steps_of(session: &Session, id: &TestResultId) -> Vec<Step> {
    let query = QueryStepsRequest::new().filter("resultId == @0").substitutions([id.as_str()]);
    session.query_steps(query).unwrap().steps
}

fn events(session: &Session) -> Vec<ChangeEvent> {
    let mut changes = session.changes(Position::START);
    std::iter::from_fn(|| changes.next(Duration::ZERO).unwrap()).collect()
}

/// The serial numbers of the results of a query, in order.
fn serials(session: &Session, query: QueryResultsRequest) -> String {
    let page = session.query_results(query).unwrap();
    let serial = |result: &TestResult| result.serial_number.clone().unwrap_or_default();
    page.results.iter().map(serial).collect::<Vec<_>>().join(" ")
}

#[test]
fn the_information_has_twenty_operations() {
    let store = TestStore::new();
    let session = store.session();
    let info = write(&session.result_api_info().unwrap());
    assert_eq!(info, write(&session.product_api_info().unwrap()));
    let operations = info["operations"].as_object().unwrap();
    let names = [
        "getProducts",
        "queryProducts",
        "createProducts",
        "updateProducts",
        "deleteProducts",
        "deleteManyProducts",
        "getResults",
        "getResultsPropertyKeys",
        "queryResults",
        "createResults",
        "updateResults",
        "deleteResult",
        "deleteManyResults",
        "getSteps",
        "querySteps",
        "createSteps",
        "updateSteps",
        "deleteStep",
        "deleteManySteps",
        "queryPaths",
    ];
    assert_eq!(operations.len(), names.len());
    for name in names {
        let members: Vec<&String> = operations[name].as_object().unwrap().keys().collect();
        assert_eq!(members, ["available", "version"], "{name}");
    }
    assert_eq!(operations["getResultsPropertyKeys"]["available"], false);
    assert_eq!(operations["queryResults"]["available"], true);
}
