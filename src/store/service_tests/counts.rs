//! Counts by the columns of the text index, compared with the naive count, for every lag of the
//! index.

use crate::store::tests::prelude::*;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::lab::TimelinePatch;
use crate::session::Identity;
use crate::value::Patch;
use crate::work_items::{UpdateWorkItemRequest, UpdateWorkItemsRequest};

const FILTERS: [&str; 6] = [
    "timeline.estimatedDurationInSeconds > 50",
    "timeline.estimatedDurationInSeconds >= 10 && timeline.estimatedDurationInSeconds < 40",
    "timeline.estimatedDurationInSeconds == 33",
    "timeline.dueDateTime > \"2024-01-02T00:00:00Z\"",
    "timeline.dueDateTime <= \"2024-01-01T12:00:00Z\" && timeline.estimatedDurationInSeconds < 80",
    "timeline.estimatedDurationInSeconds > 1000",
];

fn open(disk: &Arc<MemoryDisk>) -> Store {
    let options = StoreOptions::default().maintenance_thread(false);
    options.open_on(Arc::clone(disk) as SharedDisk).unwrap()
}

fn timeline(number: i64) -> TimelineDefinition {
    let due = 1_704_067_200_000 + number * 600_000;
    TimelineDefinition {
        estimated_duration_in_seconds: (number % 7 != 0).then_some(number * 13 % 100),
        due_date_time: (number % 5 != 0)
            .then(|| chrono::DateTime::from_timestamp_millis(due).unwrap()),
        ..TimelineDefinition::default()
    }
}

fn create(access: &impl WorkItemService, numbers: std::ops::Range<i64>) -> Vec<String> {
    let request = |number: i64| CreateWorkItemRequest {
        name: Some(format!("item {number}")),
        r#type: Some("job".into()),
        workspace: Some(format!("w{}", number % 3)),
        timeline: Some(timeline(number)),
        ..CreateWorkItemRequest::default()
    };
    let answer = access.create_work_items(numbers.map(request).collect()).unwrap();
    assert!(answer.error.is_none());
    answer
        .created_work_items
        .iter()
        .map(|item| item.id.as_ref().unwrap().as_str().to_owned())
        .collect()
}

fn set_duration(access: &impl WorkItemService, id: &str, seconds: i64) {
    let patch = TimelinePatch {
        estimated_duration_in_seconds: Patch::Value(seconds),
        ..TimelinePatch::default()
    };
    let update = UpdateWorkItemRequest {
        id: Some(id.to_owned()),
        timeline: Patch::Value(patch),
        ..Default::default()
    };
    let request = UpdateWorkItemsRequest { work_items: vec![update], replace: None };
    assert!(access.update_work_items(request).unwrap().error.is_none());
}

/// The count of the store, the plan, and the number of records on an unlimited page.
fn count(access: &impl Access, filter: &str) -> (u64, Plan, u64) {
    access
        .read(|view| {
            let counting = Query { filter: Some(filter), return_count: true, ..Query::default() };
            let (page, plan) = view.query_with_plan::<WorkItem>(&counting)?;
            let all = Query { filter: Some(filter), take: 100_000, ..Query::default() };
            let naive = view.query::<WorkItem>(&all)?.items.len() as u64;
            Ok((page.total_count.unwrap(), plan, naive))
        })
        .unwrap()
}

fn check(access: &impl Access, by_columns: bool) {
    for filter in FILTERS {
        let (counted, plan, naive) = count(access, filter);
        assert_eq!(counted, naive, "{filter}: {plan}");
        let is_by_columns = plan.count.as_ref().unwrap().contains("columns of the text index");
        assert_eq!(is_by_columns, by_columns, "{filter}: {plan}");
    }
}

/// Opens the text index and brings it up to date.
fn search(session: &Session) {
    session
        .search(SearchRequest { text: Some("item".into()), ..SearchRequest::default() })
        .unwrap();
}

#[test]
fn columns_count_what_the_view_sees() {
    let disk = Arc::new(MemoryDisk::new());
    let store = open(&disk);
    let session = store.session(Identity::user("ada"));
    let ids = create(&session, 0..300);
    // The index is not open yet, and a filter does not build it.
    check(&session, false);
    search(&session);
    check(&session, true);
    assert!(count(&session, FILTERS[0]).0 > 50);

    // Records that are not in the index yet are read: the cost is that of the changes.
    store.maintain(&Control::default()).unwrap();
    set_duration(&session, &ids[3], 99);
    session.delete_work_items(vec![ids[4].clone().into()]).unwrap();
    create(&session, 300..320);
    check(&session, true);
    assert!(count(&session, FILTERS[0]).1.records_touched < Some(40));

    // A transaction sees its own writes. Other readers do not.
    let before = count(&session, FILTERS[0]).0;
    let failed = session.transaction(|transaction| {
        ids[10..20].iter().for_each(|id| set_duration(transaction, id, 77));
        transaction.delete_work_items(ids[20..25].iter().cloned().map(Into::into).collect())?;
        create(transaction, 400..420);
        check(transaction, true);
        assert_ne!(count(transaction, FILTERS[0]).0, before);
        Err::<(), _>(crate::Error::conflict("not kept"))
    });
    assert!(failed.is_err());
    assert_eq!(count(&session, FILTERS[0]).0, before);

    // A view keeps its state while others write, also when the index is newer than the view.
    let other = store.session(Identity::user("bob"));
    session
        .read(|view| {
            create(&other, 500..540);
            search(&other);
            let query = Query { filter: Some(FILTERS[0]), return_count: true, ..Query::default() };
            assert_eq!(view.query::<WorkItem>(&query)?.total_count, Some(before));
            Ok(())
        })
        .unwrap();
    check(&session, true);

    // After reopening, the checkpoint makes it worth opening the index.
    store.maintain(&Control::default()).unwrap();
    drop((session, other));
    store.close().unwrap();
    let store = open(&disk);
    let session = store.session(Identity::user("ada"));
    check(&session, true);
    drop(session);
    store.close().unwrap();

    // Without its files, the index is not used until it is rebuilt.
    crate::disk::Disk::remove_dir_all(&*disk, "search").unwrap();
    let store = open(&disk);
    let session = store.session(Identity::user("ada"));
    check(&session, false);
    store.maintain(&Control::default()).unwrap();
    check(&session, true);
}

#[test]
fn parts_of_texts_are_looked_for_along_the_order() {
    let disk = Arc::new(MemoryDisk::new());
    let store = open(&disk);
    let session = store.session(Identity::user("ada"));
    (0..300).step_by(10).for_each(|start| drop(create(&session, start..start + 10)));
    search(&session);
    store.maintain(&Control::default()).unwrap();
    session
        .read(|view| {
            for descending in [false, true] {
                let order = vec![OrderTerm { path: "updatedAt", descending }];
                let query = Query {
                    filter: Some("name.Contains(\"em 1\")"),
                    order,
                    take: 10,
                    ..Query::default()
                };
                let (mut found, mut token) = (Vec::new(), None::<String>);
                loop {
                    let page = Query { continuation_token: token.as_deref(), ..query.clone() };
                    let (page, plan) = view.query_with_plan::<WorkItem>(&page)?;
                    assert_eq!(plan.access, "index updatedAt in order within 111 ids");
                    assert!(plan.records_touched <= Some(12), "{plan}");
                    found.extend(page.items.into_iter().map(|item| item.name.unwrap()));
                    token = page.continuation_token;
                    if token.is_none() {
                        break;
                    }
                }
                let all = view.query::<WorkItem>(&Query { take: 1000, ..query })?.items;
                assert_eq!(
                    found,
                    all.into_iter().map(|item| item.name.unwrap()).collect::<Vec<_>>()
                );
                assert_eq!(found.len(), 111);
            }
            // The matches lie further along the order than the walk goes before it gives up.
            let order = vec![OrderTerm { path: "updatedAt", descending: true }];
            let query = Query {
                filter: Some("name.Contains(\"em 1\")"),
                order,
                take: 2,
                ..Query::default()
            };
            let rare = Query {
                filter: Some("name.ToLower().Contains(\"em 1\") and name.Length = 6"),
                ..query
            };
            let names: Vec<String> = view
                .query::<WorkItem>(&rare)?
                .items
                .into_iter()
                .map(|item| item.name.unwrap())
                .collect();
            assert_eq!(names, ["item 1"]);
            Ok(())
        })
        .unwrap();
}

#[test]
fn a_count_that_the_index_does_not_give_is_of_all_pages() {
    let options = StoreOptions::default().maintenance_thread(false).log_entries_max(1);
    let (store, session) = opened(options, Arc::new(MemoryDisk::new()));
    (0..60).step_by(10).for_each(|start| drop(create(&session, start..start + 10)));
    search(&session);
    let other = store.session(Identity::user("bob"));
    session
        .read(|view| {
            let order = vec![OrderTerm { path: "updatedAt", descending: false }];
            let query = Query {
                filter: Some(FILTERS[0]),
                order,
                take: 5,
                return_count: true,
                ..Query::default()
            };
            let (first, plan) = view.query_with_plan::<WorkItem>(&query)?;
            assert!(plan.count.unwrap().contains("columns of the text index"));
            // The index moves on, and the change log no longer reaches back to the state of this
            // view.
            (100..105).for_each(|number| drop(create(&other, number..number + 1)));
            search(&other);
            store.maintain(&Control::default()).unwrap();
            let token = first.continuation_token.as_deref();
            let (next, plan) =
                view.query_with_plan::<WorkItem>(&Query { continuation_token: token, ..query })?;
            assert_eq!(plan.count.as_deref(), Some("every match"));
            assert_eq!((next.items.len(), next.total_count), (5, first.total_count));
            Ok(())
        })
        .unwrap();
}

#[test]
fn columns_count_only_what_the_policy_shows() {
    #[derive(Debug)]
    struct OnlyOne;
    impl crate::AccessPolicy for OnlyOne {
        fn visible(
            &self,
            who: &Identity,
            _: crate::Service,
            _: crate::Action,
        ) -> crate::Visibility {
            match who.user_id() {
                "ada" => crate::Visibility::All,
                _ => crate::Visibility::workspaces(["w1"]),
            }
        }
    }
    let options = StoreOptions::default().maintenance_thread(false).access_policy(OnlyOne);
    let (store, ada) = opened(options, Arc::new(MemoryDisk::new()));
    create(&ada, 0..200);
    search(&ada);
    store.maintain(&Control::default()).unwrap();
    create(&ada, 200..210);
    check(&ada, true);
    let bob = store.session(Identity::user("bob"));
    for filter in FILTERS {
        let (counted, plan, naive) = count(&bob, filter);
        // The plan says how it was counted only if the caller sees every record.
        assert_eq!((counted, plan.count.as_deref()), (naive, Some("visible matches")), "{filter}");
        let counting = Query { filter: Some(filter), return_count: true, ..Query::default() };
        let touched = bob
            .read(|view| view.query::<WorkItem>(&counting).map(|_| view.records_touched()))
            .unwrap();
        assert!(
            touched <= 10,
            "columns count all but what came after maintenance: {touched} for {filter}"
        );
    }
    assert!(count(&bob, FILTERS[0]).0 < count(&ada, FILTERS[0]).0);
}

#[test]
fn counts_beside_writers_are_those_of_one_commit() {
    let disk = Arc::new(MemoryDisk::new());
    let store = open(&disk);
    let session = store.session(Identity::user("ada"));
    let ids = create(&session, 1..21);
    search(&session);
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let writer = store.session(Identity::user("bob"));
            let mut turn = 0;
            while !stop.load(Ordering::Relaxed) {
                turn += 1;
                let seconds = if turn % 2 == 0 { 2_000 } else { 10 };
                let patch = || TimelinePatch {
                    estimated_duration_in_seconds: Patch::Value(seconds),
                    ..TimelinePatch::default()
                };
                let update = |id: &String| UpdateWorkItemRequest {
                    id: Some(id.clone()),
                    timeline: Patch::Value(patch()),
                    ..UpdateWorkItemRequest::default()
                };
                let work_items = ids.iter().map(update).collect();
                let _ = writer
                    .update_work_items(UpdateWorkItemsRequest { work_items, replace: None })
                    .unwrap();
            }
        });
        for _ in 0..60 {
            let query = QueryWorkItemsRequest {
                filter: Some("timeline.estimatedDurationInSeconds > 1000".into()),
                take: Some(0),
                return_count: Some(true),
                ..QueryWorkItemsRequest::default()
            };
            let total = session.query_work_items(query).unwrap().total_count.unwrap();
            assert!(total == 0 || total == 20, "{total} of 20 in one commit");
        }
        stop.store(true, Ordering::Relaxed);
    });
}
