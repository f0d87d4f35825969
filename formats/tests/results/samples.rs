//! The samples beside this file: what each becomes, and that of cut ones nothing is left.

use stationdb::ErrorKind;
use stationdb::prelude::*;
use stationdb_formats::results::ImportOptions;
use stationdb_formats::results_csv;

use super::outline::outline;
use super::{Bench, Format, files, samples};

/// Each sample becomes what the text beside it says.
#[test]
fn samples_become_their_outlines() {
    let bench = Bench::new();
    for (name, bytes) in samples() {
        let path = files().join(&name);
        let report = if name == "csv_long_german.csv" {
            let options = results_csv::ImportOptions::new()
                .common(ImportOptions::new().time_zone("+01:00"))
                .program_name("Endtest");
            let options = [
                ("serialNumber", "Seriennummer"),
                ("startedAt", "Datum"),
                ("name", "Messgröße"),
                ("measurement", "Messwert"),
                ("units", "Einheit"),
                ("lowLimit", "UGW"),
                ("highLimit", "OGW"),
                ("measurementStatus", "Bewertung"),
            ]
            .into_iter()
            .fold(options, |options, (member, column)| options.map(member, column));
            results_csv::import_file(&bench.session, &path, &options)
        } else {
            let options = ImportOptions::new().file_name(&name);
            bench.import(Format::of(&name), &bytes, &options)
        };
        let report = report.unwrap_or_else(|error| panic!("{name}: {error}"));
        let found = outline(&bench, &report);
        let expected = path.with_extension("txt");
        let expected = std::fs::read_to_string(&expected)
            .unwrap_or_else(|error| panic!("{name}: {error}; it becomes\n{found}"));
        assert_eq!(found, expected.replace("\r\n", "\n"), "{name}");
        // The file itself is attached, byte for byte.
        let mut stored = Vec::new();
        let id = report.files.last().unwrap();
        bench.session.download_file(id, &mut stored, &stationdb::Control::default()).unwrap();
        assert_eq!(stored, bytes, "{name}");
        // Importing it again is a conflict that names a result, and adds nothing.
        let error = bench.refusal(Format::of(&name), &bytes);
        assert_eq!(error.kind(), ErrorKind::Conflict, "{name}: {error}");
        let (kind, id) = error.resource().unwrap();
        assert_eq!(kind, "TestResult");
        assert!(report.result_ids.iter().any(|known| known.as_str() == id), "{name}");
    }
}

/// A file that was cut leaves nothing, wherever it was cut.
#[test]
fn samples_that_were_cut_leave_nothing() {
    let bench = Bench::new();
    for (name, bytes) in samples() {
        let format = Format::of(&name);
        if format != Format::Csv {
            for part in 0..20 {
                bench.refusal(format, &bytes[..(bytes.len() - 10) * part / 20]);
            }
        }
    }
}

#[test]
fn options_change_the_import() {
    let bench = Bench::new();
    let path = files().join("atml5_supply.xml");
    let options = ImportOptions::new();
    let first = stationdb_formats::atml::import_file(&bench.session, &path, &options).unwrap();
    let options = options.again(true).part_number("PN-9").workspace("line").time_zone("+02:00");
    let second = stationdb_formats::atml::import_file(&bench.session, &path, &options).unwrap();
    assert_ne!(first.result_ids, second.result_ids);
    assert!(!first.warnings.is_empty());
    assert!(second.warnings.is_empty(), "{:?}", second.warnings);
    let result = bench.session.get_result(&second.result_ids[0]).unwrap();
    assert_eq!(result.part_number.as_deref(), Some("PN-9"));
    assert_eq!(result.workspace.as_deref(), Some("line"));
    let start = result.started_at.unwrap().to_rfc3339();
    assert_eq!(start, "2024-02-01T06:30:15.250+00:00");
    let query = stationdb::files::GetFilesRequest::new().ids([second.files[0].to_string()]);
    let file = bench.session.get_files(query).unwrap().available_files.remove(0);
    assert_eq!(file.workspace, "line");
    assert_eq!(file.properties["Name"], "atml5_supply.xml");
    let missing = stationdb_formats::teststand::import_file(&bench.session, "none.xml", &options);
    assert_eq!(missing.unwrap_err().kind(), ErrorKind::Io);
}
