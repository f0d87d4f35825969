//! The files of a directory, imported in one call.

use std::fs;
use std::path::{Path, PathBuf};

use stationdb::tables::{
    ImportTableRequest, ImportTableResponse, SourceTable, TableService, TableSource,
};
use stationdb::{Control, Error, Result};

use crate::file::FileTables;
use crate::format::FileFormat;
use crate::limits;

/// Which files of a directory are imported, and how.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct ImportDirectoryRequest {
    /// The directory.
    pub path: PathBuf,
    /// The target of each file, and how it is read. A new table without a name is named by its
    /// file.
    pub table: ImportTableRequest,
    /// The format of all files; that of each is found when absent.
    pub format: Option<FileFormat>,
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

    /// Sets the target of each file, and how it is read.
    #[must_use]
    pub fn table(self, table: ImportTableRequest) -> Self {
        Self { table, ..self }
    }

    /// Sets the format of all files.
    #[must_use]
    pub fn format(self, format: FileFormat) -> Self {
        Self { format: Some(format), ..self }
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
    pub format: Option<FileFormat>,
    /// Its tables, or why it was refused.
    pub outcome: Result<Vec<ImportTableResponse>>,
}

impl DirectoryReport {
    /// The files that were imported, with their tables.
    pub fn imported(&self) -> impl Iterator<Item = (&Path, &[ImportTableResponse])> {
        self.files
            .iter()
            .filter_map(|file| Some((file.path.as_path(), file.outcome.as_deref().ok()?)))
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
    let (mut found, mut open) = (Vec::new(), vec![(PathBuf::new(), 0)]);
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
            let path = self.request.path.join(path);
            let opened = FileTables::open(&path, self.request.format, &self.request.table)?;
            self.formats.push(opened.1);
            self.open = Some(opened.0);
        }
    }

    fn table(&mut self) -> Result<SourceTable<'_>> {
        let open = self.open.as_mut().ok_or_else(|| Error::invalid("no file is open"))?;
        open.table()
    }
}

/// All files in one commit.
fn together<S: TableService + ?Sized>(
    session: &S,
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
    let mut reports: Vec<FileReport> = paths
        .iter()
        .enumerate()
        .map(|(at, path)| FileReport {
            path: path.clone(),
            format: formats.get(at).copied(),
            outcome: Ok(Vec::new()),
        })
        .collect();
    for (owner, answer) in owners.into_iter().zip(answers) {
        if let Some(FileReport { outcome: Ok(tables), .. }) = reports.get_mut(owner) {
            tables.push(answer);
        }
    }
    Ok(DirectoryReport { files: reports })
}

/// Each file in a commit of its own.
fn one_by_one<S: TableService + ?Sized>(
    session: &S,
    request: &ImportDirectoryRequest,
    paths: Vec<PathBuf>,
    control: &Control,
) -> DirectoryReport {
    let report = |path: PathBuf| {
        let full = request.path.join(&path);
        let mut format = request.format;
        let outcome = control
            .check()
            .and_then(|()| FileTables::open(&full, request.format, &request.table))
            .and_then(|(mut tables, found)| {
                format = Some(found);
                session.import_tables(&mut tables, control)
            });
        FileReport { path, format, outcome }
    };
    DirectoryReport { files: paths.into_iter().map(report).collect() }
}

pub(crate) fn import<S: TableService + ?Sized>(
    session: &S,
    request: &ImportDirectoryRequest,
    control: &Control,
) -> Result<DirectoryReport> {
    let paths = files(&request.path, request.recursive, control)?;
    if request.all_or_nothing {
        together(session, request, &paths, control)
    } else {
        Ok(one_by_one(session, request, paths, control))
    }
}
