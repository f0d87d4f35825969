//! Faults in the table of presets, one by one: each is found by a file of the corpus, or by a text that is,
//! or is not, one of a family.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::path::PathBuf;

use stationdb::Control;
use stationdb::tables::readers::batch_rows;
use stationdb::tables::{Column, ImportTableRequest, RowSource, TableSchema};

use super::presets::{Preset, all};
use crate::csv::CsvImport;
use crate::options::ImportOptions;

thread_local! {
    static PLANTED: Cell<Option<&'static [Preset]>> = const { Cell::new(None) };
}

/// The presets with the fault that this thread has, if it has one.
pub(super) fn planted() -> Option<&'static [Preset]> {
    PLANTED.get()
}

/// A file of the corpus with what it becomes.
#[derive(serde::Deserialize)]
struct File {
    preset: String,
    text: String,
    request: Option<String>,
    columns: Vec<String>,
    rows: Vec<Vec<String>>,
    properties: BTreeMap<String, String>,
    units: BTreeMap<String, String>,
    #[serde(default)]
    processing: BTreeMap<String, String>,
}

/// The beginning of a file, and the preset that it has or has not.
#[derive(serde::Deserialize)]
struct Beginning {
    preset: String,
    is_one: bool,
    text: String,
}

#[derive(serde::Deserialize)]
struct Files {
    file: Vec<File>,
}

#[derive(serde::Deserialize)]
struct Beginnings {
    text: Vec<Beginning>,
}

fn corpus(name: &str) -> String {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/corpus");
    std::fs::read_to_string(folder.join(name)).unwrap()
}

/// Columns, rows, properties of the table, and the first warning.
type Read = (Vec<Column>, Vec<Vec<Option<String>>>, BTreeMap<String, String>, String);

fn read(text: &str, request: Option<&str>) -> stationdb::Result<Read> {
    let request: ImportTableRequest = stationdb::from_json(request.unwrap_or("{}").as_bytes())?;
    let mut input = text.as_bytes();
    let mut import = CsvImport::new(&mut input, ImportOptions::new(&request)?)?;
    let schema = TableSchema::with_default_limit(import.columns()?)?;
    let mut rows = Vec::new();
    while let Some(batch) = import.next_batch(&schema, &Control::default())? {
        rows.extend(batch_rows(&batch).into_iter().map(|row| row[1..].to_vec()));
    }
    let told = import.warnings().first().cloned().unwrap_or_default();
    Ok((schema.columns()[1..].to_vec(), rows, import.properties(), told))
}

impl File {
    /// What is not as the corpus has it; `None` if all is.
    fn fault(&self) -> Option<String> {
        let (columns, rows, properties, told) = match read(&self.text, self.request.as_deref()) {
            Ok(read) => read,
            Err(error) => return Some(error.to_string()),
        };
        let name = |column: &Column| format!("{}: {}", column.name, column.data_type.as_str());
        let names: Vec<String> = columns.iter().map(name).collect();
        let cell = |text: &String| (text != "~").then(|| text.clone());
        let cells = |row: &Vec<String>| row.iter().map(cell).collect::<Vec<_>>();
        let expected: Vec<Vec<Option<String>>> = self.rows.iter().map(cells).collect();
        let unit = |column: &Column| column.properties.get(Column::UNIT).cloned();
        let units: BTreeMap<&str, Option<String>> =
            columns.iter().map(|column| (column.name.as_str(), unit(column))).collect();
        let has_unit = |(column, wanted): (&String, &String)| {
            units.get(column.as_str()) == Some(&Some(wanted.clone()))
        };
        let has_property = |(key, wanted): (&String, &String)| properties.get(key) == Some(wanted);
        let has_processing = |(name, wanted): (&String, &String)| {
            let column = columns.iter().find(|column| column.name == *name);
            column.and_then(|column| column.properties.get("processing")) == Some(wanted)
        };
        let is_all = told.starts_with(&format!("read as {} ", self.preset))
            && names == self.columns
            && rows == expected
            && self.properties.iter().all(has_property)
            && self.units.iter().all(has_unit)
            && self.processing.iter().all(has_processing);
        (!is_all).then(|| format!("{told}\n{names:?}\n{rows:?}\n{properties:?}\n{units:?}"))
    }
}

impl Beginning {
    fn fault(&self) -> Option<String> {
        match read(&self.text, None) {
            Ok((.., told)) => {
                let is_one = told.starts_with(&format!("read as {} ", self.preset));
                (is_one != self.is_one).then_some(told)
            }
            Err(error) => Some(error.to_string()),
        }
    }
}

/// The faults of a preset, each with its name: one fact of it is left out.
fn plants(preset: &Preset) -> Vec<(String, Preset)> {
    fn without<T: Clone>(all: &'static [T], at: usize) -> &'static [T] {
        let mut rest = all.to_vec();
        rest.remove(at);
        rest.leak()
    }
    let mut out: Vec<(String, Preset)> = Vec::new();
    let mut add = |what: String, is_there: bool, plant: &dyn Fn(&mut Preset)| {
        if is_there {
            let mut planted = preset.clone();
            plant(&mut planted);
            out.push((format!("{} without {what}", preset.name), planted));
        }
    };
    for (at, text) in preset.starts.iter().enumerate() {
        add(format!("start {text:?}"), true, &|p| p.starts = without(p.starts, at));
    }
    for (at, text) in preset.seconds.iter().enumerate() {
        add(format!("second {text:?}"), true, &|p| p.seconds = without(p.seconds, at));
    }
    for (at, text) in preset.marks.iter().enumerate() {
        add(format!("mark {text:?}"), true, &|p| p.marks = without(p.marks, at));
    }
    for (at, text) in preset.heads.iter().enumerate() {
        add(format!("head {text:?}"), true, &|p| p.heads = without(p.heads, at));
    }
    for (at, text) in preset.nulls.iter().enumerate() {
        add(format!("null {text:?}"), true, &|p| p.nulls = without(p.nulls, at));
    }
    for (at, text) in preset.keys.iter().enumerate() {
        add(format!("key {text:?}"), true, &|p| p.keys = without(p.keys, at));
    }
    for (at, text) in preset.names.iter().enumerate() {
        add(format!("name {text:?}"), true, &|p| p.names = without(p.names, at));
    }
    for (at, text) in preset.unit_keys.iter().enumerate() {
        add(format!("unit key {text:?}"), true, &|p| p.unit_keys = without(p.unit_keys, at));
    }
    let rejects = !(preset.has_names)("");
    add("names of its own".to_owned(), rejects, &|p| p.has_names = |_| true);
    add("prefix".to_owned(), !preset.prefix.is_empty(), &|p| p.prefix = "");
    add("first field".to_owned(), preset.from > 0, &|p| p.from = 0);
    add("lines below".to_owned(), preset.below.is_some(), &|p| p.below = None);
    add("tail".to_owned(), !preset.tail.is_empty(), &|p| p.tail = &[]);
    add("place of values".to_owned(), preset.value_at.is_some(), &|p| p.value_at = None);
    add("numbers of SCPI".to_owned(), preset.has_scpi_nulls, &|p| p.has_scpi_nulls = false);
    add("zeros".to_owned(), preset.has_zeros, &|p| p.has_zeros = false);
    add("order of dates".to_owned(), preset.date_order.is_some(), &|p| p.date_order = None);
    add("units".to_owned(), preset.has_units, &|p| p.has_units = false);
    add("texts".to_owned(), preset.has_texts, &|p| p.has_texts = false);
    add("milliseconds".to_owned(), !preset.millis.is_empty(), &|p| p.millis = "");
    add("days".to_owned(), preset.serial.is_some(), &|p| p.serial = None);
    add("segments".to_owned(), preset.has_segments, &|p| p.has_segments = false);
    add("blocks".to_owned(), preset.has_blocks, &|p| p.has_blocks = false);
    out
}

#[test]
fn each_fact_of_a_preset_has_a_file_that_needs_it() {
    let files = toml::from_str::<Files>(&corpus("instruments.toml")).unwrap().file;
    let texts = toml::from_str::<Beginnings>(&corpus("beginnings.toml")).unwrap().text;
    let checks: Vec<(&str, Box<dyn Fn() -> Option<String>>)> = files
        .iter()
        .map(|file| (&*file.preset, Box::new(|| file.fault()) as Box<dyn Fn() -> Option<String>>))
        .chain(texts.iter().map(|text| {
            (&*text.preset, Box::new(|| text.fault()) as Box<dyn Fn() -> Option<String>>)
        }))
        .collect();
    let faults: Vec<String> = checks
        .iter()
        .filter_map(|(preset, check)| Some(format!("{preset}: {}", check()?)))
        .collect();
    assert!(faults.is_empty(), "without a plant: {}", faults.join("\n"));
    let presets = all();
    let (mut count, mut missed) = (0, Vec::new());
    for (at, preset) in presets.iter().enumerate() {
        let of_it = || checks.iter().filter(|(name, _)| *name == preset.name);
        let others = || checks.iter().filter(|(name, _)| *name != preset.name);
        for (what, fault) in plants(preset) {
            let mut table = presets.to_vec();
            table[at] = fault;
            PLANTED.set(Some(table.leak()));
            if !of_it().chain(others()).any(|(_, check)| check().is_some()) {
                missed.push(what);
            }
            PLANTED.set(None);
            count += 1;
        }
    }
    assert!(
        missed.is_empty(),
        "{} of {count} faults are found by no file: {missed:#?}",
        missed.len()
    );
    println!("{count} faults of {} presets are found", presets.len());
}
