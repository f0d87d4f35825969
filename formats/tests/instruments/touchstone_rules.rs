//! One test for each rule of docs/touchstone.md, and every form of a file.

use std::io::Cursor;

use stationdb::tables::{ColumnType, DataType, ImportTableRequest};
use stationdb::{ErrorKind, Place, Result};
use stationdb_formats::touchstone::{self, TouchstoneOptions};

use crate::stage::{Stage, Table};

fn new() -> ImportTableRequest {
    ImportTableRequest::new()
}

fn try_read(
    stage: &Stage,
    text: &[u8],
    request: &ImportTableRequest,
    options: &TouchstoneOptions,
) -> Result<Vec<Table>> {
    let input = Box::new(Cursor::new(text.to_vec()));
    stage.import(touchstone::tables(request, input, options).as_mut())
}

#[track_caller]
fn read(text: &str, ports: usize) -> Vec<Table> {
    let options = TouchstoneOptions::new().ports(ports);
    try_read(&Stage::new(), text.as_bytes(), &new(), &options)
        .unwrap_or_else(|error| panic!("{error}\n{text}"))
}

fn numbers(table: &Table, column: &str) -> Vec<f64> {
    let number = |cell: &str| match u64::from_str_radix(cell, 16) {
        Ok(bits) if cell.len() == 16 => f64::from_bits(bits),
        _ => cell.parse().unwrap(),
    };
    table.cells(column).into_iter().map(number).collect()
}

#[track_caller]
fn near(found: &[f64], expected: &[f64]) {
    assert_eq!(found.len(), expected.len(), "{found:?} {expected:?}");
    for (found, expected) in found.iter().zip(expected) {
        assert!((found - expected).abs() < 1e-12, "{found} {expected}");
    }
}

#[test]
fn whole_frequencies_are_the_index_and_others_are_numbered() {
    let table = &read("# MHz S RI R 50\n1.5 1 2\n2.5 3 4\n", 1)[0];
    assert_eq!(table.names(), ["frequency", "s11_re", "s11_im"]);
    let index = &table.answer.columns[0];
    assert_eq!((index.data_type, index.column_type), (DataType::Int64, ColumnType::Index));
    assert_eq!(table.cells("frequency"), ["1500000", "2500000"]);
    assert_eq!(table.property("frequency", "unit"), Some("Hz"));
    let table = &read("# Hz S RI R 50\n1.5 1 2\n2 3 4\n", 1)[0];
    assert_eq!(table.names(), ["row", "frequency", "s11_re", "s11_im"]);
    assert_eq!(numbers(table, "frequency"), [1.5, 2.0]);
    assert!(table.answer.columns[1].why.contains("not whole"));
}

/// Old programs end a text with Ctrl-Z, and may write line ends twice.
#[test]
fn a_text_of_dos_ends_with_its_mark() {
    for text in [
        "# Hz S RI R 50\r\n1 2 3\r\n2 4 5\r\n\u{1a}",
        "# Hz S RI R 50\r\n1 2 3\r\n2 4 5\u{1a}\u{1a}\r\n",
        "# Hz S RI R 50\r\r\n1 2 3\r\r\n2 4 5\r\r\n",
    ] {
        let table = &read(text, 1)[0];
        assert_eq!(table.cells("frequency"), ["1", "2"], "{text:?}");
        assert_eq!(numbers(table, "s11_im"), [3.0, 5.0], "{text:?}");
    }
}

#[test]
fn option_lines_have_defaults_any_order_and_any_case() {
    let expected = |table: &Table| {
        near(&numbers(table, "s11_re"), &[0.0]);
        near(&numbers(table, "s11_im"), &[2.0]);
        assert_eq!(table.metadata.properties.as_ref().unwrap()["reference"], "50");
    };
    for option in ["#", "# GHz S MA R 50", "# r 50 ma s GHZ", "#ma ! a comment"] {
        let table = &read(&format!("! first\n{option}\n1 2 90\n"), 1)[0];
        assert_eq!(table.cells("frequency"), ["1000000000"]);
        expected(table);
    }
    let table = &read("# Hz S MA R 50\n# kHz Z DB\n1 2 90\n", 1)[0];
    assert_eq!(table.cells("frequency"), ["1"]);
    assert!(table.warnings().contains("line 2 is a second option line"), "{}", table.warnings());
    expected(table);
}

/// Every unit, parameter, form, matrix and version, converted and raw.
#[test]
fn every_form_is_read_back_as_it_was_written() {
    let matrices = ["Full", "Lower", "Upper"];
    let mut count = 0;
    for (unit, scale) in [("Hz", 1.0), ("kHz", 1e3), ("MHz", 1e6), ("GHz", 1e9)] {
        for letter in ["S", "Y", "Z", "G", "H"] {
            for form in ["RI", "MA", "DB"] {
                for ports in [1_usize, 2, 3, 5, 10] {
                    for (version, matrix) in
                        [(1, "Full"), (2, matrices[0]), (2, matrices[1]), (2, matrices[2])]
                    {
                        for (raw, is_wrapped) in [(false, false), (true, false), (false, true)] {
                            let case = Case { unit, letter, form, ports, version, matrix, raw };
                            case.check(scale, is_wrapped);
                            count += 1;
                        }
                    }
                }
            }
        }
    }
    assert_eq!(count, 3600);
}

#[derive(Clone, Copy, Debug)]
struct Case {
    unit: &'static str,
    letter: &'static str,
    form: &'static str,
    ports: usize,
    version: i32,
    matrix: &'static str,
    raw: bool,
}

impl Case {
    /// The number of a cell in the file: its row, and its column in the second part.
    fn pair(row: usize, column: usize) -> (f64, f64) {
        (row as f64 + 0.5, 10.0 * column as f64)
    }

    fn cells(&self) -> Vec<(usize, usize)> {
        let all =
            (1..=self.ports).flat_map(|row| (1..=self.ports).map(move |column| (row, column)));
        let has = |(row, column): &(usize, usize)| match self.matrix {
            "Lower" => column <= row,
            "Upper" => column >= row,
            _ => true,
        };
        let mut cells: Vec<_> = all.filter(has).collect();
        if self.ports == 2 && self.matrix == "Full" {
            cells.swap(1, 2);
        }
        cells
    }

    fn text(&self, is_wrapped: bool) -> String {
        let mut text = String::new();
        if self.version == 2 {
            text += "[Version] 2.0\n";
        }
        text += &format!("# {} {} {} R 75\n", self.unit, self.letter, self.form);
        if self.version == 2 {
            text += &format!("[Number of Ports] {}\n[Two-Port Data Order] 21_12\n", self.ports);
            text += &format!("[Matrix Format] {}\n[Network Data]\n", self.matrix);
        }
        for frequency in [1, 2] {
            text += &frequency.to_string();
            for (at, (row, column)) in self.cells().into_iter().enumerate() {
                let (first, second) = Self::pair(row, column);
                text += if is_wrapped && at % 4 == 3 { "\n  " } else { " " };
                text += &format!("{first} {second}");
            }
            text.push('\n');
        }
        text + if self.version == 2 { "[End]\n" } else { "" }
    }

    fn check(&self, scale: f64, is_wrapped: bool) {
        let options = TouchstoneOptions::new().ports(self.ports).raw(self.raw);
        let text = self.text(is_wrapped);
        let source = touchstone::tables(&new(), Box::new(Cursor::new(text.into_bytes())), &options);
        self.compare(source, scale);
    }

    /// The columns and the first row of the table, without a store: there are many cases.
    fn compare(&self, mut source: Box<dyn stationdb::tables::TableSource>, scale: f64) {
        let control = stationdb::Control::default();
        assert!(source.advance(&control).unwrap(), "{self:?}");
        let table = source.table().unwrap();
        let columns = table.rows.columns().unwrap();
        let schema = stationdb::tables::TableSchema::with_default_limit(columns).unwrap();
        let batch = table.rows.next_batch(&schema, &control).unwrap().unwrap();
        assert_eq!(table.rows.warnings(), Vec::<String>::new(), "{self:?}");
        assert_eq!(batch.num_columns(), 1 + 2 * self.ports * self.ports, "{self:?}");
        let cell = |name: &str| {
            use stationdb::arrow::array::AsArray;
            use stationdb::arrow::datatypes::{Float64Type, Int64Type};
            let array = batch.column_by_name(name).unwrap_or_else(|| panic!("{self:?}: {name}"));
            match array.as_primitive_opt::<Float64Type>() {
                Some(array) => array.value(0),
                None => array.as_primitive::<Int64Type>().value(0) as f64,
            }
        };
        assert_eq!(cell("frequency"), scale, "{self:?}");
        let parts = match (self.form, self.raw) {
            ("MA", true) => ["mag", "deg"],
            ("DB", true) => ["db", "deg"],
            _ => ["re", "im"],
        };
        let between = if self.ports > 9 { "_" } else { "" };
        for row in 1..=self.ports {
            for column in 1..=self.ports {
                // The other half is the same.
                let (of_row, of_column) = match self.matrix {
                    "Lower" => (row.max(column), row.min(column)),
                    "Upper" => (row.min(column), row.max(column)),
                    _ => (row, column),
                };
                let (first, second) = Self::pair(of_row, of_column);
                let angle = second / 180.0 * std::f64::consts::PI;
                let polar = |size: f64| [size * angle.cos(), size * angle.sin()];
                let expected = match (self.form, self.raw) {
                    ("RI", _) | (_, true) => [first, second],
                    ("MA", _) => polar(first),
                    _ => polar(10f64.powf(first / 20.0)),
                };
                let letter = self.letter.to_ascii_lowercase();
                for (part, expected) in parts.into_iter().zip(expected) {
                    let found = cell(&format!("{letter}{row}{between}{column}_{part}"));
                    assert!((found - expected).abs() < 1e-12, "{self:?}: {found} {expected}");
                }
            }
        }
    }
}

#[test]
fn noise_data_are_a_table() {
    let text = "# GHz S MA R 50\n1 1 0 1 0 1 0 1 0\n2 1 0 1 0 1 0 1 0\n! noise\n\
                2 0.5 0.25 90 0.1\n3 0.75 0.5 0 0.2\n";
    let tables = read(text, 2);
    assert_eq!(tables.len(), 2);
    let noise = &tables[1];
    assert_eq!(noise.metadata.name.as_deref(), Some("noise"));
    assert_eq!(noise.names(), ["frequency", "nf_min", "gamma_opt_re", "gamma_opt_im", "rn"]);
    near(&numbers(noise, "gamma_opt_im"), &[0.25, 0.0]);
    near(&numbers(noise, "nf_min"), &[0.5, 0.75]);
    let is_normalized =
        |table: &Table| table.metadata.properties.as_ref().unwrap().contains_key("normalized");
    assert!(is_normalized(noise) && !is_normalized(&tables[0]));
    assert_eq!(tables[0].warnings() + &noise.warnings(), "");
    let raw = TouchstoneOptions::new().ports(2).raw(true);
    let tables = try_read(&Stage::new(), text.as_bytes(), &new(), &raw).unwrap();
    assert_eq!(numbers(&tables[1], "gamma_opt_deg"), [90.0, 0.0]);
    // Into a table that exists goes one alone.
    let stage = Stage::new();
    let id = tables[0].answer.id.clone().unwrap().to_string();
    let error = try_read(&stage, text.as_bytes(), &new().id(id), &raw).unwrap_err();
    assert_eq!(error.place(), Some(&Place::Member("id".to_owned())), "{error}");
}

const SECOND: &str = "! a filter\n[Version] 2.0\n# GHz Z RI R 50\n[Number of Ports] 4\n\
    [Number of Frequencies] 1\n[Reference] 50 75\n 0.01\n 1\n[Matrix Format] Lower\n\
    [Mixed-Mode Order] D2,3 C2,3 S1 S4\n[Begin Information]\nmade: here\n[End Information]\n\
    [Network Data]\n1 1 0 2 0 3 0 4 0 5 0\n 6 0 7 0 8 0 9 0 10 0\n[End]\n";

#[test]
fn keywords_of_version_2_are_properties() {
    let table = &read(SECOND, 4)[0];
    let properties = table.metadata.properties.as_ref().unwrap();
    for (key, value) in [
        ("touchstone", "2.0"),
        ("parameter", "Z"),
        ("format", "RI"),
        ("ports", "4"),
        ("reference", "50 75 0.01 1"),
        ("mixedModeOrder", "D2,3 C2,3 S1 S4"),
        ("comments", "a filter"),
        ("information", "made: here"),
    ] {
        assert_eq!(properties.get(key).map(String::as_str), Some(value), "{key}");
    }
    assert_eq!(properties.get("normalized"), None);
    assert_eq!(table.property("z21_re", "unit"), Some("ohm"));
    assert_eq!(table.property("z21_re", "modes"), Some("C2,3 D2,3"));
    near(&numbers(table, "z43_re"), &[9.0]);
    near(&numbers(table, "z34_re"), &[9.0]);
    assert_eq!(table.warnings(), "");
    // Values of version 1 are divided by the reference.
    let table = &read("# Hz Z RI R 50\n1 1 2\n", 1)[0];
    assert_eq!(table.metadata.properties.as_ref().unwrap()["normalized"], "true");
    assert_eq!(table.property("z11_re", "unit"), None);
}

#[test]
fn the_second_value_of_two_ports_is_as_the_order_says() {
    let text = |order: &str| {
        format!(
            "[Version] 2.1\n# Hz S RI\n[Number of Ports] 2\n{order}[Network Data]\n\
             1 11 0 1 0 2 0 22 0\n[End]\n"
        )
    };
    for (order, second) in [("21_12", "s21_re"), ("12_21", "s12_re")] {
        let table = &read(&text(&format!("[Two-Port Data Order] {order}\n")), 2)[0];
        near(&numbers(table, second), &[1.0]);
        let cells: Vec<&str> = table.names().into_iter().skip(1).step_by(2).collect();
        assert_eq!(cells, ["s11_re", "s12_re", "s21_re", "s22_re"]);
        assert_eq!(table.warnings(), "");
    }
    let told = read(&text(""), 2)[0].warnings();
    assert!(told.contains("[Two-Port Data Order]"), "{told}");
}

#[test]
fn what_may_be_damage_is_told_with_its_line() {
    for (text, part) in [
        ("# Hz S RI\n1 2 3\n2 2", "ends within the point of line 3"),
        ("# Hz S RI\n1 2 3\n2 2 4", "line 3 has no line end"),
        ("# Hz S RI\n2 2 3\n1 2 4\n", "the frequency of line 3 is not above"),
        ("# Hz S RI\n! Gamma 1 2\n1 2 3\n! Port Impedance 50 0\n", "from line 4 on"),
        (
            "[Version] 2.0\n# Hz S RI\n[Number of Ports] 1\n[Number of Frequencies] 2\n\
             [Network Data]\n1 2 3\n[End]\n",
            "says 2 frequencies, and there are 1",
        ),
        ("[Version] 2.0\n# Hz S RI\n[Number of Ports] 1\n[Network Data]\n1 2 3\n", "no [End]"),
        (
            "[Version] 2.0\n# Hz S RI\n[Number of Ports] 1\n[Colour] red\n[Network Data]\n\
             1 2 3\n[End]\n",
            "[colour] of line 4",
        ),
    ] {
        let told = read(text, 1)[0].warnings();
        assert!(told.contains(part), "{text:?}: {told}");
    }
}

#[test]
fn what_cannot_be_read_is_refused_with_its_place_and_leaves_nothing() {
    let line = |line| Place::Line { line, column: None };
    let second = |from: &str, to: &str| SECOND.replacen(from, to, 1);
    let cases: Vec<(String, Option<usize>, Place, &str)> = vec![
        (String::new(), Some(1), line(1), "ends before its first point"),
        ("1 2 3\n".into(), Some(1), line(1), "no option line"),
        ("# Hz S RI\n1 2 3\n".into(), None, line(2), "number of ports is unknown"),
        ("# Hz S RI\n1 2 3\n".into(), Some(0), line(2), "number of ports is unknown"),
        ("# Hz T RI\n".into(), Some(1), line(1), "\"t\" is no word"),
        ("# Hz S RI R\n".into(), Some(1), line(1), "no number of ohms"),
        ("# Hz S RI\n1 2 3 4\n".into(), Some(1), line(2), "more than the 2 numbers"),
        ("# Hz S RI\n1 2 x\n".into(), Some(1), line(2), "\"x\" is no number"),
        ("# Hz S RI\nx 2 3\n".into(), Some(1), line(2), "the frequency \"x\""),
        ("# Hz S RI\n1 2 3\n2 2 1,5\n".into(), Some(1), line(3), "\"1,5\" is no number"),
        ("# Hz S RI\n1\n".into(), Some(1), line(3), "has 0 of its 2 numbers"),
        ("# Hz S RI\n1 2 3\n".into(), Some(2), line(3), "2 of its 8 numbers; the number of ports"),
        (
            "# Hz S RI\n1 2 3\n2 2 3\n3 2 3\n".into(),
            Some(2),
            line(3),
            "the point of line 2 has 2 of its 8 numbers; the number of ports",
        ),
        ("# Hz S RI\n1 2 3\n[x]\n".into(), Some(1), line(3), "[x] is not expected"),
        (second("[Network Data]\n", ""), None, line(14), "before [Network Data]"),
        (second("[Number of Ports] 4", "[Number of Ports] four"), None, line(4), "\"four\""),
        (second("Lower", "Half"), None, line(9), "\"Half\" is none of"),
        (second(" S4", ""), None, line(14), "3 of 4 ports"),
        (second("\n 1\n[M", "\n[M"), None, line(13), "[Reference] has fewer"),
        (second("0.01", "0.01 2 3"), None, line(7), "one number for each port"),
        (second("0.01", "x"), None, line(7), "\"x\" is no reference"),
        (second("10 0\n", "10\n"), None, line(16), "9 numbers, and none of a pair"),
        (second("10 0\n", "\n"), None, line(17), "has 18 of its 20 numbers"),
        (second("[End]", "[Network Data]"), None, line(17), "is not expected here"),
    ];
    let stage = Stage::new();
    for (text, ports, place, part) in cases {
        let options = ports.map_or(TouchstoneOptions::new(), |n| TouchstoneOptions::new().ports(n));
        match try_read(&stage, text.as_bytes(), &new(), &options) {
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{text}\n{error}");
                assert_eq!(error.place(), Some(&place), "{text}\n{error}");
                assert!(error.message().contains(part), "{text}\n{part:?} is not in {error}");
            }
            Ok(tables) => panic!("{text}\n{tables:?}"),
        }
    }
    let options = TouchstoneOptions::new().ports(71);
    let error = try_read(&stage, b"# Hz S RI\n1 2 3\n", &new(), &options).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::LimitExceeded, "{error}");
    let error = try_read(&stage, b"[Version] 3.0\n", &new(), &options).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
    assert_eq!(stage.table_count(), 0);
}

#[test]
fn the_caller_names_index_and_types() {
    let options = TouchstoneOptions::new().ports(1);
    let text = b"# Hz S RI\n1 0.1 3\n2 0.2 4\n";
    let stage = Stage::new();
    let table = &try_read(&stage, text, &new().index_column("row"), &options).unwrap()[0];
    assert_eq!(table.names(), ["row", "frequency", "s11_re", "s11_im"]);
    let types = new().column_types([("frequency", DataType::Float64)]);
    let table = &try_read(&stage, text, &types, &options).unwrap()[0];
    assert_eq!(numbers(table, "frequency"), [1.0, 2.0]);
    let error = try_read(&stage, text, &new().column_types([("t", DataType::Int64)]), &options)
        .unwrap_err();
    assert!(error.message().contains("\"s11_re\""), "{error}");
    // Values of another reference, and of another unit, are told.
    for (first, second, part) in [
        (
            "# GHz S RI R 50\n1 0.5 0\n",
            "# GHz S RI R 75\n2 0.5 0\n".to_owned(),
            "\"reference\" is \"75\", and \"50\" in the table",
        ),
        (
            "# GHz Z RI R 50\n1 0.5 0\n",
            "[Version] 2.0\n# GHz Z RI R 50\n[Number of Ports] 1\n[Number of Frequencies] 1\n\
             [Reference] 50\n[Network Data]\n2 25 0\n[End]\n"
                .to_owned(),
            "\"z11_re\" has \"ohm\", and no unit in the table",
        ),
    ] {
        let first = &try_read(&stage, first.as_bytes(), &new(), &options).unwrap()[0];
        let request = new().id(first.answer.id.clone().unwrap().to_string());
        let told = try_read(&stage, second.as_bytes(), &request, &options).unwrap()[0].warnings();
        assert!(told.contains(part), "{part}: {told}");
    }
    // A second file continues the table of the first one.
    let first = &try_read(&stage, text, &new(), &options).unwrap()[0];
    let id = first.answer.id.clone().unwrap().to_string();
    let table = &try_read(&stage, text, &new().id(id), &options).unwrap()[0];
    assert_eq!(table.cells("frequency"), ["1", "1", "2", "2"]);
}
