//! The files of a directory, imported in one call.

use std::fs;
use std::path::{Path, PathBuf};

use stationdb::tables::{
    ImportTableRequest, ImportTableResponse, SourceTable, TableService as _, TableSource,
};
use stationdb::{Control, Error, Result, Session};

use crate::data_format::DataFormat;
use crate::file::FileTables;
use crate::format::FileFormat;
use crate::limits;
use crate::opened::SourceFile;
use crate::results::{ResultOptions, ResultsReport};

/// Which files of a directory are imported, and how.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct ImportDirectoryRequest {
    /// The directory.
    pub path: PathBuf,
    /// The target of each file with tables, and how it is read. A new table without a name is named
    /// by its file.
    pub table: ImportTableRequest,
    /// How files with test results are imported.
    pub results: ResultOptions,
    /// The format of all files; that of each is found when absent.
    pub format: Option<DataFormat>,
    /// Whether values of tables stay as their files have them, see [`SourceFile::raw`].
    pub raw: bool,
    /// Whether the directories below it count, too.
    pub recursive: bool,
    /// Whether all files are one commit, so that a file that is refused refuses all.
    pub all_or_nothing: bool,
}

impl ImportDirectoryRequest {
    /// The files of a directory, each one commit.
    #[must_use]
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into(), ..Self::default() }
    }

    /// Sets the target of each file with tables, and how it is read.
    #[must_use]
    pub fn table(self, table: ImportTableRequest) -> Self {
        Self { table, ..self }
    }

    /// Sets how files with test results are imported.
    #[must_use]
    pub fn results(self, results: ResultOptions) -> Self {
        Self { results, ..self }
    }

    /// Sets the format of all files.
    #[must_use]
    pub fn format(self, format: DataFormat) -> Self {
        Self { format: Some(format), ..self }
    }

    /// Sets whether values of tables stay as their files have them.
    #[must_use]
    pub fn raw(self, raw: bool) -> Self {
        Self { raw, ..self }
    }

    /// Sets whether the directories below it count, too.
    #[must_use]
    pub fn recursive(self, recursive: bool) -> Self {
        Self { recursive, ..self }
    }

    /// Sets whether all files are one commit.
    #[must_use]
    pub fn all_or_nothing(self, all_or_nothing: bool) -> Self {
        Self { all_or_nothing, ..self }
    }
}

/// What became of the files of a directory, in the order of their paths.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct DirectoryReport {
    /// Each file of the directory.
    pub files: Vec<FileReport>,
}

/// What became of a file.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct FileReport {
    /// Its path in the directory.
    pub path: PathBuf,
    /// Its format, if it was found.
    pub format: Option<DataFormat>,
    /// What was imported, or why the file was refused.
    pub outcome: Result<Imported>,
}

/// What was imported from a file.
#[derive(Clone, Debug)]
pub enum Imported {
    /// Its tables, in the order of the file.
    Tables(Vec<ImportTableResponse>),
    /// Its test results.
    Results(ResultsReport),
}

impl Imported {
    /// The tables of a file with tables.
    #[must_use]
    pub fn tables(&self) -> &[ImportTableResponse] {
        match self {
            Self::Tables(tables) => tables,
            Self::Results(_) => &[],
        }
    }

    /// What a file with test results created.
    #[must_use]
    pub fn results(&self) -> Option<&ResultsReport> {
        match self {
            Self::Tables(_) => None,
            Self::Results(report) => Some(report),
        }
    }
}

impl DirectoryReport {
    /// The files that were imported, with what became of them.
    pub fn imported(&self) -> impl Iterator<Item = (&Path, &Imported)> {
        self.files
            .iter()
            .filter_map(|file| Some((file.path.as_path(), file.outcome.as_ref().ok()?)))
    }

    /// The files that were refused, with the reasons.
    pub fn refused(&self) -> impl Iterator<Item = (&Path, &Error)> {
        self.files
            .iter()
            .filter_map(|file| Some((file.path.as_path(), file.outcome.as_ref().err()?)))
    }
}

/// The paths of the files below a directory, in order.
///
/// # Errors
/// `Io`; `LimitExceeded` for too many files or levels.
fn files(root: &Path, recursive: bool, control: &Control) -> Result<Vec<PathBuf>> {
    let (mut found, mut open, mut directories) = (Vec::new(), vec![(PathBuf::new(), 0)], 0);
    while let Some((directory, depth)) = open.pop() {
        control.check()?;
        let full = root.join(&directory);
        let failed = |error| Error::io(format_args!("listing {}", full.display()), error);
        for entry in fs::read_dir(&full).map_err(failed)? {
            let name = entry.map_err(failed)?.file_name();
            let path = directory.join(name);
            // A link counts as what it points to, but no directory is entered by one: it may lie
            // above.
            let of_link = fs::symlink_metadata(root.join(&path)).map_err(failed)?;
            let is_file = fs::metadata(root.join(&path)).is_ok_and(|of_file| of_file.is_file());
            if of_link.is_dir() && recursive {
                if depth == limits::DIRECTORY_DEPTH {
                    return Err(Error::limit(format!(
                        "{} has more than {} levels of directories",
                        root.display(),
                        limits::DIRECTORY_DEPTH
                    )));
                }
                directories += 1;
                if directories > limits::DIRECTORY_FILES {
                    return Err(Error::limit(format!(
                        "{} has more than {} directories below it; import its parts",
                        root.display(),
                        limits::DIRECTORY_FILES
                    )));
                }
                open.push((path, depth + 1));
            } else if is_file {
                if found.len() == limits::DIRECTORY_FILES {
                    return Err(Error::limit(format!(
                        "{} has more than {} files; import its parts",
                        root.display(),
                        limits::DIRECTORY_FILES
                    )));
                }
                found.push(path);
            }
        }
    }
    found.sort();
    Ok(found)
}

/// The tables of several files, one after the other. One file is open at a time.
struct Files<'r> {
    request: &'r ImportDirectoryRequest,
    paths: &'r [PathBuf],
    open: Option<FileTables>,
    /// The formats of the files that were opened.
    formats: Vec<FileFormat>,
    /// The file of each table.
    owners: Vec<usize>,
    /// The file that is read.
    at: Option<&'r Path>,
}

impl TableSource for Files<'_> {
    fn advance(&mut self, control: &Control) -> Result<bool> {
        loop {
            if let Some(open) = &mut self.open
                && open.advance(control)?
            {
                self.owners.push(self.formats.len().saturating_sub(1));
                return Ok(true);
            }
            self.at = self.paths.get(self.formats.len()).map(PathBuf::as_path);
            let Some(path) = self.at else { return Ok(false) };
            let file = SourceFile::open(self.request.path.join(path))?.raw(self.request.raw);
            let format = table_format(&file, self.request.format)?;
            self.open = Some(FileTables::new(file, Some(format), &self.request.table)?);
            self.formats.push(format);
        }
    }

    fn table(&mut self) -> Result<SourceTable<'_>> {
        let open = self.open.as_mut().ok_or_else(|| Error::invalid("no file is open"))?;
        open.table()
    }
}

/// The format of a file that is imported in one commit with others.
fn table_format(file: &SourceFile, format: Option<DataFormat>) -> Result<FileFormat> {
    match format.map_or_else(|| file.format(), Ok)? {
        DataFormat::Table(format) => Ok(format),
        DataFormat::Result(format) => Err(Error::unsupported(format!(
            "the file has test results ({format}), which are a commit of their own; import the \
             directory without all or nothing"
        ))),
    }
}

/// All files in one commit.
fn together(
    session: &Session,
    request: &ImportDirectoryRequest,
    paths: &[PathBuf],
    control: &Control,
) -> Result<DirectoryReport> {
    let (formats, owners) = (Vec::new(), Vec::new());
    let mut files = Files { request, paths, open: None, formats, owners, at: None };
    let answers = session.import_tables(&mut files, control).map_err(|error| match files.at {
        Some(path) => error.context(format_args!("importing {}", path.display())),
        None => error,
    })?;
    let Files { formats, owners, .. } = files;
    let mut tables: Vec<Vec<ImportTableResponse>> = paths.iter().map(|_| Vec::new()).collect();
    for (owner, answer) in owners.into_iter().zip(answers) {
        if let Some(tables) = tables.get_mut(owner) {
            tables.push(answer);
        }
    }
    let reports = paths.iter().zip(tables).enumerate().map(|(at, (path, tables))| FileReport {
        path: path.clone(),
        format: formats.get(at).copied().map(DataFormat::Table),
        outcome: Ok(Imported::Tables(tables)),
    });
    Ok(DirectoryReport { files: reports.collect() })
}

/// Imports a file whose format is known, in a commit of its own.
fn one(
    session: &Session,
    request: &ImportDirectoryRequest,
    file: SourceFile,
    format: DataFormat,
    control: &Control,
) -> Result<Imported> {
    match format {
        DataFormat::Table(format) => {
            let mut tables = FileTables::new(file, Some(format), &request.table)?;
            session.import_tables(&mut tables, control).map(Imported::Tables)
        }
        DataFormat::Result(format) => {
            control.check()?;
            (format.file().import)(session, file, &request.results, control).map(Imported::Results)
        }
    }
}

/// Each file in a commit of its own.
fn one_by_one(
    session: &Session,
    request: &ImportDirectoryRequest,
    paths: Vec<PathBuf>,
    control: &Control,
) -> DirectoryReport {
    let report = |path: PathBuf| {
        let full = request.path.join(&path);
        let opened = control.check().and_then(|()| {
            let file = SourceFile::open(full)?.raw(request.raw);
            let format = request.format.map_or_else(|| file.format(), Ok)?;
            Ok((file, format))
        });
        let format = opened.as_ref().map(|(_, format)| *format).ok();
        let outcome =
            opened.and_then(|(file, format)| one(session, request, file, format, control));
        FileReport { path, format, outcome }
    };
    DirectoryReport { files: paths.into_iter().map(report).collect() }
}

pub(crate) fn import(
    session: &Session,
    request: &ImportDirectoryRequest,
    control: &Control,
) -> Result<DirectoryReport> {
    if request.table.id.is_some() && request.table.end_of_data == Some(true) {
        return Err(Error::invalid(
            "endOfData would close the table before the second file; close it after the import",
        )
        .at_member("endOfData"));
    }
    let paths = files(&request.path, request.recursive, control)?;
    if request.all_or_nothing {
        together(session, request, &paths, control)
    } else {
        Ok(one_by_one(session, request, paths, control))
    }
}
