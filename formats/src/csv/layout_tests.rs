//! Headers of instruments in every form that separators, decimal marks, quotes, line ends, lines above,
//! units, footers, short rows and blocks beside each other make, read back as they were written.

use stationdb::Control;
use stationdb::tables::readers::batch_rows;
use stationdb::tables::{Column, RowSource, TableSchema};

use super::CsvImport;
use crate::options::ImportOptions;

#[derive(Clone, Copy, Debug, PartialEq)]
enum Units {
    None,
    Below,
    InNames,
}

#[derive(Clone, Copy, Debug)]
struct Form {
    separator: char,
    comma: bool,
    titles: bool,
    units: Units,
    has_names: bool,
    footer: bool,
    /// Whether the last values of the last row are missing.
    short: bool,
    /// Whether the columns stand twice, with an empty one between them.
    twice: bool,
    /// Whether a first line names the separator.
    has_separator: bool,
    /// Whether the cells of names and rows are quoted, with blanks around the quotes.
    quotes: bool,
    end: &'static str,
}

fn forms() -> Vec<Form> {
    let mut out = Vec::new();
    for separator in [',', ';', '\t', '|', ' '] {
        for units in [Units::None, Units::Below, Units::InNames] {
            for (bits, end) in
                (0..=255u8).flat_map(|bits| ["\n", "\r\n", "\r\r\n"].map(|end| (bits, end)))
            {
                let bit = |at: u8| bits >> at & 1 == 1;
                let form = Form {
                    separator,
                    units,
                    comma: bit(0),
                    titles: bit(1),
                    has_names: bit(2),
                    footer: bit(3),
                    short: bit(4),
                    twice: bit(5),
                    has_separator: bit(6),
                    quotes: bit(7),
                    end,
                };
                // Blanks have no empty value between them, and units in names have blanks.
                let is_blank = separator == ' ';
                let can_be = !(separator == ',' && form.comma)
                    && (form.has_names || units == Units::None && !form.twice)
                    && !(is_blank && (form.twice || units == Units::InNames))
                    && !(is_blank && form.has_separator);
                out.extend(can_be.then_some(form));
            }
        }
    }
    out
}

const NAMES: [&str; 3] = ["t", "U", "count"];
const UNITS: [&str; 3] = ["s", "mV", "1"];
const ROWS: [[&str; 3]; 4] =
    [["0.5", "-1.25", "7"], ["1.5", "1e3", "8"], ["2.5", "0.125", "9"], ["3.5", "1000.75", "10"]];

impl Form {
    fn line(&self, cells: &[String]) -> String {
        let between = self.separator.to_string();
        let mut cells = cells.to_vec();
        if self.twice {
            cells.push(String::new());
            cells.extend_from_within(..cells.len() - 1);
        }
        if self.quotes {
            let blank = if self.separator == ' ' { "" } else { " " };
            let full = cells.iter_mut().filter(|cell| !cell.is_empty());
            full.for_each(|cell| *cell = format!("{blank}\"{cell}\"{blank}"));
        }
        cells.join(&between) + self.end
    }

    fn text(&self) -> String {
        let all = |texts: [&str; 3]| texts.map(str::to_owned).to_vec();
        let (mut out, end) = (String::new(), self.end);
        if self.has_separator {
            out += &format!("sep={}{end}", self.separator);
        }
        if self.titles {
            out += &format!("rig: 3{end}{end}operator{}Ada{end}", self.separator);
        }
        if self.has_names {
            let mut names = all(NAMES);
            if self.units == Units::InNames {
                for (name, unit) in names.iter_mut().zip(UNITS) {
                    *name = format!("{name} ({unit})");
                }
            }
            out += &self.line(&names);
        }
        if self.units == Units::Below {
            out += &self.line(&all(UNITS));
        }
        for (at, row) in ROWS.iter().enumerate() {
            let mut cells = all(*row);
            if self.comma {
                cells.iter_mut().for_each(|cell| *cell = cell.replace('.', ","));
            }
            if self.short && !self.twice && at == ROWS.len() - 1 {
                cells.pop();
            }
            out += &self.line(&cells);
        }
        if self.footer {
            out += &format!("{end}sum of all: 34{end}");
        }
        out
    }

    fn options(&self) -> ImportOptions {
        ImportOptions {
            preset: Some("INSTRUMENT".to_owned()),
            header: (!self.has_names).then_some(false),
            footer_lines: if self.footer { 2 } else { 0 },
            ..ImportOptions::default()
        }
    }
}

/// Columns, rows and properties of a text, without the numbers of its rows.
type Read = (Vec<Column>, Vec<Vec<Option<String>>>, Vec<(String, String)>);

fn read(form: Form) -> stationdb::Result<Read> {
    let text = form.text();
    let mut input = text.as_bytes();
    let mut import = CsvImport::new(&mut input, form.options())?;
    let schema = TableSchema::with_default_limit(import.columns()?)?;
    let mut rows = Vec::new();
    while let Some(batch) = import.next_batch(&schema, &Control::default())? {
        rows.extend(batch_rows(&batch).into_iter().map(|row| row[1..].to_vec()));
    }
    assert!(import.warnings()[0].starts_with("read as INSTRUMENT (asked for)"), "{form:?}");
    Ok((schema.columns()[1..].to_vec(), rows, import.properties().into_iter().collect()))
}

fn check(form: Form) {
    let text = form.text();
    let (columns, rows, properties) =
        read(form).unwrap_or_else(|error| panic!("{form:?}: {error}\n{text}"));
    let mut names: Vec<String> = if form.has_names {
        NAMES.map(str::to_owned).to_vec()
    } else {
        (1..=3).map(|at| format!("column_{at}")).collect()
    };
    if form.twice {
        names.extend(NAMES.map(|name| format!("{name}_2")));
    }
    let found: Vec<&str> = columns.iter().map(|column| column.name.as_str()).collect();
    assert_eq!(found, names, "{form:?}\n{text}");
    for (column, unit) in columns.iter().zip(UNITS) {
        let expected = (form.units != Units::None).then(|| unit.to_owned());
        assert_eq!(column.properties.get("unit").cloned(), expected, "{form:?}\n{text}");
    }
    let titles = [("operator", "Ada"), ("rig", "3")].map(|(key, value)| (key.into(), value.into()));
    let titles: &[(String, String)] = if form.titles { &titles } else { &[] };
    assert_eq!(properties, titles, "{form:?}\n{text}");
    assert_eq!(rows.len(), ROWS.len(), "{form:?}\n{text}");
    for (at, (row, expected)) in rows.iter().zip(ROWS).enumerate() {
        let cells = row.iter().zip(expected.iter().cycle()).enumerate();
        for (column, (cell, expected)) in cells {
            let is_missing = form.short && !form.twice && at == ROWS.len() - 1 && column == 2;
            let number = |text: &str| text.parse::<f64>().unwrap();
            let found = cell.as_deref().map(number);
            assert_eq!(found, (!is_missing).then(|| number(expected)), "{form:?}\n{text}");
        }
    }
}

#[test]
fn every_header_is_read_back_as_it_was_written() {
    let forms = forms();
    assert_eq!(forms.len(), 4992);
    forms.into_iter().for_each(check);
}
