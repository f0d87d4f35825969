//! Files that programs wrote, in `tests/files`. Each has the table that it becomes.
//!
//! | Files | Program |
//! |---|---|
//! | `pandas*.csv`, `pandas.parquet` | pandas 3 |
//! | `pyarrow*` | pyarrow 26 |
//! | `polars*` | Polars 2 |
//! | `duckdb*` | DuckDB 2 |
//! | `r_*.csv` | R 4.2: `write.csv`, `write.csv2`, `write.table` with tabs |
//! | `gnumeric*.csv` | Gnumeric 1.12, a spreadsheet |
//! | `sqlite.csv` | the shell of SQLite 3.40 |
//! | `python_*.csv` | the module `csv` of Python, its dialects excel, excel-tab and unix |
//! | `jq.csv` | jq 1.6, `@csv` |
//!
//! What is missing because no such program was at hand: LabVIEW and an office suite. Texts in their
//! forms, written by hand, are in `dialects`.

use stationdb::prelude::*;
use stationdb::tables::{BinaryForm, DataType, ImportTableRequest, ImportTableResponse};
use stationdb::{Control, ErrorKind, Result, Session};

use super::dialects::{rows, session};
use super::parquet_files;

use DataType::{
    Bool, Float64, Int32, Int64, String as Text, Timestamp, TimestampMicros as Micros,
    TimestampNanos as Nanos,
};

/// A file, and what it becomes: names and types without the index of row numbers, with `?` after
/// the names of NULLABLE columns, and the rows; a cell `~` is null.
struct File {
    name: &'static str,
    bytes: &'static [u8],
    request: fn(ImportTableRequest) -> ImportTableRequest,
    columns: &'static [(&'static str, DataType)],
    rows: &'static [&'static [&'static str]],
}

macro_rules! file {
    ($name:literal, $request:expr, $columns:expr, $rows:expr) => {
        File {
            name: $name,
            bytes: include_bytes!(concat!("../../files/", $name)),
            request: $request,
            columns: &$columns,
            rows: &$rows,
        }
    };
}

const FILES: &[File] = &[
    file!(
        "duckdb.csv",
        |request| request,
        [
            ("id?", Int64),
            ("v?", Float64),
            ("s?", Text),
            ("ok?", Bool),
            ("at?", Micros),
            ("zoned?", Timestamp),
            ("day?", Timestamp),
            ("tod?", Text),
            ("dec?", Float64),
            ("u?", Int64),
            ("e?", Text),
        ],
        [
            &[
                "3",
                "1.5",
                "a,\"b\"",
                "true",
                "2024-01-31T14:05:10.123456Z",
                "2024-01-31T14:05:10.500Z",
                "2024-01-31T00:00:00.000Z",
                "14:05:10.123456",
                "1.5",
                "255",
                "on",
            ],
            &["1", "~", "~", "~", "~", "~", "~", "~", "~", "~", "~"],
            &[
                "2",
                "NaN",
                "",
                "false",
                "1969-12-31T23:59:59.999999Z",
                "1970-01-01T00:00:00.000Z",
                "1969-12-31T00:00:00.000Z",
                "00:00:00",
                "-99999.99",
                "0",
                "off",
            ],
        ]
    ),
    file!(
        "duckdb.parquet",
        |request| request,
        [
            ("id", Int64),
            ("v?", Float64),
            ("s?", Text),
            ("ok?", Bool),
            ("at?", Micros),
            ("zoned?", Micros),
            ("day?", Timestamp),
            ("tod?", Int64),
            ("dec?", Float64),
            ("u?", Int32),
            ("e?", Text),
        ],
        [
            &[
                "3",
                "1.5",
                "a,\"b\"",
                "true",
                "2024-01-31T14:05:10.123456Z",
                "2024-01-31T14:05:10.500000Z",
                "2024-01-31T00:00:00.000Z",
                "50710123456",
                "1.5",
                "255",
                "on",
            ],
            &["1", "~", "~", "~", "~", "~", "~", "~", "~", "~", "~"],
            &[
                "2",
                "NaN",
                "",
                "false",
                "1969-12-31T23:59:59.999999Z",
                "1970-01-01T00:00:00.000000Z",
                "1969-12-31T00:00:00.000Z",
                "0",
                "-99999.99",
                "0",
                "off",
            ],
        ]
    ),
    file!(
        "duckdb_wide.parquet",
        |request| request.binary(BinaryForm::Hex).flatten(true).column_types([("u", Text)]),
        [("h", Float64), ("s.a", Int32), ("s.b", Text), ("b", Text), ("u", Text)],
        [&["1", "1", "x", "aa00", "18446744073709551615"]]
    ),
    file!(
        "pandas.csv",
        |request| request,
        [
            ("part?", Int64),
            ("serial?", Text),
            ("v?", Float64),
            ("n?", Int64),
            ("at?", Nanos),
            ("zoned?", Timestamp),
            ("kind?", Text),
            ("ok?", Bool),
        ],
        [
            &[
                "30",
                "0042",
                "1.5",
                "1",
                "2024-01-31T14:05:10.123456789Z",
                "2024-01-31T13:05:10.500Z",
                "on",
                "true",
            ],
            &["10", "~", "~", "~", "~", "~", "~", "~"],
            &[
                "20",
                "0044",
                "-0.5",
                "3",
                "1970-01-01T00:00:00.000000000Z",
                "1969-12-31T23:00:00.000Z",
                "off",
                "false",
            ],
        ]
    ),
    file!(
        "pandas_german.csv",
        |request| request.null_texts(["NA"]).time_zone("Europe/Berlin"),
        [
            ("serial?", Text),
            ("v?", Float64),
            ("n?", Int64),
            ("at?", Timestamp),
            ("zoned?", Timestamp),
            ("kind?", Text),
            ("ok?", Bool),
        ],
        [
            &[
                "0042",
                "1.5",
                "1",
                "2024-01-31T13:05:10.000Z",
                "2024-01-31T13:05:10.000Z",
                "on",
                "true",
            ],
            &["~", "~", "~", "~", "~", "~", "~"],
            &[
                "0044",
                "-0.5",
                "3",
                "1969-12-31T23:00:00.000Z",
                "1969-12-31T23:00:00.000Z",
                "off",
                "false",
            ],
        ]
    ),
    file!(
        "pandas.parquet",
        |request| request,
        [
            ("serial?", Text),
            ("v?", Float64),
            ("n?", Int64),
            ("at?", Nanos),
            ("zoned?", Micros),
            ("kind?", Text),
            ("ok?", Bool),
            ("part", Int64),
        ],
        [
            &[
                "0042",
                "1.5",
                "1",
                "2024-01-31T14:05:10.123456789Z",
                "2024-01-31T13:05:10.500000Z",
                "on",
                "true",
                "30",
            ],
            &["~", "~", "~", "~", "~", "~", "~", "10"],
            &[
                "0044",
                "-0.5",
                "3",
                "1970-01-01T00:00:00.000000000Z",
                "1969-12-31T23:00:00.000000Z",
                "off",
                "false",
                "20",
            ],
        ]
    ),
    file!(
        "polars.csv",
        |request| request,
        [
            ("id?", Int64),
            ("v?", Float64),
            ("s?", Text),
            ("ok?", Bool),
            ("at?", Micros),
            ("ns?", Nanos),
            ("day?", Timestamp),
            ("tod?", Text),
            ("cat?", Text),
            ("dec?", Float64),
        ],
        [
            &[
                "3",
                "1.5",
                "a,\"b\"",
                "true",
                "2024-01-31T14:05:10.123456Z",
                "2024-01-31T13:05:10.123456000Z",
                "2024-01-31T00:00:00.000Z",
                "14:05:10.123456000",
                "on",
                "1.5",
            ],
            &["1", "~", "~", "~", "~", "~", "~", "~", "~", "~"],
            &[
                "2",
                "NaN",
                "",
                "false",
                "1969-12-31T23:59:59.999999Z",
                "1969-12-31T22:59:59.999999000Z",
                "1969-12-31T00:00:00.000Z",
                "00:00:00.000000000",
                "off",
                "-99999.99",
            ],
        ]
    ),
    file!(
        "polars.parquet",
        |request| request.binary(BinaryForm::Base64),
        [
            ("id", Int64),
            ("v?", Float64),
            ("s?", Text),
            ("ok?", Bool),
            ("at?", Micros),
            ("ns?", Nanos),
            ("day?", Timestamp),
            ("tod?", Int64),
            ("cat?", Text),
            ("dec?", Float64),
            ("bin?", Text),
        ],
        [
            &[
                "3",
                "1.5",
                "a,\"b\"",
                "true",
                "2024-01-31T14:05:10.123456Z",
                "2024-01-31T13:05:10.123456000Z",
                "2024-01-31T00:00:00.000Z",
                "50710123456000",
                "on",
                "1.5",
                "AP8=",
            ],
            &["1", "~", "~", "~", "~", "~", "~", "~", "~", "~", "~"],
            &[
                "2",
                "NaN",
                "",
                "false",
                "1969-12-31T23:59:59.999999Z",
                "1969-12-31T22:59:59.999999000Z",
                "1969-12-31T00:00:00.000Z",
                "0",
                "off",
                "-99999.99",
                "YWI=",
            ],
        ]
    ),
    file!(
        "pyarrow_int96.parquet",
        |request| request,
        [("id", Int32), ("at?", Nanos)],
        [&["2", "2024-01-31T14:05:10.123456789Z"], &["1", "~"]]
    ),
    file!(
        "pyarrow_nested.parquet",
        |request| request.flatten(true),
        [("m.v?", Float64), ("m.unit?", Text), ("t", Int64), ("delta?", Int64)],
        [&["1.5", "V", "2", "1000"], &["~", "~", "1", "~"]]
    ),
    file!(
        "r_write_csv.csv",
        |request| request,
        [
            ("column_1?", Int64),
            ("part?", Text),
            ("volts?", Float64),
            ("n?", Int64),
            ("ok?", Bool),
            ("at?", Timestamp),
            ("day?", Timestamp),
        ],
        [
            &[
                "1",
                "A-1",
                "1.5",
                "1",
                "true",
                "2024-05-01T08:00:00.000Z",
                "2024-05-01T00:00:00.000Z"
            ],
            &[
                "2",
                "B,2",
                "-0.25",
                "~",
                "false",
                "2024-05-01T08:00:01.000Z",
                "2024-05-02T00:00:00.000Z"
            ],
            &["3", "NA", "~", "3", "~", "2024-05-01T08:00:02.000Z", "~"],
        ]
    ),
    file!(
        "r_write_csv2.csv",
        |request| request,
        [
            ("part?", Text),
            ("volts?", Float64),
            ("n?", Int64),
            ("ok?", Bool),
            ("at?", Timestamp),
            ("day?", Timestamp),
        ],
        [
            &["A-1", "1.5", "1", "true", "2024-05-01T08:00:00.000Z", "2024-05-01T00:00:00.000Z"],
            &["B,2", "-0.25", "~", "false", "2024-05-01T08:00:01.000Z", "2024-05-02T00:00:00.000Z"],
            &["NA", "~", "3", "~", "2024-05-01T08:00:02.000Z", "~"],
        ]
    ),
    file!(
        "r_write_table.csv",
        |request| request,
        [
            ("part?", Text),
            ("volts?", Float64),
            ("n?", Int64),
            ("ok?", Bool),
            ("at?", Timestamp),
            ("day?", Timestamp),
        ],
        [
            &["A-1", "1.5", "1", "true", "2024-05-01T08:00:00.000Z", "2024-05-01T00:00:00.000Z"],
            &["B,2", "-0.25", "~", "false", "2024-05-01T08:00:01.000Z", "2024-05-02T00:00:00.000Z"],
            &["~", "~", "3", "~", "2024-05-01T08:00:02.000Z", "~"],
        ]
    ),
    file!(
        "gnumeric.csv",
        |request| request,
        [("Serial?", Text), ("Voltage?", Float64), ("Passed?", Bool), ("When?", Timestamp),],
        [
            &["A-007", "1.5", "true", "2024-05-01T08:00:00.000Z"],
            &["A \"x\", b", "-0.25", "false", "2024-05-01T08:00:01.000Z"],
            &["~", "3", "true", "~"],
        ]
    ),
    file!(
        "gnumeric_semicolon.csv",
        |request| request,
        [("Serial?", Text), ("Voltage?", Float64), ("Passed?", Bool), ("When?", Timestamp),],
        [
            &["A-007", "1.5", "true", "2024-05-01T08:00:00.000Z"],
            &["A \"x\", b", "-0.25", "false", "2024-05-01T08:00:01.000Z"],
            &["~", "3", "true", "~"],
        ]
    ),
    file!(
        "sqlite.csv",
        |request| request,
        [("id?", Int64), ("serial?", Text), ("volts?", Float64), ("at?", Timestamp),],
        [
            &["1", "007", "1.5", "2024-05-01T08:00:00.000Z"],
            &["2", "a \"b\", c", "-0.25", "~"],
            &["3", "~", "3e-9", "2024-05-01T08:00:02.000Z"],
        ]
    ),
    file!(
        "python_excel.csv",
        |request| request,
        [("id?", Int64), ("text?", Text), ("v?", Float64),],
        [&["1", "a;b", "1.5"], &["2", "q\"x", "~"], &["3", "line\nbreak", "-0.002"],]
    ),
    file!(
        "python_excel_tab.csv",
        |request| request,
        [("id?", Int64), ("text?", Text), ("v?", Float64),],
        [&["1", "a;b", "1.5"], &["2", "q\"x", "~"], &["3", "line\nbreak", "-0.002"],]
    ),
    file!(
        "python_unix.csv",
        |request| request,
        [("id?", Int64), ("text?", Text), ("v?", Float64),],
        [&["1", "a;b", "1.5"], &["2", "q\"x", "~"], &["3", "line\nbreak", "-0.002"],]
    ),
    file!(
        "jq.csv",
        |request| request,
        [("id?", Int64), ("v?", Float64), ("s?", Text),],
        [&["1", "1.5", "a"], &["2", "~", "b,\"c\""], &["3", "-2", ""],]
    ),
    file!(
        "polars_semicolon.csv",
        |request| request,
        [("at?", Micros), ("v?", Float64), ("n?", Int64), ("ok?", Bool),],
        [&["2024-05-01T08:00:00.123456Z", "1.5", "1", "true"], &["~", "Infinity", "~", "~"],]
    ),
    file!(
        "duckdb_pipe.csv",
        |request| request.separator("|"),
        [("id?", Int64), ("s?", Text), ("at?", Timestamp), ("d?", Float64),],
        [&["1", "x|y", "2024-05-01T08:00:00.500Z", "1.25"], &["2", "NA", "~", "~"],]
    ),
    file!(
        "pyarrow.csv",
        |request| request,
        [("t?", Micros), ("v?", Float64), ("s?", Text),],
        [
            &["1970-01-01T00:00:00.000000Z", "1.5", "a"],
            &["1970-01-01T00:00:00.001000Z", "~", "b"],
            &["1970-01-01T00:00:00.002000Z", "NaN", "~"],
        ]
    ),
    file!(
        "pyarrow_zstd.parquet",
        |request| request,
        [("t", Micros), ("v?", Float64), ("s?", Text),],
        [
            &["1970-01-01T00:00:00.000000Z", "1.5", "a"],
            &["1970-01-01T00:00:00.001000Z", "~", "b"],
            &["1970-01-01T00:00:00.002000Z", "NaN", "~"],
        ]
    ),
];

fn imported(
    session: &Session,
    name: &str,
    request: ImportTableRequest,
    bytes: &[u8],
) -> Result<ImportTableResponse> {
    if name.ends_with(".csv") {
        session.import_csv(request, &mut &*bytes, &Control::default())
    } else {
        parquet_files::import(session, request, bytes)
    }
}

#[test]
fn files_that_programs_wrote_become_their_tables() {
    let (_store, session) = session();
    for File { name, bytes, request, columns, rows: expected } in FILES {
        let answer = imported(&session, name, request(ImportTableRequest::new()), bytes)
            .unwrap_or_else(|error| panic!("{name}: {error}"));
        let found: Vec<(String, DataType)> = answer.columns[1..]
            .iter()
            .map(|column| {
                let mark = if column.column_type == "NULLABLE".parse().unwrap() { "?" } else { "" };
                (format!("{}{mark}", column.name), column.data_type)
            })
            .collect();
        let columns: Vec<(String, DataType)> =
            columns.iter().map(|(name, kind)| ((*name).to_owned(), *kind)).collect();
        assert_eq!(found, columns, "{name}: {:#?}", answer.columns);
        let index = &answer.columns[0];
        assert!(index.why.contains("no index is declared"), "{name}: {}", index.why);
        let table: Vec<Vec<String>> = rows(&session, &answer)
            .into_iter()
            .map(|row| row[1..].iter().map(|cell| cell.clone().unwrap_or("~".into())).collect())
            .collect();
        assert_eq!(table, *expected, "{name}");
    }
}

/// What such files have that no column holds is refused with its name and what to do.
#[test]
fn files_that_programs_wrote_are_refused_with_what_to_do() {
    let (_store, session) = session();
    let new = ImportTableRequest::new;
    let bytes = |name: &str| FILES.iter().find(|file| file.name == name).unwrap().bytes;
    let gzip = include_bytes!("../../files/pyarrow_gzip.parquet");
    for (name, bytes, request, parts) in [
        ("polars.parquet", bytes("polars.parquet"), new(), ["\"bin\"", "BASE64"]),
        ("duckdb_wide.parquet", bytes("duckdb_wide.parquet"), new(), ["\"s\"", "flatten"]),
        ("pyarrow_nested.parquet", bytes("pyarrow_nested.parquet"), new(), ["\"m\"", "flatten"]),
        ("pyarrow_gzip.parquet", gzip, new().flatten(true), ["GZIP", "ZSTD"]),
    ] {
        let error = imported(&session, name, request, bytes).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unsupported, "{name}: {error}");
        for part in parts {
            assert!(error.message().contains(part), "{name}: {part}: {error}");
        }
    }
}
