//! Imports of files and directories by their paths: tables and test results.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use stationdb::tables::{ImportTableRequest, ImportTableResponse};
use stationdb::{Control, Error, Result, Session};
use stationdb_formats::{
    ImportDirectoryRequest, ImportFiles as _, ImportResults as _, Imported, ResultOptions,
    SourceFile,
};

use crate::errors::{of_file, raised};
use crate::json::{request, to_python};
use crate::long::{Watch, long};
use crate::session::SessionCore;

/// How files are imported.
#[derive(FromPyObject)]
pub struct Asked<'py> {
    /// The name of the format; that of each file is found when absent.
    #[pyo3(item)]
    format: Option<String>,
    /// The target of tables, and how they are read, in the wire form.
    #[pyo3(item)]
    table: Bound<'py, PyAny>,
    #[pyo3(item)]
    part_number: Option<String>,
    #[pyo3(item)]
    workspace: Option<String>,
    #[pyo3(item)]
    again: bool,
    /// The zone of times without one.
    #[pyo3(item)]
    time_zone: Option<String>,
    /// The columns of members of results in CSV, by the names of the members on the wire.
    #[pyo3(item)]
    columns: BTreeMap<String, String>,
    /// The columns of measurements of results in CSV.
    #[pyo3(item)]
    measurements: Option<Vec<String>>,
    #[pyo3(item)]
    program_name: Option<String>,
    /// Whether values stay as a file of tables has them.
    #[pyo3(item)]
    raw: bool,
    /// The ports of Touchstone files.
    #[pyo3(item)]
    ports: Option<usize>,
}

impl Asked<'_> {
    fn format<F: FromStr<Err = Error>>(&self) -> PyResult<Option<F>> {
        let format = self.format.as_deref().map(str::parse).transpose();
        format.map_err(|error| raised(self.table.py(), &error))
    }

    fn table(&self) -> PyResult<ImportTableRequest> {
        let mut table: ImportTableRequest = request(&self.table, "import_file")?;
        if self.time_zone.is_some() {
            table.time_zone.clone_from(&self.time_zone);
        }
        if let (None, Some(workspace)) = (&table.id, &self.workspace) {
            table.table.get_or_insert_default().workspace.get_or_insert_with(|| workspace.clone());
        }
        Ok(table)
    }

    /// How results are read. The text of CSV is read as the options of tables say.
    fn results(&self, text: &ImportTableRequest) -> PyResult<ResultOptions> {
        let refused = |what: String, member: &str| {
            raised(self.table.py(), &Error::invalid(what).at_member(member))
        };
        let separator = match text.separator.as_deref().map(|text| (text, text.chars())) {
            None => None,
            Some((text, mut characters)) => match (characters.next(), characters.next()) {
                (Some(only), None) => Some(only),
                _ => {
                    return Err(refused(format!("{text:?} is not one character"), "separator"));
                }
            },
        };
        let decimal_comma = match text.decimal_separator.as_deref() {
            None => None,
            Some(",") => Some(true),
            Some(".") => Some(false),
            Some(text) => {
                let what = format!("{text:?} does not separate decimals; use a point or a comma");
                return Err(refused(what, "decimalSeparator"));
            }
        };
        let lines = |count: Option<i64>, member: &str| {
            u64::try_from(count.unwrap_or_default())
                .map_err(|_| refused("the number of lines is negative".to_owned(), member))
        };
        let mut options = ResultOptions::new().again(self.again);
        options.part_number.clone_from(&self.part_number);
        options.workspace.clone_from(&self.workspace);
        options.time_zone.clone_from(&self.time_zone);
        options.columns.clone_from(&self.columns);
        options.measurements.clone_from(&self.measurements);
        options.program_name.clone_from(&self.program_name);
        (options.separator, options.decimal_comma) = (separator, decimal_comma);
        (options.date_order, options.short_rows) = (text.date_order, text.short_rows);
        options.skip_lines = lines(text.skip_lines, "skipLines")?;
        options.footer_lines = lines(text.footer_lines, "footerLines")?;
        Ok(options)
    }
}

/// Refuses a path where nothing is, or the other of file and directory.
fn look_at(py: Python<'_>, path: &Path, wants_directory: bool) -> PyResult<()> {
    let found =
        py.detach(|| path.metadata()).and_then(|found| match (wants_directory, found.is_dir()) {
            (true, false) => Err(io::ErrorKind::NotADirectory.into()),
            (false, true) => Err(io::ErrorKind::IsADirectory.into()),
            _ => Ok(()),
        });
    found.map_err(|error| of_file(py, format!("opening {}", path.display()), error))
}

fn work<T: Send>(
    py: Python<'_>,
    session: &SessionCore,
    progress: Option<Py<PyAny>>,
    work: impl FnOnce(&Session, &Control) -> Result<T> + Send,
) -> PyResult<T> {
    session.caller.refuse_own_transaction(py)?;
    let (_call, handle) = session.caller.begin(py)?;
    let watch = Watch { progress, timeout: session.caller.timeout() };
    long(py, watch, |control| work(&handle.with_control(control), control))
}

/// What a file became.
fn told<'py>(py: Python<'py>, imported: Imported) -> PyResult<Bound<'py, PyDict>> {
    let told = PyDict::new(py);
    match imported {
        Imported::Tables(tables) => told.set_item("tables", answers(py, &tables)?)?,
        Imported::Results(report) => {
            let texts = |ids: Vec<&str>| PyList::new(py, ids);
            told.set_item("format", report.format.as_str())?;
            told.set_item(
                "results",
                texts(report.results.iter().map(|id| id.as_str()).collect())?,
            )?;
            told.set_item("steps", report.steps)?;
            told.set_item("measurements", report.measurements)?;
            told.set_item("ids", texts(report.tables.iter().map(|id| id.as_str()).collect())?)?;
            told.set_item("files", texts(report.files.iter().map(|id| id.as_str()).collect())?)?;
            told.set_item("warnings", report.warnings)?;
        }
    }
    Ok(told)
}

fn answers<'py>(py: Python<'py>, tables: &[ImportTableResponse]) -> PyResult<Bound<'py, PyList>> {
    let tables: Vec<Py<PyAny>> =
        tables.iter().map(|table| to_python(py, table)).collect::<PyResult<_>>()?;
    PyList::new(py, tables)
}

/// Imports a file with tables. Returns the answer of each of them.
#[pyfunction]
#[pyo3(signature = (session, path, asked, progress))]
pub fn import_tables<'py>(
    py: Python<'py>,
    session: &SessionCore,
    path: PathBuf,
    asked: Asked<'py>,
    progress: Option<Py<PyAny>>,
) -> PyResult<Bound<'py, PyList>> {
    look_at(py, &path, false)?;
    let (format, table) = (asked.format()?, asked.table()?);
    let (raw, ports) = (asked.raw, asked.ports);
    let tables = work(py, session, progress, |session, control| {
        let mut file = SourceFile::open(path)?.raw(raw);
        if let Some(ports) = ports {
            file = file.ports(ports);
        }
        session.import_source(table, file, format, control)
    })?;
    answers(py, &tables)
}

/// Imports a file with test results.
#[pyfunction]
#[pyo3(signature = (session, path, asked, progress))]
pub fn import_results<'py>(
    py: Python<'py>,
    session: &SessionCore,
    path: PathBuf,
    asked: Asked<'py>,
    progress: Option<Py<PyAny>>,
) -> PyResult<Bound<'py, PyDict>> {
    look_at(py, &path, false)?;
    let (format, options) = (asked.format()?, asked.results(&asked.table()?)?);
    let report = work(py, session, progress, |session, control| {
        session.import_results_file(&path, format, &options, control)
    })?;
    told(py, Imported::Results(report))
}

/// Imports the files of a directory. Returns what became of each: an exception, or a dict.
#[pyfunction]
#[pyo3(signature = (session, path, asked, recursive, all_or_nothing, progress))]
pub fn import_directory<'py>(
    py: Python<'py>,
    session: &SessionCore,
    path: PathBuf,
    asked: Asked<'py>,
    recursive: bool,
    all_or_nothing: bool,
    progress: Option<Py<PyAny>>,
) -> PyResult<Bound<'py, PyList>> {
    look_at(py, &path, true)?;
    let table = asked.table()?;
    let results = asked.results(&table)?;
    let mut asking = ImportDirectoryRequest::new(path)
        .table(table)
        .results(results)
        .raw(asked.raw)
        .recursive(recursive)
        .all_or_nothing(all_or_nothing);
    asking.format = asked.format()?;
    let report =
        work(py, session, progress, |session, control| session.import_directory(&asking, control))?;
    let list = PyList::empty(py);
    for file in report.files {
        let one = match file.outcome {
            Ok(imported) => told(py, imported)?,
            Err(error) => {
                let one = PyDict::new(py);
                one.set_item("error", raised(py, &error))?;
                one
            }
        };
        one.set_item("path", file.path)?;
        one.set_item("format", file.format.map(|format| format.as_str()))?;
        list.append(one)?;
    }
    Ok(list)
}
