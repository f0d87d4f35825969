//! The imports of files with tables, as calls of a session.

use std::io::Read;
use std::path::Path;

use stationdb::tables::{ImportTableRequest, ImportTableResponse, TableService};
use stationdb::{Control, Result};

use crate::file::FileTables;
use crate::format::FileFormat;
use crate::opened::SourceFile;
use crate::parquet::ReadSeek;
use crate::tdms::TdmsOptions;
use crate::{csv, parquet, tdms};

/// Imports of files with tables, for every handle that has the service of tables.
///
/// ```
/// # fn main() -> stationdb::Result<()> {
/// # let directory = tempfile::tempdir()?;
/// use stationdb::tables::ImportTableRequest;
/// use stationdb::{Control, Identity, Store};
/// use stationdb_formats::ImportFiles;
///
/// let store = Store::open(directory.path().join("store"))?;
/// let session = store.session(Identity::user("ada"));
/// let request = ImportTableRequest::new().index_column("t");
/// let text = &b"t,volts\n1,0.5\n2,0.75\n"[..];
/// let answer = session.import_csv(request, &mut &*text, &Control::default())?;
/// assert_eq!(answer.row_count, 2);
/// # Ok(())
/// # }
/// ```
pub trait ImportFiles: TableService {
    /// Appends the rows of a CSV text, in the form of the export or of common programs, to an
    /// existing or a new table, all or none.
    ///
    /// The header names the columns. Separator, decimal comma and lines before the header are found
    /// in the text. An empty field is null, `""` is the empty string. The types of columns that are
    /// not declared are inferred from the first rows; without a declared index the rows are
    /// numbered, and keep their order. The answer says what became of each column, and why. The
    /// text is read a few MiB ahead of the rows that are stored.
    ///
    /// # Errors
    /// As [`TableService::import_rows`]; `InvalidArgument` for text that is not CSV and for a value
    /// that does not fit its column, with line and column.
    fn import_csv(
        &self,
        request: ImportTableRequest,
        input: &mut dyn Read,
        control: &Control,
    ) -> Result<ImportTableResponse> {
        let mut rows = csv::source(&request, input);
        self.import_rows(request, rows.as_mut(), control)
    }

    /// Appends the rows of a Parquet file to an existing or a new table, all or none.
    ///
    /// Columns are matched by name, with the type conversions of an Arrow append. Columns that are
    /// not declared are taken from the file; one without nulls is not nullable. The index is the
    /// column that the request names, or by which the file declares itself sorted; otherwise the
    /// rows are numbered. The answer says what became of each column, and why.
    ///
    /// # Errors
    /// As [`TableService::import_rows`]; `InvalidArgument` for a damaged file and for a value that
    /// does not fit its column, with row group, row and column; `LimitExceeded` beyond the limits
    /// of an import; `Unsupported` for nested columns.
    ///
    /// ```no_run
    /// use stationdb::tables::ImportTableRequest;
    /// use stationdb::{Control, Identity, Store};
    /// use stationdb_formats::ImportFiles;
    ///
    /// let store = Store::open("station")?;
    /// let session = store.session(Identity::user("ada"));
    /// let file = std::fs::File::open("loop.parquet")?;
    /// let request = ImportTableRequest::new().index_column("t");
    /// session.import_parquet(request, Box::new(file), &Control::default())?;
    /// # Ok::<(), stationdb::Error>(())
    /// ```
    fn import_parquet(
        &self,
        request: ImportTableRequest,
        input: Box<dyn ReadSeek>,
        control: &Control,
    ) -> Result<ImportTableResponse> {
        let mut rows = parquet::source(&request, input);
        self.import_rows(request, rows.as_mut(), control)
    }

    /// Imports the channels of a TDMS file into new tables, or into an existing one if they are one
    /// table, all or none. Returns the answer of each table.
    ///
    /// A group is a table, a channel a column. The properties of waveforms are the axis, which is the
    /// index, and the units. Values are scaled by the properties of their channels, unless `options`
    /// say otherwise. The answers say what is left out or changed. Uses the memory of one batch, and
    /// some of each segment that differs from the one before.
    ///
    /// # Errors
    /// As [`TableService::import_tables`]; `InvalidArgument` for a damaged file, with its byte, and
    /// for scales that cannot be computed; `Unsupported` for types that are not read, where they
    /// hide other values; `LimitExceeded` beyond the limits of an import; `Io`.
    ///
    /// ```no_run
    /// use stationdb::tables::ImportTableRequest;
    /// use stationdb::{Control, Identity, Store};
    /// use stationdb_formats::ImportFiles;
    /// use stationdb_formats::tdms::TdmsOptions;
    ///
    /// let store = Store::open("station")?;
    /// let session = store.session(Identity::user("ada"));
    /// let file = Box::new(std::fs::File::open("run.tdms")?);
    /// let (request, raw) = (ImportTableRequest::new(), TdmsOptions::new().raw(true));
    /// session.import_tdms(request, file, raw, &Control::default())?;
    /// # Ok::<(), stationdb::Error>(())
    /// ```
    fn import_tdms(
        &self,
        request: ImportTableRequest,
        input: Box<dyn ReadSeek>,
        options: TdmsOptions,
        control: &Control,
    ) -> Result<Vec<ImportTableResponse>> {
        self.import_tables(&mut tdms::tables(&request, input, options), control)
    }

    /// Imports a file, all or none. Returns the answer of each of its tables.
    ///
    /// Without `format`, the format of the file is found, see [`FileFormat::find`]. A new table
    /// without a name is named by the file, and in TDMS also by its group.
    ///
    /// # Errors
    /// As [`import_csv`](Self::import_csv), [`import_parquet`](Self::import_parquet) and
    /// [`import_tdms`](Self::import_tdms); `Io`; `Unsupported` for a file whose format is unknown, and
    /// for one with test results.
    ///
    /// ```
    /// # fn main() -> stationdb::Result<()> {
    /// # let directory = tempfile::tempdir()?;
    /// use stationdb::tables::ImportTableRequest;
    /// use stationdb::{Control, Identity, Store};
    /// use stationdb_formats::ImportFiles;
    ///
    /// let store = Store::open(directory.path().join("store"))?;
    /// let session = store.session(Identity::user("ada"));
    /// let path = directory.path().join("ramp.csv");
    /// std::fs::write(&path, "t,volts\n1,0.5\n")?;
    /// let request = ImportTableRequest::new();
    /// let tables = session.import_file(request, &path, None, &Control::default())?;
    /// assert_eq!(tables[0].row_count, 1);
    /// # Ok(())
    /// # }
    /// ```
    fn import_file(
        &self,
        request: ImportTableRequest,
        path: &Path,
        format: Option<FileFormat>,
        control: &Control,
    ) -> Result<Vec<ImportTableResponse>> {
        self.import_source(request, SourceFile::open(path)?, format, control)
    }

    /// Imports a file that is open, as [`import_file`](Self::import_file) does one by its path.
    ///
    /// A pipe is read where its format is CSV.
    ///
    /// # Errors
    /// As [`import_file`](Self::import_file); `Unsupported` for a pipe whose format is not read from
    /// its begin to its end.
    ///
    /// ```
    /// # fn main() -> stationdb::Result<()> {
    /// # let directory = tempfile::tempdir()?;
    /// use stationdb::tables::ImportTableRequest;
    /// use stationdb::{Control, Identity, Store};
    /// use stationdb_formats::{ImportFiles, SourceFile};
    ///
    /// let store = Store::open(directory.path().join("store"))?;
    /// let session = store.session(Identity::user("ada"));
    /// let path = directory.path().join("ramp.csv");
    /// std::fs::write(&path, "t,volts\n1,0.5\n")?;
    /// let (request, file) = (ImportTableRequest::new(), SourceFile::open(&path)?);
    /// let tables = session.import_source(request, file, None, &Control::default())?;
    /// assert_eq!(tables[0].row_count, 1);
    /// # Ok(())
    /// # }
    /// ```
    fn import_source(
        &self,
        request: ImportTableRequest,
        file: SourceFile,
        format: Option<FileFormat>,
        control: &Control,
    ) -> Result<Vec<ImportTableResponse>> {
        let mut tables = FileTables::new(file, format, &request)?;
        self.import_tables(&mut tables, control)
    }
}

impl<S: TableService + ?Sized> ImportFiles for S {}
