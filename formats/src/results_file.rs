//! The imports of files with test results, and of directories, as calls of a session.

use std::path::Path;

use stationdb::{Control, Result, Session};

use crate::directory::{self, DirectoryReport, ImportDirectoryRequest};
use crate::opened::SourceFile;
use crate::result_format::ResultFormat;
use crate::results::{ResultOptions, ResultsReport};

/// Imports of files with test results, and of directories with files of any kind.
pub trait ImportResults {
    /// Imports a file with test results, all or none.
    ///
    /// Without `format`, the format of the file is found, see [`DataFormat::find`](crate::DataFormat::find).
    ///
    /// # Errors
    /// `Io`; `InvalidArgument` for a file that is not in its format, with the place;
    /// `LimitExceeded` beyond the bounds of the format; `Conflict` for a file that results were
    /// imported from, unless [`ResultOptions::again`] is set; `Unsupported` for a file whose format
    /// is unknown, and for one with tables; the errors of creating results, steps, tables and
    /// files. After an error nothing was changed.
    ///
    /// ```
    /// # fn main() -> stationdb::Result<()> {
    /// # let directory = tempfile::tempdir()?;
    /// use stationdb::{Control, Identity, Store};
    /// use stationdb_formats::{ImportResults, ResultFormat, ResultOptions};
    ///
    /// let store = Store::open(directory.path().join("store"))?;
    /// let session = store.session(Identity::user("ada"));
    /// let path = directory.path().join("SN-1.json");
    /// std::fs::write(&path, r#"{"dut_id": "SN-1", "outcome": "PASS", "phases": []}"#)?;
    /// let options = ResultOptions::new().part_number("PN-7");
    /// let report = session.import_results_file(&path, None, &options, &Control::default())?;
    /// assert_eq!((report.format, report.results.len()), (ResultFormat::OpenHtf, 1));
    /// # Ok(())
    /// # }
    /// ```
    fn import_results_file(
        &self,
        path: &Path,
        format: Option<ResultFormat>,
        options: &ResultOptions,
        control: &Control,
    ) -> Result<ResultsReport>;

    /// Imports a file that is open, as [`import_results_file`](Self::import_results_file) does one by
    /// its path. It may be a pipe.
    ///
    /// # Errors
    /// As [`import_results_file`](Self::import_results_file).
    ///
    /// ```
    /// # fn main() -> stationdb::Result<()> {
    /// # let directory = tempfile::tempdir()?;
    /// use stationdb::{Control, Identity, Store};
    /// use stationdb_formats::{ImportResults, ResultOptions, SourceFile};
    ///
    /// let store = Store::open(directory.path().join("store"))?;
    /// let session = store.session(Identity::user("ada"));
    /// let path = directory.path().join("SN-1.json");
    /// std::fs::write(&path, r#"{"dut_id": "SN-1", "outcome": "PASS", "phases": []}"#)?;
    /// let (file, options) = (SourceFile::open(&path)?, ResultOptions::new());
    /// let report = session.import_results_source(file, None, &options, &Control::default())?;
    /// assert_eq!(report.results.len(), 1);
    /// # Ok(())
    /// # }
    /// ```
    fn import_results_source(
        &self,
        file: SourceFile,
        format: Option<ResultFormat>,
        options: &ResultOptions,
        control: &Control,
    ) -> Result<ResultsReport>;

    /// Imports the files of a directory: tables from those with tables, results from those with
    /// test results. The report lists each as imported or refused, with the reason.
    ///
    /// Each file is one commit, unless all are one, as tables can be.
    ///
    /// # Errors
    /// `Io` for a directory that cannot be listed; `LimitExceeded` for more than 10,000 files or
    /// directories, or 16 levels; `InvalidArgument` for `endOfData` of a table that exists; with
    /// `all_or_nothing` the errors of the first file that is refused, with its name, and
    /// `Unsupported` for a file with test results.
    ///
    /// ```
    /// # fn main() -> stationdb::Result<()> {
    /// # let directory = tempfile::tempdir()?;
    /// use stationdb::{Control, Identity, Store};
    /// use stationdb_formats::{ImportDirectoryRequest, ImportResults};
    ///
    /// let store = Store::open(directory.path().join("store"))?;
    /// let session = store.session(Identity::user("ada"));
    /// let day = directory.path().join("day");
    /// std::fs::create_dir(&day)?;
    /// std::fs::write(day.join("ramp.csv"), "t,volts\n1,0.5\n")?;
    /// std::fs::write(day.join("SN-1.json"), r#"{"dut_id": "SN-1", "phases": []}"#)?;
    /// std::fs::write(day.join("photo.png"), b"\x89PNG\r\n")?;
    /// let request = ImportDirectoryRequest::new(&day);
    /// let report = session.import_directory(&request, &Control::default())?;
    /// assert_eq!((report.imported().count(), report.refused().count()), (2, 1));
    /// # Ok(())
    /// # }
    /// ```
    fn import_directory(
        &self,
        request: &ImportDirectoryRequest,
        control: &Control,
    ) -> Result<DirectoryReport>;
}

impl ImportResults for Session {
    fn import_results_file(
        &self,
        path: &Path,
        format: Option<ResultFormat>,
        options: &ResultOptions,
        control: &Control,
    ) -> Result<ResultsReport> {
        control.check()?;
        self.import_results_source(SourceFile::open(path)?, format, options, control)
    }

    fn import_results_source(
        &self,
        file: SourceFile,
        format: Option<ResultFormat>,
        options: &ResultOptions,
        control: &Control,
    ) -> Result<ResultsReport> {
        control.check()?;
        let format = match format {
            Some(format) => format,
            None => file.format()?.result()?,
        };
        (format.file().import)(self, file, options, control)
    }

    fn import_directory(
        &self,
        request: &ImportDirectoryRequest,
        control: &Control,
    ) -> Result<DirectoryReport> {
        directory::import(self, request, control)
    }
}
