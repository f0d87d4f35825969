//! A process that ends while the runner works: the stored intent becomes an event when the store is
//! opened next.

use super::test_store::TestStore;
use crate::model::{EventType, ExecutionEventDetail, State};
use crate::services::work_items::execute;
use crate::store::tests::prelude::*;
use crate::value::Clock;

#[test]
fn an_intent_without_a_result_becomes_an_event_with_an_error_when_the_store_is_opened() {
    let bench = TestStore::with(|options| options.maintenance_thread(false));
    let session = bench.session();
    let made = session.create_work_items(vec![CreateWorkItemRequest::new().name("n")]).unwrap();
    let id = made.created_work_items[0].id.clone().unwrap();
    let clock = bench.clock.now();
    // The state that a process leaves if it ends during the call of the runner: a committed intent.
    let item_id = id.to_string();
    session
        .write(move |draft| {
            let intent = execute::Intent {
                item_id,
                action: "START".into(),
                event: EventType::Job,
                triggered_by: "ada".into(),
                triggered_at: Some(clock),
            };
            draft.put_raw(Space::Intents, vec![1], envelope::to_row(&[1], &intent)?);
            Ok(())
        })
        .unwrap();
    drop(session);
    bench.clock.advance_ms(5000);
    let bench = bench.reopen();
    let item = bench.session().get_work_item(&id).unwrap();
    let history = item.execution_history.unwrap();
    assert_eq!(history.len(), 1);
    let base = &history[0].base;
    assert_eq!(
        (base.previous_state, base.new_state, item.state),
        (Some(State::New), Some(State::New), Some(State::New))
    );
    assert_eq!(
        base.error.as_ref().unwrap().name.as_deref(),
        Some("StationDb.ExecutionInterrupted")
    );
    assert_eq!((base.triggered_at, base.triggered_by.as_deref()), (Some(clock), Some("ada")));
    assert_eq!(history[0].detail, ExecutionEventDetail::Job { job_ids: None });
    let bench = bench.reopen();
    let item = bench.session().get_work_item(&id).unwrap();
    assert_eq!(item.execution_history.unwrap().len(), 1, "there is one event");
}
