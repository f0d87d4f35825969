//! Steps that do not fit their results are found, and a salvage mends them.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::Identity;
use crate::disk::MemoryDisk;
use crate::error::ErrorKind;
use crate::model::TestResult;
use crate::model::answer::BatchAnswer as _;
use crate::model::results::{
    CreateResultRequest, CreateStepRequest, StatusType, StatusTypeSummary, StepIdResultIdPair,
};
use crate::model::steps::links::StepLinks;
use crate::model::steps::stored::{StepChunk, StoredStep};
use crate::model::tables::store_table::STEPS;
use crate::records::{Space, envelope};
use crate::services::{ResultService, mend_steps as mend, verify_steps as verify};
use crate::session::tables::{
    ChunkChange, change_chunks, change_links, drop_links, each_link, replace_links,
};
use crate::session::{Access, Draft, Session, What};
use crate::store::{Store, StoreOptions, VerifyLevel};
use crate::value::{Control, IdForm, RecordKey};

fn store() -> (Store, Session, Vec<String>) {
    let options = StoreOptions::default().seed(Some(1)).maintenance_thread(false).seal_rows(8);
    let store = options.open_on(Arc::new(MemoryDisk::new())).unwrap();
    let session = store.session(Identity::user("ada"));
    let request = || CreateResultRequest::new().program_name("P").status(StatusType::Passed);
    let made = session.create_results((0..3).map(|_| request()).collect()).unwrap();
    let ids: Vec<String> =
        made.results.iter().map(|made| made.id.clone().unwrap().to_string()).collect();
    for id in &ids[..2] {
        let step = |name: &str| {
            let step = CreateStepRequest::new().result_id(id).step_id(name).name(name);
            step.status(StatusType::Passed)
        };
        let steps = ["a", "b", "c", "d", "e", "f"].map(step).to_vec();
        session.create_steps(steps, false).unwrap().require_all().unwrap();
    }
    store.maintain(&Control::default()).unwrap();
    (store, session, ids)
}

fn key_of(id: &str) -> Option<RecordKey> {
    RecordKey::parse(IdForm::Guid, id)
}

/// Writes a result as no call does.
fn put(store: &Store, id: &str, change: fn(&mut TestResult)) {
    let id = id.to_owned();
    let session = Session::of_store(store.engine());
    session
        .write(move |draft| {
            let mut result = draft.get::<TestResult>(&id)?.unwrap();
            change(&mut result);
            draft.put_by_store(&result, What::Updated, None)
        })
        .unwrap();
}

fn findings(store: &Store) -> Vec<(String, String)> {
    let mut found = Vec::new();
    verify(store.engine(), &Control::default(), |place, problem| {
        found.push((place.to_owned(), problem.to_owned()));
    })
    .unwrap();
    found
}

/// Checks that exactly one problem is found about a result, and none after it was mended.
fn assert_mended(store: &Store, id: &str, problem: &str) {
    let found = findings(store);
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].0.contains(id) && found[0].1.contains(problem), "{found:?}");
    let report = store.verify(VerifyLevel::Checksums, &Control::default()).unwrap();
    assert!(report.findings.iter().any(|finding| finding.problem.contains(problem)), "{report:?}");
    let mut told = 0;
    mend(store.engine(), &Control::default(), |_, _| told += 1).unwrap();
    assert_eq!((told, findings(store)), (1, Vec::new()));
}

#[test]
fn a_summary_that_counts_other_steps_is_found() {
    let (store, session, ids) = store();
    assert_eq!(findings(&store), []);
    put(&store, &ids[0], |result| result.status_type_summary = None);
    assert_mended(&store, &ids[0], "summary");
    let summary = |id: &str| session.get_result(&id.into()).unwrap().status_type_summary.unwrap();
    assert_eq!(summary(&ids[0]).passed, 6);
    // A result that has no steps and counts some.
    put(&store, &ids[2], |result| {
        result.status_type_summary = Some(StatusTypeSummary { failed: 2, ..Default::default() });
    });
    assert_mended(&store, &ids[2], "summary");
    assert_eq!(summary(&ids[2]), StatusTypeSummary::default());
}

#[test]
fn a_number_of_steps_that_went_back_is_found() {
    let (store, session, ids) = store();
    put(&store, &ids[1], |result| result.steps_created = 2);
    assert_mended(&store, &ids[1], "fewer steps");
    let step = CreateStepRequest::new().result_id(&*ids[1]).step_id("new").name("new");
    session.create_steps(vec![step], false).unwrap().require_all().unwrap();
    assert_eq!(findings(&store), []);
}

#[test]
fn a_step_that_is_there_twice_is_found_and_stays_as_it_was_changed_last() {
    for (later, name) in [(1, "copy"), (-1, "b")] {
        let (store, session, ids) = store();
        let before = session.get_step(&ids[0].as_str().into(), "b").unwrap();
        let updated_at_ms = before.updated_at.unwrap().timestamp_millis() + later;
        let key = key_of(&ids[0]).unwrap();
        let copy = StoredStep {
            seq: 1,
            step_id: Some("b".to_owned()),
            name: "copy".to_owned(),
            path: "copy".to_owned(),
            status_type: Some("PASSED".to_owned()),
            updated_at_ms,
            ..StoredStep::default()
        };
        Session::of_store(store.engine())
            .write(move |draft| {
                let after = Some((1, StepChunk { steps: vec![copy] }));
                let change = ChunkChange { first: 77, before: (0, 0), after };
                change_chunks(draft, &STEPS, key, vec![change])
            })
            .unwrap();
        assert_mended(&store, &ids[0], "one number");
        let found = session.get_step(&ids[0].as_str().into(), "b").unwrap();
        assert_eq!(found.name.as_deref(), Some(name));
    }
}

#[test]
fn steps_without_their_result_are_found_and_stay_for_those_who_see_everything() {
    let (store, session, ids) = store();
    let id = ids[0].clone();
    Session::of_store(store.engine())
        .write(move |draft| draft.delete_by_store::<TestResult>(key_of(&id).unwrap()).map(drop))
        .unwrap();
    let unseen = session.get_step(&ids[0].as_str().into(), "a").unwrap_err();
    assert_eq!(unseen.kind(), ErrorKind::NotFound);
    assert_mended(&store, &ids[0], "it is not");
    let found = session.get_step(&ids[0].as_str().into(), "a").unwrap();
    assert_eq!(found.workspace.as_deref(), Some(""));
    let pairs = ["a", "b", "c", "d", "e", "f"].map(|step| StepIdResultIdPair::new(step, &*ids[0]));
    assert_eq!(session.delete_steps(pairs.to_vec(), false).unwrap(), None);
    assert_eq!(findings(&store), []);
}

#[test]
fn links_that_are_not_those_of_the_steps_are_found() {
    let (store, session, ids) = store();
    let own = Session::of_store(store.engine());
    let write = |id: &str, links: &[u64]| {
        let (key, links) = (key_of(id).unwrap(), links.to_vec());
        own.write(move |draft| replace_links(draft, key, &links)).unwrap();
    };
    let get = |id: &str, step: &str| session.get_step(&id.into(), step).map(|step| step.name);
    write(&ids[0], &[]);
    assert_eq!(get(&ids[0], "b").unwrap_err().kind(), ErrorKind::NotFound);
    // Links that lead nowhere, of a result with steps and of one without any.
    let extra = |draft: &mut Draft<'_>, id: &str| change_links(draft, key_of(id).unwrap(), [], [5]);
    let (one, other) = (ids[1].clone(), ids[2].clone());
    own.write(move |draft| extra(draft, &one).and_then(|()| extra(draft, &other))).unwrap();
    let found = findings(&store);
    let of = |id: &str| {
        let of = found
            .iter()
            .filter(|(place, problem)| place.contains(id) && problem.contains("by their ids"));
        of.count()
    };
    assert_eq!((found.len(), of(&ids[0]), of(&ids[1]), of(&ids[2])), (3, 1, 1, 1), "{found:?}");
    let mut told = 0;
    mend(store.engine(), &Control::default(), |_, _| told += 1).unwrap();
    // They follow from the steps, so nothing was lost.
    assert_eq!((told, findings(&store)), (0, Vec::new()));
    assert_eq!(get(&ids[0], "b").unwrap().as_deref(), Some("b"));
}

proptest::proptest! {
    #[test]
    fn links_are_a_set_in_rows_of_few(
        calls in proptest::collection::vec(
            proptest::collection::vec((0..2_000_u64, 0..3_u8), 1..150), 1..12),
        spread in 0..3_u32,
    ) {
        let store = StoreOptions::default().seed(Some(1)).maintenance_thread(false);
        let store = store.open_on(Arc::new(MemoryDisk::new())).unwrap();
        let session = Session::of_store(store.engine());
        let key = |byte: u8| RecordKey::from_bytes(IdForm::Guid, &[byte; 16]).unwrap();
        // Neighbours, whose links stay as they are.
        for byte in [6, 8, 255] {
            session.write(move |draft| change_links(draft, key(byte), [], 0..100)).unwrap();
        }
        let mut expected = BTreeSet::new();
        for call in calls {
            let (mut removed, mut added) = (BTreeSet::new(), BTreeSet::new());
            for (number, what) in call {
                let link = number << (20 * spread) | u64::from(spread == 2) << 63;
                if what == 0 { removed.insert(link) } else { added.insert(link) };
            }
            expected.retain(|link| !removed.contains(link));
            expected.extend(&added);
            session.write(move |draft| change_links(draft, key(7), removed, added)).unwrap();
            let all = |byte: u8, links: std::ops::RangeInclusive<u64>| {
                let mut found = Vec::new();
                session
                    .read(|view| {
                        each_link(view, key(byte), links, &mut |link| {
                            found.push(link);
                            Ok(true)
                        })
                    })
                    .unwrap();
                found
            };
            proptest::prop_assert_eq!(all(7, 0..=u64::MAX), Vec::from_iter(expected.clone()));
            let (first, last) = (200 << (20 * spread), 1_500 << (20 * spread));
            let within = expected.range(first..=last).copied();
            proptest::prop_assert_eq!(all(7, first..=last), Vec::from_iter(within));
            for byte in [6, 8, 255] {
                proptest::prop_assert_eq!(all(byte, 0..=u64::MAX).len(), 100);
            }
            let rows = session.read(|view| view.raw_prefix(Space::StepLinks, &[7; 16])).unwrap();
            for (key, row) in rows {
                let row: StepLinks = envelope::from_row(&key, &row).unwrap();
                proptest::prop_assert!((1..=64).contains(&row.differences.len()));
            }
        }
        session.write(move |draft| drop_links(draft, key(7))).unwrap();
        let left = session.read(|view| view.raw_prefix(Space::StepLinks, &[])).unwrap();
        proptest::prop_assert_eq!(left.len(), 9);
    }
}
