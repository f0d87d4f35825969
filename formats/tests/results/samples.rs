//! The samples beside this file: what each becomes, and that of cut ones nothing is left.

use stationdb::ErrorKind;
use stationdb::prelude::*;
use stationdb_formats::{
    ImportResults as _, ResultFormat, ResultOptions, atml, results_csv, teststand,
};

use super::outline::outline;
use super::{Bench, Format, files, samples};

/// Each sample becomes what the text beside it says.
#[test]
fn samples_become_their_outlines() {
    let bench = Bench::new();
    for (name, bytes) in samples() {
        let path = files().join(&name);
        let report = if name == "csv_long_german.csv" {
            let options = ResultOptions::new().time_zone("+01:00").program_name("Endtest");
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
            let options = ResultOptions::new();
            match Format::of(&name) {
                Format::TestStand => teststand::import_file(&bench.session, &path, &options),
                Format::Atml => atml::import_file(&bench.session, &path, &options),
                Format::Csv => results_csv::import_file(&bench.session, &path, &options),
            }
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
        assert!(report.results.iter().any(|known| known.as_str() == id), "{name}");
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
    let options = ResultOptions::new();
    let first = atml::import_file(&bench.session, &path, &options).unwrap();
    let options = options.again(true).part_number("PN-9").workspace("line").time_zone("+02:00");
    let second = atml::import_file(&bench.session, &path, &options).unwrap();
    assert_ne!(first.results, second.results);
    assert!(!first.warnings.is_empty());
    assert!(second.warnings.is_empty(), "{:?}", second.warnings);
    let result = bench.session.get_result(&second.results[0]).unwrap();
    assert_eq!(result.part_number.as_deref(), Some("PN-9"));
    assert_eq!(result.workspace.as_deref(), Some("line"));
    let start = result.started_at.unwrap().to_rfc3339();
    assert_eq!(start, "2024-02-01T06:30:15.250+00:00");
    let query = stationdb::files::GetFilesRequest::new().ids([second.files[0].to_string()]);
    let file = bench.session.get_files(query).unwrap().available_files.remove(0);
    assert_eq!(file.workspace, "line");
    assert_eq!(file.properties["Name"], "atml5_supply.xml");
    let missing = teststand::import_file(&bench.session, "none.xml", &options);
    assert_eq!(missing.unwrap_err().kind(), ErrorKind::Io);
}

/// The seam finds XML by its first bytes, whatever the name; CSV of results only where it is named.
#[test]
fn the_seam_knows_the_formats() {
    let bench = Bench::new();
    for (name, bytes) in samples() {
        let expected = match Format::of(&name) {
            Format::TestStand => ResultFormat::TestStand,
            Format::Atml => ResultFormat::Atml,
            Format::Csv => {
                assert_eq!(ResultFormat::of_bytes(&bytes), None, "{name}");
                continue;
            }
        };
        let start = &bytes[..bytes.len().min(4096)];
        assert_eq!(ResultFormat::find(start, "a.csv".as_ref()).unwrap(), expected, "{name}");
        let (path, control) = (files().join(&name), stationdb::Control::default());
        let options = ResultOptions::new();
        let report = bench.session.import_results_file(&path, None, &options, &control).unwrap();
        assert_eq!(report.format, expected);
    }
    for other in ["<Orders/>", "x <Reports>", "<a b='urn:IEEE-1671:2010'/>"] {
        assert_eq!(ResultFormat::of_bytes(other.as_bytes()), None, "{other}");
    }
    let path = files().join("csv_wide_judged.csv");
    let options = ResultOptions::new().map("serialNumber", "Linie").map("operator", "Barcode");
    let control = stationdb::Control::default();
    let format = Some(ResultFormat::Csv);
    let report = bench.session.import_results_file(&path, format, &options, &control).unwrap();
    assert_eq!((report.format, report.results.len()), (ResultFormat::Csv, 3));
    let result = bench.session.get_result(&report.results[2]).unwrap();
    assert_eq!(result.serial_number.as_deref(), Some("L2"));
    assert_eq!(result.operator.as_deref(), Some("B3"));
}
