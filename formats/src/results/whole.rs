//! Formats whose files are read whole, and become results in one commit.

use std::path::Path;

use stationdb::{Control, Result, Session};

use super::commit::{Kind, Original, commit};
use super::file::whole_file;
use super::options::ResultOptions;
use super::report::ResultsReport;
use super::step::NewResult;
use super::told::Told;
use crate::opened::SourceFile;

/// A format.
pub(crate) struct WholeFormat {
    pub(crate) kind: Kind,
    /// The results of the bytes of a file, and what is to be told.
    pub(crate) read: fn(&[u8], &ResultOptions, &Control) -> Result<(Vec<NewResult>, Told)>,
}

impl WholeFormat {
    /// Imports bytes.
    ///
    /// # Errors
    /// Those of reading them, and of [`commit`].
    pub(crate) fn import(
        &self,
        session: &Session,
        bytes: &[u8],
        options: &ResultOptions,
    ) -> Result<ResultsReport> {
        self.import_named(session, bytes, None, options, &Control::default())
    }

    /// Imports the bytes of a file with this name.
    fn import_named(
        &self,
        session: &Session,
        bytes: &[u8],
        name: Option<&str>,
        options: &ResultOptions,
        control: &Control,
    ) -> Result<ResultsReport> {
        let (results, mut told) = (self.read)(bytes, options, control)?;
        told.note_starts(&results);
        let original = Original { bytes, name, kind: &self.kind };
        let report = commit(session, original, results, options)?;
        Ok(ResultsReport { warnings: told.finish(), ..report })
    }

    /// Imports the file with this path.
    ///
    /// # Errors
    /// As [`import_open`](Self::import_open).
    pub(crate) fn import_file(
        &self,
        session: &Session,
        path: &Path,
        options: &ResultOptions,
    ) -> Result<ResultsReport> {
        SourceFile::open(path)
            .and_then(|file| self.read_open(session, file, options, &Control::default()))
            .map_err(|error| error.context(format_args!("importing {}", path.display())))
    }

    /// Imports a file, whose name is that of the attached one.
    ///
    /// # Errors
    /// `Io` with the name of the file; `LimitExceeded` for too many bytes; those of
    /// [`import`](Self::import) and of `control`.
    pub(crate) fn import_open(
        &self,
        session: &Session,
        file: SourceFile,
        options: &ResultOptions,
        control: &Control,
    ) -> Result<ResultsReport> {
        self.read_open(&session.with_control(control), file, options, control)
    }

    fn read_open(
        &self,
        session: &Session,
        file: SourceFile,
        options: &ResultOptions,
        control: &Control,
    ) -> Result<ResultsReport> {
        let name = file.path().file_name().map(|name| name.to_string_lossy().into_owned());
        self.import_named(session, &whole_file(file)?, name.as_deref(), options, control)
    }
}
