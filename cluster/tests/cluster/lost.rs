//! Executors killed in the middle of a statement.

use std::time::{Duration, Instant};

use stationdb_cluster::distributed;
use tokio::time::sleep;

use crate::process::{Cluster, Process};
use crate::sizes::size;
use crate::tables;

/// Several stages whose tasks read what those of other executors have written.
const STATEMENT: &str = "\
select p.family, count(*) as keys, sum(g.n) as rows, sum(g.total) as total, max(g.n) as most \
from (select key, product, count(*) as n, sum(row * 3 + slot) as total from gain \
group by key, product) g join products p on p.product = g.product group by p.family \
order by p.family";

/// From the kill to the answer.
const ANSWER_MAX: Duration = Duration::from_secs(20);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_killed_executor_changes_no_answer() {
    let directory = tempfile::tempdir().unwrap();
    let lake = directory.path().canonicalize().unwrap();
    tables::write(&lake, 40_000).await;
    let here = tables::context(&lake).await;
    let expected = tables::ask(&here, STATEMENT).await.unwrap();
    let mut cluster = Cluster::start(&lake);
    let there = distributed(&here, &cluster.scheduler.address).unwrap();
    assert_eq!(tables::ask(&there, STATEMENT).await.unwrap(), expected);
    let began = Instant::now();
    assert_eq!(tables::ask(&there, STATEMENT).await.unwrap(), expected);
    let takes = began.elapsed();

    let (kills, mut slowest, mut in_the_middle) = (size("cluster_kills") as u32, Duration::ZERO, 0);
    for kill in 0..kills {
        let asked = tokio::spawn({
            let there = there.clone();
            async move { tables::ask(&there, STATEMENT).await }
        });
        // Each kill is at another part of the statement, none at its very end.
        sleep(takes * (kill % 10 * 8 + 5) / 100).await;
        in_the_middle += u32::from(!asked.is_finished());
        let victim = kill as usize % cluster.executors.len();
        cluster.executors[victim].kill();
        let killed = Instant::now();
        let answer = asked.await.unwrap().unwrap();
        let took = killed.elapsed();
        assert_eq!(answer, expected, "kill {kill}");
        assert!(took < ANSWER_MAX, "kill {kill}: the answer took {took:?}");
        slowest = slowest.max(took);
        cluster.executors[victim] = Process::executor(&lake, &cluster.scheduler.address);
    }
    println!("alone {takes:?}, slowest answer after a kill {slowest:?}");
    println!("counted: {in_the_middle} kills in the middle of a statement");
    assert!(in_the_middle * 2 > kills, "{in_the_middle} of {kills} kills met a statement");
}
