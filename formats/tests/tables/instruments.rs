//! Files of instruments, loggers and spreadsheets, each with the table that it becomes.

use crate::prelude::*;

use super::dialects::{File, session};

/// A file with the preset that is found, and some of what its header says.
#[derive(serde::Deserialize)]
struct Instrument {
    preset: String,
    #[serde(flatten)]
    file: File,
    properties: BTreeMap<String, String>,
    units: BTreeMap<String, String>,
    /// The property `processing` of columns.
    #[serde(default)]
    processing: BTreeMap<String, String>,
}

#[derive(serde::Deserialize)]
struct Corpus {
    file: Vec<Instrument>,
}

fn corpus() -> Vec<Instrument> {
    toml::from_str::<Corpus>(include_str!("../corpus/instruments.toml")).unwrap().file
}

fn import(session: &Session, request: ImportTableRequest, text: &str) -> ImportTableResponse {
    session
        .import_csv(request, &mut text.as_bytes(), &Control::default())
        .unwrap_or_else(|error| panic!("{error}\n{text}"))
}

#[test]
fn files_of_instruments_become_their_tables() {
    let (_store, session) = session();
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for Instrument { preset, file, properties, units, processing } in corpus() {
        let name = format!("{preset}, {}", file.name);
        let answer = import(&session, file.request(), file.text());
        file.check(&session, &answer, false);
        // What was assumed is told, with the member that decides.
        let told = answer.warnings.first().unwrap_or_else(|| panic!("{name}"));
        assert!(told.starts_with(&format!("read as {preset} ")), "{name}: {told}");
        assert!(told.contains("preset NONE"), "{name}: {told}");
        let table = session.get_table_metadata(&answer.id.unwrap()).unwrap();
        let found = table.properties.unwrap_or_default();
        for (key, value) in &properties {
            assert_eq!(found.get(key), Some(value), "{name}: {key} of {found:#?}");
        }
        for (all, key) in [(&units, "unit"), (&processing, "processing")] {
            for (column, text) in all {
                let columns = table.columns.as_deref().unwrap();
                let about = columns.iter().find(|about| about.name == *column).unwrap();
                assert_eq!(about.properties.get(key), Some(text), "{name}: {column}");
            }
        }
        *counts.entry(preset).or_default() += 1;
    }
    // Three files of each maker; Campbell's second format is of the same loggers.
    for (preset, count) in counts {
        assert!(count >= 3 || preset == "CAMPBELL_TOACI1", "{preset} has {count} files");
    }
}

/// What a report says of a text beside its first line.
#[test]
fn what_a_header_does_not_say_and_further_blocks_are_told() {
    let (_store, session) = session();
    let traces = "Type;FSV;\nVersion;1.0;\nx-Unit;Hz;\nTrace;1;;\nValues;2;\n1000;-1.5;\n\
                  2000;-2.5;\nTrace;2;;\nValues;2;\n1000;-3.5;\n2000;-4.5;\n";
    let hioki = "\"HIOKI 8847\",\"V 1.00\",\"24-01-31\",\"MEM\"\n\"SAMPLING\",\"fast\"\n\"CH1[V]\",\
                 \"CH2[V]\"\n1.0,2.0\n1.1,2.1\n";
    for (text, part) in [
        (traces.to_owned(), "line 8 (\"Trace;2;;\") begins another block"),
        (hioki.to_owned(), "\"SAMPLING\" is \"fast\", which is no interval"),
        (
            hioki.replace("fast\"", "1s\"\n\"START\",\"14:05:10\""),
            "begins with 0, as \"START\" is \"14:05:10\"",
        ),
    ] {
        let told = import(&session, ImportTableRequest::new(), &text).warnings.join("\n");
        assert!(told.contains(part), "{part}: {told}");
    }
}

/// Two captures in other units are told, as their numbers are stored as they are.
#[test]
fn appended_units_that_differ_are_told() {
    let (_store, session) = session();
    let first = "Time,Channel A\n(ms),(V)\n\n0,1.5\n1,1.6\n";
    let id = import(&session, ImportTableRequest::new(), first).id.unwrap().to_string();
    let append =
        |text: &str| import(&session, ImportTableRequest::new().id(&id), text).warnings.join("\n");
    assert!(!append(first).contains("other units"));
    let told = append("Time,Channel A\n(us),(mV)\n\n2,1500\n3,1600\n");
    for part in [
        "\"Time\" has \"us\", and \"ms\" in the table",
        "\"Channel A\" has \"mV\", and \"V\" in the table",
    ] {
        assert!(told.contains(part), "{part}: {told}");
    }
    // Times that are made from a header, too.
    let clock = "Model,X\nSampling interval,1s\nCH1,CH2\n1.0,2.0\n1.1,2.1\n";
    let new = || ImportTableRequest::new().preset("INSTRUMENT");
    let columns = [
        Column::new("time", DataType::Float64).column_type(ColumnType::Nullable).unit("ms"),
        Column::new("CH1", DataType::Float64).column_type(ColumnType::Nullable),
        Column::new("CH2", DataType::Float64).column_type(ColumnType::Nullable),
        Column::new("row", DataType::Int64)
            .column_type(ColumnType::Index)
            .properties([("rowNumber", "true")]),
    ];
    let id = session.create_table(CreateTableRequest::new(columns)).unwrap().to_string();
    let told = import(&session, new().id(&id), clock).warnings.join("\n");
    assert!(told.contains("\"time\" has \"s\", and \"ms\" in the table"), "{told}");
}

/// The texts of a header of several lines are found by `preset`, and `NONE` reads the plain text.
#[test]
fn a_preset_is_one_of_the_known_names_or_none() {
    let (_store, session) = session();
    let text = "in s,C1 in V\n0.5,1.5\n0.75,2.5\n";
    let names = |request: ImportTableRequest| -> Vec<String> {
        let answer = import(&session, request, text);
        answer.columns.into_iter().skip(1).map(|column| column.name).collect()
    };
    assert_eq!(names(ImportTableRequest::new()), ["time", "C1"]);
    assert_eq!(names(ImportTableRequest::new().preset("NONE")), ["in s", "C1 in V"]);
    let request = ImportTableRequest::new().preset("TEKTRONIX");
    let error = session.import_csv(request, &mut text.as_bytes(), &Control::default()).unwrap_err();
    assert_eq!(error.place(), Some(&Place::Member("preset".to_owned())), "{error}");
    assert!(error.message().contains("TEKTRONIX_MSO"), "{error}");
}

/// Each assumption about a plain text is an option.
#[test]
fn options_say_what_a_text_does_not() {
    let (_store, session) = session();
    let new = ImportTableRequest::new;
    let cases: [(&str, ImportTableRequest, &[&str], &[&[&str]]); 9] = [
        (
            "1,2.5\n2,3.5\n",
            new().header(false),
            &["column_1", "column_2"],
            &[&["1", "2.5"], &["2", "3.5"]],
        ),
        ("t,v\ns,V\n1,2.5\n", new().units_line(true), &["t", "v"], &[&["1", "2.5"]]),
        ("t,v\n1,2.5\n2\n", new().short_rows(true), &["t", "v"], &[&["1", "2.5"], &["2", "~"]]),
        ("t,v\n1,2.5\n\nsum,2.5\n", new().footer_lines(2), &["t", "v"], &[&["1", "2.5"]]),
        (
            "t,v,,t,v\n1,2.5,,3,4.5\n",
            new().side_by_side(true),
            &["t", "v", "t_2", "v_2"],
            &[&["1", "2.5", "3", "4.5"]],
        ),
        (
            "v\n2.5\n3.5\n",
            new().sample_interval("0.5"),
            &["time", "v"],
            &[&["0", "2.5"], &["0.5", "3.5"]],
        ),
        (
            "v\n2.5\n3.5\n",
            new().sample_interval("0.001").start_time("2024-01-31 12:00"),
            &["time", "v"],
            &[
                &["2024-01-31T12:00:00.000000000Z", "2.5"],
                &["2024-01-31T12:00:00.001000000Z", "3.5"],
            ],
        ),
        (
            "t   v\n 1   2.5  \n10\t3.5\n",
            new().separator(" "),
            &["t", "v"],
            &[&["1", "2.5"], &["10", "3.5"]],
        ),
        ("\"a b\" c\n\"x  y\" 2.5\n", new().separator(" "), &["a b", "c"], &[&["x  y", "2.5"]]),
    ];
    for (text, request, names, rows) in cases {
        let answer = import(&session, request, text);
        let found: Vec<&str> =
            answer.columns.iter().skip(1).map(|column| column.name.as_str()).collect();
        assert_eq!(found, names, "{text}");
        let cell = |text: &&str| (*text != "~").then(|| (*text).to_owned());
        let expected: Vec<Vec<Option<String>>> =
            rows.iter().map(|row| row.iter().map(cell).collect()).collect();
        let table = super::dialects::rows(&session, &answer);
        let table: Vec<Vec<Option<String>>> =
            table.into_iter().map(|row| row[1..].to_vec()).collect();
        assert_eq!(table, expected, "{text}");
    }
}

/// Spreadsheets save "Unicode text" in UTF-16 with a mark, and loggers of Keysight do.
#[test]
fn texts_in_utf_16_become_the_tables_of_their_characters() {
    let (_store, session) = session();
    let directory = tempfile::tempdir().unwrap();
    let text = "\u{feff}Time\tTemp (°C)\tnote\r\n0,5\t23,25\tgrößer 😀\r\n1,5\t23,5\t\r\n";
    for (name, bytes) in
        [("a.txt", u16::to_le_bytes as fn(u16) -> [u8; 2]), ("b.csv", u16::to_be_bytes)]
    {
        let path = directory.path().join(name);
        let mut bytes: Vec<u8> = text.encode_utf16().flat_map(bytes).collect();
        std::fs::write(&path, &bytes).unwrap();
        let answer =
            session.import_file(ImportTableRequest::new(), &path, None, &Control::default());
        let answer = &answer.unwrap()[0];
        let found: Vec<(&str, DataType)> = answer
            .columns
            .iter()
            .skip(1)
            .map(|column| (column.name.as_str(), column.data_type))
            .collect();
        let expected = [
            ("Time", DataType::Float64),
            ("Temp (°C)", DataType::Float64),
            ("note", DataType::String),
        ];
        assert_eq!(found, expected, "{name}");
        let rows = super::dialects::rows(&session, answer);
        let cells: Vec<Option<&str>> = rows.iter().flatten().map(Option::as_deref).collect();
        let expected = ["0", "0.5", "23.25", "größer 😀", "1", "1.5", "23.5"].map(Some);
        assert_eq!(cells, [&expected[..], &[None]].concat(), "{name}");
        // Half of a character at the end.
        bytes.extend_from_slice(if name == "a.txt" { b"\x3d\xd8" } else { b"\xd8\x3d" });
        std::fs::write(&path, &bytes).unwrap();
        let error = session
            .import_file(ImportTableRequest::new(), &path, None, &Control::default())
            .unwrap_err();
        assert!(error.to_string().contains("line 4"), "{error}");
    }
}

/// Loggers and spreadsheets of Western Europe save degrees and micros in one byte each.
#[test]
fn texts_in_windows_1252_are_read_and_it_is_told() {
    let (_store, session) = session();
    let read = |request: ImportTableRequest, bytes: &[u8]| {
        session.import_csv(request, &mut &*bytes, &Control::default())
    };
    let new = ImportTableRequest::new;
    let text = b"Zeit;Temp (\xb0C);Str\xf6mung (\xb5m/s)\r\n0,5;23,25;1,5\r\n1,5;23,5;2,5\r\n";
    let names = |answer: &ImportTableResponse| -> Vec<String> {
        answer.columns.iter().skip(1).map(|column| column.name.clone()).collect()
    };
    let answer = read(new(), text).unwrap();
    assert_eq!(names(&answer), ["Zeit", "Temp (°C)", "Strömung (µm/s)"]);
    assert_eq!(
        answer.warnings,
        [
            "line 1 has bytes that are not UTF-8, so the text was read as Windows-1252; encoding says \
          otherwise"
        ]
    );
    let rows = super::dialects::rows(&session, &answer);
    assert_eq!(rows[1][1..], ["1.5", "23.5", "2.5"].map(|text| Some(text.to_owned())));
    // The first of such bytes may come late.
    let late = [&b"i,note\n"[..], &b"1,ok\n".repeat(40_000), b"2,20 \xb0C\n"].concat();
    let answer = read(new(), &late).unwrap();
    assert!(answer.warnings[0].contains("line 40002 has bytes"), "{:?}", answer.warnings);
    let rows = session.get_table_metadata(&answer.id.unwrap()).unwrap().row_count;
    assert_eq!(rows, Some(40_001));
    // A preset finds units in them, and an encoding that is said is no assumption.
    let tagged = b"Zeit;Kanal A\r\n(\xb5s);(mV)\r\n\r\n0,5;1,5\r\n1,5;2,5\r\n";
    let answer = read(new().encoding("windows-1252"), tagged).unwrap();
    assert!(answer.warnings.iter().all(|told| !told.contains("UTF-8")), "{:?}", answer.warnings);
    let table = session.get_table_metadata(&answer.id.unwrap()).unwrap();
    assert_eq!(table.columns.unwrap()[1].properties["unit"], "µs");
    let euro = b"p\n\x80\n\x80\n";
    let answer = read(new().encoding("ISO-8859-1").null_texts(["\u{80}"]), euro).unwrap();
    assert_eq!(answer.columns[1].null_count, 2);
    // A text of UTF-8 that is damaged is no text of another encoding.
    for (request, bytes, place) in [
        (new(), &b"t,\xc3\xb6\n1,2\n3,\xff\n"[..], Place::Line { line: 3, column: None }),
        (new().encoding("UTF-8"), b"t,v\n1,\xb5\n", Place::Line { line: 2, column: None }),
        (new(), b"t,v\n1,\x81\n", Place::Line { line: 2, column: None }),
        (new().encoding("cp437"), b"t,v\n1,2\n", Place::Member("encoding".to_owned())),
    ] {
        let error = read(request, bytes).unwrap_err();
        assert_eq!(error.place(), Some(&place), "{error}");
        assert!(error.message().contains("encoding"), "{error}");
    }
}

/// Spreadsheets write years with two digits in many countries.
#[test]
fn dates_with_years_of_two_digits_need_their_order() {
    let (_store, session) = session();
    let texts = [
        ("Datum;U\n31.01.24 14:05;1,5\n01.02.24 14:06;2,5\n", DateOrder::DayFirst),
        ("Date,U\n1/31/24 2:05 PM,1.5\n2/1/24 2:06 PM,2.5\n", DateOrder::MonthFirst),
        ("Date,U\n24-01-31 14:05,1.5\n24-02-01 14:06,2.5\n", DateOrder::YearFirst),
    ];
    for (text, order) in texts {
        let answer = import(&session, ImportTableRequest::new(), text);
        assert_eq!(answer.columns[1].data_type, DataType::String, "{text}");
        let told = answer.warnings.join("\n");
        assert!(told.contains("two digits") && told.contains("dateOrder"), "{text}: {told}");
        let answer = import(&session, ImportTableRequest::new().date_order(order), text);
        let rows = super::dialects::rows(&session, &answer);
        let times: Vec<&str> = rows.iter().filter_map(|row| row[1].as_deref()).collect();
        let expected = ["2024-01-31T14:05:00.000Z", "2024-02-01T14:06:00.000Z"];
        assert_eq!(times, expected, "{text}");
        assert_eq!(answer.warnings, [""; 0], "{text}");
    }
}

/// A list of segments that its file does not keep is refused.
#[test]
fn segments_of_an_oscilloscope_are_as_its_header_lists_them() {
    let (_store, session) = session();
    let head =
        "LECROYWS434,1,Waveform\nSegments,2,SegmentSize,2\nSegment,TrigTime,TimeSinceSegment1\n";
    let first = "#1,31-Jan-2024 14:05:10,0\n";
    let rows = "Time,Ampl\n0,0.5\n1,0.5\n0,0.5\n1,0.5\n";
    let second = "#2,31-Jan-2024 14:05:11,1\n";
    for (text, part) in [
        (format!("{head}{first}{rows}"), "lists the triggers of 1"),
        (format!("{head}{first}{second}{rows}0,0.5\n"), "more rows than the 2"),
    ] {
        let request = ImportTableRequest::new();
        let error =
            session.import_csv(request, &mut text.as_bytes(), &Control::default()).unwrap_err();
        assert!(error.message().contains(part), "{error}");
    }
    assert_eq!(session.list_tables(ListTablesRequest::default()).unwrap().tables.len(), 0);
    // They go on in a table that has them.
    let text = format!("{head}{first}{second}{rows}");
    let answer = import(&session, ImportTableRequest::new(), &text);
    assert!(answer.warnings.iter().any(|told| told.contains("2 segments of 2 rows")));
    let again = ImportTableRequest::new().id(answer.id.clone().unwrap().to_string());
    let answer = import(&session, again, &text);
    let numbers: Vec<Option<String>> =
        super::dialects::rows(&session, &answer).into_iter().map(|row| row[1].clone()).collect();
    assert_eq!(numbers, ["1", "1", "2", "2", "1", "1", "2", "2"].map(|at| Some(at.to_owned())));
}

/// A list of many segments is longer than what is read at first.
#[test]
fn a_header_may_be_long() {
    const SEGMENTS: usize = 5_000;
    let (_store, session) = session();
    let mut text = format!("LECROYWS434,1,Waveform\r\nSegments,{SEGMENTS},SegmentSize,2\r\n");
    text += "Segment,TrigTime,TimeSinceSegment1\r\n";
    for at in 1..=SEGMENTS {
        text += &format!("#{at},31-Jan-2024 14:05:10,{}\r\n", at - 1);
    }
    assert!(text.len() > 64 * 1024);
    text += "Time,Ampl\r\n";
    text += &"0,0.5\r\n1,0.25\r\n".repeat(SEGMENTS);
    let answer = import(&session, ImportTableRequest::new(), &text);
    assert!(answer.warnings[0].starts_with("read as LECROY "), "{:?}", answer.warnings);
    assert_eq!(answer.row_count, 2 * SEGMENTS as i64);
    let control = Control::default();
    let stream = session.scan(&answer.id.unwrap(), ScanRequest::new(), &control).unwrap();
    let batch = stream.map(Result::unwrap).last().unwrap();
    let rows = stationdb::tables::readers::batch_rows(&batch);
    let cell = |at: usize| rows.last().unwrap()[at].as_deref();
    assert_eq!((cell(1), cell(3), cell(5)), (Some("5000"), Some("4999"), Some("0.25")));
    // A header without end.
    let text = "LECROYWS434,1,Waveform\nSegment,a\n".to_owned()
        + &format!("note,{}\n", "x".repeat(500)).repeat(10_000);
    let error = session
        .import_csv(ImportTableRequest::new(), &mut text.as_bytes(), &Control::default())
        .unwrap_err();
    assert!(error.message().contains("first 4 MiB have no rows"), "{error}");
}

/// A number that instruments write instead of a value is told where no preset says that it is one.
#[test]
fn numbers_for_no_value_are_told_or_null() {
    let (_store, session) = session();
    let text = "t,ohms\n1,50.5\n2,+9.9E+37\n";
    let answer = import(&session, ImportTableRequest::new(), text);
    let told = answer.warnings.join("\n");
    assert!(told.contains("\"+9.9E+37\" in line 3") && told.contains("nullTexts"), "{told}");
    assert_eq!(answer.columns[2].null_count, 0);
    let request = ImportTableRequest::new().null_texts(["+9.9E+37"]);
    let answer = import(&session, request, text);
    assert_eq!((answer.columns[2].null_count, answer.warnings.len()), (1, 0));
    // With a preset, also behind the first rows, and nullTexts decides.
    let head = "x-axis,1\nsecond,Ohm\n";
    let text = format!("{head}{}2,9.91E+37\n", "1,2.5\n".repeat(20_000));
    let answer = import(&session, ImportTableRequest::new(), &text);
    assert_eq!(answer.columns[2].null_count, 1);
    assert!(answer.warnings[0].contains("9.91E+37 are null"), "{:?}", answer.warnings);
    let answer = import(&session, ImportTableRequest::new().null_texts([""; 0]), &text);
    assert_eq!(answer.columns[2].null_count, 0);
    assert!(!answer.warnings[0].contains("9.91E+37"), "{:?}", answer.warnings);
}

/// A quote in a value that does not begin with one is kept, and told once.
#[test]
fn quotes_in_values_are_kept_and_told() {
    let (_store, session) = session();
    let late = format!("i,note\n{}2,3.5\" probe\n3,=\"x\"\n", "1,ok\n".repeat(400_000));
    for (text, line) in [
        ("i,note\n1,3.5\" probe\n2,\"a\" \n", Some(2)),
        ("i,3.5\" probe\n1,a\n", Some(1)),
        ("i, \"note\" \n1, \"a\"\n", None),
        (&late, Some(400_002)),
    ] {
        let warnings = import(&session, ImportTableRequest::new(), text).warnings;
        let told = line.map(|line| {
            format!(
                "line {line} has a quote in a value that does not begin with one; such quotes are \
                 kept as they are"
            )
        });
        assert_eq!(warnings, told.into_iter().collect::<Vec<_>>());
    }
}

/// Numbers of a file of which each has its unit behind it become those of the column's unit.
#[test]
fn numbers_with_units_of_other_prefixes_are_converted() {
    let (_store, session) = session();
    let head = "Fluke 289,V1.16,95081087\nReading,Sample,Start Time,Duration\n";
    let text = |values: &[&str]| {
        let row = |(at, value)| format!("{at},{value},1/31/2024 14:05:10,0:00:10.0\n");
        head.to_owned() + &values.iter().enumerate().map(row).collect::<String>()
    };
    let samples = |answer: &ImportTableResponse| -> Vec<String> {
        let rows = super::dialects::rows(&session, answer).into_iter();
        rows.map(|row| row[2].clone().unwrap_or_default()).collect()
    };
    // The digits are rounded once, as those of the number in the other unit.
    let answer =
        import(&session, ImportTableRequest::new(), &text(&["1.1 mV", "0.7 \u{b5}V", "3 V"]));
    assert_eq!(samples(&answer), ["0.0011", "7e-7", "3"]);
    assert!(answer.columns[2].why.contains("converted to \"V\""), "{}", answer.columns[2].why);
    // The unit of the table decides for a second file.
    let id = answer.id.unwrap().to_string();
    let again = || ImportTableRequest::new().id(id.clone());
    let answer = import(&session, again(), &text(&["250.5 mV", "1.5 mV"]));
    assert_eq!(samples(&answer)[3..], ["0.2505", "0.0015"]);
    for (text, kind) in [
        (text(&["2 mA", "1.5 A"]), "unit \"A\" behind them"),
        // Behind the first rows.
        (
            text(&vec!["1 V"; 20_000]) + "9,2 A,1/31/2024 14:05:10,0\n",
            "\"2 A\" is no number in \"V\"",
        ),
        // A number without its unit may be one in any.
        (
            text(&vec!["12.3 mV"; 20_000]) + "9,12.4,1/31/2024 14:05:10,0\n",
            "\"12.4\" is no number in \"mV\"",
        ),
    ] {
        let request = if text.len() < 1000 { again() } else { ImportTableRequest::new() };
        let error =
            session.import_csv(request, &mut text.as_bytes(), &Control::default()).unwrap_err();
        assert!(error.message().contains(kind), "{error}");
    }
    let answer = import(&session, ImportTableRequest::new(), &text(&["2 mA", "2 V"]));
    let told = answer.warnings.join("\n");
    assert!(told.contains("\"Sample\" is text") && told.contains("\"2 V\""), "{told}");
}

/// The milliseconds of a logger stand in a column of their own.
#[test]
fn milliseconds_beside_a_time_belong_to_it() {
    let (_store, session) = session();
    let head = "Vendor,GRAPHTEC Corporation\nData\nNumber,Date&Time,ms,CH1\nNO.,Time,ms,V\n";
    let row = "1,2024/01/31 14:05:10,250,1.5\n";
    let answer = import(&session, ImportTableRequest::new(), &format!("{head}{row}"));
    assert!(answer.columns[2].why.contains("milliseconds"), "{}", answer.columns[2].why);
    // Also in a table that exists.
    let again = ImportTableRequest::new().id(answer.id.unwrap().to_string());
    let answer = import(&session, again, &format!("{head}{row}"));
    let rows = super::dialects::rows(&session, &answer);
    let times: Vec<&str> = rows.iter().filter_map(|row| row[2].as_deref()).collect();
    assert_eq!(times, ["2024-01-31T14:05:10.250Z"; 2]);
    let late = format!("{head}{}2,2024/01/31 14:05:11,1000,1\n", row.repeat(20_000));
    let error = session
        .import_csv(ImportTableRequest::new(), &mut late.as_bytes(), &Control::default())
        .unwrap_err();
    assert!(error.message().contains("\"1000\", which is no number from 0 to 999"), "{error}");
    let line = Place::Line { line: 20_005, column: Some("Date&Time".to_owned()) };
    assert_eq!(error.place(), Some(&line));
}

/// Names of channels without units are those of a logic analyser, and others are plain.
#[test]
fn plain_names_keep_their_units_and_are_no_preset() {
    let (_store, session) = session();
    for text in [
        "Time [s],CH1 [V]\n0.5,1\n0.75,2\n",
        "Time [s],Channel 0 [V]\n0.5,1\n0.75,2\n",
        "Time [s],pressure\n0.5,1\n0.75,2\n",
        "Time [s],Channel\n0.5,1\n0.75,2\n",
    ] {
        let answer = import(&session, ImportTableRequest::new(), text);
        assert_eq!(answer.warnings, [""; 0], "{text}");
        assert_eq!(answer.columns[1].name, "Time [s]", "{text}");
        let table = session.get_table_metadata(&answer.id.unwrap()).unwrap();
        let columns = table.columns.unwrap();
        let unit = |at: usize| columns[at].properties.get("unit").map(String::as_str);
        let expected = text.contains("[V]").then_some("V");
        assert_eq!((unit(1), unit(2)), (Some("s"), expected), "{text}");
    }
    // A column of texts has no unit.
    let answer = import(&session, ImportTableRequest::new(), "i,grade (A),I (A)\n1,x,1.5\n2,y,2\n");
    let table = session.get_table_metadata(&answer.id.unwrap()).unwrap();
    let units: Vec<bool> = table
        .columns
        .unwrap()
        .iter()
        .map(|column| column.properties.contains_key("unit"))
        .collect();
    assert_eq!(units, [false, false, false, true]);
}

/// Old programs end a text with Ctrl-Z.
#[test]
fn a_text_of_dos_ends_with_its_mark() {
    let (_store, session) = session();
    let read = |bytes: &[u8]| {
        session.import_csv(ImportTableRequest::new(), &mut &*bytes, &Control::default())
    };
    for bytes in [
        &b"t,v\r\n1,2.5\r\n2,3.5\r\n\x1a"[..],
        b"t,v\r\n1,2.5\r\n2,3.5\x1a",
        b"t,v\r\n1,2.5\r\n2,3.5\r\n\x1a\x1a\r\n\x1a\n",
        // Not UTF-8, and UTF-16.
        b"t,v\xb5\r\n1,2.5\r\n2,3.5\r\n\x1a",
        b"\xff\xfet\0,\0v\0\n\x001\0,\x002\0\n\x002\0,\x003\0\n\0\x1a\0",
    ] {
        let answer = read(bytes).unwrap_or_else(|error| panic!("{error}: {bytes:?}"));
        assert_eq!(answer.row_count, 2, "{bytes:?}");
        assert!(answer.columns.iter().all(|column| column.data_type.is_numeric()), "{bytes:?}");
    }
    let error = read(b"t,v\n1,2.5\n\x1a\n3,4.5\n").unwrap_err();
    assert!(error.message().contains("0x1A"), "{error}");
    assert_eq!(error.place(), Some(&Place::Line { line: 3, column: None }));
}

/// What an option or a header cannot mean is refused with its place.
#[test]
fn what_no_header_means_is_refused() {
    let (_store, session) = session();
    let new = ImportTableRequest::new;
    let line = |line| Place::Line { line, column: None };
    let member = |name: &str| Place::Member(name.to_owned());
    let cases: [(&str, ImportTableRequest, Place, &str); 7] = [
        ("v\n1\n", new().footer_lines(-1), member("footerLines"), "0 to 1000"),
        ("v\n1\n", new().footer_lines(1001), member("footerLines"), "0 to 1000"),
        ("v\n1\n", new().start_time("0"), member("startTime"), "sampleInterval"),
        ("in s,C1 in V\nno rows,here\n", new(), line(1), "no rows of numbers"),
        ("1,2\n3,4\n", new().preset("INSTRUMENT"), line(1), "header to false"),
        // A value behind the first rows in a place that has no name.
        (
            &format!("Time [s],Channel 0\n{}0.5,1,7\n", "0.5,1,\n".repeat(200)),
            new(),
            line(202),
            "place 3",
        ),
        ("t,t\n1,2\n", new().preset("INSTRUMENT").side_by_side(false), line(1), "the name \"t\""),
    ];
    for (text, request, place, part) in cases {
        let error =
            session.import_csv(request, &mut text.as_bytes(), &Control::default()).unwrap_err();
        assert_eq!(error.place(), Some(&place), "{text:?}: {error}");
        assert!(error.message().contains(part), "{text:?}: {error}");
    }
    assert_eq!(session.list_tables(ListTablesRequest::default()).unwrap().tables.len(), 0);
}

/// A header with more lines than a table gets properties, and with long ones.
#[test]
fn the_properties_of_a_header_are_bounded() {
    let (_store, session) = session();
    let mut text: String = (0..300).map(|at| format!("key {at},{at}\n")).collect();
    text.insert_str(0, &format!("long,{}\n", "x".repeat(5000)));
    text += "t,v\n1,2\n";
    let answer = import(&session, ImportTableRequest::new().preset("INSTRUMENT"), &text);
    assert!(answer.warnings[0].contains("101 of them are left out"), "{:?}", answer.warnings);
    let table = session.get_table_metadata(&answer.id.unwrap()).unwrap();
    let found = table.properties.unwrap();
    assert_eq!((found.len(), found["long"].len()), (200, 1000));
}
