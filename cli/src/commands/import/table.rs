//! Files with tables.

use std::collections::BTreeMap;
use std::io::{self, Write as _};

use stationdb::prelude::*;
use stationdb::serde_json::{Value, json};
use stationdb::tables::{CreateTableRequest, DataType, ImportTableRequest, ImportTableResponse};
use stationdb::{Control, Session};
use stationdb_formats::{ResultFormat, SourceFile};

use crate::args::{Import, ParseFlags};
use crate::desk::Desk;
use crate::failure::{Failure, Outcome};
use crate::kinds;
use crate::output::{Output, OutputFormat, failed, printable};

/// Whether an option is given that test results of this format do not have.
pub fn is_asked(import: &Import, format: ResultFormat) -> bool {
    let Import { name, into, index, close, raw, ports, reading, .. } = import;
    // Test results have times without a zone, too, and those from CSV are a text.
    let mut own = ParseFlags { time_zone: reading.time_zone.clone(), ..ParseFlags::default() };
    if format == ResultFormat::Csv {
        own.separator.clone_from(&reading.separator);
        own.decimal.clone_from(&reading.decimal);
        own.date_order.clone_from(&reading.date_order);
        own.skip_lines = reading.skip_lines;
        own.short_rows = reading.short_rows;
        own.footer_lines = reading.footer_lines;
    }
    name.is_some()
        || into.is_some()
        || index.is_some()
        || *close
        || *raw
        || ports.is_some()
        || reading != &own
}

/// The target of a table, and how its file is read.
pub fn request(session: &Session, import: &Import) -> Outcome<ImportTableRequest> {
    let mut request = reading(&import.reading)?;
    request.index_column.clone_from(&import.index);
    request.end_of_data = import.close.then_some(true);
    match &import.into {
        Some(table) => {
            let table = kinds::metadata(session, table)?;
            request.id = table.id.map(|id| id.to_string());
        }
        None => {
            let mut table = CreateTableRequest::default();
            table.name.clone_from(&import.name);
            table.workspace.clone_from(&import.workspace);
            request.table = Some(table);
        }
    }
    Ok(request)
}

/// Appends the rows of an Arrow stream.
pub fn append_arrow(
    desk: &Desk,
    file: SourceFile,
    request: &ImportTableRequest,
    control: &Control,
) -> Outcome<ImportTableResponse> {
    let Some(id) = &request.id else {
        return Err(Failure::usage(
            "an Arrow stream is read into a table that exists; name it with --into, or import \
             Parquet",
        ));
    };
    let session = desk.session();
    let rows = || Ok::<_, Failure>(kinds::metadata(&session, id)?.row_count.unwrap_or_default());
    let before = rows()?;
    let mut stream = InterruptibleReader { stream: io::BufReader::new(file.into_read()), control };
    session.append_arrow(&id.into(), &mut stream, request.end_of_data)?;
    Ok(ImportTableResponse::new().id(id).row_count(rows()? - before))
}

/// The value of an option whose words are those of the library.
pub fn parsed<T: std::str::FromStr<Err = stationdb::Error>>(
    text: Option<&String>,
) -> Outcome<Option<T>> {
    Ok(text.map(|text| text.to_uppercase().replace('-', "_").parse()).transpose()?)
}

/// How the file is read, as the options say.
fn reading(options: &ParseFlags) -> Outcome<ImportTableRequest> {
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
    request.encoding.clone_from(&options.encoding);
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

/// Writes the warnings of an import, with the file where there are several.
pub fn warn(file: Option<&str>, answer: &ImportTableResponse) {
    let prefix = file.map_or_else(String::new, |file| format!("{file}: "));
    for warning in &answer.warnings {
        let told = format!("stationdb: warning: {prefix}{}", with_options(warning));
        let _ = writeln!(io::stderr(), "{}", printable(&told));
    }
}

pub fn line(file: &str, answer: &ImportTableResponse) -> String {
    let id = answer.id.clone().unwrap_or_default();
    format!("imported {} rows of {file} into table {id}", answer.row_count)
}

/// The import of a table, for programs.
pub fn object(file: Option<&str>, answer: &ImportTableResponse) -> Value {
    let id = answer.id.clone().unwrap_or_default();
    let mut object = json!({"table": id.to_string(), "rows": answer.row_count});
    if let Value::Object(object) = &mut object {
        if let Some(file) = file {
            object.insert("file".to_owned(), json!(file));
        }
        if !answer.columns.is_empty() {
            object.insert("columns".to_owned(), json!(answer.columns));
            object.insert("separator".to_owned(), json!(answer.separator));
            object.insert("headerLine".to_owned(), json!(answer.header_line));
            object.insert("warnings".to_owned(), json!(answer.warnings));
        }
    }
    object
}

/// Tells the rows, and what became of each column.
pub fn report(output: Output, answer: &ImportTableResponse) -> Outcome {
    let id = answer.id.clone().unwrap_or_default();
    warn(None, answer);
    let told = format!("imported {} rows into table {id}", answer.row_count);
    output.report(&told, &object(None, answer))?;
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
pub fn with_options(text: &str) -> String {
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
        ("the option ports", "--ports"),
        ("the option raw", "--raw"),
        ("measurements names", "--measurement names"),
        ("encoding says otherwise", "--encoding says otherwise"),
    ]
    .iter()
    .fold(text.to_owned(), |text, (member, option)| text.replace(member, option))
}

/// A stream that ends with an error once Ctrl-C was pressed.
struct InterruptibleReader<'c, R> {
    stream: R,
    control: &'c Control,
}

impl<R: io::Read> io::Read for InterruptibleReader<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.control.check().map_err(io::Error::other)?;
        self.stream.read(buffer)
    }
}
