//! `export`, and files that appear when they are complete.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, BufWriter, IsTerminal as _, Write};
use std::path::{Path, PathBuf};

use stationdb::prelude::*;
use stationdb::serde_json::json;
use stationdb::tables::{
    ColumnOrderBy, ExportFormat, ExportTableDataRequest, ScanRequest, TableId, TableMetadata,
};
use stationdb::{Control, Error, Result};
use stationdb_formats::ExportFiles as _;
use stationdb_formats::tdms::ExportTdmsRequest;

use crate::args::{Export, RowFormat};
use crate::conditions;
use crate::desk::Desk;
use crate::failure::{Failure, Outcome};
use crate::kinds;
use crate::names::names;
use crate::output::Output;
use crate::progress::Bar;

/// A file that appears under its name when it is complete.
pub struct DraftFile {
    path: PathBuf,
    target: PathBuf,
    is_complete: bool,
}

impl DraftFile {
    /// `extension` ends the name of the draft too, for writers that look at it.
    pub fn new(target: &Path, extension: &str) -> Outcome<Self> {
        let Some(name) = target.file_name() else {
            return Err(Failure::usage(format!("{} is not the name of a file", target.display())));
        };
        let mut draft = OsString::from(".");
        draft.push(name);
        draft.push(format!(".{}.part{extension}", std::process::id()));
        let path = target.with_file_name(draft);
        Ok(Self { path, target: target.to_owned(), is_complete: false })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn create(&self) -> Outcome<File> {
        File::create(&self.path).map_err(|error| self.failed(&error))
    }

    pub fn failed(&self, error: &io::Error) -> Failure {
        Failure::io(format!("writing {}", self.target.display()), error)
    }

    /// Gives the draft its name. Its content must be on the disk.
    pub fn finish(mut self) -> Outcome {
        fs::rename(&self.path, &self.target).map_err(|error| self.failed(&error))?;
        self.is_complete = true;
        Ok(())
    }
}

impl Drop for DraftFile {
    fn drop(&mut self) {
        if !self.is_complete {
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// The format that is chosen, or that the name of the file tells.
pub fn format_of(chosen: Option<RowFormat>, path: Option<&Path>) -> RowFormat {
    let extension = path.and_then(Path::extension).unwrap_or_default().to_ascii_lowercase();
    chosen.unwrap_or(match extension.to_str() {
        Some("parquet" | "pq") => RowFormat::Parquet,
        Some("arrow" | "arrows" | "ipc") => RowFormat::Arrow,
        Some("tdms") => RowFormat::Tdms,
        _ => RowFormat::Csv,
    })
}

/// Whether a table has a column of this name.
pub fn has_column(table: &TableMetadata, name: &str) -> bool {
    table.columns.iter().flatten().any(|column| column.name == name)
}

/// Writes rows in a format. Returns their number.
fn write(
    session: &impl TableService,
    id: &TableId,
    format: RowFormat,
    rows: ScanRequest,
    fill: &BTreeMap<String, String>,
    out: &mut (impl Write + Send),
    control: &Control,
) -> Result<u64> {
    let format = match format {
        RowFormat::Csv => ExportFormat::Csv,
        RowFormat::Parquet => ExportFormat::Parquet,
        RowFormat::Arrow => ExportFormat::ArrowStream,
        RowFormat::Tdms => {
            let mut request = ExportTdmsRequest::new().rows(rows);
            request.fill.clone_from(fill);
            return session.export_tdms(id, request, out, control);
        }
    };
    let mut request = ExportTableDataRequest::new(format);
    (request.columns, request.filters) = (rows.columns, rows.filters);
    (request.order_by, request.take) = (rows.order_by, rows.take);
    session.export_table_data(id, request, out, control)
}

/// The failure of an export, with the option for its cause.
fn with_option(error: &Error) -> Failure {
    let failure = Failure::of(error);
    let message = failure.message.replace("give fill a value", "give a value with --fill");
    Failure::new(failure.code, message)
}

/// The values of null cells by column.
fn filled(pairs: &[String], format: RowFormat) -> Outcome<BTreeMap<String, String>> {
    if !pairs.is_empty() && format != RowFormat::Tdms {
        return Err(Failure::usage("--fill is for TDMS; other formats have nulls"));
    }
    let pair = |text: &String| match text.rsplit_once('=') {
        Some((column, value)) => Ok((column.to_owned(), value.to_owned())),
        None => Err(Failure::usage(format!(
            "{text:?} is not a column and a value; write it as count=0"
        ))),
    };
    pairs.iter().map(pair).collect()
}

pub fn export(desk: &Desk, output: Output, export: &Export) -> Outcome {
    let session = desk.session();
    let table = kinds::metadata(&session, &export.table)?;
    let id = table.id.clone().unwrap_or_default();
    let target = export.output.as_deref().filter(|path| *path != Path::new("-"));
    let format = format_of(export.format, target);
    let mut request = ScanRequest::new();
    request.filters = Some(conditions::filters(&table, &export.range)?);
    let is_column = |name: &str| has_column(&table, name);
    request.columns = Some(names(&export.columns, is_column));
    let order = names(&export.order, is_column);
    let order = order.iter().map(|column| {
        let mut order = ColumnOrderBy::new(column);
        order.descending = export.desc;
        order
    });
    request.order_by = Some(order.collect());
    request.take = export.take.map(i64::from);
    let fill = filled(&export.fill, format)?;
    let is_whole = request.filters.as_ref().is_none_or(Vec::is_empty) && export.take.is_none();
    let total = is_whole.then(|| u64::try_from(table.row_count.unwrap_or_default()).ok()).flatten();
    let (bar, control) = Bar::new(desk.interrupt.control(), "exporting", total);

    let Some(target) = target else {
        if format != RowFormat::Csv && io::stdout().is_terminal() {
            return Err(Failure::usage(
                "the format is not text for a terminal; name a file with -o",
            ));
        }
        // Bars and rows would mix on one terminal.
        let control = if output.is_terminal { control.without_progress() } else { control };
        let mut out = BufWriter::new(io::stdout());
        let rows = write(&session, &id, format, request, &fill, &mut out, &control);
        rows.map_err(|error| with_option(&error))?;
        return out.flush().map_err(crate::output::failed);
    };
    let draft = DraftFile::new(target, "")?;
    let mut out = BufWriter::new(draft.create()?);
    let rows = write(&session, &id, format, request, &fill, &mut out, &control);
    let rows = rows.map_err(|error| with_option(&error))?;
    let file = out.into_inner().map_err(|error| draft.failed(error.error()))?;
    file.sync_all().map_err(|error| draft.failed(&error))?;
    let bytes = file.metadata().map_or(0, |metadata| metadata.len());
    drop(file);
    draft.finish()?;
    drop(bar);
    let name = target.display().to_string();
    output.report(
        &format!("exported {rows} rows to {name}, {bytes} bytes"),
        &json!({"table": id.to_string(), "file": name, "rows": rows, "bytes": bytes}),
    )
}
