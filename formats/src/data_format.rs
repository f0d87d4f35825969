//! The formats of all files that are imported: those with tables and those with test results.

use std::fmt;
use std::path::Path;
use std::str::FromStr;

use stationdb::tables::readers::foreign;
use stationdb::{Error, Result};

use crate::format::FileFormat;
use crate::named::named;
use crate::opened::SourceFile;
use crate::result_format::ResultFormat;
use crate::stdf;

/// What texts in UTF-16 begin with.
const UTF_16: [&[u8]; 2] = [b"\xff\xfe", b"\xfe\xff"];

/// The format of a file, whatever is in it.
///
/// ```
/// use stationdb_formats::{DataFormat, FileFormat, ResultFormat};
///
/// assert_eq!("csv".parse::<DataFormat>()?, DataFormat::Table(FileFormat::Csv));
/// assert_eq!("openhtf".parse::<DataFormat>()?, DataFormat::Result(ResultFormat::OpenHtf));
/// # Ok::<(), stationdb::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum DataFormat {
    /// The file has tables.
    Table(FileFormat),
    /// The file has test results.
    Result(ResultFormat),
}

impl DataFormat {
    /// All formats, those of tables first.
    pub fn all() -> impl Iterator<Item = Self> {
        let tables = FileFormat::ALL.iter().copied().map(Self::Table);
        tables.chain(ResultFormat::ALL.iter().copied().map(Self::Result))
    }

    /// The name of the format, in lower case.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Table(format) => format.as_str(),
            Self::Result(format) => format.as_str(),
        }
    }

    /// The names of all formats, for messages.
    fn names() -> String {
        Self::all().map(Self::as_str).collect::<Vec<_>>().join(", ")
    }

    /// The format of a file, by its first bytes, and where they tell nothing by its name.
    ///
    /// ```
    /// use stationdb_formats::{DataFormat, FileFormat, ResultFormat};
    ///
    /// let record = DataFormat::find(b"{\"dut_id\": \"SN-1\",", "SN-1.txt".as_ref())?;
    /// assert_eq!(record, DataFormat::Result(ResultFormat::OpenHtf));
    /// let table = DataFormat::find(b"t,volts\n", "loop.csv".as_ref())?;
    /// assert_eq!(table, DataFormat::Table(FileFormat::Csv));
    /// # Ok::<(), stationdb::Error>(())
    /// ```
    ///
    /// # Errors
    /// `Unsupported` for a file of another format, which is named if it is known, and for a name
    /// that tells no format.
    pub fn find(start: &[u8], path: &Path) -> Result<Self> {
        let of_bytes = FileFormat::of_bytes(start)
            .map(Self::Table)
            .or_else(|| ResultFormat::of_bytes(start).map(Self::Result));
        if let Some(format) = of_bytes {
            return Ok(format);
        }
        // Of compressed bytes the first ones may not tell what is in them.
        if stdf::is_packed(start) && ResultFormat::of_name(path) == Some(ResultFormat::Stdf) {
            return Ok(Self::Result(ResultFormat::Stdf));
        }
        // Of texts in UTF-16 those with values in lines are read.
        let is_utf16 = UTF_16.iter().any(|mark| start.starts_with(mark));
        if is_utf16 && FileFormat::of_name(path) == Some(FileFormat::Csv) {
            return Ok(Self::Table(FileFormat::Csv));
        }
        if let Some(what) = foreign::marked(start.get(..foreign::START_BYTES).unwrap_or(start)) {
            return Err(Error::unsupported(format!("the file is not imported: {what}")));
        }
        let of_name = FileFormat::of_name(path)
            .map(Self::Table)
            .or_else(|| ResultFormat::of_name(path).map(Self::Result));
        of_name.ok_or_else(|| {
            Error::unsupported(format!(
                "neither the first bytes of the file nor its name tell its format; say that it is \
                 one of {}",
                Self::names()
            ))
        })
    }

    /// The format of a file, which is read as far as is needed for [`find`](Self::find).
    ///
    /// # Errors
    /// As [`find`](Self::find); `Io`; `InvalidArgument` for what is no file.
    ///
    /// ```
    /// use stationdb::ErrorKind;
    /// use stationdb_formats::DataFormat;
    ///
    /// assert_eq!(DataFormat::of_file("none.csv".as_ref()).unwrap_err().kind(), ErrorKind::Io);
    /// ```
    pub fn of_file(path: &Path) -> Result<Self> {
        SourceFile::open(path)?.format()
    }

    /// The format of a file that has to have tables.
    ///
    /// # Errors
    /// `Unsupported` for one with test results.
    pub(crate) fn table(self) -> Result<FileFormat> {
        match self {
            Self::Table(format) => Ok(format),
            Self::Result(format) => Err(Error::unsupported(format!(
                "the file has test results ({format}) and no table; import it with \
                 import_results_file"
            ))),
        }
    }

    /// The format of a file that has to have test results.
    ///
    /// # Errors
    /// `Unsupported` for one with tables.
    pub(crate) fn result(self) -> Result<ResultFormat> {
        match self {
            Self::Result(format) => Ok(format),
            Self::Table(format) => Err(Error::unsupported(format!(
                "the file has a table ({format}) and no test results; import it with import_file"
            ))),
        }
    }
}

impl SourceFile {
    /// Its format, as [`DataFormat::find`] finds it.
    ///
    /// # Errors
    /// As [`DataFormat::find`].
    ///
    /// ```
    /// use stationdb_formats::{DataFormat, FileFormat, SourceFile};
    ///
    /// # let directory = tempfile::tempdir()?;
    /// let path = directory.path().join("loop.csv");
    /// std::fs::write(&path, "t,volts\n1,0.5\n")?;
    /// assert_eq!(SourceFile::open(&path)?.format()?, DataFormat::Table(FileFormat::Csv));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn format(&self) -> Result<DataFormat> {
        DataFormat::find(self.start(), self.path())
    }
}

impl FileFormat {
    /// The format of a file, by its first bytes, and where they have no mark by its name.
    ///
    /// # Errors
    /// As [`DataFormat::find`]; `Unsupported` for a file with test results.
    pub fn find(start: &[u8], path: &Path) -> Result<Self> {
        DataFormat::find(start, path)?.table()
    }
}

impl fmt::Display for DataFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for DataFormat {
    type Err = Error;

    /// Reads the name of a format, in any letter case.
    fn from_str(text: &str) -> Result<Self> {
        named(text, "format of files", Self::all(), |format| format.as_str())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::opened::START_BYTES;
    use stationdb::ErrorKind;

    #[test]
    fn results_are_told_by_their_bytes_before_the_name_of_a_table() {
        let openhtf = Some(DataFormat::Result(ResultFormat::OpenHtf));
        let csv = Some(DataFormat::Table(FileFormat::Csv));
        let stdf = Some(DataFormat::Result(ResultFormat::Stdf));
        let packed = std::fs::read("tests/stdf/files/all.little.stdf.gz").unwrap();
        let bzip2 = b"BZh91AY&SY\0\0\0\0";
        let found: &[(&[u8], &str, Option<DataFormat>)] = &[
            (b"{\"dut_id\": \"a\"}", "a.csv", openhtf),
            (b" \r\n{ \"start_time_millis\": 1", "a", openhtf),
            (b"{}", "a.json", openhtf),
            (b"", "a.JSON", openhtf),
            (b"{\"dut_ids\": \"a\"}", "a.csv", csv),
            (b"x{\"dut_id\": \"a\"}", "a.csv", csv),
            (b"{}", "a", None),
            (b"\xff\xfea\0,\0", "a.txt", csv),
            (b"\xfe\xff\0a\0,", "a.csv", csv),
            (b"\xff\xfea\0,\0", "a.lvm", None),
            (b"\xff\xfea\0,\0", "a", None),
            (b"\x02\0\0\x0a\x02\x04", "a.csv", stdf),
            (b"\0\x02\0\x0a\x01\x04", "a", stdf),
            (&packed, "a.csv", stdf),
            (b"", "lot.STD", stdf),
            // What a block of bzip2 has is known by its name alone.
            (bzip2, "lot.stdf.bz2", stdf),
            (bzip2, "a.csv", None),
            (b"\x1f\x8b\x08\0", "a.json", None),
        ];
        for (start, name, format) in found {
            let told = DataFormat::find(start, Path::new(name));
            assert_eq!(told.as_ref().ok(), format.as_ref(), "{name}: {told:?}");
        }
        // As far as the first bytes go.
        let late = |blanks: usize| [&b" ".repeat(blanks)[..], b"{\"phases\": ["].concat();
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("late");
        std::fs::write(&path, late(START_BYTES - 12)).unwrap();
        assert_eq!(DataFormat::of_file(&path).ok(), openhtf);
        std::fs::write(&path, late(START_BYTES)).unwrap();
        assert_eq!(DataFormat::of_file(&path).unwrap_err().kind(), ErrorKind::Unsupported);
    }

    #[test]
    fn names_are_read_back_and_no_two_formats_share_one_or_an_extension() {
        let mut names = BTreeSet::new();
        for format in DataFormat::all() {
            assert_eq!(format.to_string().to_uppercase().parse::<DataFormat>().unwrap(), format);
            assert!(names.insert(format.as_str()), "{format}");
        }
        for format in ResultFormat::ALL {
            for extension in format.extensions() {
                let name = format!("a.{extension}");
                assert_eq!(FileFormat::of_name(Path::new(&name)), None, "{name}");
                assert_eq!(ResultFormat::of_name(Path::new(&name)), Some(*format), "{name}");
            }
        }
        let error = "xlsx".parse::<DataFormat>().unwrap_err();
        assert!(
            error
                .message()
                .contains("csv, lvm, parquet, stdf-records, tdms, touchstone, openhtf, stdf"),
            "{error}"
        );
    }
}
