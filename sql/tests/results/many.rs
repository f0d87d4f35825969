//! Figures with many rows: the work and the memory grow with the rows, and only the columns are made
//! that a statement names.

use datafusion::arrow::array::{Array, RecordBatch};
use datafusion::prelude::SessionContext;
use serde_json::json;
use stationdb::prelude::*;
use stationdb::results::YieldsRequest;
use stationdb_sql::{Options, context, context_with, datafusion};

use crate::common::{ada, ask, request};
use crate::{control, open};

const PARTS: usize = 2_000;

async fn batches(sql: &SessionContext, statement: &str) -> Vec<RecordBatch> {
    sql.sql(statement).await.unwrap().collect().await.unwrap()
}

/// Bytes of the columns.
fn bytes(batches: &[RecordBatch]) -> usize {
    let columns = batches.iter().flat_map(RecordBatch::columns);
    columns.map(|column| column.to_data().get_slice_memory_size().unwrap()).sum()
}

#[tokio::test(flavor = "multi_thread")]
async fn yields_of_many_part_numbers_take_memory_by_their_number() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(directory.path());
    let session = ada(&store);
    for half in 0..2 {
        let result = |at: usize| {
            let status = if at.is_multiple_of(3) { "FAILED" } else { "PASSED" };
            request(json!({"programName": format!("P{}", at % 2), "status": {"statusType": status},
                "partNumber": format!("part-{:05}", at / 2), "serialNumber": at.to_string(),
                "properties": {"half": half.to_string()}}))
        };
        let all = (half * PARTS..(half + 1) * PARTS).map(result).collect();
        session.create_results(all).unwrap().require_all().unwrap();
    }
    let sql = context(&session).unwrap();
    // One column is made of it.
    let good = batches(&sql, "select good from yields('', 'PART_NUMBER')").await;
    assert_eq!(good.iter().map(RecordBatch::num_rows).sum::<usize>(), PARTS);
    assert!(bytes(&good) <= 8 * PARTS + 1024, "{}", bytes(&good));
    // Twice as many part numbers are twice as many bytes.
    let all = session.yields(YieldsRequest::new(), &control()).unwrap().rolled_throughput;
    assert_eq!(all.len(), PARTS);
    for (of, arguments) in [("yields", ", 'PART_NUMBER'"), ("rolled_throughput", "")] {
        let selected = |filter: &str| format!("select * from {of}('{filter}'{arguments})");
        let whole = batches(&sql, &selected("")).await;
        let half = batches(&sql, &selected("properties.half == \"0\"")).await;
        let (rows, half_rows) = (
            whole.iter().map(RecordBatch::num_rows).sum::<usize>(),
            half.iter().map(RecordBatch::num_rows).sum::<usize>(),
        );
        assert_eq!((rows, half_rows), (PARTS, PARTS / 2), "{of}");
        assert!(bytes(&whole) < 3 * bytes(&half), "{of}: {} {}", bytes(&whole), bytes(&half));
        assert!(bytes(&whole) < 400 * PARTS, "{of}: {}", bytes(&whole));
    }
    let rolled = "select part_number, rolled_throughput_yield, array_length(programs) \
        from rolled_throughput('')";
    let expected: Vec<String> = all
        .iter()
        .map(|one| {
            let yields = crate::shown(&[one.rolled_throughput_yield]).remove(0);
            let part = one.part_number.as_deref().unwrap();
            format!("{part} | {yields} | {}", one.programs.len())
        })
        .collect();
    assert_eq!(ask(&sql, rolled).await.unwrap(), expected);
    assert!(expected.iter().all(|line| line.ends_with(" | 2")));
    // The answer counts to the memory of the statement: some hundred bytes of each group.
    for (statement, counted) in [
        ("select count(*) from yields('', 'PART_NUMBER')", "StoreScan"),
        ("select count(*) from rolled_throughput('')", "StoreScan"),
    ] {
        let enough = Options::default().memory_bytes(2 << 20).partitions(1);
        let enough = context_with(&session, &enough).unwrap();
        assert_eq!(ask(&enough, statement).await.unwrap(), [PARTS.to_string()]);
        let little = Options::default().memory_bytes(200 << 10).partitions(1);
        let little = context_with(&session, &little).unwrap();
        let error = ask(&little, statement).await.unwrap_err();
        assert!(error.contains(counted) && error.contains("memory"), "{statement}: {error}");
    }
}
