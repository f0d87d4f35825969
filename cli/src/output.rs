//! Writes records and rows as a table, CSV, JSON or JSON lines.

use std::io::{self, IsTerminal as _, Write};

use console::{measure_text_width, style, truncate_str};
use stationdb::serde_json::{self, Value};

use crate::args::{Color, OutputFlags};
use crate::failure::{Failure, Outcome};

/// Records that decide the widths of a table's columns. Wider cells of later ones shift their line.
const MEASURED: usize = 1000;
/// Characters of a cell on a terminal.
const CELL_WIDTH: usize = 48;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutputFormat {
    Table,
    Csv,
    Json,
    JsonLines,
}

/// How output looks, with the terminal taken into account.
#[derive(Clone, Copy, Debug)]
pub struct Output {
    pub form: OutputFormat,
    pub has_pager: bool,
    pub is_terminal: bool,
}

impl Output {
    pub fn new(look: &OutputFlags) -> Self {
        let form = match look {
            OutputFlags { json: true, .. } => OutputFormat::Json,
            OutputFlags { jsonl: true, .. } => OutputFormat::JsonLines,
            OutputFlags { csv: true, .. } => OutputFormat::Csv,
            _ => OutputFormat::Table,
        };
        let is_terminal = io::stdout().is_terminal();
        let is_plain = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        let has_color = match look.color {
            Color::Auto => is_terminal && !is_plain,
            Color::Always => true,
            Color::Never => false,
        };
        console::set_colors_enabled(has_color);
        Self { form, has_pager: is_terminal && !look.no_pager, is_terminal }
    }

    /// Writes one object: a line for each member, or JSON.
    pub fn object(self, out: &mut dyn Write, object: &Value) -> Outcome {
        let written = match self.form {
            OutputFormat::Json => serde_json::to_string_pretty(object)
                .map_err(io::Error::from)
                .and_then(|text| writeln!(out, "{text}")),
            OutputFormat::JsonLines => writeln!(out, "{object}"),
            OutputFormat::Csv => writeln!(out, "member,value").and_then(|()| {
                members(object).iter().try_for_each(|(path, value)| {
                    writeln!(out, "{},{}", csv_field(path), csv_cell(value))
                })
            }),
            OutputFormat::Table => {
                let members = members(object);
                let width = members.iter().map(|(path, _)| measure_text_width(path)).max();
                let width = width.unwrap_or(0);
                members.iter().try_for_each(|(path, value)| {
                    let (path, value) = (printable(path), printable(&cell(value)));
                    let gap = " ".repeat(width.saturating_sub(measure_text_width(&path)));
                    writeln!(out, "{}{gap}  {value}", style(path).bold())
                })
            }
        };
        written.map_err(failed)
    }

    /// Writes one message for people, or the object for programs.
    pub fn report(self, message: &str, object: &Value) -> Outcome {
        let mut out = io::stdout().lock();
        match self.form {
            OutputFormat::Table => writeln!(out, "{}", printable(message)).map_err(failed)?,
            _ => self.object(&mut out, object)?,
        }
        out.flush().map_err(failed)
    }

    /// Writes records while they are read. `columns` are paths of members such as `limit.max`. JSON
    /// has whole records, unless `is_chosen` says that the caller chose the columns.
    pub fn records(
        self,
        out: &mut dyn Write,
        columns: &[String],
        is_chosen: bool,
        records: &mut dyn Iterator<Item = Outcome<Value>>,
    ) -> Outcome {
        match self.form {
            OutputFormat::Table => self.table(out, columns, records),
            OutputFormat::Csv => {
                let header: Vec<String> = columns.iter().map(|name| csv_field(name)).collect();
                writeln!(out, "{}", header.join(",")).map_err(failed)?;
                for record in records {
                    let record = record?;
                    let cells = columns.iter().map(|path| csv_cell(at(&record, path)));
                    let cells: Vec<String> = cells.collect();
                    writeln!(out, "{}", cells.join(",")).map_err(failed)?;
                }
                Ok(())
            }
            OutputFormat::JsonLines => {
                for record in records {
                    let record = chosen(record?, columns, is_chosen);
                    writeln!(out, "{record}").map_err(failed)?;
                }
                Ok(())
            }
            OutputFormat::Json => {
                let mut before = "[\n";
                for record in records {
                    let record = chosen(record?, columns, is_chosen);
                    write!(out, "{before}{record}").map_err(failed)?;
                    before = ",\n";
                }
                let end = if before == "[\n" { "[]" } else { "\n]" };
                writeln!(out, "{end}").map_err(failed)
            }
        }
    }

    fn table(
        self,
        out: &mut dyn Write,
        columns: &[String],
        records: &mut dyn Iterator<Item = Outcome<Value>>,
    ) -> Outcome {
        let shown = |text: &str| {
            let text = printable(text);
            if self.is_terminal {
                truncate_str(&text, CELL_WIDTH, "…").into_owned()
            } else {
                text
            }
        };
        let line = |record: &Value| -> Vec<String> {
            columns.iter().map(|path| shown(&cell(at(record, path)))).collect()
        };
        let mut is_number = vec![true; columns.len()];
        let mut lines = Vec::new();
        for record in (&mut *records).take(MEASURED) {
            let record = record?;
            for (is_number, path) in is_number.iter_mut().zip(columns) {
                *is_number &= matches!(at(&record, path), Value::Number(_) | Value::Null);
            }
            lines.push(line(&record));
        }
        let widths: Vec<usize> = columns
            .iter()
            .enumerate()
            .map(|(column, name)| {
                let cells = lines.iter().filter_map(|line| line.get(column));
                let widest = cells.map(|cell| measure_text_width(cell)).max().unwrap_or(0);
                widest.max(measure_text_width(name))
            })
            .collect();
        let row = |cells: &[String], is_header: bool| {
            let mut text = String::new();
            for ((cell, width), is_number) in cells.iter().zip(&widths).zip(&is_number) {
                let gap = " ".repeat(width.saturating_sub(measure_text_width(cell)));
                let cell = if is_header { style(cell).bold().to_string() } else { cell.clone() };
                let cell = if *is_number { format!("{gap}{cell}") } else { format!("{cell}{gap}") };
                if !text.is_empty() {
                    text.push_str("  ");
                }
                text.push_str(&cell);
            }
            text.trim_end().to_owned()
        };
        let header: Vec<String> = columns.iter().map(|name| printable(name)).collect();
        writeln!(out, "{}", row(&header, true)).map_err(failed)?;
        for line in &lines {
            writeln!(out, "{}", row(line, false)).map_err(failed)?;
        }
        for record in records {
            writeln!(out, "{}", row(&line(&record?), false)).map_err(failed)?;
        }
        Ok(())
    }
}

pub fn failed(error: io::Error) -> Failure {
    Failure::io("writing the output", &error)
}

/// The member at a path. A name with a point in it is found too.
fn at<'v>(record: &'v Value, path: &str) -> &'v Value {
    if let Some(value) = record.get(path) {
        return value;
    }
    let inner = path.match_indices('.').find_map(|(point, _)| {
        let (head, tail) = (path.get(..point)?, path.get(point + 1..)?);
        match at(record.get(head)?, tail) {
            Value::Null => None,
            value => Some(value),
        }
    });
    inner.unwrap_or(&Value::Null)
}

fn chosen(record: Value, columns: &[String], is_chosen: bool) -> Value {
    if !is_chosen {
        return record;
    }
    columns.iter().map(|path| (path.clone(), at(&record, path).clone())).collect()
}

/// Paths and values of the members, with those of objects inside.
fn members(object: &Value) -> Vec<(String, &Value)> {
    let Value::Object(map) = object else { return vec![(String::new(), object)] };
    let mut all = Vec::new();
    for (name, value) in map {
        match value {
            Value::Object(inner) if !inner.is_empty() => {
                let inner = members(value).into_iter();
                all.extend(inner.map(|(path, value)| (format!("{name}.{path}"), value)));
            }
            _ => all.push((name.clone(), value)),
        }
    }
    all
}

/// The text of a value: texts as they are, the rest as JSON, null as nothing.
pub fn cell(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// Control characters would move the cursor of a terminal, or change its state.
pub fn printable(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

/// The field of a value: null is empty, and an empty text is in quotes, so that the two differ.
pub fn csv_cell(value: &Value) -> String {
    match value {
        Value::String(text) if text.is_empty() => "\"\"".to_owned(),
        other => csv_field(&cell(other)),
    }
}

fn csv_field(text: &str) -> String {
    if text.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use stationdb::serde_json::json;

    use super::*;

    fn written(form: OutputFormat, columns: &[&str], is_chosen: bool, records: &[Value]) -> String {
        let output = Output { form, has_pager: false, is_terminal: false };
        let columns: Vec<String> = columns.iter().map(|&name| name.to_owned()).collect();
        let mut out = Vec::new();
        let mut records = records.iter().cloned().map(Ok);
        output.records(&mut out, &columns, is_chosen, &mut records).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn records_have_four_forms() {
        let records =
            [json!({"id": "a,b", "n": 7, "limit": {"max": 1.5}}), json!({"id": "c\u{1b}[2J"})];
        let columns = ["id", "n", "limit.max"];
        assert_eq!(
            written(OutputFormat::Table, &columns, false, &records),
            "id     n  limit.max\na,b    7        1.5\nc [2J\n"
        );
        assert_eq!(
            written(OutputFormat::Csv, &columns, false, &records),
            "id,n,limit.max\n\"a,b\",7,1.5\nc\u{1b}[2J,,\n"
        );
        assert_eq!(
            written(OutputFormat::JsonLines, &["n"], true, &records),
            "{\"n\":7}\n{\"n\":null}\n"
        );
        let json = written(OutputFormat::Json, &columns, false, &records);
        assert_eq!(serde_json::from_str::<Value>(&json).unwrap(), json!(records));
        assert_eq!(written(OutputFormat::Json, &columns, false, &[]), "[]\n");
    }

    #[test]
    fn csv_tells_null_from_an_empty_text() {
        let records = [json!({"a": "", "b": null, "c": {"d": ""}}), json!({"b": ""})];
        let csv = written(OutputFormat::Csv, &["a", "b", "c.d"], false, &records);
        assert_eq!(csv, "a,b,c.d\n\"\",,\"\"\n,\"\",\n");
        let output = Output { form: OutputFormat::Csv, has_pager: false, is_terminal: false };
        let mut out = Vec::new();
        output.object(&mut out, &records[0]).unwrap();
        let said = String::from_utf8(out).unwrap();
        assert_eq!(said, "member,value\na,\"\"\nb,\nc.d,\"\"\n");
    }

    #[test]
    fn a_path_finds_names_with_points() {
        let record = json!({"properties": {"a.b": "1", "a": {"c": "2"}}});
        assert_eq!(at(&record, "properties.a.b"), "1");
        assert_eq!(at(&record, "properties.a.c"), "2");
        assert_eq!(at(&record, "properties.x"), &Value::Null);
    }
}
