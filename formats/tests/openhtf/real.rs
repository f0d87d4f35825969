//! The records that `records/make.py` writes with the package.

use stationdb::ErrorKind;
use stationdb::prelude::*;
use stationdb_formats::openhtf::{ImportOptions, import_file};

use super::outline::outline;
use super::{Bench, records};

/// Each record becomes what the text beside it says.
#[test]
fn records_of_the_package() {
    let mut paths: Vec<_> =
        std::fs::read_dir(records()).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|ending| ending == "json"));
    paths.sort();
    assert!(paths.len() > 10, "{paths:?}");
    let bench = Bench::new();
    for path in paths {
        let report = import_file(&bench.session, &path, &ImportOptions::new()).unwrap();
        let found = outline(&bench, &report);
        let expected = std::fs::read_to_string(path.with_extension("txt"))
            .unwrap_or_else(|error| panic!("{}: {error}; it becomes\n{found}", path.display()));
        assert_eq!(found, expected.replace("\r\n", "\n"), "{}", path.display());
        // The record itself is the last file.
        let mut stored = Vec::new();
        let id = report.files.last().unwrap();
        bench.session.download_file(id, &mut stored, &stationdb::Control::default()).unwrap();
        assert_eq!(stored, std::fs::read(&path).unwrap());
        // Importing it again is a conflict that names the result, and adds nothing.
        let before = bench.counts();
        let error = import_file(&bench.session, &path, &ImportOptions::new()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Conflict);
        assert_eq!(error.resource(), Some(("TestResult", report.result_id.as_str())));
        assert!(error.message().contains(report.result_id.as_str()), "{error}");
        assert_eq!(bench.counts(), before);
    }
}

#[test]
fn options_change_the_import() {
    let bench = Bench::new();
    let path = records().join("curves.json");
    let first = import_file(&bench.session, &path, &ImportOptions::new()).unwrap();
    let options = ImportOptions::new().again(true).part_number("PN-9").workspace("line");
    let second = import_file(&bench.session, &path, &options).unwrap();
    assert_ne!(first.result_id, second.result_id);
    let result = bench.session.get_result(&second.result_id).unwrap();
    assert_eq!(result.part_number.as_deref(), Some("PN-9"));
    assert_eq!(result.workspace.as_deref(), Some("line"));
    let table = bench.session.get_table_metadata(&second.tables[0]).unwrap();
    assert_eq!(table.workspace.as_deref(), Some("line"));
    let files = stationdb::files::GetFilesRequest::new().ids([second.files[0].to_string()]);
    let file = bench.session.get_files(files).unwrap().available_files.remove(0);
    assert_eq!(file.workspace, "line");
    assert_eq!(second.measurements, 4);
}
