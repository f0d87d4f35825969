//! Joins with results read the steps and measurements of these, and no others.

use serde_json::json;
use stationdb::prelude::*;
use stationdb_sql::{Options, context_with};

use crate::common::{ada, create, plan, read_by, settle};
use crate::{at, fill, open};

/// The number of rows that were read of a table.
fn rows_of(reads: &[(String, usize)], table: &str) -> usize {
    let named = format!("StoreScan: {table}");
    let of = reads.iter().filter(|(label, _)| label.starts_with(&named));
    of.map(|(_, rows)| rows).sum()
}

#[tokio::test(flavor = "multi_thread")]
async fn joins_read_the_steps_of_their_results() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(directory.path());
    fill(13, &store);
    let session = ada(&store);
    for partitions in [1, 4] {
        let options = Options::default().partitions(partitions);
        let sql = context_with(&session, &options).unwrap();
        for (table, step) in [("steps", "s.step_id"), ("measurements", "s.step_id")] {
            let (all, reads) = read_by(&sql, &format!("select step_id from {table}")).await;
            assert_eq!(rows_of(&reads, table), all.len());
            // `{}` is the condition on results; what is read beside the rows of the answer.
            for (join, condition) in [
                (
                    "from {t} s join results r on s.result_id = r.id where {}",
                    "r.part_number = 'A' and r.serial_number = '3'",
                ),
                (
                    "from results r join {t} s on s.result_id = r.id where {}",
                    "r.part_number = 'A' and r.serial_number = '3'",
                ),
                (
                    "from {t} s, results r where s.result_id = r.id and {}",
                    "r.status = 'FAILED' and r.started_at < timestamp '2024-03-01T00:00:40Z'",
                ),
                (
                    "from {t} s where s.result_id in (select id from results r where {})",
                    "r.part_number = 'A' and r.serial_number = '3'",
                ),
                (
                    "from {t} s where exists \
                     (select 1 from results r where r.id = s.result_id and {})",
                    "r.part_number = 'A' and r.serial_number = '3'",
                ),
                (
                    "from {t} s right join results r on s.result_id = r.id where {}",
                    "r.serial_number = '3'",
                ),
                (
                    "from results r left join {t} s on s.result_id = r.id where {}",
                    "r.serial_number = '3'",
                ),
                (
                    "from (select *, total_time_in_seconds + 1 as later from results) r \
                     join (select step_id, result_id as of from {t}) s on s.of = r.id where {}",
                    "r.serial_number = '3'",
                ),
                (
                    "from (select id, count(*) from results r where {} group by id) r \
                     join {t} s on s.result_id = r.id",
                    "r.serial_number = '3'",
                ),
                ("from {t} s join results r on s.result_id = r.id where {}", "r.id = 'none'"),
            ] {
                let statement = |condition: &str| {
                    let join = join.replace("{t}", table).replace("{}", condition);
                    format!("select {step} {join} order by 1")
                };
                let narrow = statement(condition);
                let (found, reads) = read_by(&sql, &narrow).await;
                // `is true` keeps the condition from going down.
                let wide = statement(&format!("({condition}) is true"));
                let (expected, _) = read_by(&sql, &wide).await;
                assert_eq!(found, expected, "{narrow}");
                assert_eq!(found.is_empty(), condition.contains("none"), "{narrow}");
                let read = rows_of(&reads, "steps") + rows_of(&reads, "measurements");
                let answered = found.iter().filter(|step| *step != "null").count();
                assert!(read <= answered, "{narrow}: {read} rows for {answered}\n{reads:?}");
                assert!(read < all.len() / 2, "{narrow}: {read} of {}", all.len());
            }
        }
        let joined = "select count(*) from steps s join results r on s.result_id = r.id \
            where r.part_number = 'A' and s.name = 'a'";
        let told = plan(&sql, joined).await;
        let filter = "name == @0 [String(\"a\")] and joined results with partNumber == @0 \
            [String(\"A\")]";
        assert!(told.contains(filter), "{told}");
    }
}

/// Where rows without a match count, and where others than the results limit them, all are read.
#[tokio::test(flavor = "multi_thread")]
async fn joins_that_keep_rows_read_all() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(directory.path());
    fill(13, &store);
    let session = ada(&store);
    for partitions in [1, 4] {
        let options = Options::default().partitions(partitions);
        let sql = context_with(&session, &options).unwrap();
        for join in [
            "from steps s left join results r on s.result_id = r.id and {}",
            "from results r right join steps s on s.result_id = r.id and {}",
            "from (select * from results r where {}) r full join steps s on s.result_id = r.id",
            "from steps s where not exists \
             (select 1 from results r where r.id = s.result_id and {})",
            "from steps s where s.result_id not in (select id from results r where {})",
            "from (select * from steps order by started_at, step_id limit 100) s \
             join results r on s.result_id = r.id where {}",
            "from steps s join results r on s.result_id = r.id or {}",
            "from (select step_id, result_id, \
             row_number() over (order by started_at, step_id) as n from steps) s \
             join results r on s.result_id = r.id where {} and s.n > 3",
            "from (select max(step_id) as step_id, max(result_id) as result_id from steps) s \
             join results r on s.result_id >= r.id where {}",
        ] {
            let statement = |condition: &str| {
                format!("select s.step_id {} order by 1", join.replace("{}", condition))
            };
            let condition = "r.serial_number = '3'";
            let (found, reads) = read_by(&sql, &statement(condition)).await;
            let (expected, _) = read_by(&sql, &statement(&format!("({condition}) is true"))).await;
            assert_eq!(found, expected, "{join}");
            assert!(!found.is_empty(), "{join}");
            assert!(!reads.iter().any(|(label, _)| label.contains("joined")), "{join}: {reads:?}");
        }
    }
}

/// Each run of a recursive query joins with other rows than the one before.
#[tokio::test(flavor = "multi_thread")]
async fn runs_of_a_recursive_query_read_their_own_steps() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(directory.path());
    let session = ada(&store);
    let mut next = "the end".to_owned();
    for second in 0..9 {
        let result = json!({"programName": "P", "status": {"statusType": "PASSED"},
            "startedAt": at(second)});
        let step = json!({"name": "link", "data": {"text": next}});
        let other = json!({"name": "other", "data": {"text": "nowhere"}});
        next = create(&session, result, vec![step, other]).to_string();
    }
    settle(&store);
    for partitions in [1, 4] {
        let options = Options::default().partitions(partitions);
        let sql = context_with(&session, &options).unwrap();
        let statement = format!(
            "with recursive t(n, id) as (select 0, '{next}' union all \
             select t.n + 1, s.data['text'] || '' from t join steps s on s.result_id = t.id \
             where s.name = 'link') select max(n), count(*) from t"
        );
        assert_eq!(read_by(&sql, &statement).await.0, ["9 | 10"]);
    }
}

/// Two sides of a join have a column `result_id`, and results and products one `id`. A condition on the
/// results of one of them, and ids of one of them, are none of the other.
#[tokio::test(flavor = "multi_thread")]
async fn columns_of_one_name_are_kept_apart() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(directory.path());
    let session = ada(&store);
    let mut ids = Vec::new();
    for serial in ["1", "2", "3"] {
        let result = json!({"programName": "P", "status": {"statusType": "PASSED"},
            "partNumber": "A", "serialNumber": serial, "startedAt": at(ids.len() as i64)});
        let entry = json!({"name": "VOUT", "measurement": serial});
        let step = json!({"name": "supply", "data": {"parameters": [entry]}});
        ids.push(create(&session, result, vec![step]).to_string());
    }
    settle(&store);
    let product = session.query_products(Default::default()).unwrap().products[0].id.clone();
    let product = product.unwrap().to_string();
    for partitions in [1, 4] {
        let options = Options::default().partitions(partitions);
        let sql = context_with(&session, &options).unwrap();
        for (order, answer) in [
            ("{a} a join {b} b on a.{n} = b.{n} join results r on r.id = b.result_id", ["1", "3"]),
            ("{a} b join {b} a on a.{n} = b.{n} join results r on r.id = b.result_id", ["1", "3"]),
            (
                "{a} a left join {b} b on a.{n} = b.{n} join results r on r.id = b.result_id",
                ["1", "3"],
            ),
            (
                "{a} a join {b} b on a.{n} = b.{n} join (select id, serial_number from results \
                 order by abs(cast(serial_number as int) - 2) limit 1) r on r.id = b.result_id",
                ["1", "3"],
            ),
        ] {
            for (a, b, n) in [("measurements", "measurements", "name"), ("steps", "steps", "name")]
            {
                let from = order.replace("{a}", a).replace("{b}", b).replace("{n}", n);
                let statement = format!(
                    "select x.serial_number from (select a.result_id as of_a, b.result_id as of_b \
                     from {from} where r.serial_number = '2' and a.result_id <> r.id) y \
                     join results x on x.id = y.of_a order by 1"
                );
                let (found, _) = read_by(&sql, &statement).await;
                assert_eq!(found, answer, "{statement}");
                let both = format!(
                    "select a.result_id, b.result_id from {from} \
                     where r.serial_number = '2' and a.result_id <> r.id order by 1"
                );
                let (found, _) = read_by(&sql, &both).await;
                let expected = [0, 2].map(|at: usize| format!("{} | {}", ids[at], ids[1]));
                let mut expected = expected.to_vec();
                expected.sort();
                assert_eq!(found, expected, "{both}");
            }
        }
        let statement = format!(
            "select r.serial_number, p.id from results r join products p on p.part_number = \
             r.part_number join (values ('{product}')) v(pid) on v.pid = p.id order by 1"
        );
        let (found, _) = read_by(&sql, &statement).await;
        assert_eq!(found, ["1", "2", "3"].map(|serial| format!("{serial} | {product}")));
        // No store has the year 0.
        let early = "select count(*) from results where started_at >= timestamp \
            '0000-06-01T00:00:00Z'";
        assert_eq!(read_by(&sql, early).await.0, ["3"]);
    }
}
