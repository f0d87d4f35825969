//! CSV files as programs write them, each with the table that it becomes.

use std::io::Read;
use std::sync::Arc;

use stationdb::faults::MemoryDisk;
use stationdb::prelude::*;
use stationdb::tables::{
    ColumnType, DataType, DateOrder, GetTableDataRequest, ImportTableRequest, ImportTableResponse,
    ScanRequest, TableId,
};
use stationdb::{Control, ErrorKind, Identity, Session, Store};

use DataType::{
    Bool, Float64, Int64, String as Text, Timestamp, TimestampMicros as Micros,
    TimestampNanos as Nanos,
};

pub(super) fn session() -> (Store, Session) {
    let options = Store::options().maintenance_thread(false);
    let store = options.open_disk(Arc::new(MemoryDisk::default())).unwrap();
    let session = store.session(Identity::user("ada"));
    (store, session)
}

/// A file, and what it becomes: names and types without the index of row numbers, and the rows; a
/// cell `~` is null.
struct File {
    program: &'static str,
    bytes: &'static [u8],
    request: fn(ImportTableRequest) -> ImportTableRequest,
    columns: &'static [(&'static str, DataType)],
    rows: &'static [&'static [&'static str]],
}

fn as_it_is(request: ImportTableRequest) -> ImportTableRequest {
    request
}

const FILES: &[File] = &[
    File {
        program: "a spreadsheet, English, CSV UTF-8",
        bytes: b"\xef\xbb\xbfSerial,Voltage,Passed,When\r\n0042,4.998,TRUE,2024-01-31 14:05\r\n\
                 0043,5.01,FALSE,2024-01-31 14:06\r\n",
        request: as_it_is,
        columns: &[("Serial", Text), ("Voltage", Float64), ("Passed", Bool), ("When", Timestamp)],
        rows: &[
            &["0042", "4.998", "true", "2024-01-31T14:05:00.000Z"],
            &["0043", "5.01", "false", "2024-01-31T14:06:00.000Z"],
        ],
    },
    File {
        program: "a spreadsheet, German",
        bytes: "Zeit;Spannung (V);Prüfer\r\n31.01.2024 14:05:10;4,998;Jörg\r\n\
                01.02.2024 08:00:00;-5,1;Ada\r\n"
            .as_bytes(),
        request: as_it_is,
        columns: &[("Zeit", Timestamp), ("Spannung (V)", Float64), ("Prüfer", Text)],
        rows: &[
            &["2024-01-31T14:05:10.000Z", "4.998", "Jörg"],
            &["2024-02-01T08:00:00.000Z", "-5.1", "Ada"],
        ],
    },
    File {
        program: "a spreadsheet, American, with AM and PM",
        bytes: b"When,Volts\r\n1/31/2024 2:05:10 PM,1.5\r\n2/1/2024 12:00:00 AM,2\r\n",
        request: as_it_is,
        columns: &[("When", Timestamp), ("Volts", Float64)],
        rows: &[&["2024-01-31T14:05:10.000Z", "1.5"], &["2024-02-01T00:00:00.000Z", "2"]],
    },
    File {
        program: "a spreadsheet, British",
        bytes: b"When,Volts\r\n31/01/2024,1.5\r\n01/02/2024,2\r\n",
        request: as_it_is,
        columns: &[("When", Timestamp), ("Volts", Float64)],
        rows: &[&["2024-01-31T00:00:00.000Z", "1.5"], &["2024-02-01T00:00:00.000Z", "2"]],
    },
    File {
        program: "a spreadsheet with dates whose order nobody can know",
        bytes: b"When,Volts\n01/02/2024,1.5\n03/04/2024,2\n",
        request: as_it_is,
        columns: &[("When", Text), ("Volts", Float64)],
        rows: &[&["01/02/2024", "1.5"], &["03/04/2024", "2"]],
    },
    File {
        program: "the same with the order of day and month",
        bytes: b"When,Volts\n01/02/2024,1.5\n03/04/2024,2\n",
        request: |request| request.date_order(DateOrder::MonthFirst),
        columns: &[("When", Timestamp), ("Volts", Float64)],
        rows: &[&["2024-01-02T00:00:00.000Z", "1.5"], &["2024-03-04T00:00:00.000Z", "2"]],
    },
    File {
        program: "a spreadsheet that names its separator",
        bytes: b"sep=;\r\na;b\r\n1;2,5\r\n",
        request: as_it_is,
        columns: &[("a", Int64), ("b", Float64)],
        rows: &[&["1", "2.5"]],
    },
    File {
        program: "an old spreadsheet whose lines end with carriage returns",
        bytes: b"a,b\r1,x\r2,\"y\rz\"\r",
        request: as_it_is,
        columns: &[("a", Int64), ("b", Text)],
        rows: &[&["1", "x"], &["2", "y\rz"]],
    },
    File {
        program: "a measurement file of LabVIEW",
        bytes: b"LabVIEW Measurement\t\r\nWriter_Version\t2\r\nReader_Version\t2\r\n\
                 Separator\tTab\r\nDecimal_Separator\t.\r\nMulti_Headings\tNo\r\n\
                 X_Columns\tOne\r\nTime_Pref\tRelative\r\nOperator\tada\r\n\
                 Date\t2024/01/31\r\nTime\t14:05:10.1234\r\n***End_of_Header***\t\r\n\t\r\n\
                 Channels\t2\t\t\r\nSamples\t2\t2\t\r\nX_Dimension\tTime\tTime\t\r\n\
                 X0\t0.0000000000000000E+0\t0.0000000000000000E+0\t\r\n\
                 Delta_X\t0.001000\t0.001000\t\r\n***End_of_Header***\t\t\t\r\n\
                 X_Value\tVoltage\tCurrent\tComment\r\n\
                 0.000000\t1.250000\t-0.5\tstart\r\n0.001000\t1.5E+0\tNaN\r\n",
        request: as_it_is,
        columns: &[
            ("X_Value", Float64),
            ("Voltage", Float64),
            ("Current", Float64),
            ("Comment", Text),
        ],
        rows: &[&["0", "1.25", "-0.5", "start"], &["0.001", "1.5", "NaN", "~"]],
    },
    File {
        program: "a measurement file of LabVIEW with decimal commas",
        bytes: b"LabVIEW Measurement\r\nSeparator\tTab\r\nDecimal_Separator\t,\r\n\
                 ***End_of_Header***\r\n\r\nChannels\t1\r\nX0\t0,0\r\n***End_of_Header***\r\n\
                 X_Value\tU\tComment\r\n0,000\t1,5\t\r\n0,001\t-2\t\r\n",
        request: as_it_is,
        columns: &[("X_Value", Float64), ("U", Float64), ("Comment", Text)],
        rows: &[&["0", "1.5", "~"], &["0.001", "-2", "~"]],
    },
    File {
        program: "an oscilloscope with lines before the header",
        bytes: b"Model,TDS 2024\nSerial,C012\nPoint,2\n\nTIME,CH1\n-1.0e-03,+4.0e-02\n\
                 -9.0e-04,INF\n",
        request: |request| request.skip_lines(4),
        columns: &[("TIME", Float64), ("CH1", Float64)],
        rows: &[&["-0.001", "0.04"], &["-0.0009", "Infinity"]],
    },
    File {
        program: "a logger with comments before the header",
        bytes: b"# rig: 3\n# operator: ada, bob\n\ntime,temp\n2024-01-31T14:05:10.5+01:00,21.5\n",
        request: as_it_is,
        columns: &[("time", Timestamp), ("temp", Float64)],
        rows: &[&["2024-01-31T13:05:10.500Z", "21.5"]],
    },
    File {
        program: "NumPy savetxt with a header",
        bytes: b"# t,v\n0.000000000000000000e+00,1.500000000000000000e+00\n\
                 1.000000000000000000e-03,nan\n2.000000000000000000e-03,-inf\n",
        request: as_it_is,
        columns: &[("t", Float64), ("v", Float64)],
        rows: &[&["0", "1.5"], &["0.001", "NaN"], &["0.002", "-Infinity"]],
    },
    File {
        program: "pandas to_csv with its index",
        bytes: b",serial,v,at\n0,A1,1.5,2024-01-31 14:05:10.123456\n\
                 1,,,2024-01-31 14:05:10.000001\n",
        request: as_it_is,
        columns: &[("column_1", Int64), ("serial", Text), ("v", Float64), ("at", Micros)],
        rows: &[
            &["0", "A1", "1.5", "2024-01-31T14:05:10.123456Z"],
            &["1", "~", "~", "2024-01-31T14:05:10.000001Z"],
        ],
    },
    File {
        program: "pandas to_csv with na_rep and times in nanoseconds",
        bytes: b"at;v;n\n2024-01-31 14:05:10.123456789+00:00;NaN;1\n\
                 2024-01-31 14:05:10.123456790+00:00;2.5;NA\n",
        request: as_it_is,
        columns: &[("at", Nanos), ("v", Float64), ("n", Int64)],
        rows: &[
            &["2024-01-31T14:05:10.123456789Z", "NaN", "1"],
            &["2024-01-31T14:05:10.123456790Z", "2.5", "~"],
        ],
    },
    File {
        program: "Polars write_csv",
        bytes: b"at,v,ok,s\n2024-01-31T14:05:10.123456,1.5,true,\"a \"\"b\"\"\"\n,,,\"\"\n",
        request: as_it_is,
        columns: &[("at", Micros), ("v", Float64), ("ok", Bool), ("s", Text)],
        rows: &[&["2024-01-31T14:05:10.123456Z", "1.5", "true", "a \"b\""], &["~", "~", "~", ""]],
    },
    File {
        program: "R write.csv",
        bytes: b"\"\",\"part\",\"v\",\"ok\"\n\"1\",\"NA\",1.5,TRUE\n\"2\",\"x\",NA,NA\n\
                 \"3\",NA,Inf,FALSE\n",
        request: as_it_is,
        columns: &[("column_1", Int64), ("part", Text), ("v", Float64), ("ok", Bool)],
        rows: &[
            &["1", "NA", "1.5", "true"],
            &["2", "x", "~", "~"],
            // In a column of texts an unquoted NA may be a text, such as a country.
            &["3", "NA", "Infinity", "false"],
        ],
    },
    File {
        program: "R write.csv, where NA is said to be null",
        bytes: b"\"part\",\"v\"\n\"NA\",1.5\nNA,NA\n",
        request: |request| request.null_texts(["NA"]),
        columns: &[("part", Text), ("v", Float64)],
        rows: &[&["NA", "1.5"], &["~", "~"]],
    },
    File {
        program: "R write.csv2",
        bytes: b"\"n\";\"v\"\n1;1,5\n2;NA\n",
        request: as_it_is,
        columns: &[("n", Int64), ("v", Float64)],
        rows: &[&["1", "1.5"], &["2", "~"]],
    },
    File {
        program: "DuckDB copy",
        bytes: b"d,at,zoned,big,dec\n2024-01-31,2024-01-31 14:05:10.123456,\
                 2024-01-31 15:05:10.123456+01,18446744073709551615,1.50\n,,,1,\n",
        request: as_it_is,
        columns: &[
            ("d", Timestamp),
            ("at", Micros),
            ("zoned", Micros),
            ("big", Text),
            ("dec", Float64),
        ],
        rows: &[
            &[
                "2024-01-31T00:00:00.000Z",
                "2024-01-31T14:05:10.123456Z",
                "2024-01-31T14:05:10.123456Z",
                "18446744073709551615",
                "1.5",
            ],
            &["~", "~", "~", "1", "~"],
        ],
    },
    File {
        program: "psql copy as text with tabs",
        bytes: b"id\tv\tnote\n3\t\\N\tx\n1\t2.5\t\n",
        request: as_it_is,
        columns: &[("id", Int64), ("v", Float64), ("note", Text)],
        rows: &[&["3", "~", "x"], &["1", "2.5", "~"]],
    },
    File {
        program: "MATLAB writetable",
        bytes: b"Time,Force\n31-Jan-2024 14:05:10,1.25\n01-Feb-2024 00:00:00,NaN\n",
        request: as_it_is,
        columns: &[("Time", Timestamp), ("Force", Float64)],
        rows: &[&["2024-01-31T14:05:10.000Z", "1.25"], &["2024-02-01T00:00:00.000Z", "NaN"]],
    },
    File {
        program: "a logger with blanks after its separators",
        bytes: b"a, b , c\n1, 2.5, x y\n2, -1, z\n",
        request: as_it_is,
        columns: &[("a", Int64), ("b", Float64), ("c", Text)],
        rows: &[&["1", "2.5", " x y"], &["2", "-1", " z"]],
    },
    File {
        program: "a bench with bars between its values",
        bytes: b"part|rev|qty\n007|1.2.3|5\n010|1.3|-\n",
        request: |request| request.null_texts(["-"]),
        columns: &[("part", Text), ("rev", Text), ("qty", Int64)],
        rows: &[&["007", "1.2.3", "5"], &["010", "1.3", "~"]],
    },
    File {
        program: "a waveform of 1 MHz",
        bytes: b"t,v\n2024-01-31T00:00:00.000002Z,2\n2024-01-31T00:00:00.000000Z,0\n\
                 2024-01-31T00:00:00.000001Z,1\n",
        request: |request| request.index_column("t"),
        columns: &[("t", Micros), ("v", Int64)],
        rows: &[
            &["2024-01-31T00:00:00.000000Z", "0"],
            &["2024-01-31T00:00:00.000001Z", "1"],
            &["2024-01-31T00:00:00.000002Z", "2"],
        ],
    },
    File {
        program: "a file without order, whose rows stay where they are",
        bytes: b"id,v\n3,a\n1,b\n2,c\n",
        request: as_it_is,
        columns: &[("id", Int64), ("v", Text)],
        rows: &[&["3", "a"], &["1", "b"], &["2", "c"]],
    },
    File {
        program: "a clock of a place, when clocks were set forward",
        bytes: b"at,v\n2024-03-31 01:59:59,1\n2024-03-31 03:00:00,2\n",
        request: |request| request.time_zone("Europe/Berlin"),
        columns: &[("at", Timestamp), ("v", Int64)],
        rows: &[&["2024-03-31T00:59:59.000Z", "1"], &["2024-03-31T01:00:00.000Z", "2"]],
    },
    File {
        program: "a clock with a known offset, beside times that name theirs",
        bytes: b"at,v\n2024-03-31 12:00:00,1\n2024-03-31 12:00:00Z,2\n",
        request: |request| request.time_zone("+05:30"),
        columns: &[("at", Timestamp), ("v", Int64)],
        rows: &[&["2024-03-31T06:30:00.000Z", "1"], &["2024-03-31T12:00:00.000Z", "2"]],
    },
];

fn cell(text: &str) -> Option<String> {
    (text != "~").then(|| text.to_owned())
}

pub(super) fn rows(session: &Session, answer: &ImportTableResponse) -> Vec<Vec<Option<String>>> {
    let id = answer.id.clone().unwrap();
    let page = session.get_table_data(&id, GetTableDataRequest::default()).unwrap();
    page.frame.to_data_frame().data
}

#[test]
fn files_of_many_programs_become_their_tables() {
    let (_store, session) = session();
    for File { program, bytes, request, columns, rows: expected } in FILES {
        let request = request(ImportTableRequest::new());
        let is_numbered = request.index_column.is_none();
        let answer = session
            .import_csv(request, &mut &**bytes, &Control::default())
            .unwrap_or_else(|error| panic!("{program}: {error}"));
        let skip = usize::from(is_numbered);
        let found: Vec<(&str, DataType)> = answer.columns[skip..]
            .iter()
            .map(|column| (column.name.as_str(), column.data_type))
            .collect();
        assert_eq!(found, *columns, "{program}: {:#?}", answer.columns);
        let table: Vec<Vec<Option<String>>> = rows(&session, &answer)
            .into_iter()
            .map(|row| row.into_iter().skip(skip).collect())
            .collect();
        let expected: Vec<Vec<Option<String>>> =
            expected.iter().map(|row| row.iter().map(|text| cell(text)).collect()).collect();
        assert_eq!(table, expected, "{program}");
        assert_eq!(answer.row_count, expected.len() as i64, "{program}");
        // The report counts the nulls, and says why each column is what it is.
        for (at, column) in answer.columns.iter().enumerate() {
            assert!(!column.why.is_empty(), "{program}: {}", column.name);
            let nulls = match at.checked_sub(skip) {
                Some(at) => expected.iter().filter(|row| row[at].is_none()).count(),
                None => 0,
            };
            assert_eq!(column.null_count, nulls as i64, "{program}: {}", column.name);
        }
        if is_numbered {
            let index = &answer.columns[0];
            assert_eq!((index.column_type, index.data_type), (ColumnType::Index, Int64));
            assert!(index.why.contains("indexColumn"), "{program}: {}", index.why);
        }
    }
}

#[test]
fn the_report_says_separator_header_zone_and_reason() {
    let (_store, session) = session();
    let text =
        "# note\nat;v;part;huge;day\n2024-01-31 12:00;1,5;007;12345678901234567890;1/2/2024\n";
    let request = ImportTableRequest::new();
    let answer = session.import_csv(request, &mut text.as_bytes(), &Control::default()).unwrap();
    assert_eq!((answer.separator.as_deref(), answer.header_line), (Some(";"), Some(2)));
    let why = |name: &str| {
        let column = answer.columns.iter().find(|column| column.name == name).unwrap();
        (column.why.clone(), column.time_zone.clone())
    };
    for (name, part, zone) in [
        ("row", "no index is declared", None),
        ("at", "times without a zone are taken as UTC", Some("UTC")),
        ("v", "decimal comma", None),
        ("part", "\"007\" in line 3 begins with a zero", None),
        ("huge", "more digits than a number keeps", None),
        ("day", "say it with dateOrder", None),
    ] {
        let (why, found) = why(name);
        assert!(why.contains(part), "{name}: {why}");
        assert_eq!(found.as_deref(), zone, "{name}");
    }
    let table = session.get_table_metadata(&answer.id.unwrap()).unwrap();
    // Values are UTC, so that zone needs no property.
    assert!(!table.columns.unwrap()[1].properties.contains_key("timeZone"));
}

/// A reader that imports a second file into the table before it gives the first one.
struct Meanwhile<'s> {
    session: &'s Session,
    id: &'s TableId,
    text: &'s [u8],
    second: Option<Result<(), ErrorKind>>,
}

impl Read for Meanwhile<'_> {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        if self.second.is_none() {
            // Not while the header is read, which is before the import begins to number.
            let request = ImportTableRequest::new().id(self.id.clone());
            let answer =
                self.session.import_csv(request, &mut "v\n9\n".as_bytes(), &Control::default());
            self.second = Some(answer.map(drop).map_err(|error| error.kind()));
        }
        self.text.read(into)
    }
}

/// Two imports at once would number their rows from the same number.
#[test]
fn a_table_is_numbered_by_one_import_at_a_time() {
    let (_store, session) = session();
    let import = |request: ImportTableRequest, text: &mut dyn Read| {
        session.import_csv(request, text, &Control::default())
    };
    let first = import(ImportTableRequest::new(), &mut "v\n1\n2\n".as_bytes()).unwrap();
    let id = first.id.unwrap();
    // More than one read of the source, so that one is in the middle of the import.
    let long: String = (0..200_000).map(|at| format!("{at}\n")).collect();
    let text = format!("v\n{long}");
    let (head, rest) = text.as_bytes().split_at(100_000);
    let mut rest = Meanwhile { session: &session, id: &id, text: rest, second: None };
    import(ImportTableRequest::new().id(id.clone()), &mut head.chain(&mut rest)).unwrap();
    assert_eq!(rest.second, Some(Err(ErrorKind::Conflict)));
    // Afterwards the next one goes on, also after one that failed.
    let bad = import(ImportTableRequest::new().id(id.clone()), &mut "w\n9\n".as_bytes());
    assert!(bad.is_err());
    import(ImportTableRequest::new().id(id.clone()), &mut "v\n9\n".as_bytes()).unwrap();
    let stream = session.scan(&id, ScanRequest::new(), &Control::default()).unwrap();
    let numbers: Vec<i64> =
        stream.flat_map(|batch| super::int64_values(&batch.unwrap(), 0).to_vec()).collect();
    assert!(numbers == (0..200_003).collect::<Vec<_>>(), "{}", numbers.len());
}

/// The rows of a second file are numbered on, and the numbers of the table stay unique.
#[test]
fn a_second_file_is_numbered_on() {
    let (_store, session) = session();
    let control = Control::default();
    let made =
        session.import_csv(ImportTableRequest::new(), &mut &b"v\n2\n1\n"[..], &control).unwrap();
    let id = made.id.clone().unwrap();
    let more = ImportTableRequest::new().id(id.to_string());
    let again = session.import_csv(more, &mut &b"v\n0\n"[..], &control).unwrap();
    assert_eq!((again.row_count, again.columns.len()), (1, 2));
    let cells = |row: &str, v: &str| vec![cell(row), cell(v)];
    assert_eq!(rows(&session, &made), [cells("0", "2"), cells("1", "1"), cells("2", "0")]);
    // A number is not given again after its row was deleted.
    let first = stationdb::tables::DeleteRowsRequest::new().index_before("1");
    assert_eq!(session.delete_rows(&id, first).unwrap().row_count, 1);
    let more = ImportTableRequest::new().id(id.to_string());
    session.import_csv(more, &mut &b"v\n7\n"[..], &control).unwrap();
    assert_eq!(rows(&session, &made), [cells("1", "1"), cells("2", "0"), cells("3", "7")]);
}
