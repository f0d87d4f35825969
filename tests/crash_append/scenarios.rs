//! The scenarios that are run on the simulated disk.

use crate::prelude::*;
use std::cell::Cell;

use stationdb::products::{Product, ProductService};
use stationdb::{Identity, Position, Session};

use crate::harness::size;

thread_local! {
    /// Bytes of the memory table of the stores that this thread opens.
    static MEMORY: Cell<Option<usize>> = const { Cell::new(None) };
}

/// With this memory table a scenario has checkpoints between its steps.
pub const SMALL_MEMORY: usize = 1_500;

/// Runs `f`, and gives each store that it opens a memory table of this many bytes.
pub fn with_memory<T>(bytes: usize, f: impl FnOnce() -> T) -> T {
    let before = MEMORY.replace(Some(bytes));
    let value = f();
    MEMORY.set(before);
    value
}

pub fn options() -> StoreOptions {
    // Without a reserve, so that a full disk is met in the middle of an operation and not refused
    // before it.
    let options = Store::options().seed(Some(7)).maintenance_thread(false).reserve_bytes(0);
    let memory = || usize::try_from(size("crash_memory")).unwrap();
    let options = options.memory_table_bytes(MEMORY.get().unwrap_or_else(memory));
    // Without a cache of the record file each read of a page can fail.
    if does("crash_uncached") && !first_seed().is_multiple_of(2) {
        options.record_cache_bytes(0)
    } else {
        options
    }
}

pub fn ada(store: &Store) -> Session {
    store.session(Identity::user("ada"))
}

/// Creates a store and makes small commits.
pub struct Records;

const SUBSCRIBERS: u32 = 12;

pub fn those_there(
    store: &Store,
    names: impl Iterator<Item = String>,
) -> Result<BTreeSet<String>, Problem> {
    let session = ada(store);
    let mut found = BTreeSet::new();
    for name in names {
        match session.advance_subscriber(&name, Position::START) {
            Ok(()) => found.insert(name),
            // The subscriber exists, at a later position.
            Err(error) if error.kind() == ErrorKind::InvalidArgument => found.insert(name),
            Err(error) if error.kind() == ErrorKind::NotFound => false,
            Err(error) => return Err(Problem::Refused(error)),
        };
    }
    Ok(found)
}

/// Commits that many threads share.
pub struct Grouped;

const THREADS: u32 = 4;
const EACH: u32 = 8;

impl Scenario for Grouped {
    fn open(&self, disk: SimDisk) -> Result<Store, Error> {
        options().open_disk(Arc::new(disk))
    }

    fn run(&self, history: &History) -> Result<(), Error> {
        let store = self.open(history.disk.clone())?;
        // Long enough for the other threads to queue during each sync.
        history.disk.set_latency(OpKind::Sync, Duration::from_millis(2));
        let store = &store;
        let outcome = std::thread::scope(|scope| {
            let work = |thread| {
                move || {
                    (0..EACH).try_for_each(|number| {
                        let name = format!("{thread}/{number}");
                        history
                            .step(name.clone(), || ada(store).register_subscriber(&name))
                            .map(|_| ())
                    })
                }
            };
            let threads: Vec<_> = (0..THREADS).map(|thread| scope.spawn(work(thread))).collect();
            threads.into_iter().try_for_each(|thread| thread.join().unwrap())
        });
        history.disk.set_latency(OpKind::Sync, Duration::ZERO);
        outcome
    }

    fn found(&self, store: &Store, _: &SimDisk) -> Result<BTreeSet<String>, Problem> {
        let names = (0..THREADS)
            .flat_map(|thread| (0..EACH).map(move |number| format!("{thread}/{number}")));
        those_there(store, names)
    }

    fn go_on(&self, store: &Store) -> Result<(), Error> {
        ada(store).register_subscriber("later").map(|_| ())
    }
}

/// Small commits with a memory table that is full after a few of them: checkpoints, both files of
/// the journal in turn, and some commits and transactions that go into the record file directly.
pub struct Checkpoints;

const COMMITS: u32 = 21;

impl Scenario for Checkpoints {
    fn open(&self, disk: SimDisk) -> Result<Store, Error> {
        options().memory_table_bytes(800).open_disk(Arc::new(disk))
    }

    fn run(&self, history: &History) -> Result<(), Error> {
        let store = self.open(history.disk.clone())?;
        for number in 0..COMMITS {
            let name = checkpoint_name(number);
            if is_transaction(number) {
                history.step(name.clone(), || write_together(&store, &name, number % 2 == 0))?;
            } else {
                history.step(name.clone(), || ada(&store).register_subscriber(&name).map(drop))?;
            }
        }
        Ok(())
    }

    fn found(&self, store: &Store, _: &SimDisk) -> Result<BTreeSet<String>, Problem> {
        let subscribers = (0..COMMITS).filter(|number| !is_transaction(*number));
        let mut found = those_there(store, subscribers.map(checkpoint_name))?;
        let all = ada(store).query_products(Default::default()).map_err(Problem::Refused)?;
        for name in (0..COMMITS).filter(|number| is_transaction(*number)).map(checkpoint_name) {
            let of_it = |product: &&Product| product.name.as_ref() == Some(&name);
            match all.products.iter().filter(of_it).count() {
                0 => false,
                TOGETHER => found.insert(name),
                part => return Err(Problem::Wrong(format!("{part} products of {name}"))),
            };
        }
        Ok(found)
    }

    fn go_on(&self, store: &Store) -> Result<(), Error> {
        ada(store).register_subscriber("later").map(|_| ())
    }
}

/// Writes of a transaction. They are too many for the journal before the last one.
const TOGETHER: usize = 3;

fn is_transaction(number: u32) -> bool {
    number % 7 == 3
}

/// As the closure's form, or as a value.
fn write_together(store: &Store, name: &str, is_value: bool) -> Result<(), Error> {
    let write = |transaction: &dyn ProductService| {
        (0..TOGETHER).try_for_each(|part| {
            let request = CreateProductRequest::new(format!("{name}-{part}")).name(name.to_owned());
            transaction.create_products(vec![request]).map(drop)
        })
    };
    if !is_value {
        return ada(store).transaction(|transaction| write(transaction));
    }
    let transaction = ada(store).begin()?;
    write(&transaction)?;
    transaction.commit()
}

/// The name of a subscriber; each seventh is too long for the journal.
fn checkpoint_name(number: u32) -> String {
    let fill = if number % 7 == 6 { 240 } else { 0 };
    format!("{number}-{}", "x".repeat(fill))
}

impl Scenario for Records {
    fn open(&self, disk: SimDisk) -> Result<Store, Error> {
        options().open_disk(Arc::new(disk))
    }

    fn run(&self, history: &History) -> Result<(), Error> {
        for round in 0..2 {
            let store = self.open(history.disk.clone())?;
            for number in (round * SUBSCRIBERS..).take(SUBSCRIBERS as usize) {
                history.step(number.to_string(), || {
                    ada(&store).register_subscriber(&number.to_string())
                })?;
            }
        }
        Ok(())
    }

    fn found(&self, store: &Store, _: &SimDisk) -> Result<BTreeSet<String>, Problem> {
        those_there(store, (0..2 * SUBSCRIBERS).map(|number| number.to_string()))
    }

    fn go_on(&self, store: &Store) -> Result<(), Error> {
        ada(store).register_subscriber("later").map(|_| ())
    }
}
