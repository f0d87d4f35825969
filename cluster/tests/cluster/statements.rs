//! Statements answer the same on three executors as in one process.

use stationdb_cluster::{Error, distributed};

use crate::process::Cluster;
use crate::tables;

/// Each names an order, unless its answer is one row.
const STATEMENTS: &str = include_str!("../statements.sql");

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn statements_answer_the_same_on_three_executors() {
    let directory = tempfile::tempdir().unwrap();
    let lake = directory.path().canonicalize().unwrap();
    tables::write(&lake, 3_000).await;
    let here = tables::context(&lake).await;
    let cluster = Cluster::start(&lake);
    let there = distributed(&here, &cluster.scheduler.address).unwrap();
    let statements: Vec<&str> =
        STATEMENTS.split(";\n").map(str::trim).filter(|text| !text.is_empty()).collect();
    assert!(statements.len() >= 40, "{} statements", statements.len());
    let mut differ = Vec::new();
    for statement in &statements {
        let expected = tables::ask(&here, statement).await.unwrap();
        assert!(expected.lines().count() > 4, "{statement}\nhas no row:\n{expected}");
        match tables::ask(&there, statement).await {
            Ok(answer) if answer == expected => {}
            Ok(answer) => differ.push(format!("{statement}\n{expected}\non the cluster\n{answer}")),
            Err(error) => differ.push(format!("{statement}\non the cluster: {error}")),
        }
    }
    assert!(differ.is_empty(), "{}", differ.join("\n\n"));
    println!("counted: {} statements", statements.len());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn errors_of_a_statement_are_told_at_once() {
    let directory = tempfile::tempdir().unwrap();
    let lake = directory.path().canonicalize().unwrap();
    tables::write(&lake, 100).await;
    let here = tables::context(&lake).await;
    let cluster = Cluster::start(&lake);
    let there = distributed(&here, &cluster.scheduler.address).unwrap();
    let error = tables::ask(&there, "select cast(product as int) from gain").await.unwrap_err();
    let text = error.to_string();
    assert!(text.contains("Cannot cast string 'AMP-"), "{text}");
    assert!(!text.contains("attempts"), "{text}");
    // The cluster goes on.
    let counted = tables::ask(&there, "select count(*) as n from gain").await.unwrap();
    assert!(counted.contains("| 1200 |"), "{counted}");
}

#[tokio::test]
async fn a_scheduler_that_is_not_there_is_told() {
    let context = stationdb_cluster::datafusion::prelude::SessionContext::new();
    let wrong = distributed(&context, "localhost").err();
    assert!(matches!(wrong, Some(Error::Scheduler { .. })), "{wrong:?}");
    // A port that this process holds without listening there stays refused.
    let held = tokio::net::TcpSocket::new_v4().unwrap();
    held.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let url = format!("http://{}", held.local_addr().unwrap());
    let there = distributed(&context, &url).unwrap();
    let error = tables::ask(&there, "select 1 + 1 as two").await.unwrap_err().to_string();
    assert!(error.contains(&url) && error.contains("6 attempts"), "{error}");
}
