//! Files and directories of them: formats that are found, reports, and one commit for all.

use std::path::Path;

use stationdb_formats::{
    DataFormat, DirectoryReport, FileFormat, ImportDirectoryRequest, ResultFormat, ResultOptions,
};
use tempfile::TempDir;

use super::column;
use super::parquet_files::written;
use crate::prelude::*;

const CSV: &str = "t,volts\n1,0.5\n2,0.75\n";

fn parquet() -> Vec<u8> {
    let volts = stationdb::arrow::array::Float64Array::from(vec![0.5, 0.75, 1.0]);
    written(vec![("volts", Arc::new(volts))], None)
}

/// A directory with these files, and a store.
fn day(files: &[(&str, &[u8])]) -> (TempDir, Store, Session) {
    let directory = tempfile::tempdir().unwrap();
    for (name, bytes) in files {
        let path = directory.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, bytes).unwrap();
    }
    let options = Store::options().maintenance_thread(false).seed(Some(1));
    let (store, session) = opened(options, Arc::new(MemoryDisk::default()));
    (directory, store, session)
}

fn names(session: &Session) -> Vec<String> {
    let tables = session.list_tables(ListTablesRequest::new()).unwrap().tables;
    let mut names: Vec<String> = tables.into_iter().filter_map(|table| table.name).collect();
    names.sort();
    names
}

fn import(session: &Session, request: &ImportDirectoryRequest) -> Result<DirectoryReport> {
    session.import_directory(request, &Control::default())
}

#[test]
fn the_format_of_a_file_is_found_by_its_bytes_then_its_name_and_an_option_decides() {
    let parquet = parquet();
    let files: &[(&str, &[u8])] = &[
        ("a.csv", CSV.as_bytes()),
        ("b.csv", &parquet),
        ("c.parquet", CSV.as_bytes()),
        ("d.log", CSV.as_bytes()),
        ("e.csv", b"\x1f\x8b\x08\0"),
    ];
    let (directory, _store, session) = day(files);
    let import = |name: &str, format: Option<FileFormat>| {
        let path = directory.path().join(name);
        session.import_file(ImportTableRequest::new(), &path, format, &Control::default())
    };
    let rows = |name, format| import(name, format).unwrap()[0].row_count;
    assert_eq!((rows("a.csv", None), rows("b.csv", None)), (2, 3));
    let error = import("c.parquet", None).unwrap_err();
    assert!(error.message().contains("import it as CSV"), "{error}");
    assert_eq!(rows("c.parquet", Some(FileFormat::Csv)), 2);
    for (name, part) in
        [("d.log", "csv, lvm, parquet, stdf-records, tdms, touchstone"), ("e.csv", "gzip")]
    {
        let error = import(name, None).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
        assert!(error.message().contains(part), "{error}");
    }
    assert_eq!(rows("d.log", Some(FileFormat::Csv)), 2);
    assert!(import("b.csv", Some(FileFormat::Csv)).is_err());
    assert_eq!(import("none.csv", None).unwrap_err().kind(), ErrorKind::Io);
    assert!(import(".", None).is_err());
    assert_eq!(names(&session), ["a", "b", "c", "d"]);
}

#[test]
fn a_report_lists_each_file_of_a_directory_as_imported_or_refused() {
    let parquet = parquet();
    let files: &[(&str, &[u8])] = &[
        ("1.csv", CSV.as_bytes()),
        ("2.csv", b"t,volts\n1,0.5,7\n"),
        ("3.parquet", &parquet),
        ("4.png", b"\x89PNG\r\n\x1a\n"),
        ("deep/5.csv", CSV.as_bytes()),
    ];
    let (directory, _store, session) = day(files);
    let mut request = ImportDirectoryRequest::new(directory.path());
    let report = import(&session, &request).unwrap();
    let told: Vec<(&Path, Option<DataFormat>, bool)> = report
        .files
        .iter()
        .map(|file| (file.path.as_path(), file.format, file.outcome.is_ok()))
        .collect();
    let [csv, parquet] = [FileFormat::Csv, FileFormat::Parquet].map(|f| Some(DataFormat::Table(f)));
    let expected = [
        (Path::new("1.csv"), csv, true),
        (Path::new("2.csv"), csv, false),
        (Path::new("3.parquet"), parquet, true),
        (Path::new("4.png"), None, false),
    ];
    assert_eq!(told, expected);
    let refused: Vec<&Error> = report.refused().map(|(_, error)| error).collect();
    assert_eq!(refused[0].place(), Some(&Place::Line { line: 2, column: None }));
    assert!(refused[1].message().contains("PNG"), "{}", refused[1]);
    assert_eq!(report.imported().map(|(_, one)| one.tables()[0].row_count).sum::<i64>(), 5);
    assert_eq!(names(&session), ["1", "3"]);
    request.recursive = true;
    let report = import(&session, &request).unwrap();
    assert_eq!(report.files[4].path, Path::new("deep").join("5.csv"));
    assert!(report.files[4].outcome.is_ok());
    assert_eq!(names(&session), ["1", "1", "3", "3", "5"]);
}

#[test]
fn a_refused_file_refuses_all_when_all_are_one_commit() {
    let bad: &[(&str, &[u8])] =
        &[("1.csv", CSV.as_bytes()), ("2.csv", b"t,volts\n1,0.5,7\n"), ("3.csv", CSV.as_bytes())];
    let (directory, _store, session) = day(bad);
    let mut request = ImportDirectoryRequest::new(directory.path());
    request.all_or_nothing = true;
    let error = import(&session, &request).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument);
    assert_eq!(error.place(), Some(&Place::Line { line: 2, column: None }));
    assert!(error.message().contains("importing 2.csv"), "{error}");
    assert_eq!(names(&session), [] as [&str; 0]);
    std::fs::write(directory.path().join("2.csv"), "t,volts\n").unwrap();
    let error = import(&session, &request).unwrap_err();
    assert!(error.message().contains("importing 2.csv"), "{error}");
    std::fs::write(directory.path().join("2.csv"), "t,volts\n4,5\n").unwrap();
    let report = import(&session, &request).unwrap();
    let counts: Vec<i64> = report.imported().map(|(_, one)| one.tables()[0].row_count).collect();
    assert_eq!(counts, [2, 1, 2]);
    assert_eq!(report.files[1].format, Some(DataFormat::Table(FileFormat::Csv)));
    assert_eq!(names(&session), ["1", "2", "3"]);
}

const RECORD: &[u8] = b"{\"dut_id\": \"SN-1\", \"outcome\": \"PASS\", \"phases\": []}";

fn serial_numbers(session: &Session) -> Vec<String> {
    let request = stationdb::results::QueryResultsRequest::new();
    let results = session.query_results(request).unwrap().results;
    results.into_iter().filter_map(|result| result.serial_number).collect()
}

#[test]
fn files_with_results_are_imported_beside_those_with_tables() {
    let files: &[(&str, &[u8])] =
        &[("1.csv", CSV.as_bytes()), ("2.txt", RECORD), ("3.json", b"{\"dut_id\": ")];
    let (directory, _store, session) = day(files);
    let results = ResultOptions::new().part_number("PN-7");
    let mut request = ImportDirectoryRequest::new(directory.path()).results(results);
    let report = import(&session, &request).unwrap();
    let openhtf = Some(DataFormat::Result(ResultFormat::OpenHtf));
    assert_eq!(report.files[0].outcome.as_ref().unwrap().tables()[0].row_count, 2);
    let results = report.files[1].outcome.as_ref().unwrap().results().unwrap();
    let result = session.get_result(&results.results[0]).unwrap();
    assert_eq!(result.part_number.as_deref(), Some("PN-7"));
    assert_eq!((results.results.len(), results.files.len()), (1, 1));
    assert_eq!((report.files[1].format, report.files[2].format), (openhtf, openhtf));
    let refused = report.files[2].outcome.as_ref().unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::InvalidArgument, "{refused}");
    assert_eq!(
        (names(&session), serial_numbers(&session)),
        (vec!["1".into()], vec!["SN-1".into()])
    );
    // The same files again: a table is made twice, a result is not unless it is asked for.
    let report = import(&session, &request).unwrap();
    let kinds: Vec<Option<ErrorKind>> =
        report.files.iter().map(|file| file.outcome.as_ref().err().map(Error::kind)).collect();
    assert_eq!(kinds, [None, Some(ErrorKind::Conflict), Some(ErrorKind::InvalidArgument)]);
    request.results.again = true;
    import(&session, &request).unwrap();
    assert_eq!(serial_numbers(&session), ["SN-1", "SN-1"]);
}

#[test]
fn results_are_refused_where_all_files_are_one_commit() {
    let (directory, _store, session) = day(&[("1.csv", CSV.as_bytes()), ("2.json", RECORD)]);
    let mut request = ImportDirectoryRequest::new(directory.path());
    request.all_or_nothing = true;
    let error = import(&session, &request).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    assert!(error.message().contains("importing 2.json") && error.message().contains("openhtf"));
    assert_eq!((names(&session).len(), serial_numbers(&session).len()), (0, 0));
    // A format that is said is that of all files.
    request.format = Some(DataFormat::Table(FileFormat::Csv));
    let error = import(&session, &request).unwrap_err();
    assert!(error.message().contains("importing 2.json"), "{error}");
    assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{error}");
}

#[test]
fn each_call_takes_files_of_its_own_kind() {
    let (directory, _store, session) = day(&[("1.csv", CSV.as_bytes()), ("2.csv", RECORD)]);
    let path = |name: &str| directory.path().join(name);
    let control = Control::default();
    let results = |name: &str, format: Option<ResultFormat>| {
        session.import_results_file(&path(name), format, &ResultOptions::new(), &control)
    };
    let error = results("1.csv", None).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    assert!(error.message().contains("import_file"), "{error}");
    let error = results("1.csv", Some(ResultFormat::OpenHtf)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{error}");
    let error =
        session.import_file(ImportTableRequest::new(), &path("2.csv"), None, &control).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    assert!(error.message().contains("import_results_file"), "{error}");
    assert_eq!(results("none", None).unwrap_err().kind(), ErrorKind::Io);
    assert_eq!(results("2.csv", None).unwrap().results.len(), 1);
    let cancelled = Control::default();
    cancelled.cancel();
    let (format, options) = (Some(ResultFormat::OpenHtf), ResultOptions::new().again(true));
    let error = session.import_results_file(&path("2.csv"), format, &options, &cancelled);
    assert_eq!(error.unwrap_err().kind(), ErrorKind::Cancelled);
    assert_eq!(serial_numbers(&session).len(), 1);
}

/// The files of a logger go into one table, whose rows are numbered on from file to file.
#[test]
fn the_files_of_a_directory_may_go_into_one_table() {
    for all_or_nothing in [false, true] {
        let files: &[(&str, &[u8])] =
            &[("1.csv", b"v\n5\n6\n"), ("2.csv", b"v\n7\n"), ("3.csv", b"v\n8\n9\n")];
        let (directory, _store, session) = day(files);
        let first = session
            .import_csv(ImportTableRequest::new(), &mut &b"v\n4\n"[..], &Control::default())
            .unwrap();
        let id = first.id.unwrap();
        let mut request = ImportDirectoryRequest::new(directory.path());
        request.table = ImportTableRequest::new().id(id.to_string());
        request.all_or_nothing = all_or_nothing;
        import(&session, &request).unwrap();
        let page = session.get_table_data(&id, GetTableDataRequest::default()).unwrap();
        let cell = |text: usize| Some(text.to_string());
        let expected: Vec<Vec<Option<String>>> =
            (0..6).map(|row| vec![cell(row), cell(row + 4)]).collect();
        assert_eq!(page.frame.to_data_frame().data, expected, "{all_or_nothing}");
    }
}

#[test]
fn files_after_a_cancelled_one_are_told_as_cancelled() {
    let files: &[(&str, &[u8])] =
        &[("1.csv", CSV.as_bytes()), ("2.csv", CSV.as_bytes()), ("3.csv", CSV.as_bytes())];
    let (directory, _store, session) = day(files);
    let control = Control::default();
    let inner = control.clone();
    let seen = std::sync::atomic::AtomicU64::new(0);
    let control = control.with_progress(move |_| {
        if seen.fetch_add(1, std::sync::atomic::Ordering::Relaxed) == 1 {
            inner.cancel();
        }
    });
    let request = ImportDirectoryRequest::new(directory.path());
    let report = session.import_directory(&request, &control).unwrap();
    let kinds: Vec<Option<ErrorKind>> =
        report.files.iter().map(|file| file.outcome.as_ref().err().map(Error::kind)).collect();
    assert_eq!(kinds, [None, Some(ErrorKind::Cancelled), Some(ErrorKind::Cancelled)]);
    assert_eq!(names(&session), ["1"]);
}

#[cfg(unix)]
#[test]
fn links_are_files_but_no_way_into_other_directories() {
    let (directory, _store, session) = day(&[("1.csv", CSV.as_bytes())]);
    std::os::unix::fs::symlink(directory.path().join("1.csv"), directory.path().join("2.csv"))
        .unwrap();
    std::os::unix::fs::symlink(directory.path(), directory.path().join("loop")).unwrap();
    std::os::unix::fs::symlink("nowhere", directory.path().join("3.csv")).unwrap();
    let mut request = ImportDirectoryRequest::new(directory.path());
    request.recursive = true;
    let report = import(&session, &request).unwrap();
    let paths: Vec<&Path> = report.files.iter().map(|file| file.path.as_path()).collect();
    assert_eq!(paths, [Path::new("1.csv"), Path::new("2.csv")]);
}

#[test]
fn levels_of_directories_have_a_bound() {
    let below = |levels: usize| {
        let path = "d/".repeat(levels) + "1.csv";
        let (directory, store, session) = day(&[(&path, CSV.as_bytes())]);
        let mut request = ImportDirectoryRequest::new(directory.path());
        request.recursive = true;
        let report = import(&session, &request);
        drop(store);
        report
    };
    assert!(below(16).unwrap().files[0].outcome.is_ok());
    assert_eq!(below(17).unwrap_err().kind(), ErrorKind::LimitExceeded);
}

#[test]
fn directories_have_a_bound() {
    let (directory, _store, session) = day(&[]);
    let directories = (0..=10_000).map(|at| directory.path().join(at.to_string()));
    directories.for_each(|path| std::fs::create_dir(path).unwrap());
    let request = ImportDirectoryRequest::new(directory.path());
    assert!(import(&session, &request).unwrap().files.is_empty());
    let error = import(&session, &request.recursive(true)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::LimitExceeded);
    assert!(error.message().contains("10000 directories"), "{error}");
}

/// The first file would close the table that the others are for.
#[test]
fn the_end_of_data_of_one_table_is_refused_for_a_directory() {
    let (directory, _store, session) = day(&[("1.csv", CSV.as_bytes()), ("2.csv", b"t,volts\n")]);
    let table = ImportTableRequest::new().end_of_data(true);
    let mut request = ImportDirectoryRequest::new(directory.path()).table(table);
    let report = import(&session, &request).unwrap();
    let id = report.files[0].outcome.as_ref().unwrap().tables()[0].id.clone().unwrap();
    assert_eq!(session.get_table_metadata(&id).unwrap().supports_append, Some(false));
    request.table.id = Some(id.to_string());
    let error = import(&session, &request).unwrap_err();
    assert_eq!(error.place(), Some(&Place::Member("endOfData".to_owned())), "{error}");
}

#[test]
fn a_declared_table_takes_the_files_of_a_directory_by_name() {
    let (directory, _store, session) = day(&[("1.csv", CSV.as_bytes())]);
    let columns = [
        column("t", DataType::Int64, ColumnType::Index),
        column("volts", DataType::Float32, ColumnType::Normal),
    ];
    let mut request = ImportDirectoryRequest::new(directory.path());
    request.table = ImportTableRequest::new().table(CreateTableRequest::new(columns).name("own"));
    import(&session, &request).unwrap();
    assert_eq!(names(&session), ["own"]);
}
