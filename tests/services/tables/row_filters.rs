//! Filters of rows in the language, on rows by which each rule about null and NaN shows.

use crate::prelude::*;

/// Appends of which each is a segment with a summary of its own, or a part of the buffer.
const APPENDS: [&[Option<&str>]; 5] = [
    &[Some("1.5"), Some("1.5"), Some("NaN")],
    &[Some("NaN"), Some("NaN")],
    &[None, Some("NaN")],
    &[Some("1.5"), Some("1.5")],
    &[Some("2"), Some("-Infinity"), Some("Infinity"), Some("-0")],
];

/// A filter, and the rows that it selects.
const ASKED: &[(&str, &[i64])] = &[
    ("v != 1.5", &[5, 9, 10, 11, 12]),
    ("1.5 != v", &[5, 9, 10, 11, 12]),
    // A calculation with NaN or an infinity gives null.
    ("v + 0 != 1.5", &[2, 3, 4, 5, 6, 9, 10, 11, 12]),
    ("v + 0 < 2", &[0, 1, 7, 8, 12]),
    ("!(v == 1.5)", &[2, 3, 4, 5, 6, 9, 10, 11, 12]),
    ("v == 1.5", &[0, 1, 7, 8]),
    ("v < 2", &[0, 1, 7, 8, 10, 12]),
    ("!(v < 2)", &[2, 3, 4, 5, 6, 9, 11]),
    ("v >= 1.5", &[0, 1, 7, 8, 9, 11]),
    ("v <= -1e300", &[10]),
    ("v == 0", &[12]),
    ("isnan(v)", &[2, 3, 4, 6]),
    ("!isnan(v)", &[0, 1, 5, 7, 8, 9, 10, 11, 12]),
    ("v == v", &[0, 1, 5, 7, 8, 9, 10, 11, 12]),
    ("v in (1.5, 2)", &[0, 1, 7, 8, 9]),
    ("!(v in (1.5, null))", &[2, 3, 4, 6, 9, 10, 11, 12]),
    ("v in (7, null)", &[5]),
    ("v != null", &[0, 1, 2, 3, 4, 6, 7, 8, 9, 10, 11, 12]),
    ("v == null", &[5]),
    ("v != 1.5 or isnan(v)", &[2, 3, 4, 5, 6, 9, 10, 11, 12]),
    ("v != 1.5 and t < 10", &[5, 9]),
];

fn selected(session: &stationdb::Session, id: &str, request: &Value) -> Vec<i64> {
    let request = from_json(request.to_string().as_bytes()).unwrap();
    let page = session.query_table_data(&id.into(), request).unwrap();
    let frame = page.frame.to_data_frame();
    assert_eq!(page.total_row_count, frame.data.len() as u64);
    frame.data.iter().map(|row| row[0].as_ref().unwrap().parse().unwrap()).collect()
}

#[test]
fn null_and_nan_have_one_meaning_wherever_the_rows_lie() {
    for data_type in ["FLOAT32", "FLOAT64"] {
        for seal_rows in [1, 100_000] {
            let (_store, session) = opened(
                Store::options().maintenance_thread(false).seal_rows(seal_rows),
                Arc::new(MemoryDisk::new()),
            );
            let columns = json!({"columns": [
                {"name": "t", "dataType": "INT32", "columnType": "INDEX"},
                {"name": "v", "dataType": data_type, "columnType": "NULLABLE"},
            ]});
            let create = from_json(columns.to_string().as_bytes()).unwrap();
            let id = session.create_table(create).unwrap().to_string();
            let mut row = 0;
            for cells in APPENDS {
                let data: Vec<Value> = cells
                    .iter()
                    .map(|cell| {
                        row += 1;
                        json!([(row - 1).to_string(), cell])
                    })
                    .collect();
                let request = json!({"frame": {"data": data}}).to_string();
                let request = from_json(request.as_bytes()).unwrap();
                session.append_table_data(&id.as_str().into(), request).unwrap();
            }
            for (filter, expected) in ASKED {
                let found = selected(&session, &id, &json!({ "filter": filter }));
                assert_eq!(found, *expected, "{filter} of {data_type}, seal_rows {seal_rows}");
            }
            // The wire's conditions keep their own rule.
            let unequal = json!({"filters": [
                {"column": "v", "operation": "NOT_EQUALS", "value": "1.5"}
            ]});
            assert_eq!(selected(&session, &id, &unequal), [2, 3, 4, 5, 6, 9, 10, 11, 12]);
        }
    }
}
