//! Upload sessions: chunks that wait across a reopening, are sent again, become a file, or are
//! cancelled.

use crate::prelude::*;

pub struct Sessions;

fn start(store: &Store, workspace: &str) -> Result<(), Error> {
    ada(store).start_upload_session(Some(workspace.to_owned())).map(|_| ())
}

fn id_of(store: &Store, workspace: &str) -> Result<String, Error> {
    let waiting = ada(store).query_upload_sessions()?;
    Ok(waiting
        .into_iter()
        .find(|state| state.workspace == workspace)
        .map(|state| state.id)
        .unwrap_or_default())
}

fn append(store: &Store, workspace: &str, len: usize) -> Result<(), Error> {
    let id = id_of(store, workspace)?;
    ada(store).append_to_upload_session(
        &id.as_str().into(),
        1,
        &mut content(len).as_slice(),
        true,
        &Control::default(),
    )
}

fn finish(store: &Store, workspace: &str, name: &str) -> Result<(), Error> {
    ada(store)
        .finish_upload_session(&id_of(store, workspace)?.into(), name, BTreeMap::new())
        .map(|_| ())
}

impl Steps for Sessions {
    fn options(&self) -> StoreOptions {
        options().small_blob_bytes(1000).clock(ManualClock::new(Default::default()))
    }

    fn steps(&self) -> Vec<Step> {
        vec![
            ("a session", |store| start(store, "one")),
            ("another session", |store| start(store, "two")),
            ("a chunk", |store| append(store, "one", 30_000)),
            ("a chunk of the other", |store| append(store, "two", 200)),
            ("the chunk again", |store| append(store, "one", 45_000)),
            (REOPEN, |_| Ok(())),
            ("the other is given up", |store| {
                ada(store).cancel_upload_session(&id_of(store, "two")?.into())
            }),
            (MAINTAIN, |store| store.maintain(&Control::default()).map(|_| ())),
            ("the chunk a third time", |store| append(store, "one", 2_000)),
            ("the file of the chunk", |store| finish(store, "one", "chunks")),
            ("a third session", |store| start(store, "three")),
            ("an empty chunk", |store| append(store, "three", 0)),
            (REOPEN, |_| Ok(())),
            ("an empty file", |store| finish(store, "three", "empty")),
        ]
    }

    fn observe(&self, store: &Store) -> Result<Observation, Error> {
        let mut seen = Observation::new();
        observe_files(store, &mut seen)?;
        for waiting in ada(store).query_upload_sessions()? {
            seen.insert(format!("session {}", waiting.workspace), format!("{:?}", waiting.chunks));
        }
        Ok(seen)
    }
}

#[test]
fn every_change_of_upload_sessions_can_be_the_last() {
    must_hold("sessions", &Sequence::new(Sessions));
}

#[test]
fn the_nth_operation_of_upload_sessions_fails() {
    errors::operations_fail("sessions", &Sequence::new(Sessions), 7);
}

#[test]
fn a_disk_that_fills_up_under_upload_sessions_loses_nothing() {
    assert!(errors::fills_up("sessions", &Sequence::new(Sessions)) > 0);
}

#[test]
fn one_wrong_bit_under_upload_sessions_is_never_a_wrong_answer() {
    flips::one_bit_is_wrong("sessions", &Sequence::new(Sessions), 100);
}
