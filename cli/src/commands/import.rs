//! `import`.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Write as _};

use stationdb::prelude::*;
use stationdb::serde_json::{Value, json};
use stationdb::tables::{CreateTableRequest, DataType, ImportTableRequest, ImportTableResponse};
use stationdb_formats::ImportFiles;

use super::openhtf;
use super::rows::format_of;
use crate::args::{Import, ParseFlags, RowFormat};
use crate::desk::Desk;
use crate::failure::{Failure, Outcome};
use crate::kinds;
use crate::output::{Output, OutputFormat, failed, printable};
use crate::progress::Bar;

pub fn import(desk: &Desk, output: Output, import: &Import) -> Outcome {
    if import.openhtf {
        return openhtf::import(desk, output, import);
    }
    let [path] = import.files.as_slice() else {
        return Err(Failure::usage(
            "a table is read from one file; only --openhtf takes several of them",
        ));
    };
    let session = desk.session();
    let attempt = || format!("reading {}", path.display());
    let mut file = File::open(path).map_err(|error| Failure::io(attempt(), &error))?;
    let mut request = reading(&import.reading)?;
    request.index_column.clone_from(&import.index);
    request.end_of_data = import.close.then_some(true);
    match &import.into {
        Some(table) => {
            let table = kinds::metadata(&session, table)?;
            request.id = table.id.map(|id| id.to_string());
        }
        None => {
            let mut table = CreateTableRequest::default();
            table.name.clone_from(&import.name);
            table.workspace.clone_from(&import.workspace);
            request.table = Some(table);
        }
    }
    let format = format_of(import.format, Some(path));
    let (bar, control) = Bar::new(desk.interrupt.control(), "importing", None);
    let answer = match (format, &request.id) {
        (RowFormat::Arrow, None) => {
            return Err(Failure::usage(
                "an Arrow stream is read into a table that exists; name it with --into, or \
                 import Parquet",
            ));
        }
        (RowFormat::Arrow, Some(id)) => {
            let rows = |desk: &Desk| {
                let count = kinds::metadata(&desk.session(), id)?.row_count;
                Ok::<_, Failure>(count.unwrap_or_default())
            };
            let before = rows(desk)?;
            let stream = io::BufReader::new(file);
            let mut stream = InterruptibleReader { stream, control: &control };
            session.append_arrow(&id.into(), &mut stream, request.end_of_data)?;
            let row_count = rows(desk)? - before;
            ImportTableResponse::new().id(id).row_count(row_count)
        }
        (RowFormat::Csv, _) => session.import_csv(request, &mut file, &control)?,
        (RowFormat::Parquet, _) => session.import_parquet(request, Box::new(file), &control)?,
    };
    drop(bar);
    report(output, &answer)
}

/// How the file is read, as the options say.
fn reading(options: &ParseFlags) -> Outcome<ImportTableRequest> {
    fn parsed<T: std::str::FromStr<Err = stationdb::Error>>(
        text: Option<&String>,
    ) -> Outcome<Option<T>> {
        Ok(text.map(|text| text.to_uppercase().replace('-', "_").parse()).transpose()?)
    }
    let mut types = BTreeMap::new();
    for pair in &options.types {
        let Some((name, data_type)) = pair.rsplit_once('=') else {
            return Err(Failure::usage(format!(
                "{pair:?} is not a column and its type; write it as at=TIMESTAMP_US"
            )));
        };
        let data_type: DataType = data_type.to_uppercase().parse()?;
        types.insert(name.to_owned(), data_type);
    }
    let mut request = ImportTableRequest::new();
    request.column_types = (!types.is_empty()).then_some(types);
    request.separator.clone_from(&options.separator);
    request.decimal_separator.clone_from(&options.decimal);
    request.null_texts = (!options.null.is_empty()).then(|| options.null.clone());
    request.comment_prefix.clone_from(&options.comment);
    let yes = |text: &Option<String>| text.as_deref().map(|text| text == "yes");
    request.skip_lines = options.skip_lines.map(i64::from);
    request.preset = options.preset.as_ref().map(|name| name.to_uppercase());
    request.header = options.no_header.then_some(false);
    request.units_line = yes(&options.units_line);
    request.short_rows = options.short_rows.then_some(true);
    request.footer_lines = options.footer_lines.map(i64::from);
    request.side_by_side = yes(&options.side_by_side);
    request.sample_interval.clone_from(&options.sample_interval);
    request.start_time.clone_from(&options.start_time);
    request.date_order = parsed(options.date_order.as_ref())?;
    request.time_zone.clone_from(&options.time_zone);
    request.epoch_unit = parsed(options.epoch.as_ref())?;
    request.cut_times = options.cut_times.then_some(true);
    request.binary = parsed(options.binary.as_ref())?;
    request.flatten = options.flatten.then_some(true);
    Ok(request)
}

/// Tells the rows, and what became of each column.
fn report(output: Output, answer: &ImportTableResponse) -> Outcome {
    let id = answer.id.clone().unwrap_or_default();
    let rows = answer.row_count;
    let mut object = json!({"table": id.to_string(), "rows": rows});
    if let (Value::Object(object), false) = (&mut object, answer.columns.is_empty()) {
        object.insert("columns".to_owned(), json!(answer.columns));
        object.insert("separator".to_owned(), json!(answer.separator));
        object.insert("headerLine".to_owned(), json!(answer.header_line));
        object.insert("warnings".to_owned(), json!(answer.warnings));
    }
    for warning in &answer.warnings {
        let _ = writeln!(io::stderr(), "stationdb: warning: {}", printable(&with_options(warning)));
    }
    output.report(&format!("imported {rows} rows into table {id}"), &object)?;
    if output.form != OutputFormat::Table {
        return Ok(());
    }
    let mut out = io::stdout().lock();
    for column in &answer.columns {
        let nulls = match column.null_count {
            0 => String::new(),
            count => format!(", {count} null"),
        };
        let why = with_options(&column.why);
        let line = format!("{}: {}{nulls}; {why}", column.name, column.data_type);
        writeln!(out, "  {}", printable(&line)).map_err(failed)?;
    }
    out.flush().map_err(failed)
}

/// A text with the options of the members of the request that it names.
fn with_options(text: &str) -> String {
    [
        ("indexColumn", "--index"),
        ("decimalSeparator", "--decimal"),
        ("skipLines", "--skip-lines"),
        ("header to false", "--no-header"),
        ("unitsLine", "--units-line"),
        ("shortRows", "--short-rows"),
        ("footerLines", "--footer-lines"),
        ("sideBySide", "--side-by-side"),
        ("sampleInterval", "--sample-interval"),
        ("startTime", "--start-time"),
        ("nullTexts", "--null"),
        ("commentPrefix", "--comment"),
        ("columnTypes", "--type"),
        ("dateOrder", "--date-order"),
    ]
    .iter()
    .fold(text.to_owned(), |text, (member, option)| text.replace(member, option))
}

/// A stream that ends with an error once Ctrl-C was pressed.
struct InterruptibleReader<'c, R> {
    stream: R,
    control: &'c stationdb::Control,
}

impl<R: io::Read> io::Read for InterruptibleReader<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.control.check().map_err(io::Error::other)?;
        self.stream.read(buffer)
    }
}
