//! Compaction moves every page of the record file. A power cut after any move loses nothing.

use std::collections::BTreeSet;

use serde_json::json;
use stationdb::faults::SimDisk;
use stationdb::work_items::WorkItemService;
use stationdb::{Error, Store};

use crate::errors;
use crate::harness::{History, Problem, Scenario, must_hold};
use crate::scenarios::{ada, options};
use crate::station::create;

const MANY: usize = 60;

struct Compacted;

fn names(store: &Store) -> Result<Vec<(String, String)>, Error> {
    let request = serde_json::from_value(json!({ "take": 1000 })).unwrap();
    let items = ada(store).query_work_items(request)?.work_items;
    let named = |item: stationdb::work_items::WorkItem| {
        (item.name.unwrap_or_default(), item.id.map(|id| id.to_string()).unwrap_or_default())
    };
    Ok(items.into_iter().map(named).collect())
}

impl Scenario for Compacted {
    fn open(&self, disk: SimDisk) -> Result<Store, Error> {
        options().open_disk(std::sync::Arc::new(disk))
    }

    fn run(&self, history: &History) -> Result<(), Error> {
        let mut store = self.open(history.disk.clone())?;
        let long: Vec<String> =
            (0..MANY).map(|number| format!("{number:03}{}", "x".repeat(250))).collect();
        let long: Vec<&str> = long.iter().map(String::as_str).collect();
        history.step("made", || create(&ada(&store), &long))?;
        let made = names(&store)?;
        let most = made.iter().skip(5).map(|(_, id)| id.as_str().into()).collect();
        history.step("deleted", || ada(&store).delete_work_items(most).map(|_| ()))?;
        let report = store.compact()?;
        assert!(report.bytes_after < report.bytes_before, "{report:?}");
        history.step("after", || create(&ada(&store), &["after"]))
    }

    fn found(&self, store: &Store, _: &SimDisk) -> Result<BTreeSet<String>, Problem> {
        let names = names(store).map_err(Problem::Refused)?;
        let has_after = names.iter().any(|(name, _)| name == "after");
        let long = names.len() - usize::from(has_after);
        let mut found = BTreeSet::new();
        match long {
            0 => {}
            MANY => drop(found.insert("made".to_owned())),
            5 => found.extend(["made".to_owned(), "deleted".to_owned()]),
            other => return Err(Problem::Wrong(format!("{other} of {MANY} work items are there"))),
        }
        if has_after {
            found.insert("after".to_owned());
        }
        Ok(found)
    }

    fn go_on(&self, store: &Store) -> Result<(), Error> {
        ada(store).register_subscriber("later").map(|_| ())
    }
}

#[test]
fn every_change_of_a_compaction_can_be_the_last() {
    must_hold("compaction", &Compacted);
}

#[test]
fn the_nth_operation_of_a_compaction_fails() {
    errors::operations_fail("compaction", &Compacted, 3);
}
