//! The records as tables.

use std::collections::BTreeMap;

use stationdb::prelude::*;
use stationdb::tables::{
    CreateTableRequest, GetTableDataRequest, ImportTableRequest, ImportTableResponse, TableId,
};
use stationdb::{Control, Error};
use stationdb_formats::stdf::{self, ByteOrder, RECORD_TYPES};
use stationdb_formats::{FileFormat, ImportDirectoryRequest, ImportFiles as _, ImportResults as _};

use super::builder::{File, V, cn};
use super::{Bench, directory};

fn import(bench: &Bench, bytes: Vec<u8>) -> Result<Vec<ImportTableResponse>, Error> {
    let request = ImportTableRequest::new().table(CreateTableRequest::default().name("lot"));
    let control = Control::default();
    let input = Box::new(std::io::Cursor::new(bytes));
    let mut tables = stdf::tables(input, request, &control)?;
    bench.session.import_tables(&mut tables, &control)
}

/// The name of each table, with its rows. Cells are separated by blanks.
fn rows(bench: &Bench, made: &[ImportTableResponse]) -> BTreeMap<String, Vec<String>> {
    let tables = made.iter().map(|table| {
        let id: TableId = table.id.clone().unwrap();
        let name = bench.session.get_table_metadata(&id).unwrap().name.unwrap();
        let rows = bench.session.get_table_data(&id, GetTableDataRequest::new()).unwrap();
        let rows = rows.frame.to_data_frame().data.into_iter().map(|row| {
            row.iter().map(|cell| cell.as_deref().unwrap_or("-")).collect::<Vec<_>>().join(" ")
        });
        (name, rows.collect())
    });
    tables.collect()
}

/// A file is imported so where its format is said, by each way of importing files.
#[test]
fn a_file_has_its_records_as_tables_where_that_is_asked_for() {
    let bench = Bench::new();
    let file = File::new(ByteOrder::Little).pir(1, 1).prr_at((1, 1), 0, (1, 1), (0, 0), 90, "A");
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("lot 7.stdf");
    std::fs::write(&path, &file.bytes).unwrap();
    let (control, format) = (Control::default(), FileFormat::StdfRecords);
    let names = |made: &[ImportTableResponse]| rows(&bench, made).into_keys().collect::<Vec<_>>();
    let expected = ["lot 7 FAR", "lot 7 PIR", "lot 7 PRR"];
    let made = bench.session.import_file(ImportTableRequest::new(), &path, Some(format), &control);
    assert_eq!(names(&made.unwrap()), expected);
    for is_one in [false, true] {
        let request = ImportDirectoryRequest::new(folder.path()).all_or_nothing(is_one);
        let request = request.format("stdf-records".parse().unwrap());
        let report = bench.session.import_directory(&request, &control).unwrap();
        let (_, imported) = report.imported().next().unwrap();
        assert_eq!(names(imported.tables()), expected, "{is_one}");
    }
    let into = ImportTableRequest::new().id("7");
    let error = bench.session.import_file(into, &path, Some(format), &control).unwrap_err();
    assert!(error.message().contains("each type of records becomes a new table"), "{error}");
    // Nobody finds it: such a file has results.
    let found = bench.session.import_file(ImportTableRequest::new(), &path, None, &control);
    assert!(found.unwrap_err().message().contains("test results (stdf)"));
    assert_eq!(FileFormat::of_name(&path), None);
}

#[test]
fn each_type_is_a_table_with_the_numbers_of_records_and_parts() {
    let bench = Bench::new();
    let file = File::new(ByteOrder::Big)
        .pir(1, 1)
        .pir(1, 2)
        .ptr(7, (0, 0xc0), 0.5, "a")
        .ptr(7, (0x80, 0xc0), f32::NAN, "")
        .add("DTR", &[cn("x y")])
        .prr_at((1, 2), 8, (2, 3), (-1, 4), 70, "B")
        .prr_at((1, 1), 0, (1, 65_535), (0, 0), 90, "A")
        .ptr(8, (0, 0), 1.0, "outside")
        .add("PGR", &[V::U2(9), cn("g"), V::U2(2), V::L(vec![V::U2(4), V::U2(5)])])
        .add("EPS", &[]);
    let made = import(&bench, file.bytes).unwrap();
    assert!(made.iter().all(|table| table.warnings.is_empty()));
    let none = " - - - - - - - - - - - - -";
    let expected: BTreeMap<String, Vec<String>> = [
        ("lot FAR", vec!["0 1 4".to_owned()]),
        ("lot PIR", vec!["1 0 1 1".to_owned(), "2 1 1 2".to_owned()]),
        (
            "lot PTR",
            vec![
                format!("3 0 7 1 1 0 192 0.5 a{none}"),
                format!("4 0 7 1 1 128 192 NaN {none}"),
                format!("8 - 8 1 1 0 0 1 outside{none}"),
            ],
        ),
        ("lot DTR", vec!["5 x y".to_owned()]),
        (
            "lot PRR",
            vec![
                "6 1 1 2 8 1 2 3 -1 4 70 B - -".to_owned(),
                "7 0 1 1 0 1 1 65535 0 0 90 A - -".to_owned(),
            ],
        ),
        ("lot PGR", vec!["9 9 g 2 [4,5]".to_owned()]),
        ("lot EPS", vec!["10".to_owned()]),
    ]
    .map(|(name, rows)| (name.to_owned(), rows))
    .into();
    assert_eq!(rows(&bench, &made), expected);
}

/// All types that another package writes, compressed.
#[test]
fn a_compressed_file_is_read_once_for_each_table() {
    let bench = Bench::new();
    let plain = import(&bench, std::fs::read(directory().join("all.little.stdf")).unwrap());
    let plain = rows(&bench, &plain.unwrap());
    assert_eq!(plain.len(), RECORD_TYPES.len() - 3);
    assert!(plain.values().all(|rows| rows.len() == 1));
    assert!(plain["lot FTR"][0].contains("[7,6,5] 1011001010110010"), "{:?}", plain["lot FTR"]);
    for name in ["all.little.stdf.gz", "all.little.stdf.bz2"] {
        let packed = import(&bench, std::fs::read(directory().join(name)).unwrap()).unwrap();
        assert_eq!(rows(&bench, &packed), plain, "{name}");
    }
}

#[test]
fn a_cut_is_a_warning_and_damage_refuses_all_tables() {
    let bench = Bench::new();
    let mut file = File::new(ByteOrder::Little).pir(1, 1).add("DTR", &[cn("text")]);
    file.bytes.pop();
    let made = import(&bench, file.bytes).unwrap();
    assert_eq!(made.iter().map(|table| table.row_count).collect::<Vec<_>>(), [1, 1]);
    let warnings: Vec<&String> = made.iter().flat_map(|table| &table.warnings).collect();
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    assert!(warnings[0].contains("ends within the DTR at byte 12"), "{warnings:?}");
    let count = || {
        let query = stationdb::tables::QueryTablesRequest::new();
        bench.session.query_tables(query).unwrap().tables.len()
    };
    let before = count();
    let mut file = File::new(ByteOrder::Little).pir(1, 1);
    file.raw((50, 30), &[9, b'x']);
    let error = import(&bench, file.bytes).unwrap_err();
    assert!(
        error.message().contains("the DTR at byte 12 ends within its field TEXT_DAT"),
        "{error}"
    );
    assert_eq!(count(), before);
}
