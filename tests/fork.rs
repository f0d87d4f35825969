//! A process that forks with an open store. The child has a copy of the parent's memory, and the
//! parent would overwrite its writes. So writes in the child are refused, and closing in the child
//! does not affect the parent's files, locks and threads.
#![cfg(unix)]

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use fork::{Fork, fork, waitpid_nohang};
use stationdb::files::UploadFileRequest;
use stationdb::prelude::*;
use stationdb::products::CreateProductRequest;
use stationdb::search::SearchRequest;
use stationdb::{Control, Error, ErrorKind, Identity, Session, Store, VerifyLevel};

const LONGEST: Duration = Duration::from_secs(60);

fn ada(store: &Store) -> Session {
    store.session(Identity::user("ada"))
}

fn create_product(products: &impl ProductService, part_number: &str) -> Result<(), Error> {
    let request = CreateProductRequest::new(part_number.to_owned());
    products.create_products(vec![request]).map(|_| ())
}

fn upload(files: &impl FileService) -> Result<(), Error> {
    let request = UploadFileRequest::new().name("log");
    files.upload_file(&mut vec![b'x'; 200_000].as_slice(), request, &Control::default()).map(|_| ())
}

fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let until = Instant::now() + LONGEST;
    while !is_so() {
        assert!(Instant::now() < until, "{what} takes too long");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// A child of this process.
struct Child(i32);

impl Child {
    /// Forks and runs `work` in the child, which writes the problem into the file `told` and ends.
    fn start(told: &Path, work: impl FnOnce() -> Result<(), String>) -> Self {
        match fork().unwrap() {
            Fork::Parent(child) => Self(child),
            Fork::Child => {
                let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(work));
                let text = match outcome {
                    Ok(Ok(())) => "nothing".to_owned(),
                    Ok(Err(problem)) => problem,
                    Err(panic) => format!("a panic: {:?}", panic.downcast_ref::<String>()),
                };
                let _ = std::fs::write(told, text);
                std::process::exit(0)
            }
        }
    }

    /// Waits for the end of the child.
    fn end(self, told: &Path) {
        let until = Instant::now() + LONGEST;
        while waitpid_nohang(self.0).unwrap().is_none() {
            if Instant::now() >= until {
                let _ = Command::new("kill").args(["-9", &self.0.to_string()]).status();
                panic!("the child does not end");
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        assert_eq!(std::fs::read_to_string(told).unwrap(), "nothing", "what the child found wrong");
    }
}

fn refused<T>(what: &str, outcome: Result<T, Error>) -> Result<(), String> {
    match outcome {
        Ok(_) => Err(format!("{what} was acknowledged in the child")),
        Err(error) if error.kind() == ErrorKind::Locked => Ok(()),
        Err(error) => Err(format!("{what}: {error:?}")),
    }
}

/// The names and bytes of all files of a store, except those of the text index, which threads of
/// the parent may be writing.
fn contents(path: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in std::fs::read_dir(path).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true if path.ends_with("search") => {}
            true => found.extend(contents(&path)),
            false => {
                found.insert(path.display().to_string(), std::fs::read(&path).unwrap());
            }
        }
    }
    found
}

fn unchanged(path: &Path, before: &BTreeMap<String, Vec<u8>>) -> Result<(), String> {
    let after = contents(path);
    let names: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
    let changed: Vec<_> =
        names.into_iter().filter(|name| before.get(*name) != after.get(*name)).collect();
    if changed.is_empty() { Ok(()) } else { Err(format!("the child changed {changed:?}")) }
}

/// Checks that the store opens, is undamaged and has the products.
fn assert_holds(path: &Path, part_numbers: &[&str]) {
    let store = Store::open(path).unwrap();
    assert_eq!(store.verify(VerifyLevel::Checksums, &Control::default()).unwrap().findings, []);
    let products = ada(&store).query_products(Default::default()).unwrap().products;
    let mut found: Vec<_> =
        products.iter().map(|one| one.part_number.as_deref().unwrap()).collect();
    found.sort_unstable();
    assert_eq!(found, part_numbers);
}

#[test]
fn a_forked_child_writes_nothing_and_closes_nothing() {
    // Maintenance and the text index have threads. A child does not have them and must not wait for
    // them.
    for has_thread in [false, true] {
        let dir = tempfile::tempdir().unwrap();
        let [path, told] = ["station", "told"].map(|name| dir.path().join(name));
        let mut store = Some(Store::options().maintenance_thread(has_thread).open(&path).unwrap());
        let mut session = store.as_ref().map(ada);
        create_product(session.as_ref().unwrap(), "before").unwrap();
        upload(session.as_ref().unwrap()).unwrap();
        session.as_ref().unwrap().search(SearchRequest::new().text("before")).unwrap();
        let child = Child::start(&told, || {
            let before = contents(&path);
            // Removed from the child's copy only.
            let (mut store, session) = (store.take().unwrap(), session.take().unwrap());
            refused("a product", create_product(&session, "lost"))?;
            refused("a file", upload(&session))?;
            refused("a transaction", session.transaction(|tx| create_product(tx, "lost")))?;
            refused("maintenance", store.maintain(&Control::default()))?;
            refused("verification", store.verify(VerifyLevel::Headers, &Control::default()))?;
            drop(session);
            refused("compaction", store.compact())?;
            refused("closing", store.close())?;
            // The parent's maintenance may write meanwhile.
            if has_thread { Ok(()) } else { unchanged(&path, &before) }
        });
        child.end(&told);
        let (store, session) = (store.take().unwrap(), session.take().unwrap());
        assert_eq!(
            Store::open(&path).unwrap_err().kind(),
            ErrorKind::Locked,
            "the child released the lock"
        );
        create_product(&session, "after").unwrap();
        drop(session);
        store.close().unwrap();
        assert_holds(&path, &["after", "before"]);
    }
}

#[test]
fn a_transaction_that_forks_is_committed_by_the_parent_alone() {
    let dir = tempfile::tempdir().unwrap();
    let [path, told] = ["station", "told"].map(|name| dir.path().join(name));
    // Without a cache, the changes of a transaction reach the file before the commit.
    let store =
        Store::options().maintenance_thread(false).record_cache_bytes(0).open(&path).unwrap();
    let session = ada(&store);
    create_product(&session, "before").unwrap();
    session
        .transaction(|tx| {
            create_product(tx, "in the transaction")?;
            let child = Child::start(&told, || {
                let before = contents(&path);
                (0..200).try_for_each(|at| {
                    refused("a product", create_product(tx, &format!("lost {at}")))
                })?;
                unchanged(&path, &before)
            });
            child.end(&told);
            Ok(())
        })
        .unwrap();
    drop(session);
    store.close().unwrap();
    assert_holds(&path, &["before", "in the transaction"]);
}

/// As for the closure, for a transaction that the child commits or drops.
#[test]
fn a_transaction_as_a_value_is_committed_by_the_parent_alone() {
    for commits in [true, false] {
        let dir = tempfile::tempdir().unwrap();
        let [path, told] = ["station", "told"].map(|name| dir.path().join(name));
        let store =
            Store::options().maintenance_thread(false).record_cache_bytes(0).open(&path).unwrap();
        let session = ada(&store);
        let transaction = session.begin().unwrap();
        create_product(&transaction, "in the transaction").unwrap();
        let mut transaction = Some(transaction);
        let child = Child::start(&told, || {
            let before = contents(&path);
            let transaction = transaction.take().unwrap();
            refused("a product", create_product(&transaction, "lost"))?;
            if commits {
                refused("a commit", transaction.commit())?;
            } else {
                drop(transaction);
            }
            unchanged(&path, &before)
        });
        child.end(&told);
        transaction.take().unwrap().commit().unwrap();
        drop(session);
        store.close().unwrap();
        assert_holds(&path, &["in the transaction"]);
    }
}

/// The child returns from the closure of a transaction as if it had done its part.
#[test]
fn a_commit_in_a_forked_child_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let [path, told] = ["station", "told"].map(|name| dir.path().join(name));
    let store = Store::options().maintenance_thread(false).open(&path).unwrap();
    let session = ada(&store);
    let mut parent = 0;
    let outcome = session.transaction(|tx| {
        create_product(tx, "in the transaction")?;
        match fork().unwrap() {
            Fork::Parent(child) => parent = child,
            Fork::Child => {}
        }
        Ok(())
    });
    if parent == 0 {
        let text =
            refused("a commit", outcome).map_or_else(|problem| problem, |()| "nothing".to_owned());
        let _ = std::fs::write(&told, text);
        std::process::exit(0);
    }
    outcome.unwrap();
    Child(parent).end(&told);
    drop(session);
    store.close().unwrap();
    assert_holds(&path, &["in the transaction"]);
}

/// The lock of a file belongs to all copies of its handle.
#[test]
fn a_child_that_lives_on_does_not_keep_the_store_locked() {
    let dir = tempfile::tempdir().unwrap();
    let [path, told, go] = ["station", "told", "go"].map(|name| dir.path().join(name));
    let store = Store::open(&path).unwrap();
    create_product(&ada(&store), "before").unwrap();
    let child = Child::start(&told, || {
        wait_until("the parent", || go.exists());
        Ok(())
    });
    store.close().unwrap();
    assert_holds(&path, &["before"]);
    std::fs::write(&go, "").unwrap();
    child.end(&told);
}
