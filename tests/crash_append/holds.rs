//! Holds of the change log and full passes: a bound that was registered holds the log after a power
//! cut, a trim loses a position or none, and a pass goes on where its reader stored it.

use crate::prelude::*;

use stationdb::products::ProductService as _;
use stationdb::{BatchAnswer, HoldBounds, SyncItem};

/// Entries that the store keeps for everybody.
const ENTRIES: u64 = 4;
/// Commits before the first trim, and items of the pass that are stored.
const COMMITS: u32 = 8;
const STEPS: usize = 4;

struct Holds;

fn product(store: &Store, name: &str) -> Result<(), Error> {
    let made = ada(store).create_products(vec![CreateProductRequest::new(name)])?;
    made.require_all().map(drop)
}

fn bounds() -> HoldBounds {
    HoldBounds::new(1_000_000_000, 1 << 20)
}

impl Scenario for Holds {
    fn open(&self, disk: SimDisk) -> Result<Store, Error> {
        options().log_entries_max(ENTRIES).open_disk(Arc::new(disk))
    }

    fn run(&self, history: &History) -> Result<(), Error> {
        let store = self.open(history.disk.clone())?;
        let host = &store;
        history.step("held", || host.register_with("held", bounds()).map(drop))?;
        let none = HoldBounds::new(0, 0);
        history.step("lost", || host.register_with("lost", none).map(drop))?;
        for number in 0..COMMITS {
            let name = format!("product {number}");
            history.step(name.clone(), || product(host, &name))?;
        }
        store.maintain(&Control::default())?;
        // Everything is handled, so the log goes down to its bound.
        let last = ada(&store).position();
        history.step("handled", || host.advance("held", last))?;
        store.maintain(&Control::default())?;
        let mut stream = store.synchronise_subscriber("lost")?;
        for step in 0..STEPS {
            stream.poll()?;
            history.step(format!("pass {step}"), || host.advance("lost", stream.point()))?;
        }
        Ok(())
    }

    fn found(&self, store: &Store, _: &SimDisk) -> Result<BTreeSet<String>, Problem> {
        let mut found = BTreeSet::new();
        let all = store.subscribers().map_err(Problem::Refused)?;
        let wrong = |what: String| Err(Problem::Wrong(what));
        let products = ada(store).query_products(Default::default()).map_err(Problem::Refused)?;
        let products = products.products.len();
        found.extend((0..products).map(|number| format!("product {number}")));
        for subscriber in all {
            found.insert(subscriber.name.clone());
            let mut stream =
                store.synchronise_subscriber(&subscriber.name).map_err(Problem::Refused)?;
            let mut told = Vec::new();
            while let Some(item) = stream.poll().map_err(Problem::Refused)? {
                told.push(item);
            }
            let begins = told.iter().any(|item| matches!(item, SyncItem::PassBegins { .. }));
            let present = told.iter().filter(|item| matches!(item, SyncItem::Present(_))).count();
            let changes = told.iter().filter(|item| matches!(item, SyncItem::Change(_))).count();
            if subscriber.name == "held" {
                if subscriber.bounds != bounds() || begins {
                    return wrong(format!("the hold is lost: {subscriber:?}, {told:?}"));
                }
                if products == COMMITS as usize && changes == 0 {
                    found.insert("handled".to_owned());
                } else if changes != products {
                    return wrong(format!("{changes} changes of {products} are held"));
                }
            } else if subscriber.is_in_pass {
                // The begin and each record are told once.
                let steps = products + 1 - present;
                found.extend((0..steps).map(|step| format!("pass {step}")));
                if begins || steps > STEPS {
                    return wrong(format!("the pass does not go on: {told:?}"));
                }
            } else if begins && present != products || !begins && changes != products {
                return wrong(format!("neither a pass nor all changes: {told:?}"));
            }
        }
        Ok(found)
    }

    // Every commit is a change that a subscriber is told.
    fn write_unseen(&self, store: &Store) -> Result<(), Error> {
        store.maintain(&Control::default()).map(drop)
    }

    fn go_on(&self, store: &Store) -> Result<(), Error> {
        match store.register_with("held", bounds()) {
            Err(error) if error.kind() != ErrorKind::Conflict => Err(error),
            _ => store.maintain(&Control::default()).map(drop),
        }
    }
}

#[test]
fn every_change_of_holds_and_passes_can_be_the_last() {
    must_hold("holds", &Holds);
}

#[test]
fn the_nth_operation_of_holds_and_passes_fails() {
    errors::operations_fail("holds", &Holds, 3);
}
