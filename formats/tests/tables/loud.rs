//! Files that were changed without a word, or that cannot be read as they are: each is refused with
//! its place, its value and what to do.

use crate::prelude::*;

use super::dialects::session;

use super::column;

fn table(columns: Vec<Column>) -> ImportTableRequest {
    ImportTableRequest::new().table(CreateTableRequest::new(columns))
}

fn declared(data_type: DataType) -> ImportTableRequest {
    table(vec![
        column("i", DataType::Int64, ColumnType::Index),
        column("v", data_type, ColumnType::Nullable),
    ])
}

fn new() -> ImportTableRequest {
    ImportTableRequest::new()
}

/// A text whose first rows have one type, and whose last line has a value of another.
fn late(first: &str, last: &str) -> String {
    format!("i,v\n{}0,{last}\n", format!("1,{first}\n").repeat(16_384))
}

struct Case {
    text: String,
    request: ImportTableRequest,
    line: u64,
    column: Option<&'static str>,
    /// What the message must have: the value, and what to do.
    parts: &'static [&'static str],
}

fn case(
    text: impl Into<String>,
    request: ImportTableRequest,
    (line, column): (u64, Option<&'static str>),
    parts: &'static [&'static str],
) -> Case {
    Case { text: text.into(), request, line, column, parts }
}

fn late_values() -> Vec<Case> {
    let at = (16_386, Some("v"));
    vec![
        case(late("7", "7.5"), new(), at, &["\"7.5\"", "INT64", "columnTypes", "FLOAT64"]),
        case(late("7", "n.a."), new(), at, &["\"n.a.\"", "nullTexts"]),
        case(late("7.5", "x"), new(), at, &["\"x\"", "FLOAT64", "columnTypes", "STRING"]),
        case(late("true", "yes"), new(), at, &["\"yes\"", "BOOL", "columnTypes"]),
        case(late("2024-01-31", "31.1.2024x"), new(), at, &["\"31.1.2024x\"", "TIMESTAMP"]),
        case(
            late("2024-01-31 00:00:00.001", "2024-01-31 00:00:00.0015"),
            new(),
            at,
            &["00.0015", "finer", "TIMESTAMP_US", "cutTimes"],
        ),
        case(late("2024-01-31", "01/02/2024"), new(), at, &["\"01/02/2024\"", "dateOrder"]),
        // The report of the zones is of the first rows.
        case(
            late("2024-01-31T00:00:00Z", "2024-01-31T00:00:00"),
            new(),
            at,
            &["\"2024-01-31T00:00:00\"", "has no zone", "timeZone"],
        ),
        // A serial number, and digits that a double does not have.
        case(late("7", "0042"), new(), at, &["\"0042\"", "begins with a zero", "columnTypes"]),
        case(late("7.5", "-007"), new(), at, &["\"-007\"", "begins with a zero", "STRING"]),
        case(
            late("7.5", "9007199254740993"),
            new(),
            at,
            &["\"9007199254740993\"", "more digits", "columnTypes", "STRING", "FLOAT64"],
        ),
        // No value before.
        case(late("", "48.1"), new(), at, &["\"48.1\" is a number", "columnTypes", "FLOAT64"]),
        case(late("", "2024-01-31"), new(), at, &["\"2024-01-31\" is a time", "TIMESTAMP"]),
        // The first rows say that the day comes first; the last date is no such date.
        case(late("31/01/2024", "01/31/2024"), new(), at, &["\"01/31/2024\""]),
    ]
}

fn declared_values() -> Vec<Case> {
    let at = (2, Some("v"));
    vec![
        case(
            "i,v\n1,2024-01-31T00:00:00.0001Z\n",
            declared(DataType::Timestamp),
            at,
            &["00.0001Z", "finer", "cutTimes"],
        ),
        case(
            "i,v\n1,01/02/2024\n",
            declared(DataType::Timestamp),
            at,
            &["01/02/2024", "dateOrder"],
        ),
        case(
            "i,v\n1,3000-01-01\n",
            declared(DataType::TimestampNanos),
            at,
            &["\"3000-01-01\"", "years"],
        ),
        case(
            "i,v\n1,1706709910\n",
            declared(DataType::Timestamp),
            at,
            &["\"1706709910\"", "epochUnit"],
        ),
        case(
            "i;v\n1;0.5\n",
            declared(DataType::Timestamp).epoch_unit(EpochUnit::Seconds).decimal_separator(","),
            at,
            &["\"0.5\"", "comma", "decimalSeparator"],
        ),
        case(
            "i,v\n1,0.0005\n",
            declared(DataType::Timestamp).epoch_unit(EpochUnit::Seconds),
            at,
            &["\"0.0005\"", "finer", "cutTimes"],
        ),
        case("i,v\n1,\"1,5\"\n", declared(DataType::Float64), at, &["\"1,5\"", "decimalSeparator"]),
        case(
            "i;v\n1;1.5\n",
            declared(DataType::Float64).decimal_separator(","),
            at,
            &["\"1.5\"", "decimalSeparator"],
        ),
        case("i,v\n1,1e400\n", declared(DataType::Float64), at, &["\"1e400\"", "FLOAT64"]),
        case("i,v\n1,2147483648\n", declared(DataType::Int32), at, &["\"2147483648\"", "INT32"]),
        case("i,v\nNA,1\n", declared(DataType::Int64), (2, Some("i")), &["NULLABLE", "\"NA\""]),
        case(
            "i,v\n1,2024-01-31 12:00\n",
            declared(DataType::Timestamp).time_zone("REFUSE"),
            at,
            &["2024-01-31 12:00", "has no zone"],
        ),
        case(
            "i,v\n1,2024-03-31 02:30\n",
            declared(DataType::Timestamp).time_zone("Europe/Berlin"),
            at,
            &["2024-03-31 02:30", "does not occur", "forward"],
        ),
        case(
            "i,v\n1,2024-10-27 02:30\n",
            declared(DataType::Timestamp).time_zone("Europe/Berlin"),
            at,
            &["2024-10-27 02:30", "occurs twice"],
        ),
    ]
}

fn forms() -> Vec<Case> {
    vec![
        case("1,2.5\n2,3.5\n", new(), (1, None), &["looks like values", "header to false"]),
        case("a;a\n1;2\n", new(), (1, Some("a")), &["two columns", "sideBySide"]),
        case("\n\u{b}", new(), (2, None), &["no column has a name"]),
        case("", new(), (1, None), &["empty"]),
        case("a,b\n", new(), (1, None), &["no rows", "columnTypes"]),
        case("no table at all\n", new(), (1, None), &["no rows"]),
        case("a,b\n1,2\n1,2,3\n", new(), (3, None), &["more than 2 values", "separator"]),
        case("Model,TDS\nTIME,CH1,CH2\n1,2,3\n", new(), (2, None), &["line 1", "skipLines"]),
        case("a,b\n1\n", new(), (2, None), &["1 values for the 2 columns"]),
        case("a,b\r1,2\n", new(), (2, None), &["carriage return"]),
        case("a,b\n1,\"x\n", new(), (2, None), &["not closed"]),
        case("a,b\n1,2\0\n", new(), (1, None), &["NUL bytes from byte 8 on", "power cut"]),
        case("\0".repeat(4096), new(), (1, None), &["only NUL bytes", "power cut"]),
        // Behind the bytes that tell what a file is.
        case(
            format!("a,b\n{}{}", "1,x\n".repeat(20_000), "\0".repeat(4096)),
            new(),
            (20_002, None),
            &["NUL byte", "power cut"],
        ),
        case("a\0,\0b\0\n\0", new(), (1, None), &["UTF-16", "save it as UTF-8"]),
        case("PK\u{3}\u{4}\0\0", new(), (1, None), &["a zip archive", "CSV UTF-8"]),
        case("a\n1\n", new().skip_lines(9), (2, None), &["skipLines"]),
    ]
}

/// Lines that are not rows made every column one of texts, and nothing said so.
fn other_lines() -> Vec<Case> {
    vec![
        // A title.
        case(
            "Messung vom 2025-01-06\nkanal;wert\n1;2\n2;3\n",
            new(),
            (2, None),
            &["line 1", "2 values", "';'", "skipLines to 1"],
        ),
        case(
            "Messung, vom 2025-01-06\nTafel 3\n\nkanal;wert\n1,5;2\n2;3\n",
            new(),
            (4, None),
            &["skipLines to 3"],
        ),
        // Blanks between values.
        case(
            "t volts amps\n0.0 1.5 0.1\n0.1 1.6 0.2\n",
            new(),
            (1, None),
            &["3 values", "blanks", "separator to \" \""],
        ),
        case(
            "date time value\n2024-01-31 00:00:01 1.5\n2024-01-31 00:00:02 1.6\n",
            new(),
            (1, None),
            &["3 values", "blanks"],
        ),
        case(
            "channel volts amps\nCH1 1.5 2\nCH2 1.6 3\n",
            new(),
            (1, None),
            &["3 values", "blanks"],
        ),
        case("t   volts\n0.0   1.5\n", new(), (1, None), &["2 values", "separator to \" \""]),
        case("time of day   volts\n0.0   1.5\n", new(), (1, None), &["2 values", "a comma"]),
        // Units below the names.
        case(
            "TIME,VOLTS,AMPS\ns,V,A\n0.0,1.5,0.1\n0.1,1.6,0.2\n",
            new(),
            (2, None),
            &["\"s,V,A\"", "no numbers", "unitsLine", "skipLines to 1", "columnTypes"],
        ),
        // The names below a line of other things.
        case(
            "Model,MSO44\n\nTIME,CH1\n-1.0E-3,0.04\n-0.9E-3,0.08\n",
            new(),
            (3, None),
            &["\"TIME,CH1\"", "skipLines to 2"],
        ),
        // Rows that are shorter than their header.
        case(
            "X,CH1,CH2,Start,Increment,\n0,3.28e+00,9.60e-01,\n1,3.20e+00,9.60e-01,\n",
            new(),
            (2, None),
            &["4 values", "line 1", "shortRows"],
        ),
        // A comment that has the names.
        case(
            "#a,b\n1,2\n",
            new().comment_prefix("#a"),
            (2, None),
            &["looks like values", "line 1 begins with \"#a\"", "commentPrefix"],
        ),
        case("#a,b\nx,y\n", new(), (2, None), &["no rows", "line 1 begins with", "comment"]),
    ]
}

/// What may be meant otherwise is imported as it is, and told.
#[test]
fn what_may_be_meant_otherwise_is_told_with_its_line() {
    let (_store, session) = session();
    for (text, types, parts) in [
        // The lines before the header have as many values.
        (
            "Rig,R44\nFirmware Version,1.2.3\n\nLabel,\n\nTIME,CH1\n-1.0E-3,0.04\n\
             -0.9E-3,0.08\n",
            &[DataType::String, DataType::String][..],
            &["\"Rig\"", "\"R44\"", "\"TIME\" in line 6", "skipLines to 5"][..],
        ),
        // A note beside the numbers, so that units leave a column of texts.
        (
            "t,v,note\ns,V,\n0.5,1.5,a\n0.6,1.6,b\n",
            &[DataType::String; 3],
            &["\"t\"", "\"s\" in line 2", "\"v\"", "\"V\" in line 2"],
        ),
        (
            "station;cycles;volts\nA;1,234;0.51\nB;5,678;0.52\nC;9,012;0.53\n",
            &[DataType::String, DataType::String, DataType::Float64],
            &["\"cycles\"", "\"1,234\" in line 2", "\"0.51\" in line 2", "decimalSeparator"],
        ),
        (
            "station\tcycles\nA\t1,234\nB\t5,678\nC\t12,345\n",
            &[DataType::String, DataType::String],
            &["\"cycles\"", "\"1,234\" in line 2", "thousands", "decimalSeparator"],
        ),
        ("day,v\n01/02/2024,1\n", &[DataType::String, DataType::Int64], &["dateOrder"]),
        // Points that may separate thousands, where nothing decides.
        (
            "no;cycles\n1;1.234\n2;12.345\n",
            &[DataType::Int64, DataType::Float64],
            &["\"cycles\"", "\"1.234\" in line 2", "thousands", "decimalSeparator"],
        ),
        // Marks between thousands that no option reads.
        (
            "no;a;b\n1;1'234;1 234\n2;1'235;1 235\n",
            &[DataType::Int64, DataType::String, DataType::String],
            &["\"a\"", "\"1'234\" in line 2", "\"b\"", "\"1 234\" in line 2", "thousands"],
        ),
        // Blanks between thousands before a decimal comma, as French spreadsheets write.
        (
            "t;v\n0;1 234,5\n1;1 235,5\n2;-0,5\n",
            &[DataType::Int64, DataType::String],
            &["\"v\"", "\"1 234,5\" in line 2", "thousands"],
        ),
        // Numbers that begin with zeros, and are no codes.
        (
            "no,v,w\n1,+0230.12E+00,007\n2,+0230.15E+00,008\n",
            &[DataType::Int64, DataType::String, DataType::String],
            &["\"v\"", "\"+0230.12E+00\" in line 2", "begins with a zero"],
        ),
        // Units behind numbers.
        (
            "t,share,v\n1,95%,5.001 V DC\n2,96.5 %,5.002 V DC\n",
            &[DataType::Int64, DataType::String, DataType::String],
            &["\"95%\" in line 2 has a unit behind its number", "\"5.001 V DC\" in line 2"],
        ),
        // Numbers in spellings that are not read.
        (
            "t,v,w,x\n1,(5.00),$6.50,4.7k\n2,6.00,7.00,10u\n3,7.00,8.00,5\n",
            &[DataType::Int64, DataType::String, DataType::String, DataType::String],
            &[
                "\"(5.00)\" in line 2 is in brackets",
                "\"$6.50\" in line 2 has the sign of a currency",
                "\"4.7k\" in line 2 has a letter behind it",
            ],
        ),
        (
            "t,v,w\n1,5.00-,'1'\n2,6.00-,'2'\n",
            &[DataType::Int64, DataType::String, DataType::String],
            &[
                "\"5.00-\" in line 2 has its sign behind it",
                "\"'1'\" in line 2 is in single quotes",
            ],
        ),
        // Texts of which half are numbers or times.
        (
            "day,v\n2024-02-28,-\n2024-02-30,3.5\n",
            &[DataType::String; 2],
            &["\"2024-02-30\" in line 3 is no number", "\"v\"", "1 of the first 2"],
        ),
        (
            "at,v\n10:00:00.5,1\n10:00:01.5,2\n",
            &[DataType::String, DataType::Int64],
            &["\"10:00:00.5\" in line 2 is a time of a day without a date"],
        ),
        // Codes that are numbers as well.
        (
            "no,part\n1,12E4\n2,13E5\n",
            &[DataType::Int64, DataType::Float64],
            &["\"part\": \"12E4\" in line 2 was read as a number with an exponent", "columnTypes"],
        ),
        // The last line is no row.
        (
            "t,v\n1,2.5\n2,3.5\n3,4.5\nEND,END\n",
            &[DataType::String; 2],
            &["\"t\"", "\"END\" in line 5", "3 of the first 4", "nullTexts"],
        ),
        (
            "t,v\n1,2.5\n2,OVERLOAD\n3,4.5\n",
            &[DataType::Int64, DataType::String],
            &["\"v\"", "\"OVERLOAD\" in line 3", "2 of the first 3"],
        ),
        // No line has the names.
        (
            "SN1,5.01,1\nSN2,5.02,2\nSN3,5.03,3\n",
            &[DataType::String, DataType::Float64, DataType::Int64],
            &["line 1 has \"5.01\" as the name", "1 others", "header to false"],
        ),
        (
            "2024-01-31 12:00:00,ok,x\n2024-01-31 12:00:01,ok,y\n",
            &[DataType::Timestamp, DataType::String, DataType::String],
            &["line 1 has \"2024-01-31 12:00:00\" as the name", "header to false"],
        ),
        // A file that was cut within its last number.
        (
            "a,b\n1,2.25\n2,6.",
            &[DataType::Int64, DataType::Float64],
            &["line 3 has no line end", "its last value may be cut off"],
        ),
        // Milliseconds behind a colon, as BenchLink writes them.
        (
            "t,v\n1/31/2024 12:00:00:123,END\n1/31/2024 12:00:01:123,END\n",
            &[DataType::Timestamp, DataType::String],
            &[],
        ),
        // More digits than a float keeps.
        (
            "t,v\n1,1706709910.123456789\n2,1.5\n",
            &[DataType::Int64, DataType::Float64],
            &["\"v\"", "\"1706709910.123456789\" in line 2", "more digits"],
        ),
        (
            "#serial,part\nA1,x\nA2,y\n",
            &[DataType::String; 2],
            &["line 1 begins with \"#\"", "comment", "commentPrefix"],
        ),
    ] {
        let answer = session.import_csv(new(), &mut text.as_bytes(), &Control::default()).unwrap();
        let found: Vec<DataType> =
            answer.columns.iter().skip(1).map(|column| column.data_type).collect();
        assert_eq!(found, types, "{text:?}");
        let told = answer.warnings.join("\n");
        for part in parts {
            assert!(told.contains(part), "{text:?}: {part:?} is not in {told}");
        }
    }
    // A time that occurs twice in its zone.
    let text = "t,v\n2024-10-27 01:30:00,1\n2024-10-27 02:30:00,2\n";
    let answer = session.import_csv(
        new().time_zone("Europe/Berlin"),
        &mut text.as_bytes(),
        &Control::default(),
    );
    let told = answer.unwrap().warnings.join("\n");
    assert!(told.contains("\"t\" is text: \"2024-10-27 02:30:00\" in line 3 occurs"), "{told}");
    // What is as it seems is not warned of.
    for text in [
        "a,b\n1,x\n2,y\n",
        // A point that can only be a decimal mark decides for the file.
        "a;b;c\n1;1.234;0.5\n2;1.235;12.25\n",
        "a,b\n1,1.234\n2,1.235\n",
        "a,b\n1,0.10000000000000001\n2,1.7976931348623157e308\n",
        "a,b\n1,\"\"\n2,2.5\n",
        "# a note\na,b\n1,2\n",
        "serial no\nA 1\nB 2\n",
        // Names of places, and codes of digits.
        "seat,part\n12A,007\n14C,008\n",
        "address\n1 Main Street\n2 Main Street\n",
        "when\n2024-01-31 14:05\n2024-01-31 14:06\n",
        "note\nhello\na;b\nc;d\n",
    ] {
        let answer = session.import_csv(new(), &mut text.as_bytes(), &Control::default()).unwrap();
        assert_eq!(answer.warnings, Vec::<String>::new(), "{text:?}");
    }
}

/// Older C programs have their own spellings of numbers that are none, and editors put in another minus.
#[test]
fn other_spellings_of_numbers_are_read() {
    let (_store, session) = session();
    let text = "v,w\n1.#INF,\u{2212}5.5\n-1.#INF00,6\n-1.#IND,7\n1.#QNAN,- 8\n0.5,9\n";
    for (data_type, request) in [
        (DataType::Float64, new()),
        (
            DataType::Float32,
            new().column_types([("v", DataType::Float32), ("w", DataType::Float32)]),
        ),
    ] {
        let answer =
            session.import_csv(request, &mut text.as_bytes(), &Control::default()).unwrap();
        assert!(answer.columns.iter().skip(1).all(|column| column.data_type == data_type));
        let id = answer.id.unwrap();
        let page = session.query_table_data(&id, QueryTableDataRequest::new()).unwrap();
        let data = page.frame.to_data_frame().data;
        let rows: Vec<[String; 2]> =
            data.iter().map(|row| [1, 2].map(|at| row[at].clone().unwrap_or_default())).collect();
        let expected =
            [["Infinity", "-5.5"], ["-Infinity", "6"], ["NaN", "7"], ["NaN", "-8"], ["0.5", "9"]];
        let plain = |text: &String| text.trim_end_matches(".0").to_owned();
        let rows: Vec<[String; 2]> = rows.iter().map(|row| row.each_ref().map(plain)).collect();
        assert_eq!(rows, expected);
    }
}

/// Programs that quote every value have no other form for a value that is absent.
#[test]
fn quoted_empty_cells_are_null_except_in_texts() {
    let (_store, session) = session();
    let text = "\"n\",\"v\",\"s\",\"t\"\n\"1\",\"\",\"a\",\"2024-01-31\"\n\
                \"\",\"2.5\",\"\",\"\"\n";
    let answer = session.import_csv(new(), &mut text.as_bytes(), &Control::default()).unwrap();
    let found: Vec<(DataType, i64)> =
        answer.columns.iter().skip(1).map(|column| (column.data_type, column.null_count)).collect();
    let expected = [
        (DataType::Int64, 1),
        (DataType::Float64, 1),
        (DataType::String, 0),
        (DataType::Timestamp, 1),
    ];
    assert_eq!(found, expected);
    let error = session
        .import_csv(declared(DataType::Int64), &mut &b"i,v\n\"\",\"1\"\n"[..], &Control::default())
        .unwrap_err();
    assert!(error.message().contains("not NULLABLE"), "{error}");
}

#[test]
fn what_does_not_fit_is_refused_with_place_value_and_fix() {
    let (_store, session) = session();
    for Case { text, request, line, column, parts } in
        late_values().into_iter().chain(declared_values()).chain(forms()).chain(other_lines())
    {
        let start: String = text.chars().take(60).collect();
        let error = session
            .import_csv(request, &mut text.as_bytes(), &Control::default())
            .expect_err(&start);
        let place = Place::Line { line, column: column.map(str::to_owned) };
        assert_eq!(error.place(), Some(&place), "{start:?}: {error}");
        for part in parts {
            assert!(error.message().contains(part), "{start:?}: {part:?} is not in {error}");
        }
    }
    assert_eq!(session.list_tables(ListTablesRequest::default()).unwrap().tables.len(), 0);
}

#[test]
fn a_request_that_cannot_be_is_refused_with_its_member() {
    let (_store, session) = session();
    let types = |name: &str| new().column_types([(name, DataType::Float64)]);
    for (request, member, part) in [
        (new().separator(";;"), "separator", "one character"),
        (new().separator("\""), "separator", "comma"),
        (new().decimal_separator(";"), "decimalSeparator", "point or a comma"),
        (new().skip_lines(-1), "skipLines", "negative"),
        (new().time_zone("Mars/Base"), "timeZone", "Europe/Berlin"),
        (new().time_zone("+99:00"), "timeZone", "+02:00"),
        (new().index_column("x"), "indexColumn", "\"a\", \"b\""),
        (types("x"), "columnTypes", "\"a\", \"b\""),
        (declared(DataType::Bool).column_types([("v", DataType::Bool)]), "columnTypes", "inferred"),
        (declared(DataType::Bool).index_column("v"), "indexColumn", "inferred"),
        (new().null_texts(vec!["x"; 10_001]), "nullTexts", "10000"),
    ] {
        let error =
            session.import_csv(request, &mut &b"a,b\n1,x\n"[..], &Control::default()).unwrap_err();
        assert_eq!(error.place(), Some(&Place::Member(member.to_owned())), "{error}");
        assert!(error.message().contains(part), "{member}: {error}");
    }
}

/// Each fix that a message offers is one.
#[test]
fn the_offered_options_read_what_was_refused() {
    let (_store, session) = session();
    let float = |request: ImportTableRequest| request.column_types([("v", DataType::Float64)]);
    let fine = "2024-01-31 00:00:00.0015";
    for (text, request) in [
        ("t v\n0.0 1.5\n".to_owned(), new().separator(" ")),
        ("a;b\n1,234;x\n".to_owned(), new().decimal_separator(",")),
        (late("7", "7.5"), float(new())),
        (late("7", "n.a."), new().null_texts(["n.a."])),
        (
            late("2024-01-31 00:00:00.001", fine),
            new().column_types([("v", DataType::TimestampMicros)]),
        ),
        (late("7", "0042"), new().column_types([("v", DataType::String)])),
        (late("7", "0042"), new().column_types([("v", DataType::Int64)])),
        (late("7.5", "9007199254740993"), float(new())),
        (late("2024-01-31T00:00:00Z", "2024-01-31T00:00:00"), new().time_zone("UTC")),
        (late("2024-01-31T00:00:00", "2024-01-31T00:00:00Z"), new()),
        // Zeros alone, and zeros before a mark, are numbers.
        (late("7", "0"), new()),
        (late("7.5", "-0.5"), new()),
        (late("", "48.1"), float(new())),
        (late("", "48.1"), new().column_types([("v", DataType::String)])),
        (late("", "a note"), new()),
        (late("7", "9007199254740993"), new()),
        (late("2024-01-31 00:00:00.001", fine), new().cut_times(true)),
        ("i,v\n1,\"1,5\"\n".to_owned(), float(new()).decimal_separator(",")),
        ("v\n".to_owned(), float(new())),
        ("i,v\n1,01/02/2024\n".to_owned(), new().date_order(DateOrder::DayFirst)),
    ] {
        let start: String = text.chars().take(60).collect();
        let lines = text.lines().count() as i64 - 1;
        let answer = session.import_csv(request, &mut text.as_bytes(), &Control::default());
        assert_eq!(answer.unwrap_or_else(|error| panic!("{start:?}: {error}")).row_count, lines);
    }
}

/// A warning names lines behind the first 64 KiB, too.
#[test]
fn lines_are_skipped_wherever_the_header_is() {
    let (_store, session) = session();
    let text = "Note,of some length\n".repeat(6_000) + "t,v\n0,1.5\n1,2.5\n";
    let import = |request: ImportTableRequest| {
        session.import_csv(request, &mut text.as_bytes(), &Control::default())
    };
    let told = import(new()).unwrap().warnings.join("\n");
    assert!(told.contains("\"t\" in line 6001") && told.contains("skipLines to 6000"), "{told}");
    let answer = import(new().skip_lines(6_000)).unwrap();
    assert_eq!((answer.row_count, answer.header_line), (2, Some(6_001)));
    let names: Vec<&str> = answer.columns.iter().map(|column| column.name.as_str()).collect();
    assert_eq!(names, ["row", "t", "v"]);
    let error = import(new().skip_lines(6_003)).unwrap_err();
    assert_eq!(error.place(), Some(&Place::Line { line: 6_003, column: None }), "{error}");
}

/// The report names each offset of the first rows once.
#[test]
fn offsets_of_times_are_all_told() {
    let (_store, session) = session();
    let text = "t,v\n2024-01-31T10:00:00+01:00,1\n2024-01-31T10:00:00Z,2\n\
                2024-01-31T10:00:00+01:00,3\n";
    let answer = session.import_csv(new(), &mut text.as_bytes(), &Control::default()).unwrap();
    let times = answer.columns.iter().find(|column| column.name == "t").unwrap();
    assert_eq!(times.data_type, DataType::Timestamp);
    assert_eq!(times.time_zone.as_deref(), Some("+01:00, UTC"));
}
