//! Prepared statements of programs without an async runtime.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use datafusion::common::{ParamValues, ScalarValue};
use stationdb::{Control, ErrorKind, Session};

use super::common::{ada, fill, filled, lines, open};
use super::{Limits, Options, Prepared, Sql, prepare};

/// Counts the calls whose work has ended.
#[derive(Clone, Default)]
struct Ended(Arc<AtomicUsize>);

struct Kept(Ended);

impl Drop for Kept {
    fn drop(&mut self) {
        self.0.0.fetch_add(1, Ordering::SeqCst);
    }
}

impl Ended {
    fn wait(&self, count: usize) {
        let begun = Instant::now();
        while self.0.load(Ordering::SeqCst) < count {
            assert!(begun.elapsed() < Duration::from_secs(20), "work goes on");
            std::thread::sleep(Duration::from_millis(2));
        }
    }
}

fn ask(prepared: &Prepared, session: &Session, channel: i64, ended: &Ended) -> Vec<String> {
    let values = ParamValues::from(vec![ScalarValue::from(channel)]);
    let kept = Box::new(Kept(ended.clone()));
    let rows = prepared.begin(session, Some(values), Some(kept), &Control::default()).unwrap();
    assert_eq!(rows.schema().field(0).name(), "n");
    lines(&rows.collect::<stationdb::Result<Vec<_>>>().unwrap())
}

const COUNT: &str = "select count(*) as n from rows.\"Loop 1\" where channel = $1";

#[test]
fn threads_without_a_runtime_share_one_plan() {
    let (_directory, _store, session) = filled();
    let (prepared, ended) = (prepare(COUNT), Ended::default());
    assert_eq!(ask(&prepared, &session, 9, &ended), ["0"]);
    std::thread::scope(|scope| {
        for channel in 0..8 {
            let (prepared, session, ended) = (&prepared, &session, &ended);
            scope.spawn(move || {
                for _ in 0..5 {
                    assert_eq!(ask(prepared, session, channel, ended), ["625"]);
                }
            });
        }
    });
    assert_eq!(prepared.plans_made(), 1);
    ended.wait(41);
}

#[test]
fn a_store_closes_when_what_a_call_keeps_is_dropped() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("store");
    let (prepared, ended) =
        (prepare("select t, volts from rows.\"Loop 1\" where volts > $1"), Ended::default());
    for at in 0..20 {
        let store = open(&path);
        let session = ada(&store);
        if at == 0 {
            fill(&session);
        }
        let values = ParamValues::from(vec![ScalarValue::from(1.0)]);
        let kept = Box::new(Kept(ended.clone()));
        let mut rows =
            prepared.begin(&session, Some(values), Some(kept), &Control::default()).unwrap();
        match at % 4 {
            // Before the first rows, and after them.
            0 => drop(rows),
            1 => {
                rows.next().unwrap().unwrap();
                drop(rows);
            }
            2 => rows.close(),
            _ => assert!(rows.all(|batch| batch.is_ok())),
        }
        drop(session);
        ended.wait(at + 1);
        store.close().unwrap();
    }
    assert_eq!(prepared.plans_made(), 1);
}

#[test]
fn a_call_ends_by_its_control_alone() {
    let (_directory, _store, session) = filled();
    let slow = prepare(
        "select count(*) as n from rows.\"Loop 1\" a, rows.\"Loop 1\" b, rows.\"Loop 1\" c \
         where a.volts + b.volts * c.volts > 10000",
    );
    let control = Control::default().with_deadline(Instant::now() + Duration::from_millis(300));
    // The columns are known before the rows are.
    let begun = slow.begin(&session, None, None, &control);
    let error = begun.and_then(|mut rows| rows.next().unwrap()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::DeadlineExceeded, "{error}");
    let control = Control::default();
    let mut rows = slow.begin(&session, None, None, &control).unwrap();
    let other = control.clone();
    let cancel = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(100));
        other.cancel();
    });
    let error = rows.next().unwrap().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Cancelled, "{error}");
    cancel.join().unwrap();
    drop(rows);
    // The threads that both had are free for others.
    let (prepared, ended) = (prepare(COUNT), Ended::default());
    assert_eq!(ask(&prepared, &session, 3, &ended), ["625"]);
    let error = prepare("select nothing from products").begin(&session, None, None, &control);
    assert_eq!(error.err().map(|error| error.kind()), Some(ErrorKind::Cancelled));
    let wrong = prepare("select nothing from products");
    let error = wrong.begin(&session, None, None, &Control::default());
    assert_eq!(error.err().map(|error| error.kind()), Some(ErrorKind::InvalidArgument));
}

#[test]
fn a_text_that_is_no_statement_is_an_error_of_the_library() {
    let sql = Sql::new(Options::default(), Limits::default().tokens(10)).unwrap();
    for (text, kind) in [
        ("selec 1", ErrorKind::InvalidArgument),
        ("select 1, 2, 3, 4, 5, 6, 7, 8", ErrorKind::LimitExceeded),
    ] {
        assert_eq!(sql.prepared(text).unwrap_err().kind(), kind, "{text}");
    }
    assert_eq!(sql.prepared("select ?").unwrap().text(), "select ?");
}
