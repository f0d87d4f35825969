//! One test for each rule of docs/lvm.md, with texts as LabVIEW writes them.

use stationdb::tables::{ColumnType, DataType, DateOrder, ImportTableRequest};
use stationdb::{ErrorKind, Place};

use crate::stage::{Stage, Table};

fn new() -> ImportTableRequest {
    ImportTableRequest::new()
}

/// A file of tabs and points with these fields, and these segments.
fn file(fields: &str, segments: &str) -> String {
    format!(
        "LabVIEW Measurement\t\r\nWriter_Version\t2\r\nSeparator\tTab\r\nDecimal_Separator\t.\r\n\
         {fields}***End_of_Header***\t\r\n\t\r\n{}",
        segments.replace('\n', "\r\n")
    )
}

/// A segment of two channels at quarters of a second, with these rows.
fn pair(rows: &str) -> String {
    format!(
        "Channels\t2\t\t\nSamples\t2\t2\t\nDate\t2024/01/31\t2024/01/31\t\n\
         Time\t14:05:10.5\t14:05:10.5\t\nY_Unit_Label\tV\tA\t\nX_Dimension\tTime\tTime\t\n\
         X0\t0.0\t0.0\t\nDelta_X\t0.25\t0.25\t\n***End_of_Header***\t\t\t\n\
         X_Value\tU\tI\tComment\n{rows}"
    )
}

const START: i64 = 1_706_709_910_500_000_000;

#[track_caller]
fn read(request: ImportTableRequest, text: &str) -> Vec<Table> {
    Stage::new().lvm(&request, text.as_bytes()).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

#[track_caller]
fn one(request: ImportTableRequest, text: &str) -> Table {
    let mut tables = read(request, text);
    assert_eq!(tables.len(), 1, "{text}");
    tables.remove(0)
}

/// The cells of a column of numbers.
fn numbers(table: &Table, column: &str) -> Vec<f64> {
    let number = |cell: &str| match u64::from_str_radix(cell, 16) {
        Ok(bits) => f64::from_bits(bits),
        Err(_) => f64::NAN,
    };
    table.cells(column).into_iter().map(number).collect()
}

#[test]
fn date_time_and_x_are_the_index() {
    let table = one(new(), &file("X_Columns\tOne\r\n", &pair("0.0\t1.5\t2\n0.25\t1.6\t\n")));
    assert_eq!(table.names(), ["time", "X_Value", "U", "I", "Comment"]);
    let index = &table.answer.columns[0];
    assert_eq!((index.data_type, index.column_type), (DataType::TimestampNanos, ColumnType::Index));
    assert_eq!(index.time_zone.as_deref(), Some("UTC"));
    let times = [START, START + 250_000_000].map(|time| time.to_string());
    assert_eq!(table.cells("time"), times);
    assert_eq!(numbers(&table, "X_Value"), [0.0, 0.25]);
    assert_eq!((table.cells("I")[1], table.cells("Comment")), ("null", vec!["null", "null"]));
    let properties = [("U", "unit"), ("I", "unit"), ("X_Value", "unit"), ("U", "Delta_X")];
    let found = properties.map(|(column, key)| table.property(column, key).unwrap().to_owned());
    assert_eq!(found, ["V", "A", "s", "0.25"]);
    assert_eq!(table.warnings(), "");
    assert_eq!(table.answer.header_line, Some(17));
    assert_eq!(table.answer.separator.as_deref(), Some("\t"));
}

/// Old programs end a text with Ctrl-Z, and may write line ends twice.
#[test]
fn a_text_of_dos_ends_with_its_mark() {
    let text = file("X_Columns\tOne\r\n", &pair("0.0\t1.5\t2\n0.25\t1.6\t3\n"));
    let expected = one(new(), &text);
    for text in [
        text.clone() + "\u{1a}",
        text.trim_end().to_owned() + "\u{1a}\u{1a}\r\n",
        text.replace("\r\n", "\r\r\n"),
    ] {
        let table = one(new(), &text);
        assert_eq!(numbers(&table, "I"), [2.0, 3.0], "{text:?}");
        assert_eq!(table.cells("time"), expected.cells("time"), "{text:?}");
    }
}

#[test]
fn x0_and_delta_x_are_the_x_values_where_there_are_none() {
    let text = pair("\t1\t2\n\t3\t4\n").replace("X0\t0.0\t0.0", "X0\t10\t10");
    let table = one(new(), &file("X_Columns\tNo\r\n", &text));
    assert_eq!(numbers(&table, "X_Value"), [10.0, 10.25]);
    assert_eq!(table.cells("time")[0], (START + 10_000_000_000).to_string());
    assert_eq!(table.warnings(), "");
    // In a file of X values such rows are told.
    let table = one(new(), &file("X_Columns\tOne\r\n", &pair("\t1\t2\n0.25\t3\t4\n")));
    assert_eq!(numbers(&table, "X_Value"), [0.0, 0.25]);
    assert!(table.warnings().contains("line 18 has no X value"), "{}", table.warnings());
}

/// Programs leave the column of X values out.
#[test]
fn rows_without_a_column_of_x_values() {
    let text = "Channels\t2\nDelta_X\t0.5\t0.5\n***End_of_Header***\nU\tI\n1\t2\n3\t4\n";
    let table = one(new(), &file("X_Columns\tNo\r\n", text));
    assert_eq!(table.names(), ["row", "X_Value", "U", "I"]);
    assert_eq!(numbers(&table, "X_Value"), [0.0, 0.5]);
    assert_eq!(numbers(&table, "I"), [2.0, 4.0]);
}

#[test]
fn the_times_of_a_file_are_those_of_its_segments_without_times() {
    let fields = "Date\t2024/01/31\r\nTime\t14:05:10.5\r\n";
    let text = "Channels\t1\n***End_of_Header***\nX_Value\tU\n1\t2\n";
    let table = one(new(), &file(fields, text));
    assert_eq!(table.cells("time"), [(START + 1_000_000_000).to_string()]);
    // The first moment that LabVIEW knows is none.
    let fields = "Date\t1904/01/01\r\nTime\t01:00:00,\r\n";
    assert_eq!(one(new(), &file(fields, text)).names()[0], "row");
}

/// Dates of programs of other countries, and seconds with more digits than a column has.
#[test]
fn dates_in_other_orders_and_long_seconds() {
    let with = |date: &str, time: &str| {
        let fields = format!("Date\t{date}\r\nTime\t{time}\r\n");
        file(&fields, "Channels\t1\n***End_of_Header***\nX_Value\tU\n0\t2\n")
    };
    for (date, time) in [
        ("1/31/2024", "14:05:10.5"),
        ("31/1/2024", "14:05:10.5"),
        ("2024/01/31", "14:05:10.4999999995"),
        ("2024/01/31", "14:05:10.500000000499"),
    ] {
        let table = one(new(), &with(date, time));
        assert_eq!(table.cells("time"), [START.to_string()], "{date} {time}");
        assert_eq!(table.warnings(), "", "{date}");
    }
    let rounded = one(new(), &with("2024/01/31", "14:05:10.9999999996"));
    assert_eq!(rounded.cells("time"), [(START + 500_000_000).to_string()]);
    // One that is read in two orders is told, and dateOrder decides.
    let text = with("1/2/2024", "14:05:10.5");
    let table = one(new(), &text);
    assert_eq!(table.names()[0], "row");
    let told = table.warnings();
    assert!(told.contains("the date and time in line 1 are not read"), "{told}");
    assert!(told.contains("set dateOrder"), "{told}");
    let told = new().date_order(DateOrder::DayFirst);
    let day = 24 * 3600 * 1_000_000_000;
    assert_eq!(one(told, &text).cells("time"), [(START + day).to_string()]);
    assert_eq!(one(new(), &with("2/2/2024", "14:05:10.5")).names()[0], "time");
    assert_eq!(one(new(), &with("1/31/24", "14:05:10.5")).names()[0], "row");
}

#[test]
fn absolute_x_values_count_from_1904() {
    let rows = "3789554710.75\t1\t2\n";
    let table = one(new(), &file("Time_Pref\tAbsolute\r\n", &pair(rows)));
    assert_eq!(table.cells("time"), ["1706709910750000000"]);
    // Small ones count from date and time, as in a relative file.
    let table = one(new(), &file("Time_Pref\tAbsolute\r\n", &pair("0.5\t1\t2\n")));
    assert_eq!(table.cells("time"), [(START + 500_000_000).to_string()]);
    let table = one(new(), &file("Time_Pref\tRelative\r\n", &pair(rows)));
    assert_ne!(table.cells("time"), ["1706709910750000000"]);
}

#[test]
fn the_caller_names_the_index() {
    let text = file("", &pair("0.0\t1\t2\n0.0\t3\t4\n"));
    let table = one(new().index_column("row"), &text);
    assert_eq!(table.names(), ["row", "time", "X_Value", "U", "I", "Comment"]);
    assert_eq!(table.cells("row"), ["0", "1"]);
    assert_eq!(table.warnings(), "");
    let table = one(new(), &text);
    let told = table.warnings();
    assert!(told.contains("line 18 has a time that is not after") && told.contains("\"row\""));
    let types = new().index_column("U").column_types([("U", DataType::Int64)]);
    assert_eq!(one(types, &text).answer.columns[2].column_type, ColumnType::Index);
}

#[test]
fn segments_with_equal_columns_continue_the_table() {
    let text = [
        pair("0.0\t1\t2\tfirst\n0.25\t3\t4\n"),
        "\n".to_owned(),
        pair("0.0\t5\n").replace("\tI\tC", "\tC").replace("Channels\t2", "Channels\t1"),
        "\n".to_owned(),
        pair("0.0\t7\t8\tlast\n0.25\t9\t10\n").replace("14:05", "14:06"),
        "\n".to_owned(),
        pair("0.0\t11\t12\n").replace("\tA\t", "\tmA\t"),
    ];
    let request = new().table(stationdb::tables::CreateTableRequest::new([]).name("rig"));
    let tables = read(request, &file("Operator\tada\r\n", &text.concat()));
    let names: Vec<&str> =
        tables.iter().map(|table| table.metadata.name.as_deref().unwrap()).collect();
    assert_eq!(names, ["rig.1", "rig.2", "rig.3"]);
    assert_eq!(tables[0].cells("segment"), ["1", "1", "3", "3"]);
    assert_eq!(numbers(&tables[0], "U"), [1.0, 3.0, 7.0, 9.0]);
    assert_eq!(tables[0].cells("Comment"), ["first", "null", "last", "null"]);
    assert_eq!(tables[0].property("U", "Delta_X"), None);
    assert_eq!(tables[0].property("U", "unit"), Some("V"));
    assert_eq!(tables[1].names(), ["time", "X_Value", "U", "Comment"]);
    assert_eq!(tables[2].property("I", "unit"), Some("mA"));
    for table in &tables {
        assert_eq!(table.metadata.properties.as_ref().unwrap()["Operator"], "ada");
    }
}

#[test]
fn channels_with_x_values_of_their_own_are_tables() {
    let text = "Channels\t2\t\t\t\t\nSamples\t2\t\t3\t\t\nDelta_X\t1\t\t0.5\t\t\n\
                ***End_of_Header***\nX_Value\tslow\tX_Value\tfast\tComment\n\
                0\t1\t0\t2\tstart\n1\t3\t0.5\t4\n\t\t1.0\t6\n";
    let tables = read(new(), &file("X_Columns\tMulti\r\n", text));
    let names: Vec<&str> =
        tables.iter().map(|table| table.metadata.name.as_deref().unwrap()).collect();
    assert_eq!(names, ["slow", "fast"]);
    assert_eq!(numbers(&tables[0], "slow"), [1.0, 3.0]);
    assert_eq!(numbers(&tables[1], "X_Value"), [0.0, 0.5, 1.0]);
    assert_eq!(numbers(&tables[1], "fast"), [2.0, 4.0, 6.0]);
    assert_eq!(tables[0].warnings() + &tables[1].warnings(), "");
}

#[test]
fn header_fields_are_properties() {
    let fields = "Operator\tada\r\nDescription\tC:\\\\rig\\0Atwo\r\nMine\t7\r\nEmpty\t\r\n\
                  ***Start_Special***\tRig\r\nkey\tvalue\r\n***End_Special***\r\n";
    let text = "Notes\tcold \\09 start\t\t\nTest_Name\tramp\n".to_owned() + &pair("0\t1\t2\n");
    let table = one(new(), &file(fields, &text));
    let properties = table.metadata.properties.unwrap();
    for (key, value) in [
        ("Operator", "ada"),
        ("Description", "C:\\rig\ntwo"),
        ("Mine", "7"),
        ("Special", "Rig\nkey\tvalue"),
        ("Notes", "cold \t start"),
        ("Test_Name", "ramp"),
        ("Writer_Version", "2"),
    ] {
        assert_eq!(properties.get(key).map(String::as_str), Some(value), "{key}");
    }
    assert_eq!((properties.get("Empty"), properties.get("Channels")), (None, None));
}

#[test]
fn a_special_block_of_a_segment_is_a_property() {
    let text = format!("***Start_Special***\na\tb\n***End_Special***\n{}", pair("0\t1\t2\n"));
    let table = one(new(), &file("", &text));
    assert_eq!(table.metadata.properties.unwrap()["Special"], "a\tb");
}

#[test]
fn a_second_session_writes_the_header_again() {
    let again = file("", &pair("0\t5\t6\n").replace("14:05", "14:07"));
    let text = file("", &pair("0\t1\t2\n")) + "\r\n" + &again;
    let table = one(new(), &text);
    assert_eq!(numbers(&table, "U"), [1.0, 5.0]);
    // It may have other marks.
    let other =
        again.replace("Decimal_Separator\t.", "Decimal_Separator\t,").replace("\t5\t", "\t5,5\t");
    let table = one(new(), &(file("", &pair("0\t1\t2\n")) + "\r\n" + &other));
    assert_eq!(numbers(&table, "U"), [1.0, 5.5]);
}

#[test]
fn names_that_are_taken_get_numbers_and_are_told() {
    let text = "Channels\t3\n***End_of_Header***\nX_Value\tU\tU\t\tComment\n0\t1\t2\t3\tx\n";
    let table = one(new(), &file("", text));
    assert_eq!(table.names(), ["row", "X_Value", "U", "U 2", "column_4", "Comment"]);
    assert!(table.warnings().contains("\"U\" in line 9"), "{}", table.warnings());
    let text = "***End_of_Header***\nX_Value\ttime\trow\tsegment\n0\t1\t2\t3\n";
    let fields = "Date\t2024/01/31\r\nTime\t14:05\r\n";
    let table = one(new().index_column("row_1"), &file(fields, text));
    assert_eq!(table.names(), ["row_1", "time 2", "X_Value", "time", "row", "segment"]);
}

#[test]
fn other_channels_axes_in_one_x_column_are_told() {
    let rows = "0.0\t1\t2\n0.25\t3\t4\n";
    let text = pair(rows).replace("Delta_X\t0.25\t0.25", "Delta_X\t0.25\t0.5");
    let told = one(new(), &file("X_Columns\tOne\r\n", &text)).warnings();
    assert!(told.contains("\"I\"") && told.contains("line 17"), "{told}");
    // A channel without samples has none.
    let text = text.replace("Samples\t2\t2", "Samples\t2\t0").replace(rows, "0.0\t1\n0.25\t3\n");
    let told = one(new(), &file("X_Columns\tOne\r\n", &text)).warnings();
    assert!(!told.contains("axis"), "{told}");
}

#[test]
fn what_is_missing_or_cut_is_told_with_its_line() {
    for (rows, part) in [
        ("0.0\t1\n0.25\t3\t4\n", "line 17 has fewer values"),
        ("0.0\t1\t2\n", "line 7 has the header of a segment, which says more rows"),
        ("0.0\t1\t2\n0.25\t3\t4", "line 18 has no line end"),
        ("0.0\t1\t2\n0.25\t3\t4\n\nChannels\t2\n", "header of a segment in line 20, which is left"),
        ("0.0\t1\t2\n0.25\t3\t4\n\nLabVIEW Measurement\n", "the file ends in line 21 in a header"),
    ] {
        let told = one(new(), &file("", &pair(rows))).warnings();
        assert!(told.contains(part), "{rows:?}: {told}");
    }
    let mut bytes = file("", &pair("0.0\t1\t2\tcaf\n0.25\t3\t4\n")).into_bytes();
    let at = bytes.windows(4).position(|four| four == b"caf\r").unwrap() + 3;
    bytes.insert(at, 0xe9);
    let table = Stage::new().lvm(&new(), &bytes).unwrap().remove(0);
    assert_eq!(table.cells("Comment")[0], "café");
    let told = table.warnings();
    assert!(told.contains("line 17 has bytes that are not UTF-8"), "{told}");
}

/// A line of separators between rows is a row, and behind the last one nothing.
#[test]
fn lines_without_values() {
    let text = pair("\t1\t2\n\t\t\n\t3\t4\n\t\t\n\n\n");
    let table = one(new(), &file("X_Columns\tNo\r\n", &text));
    assert_eq!(numbers(&table, "X_Value"), [0.0, 0.25, 0.5]);
    assert_eq!(table.cells("U")[1], "null");
}

#[test]
fn an_existing_table_takes_the_rows_of_one() {
    let stage = Stage::new();
    let text = file("", &pair("0.0\t1\t2\n0.25\t3\t4\n"));
    let first = stage.lvm(&new(), text.as_bytes()).unwrap().remove(0);
    let request = new().id(first.answer.id.clone().unwrap().to_string());
    let again = text.replace("14:05", "14:06");
    let table = stage.lvm(&request, again.as_bytes()).unwrap().remove(0);
    assert!(!table.warnings().contains("other units"), "{}", table.warnings());
    let other = text.replace("14:05", "14:07").replace("Y_Unit_Label\tV\tA", "Y_Unit_Label\tmV\tA");
    let stage_told = Stage::new();
    let own = stage_told.lvm(&new(), text.as_bytes()).unwrap().remove(0);
    let own = new().id(own.answer.id.clone().unwrap().to_string());
    let told = stage_told.lvm(&own, other.as_bytes()).unwrap().remove(0).warnings();
    assert!(told.contains("\"U\" has \"mV\", and \"V\" in the table"), "{told}");
    assert_eq!(numbers(&table, "U"), [1.0, 3.0, 1.0, 3.0]);
    let two = text + "\r\n" + &pair("0.0\t1\n").replace("\tI\tC", "\tC").replace('\n', "\r\n");
    let error = stage.lvm(&request, two.as_bytes()).unwrap_err();
    assert_eq!(error.place(), Some(&Place::Member("id".to_owned())), "{error}");
    // Numbers of rows go on.
    let text = file("", "***End_of_Header***\nX_Value\tU\n0\t1\n1\t2\n");
    let first = stage.lvm(&new(), text.as_bytes()).unwrap().remove(0);
    let request = new().id(first.answer.id.clone().unwrap().to_string());
    let table = stage.lvm(&request, text.as_bytes()).unwrap().remove(0);
    assert_eq!(table.cells("row"), ["0", "1", "2", "3"]);
}

#[test]
fn what_cannot_be_read_is_refused_with_its_place_and_leaves_nothing() {
    let good = "0.0\t1\t2\n0.25\t3\t4\n";
    let zone = new().time_zone("REFUSE");
    let types = new().column_types([("gone", DataType::Int64)]);
    let cases: Vec<(String, ImportTableRequest, Place, &str)> = vec![
        ("a,b\n1,2\n".to_owned(), new(), line(1, None), "no measurement file of LabVIEW"),
        (String::new(), new(), line(1, None), "no measurement file of LabVIEW"),
        (
            "LabVIEW Measurement\nSeparator\tTab\n".into(),
            new(),
            line(3, None),
            "ends in its header",
        ),
        (file("", ""), new(), line(7, None), "no segment"),
        (file("", "Channels\t1\n"), new(), line(8, None), "ends in the header of a segment"),
        (file("", "7\t8\n"), new(), line(7, None), "a segment should begin here"),
        (file("", "***End_of_Header***\nX_Value\tComment\n"), new(), line(8, None), "no channel"),
        (
            file("", "Channels\t0\n***End_of_Header***\nX_Value\tComment\n"),
            new(),
            line(9, None),
            "names no channel",
        ),
        (
            file("Decimal_Separator\t;x\r\n", ""),
            new(),
            line(5, None),
            "neither a point nor a comma",
        ),
        (file("", &pair("0.0\tx\t2\n")), new(), line(17, Some("U")), "\"x\" is not a FLOAT64"),
        (file("", &pair("0.0\t1,5\t2\n")), new(), line(17, Some("U")), "decimalSeparator"),
        (
            file("", &pair("zero\t1\t2\n")),
            new(),
            line(17, Some("X_Value")),
            "\"zero\" is no number",
        ),
        (
            file("", &pair("0.0\t1\t2\tc\t9\n")),
            new(),
            line(17, None),
            "more values than the columns",
        ),
        (file("", &pair("NaN\t1\t2\n")), new(), line(17, None), "indexColumn"),
        (file("", &pair("1e300\t1\t2\n")), new(), line(17, None), "indexColumn"),
        (
            file("", &pair(good).replace("Delta_X\t0.25", "Delta_X\tfast")),
            new(),
            line(14, None),
            "Delta_X of channel \"U\" is \"fast\"",
        ),
        (file("", &pair(good)), zone, line(10, None), "the date and time"),
        (file("", &pair(good)), types, Place::Member("columnTypes".to_owned()), "\"U\""),
        (
            file("", &pair(good)),
            new().index_column("X_Value"),
            Place::Member("indexColumn".to_owned()),
            "neither whole numbers nor times",
        ),
        (
            file("", &pair(good)),
            new().separator(",").decimal_separator(","),
            line(5, None),
            "commas separate values and decimals",
        ),
        (file("", &pair("0.0\t1\0\t2\n")), new(), line(1, None), "NUL bytes"),
    ];
    let stage = Stage::new();
    for (text, request, place, part) in cases {
        let error = match stage.lvm(&request, text.as_bytes()) {
            Err(error) => error,
            Ok(tables) => panic!("{text}\n{tables:?}"),
        };
        assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{text}\n{error}");
        assert_eq!(error.place(), Some(&place), "{text}\n{error}");
        assert!(error.message().contains(part), "{text}\n{part:?} is not in {error}");
    }
    assert_eq!(stage.table_count(), 0);
}

fn line(line: u64, column: Option<&str>) -> Place {
    Place::Line { line, column: column.map(str::to_owned) }
}
