//! A store whose rows are so many bytes that a file of them is uploaded in parts.

use serde_json::{Value, json};
use stationdb::Store;
use stationdb::prelude::*;

use crate::common::*;

/// Rows of a lake file of three parts.
pub const ROWS: u64 = 3_600;
/// Letters of a row, which do not compress to less than three quarters.
const LETTERS: usize = 8_000;

/// A store with one table, whose rows in the lake are a file of more than 16 MiB.
pub fn large() -> Store {
    let store = store();
    let session = ada(&store);
    let columns = json!([
        { "name": "n", "dataType": "INT64", "columnType": "INDEX" },
        { "name": "text", "dataType": "STRING" },
    ]);
    let id = session.create_table(from(json!({ "name": "a", "columns": columns }))).unwrap();
    let mut state = 1_u64;
    let mut text = || -> String {
        let letters = (0..LETTERS).map(|_| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let at = (state >> 58) as u8;
            char::from(b'0' + at)
        });
        letters.collect()
    };
    for first in (0..ROWS).step_by(400) {
        let data: Vec<Value> =
            (first..first + 400).map(|n| json!([n.to_string(), text()])).collect();
        session.append_table_data(&id, from(json!({ "frame": { "data": data } }))).unwrap();
    }
    store
}
