//! The mixed work of a station: work items and files, each alone and all in one transaction.

use crate::prelude::*;
use stationdb::work_items::QueryWorkItemsRequest;

pub struct Station;

pub fn create(items: &dyn WorkItemService, names: &[&str]) -> Result<(), Error> {
    let requests = names
        .iter()
        .map(|name| serde_json::from_value(json!({ "name": name, "type": "test" })).unwrap());
    let made = items.create_work_items(requests.collect())?;
    assert_eq!(made.created_work_items.len(), names.len(), "{made:?}");
    Ok(())
}

fn query(store: &Store, filter: &str) -> Result<Vec<stationdb::work_items::WorkItem>, Error> {
    let request = QueryWorkItemsRequest::new().filter(filter.to_owned());
    Ok(ada(store).query_work_items(request)?.work_items)
}

fn id_of(store: &Store, name: &str) -> Result<String, Error> {
    let items = query(store, &format!("name == \"{name}\""))?;
    Ok(items.first().and_then(|item| item.id.as_ref()).map(ToString::to_string).unwrap_or_default())
}

impl Steps for Station {
    fn options(&self) -> StoreOptions {
        options().small_blob_bytes(1000).clock(ManualClock::new(Default::default()))
    }

    fn steps(&self) -> Vec<Step> {
        vec![
            ("one work item", |store| create(&ada(store), &["first"])),
            ("three work items", |store| create(&ada(store), &["second", "third", "fourth"])),
            ("a change", |store| {
                let id = id_of(store, "second")?;
                let request = json!({ "workItems": [{ "id": id, "name": "renamed", "properties": { "a": "b" } }] });
                ada(store).update_work_items(serde_json::from_value(request).unwrap()).map(|_| ())
            }),
            (REOPEN, |_| Ok(())),
            ("an execution", |store| {
                ada(store).execute_work_item(&id_of(store, "first")?.into(), "START").map(|_| ())
            }),
            ("a work item and its files", |store| {
                ada(store).transaction(|tx| {
                    create(tx, &["with files"])?;
                    upload(tx, "report", 6_000)?;
                    upload(tx, "note", 100)
                })
            }),
            (MAINTAIN, |store| store.maintain(&Control::default()).map(|_| ())),
            ("a deletion", |store| {
                ada(store).delete_work_items(vec![id_of(store, "third")?.into()]).map(|_| ())
            }),
        ]
    }

    fn observe(&self, store: &Store) -> Result<Observation, Error> {
        let mut seen = Observation::new();
        observe_files(store, &mut seen)?;
        for item in query(store, "")? {
            let text = serde_json::to_string(&item).unwrap();
            seen.insert(
                format!(
                    "work item {}",
                    item.id.as_ref().map(ToString::to_string).unwrap_or_default()
                ),
                text,
            );
        }
        // Through an index, which must agree with the records.
        for state in ["NEW", "IN_PROGRESS"] {
            let names = query(store, &format!("state == \"{state}\""))?
                .into_iter()
                .filter_map(|item| item.name);
            seen.insert(format!("state {state}"), names.collect::<Vec<_>>().join(", "));
        }
        Ok(seen)
    }
}

#[test]
fn every_change_of_a_station_can_be_the_last() {
    must_hold("station", &Sequence::new(Station));
}

#[test]
fn the_nth_operation_of_a_station_fails() {
    errors::operations_fail("station", &Sequence::new(Station), 4);
}

/// A station without a cache for the record file, so that reads during a commit can fail.
struct Uncached;

impl Steps for Uncached {
    fn options(&self) -> StoreOptions {
        Station.options().record_cache_bytes(0)
    }

    fn steps(&self) -> Vec<Step> {
        Station.steps()
    }

    fn observe(&self, store: &Store) -> Result<Observation, Error> {
        Station.observe(store)
    }
}

#[test]
fn the_nth_operation_of_a_station_without_a_cache_fails() {
    errors::operations_fail("station without a cache", &Sequence::new(Uncached), 400);
}

#[test]
fn one_wrong_bit_under_a_station_is_never_a_wrong_answer() {
    flips::one_bit_is_wrong("station", &Sequence::new(Station), 600);
}

#[test]
fn reads_of_a_station_without_a_cache_go_on_after_a_failed_change() {
    errors::reads_go_on("station without a cache", &Sequence::new(Uncached), 6);
}
