//! Values that were rounded, cut or put elsewhere without a word are stored as they are, or refused.

use crate::prelude::*;

use stationdb::arrow::array::{
    ArrayRef, Float64Array, Int32Array, Int64Array, RecordBatch, StringArray, UInt64Array,
};

use super::column;
use super::dialects::{rows, session};

fn append(session: &Session, data_type: DataType, values: ArrayRef) -> Result<Vec<Option<String>>> {
    let columns = vec![
        column("i", DataType::Int64, ColumnType::Index),
        column("v", data_type, ColumnType::Nullable),
    ];
    let id = session.create_table(CreateTableRequest::new(columns)).unwrap();
    let numbers: ArrayRef = Arc::new(Int64Array::from_iter_values(0..values.len() as i64));
    let batch = RecordBatch::try_from_iter([("i", numbers), ("v", values)]).unwrap();
    let appended = session.append_batches(&id, &mut std::iter::once(Ok(batch)), None);
    let page = session.query_table_data(&id, QueryTableDataRequest::new()).unwrap();
    let cells: Vec<Option<String>> =
        page.frame.to_data_frame().data.into_iter().map(|row| row[1].clone()).collect();
    assert!(appended.is_ok() || cells.is_empty(), "rows of a refused append: {cells:?}");
    appended.map(|()| cells)
}

/// What a type does not hold is not made to fit, and the message says what to do.
#[test]
fn numbers_of_arrow_are_not_rounded_into_another_type() {
    let (_store, session) = session();
    let above = (1_i64 << 53) + 1;
    let wide: ArrayRef = Arc::new(Int64Array::from(vec![1, above]));
    let cases: Vec<(DataType, ArrayRef, &[&str])> = vec![
        (DataType::Float64, wide.clone(), &["9007199254740993", "Int64", "FLOAT64"]),
        (DataType::Float32, wide.clone(), &["9007199254740993", "row 1", "\"v\""]),
        (
            DataType::Float32,
            Arc::new(Int32Array::from(vec![16_777_217])),
            &["16777217", "Int32", "FLOAT32"],
        ),
        (DataType::Float32, Arc::new(Float64Array::from(vec![0.5, 1e300])), &["1e300", "FLOAT32"]),
        (DataType::Int32, wide.clone(), &["9007199254740993", "INT32"]),
        (
            DataType::Int64,
            Arc::new(UInt64Array::from(vec![u64::MAX])),
            &["18446744073709551615", "INT64"],
        ),
        (DataType::Int64, Arc::new(Float64Array::from(vec![1.0, 1.5])), &["1.5", "INT64", "row 1"]),
        (DataType::Int64, Arc::new(StringArray::from(vec!["1"])), &["Utf8", "INT64"]),
        (DataType::String, wide.clone(), &["Int64", "STRING"]),
        (DataType::Bool, wide.clone(), &["Int64", "BOOL"]),
    ];
    for (data_type, values, parts) in cases {
        let from = values.data_type().clone();
        let error = append(&session, data_type, values).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{from} to {data_type}: {error}");
        for part in parts {
            assert!(error.to_string().contains(part), "{from} to {data_type}: {part:?}: {error}");
        }
    }
    let kept = append(&session, DataType::Int64, wide).unwrap();
    assert_eq!(kept[1].as_deref(), Some("9007199254740993"));
}

fn import(session: &Session, request: ImportTableRequest, text: &str) -> ImportTableResponse {
    session.import_csv(request, &mut text.as_bytes(), &Control::default()).unwrap()
}

/// Equal and falling values of the first column, which an index would have put in order.
#[test]
fn a_file_keeps_its_order_unless_an_index_is_named() {
    let (_store, session) = session();
    let text = "t,v\n3,a\n1,b\n2,c\n1,d\n";
    let answer = import(&session, ImportTableRequest::new(), text);
    let order = |answer: &ImportTableResponse, column: usize| -> String {
        rows(&session, answer).into_iter().filter_map(|row| row[column].clone()).collect()
    };
    assert_eq!(order(&answer, 2), "abcd");
    assert!(answer.columns[0].why.contains("indexColumn"), "{}", answer.columns[0].why);
    // It goes out as it came in, with the numbers of its rows.
    let mut out = Vec::new();
    let request = ExportTableDataRequest::new(ExportFormat::Csv);
    let id = answer.id.clone().unwrap();
    session.export_table_data(&id, request, &mut out, &Control::default()).unwrap();
    let lines: Vec<String> = String::from_utf8(out).unwrap().lines().map(str::to_owned).collect();
    assert_eq!(lines, ["row,t,v", "0,3,a", "1,1,b", "2,2,c", "3,1,d"]);
    let sorted = import(&session, ImportTableRequest::new().index_column("t"), text);
    assert_eq!(order(&sorted, 1), "bdca");
}

/// A text that only looks like null or like a number stays the text that it is.
#[test]
fn texts_stay_as_they_are_beside_values_of_another_kind() {
    let (_store, session) = session();
    let text = "part,place,note,big\n007,NA,\"\",9007199254740993\n7, x ,,1.5\n";
    let answer = import(&session, ImportTableRequest::new(), text);
    let some = |text: &str| Some(text.to_owned());
    let found = rows(&session, &answer);
    assert_eq!(found[0][1..], [some("007"), some("NA"), some(""), some("9007199254740993")]);
    assert_eq!(found[1][1..], [some("7"), some(" x "), None, some("1.5")]);
    let nulls: Vec<i64> = answer.columns.iter().map(|column| column.null_count).collect();
    assert_eq!(nulls, [0, 0, 0, 1, 0]);
}
