//! Mistakes that people make with files, with what each is answered.

use std::io::Cursor;

use crate::prelude::*;

use super::column;
use super::dialects::session;
use super::mistake_lists::{assert_answered, listed};

/// Least number of mistakes in the list.
const LEAST: usize = 14;

#[test]
fn each_mistake_is_answered_with_its_place_and_its_fix() {
    let (_store, session) = session();
    let columns = [
        column("time", DataType::Int64, ColumnType::Index),
        column("volts", DataType::Float64, ColumnType::Nullable),
        column("note", DataType::String, ColumnType::Nullable),
    ];
    let table = session.create_table(CreateTableRequest::new(columns)).unwrap();
    let make = |call: &str| -> Result<()> {
        let (operation, arguments) = call.split_once(' ').unwrap();
        let arguments = arguments.replace("$table", table.as_str());
        let (request, text): (ImportTableRequest, String) =
            serde_json::from_str(&arguments).unwrap();
        let control = Control::default();
        match operation {
            "import_csv" => session.import_csv(request, &mut text.as_bytes(), &control),
            "import_parquet" => {
                session.import_parquet(request, Box::new(Cursor::new(text.into_bytes())), &control)
            }
            other => panic!("{other} is no import"),
        }
        .map(drop)
    };
    let all = listed(include_str!("../corpus/mistakes.toml"));
    assert_answered(all.iter().map(|mistake| (mistake, make(&mistake.call))), LEAST);
}
