//! Statements that are prepared answer as they do by themselves, over what the store has now.

#[cfg(feature = "blocking")]
#[path = "prepared/blocking.rs"]
mod blocking;
#[path = "prepared/changes.rs"]
mod changes;
mod common;
#[path = "prepared/values.rs"]
mod values;

use std::sync::Arc;
use std::time::{Duration, Instant};

use common::{ada, ask, fill, filled, lines, open, settle};
use datafusion::common::{ParamValues, ScalarValue};
use datafusion::physical_plan::common::collect;
use stationdb::{Control, ErrorKind, Identity, Session};
use stationdb_sql::{Limits, Options, Prepared, Sql, context, datafusion};

const STATEMENTS: &str = include_str!("statements.sql");

fn prepare(text: &str) -> Prepared {
    let sql = Sql::new(Options::default(), Limits::default()).unwrap();
    sql.prepare(text).unwrap()
}

/// The answer of a prepared statement.
async fn call(
    prepared: &Prepared,
    session: &Session,
    values: Option<ParamValues>,
) -> Result<Vec<String>, String> {
    let rows = prepared.query(session, values, &Control::default()).await;
    let batches = collect(rows.map_err(|error| error.to_string())?).await;
    Ok(lines(&batches.map_err(|error| error.to_string())?))
}

#[tokio::test(flavor = "multi_thread")]
async fn every_statement_answers_as_by_itself_and_is_planned_once() {
    let (_directory, store, session) = filled();
    let sql = Sql::new(Options::default(), Limits::default()).unwrap();
    let others = [
        "select kind, name from search('Amplifier') order by name limit 3",
        "select count(*), max(volts) from decimate('Loop 1', 'volts', 20)",
        "select workspace, rows_max from quotas order by workspace",
        "select part_number, units from yields('', 'PART_NUMBER')",
        "select n from rows.\"Loop 2\" where n in (select max(n) from rows.\"Loop 2\") limit 1",
        "select upper(name) || '!' || repeat('x', 3) from work_items order by 1 limit 4",
        "select count(*) from steps s join results r on s.result_id = r.id",
    ];
    let statements: Vec<&str> = STATEMENTS.lines().chain(others).collect();
    let prepared: Vec<Prepared> =
        statements.iter().map(|text| sql.prepare(text).unwrap()).collect();
    for _ in 0..2 {
        let alone = context(&session).unwrap();
        for prepared in &prepared {
            let expected = ask(&alone, prepared.text()).await.unwrap();
            for _ in 0..2 {
                let answer = call(prepared, &session, None).await.unwrap();
                assert_eq!(answer, expected, "{}", prepared.text());
            }
        }
        // Sealed and merged: the plans hold.
        settle(&store);
    }
    assert!(prepared.len() > 70, "{} statements", prepared.len());
    for prepared in &prepared {
        assert_eq!(prepared.plans_made(), 1, "{}", prepared.text());
    }
}

#[tokio::test]
async fn a_hundred_calls_make_one_plan() {
    let (_directory, _store, session) = filled();
    let text = "select channel, volts from rows.\"Loop 1\" where t >= $low and t < $high";
    let prepared = prepare(text);
    for second in 0..100 {
        let at = |second: i64| {
            let text = format!("2024-03-01T00:{:02}:{:02}Z", second / 60, second % 60);
            ScalarValue::from(text)
        };
        let values = vec![("low", at(second)), ("high", at(second + 3))];
        let rows = call(&prepared, &session, Some(values.into())).await.unwrap();
        assert_eq!(rows.len(), 3);
        assert!(rows[0].starts_with(&(second % 8).to_string()), "{rows:?}");
    }
    assert_eq!(prepared.plans_made(), 1);
}

#[tokio::test]
async fn what_the_time_of_the_call_decides_is_planned_for_each_call() {
    let (_directory, store, session) = filled();
    let prepared = prepare("select now()");
    let first = call(&prepared, &session, None).await.unwrap();
    tokio::time::sleep(Duration::from_millis(5)).await;
    assert_ne!(call(&prepared, &session, None).await.unwrap(), first);
    let names = "select count(*) from information_schema.tables";
    let prepared = prepare(names);
    let guest = store.session(Identity::user("guest"));
    for who in [&session, &guest, &session] {
        let expected = ask(&context(who).unwrap(), names).await.unwrap();
        assert_eq!(call(&prepared, who, None).await.unwrap(), expected);
    }
    assert_eq!(prepared.plans_made(), 3);
}

#[tokio::test]
async fn each_caller_sees_what_the_policy_allows() {
    let (_directory, store, session) = filled();
    let [guest, stranger] = ["guest", "stranger"].map(|who| store.session(Identity::user(who)));
    // Loop 2 and the second table "twice" are closed to guests.
    for text in [
        "select count(*) from products",
        "select part_number from products where family = 'F1' order by part_number",
        "select count(*) from rows.\"Loop 1\"",
        "select count(*), max(n) from rows.\"Loop 2\"",
        "select count(*) from rows.twice",
        "select count(*) from decimate('Loop 2', 'value', 5)",
        "select count(*) from search('Amplifier')",
        "select count(*) from quotas",
    ] {
        let prepared = prepare(text);
        for who in [&session, &guest, &stranger, &session, &stranger, &guest] {
            let expected = ask(&context(who).unwrap(), text).await;
            assert_eq!(call(&prepared, who, None).await, expected, "{text}");
        }
    }
}

#[tokio::test]
async fn plans_hold_no_store() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("store");
    let prepared = prepare("select count(*) from rows.\"Loop 1\" where channel = 3");
    let products = prepare("select count(*) from products");
    for at in 0..3 {
        let store = open(&path);
        let session = ada(&store);
        if at == 0 {
            fill(&session);
        }
        assert_eq!(call(&prepared, &session, None).await.unwrap(), ["625"]);
        assert_eq!(call(&products, &session, None).await.unwrap(), ["12"]);
        drop(session);
        // It waits for sessions and snapshots.
        store.close().unwrap();
    }
    assert_eq!((prepared.plans_made(), products.plans_made()), (1, 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn each_call_has_its_own_deadline_and_cancellation() {
    let (_directory, _store, session) = filled();
    let slow = "select count(*) from rows.\"Loop 1\" a, rows.\"Loop 1\" b, rows.\"Loop 1\" c \
                where a.volts + b.volts * c.volts > 10000";
    let quick = "select count(*) from rows.\"Loop 1\" where channel = 3";
    let (slow, quick) = (prepare(slow), prepare(quick));
    let all = |control: Control| {
        let (slow, session) = (&slow, &session);
        async move {
            let rows = slow.query(session, None, &control).await?;
            collect(rows).await
        }
    };
    drop(slow.query(&session, None, &Control::default()).await.unwrap());
    // One plan, whose calls have different times.
    for wait in [200, 600] {
        let begun = Instant::now();
        let deadline = begun + Duration::from_millis(wait);
        let error = all(Control::default().with_deadline(deadline)).await.unwrap_err();
        let own = own_error(&error);
        assert_eq!(own.kind(), ErrorKind::DeadlineExceeded, "{error}");
        let taken = begun.elapsed().as_millis() as u64;
        assert!((wait..wait + 5_000).contains(&taken), "{taken} ms");
    }
    assert_eq!(slow.plans_made(), 1);
    let control = Control::default();
    let other = control.clone();
    let cancel = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(100));
        other.cancel();
    });
    let error = all(control).await.unwrap_err();
    assert_eq!(own_error(&error).kind(), ErrorKind::Cancelled, "{error}");
    cancel.join().unwrap();
    // A time that is over before the second call begins ends that one alone.
    for (is_late, plans) in [(false, 1), (true, 1), (false, 1)] {
        let deadline = Instant::now() + Duration::from_secs(if is_late { 0 } else { 60 });
        let control = Control::default().with_deadline(deadline);
        match quick.query(&session, None, &control).await {
            Ok(rows) => {
                assert!(!is_late);
                assert_eq!(lines(&collect(rows).await.unwrap()), ["625"]);
            }
            Err(error) => {
                assert!(is_late);
                assert_eq!(own_error(&error).kind(), ErrorKind::DeadlineExceeded);
            }
        }
        assert_eq!(quick.plans_made(), plans);
    }
}

fn own_error(error: &datafusion::error::DataFusionError) -> &stationdb::Error {
    let chain = std::iter::successors(std::error::Error::source(error), |it| it.source());
    let mut own = chain.filter_map(|it| it.downcast_ref::<stationdb::Error>());
    own.next().unwrap_or_else(|| panic!("{error}"))
}

#[tokio::test]
async fn each_call_has_its_own_bounds() {
    let (_directory, _store, session) = filled();
    let sql = Sql::new(Options::default().partitions(1), Limits::default()).unwrap();
    let text = "select max(length(repeat('x', 3000 + channel) || note)) from rows.\"Loop 1\" \
                where channel >= $1";
    let prepared = sql.prepare(text).unwrap();
    // The time of the first call is over when the others begin.
    let deadline = Instant::now() + Duration::from_secs(6);
    let control = Control::default().with_deadline(deadline);
    let values = vec![ScalarValue::from(0_i64)];
    let rows = prepared.query(&session, Some(values.into()), &control).await.unwrap();
    assert_eq!(lines(&collect(rows).await.unwrap()), ["3009"]);
    std::thread::sleep(deadline.saturating_duration_since(Instant::now()));
    for at in 0..10_i64 {
        let values = vec![ScalarValue::from(at % 5)];
        let rows = call(&prepared, &session, Some(values.into())).await.unwrap();
        assert_eq!(rows, ["3009"]);
    }
    assert_eq!(prepared.plans_made(), 1);
    let limits = Limits::default().expression_bytes(1 << 20);
    let sql = Sql::new(Options::default().partitions(1), limits).unwrap();
    let prepared = sql.prepare(text).unwrap();
    for _ in 0..2 {
        let values = vec![ScalarValue::from(1_i64)];
        let error = call(&prepared, &session, Some(values.into())).await.unwrap_err();
        assert!(error.contains("would make"), "{error}");
    }
    // Memory of sorts and groups, too.
    let sql = Sql::new(Options::default().memory_bytes(10_000), Limits::default()).unwrap();
    let prepared = sql.prepare("select t, count(*) from rows.\"Loop 1\" group by t").unwrap();
    for _ in 0..2 {
        let error = call(&prepared, &session, None).await.unwrap_err();
        assert!(error.contains("Resources exhausted"), "{error}");
    }
}

#[test]
fn threads_share_a_statement() {
    let (_directory, _store, session) = filled();
    let text = "select count(*), min(channel), max(channel) from rows.\"Loop 1\" \
                where channel = $1 or note = $2";
    let prepared = Arc::new(prepare(text));
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(4).build().unwrap();
    let first = |channel: i64, note: &str| {
        let values = vec![ScalarValue::from(channel), note.to_owned().into()];
        ParamValues::from(values)
    };
    let expected: Vec<_> = (0..8)
        .map(|channel| {
            let alone = context(&session).unwrap();
            let values = Some(first(channel, "none"));
            runtime.block_on(common::ask_with(&alone, text, values)).unwrap()
        })
        .collect();
    runtime.block_on(call(&prepared, &session, Some(first(0, "none")))).unwrap();
    std::thread::scope(|scope| {
        for thread in 0..8_usize {
            let (prepared, session, expected, runtime) = (&prepared, &session, &expected, &runtime);
            scope.spawn(move || {
                for at in 0..20 {
                    let channel = (thread + at) % 8;
                    let values = Some(first(channel as i64, "none"));
                    let rows = runtime.block_on(call(prepared, session, values)).unwrap();
                    assert_eq!(rows, expected[channel]);
                }
            });
        }
    });
    assert_eq!(prepared.plans_made(), 1);
}

#[test]
fn a_wrong_text_is_told_when_it_is_prepared() {
    let limits = Limits::default().tokens(10);
    let sql = Sql::new(Options::default(), limits).unwrap();
    for (text, part) in [
        ("selec 1", "Expected"),
        ("select 1, 2, 3, 4, 5, 6, 7, 8", "words and signs"),
        ("select ?, $1", "? beside $1"),
    ] {
        let error = sql.prepare(text).unwrap_err().to_string();
        assert!(error.contains(part), "{text}: {error}");
    }
}

#[test]
fn the_placeholders_of_a_statement_are_told() {
    let sql = Sql::new(Options::default(), Limits::default()).unwrap();
    for (text, expected) in [
        ("select 1, '?', '$a' -- ? $b", vec![]),
        ("select ?, t from rows.\"Loop ?\" where t > ?", vec!["$1", "$2"]),
        ("select $2 from (select $1 union select $2)", vec!["$1", "$2"]),
        ("explain select $high, $low", vec!["$high", "$low"]),
        ("select * from decimate($table, 'volts', $points)", vec!["$points", "$table"]),
    ] {
        let prepared = sql.prepare(text).unwrap();
        let found: Vec<&str> = prepared.placeholders().iter().map(String::as_str).collect();
        assert_eq!(found, expected, "{text}");
    }
}
