//! The dates of spreadsheets, which are numbers of days.

use crate::prelude::*;

use super::dialects::{rows, session};

fn asked(preset: &str, data_type: DataType) -> ImportTableRequest {
    ImportTableRequest::new().preset(preset).column_types([("Date", data_type)])
}

fn import(
    session: &Session,
    request: ImportTableRequest,
    text: &str,
) -> Result<ImportTableResponse> {
    session.import_csv(request, &mut text.as_bytes(), &Control::default())
}

/// The cells of the column `Date`.
fn dates(session: &Session, answer: &ImportTableResponse) -> Vec<String> {
    let at = answer.columns.iter().position(|column| column.name == "Date").unwrap();
    rows(session, answer).into_iter().map(|row| row[at].clone().unwrap_or_default()).collect()
}

#[test]
fn numbers_of_days_become_the_times_that_spreadsheets_show() {
    use DataType::{Timestamp, TimestampMicros, TimestampNanos};
    let (_store, session) = session();
    let plain = "Date,U\n45992.604166666664,1.5\n45992.75,2.5\n";
    for (text, preset, data_type, expected) in [
        (plain, "SPREADSHEET", Timestamp, ["2025-12-01T14:30:00.000Z", "2025-12-01T18:00:00.000Z"]),
        (
            plain,
            "SPREADSHEET_1904",
            Timestamp,
            ["2029-12-02T14:30:00.000Z", "2029-12-02T18:00:00.000Z"],
        ),
        (
            plain,
            "SPREADSHEET",
            TimestampNanos,
            ["2025-12-01T14:30:00.000000000Z", "2025-12-01T18:00:00.000000000Z"],
        ),
        (
            "Date;U\n45992,604166;1,5\n45992,75;2,5\n",
            "SPREADSHEET",
            TimestampMicros,
            ["2025-12-01T14:29:59.942400Z", "2025-12-01T18:00:00.000000Z"],
        ),
        // Behind a line for a spreadsheet, with a title, and beside a text.
        (
            "sep=;\nDate;U\n45992,5;1,5\n45993;2,5\n",
            "SPREADSHEET",
            Timestamp,
            ["2025-12-01T12:00:00.000Z", "2025-12-02T00:00:00.000Z"],
        ),
        (
            "Report;May\nDate;U\n59;1,5\n2024-01-31 12:00;2,5\n",
            "SPREADSHEET",
            Timestamp,
            ["1900-02-28T00:00:00.000Z", "2024-01-31T12:00:00.000Z"],
        ),
    ] {
        let answer = import(&session, asked(preset, data_type), text)
            .unwrap_or_else(|error| panic!("{error}: {text}"));
        assert_eq!(dates(&session, &answer), expected, "{preset} {text}");
        let told = answer.columns.iter().find(|column| column.name == "Date").unwrap();
        let year = if preset.ends_with("1904") { "days since 1904" } else { "days since 1900" };
        assert!(told.why.contains(year), "{}", told.why);
        assert_eq!(told.time_zone.as_deref(), Some("UTC"), "{text}");
    }
    // They are local times.
    let request = asked("SPREADSHEET", Timestamp).time_zone("+02:00");
    let answer = import(&session, request, plain).unwrap();
    assert_eq!(dates(&session, &answer)[1], "2025-12-01T16:00:00.000Z");
    // A number of seconds stays one where the request says so.
    let request = asked("SPREADSHEET", Timestamp).epoch_unit(EpochUnit::Seconds);
    let answer = import(&session, request, "Date,U\n1706709910,1.5\n1706709911,2.5\n").unwrap();
    assert_eq!(dates(&session, &answer)[0], "2024-01-31T14:05:10.000Z");
}

#[test]
fn numbers_that_are_no_days_are_refused() {
    let (_store, session) = session();
    for (value, part) in [
        ("60", "29 February 1900"),
        ("0.5", "time of day without a date"),
        ("-3.5", "no number of days"),
        ("2958466", "no number of days"),
    ] {
        let text = format!("Date,U\n45992.5,1\n{value},2\n");
        let error = import(&session, asked("SPREADSHEET", DataType::Timestamp), &text).unwrap_err();
        assert!(error.message().contains(part), "{value}: {error}");
        let line = Place::Line { line: 3, column: Some("Date".to_owned()) };
        assert_eq!(error.place(), Some(&line), "{value}: {error}");
    }
    let request = ImportTableRequest::new().column_types([("Date", DataType::Timestamp)]);
    let error = import(&session, request, "Date,U\n45992.5,1\n45993,2\n").unwrap_err();
    assert!(error.message().contains("SPREADSHEET"), "{error}");
    assert_eq!(session.list_tables(ListTablesRequest::default()).unwrap().tables.len(), 0);
}

#[test]
fn numbers_that_may_be_dates_are_told_with_the_option_that_reads_them() {
    let (_store, session) = session();
    for (name, values, is_told) in [
        ("Date", ["45992.604166", "45993"], true),
        ("Start Time", ["20000", "79999.5"], true),
        ("Datum/Zeit", ["45992.5", "45992.75"], true),
        ("Date", ["45992.5", "80001"], false),
        ("Date", ["45992.5", "19999.5"], false),
        ("Date", ["45992", "45993"], false),
        ("Date", ["45992.0", "45993.0"], false),
        ("Time (s)", ["45992.5", "45993"], false),
        ("U", ["45992.5", "45993.5"], false),
    ] {
        let text = format!("{name},U2\n{},1.5\n{},2.5\n", values[0], values[1]);
        let answer = import(&session, ImportTableRequest::new(), &text).unwrap();
        let told = answer.warnings.join("\n");
        let option = format!("columnTypes to {{{name:?}: \"TIMESTAMP\"}}");
        let found = told.contains("set preset to SPREADSHEET,") && told.contains(&option);
        assert_eq!(found, is_told, "{text}: {told}");
        assert_eq!(told.is_empty(), !is_told, "{text}: {told}");
    }
}
