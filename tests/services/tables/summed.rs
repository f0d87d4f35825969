//! Aggregates from the sums in the summaries of segments, beside the same from the rows.

use crate::prelude::*;

use stationdb::arrow::array::{ArrayRef, Float64Array, Int64Array, RecordBatch};
use stationdb::arrow::buffer::NullBuffer;

const BLOCK: usize = 1024;

/// A table whose rows are sealed at once, or stay buffered.
struct Table {
    store: Store,
    session: Session,
    id: String,
}

impl Table {
    fn new(seal_rows: u64) -> Self {
        let (store, session) = opened(
            Store::options().maintenance_thread(false).seal_rows(seal_rows),
            Arc::new(MemoryDisk::new()),
        );
        let columns = json!({"columns": [
            {"name": "t", "dataType": "INT64", "columnType": "INDEX"},
            {"name": "i", "dataType": "INT64", "columnType": "NULLABLE"},
            {"name": "f", "dataType": "FLOAT64", "columnType": "NULLABLE"},
            {"name": "s", "dataType": "FLOAT32", "columnType": "NULLABLE"},
        ]});
        let create = from_json(columns.to_string().as_bytes()).unwrap();
        let id = session.create_table(create).unwrap().to_string();
        Self { store, session, id }
    }

    fn append(&self, rows: impl Iterator<Item = usize>) {
        let rows: Vec<Value> = rows.map(row).collect();
        let request = json!({"frame": {"data": rows}}).to_string();
        let request = from_json(request.as_bytes()).unwrap();
        self.session.append_table_data(&self.id.as_str().into(), request).unwrap();
    }

    /// The groups, and the rows that were answered from summaries.
    fn ask(&self, request: &Value) -> (Value, u64) {
        let request = from_json(request.to_string().as_bytes()).unwrap();
        let answer = self.session.aggregate_table_data(&self.id.as_str().into(), request).unwrap();
        let mut answer = serde_json::to_value(answer).unwrap();
        (answer["groups"].take(), answer["summarizedRows"].as_u64().unwrap())
    }
}

/// Block 1 has exponents that are far apart, block 2 too far, block 3 infinities, block 4 NaN and
/// nulls, block 5 the least doubles.
fn row(at: usize) -> Value {
    let x = at as f64;
    let float = match at / BLOCK {
        1 if at.is_multiple_of(7) => x * 1e-13,
        2 if at.is_multiple_of(5) => x * 1e-200,
        3 if at.is_multiple_of(300) => f64::INFINITY,
        4 if at.is_multiple_of(3) => f64::NAN,
        5 => x * 5e-324,
        _ => (x * 0.37).sin() * 40.0 - 3.0,
    };
    let text = match float {
        _ if at / BLOCK == 4 && at.is_multiple_of(11) => None,
        f64::INFINITY => Some("Infinity".to_owned()),
        float => Some(float.to_string()),
    };
    let int = (at as i64 - 3000).wrapping_mul(0x9E37_79B9_7F4A_7C15u64 as i64);
    let small = (!at.is_multiple_of(9)).then(|| ((x * 0.11).cos() as f32).to_string());
    json!([at.to_string(), int.to_string(), text, small])
}

fn sums_of(columns: &[&str]) -> Vec<Value> {
    let functions = ["COUNT", "MIN", "MAX", "SUM", "MEAN", "DEVIATION", "POPULATION_DEVIATION"];
    let of =
        |column: &&str| functions.map(|function| json!({"function": function, "column": column}));
    columns.iter().flat_map(of).collect()
}

const ROWS: usize = 6 * BLOCK + 500;

#[test]
fn sums_come_from_summaries_and_are_those_of_the_rows() {
    let (sealed, buffered) = (Table::new(1), Table::new(1_000_000));
    sealed.append(0..ROWS);
    buffered.append(0..ROWS);
    let rows = |count: usize| count as u64;
    let both = |request: Value, summarized: u64| {
        let (expected, none) = buffered.ask(&request);
        assert_eq!(none, 0, "{request}");
        assert_eq!(sealed.ask(&request), (expected, summarized), "{request}");
    };
    both(json!({"aggregates": sums_of(&["i", "s"])}), rows(ROWS));
    // The sums of one block are not known.
    both(json!({"aggregates": sums_of(&["f"])}), rows(ROWS - BLOCK));
    both(json!({"aggregates": sums_of(&["i", "f", "s"])}), rows(ROWS - BLOCK));
    // Blocks of which some rows pass are read.
    let part = json!({"aggregates": sums_of(&["i", "s"]), "filter": "t >= 100 && t < 5120"});
    both(part, rows(4 * BLOCK));
    // Blocks of several groups are read.
    let by = |width: usize| json!({"aggregates": sums_of(&["i", "f", "s"]), "groupBy": [{"column": "t", "width": width}]});
    both(by(2 * BLOCK), rows(ROWS - BLOCK));
    both(by(1500), rows(2 * BLOCK + 500));
    // Other functions need the rows.
    let mut with_last = sums_of(&["i"]);
    with_last.push(json!({"function": "LAST", "column": "i"}));
    both(json!({"aggregates": with_last}), 0);
}

#[test]
fn deleted_rows_are_in_no_sum_and_summaries_serve_again_when_they_are_left_out() {
    let (sealed, buffered) = (Table::new(1), Table::new(1_000_000));
    for table in [&sealed, &buffered] {
        table.append(0..ROWS);
        let request = from_json(br#"{"indexFrom": "1000", "indexBefore": "3500"}"#).unwrap();
        table.session.delete_rows(&table.id.as_str().into(), request).unwrap();
    }
    let request = json!({"aggregates": sums_of(&["i", "s"])});
    let (expected, _) = buffered.ask(&request);
    assert_eq!(sealed.ask(&request), (expected.clone(), 0));
    let report = sealed.store.maintain(&Control::default()).unwrap();
    assert_eq!((report.deleted_rows_removed, report.rows_deleted), (2500, 0));
    assert_eq!(sealed.ask(&request), (expected, (ROWS - 2500) as u64));
    // Too few of a segment to write it again.
    let request = from_json(br#"{"indexBefore": "10"}"#).unwrap();
    sealed.session.delete_rows(&sealed.id.as_str().into(), request).unwrap();
    assert_eq!(sealed.store.maintain(&Control::default()).unwrap().deleted_rows_removed, 0);
}

#[test]
fn merged_segments_and_added_columns_have_the_sums_of_their_rows() {
    let (sealed, buffered) = (Table::new(1), Table::new(1_000_000));
    for table in [&sealed, &buffered] {
        table.append((0..ROWS).step_by(2));
        table.append((1..ROWS).step_by(2));
    }
    let request = json!({"aggregates": sums_of(&["i", "f", "s"])});
    let (expected, _) = buffered.ask(&request);
    // Each segment has rows of two halves of the blocks, of which one is too wide for sums.
    assert_eq!(sealed.ask(&request).0, expected);
    let close = from_json(br#"{"endOfData": true}"#).unwrap();
    sealed.session.append_table_data(&sealed.id.as_str().into(), close).unwrap();
    sealed.store.maintain(&Control::default()).unwrap();
    assert_eq!(sealed.ask(&request), (expected, (ROWS - BLOCK) as u64));
    let column = json!({"columns": [{"name": "n", "dataType": "INT32", "columnType": "NULLABLE"}]});
    let add = from_json(column.to_string().as_bytes()).unwrap();
    sealed.session.add_columns(&sealed.id.as_str().into(), add).unwrap();
    let added = json!({"aggregates": [
        {"function": "SUM", "column": "n"}, {"function": "COUNT", "column": "n"}]});
    let (groups, summarized) = sealed.ask(&added);
    assert_eq!((groups[0]["values"].clone(), summarized), (json!([{}, {"value": "0"}]), 0));
    let kept = json!({"aggregates": sums_of(&["i"])});
    assert_eq!(sealed.ask(&kept), (buffered.ask(&kept).0, ROWS as u64));
}

#[test]
fn what_an_arrow_array_has_under_a_null_is_in_no_sum() {
    let table = Table::new(1);
    let valid = |at: usize| at % 3 != 1;
    let nulls = NullBuffer::from_iter((0..3 * BLOCK).map(valid));
    let floats: Vec<f64> = (0..3 * BLOCK).map(|at| if valid(at) { 0.5 } else { 7e6 }).collect();
    let ints: Vec<i64> = (0..3 * BLOCK).map(|at| if valid(at) { 2 } else { i64::MAX }).collect();
    let columns: [(&str, ArrayRef, bool); 3] = [
        ("t", Arc::new(Int64Array::from_iter_values(0..3 * BLOCK as i64)), false),
        ("i", Arc::new(Int64Array::new(ints.into(), Some(nulls.clone()))), true),
        ("f", Arc::new(Float64Array::new(floats.into(), Some(nulls))), true),
    ];
    let batch = RecordBatch::try_from_iter_with_nullable(columns).unwrap();
    let id = table.id.as_str().into();
    table.session.append_batches(&id, &mut std::iter::once(Ok(batch)), Some(true)).unwrap();
    let (groups, summarized) = table.ask(&json!({"aggregates": [
        {"function": "SUM", "column": "i"}, {"function": "SUM", "column": "f"},
        {"function": "DEVIATION", "column": "i"}, {"function": "DEVIATION", "column": "f"}]}));
    let values: Vec<&str> = groups[0]["values"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|value| value["value"].as_str())
        .collect();
    assert_eq!((values, summarized), (vec!["4096", "1024", "0", "0"], 3 * BLOCK as u64));
}
