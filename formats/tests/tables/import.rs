//! Imports through the service: valid files, invalid files, and that a failed import leaves
//! nothing.

use crate::prelude::*;
use std::io::Cursor;

use chrono::DateTime;

use crate::wire_time;

fn open(disk: &SharedDisk) -> (Store, Session) {
    let (store, session) =
        opened(Store::options().maintenance_thread(false).seed(Some(1)), disk.clone());
    (store, session)
}

fn columns() -> Vec<Column> {
    let types = [DataType::Timestamp].into_iter().chain(DataType::ALL.iter().copied());
    types
        .enumerate()
        .map(|(at, data_type)| {
            Column::new(format!("c {at}"), data_type).column_type(if at == 0 {
                ColumnType::Index
            } else {
                ColumnType::Nullable
            })
        })
        .collect()
}

/// Rows with every kind of value of every type.
fn frame() -> DataFrame {
    let cells = |data_type: DataType| -> Vec<Option<&str>> {
        match data_type {
            DataType::Bool => vec![Some("true"), None, Some("false")],
            DataType::Float32 => {
                vec![Some("NaN"), Some("-Infinity"), Some("3.4028235e38"), Some("-0"), None]
            }
            DataType::Float64 => {
                vec![
                    Some("NaN"),
                    Some("Infinity"),
                    Some("5e-324"),
                    None,
                    Some("0.1"),
                    Some("1.7976931348623157e308"),
                ]
            }
            DataType::Int32 => vec![Some("-2147483648"), None, Some("2147483647")],
            DataType::Int64 => {
                vec![Some("-9223372036854775808"), Some("9223372036854775807"), None]
            }
            DataType::String => {
                vec![
                    Some(""),
                    None,
                    Some("a,b"),
                    Some("say \"x\"\n\r\n"),
                    Some("ä€𝄞"),
                    Some(" blank "),
                    Some("null"),
                ]
            }
            DataType::Timestamp => {
                vec![None, Some("0001-01-01T00:00:00.000Z"), Some("9999-12-31T23:59:59.999Z")]
            }
            DataType::TimestampMicros => {
                vec![Some("0001-01-01T00:00:00.000001Z"), None, Some("9999-12-31T23:59:59.999999Z")]
            }
            DataType::TimestampNanos => {
                vec![
                    Some("1677-09-21T00:12:43.145224192Z"),
                    Some("2262-04-11T23:47:16.854775807Z"),
                    None,
                ]
            }
        }
    };
    let data = (0..40).map(|row: usize| {
        let index = wire_time(DateTime::from_timestamp_millis(row as i64 / 2 * 1000).unwrap());
        let others = DataType::ALL.iter().map(|data_type| {
            let cells = cells(*data_type);
            cells[row % cells.len()].map(str::to_owned)
        });
        std::iter::once(Some(index)).chain(others).collect::<Vec<_>>()
    });
    DataFrame::new().data(data)
}

fn rows(session: &Session, id: &str) -> Vec<Vec<Option<String>>> {
    session
        .get_table_data(&id.into(), GetTableDataRequest::default())
        .unwrap()
        .frame
        .to_data_frame()
        .data
}

fn export(session: &Session, id: &str, response_format: ExportFormat) -> Vec<u8> {
    let mut out = Vec::new();
    let request = ExportTableDataRequest::new(response_format);
    session.export_table_data(&id.into(), request, &mut out, &Control::default()).unwrap();
    out
}

fn new_table(columns: Vec<Column>) -> ImportTableRequest {
    let table = CreateTableRequest::new(columns).name("imported");
    ImportTableRequest::new().table(table)
}

fn csv(
    session: &Session,
    request: ImportTableRequest,
    text: &str,
) -> Result<stationdb::tables::ImportTableResponse> {
    session.import_csv(request, &mut text.as_bytes(), &Control::default())
}

#[test]
fn what_was_exported_comes_back_whole() {
    let disk = disk();
    let (_store, session) = open(&disk);
    let request = CreateTableRequest::new(columns());
    let id = session.create_table(request).unwrap();
    session.append_table_data(&id, AppendTableDataRequest::new().frame(frame())).unwrap();
    let expected = rows(&session, &id);
    assert_eq!(expected.len(), 40);
    let text = export(&session, &id, ExportFormat::Csv);
    let parquet = export(&session, &id, ExportFormat::Parquet);
    let control = Control::default();
    // Into a new table, and again into the same table.
    let made = session.import_csv(new_table(columns()), &mut &text[..], &control).unwrap();
    let new = made.id.unwrap();
    assert_eq!(
        (made.row_count, session.get_table_metadata(&new).unwrap().row_count),
        (40, Some(40))
    );
    assert_eq!(session.get_table_metadata(&new).unwrap().name.as_deref(), Some("imported"));
    assert_eq!(rows(&session, &new), expected);
    assert_eq!(export(&session, &new, ExportFormat::Csv), text);
    let again = ImportTableRequest::new().id(new.to_string()).end_of_data(true);
    let more = session
        .import_parquet(again.clone(), Box::new(Cursor::new(parquet.clone())), &control)
        .unwrap();
    assert_eq!((more.id.as_ref(), more.row_count), (Some(&new), 40));
    assert_eq!(rows(&session, &new).len(), 80);
    let closed = session.import_csv(again, &mut &text[..], &control).unwrap_err();
    assert_eq!(closed.kind(), ErrorKind::Conflict);
    // The types of the columns are declared in the file.
    let made = session
        .import_parquet(
            ImportTableRequest::new().index_column("c 0"),
            Box::new(Cursor::new(parquet)),
            &control,
        )
        .unwrap();
    let new = made.id.unwrap();
    assert_eq!(session.get_table_metadata(&new).unwrap().columns, Some(columns()));
    assert_eq!(rows(&session, &new), expected);
}

#[test]
fn columns_are_inferred_from_the_first_rows() {
    let disk = disk();
    let (_store, session) = open(&disk);
    let text = "ok;n;v;at;note;gap;all\n\
                true;1;1.5;2024-01-01T00:00:00Z;x;;\n\
                FALSE;-2;NaN;2024-01-01T00:00:01+01:00;7;3;\n";
    let request = ImportTableRequest::new().separator(";").index_column("n");
    let id = csv(&session, request.clone(), text).unwrap().id.unwrap();
    let table = session.get_table_metadata(&id).unwrap();
    let found: Vec<_> = table
        .columns
        .unwrap()
        .into_iter()
        .map(|column| (column.data_type, column.column_type))
        .collect();
    use ColumnType as C;
    use DataType as D;
    assert_eq!(
        found,
        [
            (D::Bool, C::Nullable),
            (D::Int64, C::Index),
            (D::Float64, C::Nullable),
            (D::Timestamp, C::Nullable),
            (D::String, C::Nullable),
            (D::Int64, C::Nullable),
            (D::String, C::Nullable),
        ]
    );
    assert_eq!(
        rows(&session, &id)[0][..3],
        [Some("false".into()), Some("-2".into()), Some("NaN".into())]
    );
    let by_time = request.clone().index_column("at");
    let id = csv(&session, by_time, text).unwrap().id.unwrap();
    assert_eq!(session.get_table_metadata(&id).unwrap().columns.unwrap()[3].column_type, C::Index);
    for bad in ["note", "gap2"] {
        let request = request.clone().index_column(bad);
        assert_eq!(
            csv(&session, request, text).unwrap_err().place(),
            Some(&Place::Member("indexColumn".into()))
        );
    }
    // Without an index the rows keep their order, and are numbered.
    let numbered = request.clone().maybe_index_column(None);
    let id = csv(&session, numbered, text).unwrap().id.unwrap();
    let index = session.get_table_metadata(&id).unwrap().columns.unwrap().swap_remove(0);
    assert_eq!((index.name.as_str(), index.column_type), ("row", C::Index));
    assert_eq!(
        rows(&session, &id)[0][..3],
        [Some("0".into()), Some("true".into()), Some("1".into())]
    );
    // A null in the chosen index column is reported at its row.
    let gap = request.index_column("gap");
    let error = csv(&session, gap, text).unwrap_err();
    assert_eq!(
        error.place(),
        Some(&Place::Line { line: 2, column: Some("gap".into()) }),
        "{error}"
    );
}

#[test]
fn what_is_refused_leaves_nothing() {
    let disk = disk();
    let (store, session) = open(&disk);
    let declared = || {
        vec![
            Column::new("t", DataType::Int32).column_type(ColumnType::Index),
            Column::new("v", DataType::Float64),
        ]
    };
    let line =
        |line, column: Option<&str>| Some(Place::Line { line, column: column.map(str::to_owned) });
    for (text, place) in [
        ("t,v\n1,2\n2,x\n", line(3, Some("v"))),
        ("t,v\n1,2\n2,\n", line(3, Some("v"))),
        ("t,v\n1,2\n2147483648,1\n", line(3, Some("t"))),
        ("t,v,w\n1,2,3\n", line(1, Some("w"))),
        ("t\n1\n", line(1, None)),
        ("t,t\n1,2\n", line(1, Some("t"))),
        ("t,\n1,2\n", line(1, Some("column_2"))),
        (",\n1,2\n", line(1, None)),
        ("\n\u{b}", line(2, None)),
        ("t,v\n1,2\n2\n", line(3, None)),
        ("", line(1, None)),
    ] {
        let error = csv(&session, new_table(declared()), text).unwrap_err();
        assert_eq!(error.place().cloned(), place, "{text:?}: {error}");
    }
    let bad = new_table(declared()).separator(";;");
    assert!(csv(&session, bad, "t;v\n").is_err());
    let both = new_table(declared()).id("0".repeat(24));
    assert!(csv(&session, both, "t,v\n").is_err());
    let unknown = ImportTableRequest::new().id("0".repeat(24));
    assert_eq!(csv(&session, unknown, "t,v\n").unwrap_err().kind(), ErrorKind::NotFound);
    let index = new_table(declared()).index_column("t");
    assert!(csv(&session, index, "t,v\n").is_err());
    let in_transaction = session.transaction(|tx| {
        tx.import_csv(new_table(declared()), &mut &b"t,v\n"[..], &Control::default())
    });
    assert_eq!(in_transaction.unwrap_err().kind(), ErrorKind::Unsupported);

    // A text large enough for segments with an error at its end; then an import that is cancelled.
    let mut text = String::from("t,v\n");
    (0..300_000).for_each(|row| text.push_str(&format!("{row},0.5\n")));
    let good = text.clone();
    text.push_str("x,1\n");
    let error = csv(&session, new_table(declared()), &text).unwrap_err();
    assert_eq!(error.place().cloned(), line(300_002, Some("t")));
    let control = Control::default();
    let cancel = control.clone();
    let control = control.with_progress(move |progress| {
        if progress.done > 280_000 {
            cancel.cancel();
        }
    });
    let error =
        session.import_csv(new_table(declared()), &mut good.as_bytes(), &control).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Cancelled);
    let late = session.with_deadline(std::time::Instant::now());
    assert_eq!(
        csv(&late, new_table(declared()), &good).unwrap_err().kind(),
        ErrorKind::DeadlineExceeded
    );
    assert_eq!(session.list_tables(ListTablesRequest::default()).unwrap().tables.len(), 0);
    for entry in disk.list("tables").unwrap() {
        let files = disk.list(&format!("tables/{}", entry.name)).unwrap();
        assert!(files.is_empty(), "{files:?}");
    }
    // A text with only a header creates an empty table.
    let id = csv(&session, new_table(declared()), "v,t").unwrap().id.unwrap();
    assert_eq!(session.get_table_metadata(&id).unwrap().row_count, Some(0));
    let made = csv(&session, new_table(declared()), &good).unwrap();
    assert_eq!(made.row_count, 300_000);
    drop((late, session, store));
    let (_store, session) = open(&disk);
    assert_eq!(session.get_table_metadata(&made.id.unwrap()).unwrap().row_count, Some(300_000));
}

#[test]
fn an_import_of_no_rows_closes_its_table_only_when_it_says_so() {
    let (_store, session) = open(&disk());
    let from = |text: &str, end_of_data: bool| {
        let request = new_table(columns()).end_of_data(end_of_data);
        let id = csv(&session, request, text).unwrap().id.unwrap();
        session.get_table_metadata(&id).unwrap().supports_append
    };
    assert_eq!(from("c 0\n", false), Some(true));
    assert_eq!(from("c 0\n", true), Some(false));
    let mut changes = session.changes(Position::START);
    let mut events = Vec::new();
    while let Some(event) = changes.poll().unwrap() {
        events.push(event.what);
    }
    assert_eq!(events, [What::Created, What::Created, What::Closed]);
}

#[test]
fn an_import_beyond_the_rows_of_a_table_is_refused_early() {
    let disk = disk();
    let (_store, session) =
        opened(Store::options().maintenance_thread(false).table_rows_max(1000), disk.clone());
    struct Endless(u64);
    impl std::io::Read for Endless {
        fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
            self.0 += 1;
            if self.0 > 100 {
                return Err(std::io::Error::other("read far beyond the limit"));
            }
            let text = if self.0 == 1 { "t\n" } else { "1\n" };
            let text = text.repeat(if self.0 == 1 { 1 } else { out.len() / 2 });
            out[..text.len()].copy_from_slice(text.as_bytes());
            Ok(text.len())
        }
    }
    let error: Error = session
        .import_csv(ImportTableRequest::default(), &mut Endless(0), &Control::default())
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::LimitExceeded, "{error}");
}
