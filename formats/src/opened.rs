//! Files that are opened once: their first bytes tell the format, and their reader goes on with the
//! same file.

use std::fs::{File, Metadata};
use std::io::{Cursor, Read, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};

use stationdb::{Error, Result};

/// Bytes at the start of a file that tell its format.
pub(crate) const START_BYTES: usize = 4096;

/// A file or pipe that is open for an import.
///
/// It is opened once. What its path leads to afterwards does not matter.
///
/// ```
/// use stationdb_formats::{DataFormat, FileFormat, SourceFile};
///
/// # let directory = tempfile::tempdir()?;
/// let path = directory.path().join("loop.csv");
/// std::fs::write(&path, "t,volts\n1,0.5\n")?;
/// let file = SourceFile::open(&path)?;
/// std::fs::remove_file(&path)?;
/// assert_eq!(file.format()?, DataFormat::Table(FileFormat::Csv));
/// assert_eq!(file.start(), b"t,volts\n1,0.5\n");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct SourceFile {
    path: PathBuf,
    file: File,
    start: Vec<u8>,
    /// Whether it can be read once only, from its first byte to its last.
    is_pipe: bool,
    /// Whether values stay as the file has them.
    pub(crate) raw: bool,
    /// The number of ports, if the name of the file does not say it.
    pub(crate) ports: Option<usize>,
}

/// Whether the path leads to a pipe.
#[cfg(unix)]
fn is_pipe(about: &Metadata) -> bool {
    std::os::unix::fs::FileTypeExt::is_fifo(&about.file_type())
}

/// Windows tells of a pipe that it is a file, and a position in it is refused.
#[cfg(not(unix))]
fn is_pipe(_: &Metadata) -> bool {
    false
}

impl SourceFile {
    /// Opens a file or a pipe, and reads its first bytes. A pipe is waited for.
    ///
    /// # Errors
    /// `Io`; `InvalidArgument` for a directory or a device.
    ///
    /// ```
    /// use stationdb::ErrorKind;
    /// use stationdb_formats::SourceFile;
    ///
    /// assert_eq!(SourceFile::open("none.csv").unwrap_err().kind(), ErrorKind::Io);
    /// ```
    pub fn open(path: impl Into<PathBuf>) -> Result<Self> {
        let path = path.into();
        let failed = |error| failed(&path, error);
        let about = std::fs::metadata(&path).map_err(failed)?;
        if !about.is_file() && !is_pipe(&about) {
            return Err(Error::invalid(format!("{} is no file", path.display())));
        }
        let mut file = File::open(&path).map_err(failed)?;
        let is_pipe = file.stream_position().is_err();
        let mut start = Vec::with_capacity(START_BYTES);
        file.by_ref().take(START_BYTES as u64).read_to_end(&mut start).map_err(failed)?;
        Ok(Self { path, file, start, is_pipe, raw: false, ports: None })
    }

    /// Sets whether values stay as the file has them: those of TDMS are not scaled, and Touchstone
    /// keeps magnitudes, decibels and angles. Other formats have no such values.
    ///
    /// ```
    /// use stationdb_formats::SourceFile;
    ///
    /// # let directory = tempfile::tempdir()?;
    /// let path = directory.path().join("filter.ts");
    /// std::fs::write(&path, "# MHz S DB R 50\n100 -20 45\n")?;
    /// let file = SourceFile::open(&path)?.raw(true).ports(1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn raw(self, raw: bool) -> Self {
        Self { raw, ..self }
    }

    /// Sets the number of ports of a Touchstone file, which its name says otherwise.
    #[must_use]
    pub fn ports(self, ports: usize) -> Self {
        Self { ports: Some(ports), ..self }
    }

    /// The path that it was opened by.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Its first bytes, at most 4,096.
    #[must_use]
    pub fn start(&self) -> &[u8] {
        &self.start
    }

    /// All of its bytes, from the first one on.
    #[must_use]
    pub fn into_read(self) -> impl Read {
        // What was read of a file is in the start, as it is of a pipe.
        Cursor::new(self.start).chain(self.file)
    }

    /// The file, at its first byte; the pipe itself for a pipe, which is told.
    pub(crate) fn rewound(self) -> Result<std::result::Result<File, impl Read>> {
        if self.is_pipe {
            return Ok(Err(self.into_read()));
        }
        let Self { path, mut file, .. } = self;
        file.seek(SeekFrom::Start(0)).map_err(|error| failed(&path, error))?;
        Ok(Ok(file))
    }

    /// The file, at its first byte, for a format whose parts are read in any order.
    ///
    /// # Errors
    /// `Io`; `Unsupported` for a pipe.
    pub(crate) fn into_file(self, format: &str) -> Result<File> {
        let what = format!(
            "{} is a pipe, and {format} is not read from its begin to its end; write it into a \
             file first",
            self.path.display()
        );
        match self.rewound()? {
            Ok(file) => Ok(file),
            Err(_) => Err(Error::unsupported(what)),
        }
    }
}

fn failed(path: &Path, error: std::io::Error) -> Error {
    Error::io(format_args!("reading {}", path.display()), error)
}
