//! A file is opened once for its import, whatever happens to its path meanwhile.

use stationdb_formats::{DataFormat, FileFormat, ResultOptions, SourceFile};

use crate::prelude::*;

use super::dialects::session;

/// A name that leads to another file after the first one was opened.
#[test]
fn a_file_that_is_replaced_is_the_one_that_was_opened() {
    let (_store, session) = session();
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("run.csv");
    std::fs::write(&path, format!("t,volts\n{}", "1,0.5\n".repeat(2_000))).unwrap();
    let file = SourceFile::open(&path).unwrap();
    std::fs::remove_file(&path).unwrap();
    std::fs::write(&path, b"PAR1 is no longer CSV").unwrap();
    assert_eq!(file.format().unwrap(), DataFormat::Table(FileFormat::Csv));
    assert_eq!((file.path(), file.start().len()), (path.as_path(), 4096));
    let request = ImportTableRequest::new();
    let answers = session.import_source(request, file, None, &Control::default()).unwrap();
    assert_eq!(answers[0].row_count, 2_000);
    let table = session.get_table_metadata(answers[0].id.as_ref().unwrap()).unwrap();
    assert_eq!(table.name.as_deref(), Some("run"));
}

/// The name of a Touchstone file says the number of its ports, or the caller does.
#[test]
fn ports_and_raw_values_of_a_file_are_said() {
    let (_store, session) = session();
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("filter.ts");
    std::fs::write(&path, "# Hz S DB R 50\n1 -20 45\n2 -10 90\n").unwrap();
    let import = |file: SourceFile| {
        session.import_source(ImportTableRequest::new(), file, None, &Control::default())
    };
    let error = import(SourceFile::open(&path).unwrap()).unwrap_err();
    assert!(error.message().contains("the option ports"), "{error}");
    for (raw, expected) in
        [(false, ["frequency", "s11_re", "s11_im"]), (true, ["frequency", "s11_db", "s11_deg"])]
    {
        let answers = import(SourceFile::open(&path).unwrap().ports(1).raw(raw)).unwrap();
        let names: Vec<&str> =
            answers[0].columns.iter().map(|column| column.name.as_str()).collect();
        assert_eq!(names, expected);
    }
}

#[test]
fn what_is_no_file_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let error = SourceFile::open(directory.path()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{error}");
    #[cfg(unix)]
    assert_eq!(SourceFile::open("/dev/zero").unwrap_err().kind(), ErrorKind::InvalidArgument);
}

/// Imports the bytes through a pipe, whose path is opened again as a shell does it.
#[cfg(unix)]
fn through_a_pipe<T>(bytes: &[u8], import: impl FnOnce(&std::path::Path) -> T) -> T {
    use std::io::Write as _;
    use std::os::fd::AsRawFd as _;

    let (reader, mut writer) = std::io::pipe().unwrap();
    let path = format!("/dev/fd/{}", reader.as_raw_fd());
    std::thread::scope(|scope| {
        // An import that is refused reads no more.
        scope.spawn(move || writer.write_all(bytes));
        let out = import(path.as_ref());
        drop(reader);
        out
    })
}

#[cfg(unix)]
#[test]
fn a_pipe_is_imported_from_its_first_byte_to_its_last() {
    let (_store, session) = session();
    let control = Control::default();
    let csv: String = (0..20_000).map(|at| format!("{at},0.5\n")).collect();
    let csv = format!("t,volts\n{csv}");
    let import = |format: Option<FileFormat>, bytes: &[u8]| {
        through_a_pipe(bytes, |path| {
            session.import_file(ImportTableRequest::new(), path, format, &control)
        })
    };
    let answers = import(Some(FileFormat::Csv), csv.as_bytes()).unwrap();
    let rows = super::dialects::rows(&session, &answers[0]);
    assert_eq!((answers[0].row_count, rows[0][1].as_deref()), (20_000, Some("0")));
    let record = br#"{"dut_id": "SN-1", "outcome": "PASS", "phases": []}"#;
    let options = ResultOptions::new();
    let report =
        through_a_pipe(record, |path| session.import_results_file(path, None, &options, &control));
    assert_eq!(report.unwrap().results.len(), 1);
    // A lot of a tester is read for its sum before, where it can be.
    let lot = std::fs::read("tests/stdf/files/all.little.stdf.gz").unwrap();
    let twice =
        || through_a_pipe(&lot, |path| session.import_results_file(path, None, &options, &control));
    assert!(!twice().unwrap().results.is_empty());
    assert_eq!(twice().unwrap_err().kind(), ErrorKind::Conflict);
    // Formats with places of their own.
    let parquet = std::fs::read("tests/files/pandas.parquet").unwrap();
    let error = import(None, &parquet).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
    assert!(error.message().contains("is a pipe, and parquet"), "{error}");
    assert_eq!(session.list_tables(ListTablesRequest::new()).unwrap().tables.len(), 1);
}
