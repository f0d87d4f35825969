//! Pages of steps in every order, from chunks, from sealed columns, and from both.

use super::*;
use stationdb::chrono;

const ORDERS: [(StepOrderBy, &str); 10] = [
    (StepOrderBy::Name, "name"),
    (StepOrderBy::StepType, "stepType"),
    (StepOrderBy::StepId, "stepId"),
    (StepOrderBy::ParentId, "parentId"),
    (StepOrderBy::ResultId, "resultId"),
    (StepOrderBy::Path, "path"),
    (StepOrderBy::TotalTimeInSeconds, "totalTimeInSeconds"),
    (StepOrderBy::StartedAt, "startedAt"),
    (StepOrderBy::UpdatedAt, "updatedAt"),
    (StepOrderBy::DataModel, "dataModel"),
];

fn started(second: i64) -> chrono::DateTime<chrono::Utc> {
    chrono::DateTime::from_timestamp(1_700_000_000 + second, 0).unwrap()
}

fn text_or(at: usize, of: usize, text: &str) -> Option<String> {
    (!at.is_multiple_of(of)).then(|| format!("{text} {}", at * 7 % of))
}

fn step(at: usize) -> CreateStepRequest {
    let entry = parameter(&[("name", "V"), ("measurement", &at.to_string())]);
    let mut step = CreateStepRequest::new()
        .name(format!("name {}", at * 5 % 7))
        .status(if at.is_multiple_of(3) { StatusType::Failed } else { StatusType::Passed })
        .started_at(started(at as i64 * 37 % 11))
        .total_time_in_seconds((at * 13 % 5) as f64 / 2.0)
        .data(StepData::new().parameters([entry]));
    step.step_type = text_or(at, 4, "type");
    step.data_model = text_or(at, 3, "model");
    step.step_id = at.is_multiple_of(6).then(|| format!("id {}", 999 - at));
    step
}

/// The members of all pages with so many steps each.
fn pages(session: &Session, query: &QueryStepsRequest, take: i64) -> Vec<Value> {
    let mut query = query.clone().take(take);
    let mut found = Vec::new();
    loop {
        let page = session.query_steps(query.clone()).unwrap();
        found.extend(page.steps.iter().map(write));
        let Some(token) = page.continuation_token else { return found };
        query = query.continuation_token(token);
    }
}

/// The sort key of a member: nulls first, then numbers, then texts.
fn key(step: &Value, member: &str) -> (bool, i64, String) {
    let value = &step[member];
    let number = value.as_f64().map_or(0, |seconds| (seconds * 1_000.0) as i64);
    (!value.is_null(), number, value.as_str().unwrap_or_default().to_owned())
}

fn assert_orders(session: &Session, filter: &str) {
    let query = QueryStepsRequest::new().filter(filter);
    let natural = pages(session, &query, 1_000);
    assert!(natural.len() > 9, "{filter}: {} steps", natural.len());
    for (order, member) in ORDERS {
        let mut sorted = natural.clone();
        sorted.sort_by_key(|step| key(step, member));
        let query = query.clone().order_by(order);
        assert!(pages(session, &query, 1_000) == sorted, "{filter}, {member}");
        assert!(pages(session, &query, 13) == sorted, "{filter}, {member}, pages");
        sorted.reverse();
        assert!(pages(session, &query.descending(true), 17) == sorted, "{filter}, {member}, down");
    }
    assert!(pages(session, &query.descending(true), 11) == natural, "{filter}, down");
}

#[test]
fn pages_in_every_order_are_the_sorted_list_wherever_steps_lie() {
    let store = TestStore::with(|options| options.maintenance_thread(false).seal_rows(20));
    let session = store.session();
    let results = create(&session, (0..3).map(|at| gain("P", &at.to_string())).collect());
    let filters = [
        "",
        "status.statusType == \"PASSED\"",
        "name != \"name 3\" && startedAt > \"2023-11-14T22:13:22Z\"",
        // Columns do not tell which steps match this one.
        "data.parameters.Any(SafeConvert.ToDecimal(measurement) > 3.5)",
    ];
    let mut next = 0;
    for round in 0..2 {
        for result in &results {
            let id = id_of(result).to_string();
            let mut steps: Vec<_> =
                (next..next + 10).map(|at| step(at).result_id(id.clone())).collect();
            next += 10;
            let last = steps.pop().unwrap();
            let mut children = [step(next).name("below"), step(next + 1).name("name 3")];
            children.iter_mut().for_each(|child| child.step_id = None);
            steps.push(last.children(children));
            session.create_steps(steps, false).unwrap().require_all().unwrap();
        }
        for filter in filters {
            assert_orders(&session, filter);
        }
        store.store.maintain(&control()).unwrap();
        // Sealed steps that are changed are in chunks again.
        let some = pages(&session, &QueryStepsRequest::new(), 1_000);
        let changed = some.iter().skip(round).step_by(9).map(|step| {
            UpdateStepRequest::new()
                .step_id(step["stepId"].as_str().unwrap())
                .result_id(step["resultId"].as_str().unwrap())
                .name("changed")
        });
        session
            .update_steps(changed.collect(), false, false, false)
            .unwrap()
            .require_all()
            .unwrap();
        for filter in filters {
            assert_orders(&session, filter);
        }
    }
    store.assert_sound();
}
