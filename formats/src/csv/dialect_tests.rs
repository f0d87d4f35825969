//! CSV in every dialect that separators, decimal marks, thousands, quotes, units and names make, read
//! back as it was written.

use stationdb::Control;
use stationdb::tables::readers::batch_rows;
use stationdb::tables::{DataType, RowSource, TableSchema};

use super::CsvImport;
use crate::options::ImportOptions;

const SEPARATORS: [char; 4] = [',', ';', '\t', '|'];

#[derive(Clone, Copy, Debug)]
struct Form {
    separator: char,
    comma: bool,
    thousands: bool,
    quotes_all: bool,
    /// Whether blanks stand around quotes.
    blanks: bool,
    units: bool,
    /// What is inside of the names.
    inside: Option<char>,
}

fn forms() -> Vec<Form> {
    let mut out = Vec::new();
    let insides = [None, Some(','), Some(';'), Some('\t'), Some('|'), Some(' ')];
    for bits in 0..32u8 {
        let bit = |at: u8| bits >> at & 1 == 1;
        for separator in SEPARATORS {
            for inside in insides {
                out.push(Form {
                    separator,
                    comma: bit(0),
                    thousands: bit(1),
                    quotes_all: bit(2),
                    units: bit(3),
                    blanks: bit(4),
                    inside,
                });
            }
        }
    }
    out
}

const NAMES: [&str; 6] = ["count", "volts", "note", "time", "cycles", "gap"];
const ROWS: [[&str; 6]; 4] = [
    ["1", "1.5", "x, y", "2024-01-31 14:05:10.5", "1234", ""],
    ["2", "-0.25", "a;b", "2024-01-31 14:05:11.25", "12345", "7.5"],
    ["3", "1234.567", "p|q", "2024-01-31 14:05:12.125", "1234567", ""],
    ["4", "2e3", "say \"t\"\tu", "2024-01-31 14:05:13", "999", "-8.25"],
];

impl Form {
    fn name(&self, at: usize) -> String {
        match self.inside {
            Some(inside) => format!("{}{inside}{at}", NAMES[at]),
            None => NAMES[at].to_owned(),
        }
    }

    /// A cell as the file has it.
    fn cell(&self, at: usize, text: &str) -> String {
        let mark = if self.comma { "," } else { "." };
        match NAMES[at] {
            "volts" | "time" | "gap" => text.replacen('.', mark, 1),
            "cycles" if self.thousands => {
                let mut out = String::new();
                for (place, digit) in text.chars().enumerate() {
                    if place > 0 && (text.len() - place).is_multiple_of(3) {
                        out.push(if self.comma { '.' } else { ',' });
                    }
                    out.push(digit);
                }
                out
            }
            _ => text.to_owned(),
        }
    }

    fn line(&self, cells: impl Iterator<Item = String>) -> String {
        let quoted = |cell: String| {
            let must = cell.contains([self.separator, '"']) || self.quotes_all;
            let blank = if self.blanks { " " } else { "" };
            let cell = if must { cell.replace('"', "\"\"") } else { return cell };
            format!("{blank}\"{cell}\"{blank}")
        };
        cells.map(quoted).collect::<Vec<_>>().join(&self.separator.to_string()) + "\n"
    }

    fn text(&self) -> String {
        let mut out = self.line((0..NAMES.len()).map(|at| self.name(at)));
        if self.units {
            let units = ["1", "V", "", "s", "1", "mm"];
            out += &self.line(units.iter().map(|unit| (*unit).to_owned()));
        }
        for row in ROWS {
            out += &self.line(row.iter().enumerate().map(|(at, text)| self.cell(at, text)));
        }
        out
    }

    fn options(&self) -> ImportOptions {
        // Where commas separate values, no value can tell that they are decimal marks, too.
        let decimal_comma = (self.comma && self.separator == ',').then_some(true);
        ImportOptions { decimal_comma, ..ImportOptions::default() }
    }
}

struct Read {
    names: Vec<String>,
    types: Vec<DataType>,
    rows: Vec<Vec<Option<String>>>,
    warnings: Vec<String>,
}

/// The table of a text, without the numbers of its rows.
fn read(text: &str, options: ImportOptions) -> stationdb::Result<Read> {
    let mut input = text.as_bytes();
    let mut import = CsvImport::new(&mut input, options)?;
    let schema = TableSchema::with_default_limit(import.columns()?)?;
    let mut rows = Vec::new();
    while let Some(batch) = import.next_batch(&schema, &Control::default())? {
        rows.extend(batch_rows(&batch).into_iter().map(|row| row[1..].to_vec()));
    }
    let columns = &schema.columns()[1..];
    Ok(Read {
        names: columns.iter().map(|column| column.name.clone()).collect(),
        types: columns.iter().map(|column| column.data_type).collect(),
        rows,
        warnings: import.warnings(),
    })
}

fn check(form: Form) {
    use DataType::{Float64, Int64, String as Text, Timestamp};
    let text = form.text();
    let found = read(&text, form.options()).unwrap_or_else(|error| panic!("{form:?}: {error}"));
    let names: Vec<String> = (0..NAMES.len()).map(|at| form.name(at)).collect();
    assert_eq!(found.names, names, "{form:?}\n{text}");
    let cycles = if form.thousands { Text } else { Int64 };
    let types = [Int64, Float64, Text, Timestamp, cycles, Float64];
    for (at, expected) in types.into_iter().enumerate() {
        // A unit makes a column text, and its line is told.
        let expected = if form.units && !matches!(at, 0 | 4) { Text } else { expected };
        assert_eq!(found.types[at], expected, "{form:?}, {}\n{text}", NAMES[at]);
        let is_loud = expected == Text && NAMES[at] != "note";
        let warning = found.warnings.iter().find(|text| text.contains(&format!("{:?}", names[at])));
        assert_eq!(warning.is_some(), is_loud, "{form:?}, {}: {:?}", NAMES[at], found.warnings);
        if let (true, Some(warning)) = (form.units && at != 4, warning) {
            assert!(warning.contains("in line 2"), "{form:?}: {warning}");
        }
    }
    let rows = &found.rows[usize::from(form.units)..];
    assert_eq!(rows.len(), ROWS.len(), "{form:?}");
    for (row, expected) in rows.iter().zip(ROWS) {
        for (at, text) in expected.into_iter().enumerate() {
            let written = form.cell(at, text);
            let cell = row[at].as_deref();
            match found.types[at] {
                Text if text.is_empty() && !form.quotes_all => assert_eq!(cell, None, "{form:?}"),
                Text => assert_eq!(cell, Some(written.as_str()), "{form:?}"),
                _ if text.is_empty() => assert_eq!(cell, None, "{form:?}"),
                Timestamp => {
                    let cell = cell.unwrap().replace(['T', 'Z'], " ");
                    let same = cell.trim().trim_end_matches('0').trim_end_matches('.');
                    assert_eq!(same, text.trim_end_matches('0'), "{form:?}");
                }
                _ => {
                    let number = |text: &str| text.parse::<f64>().unwrap();
                    assert_eq!(number(cell.unwrap()), number(text), "{form:?}");
                }
            }
        }
    }
}

#[test]
fn every_dialect_is_read_back_as_it_was_written() {
    let forms = forms();
    assert_eq!(forms.len(), 768);
    forms.into_iter().for_each(check);
}

/// A comma before three digits may be a decimal mark or separate thousands.
#[test]
fn one_decimal_mark_is_for_a_whole_file() {
    use DataType::{Float64, Int64, String as Text};
    let cases: [(&str, Option<bool>, &[DataType], &[&str]); 12] = [
        // Nothing decides.
        ("a;b\n1,234;x\n5,678;y\n", None, &[Text, Text], &["\"1,234\" in line 2"]),
        ("a\tb\n1,234\t1\n12,345\t2\n", None, &[Text, Int64], &["decimalSeparator"]),
        ("a;b\n1,234;1.234\n", None, &[Text, Text], &["\"1,234\"", "\"1.234\""]),
        // The request decides.
        ("a;b\n1,234;x\n5,678;y\n", Some(true), &[Float64, Text], &[]),
        ("a;b\n1,234;1.5\n", Some(false), &[Text, Float64], &["\"1,234\""]),
        // Another column decides.
        ("a;b\n1,234;0.51\n", None, &[Text, Float64], &["\"0.51\" in line 2"]),
        ("a;b\n1,234;0,51\n", None, &[Float64, Float64], &[]),
        ("a;b\n1,5;0.51\n", None, &[Text, Float64], &["\"1,5\"", "\"0.51\""]),
        // The column itself decides.
        ("a;b\n1,234;x\n5,67;y\n", None, &[Float64, Text], &[]),
        ("a;b\n0,234;x\n0,678;y\n", None, &[Float64, Text], &[]),
        ("a;b\n1,2345;x\n", None, &[Float64, Text], &[]),
        ("a,b\n1.234,x\n", None, &[Float64, Text], &[]),
    ];
    for (text, decimal_comma, types, parts) in cases {
        let options = ImportOptions { decimal_comma, ..ImportOptions::default() };
        let found = read(text, options).unwrap();
        assert_eq!(found.types, types, "{text:?}");
        assert_eq!(found.warnings.is_empty(), parts.is_empty(), "{text:?}: {:?}", found.warnings);
        let told = found.warnings.join("\n");
        for part in parts {
            assert!(told.contains(part), "{text:?}: {part}: {told}");
        }
    }
    // Values of a column of text with commas are no evidence against points.
    let found = read("a;b\n1,234.5;0.5\n", ImportOptions::default()).unwrap();
    assert_eq!(found.types, [Text, Float64]);
    assert!(found.warnings.join("").contains("thousands"), "{:?}", found.warnings);
}
