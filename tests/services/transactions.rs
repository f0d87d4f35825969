//! Transactions as values: what they keep, whom they hold back, and what becomes of those that
//! nobody ends.

use std::sync::mpsc;
use std::thread;
use std::time::Instant;

use stationdb::OwnedTransaction;

use crate::prelude::*;

fn create(access: &dyn ProductService, part: &str) -> Result<()> {
    access.create_products(vec![CreateProductRequest::new(part)])?.require_all()
}

fn parts(access: &dyn ProductService) -> Vec<String> {
    let query = QueryProductsRequest::new().take(1_000).order_by(ProductOrderBy::PartNumber);
    let page = access.query_products(query).unwrap();
    let mut parts: Vec<_> =
        page.products.into_iter().filter_map(|product| product.part_number).collect();
    parts.sort();
    parts
}

/// A store whose transactions may take this long, with a memory table of so many bytes.
fn store(transaction_hold_ms: u64, memory_table_bytes: usize) -> (Store, Session) {
    let options = Store::options().maintenance_thread(false).seed(Some(1)).reserve_bytes(0);
    let options = options.transaction_hold_ms(transaction_hold_ms);
    opened(options.memory_table_bytes(memory_table_bytes), disk())
}

const LONG: u64 = 60_000;
const LARGE: usize = 1 << 20;
/// So small that three products go into the record file while the transaction is open.
const SMALL: usize = 4_000;

fn soon(session: &Session, milliseconds: u64) -> Session {
    session.with_deadline(Instant::now() + Duration::from_millis(milliseconds))
}

fn check_sound(store: &mut Store) {
    for report in [
        store.verify(VerifyLevel::Checksums, &control()).unwrap(),
        store.verify_pages(&control()).unwrap(),
    ] {
        assert!(report.is_sound(), "{:?}", report.findings);
    }
}

#[test]
fn a_transaction_moves_between_threads_and_is_seen_at_its_commit() {
    for memory in [LARGE, SMALL] {
        let (mut store, session) = store(LONG, memory);
        create(&session, "before").unwrap();
        let transaction = session.begin().unwrap();
        create(&transaction, "0").unwrap();
        let transaction = thread::spawn(move || {
            let file = UploadFileRequest::new().name("note");
            transaction.upload_file(&mut b"bytes".as_slice(), file, &control()).unwrap();
            (1..9).for_each(|number| create(&transaction, &number.to_string()).unwrap());
            transaction
        });
        let transaction = transaction.join().unwrap();
        let all = ["0", "1", "2", "3", "4", "5", "6", "7", "8", "before"];
        assert_eq!(parts(&transaction), all);
        assert_eq!(transaction.products(QueryProductsRequest::new().take(3)).count(), all.len());
        assert_eq!(parts(&session), ["before"]);
        assert_eq!(parts(&session.pinned()), ["before"]);
        let before = session.pinned();
        transaction.commit().unwrap();
        assert_eq!(
            (parts(&session), parts(&before)),
            (all.map(str::to_owned).to_vec(), vec!["before".to_owned()])
        );
        let files = session.query_files_linq(FileLinqQueryRequest::new()).unwrap();
        assert_eq!(files.available_files.len(), 1);
        drop((session, before));
        store.compact().unwrap();
        check_sound(&mut store);
    }
}

#[test]
fn a_transaction_that_is_dropped_keeps_nothing_also_while_a_panic_unwinds() {
    for memory in [LARGE, SMALL] {
        let (mut store, session) = store(LONG, memory);
        for panics in [false, true] {
            let work = session.clone();
            let ended = thread::spawn(move || {
                let transaction = work.begin().unwrap();
                (0..9).for_each(|number| create(&transaction, &number.to_string()).unwrap());
                if panics {
                    // Without a message of the hook.
                    std::panic::resume_unwind(Box::new(7_u32));
                }
            });
            assert_eq!(ended.join().is_err(), panics);
            assert_eq!(parts(&session), Vec::<String>::new());
        }
        create(&session, "after").unwrap();
        drop(session);
        check_sound(&mut store);
        store.compact().unwrap();
    }
}

#[test]
fn a_thread_does_not_wait_for_its_own_transaction() {
    let (store, session) = store(LONG, LARGE);
    let bob = store.session(Identity::user("bob"));
    let refused = |transaction: &dyn ProductService, place: &str| {
        let nested = |_: &stationdb::Transaction<'_>| Ok(());
        for (what, outcome) in [
            ("a write", create(&bob, "other")),
            ("a write of the same session", create(&session, "other")),
            ("a second one", session.begin().map(drop)),
            ("a closure", session.transaction(nested)),
            ("maintenance", store.maintain(&control()).map(drop)),
        ] {
            let error = outcome.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Conflict, "{place}: {what}: {error}");
            let text = "the transaction of \"ada\", whose last call was query_products";
            assert!(error.message().contains(text), "{place}: {what}: {error}");
        }
        create(transaction, place).unwrap();
    };
    let transaction = session.begin().unwrap();
    parts(&transaction);
    refused(&transaction, "a value");
    transaction.commit().unwrap();
    let in_closure = session.transaction(|transaction| {
        parts(transaction);
        refused(transaction, "a closure");
        Ok(())
    });
    in_closure.unwrap();
    assert_eq!(parts(&session), ["a closure", "a value"]);
    // It is this thread's as long as no other one has used it.
    let transaction = session.begin().unwrap();
    let (used, is_used) = mpsc::channel();
    let (end, is_ended) = mpsc::channel::<()>();
    let other = thread::spawn(move || {
        parts(&transaction);
        used.send(()).unwrap();
        is_ended.recv().unwrap();
        drop(transaction);
    });
    is_used.recv().unwrap();
    let late = create(&soon(&session, 50), "late").unwrap_err();
    assert_eq!(late.kind(), ErrorKind::DeadlineExceeded, "{late}");
    end.send(()).unwrap();
    create(&session, "next").unwrap();
    other.join().unwrap();
}

#[test]
fn other_threads_wait_and_learn_for_what_they_waited() {
    let (_store, session) = store(LONG, LARGE);
    let transaction = session.begin().unwrap();
    create(&transaction, "held").unwrap();
    thread::scope(|scope| {
        let [late, in_time] = [50, 60_000].map(|within| {
            let session = session.clone();
            scope.spawn(move || create(&soon(&session, within), "other"))
        });
        let error = late.join().unwrap().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::DeadlineExceeded);
        let text =
            "the transaction of \"ada\", whose last call was create_products, which began 0.";
        assert!(error.message().contains(text), "{error}");
        // One that is cancelled does not wait for its turn.
        let cancelled = Control::default();
        let work = session.with_control(&cancelled);
        let waits = scope.spawn(move || create(&work, "cancelled"));
        thread::sleep(Duration::from_millis(30));
        cancelled.cancel();
        assert_eq!(waits.join().unwrap().unwrap_err().kind(), ErrorKind::Cancelled);
        transaction.commit().unwrap();
        in_time.join().unwrap().unwrap();
    });
    assert_eq!(parts(&session), ["held", "other"]);
}

/// Asserts that this is the refusal of an overdue transaction.
fn check_overdue(error: &Error, last: &str) {
    assert_eq!(error.kind(), ErrorKind::DeadlineExceeded, "{error}");
    let text = format!("the transaction of \"ada\" was rolled back: {last} was its last call");
    assert!(error.message().starts_with(&text), "{error}");
    let args = error.api_error().args;
    assert_eq!(args[..2], ["ada".to_owned(), last.to_owned()]);
    assert!(args[2].parse::<f64>().unwrap() > 0.4, "{args:?}");
}

/// The thread that began it never comes back: whoever waits for the turn gets it.
#[test]
fn an_overdue_transaction_is_taken_back_by_whoever_waits() {
    for (memory, by_itself) in [(LARGE, false), (SMALL, false), (LARGE, true), (SMALL, true)] {
        let (mut store, session) = store(500, memory);
        let begin = |session: &Session| {
            let transaction = session.begin().unwrap();
            (0..9).for_each(|number| create(&transaction, &number.to_string()).unwrap());
            transaction
        };
        let transaction = if by_itself {
            // The next writer is the thread that has it.
            let transaction = begin(&session);
            let refused = create(&session, "next").unwrap_err();
            assert_eq!(refused.kind(), ErrorKind::Conflict);
            thread::sleep(Duration::from_millis(510));
            transaction
        } else {
            thread::scope(|scope| scope.spawn(|| begin(&session)).join().unwrap())
        };
        let began = Instant::now();
        create(&session, "next").unwrap();
        assert!(began.elapsed() < Duration::from_secs(20), "{:?}", began.elapsed());
        assert_eq!(parts(&session), ["next"]);
        for _ in 0..2 {
            check_overdue(&create(&transaction, "late").unwrap_err(), "create_products");
        }
        check_overdue(&transaction.commit().unwrap_err(), "create_products");
        assert_eq!(parts(&session), ["next"]);
        drop(session);
        check_sound(&mut store);
        store.compact().unwrap();
    }
}

#[test]
fn an_overdue_transaction_is_refused_although_nobody_waits() {
    let (_store, session) = store(500, LARGE);
    let overdue = || {
        let transaction = session.begin().unwrap();
        create(&transaction, "lost").unwrap();
        thread::sleep(Duration::from_millis(510));
        transaction
    };
    check_overdue(&overdue().commit().unwrap_err(), "create_products");
    let transaction = overdue();
    let read = transaction.query_products(QueryProductsRequest::new());
    check_overdue(&read.unwrap_err(), "create_products");
    // The turn is free before the value is dropped.
    create(&session, "next").unwrap();
    drop(transaction);
    let in_closure = session.transaction(|transaction| {
        create(transaction, "lost")?;
        thread::sleep(Duration::from_millis(510));
        Ok(())
    });
    check_overdue(&in_closure.unwrap_err(), "create_products");
    assert_eq!(parts(&session), ["next"]);
    // Its value may be lost.
    Box::leak(Box::new(session.begin().unwrap()));
    thread::sleep(Duration::from_millis(510));
    create(&session, "last").unwrap();
}

#[test]
fn a_store_that_is_closed_names_an_open_transaction_and_does_not_wait_for_it() {
    let disk = disk();
    let options = || Store::options().transaction_hold_ms(LONG);
    // The thread of maintenance waits for the turn.
    let (store, session) = opened(options(), disk.clone());
    let transaction = session.begin().unwrap();
    create(&transaction, "kept").unwrap();
    drop(session);
    thread::sleep(Duration::from_millis(1_200));
    let began = Instant::now();
    let error = store.close().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Conflict);
    assert!(error.message().contains("still held by 1 open transaction;"), "{error}");
    assert!(began.elapsed() < Duration::from_secs(20), "{:?}", began.elapsed());
    // It is the last handle, and still makes its commit.
    transaction.commit().unwrap();
    let (store, session) = opened(options(), disk);
    assert_eq!(parts(&session), ["kept"]);
    drop(session);
    store.close().unwrap();
}

#[test]
fn a_transaction_has_the_settings_of_its_session() {
    let (_store, session) = store(LONG, LARGE);
    let pinned = session.pinned().begin().unwrap_err();
    assert_eq!(pinned.kind(), ErrorKind::Unsupported);
    let whole = session.all_or_nothing().begin().unwrap();
    create(&whole, "one").unwrap();
    let refused = create(&whole, "").unwrap_err();
    assert_eq!(whole.commit().unwrap_err().message(), refused.message());
    let late = soon(&session, 40).begin().unwrap();
    create(&late, "two").unwrap();
    thread::sleep(Duration::from_millis(50));
    assert_eq!(create(&late, "three").unwrap_err().kind(), ErrorKind::DeadlineExceeded);
    assert_eq!(late.commit().unwrap_err().kind(), ErrorKind::DeadlineExceeded);
    let named = session.with_default_workspace("lab").begin().unwrap();
    create(&named, "four").unwrap();
    named.commit().unwrap();
    let page = session.query_products(QueryProductsRequest::new()).unwrap();
    assert_eq!(page.products.len(), 1);
    assert_eq!(page.products[0].workspace.as_deref(), Some("lab"));
    // What cannot be undone is refused, as in a closure.
    let transaction: OwnedTransaction = session.begin().unwrap();
    let refused = transaction.start_upload_session(None).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Unsupported);
}
